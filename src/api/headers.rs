//! Headers of an answer as typed values: the rate-limit triples, `retry-after`, ids.
//!
//! One pass over the headers, because a look-up of each of the seventeen names costs more than the comparison of all
//! of them. Times become spans against the answer's own `date`, so that a local clock that is off does no harm; `now`
//! stands in when there is none. What makes no sense is as good as absent: these headers are advice.

use std::time::{Duration, UNIX_EPOCH};

use http::{HeaderMap, HeaderValue};

use crate::model::{Bucket, RateLimits, RetryAfter, Wall};

/// The longest wait that a header can ask for: a year. Whoever asks for more means "never", and a sum of longer spans
/// with times could overflow.
pub(super) const LONGEST: Duration = Duration::from_secs(366 * 86_400);

/// Ids longer than this are not ids.
const MAX_ID_LEN: usize = 128;

/// What the body claims to be, as far as it makes a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum BodyType {
    /// `text/html`.
    Html,
    /// `text/event-stream`.
    EventStream,
    /// JSON, or anything else.
    #[default]
    Other,
}

/// The headers that matter.
#[derive(Debug, Default)]
pub(super) struct AnswerHeaders<'h> {
    pub(super) limits: RateLimits,
    pub(super) retry_after: RetryAfter,
    pub(super) request_id: Option<&'h str>,
    pub(super) organization: Option<&'h str>,
    pub(super) body_type: BodyType,
    date: Option<&'h HeaderValue>,
}

impl AnswerHeaders<'_> {
    /// When the answer was made, by its `date`: the server's own clock.
    pub(super) fn made_at(&self) -> Option<Wall> {
        http_date_secs(self.date?.to_str().ok()?).map(|secs| Wall((secs * 1_000.0) as i64))
    }
}

/// Reads the headers of an answer that arrived at `now`.
pub(super) fn read(headers: &HeaderMap, now: Wall) -> AnswerHeaders<'_> {
    let mut raw = Raw::default();
    for (name, value) in headers {
        raw.take(name.as_str(), value);
    }
    let mut clock = Clock { date: raw.date, now, read: None };
    AnswerHeaders {
        limits: RateLimits {
            requests: raw.requests.bucket(&mut clock),
            input_tokens: raw.input_tokens.bucket(&mut clock),
            output_tokens: raw.output_tokens.bucket(&mut clock),
            tokens: raw.tokens.bucket(&mut clock),
        },
        retry_after: retry_after(raw.retry_after_ms, &raw.retry_after, &mut clock),
        request_id: raw.request_id.and_then(id),
        organization: raw.organization.and_then(id),
        body_type: raw.content_type.map_or(BodyType::Other, body_type),
        date: raw.date,
    }
}

/// Header values before they are understood. The first of several of one name counts.
#[derive(Default)]
struct Raw<'h> {
    requests: Triple<'h>,
    input_tokens: Triple<'h>,
    output_tokens: Triple<'h>,
    tokens: Triple<'h>,
    retry_after_ms: Option<&'h HeaderValue>,
    /// One a line; none is usual, and costs nothing.
    retry_after: Vec<&'h HeaderValue>,
    request_id: Option<&'h HeaderValue>,
    organization: Option<&'h HeaderValue>,
    content_type: Option<&'h HeaderValue>,
    date: Option<&'h HeaderValue>,
}

#[derive(Default)]
struct Triple<'h> {
    limit: Option<&'h HeaderValue>,
    remaining: Option<&'h HeaderValue>,
    reset: Option<&'h HeaderValue>,
}

impl<'h> Raw<'h> {
    fn take(&mut self, name: &str, value: &'h HeaderValue) {
        let slot = match name.strip_prefix("anthropic-ratelimit-") {
            Some(rest) => self.limit_slot(rest),
            None => match name {
                "retry-after-ms" => Some(&mut self.retry_after_ms),
                "request-id" => Some(&mut self.request_id),
                "anthropic-organization-id" => Some(&mut self.organization),
                "content-type" => Some(&mut self.content_type),
                "date" => Some(&mut self.date),
                _ => None,
            },
        };
        match slot {
            Some(slot) => drop(slot.get_or_insert(value)),
            None if name == "retry-after" => self.retry_after.push(value),
            None => {}
        }
    }

