//! A journal line as a row, and the part of it that the API wrote.

use std::borrow::Cow;

use serde::Deserialize;

use crate::model::RequestNo;
use crate::model::browse::{Class, RequestRow};
use crate::requests::member;
use crate::store::row::Row;

/// Longest beginning of a text in a row, in bytes.
const EXCERPT: usize = 400;

/// What the block of ours says and [`Row`] does not.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Meta<'a> {
    attempt: u32,
    #[serde(borrow)]
    request_id: Cow<'a, str>,
    #[serde(borrow)]
    at: Cow<'a, str>,
}

/// The row of a line; `None` when it is no line of a journal.
pub(super) fn row(no: RequestNo, class: Class, line: &[u8]) -> Option<RequestRow> {
    let row = Row::parse(line)?;
    let meta = member(line, "fandeck").and_then(|span| line.get(span));
    let meta: Meta<'_> = meta.and_then(|block| serde_json::from_slice(block).ok()).unwrap_or_default();
    let excerpt = if row.error_message.is_empty() { &row.text } else { &row.error_message };
    Some(RequestRow {
        no,
        class,
        attempt: meta.attempt,
        request_id: meta.request_id.into_owned(),
        at: meta.at.into_owned(),
        excerpt: beginning(excerpt),
        custom_id: row.custom_id.into_owned(),
        org: row.org.into_owned(),
        path: row.path.into_owned(),
        latency_ms: row.latency_ms,
        tokens_in: row.input_tokens,
        tokens_out: row.output_tokens,
        cost: row.cost,
        stop_reason: row.stop_reason.into_owned(),
        error: row.error_type.into_owned(),
    })
}

fn beginning(text: &str) -> String {
    let mut end = text.len().min(EXCERPT);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text[..end].to_owned()
}

/// What the API said: the message, or the error; the whole result when it is neither.
pub(super) fn body(line: &[u8]) -> &[u8] {
    let part = |of: &'_ [u8], name: &str| member(of, name).map(|span| (span.start, span.end));
    let Some((start, end)) = part(line, "result") else { return line };
    let result = &line[start..end];
    match part(result, "message").or_else(|| part(result, "error")) {
        Some((start, end)) => &result[start..end],
        None => result,
    }
}
