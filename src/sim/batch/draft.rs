//! What a batch create asks for: checked as a whole at once, row by row for later.
//!
//! The body is scanned in place. Of a row its params are parsed, answered in figures, and forgotten.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::super::answer::{self, Essence};
use super::super::failure::Failure;
use super::super::prepare;
use super::super::validate::{self, Rules};
use super::MAX_ROWS;
use super::rows::{Cached, Refusal, Rows, Valid, What};

/// A batch that may be created.
#[derive(Debug)]
pub(in crate::sim) struct Draft {
    pub(super) rows: Rows,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RowFile<'b> {
    #[serde(borrow)]
    custom_id: Option<&'b RawValue>,
    #[serde(borrow)]
    params: Option<&'b RawValue>,
}

/// The longest custom id.
const MAX_ID: usize = 64;

impl Draft {
    /// Reads the body of a create.
    ///
    /// # Errors
    /// The API's answer to a batch that is wrong as a whole. Params that are wrong are not among its reasons.
    pub(in crate::sim) fn read(body: &[u8], rules: Rules) -> Result<Draft, Failure> {
        let rows = requests(body)?;
        if rows.is_empty() {
            return Err(Failure::invalid("requests: List should have at least 1 item after validation, not 0"));
        }
        if rows.len() > MAX_ROWS {
            return Err(Failure::invalid(format!(
                "requests: List should have at most {MAX_ROWS} items after validation, not {}",
                rows.len()
            )));
        }
        let mut ids = HashSet::with_capacity(rows.len());
        let mut prefixes = HashSet::new();
        let mut kept = Rows::with_capacity(rows.len());
        for (at, raw) in rows.iter().enumerate() {
            let (id, params) = row(at, raw)?;
            kept.push(&id, what(params, rules, &mut prefixes));
            if let Some(twice) = ids.replace(id) {
                return Err(Failure::invalid(format!(
                    "requests: custom_id's must be unique within a batch. Duplicate custom_id found: {twice}"
                )));
            }
        }
        Ok(Draft { rows: kept })
    }
}

/// The list of requests, each unread.
fn requests(body: &[u8]) -> Result<Vec<&RawValue>, Failure> {
    let fields: HashMap<String, &RawValue> = serde_json::from_slice(body).map_err(|error| {
        if serde_json::from_slice::<serde::de::IgnoredAny>(body).is_ok() {
            Failure::invalid("Input should be a valid dictionary or object to extract fields from")
        } else {
            Failure::invalid(format!("The request body is not valid JSON: {error}"))
        }
    })?;
    let requests = fields.get("requests").ok_or_else(|| Failure::invalid("requests: Field required"))?;
    if let Some(field) = fields.keys().find(|field| *field != "requests") {
        return Err(Failure::invalid(format!("{field}: Extra inputs are not permitted")));
    }
    serde_json::from_str(requests.get()).map_err(|_| Failure::invalid("requests: Input should be a valid list"))
}

/// The custom id and the params of a row.
fn row<'b>(at: usize, raw: &'b RawValue) -> Result<(Cow<'b, str>, &'b RawValue), Failure> {
    let row: RowFile<'b> = serde_json::from_str(raw.get()).map_err(|_| strange_row(at, raw))?;
    let id = row.custom_id.ok_or_else(|| Failure::invalid(format!("requests.{at}.custom_id: Field required")))?;
    let id =
        text(id).ok_or_else(|| Failure::invalid(format!("requests.{at}.custom_id: Input should be a valid string")))?;
    if id.chars().count() > MAX_ID {
        return Err(Failure::invalid(format!(
            "requests.{at}.custom_id: String should have at most {MAX_ID} characters"
        )));
    }
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    if id.is_empty() || !id.bytes().all(plain) {
        return Err(Failure::invalid(format!(
            "requests.{at}.custom_id: String should match pattern '^[a-zA-Z0-9_-]{{1,64}}$'"
        )));
    }
    let params = row.params.ok_or_else(|| Failure::invalid(format!("requests.{at}.params: Field required")))?;
    if !params.get().starts_with('{') {
        return Err(Failure::invalid(format!("requests.{at}.params: Input should be a valid dictionary")));
    }
    Ok((id, params))
}

/// A JSON string; borrowed where it holds no escapes.
fn text(raw: &RawValue) -> Option<Cow<'_, str>> {
    serde_json::from_str::<&str>(raw.get())
        .map(Cow::Borrowed)
        .or_else(|_| serde_json::from_str::<String>(raw.get()).map(Cow::Owned))
        .ok()
}

/// Why a row is none.
fn strange_row(at: usize, raw: &RawValue) -> Failure {
    let fields: Option<HashMap<String, serde::de::IgnoredAny>> = serde_json::from_str(raw.get()).ok();
    let extra = fields.as_ref().and_then(|fields| fields.keys().find(|key| *key != "custom_id" && *key != "params"));
    match (extra, fields.is_some()) {
        (Some(field), _) => Failure::invalid(format!("requests.{at}.{field}: Extra inputs are not permitted")),
        (None, true) => Failure::invalid(format!("requests.{at}: A field is given twice")),
        (None, false) => Failure::invalid(format!("requests.{at}: Input should be a valid dictionary or object")),
    }
}

