#[path = "http_long_tests.rs"]
mod long;

use std::sync::Mutex;

use bytes::Bytes;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};

use super::*;
use crate::model::{AccountTrouble, Family, LimitKind, OrgId, Outcome, Secret};
use crate::model::{RetryAfter, Verdict};

const KEY: &str = "sk-ant-api03-the-key-of-this-test";
const MESSAGE: &str = r#"{"id":"msg_1","type":"message","content":[{"type":"text","text":"Yes."}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":2}}"#;

/// What a connection is answered with after its request was read.
enum Answer {
    /// These bytes; then the connection is closed.
    Bytes(Vec<u8>),
    /// These bytes; then a reset.
    Reset(Vec<u8>),
    /// These bytes; then nothing, with the connection open.
    Silence(Vec<u8>),
    /// These bytes again and again, for as long as they are taken.
    Flood(Vec<u8>),
    /// One connection serves two requests with these bytes each.
    KeepAlive(Vec<u8>),
}

#[derive(Default)]
struct Seen {
    requests: Vec<String>,
    connections: usize,
    flooded: usize,
}

type Log = Arc<Mutex<Seen>>;

/// A server on loopback that gives each connection the next answer; returns its base URL and what it saw.
async fn serve(answers: Vec<Answer>) -> (String, Log) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let log = Log::default();
    let seen = Arc::clone(&log);
    tokio::spawn(async move {
        for answer in answers {
            let (stream, _) = listener.accept().await.unwrap();
            seen.lock().unwrap().connections += 1;
            tokio::spawn(give(stream, answer, Arc::clone(&seen)));
        }
        std::future::pending::<()>().await;
    });
    (base, log)
}

async fn give(mut stream: TcpStream, answer: Answer, log: Log) {
    read_request(&mut stream, &log).await;
    match answer {
        Answer::Bytes(bytes) => stream.write_all(&bytes).await.unwrap(),
        Answer::Reset(bytes) => {
            stream.write_all(&bytes).await.unwrap();
            stream.flush().await.unwrap();
            stream.set_zero_linger().unwrap();
        }
        Answer::Silence(bytes) => {
            stream.write_all(&bytes).await.unwrap();
            std::future::pending::<()>().await;
        }
        Answer::Flood(bytes) => {
            stream.write_all(&bytes).await.unwrap();
            while stream.write_all(&[b'x'; 16 * 1024]).await.is_ok() {
                log.lock().unwrap().flooded += 16 * 1024;
            }
        }
        Answer::KeepAlive(bytes) => {
            stream.write_all(&bytes).await.unwrap();
            read_request(&mut stream, &log).await;
            stream.write_all(&bytes).await.unwrap();
        }
    }
}

async fn read_request(stream: &mut TcpStream, log: &Log) {
    let mut request = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let n = stream.read(&mut buffer).await.unwrap();
        request.extend_from_slice(&buffer[..n]);
        let text = String::from_utf8_lossy(&request);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let len =
                head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap_or("0").parse().unwrap();
            if body.len() >= len {
                log.lock().unwrap().requests.push(text.into_owned());
                return;
            }
        }
    }
}

fn with_length(status: &str, body: &str) -> Vec<u8> {
    format!("HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}", body.len())
        .into_bytes()
}

fn org(base_url: &str) -> OrgSpec {
    OrgSpec {
        label: "high-prio".to_owned(),
        key_env: "ANTHROPIC_API_KEY".to_owned(),
        key: Secret::new(KEY).unwrap(),
        base_url: base_url.to_owned(),
        caps: Family::ALL.map(Family::default_cap),
    }
}

fn transport(base_url: &str, wire: &WireSettings) -> HttpTransport {
    let org = org(base_url);
    let scrubber = Scrubber::new([&org.key]);
    HttpTransport::new(&[org], wire, scrubber).unwrap()
}

