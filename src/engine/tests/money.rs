//! Budgets as a whole: what is said, offered and ended.

use proptest::prelude::*;

use super::*;
use crate::catalog::Catalog;
use crate::engine::batch::BatchPlan;
use crate::engine::budget::Budget;
use crate::engine::day::DayGrant;
use crate::engine::ledger::Ledger;
use crate::model::books::Limits;
use crate::model::{BatchSettings, Books};

/// The most that a request of these tests costs: 1,424 tokens at 2 USD, 16 at 5 USD per million.
const AT_MOST: Money = Money(2_928_000_000);

fn desk(caps: &[u32], n: usize, limits: Limits, unattended: bool) -> Desk {
    let mut desk = Desk::bare(caps, &[n], DispatchSettings::default(), unattended);
    let labels: Vec<String> = desk.state.orgs.iter().map(|org| org.label.clone()).collect();
    let model = "claude-haiku-4-5";
    let tariff = vec![(model.to_owned(), Catalog::builtin().card(model))];
    let run = &mut desk.state.runs[0];
    run.budget = Budget::new(limits, &labels);
    run.ledger = Ledger::new(labels, tariff, Books::default());
    desk.cost = AT_MOST;
    desk.feed(vec![]);
    desk
}

fn max_cost(requests: u64) -> Limits {
    Limits { max_cost: Some(Money(AT_MOST.0 * requests)), ..Limits::default() }
}

fn broken() -> Verdict {
    Verdict::Trouble(Trouble::Broken, ApiError { status: Some(200), ..ApiError::default() })
}

#[test]
fn a_run_ends_incomplete_when_its_budget_is_used_up_and_never_costs_more() {
    for unattended in [true, false] {
        let mut desk = desk(&[10], 50, max_cost(20), unattended);
        desk.finish();
        assert_eq!((desk.rested.clone(), desk.counts().succeeded, desk.sent), (vec![(RUN, 4)], 20, 20));
        let run = &desk.state.runs[0];
        assert_eq!(run.status, RunStatus::Incomplete);
        assert!(run.reason.as_ref().unwrap().contains("max-cost of"), "{:?}", run.reason);
        assert_eq!((run.ledger.committed(), run.ledger.reserved()), (Money(AT_MOST.0 * 20), Money::ZERO));
    }
}

#[test]
fn answers_that_cost_less_than_they_may_leave_room_for_more() {
    let mut desk = desk(&[10], 50, max_cost(20), true);
    desk.cost = Money(AT_MOST.0 / 2);
    desk.finish();
    // 39 at half the price leave half a request's worst, which the next one does not fit into.
    assert_eq!((desk.counts().succeeded, desk.rested.clone()), (39, vec![(RUN, 4)]));
}

#[test]
fn answers_that_cost_more_than_was_reserved_are_said_and_no_more_goes_out_than_fits() {
    let mut desk = desk(&[10], 50, max_cost(40), true);
    desk.cost = Money(AT_MOST.0 * 2);
    desk.finish();
    // Ten were out when the first answer told; afterwards each is reserved at what such answers cost.
    assert_eq!((desk.counts().succeeded, desk.rested.clone()), (20, vec![(RUN, 4)]));
    assert!(desk.notices("budget") >= 1);
    assert_eq!(desk.state.runs[0].ledger.committed(), Money(AT_MOST.0 * 40));
}

#[test]
fn a_budget_that_takes_nothing_ends_the_run_at_once_with_nothing_sent() {
    let mut desk = desk(&[10], 5, Limits { max_cost: Some(Money(1)), ..Limits::default() }, true);
    desk.wait(Duration::from_secs(1));
    assert_eq!((desk.rested.clone(), desk.sent), (vec![(RUN, 2)], 0));
}

#[test]
fn an_org_without_budget_leaves_the_rest_to_the_other_and_the_run_ends_when_none_has_any() {
    let of = |a: u64, b: u64| Limits {
        of_orgs: [("org-0".to_owned(), Money(AT_MOST.0 * a)), ("org-1".to_owned(), Money(AT_MOST.0 * b))].into(),
        ..Limits::default()
    };
    let mut desk = desk(&[10, 10], 30, of(3, 100), true);
    desk.finish();
    assert_eq!((desk.counts().succeeded, desk.rested.clone()), (30, vec![(RUN, 0)]));
    assert_eq!(desk.state.runs[0].ledger.org(A).spent, Money(AT_MOST.0 * 3));
    let mut desk = self::desk(&[10, 10], 30, of(3, 5), true);
    desk.finish();
    assert_eq!((desk.counts().succeeded, desk.rested.clone()), (8, vec![(RUN, 4)]));
}

