//! What an API, a colleague or a clock can do to sub-batches, and what becomes of the run.

use std::collections::HashSet;
use std::time::Duration;

use super::world::{HOUR, RUN, Weather, World, error};
use crate::engine::park;
use crate::model::{AccountTrouble, Command, Mono, OrgId, RequestNo, SubBatchStatus, Trouble};

#[test]
fn one_of_an_earlier_session_that_ended_long_ago_is_harvested_and_never_called_stuck() {
    let mut world = World::new(30, 10, Weather::default(), 3);
    world.run_until(|world| world.statuses().iter().all(|status| *status == SubBatchStatus::InProgress));
    world.now = world.now + 20 * HOUR;
    world.kill();
    assert_eq!(world.run(), 0);
    assert!(!world.notices.iter().any(|text| text.contains("STUCK BATCH")), "{:?}", world.notices);
    assert!(world.part().subs.iter().all(|sub| sub.entry.stuck_cancel_intent_at.is_none()));
    world.check_books();
}

#[test]
fn l10_a_key_that_is_revoked_midway_parks_its_org_and_the_run_ends_resumable_when_the_others_are_done() {
    let mut world = World::new(120, 10, Weather::default(), 3);
    world.run_until(|world| world.n_creates >= 9);
    world.revoked.insert(OrgId(1));
    assert_eq!(world.run(), 4);
    assert_eq!(world.notices.iter().filter(|text| text.starts_with("b: parked")).count(), 1);
    let of_the_others = world.part().subs.iter().filter(|sub| sub.org != Some(OrgId(1)));
    assert!(of_the_others.clone().all(|sub| sub.status() == SubBatchStatus::Harvested));
    // Its sub-batches are still there, and nothing of them went anywhere else.
    assert!(world.part().subs.iter().any(|sub| sub.org == Some(OrgId(1)) && sub.status().is_open()));
    world.revoked.clear();
    world.restart(false);
    assert_eq!(world.run(), 0);
    assert_eq!(world.n_creates, 12);
    world.check_books();
}

#[test]
fn b7_sub_batches_of_an_org_without_credit_are_waited_for_while_the_api_tells_of_them() {
    // Those of the org without credit end last, when nothing else is waited for.
    let mut world = World::new(90, 10, Weather::default(), 3);
    world.run_until(|world| world.n_creates >= 9);
    for batch in world.batches.iter_mut().filter(|batch| batch.org == OrgId(1)) {
        batch.ends = Some(batch.created + HOUR * 2);
    }
    let (now, too_low) = (world.clock(), error("invalid_request_error"));
    park::for_account(&mut world.state, OrgId(1), AccountTrouble::Credit, &too_low, now, &mut Vec::new());
    assert_eq!(world.run(), 0);
    assert_eq!(world.n_creates, 9);
    world.check_books();
}

#[test]
fn b4_a_create_that_is_answered_with_the_id_of_another_sub_batch_is_looked_for_in_the_list() {
    let mut world = World::new(60, 10, Weather::default(), 3);
    world.echoes = true;
    assert_eq!(world.run(), 0);
    assert_eq!(world.n_creates, 6);
    let ids: HashSet<_> = world.part().subs.iter().map(|sub| sub.entry.batch_id.clone()).collect();
    assert_eq!(ids.len(), 6);
    world.check_books();
}

#[test]
fn with_every_key_revoked_what_is_only_planned_holds_no_unattended_run() {
    let mut world = World::new(200, 10, Weather::default(), 3);
    world.run_until(|world| world.n_creates >= 9);
    world.revoked = (0..3).map(OrgId).collect();
    assert_eq!(world.run(), 4);
    world.revoked.clear();
    world.restart(false);
    assert_eq!(world.run(), 0);
    assert_eq!(world.n_creates, 20);
    world.check_books();
}

#[test]
fn an_api_that_answers_no_poll_for_a_quarter_of_an_hour_ends_an_unattended_run_resumable() {
    let mut world = World::new(30, 10, Weather { wedged: 100, ..Weather::default() }, 3);
    world.state.settings.outage_limit = Some(Duration::from_secs(900));
    world.run_until(|world| world.statuses().iter().all(|status| *status == SubBatchStatus::InProgress));
    world.away = true;
    let since = world.now;
    assert_eq!(world.run(), 4);
    assert!(world.now.since(since) < Duration::from_secs(1_800), "{:?}", world.now);
    world.away = false;
    world.restart(false);
    assert_eq!(world.run(), 0);
    assert_eq!(world.n_creates, 3);
    world.check_books();
}

#[test]
fn b16_one_that_the_api_calls_wrong_goes_to_the_sync_path_and_the_other_eleven_go_on() {
    let mut world = World::new(120, 10, Weather::default(), 3);
    world.wrong = HashSet::from([7]);
    assert_eq!(world.run(), 0);
    assert!(world.all_done());
    assert_eq!(world.n_creates, 11);
    assert_eq!(world.paid.len(), 120);
    assert!(world.notices.iter().any(|text| text.contains("each is judged by itself")));
    world.check_books();
    // When all of them are wrong, it is the run that is wrong.
    let mut world = World::new(120, 10, Weather::default(), 3);
    world.wrong = (0..12).collect();
    assert_eq!(world.run(), 2);
    assert_eq!((world.n_creates, world.paid.len()), (0, 0));
}

