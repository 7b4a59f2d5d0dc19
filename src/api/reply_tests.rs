use http::HeaderValue;
use proptest::prelude::*;

use super::*;
use crate::model::{LimitKind, Outcome, RetryAfter, Secret, Usage};

const MESSAGE: &str = r#"{"model":"claude-haiku-4-5-20251001","id":"msg_01","type":"message","role":"assistant","content":[{"type":"text","text":"Yes."}],"stop_reason":"end_turn","stop_sequence":null,"stop_details":null,"usage":{"input_tokens":13,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"cache_creation":{"ephemeral_5m_input_tokens":0,"ephemeral_1h_input_tokens":0},"output_tokens":44,"output_tokens_details":{"thinking_tokens":33},"service_tier":"standard"}}"#;

fn read_as(status: u16, content_type: &'static str, body: &str, scrubber: &Scrubber) -> Reply {
    let mut headers = HeaderMap::new();
    headers.insert("content-type", HeaderValue::from_static(content_type));
    let status = StatusCode::from_u16(status).unwrap();
    read(status, &headers, Bytes::copy_from_slice(body.as_bytes()), scrubber, Wall(0))
}

fn read_json(status: u16, body: &str) -> Reply {
    read_as(status, "application/json", body, &Scrubber::default())
}

fn trouble(reply: &Reply) -> (Trouble, &ApiError) {
    match &reply.verdict {
        Verdict::Trouble(trouble, error) => (*trouble, error),
        other => panic!("{other:?}"),
    }
}

fn error_json(kind: &str, message: &str) -> String {
    format!(r#"{{"type":"error","error":{{"type":"{kind}","message":"{message}"}},"request_id":"req_1"}}"#)
}

#[test]
fn an_answer_is_passed_on_byte_for_byte_without_a_copy() {
    let body = Bytes::from_static(MESSAGE.as_bytes());
    let reply = read(StatusCode::OK, &HeaderMap::new(), body.clone(), &Scrubber::default(), Wall(0));
    let usage = Usage { input_tokens: 13, output_tokens: 44, ..Usage::default() };
    assert_eq!(reply.verdict, Verdict::Answered { refused: false, usage });
    assert_eq!(reply.body.as_ptr(), body.as_ptr());
    assert_eq!(reply.body, body);
}

#[test]
fn an_answer_on_many_lines_is_stored_on_one() {
    let pretty = MESSAGE.replace("{\"", "{\r\n  \"").replace(",\"", ",\n  \"");
    let reply = read_json(200, &pretty);
    assert_eq!(reply.verdict.outcome(), Outcome::Succeeded);
    assert_eq!(reply.body, MESSAGE);
}

#[test]
fn a_key_in_an_answer_is_masked_and_the_answer_kept() {
    let key = Secret::new("own-key-123").unwrap();
    let body = MESSAGE.replace("Yes.", "own-key-123 sk-ant-api03-zzz");
    let reply = read_as(200, "application/json", &body, &Scrubber::new([&key]));
    assert_eq!(reply.verdict.outcome(), Outcome::Succeeded);
    assert_eq!(reply.body, MESSAGE.replace("Yes.", "[key] [key]"));
}

#[test]
fn l19_a_refusal_is_an_answer_of_its_own_class_and_keeps_its_bill() {
    let body = MESSAGE.replace("end_turn", "refusal");
    let reply = read_json(200, &body);
    assert!(matches!(reply.verdict, Verdict::Answered { refused: true, usage } if usage.output_tokens == 44));
    assert_eq!(reply.body, body);
}

#[test]
fn l16_a_short_body_is_broken_possibly_charged_and_never_an_answer() {
    for body in ["", "{}", "null", "not json", &MESSAGE[..MESSAGE.len() - 1], r#"{"choices":[]}"#] {
        let reply = read_json(200, body);
        let (trouble, error) = trouble(&reply);
        assert_eq!(trouble, Trouble::Broken, "{body}");
        assert!(trouble.possibly_charged());
        assert!(error.message.starts_with("the answer is "), "{error}");
        assert!(reply.body.is_empty());
    }
}

#[test]
fn a_success_that_is_an_error_late_is_that_error() {
    assert_eq!(trouble(&read_json(200, &error_json("overloaded_error", "Overloaded"))).0, Trouble::Overloaded);
    assert_eq!(trouble(&read_json(200, &error_json("api_error", "x"))).0, Trouble::Server);
    assert_eq!(trouble(&read_json(200, &error_json("new_error", "x"))).0, Trouble::Broken);
}

#[test]
fn a_page_of_a_proxy_under_200_is_a_wrong_endpoint() {
    let reply = read_as(200, "text/html", "<html>Please log in</html>", &Scrubber::default());
    let (trouble, error) = trouble(&reply);
    assert_eq!(trouble, Trouble::Account(AccountTrouble::Endpoint));
    assert_eq!(
        error.message,
        "not an Anthropic API: check base-url, and proxies on the way (<html>Please log in</html>)"
    );
}

#[test]
fn a_streamed_answer_is_put_together_and_kept_whole() {
    let stream = concat!(
        "data: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_1\",\"type\":\"message\",\"content\":[],\"usage\":{\"input_tokens\":3,\"output_tokens\":1}}}\n\n",
        "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"Yes\"}}\n\n",
        "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":2}}\n\n",
        "data: {\"type\":\"message_stop\"}\n\n",
    );
    let reply = read_as(200, "text/event-stream; charset=utf-8", stream, &Scrubber::default());
    assert!(matches!(&reply.verdict, Verdict::Answered { refused: false, usage } if usage.output_tokens == 2));
    assert!(message::facts(std::str::from_utf8(&reply.body).unwrap()).is_ok());
}

