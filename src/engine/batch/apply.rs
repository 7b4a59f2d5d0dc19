//! Between the batch part and the rest of the dispatcher: hands in what the part has to see, and carries out what it wishes.

use crate::model::{ApiError, Level, Mono, Now, OrgId, Outcome, RequestNo, Route, RunSlot, RunStatus, Trouble};

use super::act::{BatchEffect, BatchEvent, HarvestedRow, Out};
use super::part::{BatchRun, Ctx};
use super::sub::Sub;
use crate::engine::event::Effect;
use crate::engine::ledger::Answer;
use crate::engine::state::State;
use crate::engine::{money, organisation, park, stop};

/// Works on the batch part of a run, if it has one, and carries out what comes of it.
pub(super) fn with<R>(
    state: &mut State,
    slot: RunSlot,
    now: Now,
    effects: &mut Vec<Effect>,
    work: impl FnOnce(&mut BatchRun, &mut Ctx<'_>) -> R,
) -> Option<R> {
    let mut part = state.batches.get_mut(slot.ix())?.take()?;
    let mut out = Vec::new();
    let result = {
        let State { orgs, runs, rng, .. } = &mut *state;
        let run = &mut runs[slot.ix()];
        let admits = run.admits();
        let usable: Vec<bool> = orgs.iter().map(|org| org.parked.is_none() && !org.paused).collect();
        let pools: Vec<usize> = orgs.iter().map(|org| org.pool).collect();
        let mut ctx = Ctx {
            now,
            rng,
            queue: &run.queue,
            sizes: &*run.sizes,
            ledger: &mut run.ledger,
            budget: &run.budget,
            usable: &usable,
            pools: &pools,
            admits,
            unattended: run.facts.unattended,
            out: &mut out,
        };
        let before = part.version;
        let result = work(&mut part, &mut ctx);
        if part.version != before {
            run.ledger.reserve_batches(part.reserved());
        }
        run.budget.blocked = part.blocked.clone().or(run.budget.blocked.take());
        result
    };
    state.batches[slot.ix()] = Some(part);
    for out in out {
        carry_out(state, slot, out, now, effects);
    }
    Some(result)
}

/// An event of a sub-batch.
pub(crate) fn event(state: &mut State, event: BatchEvent, now: Now, effects: &mut Vec<Effect>) {
    let slot = event.run;
    with(state, slot, now, effects, |part, ctx| part.on(event, ctx));
}

/// Begins what is due, in every run.
pub(crate) fn tick(state: &mut State, now: Now, effects: &mut Vec<Effect>) {
    for ix in 0..state.batches.len() {
        if state.batches[ix].is_some() && !state.runs[ix].status.is_over() {
            let slot = RunSlot(ix as u16);
            with(state, slot, now, effects, BatchRun::tick);
            give_up(state, slot, now, effects);
        }
    }
}

/// Makes the next planned sub-batch fit into what is left of the budget, as a part of it or on the sync path. False when
/// nothing fits.
pub(crate) fn fit(state: &mut State, slot: RunSlot, now: Now, effects: &mut Vec<Effect>) -> bool {
    with(state, slot, now, effects, super::fit::fit).unwrap_or(false)
}

/// Unattended, a run ends when all that it still waits for is at orgs that are parked until somebody does something, and
/// that say nothing of it either: their sub-batches stay at the API, and the next session goes on with them. What an org
/// without credit still tells of and gives out is waited for.
fn give_up(state: &mut State, slot: RunSlot, now: Now, effects: &mut Vec<Effect>) {
    let run = &state.runs[slot.ix()];
    let idle = run.queue.is_empty() && run.queue.in_flight() == 0;
    if !run.facts.unattended || !idle || run.status == RunStatus::Draining {
        return;
    }
    let Some(Some(part)) = state.batches.get(slot.ix()) else { return };
    let for_good =
        |org: OrgId| state.orgs.get(org.ix()).and_then(|org| org.parked).is_some_and(|parked| parked.until.is_none());
    let everywhere = (0..state.orgs.len()).all(|ix| for_good(OrgId(ix as u16)));
    let waits_in_vain =
        |sub: &&Sub| sub.org.map_or(everywhere, |org| for_good(org) && (sub.is_planned() || sub.refused));
    let (in_vain, others): (Vec<&Sub>, Vec<&Sub>) =
        part.subs.iter().filter(|sub| sub.is_waited_for()).partition(waits_in_vain);
    if in_vain.is_empty() || !others.is_empty() || part.subs.iter().any(|sub| sub.busy) {
        return;
    }
    let mut labels: Vec<&str> =
        in_vain.iter().map(|sub| sub.entry.org.as_str()).filter(|org| !org.is_empty()).collect();
    labels.sort_unstable();
    labels.dedup();
    let whose = if labels.is_empty() { "every org".to_owned() } else { labels.join(", ") };
    let reason = format!(
        "{} sub-batches wait for {whose}, which is parked; what is at the API stays there, and a resume goes on with it",
        in_vain.len()
    );
    stop::stop_for(state, slot, &reason, "all-parked", now, effects);
}

/// When the batch part of a run wants to be looked at.
pub(crate) fn wants(state: &State, slot: RunSlot, now: Mono) -> Option<Mono> {
    state.batches.get(slot.ix())?.as_ref()?.wants(now)
}

/// Whether sub-batches of a run are at the API, or on their way there or back.
pub(crate) fn is_at_work(state: &State, slot: RunSlot) -> bool {
    let part = state.batches.get(slot.ix()).and_then(Option::as_ref);
    part.is_some_and(|part| part.subs.iter().any(|sub| sub.busy || (sub.is_waited_for() && !sub.is_planned())))
}

/// Whether a run may come to rest as far as its sub-batches go.
pub(crate) fn is_quiet(state: &State, slot: RunSlot) -> bool {
    let Some(Some(part)) = state.batches.get(slot.ix()) else { return true };
    let run = &state.runs[slot.ix()];
    if run.stopping {
        return true;
    }
    if run.status == RunStatus::Draining {
        return part.may_rest();
    }
    // Watched, a question keeps the run open until it is answered.
    part.is_over() && (run.facts.unattended || !part.asks())
}

fn carry_out(state: &mut State, slot: RunSlot, out: Out, now: Now, effects: &mut Vec<Effect>) {
    match out {
        Out::Do(index, what) => effects.push(Effect::Batch(BatchEffect { run: slot, index, what })),
        Out::Note(level, kind, org, text) => state.note(level, kind, org, text, now, effects),
        Out::Park(org, account, error) => {
            state.orgs[org.ix()].totals.n_account += 1;
            park::for_account(state, org, account, &error, now, effects);
        }
        Out::Organisation(org, organisation) => organisation::told(state, org, organisation, now, effects),
        Out::Heard => {
            let outage = &mut state.runs[slot.ix()].outage;
            (outage.heard, outage.since) = (true, None);
        }
        Out::Unheard(error) => {
            let outage = &mut state.runs[slot.ix()].outage;
            outage.since.get_or_insert(now.mono);
            outage.last = Some(error);
        }
        Out::ToSync(nos) => {
            for no in nos {
                state.runs[slot.ix()].queue.let_go(no, now.mono);
            }
        }
        Out::ReDrive(org, again) => re_drive(state, slot, org, again, now),
        Out::Rows(org, rows) => {
            for row in rows {
                answered(state, slot, org, row, now, effects);
            }
        }
        Out::Stop(kind, reason) => {
            if state.runs[slot.ix()].facts.unattended {
                stop::stop_for(state, slot, &reason, kind, now, effects);
            } else {
                let run = &mut state.runs[slot.ix()];
                run.status = RunStatus::Paused;
                run.reason = Some(format!("{reason}. Resume to go on, or quit"));
                state.note(Level::Error, kind, None, format!("paused: {reason}"), now, effects);
            }
        }
    }
}

/// A result with a terminal outcome. One that the journal has already was paid for and counted before.
fn answered(state: &mut State, slot: RunSlot, org: OrgId, row: HarvestedRow, now: Now, effects: &mut Vec<Effect>) {
    let HarvestedRow { no, outcome, usage, cost, record } = row;
    let run = &mut state.runs[slot.ix()];
    if !run.queue.answered_in_batch(no) {
        return;
    }
    let model = run.sizes.model(no);
    let at_most = run.at_most_in_batch(no);
    run.ledger.settle(Answer { org, path: Route::Batch, model, outcome, usage, cost }, now.wall);
    run.outage.heard = true;
    run.fuse.off |= outcome != Outcome::Invalid;
    let totals = &mut state.orgs[org.ix()].totals;
    match outcome {
        Outcome::Succeeded => totals.n_ok += 1,
        Outcome::Refused => totals.n_refused += 1,
        Outcome::Invalid => totals.n_invalid += 1,
        Outcome::ReDrivable => {}
    }
    effects.push(Effect::Record(record));
    money::compare(state, slot, (cost, at_most), now, effects);
}

/// Requests of a sub-batch go to the sync path. What of them may have been charged is in the ledger already.
fn re_drive(state: &mut State, slot: RunSlot, org: OrgId, again: Vec<(RequestNo, Trouble)>, now: Now) {
    let run = &mut state.runs[slot.ix()];
    for (no, trouble) in again {
        let error =
            ApiError { kind: trouble.as_str().to_owned(), message: "in a sub-batch".to_owned(), ..ApiError::default() };
        if run.queue.failed_in_batch(no, org, trouble, error, now.mono) {
            run.ledger.failed(trouble.as_str());
        }
    }
}
