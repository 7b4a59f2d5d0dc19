//! Message Batches over HTTP, by the same client per org as single calls.
//!
//! Results are asked for at the org's own base URL, never at the `results_url` of the answer: a key goes to its org's
//! configured host only.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::stream;
use http::header::{CONTENT_LENGTH, HeaderMap, HeaderValue};
use reqwest::{Body, Method, Request, Response, Url};
use serde::de::DeserializeOwned;

use crate::api::body::{self, End};
use crate::api::http::{Endpoint, HttpTransport, MAX_ERROR_BODY, Shared, wall_now};
use crate::api::patience::within;
use crate::api::{error_body, failure, headers, reply};
use crate::model::{ApiError, OrgId, RetryAfter, Trouble, Verdict};

use super::upload::Upload;
use super::{
    Answer, BatchFailure, BatchPage, BatchReply, BatchTransport, CreateOutcome, CreateReply, MessageBatch, Sink,
};

/// The longest object or page that is taken: a page of a thousand batches has half a megabyte.
const MAX_OBJECT: usize = 16 << 20;
/// The longest time for an object, once it has begun.
const WHOLE_OBJECT: Duration = Duration::from_secs(120);
/// The longest wait for the first byte of an answer that needs no upload.
const FIRST_BYTE: Duration = Duration::from_secs(60);
/// The longest wait for the answer to a create, and what a mebibyte of its body adds to it: a slow line uploads as much in
/// that time. Giving up earlier would leave a batch behind whose creation is unknown.
const CREATE: Duration = Duration::from_secs(300);
const CREATE_PER_MIB: Duration = Duration::from_secs(5);

impl BatchTransport for HttpTransport {
    fn create(&self, org: OrgId, body: Upload) -> Answer<CreateReply> {
        let shared = Arc::clone(&self.shared);
        Box::pin(async move { shared.create(org, body).await })
    }

    fn retrieve(&self, org: OrgId, id: &str) -> Answer<BatchReply<MessageBatch>> {
        self.object(org, Method::GET, vec![id.to_owned()], &[])
    }

    fn list(&self, org: OrgId, after: Option<&str>, limit: u32) -> Answer<BatchReply<BatchPage>> {
        let mut query = vec![("limit", limit.to_string())];
        query.extend(after.map(|after| ("after_id", after.to_owned())));
        self.object(org, Method::GET, Vec::new(), &query)
    }

    fn cancel(&self, org: OrgId, id: &str) -> Answer<BatchReply<MessageBatch>> {
        self.object(org, Method::POST, vec![id.to_owned(), "cancel".to_owned()], &[])
    }

    fn results(&self, org: OrgId, id: &str, sink: Sink) -> Answer<BatchReply<u64>> {
        let shared = Arc::clone(&self.shared);
        let path = vec![id.to_owned(), "results".to_owned()];
        Box::pin(async move { shared.results(org, &path, sink).await })
    }
}

impl HttpTransport {
    /// A call whose answer is one object.
    fn object<T: DeserializeOwned + Send + 'static>(
        &self,
        org: OrgId,
        method: Method,
        path: Vec<String>,
        query: &[(&str, String)],
    ) -> Answer<BatchReply<T>> {
        let shared = Arc::clone(&self.shared);
        let query: Vec<(String, String)> = query.iter().map(|(k, v)| ((*k).to_owned(), v.clone())).collect();
        Box::pin(async move {
            let Some(endpoint) = shared.endpoints.get(org.ix()) else { return nothing(failure::unknown_org()) };
            let mut request = Request::new(method, endpoint.batches(&path, &query));
            request.headers_mut().clone_from(&endpoint.headers);
            if request.method() == Method::POST {
                request.headers_mut().insert(CONTENT_LENGTH, HeaderValue::from_static("0"));
            }
            match shared.send(endpoint, request, FIRST_BYTE).await {
                Ok(response) => shared.read_object(endpoint, response).await,
                Err(trouble) => nothing(trouble),
            }
        })
    }
}

impl Endpoint {
    /// `…/v1/messages/batches`, and what is under it.
    fn batches(&self, path: &[String], query: &[(String, String)]) -> Url {
        let mut url = self.url.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.push("batches").extend(path);
        }
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        url
    }
}

