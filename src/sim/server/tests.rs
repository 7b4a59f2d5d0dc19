//! The server over loopback.

use std::io;
use std::sync::Arc;

use bytes::Bytes;
use http::StatusCode;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use super::super::{MAX_BODY, Scenario, SharedSim, Stats, answer_for, serve_control};
use super::*;

/// One key for each way to be answered.
const SCENARIO: &str = r#"
summary = "test"
batches = { p50-s = 0, p95-s = 0 }

[[orgs]]
label = "cut-results"
key = "cut-results"
[[orgs.faults]]
kind = "cut-body"
on = "batch-results"

[[orgs]]
label = "good"
key = "good"

[[orgs]]
label = "storm"
key = "storm"
[[orgs.faults]]
kind = "rate-limited"
retry-after = 7

[[orgs]]
label = "reset"
key = "reset"
[[orgs.faults]]
kind = "reset-after"

[[orgs]]
label = "cut"
key = "cut"
[[orgs.faults]]
kind = "cut-body"

[[orgs]]
label = "hang"
key = "hang"
[[orgs.faults]]
kind = "hang"
"#;

struct Running {
    sim: Arc<SharedSim>,
    client: reqwest::Client,
    api: String,
    control: String,
    stop: Vec<oneshot::Sender<()>>,
    tasks: Vec<tokio::task::JoinHandle<()>>,
}

async fn start() -> Running {
    // The client wants a provider of cryptography although nothing is encrypted here; a second one is refused.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let sim = SharedSim::new(Scenario::parse("test", SCENARIO).unwrap(), 1, 1.0);
    let api = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let control = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = |listener: &TcpListener| format!("http://{}", listener.local_addr().unwrap());
    let (api_url, control_url) = (url(&api), url(&control));
    let (stop_api, api_stopped) = oneshot::channel();
    let (stop_control, control_stopped) = oneshot::channel();
    let ended = |receiver: oneshot::Receiver<()>| async {
        let _ = receiver.await;
    };
    let tasks = vec![
        tokio::spawn(serve(api, Arc::clone(&sim), ended(api_stopped))),
        tokio::spawn(serve_control(control, Arc::clone(&sim), ended(control_stopped))),
    ];
    Running { sim, client, api: api_url, control: control_url, stop: vec![stop_api, stop_control], tasks }
}

fn body() -> Bytes {
    let message = json!({"role": "user", "content": "hello"});
    Bytes::from(json!({"model": "claude-haiku-4-5", "max_tokens": 512, "messages": [message]}).to_string())
}

impl Running {
    fn post(&self, key: &str, body: Bytes) -> reqwest::RequestBuilder {
        self.client
            .post(format!("{}/v1/messages", self.api))
            .header("x-api-key", key)
            .header("anthropic-version", "2023-06-01")
            .header("content-type", "application/json")
            .body(body)
    }

    async fn stats(&self) -> Stats {
        let response = self.client.get(format!("{}/_sim/stats", self.control)).send().await.unwrap();
        serde_json::from_slice(&response.bytes().await.unwrap()).unwrap()
    }
}

/// Lets the other tasks run until so many requests are in flight. The limit only keeps a failure from hanging.
async fn in_flight(sim: &SharedSim, wanted: u32) {
    let reached = async {
        while sim.stats().in_flight != wanted {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), reached).await.expect("the requests in flight never reached that");
}

