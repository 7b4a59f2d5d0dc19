//! The rate limits of an org for one class of models: what refuses a request, and what the headers say.

use std::fmt::Write;
use std::time::Duration;

use http::header::{HeaderMap, HeaderName, HeaderValue};
use serde::Deserialize;

use super::bucket::Bucket;
use crate::model::Wall;
use crate::model::limits::Limiter;

/// Limits of an org for each class of models, units a minute.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub(super) struct LimitSettings {
    /// Requests.
    pub(super) rpm: u64,
    /// Input tokens, estimated at the arrival and corrected at the answer.
    pub(super) itpm: u64,
    /// Output tokens, counted as generated.
    pub(super) otpm: u64,
    /// Requests to all endpoints of batches together, of the organisation.
    pub(super) batch_rpm: u64,
    /// Rows of batches that wait to be processed, of the organisation.
    pub(super) batch_queue: u64,
    /// Counts of tokens, of the organisation.
    pub(super) count_tokens_rpm: u64,
}

/// The published limits of the highest tier.
impl Default for LimitSettings {
    fn default() -> LimitSettings {
        LimitSettings {
            rpm: 10_000,
            itpm: 10_000_000,
            otpm: 2_000_000,
            batch_rpm: 4_000,
            batch_queue: 500_000,
            count_tokens_rpm: 8_000,
        }
    }
}

/// Where the client's calendar stands while the simulation's clock runs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Calendar {
    pub(super) epoch: Wall,
    /// Simulated seconds a real second.
    pub(super) scale: f64,
}

impl Calendar {
    /// A span as the client will measure it.
    pub(super) fn real(&self, span: Duration) -> Duration {
        Duration::try_from_secs_f64(span.as_secs_f64() / self.scale).unwrap_or(Duration::MAX)
    }

    /// Whole seconds of the client that cover a span: an earlier retry fails, so it is rounded up. At least 1.
    pub(super) fn retry_after(&self, span: Duration) -> String {
        self.real(span).as_secs_f64().ceil().max(1.0).to_string()
    }

    /// The date of a moment of the simulation.
    pub(super) fn wall(&self, at: Duration) -> Wall {
        Wall(self.epoch.0.saturating_add(i64::try_from(self.real(at).as_millis()).unwrap_or(i64::MAX)))
    }

    /// That date as RFC 3339 with microseconds, as batches are dated.
    pub(super) fn micros(&self, at: Duration) -> String {
        let date = jiff::Timestamp::from_millisecond(self.wall(at).0).unwrap_or(jiff::Timestamp::MAX);
        date.strftime("%Y-%m-%dT%H:%M:%S%.6f+00:00").to_string()
    }

    /// That date as RFC 3339 in whole seconds, rounded up: the bucket is full by then.
    fn rfc3339(&self, at: Duration) -> String {
        let seconds = self.wall(at).0.saturating_add(999).div_euclid(1_000);
        jiff::Timestamp::from_second(seconds).unwrap_or(jiff::Timestamp::MAX).to_string()
    }
}

/// The buckets of one (org, class).
#[derive(Debug, Clone, Copy)]
pub(super) struct ClassLimits {
    requests: Bucket,
    input: Bucket,
    output: Bucket,
}

/// A limiter that has too little, how much it gives a minute, and when it will have enough.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Exhausted {
    pub(super) limiter: Limiter,
    pub(super) limit: u64,
    pub(super) until: Duration,
}

impl ClassLimits {
    pub(super) fn new(settings: LimitSettings, now: Duration) -> ClassLimits {
        ClassLimits {
            requests: Bucket::new(settings.rpm, now),
            input: Bucket::new(settings.itpm, now),
            output: Bucket::new(settings.otpm, now),
        }
    }

    pub(super) fn refill(&mut self, now: Duration) {
        self.requests.refill(now);
        self.input.refill(now);
        self.output.refill(now);
    }

    /// Lets a request with this many input tokens in, or says what refuses it. A refused request takes nothing.
    pub(super) fn admit(&mut self, input_tokens: u64) -> Result<(), Exhausted> {
        self.check(Limiter::Requests, self.requests, 1)?;
        self.check(Limiter::InputTokens, self.input, input_tokens)?;
        // Output is counted when it is there, so one token of room admits a request of any size.
        self.check(Limiter::OutputTokens, self.output, 1)?;
        self.requests.take(1);
        self.input.take(input_tokens);
        Ok(())
    }

    fn check(&self, limiter: Limiter, bucket: Bucket, units: u64) -> Result<(), Exhausted> {
        if bucket.has(units) {
            return Ok(());
        }
        Err(Exhausted { limiter, limit: bucket.limit(), until: bucket.until_has(units) })
    }