impl Shared {
    async fn send(
        &self,
        endpoint: &Endpoint,
        request: Request,
        limit: Duration,
    ) -> Result<Response, (Trouble, ApiError)> {
        match within(limit, endpoint.client.execute(request)).await {
            Ok(Ok(response)) => Ok(response),
            Ok(Err(error)) => Err(failure::of_client(error, &endpoint.host, &self.scrubber)),
            Err(_) => Err(failure::no_answer(limit, &endpoint.host)),
        }
    }

    async fn create(&self, org: OrgId, upload: Upload) -> CreateReply {
        let silent = |outcome| CreateReply { outcome, retry_after: RetryAfter::Absent, organization: None };
        let refused = |(trouble, error)| silent(CreateOutcome::Refused(BatchFailure::Trouble(trouble, error)));
        let Some(endpoint) = self.endpoints.get(org.ix()) else { return refused(failure::unknown_org()) };
        let (len, taken) = (upload.len(), upload.taken());
        let mut request = Request::new(Method::POST, endpoint.batches(&[], &[]));
        request.headers_mut().clone_from(&endpoint.headers);
        request.headers_mut().insert(CONTENT_LENGTH, HeaderValue::from(upload.len()));
        let limit = CREATE + CREATE_PER_MIB * u32::try_from(upload.len() >> 20).unwrap_or(u32::MAX);
        let blocks =
            stream::unfold(
                upload,
                |mut upload| async move { upload.next().await.transpose().map(|block| (block, upload)) },
            );
        *request.body_mut() = Some(Body::wrap_stream(blocks));
        match self.send(endpoint, request, limit).await {
            Ok(response) => {
                let reply = self.read_object(endpoint, response).await;
                CreateReply {
                    outcome: outcome_of_create(reply.result),
                    retry_after: reply.retry_after,
                    organization: reply.organization,
                }
            }
            // Nothing was connected, or the body never became whole: the API cannot have taken it.
            Err((Trouble::Connect, error)) => refused((Trouble::Connect, error)),
            Err((trouble, error)) if taken.load(Ordering::Acquire) < len => refused((trouble, error)),
            Err((_, error)) => silent(CreateOutcome::Unknown(error)),
        }
    }

    async fn read_object<T: DeserializeOwned>(&self, endpoint: &Endpoint, mut response: Response) -> BatchReply<T> {
        let status = response.status();
        let headers = std::mem::take(response.headers_mut());
        if !status.is_success() {
            return self.read_error(status, &headers, &mut response).await;
        }
        let limits = body::Limits { len: MAX_OBJECT, idle: self.wire.idle_timeout, whole: WHOLE_OBJECT };
        let (body, end) = body::collect(&mut response, limits).await;
        let result = match end {
            End::Whole => serde_json::from_slice(&body).map_err(|error| {
                let error = error_body::broken(status, &body, &error.to_string(), &self.scrubber);
                BatchFailure::Trouble(Trouble::Broken, error)
            }),
            end => {
                let (trouble, error) = ended_early(end, limits, &endpoint.host, self);
                Err(BatchFailure::Trouble(trouble, ApiError { status: Some(status.as_u16()), ..error }))
            }
        };
        self.reply(&headers, result)
    }

    async fn read_error<T>(
        &self,
        status: http::StatusCode,
        headers: &HeaderMap,
        response: &mut Response,
    ) -> BatchReply<T> {
        let limits = body::Limits { len: MAX_ERROR_BODY, idle: self.wire.idle_timeout, whole: WHOLE_OBJECT };
        let (body, _) = body::collect(response, limits).await;
        let not_found = status == http::StatusCode::NOT_FOUND;
        // A single call's errors and a batch's are the same; so is their meaning.
        let failure = match reply::read(status, headers, body, &self.scrubber, wall_now()).verdict {
            Verdict::Invalid(error) if not_found => BatchFailure::NotFound(error),
            Verdict::Invalid(error) => BatchFailure::Invalid(error),
            Verdict::Trouble(trouble, error) => BatchFailure::Trouble(trouble, error),
            Verdict::Answered { .. } => BatchFailure::Trouble(Trouble::Broken, ApiError::default()),
        };
        self.reply(headers, Err(failure))
    }

