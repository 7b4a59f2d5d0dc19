//! An answer as server-sent events, as `stream: true` asks for.

use std::fmt::Write;

use super::render::{BilledUsage, closing_usage, opening, optional, stop_details, string};
use super::{Answer, CHARS_PER_TOKEN};

/// The events of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::sim) struct Events {
    /// All of them.
    pub(in crate::sim) text: String,
    /// Where each ends in `text`.
    pub(in crate::sim) ends: Vec<usize>,
}

/// Tokens that one delta carries.
const TOKENS_PER_DELTA: usize = 12;

/// Every event, in the API's order.
pub(in crate::sim) fn events(answer: &Answer, usage: &BilledUsage, id: &str) -> Events {
    let mut events = Events { text: String::with_capacity(4_096), ends: Vec::with_capacity(24) };
    let opening = opening(answer, usage, id);
    events.push("message_start", &format!("{{\"type\":\"message_start\",\"message\":{opening}}}"));
    events.push("ping", "{\"type\": \"ping\"}");
    let mut block = 0;
    if let Some(thinking) = &answer.thinking {
        let shown: Vec<&str> = Some(thinking.text.as_str()).filter(|text| !text.is_empty()).into_iter().collect();
        let mut deltas: Vec<String> = shown.iter().map(|text| delta("thinking_delta", "thinking", text)).collect();
        deltas.push(delta("signature_delta", "signature", &thinking.signature));
        events.block(&mut block, r#"{"type":"thinking","thinking":"","signature":""}"#, &deltas);
    }
    if !answer.text.is_empty() {
        let deltas: Vec<String> = pieces(&answer.text).map(|piece| delta("text_delta", "text", piece)).collect();
        events.block(&mut block, r#"{"type":"text","text":""}"#, &deltas);
    }
    if let Some(tool) = &answer.tool {
        let mut start = format!("{{\"type\":\"tool_use\",\"id\":\"{}\",\"name\":", tool.id);
        string(&tool.name, &mut start);
        start.push_str(",\"input\":{}}");
        let deltas: Vec<String> =
            pieces(&tool.input).map(|piece| delta("input_json_delta", "partial_json", piece)).collect();
        events.block(&mut block, &start, &deltas);
    }
    let mut end = format!(
        "{{\"type\":\"message_delta\",\"delta\":{{\"stop_reason\":\"{}\",\"stop_sequence\":",
        answer.stop_reason
    );
    optional(answer.stop_sequence.as_deref(), &mut end);
    let _ = write!(end, ",\"stop_details\":{}}},\"usage\":{}}}", stop_details(answer), closing_usage(answer, usage));
    events.push("message_delta", &end);
    events.push("message_stop", "{\"type\":\"message_stop\"}");
    events
}

impl Events {
    fn push(&mut self, name: &str, data: &str) {
        for part in ["event: ", name, "\ndata: ", data, "\n\n"] {
            self.text.push_str(part);
        }
        self.ends.push(self.text.len());
    }

    fn block(&mut self, index: &mut usize, start: &str, deltas: &[String]) {
        self.push(
            "content_block_start",
            &format!("{{\"type\":\"content_block_start\",\"index\":{index},\"content_block\":{start}}}"),
        );
        for delta in deltas {
            self.push(
                "content_block_delta",
                &format!("{{\"type\":\"content_block_delta\",\"index\":{index},\"delta\":{delta}}}"),
            );
        }
        self.push("content_block_stop", &format!("{{\"type\":\"content_block_stop\",\"index\":{index}}}"));
        *index += 1;
    }

    /// Breaks the stream off in its middle with an error event, as an overload after the 200 does.
    pub(in crate::sim) fn fail_in_the_middle(&mut self, request_id: &str) {
        let kept = self.ends.len().div_ceil(2);
        self.ends.truncate(kept);
        self.text.truncate(self.ends.last().copied().unwrap_or(0));
        let error = format!(
            "{{\"type\":\"error\",\"error\":{{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}},\
             \"request_id\":\"{request_id}\"}}"
        );
        self.push("error", &error);
    }
}

fn delta(kind: &str, field: &str, text: &str) -> String {
    let mut out = format!("{{\"type\":\"{kind}\",\"{field}\":");
    string(text, &mut out);
    out.push('}');
    out
}

/// A text in pieces of some tokens.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (piece, after) = rest.split_at(rest.ceil_char_boundary(TOKENS_PER_DELTA * CHARS_PER_TOKEN));
        rest = after;
        (!piece.is_empty()).then_some(piece)
    })
}
