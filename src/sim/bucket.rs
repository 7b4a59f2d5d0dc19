//! A token bucket that refills continuously, in exact integers.
//!
//! The level is kept in units × 60,000,000, so that a bucket of `limit` units a minute gains exactly `limit` of these a
//! microsecond and no rounding ever accumulates. It may fall below zero: output tokens are counted when they have been
//! generated, and forgetting the overshoot would let a full load run at many times the limit. What is shown is never
//! below zero.

use std::time::Duration;

/// Microseconds a minute: how many parts a unit has.
const PARTS: i128 = 60_000_000;

/// A bucket of some units a minute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bucket {
    limit: u64,
    /// In parts; at most `limit × PARTS`.
    level: i128,
    /// When `level` held, in microseconds.
    at: u128,
}

impl Bucket {
    /// A full bucket.
    pub(super) fn new(limit: u64, now: Duration) -> Bucket {
        Bucket { limit, level: i128::from(limit) * PARTS, at: now.as_micros() }
    }

    /// Units a minute, which is also its size.
    pub(super) fn limit(&self) -> u64 {
        self.limit
    }

    /// Brings the level up to this moment. A moment that has passed changes nothing.
    pub(super) fn refill(&mut self, now: Duration) {
        let now = now.as_micros();
        let Some(elapsed) = now.checked_sub(self.at).filter(|elapsed| *elapsed > 0) else { return };
        self.at = now;
        // A span of 2^63 µs is 292,000 years; the product stays far inside an i128.
        let elapsed = i128::from(u64::try_from(elapsed).unwrap_or(u64::MAX));
        let gained = elapsed.saturating_mul(i128::from(self.limit));
        self.level = self.level.saturating_add(gained).min(self.size());
    }

    /// Whether that many units are there.
    pub(super) fn has(&self, units: u64) -> bool {
        self.level >= i128::from(units) * PARTS
    }

    /// Takes units, into debt if need be.
    pub(super) fn take(&mut self, units: u64) {
        self.level -= i128::from(units) * PARTS;
    }

    /// Puts units back, up to the size.
    pub(super) fn put_back(&mut self, units: u64) {
        self.level = (self.level + i128::from(units) * PARTS).min(self.size());
    }

    /// Whole units that are left; none while in debt.
    pub(super) fn remaining(&self) -> u64 {
        u64::try_from(self.level / PARTS).unwrap_or(0)
    }

    /// Span until that many units are there. An amount above the size is taken as the size; a bucket without a refill
    /// never gets there.
    pub(super) fn until_has(&self, units: u64) -> Duration {
        let wanted = i128::from(units.min(self.limit)) * PARTS;
        let missing = wanted - self.level;
        if missing <= 0 {
            return Duration::ZERO;
        }
        if self.limit == 0 {
            return Duration::MAX;
        }
        let limit = i128::from(self.limit);
        let micros = (missing + limit - 1) / limit;
        Duration::from_micros(u64::try_from(micros).unwrap_or(u64::MAX))
    }

    /// Span until it is full.
    pub(super) fn until_full(&self) -> Duration {
        self.until_has(self.limit)
    }

    fn size(&self) -> i128 {
        i128::from(self.limit) * PARTS
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_minute_refills_an_empty_bucket_exactly_and_a_microsecond_less_does_not() {
        let mut bucket = Bucket::new(7, Duration::ZERO);
        bucket.take(7);
        bucket.refill(Duration::from_micros(59_999_999));
        assert_eq!(bucket.remaining(), 6);
        assert!(!bucket.has(7));
        bucket.refill(Duration::from_micros(60_000_000));
        assert_eq!(bucket.remaining(), 7);
        bucket.refill(Duration::from_secs(10_000_000_000));
        assert_eq!(bucket.remaining(), 7, "it never holds more than its size");
    }

    #[test]
    fn debt_is_repaid_before_anything_is_there_again() {
        let mut bucket = Bucket::new(60, Duration::ZERO);
        bucket.take(100);
        assert_eq!(bucket.remaining(), 0);
        assert_eq!(bucket.until_has(1), Duration::from_secs(41));
        assert_eq!(bucket.until_full(), Duration::from_secs(100));
    }

    #[test]
    fn a_clock_that_stands_or_goes_back_gives_nothing() {
        let mut bucket = Bucket::new(60, Duration::from_secs(10));
        bucket.take(60);
        bucket.refill(Duration::from_secs(5));
        assert_eq!(bucket.remaining(), 0);
    }

    #[test]
    fn a_bucket_of_size_zero_never_has_anything() {
        let bucket = Bucket::new(0, Duration::ZERO);
        assert!(!bucket.has(1));
        assert_eq!(bucket.remaining(), 0);
        assert_eq!(bucket.until_full(), Duration::ZERO);
    }

    #[derive(Debug, Clone)]
    enum Step {
        Wait(u64),
        Take(u64),
        PutBack(u64),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            (0u64..90_000_000).prop_map(Step::Wait),
            (0u64..5_000).prop_map(Step::Take),
            (0u64..500).prop_map(Step::PutBack),
        ]
    }

    proptest! {
        #[test]
        fn what_is_shown_stays_within_the_size_and_the_reset_is_the_first_moment_it_is_full(
            limit in 1u64..4_000_000, steps in proptest::collection::vec(step(), 1..60)
        ) {
            let mut bucket = Bucket::new(limit, Duration::ZERO);
            let mut now = Duration::ZERO;
            for step in steps {
                match step {
                    Step::Wait(micros) => { now += Duration::from_micros(micros); bucket.refill(now); }
                    Step::Take(units) => bucket.take(units),
                    Step::PutBack(units) => bucket.put_back(units),
                }
                prop_assert!(bucket.remaining() <= limit);
                let full = bucket.until_full();
                let mut later = bucket;
                later.refill(now + full);
                prop_assert_eq!(later.remaining(), limit);
                if let Some(before) = full.checked_sub(Duration::from_micros(1)) {
                    let mut earlier = bucket;
                    earlier.refill(now + before);
                    prop_assert!(!earlier.has(limit));
                }
            }
        }

        #[test]
        fn many_small_refills_give_exactly_what_a_large_one_gives(
            limit in 1u64..4_000_000, waits in proptest::collection::vec(1u64..400_000, 1..80)
        ) {
            let mut small = Bucket::new(limit, Duration::ZERO);
            small.take(limit);
            let mut large = small;
            let mut now = Duration::ZERO;
            for wait in waits {
                now += Duration::from_micros(wait);
                small.refill(now);
            }
            large.refill(now);
            prop_assert_eq!(small, large);
        }
    }
}
