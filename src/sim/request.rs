//! A request as it arrived, and what its head says.

use http::{HeaderMap, Method};

use super::failure::Failure;
use super::validate::ApiVersion;

/// Largest body of a Messages request, bytes. The edge refuses more before it looks at the key.
pub const MAX_BODY: usize = 32 * 1024 * 1024;

/// A request as it arrived.
#[derive(Debug, Clone, Copy)]
pub struct SimRequest<'a> {
    /// Its method.
    pub method: &'a Method,
    /// Its path, with the query if there is one.
    pub target: &'a str,
    /// Its headers.
    pub headers: &'a HeaderMap,
    /// Its body. Of one longer than [`MAX_BODY`], anything longer than that will do.
    pub body: &'a [u8],
}

/// What a request is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Endpoint<'a> {
    Messages,
    Models { query: &'a str },
    Model { id: &'a str },
}

impl<'a> SimRequest<'a> {
    fn header(&self, name: &str) -> Option<&'a str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
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
        let (path, query) = self.target.split_once('?').unwrap_or((self.target, ""));
        let endpoint = match path {
            "/v1/messages" => Endpoint::Messages,
            "/v1/models" => Endpoint::Models { query },
            _ => match path.strip_prefix("/v1/models/") {
                Some(id) if !id.is_empty() && !id.contains('/') => Endpoint::Model { id },
                _ => return Err(Failure::not_found("Not Found")),
            },
        };
        let wanted = if endpoint == Endpoint::Messages { Method::POST } else { Method::GET };
        if *self.method != wanted {
            return Err(Failure::new(
                http::StatusCode::METHOD_NOT_ALLOWED,
                "invalid_request_error",
                "Method Not Allowed",
            ));
        }
        Ok(endpoint)
    }
}
