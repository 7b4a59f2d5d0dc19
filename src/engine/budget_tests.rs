use proptest::prelude::*;

use super::*;
use crate::catalog::Catalog;
use crate::engine::day::DayGrant;
use crate::engine::ledger::Answer;
use crate::model::books::Doubtful;
use crate::model::{Books, Outcome, Route, Usage};

const LABELS: [&str; 2] = ["a", "b"];
const NOW: Wall = Wall(1_796_000_000_000);

fn labels() -> Vec<String> {
    LABELS.map(str::to_owned).to_vec()
}

fn ledger() -> Ledger {
    let model = "claude-haiku-4-5";
    Ledger::new(labels(), vec![(model.to_owned(), Catalog::builtin().card(model))], Books::default())
}

fn answer(org: OrgId, cost: Money) -> Answer {
    let (path, outcome) = (Route::Sync, Outcome::Succeeded);
    Answer { org, path, model: 0, outcome, usage: Usage::default(), cost }
}

fn usd(cents: u64) -> Money {
    Money(cents * Money::DOLLAR.0 / 100)
}

fn budget(limits: Limits) -> Budget {
    Budget::new(limits, &labels())
}

const A: OrgId = OrgId(0);
const B: OrgId = OrgId(1);

#[test]
fn without_limits_everything_is_admitted_and_nothing_is_shown() {
    let budget = budget(Limits::default());
    assert!(!budget.is_limited());
    assert_eq!(budget.admits(&ledger(), A, 1, Money(u64::MAX), NOW), Ok(()));
    assert_eq!(budget.view(&ledger(), NOW), None);
}

#[test]
fn an_org_at_its_limit_leaves_the_work_to_the_others() {
    let limits = Limits { of_orgs: [("a".to_owned(), usd(100))].into(), ..Limits::default() };
    let (budget, mut ledger) = (budget(limits), ledger());
    ledger.reserve(A, usd(60));
    assert!(budget.admits(&ledger, A, 1, usd(50), NOW).is_err());
    assert_eq!(budget.admits(&ledger, B, 1, usd(50), NOW), Ok(()));
    ledger.release(A, usd(60));
    ledger.settle(answer(A, usd(20)), NOW);
    assert_eq!(budget.admits(&ledger, A, 1, usd(50), NOW), Ok(()));
}

#[test]
fn a_day_counts_what_other_runs_spent() {
    let (mut budget, ledger) = (budget(Limits { per_day: Some(usd(500)), ..Limits::default() }), ledger());
    budget.day.share();
    budget.day.granted(day_of(NOW), Ok(DayGrant { others: usd(480), granted: usd(20) }));
    assert!(budget.admits(&ledger, A, 1, usd(21), NOW).is_err());
    assert_eq!(budget.admits(&ledger, A, 1, usd(20), NOW), Ok(()));
}

#[test]
fn requests_are_counted_whatever_becomes_of_them() {
    let (budget, mut ledger) = (budget(Limits { max_requests: Some(10), ..Limits::default() }), ledger());
    for _ in 0..6 {
        ledger.reserve(A, Money::ZERO);
        ledger.release(A, Money::ZERO);
    }
    assert_eq!(budget.admits(&ledger, A, 4, Money::ZERO, NOW), Ok(()));
    assert!(budget.admits(&ledger, A, 5, Money::ZERO, NOW).is_err());
}

#[test]
fn each_step_is_said_once_and_the_highest_of_several_alone() {
    let (mut budget, mut ledger) = (budget(Limits { max_cost: Some(usd(100)), ..Limits::default() }), ledger());
    ledger.settle(answer(A, usd(59)), NOW);
    assert_eq!(budget.step(&ledger), None);
    ledger.settle(answer(A, usd(1)), NOW);
    assert_eq!((budget.step(&ledger), budget.step(&ledger)), (Some(60), None));
    assert!(budget.affords_optional());
    // What is in doubt counts as spent.
    ledger.doubt(A, Route::Sync, 0, "timeout", usd(36), NOW);
    assert_eq!((budget.step(&ledger), budget.step(&ledger)), (Some(95), None));
    assert!(!budget.affords_optional());
}

#[test]
fn what_nobody_knows_the_org_of_counts_for_every_org() {
    let limits = Limits { of_orgs: [("a".to_owned(), usd(100))].into(), ..Limits::default() };
    let (org, model, cause) = (String::new(), String::new(), "killed".to_owned());
    let killed = Doubtful { org, path: Route::Sync, model, cause, n: 3, at_most: usd(70) };
    let ledger = Ledger::new(labels(), Vec::new(), Books { doubtful: vec![killed], ..Books::default() });
    assert_eq!(budget(limits.clone()).admits(&ledger, A, 1, usd(30), NOW), Ok(()));
    assert!(budget(limits).admits(&ledger, A, 1, usd(31), NOW).is_err());
}

#[test]
fn what_came_into_doubt_on_another_day_is_no_part_of_this_one() {
    let (budget, mut ledger) = (budget(Limits { per_day: Some(usd(100)), ..Limits::default() }), ledger());
    let tomorrow = Wall(NOW.0 + 86_400_000);
    ledger.doubt(A, Route::Sync, 0, "timeout", usd(80), NOW);
    assert!(budget.admits(&ledger, A, 1, usd(21), NOW).is_err());
    assert_eq!(budget.admits(&ledger, A, 1, usd(100), tomorrow), Ok(()));
    // It stays so over sessions, and other runs see it.
    let day = crate::engine::date(crate::engine::day_of(NOW));
    assert_eq!(ledger.books().on_day(&day), usd(80));
    let next = Ledger::new(labels(), Vec::new(), ledger.books());
    assert_eq!((next.committed_on_day_of(NOW), next.committed_on_day_of(tomorrow)), (usd(80), Money::ZERO));
}

