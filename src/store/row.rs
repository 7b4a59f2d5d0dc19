//! A journal line as a flat row, for tables and CSV.
//!
//! It takes whatever was journaled as an answer. The wire looks at a few fields of a Message only, so that what was billed is
//! kept: the rest may hold halves of surrogate pairs, broken counts, or shapes of a later API.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::model::{Money, Outcome};

/// The columns of a row. Texts borrow from the line where they can.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Row<'a> {
    /// The user's id.
    pub custom_id: Cow<'a, str>,
    /// The outcome.
    pub outcome: Option<Outcome>,
    /// The text blocks of the answer, one after the other.
    pub text: Cow<'a, str>,
    /// Why the answer ended.
    pub stop_reason: Cow<'a, str>,
    /// `error.type`.
    pub error_type: Cow<'a, str>,
    /// `error.message`.
    pub error_message: Cow<'a, str>,
    /// The model that answered, as it names itself.
    pub model: Cow<'a, str>,
    /// Label of the org.
    pub org: Cow<'a, str>,
    /// `sync`, `batch` or `cache`.
    pub path: Cow<'a, str>,
    /// Input tokens, cached ones included, of the answer, also of one that the cache gave.
    pub input_tokens: u64,
    /// Output tokens.
    pub output_tokens: u64,
    /// What it cost this run.
    pub cost: Money,
    /// How long the call took, in milliseconds.
    pub latency_ms: u64,
    /// The answer or the error is of a shape that is not known here: its columns are empty.
    pub unknown_shape: bool,
}

/// A text that may be missing, null or of another type: borrowed where it can be. Half of a surrogate pair, which no text
/// can hold, becomes U+FFFD.
#[derive(Debug, Default)]
struct Text<'a>(Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Text<'a>, D::Error> {
        let raw = <&'de RawValue>::deserialize(deserializer)?.get();
        let Some(inside) = raw.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) else {
            return Ok(Text::default());
        };
        if !inside.contains('\\') {
            return Ok(Text(Cow::Borrowed(inside)));
        }
        let decoded = serde_json::from_str::<String>(raw);
        Ok(Text(decoded.or_else(|_| serde_json::from_str(&without_halves(raw))).unwrap_or_default().into()))
    }
}

/// A JSON string with every escape that is half of a surrogate pair replaced.
fn without_halves(raw: &str) -> String {
    let mut out = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        out.push_str(before);
        let len = match (unit(escape), escape.get(6..).and_then(unit)) {
            (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => 12,
            (Some(0xD800..=0xDFFF), _) => {
                out.push_str("\\ufffd");
                rest = escape.get(6..).unwrap_or_default();
                continue;
            }
            // The backslash and the ASCII character after it, which may be another backslash.
            _ => 2,
        };
        let (kept, after) = escape.split_at_checked(len).unwrap_or((escape, ""));
        out.push_str(kept);
        rest = after;
    }
    out + rest
}

/// The UTF-16 unit of an escape at the start of a text.
fn unit(escape: &str) -> Option<u16> {
    u16::from_str_radix(escape.strip_prefix("\\u")?.get(..4)?, 16).ok()
}

/// A count as the wire takes it: what is negative, missing or no number is nothing, and a fraction is cut off.
#[derive(Debug, Default, Clone, Copy)]
struct Count(u64);

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Count, D::Error> {
        let raw = <&'de RawValue>::deserialize(deserializer)?.get();
        // The cast saturates, and takes what is not a number for zero.
        Ok(Count(raw.parse().unwrap_or_else(|_| raw.parse::<f64>().unwrap_or(0.0) as u64)))
    }
}

/// A value that is nothing when it cannot be read.
#[derive(Debug)]
struct Lenient<T>(Option<T>);

impl<T> Default for Lenient<T> {
    fn default() -> Lenient<T> {
        Lenient(None)
    }
}

impl<'de: 'a, 'a, T: Deserialize<'a>> Deserialize<'de> for Lenient<T> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Lenient<T>, D::Error> {
        let raw = <&'de RawValue>::deserialize(deserializer)?.get();
        Ok(Lenient(serde_json::from_str(raw).ok()))
    }
}

#[derive(Deserialize)]
struct Line<'a> {
    #[serde(borrow)]
    custom_id: Cow<'a, str>,
    #[serde(borrow)]
    result: ResultOf<'a>,
    #[serde(borrow, default)]
    fandeck: Meta<'a>,
}

#[derive(Deserialize)]
struct ResultOf<'a> {
    #[serde(borrow, default, rename = "type")]
    kind: Text<'a>,
    #[serde(borrow, default)]
    message: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow, default)]
    model: Text<'a>,
    #[serde(borrow, default)]
    stop_reason: Text<'a>,
    #[serde(borrow, default)]
    content: Vec<Block<'a>>,
    #[serde(default)]
    usage: Lenient<Usage>,
}

#[derive(Deserialize)]
struct Block<'a> {
    #[serde(borrow, default, rename = "type")]
    kind: Text<'a>,
    #[serde(borrow, default)]
    text: Text<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Usage {
    input_tokens: Count,
    cache_creation_input_tokens: Count,
    cache_read_input_tokens: Count,
    output_tokens: Count,
}

#[derive(Deserialize)]
struct ErrorBody<'a> {
    #[serde(borrow, default)]
    error: Option<ErrorOf<'a>>,
}

