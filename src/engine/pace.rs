//! Pacing: at what rate calls of one family may start in one organisation, by what its headers say is left.
//!
//! The law is one line, and the same for every limiter (requests, input tokens, output tokens):
//!
//! ```text
//!   rate  =  refill × headroom ÷ threshold          below half of the bucket; above it, no limit but the window
//! ```
//!
//! Alone on an organisation, the level settles where headroom equals the threshold (0.15) and the rate equals the refill:
//! all of the limit is used and no call meets a 429. A colleague who takes seven tenths makes it settle at three tenths
//! of that: we use exactly what is left, and the bucket is never empty for them. Two dispatchers on one organisation see
//! the same headroom, follow the same law and come to equal shares without knowing of each other. When others stop, the
//! level rises, and the rate with it.
//!
//! Output tokens are counted when they have been generated, so the level that matters is the one at which the calls in
//! flight will have left the bucket: what they are likely to take is subtracted, and what refills meanwhile is added (a
//! Smith predictor). Without that, a window full of long answers would be sent into a bucket that looks full.
//!
//! Waiting for 429s instead, the textbook's way, was rejected: it fails one call in every so many by design, and the ones
//! that fail are a colleague's as often as ours. AIMD stays as the safety net where headers are missing or wrong.

use std::time::Duration;

use crate::model::limits::Limiter;
use crate::model::{Mono, RateLimits, Usage};

use super::level::Level;
use super::load::{Estimates, Load, limited_input};

/// Headroom from which on nothing but the window limits the rate.
const FREE_FROM: f64 = 0.5;

/// A share of the refill that is always allowed: without any call, no header would tell that things have changed.
const ALWAYS: f64 = 0.02;

/// Calls of this span may start at once; about the time between two looks of the dispatcher.
const BURST: f64 = 0.1;

/// Half of the thousand tokens to which the API rounds what is left.
const TOKEN_ROUNDING: f64 = 500.0;

/// Weight of one answer in the mean latency.
const LATENCY_WEIGHT: f64 = 0.05;

/// How long a limiter counts as binding after it held a call back.
const BINDS_FOR: Duration = Duration::from_secs(1);

/// One limiter at work.
#[derive(Debug, Clone)]
struct Paced {
    level: Level,
    /// Units admitted ahead of the rate.
    debt: f64,
    /// Units a second; infinite when nothing is held back.
    rate: f64,
}

/// The pace of one (organisation, family). Families stand for the API's model classes, each of which has its own limits.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pace {
    limiters: [Option<Paced>; Limiter::ALL.len()],
    refreshed: Mono,
    estimates: Estimates,
    /// Output that the calls in flight are likely to take.
    output_in_flight: f64,
    /// Mean latency of answers, seconds; zero until there is one.
    latency: f64,
    held_back: Option<(Limiter, Mono)>,
}

impl Pace {
    /// What a request of this size will take.
    pub(crate) fn guess(&self, bytes: u32, max_tokens: u32) -> Load {
        self.estimates.guess(bytes, max_tokens)
    }

    /// Drains what was admitted ahead, and sets the rates for this moment.
    pub(crate) fn refresh(&mut self, threshold: f64, now: Mono) {
        let span = now.since(self.refreshed).as_secs_f64();
        self.refreshed = now;
        let redundant = self.tokens_are_a_sum();
        for (limiter, paced) in Limiter::ALL.into_iter().zip(&mut self.limiters) {
            let Some(paced) = paced else { continue };
            if paced.rate.is_finite() {
                paced.debt = (paced.debt - paced.rate * span).max(0.0);
            } else {
                paced.debt = 0.0;
            }
            let ahead = match limiter {
                Limiter::Requests | Limiter::InputTokens => 0.0,
                Limiter::OutputTokens | Limiter::Tokens => {
                    (paced.level.refill() - paced.level.foreign(now)) * self.latency - self.output_in_flight
                }
            };
            let unpaced = threshold <= 0.0 || !paced.level.is_credible() || (limiter == Limiter::Tokens && redundant);
            paced.rate = if unpaced { f64::INFINITY } else { rate(&paced.level, ahead, threshold, now) };
        }
    }

    /// The `tokens` headers name the most restrictive token limit, and without one the sum of the other two: then they
    /// say nothing of their own.
    fn tokens_are_a_sum(&self) -> bool {
        let limit = |limiter: Limiter| self.limiters[limiter as usize].as_ref().map(|paced| paced.level.limit());
        match (limit(Limiter::Tokens), limit(Limiter::InputTokens), limit(Limiter::OutputTokens)) {
            (Some(tokens), Some(input), Some(output)) => tokens >= input + output,
            _ => false,
        }
    }

