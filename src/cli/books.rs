//! The books that a session begins with: answers as the journal says, everything else as the last state says.

use std::sync::Arc;

use crate::catalog::Catalog;
use crate::engine::{Tariff, at_most, date, day_of};
use crate::model::books::{Books, Doubtful};
use crate::model::{Money, RequestNo, Route};
use crate::requests::Input;
use crate::store::{Last, Recovered, StateFile};

/// The models of an input with their prices, by the index that its requests name.
pub(crate) fn tariff(input: &Input, catalog: &Catalog) -> Tariff {
    input.models().iter().map(|used| (used.model.clone(), catalog.card(&used.model))).collect()
}

/// The books of the earlier sessions. What a session left in doubt that ended without a word is bounded: its number by the
/// ceiling that it kept durable, less the answers that the journal holds; its cost by the dearest requests that are open, and
/// by its budget, which was durable before its first call and which it held all that was out to.
pub(crate) fn books(
    input: &Arc<Input>,
    last: &[Last],
    state: &StateFile,
    recovered: Option<&Recovered>,
    tariff: &Tariff,
) -> Books {
    let mut books = state.books.clone();
    if let Some(recovered) = recovered {
        // A later version may settle what this one does not; the journal is the authority on answers in any case.
        books.settled.clone_from(&recovered.books.settled);
        books.by_day.clone_from(&recovered.books.by_day);
    }
    let known = books.doubt().0;
    if known < state.n_possibly_charged {
        // A state of an earlier version has the number only.
        books.doubtful.push(left("unknown", state.n_possibly_charged - known, Money::ZERO));
    }
    if state.status.is_over() { books } else { bounded(books, input, last, state, tariff) }
}

/// Adds what a session that ended without a word may have done besides.
fn bounded(mut books: Books, input: &Arc<Input>, last: &[Last], state: &StateFile, tariff: &Tariff) -> Books {
    // One that the cache has answered in the meantime may have been out as well.
    let open = |no: &RequestNo| matches!(last.get(no.ix()), Some(Last::Unsent | Last::ReDrivable | Last::Cached));
    let open: Vec<RequestNo> = (0..input.len()).map(RequestNo).filter(open).collect();
    let n = state.n_begun_at_most.saturating_sub(state.n_possibly_charged + answered_on_sync(&books));
    if n > 0 {
        let within = state.limits.max_cost.map_or(Money(u64::MAX), |limit| limit - books.spent() - books.doubt().1);
        let at_most = dearest(input, &open, n, tariff).min(within);
        books.doubtful.push(left("killed", n, at_most));
        // Those calls were out when it was last seen at work, or moments later.
        *books.doubt_by_day.entry(date(day_of(state.heartbeat_at))).or_default() += at_most;
        books.n_sent = sent(state, &books, n);
    }
    books
}

fn answered_on_sync(books: &Books) -> u64 {
    books.settled.iter().filter(|line| line.path == Route::Sync).map(|line| line.n).sum()
}

/// Attempts that may have been made by the end of a session that ended without a word: those of its last state, the answers
/// that came after it, and the calls that may have been out; never more than it was allowed. Refused calls between its last
/// state and its end are not known.
fn sent(state: &StateFile, books: &Books, n: u64) -> u64 {
    let answers = |books: &Books| books.settled.iter().map(|line| line.n).sum::<u64>();
    let since = answers(books).saturating_sub(answers(&state.books));
    let at_most = books.n_sent + since + n;
    state.limits.max_requests.map_or(at_most, |limit| at_most.min(limit.max(books.n_sent)))
}

fn left(cause: &str, n: u64, at_most: Money) -> Doubtful {
    let (org, model) = (String::new(), String::new());
    Doubtful { org, path: Route::Sync, model, cause: cause.to_owned(), n, at_most }
}

