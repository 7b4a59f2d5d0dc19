//! How much the simulated API takes: simple requests a second from a load generator in another process, and a batch of
//! 100,000 rows with the memory that it needs.
//!
//! `cargo bench --bench simulator [-- SECONDS]`. The generator writes prepared bytes and looks for the ends of answers, so
//! that it takes little of the machine; it has a core of its own where there are two.

#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a benchmark prints, and fails loudly")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

const CONNECTIONS: usize = 32;
const ROWS: usize = 100_000;

const SCENARIO: &str = "summary = \"every answer comes at once\"
any-key = true
limits = { rpm = 100000000, itpm = 100000000000, otpm = 100000000000, batch-queue = 1000000 }
batches = { p50-s = 0, p95-s = 0 }
";

fn main() {
    let seconds = std::env::args().skip(1).find_map(|arg| arg.parse().ok()).unwrap_or(5);
    let dir = tempfile::tempdir().unwrap();
    let scenario = dir.path().join("instant.toml");
    std::fs::write(&scenario, SCENARIO).unwrap();
    let server = Server::start(&scenario);
    println!(
        "simple requests    {:>9.0} requests/s over {CONNECTIONS} connections",
        server.rate(Duration::from_secs(seconds))
    );
    let before = server.peak_mb();
    println!("memory afterwards  {before:>9.0} MB at its peak");
    let body = batch_body();
    let started = Instant::now();
    let created: Value = serde_json::from_slice(&server.call("POST", "/v1/messages/batches", &body)).unwrap();
    let accepted = started.elapsed();
    let id = created["id"].as_str().unwrap();
    println!("batch accepted     {:>9.2} s for {ROWS} rows, {} MB", accepted.as_secs_f64(), body.len() / 1_000_000);
    let started = Instant::now();
    let results = server.call("GET", &format!("/v1/messages/batches/{id}/results"), b"");
    let streamed = started.elapsed();
    assert_eq!(results.iter().filter(|byte| **byte == b'\n').count(), ROWS);
    println!(
        "results streamed   {:>9.2} s for {} MB, {:.0} MB/s",
        streamed.as_secs_f64(),
        results.len() / 1_000_000,
        results.len() as f64 / 1e6 / streamed.as_secs_f64()
    );
    println!("memory afterwards  {:>9.0} MB at its peak", server.peak_mb());
}

/// `fandeck simulate` as a process of its own; ends with this value.
struct Server {
    child: Child,
    address: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    fn start(scenario: &std::path::Path) -> Server {
        let mut child = Command::new(env!("CARGO_BIN_EXE_fandeck"))
            .args(["simulate", "--listen", "127.0.0.1:0", "--scenario"])
            .arg(scenario)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.split_once("http://").unwrap().1.split_whitespace().next().unwrap().to_owned();
        Server { child, address }
    }

    /// Requests a second, each connection with one request under way at a time.
    fn rate(&self, span: Duration) -> f64 {
        let started = Instant::now();
        let mut lines: Vec<TcpStream> = (0..CONNECTIONS).map(|_| TcpStream::connect(&self.address).unwrap()).collect();
        let mut done = 0_u32;
        let mut buffer = vec![0; 64 * 1024];
        for (at, line) in lines.iter_mut().enumerate() {
            line.set_nodelay(true).unwrap();
            line.write_all(&self.request(at)).unwrap();
        }
        while started.elapsed() < span {
            for line in &mut lines {
                // An answer is far smaller than the buffer, and comes in one or two pieces.
                let mut length = 0;
                while !is_whole(&buffer[..length]) {
                    length += line.read(&mut buffer[length..]).unwrap();
                }
                assert!(buffer.starts_with(b"HTTP/1.1 200"));
                done += 1;
                line.write_all(&self.request(done as usize + CONNECTIONS)).unwrap();
            }
        }
        f64::from(done) / started.elapsed().as_secs_f64()
    }

    fn request(&self, no: usize) -> Vec<u8> {
        let body = params(no).to_string();
        let mut request = self.head("POST", "/v1/messages", body.len()).into_bytes();
        request.extend_from_slice(body.as_bytes());
        request
    }

    fn head(&self, method: &str, path: &str, length: usize) -> String {
        format!(
            "{method} {path} HTTP/1.1\r\nhost: {}\r\nx-api-key: bench\r\nanthropic-version: 2023-06-01\r\n\
             content-type: application/json\r\ncontent-length: {length}\r\n\r\n",
            self.address
        )
    }

    /// One call on a connection of its own; gives the body, which must be a 200's.
    fn call(&self, method: &str, path: &str, body: &[u8]) -> Vec<u8> {
        let head = self.head(method, path, body.len()).replace("\r\n\r\n", "\r\nconnection: close\r\n\r\n");
        let mut line = TcpStream::connect(&self.address).unwrap();
        line.write_all(head.as_bytes()).unwrap();
        line.write_all(body).unwrap();
        let mut answer = Vec::new();
        line.read_to_end(&mut answer).unwrap();
        assert!(answer.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&answer[..answer.len().min(400)]));
        let head = memchr::memmem::find(&answer, b"\r\n\r\n").unwrap() + 4;
        let chunked = memchr::memmem::find(&answer[..head], b"transfer-encoding: chunked").is_some();
        if chunked { joined(&answer[head..]) } else { answer[head..].to_vec() }
    }

    /// The most memory that the server has held, MB.
    fn peak_mb(&self) -> f64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap_or_default();
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kb: f64 = peak.and_then(|text| text.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(f64::NAN);
        kb / 1e3
    }
}

/// A chunked body without its framing.
fn joined(mut chunks: &[u8]) -> Vec<u8> {
    let mut whole = Vec::new();
    loop {
        let line = memchr::memmem::find(chunks, b"\r\n").unwrap();
        let length = usize::from_str_radix(std::str::from_utf8(&chunks[..line]).unwrap(), 16).unwrap();
        if length == 0 {
            return whole;
        }
        let start = line + 2;
        whole.extend_from_slice(&chunks[start..start + length]);
        chunks = &chunks[start + length + 2..];
    }
}

/// Whether these bytes are a whole answer.
fn is_whole(answer: &[u8]) -> bool {
    let Some(head) = memchr::memmem::find(answer, b"\r\n\r\n") else { return false };
    let length = memchr::memmem::find(&answer[..head], b"content-length: ").and_then(|at| {
        let text = &answer[at + 16..head];
        let end = text.iter().position(|byte| *byte == b'\r').unwrap_or(text.len());
        std::str::from_utf8(&text[..end]).ok()?.parse::<usize>().ok()
    });
    length.is_some_and(|length| answer.len() >= head + 4 + length)
}

fn params(no: usize) -> Value {
    let text = format!("Case {no}. Grade the answer from 1 to 5 and give your reason in one sentence.");
    json!({"model": "claude-haiku-4-5", "max_tokens": 128, "messages": [{"role": "user", "content": text}]})
}

/// A batch of rows of about a kilobyte each.
fn batch_body() -> Vec<u8> {
    let filler = "The assistant was asked to summarise a report and to keep all figures as they are. ".repeat(11);
    let mut body = b"{\"requests\":[".to_vec();
    for no in 0..ROWS {
        let separator = if no == 0 { "" } else { "," };
        let mut params = params(no);
        params["system"] = json!(filler);
        write!(body, "{separator}{}", json!({"custom_id": format!("judge-{no:07}"), "params": params})).unwrap();
    }
    body.extend_from_slice(b"]}");
    body
}
