//! `results.jsonl`: the shape of its lines, written by hand and read without building trees.
//!
//! A line is a row of the API's batch results with a block of ours at the end:
//!
//! ```json
//! {"custom_id":"a","result":{"type":"succeeded","message":{…}},"fandeck":{"no":0,"outcome":"succeeded","org":"high-prio","path":"sync","attempt":1,"request_id":"req_…","latency_ms":1234,"tokens_in":13,"tokens_out":44,"cost_usd":0.000123,"crc":305419896,"at":"2026-11-29T17:05:09.042Z"}}
//! ```
//!
//! `crc` is the CRC-32 of the request's line in the input: a resume over an edited input takes an outcome only for the
//! very text that it was paid for. A change of white space costs a look-up in the cache then, which knows better.
//!
//! Errors have the API's double nesting: `"result":{"type":"errored","error":{"type":"error","error":{…}}}`.

use std::borrow::Cow;

use serde::Deserialize;

use super::stamp;
use crate::model::{ApiError, Money, Outcome, RequestNo, Route, Terms, Usage, Wall};

/// The journal's file name in a run directory.
pub const NAME: &str = "results.jsonl";

/// Longest line that is read back: several times the largest answer.
pub(super) const MAX_LINE: usize = 256 << 20;

/// What the block of ours says of an outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineMeta<'a> {
    /// The request's position in the input.
    pub no: RequestNo,
    /// The outcome.
    pub outcome: Outcome,
    /// Label of the org that answered; `None` for the cache.
    pub org: Option<&'a str>,
    /// The path that carried it.
    pub path: Route,
    /// Which attempt it was, from 1; 0 for the cache.
    pub attempt: u32,
    /// The API's name of the call.
    pub request_id: Option<&'a str>,
    /// From the start of the call to the end of the answer, in milliseconds.
    pub latency_ms: u64,
    /// What it was billed by; nothing for the cache.
    pub usage: Usage,
    /// What it cost; nothing for the cache.
    pub cost: Money,
    /// CRC-32 of the request's line: `Input::crc_of`.
    pub crc: u32,
    /// When the answer was there.
    pub at: Wall,
}

/// The error body of an attempt that nothing is known of.
const NO_WORDS: &[u8] = br#"{"type":"error","error":{"type":"unknown","message":""}}"#;

/// Puts a line together around the raw body: the Message of an answer, the error body of anything else. One allocation.
///
/// The body must be valid JSON; an empty one becomes an error without words, or `null` for an answer.
pub fn line(custom_id: &str, body: &[u8], meta: &LineMeta<'_>) -> Vec<u8> {
    let mut out = Vec::with_capacity(custom_id.len() + body.len() + 384);
    out.extend_from_slice(b"{\"custom_id\":");
    push_string(&mut out, custom_id);
    let answered = matches!(meta.outcome, Outcome::Succeeded | Outcome::Refused);
    out.extend_from_slice(if answered {
        b",\"result\":{\"type\":\"succeeded\",\"message\":"
    } else {
        b",\"result\":{\"type\":\"errored\",\"error\":"
    });
    match body {
        [] if answered => out.extend_from_slice(b"null"),
        [] => out.extend_from_slice(NO_WORDS),
        body => push_one_line(&mut out, body),
    }
    out.extend_from_slice(b"},\"fandeck\":{\"no\":");
    push_number(&mut out, u64::from(meta.no.0));
    out.extend_from_slice(b",\"outcome\":\"");
    out.extend_from_slice(meta.outcome.as_str().as_bytes());
    out.push(b'"');
    if let Some(org) = meta.org {
        out.extend_from_slice(b",\"org\":");
        push_string(&mut out, org);
    }
    out.extend_from_slice(b",\"path\":\"");
    out.extend_from_slice(meta.path.as_str().as_bytes());
    out.extend_from_slice(b"\",\"attempt\":");
    push_number(&mut out, u64::from(meta.attempt));
    if let Some(id) = meta.request_id {
        out.extend_from_slice(b",\"request_id\":");
        push_string(&mut out, id);
    }
    for (name, number) in [
        (&b",\"latency_ms\":"[..], meta.latency_ms),
        (b",\"tokens_in\":", meta.usage.prompt_tokens()),
        (b",\"tokens_out\":", meta.usage.output_tokens),
    ] {
        out.extend_from_slice(name);
        push_number(&mut out, number);
    }
    // What has a price of its own, of the tokens in and beside them. Most answers have none.
    for (name, number) in [
        (&b",\"cache_write_5m\":"[..], meta.usage.cache_write_5m),
        (b",\"cache_write_1h\":", meta.usage.cache_write_1h),
        (b",\"cache_read\":", meta.usage.cache_read),
        (b",\"web_searches\":", meta.usage.web_searches),
    ] {
        if number > 0 {
            out.extend_from_slice(name);
            push_number(&mut out, number);
        }
    }
    for (field, is_so) in
        [(&b",\"fast\":true"[..], meta.usage.terms.fast), (b",\"us_inference\":true", meta.usage.terms.us_inference)]
    {
        if is_so {
            out.extend_from_slice(field);
        }
    }
    out.extend_from_slice(b",\"cost_usd\":");
    push_money(&mut out, meta.cost);
    out.extend_from_slice(b",\"crc\":");
    push_number(&mut out, u64::from(meta.crc));
    out.extend_from_slice(b",\"at\":\"");
    out.extend_from_slice(&stamp::format(meta.at));
    out.extend_from_slice(b"\"}}\n");
    out
}