fn a_call() -> Call {
    Call { org: OrgId(0), body: Bytes::from_static(br#"{"max_tokens":1}"#), max_tokens: 1 }
}

async fn one(answer: Answer) -> (Reply, Log) {
    let (base, log) = serve(vec![answer]).await;
    (transport(&base, &WireSettings::default()).call(a_call()).await, log)
}

fn trouble(reply: &Reply) -> (Trouble, &ApiError) {
    match &reply.verdict {
        Verdict::Trouble(trouble, error) => (*trouble, error),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn the_request_is_sent_exactly_with_the_key_in_its_header_only() {
    let (base, log) = serve(vec![Answer::Bytes(with_length("200 OK", MESSAGE))]).await;
    let wire = WireSettings { betas: vec!["a-1".to_owned(), "b-2".to_owned()], ..WireSettings::default() };
    let reply = transport(&base, &wire).call(a_call()).await;
    assert_eq!(reply.verdict.outcome(), Outcome::Succeeded);
    assert_eq!(reply.body, MESSAGE);

    let request = log.lock().unwrap().requests[0].clone();
    let (head, body) = request.split_once("\r\n\r\n").unwrap();
    let mut lines: Vec<&str> = head.lines().collect();
    lines.sort_unstable();
    let key = format!("x-api-key: {KEY}");
    let host = format!("host: {}", base.trim_start_matches("http://"));
    let agent = format!("user-agent: fandeck/{}", env!("CARGO_PKG_VERSION"));
    let mut expected = vec![
        "POST /v1/messages HTTP/1.1",
        "accept: application/json",
        "anthropic-beta: a-1,b-2",
        "anthropic-version: 2023-06-01",
        "content-length: 16",
        "content-type: application/json",
        &host,
        &agent,
        &key,
    ];
    expected.sort_unstable();
    assert_eq!(lines, expected);
    assert_eq!(body, r#"{"max_tokens":1}"#);
}

#[tokio::test]
async fn a_bearer_key_goes_into_the_authorization_header_instead() {
    let (base, log) = serve(vec![Answer::Bytes(with_length("200 OK", MESSAGE))]).await;
    let wire = WireSettings { bearer: true, ..WireSettings::default() };
    transport(&base, &wire).call(a_call()).await;
    let request = log.lock().unwrap().requests[0].clone();
    assert!(request.contains(&format!("\r\nauthorization: Bearer {KEY}\r\n")));
    assert_eq!(request.matches(KEY).count(), 1);
}

#[tokio::test]
async fn a_connection_is_kept_for_the_next_call() {
    let (base, log) = serve(vec![Answer::KeepAlive(with_length("200 OK", MESSAGE))]).await;
    let transport = transport(&base, &WireSettings::default());
    for _ in 0..2 {
        assert_eq!(transport.call(a_call()).await.verdict.outcome(), Outcome::Succeeded);
    }
    assert_eq!(log.lock().unwrap().connections, 1);
}

#[tokio::test]
async fn an_answer_in_chunks_is_put_together() {
    let (first, second) = MESSAGE.split_at(40);
    let bytes = format!(
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\nrequest-id: req_1\r\n\r\n{:x}\r\n{first}\r\n{:x}\r\n{second}\r\n0\r\n\r\n",
        first.len(),
        second.len()
    );
    let (reply, _) = one(Answer::Bytes(bytes.into_bytes())).await;
    assert_eq!(reply.body, MESSAGE);
    assert_eq!(reply.request_id.as_deref(), Some("req_1"));
}

#[tokio::test]
async fn an_error_keeps_its_limits_and_its_retry_after() {
    let body = r#"{"type":"error","error":{"type":"rate_limit_error","message":"slow down"}}"#;
    let head = "429 Too Many Requests\r\nretry-after: 171\r\nanthropic-ratelimit-requests-limit: 10\r\nanthropic-ratelimit-requests-remaining: 0";
    let (reply, _) = one(Answer::Bytes(with_length(head, body))).await;
    assert_eq!(trouble(&reply).0, Trouble::RateLimited(LimitKind::Steady));
    assert_eq!(reply.retry_after, RetryAfter::After(Duration::from_secs(171)));
    assert_eq!(reply.limits.headroom(), Some(0.0));
}

#[tokio::test]
async fn l16_a_reset_in_the_middle_of_an_answer_is_broken_and_possibly_charged() {
    let mut cut = with_length("200 OK\r\nrequest-id: req_1", MESSAGE);
    cut.truncate(cut.len() - 10);
    for answer in [Answer::Reset(cut.clone()), Answer::Bytes(cut)] {
        let (reply, _) = one(answer).await;
        let (trouble, error) = trouble(&reply);
        assert_eq!(trouble, Trouble::Broken, "{error}");
        assert!(trouble.possibly_charged() && reply.body.is_empty());
        assert_eq!(reply.request_id.as_deref(), Some("req_1"), "the headers did arrive");
        assert!(error.message.starts_with("the connection to 127.0.0.1 broke: "), "{error}");
    }
}

#[tokio::test]
async fn l16_a_connection_that_is_closed_without_an_answer_is_broken() {
    let (reply, log) = one(Answer::Bytes(Vec::new())).await;
    assert_eq!(trouble(&reply).0, Trouble::Broken);
    assert_eq!(log.lock().unwrap().requests.len(), 1, "nothing is sent twice");
}

#[tokio::test]
async fn l16_silence_before_and_within_an_answer_times_out() {
    let short = Duration::from_millis(50);
    let first =
        WireSettings { first_byte_timeout: short, first_byte_per_1k_tokens: Duration::ZERO, ..WireSettings::default() };
    let idle = WireSettings { idle_timeout: short, ..WireSettings::default() };
    let mut half = with_length("200 OK", MESSAGE);
    half.truncate(half.len() - 10);
    for (wire, bytes, words) in [
        (first, Vec::new(), "no answer from 127.0.0.1 within 50ms"),
        (idle, half, "127.0.0.1 fell silent for 50ms in the middle of an answer"),
    ] {
        let (base, _log) = serve(vec![Answer::Silence(bytes)]).await;
        let reply = transport(&base, &wire).call(a_call()).await;
        let (trouble, error) = trouble(&reply);
        assert_eq!((trouble, error.message.as_str()), (Trouble::Timeout, words));
        assert!(trouble.possibly_charged());
    }
}

#[tokio::test]
async fn l17_an_endless_error_body_is_cut_and_its_connection_dropped() {
    let head = b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 1073741824\r\n\r\n<html>".to_vec();
    let (reply, log) = one(Answer::Flood(head)).await;
    let (trouble, error) = trouble(&reply);
    assert_eq!(trouble, Trouble::Server);
    assert!(error.message.starts_with("<html>xxx") && error.message.chars().count() == 200, "{error}");
    // What the sockets' buffers took before the connection was dropped, and no more.
    let flooded = log.lock().unwrap().flooded;
    assert!(flooded < 64 * 1024 * 1024, "{flooded}");
}

#[tokio::test]
async fn l17_an_error_that_breaks_off_is_still_classified_by_its_status() {
    let mut cut = with_length("529 Overloaded", r#"{"type":"error","error":{"type":"overloaded_error"}}"#);
    cut.truncate(cut.len() - 10);
    let (reply, _) = one(Answer::Reset(cut)).await;
    assert_eq!(trouble(&reply).0, Trouble::Overloaded);
}

#[tokio::test]
async fn a_redirect_is_not_followed_so_that_the_key_goes_to_its_host_only() {
    let (elsewhere, other) = serve(vec![Answer::Bytes(with_length("200 OK", MESSAGE))]).await;
    let (reply, _) =
        one(Answer::Bytes(with_length(&format!("307 Moved\r\nlocation: {elsewhere}/v1/messages"), ""))).await;
    assert_eq!(trouble(&reply).0, Trouble::Account(AccountTrouble::Endpoint));
    assert_eq!(other.lock().unwrap().connections, 0);
}

#[tokio::test]
async fn no_connection_is_said_with_the_host_and_charges_nothing() {
    // A port that is taken and does not listen: one that was let go of could be another test's by then.
    let taken = TcpSocket::new_v4().unwrap();
    taken.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let base = format!("http://{}", taken.local_addr().unwrap());
    let reply = transport(&base, &WireSettings::default()).call(a_call()).await;
    let (trouble, error) = trouble(&reply);
    assert_eq!(trouble, Trouble::Connect);
    assert!(!trouble.possibly_charged());
    assert!(error.message.starts_with("no connection to 127.0.0.1: tcp connect error"), "{error}");
}

#[tokio::test]
async fn a_host_that_does_not_speak_tls_is_no_connection() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let _ = stream.read(&mut [0; 64]).await;
        let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await;
    });
    let dir = tempfile::tempdir().unwrap();
    let wire = WireSettings { ca_file: Some(ca_file(&dir, CERTIFICATE)), ..WireSettings::default() };
    let reply = transport(&format!("https://127.0.0.1:{port}"), &wire).call(a_call()).await;
    assert_eq!(trouble(&reply).0, Trouble::Connect, "{:?}", reply.verdict);
}

#[tokio::test]
async fn an_org_that_the_client_does_not_know_is_trouble_and_no_panic() {
    let reply =
        transport("http://127.0.0.1:1", &WireSettings::default()).call(Call { org: OrgId(9), ..a_call() }).await;
    assert_eq!(trouble(&reply).0, Trouble::Connect);
}

fn ca_file(dir: &tempfile::TempDir, text: &str) -> PathBuf {
    let path = dir.path().join("ca.pem");
    std::fs::write(&path, text).unwrap();
    path
}

#[test]
fn a_file_of_certificates_that_cannot_be_used_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let fail = |path: PathBuf| {
        let wire = WireSettings { ca_file: Some(path), ..WireSettings::default() };
        HttpTransport::new(&[], &wire, Scrubber::default()).unwrap_err().to_string()
    };
    let missing = dir.path().join("missing.pem");
    assert_eq!(
        fail(missing.clone()),
        format!(
            "failed to load certificates from {} (wire.ca-file): No such file or directory (os error 2)",
            missing.display()
        )
    );
    let empty = ca_file(&dir, "no certificate");
    assert_eq!(
        fail(empty.clone()),
        format!(
            "failed to load certificates from {} (wire.ca-file): there is no PEM certificate in it",
            empty.display()
        )
    );
}

#[test]
fn orgs_that_cannot_be_sent_to_are_named_without_their_keys() {
    let fail = |org: OrgSpec| {
        let scrubber = Scrubber::new([&org.key]);
        HttpTransport::new(&[org], &WireSettings::default(), scrubber).unwrap_err().to_string()
    };
    assert_eq!(fail(org("nowhere")), "failed to use base-url `nowhere` of org high-prio: not an http or https URL");
    let odd = OrgSpec { key: Secret::new("sk-ant-\u{7f}x").unwrap(), ..org("http://127.0.0.1:1") };
    assert_eq!(
        fail(odd),
        "failed to make the header x-api-key of org high-prio: its value holds characters that no header can carry"
    );
}

#[test]
fn debug_shows_no_key() {
    assert!(!format!("{:?}", transport("http://127.0.0.1:1", &WireSettings::default())).contains("the-key"));
}

#[path = "http_tls_tests.rs"]
mod tls;

/// A self-signed certificate of nobody, valid until 2126.
const CERTIFICATE: &str = "-----BEGIN CERTIFICATE-----
MIIBmjCCAT+gAwIBAgIUQeGbSY9Tk6ABtXc8lRraFD5MFWMwCgYIKoZIzj0EAwIw
ITEfMB0GA1UEAwwWZmFuZGVjayB0ZXN0IGF1dGhvcml0eTAgFw0yNjExMjkxODE3
MDdaGA8yMTI2MTEwNTE4MTcwN1owITEfMB0GA1UEAwwWZmFuZGVjayB0ZXN0IGF1
dGhvcml0eTBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABBG6uvlKRZfxxyK4TTb5
nGej2IqjKktSp441W7liH+PCu+Agso78+ptm70+n3BQ7HI6Go2EgoXbCVMbBYpiZ
rcGjUzBRMB0GA1UdDgQWBBQX+fLKBET3jZmXt+H2seTWxwKZqTAfBgNVHSMEGDAW
gBQX+fLKBET3jZmXt+H2seTWxwKZqTAPBgNVHRMBAf8EBTADAQH/MAoGCCqGSM49
BAMCA0kAMEYCIQDnpwwV1gdLzGfHyIIPk/jCT5hTgsKMIie6G+dqUbDhnAIhALUa
OuNuedIw109wbCM28kgfSvCy3nGXStg5L+IBnkBF
-----END CERTIFICATE-----
";
