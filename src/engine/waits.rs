//! What a run waits for, added up: where its wall-clock goes. Looked at with every picture, ten times a second.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::model::{Family, Mono, OrgId};

use super::state::{Pool, State};

/// What a run waits for; the first that applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Waits {
    /// It admits nothing: paused, parked, draining, out of budget, or the disk takes nothing.
    Held,
    /// Requests are due, and limits of the API keep them back.
    RateLimited,
    /// Requests are due, and wait for a free slot.
    Queue,
    /// Nothing is due: answers are waited for, or that they are on the disk.
    InFlight,
    /// Nothing is left but sub-batches.
    Batch,
    /// Nothing is left but re-drives that are not due yet.
    Retry,
}

impl Waits {
    fn as_str(self) -> &'static str {
        match self {
            Waits::Held => "held",
            Waits::RateLimited => "rate-limited",
            Waits::Queue => "queue",
            Waits::InFlight => "in-flight",
            Waits::Batch => "batch-wait",
            Waits::Retry => "retry",
        }
    }
}

/// What the waits of a run come to.
#[derive(Debug, Clone, Default)]
pub(crate) struct Waited {
    /// What earlier sessions waited for, in milliseconds.
    prior: BTreeMap<String, u64>,
    here: BTreeMap<&'static str, Duration>,
    since: Option<Mono>,
}

impl Waited {
    /// Goes on with what earlier sessions waited for.
    pub(crate) fn new(prior: BTreeMap<String, u64>) -> Waited {
        Waited { prior, ..Waited::default() }
    }

    fn add(&mut self, waits: Waits, now: Mono) {
        if let Some(since) = self.since.replace(now) {
            *self.here.entry(waits.as_str()).or_default() += now.since(since);
        }
    }

    /// Over all sessions, in milliseconds.
    pub(crate) fn ms(&self) -> BTreeMap<String, u64> {
        let mut all = self.prior.clone();
        for (name, span) in &self.here {
            *all.entry((*name).to_owned()).or_default() += u64::try_from(span.as_millis()).unwrap_or(u64::MAX);
        }
        all
    }
}

/// Puts the time since the last look down to what each run waits for now.
pub(crate) fn look(state: &mut State, now: Mono) {
    for ix in 0..state.runs.len() {
        if !state.runs[ix].status.is_over() {
            let waits = waits(state, ix, now);
            state.runs[ix].waited.add(waits, now);
        }
    }
}

fn waits(state: &State, ix: usize, now: Mono) -> Waits {
    let run = &state.runs[ix];
    if !run.admits() || run.budget.blocked.is_some() {
        return Waits::Held;
    }
    let due = |family: &Family| run.queue.work(*family, now).is_some();
    if let Some(family) = Family::ALL.into_iter().find(due) {
        return if is_limited(state, family, now) { Waits::RateLimited } else { Waits::Queue };
    }
    if run.queue.in_flight() > 0 {
        Waits::InFlight
    } else if !run.queue.is_empty() {
        Waits::Retry
    } else if state.batches.get(ix).is_some_and(Option::is_some) {
        Waits::Batch
    } else {
        // All has been answered, and is not on the disk yet; or nothing has gone out yet.
        Waits::InFlight
    }
}

/// Whether every org that serves a family is kept back by a limit of the API: closed, or paced by one.
fn is_limited(state: &State, family: Family, now: Mono) -> bool {
    let serving = || state.orgs.iter().filter(|org| state.serves(OrgId(org.id.0), family) && !org.paused);
    let kept_back = |pool: &Pool| pool.gate.closed_for(now).is_some() || pool.paces[family.ix()].binds(now).is_some();
    serving().next().is_some() && serving().all(|org| kept_back(&state.pools[org.pool]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_of_sessions_add_up_and_the_first_look_counts_nothing() {
        let mut waited = Waited::new([("queue".to_owned(), 1_000)].into());
        let at = |s: u64| Mono::from_span(Duration::from_secs(s));
        waited.add(Waits::Queue, at(50));
        waited.add(Waits::Queue, at(52));
        waited.add(Waits::Batch, at(53));
        assert_eq!(waited.ms(), [("batch-wait".to_owned(), 1_000), ("queue".to_owned(), 3_000)].into());
    }
}