#[test]
fn an_answer_dearer_than_was_reserved_raises_what_is_reserved_from_then_on() {
    let limits = Limits { max_cost: Some(usd(100)), ..Limits::default() };
    let (mut budget, mut ledger) = (budget(limits), ledger());
    ledger.reserve(A, usd(20));
    assert_eq!(budget.admits(&ledger, A, 1, usd(80), NOW), Ok(()));
    assert_eq!((budget.learn(usd(5), usd(10)), budget.learn(usd(25), usd(10))), (None, Some(2.5)));
    assert_eq!(budget.learn(usd(20), usd(10)), None, "less than is known already");
    // 20 that are out and 20 more, each 2.5 times.
    assert_eq!(budget.admits(&ledger, A, 1, usd(20), NOW), Ok(()));
    assert!(budget.admits(&ledger, A, 1, usd(21), NOW).is_err());
    let mut unlimited = self::budget(Limits { max_requests: Some(9), ..Limits::default() });
    assert_eq!(unlimited.learn(usd(25), usd(10)), None);
}

#[test]
fn the_deadline_is_a_moment_and_what_is_left_of_it_is_shown() {
    let budget = budget(Limits { deadline: Some(NOW.0 + 500), ..Limits::default() });
    assert!(!budget.is_late(NOW) && budget.is_late(Wall(NOW.0 + 500)));
    assert_eq!((budget.ms_left(NOW), budget.ms_left(Wall(NOW.0 + 900))), (Some(500), Some(0)));
}

/// What happens to calls, in any order.
#[derive(Debug, Clone, Copy)]
enum Turn {
    /// One more, if the budget takes it.
    Send { org: u16, at_most: u64 },
    /// One of those that are out is answered, at a share of what was reserved.
    Answer { which: usize, percent: u64 },
    /// One may have been billed without an answer.
    Lose { which: usize },
    /// One was refused, unbilled.
    Refuse { which: usize },
    /// Sub-batches of an org cost so much at the most from now on, if the budget takes it.
    Batch { org: u16, at_most: u64 },
}

fn turn() -> impl Strategy<Value = Turn> {
    prop_oneof![
        4 => (0_u16..2, 0_u64..40).prop_map(|(org, at_most)| Turn::Send { org, at_most }),
        2 => (any::<usize>(), 0_u64..=100).prop_map(|(which, percent)| Turn::Answer { which, percent }),
        1 => any::<usize>().prop_map(|which| Turn::Lose { which }),
        1 => any::<usize>().prop_map(|which| Turn::Refuse { which }),
        1 => (0_u16..2, 0_u64..60).prop_map(|(org, at_most)| Turn::Batch { org, at_most }),
    ]
}

proptest! {
    #[test]
    fn for_any_order_of_completions_what_is_spent_and_perhaps_spent_stays_within_the_limit_and_what_is_out(
        max in 1_u64..400,
        turns in prop::collection::vec(turn(), 1..300),
    ) {
        let (budget, mut ledger) = (budget(Limits { max_cost: Some(usd(max)), ..Limits::default() }), ledger());
        let mut out: Vec<(OrgId, Money)> = Vec::new();
        let mut batched = [Money::ZERO; 2];
        for turn in turns {
            let mut take = |which: usize| (!out.is_empty()).then(|| out.swap_remove(which % out.len()));
            match turn {
                Turn::Send { org, at_most } => {
                    let (org, at_most) = (OrgId(org), usd(at_most));
                    if budget.admits(&ledger, org, 1, at_most, NOW).is_ok() {
                        ledger.reserve(org, at_most);
                        out.push((org, at_most));
                    }
                }
                Turn::Answer { which, percent } => if let Some((org, at_most)) = take(which) {
                    ledger.release(org, at_most);
                    ledger.settle(answer(org, Money(at_most.0 / 100 * percent)), NOW);
                },
                Turn::Lose { which } => if let Some((org, at_most)) = take(which) {
                    ledger.release(org, at_most);
                    ledger.doubt(org, Route::Sync, 0, "timeout", at_most, NOW);
                },
                Turn::Refuse { which } => if let Some((org, at_most)) = take(which) {
                    ledger.release(org, at_most);
                },
                Turn::Batch { org, at_most } => {
                    let more = usd(at_most);
                    if budget.admits(&ledger, OrgId(org), 1, more, NOW).is_ok() {
                        batched[usize::from(org)] += more;
                        ledger.reserve_batches(batched.into_iter());
                    }
                }
            }
            let (limit, reserved) = (usd(max), ledger.reserved());
            prop_assert!(ledger.committed() <= limit + reserved);
            prop_assert!(ledger.committed() + reserved <= limit, "nothing that is out can pass it");
            let sum: Money = out.iter().map(|(_, at_most)| *at_most).chain(batched).sum();
            prop_assert_eq!(sum, reserved);
        }
    }
}