    fn reply<T>(&self, headers: &HeaderMap, result: Result<T, BatchFailure>) -> BatchReply<T> {
        let read = headers::read(headers, wall_now());
        BatchReply {
            result,
            retry_after: read.retry_after,
            organization: read.organization.map(|id| self.scrubber.scrub(id).into_owned()),
            at: read.made_at(),
        }
    }

    async fn results(&self, org: OrgId, path: &[String], mut sink: Sink) -> BatchReply<u64> {
        let Some(endpoint) = self.endpoints.get(org.ix()) else { return nothing(failure::unknown_org()) };
        let mut request = Request::new(Method::GET, endpoint.batches(path, &[]));
        request.headers_mut().clone_from(&endpoint.headers);
        let mut response = match self.send(endpoint, request, FIRST_BYTE).await {
            Ok(response) => response,
            Err(trouble) => return nothing(trouble),
        };
        let status = response.status();
        let headers = std::mem::take(response.headers_mut());
        if !status.is_success() {
            return self.read_error(status, &headers, &mut response).await;
        }
        let idle = self.wire.idle_timeout;
        let mut bytes = 0;
        let result = loop {
            match within(idle, response.chunk()).await {
                Ok(Ok(Some(chunk))) => {
                    bytes += chunk.len() as u64;
                    if let Err(error) = sink(&chunk) {
                        let kind = "disk".to_owned();
                        let error = ApiError { kind, message: error.to_string(), ..ApiError::default() };
                        break Err(BatchFailure::Trouble(Trouble::Broken, error));
                    }
                }
                Ok(Ok(None)) => break Ok(bytes),
                Ok(Err(error)) => {
                    let (trouble, error) = failure::of_client(error, &endpoint.host, &self.scrubber);
                    break Err(BatchFailure::Trouble(trouble, error));
                }
                Err(_) => {
                    let (trouble, error) = failure::silence(idle, &endpoint.host);
                    break Err(BatchFailure::Trouble(trouble, error));
                }
            }
        };
        self.reply(&headers, result)
    }
}

/// Whether a create has surely not happened. An answer that says so must have come from the API's front: a limit, an account,
/// a mistake in the request. A failure inside (5xx, 409, an unreadable success) may have come after the deed, and so may the
/// page of a gateway on the way, which knows nothing of what it had passed on; unless it only leads elsewhere.
fn outcome_of_create(result: Result<MessageBatch, BatchFailure>) -> CreateOutcome {
    match result {
        Ok(batch) => CreateOutcome::Created(Box::new(batch)),
        Err(BatchFailure::Trouble(trouble, error)) => match (trouble, error.status) {
            (Trouble::Account(_), Some(status)) if error_body::is_foreign(&error) && !(300..400).contains(&status) => {
                CreateOutcome::Unknown(error)
            }
            (Trouble::RateLimited(_) | Trouble::Account(_), _) => {
                CreateOutcome::Refused(BatchFailure::Trouble(trouble, error))
            }
            _ => CreateOutcome::Unknown(error),
        },
        Err(refused) => CreateOutcome::Refused(refused),
    }
}

fn ended_early(end: End<reqwest::Error>, limits: body::Limits, host: &str, shared: &Shared) -> (Trouble, ApiError) {
    match end {
        End::TooLong | End::Whole => failure::too_long(limits.len, host),
        End::Silence => failure::silence(limits.idle, host),
        End::TooSlow => failure::too_slow(limits.whole, host),
        End::Failed(error) => failure::of_client(error, host, &shared.scrubber),
    }
}

/// The reply when no header of an answer arrived.
fn nothing<T>((trouble, error): (Trouble, ApiError)) -> BatchReply<T> {
    BatchReply {
        result: Err(BatchFailure::Trouble(trouble, error)),
        retry_after: RetryAfter::Absent,
        organization: None,
        at: None,
    }
}

#[cfg(test)]
#[path = "http_tests.rs"]
mod tests;