#[test]
fn a_stream_with_an_error_or_without_an_end_is_sent_again() {
    let error = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n";
    let reply = read_as(200, "text/event-stream", error, &Scrubber::default());
    assert_eq!(trouble(&reply).0, Trouble::Overloaded);
    let reply = read_as(200, "text/event-stream", "event: message_start\n", &Scrubber::default());
    let (trouble, error) = trouble(&reply);
    assert_eq!(trouble, Trouble::Broken);
    assert!(error.message.contains("before its last event"), "{error}");
}

#[test]
fn an_invalid_request_keeps_the_apis_error_body_on_one_line_without_keys() {
    let body = error_json("invalid_request_error", "bad sk-ant-api03-zzz").replace(",\"", ",\n\"");
    let reply = read_json(400, &body);
    assert!(
        matches!(&reply.verdict, Verdict::Invalid(error) if error.to_string() == "400 invalid_request_error: bad [key]")
    );
    assert_eq!(reply.body, error_json("invalid_request_error", "bad [key]"));
}

#[test]
fn b13_a_413_of_the_edge_is_invalid_in_the_apis_shape() {
    let reply = read_as(413, "text/html", "<h1>413 Request Entity Too Large</h1>", &Scrubber::default());
    assert_eq!(reply.verdict.outcome(), Outcome::Invalid);
    assert_eq!(error_body::parse(&reply.body).unwrap().kind, "request_too_large");
}

#[test]
fn trouble_carries_its_words_and_no_body() {
    let reply = read_json(
        429,
        r#"{"type":"error","error":{"type":"rate_limit_error","message":"slow down","details":{"error_code":"ramp_limit_exceeded"}}}"#,
    );
    let (trouble, error) = trouble(&reply);
    assert_eq!(trouble, Trouble::RateLimited(LimitKind::Ramp));
    assert_eq!(error.to_string(), "429 rate_limit_error (ramp_limit_exceeded): slow down");
    assert!(reply.body.is_empty());
}

#[test]
fn l17_html_empty_and_cut_bodies_are_classified_by_status() {
    let html = "<html><head><title>502</title></head></html>";
    let reply = read_as(502, "text/html", html, &Scrubber::default());
    assert_eq!(trouble(&reply).0, Trouble::Server);
    assert_eq!(trouble(&reply).1.to_string(), format!("502 http-502: {html}"));
    assert_eq!(trouble(&read_json(500, "")).1.message, "empty body");
    assert_eq!(trouble(&read_json(429, "<html>")).0, Trouble::RateLimited(LimitKind::Steady));
    assert_eq!(trouble(&read_json(404, html)).0, Trouble::Account(AccountTrouble::Endpoint));
    let redirect = read_json(302, "");
    assert_eq!(trouble(&redirect).0, Trouble::Account(AccountTrouble::Endpoint));
    assert!(trouble(&redirect).1.message.contains("check base-url"));
    assert_eq!(redirect.retry_after, RetryAfter::Absent);
}

proptest! {
    #[test]
    fn no_status_and_no_body_make_it_panic_and_a_body_is_one_line_of_json(
        status in 100_u16..1_000,
        body in prop_oneof![
            prop::collection::vec(any::<u8>(), 0..200),
            ".*".prop_map(String::into_bytes),
            (0..MESSAGE.len(), any::<u8>()).prop_map(|(at, byte)| {
                let mut body = MESSAGE.as_bytes().to_vec();
                body[at] = byte;
                body
            }),
        ],
    ) {
        let status = StatusCode::from_u16(status).unwrap();
        let reply = read(status, &HeaderMap::new(), Bytes::from(body), &Scrubber::default(), Wall(0));
        let stored = matches!(reply.verdict, Verdict::Answered { .. } | Verdict::Invalid(_));
        prop_assert_eq!(stored, !reply.body.is_empty());
        if stored {
            let text = std::str::from_utf8(&reply.body).unwrap();
            prop_assert!(!text.contains(['\n', '\r']));
            prop_assert!(serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok());
        }
    }
}