/// What the `n` dearest attempts at these requests cost at the most. A request may have been tried more than once.
fn dearest(input: &Arc<Input>, open: &[RequestNo], n: u64, tariff: &Tariff) -> Money {
    let cost = |no: &RequestNo| at_most(tariff, &**input, *no, false);
    let mut costs: Vec<Money> = open.iter().map(cost).collect();
    // One that is answered by now may have been tried in vain before.
    let most = if n > costs.len() as u64 { (0..input.len()).map(|no| cost(&RequestNo(no))).max() } else { None };
    let most = most.unwrap_or_default();
    let n_open = costs.len() as u64;
    if n < n_open {
        costs.select_nth_unstable_by(n as usize, |a, b| b.cmp(a));
        costs.truncate(n as usize);
    }
    costs.into_iter().sum::<Money>() + Money(most.0.saturating_mul(n.saturating_sub(n_open)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::books::Limits;
    use crate::model::{Counts, RunStatus, Wall};
    use crate::store::{InputFile, RunFile};

    const MODEL: &str = "claude-haiku-4-5";

    /// The books of a run of ten requests that was killed with these limits, when its last state said 4 attempts, one of
    /// which was answered, and that up to 6 can have been begun.
    fn killed(last: Last, limits: Limits) -> Books {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("in.jsonl");
        let line = |no: u32| {
            format!(
                r#"{{"custom_id":"r-{no}","params":{{"model":"{MODEL}","max_tokens":100,"messages":[{{"role":"user","content":"x"}}]}}}}"#
            )
        };
        std::fs::write(&path, (0..10).map(line).collect::<Vec<_>>().join("\n")).unwrap();
        let input = Arc::new(Input::index(&path, &mut |_| {}).unwrap());
        let run = RunFile {
            format: 1,
            fandeck: String::new(),
            run_id: String::new(),
            nonce: String::new(),
            created_at: Wall(0),
            input: InputFile {
                path,
                named: String::new(),
                sha256: input.sha256().to_owned(),
                count: 10,
                bytes: 0,
                spooled: false,
            },
            path: Route::Sync,
            route_reason: String::new(),
            models: Vec::new(),
            orgs: Vec::new(),
            plan: None,
            pilot: None,
            prices: None,
            settings: Default::default(),
        };
        let mut state = StateFile::fresh(&run);
        state.status = RunStatus::Running;
        state.counts = Counts { total: 10, unsent: 7, in_flight: 2, succeeded: 1, ..Counts::default() };
        // One answer is known to it, two came since, and three are not there.
        state.n_begun_at_most = 6;
        (state.books.n_sent, state.limits, state.heartbeat_at) = (4, limits, Wall(86_400_000 + 5));
        let paid = |books: &mut Books| {
            let cost = Money(1_000_000);
            books.settle("a", Route::Sync, MODEL, crate::model::Outcome::Succeeded, &Default::default(), cost);
        };
        paid(&mut state.books);
        let tariff = tariff(&input, &Catalog::builtin());
        let mut durable = Books::default();
        (0..3).for_each(|_| paid(&mut durable));
        let mut books = state.books.clone();
        books.settled.clone_from(&durable.settled);
        bounded(books, &input, &[last; 10], &state, &tariff)
    }

    #[test]
    fn what_a_killed_session_left_in_doubt_is_no_more_than_its_budget_left_it() {
        let free = killed(Last::Unsent, Limits::default());
        let (n, at_most) = free.doubt();
        assert!(n == 3 && at_most > Money(1_000_000_000), "{n}, {at_most}");
        let limits = |pico| Limits { max_cost: Some(Money(pico)), ..Limits::default() };
        // Three answers of a million are paid.
        assert_eq!(killed(Last::Unsent, limits(10_000_000)).doubt(), (3, Money(7_000_000)));
        assert_eq!(killed(Last::Unsent, limits(2_000_000)).doubt(), (3, Money::ZERO));
        assert_eq!(killed(Last::Unsent, limits(u64::MAX)).doubt(), free.doubt());
        assert_eq!(killed(Last::Cached, Limits::default()).doubt(), free.doubt());
        assert_eq!(free.on_day("1970-01-02"), at_most);
    }

    #[test]
    fn attempts_that_a_killed_session_may_have_made_are_counted_up_to_what_it_was_allowed() {
        let limits = |n| Limits { max_requests: Some(n), ..Limits::default() };
        // Four by the last state, two answers since, three that may have been out.
        assert_eq!(killed(Last::Unsent, Limits::default()).n_sent, 9);
        assert_eq!((killed(Last::Unsent, limits(8)).n_sent, killed(Last::Unsent, limits(3)).n_sent), (8, 4));
    }
}
