//! One line of a batch's results.
//!
//! The parse is typed and borrows. A line of a kilobyte is looked at twice, once for its frame and once for its message, and
//! copied once; at a hundred megabytes a download that is what there is time for.

use std::borrow::Cow;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::api::classify::{Class, Evidence, classify};
use crate::api::error_body::{self, printable};
use crate::api::{json_line, message};
use crate::model::{ApiError, Scrubber, Trouble, Verdict};

/// A row, read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResultRow<'a> {
    /// The wire id.
    pub custom_id: Cow<'a, str>,
    /// What it comes to.
    pub verdict: Verdict,
    /// As [`crate::api::Reply::body`].
    pub body: Bytes,
}

/// A line that is no row, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadRow {
    /// The wire id, when it could be read.
    pub custom_id: Option<String>,
    /// In words, without key material.
    pub why: String,
}

#[derive(Deserialize)]
struct Line<'a> {
    #[serde(borrow)]
    custom_id: Cow<'a, str>,
    #[serde(borrow)]
    result: Frame<'a>,
}

#[derive(Deserialize)]
struct Frame<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    message: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

/// Reads a line.
///
/// # Errors
/// It is not a row of results, or its message is not whole.
pub fn read_row<'a>(line: &'a [u8], scrubber: &Scrubber) -> Result<ResultRow<'a>, BadRow> {
    let bad = |custom_id: Option<&str>, why: String| BadRow {
        custom_id: custom_id.map(str::to_owned),
        why: printable(&scrubber.scrub(&why), 200),
    };
    let text = std::str::from_utf8(line).map_err(|error| bad(None, error.to_string()))?;
    let Line { custom_id, result } = serde_json::from_str(text).map_err(|error| bad(None, error.to_string()))?;
    let (verdict, body) = match (&*result.kind, result.message, result.error) {
        ("succeeded", Some(raw), _) => succeeded(raw, scrubber).map_err(|why| bad(Some(&custom_id), why))?,
        ("succeeded", None, _) => return Err(bad(Some(&custom_id), "succeeded without a message".to_owned())),
        ("errored", _, Some(raw)) => errored(raw, scrubber),
        ("errored", ..) => trouble(Trouble::Server, "errored", "the row failed without an error"),
        ("expired", ..) => trouble(Trouble::Expired, "expired", "not processed before its sub-batch expired"),
        ("canceled", ..) => trouble(Trouble::Canceled, "canceled", "not processed before its sub-batch was canceled"),
        // It is a result, and nobody knows which, nor whether it was paid.
        (other, ..) => {
            let why = format!("a result of type {other:?}, which is not known");
            trouble(Trouble::UnknownResult, Trouble::UnknownResult.as_str(), &scrubber.scrub(&why))
        }
    };
    Ok(ResultRow { custom_id, verdict, body })
}

fn succeeded(raw: &RawValue, scrubber: &Scrubber) -> Result<(Verdict, Bytes), String> {
    let facts = message::facts(raw.get()).map_err(|error| format!("not a whole Message: {error}"))?;
    let body = json_line::fit(Bytes::copy_from_slice(raw.get().as_bytes()), scrubber);
    Ok((Verdict::Answered { refused: facts.refused, usage: facts.usage }, body))
}

/// The error of a row has the API's double nesting: `result.error` is an error body of its own.
fn errored(raw: &RawValue, scrubber: &Scrubber) -> (Verdict, Bytes) {
    let body = raw.get().as_bytes();
    let Some(parsed) = error_body::parse(body) else {
        return trouble(Trouble::Server, "errored", &scrubber.scrub(raw.get()));
    };
    let evidence =
        Evidence { status: None, kind: Some(&parsed.kind), code: parsed.code.as_deref(), message: &parsed.message };
    let class = classify(&evidence);
    // The status is nobody's: a row has none.
    let error = ApiError { status: None, ..error_body::described(http::StatusCode::OK, &parsed, scrubber) };
    match class {
        Class::Invalid => (Verdict::Invalid(error), json_line::fit(Bytes::copy_from_slice(body), scrubber)),
        Class::Trouble(trouble) => (Verdict::Trouble(trouble, error), Bytes::new()),
    }
}

