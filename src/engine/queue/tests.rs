//! Tests of the queue.

use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::model::LimitKind;

fn queue(n: usize) -> Queue {
    Queue::new(vec![Place::Waiting; n], |_| Family::Haiku)
}

const LIMITED: Trouble = Trouble::RateLimited(LimitKind::Steady);

#[test]
fn requests_go_out_in_input_order_and_failed_ones_first_once_due() {
    let mut queue = queue(3);
    let take =
        |queue: &mut Queue, now| queue.take(Family::Haiku, OrgId(0), true, now).map(|taken| (taken.no, taken.attempt));
    let t0 = Mono::ZERO;
    let later = t0 + Duration::from_secs(5);
    assert_eq!(take(&mut queue, t0), Some((RequestNo(0), 1)));
    queue.failed(RequestNo(0), OrgId(0), LIMITED, ApiError::default(), later);
    assert_eq!(take(&mut queue, t0), Some((RequestNo(1), 1)));
    assert_eq!(take(&mut queue, later), Some((RequestNo(0), 2)));
    assert_eq!(take(&mut queue, later), Some((RequestNo(2), 1)));
    assert_eq!(take(&mut queue, later), None);
}

#[test]
fn re_drives_wait_for_an_org_whose_budget_pays_and_hold_up_nothing_else() {
    let mut queue = queue(2);
    let take = |queue: &mut Queue, pays| queue.take(Family::Haiku, OrgId(0), pays, Mono::ZERO);
    take(&mut queue, true);
    queue.failed(RequestNo(0), OrgId(0), Trouble::Server, ApiError::default(), Mono::ZERO);
    let first = Taken { no: RequestNo(1), attempt: 1, paid: false };
    assert_eq!(take(&mut queue, false), Some(first));
    assert_eq!(queue.work(Family::Haiku, Mono::ZERO), Some(Work::Paid));
    assert_eq!(take(&mut queue, false), None);
    assert_eq!(take(&mut queue, true), Some(Taken { no: RequestNo(0), attempt: 2, paid: true }));
}

#[test]
fn families_have_queues_of_their_own() {
    let mut queue = Queue::new(vec![Place::Waiting; 4], |no| if no.0 % 2 == 0 { Family::Opus } else { Family::Haiku });
    let take = |queue: &mut Queue, family| queue.take(family, OrgId(0), true, Mono::ZERO).map(|taken| taken.no.0);
    assert_eq!(take(&mut queue, Family::Haiku), Some(1));
    assert_eq!(take(&mut queue, Family::Opus), Some(0));
    assert_eq!(take(&mut queue, Family::Haiku), Some(3));
    assert_eq!(take(&mut queue, Family::Haiku), None);
    assert!(queue.work(Family::Opus, Mono::ZERO).is_some() && queue.work(Family::Haiku, Mono::ZERO).is_none());
}

#[test]
fn what_recovery_found_done_is_not_sent() {
    let places = vec![Place::Done(Outcome::Succeeded), Place::Cached, Place::Waiting, Place::Done(Outcome::Invalid)];
    let mut queue = Queue::new(places, |_| Family::Haiku);
    assert_eq!(queue.counts().done(), 3);
    assert_eq!(queue.take(Family::Haiku, OrgId(0), true, Mono::ZERO).map(|taken| taken.no), Some(RequestNo(2)));
    assert!(queue.is_empty());
}

proptest! {
    /// Conservation: whatever happens in whatever order, every request is in exactly one place and the counters say so.
    #[test]
    fn every_request_is_in_exactly_one_place(n in 1usize..40, steps in prop::collection::vec((0u8..5, 0u32..40), 0..300)) {
        let mut queue = queue(n);
        let mut now = Mono::ZERO;
        for (step, arg) in steps {
            now = now + Duration::from_millis(10);
            let no = RequestNo(arg % n as u32);
            match step {
                0 => { queue.take(Family::Haiku, OrgId(0), arg % 2 == 0, now); }
                1 => queue.answered(no),
                2 => queue.synced(no, Outcome::Succeeded),
                3 if arg % 3 == 0 => queue.failed(no, OrgId(0), Trouble::Server, ApiError::default(), now),
                3 => queue.failed(no, OrgId(0), LIMITED, ApiError::default(), now + Duration::from_millis(u64::from(arg))),
                _ => queue.give_back(no, now),
            }
            let counts = queue.counts();
            let at = |place: Place| queue.places().iter().filter(|p| **p == place).count() as u64;
            prop_assert_eq!(counts.done() + counts.open(), n as u64);
            prop_assert_eq!(at(Place::InFlight), counts.in_flight);
            prop_assert_eq!(at(Place::Unsynced), counts.unsynced);
            prop_assert_eq!(at(Place::Done(Outcome::Succeeded)), counts.succeeded);
            let waits = at(Place::Waiting) + at(Place::Again);
            prop_assert_eq!(waits, queue.n_waiting());
            prop_assert_eq!(waits + counts.in_flight + counts.unsynced, counts.open());
        }
    }
}