    /// Whether a call may start now. Notes which limiter holds it back.
    pub(crate) fn admits(&mut self, now: Mono) -> bool {
        for (limiter, paced) in Limiter::ALL.into_iter().zip(&self.limiters) {
            if paced.as_ref().is_some_and(|paced| paced.rate.is_finite() && paced.debt > paced.rate * BURST) {
                self.held_back = Some((limiter, now));
                return false;
            }
        }
        true
    }

    /// A call starts.
    pub(crate) fn started(&mut self, load: &Load, now: Mono) {
        self.output_in_flight += load.output;
        for (limiter, paced) in Limiter::ALL.into_iter().zip(&mut self.limiters) {
            let Some(paced) = paced else { continue };
            let (at_once, in_all) = match limiter {
                Limiter::Requests => (1.0, 1.0),
                Limiter::InputTokens => (load.input, load.input),
                Limiter::OutputTokens => (0.0, load.output),
                Limiter::Tokens => (load.input, load.input + load.output),
            };
            paced.level.spend(at_once, now);
            paced.debt += in_all;
        }
    }

    /// A call has ended: with an answer, its usage and latency correct what was guessed.
    pub(crate) fn ended(&mut self, load: &Load, answer: Option<(&Usage, Duration)>, now: Mono) {
        self.output_in_flight = (self.output_in_flight - load.output).max(0.0);
        let (input, output) = match answer {
            Some((usage, latency)) => {
                self.estimates.learn(load, usage);
                let latency = latency.as_secs_f64();
                self.latency =
                    if self.latency > 0.0 { self.latency + (latency - self.latency) * LATENCY_WEIGHT } else { latency };
                (limited_input(usage), usage.output_tokens as f64)
            }
            // Refused or failed: what it took, if anything, the next header shows.
            None => (0.0, 0.0),
        };
        for (limiter, paced) in Limiter::ALL.into_iter().zip(&mut self.limiters) {
            let Some(paced) = paced else { continue };
            match limiter {
                Limiter::Requests => {}
                Limiter::InputTokens => paced.level.spend(input - load.input, now),
                Limiter::OutputTokens => paced.level.spend(output, now),
                Limiter::Tokens => paced.level.spend(input - load.input + output, now),
            }
        }
    }

    /// Nothing is in flight: whatever was miscounted is forgotten.
    pub(crate) fn is_quiet(&mut self) {
        self.output_in_flight = 0.0;
    }

    /// Takes the headers of an answer, a 429's too. One without any says nothing and changes nothing. `succeeded` is when
    /// the call started, if it was answered.
    pub(crate) fn observe(&mut self, limits: &RateLimits, succeeded: Option<Mono>, now: Mono) {
        for (limiter, slot) in Limiter::ALL.into_iter().zip(&mut self.limiters) {
            let Some(bucket) = limits.get(limiter).filter(|bucket| bucket.limit > 0) else { continue };
            match slot {
                Some(paced) => paced.level.observe(bucket, succeeded, now),
                None => {
                    let rounding = if limiter == Limiter::Requests { 0.0 } else { TOKEN_ROUNDING };
                    let level = Level::new(bucket, rounding, now);
                    *slot = Some(Paced { level, debt: 0.0, rate: f64::INFINITY });
                }
            }
        }
    }

    /// The level of a limiter, once a header has shown it.
    pub(crate) fn level(&self, limiter: Limiter) -> Option<&Level> {
        self.limiters[limiter as usize].as_ref().map(|paced| &paced.level)
    }

    /// The smallest headroom over the limiters that can be believed, and whose it is.
    pub(crate) fn tightest(&self, now: Mono) -> Option<(Limiter, f64)> {
        Limiter::ALL
            .into_iter()
            .zip(&self.limiters)
            .filter_map(|(limiter, paced)| Some((limiter, &paced.as_ref()?.level)))
            .filter(|(_, level)| level.is_credible())
            .map(|(limiter, level)| (limiter, level.headroom(now)))
            .min_by(|a, b| a.1.total_cmp(&b.1))
    }

    /// The smallest headroom; 1 while nothing is known.
    pub(crate) fn headroom(&self, now: Mono) -> f64 {
        self.tightest(now).map_or(1.0, |(_, headroom)| headroom)
    }

