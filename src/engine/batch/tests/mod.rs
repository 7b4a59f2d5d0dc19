//! The batch part with the whole reducer around it, in virtual time.

mod api;
mod clocks;
mod crash;
mod money;
mod process;
mod trouble;
mod world;

use std::collections::HashSet;
use std::time::Duration;

use crate::engine::batch::pilot::Shape;
use crate::model::{AccountTrouble, Command, CommandOutcome, Mono, OrgId, Outcome, RequestNo, SubBatchStatus};

use world::{HOUR, RUN, SECOND, Theirs, Weather, World, error};

#[test]
fn b15_of_142_sub_batches_over_3_orgs_never_more_than_12_are_open_and_polls_are_spread() {
    let mut world = World::new(1_420, 10, Weather { full: 10, ..Weather::default() }, 5);
    assert_eq!(world.run(), 0, "{:#?}", world.notices);
    assert!(world.all_done());
    assert_eq!(world.n_creates, 142);
    assert!(world.most_open.values().all(|most| *most == 4), "{:?}", world.most_open);
    world.check_books();
    let mut all: Vec<Mono> = Vec::new();
    for polls in world.polls.values() {
        for pair in polls.windows(2) {
            assert!(pair[1].since(pair[0]) >= Duration::from_secs(15), "{pair:?}");
        }
        all.extend(polls);
    }
    // A dozen are open: with one poll in 15 s each, no minute may see more than 48.
    all.sort_unstable();
    let busiest = all.iter().map(|at| all.iter().filter(|b| **b >= *at && b.since(*at) < 60 * SECOND).count()).max();
    assert!(busiest.unwrap() <= 48, "{busiest:?}");
}

#[test]
fn b14_nothing_to_send_creates_nothing() {
    let mut world = World::new(10, 5, Weather::default(), 1);
    for no in 0..10 {
        world.disk.journal.insert(RequestNo(no), Outcome::Succeeded);
    }
    world.boot(false);
    assert_eq!(world.run(), 0);
    assert_eq!(world.n_creates, 0);
}

#[test]
fn b16_a_create_that_fails_holds_no_other() {
    for weather in [Weather { gone: 30, ..Weather::default() }, Weather { full: 50, ..Weather::default() }] {
        let mut world = World::new(120, 10, weather, 3);
        assert_eq!(world.run(), 0);
        assert_eq!(world.n_creates, 12);
        world.check_books();
    }
}

#[test]
fn b4_a_create_without_an_answer_is_adopted_and_never_sent_again() {
    let mut world = World::new(120, 10, Weather { lost: 100, ..Weather::default() }, 3);
    assert_eq!(world.run(), 0);
    assert_eq!(world.n_creates, 12);
    assert!(world.notices.iter().any(|text| text.contains("adopted")));
    world.check_books();
}

#[test]
fn b4_two_batches_that_fit_are_told_apart_by_their_results() {
    let mut world = World::new(10, 10, Weather { lost: 100, ..Weather::default() }, 3);
    let foreign = Theirs {
        id: "foreign".to_owned(),
        org: OrgId(0),
        members: (1_000..1_010).map(RequestNo).collect(),
        created: Mono::ZERO,
        visible: Mono::ZERO,
        ends: Some(Mono::ZERO + HOUR / 60),
        canceled: None,
        canceled_by_us: false,
        answered: None,
    };
    world.batches.push(foreign);
    assert_eq!(world.run(), 0);
    assert_eq!(world.n_creates, 1);
    assert!(world.notices.iter().any(|text| text.contains("may be any of")), "{:?}", world.notices);
    world.check_books();
}

