use std::sync::Mutex;

use bytes::Bytes;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};

use super::*;
use crate::api::batches::{ProcessingStatus, upload};
use crate::model::{AccountTrouble, Family, LimitKind, OrgSpec, Scrubber, Secret, WireSettings};

const BATCH: &str = r#"{"id":"msgbatch_1","type":"message_batch","processing_status":"in_progress","request_counts":{"processing":2,"succeeded":0,"errored":0,"canceled":0,"expired":0},"created_at":"2025-01-29T14:25:40Z","expires_at":"2025-01-30T14:25:40Z","ended_at":null}"#;

/// A server that answers each connection with the next text, or closes it without one. Gives what it was asked.
async fn serve(answers: Vec<Option<String>>) -> (HttpTransport, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base_url = format!("http://{}/proxy", listener.local_addr().unwrap());
    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&seen);
    tokio::spawn(async move {
        for answer in answers {
            let (mut stream, _) = listener.accept().await.unwrap();
            if let Some(request) = read_request(&mut stream).await {
                log.lock().unwrap().push(request);
            }
            if let Some(answer) = answer {
                let _ = stream.write_all(answer.as_bytes()).await;
            }
        }
    });
    (transport_to(base_url), seen)
}

fn transport_to(base_url: String) -> HttpTransport {
    let org = OrgSpec {
        label: "batch".to_owned(),
        key_env: "ANTHROPIC_BATCH_KEY".to_owned(),
        key: Secret::new("sk-ant-api03-of-this-test").unwrap(),
        base_url,
        caps: Family::ALL.map(Family::default_cap),
    };
    let scrubber = Scrubber::new([&org.key]);
    HttpTransport::new(&[org], &WireSettings::default(), scrubber).unwrap()
}

/// `None` when the request broke off.
async fn read_request(stream: &mut TcpStream) -> Option<String> {
    let mut request = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let n = stream.read(&mut buffer).await.ok().filter(|n| *n > 0)?;
        request.extend_from_slice(&buffer[..n]);
        let text = String::from_utf8_lossy(&request).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let len = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            if body.len() >= len.map_or(0, |len| len.parse().unwrap()) {
                return Some(text);
            }
        }
    }
}

fn answer(status: &str, headers: &str, body: &str) -> Option<String> {
    Some(format!("HTTP/1.1 {status}\r\n{headers}connection: close\r\ncontent-length: {}\r\n\r\n{body}", body.len()))
}

fn body_of(text: &'static str) -> Upload {
    let (feeder, upload) = upload(text.len() as u64);
    std::thread::spawn(move || {
        feeder.push(Bytes::from_static(text.as_bytes()));
        feeder.finish();
    });
    upload
}

