//! The level of one of the API's token buckets, as far as it can be told from here.
//!
//! A header shows the level at the moment of an answer. Between two of them it is carried forward: the bucket refills
//! evenly, our own use is known, and what others use is estimated from the difference of the two (what has gone from the
//! bucket and was not ours). That is what lets an organisation come back by itself after a colleague has stopped,
//! although nothing was sent to it meanwhile, and what lets a call be admitted or not without waiting for a 429.
//!
//! Headers are advice. Two lies are found out: a bucket that shows nothing left while call after call succeeds, and one
//! that does not fall although far more is taken from it than it is said to hold.

use std::time::Duration;

use crate::model::{Bucket, Mono};

/// A bucket of the API holds a minute's worth and refills within it.
const MINUTE: f64 = 60.0;

/// Shortest span over which the use of others is measured: shorter ones show the rounding of headers.
const MEASURE_OVER: Duration = Duration::from_secs(1);

/// Time constant of the estimate of others' use, seconds.
const FOREIGN_MEMORY: f64 = 4.0;

/// Without headers the use of others is forgotten within this time, seconds.
const FOREIGN_FADES: f64 = 30.0;

/// A bucket this full may have been full in between: what it lost cannot be told.
const BRIMFUL: f64 = 0.99;

/// So many successes in a row of calls that started when nothing was left show that something was.
const LIES_AFTER: u32 = 10;

/// More than this share of the refill missing from what headers admit shows that they do not tell the truth.
const UNACCOUNTED: f64 = -0.5;

/// See the module. All amounts are units of the limiter: requests or tokens.
#[derive(Debug, Clone)]
pub(crate) struct Level {
    limit: f64,
    units: f64,
    at: Mono,
    /// Half of what the API rounds to.
    rounding: f64,
    /// The last header by which others' use was measured, and our own use since.
    mark: (Mono, f64),
    own: f64,
    /// Others' use, units a second; may come out negative for a while.
    foreign: f64,
    measured: bool,
    /// Since when the header says that nothing is left, and how many later calls succeeded all the same.
    empty: Option<(Mono, u32)>,
}

impl Level {
    /// As a header showed it.
    pub(crate) fn new(bucket: Bucket, rounding: f64, now: Mono) -> Level {
        let units = bucket.remaining as f64;
        Level {
            limit: bucket.limit as f64,
            units,
            at: now,
            rounding,
            mark: (now, units),
            own: 0.0,
            foreign: 0.0,
            measured: false,
            empty: (bucket.remaining == 0).then_some((now, 0)),
        }
    }

    /// Units a minute: also its size.
    pub(crate) fn limit(&self) -> f64 {
        self.limit
    }

    /// Units that come back in a second.
    pub(crate) fn refill(&self) -> f64 {
        self.limit / MINUTE
    }

    /// Units that others use in a second.
    pub(crate) fn foreign(&self, now: Mono) -> f64 {
        let fading = (1.0 - now.since(self.mark.0).as_secs_f64() / FOREIGN_FADES).max(0.0);
        (self.foreign * fading).clamp(0.0, self.refill())
    }

    /// Others' use as a share of the refill; `None` until it was measured once.
    pub(crate) fn foreign_share(&self, now: Mono) -> Option<f64> {
        self.measured.then(|| self.foreign(now) / self.refill().max(f64::MIN_POSITIVE))
    }

    /// The level now. Below zero while the API is owed tokens.
    pub(crate) fn units(&self, now: Mono) -> f64 {
        let net = self.refill() - self.foreign(now);
        (self.units + net * now.since(self.at).as_secs_f64()).clamp(-self.limit, self.limit)
    }

    /// The level as a share of the size, 0..=1.
    pub(crate) fn headroom(&self, now: Mono) -> f64 {
        (self.units(now) / self.limit).clamp(0.0, 1.0)
    }

    /// Seconds until it is full again when nobody takes from it: what the API's `reset` says, carried forward.
    pub(crate) fn full_in(&self, now: Mono) -> f64 {
        (self.limit - self.units(now)).max(0.0) / self.refill().max(f64::MIN_POSITIVE)
    }

    /// Whether it can be believed.
    pub(crate) fn is_credible(&self) -> bool {
        let lies = self.empty.is_some_and(|(_, successes)| successes >= LIES_AFTER);
        !lies && self.foreign > UNACCOUNTED * self.refill()
    }

    /// Our own use; a negative one gives back.
    pub(crate) fn spend(&mut self, units: f64, now: Mono) {
        self.units = (self.units(now) - units).clamp(-self.limit, self.limit);
        self.at = now;
        self.own += units;
    }

