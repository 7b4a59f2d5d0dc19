//! What goes over the wire: bodies, heads, and what becomes of a call.

use fandeck::api::Reply;
use fandeck::engine::testing::Happened;
use fandeck::model::{ApiError, RateLimits, RequestNo, RetryAfter, RunSlot, Secret, Trouble, Verdict};
use http::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};

use super::world::Call;

pub(super) fn ended(call: Call, reply: Reply) -> Happened {
    let Call { run, no, org, started, .. } = call;
    Happened::Ended { run, no, org, started, reply: Box::new(reply) }
}

pub(super) fn broken(trouble: Trouble) -> Reply {
    Reply {
        verdict: Verdict::Trouble(trouble, ApiError::default()),
        limits: RateLimits::default(),
        retry_after: RetryAfter::Absent,
        request_id: None,
        organization: None,
        body: bytes::Bytes::new(),
    }
}

pub(super) fn body(client: usize, run: RunSlot, no: RequestNo, max_tokens: u32) -> String {
    format!(
        "{{\"model\":\"claude-haiku-4-5\",\"max_tokens\":{max_tokens},\"messages\":[{{\"role\":\"user\",\"content\":\
         \"Case {client}-{}-{}: is the answer faithful to the report? Say why in a sentence.\"}}]}}",
        run.0, no.0
    )
}

pub(super) fn head(key: &Secret) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(HeaderName::from_static("anthropic-version"), HeaderValue::from_static("2023-06-01"));
    headers.insert(HeaderName::from_static("x-api-key"), HeaderValue::from_str(key.expose()).unwrap());
    headers
}