fn error(kind: &str) -> String {
    format!(r#"{{"type":"error","error":{{"type":"{kind}","message":"m"}}}}"#)
}

#[tokio::test]
async fn a_create_goes_out_once_with_its_length_and_gives_the_batch() {
    let (transport, seen) = serve(vec![answer("200 OK", "", BATCH)]).await;
    let reply = transport.create(OrgId(0), body_of(r#"{"requests":[]}"#)).await;
    let CreateOutcome::Created(batch) = reply.outcome else { panic!("{reply:?}") };
    assert_eq!(batch.id, "msgbatch_1");
    let seen = seen.lock().unwrap();
    assert!(seen[0].starts_with("POST /proxy/v1/messages/batches HTTP/1.1\r\n"), "{}", seen[0]);
    assert!(seen[0].contains("content-length: 15\r\n") && !seen[0].contains("transfer-encoding"), "{}", seen[0]);
    assert!(seen[0].ends_with(r#"{"requests":[]}"#));
}

#[tokio::test]
async fn b4_only_what_the_api_refused_or_never_had_is_surely_not_created() {
    let page = "<html>bad gateway</html>";
    for (given, may_exist) in [
        (answer("400 Bad Request", "", &error("invalid_request_error")), false),
        (answer("401 Unauthorized", "", &error("authentication_error")), false),
        (answer("413 Content Too Large", "", &error("request_too_large")), false),
        (answer("429 Too Many Requests", "retry-after: 7\r\n", &error("rate_limit_error")), false),
        (answer("409 Conflict", "", &error("conflict_error")), true),
        (answer("500 Internal Server Error", "", &error("api_error")), true),
        (answer("529 Overloaded", "", &error("overloaded_error")), true),
        (answer("502 Bad Gateway", "content-type: text/html\r\n", page), true),
        (answer("499 Client Closed Request", "content-type: text/html\r\n", page), true),
        (answer("403 Forbidden", "content-type: text/html\r\n", page), true),
        (answer("302 Found", "content-type: text/html\r\nlocation: http://127.0.0.1:1/\r\n", page), false),
        (answer("200 OK", "", r#"{"id":"msgba"#), true),
        (None, true),
    ] {
        let (transport, seen) = serve(vec![given.clone()]).await;
        let reply = transport.create(OrgId(0), body_of("{}")).await;
        let unknown = matches!(reply.outcome, CreateOutcome::Unknown(_));
        assert_eq!(unknown, may_exist, "{given:?}: {:?}", reply.outcome);
        assert!(unknown || matches!(reply.outcome, CreateOutcome::Refused(_)), "{given:?}: {:?}", reply.outcome);
        assert_eq!(seen.lock().unwrap().len(), 1, "{given:?}");
    }
}

#[tokio::test]
async fn without_a_connection_or_without_a_whole_body_nothing_was_created() {
    // A port that is taken and does not listen: one that was let go of could be another test's by then.
    let taken = TcpSocket::new_v4().unwrap();
    taken.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let transport = transport_to(format!("http://{}", taken.local_addr().unwrap()));
    let reply = transport.create(OrgId(0), body_of("{}")).await;
    assert!(matches!(reply.outcome, CreateOutcome::Refused(_)), "{:?}", reply.outcome);

    let (transport, seen) = serve(vec![answer("200 OK", "", BATCH)]).await;
    let (feeder, upload) = upload(1_000);
    std::thread::spawn(move || feeder.push(Bytes::from_static(b"{\"requests\":[")));
    let reply = transport.create(OrgId(0), upload).await;
    assert!(matches!(reply.outcome, CreateOutcome::Refused(_)), "{:?}", reply.outcome);
    assert!(seen.lock().unwrap().is_empty());
}

#[tokio::test]
async fn b15_a_full_queue_is_a_limit_with_its_wait() {
    let (transport, _) =
        serve(vec![answer("429 Too Many Requests", "retry-after: 60\r\n", &error("rate_limit_error"))]).await;
    let reply = transport.create(OrgId(0), body_of("{}")).await;
    let CreateOutcome::Refused(BatchFailure::Trouble(trouble, _)) = reply.outcome else { panic!("{reply:?}") };
    assert_eq!(trouble, Trouble::RateLimited(LimitKind::Steady));
    assert_eq!(reply.retry_after, RetryAfter::After(Duration::from_secs(60)));
}

#[tokio::test]
async fn polls_cancels_and_lists_go_where_the_api_has_them() {
    let page = format!(r#"{{"data":[{BATCH}],"has_more":true,"first_id":"msgbatch_1","last_id":"msgbatch_1"}}"#);
    let (transport, seen) = serve(vec![
        answer("200 OK", "retry-after: 10\r\nanthropic-organization-id: org-1\r\n", BATCH),
        answer("200 OK", "", &BATCH.replace("in_progress", "canceling")),
        answer("200 OK", "", &page),
    ])
    .await;
    let polled = transport.retrieve(OrgId(0), "msgbatch_1").await;
    assert_eq!(polled.result.unwrap().processing_status, ProcessingStatus::InProgress);
    assert_eq!(polled.retry_after, RetryAfter::After(Duration::from_secs(10)));
    assert_eq!(polled.organization.as_deref(), Some("org-1"));
    let canceled = transport.cancel(OrgId(0), "msgbatch_1").await;
    assert_eq!(canceled.result.unwrap().processing_status, ProcessingStatus::Canceling);
    let listed = transport.list(OrgId(0), Some("msgbatch_0"), 100).await.result.unwrap();
    assert!(listed.has_more && listed.data.len() == 1);
    let seen = seen.lock().unwrap();
    let lines: Vec<&str> = seen.iter().filter_map(|request| request.lines().next()).collect();
    assert_eq!(
        lines,
        [
            "GET /proxy/v1/messages/batches/msgbatch_1 HTTP/1.1",
            "POST /proxy/v1/messages/batches/msgbatch_1/cancel HTTP/1.1",
            "GET /proxy/v1/messages/batches?limit=100&after_id=msgbatch_0 HTTP/1.1",
        ]
    );
    assert!(seen[1].contains("content-length: 0\r\n"), "{}", seen[1]);
}

#[tokio::test]
async fn an_id_of_the_api_cannot_lead_elsewhere() {
    let (transport, seen) = serve(vec![answer("200 OK", "", BATCH)]).await;
    let _ = transport.retrieve(OrgId(0), "../../x?y#z").await;
    let line = seen.lock().unwrap()[0].lines().next().unwrap().to_owned();
    assert!(line.starts_with("GET /proxy/v1/messages/batches/..%2F..%2Fx%3Fy%23z "), "{line}");
}

#[tokio::test]
async fn b3_not_found_is_a_failure_of_its_own_and_a_failing_poll_is_trouble() {
    let (transport, _) = serve(vec![
        answer("404 Not Found", "", &error("not_found_error")),
        answer("500 Internal Server Error", "", &error("api_error")),
        answer("401 Unauthorized", "", &error("authentication_error")),
    ])
    .await;
    let failure = transport.retrieve(OrgId(0), "b").await.result.unwrap_err();
    assert!(matches!(failure, BatchFailure::NotFound(_)), "{failure:?}");
    let failure = transport.retrieve(OrgId(0), "b").await.result.unwrap_err();
    assert!(matches!(failure, BatchFailure::Trouble(Trouble::Server, _)), "{failure:?}");
    let failure = transport.retrieve(OrgId(0), "b").await.result.unwrap_err();
    assert!(matches!(failure, BatchFailure::Trouble(Trouble::Account(AccountTrouble::Auth), _)), "{failure:?}");
}

fn into(kept: &Arc<Mutex<Vec<u8>>>) -> Sink {
    let kept = Arc::clone(kept);
    Box::new(move |chunk| {
        kept.lock().unwrap().extend_from_slice(chunk);
        Ok(())
    })
}

#[tokio::test]
async fn results_are_written_through_as_they_come() {
    let (transport, seen) = serve(vec![answer("200 OK", "", "one\ntwo\n")]).await;
    let kept = Arc::default();
    assert_eq!(transport.results(OrgId(0), "msgbatch_1", into(&kept)).await.result.unwrap(), 8);
    assert_eq!(kept.lock().unwrap().as_slice(), b"one\ntwo\n");
    assert!(seen.lock().unwrap()[0].starts_with("GET /proxy/v1/messages/batches/msgbatch_1/results "));
}

#[tokio::test]
async fn b20_results_that_are_cut_off_and_a_disk_that_is_full_are_trouble() {
    let cut = "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\none\n".to_owned();
    let (transport, _) = serve(vec![Some(cut), answer("200 OK", "", "one\n")]).await;
    let failure = transport.results(OrgId(0), "b", into(&Arc::default())).await.result.unwrap_err();
    assert!(matches!(failure, BatchFailure::Trouble(Trouble::Broken, _)), "{failure:?}");
    let full: Sink = Box::new(|_| Err(std::io::Error::from(std::io::ErrorKind::StorageFull)));
    let failure = transport.results(OrgId(0), "b", full).await.result.unwrap_err();
    assert_eq!(failure.error().kind, "disk");
}