#[test]
fn b4_a_batch_that_was_adopted_wrongly_is_let_go_of_when_its_results_are_there() {
    // The create was lost on its way, and a colleague's batch of the same size is found instead.
    let mut world = World::new(10, 10, Weather { gone: 100, ..Weather::default() }, 3);
    world.now = Mono::ZERO + 2 * HOUR;
    world.restart(false);
    let start = world.now;
    let foreign = |id: &str, created: Mono, first: u32| Theirs {
        id: id.to_owned(),
        org: OrgId(0),
        members: (first..first + 10).map(RequestNo).collect(),
        created,
        visible: created,
        ends: Some(created + 6 * HOUR),
        canceled: None,
        canceled_by_us: false,
        answered: None,
    };
    world.batches.push(foreign("foreign", start, 1_000));
    // The colleague makes batches of this size: whose the new one is, is a guess.
    world.batches.push(foreign("foreign-too", start - HOUR / 2, 2_000));
    world.run_until(|world| world.notices.iter().any(|text| text.contains("adopted")));
    world.weather.gone = 0;
    assert_eq!(world.run(), 0);
    assert!(!world.batches[0].canceled_by_us, "a guess is never canceled by itself");
    assert!(world.notices.iter().any(|text| text.contains("STUCK BATCH") && text.contains("guess")));
    assert_eq!(world.n_creates, 1);
}

#[test]
fn b3_a_batch_that_cannot_be_seen_at_first_is_waited_for_and_not_submitted_again() {
    let mut world = World::new(30, 10, Weather { hidden: 100, ..Weather::default() }, 3);
    assert_eq!(world.run(), 0);
    assert_eq!(world.n_creates, 3);
}

#[test]
fn b17_polls_that_fail_are_tolerated() {
    let mut world = World::new(30, 10, Weather { failing: 60, ..Weather::default() }, 3);
    assert_eq!(world.run(), 0);
    assert_eq!(world.n_creates, 3);
    world.check_books();
}

#[test]
fn a_wedged_sub_batch_is_canceled_at_the_threshold_and_only_what_was_not_processed_is_sent_again() {
    let mut world = World::new(20, 10, Weather { wedged: 100, ..Weather::default() }, 3);
    assert_eq!(world.run(), 0);
    assert!(world.all_done());
    world.check_books();
    let part = world.part();
    for sub in &part.subs {
        let canceled = sub.entry.stuck_canceled_at.unwrap();
        let age = canceled.0 - sub.entry.submitted_at.unwrap().0;
        assert!((4 * 3_600_000..4 * 3_600_000 + 5_000).contains(&age), "{age}");
        assert!(sub.entry.stuck_cancel_intent_at.unwrap() < canceled);
    }
    assert!(world.notices.iter().any(|text| text.starts_with("STUCK BATCH")));
}

#[test]
fn with_the_escape_on_asking_the_operator_is_asked_and_his_command_ends_it() {
    let mut world = World::new(10, 10, Weather { wedged: 100, ..Weather::default() }, 3);
    world.settings.escape = false;
    world.unattended = false;
    world.boot(false);
    world.run_until(|world| world.notices.iter().any(|text| text.contains("STUCK BATCH")));
    assert!(world.part().asks());
    let order = Command::CancelSubBatch { run: RUN, sub_batch: 0, seen: SubBatchStatus::InProgress };
    assert!(matches!(world.command(order), CommandOutcome::Done(_)));
    assert!(matches!(world.command(order), CommandOutcome::AlreadySo(_)));
    assert_eq!(world.run(), 0);
    assert!(matches!(world.command(order), CommandOutcome::AlreadySo(_)));
    world.check_books();
}

#[test]
fn b9_a_cancel_that_came_too_late_harvests_everything_and_sends_nothing_again() {
    let mut world = World::new(10, 10, Weather::default(), 3);
    world.run_until(|world| world.statuses() == [SubBatchStatus::InProgress]);
    world.command(Command::CancelSubBatch { run: RUN, sub_batch: 0, seen: SubBatchStatus::InProgress });
    // It ends by itself, with every row answered, while the cancel is on its way.
    world.batches[0].answered = Some((0..10).map(RequestNo).collect());
    world.run_until(|world| world.statuses() == [SubBatchStatus::Canceling]);
    assert_eq!(world.run(), 0);
    assert!(world.notices.iter().any(|text| text.contains("came too late")), "{:?}", world.notices);
    assert!(world.paid.is_empty(), "the sync path was used");
}

