//! The books that a session begins with: answers as the journal says, everything else as the last state says.

use std::sync::Arc;

use crate::catalog::Catalog;
use crate::engine::{Tariff, at_most};
use crate::model::books::{Books, Doubtful};
use crate::model::{Money, RequestNo, Route};
use crate::requests::Input;
use crate::store::{Last, Recovered, StateFile};

/// The models of an input with their prices, by the index that its requests name.
pub(crate) fn tariff(input: &Input, catalog: &Catalog) -> Tariff {
    input.models().iter().map(|used| (used.model.clone(), catalog.card(&used.model))).collect()
}

/// The books of the earlier sessions. What a session left in doubt that ended without a word is bounded: by the ceiling
/// that it kept durable for its number, and by the dearest requests that are open for its cost.
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
    if state.status.is_over() {
        return books;
    }
    let ceiling = state.n_possibly_charged_at_most.max(state.n_possibly_charged + state.counts.in_flight);
    let open = |no: &RequestNo| matches!(last.get(no.ix()), Some(Last::Unsent | Last::ReDrivable));
    let open: Vec<RequestNo> = (0..input.len()).map(RequestNo).filter(open).collect();
    let n = ceiling - state.n_possibly_charged;
    if n > 0 {
        books.doubtful.push(left("killed", n, dearest(input, &open, n, tariff)));
    }
    books
}

fn left(cause: &str, n: u64, at_most: Money) -> Doubtful {
    let (org, model) = (String::new(), String::new());
    Doubtful { org, path: Route::Sync, model, cause: cause.to_owned(), n, at_most }
}

/// What the `n` dearest attempts at these requests cost at the most. A request may have been tried more than once.
fn dearest(input: &Arc<Input>, open: &[RequestNo], n: u64, tariff: &Tariff) -> Money {
    let cost = |no: &RequestNo| at_most(tariff, input.model_ix(*no), input.len_of(*no), input.max_tokens_of(*no));
    let mut costs: Vec<Money> = open.iter().map(cost).collect();
    let most = costs.iter().copied().max().unwrap_or_default();
    let n_open = costs.len() as u64;
    if n < n_open {
        costs.select_nth_unstable_by(n as usize, |a, b| b.cmp(a));
        costs.truncate(n as usize);
    }
    costs.into_iter().sum::<Money>() + Money(most.0.saturating_mul(n.saturating_sub(n_open)))
}