#[test]
fn a_create_that_is_refused_after_the_operator_chose_sync_follows_there() {
    let mut world = World::new(60, 10, Weather { full: 100, ..Weather::default() }, 3);
    world.run_until(|world| world.statuses().contains(&SubBatchStatus::Creating));
    world.command(Command::FinishOnSync { run: RUN, cancel_open: false });
    assert_eq!(world.run(), 0);
    assert!(world.all_done());
    assert_eq!(world.n_creates, 0);
}

#[test]
fn b6_an_expired_batch_without_any_results_is_sent_again_because_its_counts_say_that_nothing_was_paid() {
    let mut world = World::new(10, 10, Weather::default(), 3);
    world.without_results = true;
    assert_eq!(world.run(), 0);
    assert!(world.all_done());
    assert_eq!(world.part().subs[0].entry.tally.n_expired, 10);
    assert_eq!(world.paid.len(), 10);
}

#[test]
fn a_lost_create_that_somebody_canceled_meanwhile_is_adopted_and_asked_about() {
    let mut world = World::new(10, 10, Weather { lost: 100, ..Weather::default() }, 3);
    world.run_until(|world| !world.batches.is_empty());
    let now = world.now;
    world.batches[0].canceled = Some(now);
    assert_eq!(world.run(), 4, "its rows are left re-drivable");
    assert!(world.notices.iter().any(|text| text.contains("canceled by somebody else")), "{:?}", world.notices);
}

#[test]
fn keys_of_one_organisation_share_what_may_be_open_and_create_one_after_the_other() {
    let mut world = World::new(200, 10, Weather { wedged: 100, ..Weather::default() }, 3);
    let now = world.clock();
    for org in (0..3).map(OrgId) {
        crate::engine::organisation::told(&mut world.state, org, "the same".to_owned(), now, &mut Vec::new());
    }
    world.run_until(|world| world.now > Mono::ZERO + HOUR);
    assert_eq!(world.n_creates, 4);
}

#[test]
fn b20_a_page_of_a_proxy_in_place_of_the_results_makes_nothing_be_paid_twice() {
    let mut world = World::new(30, 10, Weather::default(), 3);
    world.n_pages = 7;
    assert_eq!(world.run(), 0);
    assert_eq!(world.n_creates, 3);
    world.check_books();
    assert!(world.paid.values().all(|n| *n == 1), "{:?}", world.paid);
    // When it never goes away, the operator decides.
    let mut world = World::new(30, 10, Weather::default(), 3);
    world.n_pages = u32::MAX;
    assert_eq!(world.run(), 4);
    assert!(world.statuses().iter().all(|status| *status == SubBatchStatus::Unavailable));
    assert!(world.paid.values().all(|n| *n <= 1), "{:?}", world.paid);
    // The next session looks once more, before anybody pays again.
    world.n_pages = 0;
    world.restart(false);
    assert_eq!(world.run(), 0);
    world.check_books();
}

#[test]
fn a_cancel_that_is_not_known_at_its_address_costs_no_result_and_parks_nobody() {
    for pages in [false, true] {
        let mut world = World::new(30, 10, Weather { wedged: 100, ..Weather::default() }, 3);
        (world.without_cancel, world.with_pages) = (!pages, pages);
        assert_eq!(world.run(), 0);
        assert!(world.notices.iter().any(|text| text.contains("STUCK BATCH")));
        assert!(!world.notices.iter().any(|text| text.contains("may have been paid")), "{:?}", world.notices);
        assert!(world.state.orgs.iter().all(|org| org.parked.is_none()));
        world.check_books();
    }
}

#[test]
fn a_result_of_a_type_that_is_not_known_is_left_until_the_operator_has_it_sent_again() {
    let mut world = World::new(30, 10, Weather::default(), 3);
    world.unknown = [3, 14, 15].map(RequestNo).into();
    assert_eq!((world.run(), world.disk.journal.len()), (4, 27), "{:#?}", world.notices);
    assert_eq!(world.state.runs[0].ledger.in_doubt().0, 3);
    assert!(world.notices.iter().any(|text| text.contains("type \"half\"") && text.contains("--re-drive")));
    // Neither does another session.
    world.restart(false);
    assert_eq!((world.run(), world.disk.journal.len()), (4, 27), "{:#?}", world.notices);
    world.restart(true);
    assert_eq!(world.run(), 0, "{:#?}", world.notices);
    assert!(world.all_done());
    assert_eq!(world.n_creates, 3);
}

#[test]
fn of_a_sub_batch_with_unknown_results_the_others_are_sent_again_by_themselves_and_an_operator_is_asked() {
    let mut world = World::new(10, 10, Weather { expired: 40, ..Weather::default() }, 3);
    world.unattended = false;
    world.unknown = HashSet::from([RequestNo(4)]);
    world.boot(false);
    world.run_until(|world| world.disk.journal.len() == 9);
    let sub = &world.part().subs[0];
    assert!(sub.question.as_ref().is_some_and(|text| text.contains("1 of its requests may have been paid")));
    assert_eq!(sub.again, [(RequestNo(4), Trouble::UnknownResult)]);
    world.command(Command::ReDriveSubBatch { run: RUN, sub_batch: 0 });
    assert_eq!(world.run(), 0);
}

#[test]
fn b4_creates_that_vanish_again_and_again_park_their_org_before_all_of_it_is_paid_many_times() {
    let mut world = World::new(120, 10, Weather { lost: 100, ..Weather::default() }, 3);
    world.blind = true;
    assert_eq!(world.run(), 4);
    assert_eq!(world.n_creates, 12, "four at each of three orgs");
    assert_eq!(world.notices.iter().filter(|text| text.contains("creates in a row")).count(), 3);
}