#[test]
fn a_cancel_of_somebody_else_is_left_by_an_unattended_run_and_sent_again_on_demand() {
    let mut world = World::new(10, 10, Weather::default(), 3);
    world.run_until(|world| !world.batches.is_empty());
    let now = world.now;
    world.batches[0].canceled = Some(now);
    assert_eq!(world.run(), 4);
    assert!(world.notices.iter().any(|text| text.contains("canceled by somebody else")), "{:?}", world.notices);
    let n_left = 10 - world.disk.journal.len();
    assert!(n_left > 0);
    // A plain resume sends nothing.
    world.restart(false);
    assert_eq!(world.run(), 4);
    assert_eq!(world.disk.journal.len(), 10 - n_left);
    world.restart(true);
    assert_eq!(world.run(), 0);
    world.check_books();
}

#[test]
fn a_cancel_of_somebody_else_asks_the_operator_who_is_there() {
    let mut world = World::new(10, 10, Weather::default(), 3);
    world.unattended = false;
    world.boot(false);
    world.run_until(|world| !world.batches.is_empty());
    let now = world.now;
    world.batches[0].canceled = Some(now);
    world.run_until(|world| world.statuses() == [SubBatchStatus::Harvested]);
    for _ in 0..100 {
        world.step();
    }
    assert_eq!(world.rested, None, "the question keeps the run open");
    let outcome = world.command(Command::ReDriveSubBatch { run: RUN, sub_batch: 0 });
    assert!(matches!(outcome, CommandOutcome::Done(_)), "{outcome:?}");
    assert_eq!(world.run(), 0);
    world.check_books();
}

#[test]
fn finishing_on_sync_moves_what_is_planned_at_once_and_what_is_open_after_its_harvest() {
    let mut world = World::new(200, 10, Weather::default(), 3);
    world.run_until(|world| world.n_creates >= 12);
    let order = Command::FinishOnSync { run: RUN, cancel_open: true };
    assert!(matches!(world.command(order), CommandOutcome::Done(_)));
    assert!(matches!(world.command(order), CommandOutcome::AlreadySo(_)));
    assert_eq!(world.run(), 0);
    assert!(world.n_creates <= 13, "{}", world.n_creates);
    assert!(world.now < Mono::ZERO + HOUR);
    world.check_books();
}

#[test]
fn a_drained_run_leaves_its_sub_batches_at_the_api_and_the_next_session_finds_them() {
    let mut world = World::new(200, 10, Weather::default(), 3);
    world.run_until(|world| world.n_creates >= 8);
    world.command(Command::DrainRun { run: RUN });
    assert_eq!(world.run(), 4);
    assert!(world.now < Mono::ZERO + 60 * SECOND, "a drain does not wait for batches");
    world.restart(false);
    assert_eq!(world.run(), 0);
    assert_eq!(world.n_creates, 20);
    world.check_books();
}

#[test]
fn a_shape_that_is_wrong_stops_the_run_before_anything_is_created() {
    let shape = |first: &[u32]| Shape {
        name: "claude-haiku-4-5 temperature=#".to_owned(),
        n: 50,
        first: first.iter().copied().map(RequestNo).collect(),
    };
    let mut world = World::new(100, 10, Weather::default(), 3);
    world.pilots = vec![shape(&[0, 1])];
    world.invalid = (0..100).map(RequestNo).collect();
    world.boot(false);
    assert_eq!(world.run(), 4);
    assert_eq!(world.n_creates, 0);
    assert_eq!(world.disk.journal.len(), 2);

    // One request that is wrong by itself is no shape.
    let mut world = World::new(100, 10, Weather::default(), 3);
    world.pilots = vec![shape(&[0, 1])];
    world.invalid = HashSet::from([RequestNo(0)]);
    world.boot(false);
    assert_eq!(world.run(), 3);
    assert!(world.all_done());
    world.check_books();
}

#[test]
fn an_org_in_account_trouble_creates_nothing_and_the_others_go_on() {
    let mut world = World::new(120, 10, Weather::default(), 3);
    let now = world.clock();
    let mut effects = Vec::new();
    crate::engine::park::for_account(
        &mut world.state,
        OrgId(1),
        AccountTrouble::Auth,
        &error("authentication_error"),
        now,
        &mut effects,
    );
    assert_eq!(world.run(), 0);
    assert!(world.batches.iter().all(|batch| batch.org != OrgId(1)));
}
