//! Whether a Messages body is one, in the API's words.
//!
//! Checks run in a fixed order and the first problem is the answer, as with the API.

use serde_json::Value;

use super::failure::Failure;
use super::models::{self, Generation, Model};

/// The API version of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ApiVersion {
    /// `2023-06-01`.
    V2023,
    /// `2026-10-21`: takes no sampling parameters.
    V2026,
}

/// Most messages that a request may have.
const MAX_MESSAGES: usize = 100_000;

/// Fields of the body. Anything else is refused.
const FIELDS: [&str; 24] = [
    "model",
    "max_tokens",
    "messages",
    "system",
    "temperature",
    "top_p",
    "top_k",
    "stop_sequences",
    "stream",
    "tools",
    "tool_choice",
    "thinking",
    "output_config",
    "output_format",
    "cache_control",
    "metadata",
    "service_tier",
    "inference_geo",
    "container",
    "context_management",
    "diagnostics",
    "mcp_servers",
    "speed",
    "user_profile_id",
];

/// Parses and checks a body.
///
/// # Errors
/// The API's answer to a body that is wrong.
pub(super) fn messages(body: &[u8], version: ApiVersion) -> Result<(Value, &'static Model), Failure> {
    let request: Value = serde_json::from_slice(body)
        .map_err(|error| Failure::invalid(format!("The request body is not valid JSON: {error}")))?;
    let model = check(&request, version)?;
    Ok((request, model))
}

fn check(request: &Value, version: ApiVersion) -> Result<&'static Model, Failure> {
    let Some(fields) = request.as_object() else {
        return Err(Failure::invalid("Input should be a valid dictionary or object to extract fields from"));
    };
    let name = required(request, "model")?.as_str().ok_or_else(|| expected("model", "string"))?;
    if name.is_empty() {
        return Err(Failure::invalid("model: String should have at least 1 character"));
    }
    let messages = required(request, "messages")?.as_array().ok_or_else(|| expected("messages", "list"))?;
    let max_tokens = whole_number("max_tokens", required(request, "max_tokens")?)?;
    check_messages(messages)?;
    if let Some(field) = fields.keys().find(|field| !FIELDS.contains(&field.as_str())) {
        return Err(Failure::invalid(format!("{field}: Extra inputs are not permitted")));
    }
    check_types(request)?;
    let model = models::find(name).ok_or_else(|| Failure::not_found(format!("model: {name}")))?;
    check_for_model(request, messages, max_tokens, model)?;
    check_sampling(request, version, model)?;
    if request["stream"] == true {
        return Err(Failure::invalid(
            "stream: this simulated API does not stream answers; send the request without it",
        ));
    }
    Ok(model)
}

fn required<'v>(request: &'v Value, field: &str) -> Result<&'v Value, Failure> {
    request.get(field).ok_or_else(|| Failure::invalid(format!("{field}: Field required")))
}

fn expected(field: &str, what: &str) -> Failure {
    Failure::invalid(format!("{field}: Input should be a valid {what}"))
}

fn whole_number(field: &str, value: &Value) -> Result<u64, Failure> {
    if let Some(number) = value.as_u64() {
        return Ok(number);
    }
    match value.as_i64() {
        Some(_) => Err(Failure::invalid(format!("{field}: must be greater than or equal to 0"))),
        None => Err(expected(field, "integer")),
    }
}

fn check_messages(messages: &[Value]) -> Result<(), Failure> {
    if messages.is_empty() {
        return Err(Failure::invalid("messages: at least one message is required"));
    }
    if messages.len() > MAX_MESSAGES {
        return Err(Failure::invalid(format!("messages: at most {MAX_MESSAGES} messages are allowed")));
    }
    let last = messages.len() - 1;
    for (at, message) in messages.iter().enumerate() {
        check_message(at, message, at == last)?;
    }
    Ok(())
}

fn check_message(at: usize, message: &Value, last: bool) -> Result<(), Failure> {
    if !message.is_object() {
        return Err(Failure::invalid(format!("messages.{at}: Input should be a valid dictionary or object")));
    }
    let role = message.get("role").ok_or_else(|| Failure::invalid(format!("messages.{at}.role: Field required")))?;
    match role.as_str() {
        Some("user" | "assistant") => {}
        Some("system") if at > 0 => {}
        Some("system") => {
            return Err(Failure::invalid(
                "messages: Unexpected role \"system\" in the first message. The Messages API accepts a top-level \
                 `system` parameter.",
            ));
        }
        Some(other) => {
            return Err(Failure::invalid(format!(
                "messages: Unexpected role \"{other}\". Allowed roles are \"user\", \"assistant\" or \"system\"."
            )));
        }
        None => return Err(expected(&format!("messages.{at}.role"), "string")),
    }
    let content =
        message.get("content").ok_or_else(|| Failure::invalid(format!("messages.{at}.content: Field required")))?;
    let empty = match content {
        Value::String(text) => text.is_empty(),
        Value::Array(blocks) => {
            for (block_at, block) in blocks.iter().enumerate() {
                check_block(&format!("messages.{at}.content.{block_at}"), block)?;
            }
            blocks.is_empty()
        }
        _ => return Err(expected(&format!("messages.{at}.content"), "string or list")),
    };
    if empty && !(last && role == "assistant") {
        return Err(Failure::invalid(format!(
            "messages.{at}: all messages must have non-empty content except for the optional final assistant message"
        )));
    }
    Ok(())
}

