//! A request as it arrived, and what its head says.

use http::{HeaderMap, Method};

use super::failure::Failure;
use super::validate::ApiVersion;

/// Largest body of a Messages or count_tokens request, bytes. The edge refuses more before it looks at the key.
pub const MAX_BODY: usize = 32 * 1024 * 1024;

/// Largest body of a batch, bytes.
pub const MAX_BATCH_BODY: usize = 256 * 1024 * 1024;

/// The path of the batches.
const BATCHES: &str = "/v1/messages/batches";

/// A request as it arrived.
#[derive(Debug, Clone, Copy)]
pub struct SimRequest<'a> {
    /// Its method.
    pub method: &'a Method,
    /// Its path, with the query if there is one.
    pub target: &'a str,
    /// Its headers.
    pub headers: &'a HeaderMap,
    /// Its body. Of one longer than [`SimRequest::max_body`], anything longer than that will do.
    pub body: &'a [u8],
}

/// What a request is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Endpoint<'a> {
    Messages,
    CountTokens,
    Models { query: &'a str },
    Model { id: &'a str },
    BatchCreate,
    BatchList { query: &'a str },
    BatchRetrieve { id: &'a str },
    BatchCancel { id: &'a str },
    BatchDelete { id: &'a str },
    BatchResults { id: &'a str },
}

/// Kinds of requests, as faults and counters tell them apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Place {
    /// `POST /v1/messages`
    Messages,
    /// `POST /v1/messages/count_tokens`
    CountTokens,
    /// `GET /v1/models` and `GET /v1/models/{id}`
    Models,
    /// `POST /v1/messages/batches`
    BatchCreate,
    /// `GET /v1/messages/batches`
    BatchList,
    /// `GET /v1/messages/batches/{id}`
    BatchRetrieve,
    /// `POST /v1/messages/batches/{id}/cancel`
    BatchCancel,
    /// `DELETE /v1/messages/batches/{id}`
    BatchDelete,
    /// `GET /v1/messages/batches/{id}/results`
    BatchResults,
}

impl Place {
    /// All of them, in the order of their indexes.
    pub(super) const ALL: [Place; 9] = [
        Place::Messages,
        Place::CountTokens,
        Place::Models,
        Place::BatchCreate,
        Place::BatchList,
        Place::BatchRetrieve,
        Place::BatchCancel,
        Place::BatchDelete,
        Place::BatchResults,
    ];

    /// Those of batches.
    pub(super) const BATCHES: [Place; 6] = [
        Place::BatchCreate,
        Place::BatchList,
        Place::BatchRetrieve,
        Place::BatchCancel,
        Place::BatchDelete,
        Place::BatchResults,
    ];

    /// As an index into per-place arrays.
    pub(super) fn ix(self) -> usize {
        self as usize
    }
}

impl Endpoint<'_> {
    /// Its kind.
    pub(super) fn place(&self) -> Place {
        match self {
            Endpoint::Messages => Place::Messages,
            Endpoint::CountTokens => Place::CountTokens,
            Endpoint::Models { .. } | Endpoint::Model { .. } => Place::Models,
            Endpoint::BatchCreate => Place::BatchCreate,
            Endpoint::BatchList { .. } => Place::BatchList,
            Endpoint::BatchRetrieve { .. } => Place::BatchRetrieve,
            Endpoint::BatchCancel { .. } => Place::BatchCancel,
            Endpoint::BatchDelete { .. } => Place::BatchDelete,
            Endpoint::BatchResults { .. } => Place::BatchResults,
        }
    }

    /// Whether it takes a JSON body.
    pub(super) fn has_body(&self) -> bool {
        matches!(self, Endpoint::Messages | Endpoint::CountTokens | Endpoint::BatchCreate)
    }
}

impl<'a> SimRequest<'a> {
    /// A header that is text.
    pub(super) fn header(&self, name: &str) -> Option<&'a str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// Largest body that its path takes, bytes.
    pub fn max_body(target: &str) -> usize {
        if path_and_query(target).0 == BATCHES { MAX_BATCH_BODY } else { MAX_BODY }
    }

    /// The key that it carries, in either style.
    pub(super) fn key(&self) -> Result<&'a str, Failure> {
        let bearer = || {
            let (scheme, key) = self.header("authorization")?.split_once(' ')?;
            scheme.eq_ignore_ascii_case("bearer").then(|| key.trim())
        };
        self.header("x-api-key")
            .or_else(bearer)
            .filter(|key| !key.is_empty())
            .ok_or_else(|| Failure::unauthorized("x-api-key header is required"))
    }

    pub(super) fn version(&self) -> Result<ApiVersion, Failure> {
        match self.header("anthropic-version") {
            Some("2023-06-01") => Ok(ApiVersion::V2023),
            Some("2026-10-21") => Ok(ApiVersion::V2026),
            Some(other) => Err(Failure::invalid(format!("anthropic-version: \"{other}\" is not a valid version"))),
            None => Err(Failure::invalid("anthropic-version: header is required")),
        }
    }

    /// Whether a beta feature was asked for.
    pub(super) fn has_beta(&self, name: &str) -> bool {
        let values = self.headers.get_all("anthropic-beta").iter().filter_map(|value| value.to_str().ok());
        values.flat_map(|value| value.split(',')).any(|beta| beta.trim() == name)
    }

    /// Whether the body's type and encoding can be read.
    pub(super) fn check_content(&self) -> Result<(), Failure> {
        let essence = self.header("content-type").and_then(|value| value.split(';').next()).unwrap_or_default();
        if !essence.trim().eq_ignore_ascii_case("application/json") {
            return Err(Failure::invalid("content-type: must be application/json"));
        }
        match self.header("content-encoding") {
            None | Some("identity") => Ok(()),
            Some(other) => {
                let message = format!("content-encoding: {other} is not supported by this simulated API");
                Err(Failure::invalid(message).code("request_body_encoding_unsupported"))
            }
        }
    }

    /// What it is about.
    pub(super) fn endpoint(&self) -> Result<Endpoint<'a>, Failure> {
        let (path, query) = path_and_query(self.target);
        let method = |wanted: Method, endpoint: Endpoint<'a>| {
            (*self.method == wanted).then_some(endpoint).ok_or_else(method_not_allowed)
        };
        match path {
            "/v1/messages" => return method(Method::POST, Endpoint::Messages),
            "/v1/messages/count_tokens" => return method(Method::POST, Endpoint::CountTokens),
            "/v1/models" => return method(Method::GET, Endpoint::Models { query }),
            BATCHES if *self.method == Method::POST => return Ok(Endpoint::BatchCreate),
            BATCHES => return method(Method::GET, Endpoint::BatchList { query }),
            _ => {}
        }
        if let Some(id) = path.strip_prefix("/v1/models/").filter(|id| is_one_segment(id)) {
            return method(Method::GET, Endpoint::Model { id });
        }
        let below = path.strip_prefix(BATCHES).and_then(|rest| rest.strip_prefix('/'));
        let (id, action) = below.map(|rest| rest.split_once('/').unwrap_or((rest, ""))).unwrap_or_default();
        match action {
            _ if !is_one_segment(id) => Err(Failure::not_found("Not Found")),
            "" if *self.method == Method::DELETE => Ok(Endpoint::BatchDelete { id }),
            "" => method(Method::GET, Endpoint::BatchRetrieve { id }),
            "cancel" => method(Method::POST, Endpoint::BatchCancel { id }),
            "results" => method(Method::GET, Endpoint::BatchResults { id }),
            _ => Err(Failure::not_found("Not Found")),
        }
    }
}

fn path_and_query(target: &str) -> (&str, &str) {
    target.split_once('?').unwrap_or((target, ""))
}

fn is_one_segment(id: &str) -> bool {
    !id.is_empty() && !id.contains('/')
}

fn method_not_allowed() -> Failure {
    Failure::new(http::StatusCode::METHOD_NOT_ALLOWED, "invalid_request_error", "Method Not Allowed")
}
