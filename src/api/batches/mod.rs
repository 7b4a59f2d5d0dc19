//! Message Batches on the wire: create, retrieve, list, cancel, results.
//!
//! ```text
//!   BatchTransport ──► http ──► status, headers, body ──► object    a MessageBatch, tolerantly read
//!                       │                              └► row       one line of the results
//!                       └ upload   a body of hundreds of megabytes, made while it is sent
//! ```
//!
//! As with single calls, nothing is retried here. A create has a third outcome besides done and refused: *unknown*, when
//! the request may have arrived and no answer came back. The API has no idempotency key, so that only a refusal permits
//! to send it again.

mod http;
mod object;
mod row;
mod upload;

use std::future::Future;
use std::io;
use std::pin::Pin;

use crate::model::{ApiError, OrgId, RetryAfter, Trouble, Wall};

pub use object::{BatchCounts, BatchPage, MessageBatch, ProcessingStatus};
pub use row::{BadRow, ResultRow, read_row};
pub use upload::{Feeder, Upload, upload};

/// What an endpoint of batches answered.
#[derive(Debug, Clone)]
pub struct BatchReply<T> {
    /// The answer, or why there is none.
    pub result: Result<T, BatchFailure>,
    /// The `retry-after` header: also a hint at answers to polls.
    pub retry_after: RetryAfter,
    /// The `anthropic-organization-id` header.
    pub organization: Option<String>,
    /// The `date` header: when it was, by the API's clock.
    pub at: Option<Wall>,
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BatchFailure {
    /// 404: unknown, not visible yet, or without results.
    NotFound(ApiError),
    /// The API calls the request wrong.
    Invalid(ApiError),
    /// Something that may pass.
    Trouble(Trouble, ApiError),
}

impl BatchFailure {
    /// The error in the API's words.
    pub fn error(&self) -> &ApiError {
        match self {
            BatchFailure::NotFound(error) | BatchFailure::Invalid(error) | BatchFailure::Trouble(_, error) => error,
        }
    }
}

/// What came of a create.
#[derive(Debug, Clone)]
pub enum CreateOutcome {
    /// It exists.
    Created(Box<MessageBatch>),
    /// It surely does not.
    Refused(BatchFailure),
    /// It may.
    Unknown(ApiError),
}

/// What a create answered.
#[derive(Debug, Clone)]
pub struct CreateReply {
    /// What came of it.
    pub outcome: CreateOutcome,
    /// The `retry-after` header.
    pub retry_after: RetryAfter,
    /// The `anthropic-organization-id` header.
    pub organization: Option<String>,
}

/// Where the bytes of results go, in order. An error ends the download.
pub type Sink = Box<dyn FnMut(&[u8]) -> io::Result<()> + Send>;

/// An answer that is to come. Dropping it abandons the call.
pub type Answer<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Something that carries the calls of batches. Each goes out once, with that org's key and to its host only.
pub trait BatchTransport: Send + Sync + 'static {
    /// Creates a batch from a body that is made while it is sent.
    fn create(&self, org: OrgId, body: Upload) -> Answer<CreateReply>;

    /// Asks how a batch is.
    fn retrieve(&self, org: OrgId, id: &str) -> Answer<BatchReply<MessageBatch>>;

    /// One page of the org's batches, newest first; `after` is the last id of the page before.
    fn list(&self, org: OrgId, after: Option<&str>, limit: u32) -> Answer<BatchReply<BatchPage>>;

    /// Cancels a batch; again does no harm.
    fn cancel(&self, org: OrgId, id: &str) -> Answer<BatchReply<MessageBatch>>;

    /// Downloads the results; gives how many bytes there were.
    fn results(&self, org: OrgId, id: &str, sink: Sink) -> Answer<BatchReply<u64>>;
}
