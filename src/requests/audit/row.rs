//! A request as the audit sees it: the texts of its fields, found and not read.

use std::borrow::Cow;

use super::super::scan;
use super::super::shape::Usable;

/// A request. Fields that are `null` count as missing.
#[derive(Debug)]
pub(super) struct Row<'a> {
    /// Its line, 1-based.
    pub(super) line: u64,
    /// Bytes of its line.
    pub(super) bytes: u64,
    pub(super) model: Cow<'a, str>,
    pub(super) max_tokens: u32,
    /// The whole body.
    pub(super) params: &'a [u8],
    pub(super) tools: Option<&'a [u8]>,
    pub(super) tool_choice: Option<&'a [u8]>,
    pub(super) system: Option<&'a [u8]>,
    pub(super) messages: &'a [u8],
    pub(super) temperature: Option<&'a [u8]>,
    pub(super) top_p: Option<&'a [u8]>,
    pub(super) top_k: Option<&'a [u8]>,
    pub(super) thinking: Option<&'a [u8]>,
    pub(super) cache_control: Option<&'a [u8]>,
    pub(super) speed: Option<&'a [u8]>,
}

impl<'a> Row<'a> {
    /// The request of a line that was found sound.
    pub(super) fn of(line: u64, text: &'a [u8], usable: Usable<'a>) -> Option<Row<'a>> {
        let params = scan::member(text, "params").and_then(|span| text.get(span))?;
        let mut row = Row {
            line,
            bytes: text.len() as u64,
            model: usable.model,
            max_tokens: usable.max_tokens,
            params,
            tools: None,
            tool_choice: None,
            system: None,
            messages: &[],
            temperature: None,
            top_p: None,
            top_k: None,
            thinking: None,
            cache_control: None,
            speed: None,
        };
        for (name, value) in scan::members(params).filter(|(_, value)| *value != b"null") {
            match name {
                b"tools" => row.tools = Some(value),
                b"tool_choice" => row.tool_choice = Some(value),
                b"system" => row.system = Some(value),
                b"messages" => row.messages = value,
                b"temperature" => row.temperature = Some(value),
                b"top_p" => row.top_p = Some(value),
                b"top_k" => row.top_k = Some(value),
                b"thinking" => row.thinking = Some(value),
                b"cache_control" => row.cache_control = Some(value),
                b"speed" => row.speed = Some(value),
                _ => {}
            }
        }
        Some(row)
    }
}

/// The value of a member, as it is written.
pub(super) fn field<'a>(object: &'a [u8], name: &str) -> Option<&'a [u8]> {
    scan::member(object, name).and_then(|span| object.get(span)).filter(|value| *value != b"null")
}

/// The value of a member that is a string, without its quotes and as it is escaped.
pub(super) fn word<'a>(object: &'a [u8], name: &str) -> Option<&'a [u8]> {
    field(object, name).and_then(unquoted)
}

/// A string without its quotes.
pub(super) fn unquoted(value: &[u8]) -> Option<&[u8]> {
    value.strip_prefix(b"\"")?.strip_suffix(b"\"")
}

/// A number.
pub(super) fn number(value: &[u8]) -> Option<f64> {
    std::str::from_utf8(value).ok()?.parse().ok()
}
