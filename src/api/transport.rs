//! The one seam between the engine and the world: a call goes out, a reply comes back.
//!
//! A transport never fails and never retries. Whatever happens (no connection, silence, a page of HTML) is a reply with
//! a verdict, so that there is exactly one owner of retries: the dispatcher.

use std::future::Future;
use std::pin::Pin;

use bytes::Bytes;

use super::look::Sight;
use crate::model::{ApiError, OrgId, RateLimits, RetryAfter, Trouble, Verdict};

/// One attempt at a request.
#[derive(Debug, Clone)]
pub struct Call {
    /// Who it is sent to, with that org's key and no other.
    pub org: OrgId,
    /// The Messages API body, byte for byte as in the input. The transport adds a member to that of a long answer
    /// ([`crate::api`] streams those), the same at every attempt.
    pub body: Bytes,
    /// Its `max_tokens`: scales the wait for the first byte.
    pub max_tokens: u32,
}

/// What came of it.
#[derive(Debug, Clone)]
pub struct Reply {
    /// Answered, invalid, or trouble.
    pub verdict: Verdict,
    /// The rate-limit headers; those of a 429 count too.
    pub limits: RateLimits,
    /// The `retry-after` header.
    pub retry_after: RetryAfter,
    /// The `request-id` header.
    pub request_id: Option<String>,
    /// The `anthropic-organization-id` header.
    pub organization: Option<String>,
    /// Valid JSON on one line, free of key material: the Message of an answer, the error body of an `invalid`
    /// (`{"type":"error","error":{…}}`), else empty.
    pub body: Bytes,
}

impl Reply {
    /// The reply when not even the headers of an answer arrived.
    pub fn unanswered(trouble: Trouble, error: ApiError) -> Reply {
        Reply {
            verdict: Verdict::Trouble(trouble, error),
            limits: RateLimits::default(),
            retry_after: RetryAfter::Absent,
            request_id: None,
            organization: None,
            body: Bytes::new(),
        }
    }
}

/// A reply that is to come.
pub type ReplyFuture = Pin<Box<dyn Future<Output = Reply> + Send>>;

/// A sight that is to come.
pub type SightFuture = Pin<Box<dyn Future<Output = Sight> + Send>>;

/// Something that carries calls: the HTTP client, or the simulated API in the same process.
pub trait Transport: Send + Sync + 'static {
    /// Makes one attempt. Dropping the future abandons it.
    fn call(&self, call: Call) -> ReplyFuture;

    /// Asks an org about a model, at no cost. An API that cannot be asked shows nothing.
    fn look(&self, org: OrgId, model: &str) -> SightFuture {
        let _ = (org, model);
        Box::pin(std::future::ready(Sight::nothing()))
    }
}
