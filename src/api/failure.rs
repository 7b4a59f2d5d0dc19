//! Attempts that brought no answer, in words: what happened, and what it means for the request and its bill.

use std::error::Error;
use std::io;
use std::time::Duration;

use crate::model::{ApiError, Scrubber, Trouble};

use super::error_body::printable;

/// Characters of a message that are kept.
const MESSAGE_CHARS: usize = 300;

/// What the client's error means: without a connection nothing was charged, after that anything may have been.
pub(super) fn of_client(error: reqwest::Error, host: &str, scrubber: &Scrubber) -> (Trouble, ApiError) {
    let error = error.without_url();
    let words = scrubber.scrub(&mask_user_info(&chain(&error))).into_owned();
    if error.is_connect() || error.is_builder() {
        let hint = match is_certificate_trouble(&error) {
            true => "; when the host's certificate comes from a private authority, name its file in wire.ca-file",
            false => "",
        };
        (Trouble::Connect, api_error("connection", &format!("no connection to {host}: {words}{hint}")))
    } else if error.is_timeout() {
        (Trouble::Timeout, api_error("timeout", &format!("the connection to {host} timed out: {words}")))
    } else {
        (Trouble::Broken, api_error("connection", &format!("the connection to {host} broke: {words}")))
    }
}

/// No header of an answer within the limit.
pub(super) fn no_answer(limit: Duration, host: &str) -> (Trouble, ApiError) {
    let waited = humantime::format_duration(limit);
    (Trouble::Timeout, api_error("timeout", &format!("no answer from {host} within {waited}")))
}

/// Silence in the middle of a body.
pub(super) fn silence(limit: Duration, host: &str) -> (Trouble, ApiError) {
    let waited = humantime::format_duration(limit);
    (Trouble::Timeout, api_error("timeout", &format!("{host} fell silent for {waited} in the middle of an answer")))
}

/// A body that comes, but does not come to an end.
pub(super) fn too_slow(limit: Duration, host: &str) -> (Trouble, ApiError) {
    let waited = humantime::format_duration(limit);
    (Trouble::Timeout, api_error("timeout", &format!("an answer of {host} was not whole after {waited}")))
}

/// An answer that nobody can have asked for.
pub(super) fn too_long(limit: usize, host: &str) -> (Trouble, ApiError) {
    let mib = limit / (1024 * 1024);
    (Trouble::Broken, api_error("broken-answer", &format!("an answer of {host} is longer than {mib} MiB")))
}

/// A call to an org that this client was not built for.
pub(super) fn unknown_org() -> (Trouble, ApiError) {
    (Trouble::Connect, api_error("connection", "the client has no such org"))
}

fn api_error(kind: &str, message: &str) -> ApiError {
    ApiError { status: None, kind: kind.to_owned(), message: printable(message, MESSAGE_CHARS), code: None }
}

/// An error and its sources on one line, outermost first, without the layers that only say that something failed and
/// without those that their source repeats.
pub(super) fn chain(error: &(dyn Error + 'static)) -> String {
    let texts: Vec<String> =
        std::iter::successors(Some(error), |&error| error.source()).map(ToString::to_string).collect();
    let says_something = |text: &str| {
        !text.is_empty() && !text.starts_with("client error") && !text.starts_with("error sending request")
    };
    let mut out: Vec<&str> = Vec::new();
    for (at, text) in texts.iter().enumerate() {
        let repeated = texts.iter().skip(at + 1).any(|later| later == text);
        let contained = out.last().is_some_and(|last| last.contains(text.as_str()));
        if !repeated && !contained && (says_something(text) || at + 1 == texts.len()) {
            out.push(text);
        }
    }
    out.join(": ")
}

/// Whether a certificate was not accepted. An `io::Error` hides what it wraps from `source`.
fn is_certificate_trouble(error: &(dyn Error + 'static)) -> bool {
    let mut at = Some(error);
    while let Some(error) = at {
        if let Some(rustls::Error::InvalidCertificate(_)) = error.downcast_ref::<rustls::Error>() {
            return true;
        }
        at = match error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
            Some(wrapped) => Some(wrapped),
            None => error.source(),
        };
    }
    false
}

/// `//user:password@host` becomes `//host`: a proxy's URL may stand in an error.
fn mask_user_info(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("//") {
        let (before, after) = rest.split_at(at + 2);
        out.push_str(before);
        let end = after.find(|c: char| c == '/' || c.is_whitespace()).unwrap_or(after.len());
        let user_info = after.get(..end).and_then(|authority| authority.rfind('@'));
        rest = user_info.and_then(|at| after.get(at + 1..)).unwrap_or(after);
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("{0}")]
    struct Layer(&'static str, #[source] Option<Box<dyn Error>>);

    fn layers(texts: &[&'static str]) -> Layer {
        let (first, rest) = texts.split_first().unwrap();
        Layer(first, (!rest.is_empty()).then(|| Box::new(layers(rest)) as Box<dyn Error>))
    }

    #[test]
    fn sources_are_told_on_one_line_without_repeating_themselves() {
        for (texts, expected) in [
            (
                &["error sending request", "client error (Connect)", "tcp connect error", "refused (os error 111)"][..],
                "tcp connect error: refused (os error 111)",
            ),
            (&["a: b", "b"], "a: b"),
            (&["same", "same"], "same"),
            (&["error sending request"], "error sending request"),
        ] {
            assert_eq!(chain(&layers(texts)), expected);
        }
    }

    #[test]
    fn a_certificate_error_is_found_under_an_io_error() {
        let tls = rustls::Error::InvalidCertificate(rustls::CertificateError::UnknownIssuer);
        assert!(is_certificate_trouble(&io::Error::new(io::ErrorKind::InvalidData, io::Error::other(tls))));
        assert!(!is_certificate_trouble(&io::Error::other("other")));
    }

    #[test]
    fn user_names_and_passwords_of_urls_are_left_out() {
        assert_eq!(
            mask_user_info("proxy http://me:pw@proxy:3128/x and https://host/a@b // c@d"),
            "proxy http://proxy:3128/x and https://host/a@b // c@d"
        );
    }
}
