//! The Messages API over HTTP.
//!
//! One client per org, so that each has its own pool of kept-alive connections and its key goes to its host only.
//! Everything about a request that does not change from call to call is built once: its URL and its headers. Nothing is
//! retried here, and no redirect is followed. (Beneath, hyper dials again when a kept connection turns out to be closed
//! before a byte of the request was written; such a request never left.)

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use http::StatusCode;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Certificate, Client, Method, Request, Response, Url};
use tokio::time::timeout;

use crate::model::{ApiError, OrgId, OrgSpec, Scrubber, Trouble, Wall, WireSettings};

use super::body::{self, End};
use super::look::{self, Finding, Sight};
use super::patience::within;
use super::stream::{self, Assembler};
use super::transport::{Call, Reply, ReplyFuture, SightFuture, Transport};
use super::{base_url, failure, headers, reply};

/// What is kept of an error's body; the rest is dropped with its connection.
pub(super) const MAX_ERROR_BODY: usize = 64 * 1024;
/// The longest list of models that is read.
const MAX_LIST: usize = 4 * 1024 * 1024;
/// The longest answer that is taken: many times what 128,000 tokens can come to.
const MAX_ANSWER: usize = 64 * 1024 * 1024;
/// The longest time for a body, once it has begun: as long as the official SDKs wait for a whole answer.
const WHOLE_BODY: Duration = Duration::from_secs(600);
/// The longest time for a look at an org.
const LOOK: Duration = Duration::from_secs(5);
/// The longest stream that is taken: its events are some ten times as long as what they carry.
const MAX_STREAM: usize = 512 * 1024 * 1024;
/// Tokens a second that a stream makes at the least: 128,000 an hour, as the official SDKs reckon.
const SLOWEST_STREAM: f64 = 128_000.0 / 3_600.0;
/// How long a connection waits for its next request: less than the minute after which common load balancers drop it, so
/// that hardly any request is written into a connection that is being closed.
const POOL_IDLE: Duration = Duration::from_secs(50);
/// A connection that waits minutes for an answer is kept alive in the eyes of the network between.
const TCP_KEEPALIVE: Duration = Duration::from_secs(30);

/// Why there is no client.
#[derive(Debug, thiserror::Error)]
pub enum WireError {
    /// The file of private certificates cannot be used.
    #[error("failed to load certificates from {path} (wire.ca-file): {reason}", path = path.display())]
    Ca {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A base URL cannot be used.
    #[error("failed to use base-url `{value}` of org {org}: not an http or https URL")]
    BadBaseUrl {
        /// The org's label.
        org: String,
        /// The URL, without key material.
        value: String,
    },
    /// A header cannot be made. Its value is not told: it may be a key.
    #[error("failed to make the header {header} of org {org}: its value holds characters that no header can carry")]
    BadHeader {
        /// The org's label.
        org: String,
        /// The header's name.
        header: String,
    },
    /// The HTTP client cannot be built.
    #[error("failed to set up the HTTP client of org {org}: {reason}")]
    Client {
        /// The org's label.
        org: String,
        /// What is wrong.
        reason: String,
    },
}

/// The transport over HTTP.
#[derive(Debug)]
pub struct HttpTransport {
    pub(super) shared: Arc<Shared>,
}

#[derive(Debug)]
pub(super) struct Shared {
    pub(super) endpoints: Vec<Endpoint>,
    pub(super) wire: WireSettings,
    pub(super) scrubber: Scrubber,
}

/// What does not change from call to call.
#[derive(Debug)]
pub(super) struct Endpoint {
    pub(super) client: Client,
    base: String,
    pub(super) url: Url,
    pub(super) host: String,
    pub(super) headers: HeaderMap,
}

impl HttpTransport {
    /// A client for these orgs, whose [`OrgId`]s are their positions.
    ///
    /// # Errors
    /// The certificates, a base URL or a key cannot be used.
    pub fn new(orgs: &[OrgSpec], wire: &WireSettings, scrubber: Scrubber) -> Result<HttpTransport, WireError> {
        // Fails when there is a provider already, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let certificates = private_certificates(wire)?;
        let endpoints = orgs
            .iter()
            .map(|org| Endpoint::new(org, wire, &certificates, &scrubber))
            .collect::<Result<Vec<Endpoint>, WireError>>()?;
        Ok(HttpTransport { shared: Arc::new(Shared { endpoints, wire: wire.clone(), scrubber }) })
    }
}

impl Transport for HttpTransport {
    fn call(&self, call: Call) -> ReplyFuture {
        let shared = Arc::clone(&self.shared);
        Box::pin(async move { shared.exchange(call).await })
    }

