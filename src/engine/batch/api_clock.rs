//! What time it is at the API: as its answers said it, carried on by this machine's monotonic clock.
//!
//! The local wall clock may be wrong, and be set right between an intent and the search for what came of it, or between two
//! sessions; ages and moments of batches are therefore reckoned by the clock that gave them their times, where it was heard.

use crate::model::{Mono, Wall};

/// The API's clock.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ApiClock {
    heard: Option<(Wall, Mono)>,
}

impl ApiClock {
    /// An answer said what time it is.
    pub(crate) fn heard(&mut self, at: Option<Wall>, now: Mono) {
        self.heard = at.map(|at| (at, now)).or(self.heard);
    }

    /// What time it is; `None` when no answer has said so.
    pub(crate) fn now(&self, now: Mono) -> Option<Wall> {
        let (at, then) = self.heard?;
        let since = i64::try_from(now.since(then).as_millis()).unwrap_or(i64::MAX);
        Some(Wall(at.0.saturating_add(since)))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_apis_clock_goes_on_between_two_answers_and_an_answer_without_a_date_changes_nothing() {
        let mut clock = ApiClock::default();
        let second = |n| Mono::from_span(Duration::from_secs(n));
        assert_eq!(clock.now(second(1)), None);
        clock.heard(Some(Wall(500_000)), second(10));
        clock.heard(None, second(20));
        assert_eq!(clock.now(second(70)), Some(Wall(560_000)));
    }
}
