//! What a death of this process may leave in doubt at the most: a figure that is durable before it is used up.
//!
//! Calls that were out when a process is killed may have been billed, and nobody knows how many they were: the heartbeat in
//! `state.json` is seconds old. So the state carries a ceiling for the sum of the attempts that were answered, that may have
//! been charged, and that are out; and no call goes out that would pass the ceiling that is *durable*. What the journal
//! holds of answers is taken off that sum by the next session, so that after a kill no more is in doubt than was out or had
//! not come to the disk, and what is left of the lease: the room that the ceiling leaves above the sum.
//!
//! A lease is what is sent in a fraction of a second. It is renewed when half of it is used up, at the price of a write of
//! the state, so that calls practically never wait for it. When nothing has been sent for a while there is none, and a kill
//! leaves no more in doubt than is out; the first call afterwards waits for one write. The alternative, to note each request before
//! it is sent, would be exact, and have every call wait for the disk.

use std::collections::VecDeque;
use std::time::Duration;

use crate::model::Mono;

/// What is sent in so long is a lease.
const SPAN: Duration = Duration::from_millis(400);

/// The shortest time over which the rate of sending is measured: a burst is no rate.
const MEASURE_OVER: Duration = Duration::from_millis(100);

/// Between two states that lower the ceiling, and how long no call must have gone out, with none being answered, before
/// there is no lease.
const CALM: Duration = Duration::from_millis(200);

/// As [`CALM`], while calls are being answered: a run that sends a call now and then is not to write two states for each.
const QUIET: Duration = Duration::from_secs(1);

/// The least lease, where caps allow as much.
const LEAST: u64 = 16;

/// A lease that did not last until the next one was durable is doubled, up to so many times what can be out at once, or what the
/// rate would have it be.
const MOST_TIMES: u64 = 2;

/// What is counted under the ceiling.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Open {
    /// Attempts of the sync path that were answered, over all sessions; whether the answers are durable or not.
    pub(crate) answered: u64,
    /// Attempts that may have been charged, over all sessions.
    pub(crate) doubt: u64,
    /// Calls that are being answered.
    pub(crate) in_flight: u64,
    /// Requests that could be sent, now or later.
    pub(crate) waiting: u64,
}

impl Open {
    /// What the ceiling bounds.
    pub(crate) fn sum(self) -> u64 {
        self.answered + self.doubt + self.in_flight
    }
}

/// The ceiling of one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Promise {
    /// As the last state says that is known to be durable.
    durable: u64,
    /// Of states that were handed to the store since, oldest first: any of them may be what the disk holds.
    pending: VecDeque<u64>,
    /// As the last state says that was handed to the store.
    asked: u64,
    asked_at: Mono,
    /// The room that a ceiling leaves while calls go out.
    lease: u64,
    /// A call waited for the ceiling.
    starved: bool,
    /// Calls that went out since the last state.
    begun: u64,
    /// When the last call went out, or had a higher ceiling asked for.
    active_at: Option<Mono>,
}

impl Promise {
    /// The ceiling that a session begins with, which has no room: it must be durable when the session begins.
    pub(crate) fn first(open: Open) -> Promise {
        let sum = open.sum();
        Promise {
            durable: sum,
            pending: VecDeque::new(),
            asked: sum,
            asked_at: Mono::ZERO,
            lease: LEAST / 2,
            starved: false,
            begun: 0,
            active_at: None,
        }
    }

    /// The ceiling that a state is to say. What came into doubt without a call, from a sub-batch, may have passed it.
    pub(crate) fn ceiling(&self, open: Open) -> u64 {
        self.asked.max(open.sum())
    }

    /// Whether one more call may go out. One that may not is remembered, and asks for a higher ceiling.
    pub(crate) fn admits(&mut self, open: Open) -> bool {
        let least = self.pending.iter().copied().fold(self.durable, u64::min);
        let admits = open.sum() < least;
        self.starved |= !admits;
        admits
    }

    /// A call goes out.
    pub(crate) fn begun(&mut self, now: Mono) {
        self.begun += 1;
        self.active_at = Some(now);
    }