    fn look(&self, org: OrgId, model: &str) -> SightFuture {
        let (shared, model) = (Arc::clone(&self.shared), model.to_owned());
        Box::pin(async move { shared.look(org, &model).await })
    }
}

fn private_certificates(wire: &WireSettings) -> Result<Vec<Certificate>, WireError> {
    let Some(path) = &wire.ca_file else { return Ok(Vec::new()) };
    let fail = |reason: String| WireError::Ca { path: path.clone(), reason };
    let pem = std::fs::read(path).map_err(|error| fail(error.to_string()))?;
    let certificates = Certificate::from_pem_bundle(&pem).map_err(|error| fail(failure::chain(&error)))?;
    if certificates.is_empty() {
        return Err(fail("there is no PEM certificate in it".to_owned()));
    }
    Ok(certificates)
}

impl Endpoint {
    fn new(
        org: &OrgSpec,
        wire: &WireSettings,
        certificates: &[Certificate],
        scrubber: &Scrubber,
    ) -> Result<Endpoint, WireError> {
        let url = base_url::messages(&org.base_url).ok_or_else(|| WireError::BadBaseUrl {
            org: org.label.clone(),
            value: scrubber.scrub(&org.base_url).into_owned(),
        })?;
        let client = client(&url, wire, certificates)
            .map_err(|error| WireError::Client { org: org.label.clone(), reason: failure::chain(&error) })?;
        let host = url.host_str().unwrap_or_default().to_owned();
        Ok(Endpoint { client, base: org.base_url.clone(), url, host, headers: request_headers(org, wire)? })
    }

    fn request(&self, call: Call) -> Request {
        let mut request = Request::new(Method::POST, self.url.clone());
        *request.headers_mut() = self.headers.clone();
        if call.max_tokens > stream::STREAM_ABOVE {
            request.headers_mut().insert(ACCEPT, HeaderValue::from_static("text/event-stream, application/json"));
        }
        *request.body_mut() = Some(stream::body(call.body, call.max_tokens).into());
        request
    }
}

fn client(url: &Url, wire: &WireSettings, certificates: &[Certificate]) -> reqwest::Result<Client> {
    let builder = Client::builder()
        .user_agent(concat!("fandeck/", env!("CARGO_PKG_VERSION")))
        .retry(reqwest::retry::never())
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(wire.connect_timeout)
        .pool_idle_timeout(POOL_IDLE)
        .pool_max_idle_per_host(usize::MAX)
        .tcp_nodelay(true)
        .tcp_keepalive(TCP_KEEPALIVE);
    let builder = if !base_url::is_loopback(url) {
        builder.tls_certs_merge(certificates.iter().cloned())
    } else if url.scheme() == "https" {
        builder.no_proxy().tls_certs_merge(certificates.iter().cloned())
    } else {
        // There is no TLS to this host: it must also work on a machine without system certificates.
        builder.no_proxy().tls_certs_only([])
    };
    builder.build()
}

fn request_headers(org: &OrgSpec, wire: &WireSettings) -> Result<HeaderMap, WireError> {
    let value = |name: &HeaderName, text: &str| {
        HeaderValue::from_str(text)
            .map_err(|_| WireError::BadHeader { org: org.label.clone(), header: name.to_string() })
    };
    let (key_header, key_text) = match wire.bearer {
        true => (AUTHORIZATION, format!("Bearer {}", org.key.expose())),
        false => (HeaderName::from_static("x-api-key"), org.key.expose().to_owned()),
    };
    let mut key = value(&key_header, &key_text)?;
    key.set_sensitive(true);
    let mut headers = HeaderMap::with_capacity(8);
    headers.insert(key_header, key);
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
    let version = HeaderName::from_static("anthropic-version");
    headers.insert(version.clone(), value(&version, &wire.version)?);
    if !wire.betas.is_empty() {
        let betas = HeaderName::from_static("anthropic-beta");
        headers.insert(betas.clone(), value(&betas, &wire.betas.join(","))?);
    }
    Ok(headers)
}

impl Shared {
    async fn exchange(&self, call: Call) -> Reply {
        let Some(endpoint) = self.endpoints.get(call.org.ix()) else { return unanswered(failure::unknown_org()) };
        let max_tokens = call.max_tokens;
        let limit = self.wire.first_byte(max_tokens);
        match within(limit, endpoint.client.execute(endpoint.request(call))).await {
            Ok(Ok(mut response)) => {
                let headers = std::mem::take(response.headers_mut());
                match reply::is_stream(response.status(), &headers) {
                    true => self.read_stream(endpoint, headers, response, max_tokens).await,
                    false => self.read(endpoint, headers, response).await,
                }
            }
            Ok(Err(error)) => unanswered(failure::of_client(error, &endpoint.host, &self.scrubber)),
            Err(_) => unanswered(failure::no_answer(limit, &endpoint.host)),
        }
    }

