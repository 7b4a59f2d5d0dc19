//! The product headless, journal and fsync on, against a bare reqwest + tokio loop, on the same server that answers at
//! once: requests a second at 100 slots, in one run, interleaved.
//!
//! `cargo bench --bench figures -- throughput [N]`. The server is a process of its own; client and server share the machine's cores.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use bytes::Bytes;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::support::{Server, median, run_product, write_input};

const SLOTS: usize = 100;
const ROUNDS: usize = 3;

pub(crate) fn print(args: &[String]) {
    let n: u32 = args.first().and_then(|arg| arg.parse().ok()).unwrap_or(60_000);
    let dir = tempfile::tempdir().unwrap();
    let input = dir.path().join("input.jsonl");
    write_input(&input, n).unwrap();
    let server = Server::start(Command::new(std::env::current_exe().unwrap()).args(["serve-canned"]));
    let mut bare = Vec::new();
    let mut sending = Vec::new();
    let mut whole = Vec::new();
    for round in 0..ROUNDS {
        bare.push(f64::from(n) / bare_loop(&input, &server.url));
        let run_dir = dir.path().join(format!("run-{round}"));
        let env = [("ANTHROPIC_API_KEY", "bench-key-000"), ("ANTHROPIC_BASE_URL", server.url.as_str())];
        let cap = SLOTS.to_string();
        let outcome = run_product(&input, &run_dir, &env, &["--no-cache", "--cap", &cap]);
        assert_eq!(outcome.finished["n_succeeded"], n);
        sending.push(f64::from(n) / outcome.finished["session_wall_s"].as_f64().unwrap());
        whole.push(f64::from(n) / outcome.process_wall.as_secs_f64());
    }
    let (bare, sending, whole) = (median(bare), median(sending), median(whole));
    println!("requests {n}, slots {SLOTS}, rounds {ROUNDS}, medians");
    println!("bare reqwest loop          {bare:>9.0} requests/s");
    println!("fandeck, sending           {sending:>9.0} requests/s   ratio {:.3}", sending / bare);
    println!("fandeck, whole process     {whole:>9.0} requests/s   ratio {:.3}", whole / bare);
}

/// Seconds that a bare loop takes: read the lines, send `params`, parse the answers.
fn bare_loop(input: &Path, url: &str) -> f64 {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let started = Instant::now();
    runtime.block_on(async {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let text = std::fs::read_to_string(input).unwrap();
        let bodies: Arc<Vec<Bytes>> = Arc::new(
            text.lines()
                .map(|line| {
                    let line: Value = serde_json::from_str(line).unwrap();
                    Bytes::from(line["params"].to_string())
                })
                .collect(),
        );
        let client = reqwest::Client::builder().no_proxy().pool_max_idle_per_host(SLOTS).build().unwrap();
        let next = Arc::new(AtomicU32::new(0));
        let url = format!("{url}/v1/messages");
        let slots: Vec<_> = (0..SLOTS)
            .map(|_| {
                let (client, bodies, next, url) = (client.clone(), Arc::clone(&bodies), Arc::clone(&next), url.clone());
                tokio::spawn(async move {
                    while let Some(body) = bodies.get(next.fetch_add(1, Ordering::Relaxed) as usize) {
                        let answer = client
                            .post(&url)
                            .header("x-api-key", "bench-key-000")
                            .header("anthropic-version", "2023-06-01")
                            .header("content-type", "application/json")
                            .body(body.clone())
                            .send()
                            .await
                            .unwrap();
                        let bytes = answer.bytes().await.unwrap();
                        let message: Value = serde_json::from_slice(&bytes).unwrap();
                        assert_eq!(message["type"], "message");
                    }
                })
            })
            .collect();
        for slot in slots {
            slot.await.unwrap();
        }
    });
    started.elapsed().as_secs_f64()
}

/// A server that answers every request at once with the same message.
pub(crate) fn serve() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        println!("http://{}", listener.local_addr().unwrap());
        let answer = canned();
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(connection(stream, answer.clone()));
        }
    });
}

fn canned() -> Bytes {
    let body = serde_json::json!({
        "model": "claude-haiku-4-5-20251001", "id": "msg_01BenchBenchBenchBenchBen", "type": "message", "role": "assistant",
        "content": [{"type": "text", "text": "{\"score\": 4, \"reason\": \"All figures are kept, one sentence is vague.\"}".repeat(2)}],
        "stop_reason": "end_turn", "stop_sequence": null, "stop_details": null,
        "usage": {"input_tokens": 300, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0,
            "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 0}, "output_tokens": 60,
            "service_tier": "standard", "inference_geo": "global"},
    })
    .to_string();
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nrequest-id: req_011CBench\r\ncontent-length: {}\r\n\
         anthropic-organization-id: 6f1d8a52-0000-4000-8000-000000000001\r\n\
         anthropic-ratelimit-requests-limit: 4000\r\nanthropic-ratelimit-requests-remaining: 3999\r\n\
         anthropic-ratelimit-requests-reset: 2026-11-29T12:00:00Z\r\n\r\n",
        body.len()
    );
    Bytes::from(head + &body)
}

/// Reads requests with a `content-length` off a keep-alive connection and answers each.
async fn connection(mut stream: TcpStream, answer: Bytes) {
    let _ = stream.set_nodelay(true);
    let mut buffer = Vec::with_capacity(16 << 10);
    loop {
        while let Some(end) = request_end(&buffer) {
            buffer.drain(..end);
            if stream.write_all(&answer).await.is_err() {
                return;
            }
        }
        match stream.read_buf(&mut buffer).await {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
    }
}

/// Where the first whole request in the buffer ends.
fn request_end(buffer: &[u8]) -> Option<usize> {
    let head = memchr::memmem::find(buffer, b"\r\n\r\n")? + 4;
    let text = std::str::from_utf8(&buffer[..head]).unwrap_or_else(|_| panic!("a head that is not text"));
    let length: usize = text
        .lines()
        .find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length:").map(str::trim).map(str::to_owned))
        .and_then(|value| value.parse().ok())
        .unwrap_or(0);
    (buffer.len() >= head + length).then_some(head + length)
}