    /// Whether a state should be written now, because the room is used up or is not needed any more.
    pub(crate) fn is_due(&self, open: Open, now: Mono) -> bool {
        let (room, wanted) = (self.asked.saturating_sub(open.sum()), self.wanted(open, now));
        let is_low = room * 2 < wanted || (self.starved && room < wanted.max(1));
        if is_low {
            // One that is under way brings room, too.
            return self.pending.is_empty();
        }
        room > wanted && now.since(self.asked_at) >= CALM
    }

    /// The room that is needed above the sum.
    fn wanted(&self, open: Open, now: Mono) -> u64 {
        let after = if open.in_flight == 0 { CALM } else { QUIET };
        let is_long_ago = self.active_at.is_none_or(|active| now.since(active) >= after);
        // What waits for a state goes out when it is durable.
        let idle = !self.starved && self.pending.is_empty() && is_long_ago;
        if idle { 0 } else { self.lease.min(open.waiting) }
    }

    /// Sets the ceiling for the next state. `capacity` is how many calls can be out at once.
    pub(crate) fn renew(&mut self, open: Open, capacity: u64, now: Mono) -> u64 {
        let span = now.since(self.asked_at).max(MEASURE_OVER);
        let by_rate = (self.begun as f64 * SPAN.as_secs_f64() / span.as_secs_f64()).ceil() as u64;
        if self.starved {
            self.active_at = Some(now);
        }
        let lease = match self.starved {
            true => (self.lease * 2).min(by_rate.max(capacity) * MOST_TIMES),
            false => by_rate.max(self.lease / 2),
        };
        self.lease = lease.max(LEAST.min(capacity.max(1)));
        let room = self.wanted(open, now);
        self.asked = open.sum() + room;
        self.pending.push_back(self.asked);
        (self.asked_at, self.begun, self.starved) = (now, 0, false);
        self.asked
    }

