//! Long answers over HTTP, and looks at orgs.

use super::*;
use crate::api::look::{Finding, Sight};
use crate::model::Verdict;

const STREAM: &str = concat!(
    "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_9\",\"type\":\"message\",\"content\":[],",
    "\"stop_reason\":null,\"usage\":{\"input_tokens\":3,\"output_tokens\":1}}}\n\n",
    "event: ping\ndata: {\"type\":\"ping\"}\n\n",
    "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n",
    "data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"Long.\"}}\n\n",
    "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":7}}\n\n",
    "data: {\"type\":\"message_stop\"}\n\n",
);

fn streamed(body: &str) -> Vec<u8> {
    format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nrequest-id: req_9\r\nconnection: close\r\n\r\n{body}"
    )
    .into_bytes()
}

fn a_long_call() -> Call {
    Call { org: OrgId(0), body: Bytes::from_static(br#"{"max_tokens":64000}"#), max_tokens: 64_000 }
}

async fn long(answer: Answer) -> (Reply, Log) {
    // Only silence is waited for: what comes may come late.
    let usual = WireSettings::default();
    let idle_timeout =
        if matches!(answer, Answer::Silence(_)) { Duration::from_millis(200) } else { usual.idle_timeout };
    let (base, log) = serve(vec![answer]).await;
    let wire = WireSettings { idle_timeout, ..usual };
    (transport(&base, &wire).call(a_long_call()).await, log)
}

#[tokio::test]
async fn a_long_answer_is_asked_for_as_a_stream_and_comes_as_one_message() {
    let (reply, log) = long(Answer::Bytes(streamed(STREAM))).await;
    let request = log.lock().unwrap().requests[0].clone();
    assert!(request.contains("accept: text/event-stream, application/json"), "{request}");
    assert!(request.ends_with("\r\n\r\n{\"stream\":true,\"max_tokens\":64000}"), "{request}");
    assert!(matches!(&reply.verdict, Verdict::Answered { refused: false, usage } if usage.output_tokens == 7));
    assert_eq!(reply.request_id.as_deref(), Some("req_9"));
    let message: serde_json::Value = serde_json::from_slice(&reply.body).unwrap();
    assert_eq!(message["content"][0]["text"], "Long.");
}

#[tokio::test]
async fn l16_a_stream_that_breaks_or_falls_silent_is_sent_again_and_counted_as_possibly_charged() {
    let half = streamed(STREAM.split("event: ping").next().unwrap());
    for answer in [Answer::Bytes(half.clone()), Answer::Reset(half.clone()), Answer::Silence(half)] {
        let (reply, _) = long(answer).await;
        assert!(trouble(&reply).0.possibly_charged(), "{:?}", reply.verdict);
        assert_eq!(reply.verdict.outcome(), Outcome::ReDrivable);
    }
}

#[tokio::test]
async fn an_error_event_in_the_middle_of_a_stream_is_sent_again() {
    let error = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n";
    let stream = STREAM.replace("event: ping\ndata: {\"type\":\"ping\"}\n\n", error);
    let (reply, _) = long(Answer::Bytes(streamed(&stream))).await;
    assert_eq!(trouble(&reply).0, Trouble::Overloaded);
}

#[tokio::test]
async fn a_server_that_does_not_stream_is_understood_too() {
    let (reply, _) = long(Answer::Bytes(with_length("200 OK", MESSAGE))).await;
    assert_eq!(reply.body, MESSAGE);
}

/// An answer on a connection that is not kept: the next request could be written into it while it is being closed.
fn closing(status: &str, body: &str) -> Answer {
    Answer::Bytes(with_length(&format!("{status}\r\nconnection: close"), body))
}

async fn look(answers: Vec<Answer>) -> (Sight, Log) {
    let (base, log) = serve(answers).await;
    (transport(&base, &WireSettings::default()).look(OrgId(0), "claude-haiku-4-5").await, log)
}

#[tokio::test]
async fn a_look_asks_for_the_model_and_tells_the_organisation() {
    let model = r#"{"id":"claude-haiku-4-5-20251001","type":"model","max_tokens":64000}"#;
    let answer = String::from_utf8(with_length("200 OK", model)).unwrap();
    let answer = answer.replace("\r\n\r\n", "\r\nanthropic-organization-id: org-7\r\n\r\n").into_bytes();
    let (sight, log) = look(vec![Answer::Bytes(answer)]).await;
    assert_eq!(sight.finding, Finding::Model { max_tokens: Some(64_000) });
    assert_eq!(sight.organization.as_deref(), Some("org-7"));
    let request = log.lock().unwrap().requests[0].clone();
    assert!(request.starts_with("GET /v1/models/claude-haiku-4-5 HTTP/1.1\r\n"), "{request}");
}

#[tokio::test]
async fn a_look_at_an_api_without_models_or_without_an_answer_tells_nothing() {
    let (sight, log) = look(vec![closing("404 Not Found", ""), closing("405 Method Not Allowed", "")]).await;
    assert_eq!(sight, Sight::nothing());
    assert!(log.lock().unwrap().requests[1].starts_with("GET /v1/models?limit=1000 "));
    let (sight, _) = look(vec![Answer::Reset(Vec::new())]).await;
    assert_eq!(sight, Sight::nothing());
}

#[tokio::test]
async fn l11_a_look_finds_out_that_there_is_no_such_model() {
    let missing = r#"{"type":"error","error":{"type":"not_found_error","message":"model: claude-haiku-4-5"}}"#;
    let list = r#"{"data":[{"id":"claude-opus-5","type":"model"}],"has_more":false}"#;
    let (sight, _) = look(vec![closing("404 Not Found", missing), closing("200 OK", list)]).await;
    assert_eq!(sight.finding, Finding::NoSuchModel);
}
