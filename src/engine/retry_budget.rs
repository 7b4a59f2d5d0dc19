//! The retry budget of an org: how many re-drives its successes pay for.
//!
//! When a share of all calls fails, sending each again at once multiplies the load on a service that is in trouble
//! already. An org may therefore be sent one re-drive for every five successes, and a few a second in any case, so that
//! a small run comes to its end (the figures of Finagle's retry budgets). First attempts are not held back by it:
//! that is the breaker's business. Re-drives after a 429 are not charged: gate, window and pace answer for those.

use crate::model::Mono;

/// Re-drives that one success pays for.
const PER_SUCCESS: f64 = 0.2;

/// Re-drives a second that are free.
const FREE_PER_SECOND: f64 = 5.0;

/// Most that can be saved up.
const MOST: f64 = 100.0;

/// See the module.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RetryBudget {
    tokens: f64,
    at: Mono,
}

impl Default for RetryBudget {
    fn default() -> RetryBudget {
        RetryBudget { tokens: MOST, at: Mono::ZERO }
    }
}

impl RetryBudget {
    /// Whether it pays for a re-drive now.
    pub(crate) fn pays(&self, now: Mono) -> bool {
        self.at(now) >= 1.0
    }

    /// A re-drive is sent.
    pub(crate) fn spend(&mut self, now: Mono) {
        self.tokens = (self.at(now) - 1.0).max(0.0);
        self.at = now;
    }

    /// A call was answered.
    pub(crate) fn earn(&mut self) {
        self.tokens = (self.tokens + PER_SUCCESS).min(MOST);
    }

    fn at(&self, now: Mono) -> f64 {
        (self.tokens + FREE_PER_SECOND * now.since(self.at).as_secs_f64()).min(MOST)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn re_drives_are_paid_by_successes_and_a_few_a_second_are_free() {
        let mut budget = RetryBudget::default();
        let mut now = Mono::ZERO;
        let drain = |budget: &mut RetryBudget, now: Mono| {
            let mut n = 0;
            while budget.pays(now) {
                budget.spend(now);
                n += 1;
            }
            n
        };
        assert_eq!(drain(&mut budget, now), 100);
        now = now + Duration::from_secs(2);
        assert_eq!(drain(&mut budget, now), 10);
        for _ in 0..26 {
            budget.earn();
        }
        assert_eq!(drain(&mut budget, now), 5);
    }
}