    /// The limiter that held a call back within the last `span`.
    pub(crate) fn binding(&self, span: Duration, now: Mono) -> Option<Limiter> {
        self.held_back.filter(|(_, at)| now.since(*at) <= span).map(|(limiter, _)| limiter)
    }

    /// The limiter that binds now.
    pub(crate) fn binds(&self, now: Mono) -> Option<Limiter> {
        self.binding(BINDS_FOR, now)
    }
}

/// The law.
fn rate(level: &Level, ahead: f64, threshold: f64, now: Mono) -> f64 {
    let headroom = ((level.units(now) + ahead) / level.limit()).min(1.0);
    if headroom >= FREE_FROM {
        return f64::INFINITY;
    }
    level.refill() * (headroom / threshold).max(ALWAYS)
}

/// The share of a window that may be used at this headroom: all of it from `threshold` on, in proportion below.
pub(crate) fn easing(headroom: f64, threshold: f64) -> f64 {
    if threshold <= 0.0 || headroom >= threshold { 1.0 } else { (headroom / threshold).max(0.0) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Bucket;

    fn at(secs: f64) -> Mono {
        Mono::from_span(Duration::from_secs_f64(secs))
    }

    fn requests(limit: u64, remaining: u64) -> RateLimits {
        RateLimits { requests: Some(Bucket { limit, remaining, reset_in: None }), ..RateLimits::default() }
    }

    /// Admits all that may start in a second, looked at every 10 ms, and gives their number.
    fn admitted(pace: &mut Pace, from: f64) -> u32 {
        let mut n = 0;
        for step in 0..100 {
            let now = at(from + f64::from(step) / 100.0);
            pace.refresh(0.15, now);
            while n < 10_000 && pace.admits(now) {
                pace.started(&Load::default(), now);
                n += 1;
            }
        }
        n
    }

    #[test]
    fn at_the_threshold_the_rate_is_the_refill_and_below_it_falls_in_proportion() {
        let mut pace = Pace::default();
        pace.observe(&requests(6_000, 900), None, at(0.0));
        let full = admitted(&mut pace, 0.0);
        assert!((95..=115).contains(&full), "{full}");
        let mut pace = Pace::default();
        pace.observe(&requests(6_000, 300), None, at(0.0));
        let third = admitted(&mut pace, 0.0);
        assert!((35..=55).contains(&third), "{third}");
        assert_eq!(pace.binds(at(1.0)), Some(Limiter::Requests));
    }

    #[test]
    fn without_headers_and_with_a_full_bucket_nothing_is_held_back() {
        assert_eq!(admitted(&mut Pace::default(), 0.0), 10_000);
        let mut pace = Pace::default();
        pace.observe(&requests(60_000, 60_000), None, at(0.0));
        assert!(admitted(&mut pace, 0.0) >= 10_000);
    }

    #[test]
    fn an_empty_bucket_still_lets_a_call_through_now_and_then() {
        let mut pace = Pace::default();
        pace.observe(&requests(6_000, 0), None, at(0.0));
        let n = admitted(&mut pace, 0.0);
        assert!((1..=15).contains(&n), "{n}");
    }

    #[test]
    fn long_answers_in_flight_are_counted_before_they_are_billed() {
        let mut pace = Pace::default();
        let limits = RateLimits {
            output_tokens: Some(Bucket { limit: 60_000, remaining: 60_000, reset_in: None }),
            ..RateLimits::default()
        };
        pace.observe(&limits, None, at(0.0));
        let mut load = Load::default();
        load.output = 1_000.0;
        let mut n = 0;
        pace.refresh(0.15, at(0.0));
        while pace.admits(at(0.0)) && n < 1_000 {
            pace.started(&load, at(0.0));
            n += 1;
            pace.refresh(0.15, at(0.0));
        }
        assert!(n < 60, "{n} calls of 1,000 tokens into a bucket of 60,000");
    }

    #[test]
    fn easing_is_in_proportion_below_the_threshold() {
        assert!((easing(0.05, 0.15) - 1.0 / 3.0).abs() < 1e-9);
        assert!((easing(1.0, 0.15) - 1.0).abs() < 1e-9);
        assert!((easing(0.0, 0.0) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn an_answer_without_headers_does_not_wipe_what_is_known() {
        let mut pace = Pace::default();
        pace.observe(&requests(1_000, 100), None, at(0.0));
        pace.observe(&RateLimits::default(), None, at(0.1));
        assert!(pace.headroom(at(0.1)) < 0.2);
    }
}
