//! From status, headers and body to a [`Reply`]: the one place where an answer gets its meaning.
//!
//! Pure, so that the HTTP client and the simulated API in the same process read answers by the same code. It runs once
//! per request: an answer of a kilobyte is read without copying it.

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, StatusCode};

use crate::model::{AccountTrouble, ApiError, Scrubber, Trouble, Verdict, Wall};

use super::classify::{self, Class, Evidence};
use super::error_body::{self, ErrorBody};
use super::headers::{self, AnswerHeaders, BodyType};
use super::stream::{self, Unfinished};
use super::transport::Reply;
use super::{json_line, message};

/// Reads one answer. `now` dates the resets of its headers when it carries no usable `date`.
///
/// Never fails: an answer that makes no sense is a [`Trouble`], and what the API may have billed says so.
pub fn read(status: StatusCode, headers: &HeaderMap, body: Bytes, scrubber: &Scrubber, now: Wall) -> Reply {
    let headers = headers::read(headers, now);
    let (verdict, body) = if status.is_success() && headers.body_type == BodyType::EventStream {
        read_stream(status, stream::assemble(&body), scrubber)
    } else if status.is_success() {
        read_success(status, headers.body_type, body, scrubber)
    } else {
        read_error(status, &body, scrubber)
    };
    reply(&headers, verdict, body, scrubber)
}

/// Reads an answer that came as a stream and was put together on the way.
pub(super) fn streamed(
    status: StatusCode,
    headers: &HeaderMap,
    message: Result<Bytes, Unfinished>,
    scrubber: &Scrubber,
    now: Wall,
) -> Reply {
    let (verdict, body) = read_stream(status, message, scrubber);
    reply(&headers::read(headers, now), verdict, body, scrubber)
}

/// Whether an answer comes as a stream.
pub(super) fn is_stream(status: StatusCode, headers: &HeaderMap) -> bool {
    status.is_success() && headers.get(CONTENT_TYPE).map(headers::body_type) == Some(BodyType::EventStream)
}

/// The reply to an answer of which the headers arrived and the body did not.
pub(super) fn cut_off(headers: &HeaderMap, trouble: Trouble, error: ApiError, scrubber: &Scrubber, now: Wall) -> Reply {
    reply(&headers::read(headers, now), Verdict::Trouble(trouble, error), Bytes::new(), scrubber)
}

/// The organisation that an answer's headers name.
pub(crate) fn organization(headers: &HeaderMap, scrubber: &Scrubber, now: Wall) -> Option<String> {
    headers::read(headers, now).organization.map(|id| scrubber.scrub(id).into_owned())
}

fn reply(headers: &AnswerHeaders<'_>, verdict: Verdict, body: Bytes, scrubber: &Scrubber) -> Reply {
    let own = |id: &str| scrubber.scrub(id).into_owned();
    Reply {
        verdict,
        limits: headers.limits,
        retry_after: headers.retry_after,
        request_id: headers.request_id.map(own),
        organization: headers.organization.map(own),
        body,
    }
}

/// An error in the middle of a stream means what it would have meant instead of an answer. The request is to be sent
/// again, unless the error says that it is the request's own.
fn read_stream(status: StatusCode, message: Result<Bytes, Unfinished>, scrubber: &Scrubber) -> (Verdict, Bytes) {
    match message {
        Ok(message) => read_success(status, BodyType::Other, message, scrubber),
        Err(Unfinished::Error(body)) => read_error(status, &body, scrubber),
        Err(Unfinished::Broken(why)) => {
            // An excerpt of a stream would show nothing but its beginning.
            let error = error_body::broken(status, b" ", &why, scrubber);
            (Verdict::Trouble(Trouble::Broken, error), Bytes::new())
        }
    }
}

fn read_success(status: StatusCode, body_type: BodyType, body: Bytes, scrubber: &Scrubber) -> (Verdict, Bytes) {
    let facts = match std::str::from_utf8(&body) {
        Ok(text) => message::facts(text).map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    };
    match facts {
        Ok(facts) => (Verdict::Answered { refused: facts.refused, usage: facts.usage }, json_line::fit(body, scrubber)),
        Err(why) => not_a_message(status, body_type, &body, &why, scrubber),
    }
}

/// A success that is not a Message: an error that came late, a page of a proxy, or an answer that was cut off.
fn not_a_message(
    status: StatusCode,
    body_type: BodyType,
    body: &[u8],
    why: &str,
    scrubber: &Scrubber,
) -> (Verdict, Bytes) {
    if error_body::parse(body).is_some() {
        return read_error(status, body, scrubber);
    }
    match body_type {
        BodyType::Html => trouble_without_shape(status, Trouble::Account(AccountTrouble::Endpoint), body, scrubber),
        BodyType::EventStream | BodyType::Other => {
            let error = error_body::broken(status, body, why, scrubber);
            (Verdict::Trouble(Trouble::Broken, error), Bytes::new())
        }
    }
}

fn read_error(status: StatusCode, body: &[u8], scrubber: &Scrubber) -> (Verdict, Bytes) {
    let parsed = error_body::parse(body);
    let class = classify::classify(&evidence(status, parsed.as_ref()));
    match (class, parsed) {
        (Class::Invalid, Some(parsed)) => {
            let error = error_body::described(status, &parsed, scrubber);
            (Verdict::Invalid(error), json_line::fit(Bytes::copy_from_slice(body), scrubber))
        }
        (Class::Invalid, None) => invalid_of_our_own(error_body::too_large(status, body, scrubber)),
        (Class::Trouble(trouble), Some(parsed)) => {
            (Verdict::Trouble(trouble, error_body::described(status, &parsed, scrubber)), Bytes::new())
        }
        (Class::Trouble(trouble), None) => trouble_without_shape(status, trouble, body, scrubber),
    }
}

fn invalid_of_our_own(error: ApiError) -> (Verdict, Bytes) {
    let line = error_body::line(&error);
    (Verdict::Invalid(error), line)
}

fn trouble_without_shape(status: StatusCode, trouble: Trouble, body: &[u8], scrubber: &Scrubber) -> (Verdict, Bytes) {
    (Verdict::Trouble(trouble, error_body::foreign(status, trouble, body, scrubber)), Bytes::new())
}

fn evidence(status: StatusCode, parsed: Option<&ErrorBody>) -> Evidence<'_> {
    Evidence {
        status: Some(status.as_u16()),
        kind: parsed.map(|error| error.kind.as_str()),
        code: parsed.and_then(|error| error.code.as_deref()),
        message: parsed.map_or("", |error| error.message.as_str()),
    }
}

#[cfg(test)]
#[path = "reply_tests.rs"]
mod tests;
