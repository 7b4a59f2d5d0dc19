//! Headroom: how much of an organisation's limits is left, as its headers said last, aged since.
//!
//! A token bucket refills evenly, so what was read a while ago is a lower bound that rises with time. That is what lets
//! an organisation come back by itself after a colleague has stopped, although nothing was sent to it meanwhile.

use std::time::Duration;

use crate::model::limits::Limiter;
use crate::model::{Mono, RateLimits};

/// A bucket of the API holds a minute's worth.
const REFILL: Duration = Duration::from_secs(60);

/// What headers said last, and when.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Headroom {
    seen: Option<(Mono, RateLimits)>,
}

impl Headroom {
    /// Takes the headers of an answer, a 429's too. An answer without any says nothing and changes nothing.
    pub(crate) fn observe(&mut self, limits: &RateLimits, now: Mono) {
        if !limits.is_empty() {
            self.seen = Some((now, *limits));
        }
    }

    /// The headers as they were.
    pub(crate) fn limits(&self) -> Option<&RateLimits> {
        self.seen.as_ref().map(|(_, limits)| limits)
    }

    /// Headroom of one limiter now, 0..=1.
    pub(crate) fn of(&self, limiter: Limiter, now: Mono) -> Option<f64> {
        let (at, limits) = self.seen.as_ref()?;
        let bucket = limits.get(limiter)?;
        let then = bucket.headroom()?;
        // The reset header is the moment of a full bucket. Without one, and never faster than the bucket's own minute.
        let to_full = bucket.reset_in.unwrap_or_else(|| REFILL.mul_f64(1.0 - then));
        let to_full = to_full.max(REFILL.mul_f64((1.0 - then) * 0.5)).min(REFILL);
        let aged = now.since(*at).as_secs_f64() / to_full.as_secs_f64().max(0.001);
        Some((then + (1.0 - then) * aged).clamp(0.0, 1.0))
    }

    /// The smallest headroom over the limiters now, and whose it is.
    pub(crate) fn tightest(&self, now: Mono) -> Option<(Limiter, f64)> {
        Limiter::ALL
            .into_iter()
            .filter_map(|limiter| Some((limiter, self.of(limiter, now)?)))
            .min_by(|a, b| a.1.total_cmp(&b.1))
    }

    /// The smallest headroom now; 1 while nothing is known.
    pub(crate) fn value(&self, now: Mono) -> f64 {
        self.tightest(now).map_or(1.0, |(_, headroom)| headroom)
    }
}

/// The share of a window that may be used at this headroom: all of it from `threshold` on, in proportion below.
pub(crate) fn easing(headroom: f64, threshold: f64) -> f64 {
    if threshold <= 0.0 || headroom >= threshold { 1.0 } else { (headroom / threshold).max(0.0) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Bucket;

    fn limits(remaining: u64, reset: Option<u64>) -> RateLimits {
        RateLimits {
            requests: Some(Bucket { limit: 1_000, remaining, reset_in: reset.map(Duration::from_secs) }),
            ..RateLimits::default()
        }
    }

    fn at(secs: u64) -> Mono {
        Mono::from_span(Duration::from_secs(secs))
    }

    #[test]
    fn l12_low_headroom_eases_in_proportion_and_recovers_without_traffic() {
        let mut headroom = Headroom::default();
        headroom.observe(&limits(50, Some(57)), at(0));
        assert!((easing(headroom.value(at(0)), 0.15) - 1.0 / 3.0).abs() < 1e-9);
        assert!(headroom.value(at(10)) > 0.15);
        assert!((headroom.value(at(57)) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn unknown_limits_hold_nothing_back() {
        assert!((Headroom::default().value(at(5)) - 1.0).abs() < 1e-9);
        assert!((easing(1.0, 0.15) - 1.0).abs() < 1e-9);
        assert!((easing(0.0, 0.0) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn an_answer_without_headers_does_not_wipe_what_is_known() {
        let mut headroom = Headroom::default();
        headroom.observe(&limits(100, None), at(0));
        headroom.observe(&RateLimits::default(), at(1));
        assert!(headroom.value(at(1)) < 0.2);
    }

    #[test]
    fn a_lying_reset_of_zero_does_not_fill_the_bucket_at_once() {
        let mut headroom = Headroom::default();
        headroom.observe(&limits(0, Some(0)), at(0));
        assert!(headroom.value(at(1)) < 0.1);
    }
}
