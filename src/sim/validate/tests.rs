//! Bodies that are right and wrong.

use super::*;
use proptest::prelude::*;
use serde_json::json;

fn rules(version: ApiVersion) -> Rules {
    Rules { version, batch: false, long_output: false }
}

fn refused(body: &str, version: ApiVersion) -> (u16, String) {
    let failure = messages(body.as_bytes(), rules(version)).unwrap_err();
    (failure.status.as_u16(), failure.message)
}

fn good() -> Value {
    json!({"model": "claude-haiku-4-5", "max_tokens": 64, "messages": [{"role": "user", "content": "Hi"}]})
}

fn with(field: &str, value: Value) -> String {
    let mut body = good();
    body[field] = value;
    body.to_string()
}

fn without(field: &str) -> String {
    let mut body = good();
    body.as_object_mut().unwrap().remove(field);
    body.to_string()
}

#[test]
fn a_wrong_body_is_told_what_is_wrong_in_the_words_of_the_api() {
    for (body, message) in [
        (without("model"), "model: Field required"),
        (without("max_tokens"), "max_tokens: Field required"),
        (without("messages"), "messages: Field required"),
        (with("model", json!(5)), "model: Input should be a valid string"),
        (with("max_tokens", json!("64")), "max_tokens: Input should be a valid integer"),
        (with("max_tokens", json!(1.5)), "max_tokens: Input should be a valid integer"),
        (with("max_tokens", json!(-1)), "max_tokens: must be greater than or equal to 0"),
        (with("messages", json!("x")), "messages: Input should be a valid list"),
        (with("messages", json!([])), "messages: at least one message is required"),
        (with("messages", json!([7])), "messages.0: Input should be a valid dictionary or object"),
        (with("messages", json!([{"content": "x"}])), "messages.0.role: Field required"),
        (with("messages", json!([{"role": "user"}])), "messages.0.content: Field required"),
        (
            with("messages", json!([{"role": "user", "content": 1}])),
            "messages.0.content: Input should be a valid string or list",
        ),
        (
            with("messages", json!([{"role": "user", "content": [{"type": "text", "text": ""}]}])),
            "messages: text content blocks must be non-empty",
        ),
        (
            with("messages", json!([{"role": "user", "content": [{"text": "x"}]}])),
            "messages.0.content.0.type: Field required",
        ),
        (with("maxTokens", json!(1)), "maxTokens: Extra inputs are not permitted"),
        (with("stop_sequences", json!([1])), "stop_sequences: Input should be a valid list of strings"),
        (
            with("max_tokens", json!(9_999_999)),
            "max_tokens: 9999999 > 64000, which is the maximum allowed number of output tokens for claude-haiku-4-5-20251001",
        ),
        (with("temperature", json!(1.5)), "temperature: range: 0..1"),
    ] {
        assert_eq!(refused(&body, ApiVersion::V2023), (400, message.to_owned()), "{body}");
    }
}

#[test]
fn what_is_not_json_or_not_an_object_is_refused() {
    for body in ["", "{", "nonsense", "{\"a\":1}}", "\u{0}"] {
        let (status, message) = refused(body, ApiVersion::V2023);
        assert_eq!(status, 400);
        assert!(message.starts_with("The request body is not valid JSON: "), "{message}");
    }
    assert!(refused("[]", ApiVersion::V2023).1.contains("valid dictionary"));
}

#[test]
fn an_unknown_model_is_not_found_by_name() {
    assert_eq!(refused(&with("model", json!("claude-9")), ApiVersion::V2023), (404, "model: claude-9".to_owned()));
}

#[test]
fn d11_a_system_role_is_refused_in_the_first_message_and_an_unknown_role_anywhere() {
    let system = refused(&with("messages", json!([{"role": "system", "content": "x"}])), ApiVersion::V2023);
    assert!(system.1.contains("\"system\""), "{}", system.1);
    let tool = refused(&with("messages", json!([{"role": "tool", "content": "x"}])), ApiVersion::V2023);
    assert!(tool.1.contains("Unexpected role \"tool\""), "{}", tool.1);
}

#[test]
fn sampling_parameters_are_accepted_by_version_and_model() {
    let warm = with("temperature", json!(0.5));
    assert!(messages(warm.as_bytes(), rules(ApiVersion::V2023)).is_ok());
    assert_eq!(refused(&warm, ApiVersion::V2026).1, "temperature: Extra inputs are not permitted");
    let newer = warm.replace("claude-haiku-4-5", "claude-opus-4-8");
    assert!(refused(&newer, ApiVersion::V2023).1.contains("not supported"));
    let default = newer.replace("0.5", "1");
    assert!(messages(default.as_bytes(), rules(ApiVersion::V2023)).is_ok());
    let both = warm.replace("\"temperature\":0.5", "\"temperature\":0.5,\"top_p\":0.9");
    assert!(refused(&both, ApiVersion::V2023).1.contains("cannot both"));
}

#[test]
fn a_prefilled_answer_is_for_the_4_5_models_only() {
    let body = with("messages", json!([{"role": "user", "content": "x"}, {"role": "assistant", "content": "{"}]));
    assert!(messages(body.as_bytes(), rules(ApiVersion::V2023)).is_ok());
    let newer = body.replace("claude-haiku-4-5", "claude-sonnet-4-6");
    assert!(refused(&newer, ApiVersion::V2023).1.contains("prefill"));
}

/// Bodies that are nearly right: any field may be missing or hold anything.
fn near_body() -> impl Strategy<Value = String> {
    let junk = prop_oneof![
        Just("null".to_owned()),
        Just("-1".to_owned()),
        Just("1e300".to_owned()),
        Just("[]".to_owned()),
        Just("[[{}]]".to_owned()),
        Just("{}".to_owned()),
        Just("\"user\"".to_owned()),
        Just("[{\"role\":\"user\",\"content\":\"x\"}]".to_owned()),
        Just("[{\"role\":1,\"content\":{}}]".to_owned()),
        Just("\"claude-haiku-4-5\"".to_owned()),
        "[ -~]{0,12}",
    ];
    proptest::collection::vec((proptest::sample::select(FIELDS.to_vec()), junk), 0..8).prop_map(|fields| {
        let fields: Vec<String> = fields.into_iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
        format!("{{{}}}", fields.join(","))
    })
}

proptest! {
    #[test]
    fn no_body_brings_the_validation_down(bytes in proptest::collection::vec(any::<u8>(), 0..200), near in near_body()) {
        for body in [bytes.as_slice(), near.as_bytes()] {
            if let Err(failure) = messages(body, rules(ApiVersion::V2023)) {
                prop_assert!(failure.status.is_client_error());
                prop_assert!(!failure.message.is_empty());
            }
        }
    }
}