#[tokio::test]
async fn calls_are_answered_refused_reset_and_cut_as_the_scenario_says() {
    let running = start().await;

    let good = running.post("good", body()).send().await.unwrap();
    assert_eq!(good.status(), StatusCode::OK);
    assert!(good.headers().contains_key("date"));
    let message: Value = serde_json::from_slice(&good.bytes().await.unwrap()).unwrap();
    assert_eq!(message["content"][0]["text"], answer_for(&body()).unwrap().text);

    let unknown = running.post("nobody", body()).send().await.unwrap();
    assert_eq!(unknown.status(), StatusCode::UNAUTHORIZED);

    let storm = running.post("storm", body()).send().await.unwrap();
    assert_eq!(storm.status(), StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(storm.headers()["retry-after"], "7");

    assert!(running.post("reset", body()).send().await.is_err());

    let mut cut = running.post("cut", body()).send().await.unwrap();
    assert_eq!(cut.status(), StatusCode::OK);
    assert!(cut.content_length().unwrap() > 0);
    assert!(!cut.chunk().await.unwrap().unwrap().is_empty(), "the first half arrives");
    assert!(cut.bytes().await.is_err(), "the second does not");

    let stats = running.stats().await;
    assert_eq!((stats.n_requests, stats.n_reset, stats.n_cut, stats.in_flight), (5, 1, 1, 0));
    assert_eq!(stats.org("storm").unwrap().n_status(429), 1);
    assert_eq!(stats.bodies_accepted_twice, 1, "the same body was billed on three keys: {stats:?}");
}

/// The reading end sees the difference between a reset and a farewell.
#[tokio::test]
async fn a_reset_is_a_reset_of_the_connection() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let running = start().await;
    let mut stream = TcpStream::connect(running.api.trim_start_matches("http://")).await.unwrap();
    let body = body();
    let head = format!(
        "POST /v1/messages HTTP/1.1\r\nhost: x\r\nx-api-key: reset\r\nanthropic-version: 2023-06-01\r\ncontent-type: \
         application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all(&body).await.unwrap();
    let error = stream.read_to_end(&mut Vec::new()).await.unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::ConnectionReset);
}

#[tokio::test]
async fn a_caller_that_leaves_a_hanging_request_takes_it_out_of_flight() {
    let running = start().await;
    let call = tokio::spawn(running.post("hang", body()).send());
    in_flight(&running.sim, 1).await;
    call.abort();
    in_flight(&running.sim, 0).await;
    assert_eq!(running.sim.stats().n_hung, 1);
}

#[tokio::test]
async fn a_body_above_32_mb_is_refused_and_one_in_pieces_is_read_whole() {
    let running = start().await;
    let refused = running.post("good", Bytes::from(vec![b' '; MAX_BODY + 1])).send().await.unwrap();
    assert_eq!(refused.status(), StatusCode::PAYLOAD_TOO_LARGE);
    let mut padded = body().to_vec();
    padded.extend(std::iter::repeat_n(b' ', 3_000_000));
    let padded = Bytes::from(padded);
    let answered = running.post("good", padded.clone()).send().await.unwrap();
    let message: Value = serde_json::from_slice(&answered.bytes().await.unwrap()).unwrap();
    assert_eq!(message["content"][0]["text"], answer_for(&padded).unwrap().text);
}

#[tokio::test]
async fn the_statistics_are_on_the_control_port_only() {
    let running = start().await;
    let on_api = running.client.get(format!("{}/_sim/stats", running.api)).send().await.unwrap();
    assert_eq!(on_api.status(), StatusCode::UNAUTHORIZED);
    let elsewhere = running.client.get(format!("{}/v1/messages", running.control)).send().await.unwrap();
    assert_eq!(elsewhere.status(), StatusCode::NOT_FOUND);
    assert_eq!(running.stats().await.n_requests, 1);
}

#[tokio::test]
async fn shutdown_ends_the_server_with_requests_in_flight() {
    let mut running = start().await;
    let call = tokio::spawn(running.post("hang", body()).send());
    in_flight(&running.sim, 1).await;
    for stop in running.stop.drain(..) {
        stop.send(()).unwrap();
    }
    for task in running.tasks.drain(..) {
        task.await.unwrap();
    }
    assert!(call.await.unwrap().is_err());
}

#[test]
fn an_address_that_others_can_reach_is_warned_about() {
    for (address, warned) in [
        ("127.0.0.1:80", false),
        ("[::1]:80", false),
        ("[::ffff:127.0.0.1]:80", false),
        ("0.0.0.0:80", true),
        ("192.168.1.2:80", true),
        ("[::]:80", true),
    ] {
        let warning = exposure_warning(address.parse().unwrap());
        assert_eq!(warning.is_some(), warned, "{address}");
        assert!(warning.is_none_or(|text| text.contains("WARNING") && text.contains("127.0.0.1")));
    }
}