#[test]
fn requests_and_time_are_budgets_too() {
    let mut desk = desk(&[10], 50, Limits { max_requests: Some(12), ..Limits::default() }, true);
    desk.finish();
    assert_eq!((desk.sent, desk.rested.clone()), (12, vec![(RUN, 4)]));
    let mut desk = self::desk(&[10], 5_000, Limits { deadline: Some(5_000), ..Limits::default() }, true);
    desk.finish();
    assert_eq!(desk.rested, [(RUN, 4)]);
    assert!(desk.counts().unsent > 0 && desk.counts().succeeded > 10);
    assert_eq!(desk.notices("deadline"), 1);
}

#[test]
fn at_60_and_80_percent_it_is_said_and_at_80_the_rest_can_be_moved_to_batches() {
    let mut desk = desk(&[10], 100, max_cost(50), false);
    let mut offered_at = None;
    while offered_at.is_none() {
        desk.wait(Duration::from_secs(1));
        desk.end_all(&ok());
        desk.sync();
        offered_at = desk.state.runs[0].budget.offers_batch.then(|| desk.counts().succeeded);
    }
    assert!((40..50).contains(&offered_at.unwrap()), "{offered_at:?}");
    assert!(desk.notices("budget") >= 1);
    let waiting = desk.state.runs[0].queue.waiting_nos().count();
    assert!(matches!(desk.command(Command::MoveToBatch { run: RUN }), CommandOutcome::Done(_)));
    assert_eq!(desk.to_batches, waiting);
    assert!(matches!(desk.command(Command::MoveToBatch { run: RUN }), CommandOutcome::AlreadySo(_)));
    assert!(!desk.state.runs[0].budget.offers_batch);
}

/// What the operator sees of the offer to move to batches.
fn is_offered(desk: &mut Desk) -> bool {
    Publisher::default().picture(&mut desk.state, desk.now).runs[0].budget.as_ref().unwrap().offers_batch
}

#[test]
fn a_run_that_is_in_sub_batches_is_not_offered_to_move_to_them() {
    let mut desk = desk(&[10], 80, max_cost(72), false);
    desk.feed(vec![Event::BatchPlanned { run: RUN, plan: Ok(Box::new(one_sub_batch(60..80))) }]);
    for _ in 0..30 {
        desk.wait(Duration::from_secs(1));
        desk.end_all(&ok());
        desk.sync();
        assert!(!is_offered(&mut desk));
    }
    assert_eq!(desk.counts().succeeded, 60);
    let said = |text: &str| desk.state.notices.ring.iter().any(|notice| notice.text.contains(text));
    assert!(said("80 % of the budget") && !said("can be moved to batches"));
}

#[test]
fn the_move_to_batches_is_offered_as_long_as_something_waits_that_can_be_moved() {
    let mut desk = desk(&[4], 50, max_cost(53), false);
    let mut was_offered = false;
    while desk.counts().succeeded < 50 {
        desk.wait(Duration::from_secs(1));
        let waits = desk.state.runs[0].queue.waiting_nos().next().is_some();
        let offered = is_offered(&mut desk);
        assert!(waits || !offered, "nothing waits");
        was_offered |= offered;
        desk.end_all(&ok());
        desk.sync();
    }
    assert!(was_offered);
    let mut draining = self::desk(&[4], 100, max_cost(60), false);
    while !is_offered(&mut draining) {
        draining.wait(Duration::from_secs(1));
        draining.end_all(&ok());
        draining.sync();
    }
    draining.command(Command::DrainRun { run: RUN });
    assert!(!is_offered(&mut draining), "it sends nothing more");
}

