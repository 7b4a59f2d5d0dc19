//! A look at an org that costs nothing: `GET /v1/models/{id}`, and where that finds nothing, `GET /v1/models`.
//!
//! A 404 of the first says either that there is no such model or that there is no such endpoint (gateways that speak the
//! Messages API often have nothing else). Only the list tells the two apart, so a model counts as missing only when a
//! list was read to its end and does not name it.

use bytes::Bytes;
use http::StatusCode;
use serde_json::Value;

use crate::model::{ApiError, Scrubber, Wall};

use super::error_body;

/// Models that a page of the list holds: the most that the API gives.
const PAGE: usize = 1_000;

/// What an org showed of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sight {
    /// The `anthropic-organization-id` header.
    pub organization: Option<String>,
    /// The `date` header: when it was, by the API's clock.
    pub at: Option<Wall>,
    /// What it said about the model.
    pub finding: Finding,
}

/// What an org says about a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finding {
    /// It has the model.
    Model {
        /// The longest answer of the model, in tokens; `None` when it does not say.
        max_tokens: Option<u32>,
    },
    /// It has models, and this is not among them.
    NoSuchModel,
    /// 401: the key does not work.
    Unauthorized(ApiError),
    /// There is no telling: no such endpoint, another API, no answer.
    Untold,
}

impl Sight {
    /// Nothing was to be seen.
    pub fn nothing() -> Sight {
        Sight { organization: None, at: None, finding: Finding::Untold }
    }
}

/// The target of the first question.
pub(crate) fn model_target(model: &str) -> String {
    let mut target = String::from("/v1/models/");
    for byte in model.bytes() {
        // What is not unreserved in a URL is escaped: a model's name is the user's text.
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            target.push(char::from(byte));
        } else {
            target.push_str(&format!("%{byte:02X}"));
        }
    }
    target
}

/// The target of the second.
pub(crate) fn list_target() -> String {
    format!("/v1/models?limit={PAGE}")
}

/// The answer to the first question; `None` when the list has to be asked.
pub(crate) fn of_model(status: StatusCode, body: &Bytes, scrubber: &Scrubber) -> Option<Finding> {
    match status.as_u16() {
        200 => Some(parse(body).as_ref().and_then(model).unwrap_or(Finding::Untold)),
        401 => Some(unauthorized(status, body, scrubber)),
        404 => None,
        _ => Some(Finding::Untold),
    }
}

/// The answer to the second.
pub(crate) fn of_list(status: StatusCode, body: &Bytes, wanted: &str) -> Finding {
    let list = if status == StatusCode::OK { parse(body) } else { None };
    let Some(list) = list else { return Finding::Untold };
    let Some(models) = list.get("data").and_then(Value::as_array) else { return Finding::Untold };
    let is_whole = list.get("has_more").and_then(Value::as_bool) == Some(false);
    if let Some(found) = models.iter().find(|model| model.get("id").and_then(Value::as_str) == Some(wanted)) {
        return model(found).unwrap_or(Finding::Untold);
    }
    if is_whole && !models.is_empty() { Finding::NoSuchModel } else { Finding::Untold }
}

fn parse(body: &Bytes) -> Option<Value> {
    serde_json::from_slice(body).ok()
}

fn model(value: &Value) -> Option<Finding> {
    (value.get("type")?.as_str()? == "model").then(|| Finding::Model {
        max_tokens: value
            .get("max_tokens")
            .and_then(Value::as_u64)
            .and_then(|n| u32::try_from(n).ok())
            .filter(|n| *n > 0),
    })
}

/// A 401 of this API parks the org; one of something else between does not.
fn unauthorized(status: StatusCode, body: &Bytes, scrubber: &Scrubber) -> Finding {
    match error_body::parse(body) {
        Some(parsed) => Finding::Unauthorized(error_body::described(status, &parsed, scrubber)),
        None => Finding::Untold,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scrubber() -> Scrubber {
        Scrubber::new([])
    }

    fn at_first(status: u16, body: &'static str) -> Option<Finding> {
        of_model(StatusCode::from_u16(status).unwrap(), &Bytes::from_static(body.as_bytes()), &scrubber())
    }

    fn in_list(status: u16, body: &'static str) -> Finding {
        of_list(StatusCode::from_u16(status).unwrap(), &Bytes::from_static(body.as_bytes()), "claude-haiku-4-5")
    }

    #[test]
    fn a_model_tells_its_longest_answer_and_a_401_its_reason() {
        let model = r#"{"id":"claude-haiku-4-5-20251001","type":"model","max_tokens":64000}"#;
        assert_eq!(at_first(200, model), Some(Finding::Model { max_tokens: Some(64_000) }));
        let refused = at_first(401, r#"{"type":"error","error":{"type":"authentication_error","message":"no"}}"#);
        assert!(matches!(refused, Some(Finding::Unauthorized(error)) if error.status == Some(401)));
    }

    #[test]
    fn what_is_not_this_endpoint_tells_nothing() {
        let message = r#"{"id":"msg_1","type":"message","role":"assistant","content":[]}"#;
        assert_eq!(at_first(200, message), Some(Finding::Untold));
        assert_eq!(at_first(405, ""), Some(Finding::Untold));
        assert_eq!(at_first(401, "<html>"), Some(Finding::Untold));
        assert_eq!(at_first(404, r#"{"type":"error","error":{"type":"not_found_error","message":"Not Found"}}"#), None);
        assert_eq!(in_list(404, ""), Finding::Untold);
        assert_eq!(in_list(200, message), Finding::Untold);
    }

    #[test]
    fn a_model_is_missing_only_when_a_whole_list_does_not_name_it() {
        let list = r#"{"data":[{"id":"claude-opus-5","type":"model"}],"has_more":false}"#;
        assert_eq!(in_list(200, list), Finding::NoSuchModel);
        assert_eq!(
            in_list(200, r#"{"data":[{"id":"claude-opus-5","type":"model"}],"has_more":true}"#),
            Finding::Untold
        );
        assert_eq!(in_list(200, r#"{"data":[],"has_more":false}"#), Finding::Untold);
        let named = r#"{"data":[{"id":"claude-haiku-4-5","type":"model"}],"has_more":false}"#;
        assert_eq!(in_list(200, named), Finding::Model { max_tokens: None });
    }

    #[test]
    fn a_models_name_cannot_leave_its_place_in_the_url() {
        assert_eq!(model_target("claude-haiku-4-5"), "/v1/models/claude-haiku-4-5");
        assert_eq!(model_target("../x?y=é"), "/v1/models/..%2Fx%3Fy%3D%C3%A9");
    }
}
