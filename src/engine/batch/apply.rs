//! Between the batch part and the rest of the dispatcher: hands in what the part has to see, carries out what it wishes, and
//! answers the operator's commands about sub-batches.

use crate::model::{
    ApiError, CommandOutcome, Level, Mono, Now, OrgId, Outcome, RequestNo, Route, RunSlot, RunStatus, SubBatchStatus,
    Trouble,
};

use super::act::{BatchEffect, BatchEvent, HarvestedRow, Out};
use super::gather;
use super::part::{BatchRun, Ctx};
use crate::engine::event::Effect;
use crate::engine::ledger::Answer;
use crate::engine::state::State;
use crate::engine::{organisation, park, rest};

/// Works on the batch part of a run, if it has one, and carries out what comes of it.
fn with<R>(
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
        let mut ctx = Ctx {
            now,
            rng,
            queue: &run.queue,
            sizes: &*run.sizes,
            ledger: &mut run.ledger,
            budget: &run.budget,
            usable: &usable,
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
            with(state, RunSlot(ix as u16), now, effects, BatchRun::tick);
        }
    }
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
        Out::Heard => state.runs[slot.ix()].outage.heard = true,
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
                rest::stop_for(state, slot, &reason, kind, now, effects);
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
}

/// Requests of a sub-batch go to the sync path.
fn re_drive(state: &mut State, slot: RunSlot, org: OrgId, again: Vec<(RequestNo, Trouble)>, now: Now) {
    let run = &mut state.runs[slot.ix()];
    for (no, trouble) in again {
        let error =
            ApiError { kind: trouble.as_str().to_owned(), message: "in a sub-batch".to_owned(), ..ApiError::default() };
        if run.queue.failed_in_batch(no, org, trouble, error, now.mono) {
            run.ledger.failed(trouble.as_str());
            if trouble.possibly_charged() {
                let model = run.sizes.model(no);
                let at_most = run.ledger.at_most(model, run.sizes.bytes(no), run.sizes.max_tokens(no), true);
                run.ledger.doubt(org, Route::Batch, model, trouble.as_str(), at_most);
            }
        }
    }
}

fn no_such() -> CommandOutcome {
    CommandOutcome::Refused("there is no such sub-batch".to_owned())
}

/// The run and the sub-batch of a command; or why it cannot be.
fn target(state: &State, slot: RunSlot, index: u32) -> Result<usize, CommandOutcome> {
    let run = state.runs.get(slot.ix()).ok_or_else(no_such)?;
    if run.status.is_over() {
        return Err(CommandOutcome::AlreadySo(format!("the run is over already: {}", run.status)));
    }
    let part = state.batches.get(slot.ix()).and_then(Option::as_ref).ok_or_else(no_such)?;
    part.find(index).ok_or_else(no_such)
}

/// The operator's escape.
pub(crate) fn cancel_sub_batch(
    state: &mut State,
    slot: RunSlot,
    index: u32,
    seen: SubBatchStatus,
    now: Now,
    effects: &mut Vec<Effect>,
) -> CommandOutcome {
    let at = match target(state, slot, index) {
        Ok(at) => at,
        Err(outcome) => return outcome,
    };
    let done = with(state, slot, now, effects, |part, ctx| {
        let sub = &part.subs[at];
        let name = sub.name();
        match sub.status() {
            SubBatchStatus::InProgress if sub.cancel_wanted.is_some() => {
                CommandOutcome::AlreadySo(format!("{name} is about to be canceled already"))
            }
            SubBatchStatus::InProgress => {
                part.want_cancel(at, "canceled by the operator", ctx);
                CommandOutcome::Done(format!("{name} is being canceled; what it did not process goes to the sync path"))
            }
            SubBatchStatus::CancelRequested | SubBatchStatus::Canceling => {
                CommandOutcome::AlreadySo(format!("{name} is being canceled already"))
            }
            SubBatchStatus::Planned => CommandOutcome::Refused(format!(
                "{name} is only planned: there is nothing to cancel; finish on sync moves it to the sync path"
            )),
            SubBatchStatus::Creating | SubBatchStatus::Adrift => CommandOutcome::Refused(format!(
                "{name} cannot be canceled: whether it exists is not known yet; it is looked for"
            )),
            now if now != seen => CommandOutcome::AlreadySo(format!("{name} has become {now} meanwhile")),
            now => CommandOutcome::AlreadySo(format!("{name} is {now} already")),
        }
    });
    done.unwrap_or_else(no_such)
}