fn check_block(path: &str, block: &Value) -> Result<(), Failure> {
    if !block.is_object() {
        return Err(Failure::invalid(format!("{path}: Input should be a valid dictionary or object")));
    }
    let Some(kind) = block.get("type") else {
        return Err(Failure::invalid(format!("{path}.type: Field required")));
    };
    if kind == "text" {
        match block.get("text") {
            None => return Err(Failure::invalid(format!("{path}.text: Field required"))),
            Some(Value::String(text)) if text.is_empty() => {
                return Err(Failure::invalid("messages: text content blocks must be non-empty"));
            }
            Some(Value::String(_)) => {}
            Some(_) => return Err(expected(&format!("{path}.text"), "string")),
        }
    }
    Ok(())
}

/// The types of the optional fields.
fn check_types(request: &Value) -> Result<(), Failure> {
    let given = |field: &'static str| request.get(field).filter(|value| !value.is_null()).map(|value| (field, value));
    if let Some((field, value)) = given("system") {
        match value {
            Value::String(_) => {}
            Value::Array(blocks) => {
                for (at, block) in blocks.iter().enumerate() {
                    check_block(&format!("system.{at}"), block)?;
                }
            }
            _ => return Err(expected(field, "string or list")),
        }
    }
    if let Some((field, value)) = given("stop_sequences") {
        let all_text = value.as_array().is_some_and(|stops| stops.iter().all(Value::is_string));
        if !all_text {
            return Err(expected(field, "list of strings"));
        }
    }
    if let Some((field, value)) = given("stream")
        && !value.is_boolean()
    {
        return Err(expected(field, "boolean"));
    }
    for field in ["metadata", "thinking", "output_config", "tool_choice", "cache_control"] {
        if let Some((field, value)) = given(field)
            && !value.is_object()
        {
            return Err(expected(field, "dictionary"));
        }
    }
    if let Some((field, value)) = given("tools")
        && !value.is_array()
    {
        return Err(expected(field, "list"));
    }
    Ok(())
}

fn check_for_model(request: &Value, messages: &[Value], max_tokens: u64, model: &Model) -> Result<(), Failure> {
    if max_tokens > model.max_output {
        return Err(Failure::invalid(format!(
            "max_tokens: {max_tokens} > {}, which is the maximum allowed number of output tokens for {}",
            model.max_output, model.id
        )));
    }
    let input = super::answer::input_tokens(request);
    if input > model.context {
        return Err(Failure::invalid(format!("prompt is too long: {input} tokens > {} maximum", model.context)));
    }
    let prefilled = messages.last().is_some_and(|message| message["role"] == "assistant");
    if prefilled && model.generation != Generation::V45 {
        return Err(Failure::invalid(
            "This model does not support assistant message prefill. The conversation must end with a user message.",
        ));
    }
    Ok(())
}

fn check_sampling(request: &Value, version: ApiVersion, model: &Model) -> Result<(), Failure> {
    let given = |field: &str| request.get(field).filter(|value| !value.is_null());
    for (field, default) in [("temperature", Some(1.0)), ("top_p", Some(1.0)), ("top_k", None)] {
        let Some(value) = given(field) else { continue };
        if version == ApiVersion::V2026 {
            return Err(Failure::invalid(format!("{field}: Extra inputs are not permitted")));
        }
        let number = value.as_f64().ok_or_else(|| expected(field, "number"))?;
        if field == "top_k" {
            if number < 0.0 {
                return Err(Failure::invalid("top_k: must be greater than or equal to 0"));
            }
        } else if !(0.0..=1.0).contains(&number) {
            return Err(Failure::invalid(format!("{field}: range: 0..1")));
        }
        if model.generation == Generation::V47 && Some(number) != default {
            return Err(Failure::invalid(format!("{field}: not supported by {}; leave it out", model.id)));
        }
    }
    if model.generation == Generation::V45 && given("temperature").is_some() && given("top_p").is_some() {
        return Err(Failure::invalid(
            "`temperature` and `top_p` cannot both be specified for this model. Please use only one.",
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn refused(body: &str, version: ApiVersion) -> (u16, String) {
        let failure = messages(body.as_bytes(), version).unwrap_err();
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
        assert!(messages(warm.as_bytes(), ApiVersion::V2023).is_ok());
        assert_eq!(refused(&warm, ApiVersion::V2026).1, "temperature: Extra inputs are not permitted");
        let newer = warm.replace("claude-haiku-4-5", "claude-opus-4-8");
        assert!(refused(&newer, ApiVersion::V2023).1.contains("not supported"));
        let default = newer.replace("0.5", "1");
        assert!(messages(default.as_bytes(), ApiVersion::V2023).is_ok());
        let both = warm.replace("\"temperature\":0.5", "\"temperature\":0.5,\"top_p\":0.9");
        assert!(refused(&both, ApiVersion::V2023).1.contains("cannot both"));
    }

    #[test]
    fn a_prefilled_answer_is_for_the_4_5_models_only() {
        let body = with("messages", json!([{"role": "user", "content": "x"}, {"role": "assistant", "content": "{"}]));
        assert!(messages(body.as_bytes(), ApiVersion::V2023).is_ok());
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
                if let Err(failure) = messages(body, ApiVersion::V2023) {
                    prop_assert!(failure.status.is_client_error());
                    prop_assert!(!failure.message.is_empty());
                }
            }
        }
    }
}
