//! Answers, as a pure function of the request's body.
//!
//! The text is what a judge would say, with the body's digest in it, so that anybody can check with a plain `sha256sum`
//! that a result belongs to its request. A request for structured output gets an instance of its schema, and one that
//! forces a tool gets a call of it, both filled from the digest.

mod essence;
mod events;
mod prefix;
mod render;
mod schema;

use std::fmt::Write;

use serde_json::Value;
use sha2::{Digest, Sha256};

use super::ids;
use crate::model::{Terms, Usage};

pub(super) use essence::{Essence, input_tokens};
pub(super) use events::events;
pub(super) use prefix::Prefixes;
pub(super) use render::{BilledUsage, Tier, message};

/// The answer to a body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The resolved model id.
    pub model: &'static str,
    /// What it thought, where it did.
    pub thinking: Option<Thinking>,
    /// The text; empty when `max_tokens` left no room for it, or when it calls a tool instead.
    pub text: String,
    /// The tool that it calls.
    pub tool: Option<ToolCall>,
    /// `end_turn`, `max_tokens`, `stop_sequence` or `tool_use`.
    pub stop_reason: &'static str,
    /// The stop sequence that ended the text.
    pub stop_sequence: Option<String>,
    /// Tokens of the whole prompt, cached ones included.
    pub input_tokens: u64,
    /// Tokens of thinking, text and tool call.
    pub output_tokens: u64,
    /// `usage.inference_geo`.
    pub(super) geo: &'static str,
    /// The speed and place that it is billed by.
    pub(super) terms: Terms,
    /// `usage.server_tool_use.web_search_requests`.
    pub(super) searches: u8,
}

/// A thinking block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Thinking {
    /// What is shown of it; empty unless it was asked for.
    pub text: String,
    /// Its tokens, which are billed as output and count against `max_tokens`.
    pub tokens: u64,
    pub(super) signature: String,
}

/// A call of a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolCall {
    /// `toolu_…`.
    pub id: String,
    /// The tool.
    pub name: String,
    /// Its input, as JSON text.
    pub input: String,
}

/// Characters that count as one token.
const CHARS_PER_TOKEN: usize = 4;

/// What a judge says. The digest picks some of these, so that lengths vary as real ones do.
const REMARKS: [&str; 8] = [
    "The answer addresses the question directly and keeps to the facts that were given.",
    "It states its main claim early, and each of the later sentences supports that claim.",
    "One figure is left without a source, which a careful reader would want to see.",
    "The tone fits the audience, and the length is in proportion to the task.",
    "It misses an edge case that the instructions mention, although the common case is right.",
    "The steps can be followed in order, and none of them depends on unstated knowledge.",
    "There is some repetition in the middle that could go without loss.",
    "Compared with the reference, the conclusion agrees and the reasoning is shorter.",
];

/// The answer of the simulation to this request body, byte for byte; `None` for a body that names no known model.
pub fn answer_for(body: &[u8]) -> Option<Answer> {
    let request: Value = serde_json::from_slice(body).ok()?;
    let model = super::models::find(request.get("model")?.as_str()?)?;
    Some(compose(&Essence::of(&request, model, digest(body))))
}

/// First 16 bytes of the body's SHA-256: its identity.
pub(super) fn digest(body: &[u8]) -> [u8; 16] {
    let whole: [u8; 32] = Sha256::digest(body).into();
    let mut first = [0; 16];
    first.copy_from_slice(&whole[..16]);
    first
}

/// The answer that follows from what matters of a request.
pub(super) fn compose(essence: &Essence) -> Answer {
    let thinking = thinking(essence);
    let thought = thinking.as_ref().map_or(0, |thinking| thinking.tokens);
    let mut answer = Answer {
        model: essence.model.id,
        thinking,
        text: String::new(),
        tool: None,
        stop_reason: "end_turn",
        stop_sequence: None,
        input_tokens: u64::from(essence.prompt_tokens),
        output_tokens: thought,
        geo: if essence.terms.us_inference { "us" } else { essence.model.geo() },
        terms: essence.terms,
        searches: essence.searches,
    };
    let room = u64::from(essence.max_tokens).saturating_sub(thought);
    if let Some((name, schema)) = essence.steer.as_ref().and_then(|steer| steer.tool.as_ref()) {
        answer.call(name, schema, essence, room);
    } else {
        answer.say(essence, room);
    }
    answer
}

impl Answer {
    /// What it is billed by, but for its prompt.
    pub(super) fn without_input(&self) -> Usage {
        let (output_tokens, web_searches) = (self.output_tokens, u64::from(self.searches));
        Usage { output_tokens, web_searches, terms: self.terms, ..Usage::default() }
    }

