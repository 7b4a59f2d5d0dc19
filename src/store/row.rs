//! A journal line as a flat row, for tables and CSV.

use std::borrow::Cow;

use serde::Deserialize;

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
}

/// A text that may be missing, null or of another type: borrowed where it can be.
#[derive(Debug, Default)]
struct Text<'a>(Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Text<'a>, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Any<'a> {
            Text(#[serde(borrow)] Cow<'a, str>),
            Other(serde::de::IgnoredAny),
        }
        Ok(match Any::deserialize(deserializer)? {
            Any::Text(text) => Text(text),
            Any::Other(_) => Text::default(),
        })
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
    message: Option<Message<'a>>,
    #[serde(borrow, default)]
    error: Option<ErrorBody<'a>>,
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
    usage: Usage,
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
    input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    output_tokens: Option<u64>,
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
    outcome: Option<Outcome>,
    #[serde(borrow)]
    org: Text<'a>,
    #[serde(borrow)]
    path: Text<'a>,
    latency_ms: u64,
    #[serde(rename = "cost_usd")]
    cost: Money,
}

impl<'a> Row<'a> {
    /// Reads a journal line; `None` when it is not one.
    pub fn parse(line: &'a [u8]) -> Option<Row<'a>> {
        let line: Line<'a> = serde_json::from_str(std::str::from_utf8(line).ok()?).ok()?;
        let fallback = || if line.result.kind.0 == "succeeded" { Outcome::Succeeded } else { Outcome::ReDrivable };
        let outcome = line.fandeck.outcome.unwrap_or_else(fallback);
        let error = line.result.error.and_then(|body| body.error).unwrap_or_default();
        let mut row = Row {
            custom_id: line.custom_id,
            outcome: Some(outcome),
            error_type: error.kind.0,
            error_message: error.message.0,
            org: line.fandeck.org.0,
            path: line.fandeck.path.0,
            cost: line.fandeck.cost,
            latency_ms: line.fandeck.latency_ms,
            ..Row::default()
        };
        if let Some(message) = line.result.message {
            let usage = message.usage;
            row.model = message.model.0;
            row.stop_reason = message.stop_reason.0;
            row.text = joined(message.content);
            row.input_tokens = [usage.input_tokens, usage.cache_creation_input_tokens, usage.cache_read_input_tokens]
                .into_iter()
                .flatten()
                .sum();
            row.output_tokens = usage.output_tokens.unwrap_or(0);
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
