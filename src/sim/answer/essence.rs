//! What an answer depends on: the little of a request that has to be kept until it is answered.
//!
//! A batch of 100,000 requests is kept as 100,000 of these, some 80 bytes each, instead of 100 MB of bodies.

use serde_json::Value;

use super::super::models::Model;
use super::super::prices;
use super::CHARS_PER_TOKEN;
use crate::model::Terms;

/// What an answer depends on.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::sim) struct Essence {
    pub(in crate::sim) digest: [u8; 16],
    pub(in crate::sim) model: &'static Model,
    pub(in crate::sim) max_tokens: u32,
    /// Tokens of the whole prompt.
    pub(in crate::sim) prompt_tokens: u32,
    pub(super) thinking: Mode,
    /// The speed and place that it gets.
    pub(in crate::sim) terms: Terms,
    /// Searches that are made for it.
    pub(in crate::sim) searches: u8,
    /// What few requests have.
    pub(super) steer: Option<Box<Steer>>,
}

/// Whether a request is thought about, and whether that is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    Off,
    Omitted,
    Shown,
}

/// What steers an answer away from plain text.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Steer {
    pub(super) stop_sequences: Vec<String>,
    /// The tool that must be called, with the schema of its input.
    pub(super) tool: Option<(String, Value)>,
    /// The schema of the answer.
    pub(super) schema: Option<Value>,
}

impl Essence {
    /// What matters of a request that has passed validation.
    pub(in crate::sim) fn of(request: &Value, model: &'static Model, digest: [u8; 16]) -> Essence {
        let max_tokens = request["max_tokens"].as_u64().unwrap_or(u64::MAX);
        Essence {
            digest,
            model,
            max_tokens: u32::try_from(max_tokens).unwrap_or(u32::MAX),
            prompt_tokens: u32::try_from(input_tokens(request)).unwrap_or(u32::MAX),
            thinking: mode(request, model),
            terms: Terms {
                fast: request["speed"] == "fast" && prices::has_fast_mode(model),
                us_inference: request["inference_geo"] == "us" && model.takes_geo(),
            },
            searches: searches(request, digest[0]),
            steer: steer(request).map(Box::new),
        }
    }
}

/// One or two searches, where there is a tool for it that allows so many.
fn searches(request: &Value, draw: u8) -> u8 {
    let tools = request["tools"].as_array();
    let is_search = |tool: &&Value| tool["type"].as_str().is_some_and(|kind| kind.starts_with("web_search_"));
    let most = |tool: &Value| tool["max_uses"].as_u64().map_or(u8::MAX, |most| u8::try_from(most).unwrap_or(u8::MAX));
    tools.into_iter().flatten().filter(is_search).map(most).max().map_or(0, |most| most.min(1 + draw % 2))
}

fn mode(request: &Value, model: &Model) -> Mode {
    let setting = &request["thinking"];
    let shown = setting["display"].as_str();
    match setting["type"].as_str() {
        // The older form shows what it thinks unless it is told not to.
        Some("enabled") if shown != Some("omitted") => Mode::Shown,
        Some("adaptive") if shown == Some("summarized") => Mode::Shown,
        Some("adaptive" | "enabled") => Mode::Omitted,
        // There is nothing between tools where no tool was used.
        Some(_) => Mode::Off,
        None if model.thinks_by_default() => Mode::Omitted,
        None => Mode::Off,
    }
}

fn steer(request: &Value) -> Option<Steer> {
    let stops = request["stop_sequences"].as_array();
    let stop_sequences: Vec<String> =
        stops.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect();
    let format = [&request["output_config"]["format"], &request["output_format"]].into_iter().find(|f| f.is_object());
    let schema = format.and_then(|format| format.get("schema")).cloned();
    let tool = forced_tool(request);
    let plain = stop_sequences.is_empty() && schema.is_none() && tool.is_none();
    (!plain).then_some(Steer { stop_sequences, tool, schema })
}

/// The tool that `tool_choice` forces. Left the choice, the simulated model answers in words.
fn forced_tool(request: &Value) -> Option<(String, Value)> {
    let choice = &request["tool_choice"];
    let tools = request["tools"].as_array()?;
    let named = |name: &str| tools.iter().find(|tool| tool["name"] == name);
    let tool = match choice["type"].as_str()? {
        "any" => tools.first(),
        "tool" => named(choice["name"].as_str()?),
        _ => None,
    }?;
    Some((tool["name"].as_str()?.to_owned(), tool["input_schema"].clone()))
}

/// Tokens of the prompt: its texts by length, some for each message, and nothing for what only steers the answer.
pub(in crate::sim) fn input_tokens(request: &Value) -> u64 {
    let chars: usize = ["system", "messages", "tools"].iter().map(|field| text_len(&request[*field])).sum();
    let turns = request["messages"].as_array().map_or(0, Vec::len);
    (chars.div_ceil(CHARS_PER_TOKEN) + 4 * turns + 3) as u64
}

/// Length of all strings below a value, marks for the cache apart. The parser bounds the depth.
pub(super) fn text_len(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(text_len).sum(),
        Value::Object(fields) => {
            fields.iter().filter(|(name, _)| *name != "cache_control").map(|(_, value)| text_len(value)).sum()
        }
        _ => 0,
    }
}