#[test]
fn at_95_percent_a_pilot_stops_and_a_run_goes_on_to_the_limit() {
    // The next one is out when the answer is there that makes it 95 %.
    for (pilot, succeeded) in [(Some(200), 96), (None, 100)] {
        let mut desk = desk(&[1], 200, max_cost(100), true);
        desk.state.runs[0].facts.pilot = pilot;
        desk.finish();
        assert_eq!((desk.rested.clone(), desk.counts().succeeded), (vec![(RUN, 4)], succeeded));
    }
}

#[test]
fn over_midnight_a_run_waits_for_the_new_day_and_goes_on_with_it() {
    let limit = Money(AT_MOST.0 * 20);
    let mut desk = desk(&[4], 50, Limits { per_day: Some(limit), ..Limits::default() }, true);
    desk.state.runs[0].budget.day.share();
    let today = |desk: &Desk| crate::engine::ledger::day_of(desk.now.wall);
    // Grants what is claimed up to the limit, as a ledger without other runs does.
    let grant = |desk: &mut Desk| {
        let (run, now) = (&mut desk.state.runs[0], desk.now);
        let Some(claim) = run.budget.claim(&run.ledger, now) else { return };
        let grant = Ok(DayGrant { others: Money::ZERO, granted: claim.wanted.min(limit).max(claim.spent) });
        let day = today(desk);
        desk.feed(vec![Event::DayGranted { run: RUN, day, grant }]);
    };
    let until_midnight = 86_400_000 - desk.now.wall.0.rem_euclid(86_400_000);
    desk.wait(Duration::from_millis(until_midnight.unsigned_abs() - 1_700));
    let first = today(&desk);
    while desk.rested.is_empty() && today(&desk) == first {
        grant(&mut desk);
        desk.wait(Duration::from_millis(500));
        desk.end_all(&ok());
        desk.sync();
        assert!(desk.counts().succeeded <= 20, "the old day holds 20");
    }
    assert!(desk.rested.is_empty() && desk.counts().succeeded > 4, "{:?}", desk.counts());
    let of_the_old_day = desk.counts().succeeded;
    for _ in 0..100 {
        grant(&mut desk);
        desk.wait(Duration::from_millis(500));
        desk.end_all(&ok());
        desk.sync();
    }
    let books = desk.state.runs[0].books();
    assert!(books.by_day.values().all(|cost| *cost <= limit), "{:?}", books.by_day);
    assert!(desk.counts().succeeded > of_the_old_day && books.by_day.len() == 2);
    assert_eq!(desk.rested, [(RUN, 4)]);
}

#[test]
fn what_was_learned_of_costs_is_in_the_books() {
    let mut desk = desk(&[4], 8, max_cost(1_000), true);
    desk.cost = Money(AT_MOST.0 * 3);
    desk.finish();
    assert_eq!(desk.state.runs[0].books().dearer, 3_000);
}

#[test]
fn a_policy_moves_the_rest_to_batches_when_nobody_watches() {
    let mut desk = desk(&[10], 100, Limits { to_batch: true, ..max_cost(50) }, true);
    let minute = |desk: &mut Desk| {
        for _ in 0..60 {
            desk.wait(Duration::from_secs(1));
            desk.end_all(&ok());
            desk.sync();
        }
    };
    minute(&mut desk);
    assert!(desk.to_batches > 0);
    assert!(desk.rested.is_empty(), "it waits for the plan");
    // The budget that is left is for the batches, however long their plan takes.
    assert_eq!(desk.state.runs[0].queue.waiting_nos().count(), desk.to_batches);
    assert!(desk.counts().succeeded < 50, "{:?}", desk.counts());
    // Without a plan it goes on; at 95 % it is tried once more.
    for _ in [80, 95] {
        let plan = Err("the input is gone".to_owned());
        desk.feed(vec![Event::BatchPlanned { run: RUN, plan }]);
        minute(&mut desk);
    }
    assert_eq!((desk.rested.clone(), desk.notices("not-moved")), (vec![(RUN, 4)], 2));
}

/// Has these requests in one sub-batch, as far as they still wait.
fn one_sub_batch(members: std::ops::Range<u32>) -> BatchPlan {
    BatchPlan {
        settings: BatchSettings::default(),
        nonce: "n".to_owned(),
        kept: Vec::new(),
        re_driven: Vec::new(),
        fresh: vec![members.map(RequestNo).collect()],
        first_index: 0,
        pilots: Vec::new(),
        unfit: Vec::new(),
        finish_on_sync: false,
        remarks: Vec::new(),
    }
}