#[derive(Default, Deserialize)]
struct ErrorOf<'a> {
    #[serde(borrow, default, rename = "type")]
    kind: Text<'a>,
    #[serde(borrow, default)]
    message: Text<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Meta<'a> {
    outcome: Lenient<Outcome>,
    #[serde(borrow)]
    org: Text<'a>,
    #[serde(borrow)]
    path: Text<'a>,
    latency_ms: Count,
    #[serde(rename = "cost_usd")]
    cost: Lenient<Money>,
}

impl<'a> Row<'a> {
    /// Reads a journal line; `None` when it is not one.
    pub fn parse(line: &'a [u8]) -> Option<Row<'a>> {
        let line: Line<'a> = serde_json::from_str(std::str::from_utf8(line).ok()?).ok()?;
        let fallback = || if line.result.kind.0 == "succeeded" { Outcome::Succeeded } else { Outcome::ReDrivable };
        let outcome = line.fandeck.outcome.0.unwrap_or_else(fallback);
        let message = line.result.message.map(|raw| serde_json::from_str::<Option<Message<'a>>>(raw.get()));
        let error = line.result.error.map(|raw| serde_json::from_str::<Option<ErrorBody<'a>>>(raw.get()));
        let unknown_shape = matches!(message, Some(Err(_))) || matches!(error, Some(Err(_)));
        let error = error.and_then(Result::ok).flatten().and_then(|body| body.error).unwrap_or_default();
        let mut row = Row {
            custom_id: line.custom_id,
            outcome: Some(outcome),
            error_type: error.kind.0,
            error_message: error.message.0,
            org: line.fandeck.org.0,
            path: line.fandeck.path.0,
            cost: line.fandeck.cost.0.unwrap_or(Money::ZERO),
            latency_ms: line.fandeck.latency_ms.0,
            unknown_shape,
            ..Row::default()
        };
        if let Some(message) = message.and_then(Result::ok).flatten() {
            let usage = message.usage.0.unwrap_or_default();
            row.model = message.model.0;
            row.stop_reason = message.stop_reason.0;
            row.text = joined(message.content);
            row.input_tokens = [usage.input_tokens, usage.cache_creation_input_tokens, usage.cache_read_input_tokens]
                .into_iter()
                .fold(0, |sum, count| sum.saturating_add(count.0));
            row.output_tokens = usage.output_tokens.0;
        }
        Some(row)
    }
}

/// The texts of all text blocks; thinking and tool blocks have none.
fn joined(content: Vec<Block<'_>>) -> Cow<'_, str> {
    let mut texts = content.into_iter().filter(|block| block.kind.0 == "text").map(|block| block.text.0);
    let Some(mut text) = texts.next() else { return Cow::Borrowed("") };
    for more in texts {
        text.to_mut().push_str(&more);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_message(message: &str) -> Vec<u8> {
        format!(
            r#"{{"custom_id":"a","result":{{"type":"succeeded","message":{message}}},"fandeck":{{"outcome":"succeeded","org":"o"}}}}"#
        )
        .into_bytes()
    }

    fn text_of(text: &str) -> String {
        let line = of_message(&format!(r#"{{"content":[{{"type":"text","text":"{text}"}}],"usage":{{}}}}"#));
        assert!(crate::store::journal::JournalLine::parse(&line).is_some(), "recovery counts it, too");
        Row::parse(&line).unwrap().text.into_owned()
    }

    #[test]
    fn half_of_a_surrogate_pair_becomes_the_replacement_character_and_costs_no_row() {
        assert_eq!(text_of(r"a\ud800b"), "a\u{fffd}b");
        assert_eq!(text_of(r"\ud83d\ude00 \udc00\ud83d\n"), "😀 \u{fffd}\u{fffd}\n");
        assert_eq!(text_of(r"\ud83d\ud83d\ude00"), "\u{fffd}😀");
        assert_eq!(text_of(r"\\ud800 \\\ud800 é\u00e9"), "\\ud800 \\\u{fffd} éé");
        assert_eq!(text_of("plain é"), "plain é");
    }

    #[test]
    fn odd_counts_are_those_of_the_wire_and_cost_no_row() {
        for (usage, counts) in [
            (r#"{"input_tokens":10,"output_tokens":5,"cache_read_input_tokens":-3}"#, (10, 5)),
            (r#"{"input_tokens":10,"output_tokens":5,"cache_creation_input_tokens":2.5}"#, (12, 5)),
            (r#"{"input_tokens":null,"output_tokens":"x"}"#, (0, 0)),
            (r#"{"input_tokens":18446744073709551615,"output_tokens":1,"cache_read_input_tokens":7}"#, (u64::MAX, 1)),
            ("null", (0, 0)),
            ("7", (0, 0)),
        ] {
            let line = of_message(&format!(r#"{{"content":[{{"type":"text","text":"x"}}],"usage":{usage}}}"#));
            let row = Row::parse(&line).unwrap();
            assert_eq!(((row.input_tokens, row.output_tokens), &*row.text), (counts, "x"), "{usage}");
            assert!(!row.unknown_shape);
        }
    }

    #[test]
    fn an_answer_of_an_unknown_shape_is_a_row_that_says_so() {
        let line = of_message(r#"{"content":{"a":1}}"#);
        let row = Row::parse(&line).unwrap();
        assert_eq!((&*row.custom_id, row.outcome, row.unknown_shape), ("a", Some(Outcome::Succeeded), true));
    }
}
