//! Answers, composed and rendered.

use super::*;
use serde_json::json;

fn body(extra: &str) -> String {
    format!(
        r#"{{"model":"claude-haiku-4-5","messages":[{{"role":"user","content":"Rate this."}}],"max_tokens":512{extra}}}"#
    )
}

fn rendered(answer: &Answer) -> String {
    message(answer, &BilledUsage::plain(answer, Tier::Standard), "msg_01x")
}

#[test]
fn the_same_bytes_get_the_same_answer_and_others_another_one() {
    let answer = answer_for(body("").as_bytes()).unwrap();
    assert_eq!(answer_for(body("").as_bytes()), Some(answer.clone()));
    assert_ne!(answer_for(body(" ").as_bytes()).unwrap().text, answer.text);
    assert_eq!(answer.model, "claude-haiku-4-5-20251001");
    let text: Value = serde_json::from_str(&answer.text).unwrap();
    assert_eq!(text["digest"].as_str().unwrap().len(), 32);
    assert!((1..=10).contains(&text["score"].as_u64().unwrap()));
}

#[test]
fn the_digest_is_what_sha256_says() {
    // The first half of the published SHA-256 of "abc".
    assert_eq!(digest(b"abc")[..4], [0xba, 0x78, 0x16, 0xbf]);
}

