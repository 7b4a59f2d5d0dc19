//! Sub-batches and the budget.

use super::*;
use crate::model::Money;
use crate::model::books::Limits;

/// What each of the world's requests can cost at the most in a batch.
fn at_most(world: &World) -> Money {
    world.state.runs[0].at_most_in_batch(RequestNo(0))
}

/// A world whose run may cost as much as `n` of its requests in a batch at the most; each costs a tenth of that.
fn limited(n_requests: u32, size: u32, n: u64) -> World {
    let mut world = World::new(n_requests, size, Weather::default(), 3);
    let at_most = at_most(&world);
    world.limits = Limits { max_cost: Some(Money(at_most.0 * n)), ..Limits::default() };
    world.cost = Money(at_most.0 / 10);
    world.boot(false);
    world
}

fn has(world: &World, text: &str) -> bool {
    world.notices.iter().any(|notice| notice.contains(text))
}

/// Runs to the end; what was paid and what is out never pass the limit together.
fn run(world: &mut World) -> u8 {
    let limit = world.limits.max_cost.unwrap();
    world.run_until(|world| {
        let ledger = &world.state.runs[0].ledger;
        let (paid, out) = (ledger.committed(), ledger.reserved());
        assert!(paid + out <= limit, "{paid} and {out} of {limit}");
        world.rested.is_some()
    });
    world.rested.unwrap()
}

#[test]
fn a_harvest_is_no_part_of_the_rate() {
    let mut world = World::new(200, 100, Weather::default(), 3);
    world.boot(false);
    world.run_until(|world| {
        let answered: u32 = world.state.runs[0].wire.seconds().iter().sum();
        assert!(answered < 10, "{answered} answers of a sync path that had a pilot a shape to send");
        world.rested.is_some()
    });
    assert!(world.all_done());
}

#[test]
fn a_sub_batch_that_the_budget_does_not_hold_goes_out_in_parts_when_nothing_else_is_out() {
    let mut world = limited(100, 100, 60);
    assert_eq!(run(&mut world), 0, "{:#?}", world.notices);
    assert!(world.all_done() && has(&world, "its first 60 go out as sub-batch 0, the other 40 wait as sub-batch 1"));
    assert_eq!((world.n_creates, world.batches[0].members.len(), world.batches[1].members.len()), (2, 60, 40));
    world.check_books();
}

#[test]
fn parts_follow_each_other_while_what_they_leave_holds_enough_requests() {
    let mut world = limited(100, 100, 20);
    assert_eq!(run(&mut world), 0, "{:#?}", world.notices);
    assert!(world.n_creates > 4 && !has(&world, "go to the sync path"));
    assert!(world.batches.windows(2).all(|pair| pair[0].members.len() >= pair[1].members.len()));
    world.check_books();
}

#[test]
fn sub_batches_that_are_out_make_room_for_whole_ones_before_any_is_cut() {
    let mut world = limited(100, 20, 50);
    assert_eq!(run(&mut world), 0, "{:#?}", world.notices);
    assert_eq!(world.n_creates, 5, "{:#?}", world.notices);
}

#[test]
fn a_rest_that_is_too_small_for_a_batch_goes_out_on_the_sync_path_as_far_as_the_budget_goes() {
    let mut world = limited(100, 100, 9);
    // On the sync path each costs two tenths of what is reserved for it in a batch, and reserves twice that.
    assert_eq!(run(&mut world), 4, "{:#?}", world.notices);
    assert!(has(&world, "the 100 that are not in a sub-batch go to the sync path"), "{:#?}", world.notices);
    assert_eq!((world.n_creates, world.disk.journal.len()), (0, 36));
    // With more to spend the rest is made into batches again.
    world.limits = Limits::default();
    world.restart(false);
    assert_eq!((world.run(), world.n_creates), (0, 1));
    assert_eq!(world.batches[0].members.len(), 64);
    world.check_books();
}

#[test]
fn a_budget_that_holds_no_request_at_all_ends_the_run() {
    let mut world = limited(10, 10, 0);
    assert_eq!((run(&mut world), world.n_creates, world.disk.journal.len()), (2, 0, 0), "{:#?}", world.notices);
    assert!(!has(&world, "go to the sync path"));
}