/// The error body of an attempt that got none from the API, in the API's shape.
pub fn error_body(error: &ApiError) -> Vec<u8> {
    let mut out = Vec::with_capacity(error.message.len() + error.kind.len() + 64);
    out.extend_from_slice(b"{\"type\":\"error\",\"error\":{\"type\":");
    push_string(&mut out, &error.kind);
    out.extend_from_slice(b",\"message\":");
    push_string(&mut out, &error.message);
    out.extend_from_slice(b"}}");
    out
}

fn push_string(out: &mut Vec<u8>, text: &str) {
    let plain = text.bytes().all(|byte| byte >= b' ' && byte != b'"' && byte != b'\\');
    if plain {
        out.push(b'"');
        out.extend_from_slice(text.as_bytes());
        out.push(b'"');
        return;
    }
    let start = out.len();
    if serde_json::to_writer(&mut *out, text).is_err() {
        // Writing text to memory does not fail; a line must be JSON in any case.
        out.truncate(start);
        out.extend_from_slice(b"\"\"");
    }
}

/// Appends JSON without its line breaks, which in JSON can only be white space.
fn push_one_line(out: &mut Vec<u8>, body: &[u8]) {
    let start = out.len();
    out.extend_from_slice(body);
    if memchr::memchr2(b'\n', b'\r', body).is_some() {
        for byte in out.iter_mut().skip(start).filter(|byte| matches!(**byte, b'\n' | b'\r')) {
            *byte = b' ';
        }
    }
}

fn push_number(out: &mut Vec<u8>, number: u64) {
    push_digits(out, number, 1);
}

/// Appends a number with at least so many digits.
fn push_digits(out: &mut Vec<u8>, mut number: u64, at_least: usize) {
    let mut digits = [b'0'; 20];
    let mut used = 0;
    for place in digits.iter_mut().rev() {
        if number == 0 && used >= at_least {
            break;
        }
        *place = b'0' + (number % 10) as u8;
        number /= 10;
        used += 1;
    }
    out.extend_from_slice(&digits[digits.len() - used..]);
}

/// Dollars with every pico-dollar, and no zeros at the end.
fn push_money(out: &mut Vec<u8>, money: Money) {
    push_number(out, money.0 / Money::DOLLAR.0);
    let pico = money.0 % Money::DOLLAR.0;
    if pico > 0 {
        out.push(b'.');
        push_digits(out, pico, 12);
        while out.last() == Some(&b'0') {
            out.pop();
        }
    }
}

/// A line as recovery and export read it: who, what kind of result, and the block of ours. The message is passed over.
#[derive(Debug, Deserialize)]
pub(super) struct JournalLine<'a> {
    #[serde(borrow)]
    pub(super) custom_id: Cow<'a, str>,
    #[serde(borrow)]
    result: ResultKind<'a>,
    #[serde(borrow, default)]
    pub(super) fandeck: MetaBlock<'a>,
}

#[derive(Debug, Deserialize)]
struct ResultKind<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
}

/// The block of ours. Every field has a default, so that rows of another origin (the API's own results) are read too.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct MetaBlock<'a> {
    pub(super) no: Option<u32>,
    pub(super) outcome: Option<Outcome>,
    #[serde(borrow)]
    pub(super) org: Cow<'a, str>,
    pub(super) path: Option<Route>,
    pub(super) latency_ms: u64,
    tokens_in: u64,
    tokens_out: u64,
    cache_write_5m: u64,
    cache_write_1h: u64,
    cache_read: u64,
    web_searches: u64,
    fast: bool,
    us_inference: bool,
    #[serde(rename = "cost_usd")]
    pub(super) cost: Money,
    pub(super) crc: Option<u32>,
    #[serde(borrow)]
    at: Cow<'a, str>,
}

impl JournalLine<'_> {
    /// Reads a line; `None` when it is not one.
    pub(super) fn parse(bytes: &[u8]) -> Option<JournalLine<'_>> {
        serde_json::from_str(std::str::from_utf8(bytes).ok()?).ok()
    }

    /// The outcome that it gives its request. Without a block of ours an error is taken as re-drivable: it costs a call
    /// to find out, and nothing is lost.
    pub(super) fn outcome(&self) -> Outcome {
        self.fandeck.outcome.unwrap_or(match &*self.result.kind {
            "succeeded" => Outcome::Succeeded,
            _ => Outcome::ReDrivable,
        })
    }

    /// What it was billed by.
    pub(super) fn usage(&self) -> Usage {
        let meta = &self.fandeck;
        let cached = meta.cache_write_5m.saturating_add(meta.cache_write_1h).saturating_add(meta.cache_read);
        Usage {
            input_tokens: meta.tokens_in.saturating_sub(cached),
            output_tokens: meta.tokens_out,
            cache_write_5m: meta.cache_write_5m,
            cache_write_1h: meta.cache_write_1h,
            cache_read: meta.cache_read,
            web_searches: meta.web_searches,
            terms: Terms { fast: meta.fast, us_inference: meta.us_inference },
        }
    }

    /// When the answer was there; `None` when the line does not say.
    pub(super) fn at(&self) -> Option<&str> {
        Some(&*self.fandeck.at).filter(|at| !at.is_empty())
    }

    /// The day (UTC) of the answer, as `2026-11-29`; `None` without one.
    pub(super) fn day(&self) -> Option<&str> {
        self.fandeck.at.get(..10)
    }

    /// Whether the cache answered.
    pub(super) fn cached(&self) -> bool {
        self.fandeck.path == Some(Route::Cache)
    }
}
