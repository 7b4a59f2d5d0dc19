//! 20,000 requests over three simulated orgs, killed five times at random moments and resumed each time: what is lost, and
//! what was sent twice.
//!
//! `cargo bench --bench figures -- kill [N] [SEED]`. It runs in real time: about three minutes for the default.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::support::{FANDECK, Server, write_input};

const KILLS: usize = 5;

pub(crate) fn print(args: &[String]) {
    let number = |at: usize| args.get(at).and_then(|arg| arg.parse::<u32>().ok());
    let n = number(0).unwrap_or(20_000);
    let mut rng = fastrand::Rng::with_seed(u64::from(number(1).unwrap_or(1)));
    let dir = tempfile::tempdir().unwrap();
    let (input, run_dir) = (dir.path().join("input.jsonl"), dir.path().join("run"));
    write_input(&input, n).unwrap();
    let control = free_address();
    let server = Server::start(Command::new(FANDECK).args([
        "simulate",
        "--listen",
        "127.0.0.1:0",
        "--scenario",
        "calm",
        "--control",
        &control,
    ]));
    let drive = |args: &[&std::ffi::OsStr]| {
        let mut command = Command::new(FANDECK);
        command.args(args).args(["--headless", "--yes", "--cap", "100"]).env_clear();
        command.env("HOME", dir.path()).env("ANTHROPIC_BASE_URL", &server.url);
        for (variable, key) in [
            ("ANTHROPIC_API_KEY", "sim-high-prio"),
            ("ANTHROPIC_BATCH_KEY", "sim-batch"),
            ("ANTHROPIC_API_KEY_LOW_PRIO", "sim-low-prio"),
        ] {
            command.env(variable, key);
        }
        command.stdout(Stdio::null()).stderr(Stdio::inherit());
        command
    };
    let mut in_flight_at_kills = 0;
    let mut child =
        drive(&["run".as_ref(), input.as_os_str(), "--run-dir".as_ref(), run_dir.as_os_str()]).spawn().unwrap();
    for _ in 0..KILLS {
        // A sixth of the run at most, so that all kills fall into it.
        std::thread::sleep(Duration::from_secs_f64(2.0 + rng.f64() * f64::from(n) / 1_500.0));
        in_flight_at_kills += in_flight(&stats(&control));
        child.kill().unwrap();
        child.wait().unwrap();
        child = drive(&["resume".as_ref(), run_dir.as_os_str()]).spawn().unwrap();
    }
    let exit = child.wait().unwrap();
    let stats = stats(&control);
    let again = drive(&["run".as_ref(), input.as_os_str(), "--run-dir".as_ref(), dir.path().join("again").as_os_str()]);
    println!("requests {n}, kills {KILLS}, exit code {:?}", exit.code());
    println!("in flight at the kills          {in_flight_at_kills:>8}");
    println!("bodies that were accepted twice {:>8}", stats["bodies_accepted_twice"]);
    println!("ids in the export, each once    {:>8}", exported(&run_dir, dir.path()));
    let before = n_requests(&stats);
    second_run(again);
    println!("sent by a second run            {:>8}", n_requests(&self::stats(&control)) - before);
}

fn second_run(mut command: Command) {
    assert_eq!(command.status().unwrap().code(), Some(0));
}

/// A loopback port that was free a moment ago.
fn free_address() -> String {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string()
}

fn stats(control: &str) -> Value {
    let mut stream = TcpStream::connect(control).unwrap();
    write!(stream, "GET /_sim/stats HTTP/1.1\r\nhost: {control}\r\nconnection: close\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let (_, body) = text.split_once("\r\n\r\n").unwrap();
    let json = &body[body.find('{').unwrap()..=body.rfind('}').unwrap()];
    serde_json::from_str(json).unwrap()
}

fn orgs(stats: &Value) -> Vec<Value> {
    match &stats["orgs"] {
        Value::Array(orgs) => orgs.clone(),
        Value::Object(orgs) => orgs.values().cloned().collect(),
        other => panic!("no orgs: {other}"),
    }
}

fn in_flight(stats: &Value) -> u64 {
    orgs(stats).iter().filter_map(|org| org["in_flight"].as_u64()).sum()
}

fn n_requests(stats: &Value) -> u64 {
    orgs(stats).iter().filter_map(|org| org["n_requests"].as_u64()).sum()
}

/// Distinct ids of the export; fails when one comes twice.
fn exported(run_dir: &Path, home: &Path) -> usize {
    let output = Command::new(FANDECK).arg("export").arg(run_dir).env_clear().env("HOME", home).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let mut ids: Vec<String> = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["custom_id"].as_str().unwrap().to_owned())
        .collect();
    let lines = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), lines, "an id came twice");
    lines
}