    fn limit_slot(&mut self, rest: &str) -> Option<&mut Option<&'h HeaderValue>> {
        let (limiter, field) = rest.rsplit_once('-')?;
        let triple = match limiter {
            "requests" => &mut self.requests,
            "input-tokens" => &mut self.input_tokens,
            "output-tokens" => &mut self.output_tokens,
            "tokens" => &mut self.tokens,
            _ => return None,
        };
        match field {
            "limit" => Some(&mut triple.limit),
            "remaining" => Some(&mut triple.remaining),
            "reset" => Some(&mut triple.reset),
            _ => None,
        }
    }
}

impl Triple<'_> {
    fn bucket(&self, clock: &mut Clock<'_>) -> Option<Bucket> {
        let count = |value: Option<&HeaderValue>| value?.to_str().ok()?.trim().parse::<u64>().ok();
        Some(Bucket {
            limit: count(self.limit)?,
            remaining: count(self.remaining)?,
            reset_in: self.reset.and_then(|reset| clock.until(rfc3339_secs(reset.to_str().ok()?.trim())?)),
        })
    }
}

/// The moment of the answer, read at most once and only when something is measured against it.
struct Clock<'h> {
    date: Option<&'h HeaderValue>,
    now: Wall,
    read: Option<f64>,
}

impl Clock<'_> {
    /// Seconds since the epoch.
    fn secs(&mut self) -> f64 {
        let (date, now) = (self.date, self.now);
        *self.read.get_or_insert_with(|| {
            date.and_then(|date| http_date_secs(date.to_str().ok()?)).unwrap_or(now.0 as f64 / 1_000.0)
        })
    }

    /// Span from the answer to a moment; `None` for one that had passed.
    fn until(&mut self, at: f64) -> Option<Duration> {
        let span = at - self.secs();
        (span >= 0.0).then(|| Duration::try_from_secs_f64(span).map_or(LONGEST, |span| span.min(LONGEST)))
    }
}

/// `retry-after-ms`, which the official SDKs prefer, then `retry-after`. A millisecond header that gives no wait does not
/// silence one in seconds that does.
fn retry_after(ms: Option<&HeaderValue>, secs: &[&HeaderValue], clock: &mut Clock<'_>) -> RetryAfter {
    let in_ms = ms.map(|value| value.to_str().map_or(RetryAfter::Junk, |text| delta(text.trim(), 1e-3)));
    match (in_ms, secs) {
        (Some(after @ RetryAfter::After(_)), _) => after,
        (_, [one]) => longest_of_line(one, clock),
        (_, [_, ..]) => {
            secs.iter().map(|value| longest_of_line(value, clock)).max_by_key(wait).unwrap_or(RetryAfter::Junk)
        }
        (Some(other), []) => other,
        (None, []) => RetryAfter::Absent,
    }
}

/// A proxy may fold several of the header into one line: of several waits the longest counts.
fn longest_of_line(value: &HeaderValue, clock: &mut Clock<'_>) -> RetryAfter {
    let Ok(text) = value.to_str() else { return RetryAfter::Junk };
    match delta_or_date(text.trim(), clock) {
        RetryAfter::Junk if text.contains(',') => {
            text.split(',').map(|part| delta(part.trim(), 1.0)).max_by_key(wait).unwrap_or(RetryAfter::Junk)
        }
        said => said,
    }
}

/// For comparing: how long, with "now" above what says nothing.
fn wait(said: &RetryAfter) -> Option<Duration> {
    match said {
        RetryAfter::After(span) => Some(*span),
        RetryAfter::Now => Some(Duration::ZERO),
        RetryAfter::Absent | RetryAfter::Junk => None,
    }
}