    /// Corrects the estimate of the input and counts the output.
    pub(super) fn settle(&mut self, estimated_input: u64, input_tokens: u64, output_tokens: u64) {
        self.input.put_back(estimated_input);
        self.input.take(input_tokens);
        self.output.take(output_tokens);
    }

    /// Units a minute of a limiter.
    pub(super) fn limit(&self, limiter: Limiter) -> u64 {
        self.bucket(limiter).limit()
    }

    fn bucket(&self, limiter: Limiter) -> &Bucket {
        match limiter {
            Limiter::Requests => &self.requests,
            Limiter::InputTokens | Limiter::Tokens => &self.input,
            Limiter::OutputTokens => &self.output,
        }
    }

    /// Writes the twelve headers. `claimed_empty` is shown as used up whatever its bucket holds: a storm is the other
    /// side's view of the limits, and its headers agree with it.
    pub(super) fn write_headers(
        &self,
        now: Duration,
        calendar: &Calendar,
        claimed_empty: Option<Limiter>,
        headers: &mut HeaderMap,
    ) {
        let shown = |limiter: Limiter| {
            let mut bucket = *self.bucket(limiter);
            if claimed_empty == Some(limiter) {
                bucket.take(bucket.remaining());
            }
            bucket
        };
        let [requests, input, output] = [Limiter::Requests, Limiter::InputTokens, Limiter::OutputTokens].map(shown);
        let mut write = |names: &[HeaderName; 3], limit: u64, remaining: u64, full_in: Duration| {
            write_triple(names, limit, remaining, calendar.rfc3339(now.saturating_add(full_in)), headers);
        };
        write(&names::REQUESTS, requests.limit(), requests.remaining(), requests.until_full());
        write(&names::INPUT, input.limit(), thousands(&input), input.until_full());
        write(&names::OUTPUT, output.limit(), thousands(&output), output.until_full());
        write(
            &names::TOKENS,
            input.limit() + output.limit(),
            thousands(&input) + thousands(&output),
            input.until_full().max(output.until_full()),
        );
    }
}

fn write_triple(names: &[HeaderName; 3], limit: u64, remaining: u64, reset: String, headers: &mut HeaderMap) {
    let [limit_name, remaining_name, reset_name] = names;
    headers.insert(limit_name, HeaderValue::from(limit));
    headers.insert(remaining_name, HeaderValue::from(remaining));
    if let Ok(reset) = HeaderValue::from_maybe_shared(bytes::Bytes::from(reset)) {
        headers.insert(reset_name, reset);
    }
}

/// Writes the three headers of an endpoint that limits nothing but requests.
pub(super) fn write_requests(
    mut bucket: Bucket,
    now: Duration,
    calendar: &Calendar,
    claimed_empty: bool,
    headers: &mut HeaderMap,
) {
    if claimed_empty {
        bucket.take(bucket.remaining());
    }
    let reset = calendar.rfc3339(now.saturating_add(bucket.until_full()));
    write_triple(&names::REQUESTS, bucket.limit(), bucket.remaining(), reset, headers);
}

/// The words of a refusal by an endpoint that limits nothing but requests.
pub(super) fn requests_message(limit: u64) -> String {
    let limit = if limit == 0 { "its".to_owned() } else { format!("{} requests per minute", grouped(limit)) };
    format!(
        "This request would exceed your organization's rate limit of {limit}. For details, refer to: \
         https://docs.claude.com/en/api/rate-limits. Please try again later."
    )
}

/// What is left, rounded to the nearest 1,000 as the API shows tokens, and never more than the limit.
fn thousands(bucket: &Bucket) -> u64 {
    (bucket.remaining().saturating_add(500) / 1_000 * 1_000).min(bucket.limit())
}

/// The words of a refusal.
pub(super) fn refusal_message(limiter: Limiter, limit: u64, organization: &str, model: &str) -> String {
    let unit = match limiter {
        Limiter::Requests => "requests",
        Limiter::InputTokens => "input tokens",
        Limiter::OutputTokens => "output tokens",
        Limiter::Tokens => "tokens",
    };
    format!(
        "This request would exceed your organization's rate limit of {} {unit} per minute (org: {organization}, model: \
         {model}). For details, refer to: https://docs.claude.com/en/api/rate-limits. You can see the response headers \
         for current usage. Please reduce the prompt length or the maximum tokens requested, or try again later.",
        grouped(limit)
    )
}

/// A number with commas between thousands.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        let _ = out.write_char(digit);
    }
    out
}

mod names {
    use http::header::HeaderName;

