//! Sub-batches and the budget.

use super::*;
use crate::model::Money;
use crate::model::books::Limits;

/// What each of the world's requests can cost at the most in a batch.
fn at_most(world: &World) -> Money {
    world.state.runs[0].ledger.at_most(0, 1_000, 100, true)
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

/// What the API was paid never passes the limit.
fn check_budget(world: &World) {
    let ledger = &world.state.runs[0].ledger;
    let limit = world.limits.max_cost.unwrap();
    assert!(ledger.committed() + ledger.reserved() <= limit, "{} of {limit}", ledger.committed());
}

#[test]
fn a_sub_batch_that_the_budget_does_not_hold_goes_out_in_parts_when_nothing_else_is_out() {
    let mut world = limited(100, 100, 60);
    assert_eq!(world.run(), 0, "{:#?}", world.notices);
    assert!(world.all_done() && has(&world, "its first 60 go out as sub-batch 0, the other 40 wait as sub-batch 1"));
    assert_eq!((world.n_creates, world.batches[0].members.len(), world.batches[1].members.len()), (2, 60, 40));
    world.check_books();
    check_budget(&world);
}

#[test]
fn sub_batches_that_are_out_make_room_for_whole_ones_before_any_is_cut() {
    let mut world = limited(100, 20, 50);
    assert_eq!(world.run(), 0, "{:#?}", world.notices);
    assert_eq!(world.n_creates, 5, "{:#?}", world.notices);
    check_budget(&world);
}

#[test]
fn a_rest_that_is_too_small_for_a_batch_goes_out_on_the_sync_path_as_far_as_the_budget_goes() {
    let mut world = limited(100, 100, 20);
    // On the sync path each costs two tenths of what is reserved for it in a batch: 20 budgets of one pay for 91 of them.
    assert_eq!(world.run(), 4, "{:#?}", world.notices);
    assert!(has(&world, "the 100 that are not in a sub-batch go to the sync path"), "{:#?}", world.notices);
    assert_eq!((world.n_creates, world.disk.journal.len()), (0, 91));
    check_budget(&world);
    // With more to spend the rest is made into batches again.
    world.limits = Limits::default();
    world.restart(false);
    assert_eq!((world.run(), world.n_creates), (0, 1));
    assert_eq!(world.batches[0].members.len(), 9);
    world.check_books();
}

#[test]
fn a_budget_that_holds_no_request_at_all_ends_the_run() {
    let mut world = limited(10, 10, 0);
    assert_eq!((world.run(), world.n_creates, world.disk.journal.len()), (2, 0, 0), "{:#?}", world.notices);
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
