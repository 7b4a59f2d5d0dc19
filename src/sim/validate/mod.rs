//! Whether a Messages body is one, in the API's words.
//!
//! Checks run in a fixed order and the first problem is the answer, as with the API.

use serde_json::Value;

use super::failure::Failure;
use super::models::{self, Generation, Model};

mod features;
mod sampling;

/// The API version of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ApiVersion {
    /// `2023-06-01`.
    V2023,
    /// `2026-10-21`: takes no sampling parameters.
    V2026,
}

/// Under which rules a body is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Rules {
    pub(super) version: ApiVersion,
    /// Whether it is a row of a batch.
    pub(super) batch: bool,
    /// Whether a batch asked for long output by its beta header.
    pub(super) long_output: bool,
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
pub(super) fn messages(body: &[u8], rules: Rules) -> Result<(Value, &'static Model), Failure> {
    let request = parse(body)?;
    let max_tokens = required(&request, "max_tokens").and_then(|value| whole_number("max_tokens", value));
    let model = check(&request, max_tokens, rules)?;
    Ok((request, model))
}

/// Parses and checks the body of a token count; gives the count.
///
/// # Errors
/// The API's answer to a body that is wrong.
pub(super) fn count_tokens(body: &[u8], version: ApiVersion) -> Result<u64, Failure> {
    let request = parse(body)?;
    for field in ["max_tokens", "stream", "metadata", "stop_sequences", "service_tier"] {
        if request.get(field).is_some() {
            return Err(Failure::invalid(format!("{field}: Extra inputs are not permitted")));
        }
    }
    // The answer has no length of its own, so any that the model allows will do.
    check(&request, Ok(MAX_THINKING_BUDGET + 1), Rules { version, batch: false, long_output: false })?;
    Ok(super::answer::input_tokens(&request))
}

/// A budget that every model takes.
const MAX_THINKING_BUDGET: u64 = 63_999;

fn parse(body: &[u8]) -> Result<Value, Failure> {
    serde_json::from_slice(body)
        .map_err(|error| Failure::invalid(format!("The request body is not valid JSON: {error}")))
}

fn check(request: &Value, max_tokens: Result<u64, Failure>, rules: Rules) -> Result<&'static Model, Failure> {
    let Some(fields) = request.as_object() else {
        return Err(Failure::invalid("Input should be a valid dictionary or object to extract fields from"));
    };
    let name = required(request, "model")?.as_str().ok_or_else(|| expected("model", "string"))?;
    if name.is_empty() {
        return Err(Failure::invalid("model: String should have at least 1 character"));
    }
    let messages = required(request, "messages")?.as_array().ok_or_else(|| expected("messages", "list"))?;
    let max_tokens = max_tokens?;
    check_messages(messages)?;
    if let Some(field) = fields.keys().find(|field| !FIELDS.contains(&field.as_str())) {
        return Err(Failure::invalid(format!("{field}: Extra inputs are not permitted")));
    }
    check_types(request)?;
    if rules.batch {
        check_for_batch(request, max_tokens)?;
    }
    let model = models::find(name).ok_or_else(|| Failure::not_found(format!("model: {name}")))?;
    check_for_model(request, messages, max_tokens, model, rules)?;
    features::check(request, max_tokens, model, rules)?;
    sampling::check_sampling(request, rules.version, model)?;
    Ok(model)
}

/// What a batch does not take.
fn check_for_batch(request: &Value, max_tokens: u64) -> Result<(), Failure> {
    if request["stream"] == true {
        return Err(Failure::invalid("\"stream=True\" is not supported in the Message Batches API"));
    }
    if request["speed"] == "fast" {
        return Err(Failure::invalid("speed: \"fast\" is not supported in the Message Batches API"));
    }
    if max_tokens == 0 {
        return Err(Failure::invalid("max_tokens: must be greater than or equal to 1"));
    }
    Ok(())
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

fn check_for_model(
    request: &Value,
    messages: &[Value],
    max_tokens: u64,
    model: &Model,
    rules: Rules,
) -> Result<(), Failure> {
    let most = if rules.batch && rules.long_output { model.max_batch_output() } else { model.max_output };
    if max_tokens > most {
        return Err(Failure::invalid(format!(
            "max_tokens: {max_tokens} > {most}, which is the maximum allowed number of output tokens for {}",
            model.id
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

#[cfg(test)]
mod tests;