fn delta_or_date(text: &str, clock: &mut Clock<'_>) -> RetryAfter {
    match http_date_secs(text) {
        None => delta(text, 1.0),
        Some(at) => match clock.until(at) {
            Some(span) if !span.is_zero() => RetryAfter::After(span),
            _ => RetryAfter::Now,
        },
    }
}

fn delta(text: &str, unit_secs: f64) -> RetryAfter {
    match text.parse::<f64>() {
        Ok(n) if !n.is_finite() => RetryAfter::Junk,
        Ok(n) if n <= 0.0 => RetryAfter::Now,
        Ok(n) => match Duration::try_from_secs_f64(n * unit_secs).map_or(LONGEST, |span| span.min(LONGEST)) {
            // Less than a nanosecond.
            Duration::ZERO => RetryAfter::Now,
            span => RetryAfter::After(span),
        },
        Err(_) => RetryAfter::Junk,
    }
}

fn http_date_secs(text: &str) -> Option<f64> {
    // Every form of an HTTP date begins with the name of a day.
    if !text.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return None;
    }
    let at = httpdate::parse_http_date(text).ok()?;
    at.duration_since(UNIX_EPOCH).ok().map(|since| since.as_secs_f64())
}

/// Seconds since the epoch of an RFC 3339 time. The form that the API sends (`2025-01-29T12:42:57Z`) is read by hand in
/// a few nanoseconds; any other, with an offset or a fraction, by the date library.
fn rfc3339_secs(text: &str) -> Option<f64> {
    match plain_utc_secs(text.as_bytes()) {
        Some(secs) => Some(secs as f64),
        None => text.parse::<jiff::Timestamp>().ok().map(|at| at.as_millisecond() as f64 / 1_000.0),
    }
}

fn plain_utc_secs(text: &[u8]) -> Option<i64> {
    let &[y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2, b'T', h1, h2, b':', n1, n2, b':', s1, s2, b'Z'] = text else {
        return None;
    };
    let digit = |byte: u8| byte.is_ascii_digit().then(|| i64::from(byte - b'0'));
    let two = |tens: u8, ones: u8| Some(digit(tens)? * 10 + digit(ones)?);
    let (year, month, day) = (two(y1, y2)? * 100 + two(y3, y4)?, two(m1, m2)?, two(d1, d2)?);
    let (hour, minute, second) = (two(h1, h2)?, two(n1, n2)?, two(s1, s2)?);
    let valid = (1..=12).contains(&month) && (1..=days_in(year, month)).contains(&day);
    (valid && hour < 24 && minute < 60 && second < 60)
        .then(|| days_since_epoch(year, month, day) * 86_400 + hour * 3_600 + minute * 60 + second)
}

fn days_in(year: i64, month: i64) -> i64 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        _ => 31,
    }
}

/// Days from 1970-01-01 in the proleptic Gregorian calendar, by counting years from March so that a leap day comes last
/// (H. Hinnant, "chrono-Compatible Low-Level Date Algorithms").
fn days_since_epoch(year: i64, month: i64, day: i64) -> i64 {
    let from_march = if month > 2 { month - 3 } else { month + 9 };
    let year = if month > 2 { year } else { year - 1 };
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let day_of_year = (153 * from_march + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

fn id(value: &HeaderValue) -> Option<&str> {
    let text = value.to_str().ok()?;
    (!text.is_empty() && text.len() <= MAX_ID_LEN).then_some(text)
}

/// What a `content-type` claims.
pub(super) fn body_type(value: &HeaderValue) -> BodyType {
    let starts = |prefix: &[u8]| value.as_bytes().get(..prefix.len()).is_some_and(|s| s.eq_ignore_ascii_case(prefix));
    if starts(b"text/html") {
        BodyType::Html
    } else if starts(b"text/event-stream") {
        BodyType::EventStream
    } else {
        BodyType::Other
    }
}

#[cfg(test)]
#[path = "headers_tests.rs"]
mod tests;
