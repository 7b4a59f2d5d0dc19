//! Error bodies, read and put into words: the API's own shape, and whatever else may stand where it should.
//!
//! Everything that leaves here is scrubbed of key material, printable and short. Nothing of it is on a hot path.

use bytes::Bytes;
use http::StatusCode;
use serde_json::{Value, json};

use crate::model::{AccountTrouble, ApiError, Scrubber, Trouble};

/// Kinds of errors whose body is not this API's: at an address that is not its own, and by status.
const NOT_THIS_API: &str = "not-this-api";
const HTTP: &str = "http-";

/// Characters of the API's own message that are kept: its longest known ones have about 400.
const MESSAGE_CHARS: usize = 600;
/// Characters of a foreign body that are kept.
const EXCERPT_CHARS: usize = 200;
/// Characters of a type or a code that are kept.
const NAME_CHARS: usize = 80;

/// An error in the API's shape: `{"type":"error","error":{"type":…,"message":…,"details":{"error_code":…}}}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ErrorBody {
    /// `error.type`.
    pub(super) kind: String,
    /// `error.message`; empty when there is none.
    pub(super) message: String,
    /// `error.details.error_code`.
    pub(super) code: Option<String>,
}

/// Reads an error body; `None` when it does not have the API's shape. The outer `type` is asked for, because other
/// vendors' errors have an `error` with a `type` in it too.
pub(super) fn parse(body: &[u8]) -> Option<ErrorBody> {
    let value: Value = match serde_json::from_slice(body) {
        Ok(value) => value,
        Err(_) => return by_its_beginning(body),
    };
    if value.get("type")?.as_str()? != "error" {
        return None;
    }
    let error = value.get("error")?;
    let text = |at: &Value, key: &str| at.get(key).and_then(Value::as_str).map(str::to_owned);
    Some(ErrorBody {
        kind: text(error, "type")?,
        message: text(error, "message").unwrap_or_default(),
        code: error.get("details").and_then(|details| text(details, "error_code")),
    })
}

/// An error of this API that no parser takes: cut off where reading stopped, or echoing half a surrogate or bytes that
/// are not UTF-8. Its type decides, so that is looked for where the API puts it; the message is read as far as it goes.
fn by_its_beginning(body: &[u8]) -> Option<ErrorBody> {
    let text = String::from_utf8_lossy(body);
    let text = text.trim_start();
    if !text.starts_with('{') || !text.contains(r#""type":"error""#) {
        return None;
    }
    let error = text.split_once(r#""error":{"#)?.1;
    let string = |key: &str| {
        let (_, rest) = error.split_once(&format!("\"{key}\":\""))?;
        let mut escaped = false;
        let end = rest.find(|c: char| {
            let ends = c == '"' && !escaped;
            escaped = c == '\\' && !escaped;
            ends
        });
        Some(rest[..end.unwrap_or(rest.len())].to_owned())
    };
    Some(ErrorBody {
        kind: string("type")?,
        message: string("message").unwrap_or_default(),
        code: string("error_code"),
    })
}

/// The error as it is stored and shown.
pub(super) fn described(status: StatusCode, parsed: &ErrorBody, scrubber: &Scrubber) -> ApiError {
    let short = |text: &str, chars| printable(&scrubber.scrub(text), chars);
    ApiError {
        status: Some(status.as_u16()),
        kind: short(&parsed.kind, NAME_CHARS),
        message: short(&parsed.message, MESSAGE_CHARS),
        code: parsed.code.as_deref().map(|code| short(code, NAME_CHARS)),
    }
}

/// An error whose body is not this API's: a page of a proxy, another API, nothing at all.
pub(super) fn foreign(status: StatusCode, trouble: Trouble, body: &[u8], scrubber: &Scrubber) -> ApiError {
    let excerpt = match excerpt(body, scrubber) {
        text if text.is_empty() => "empty body".to_owned(),
        text => text,
    };
    if trouble != Trouble::Account(AccountTrouble::Endpoint) {
        return ours(status, &format!("{HTTP}{}", status.as_u16()), excerpt);
    }
    let message = if status.is_redirection() {
        "the host redirects, and redirects are not followed with a key: check base-url".to_owned()
    } else {
        format!("not an Anthropic API: check base-url, and proxies on the way ({excerpt})")
    };
    ours(status, NOT_THIS_API, message)
}

/// Whether an error is one that [`foreign`] made.
pub(super) fn is_foreign(error: &ApiError) -> bool {
    error.kind == NOT_THIS_API || error.kind.starts_with(HTTP)
}

/// A success that is no Message.
pub(super) fn broken(status: StatusCode, body: &[u8], why: &str, scrubber: &Scrubber) -> ApiError {
    let message = match body.is_empty() {
        true => "the answer is empty".to_owned(),
        false => printable(&scrubber.scrub(&format!("the answer is not a whole Message: {why}")), EXCERPT_CHARS),
    };
    ours(status, "broken-answer", message)
}

/// 413 without the API's shape: the edge refuses a body before the API sees it.
pub(super) fn too_large(status: StatusCode, body: &[u8], scrubber: &Scrubber) -> ApiError {
    let mut message = "the request is larger than the API takes (32 MB for a Message)".to_owned();
    let excerpt = excerpt(body, scrubber);
    if !excerpt.is_empty() {
        message = format!("{message}: {excerpt}");
    }
    ours(status, "request_too_large", message)
}

/// The error in the API's shape, on one line.
pub(super) fn line(error: &ApiError) -> Bytes {
    Bytes::from(json!({"type": "error", "error": {"type": error.kind, "message": error.message}}).to_string())
}

fn ours(status: StatusCode, kind: &str, message: String) -> ApiError {
    ApiError { status: Some(status.as_u16()), kind: kind.to_owned(), message, code: None }
}

fn excerpt(body: &[u8], scrubber: &Scrubber) -> String {
    printable(&scrubber.scrub(&String::from_utf8_lossy(body)), EXCERPT_CHARS)
}

/// Text on one line that moves no cursor and turns no direction: runs of white space and control characters become one
/// space, invisible formatting characters go, and what is over `max` characters is cut with an ellipsis.
pub(super) fn printable(text: &str, max: usize) -> String {
    let words = text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty());
    let chars = words.flat_map(|word| std::iter::once(' ').chain(word.chars())).skip(1);
    let mut out = String::new();
    for (n_chars, c) in chars.filter(|c| !is_invisible(*c)).enumerate() {
        if n_chars == max {
            out.pop();
            out.push('…');
            break;
        }
        out.push(c);
    }
    out
}

