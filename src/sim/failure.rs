//! Errors as the API words them. The texts are for people; clients decide by status, type, code and headers.

use bytes::Bytes;
use http::StatusCode;
use serde_json::Value;

/// An error answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Failure {
    pub(super) status: StatusCode,
    /// `error.type`.
    pub(super) kind: &'static str,
    pub(super) message: String,
    /// `error.details.error_code`.
    pub(super) code: Option<&'static str>,
    /// The `retry-after` header, as it is sent.
    pub(super) retry_after: Option<String>,
    /// The `x-should-retry` header.
    pub(super) should_retry: Option<bool>,
}

impl Failure {
    pub(super) fn new(status: StatusCode, kind: &'static str, message: impl Into<String>) -> Failure {
        Failure { status, kind, message: message.into(), code: None, retry_after: None, should_retry: None }
    }

    pub(super) fn code(self, code: &'static str) -> Failure {
        Failure { code: Some(code), ..self }
    }

    fn retry(self, should_retry: bool) -> Failure {
        Failure { should_retry: Some(should_retry), ..self }
    }

    pub(super) fn invalid(message: impl Into<String>) -> Failure {
        Failure::new(StatusCode::BAD_REQUEST, "invalid_request_error", message)
    }

    pub(super) fn unauthorized(message: &str) -> Failure {
        Failure::new(StatusCode::UNAUTHORIZED, "authentication_error", message).retry(false)
    }

    pub(super) fn not_found(message: impl Into<String>) -> Failure {
        Failure::new(StatusCode::NOT_FOUND, "not_found_error", message).retry(false)
    }

    pub(super) fn too_large() -> Failure {
        Failure::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "request_too_large",
            "Request exceeds the maximum allowed number of bytes.",
        )
    }

    pub(super) fn rate_limited(message: impl Into<String>, retry_after: Option<String>) -> Failure {
        let failure = Failure::new(StatusCode::TOO_MANY_REQUESTS, "rate_limit_error", message).retry(true);
        Failure { retry_after, ..failure }
    }

    /// Growth that was too sharp.
    pub(super) fn ramp_limited(retry_after: Option<String>) -> Failure {
        Failure::rate_limited(
            "This request would exceed the acceleration limit of your organization: its usage grew too sharply. \
             Ramp up gradually and keep a steady rate.",
            retry_after,
        )
        .code("ramp_limit_exceeded")
    }

    /// A spend cap of the tier: waiting does not heal it, so there is no `retry-after`.
    pub(super) fn spend_limit() -> Failure {
        Failure::rate_limited("Your organization has reached its monthly spend limit.", None)
            .code("enforced_spend_limit_reached")
    }

    pub(super) fn low_credit() -> Failure {
        Failure::invalid(
            "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or \
             purchase credits.",
        )
    }

    /// 529, or the same error under another status of the edge.
    pub(super) fn overloaded(status: StatusCode) -> Failure {
        Failure::new(status, "overloaded_error", "Overloaded").retry(true)
    }

    pub(super) fn server_error(status: StatusCode) -> Failure {
        Failure::new(status, "api_error", "Internal server error")
    }

    pub(super) fn timed_out() -> Failure {
        Failure::new(
            StatusCode::GATEWAY_TIMEOUT,
            "timeout_error",
            "The request timed out while processing. Consider streaming or the Message Batches API for long requests.",
        )
    }

    /// The body, with the request's id; fields in the API's order.
    pub(super) fn body(&self, request_id: &str) -> Bytes {
        let message = Value::from(self.message.as_str());
        let details = self.code.map_or_else(String::new, |code| format!(",\"details\":{{\"error_code\":\"{code}\"}}"));
        Bytes::from(format!(
            "{{\"type\":\"error\",\"error\":{{\"type\":\"{}\",\"message\":{message}{details}}},\"request_id\":\"{request_id}\"}}",
            self.kind
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_body_is_the_apis_whatever_the_message_holds() {
        let failure = Failure::rate_limited("a \"quoted\"\nline", Some("3".to_owned())).code("ramp_limit_exceeded");
        let text = String::from_utf8(failure.body("req_1").to_vec()).unwrap();
        assert!(text.starts_with(r#"{"type":"error","error":{"type":"rate_limit_error","message":"#), "{text}");
        let body: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(body["error"]["message"], "a \"quoted\"\nline");
        assert_eq!(body["error"]["details"]["error_code"], "ramp_limit_exceeded");
        assert_eq!(body["request_id"], "req_1");
    }
}