#[test]
fn only_what_still_waits_is_moved() {
    let mut desk = desk(&[5], 30, Limits::default(), false);
    let out: Vec<RequestNo> = desk.flying.iter().map(|(_, no, ..)| *no).collect();
    desk.feed(vec![Event::BatchPlanned { run: RUN, plan: Ok(Box::new(one_sub_batch(0..30))) }]);
    let part = desk.state.batches[0].as_ref().unwrap();
    assert_eq!(part.subs[0].members.len(), 30 - out.len());
    assert!(out.iter().all(|no| !part.subs[0].members.contains(no)));
    assert!(!desk.state.runs[0].queue.waits(Family::Haiku));
}

#[test]
fn a_request_whose_answers_are_broken_again_and_again_is_set_aside_and_the_others_go_on() {
    let mut desk = desk(&[10], 20, Limits::default(), true);
    for _ in 0..600 {
        if !desk.rested.is_empty() {
            break;
        }
        desk.wait(Duration::from_secs(1));
        while let Some(ix) = desk.flying.iter().position(|(_, no, ..)| no.0 == 0) {
            desk.end(ix, broken(), RateLimits::default(), RetryAfter::Absent);
        }
        desk.end_all(&ok());
        desk.sync();
    }
    assert_eq!((desk.counts().succeeded, desk.counts().re_drivable, desk.rested.clone()), (19, 1, vec![(RUN, 4)]));
    assert_eq!(desk.notices("set-aside"), 1);
    // Each of its answers may have been paid for, and nothing else was.
    assert_eq!(desk.state.runs[0].ledger.in_doubt(), (4, Money(AT_MOST.0 * 4)));
}

#[test]
fn connections_that_break_before_an_answer_burn_nothing_however_often() {
    let mut desk = desk(&[10], 1, Limits::default(), false);
    let reset = Verdict::Trouble(Trouble::Broken, ApiError::default());
    for _ in 0..20 {
        desk.wait(Duration::from_secs(60));
        desk.end_all(&reset);
    }
    desk.finish();
    assert_eq!((desk.counts().succeeded, desk.notices("set-aside")), (1, 0));
}

#[test]
fn re_drives_are_put_down_to_their_cause_with_what_their_answers_cost() {
    let mut desk = desk(&[4], 8, Limits::default(), true);
    desk.end(0, limited(), RateLimits::default(), RetryAfter::Absent);
    desk.end(0, broken(), RateLimits::default(), RetryAfter::Absent);
    desk.finish();
    let books = desk.state.runs[0].ledger.books();
    let lines: Vec<_> =
        books.re_driven.iter().map(|line| (line.cause.as_str(), line.attempts, line.answered, line.cost)).collect();
    assert_eq!(lines, [("broken-answer", 1, 1, AT_MOST), ("rate-limited", 1, 1, AT_MOST)]);
    assert_eq!((books.doubtful.len(), books.doubt()), (1, (1, AT_MOST)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn in_any_weather_a_run_stays_within_its_budget_and_comes_to_an_end(
        budget in 1_u64..40,
        turns in prop::collection::vec((any::<usize>(), 0_u8..6), 0..200),
    ) {
        let mut desk = desk(&[6, 3], 60, max_cost(budget), true);
        let limit = Money(AT_MOST.0 * budget);
        let check = |desk: &Desk| {
            let ledger = &desk.state.runs[0].ledger;
            ledger.committed() + ledger.reserved() <= limit
        };
        for (which, what) in turns {
            if desk.flying.is_empty() {
                desk.wait(Duration::from_secs(61));
                desk.sync();
            } else {
                let verdict = match what {
                    0..=2 => ok(),
                    3 => broken(),
                    4 => Verdict::Trouble(Trouble::Timeout, ApiError::default()),
                    _ => limited(),
                };
                let ix = which % desk.flying.len();
                desk.end(ix, verdict, RateLimits::default(), RetryAfter::Absent);
            }
            prop_assert!(check(&desk));
        }
        desk.finish();
        prop_assert!(check(&desk));
        prop_assert_eq!(desk.state.runs[0].ledger.reserved(), Money::ZERO);
    }
}
