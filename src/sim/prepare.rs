//! What can be found out about a request without knowing anything but the request: its endpoint, whether its body is
//! valid, and the answer to it.
//!
//! This is nearly all of the work, and it is done outside of the lock of the shared core.

use memchr::memmem;

use super::answer::{self, Answer, Essence, Prefixes};
use super::batch::Draft;
use super::failure::Failure;
use super::models::Model;
use super::request::{Endpoint, SimRequest};
use super::validate::{self, ApiVersion, Rules};

/// The beta that lets batches answer at length.
const LONG_OUTPUT: &str = "output-300k-2026-03-24";

/// A request, thought through as far as the request alone allows.
#[derive(Debug)]
pub(super) struct Prepared<'a> {
    pub(super) endpoint: Result<Endpoint<'a>, Failure>,
    pub(super) version: Result<ApiVersion, Failure>,
    pub(super) work: Work,
}

/// What was made of a body.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "it is moved once; a box would be an allocation a request")]
pub(super) enum Work {
    /// There is none, or nobody wants it.
    None,
    Message {
        digest: [u8; 16],
        valid: Result<Ready, Failure>,
    },
    Count(Result<u64, Failure>),
    Create(Result<Draft, Failure>),
}

/// A valid Messages request.
#[derive(Debug)]
pub(super) struct Ready {
    pub(super) model: &'static Model,
    pub(super) answer: Answer,
    pub(super) prefixes: Option<Prefixes>,
    pub(super) streamed: bool,
}

/// Thinks a request through.
pub(super) fn prepare<'a>(request: &SimRequest<'a>) -> Prepared<'a> {
    let endpoint = request.endpoint();
    let version = request.version();
    let known = version.as_ref().copied().unwrap_or(ApiVersion::V2023);
    let fits = request.body.len() <= SimRequest::max_body(request.target);
    let work = match &endpoint {
        Ok(Endpoint::Messages) if fits => {
            let digest = answer::digest(request.body);
            Work::Message { digest, valid: message(request.body, known, digest) }
        }
        Ok(Endpoint::CountTokens) if fits => Work::Count(validate::count_tokens(request.body, known)),
        Ok(Endpoint::BatchCreate) if fits => {
            let rules = Rules { version: known, batch: true, long_output: request.has_beta(LONG_OUTPUT) };
            Work::Create(Draft::read(request.body, rules))
        }
        _ => Work::None,
    };
    Prepared { endpoint, version, work }
}

fn message(body: &[u8], version: ApiVersion, digest: [u8; 16]) -> Result<Ready, Failure> {
    let (request, model) = validate::messages(body, Rules { version, batch: false, long_output: false })?;
    let answer = answer::compose(&Essence::of(&request, model, digest));
    Ok(Ready { model, answer, prefixes: prefixes(body, &request, model), streamed: request["stream"] == true })
}

/// The prefixes that are marked for the cache. Most requests have none, and are not searched for any.
pub(super) fn prefixes(body: &[u8], request: &serde_json::Value, model: &Model) -> Option<Prefixes> {
    memmem::find(body, b"cache_control")?;
    Prefixes::of(request, model)
}
