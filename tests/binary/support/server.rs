//! The simulated API on a loopback port, served from a thread of this process.

use std::fmt::Write as _;
use std::io::{Read, Write as _};
use std::sync::Arc;
use std::time::Duration;

use fandeck::sim::{BatchView, Scenario, SharedSim, Stats, serve};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

use super::place::KEYS;
use super::wait_for;

/// A server of one scenario; it ends with this value.
pub(crate) struct Server {
    pub(crate) url: String,
    sim: Arc<SharedSim>,
    runtime: Runtime,
}

impl Server {
    /// Three orgs with the keys of [`KEYS`] that answer after 10 to 30 ms. `common` is TOML for all of them, put before the
    /// orgs; the others are for one org each.
    pub(crate) fn with(common: &str, orgs: [&str; 3]) -> Server {
        Server::faster(common, orgs, 1.0)
    }

    /// As [`Server::with`], with a clock that runs so many times faster.
    pub(crate) fn faster(common: &str, orgs: [&str; 3], scale: f64) -> Server {
        let mut text = format!("summary = \"a test\"\n{common}\n");
        if !common.contains("latency") {
            text.insert_str(text.find('\n').unwrap() + 1, "latency = { p50-ms = 15, p95-ms = 30 }\n");
        }
        for ((label, _, key), more) in KEYS.iter().zip(orgs) {
            write!(text, "[[orgs]]\nlabel = \"{label}\"\nkey = \"{key}\"\n{more}\n").unwrap();
        }
        Server::of(Scenario::parse("the test", &text).unwrap(), scale)
    }

    /// Nothing goes wrong.
    pub(crate) fn calm() -> Server {
        Server::with("", [""; 3])
    }

    /// Answers take so many milliseconds, give or take a half.
    pub(crate) fn slow(ms: u32) -> Server {
        Server::with(&format!("latency = {{ p50-ms = {ms}, p95-ms = {} }}", ms + ms / 2), [""; 3])
    }

    /// A fault for every org.
    pub(crate) fn faulty(fault: &str) -> Server {
        Server::with("", [&format!("[[orgs.faults]]\n{fault}"); 3])
    }

    fn of(scenario: Scenario, scale: f64) -> Server {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let (listener, sim) = runtime
            .block_on(async { (TcpListener::bind("127.0.0.1:0").await.unwrap(), SharedSim::new(scenario, 1, scale)) });
        let url = format!("http://{}", listener.local_addr().unwrap());
        runtime.spawn(serve(listener, Arc::clone(&sim), std::future::pending()));
        Server { url, sim, runtime }
    }

    /// A scenario that is built in, by its name.
    pub(crate) fn built_in(name: &str, scale: f64) -> Server {
        Server::of(Scenario::load(name).unwrap(), scale)
    }

    /// Cancels a batch as somebody else would who holds the same key.
    pub(crate) fn cancel(&self, id: &str, key: &str) {
        let host = self.url.trim_start_matches("http://");
        let mut stream = std::net::TcpStream::connect(host).unwrap();
        let path = format!("/v1/messages/batches/{id}/cancel");
        let head = "anthropic-version: 2023-06-01\r\ncontent-length: 0\r\nconnection: close\r\n";
        write!(stream, "POST {path} HTTP/1.1\r\nhost: {host}\r\nx-api-key: {key}\r\n{head}\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }

    /// Holds back the answer to the `first` message that arrives, counted from 1, and to all later ones, until
    /// [`Server::release`]: a run is at work for as long as the test needs, on a busy machine too.
    pub(crate) fn hold_from(&self, first: u64) {
        self.sim.hold_from(first);
    }

    /// Gives the answers that are held back.
    pub(crate) fn release(&self) {
        self.sim.release();
    }

    /// Waits until so many messages have arrived since the start.
    #[track_caller]
    pub(crate) fn wait_for_messages(&self, n: u64) {
        wait_for(&format!("{n} messages"), || (self.stats().n_messages >= n).then_some(()));
    }

    /// Waits until every caller has left. What a process that was killed had sent is still on its way for a while, and is
    /// counted then.
    #[track_caller]
    pub(crate) fn wait_until_left(&self) {
        // The one that is always there takes connections, and each connection is one.
        wait_for("every connection to end", || (self.runtime.metrics().num_alive_tasks() == 1).then_some(()));
    }

    /// Moves the clock of the API on.
    pub(crate) fn skip(&self, span: Duration) {
        self.sim.skip(span);
    }

    /// The batches as they truly are.
    pub(crate) fn batches(&self) -> Vec<BatchView> {
        self.sim.batches()
    }

    pub(crate) fn stats(&self) -> Stats {
        self.sim.stats()
    }
}