    macro_rules! triple {
        ($group:literal) => {
            [
                HeaderName::from_static(concat!("anthropic-ratelimit-", $group, "-limit")),
                HeaderName::from_static(concat!("anthropic-ratelimit-", $group, "-remaining")),
                HeaderName::from_static(concat!("anthropic-ratelimit-", $group, "-reset")),
            ]
        };
    }

    pub(super) static REQUESTS: [HeaderName; 3] = triple!("requests");
    pub(super) static INPUT: [HeaderName; 3] = triple!("input-tokens");
    pub(super) static OUTPUT: [HeaderName; 3] = triple!("output-tokens");
    pub(super) static TOKENS: [HeaderName; 3] = triple!("tokens");
}

#[cfg(test)]
mod tests {
    use super::*;

    const CALENDAR: Calendar = Calendar { epoch: Wall(1_738_154_577_000), scale: 1.0 };

    fn limits() -> ClassLimits {
        ClassLimits::new(
            LimitSettings { rpm: 60, itpm: 60_000, otpm: 6_000, ..LimitSettings::default() },
            Duration::ZERO,
        )
    }

    fn headers(limits: &ClassLimits, claimed: Option<Limiter>) -> HeaderMap {
        let mut headers = HeaderMap::new();
        limits.write_headers(Duration::ZERO, &CALENDAR, claimed, &mut headers);
        headers
    }

    #[test]
    fn the_headers_round_tokens_to_thousands_and_date_the_moment_a_bucket_is_full() {
        let mut limits = limits();
        limits.admit(10_400).unwrap();
        limits.settle(10_400, 10_400, 2_400);
        let headers = headers(&limits, None);
        assert_eq!(headers["anthropic-ratelimit-requests-remaining"], "59");
        assert_eq!(headers["anthropic-ratelimit-requests-reset"], "2025-01-29T12:42:58Z");
        assert_eq!(headers["anthropic-ratelimit-input-tokens-remaining"], "50000");
        assert_eq!(headers["anthropic-ratelimit-output-tokens-remaining"], "4000");
        assert_eq!(headers["anthropic-ratelimit-output-tokens-reset"], "2025-01-29T12:43:21Z");
        assert_eq!(headers["anthropic-ratelimit-tokens-limit"], "66000");
        assert_eq!(headers["anthropic-ratelimit-tokens-remaining"], "54000");
        assert_eq!(headers.len(), 12);
    }

    #[test]
    fn the_limiter_that_refuses_is_named_with_the_span_until_it_has_enough() {
        let mut limits = limits();
        let refused = limits.admit(60_001).unwrap_err();
        assert_eq!((refused.limiter, refused.limit), (Limiter::InputTokens, 60_000));
        limits.settle(0, 0, 6_500);
        let refused = limits.admit(1).unwrap_err();
        assert_eq!(refused.limiter, Limiter::OutputTokens);
        assert_eq!(refused.until, Duration::from_millis(5_010));
        assert_eq!(CALENDAR.retry_after(refused.until), "6");
        assert_eq!(limits.requests.remaining(), 60, "a refused request takes nothing");
    }

    #[test]
    fn rounding_never_shows_more_than_the_limit() {
        let full = ClassLimits::new(
            LimitSettings { rpm: 1, itpm: 1_700, otpm: 1_700, ..LimitSettings::default() },
            Duration::ZERO,
        );
        assert_eq!(headers(&full, None)["anthropic-ratelimit-input-tokens-remaining"], "1700");
    }

    #[test]
    fn a_storm_shows_its_limiter_used_up() {
        let headers = headers(&limits(), Some(Limiter::OutputTokens));
        assert_eq!(headers["anthropic-ratelimit-output-tokens-remaining"], "0");
        assert_eq!(headers["anthropic-ratelimit-output-tokens-reset"], "2025-01-29T12:43:57Z");
        assert_eq!(headers["anthropic-ratelimit-requests-remaining"], "60");
    }

    #[test]
    fn spans_are_told_in_the_clients_time_when_the_clock_runs_fast() {
        let fast = Calendar { epoch: Wall(0), scale: 10.0 };
        assert_eq!(fast.retry_after(Duration::from_secs(30)), "3");
        assert_eq!(fast.retry_after(Duration::from_secs(1)), "1");
        assert_eq!(fast.rfc3339(Duration::from_secs(600)), "1970-01-01T00:01:00Z");
    }

    #[test]
    fn the_message_groups_thousands() {
        let message = refusal_message(Limiter::OutputTokens, 1_234_567, "o", "m");
        assert!(message.contains("1,234,567 output tokens per minute (org: o, model: m)"), "{message}");
        assert_eq!(grouped(999), "999");
    }
}
