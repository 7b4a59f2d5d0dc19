//! Tests of streams.

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn sse(events: &[Value]) -> Vec<u8> {
    let mut out = Vec::new();
    for event in events {
        out.extend_from_slice(format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap()).as_bytes());
    }
    out
}

fn events() -> Vec<Value> {
    let usage = json!({"input_tokens": 9, "output_tokens": 1, "cache_read_input_tokens": 4});
    vec![
        json!({"type": "message_start", "message": {"id": "msg_1", "type": "message", "role": "assistant", "model": "m",
            "content": [], "stop_reason": null, "stop_sequence": null, "usage": usage}}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": "", "signature": ""}}),
        json!({"type": "ping"}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "Hm"}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "c2ln"}}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}}),
        json!({"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "Grüße, "}}),
        json!({"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "all.\n"}}),
        json!({"type": "content_block_delta", "index": 1, "delta": {"type": "citations_delta", "citation": {"n": 1}}}),
        json!({"type": "content_block_start", "index": 2, "content_block": {"type": "tool_use", "id": "t", "name": "f", "input": {}}}),
        json!({"type": "content_block_delta", "index": 2, "delta": {"type": "input_json_delta", "partial_json": "{\"a\": [1,"}}),
        json!({"type": "content_block_delta", "index": 2, "delta": {"type": "input_json_delta", "partial_json": "2]}"}}),
        json!({"type": "message_delta", "delta": {"stop_reason": "tool_use", "stop_sequence": null}, "usage": {"output_tokens": 44}}),
        json!({"type": "message_stop"}),
    ]
}

#[test]
fn a_stream_becomes_the_message_that_a_plain_answer_would_have_been() {
    let message: Value = serde_json::from_slice(&assemble(&sse(&events())).unwrap()).unwrap();
    let expected = json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "stop_reason": "tool_use", "stop_sequence": null,
        "content": [
            {"type": "thinking", "thinking": "Hm", "signature": "c2ln"},
            {"type": "text", "text": "Grüße, all.\n", "citations": [{"n": 1}]},
            {"type": "tool_use", "id": "t", "name": "f", "input": {"a": [1, 2]}},
        ],
        "usage": {"input_tokens": 9, "output_tokens": 44, "cache_read_input_tokens": 4},
    });
    assert_eq!(message, expected);
}

#[test]
fn a_stream_that_is_cut_off_is_no_message_wherever_it_is_cut() {
    let whole = sse(&events());
    // Without the blank line after it, the last event has not been said.
    for end in (0..whole.len() - 1).step_by(7).chain([whole.len() - 1]) {
        assert!(matches!(assemble(&whole[..end]), Err(Unfinished::Broken(_))), "{end}");
    }
}

#[test]
fn an_error_in_the_middle_is_told_as_the_api_words_it() {
    let mut all = events();
    all.insert(8, json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}));
    let Err(Unfinished::Error(body)) = assemble(&sse(&all)) else { panic!("an error expected") };
    assert!(body.starts_with(b"{\"error\":{\"message\":\"Overloaded\""), "{body:?}");
}

#[test]
fn only_long_answers_are_streamed_and_nothing_but_the_member_is_added() {
    let plain = Bytes::from_static(br#"{"model":"m","max_tokens":21333,"messages":[]}"#);
    assert_eq!(body(plain.clone(), STREAM_ABOVE), plain);
    let long = Bytes::from_static(
        b"{ \"model\": \"m\\u00e9\", \"temperature\": 1.0e0 , \"stream\" : false,\"max_tokens\":64000}",
    );
    let sent = body(long, 64_000);
    assert_eq!(sent, &b"{\"stream\":true,\"model\":\"m\\u00e9\",\"temperature\":1.0e0,\"max_tokens\":64000}"[..]);
    assert_eq!(body(Bytes::from_static(b"[1]"), 64_000), &b"[1]"[..]);
}

proptest! {
    #[test]
    fn chunks_of_any_size_give_the_same_message(sizes in prop::collection::vec(1usize..90, 1..60)) {
        let whole = sse(&events());
        let mut assembler = Assembler::default();
        let mut rest = &whole[..];
        for size in sizes.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (chunk, after) = rest.split_at((*size).min(rest.len()));
            assembler.feed(chunk);
            rest = after;
        }
        prop_assert_eq!(assembler.finish(), assemble(&whole));
    }

    #[test]
    fn no_bytes_whatever_make_it_fail_otherwise_than_by_saying_so(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let _ = assemble(&bytes);
    }
}
