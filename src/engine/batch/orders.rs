//! The operator's commands about sub-batches.

use crate::model::{CommandOutcome, Level, Now, RunSlot, SubBatchStatus};

use super::act::{Step, ToDo};
use super::apply::with;
use super::gather;
use super::part::{BatchRun, Ctx};
use crate::engine::event::Effect;
use crate::engine::state::State;

fn no_such() -> CommandOutcome {
    CommandOutcome::Refused("there is no such sub-batch".to_owned())
}

/// Why a run takes no command any more.
fn is_over(state: &State, slot: RunSlot) -> Option<CommandOutcome> {
    let status = state.runs.get(slot.ix())?.status;
    status.is_over().then(|| CommandOutcome::AlreadySo(format!("the run is over already: {status}")))
}

/// Does something to one sub-batch.
fn to_one(
    state: &mut State,
    (slot, index): (RunSlot, u32),
    now: Now,
    effects: &mut Vec<Effect>,
    work: impl FnOnce(&mut BatchRun, usize, &mut Ctx<'_>) -> CommandOutcome,
) -> CommandOutcome {
    if let Some(over) = is_over(state, slot) {
        return over;
    }
    let done = with(state, slot, now, effects, |part, ctx| part.find(index).map(|at| work(part, at, ctx)));
    done.flatten().unwrap_or_else(no_such)
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
    to_one(state, (slot, index), now, effects, |part, at, ctx| {
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
    })
}

/// What is not in a sub-batch yet goes to the sync path; with `cancel_open`, what is in one follows when it was canceled.
pub(crate) fn finish_on_sync(
    state: &mut State,
    slot: RunSlot,
    cancel_open: bool,
    now: Now,
    effects: &mut Vec<Effect>,
) -> CommandOutcome {
    if let Some(over) = is_over(state, slot) {
        return over;
    }
    let done = with(state, slot, now, effects, |part, ctx| {
        let already = std::mem::replace(&mut part.finish_on_sync, true);
        let n = part.release_planned(ctx);
        let mut n_canceled = 0;
        for at in 0..part.subs.len() {
            let sub = &part.subs[at];
            let open = matches!(sub.status(), SubBatchStatus::InProgress | SubBatchStatus::Creating);
            if cancel_open && open && sub.cancel_wanted.is_none() {
                part.want_cancel(at, "the operator finishes the run on the sync path", ctx);
                n_canceled += 1;
            }
        }
        ctx.todo(0, ToDo::KeepState(Step::Other));
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
    to_one(state, (slot, index), now, effects, |part, at, ctx| {
        let sub = &mut part.subs[at];
        let name = sub.name();
        if !sub.entry.left {
            return CommandOutcome::AlreadySo(format!("nothing of {name} is left for you to decide"));
        }
        if !sub.status().is_over() || sub.busy {
            // It follows by itself when it has been harvested.
            sub.entry.left = false;
            sub.question = None;
            part.keep(at, Step::Other, ctx);
            return CommandOutcome::Done(format!(
                "what {name} does not process goes to the sync path when it has ended"
            ));
        }
        let n = gather::re_drive(part, at, ctx);
        let text = format!("{n} requests of {name} go to the sync path");
        ctx.say(Level::Info, "re-drive", None, format!("operator: {text}"));
        CommandOutcome::Done(text)
    })
}

/// The question about a sub-batch is answered: leave it as it is.
pub(crate) fn leave_sub_batch(
    state: &mut State,
    slot: RunSlot,
    index: u32,
    now: Now,
    effects: &mut Vec<Effect>,
) -> CommandOutcome {
    to_one(state, (slot, index), now, effects, |part, at, ctx| {
        let sub = &mut part.subs[at];
        if sub.question.take().is_none() {
            return CommandOutcome::AlreadySo(format!("nothing is asked about {}", sub.name()));
        }
        let text = format!("{} stays as it is", sub.name());
        part.version += 1;
        ctx.say(Level::Info, "left", None, format!("operator: {text}"));
        CommandOutcome::Done(text)
    })
}