    /// Takes a header. `succeeded` is when the call started, if it was answered.
    pub(crate) fn observe(&mut self, bucket: Bucket, succeeded: Option<Mono>, now: Mono) {
        if self.limit != bucket.limit as f64 {
            *self = Level::new(bucket, self.rounding, now);
            return;
        }
        let seen = bucket.remaining as f64;
        // Within the rounding our own figure is the finer one.
        self.units = self.units(now).clamp(seen - self.rounding, seen + self.rounding).min(self.limit);
        self.at = now;
        self.empty = match (self.empty, bucket.remaining) {
            (_, 1..) => None,
            (None, 0) => Some((now, 0)),
            (Some((since, n)), 0) => Some((since, n + u32::from(succeeded.is_some_and(|started| started > since)))),
        };
        if now.since(self.mark.0) >= MEASURE_OVER {
            self.measure(seen, now);
        }
    }

    fn measure(&mut self, seen: f64, now: Mono) {
        let (since, before) = self.mark;
        let span = now.since(since).as_secs_f64();
        let brimful = BRIMFUL * self.limit;
        let gone = before + self.refill() * span - seen;
        // Of a brimful bucket only that can be told which we took ourselves and which is not missing.
        let sample = if seen >= brimful || before >= brimful { (gone - self.own).min(0.0) } else { gone - self.own };
        let weight = 1.0 - (-span / FOREIGN_MEMORY).exp();
        self.foreign += (sample / span - self.foreign) * weight;
        self.measured = true;
        self.mark = (now, seen);
        self.own = 0.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(secs: f64) -> Mono {
        Mono::from_span(Duration::from_secs_f64(secs))
    }

    fn bucket(limit: u64, remaining: u64) -> Bucket {
        Bucket { limit, remaining, reset_in: None }
    }

    #[test]
    fn l12_it_recovers_with_time_although_nothing_is_sent() {
        let level = Level::new(bucket(6_000, 300), 0.0, at(0.0));
        assert!((level.headroom(at(0.0)) - 0.05).abs() < 1e-9);
        assert!((level.headroom(at(10.0)) - (0.05 + 1.0 / 6.0)).abs() < 1e-9);
        assert!((level.headroom(at(90.0)) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn own_use_lowers_it_before_a_header_says_so() {
        let mut level = Level::new(bucket(6_000, 6_000), 0.0, at(0.0));
        level.spend(3_000.0, at(0.0));
        assert!((level.headroom(at(0.0)) - 0.5).abs() < 1e-9);
    }

    /// 100 a second refill; we take 30 of them and somebody else takes 60.
    #[test]
    fn what_is_gone_and_was_not_ours_is_a_colleagues() {
        let mut level = Level::new(bucket(6_000, 3_000), 0.0, at(0.0));
        for second in 1..=20 {
            level.spend(30.0, at(f64::from(second) - 0.5));
            level.observe(bucket(6_000, 3_000 + 10 * second as u64), None, at(f64::from(second)));
        }
        let share = level.foreign_share(at(20.0)).unwrap();
        assert!((share - 0.6).abs() < 0.02, "{share}");
        assert!(level.is_credible());
    }

    #[test]
    fn when_all_that_is_gone_was_ours_there_is_no_colleague() {
        let mut level = Level::new(bucket(60_000, 9_000), 500.0, at(0.0));
        for second in 1..=20 {
            level.spend(1_000.0, at(f64::from(second) - 0.5));
            level.observe(bucket(60_000, 9_000), None, at(f64::from(second)));
        }
        assert!(level.foreign_share(at(20.0)).unwrap() < 0.02);
    }

    #[test]
    fn the_rounding_of_a_header_does_not_blur_our_own_figure() {
        let mut level = Level::new(bucket(60_000, 9_000), 500.0, at(0.0));
        level.spend(300.0, at(0.0));
        level.observe(bucket(60_000, 9_000), None, at(0.0));
        assert!((level.units(at(0.0)) - 8_700.0).abs() < 1e-6);
        level.observe(bucket(60_000, 12_000), None, at(0.0));
        assert!((level.units(at(0.0)) - 11_500.0).abs() < 1e-6);
    }

    #[test]
    fn a_bucket_that_says_empty_while_call_after_call_succeeds_is_not_believed() {
        let mut level = Level::new(bucket(6_000, 0), 0.0, at(0.0));
        for n in 0..LIES_AFTER {
            assert!(level.is_credible());
            let started = at(1.0 + f64::from(n));
            level.observe(bucket(6_000, 0), Some(started), started + Duration::from_millis(100));
        }
        assert!(!level.is_credible());
        level.observe(bucket(6_000, 20), Some(at(30.0)), at(31.0));
        assert!(level.foreign_share(at(31.0)).is_some());
    }

    #[test]
    fn a_bucket_that_never_falls_whatever_is_taken_is_not_believed() {
        let mut level = Level::new(bucket(600, 200), 0.0, at(0.0));
        for second in 1..=10 {
            level.spend(100.0, at(f64::from(second) - 0.5));
            level.observe(bucket(600, 200), None, at(f64::from(second)));
        }
        assert!(!level.is_credible());
    }
}
