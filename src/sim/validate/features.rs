//! Tools, thinking, effort, structured output, cache marks and citations: what each model and version takes.

use serde_json::Value;

use super::super::failure::Failure;
use super::super::models::{Generation, Model};
use super::{ApiVersion, Rules, expected};

/// Most `cache_control` marks in a request.
const MAX_MARKS: usize = 4;

/// Least `budget_tokens`.
const MIN_BUDGET: u64 = 1_024;

/// Whether the features that a request uses are right for this model under these rules.
///
/// # Errors
/// The API's answer when they are not.
pub(super) fn check(request: &Value, max_tokens: u64, model: &Model, rules: Rules) -> Result<(), Failure> {
    let tools = check_tools(request)?;
    check_choice(request, tools, model)?;
    check_thinking(request, max_tokens, model)?;
    check_output(request, model)?;
    check_marks(request)?;
    if rules.version == ApiVersion::V2026 { check_of_2026(request) } else { Ok(()) }
}

fn check_tools(request: &Value) -> Result<&[Value], Failure> {
    let tools = request["tools"].as_array().map(Vec::as_slice).unwrap_or_default();
    for (at, tool) in tools.iter().enumerate() {
        if !tool.is_object() {
            return Err(expected(&format!("tools.{at}"), "dictionary"));
        }
        // Tools of the server's own have a type and bring their schemas.
        let own = tool.get("type").is_some_and(|kind| kind != "custom");
        let name =
            tool.get("name").ok_or_else(|| Failure::invalid(format!("tools.{at}.custom.name: Field required")))?;
        if !name.is_string() {
            return Err(expected(&format!("tools.{at}.custom.name"), "string"));
        }
        if !own && !tool["input_schema"].is_object() {
            return Err(Failure::invalid(format!("tools.{at}.custom.input_schema: Field required")));
        }
    }
    Ok(tools)
}

fn check_choice(request: &Value, tools: &[Value], model: &Model) -> Result<(), Failure> {
    let choice = &request["tool_choice"];
    if choice.is_null() {
        return Ok(());
    }
    let kind = choice["type"].as_str().ok_or_else(|| Failure::invalid("tool_choice.type: Field required"))?;
    if !["auto", "any", "tool", "none"].contains(&kind) {
        return Err(Failure::invalid(
            "tool_choice: Input tag found using 'type' does not match any of the expected tags: 'any', 'auto', 'none', 'tool'",
        ));
    }
    if tools.is_empty() && kind != "none" {
        return Err(Failure::invalid("tool_choice: may only be specified while providing tools"));
    }
    if kind == "tool" {
        let name = choice["name"].as_str().ok_or_else(|| Failure::invalid("tool_choice.tool.name: Field required"))?;
        if !tools.iter().any(|tool| tool["name"] == name) {
            return Err(Failure::invalid(format!("Tool '{name}' not found in provided tools")));
        }
    }
    if matches!(kind, "any" | "tool") {
        if !model.takes_forced_tools() {
            return Err(Failure::invalid(format!(
                "tool_choice: \"{kind}\" is not supported for {}; use \"auto\", or `output_config.format` for structured output",
                model.id
            )));
        }
        if matches!(request["thinking"]["type"].as_str(), Some("enabled" | "adaptive")) {
            return Err(Failure::invalid("Thinking may not be enabled when tool_choice forces tool use."));
        }
    }
    Ok(())
}

fn check_thinking(request: &Value, max_tokens: u64, model: &Model) -> Result<(), Failure> {
    let thinking = &request["thinking"];
    if thinking.is_null() {
        return Ok(());
    }
    let kind = thinking["type"].as_str().ok_or_else(|| Failure::invalid("thinking.type: Field required"))?;
    let types = ["adaptive", "between_tools", "disabled", "enabled"];
    let taken = model.thinking();
    match types.iter().position(|name| *name == kind).map(|at| taken.get(at)) {
        None => {
            return Err(Failure::invalid(
                "thinking: Input tag found using 'type' does not match any of the expected tags: 'adaptive', \
                 'between_tools', 'disabled', 'enabled'",
            ));
        }
        Some(Some(true)) => {}
        Some(_) => return Err(Failure::invalid(unsupported_thinking(kind, model))),
    }
    if kind == "enabled" {
        let budget = thinking["budget_tokens"]
            .as_u64()
            .ok_or_else(|| Failure::invalid("thinking.enabled.budget_tokens: Field required"))?;
        if budget < MIN_BUDGET {
            return Err(Failure::invalid(format!(
                "thinking.enabled.budget_tokens: Input should be greater than or equal to {MIN_BUDGET}"
            )));
        }
        if budget >= max_tokens {
            return Err(Failure::invalid("`max_tokens` must be greater than `thinking.budget_tokens`."));
        }
    }
    match thinking["display"].as_str() {
        None if thinking["display"].is_null() => Ok(()),
        Some("summarized" | "omitted") => Ok(()),
        _ => Err(Failure::invalid("thinking.display: Input should be 'summarized' or 'omitted'")),
    }
}

