//! What the API says about its limits, as typed values.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// One token bucket of an org, as its headers show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Bucket {
    /// Size of the bucket: units per minute.
    pub limit: u64,
    /// Units left. The API rounds tokens to the nearest 1,000.
    pub remaining: u64,
    /// Span from the answer until the bucket is *full* again, not until one may send again.
    pub reset_in: Option<Duration>,
}

impl Bucket {
    /// `remaining / limit` in 0..=1; `None` for a bucket without a size.
    pub fn headroom(self) -> Option<f64> {
        (self.limit > 0).then(|| (self.remaining as f64 / self.limit as f64).clamp(0.0, 1.0))
    }
}

/// The kinds of bucket that headers describe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Limiter {
    /// Requests per minute.
    Requests,
    /// Uncached input tokens per minute.
    InputTokens,
    /// Output tokens per minute.
    OutputTokens,
    /// The most restrictive token limit in effect, a workspace's for example.
    Tokens,
}

impl Limiter {
    /// All of them, in the order in which they are shown.
    pub const ALL: [Limiter; 4] = [Limiter::Requests, Limiter::InputTokens, Limiter::OutputTokens, Limiter::Tokens];

    /// The name that users see; the middle of the header's name.
    pub fn as_str(self) -> &'static str {
        match self {
            Limiter::Requests => "requests",
            Limiter::InputTokens => "input-tokens",
            Limiter::OutputTokens => "output-tokens",
            Limiter::Tokens => "tokens",
        }
    }
}

/// The rate-limit headers of one answer. Missing or senseless ones are `None`: they are advice, never a precondition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RateLimits {
    /// `anthropic-ratelimit-requests-*`.
    pub requests: Option<Bucket>,
    /// `anthropic-ratelimit-input-tokens-*`.
    pub input_tokens: Option<Bucket>,
    /// `anthropic-ratelimit-output-tokens-*`.
    pub output_tokens: Option<Bucket>,
    /// `anthropic-ratelimit-tokens-*`.
    pub tokens: Option<Bucket>,
}

impl RateLimits {
    /// The bucket of a limiter.
    pub fn get(&self, limiter: Limiter) -> Option<Bucket> {
        match limiter {
            Limiter::Requests => self.requests,
            Limiter::InputTokens => self.input_tokens,
            Limiter::OutputTokens => self.output_tokens,
            Limiter::Tokens => self.tokens,
        }
    }

    /// The limiter with the least headroom, and that headroom.
    pub fn tightest(&self) -> Option<(Limiter, f64)> {
        Limiter::ALL
            .into_iter()
            .filter_map(|limiter| Some((limiter, self.get(limiter)?.headroom()?)))
            .min_by(|a, b| a.1.total_cmp(&b.1))
    }

    /// The smallest `remaining / limit` over the headers, 0..=1.
    pub fn headroom(&self) -> Option<f64> {
        self.tightest().map(|(_, headroom)| headroom)
    }

    /// When the emptiest exhausted bucket (nothing left) will be full again.
    pub fn exhausted_reset(&self) -> Option<Duration> {
        Limiter::ALL
            .into_iter()
            .filter_map(|limiter| self.get(limiter))
            .filter(|bucket| bucket.limit > 0 && bucket.remaining == 0)
            .filter_map(|bucket| bucket.reset_in)
            .max()
    }

    /// Whether no header was there.
    pub fn is_empty(&self) -> bool {
        *self == RateLimits::default()
    }
}

/// What `retry-after` said. Every value that a server may send has a meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RetryAfter {
    /// No such header.
    #[default]
    Absent,
    /// A positive, finite span: delta-seconds, or an HTTP date in the future.
    After(Duration),
    /// Zero, negative, or a date that has passed: "now", which is answered with the floor and jitter.
    Now,
    /// Not a number and not a date, or not finite: own backoff.
    Junk,
}

/// The two kinds of 429 that heal by waiting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LimitKind {
    /// A bucket is empty.
    Steady,
    /// Usage grew too sharply (`ramp_limit_exceeded`).
    Ramp,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bucket(limit: u64, remaining: u64, reset: u64) -> Option<Bucket> {
        Some(Bucket { limit, remaining, reset_in: Some(Duration::from_secs(reset)) })
    }

    #[test]
    fn headroom_is_the_tightest_buckets() {
        let limits = RateLimits {
            requests: bucket(1_000, 900, 1),
            output_tokens: bucket(80_000, 4_000, 50),
            ..RateLimits::default()
        };
        assert_eq!(limits.tightest(), Some((Limiter::OutputTokens, 0.05)));
        assert_eq!(RateLimits::default().headroom(), None);
    }

    #[test]
    fn a_bucket_that_claims_more_than_its_size_is_full_and_one_without_size_says_nothing() {
        assert_eq!(bucket(10, 99, 0).unwrap().headroom(), Some(1.0));
        assert_eq!(bucket(0, 5, 0).unwrap().headroom(), None);
    }

    #[test]
    fn only_an_exhausted_bucket_gives_a_reset() {
        let limits = RateLimits { requests: bucket(10, 1, 60), input_tokens: bucket(10, 0, 7), ..Default::default() };
        assert_eq!(limits.exhausted_reset(), Some(Duration::from_secs(7)));
    }
}