fn trouble(trouble: Trouble, kind: &str, message: &str) -> (Verdict, Bytes) {
    let error = ApiError { status: None, kind: kind.to_owned(), message: printable(message, 200), code: None };
    (Verdict::Trouble(trouble, error), Bytes::new())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{AccountTrouble, Outcome, Secret};

    const MESSAGE: &str = r#"{"id":"msg_1","type":"message","content":[{"type":"text","text":"Yes."}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":2,"service_tier":"batch"}}"#;

    fn read(line: &str) -> Result<ResultRow<'_>, BadRow> {
        read_row(line.as_bytes(), &Scrubber::default())
    }

    fn errored(error: &str) -> Verdict {
        let line = format!(
            r#"{{"custom_id":"a","result":{{"type":"errored","error":{{"type":"error","error":{error},"request_id":null}}}}}}"#
        );
        read(&line).unwrap().verdict
    }

    #[test]
    fn an_answer_is_taken_as_it_stands() {
        let line = format!(r#"{{"custom_id":"n-7","result":{{"type":"succeeded","message":{MESSAGE}}}}}"#);
        let row = read(&line).unwrap();
        assert_eq!(row.custom_id, "n-7");
        assert_eq!(row.body, MESSAGE);
        assert_eq!(row.verdict.outcome(), Outcome::Succeeded);
    }

    #[test]
    fn a_refusal_is_a_billed_answer_that_is_not_good() {
        let refusal = MESSAGE.replace("end_turn", "refusal");
        let line = format!(r#"{{"custom_id":"n-7","result":{{"type":"succeeded","message":{refusal}}}}}"#);
        assert_eq!(read(&line).unwrap().verdict.outcome(), Outcome::Refused);
    }

    #[test]
    fn b6_expired_and_canceled_rows_are_told_apart_from_errors_and_to_be_sent_again() {
        for (kind, expected) in [("expired", Trouble::Expired), ("canceled", Trouble::Canceled)] {
            let line = format!(r#"{{"custom_id":"a","result":{{"type":"{kind}"}}}}"#);
            let verdict = read(&line).unwrap().verdict;
            assert!(matches!(verdict, Verdict::Trouble(found, _) if found == expected), "{kind}: {verdict:?}");
        }
    }

    #[test]
    fn b7_a_credit_error_is_the_orgs_and_not_the_requests() {
        let verdict = errored(
            r#"{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API."}"#,
        );
        assert!(matches!(verdict, Verdict::Trouble(Trouble::Account(AccountTrouble::Credit), _)), "{verdict:?}");
    }

    #[test]
    fn b19_a_request_that_is_wrong_is_invalid_and_everything_else_is_the_servers() {
        for (kind, expected) in [
            ("invalid_request_error", Outcome::Invalid),
            ("not_found_error", Outcome::Invalid),
            ("api_error", Outcome::ReDrivable),
            ("overloaded_error", Outcome::ReDrivable),
            ("an_error_of_next_year", Outcome::ReDrivable),
        ] {
            let verdict = errored(&format!(r#"{{"type":"{kind}","message":"x"}}"#));
            assert_eq!(verdict.outcome(), expected, "{kind}");
        }
    }

    #[test]
    fn b20_what_is_no_row_is_named_with_its_id_where_there_is_one() {
        assert_eq!(read("").unwrap_err().custom_id, None);
        assert_eq!(read(r#"{"custom_id":"a","res"#).unwrap_err().custom_id, None);
        let cut = format!(r#"{{"custom_id":"a","result":{{"type":"succeeded","message":{}}}}}"#, r#"{"id":"msg_1"}"#);
        assert_eq!(read(&cut).unwrap_err().custom_id.as_deref(), Some("a"));
    }

    #[test]
    fn a_result_of_a_type_that_is_not_known_is_a_class_of_its_own_and_perhaps_paid() {
        let row = read(r#"{"custom_id":"a","result":{"type":"postponed","message":{"id":"x"}}}"#).unwrap();
        let Verdict::Trouble(Trouble::UnknownResult, error) = row.verdict else { panic!("{row:?}") };
        assert!(error.message.contains("postponed") && Trouble::UnknownResult.possibly_charged());
    }

    #[test]
    fn keys_are_masked_in_answers_and_in_errors() {
        let key = Secret::new("own-key-123").unwrap();
        let scrubber = Scrubber::new([&key]);
        let message = MESSAGE.replace("Yes.", "own-key-123");
        let line = format!(r#"{{"custom_id":"a","result":{{"type":"succeeded","message":{message}}}}}"#);
        let row = read_row(line.as_bytes(), &scrubber).unwrap();
        assert!(!String::from_utf8_lossy(&row.body).contains("own-key"));
        let line = r#"{"custom_id":"a","result":{"type":"errored","error":{"type":"error","error":{"type":"api_error","message":"own-key-123"}}}}"#;
        let row = read_row(line.as_bytes(), &scrubber).unwrap();
        assert!(!format!("{row:?}").contains("own-key"));
    }
}