#[tokio::test]
async fn a_stream_arrives_event_by_event_and_a_cut_one_breaks() {
    let running = start().await;
    let mut streamed: Value = serde_json::from_slice(&body()).unwrap();
    streamed["stream"] = json!(true);
    let streamed = Bytes::from(streamed.to_string());
    let answered = running.post("good", streamed.clone()).send().await.unwrap();
    assert_eq!(answered.headers()["content-type"], "text/event-stream; charset=utf-8");
    let text = answered.text().await.unwrap();
    assert!(text.starts_with("event: message_start\n") && text.ends_with("\"message_stop\"}\n\n"), "{text}");
    let cut = running.post("cut", streamed).send().await.unwrap();
    assert!(cut.bytes().await.is_err());
}

#[tokio::test]
async fn the_results_of_a_batch_are_streamed_and_a_cut_download_breaks_in_its_middle() {
    let running = start().await;
    // Half of them are more by a third of all than the connection may hold back when it breaks.
    let n = 6_000;
    let params: Value = serde_json::from_slice(&body()).unwrap();
    let rows: Vec<Value> = (0..n).map(|at| json!({"custom_id": format!("row-{at}"), "params": params})).collect();
    let create = Bytes::from(json!({"requests": rows}).to_string());
    for (key, whole) in [("good", true), ("cut-results", false)] {
        let call = |method: reqwest::Method, path: &str| {
            running
                .client
                .request(method, format!("{}{path}", running.api))
                .header("x-api-key", key)
                .header("anthropic-version", "2023-06-01")
                .header("content-type", "application/json")
        };
        let created = call(reqwest::Method::POST, "/v1/messages/batches").body(create.clone()).send().await.unwrap();
        let created: Value = serde_json::from_slice(&created.bytes().await.unwrap()).unwrap();
        assert_eq!(created["processing_status"], "in_progress");
        let path = format!("/v1/messages/batches/{}", created["id"].as_str().unwrap());
        let ended: Value =
            serde_json::from_slice(&call(reqwest::Method::GET, &path).send().await.unwrap().bytes().await.unwrap())
                .unwrap();
        assert_eq!(ended["results_url"], format!("{}{path}/results", running.api));
        let mut results = call(reqwest::Method::GET, &format!("{path}/results")).send().await.unwrap();
        let mut text = Vec::new();
        let broken = loop {
            match results.chunk().await {
                Ok(Some(chunk)) => text.extend_from_slice(&chunk),
                Ok(None) => break false,
                Err(_) => break true,
            }
        };
        let lines = text.iter().filter(|byte| **byte == b'\n').count();
        assert_eq!((broken, lines == n), (!whole, whole), "{key}: {lines}");
        assert!(lines > n / 3, "{key}: {lines}");
    }
    let listed: Value =
        running.client.get(format!("{}/_sim/batches", running.control)).send().await.unwrap().json_of().await;
    assert_eq!(listed[0]["counts"]["succeeded"], n);
}

/// A body as JSON.
trait JsonOf {
    async fn json_of(self) -> Value;
}

impl JsonOf for reqwest::Response {
    async fn json_of(self) -> Value {
        serde_json::from_slice(&self.bytes().await.unwrap()).unwrap()
    }
}

#[tokio::test]
async fn a_large_create_is_read_apart_and_answered_all_the_same() {
    let running = start().await;
    let mut params: Value = serde_json::from_slice(&body()).unwrap();
    params["system"] = json!("x".repeat(LARGE));
    let create = json!({"requests": [{"custom_id": "a", "params": params}]}).to_string();
    let created = running
        .client
        .post(format!("{}/v1/messages/batches", running.api))
        .header("authorization", "Bearer good")
        .header("anthropic-version", "2026-10-21")
        .header("content-type", "application/json")
        .body(create)
        .send()
        .await
        .unwrap();
    assert_eq!(created.json_of().await["request_counts"]["processing"], 1);
}