    /// The oldest state that was not known to be durable is so.
    pub(crate) fn kept(&mut self) {
        if let Some(ceiling) = self.pending.pop_front() {
            self.durable = ceiling;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const CAPACITY: u64 = 300;

    fn at(ms: u64) -> Mono {
        Mono::from_span(Duration::from_secs(1_000) + Duration::from_millis(ms))
    }

    fn open(in_flight: u64) -> Open {
        Open { in_flight, waiting: 1_000_000, ..Open::default() }
    }

    /// A promise with a durable lease.
    fn leased() -> Promise {
        let mut promise = Promise::first(open(0));
        assert!(!promise.admits(open(0)) && promise.is_due(open(0), at(0)));
        promise.renew(open(0), CAPACITY, at(0));
        promise.kept();
        promise
    }

    #[test]
    fn a_slow_disk_does_not_have_the_room_taken_back_before_it_is_used() {
        let mut promise = Promise::first(open(0));
        assert!(!promise.admits(open(0)));
        promise.renew(open(0), CAPACITY, at(0));
        assert!(!promise.is_due(open(0), at(3_000)));
        promise.kept();
        assert!(promise.admits(open(0)));
    }

    #[test]
    fn d1_a_session_begins_with_nothing_in_doubt_and_no_call_goes_out_before_a_ceiling_is_durable() {
        let before = Open { answered: 70, doubt: 5, ..open(0) };
        let mut promise = Promise::first(before);
        assert_eq!(promise.ceiling(before), before.sum());
        assert!(!promise.is_due(before, at(0)), "nobody wants to send");
        assert!(!promise.admits(before) && promise.is_due(before, at(0)));
        let ceiling = promise.renew(before, CAPACITY, at(0));
        assert!(ceiling > before.sum() && !promise.admits(before), "it is not durable");
        promise.kept();
        assert!(promise.admits(before) && !promise.admits(Open { in_flight: ceiling - before.sum(), ..before }));
    }

    #[test]
    fn a_lower_ceiling_holds_from_the_moment_that_it_is_written_until_a_higher_one_is_durable() {
        let mut promise = leased();
        let room = promise.ceiling(open(0));
        let done = Open { waiting: 0, ..open(1) };
        assert_eq!(promise.renew(done, CAPACITY, at(1_000)), 1);
        assert!(!promise.admits(open(1)), "the disk may hold the lower one");
        let higher = promise.renew(open(1), CAPACITY, at(1_001));
        assert!(higher > 1 && room > 1);
        assert!(!promise.admits(open(1)), "nor is it sure that it holds the higher one");
        promise.kept();
        assert!(!promise.admits(open(1)), "and now it surely does");
        promise.kept();
        assert!(promise.admits(open(1)));
    }

    #[test]
    fn it_is_renewed_before_it_is_used_up_and_not_twice_at_once() {
        let mut promise = leased();
        let ceiling = promise.ceiling(open(0));
        let near = (0..ceiling).find(|out| promise.is_due(open(*out), at(10))).unwrap();
        assert!(near <= ceiling / 2 + 1, "{near} of {ceiling}");
        promise.renew(open(near), CAPACITY, at(10));
        assert!(!promise.is_due(open(ceiling), at(11)), "one is under way");
    }

    #[test]
    fn d1_nothing_is_in_doubt_beyond_what_is_out_when_nothing_waits_and_nothing_at_all_when_nothing_is_out() {
        let mut promise = leased();
        let last = Open { answered: 4, in_flight: 2, ..Open::default() };
        assert!(promise.is_due(last, at(500)));
        assert_eq!(promise.renew(last, CAPACITY, at(500)), last.sum());
        let mut promise = leased();
        promise.begun(at(100));
        // Requests wait, and no org takes any.
        let parked = Open { answered: 1, ..open(0) };
        assert!(!promise.is_due(parked, at(250)) && promise.is_due(parked, at(350)));
        assert_eq!(promise.renew(parked, CAPACITY, at(350)), parked.sum());
        // Nor beyond what is out when a long time nothing was sent.
        let mut promise = leased();
        promise.begun(at(100));
        assert!(!promise.is_due(open(3), at(1_050)) && promise.is_due(open(3), at(1_100)));
        assert_eq!(promise.renew(open(3), CAPACITY, at(1_100)), 3);
    }

    #[test]
    fn a_lease_is_what_goes_out_in_a_fraction_of_a_second() {
        let lease = |rate: u64, capacity: u64| {
            let mut promise = leased();
            let mut sum = 0;
            for ms in 1..5_000 {
                let begun = rate * ms / 1_000 - rate * (ms - 1) / 1_000;
                (0..begun).for_each(|_| promise.begun(at(ms)));
                sum += begun;
                let now = Open { answered: sum, ..open(1) };
                if promise.is_due(now, at(ms)) {
                    promise.renew(now, capacity, at(ms));
                    promise.kept();
                }
            }
            promise.lease
        };
        assert!((80..=130).contains(&lease(250, 300)), "{}", lease(250, 300));
        assert_eq!(lease(10, 300), LEAST);
        assert!((4..=8).contains(&lease(10, 4)), "{}", lease(10, 4));
        // Nobody answers so fast but a test: a lease must last until the next one is durable.
        assert!((38_000..=44_000).contains(&lease(100_000, 50)), "{}", lease(100_000, 50));
    }

    proptest! {
        /// Whatever the disk holds, what could be lost at any moment is not above its ceiling.
        #[test]
        fn what_is_counted_never_passes_a_ceiling_that_the_disk_may_hold(
            turns in prop::collection::vec((0_u8..6, 0_u64..300), 0..300),
        ) {
            let mut open = Open { waiting: 10_000, ..Open::default() };
            let mut promise = Promise::first(open);
            // The ceilings that the disk may hold: the last one that was acknowledged, and all that were handed in since.
            let mut disk = VecDeque::from([0_u64]);
            let mut ms = 0;
            for (what, span) in turns {
                match what {
                    0..=2 if promise.admits(open) => {
                        open.in_flight += 1;
                        promise.begun(at(ms));
                        prop_assert!(disk.iter().all(|ceiling| open.sum() <= *ceiling), "{open:?} {disk:?}");
                    }
                    3 if open.in_flight > 0 => (open.in_flight, open.answered) = (open.in_flight - 1, open.answered + 1),
                    4 if span % 2 == 0 => open.in_flight = open.in_flight.saturating_sub(1),
                    4 => ms += span,
                    5 if disk.len() > 1 => {
                        promise.kept();
                        disk.pop_front();
                    }
                    _ => {}
                }
                if promise.is_due(open, at(ms)) {
                    disk.push_back(promise.renew(open, 20, at(ms)));
                }
            }
        }
    }
}