    fn call(&mut self, name: &str, schema: &Value, essence: &Essence, room: u64) {
        let input = schema::instance(schema, &essence.digest).to_string();
        let tokens = 16 + input.len().div_ceil(CHARS_PER_TOKEN) as u64;
        // A call that does not fit is cut off; what was not finished is not shown.
        let (input, tokens, stop_reason) =
            if tokens > room { ("{}".to_owned(), room, "max_tokens") } else { (input, tokens, "tool_use") };
        let id = ids::tool_call(&mut ids::rng(0, super::bodies::identity(&essence.digest), 0));
        self.tool = (room > 0).then(|| ToolCall { id, name: name.to_owned(), input });
        self.stop_reason = stop_reason;
        self.output_tokens += tokens;
    }

    fn say(&mut self, essence: &Essence, room: u64) {
        let steer = essence.steer.as_deref();
        let mut text = match steer.and_then(|steer| steer.schema.as_ref()) {
            Some(schema) => schema::instance(schema, &essence.digest).to_string(),
            None => verdict(&essence.digest),
        };
        if let Some((at, found)) = steer.and_then(|steer| first_stop(&text, &steer.stop_sequences)) {
            text.truncate(at);
            self.stop_reason = "stop_sequence";
            self.stop_sequence = Some(found);
        }
        let bytes = usize::try_from(room).unwrap_or(usize::MAX).saturating_mul(CHARS_PER_TOKEN);
        if text.len() > bytes || room == 0 {
            text.truncate(text.floor_char_boundary(bytes));
            self.stop_reason = "max_tokens";
            self.stop_sequence = None;
        }
        self.output_tokens += text.len().div_ceil(CHARS_PER_TOKEN) as u64;
        self.text = text;
    }

    /// The model declined.
    pub(super) fn refused(&self) -> Answer {
        Answer { stop_reason: "refusal", ..self.emptied() }
    }

    /// The model said nothing.
    pub(super) fn emptied(&self) -> Answer {
        Answer {
            thinking: None,
            text: String::new(),
            tool: None,
            stop_reason: "end_turn",
            stop_sequence: None,
            output_tokens: 1,
            ..self.clone()
        }
    }

    /// Tokens of the thinking in it.
    pub(super) fn thinking_tokens(&self) -> u64 {
        self.thinking.as_ref().map_or(0, |thinking| thinking.tokens)
    }
}

/// What a model thinks before it answers: between 16 and 79 tokens, as long as there is room.
fn thinking(essence: &Essence) -> Option<Thinking> {
    if essence.thinking == essence::Mode::Off || essence.max_tokens == 0 {
        return None;
    }
    let [.., length, _] = essence.digest;
    let tokens = (16 + u64::from(length % 64)).min(u64::from(essence.max_tokens));
    let text = match essence.thinking {
        essence::Mode::Shown => "The criteria apply one by one; the case is clear enough to decide.".to_owned(),
        essence::Mode::Omitted | essence::Mode::Off => String::new(),
    };
    let mut signature = String::with_capacity(48);
    signature.push_str("c2ltdWxhdGVk");
    for byte in essence.digest {
        let _ = write!(signature, "{byte:02x}");
    }
    Some(Thinking { text, tokens, signature })
}

/// A judge's verdict as JSON text, in ASCII.
fn verdict(digest: &[u8; 16]) -> String {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let mut text = String::with_capacity(640);
    text.push_str("{\"digest\":\"");
    for byte in digest {
        for half in [byte >> 4, byte & 15] {
            text.extend(HEX.get(usize::from(half)).copied().map(char::from));
        }
    }
    let [score, count, order, ..] = *digest;
    let _ = write!(text, "\",\"score\":{},\"reason\":\"", 1 + score % 10);
    let count = 2 + usize::from(count % 6);
    let remarks = REMARKS.iter().cycle().skip(usize::from(order % 8)).take(count);
    for (at, remark) in remarks.enumerate() {
        if at > 0 {
            text.push(' ');
        }
        text.push_str(remark);
    }
    text.push_str("\"}");
    text
}

/// Where the first of the stop sequences begins.
fn first_stop(text: &str, sequences: &[String]) -> Option<(usize, String)> {
    let sequences = sequences.iter().filter(|stop| !stop.is_empty());
    sequences.filter_map(|stop| Some((text.find(stop.as_str())?, stop.clone()))).min()
}

#[cfg(test)]
mod tests;