/// What will come of the params.
fn what(params: &RawValue, rules: Rules, prefixes: &mut HashSet<u64>) -> What {
    let body = params.get().as_bytes();
    let (request, model) = match validate::messages(body, rules) {
        Ok(valid) => valid,
        Err(failure) => return What::Invalid(Box::new(Refusal::of(failure))),
    };
    let essence = Essence::of(&request, model, answer::digest(body));
    let output_tokens = u32::try_from(answer::compose(&essence).output_tokens).unwrap_or(u32::MAX);
    let cached = cached(body, &request, &essence, prefixes);
    What::Valid(Valid { essence, output_tokens, cached })
}

/// The longest marked prefix, if it is long enough to be cached.
fn cached(body: &[u8], request: &Value, essence: &Essence, seen: &mut HashSet<u64>) -> Option<Cached> {
    let prefixes = prepare::prefixes(body, request, essence.model)?;
    let (at, hour) = prefixes.marks.last()?;
    let (identity, tokens) = *prefixes.blocks.get(*at)?;
    (tokens >= essence.model.min_cacheable()).then(|| Cached { tokens, hour: *hour, first: seen.insert(identity) })
}

#[cfg(test)]
mod tests {
    use super::super::super::validate::ApiVersion;
    use super::*;

    const RULES: Rules = Rules { version: ApiVersion::V2023, batch: true, long_output: false };
    const PARAMS: &str = r#"{"model":"claude-haiku-4-5","max_tokens":9,"messages":[{"role":"user","content":"x"}]}"#;

    fn refused(body: &str) -> String {
        Draft::read(body.as_bytes(), RULES).unwrap_err().message
    }

    #[test]
    fn a_batch_that_is_wrong_as_a_whole_is_told_so_in_the_words_of_the_api() {
        let long = "x".repeat(65);
        for (requests, message) in [
            ("5".to_owned(), "requests: Input should be a valid list"),
            ("[]".to_owned(), "requests: List should have at least 1 item after validation, not 0"),
            (format!("[{{\"params\":{PARAMS}}}]"), "requests.0.custom_id: Field required"),
            (
                format!("[{{\"custom_id\":\"{long}\",\"params\":{PARAMS}}}]"),
                "requests.0.custom_id: String should have at most 64 characters",
            ),
            (
                format!("[{{\"custom_id\":\"a b\",\"params\":{PARAMS}}}]"),
                "requests.0.custom_id: String should match pattern '^[a-zA-Z0-9_-]{1,64}$'",
            ),
            (
                format!("[{{\"custom_id\":\"\",\"params\":{PARAMS}}}]"),
                "requests.0.custom_id: String should match pattern '^[a-zA-Z0-9_-]{1,64}$'",
            ),
            (
                format!(
                    "[{{\"custom_id\":\"dup\",\"params\":{PARAMS}}},{{\"custom_id\":\"d\\u0075p\",\"params\":{PARAMS}}}]"
                ),
                "requests: custom_id's must be unique within a batch. Duplicate custom_id found: dup",
            ),
            ("[{\"custom_id\":\"a\"}]".to_owned(), "requests.0.params: Field required"),
            (
                "[{\"custom_id\":\"a\",\"params\":3}]".to_owned(),
                "requests.0.params: Input should be a valid dictionary",
            ),
            ("[{\"custom_id\":7,\"params\":{}}]".to_owned(), "requests.0.custom_id: Input should be a valid string"),
            (
                "[{\"custom_id\":\"a\",\"params\":{},\"x\":1}]".to_owned(),
                "requests.0.x: Extra inputs are not permitted",
            ),
            ("[3]".to_owned(), "requests.0: Input should be a valid dictionary or object"),
        ] {
            assert_eq!(refused(&format!("{{\"requests\":{requests}}}")), message, "{requests}");
        }
        assert_eq!(refused("{}"), "requests: Field required");
        assert_eq!(refused("{\"requests\":[],\"metadata\":1}"), "metadata: Extra inputs are not permitted");
        assert!(refused("[]").contains("valid dictionary"));
        assert!(refused("{\"requests\":").contains("not valid JSON"));
    }

    #[test]
    fn params_that_are_wrong_are_rows_for_later() {
        let row = |id: &str, params: &str| format!("{{\"custom_id\":\"{id}\",\"params\":{params}}}");
        let streamed = PARAMS.replace("\"max_tokens\"", "\"stream\":true,\"max_tokens\"");
        let none = PARAMS.replace(":9", ":0");
        let rows = [row("good", PARAMS), row("model", "{}"), row("stream", &streamed), row("none", &none)].join(",");
        let draft = Draft::read(format!("{{\"requests\":[{rows}]}}").as_bytes(), RULES).unwrap();
        let said: Vec<(&str, Option<&str>)> = (0..draft.rows.len())
            .map(|at| match draft.rows.get(at).unwrap() {
                (id, What::Valid(_)) => (id, None),
                (id, What::Invalid(refusal)) => (id, Some(refusal.message.as_str())),
            })
            .collect();
        assert_eq!(
            said,
            [
                ("good", None),
                ("model", Some("model: Field required")),
                ("stream", Some("\"stream=True\" is not supported in the Message Batches API")),
                ("none", Some("max_tokens: must be greater than or equal to 1")),
            ]
        );
    }

    #[test]
    fn b13_a_row_more_than_the_limit_is_refused() {
        let rows: Vec<String> =
            (0..=MAX_ROWS).map(|at| format!("{{\"custom_id\":\"{at}\",\"params\":{{}}}}")).collect();
        let body = format!("{{\"requests\":[{}]}}", rows.join(","));
        assert!(refused(&body).contains("at most 100000 items"));
    }
}
