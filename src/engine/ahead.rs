//! How far the end of a run is, as far as that can be told: at the rate of its answers, and unless a limit comes first.

use crate::model::snapshot::{BudgetView, CutShort};
use crate::model::{Counts, Money};

/// Answers by which the price of the rest is told. Fewer are no measure: the first ones write prompt caches, or are short.
const PRICED_BY: u64 = 20;

/// What is known of the way ahead.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Ahead {
    /// Milliseconds until all is answered.
    pub(crate) eta_ms: Option<u64>,
    /// Milliseconds until the sync path has nothing left, while sub-batches are open.
    pub(crate) sync_eta_ms: Option<u64>,
    /// What comes before that.
    pub(crate) cut_short: Option<CutShort>,
}

/// What a running run has ahead, at `rate` answers a second. `in_batches` are requests whose end nobody knows; `cost` is what
/// its answers cost.
pub(crate) fn ahead(counts: &Counts, in_batches: u64, rate: f64, cost: Money, budget: Option<&BudgetView>) -> Ahead {
    let on_sync = counts.open().saturating_sub(in_batches);
    if rate <= 0.0 || on_sync == 0 {
        return Ahead::default();
    }
    let until = |n: f64| (n / rate * 1_000.0) as u64;
    let eta = until(on_sync as f64);
    let cut_short = budget.and_then(|budget| first_limit(counts, on_sync, cost, budget, &until));
    match cut_short.filter(|cut| cut.in_ms < eta) {
        Some(cut) => Ahead { cut_short: Some(cut), ..Ahead::default() },
        None if in_batches > 0 => Ahead { sync_eta_ms: Some(eta), ..Ahead::default() },
        None => Ahead { eta_ms: Some(eta), ..Ahead::default() },
    }
}

/// The limit that is reached first; `until` says when so many more requests are answered.
fn first_limit(
    counts: &Counts,
    on_sync: u64,
    cost: Money,
    budget: &BudgetView,
    until: &dyn Fn(f64) -> u64,
) -> Option<CutShort> {
    let answered = counts.done().saturating_sub(counts.cached);
    let each = (answered >= PRICED_BY).then(|| cost.0 as f64 / answered as f64).filter(|each| *each > 0.0);
    let affords = budget.max_cost.zip(each).map(|(limit, each)| {
        let left = limit.0.saturating_sub(budget.spent.0.saturating_add(budget.in_doubt.0));
        left as f64 / each
    });
    // What is in flight has been sent, and is open.
    let sendable = budget.max_requests.map(|most| (most.saturating_sub(budget.n_sent) + counts.in_flight) as f64);
    let limits = [
        ("budget", affords.filter(|n| *n < on_sync as f64).map(until)),
        ("max-requests", sendable.filter(|n| *n < on_sync as f64).map(until)),
        ("deadline", budget.ms_left),
    ];
    let first = limits.into_iter().filter_map(|(by, in_ms)| Some((by, in_ms?))).min_by_key(|(_, in_ms)| *in_ms);
    first.map(|(by, in_ms)| CutShort { by: by.to_owned(), in_ms })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(done: u64, open: u64) -> Counts {
        Counts { total: done + open, succeeded: done, unsent: open, ..Counts::default() }
    }

    #[test]
    fn the_end_is_told_of_the_whole_or_of_what_is_on_the_sync_path() {
        let of = |in_batches, rate| ahead(&counts(100, 600), in_batches, rate, Money(100), None);
        assert_eq!(of(0, 10.0), Ahead { eta_ms: Some(60_000), ..Ahead::default() });
        assert_eq!(of(500, 10.0), Ahead { sync_eta_ms: Some(10_000), ..Ahead::default() });
        assert_eq!(of(600, 10.0), Ahead::default());
        assert_eq!(of(0, 0.0), Ahead::default());
    }

    #[test]
    fn a_budget_that_cannot_pay_for_the_rest_ends_it_first_and_no_end_of_the_whole_is_told() {
        let of = |done: u64, max_cost: u64| {
            let spent = Money(done * 10);
            let budget = BudgetView { max_cost: Some(Money(max_cost)), spent, ..BudgetView::default() };
            ahead(&counts(done, 600), 0, 10.0, spent, Some(&budget))
        };
        let cut = Some(CutShort { by: "budget".to_owned(), in_ms: 20_000 });
        assert_eq!(of(100, 3_000), Ahead { cut_short: cut, ..Ahead::default() });
        assert_eq!(of(100, 7_000).eta_ms, Some(60_000), "it pays for all");
        assert_eq!(of(PRICED_BY - 1, 3_000).eta_ms, Some(60_000), "too few answers to tell");
    }

    #[test]
    fn the_limit_that_comes_first_is_named() {
        let budget =
            BudgetView { max_requests: Some(400), n_sent: 110, ms_left: Some(50_000), ..BudgetView::default() };
        let counts = Counts { in_flight: 10, ..counts(100, 600) };
        let cut = |budget: &BudgetView| ahead(&counts, 0, 10.0, Money(1_000), Some(budget)).cut_short.unwrap();
        assert_eq!(cut(&budget), CutShort { by: "max-requests".to_owned(), in_ms: 30_000 });
        let sooner = BudgetView { ms_left: Some(5_000), ..budget };
        assert_eq!(cut(&sooner), CutShort { by: "deadline".to_owned(), in_ms: 5_000 });
    }
}
