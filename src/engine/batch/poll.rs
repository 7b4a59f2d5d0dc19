//! When a sub-batch is asked for: seldom, spread, and bounded in what all of them cost together.

use std::time::Duration;

use crate::model::RetryAfter;

/// The longest, whatever its age: news of an end is never later than that.
const LONGEST: Duration = Duration::from_secs(300);

/// A poll is due again after this share of a sub-batch's age: one that ends is late by 2 % at the most.
const SHARE_OF_AGE: u32 = 50;

/// What all sub-batches of an org may cost together: one poll a second. The API's own limit is above 16 a second.
const PER_ORG: Duration = Duration::from_secs(1);

/// A server's wish is followed up to here.
const LONGEST_WISH: Duration = Duration::from_secs(3_600);

/// Waits for a batch that cannot be seen right after it was created.
const GRACE_YOUNG: [u64; 6] = [1, 2, 4, 8, 15, 30];
/// Waits for one that was seen before.
const GRACE_OLD: [u64; 5] = [5, 15, 30, 60, 60];

/// What a poll's time depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pace {
    /// The least time between two polls, as it was set.
    pub(super) every: Duration,
    /// Age of the sub-batch.
    pub(super) age: Duration,
    /// Sub-batches of its org that are polled.
    pub(super) n_polled: u32,
    /// What the last answer wished.
    pub(super) wish: RetryAfter,
    /// Polls that failed since one was answered.
    pub(super) n_failed: u32,
}

impl Pace {
    /// Time until the next poll. Jitter only ever adds, so that none comes early; it spreads sub-batches of one age.
    pub(super) fn wait(&self, rng: &mut fastrand::Rng) -> Duration {
        let by_age = (self.age / SHARE_OF_AGE).min(LONGEST);
        let by_cost = PER_ORG * self.n_polled;
        let wish = wished(self.wish);
        let by_failures = match self.n_failed {
            0 => Duration::ZERO,
            n => (self.every * 2_u32.saturating_pow(n.min(10))).min(LONGEST),
        };
        let least = self.every.max(by_age).max(by_cost).max(wish).max(by_failures);
        least.mul_f64(1.0 + 0.25 * rng.f64())
    }
}

/// The wait that an answer wishes, as a floor for whatever is asked next.
pub(super) fn wished(wish: RetryAfter) -> Duration {
    match wish {
        RetryAfter::After(span) => span.min(LONGEST_WISH),
        RetryAfter::Absent | RetryAfter::Now | RetryAfter::Junk => Duration::ZERO,
    }
}

/// How long to wait after the `n`-th 404 in a row, from 1. `None`: it will not be seen any more.
pub(super) fn grace(n: u32, seen_before: bool) -> Option<Duration> {
    let waits: &[u64] = if seen_before { &GRACE_OLD } else { &GRACE_YOUNG };
    let at = usize::try_from(n.saturating_sub(1)).ok()?;
    waits.get(at).copied().map(Duration::from_secs)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const EVERY: Duration = Duration::from_secs(15);

    fn pace() -> Pace {
        Pace { every: EVERY, age: Duration::ZERO, n_polled: 4, wish: RetryAfter::Absent, n_failed: 0 }
    }

    fn secs(pace: Pace) -> f64 {
        pace.wait(&mut fastrand::Rng::with_seed(1)).as_secs_f64()
    }

    #[test]
    fn b3_a_batch_that_cannot_be_seen_is_given_time_and_more_of_it_later() {
        let all = |seen| (1..).map_while(|n| grace(n, seen)).map(|wait| wait.as_secs()).collect::<Vec<_>>();
        assert_eq!(all(false), [1, 2, 4, 8, 15, 30]);
        assert_eq!(all(true), [5, 15, 30, 60, 60]);
        assert_eq!(grace(u32::MAX, true), None);
    }

    #[test]
    fn the_servers_wish_is_a_floor_and_nothing_else() {
        assert!(secs(Pace { wish: RetryAfter::After(Duration::from_secs(40)), ..pace() }) >= 40.0);
        assert!(secs(Pace { wish: RetryAfter::After(Duration::from_secs(1)), ..pace() }) >= 15.0);
        assert!(secs(Pace { wish: RetryAfter::After(Duration::MAX), ..pace() }) <= 3_600.0 * 1.25);
    }

    #[test]
    fn old_sub_batches_and_failing_polls_are_asked_for_less() {
        assert!(secs(Pace { age: Duration::from_secs(3_600), ..pace() }) >= 72.0);
        assert!(secs(Pace { age: Duration::from_secs(86_400), ..pace() }) <= 375.0);
        assert!(secs(Pace { n_failed: 3, ..pace() }) >= 120.0);
    }

    proptest! {
        #[test]
        fn no_poll_comes_earlier_than_it_may_and_an_org_is_never_asked_more_than_once_a_second(
            age in 0_u64..100_000, n_polled in 0_u32..200, n_failed in 0_u32..50, wish in 0_u64..100, seed: u64,
        ) {
            let wish = RetryAfter::After(Duration::from_secs(wish));
            let pace = Pace { every: EVERY, age: Duration::from_secs(age), n_polled, wish, n_failed };
            let wait = pace.wait(&mut fastrand::Rng::with_seed(seed));
            prop_assert!(wait >= EVERY);
            prop_assert!(f64::from(n_polled) / wait.as_secs_f64() <= 1.0);
        }
    }
}
