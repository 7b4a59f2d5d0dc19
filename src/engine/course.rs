//! Courses over a whole session in bounded memory: see [`crate::model::series`].
//!
//! Counting costs a comparison and an addition, and allocates nothing; closing a step, once a second at the most, pushes
//! into room that was made at the start.

use std::sync::Arc;

use crate::model::Mono;
use crate::model::series::{Course, OrgStep, RunStep};

/// Most steps kept: ten minutes by the second, a day by four minutes and a quarter.
const KEPT: usize = 600;

/// A step of a course.
pub(crate) trait Step: Copy + Default {
    /// This step and the one after it as one. Both are as wide.
    fn join(self, later: Self) -> Self;
    /// What the step after this one starts from.
    fn next(self) -> Self;
}

impl Step for OrgStep {
    fn join(self, later: OrgStep) -> OrgStep {
        OrgStep {
            answered: self.answered.saturating_add(later.answered),
            limited: self.limited.saturating_add(later.limited),
            failed: self.failed.saturating_add(later.failed),
            cuts: self.cuts.saturating_add(later.cuts),
            window: self.window.midpoint(later.window),
        }
    }

    fn next(self) -> OrgStep {
        OrgStep { window: self.window, ..OrgStep::default() }
    }
}

impl Step for RunStep {
    fn join(self, later: RunStep) -> RunStep {
        RunStep { done: self.done.saturating_add(later.done), cost: later.cost }
    }

    fn next(self) -> RunStep {
        RunStep { done: 0, cost: self.cost }
    }
}

/// A course in the making.
#[derive(Debug)]
pub(crate) struct CourseState<P> {
    /// When it starts.
    origin: Mono,
    step_s: u64,
    /// The closed steps; the open one comes after them.
    steps: Vec<P>,
    open: P,
    /// When the open step ends.
    ends: Mono,
    /// As it was shown last.
    shown: Course<P>,
}

impl<P: Step> CourseState<P> {
    /// A course that starts now.
    pub(crate) fn new(now: Mono) -> CourseState<P> {
        let mut course = CourseState {
            origin: now,
            step_s: 1,
            steps: Vec::with_capacity(KEPT),
            open: P::default(),
            ends: now,
            shown: Course::default(),
        };
        course.set_end();
        course
    }

    /// The step that is open now, to count in.
    pub(crate) fn at(&mut self, now: Mono) -> &mut P {
        if now >= self.ends {
            self.roll(now);
        }
        &mut self.open
    }

    /// Closes the steps that are over, and makes what is shown anew when there were any.
    pub(crate) fn refresh(&mut self, now: Mono) {
        self.at(now);
        if self.shown.steps.len() != self.steps.len() || self.shown.step_s != self.step_s {
            self.shown = Course { step_s: self.step_s, steps: Arc::from(self.steps.as_slice()) };
        }
    }

    /// The course up to the last refresh; shared.
    pub(crate) fn shown(&self) -> Course<P> {
        self.shown.clone()
    }

    /// Closes the steps that are over.
    fn roll(&mut self, now: Mono) {
        let passed = now.since(self.origin).as_secs();
        while passed / self.step_s >= KEPT as u64 {
            self.coarsen();
        }
        let open = (passed / self.step_s) as usize;
        while self.steps.len() < open {
            self.steps.push(self.open);
            self.open = self.open.next();
        }
        self.set_end();
    }

    /// Makes one step of two. An odd one at the end becomes a part of the open step.
    fn coarsen(&mut self) {
        if self.steps.len() % 2 == 1
            && let Some(last) = self.steps.pop()
        {
            self.open = last.join(self.open);
        }
        for pair in 0..self.steps.len() / 2 {
            self.steps[pair] = self.steps[2 * pair].join(self.steps[2 * pair + 1]);
        }
        self.steps.truncate(self.steps.len() / 2);
        self.step_s *= 2;
    }

    fn set_end(&mut self) {
        let secs = self.step_s.saturating_mul(self.steps.len() as u64 + 1);
        self.ends = self.origin + std::time::Duration::from_secs(secs);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;
    use crate::model::Money;

    fn secs(secs: u64) -> Mono {
        Mono::from_span(Duration::from_secs(secs))
    }

    #[test]
    fn counts_fall_into_their_steps_and_a_window_holds_until_it_changes() {
        let mut course = CourseState::<OrgStep>::new(secs(5));
        course.at(secs(5)).window = 25;
        course.at(secs(5)).answered += 3;
        course.at(secs(8)).answered += 1;
        course.refresh(secs(9));
        let shown = course.shown();
        let answered: Vec<_> = shown.steps.iter().map(|step| (step.answered, step.window)).collect();
        assert_eq!((shown.step_s, answered), (1, vec![(3, 25), (0, 25), (0, 25), (1, 25)]));
    }

    #[test]
    fn a_day_takes_no_more_room_than_ten_minutes_and_loses_no_count() {
        let mut course = CourseState::<OrgStep>::new(Mono::ZERO);
        for second in 0..86_400 {
            course.at(secs(second)).answered += 2;
        }
        course.refresh(secs(86_400));
        let shown = course.shown();
        assert_eq!(course.steps.capacity(), KEPT);
        assert!((KEPT / 2..=KEPT).contains(&shown.steps.len()), "{}", shown.steps.len());
        let closed = shown.step_s * shown.steps.len() as u64;
        assert!(86_400 - closed < shown.step_s);
        assert_eq!(shown.steps.iter().map(|step| u64::from(step.answered)).sum::<u64>(), 2 * closed);
    }

    #[test]
    fn the_cost_of_a_step_is_that_at_its_end() {
        let mut course = CourseState::<RunStep>::new(Mono::ZERO);
        for second in 0..1_000 {
            course.at(secs(second)).cost = Money(second);
        }
        course.refresh(secs(1_000));
        let shown = course.shown();
        assert_eq!((shown.step_s, shown.steps[0].cost, shown.steps[499].cost), (2, Money(1), Money(999)));
    }

    #[test]
    fn a_course_that_did_not_move_is_shared_and_not_copied() {
        let mut course = CourseState::<OrgStep>::new(Mono::ZERO);
        let mut shown = |at: Mono| {
            course.refresh(at);
            course.shown().steps
        };
        let first = shown(secs(3));
        assert!(Arc::ptr_eq(&first, &shown(secs(3) + Duration::from_millis(900))));
        assert!(!Arc::ptr_eq(&first, &shown(secs(4))));
    }

    proptest! {
        #[test]
        fn no_count_is_lost_whatever_the_gaps(gaps in proptest::collection::vec(0u64..5_000_000_000, 1..60)) {
            let mut course = CourseState::<OrgStep>::new(Mono(17));
            let mut now = Mono(17);
            for gap in &gaps {
                now = Mono(now.0 + gap);
                course.at(now).answered += 1;
            }
            course.refresh(now);
            let closed: u32 = course.shown().steps.iter().map(|step| step.answered).sum();
            prop_assert_eq!(closed + course.open.answered, gaps.len() as u32);
            prop_assert!(course.steps.len() < KEPT && now < course.ends);
        }
    }

    #[test]
    fn a_clock_at_its_end_breaks_nothing() {
        let mut course = CourseState::<OrgStep>::new(Mono::ZERO);
        course.at(Mono(u64::MAX)).answered += 1;
        assert!(course.steps.len() < KEPT);
    }
}
