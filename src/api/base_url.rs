//! Where requests go: what a base URL may be, and the endpoint under it.

use std::net::IpAddr;

use reqwest::Url;

/// Why a base URL is refused, in words that complete "must be".
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BaseUrlError {
    /// Not a URL with a host.
    #[error("an http or https URL with a host, such as https://api.anthropic.com")]
    NotAUrl,
    /// It holds a user name or a password.
    #[error("without user name and password: the key goes in a header of its own")]
    Credentials,
    /// It holds a query or a fragment.
    #[error("without a query and a fragment")]
    Query,
    /// It ends in the part that is appended to it.
    #[error("without /v1, which is appended to it")]
    Version,
    /// Plain http to another machine.
    #[error(
        "https, or a loopback host: over plain http the key travels in clear text (allow-insecure-http = true in [[orgs]] overrides this)"
    )]
    ClearText,
}

/// Checks a base URL and returns it without a trailing slash. Plain http is for loopback hosts, unless it is allowed.
///
/// # Errors
/// What the URL must be.
pub fn check(text: &str, allow_insecure_http: bool) -> Result<String, BaseUrlError> {
    let url = parse(text).ok_or(BaseUrlError::NotAUrl)?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err(BaseUrlError::Credentials);
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(BaseUrlError::Query);
    }
    if url.path().trim_end_matches('/').ends_with("/v1") {
        return Err(BaseUrlError::Version);
    }
    if url.scheme() == "http" && !is_loopback(&url) && !allow_insecure_http {
        return Err(BaseUrlError::ClearText);
    }
    Ok(url.as_str().trim_end_matches('/').to_owned())
}

/// Whether a base URL is of an API on this machine: a simulated one, or a proxy.
pub fn is_local(base: &str) -> bool {
    parse(base).is_some_and(|url| is_loopback(&url))
}

/// The Messages endpoint under a base URL; `None` when it is not an http or https URL.
pub(super) fn messages(base: &str) -> Option<Url> {
    parse(&format!("{}/v1/messages", base.trim().trim_end_matches('/')))
}

/// Another target under a base URL.
pub(super) fn target(base: &str, target: &str) -> Option<Url> {
    parse(&format!("{}{target}", base.trim().trim_end_matches('/')))
}

/// Whether a host is this machine: its traffic leaves through no proxy and crosses no network.
pub(super) fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let ip = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    match ip {
        Ok(ip) => ip.to_canonical().is_loopback(),
        Err(_) => host == "localhost" || host.ends_with(".localhost"),
    }
}

fn parse(text: &str) -> Option<Url> {
    let url = Url::parse(text.trim()).ok()?;
    (matches!(url.scheme(), "http" | "https") && url.has_host()).then_some(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_url_is_taken_without_its_trailing_slash_or_refused_with_a_reason() {
        for (text, expected) in [
            ("https://api.anthropic.com", Ok("https://api.anthropic.com")),
            (" https://api.anthropic.com/ ", Ok("https://api.anthropic.com")),
            ("https://gate.example/anthropic//", Ok("https://gate.example/anthropic")),
            ("http://127.0.0.1:8080", Ok("http://127.0.0.1:8080")),
            ("http://[::1]:8080/", Ok("http://[::1]:8080")),
            ("http://localhost:1", Ok("http://localhost:1")),
            ("http://10.0.0.7", Err(BaseUrlError::ClearText)),
            ("http://localhost.example.com", Err(BaseUrlError::ClearText)),
            ("https://me:secret@host", Err(BaseUrlError::Credentials)),
            ("https://host/?a=b", Err(BaseUrlError::Query)),
            ("https://host/v1/", Err(BaseUrlError::Version)),
            ("api.anthropic.com", Err(BaseUrlError::NotAUrl)),
            ("ftp://host", Err(BaseUrlError::NotAUrl)),
            ("https://", Err(BaseUrlError::NotAUrl)),
            ("", Err(BaseUrlError::NotAUrl)),
        ] {
            assert_eq!(check(text, false).as_deref(), expected.as_ref().map(|url| *url), "{text}");
        }
        assert_eq!(check("http://10.0.0.7/", true).as_deref(), Ok("http://10.0.0.7"));
    }

    #[test]
    fn the_endpoint_is_under_the_base_and_its_path() {
        let url = |base| messages(base).map(|url| url.to_string());
        assert_eq!(url("https://host").as_deref(), Some("https://host/v1/messages"));
        assert_eq!(url("https://host/a/").as_deref(), Some("https://host/a/v1/messages"));
        assert_eq!(url("host"), None);
    }
}