    async fn look(&self, org: OrgId, model: &str) -> Sight {
        let Some(endpoint) = self.endpoints.get(org.ix()) else { return Sight::nothing() };
        timeout(LOOK, self.ask(endpoint, model)).await.unwrap_or_else(|_| Sight::nothing())
    }

    async fn ask(&self, endpoint: &Endpoint, model: &str) -> Sight {
        let Some((status, headers, body)) = self.get(endpoint, &look::model_target(model)).await else {
            return Sight::nothing();
        };
        let now = wall_now();
        let (organization, at) =
            (reply::organization(&headers, &self.scrubber, now), headers::read(&headers, now).made_at());
        let finding = match look::of_model(status, &body, &self.scrubber) {
            Some(finding) => finding,
            None => match self.get(endpoint, &look::list_target()).await {
                Some((status, _, body)) => look::of_list(status, &body, model),
                None => Finding::Untold,
            },
        };
        Sight { organization, at, finding }
    }

    /// A question that costs nothing; `None` when it was not answered.
    async fn get(&self, endpoint: &Endpoint, target: &str) -> Option<(StatusCode, HeaderMap, bytes::Bytes)> {
        let mut request = Request::new(Method::GET, base_url::target(&endpoint.base, target)?);
        *request.headers_mut() = endpoint.headers.clone();
        request.headers_mut().remove(CONTENT_TYPE);
        let mut response = endpoint.client.execute(request).await.ok()?;
        let (status, headers) = (response.status(), std::mem::take(response.headers_mut()));
        let limits = body::Limits { len: MAX_LIST, idle: self.wire.idle_timeout, whole: LOOK };
        match body::collect(&mut response, limits).await {
            (body, End::Whole) => Some((status, headers, body)),
            _ => None,
        }
    }

    /// Puts an answer together while it comes, so that no more of it is held than the Message itself.
    async fn read_stream(
        &self,
        endpoint: &Endpoint,
        headers: HeaderMap,
        mut response: Response,
        max_tokens: u32,
    ) -> Reply {
        let status = response.status();
        let whole = WHOLE_BODY + Duration::from_secs_f64(f64::from(max_tokens) / SLOWEST_STREAM);
        let limits = body::Limits { len: MAX_STREAM, idle: self.wire.idle_timeout, whole };
        let mut assembler = Assembler::default();
        let end =
            body::each(&mut response, limits, |chunk| assembler.feed(chunk) || assembler.pending() > MAX_ANSWER).await;
        let now = wall_now();
        let (trouble, error) = match end {
            End::Whole => return reply::streamed(status, &headers, assembler.finish(), &self.scrubber, now),
            End::TooLong => failure::too_long(limits.len, &endpoint.host),
            End::Silence => failure::silence(limits.idle, &endpoint.host),
            End::TooSlow => failure::too_slow(limits.whole, &endpoint.host),
            End::Failed(error) => failure::of_client(error, &endpoint.host, &self.scrubber),
        };
        reply::cut_off(&headers, trouble, ApiError { status: Some(status.as_u16()), ..error }, &self.scrubber, now)
    }

    async fn read(&self, endpoint: &Endpoint, headers: HeaderMap, mut response: Response) -> Reply {
        let status = response.status();
        let len = if status.is_success() { MAX_ANSWER } else { MAX_ERROR_BODY };
        let limits = body::Limits { len, idle: self.wire.idle_timeout, whole: WHOLE_BODY };
        let (body, end) = body::collect(&mut response, limits).await;
        let now = wall_now();
        let (trouble, error) = match end {
            End::Whole => return reply::read(status, &headers, body, &self.scrubber, now),
            // An error is an error by its status, however much of its body came.
            _ if !status.is_success() => return reply::read(status, &headers, body, &self.scrubber, now),
            End::TooLong => failure::too_long(len, &endpoint.host),
            End::Silence => failure::silence(limits.idle, &endpoint.host),
            End::TooSlow => failure::too_slow(limits.whole, &endpoint.host),
            End::Failed(error) => failure::of_client(error, &endpoint.host, &self.scrubber),
        };
        reply::cut_off(&headers, trouble, ApiError { status: Some(status.as_u16()), ..error }, &self.scrubber, now)
    }
}

/// The reply when no header of an answer arrived.
fn unanswered((trouble, error): (Trouble, ApiError)) -> Reply {
    Reply::unanswered(trouble, error)
}

pub(super) fn wall_now() -> Wall {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Wall(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

#[cfg(test)]
#[path = "http_tests.rs"]
mod tests;