#[test]
fn b5_a_sub_batch_whose_members_are_durable_is_cut_under_new_indexes() {
    let mut world = limited(100, 100, 1_000);
    world.weather.full = 100;
    world.run_until(|world| world.disk.members.contains_key(&0));
    let limits = Limits { max_cost: Some(Money(at_most(&world).0 * 60)), ..Limits::default() };
    world.state.runs[0].budget = crate::engine::budget::Budget::new(limits, &[]);
    world.run_until(|world| has(world, "takes no new sub-batch"));
    world.weather.full = 0;
    assert_eq!(world.run(), 0, "{:#?}", world.notices);
    let homes: Vec<usize> = world.disk.members.values().map(Vec::len).collect();
    assert_eq!(homes, [100, 60, 40]);
    world.check_books();
}

#[test]
fn answers_of_sub_batches_that_cost_more_than_was_reserved_raise_the_reservations() {
    let mut world = limited(80, 20, 45);
    world.cost = Money(at_most(&world).0 * 3 / 2);
    // Two sub-batches go out at once, are billed half of 40 budgets more, and leave nothing.
    assert_eq!((world.run(), world.n_creates), (4, 2), "{:#?}", world.notices);
    assert!(has(&world, "1.5 times as much is reserved"), "{:#?}", world.notices);
    assert_eq!(world.state.runs[0].books().dearer, 1_500);
}

#[test]
fn d1_what_a_harvest_found_no_result_of_is_in_doubt_in_the_state_that_calls_it_harvested() {
    let mut world = limited(10, 10, 1_000);
    world.run_until(|world| !world.batches.is_empty());
    world.batches[0].members.pop();
    world.run_until(|world| world.statuses() == [SubBatchStatus::Harvested]);
    let state = &world.state.runs[0];
    assert_eq!(state.queue.place(RequestNo(9)), Some(crate::engine::queue::Place::Batched), "it is not durable yet");
    assert_eq!(state.ledger.in_doubt(), (1, at_most(&world)));
    assert_eq!((run(&mut world), world.state.runs[0].ledger.in_doubt().0), (0, 1));
}

#[test]
fn requests_of_a_batch_that_was_given_up_are_in_doubt_once_when_they_are_sent_again() {
    for in_session in [true, false] {
        let mut world = limited(10, 10, 1_000);
        (world.unattended, world.n_pages) = (!in_session, u32::MAX);
        world.boot(false);
        world.run_until(|world| world.statuses() == [SubBatchStatus::Unavailable]);
        let ledger = &world.state.runs[0].ledger;
        let whole = Money(at_most(&world).0 * 10);
        assert_eq!((ledger.in_doubt().0, ledger.reserved()), (0, whole), "it may still be found");
        if in_session {
            world.command(Command::ReDriveSubBatch { run: RUN, sub_batch: 0 });
        } else {
            assert_eq!(world.run(), 4);
            world.restart(true);
        }
        let ledger = &world.state.runs[0].ledger;
        assert_eq!((ledger.in_doubt(), ledger.reserved_in_batches()), ((10, whole), Money::ZERO));
        assert_eq!(world.run(), 0, "{:#?}", world.notices);
        assert_eq!(world.state.runs[0].ledger.in_doubt().0, 10);
    }
}

#[test]
fn a_run_at_the_end_of_its_budget_does_without_a_second_pilot() {
    let mut world = limited(50, 10, 1_000);
    world.pilots = vec![Shape { name: "s".to_owned(), n: 50, first: vec![RequestNo(0), RequestNo(1)] }];
    world.invalid = HashSet::from([RequestNo(0)]);
    world.boot(false);
    let doubt = Money(world.limits.max_cost.unwrap().0 * 95 / 100);
    let now = world.clock().wall;
    world.state.runs[0].ledger.doubt(OrgId(0), crate::model::Route::Sync, 0, "timeout", doubt, now);
    assert_eq!(world.run(), 3, "{:#?}", world.notices);
    assert!(world.all_done() && has(&world, "without another one"), "{:#?}", world.notices);
    assert!(!world.paid.contains_key(&RequestNo(1)) || world.batches.iter().any(|b| b.members.contains(&RequestNo(1))));
    world.check_books();
}
