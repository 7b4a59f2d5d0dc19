//! Processes are killed, at every edge of the state machine and at random.

use proptest::prelude::*;

use super::world::{HOUR, Weather, World};
use crate::model::{Mono, RunStatus, SubBatchStatus};

#[test]
fn b11_a_kill_at_every_edge_loses_nothing_and_creates_nothing_twice() {
    let weather = Weather { wedged: 50, ..Weather::default() };
    for wanted in SubBatchStatus::ALL {
        // The harvest of one that has ended begins at once, so that only the disk shows it.
        let live = if wanted == SubBatchStatus::Ended { SubBatchStatus::Harvesting } else { wanted };
        let weather = match live {
            SubBatchStatus::Adrift => Weather { lost: 100, ..weather },
            // It is not on the disk, and the next test is about what is unavailable.
            SubBatchStatus::Planned | SubBatchStatus::Unavailable => continue,
            _ => weather,
        };
        let mut world = World::new(60, 10, weather, 3);
        world.run_until(|world| world.disk.entries.iter().any(|entry| entry.status == live) || world.rested.is_some());
        let mut seen = false;
        for entry in world.disk.entries.iter_mut().filter(|entry| entry.status == live) {
            entry.status = wanted;
            seen = true;
        }
        assert!(seen, "{wanted} was not reached");
        world.kill();
        assert_eq!(world.run(), 0, "{wanted}");
        assert!(world.all_done(), "{wanted}");
        assert_eq!(world.n_creates, 6, "{wanted}");
        world.check_books();
    }
}

#[test]
fn b11_a_kill_before_the_first_intent_plans_anew() {
    let mut world = World::new(60, 10, Weather::default(), 3);
    assert!(world.disk.entries.is_empty());
    world.kill();
    assert_eq!(world.run(), 0);
    assert_eq!(world.n_creates, 6);
    world.check_books();
}

#[test]
fn b11_what_became_unavailable_stays_so_over_a_kill_until_the_operator_wants_it_again() {
    let mut world = World::new(20, 10, Weather::default(), 3);
    world.run_until(|world| world.statuses() == [SubBatchStatus::InProgress; 2]);
    world.batches[0].visible = Mono::ZERO + 1_000 * HOUR;
    world.run_until(|world| world.disk.entries.iter().any(|entry| entry.status == SubBatchStatus::Unavailable));
    world.kill();
    assert_eq!(world.run(), 4);
    assert_eq!(world.disk.journal.len(), 10);
    // A plain resume sends nothing of it: it may have been paid.
    world.restart(false);
    assert_eq!(world.run(), 4);
    assert_eq!(world.disk.journal.len(), 10);
    world.restart(true);
    assert_eq!(world.run(), 0);
    assert_eq!(world.n_creates, 2);
    assert!(world.all_done());
}

#[test]
fn b11_the_state_never_names_a_sub_batch_whose_members_are_not_durable() {
    let mut world = World::new(60, 10, Weather::default(), 3);
    while world.rested.is_none() {
        world.step();
        let named = world.part().entries();
        assert!(named.iter().all(|entry| world.disk.members.contains_key(&entry.index)), "{:?}", world.now);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn whatever_the_weather_and_whenever_it_is_killed_nothing_is_lost_and_nothing_is_paid_twice(
        seed: u64,
        lost in 0_u32..40,
        gone in 0_u32..20,
        full in 0_u32..40,
        failing in 0_u32..40,
        wedged in 0_u32..30,
        expired in 0_u32..30,
        hidden in 0_u32..50,
        kills in prop::collection::vec(1_usize..600, 0..6),
    ) {
        let weather = Weather { lost, gone, full, failing, wedged, expired, hidden };
        let mut world = World::new(150, 10, weather, seed);
        for steps in kills {
            for _ in 0..steps {
                if world.rested.is_none() {
                    world.step();
                }
            }
            if world.rested.is_none() {
                world.kill();
            }
        }
        let exit_code = world.run();
        prop_assert_eq!(exit_code, 0);
        prop_assert!(world.all_done());
        prop_assert!(world.n_creates <= 15 + world.n_kills);
        world.check_books();
        prop_assert_eq!(world.state.runs[0].status, RunStatus::Finished);
    }
}
