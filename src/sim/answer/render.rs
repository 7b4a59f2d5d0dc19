//! The Message object of an answer, in the API's field order.

use std::fmt::Write;

use serde_json::Value;

use super::Answer;
use crate::model::Usage;

/// What an answer is billed as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::sim) struct BilledUsage {
    /// Tokens by price.
    pub(in crate::sim) tokens: Usage,
    pub(in crate::sim) tier: Tier,
}

/// `usage.service_tier`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::sim) enum Tier {
    Standard,
    Batch,
}

impl BilledUsage {
    /// The usage of an answer of which nothing was cached.
    pub(in crate::sim) fn plain(answer: &Answer, tier: Tier) -> BilledUsage {
        let tokens = Usage { input_tokens: answer.input_tokens, ..answer.without_input() };
        BilledUsage { tokens, tier }
    }

    fn write(&self, output_tokens: u64, answer: &Answer, out: &mut String) {
        let Usage { input_tokens, cache_write_5m, cache_write_1h, cache_read, .. } = self.tokens;
        let tier = match self.tier {
            Tier::Standard => "standard",
            Tier::Batch => "batch",
        };
        let _ = write!(
            out,
            "{{\"input_tokens\":{input_tokens},\"cache_creation_input_tokens\":{},\"cache_read_input_tokens\":\
             {cache_read},\"cache_creation\":{{\"ephemeral_5m_input_tokens\":{cache_write_5m},\
             \"ephemeral_1h_input_tokens\":{cache_write_1h}}},\"output_tokens\":{output_tokens},\
             \"output_tokens_details\":{{\"thinking_tokens\":{}}},{}\"service_tier\":\"{tier}\",\"inference_geo\":\"{}\"{}}}",
            cache_write_5m + cache_write_1h,
            answer.thinking_tokens().min(output_tokens),
            searches(self),
            answer.geo,
            if self.tokens.terms.fast { ",\"speed\":\"fast\"" } else { "" }
        );
    }
}

/// `usage.server_tool_use` and a comma, where there is something to say.
fn searches(usage: &BilledUsage) -> String {
    match usage.tokens.web_searches {
        0 => String::new(),
        n => format!("\"server_tool_use\":{{\"web_search_requests\":{n},\"web_fetch_requests\":0}},"),
    }
}

/// The Message object.
pub(in crate::sim) fn message(answer: &Answer, usage: &BilledUsage, id: &str) -> String {
    let mut out = String::with_capacity(answer.text.len() + 768);
    head(answer, id, &mut out);
    content(answer, &mut out);
    out.push_str(",\"stop_reason\":\"");
    out.push_str(answer.stop_reason);
    out.push_str("\",\"stop_sequence\":");
    optional(answer.stop_sequence.as_deref(), &mut out);
    out.push_str(",\"stop_details\":");
    out.push_str(stop_details(answer));
    out.push_str(",\"usage\":");
    usage.write(answer.output_tokens, answer, &mut out);
    out.push('}');
    out
}

/// The Message object of `message_start`: nothing of it is there yet.
pub(super) fn opening(answer: &Answer, usage: &BilledUsage, id: &str) -> String {
    let mut out = String::with_capacity(640);
    head(answer, id, &mut out);
    out.push_str("[],\"stop_reason\":null,\"stop_sequence\":null,\"stop_details\":null,\"usage\":");
    let yet = BilledUsage { tokens: Usage { web_searches: 0, ..usage.tokens }, ..*usage };
    yet.write(answer.output_tokens.min(1), answer, &mut out);
    out.push('}');
    out
}

/// The usage at the end of a stream.
pub(super) fn closing_usage(answer: &Answer, usage: &BilledUsage) -> String {
    let Usage { input_tokens, cache_write_5m, cache_write_1h, cache_read, .. } = usage.tokens;
    format!(
        "{{\"input_tokens\":{input_tokens},\"cache_creation_input_tokens\":{},\"cache_read_input_tokens\":{cache_read},\
         {}\"output_tokens\":{},\"output_tokens_details\":{{\"thinking_tokens\":{}}}}}",
        cache_write_5m + cache_write_1h,
        searches(usage),
        answer.output_tokens,
        answer.thinking_tokens()
    )
}

fn head(answer: &Answer, id: &str, out: &mut String) {
    for part in ["{\"model\":\"", answer.model, "\",\"id\":\"", id] {
        out.push_str(part);
    }
    out.push_str("\",\"type\":\"message\",\"role\":\"assistant\",\"content\":");
}

fn content(answer: &Answer, out: &mut String) {
    let mut separator = "[";
    if let Some(thinking) = &answer.thinking {
        out.push_str("[{\"type\":\"thinking\",\"thinking\":");
        string(&thinking.text, out);
        for part in [",\"signature\":\"", &thinking.signature, "\"}"] {
            out.push_str(part);
        }
        separator = ",";
    }
    if !answer.text.is_empty() {
        out.push_str(separator);
        out.push_str("{\"type\":\"text\",\"text\":");
        string(&answer.text, out);
        out.push('}');
        separator = ",";
    }
    if let Some(tool) = &answer.tool {
        out.push_str(separator);
        for part in ["{\"type\":\"tool_use\",\"id\":\"", &tool.id, "\",\"name\":"] {
            out.push_str(part);
        }
        string(&tool.name, out);
        for part in [",\"input\":", &tool.input, "}"] {
            out.push_str(part);
        }
        separator = ",";
    }
    if separator == "[" {
        out.push('[');
    }
    out.push(']');
}

/// `stop_details` as JSON.
pub(super) fn stop_details(answer: &Answer) -> &'static str {
    if answer.stop_reason == "refusal" {
        r#"{"type":"refusal","category":null,"explanation":"The simulated model declined to answer."}"#
    } else {
        "null"
    }
}

/// A text as a JSON string.
pub(super) fn string(text: &str, out: &mut String) {
    let plain = |byte: u8| byte >= 0x20 && byte != b'"' && byte != b'\\';
    out.push('"');
    let mut rest = text;
    while let Some(at) = rest.bytes().position(|byte| !plain(byte)) {
        let (before, special) = rest.split_at(at);
        out.push_str(before);
        let mut chars = special.chars();
        match chars.next() {
            Some('"') => out.push_str("\\\""),
            Some('\\') => out.push_str("\\\\"),
            Some(control) => {
                let _ = write!(out, "\\u{:04x}", u32::from(control));
            }
            None => {}
        }
        rest = chars.as_str();
    }
    out.push_str(rest);
    out.push('"');
}

/// A text or null.
pub(super) fn optional(text: Option<&str>, out: &mut String) {
    match text {
        Some(text) => string(text, out),
        None => out.push_str(&Value::Null.to_string()),
    }
}
