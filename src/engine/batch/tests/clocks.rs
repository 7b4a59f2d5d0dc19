//! The local clock is wrong, and is set right, or the other way round.

use super::world::{HOUR, Weather, World};
use crate::model::{Mono, SubBatchStatus};

const HOUR_MS: i64 = 3_600_000;

/// A world that has heard what time it is at the API, as the look at the orgs before the first request tells it.
fn world(n: u32, weather: Weather) -> World {
    let mut world = World::new(n, 10, weather, 3);
    let (now, at) = (world.now, world.wall(world.now));
    world.part().clock.heard(Some(at), now);
    world
}

#[test]
fn d9_a_local_clock_that_is_ahead_after_a_restart_makes_no_sub_batch_look_stuck() {
    for ahead_ms in [5 * HOUR_MS, 48 * HOUR_MS, -48 * HOUR_MS] {
        let mut world = world(30, Weather::default());
        world.run_until(|world| world.statuses().iter().all(|status| *status == SubBatchStatus::InProgress));
        for batch in &mut world.batches {
            batch.ends = Some(batch.created + HOUR);
        }
        world.ahead_ms = ahead_ms;
        world.kill();
        assert_eq!(world.run(), 0);
        assert!(world.part().subs.iter().all(|sub| sub.entry.stuck_cancel_intent_at.is_none()), "{ahead_ms}");
        assert!(!world.notices.iter().any(|text| text.contains("STUCK BATCH")), "{:?}", world.notices);
        world.check_books();
    }
}

#[test]
fn d9_one_that_is_stuck_is_seen_to_be_although_the_local_clock_is_behind_after_a_restart() {
    let mut world = world(10, Weather { wedged: 100, ..Weather::default() });
    world.run_until(|world| world.statuses() == [SubBatchStatus::InProgress]);
    world.now = world.now + 5 * HOUR;
    world.ahead_ms = -30 * 24 * HOUR_MS;
    world.kill();
    let killed_at = world.now;
    assert_eq!(world.run(), 0);
    assert!(world.part().subs[0].entry.stuck_cancel_intent_at.is_some());
    assert!(world.now < killed_at + HOUR, "{:?}", world.now);
    world.check_books();
}

#[test]
fn b5_a_batch_is_found_although_the_local_clock_was_set_between_the_kill_and_the_resume() {
    for ahead_ms in [-365 * 24 * HOUR_MS, -24 * HOUR_MS, 24 * HOUR_MS, 365 * 24 * HOUR_MS] {
        let mut world = world(10, Weather::default());
        world.run_until(|world| !world.batches.is_empty());
        assert_eq!(world.disk.entries[0].status, SubBatchStatus::Creating);
        world.ahead_ms = ahead_ms;
        world.kill();
        assert_eq!(world.run(), 0);
        assert_eq!(world.n_creates, 1, "{ahead_ms}");
        world.check_books();
        assert!(world.now < Mono::ZERO + 12 * HOUR);
    }
}
