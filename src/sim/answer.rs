//! Answers, as a pure function of the request's body.
//!
//! The text is what a judge would say, with the body's digest in it, so that anybody can check with a plain `sha256sum`
//! that a result belongs to its request.

use std::fmt::Write;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::models;

/// The answer to a body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The resolved model id.
    pub model: String,
    /// The text; empty when `max_tokens` is 0.
    pub text: String,
    /// `end_turn`, `max_tokens` or `stop_sequence`.
    pub stop_reason: &'static str,
    /// The stop sequence that ended the text.
    pub stop_sequence: Option<String>,
    /// Tokens of the prompt.
    pub input_tokens: u64,
    /// Tokens of the text.
    pub output_tokens: u64,
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

/// The answer of the simulation to this request body, byte for byte; `None` for a body that is not a valid request.
pub fn answer_for(body: &[u8]) -> Option<Answer> {
    let request: Value = serde_json::from_slice(body).ok()?;
    models::find(request.get("model")?.as_str()?)?;
    Some(answer(&request, &digest(body)))
}

/// First 16 bytes of the body's SHA-256: its identity.
pub(super) fn digest(body: &[u8]) -> [u8; 16] {
    let whole: [u8; 32] = Sha256::digest(body).into();
    let mut first = [0; 16];
    first.copy_from_slice(&whole[..16]);
    first
}

/// The answer to a request that has passed validation.
pub(super) fn answer(request: &Value, digest: &[u8; 16]) -> Answer {
    let name = request["model"].as_str().unwrap_or_default();
    let model = models::find(name).map_or(name, |model| model.id).to_owned();
    let max_tokens = request["max_tokens"].as_u64().unwrap_or(u64::MAX);
    let mut text = verdict(digest);
    let mut stop_reason = "end_turn";
    let mut stop_sequence = None;
    if let Some((at, found)) = first_stop(&text, &request["stop_sequences"]) {
        text.truncate(at);
        stop_reason = "stop_sequence";
        stop_sequence = Some(found);
    }
    // The text is ASCII, so every index is a character boundary.
    let room = usize::try_from(max_tokens).unwrap_or(usize::MAX).saturating_mul(CHARS_PER_TOKEN);
    if text.len() > room || max_tokens == 0 {
        text.truncate(room);
        stop_reason = "max_tokens";
        stop_sequence = None;
    }
    let output_tokens = text.len().div_ceil(CHARS_PER_TOKEN) as u64;
    Answer { model, text, stop_reason, stop_sequence, input_tokens: input_tokens(request), output_tokens }
}

/// Tokens of the prompt: its texts by length, some for each message, and nothing for what only steers the answer.
pub(super) fn input_tokens(request: &Value) -> u64 {
    let chars: usize = ["system", "messages", "tools"].iter().map(|field| text_len(&request[*field])).sum();
    let turns = request["messages"].as_array().map_or(0, Vec::len);
    (chars.div_ceil(CHARS_PER_TOKEN) + 4 * turns + 3) as u64
}

/// Length of all strings below a value. The parser bounds the depth.
fn text_len(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(text_len).sum(),
        Value::Object(fields) => fields.values().map(text_len).sum(),
        _ => 0,
    }
}

/// A judge's verdict as JSON text.
fn verdict(digest: &[u8; 16]) -> String {
    let mut text = String::with_capacity(512);
    text.push_str("{\"digest\":\"");
    for byte in digest {
        let _ = write!(text, "{byte:02x}");
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
fn first_stop(text: &str, sequences: &Value) -> Option<(usize, String)> {
    let sequences = sequences.as_array()?.iter().filter_map(Value::as_str).filter(|stop| !stop.is_empty());
    sequences.filter_map(|stop| Some((text.find(stop)?, stop.to_owned()))).min()
}

impl Answer {
    /// The Message object, in the API's field order. `refused` turns it into a refusal without content.
    pub(super) fn message(&self, id: &str, refused: bool) -> String {
        let content = if self.text.is_empty() || refused {
            "[]".to_owned()
        } else {
            format!("[{{\"type\":\"text\",\"text\":{}}}]", Value::from(self.text.as_str()))
        };
        let stop_reason = if refused { "refusal" } else { self.stop_reason };
        let stop_sequence = if refused { Value::Null } else { json!(self.stop_sequence) };
        let stop_details = if refused {
            r#"{"type":"refusal","category":null,"explanation":"The simulated model declined to answer."}"#
        } else {
            "null"
        };
        format!(
            "{{\"model\":\"{}\",\"id\":\"{id}\",\"type\":\"message\",\"role\":\"assistant\",\"content\":{content},\
             \"stop_reason\":\"{stop_reason}\",\"stop_sequence\":{stop_sequence},\"stop_details\":{stop_details},\
             \"usage\":{{\"input_tokens\":{},\"cache_creation_input_tokens\":0,\"cache_read_input_tokens\":0,\
             \"cache_creation\":{{\"ephemeral_5m_input_tokens\":0,\"ephemeral_1h_input_tokens\":0}},\
             \"output_tokens\":{},\"output_tokens_details\":{{\"thinking_tokens\":0}},\"service_tier\":\"standard\",\
             \"inference_geo\":\"global\"}}}}",
            self.model, self.input_tokens, self.output_tokens
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(extra: &str) -> String {
        format!(
            r#"{{"model":"claude-haiku-4-5","messages":[{{"role":"user","content":"Rate this."}}],"max_tokens":512{extra}}}"#
        )
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
        let message = answer.message("msg_01x", false);
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
        let refusal: Value =
            serde_json::from_str(&answer_for(body("").as_bytes()).unwrap().message("msg_01x", true)).unwrap();
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
}
