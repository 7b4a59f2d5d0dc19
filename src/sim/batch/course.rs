//! How a batch goes from its creation to its end, as a function of time.

use std::time::Duration;

use super::EXPIRES_AFTER;

/// The course of a batch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Course {
    pub(super) created: Duration,
    /// How many rows there are.
    pub(super) n_rows: usize,
    /// How long it takes when nothing stops it.
    pub(super) takes: Duration,
    /// The share of its rows at which it stops for ever.
    pub(super) wedged_at: Option<f64>,
    /// How long a cancel takes; `None` never ends it.
    pub(super) cancel_takes: Option<Duration>,
    /// When it was cancelled.
    pub(super) canceled: Option<Duration>,
}

/// What becomes of the rows that were not processed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tail {
    Canceled,
    Expired,
}

impl Course {
    /// When it ends, as things stand.
    pub(super) fn ends_at(&self) -> Duration {
        let expiry = self.expires_at();
        let by_itself = if self.wedged_at.is_some() { expiry } else { self.created.saturating_add(self.takes) };
        let by_cancel = match (self.canceled, self.cancel_takes) {
            (Some(at), Some(takes)) => at.saturating_add(takes),
            _ => expiry,
        };
        expiry.min(by_itself).min(by_cancel)
    }

    pub(super) fn expires_at(&self) -> Duration {
        self.created.saturating_add(EXPIRES_AFTER)
    }

    /// How many rows are processed by then. A cancel lets those finish that would finish while it takes.
    pub(super) fn done_at(&self, at: Duration) -> usize {
        let at = at.min(self.ends_at());
        let share = match self.takes {
            Duration::ZERO => 1.0,
            takes => (at.saturating_sub(self.created).as_secs_f64() / takes.as_secs_f64()).min(1.0),
        };
        let share = self.wedged_at.map_or(share, |most| share.min(most));
        ((self.n_rows as f64 * share) as usize).min(self.n_rows)
    }

    /// What becomes of the rows that are left at its end.
    pub(super) fn tail(&self) -> Tail {
        let ended_by_cancel = self.canceled.is_some() && self.ends_at() < self.expires_at();
        if ended_by_cancel { Tail::Canceled } else { Tail::Expired }
    }

    /// Whether it is being cancelled at this moment.
    pub(super) fn is_canceling(&self, now: Duration) -> bool {
        self.canceled.is_some() && now < self.ends_at()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MINUTE: Duration = Duration::from_secs(60);

    fn course() -> Course {
        Course {
            created: MINUTE,
            n_rows: 1_000,
            takes: MINUTE * 10,
            wedged_at: None,
            cancel_takes: Some(MINUTE / 2),
            canceled: None,
        }
    }

    #[test]
    fn a_batch_that_nothing_stops_ends_with_everything_done() {
        assert_eq!(course().ends_at(), MINUTE * 11);
        assert_eq!(
            [MINUTE, MINUTE * 6, MINUTE * 11, MINUTE * 99].map(|at| course().done_at(at)),
            [0, 500, 1_000, 1_000]
        );
    }

    #[test]
    fn a_cancel_ends_it_when_what_ran_is_finished() {
        let canceled = Course { canceled: Some(MINUTE * 6), ..course() };
        assert_eq!(canceled.ends_at(), MINUTE * 6 + MINUTE / 2);
        assert_eq!((canceled.done_at(MINUTE * 99), canceled.tail()), (550, Tail::Canceled));
        assert!(canceled.is_canceling(MINUTE * 6) && !canceled.is_canceling(MINUTE * 7));
    }

    #[test]
    fn b9_a_cancel_that_comes_too_late_changes_nothing() {
        let late = Course { canceled: Some(MINUTE * 6), cancel_takes: None, ..course() };
        assert_eq!((late.ends_at(), late.done_at(MINUTE * 99)), (MINUTE * 11, 1_000));
    }

    #[test]
    fn a_wedged_batch_ends_by_cancel_or_after_a_day() {
        let wedged = Course { wedged_at: Some(0.4), ..course() };
        assert_eq!((wedged.ends_at(), wedged.tail()), (wedged.expires_at(), Tail::Expired));
        assert_eq!(wedged.done_at(MINUTE * 600), 400);
        let canceled = Course { canceled: Some(MINUTE * 300), ..wedged };
        assert_eq!((canceled.ends_at(), canceled.tail()), (MINUTE * 300 + MINUTE / 2, Tail::Canceled));
        let never = Course { cancel_takes: None, ..canceled };
        assert_eq!((never.ends_at(), never.tail()), (never.expires_at(), Tail::Expired));
    }

    proptest! {
        #[test]
        fn progress_never_goes_back_and_stays_within_the_rows(
            takes in 0u64..100_000, wedged in proptest::option::of(0.0f64..1.0), cancel in proptest::option::of(0u64..100_000),
            cancel_takes in proptest::option::of(0u64..10_000), mut moments in proptest::collection::vec(0u64..200_000, 2..20)
        ) {
            let course = Course {
                created: Duration::ZERO, n_rows: 77, takes: Duration::from_secs(takes), wedged_at: wedged,
                cancel_takes: cancel_takes.map(Duration::from_secs), canceled: cancel.map(Duration::from_secs),
            };
            moments.sort_unstable();
            let done: Vec<usize> = moments.iter().map(|at| course.done_at(Duration::from_secs(*at))).collect();
            prop_assert!(done.is_sorted() && done.iter().all(|done| *done <= 77));
            prop_assert!(course.ends_at() <= course.expires_at());
        }
    }
}