#[test]
fn max_tokens_and_stop_sequences_cut_the_text() {
    let cut = answer_for(body("").replace("512", "5").as_bytes()).unwrap();
    assert_eq!((cut.stop_reason, cut.output_tokens, cut.text.len()), ("max_tokens", 5, 20));
    let none = answer_for(body("").replace("512", "0").as_bytes()).unwrap();
    assert_eq!((none.stop_reason, none.output_tokens), ("max_tokens", 0));
    let stopped = answer_for(body(r#","stop_sequences":["zzz","\"score"]"#).as_bytes()).unwrap();
    assert_eq!((stopped.stop_reason, stopped.stop_sequence.as_deref()), ("stop_sequence", Some("\"score")));
    assert!(stopped.text.ends_with("\","), "{}", stopped.text);
}

#[test]
fn the_message_has_the_fields_of_the_api_in_its_order() {
    let answer = answer_for(body("").as_bytes()).unwrap();
    let message = rendered(&answer);
    let parsed: Value = serde_json::from_str(&message).unwrap();
    assert_eq!(parsed["content"][0]["text"], answer.text);
    assert_eq!(parsed["usage"]["output_tokens"], answer.output_tokens);
    let places: Vec<usize> = ["model", "id", "type", "role", "content", "stop_reason", "stop_sequence", "usage"]
        .iter()
        .map(|field| message.find(&format!("\"{field}\":")).unwrap())
        .collect();
    assert!(places.is_sorted(), "{message}");
}

#[test]
fn a_refusal_has_no_content_and_says_so() {
    let refusal: Value = serde_json::from_str(&rendered(&answer_for(body("").as_bytes()).unwrap().refused())).unwrap();
    assert_eq!(refusal["stop_reason"], "refusal");
    assert_eq!(refusal["content"], json!([]));
    assert_eq!(refusal["stop_details"]["type"], "refusal");
}

#[test]
fn what_only_steers_the_answer_costs_no_input() {
    let plain: Value = serde_json::from_str(&body("")).unwrap();
    let streamed: Value = serde_json::from_str(&body(r#","stream":true"#)).unwrap();
    assert_eq!(input_tokens(&plain), input_tokens(&streamed));
}

fn asked(model: &str, extra: &str) -> Answer {
    answer_for(body(extra).replace("claude-haiku-4-5", model).as_bytes()).unwrap()
}

#[test]
fn the_5_series_thinks_unless_told_not_to_and_thinking_counts_as_output() {
    let thought = asked("claude-haiku-5-5", "");
    let thinking = thought.thinking.clone().unwrap();
    assert!(thinking.text.is_empty() && (16..80).contains(&thinking.tokens));
    assert_eq!(thought.output_tokens, thinking.tokens + thought.text.len().div_ceil(4) as u64);
    assert_eq!(asked("claude-haiku-5-5", r#","thinking":{"type":"disabled"}"#).thinking, None);
    assert_eq!(asked("claude-haiku-4-5", "").thinking, None);
    let shown = asked("claude-opus-5-5", r#","thinking":{"type":"adaptive","display":"summarized"}"#);
    assert!(!shown.thinking.unwrap().text.is_empty());
    let message: Value = serde_json::from_str(&rendered(&thought)).unwrap();
    assert_eq!((&message["content"][0]["type"], &message["content"][1]["type"]), (&json!("thinking"), &json!("text")));
    assert_eq!(message["usage"]["output_tokens_details"]["thinking_tokens"], thinking.tokens);
}

#[test]
fn thinking_eats_up_a_small_max_tokens() {
    let cut =
        answer_for(body("").replace("claude-haiku-4-5", "claude-haiku-5-5").replace("512", "10").as_bytes()).unwrap();
    assert_eq!((cut.stop_reason, cut.output_tokens, cut.text.as_str()), ("max_tokens", 10, ""));
}

#[test]
fn a_forced_tool_is_called_with_an_input_of_its_schema() {
    let tools =
        r#","tools":[{"name":"record","input_schema":{"type":"object","properties":{"label":{"enum":["a","b"]}}}}]"#;
    let called = asked("claude-haiku-4-5", &format!(r#"{tools},"tool_choice":{{"type":"tool","name":"record"}}"#));
    assert_eq!((called.stop_reason, called.text.as_str()), ("tool_use", ""));
    let message: Value = serde_json::from_str(&rendered(&called)).unwrap();
    let block = &message["content"][0];
    assert_eq!((&block["type"], &block["name"]), (&json!("tool_use"), &json!("record")));
    assert!(["a", "b"].contains(&block["input"]["label"].as_str().unwrap()));
    assert_eq!(asked("claude-haiku-4-5", tools).tool, None, "left the choice, it answers in words");
}

#[test]
fn structured_output_is_an_instance_of_the_schema() {
    let schema = r#"{"type":"object","properties":{"label":{"type":"string"},"score":{"type":"number"}}}"#;
    for field in [r#""output_config":{"format":"#, r#""output_format":{"type":"json_schema","schema":"#] {
        let extra = match field.starts_with("\"output_config") {
            true => format!(r#",{field}{{"type":"json_schema","schema":{schema}}}}}"#),
            false => format!(",{field}{schema}}}"),
        };
        let text: Value = serde_json::from_str(&asked("claude-haiku-4-5", &extra).text).unwrap();
        assert!(text["label"].is_string() && text["score"].is_f64(), "{text}");
    }
}

/// Puts the events of a stream together again.
fn assembled(events: &str) -> (String, Value) {
    let mut text = String::new();
    let mut end = Value::Null;
    for event in events.split("\n\n").filter(|event| !event.is_empty()) {
        let (name, data) = event.split_once('\n').unwrap();
        let data: Value = serde_json::from_str(data.strip_prefix("data: ").unwrap()).unwrap();
        assert_eq!(data["type"], name.strip_prefix("event: ").unwrap());
        for field in ["text", "partial_json"] {
            text.push_str(data["delta"][field].as_str().unwrap_or_default());
        }
        if data["type"] == "message_delta" {
            end = data;
        }
    }
    (text, end)
}

#[test]
fn speed_place_and_searches_are_billed_and_told_where_they_are_asked_for() {
    let search = r#","tools":[{"type":"web_search_20250305","name":"web_search","max_uses":1}]"#;
    for (model, extra, told) in [
        ("claude-opus-5", String::new(), (Value::Null, "global", Value::Null)),
        ("claude-opus-5", r#","speed":"fast""#.to_owned(), (json!("fast"), "global", Value::Null)),
        ("claude-opus-5", format!(r#","inference_geo":"us"{search}"#), (Value::Null, "us", json!(1))),
        (
            "claude-haiku-4-5",
            r#","speed":"fast","inference_geo":"us""#.to_owned(),
            (Value::Null, "not_available", Value::Null),
        ),
    ] {
        let answer = asked(model, &extra);
        let usage = BilledUsage::plain(&answer, Tier::Standard);
        let message: Value = serde_json::from_str(&super::message(&answer, &usage, "msg_01x")).unwrap();
        let of = |usage: &Value| usage["server_tool_use"]["web_search_requests"].clone();
        assert_eq!(
            (&message["usage"]["speed"], &message["usage"]["inference_geo"]),
            (&told.0, &json!(told.1)),
            "{extra}"
        );
        assert_eq!(of(&message["usage"]), told.2, "{extra}");
        let (_, end) = assembled(&events(&answer, &usage, "msg_01x").text);
        assert_eq!(of(&end["usage"]), told.2, "{extra}: in a stream");
        let terms = usage.tokens.terms;
        assert_eq!((terms.fast, terms.us_inference), (told.0 == "fast", told.1 == "us"), "{extra}");
        assert_eq!(usage.tokens.web_searches, told.2.as_u64().unwrap_or(0), "{extra}");
    }
}

#[test]
fn a_stream_says_what_the_message_says() {
    for extra in ["", r#","stop_sequences":["score"]"#] {
        let answer = asked("claude-haiku-5-5", extra);
        let events = events(&answer, &BilledUsage::plain(&answer, Tier::Standard), "msg_01x");
        assert_eq!(events.ends.last(), Some(&events.text.len()));
        assert!(
            events.text.starts_with("event: message_start\n")
                && events.text.ends_with("{\"type\":\"message_stop\"}\n\n")
        );
        let (text, end) = assembled(&events.text);
        assert_eq!(text, answer.text);
        assert_eq!(end["delta"]["stop_reason"], answer.stop_reason);
        assert_eq!(end["delta"]["stop_sequence"], json!(answer.stop_sequence));
        assert_eq!(end["usage"]["output_tokens"], answer.output_tokens);
    }
}

#[test]
fn a_stream_that_fails_ends_with_an_error_event() {
    let answer = asked("claude-haiku-4-5", "");
    let mut events = events(&answer, &BilledUsage::plain(&answer, Tier::Standard), "msg_01x");
    events.fail_in_the_middle("req_1");
    assert!(events.text.contains("event: error\n") && !events.text.contains("message_stop"));
    assert_eq!(events.ends.last(), Some(&events.text.len()));
}

#[test]
fn texts_of_every_kind_are_valid_json_strings() {
    for text in ["plain", "a \"quoted\" \\ line\n\u{1}\u{7f}", "Grüße 🦀", ""] {
        let mut out = String::new();
        render::string(text, &mut out);
        assert_eq!(serde_json::from_str::<String>(&out).unwrap(), text);
    }
}