fn unsupported_thinking(kind: &str, model: &Model) -> String {
    let [_, between_tools, ..] = model.thinking();
    let remedy = match (kind, between_tools) {
        ("disabled", true) => {
            "Use \"thinking.type.between_tools\" for the lowest thinking setting, or \"thinking.type.adaptive\" and \
             \"output_config.effort\" to control thinking behavior."
        }
        _ if model.generation == Generation::V45 => "Use \"thinking.type.enabled\" with \"budget_tokens\".",
        _ => "Use \"thinking.type.adaptive\" and \"output_config.effort\" to control thinking behavior.",
    };
    format!("\"thinking.type.{kind}\" is not supported for this model. {remedy}")
}

fn check_output(request: &Value, model: &Model) -> Result<(), Failure> {
    let effort = &request["output_config"]["effort"];
    match effort.as_str() {
        None if effort.is_null() => {}
        Some("low" | "medium" | "high" | "max") if model.generation != Generation::V45 => {}
        Some("xhigh") if model.generation == Generation::V47 => {}
        Some("low" | "medium" | "high" | "max" | "xhigh") => {
            return Err(Failure::invalid(format!("output_config.effort: not supported by {}", model.id)));
        }
        _ => {
            return Err(Failure::invalid(
                "output_config.effort: Input should be 'low', 'medium', 'high', 'xhigh' or 'max'",
            ));
        }
    }
    for (path, format) in
        [("output_config.format", &request["output_config"]["format"]), ("output_format", &request["output_format"])]
    {
        if format.is_null() {
            continue;
        }
        if format["type"] != "json_schema" {
            return Err(Failure::invalid(format!("{path}.type: Input should be 'json_schema'")));
        }
        if !format["schema"].is_object() {
            return Err(Failure::invalid(format!("{path}.schema: Field required")));
        }
    }
    Ok(())
}

fn check_marks(request: &Value) -> Result<(), Failure> {
    let mut found = 0;
    let top = &request["cache_control"];
    if !top.is_null() {
        check_mark("cache_control", top)?;
        found += 1;
    }
    let mut blocks = |path: &str, content: &Value| {
        for (at, block) in content.as_array().into_iter().flatten().enumerate() {
            let mark = &block["cache_control"];
            if !mark.is_null() {
                check_mark(&format!("{path}.{at}.cache_control"), mark)?;
                found += 1;
            }
        }
        Ok(())
    };
    blocks("tools", &request["tools"])?;
    blocks("system", &request["system"])?;
    for (at, message) in request["messages"].as_array().into_iter().flatten().enumerate() {
        blocks(&format!("messages.{at}.content"), &message["content"])?;
    }
    if found > MAX_MARKS {
        return Err(Failure::invalid(format!(
            "A maximum of {MAX_MARKS} blocks with cache_control may be provided. Found {found}."
        )));
    }
    Ok(())
}

fn check_mark(path: &str, mark: &Value) -> Result<(), Failure> {
    if mark["type"] != "ephemeral" {
        return Err(Failure::invalid(format!("{path}.type: Input should be 'ephemeral'")));
    }
    if !mark["ttl"].is_null() && mark["ttl"] != "5m" && mark["ttl"] != "1h" {
        return Err(Failure::invalid(format!("{path}.ephemeral.ttl: Input should be '5m' or '1h'")));
    }
    Ok(())
}

/// What the version of October 2026 no longer takes.
fn check_of_2026(request: &Value) -> Result<(), Failure> {
    for (at, message) in request["messages"].as_array().into_iter().flatten().enumerate() {
        for (block_at, block) in message["content"].as_array().into_iter().flatten().enumerate() {
            let path = format!("messages.{at}.content.{block_at}");
            if message["role"] == "assistant" && block["type"] == "document" {
                return Err(Failure::invalid(format!(
                    "{path}: `document` blocks are not permitted in assistant messages"
                )));
            }
            let cited = block["citations"].as_array().is_some_and(|citations| !citations.is_empty());
            if message["role"] == "user" && block["type"] == "text" && cited {
                return Err(Failure::invalid(format!("{path}.citations: Extra inputs are not permitted")));
            }
        }
    }
    Ok(())
}