/// What is not in a sub-batch yet goes to the sync path; with `cancel_open`, what is in one follows when it was canceled.
pub(crate) fn finish_on_sync(
    state: &mut State,
    slot: RunSlot,
    cancel_open: bool,
    now: Now,
    effects: &mut Vec<Effect>,
) -> CommandOutcome {
    match state.runs.get(slot.ix()) {
        Some(run) if run.status.is_over() => {
            return CommandOutcome::AlreadySo(format!("the run is over already: {}", run.status));
        }
        Some(_) => {}
        None => return no_such(),
    }
    let done = with(state, slot, now, effects, |part, ctx| {
        let already = std::mem::replace(&mut part.finish_on_sync, true);
        let planned = |sub: &super::sub::Sub| sub.status() == SubBatchStatus::Planned && !sub.busy;
        let nos: Vec<RequestNo> =
            part.subs.iter().filter(|sub| planned(sub)).flat_map(|sub| sub.members.iter().copied()).collect();
        part.subs.retain(|sub| !planned(sub));
        let (n, mut n_canceled) = (nos.len(), 0);
        ctx.out.push(Out::ToSync(nos));
        for at in 0..part.subs.len() {
            let sub = &part.subs[at];
            let open = matches!(sub.status(), SubBatchStatus::InProgress | SubBatchStatus::Creating);
            if cancel_open && open && sub.cancel_wanted.is_none() {
                part.want_cancel(at, "the operator finishes the run on the sync path", ctx);
                n_canceled += 1;
            }
        }
        part.version += 1;
        if already && n == 0 && n_canceled == 0 {
            return CommandOutcome::AlreadySo("what is left finishes on the sync path already".to_owned());
        }
        let text = format!("{n} requests go to the sync path, {n_canceled} sub-batches are canceled");
        ctx.say(Level::Info, "finish-on-sync", None, format!("operator: {text}"));
        CommandOutcome::Done(text)
    });
    done.unwrap_or_else(|| CommandOutcome::AlreadySo("the run is on the sync path".to_owned()))
}

/// What a policy left of a sub-batch is sent again.
pub(crate) fn re_drive_sub_batch(
    state: &mut State,
    slot: RunSlot,
    index: u32,
    now: Now,
    effects: &mut Vec<Effect>,
) -> CommandOutcome {
    let at = match target(state, slot, index) {
        Ok(at) => at,
        Err(outcome) => return outcome,
    };
    let done = with(state, slot, now, effects, |part, ctx| {
        let sub = &mut part.subs[at];
        let name = sub.name();
        if !sub.entry.left {
            return CommandOutcome::AlreadySo(format!("nothing of {name} is left for you to decide"));
        }
        if !sub.status().is_over() || sub.busy {
            // It follows by itself when it has been harvested.
            sub.entry.left = false;
            sub.question = None;
            return CommandOutcome::Done(format!(
                "what {name} does not process goes to the sync path when it has ended"
            ));
        }
        let n = gather::re_drive(part, at, ctx);
        let text = format!("{n} requests of {name} go to the sync path");
        ctx.say(Level::Info, "re-drive", None, format!("operator: {text}"));
        CommandOutcome::Done(text)
    });
    done.unwrap_or_else(no_such)
}

/// The question about a sub-batch is answered: leave it as it is.
pub(crate) fn leave_sub_batch(
    state: &mut State,
    slot: RunSlot,
    index: u32,
    now: Now,
    effects: &mut Vec<Effect>,
) -> CommandOutcome {
    let at = match target(state, slot, index) {
        Ok(at) => at,
        Err(outcome) => return outcome,
    };
    let done = with(state, slot, now, effects, |part, ctx| {
        let sub = &mut part.subs[at];
        if sub.question.take().is_none() {
            return CommandOutcome::AlreadySo(format!("nothing is asked about {}", sub.name()));
        }
        let text = format!("{} stays as it is", sub.name());
        part.version += 1;
        ctx.say(Level::Info, "left", None, format!("operator: {text}"));
        CommandOutcome::Done(text)
    });
    done.unwrap_or_else(no_such)
}