/// Zero-width and direction-changing characters: they could make an error on a screen read as something else.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Secret;

    #[test]
    fn an_error_that_no_parser_takes_is_still_this_apis() {
        let long =
            format!(r#"{{"type":"error","error":{{"type":"invalid_request_error","message":"{}"#, "x".repeat(70_000));
        for body in [
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"bad \ud800 and \" quote"},"request_id":"r"}"#,
            &long,
        ] {
            let parsed = parse(body.as_bytes()).unwrap();
            assert_eq!(parsed.kind, "invalid_request_error");
            assert!(!parsed.message.is_empty());
        }
        assert_eq!(parse(b"<html>\"type\":\"error\"</html>"), None);
        assert_eq!(parse(br#"{"type":"error","error":{"#), None);
    }

    #[test]
    fn the_apis_shape_is_read_with_and_without_its_optional_parts() {
        let full = br#"{"type":"error","error":{"type":"rate_limit_error","message":"slow","details":{"error_code":"ramp_limit_exceeded"}},"request_id":"req_1"}"#;
        assert_eq!(
            parse(full),
            Some(ErrorBody {
                kind: "rate_limit_error".to_owned(),
                message: "slow".to_owned(),
                code: Some("ramp_limit_exceeded".to_owned())
            })
        );
        for bare in [
            r#"{"type":"error","error":{"type":"api_error"}}"#,
            r#"{"type":"error","error":{"type":"api_error","message":null,"details":null}}"#,
            r#"{"type":"error","error":{"type":"api_error","message":7,"details":{"error_visibility":"user_facing"}}}"#,
        ] {
            let expected = ErrorBody { kind: "api_error".to_owned(), message: String::new(), code: None };
            assert_eq!(parse(bare.as_bytes()), Some(expected), "{bare}");
        }
    }

    #[test]
    fn other_shapes_are_not_the_apis() {
        let deep = "[".repeat(60_000);
        for body in [
            "",
            "null",
            "<html>",
            r#"{"error":{"type":"invalid_request_error","message":"another vendor"}}"#,
            r#"{"type":"error","error":"text"}"#,
            r#"{"type":"error","error":{"message":"x"}}"#,
            &deep,
        ] {
            assert_eq!(parse(body.as_bytes()), None, "{body:.40}");
        }
    }

    #[test]
    fn l17_a_foreign_body_becomes_a_short_printable_excerpt_without_keys() {
        let key = Secret::new("own-key-123").unwrap();
        let page = format!("<html>\r\n\x1b[2J\x07<b>own-key-123 \u{202e}bad</b>{}", "x".repeat(1_000));
        let error = foreign(StatusCode::BAD_GATEWAY, Trouble::Server, page.as_bytes(), &Scrubber::new([&key]));
        assert_eq!(error.kind, "http-502");
        assert!(error.message.starts_with("<html> [2J <b>[key] bad</b>xxx"), "{}", error.message);
        assert_eq!(error.message.chars().count(), EXCERPT_CHARS);
        let none = foreign(StatusCode::BAD_GATEWAY, Trouble::Server, b"", &Scrubber::default());
        assert_eq!(none.message, "empty body");
    }

    #[test]
    fn text_is_cut_only_when_it_is_too_long() {
        assert_eq!(printable("  ab \n c\u{200b}d ", 5), "ab cd");
        assert_eq!(printable("ab cde", 5), "ab c…");
        assert_eq!(printable(" \t ", 5), "");
    }

    #[test]
    fn bytes_that_are_no_text_are_shown_harmlessly() {
        let error = foreign(StatusCode::BAD_GATEWAY, Trouble::Server, &[0xff, 0x00, b'a', 0xfe], &Scrubber::default());
        assert_eq!(error.message, "\u{fffd} a\u{fffd}");
    }

    #[test]
    fn an_error_of_our_own_is_written_in_the_apis_shape() {
        let error = too_large(StatusCode::PAYLOAD_TOO_LARGE, b"<h1>413</h1>", &Scrubber::default());
        let parsed = parse(&line(&error)).unwrap();
        assert_eq!(parsed.kind, "request_too_large");
        assert_eq!(parsed.message, error.message);
    }
}
