//! How a run comes to rest: finished, drained, every org parked, or the API away too long. `stop` ends one early.

use std::time::Duration;

use crate::model::{Counts, Family, Level, Mono, Now, RunSlot, RunStatus};

use super::batch;
use super::event::Effect;
use super::money;
use super::state::{OrgState, Outage, RunState, State};
use super::stop::stop_for;

/// How long an unattended run waits for an API that it has never heard of.
const NEVER_HEARD_LIMIT: Duration = Duration::from_secs(45);

/// A pilot that met 429s with more than one in so many of its requests is ended: the orgs have no room now, colleagues would be
/// pushed aside for a measurement, and what is measured would be a queue.
const PILOT_MOST_429: u64 = 10;

/// Looks at every run after a batch of events: gives it up or ends it.
pub(super) fn settle(state: &mut State, now: Now, effects: &mut Vec<Effect>) {
    for ix in 0..state.runs.len() {
        let slot = RunSlot(ix as u16);
        watch_budget(state, slot, now, effects);
        spare_the_orgs(state, slot, now, effects);
        give_up(state, slot, now, effects);
        let run = &state.runs[ix];
        if !run.status.is_over() && has_come_to_rest(run) && batch::is_quiet(state, slot) {
            end(state, slot, now.mono, effects);
        }
    }
}

/// What the budget wants said, offered or ended.
fn watch_budget(state: &mut State, slot: RunSlot, now: Now, effects: &mut Vec<Effect>) {
    let run = &mut state.runs[slot.ix()];
    if !run.budget.is_limited() || run.status.is_over() || run.status == RunStatus::Draining {
        return;
    }
    if run.budget.is_late(now.wall) {
        let reason = "its deadline has passed: what is out finishes; resume it with a later --deadline";
        return stop_for(state, slot, reason, "deadline", now, effects);
    }
    if let Some(percent) = run.budget.step(&run.ledger) {
        let step = money::step(run, state.batches[slot.ix()].as_deref(), percent);
        let may_move = percent >= 80 && step.offers;
        state.note(step.level, "budget", None, step.text, now, effects);
        let run = &mut state.runs[slot.ix()];
        if percent >= 95 && run.facts.pilot.is_some() {
            let reason = "95 % of its budget is used, and a pilot is work that it can do without";
            return stop_for(state, slot, reason, "budget", now, effects);
        }
        if may_move && run.facts.unattended && run.budget.limits().to_batch {
            let _ = money::move_to_batch(state, slot, "the budget's policy", now, effects);
        } else {
            run.budget.offers_batch |= may_move;
        }
    }
    let run = &state.runs[slot.ix()];
    // What is only waited for is no end.
    let is_final = run.budget.blocked.as_ref().is_some_and(|blocked| blocked.needs.is_none());
    let blocked = run.status == RunStatus::Running && is_final;
    let quiet = run.queue.in_flight() == 0 && run.queue.counts().unsynced == 0 && !run.moving;
    if blocked && quiet && !batch::is_at_work(state, slot) && money::nobody_takes(state, slot, now) {
        if batch::fit(state, slot, now, effects) {
            return;
        }
        let reason = money::used_up(&state.runs[slot.ix()]);
        stop_for(state, slot, &reason, "budget", now, effects);
    }
}

/// Ends a pilot that is told too often that there is no room. It is done here, between two events, and not by who looks at the
/// pictures: those come later, and meanwhile colleagues would be pushed aside.
fn spare_the_orgs(state: &mut State, slot: RunSlot, now: Now, effects: &mut Vec<Effect>) {
    let run = &state.runs[slot.ix()];
    if run.facts.pilot.is_some_and(|n| run.n_limited * PILOT_MOST_429 > n) {
        stop_for(state, slot, "the orgs have no room now, and a pilot can wait", "pilot", now, effects);
    }
}

fn has_come_to_rest(run: &RunState) -> bool {
    // A stopped run waits for the disk: what is in memory was paid for. It leaves without when it was told so a second time,
    // or when waiting is in vain; the answers are tried once more then, and given back when that fails.
    let leaves = run.store_trouble.is_some() && (run.leaving || run.store_lost);
    let synced = run.queue.counts().unsynced == 0 || leaves;
    let quiet = run.queue.in_flight() == 0 && synced;
    quiet && (run.status == RunStatus::Draining || run.queue.is_empty())
}

/// Running ↔ holding, as orgs are parked and revived.
pub(super) fn hold_or_go_on(state: &mut State, now: Now, effects: &mut Vec<Effect>) {
    for ix in 0..state.runs.len() {
        let status = state.runs[ix].status;
        if !matches!(status, RunStatus::Running | RunStatus::Holding) {
            continue;
        }
        let all_parked = !can_be_served(state, ix);
        let run = &mut state.runs[ix];
        match status {
            RunStatus::Running if all_parked && !run.queue.is_empty() => {
                run.status = RunStatus::Holding;
                let why = |org: &OrgState| match org.parked {
                    Some(parked) => format!("{}: {}", org.label, parked.why.as_str()),
                    None => format!("{}: without the model", org.label),
                };
                let why: Vec<_> = state.orgs.iter().map(why).collect();
                let reason = format!("every org is parked ({})", why.join(", "));
                run.reason = Some(reason.clone());
                state.note(Level::Error, "holding", None, reason, now, effects);
            }
            RunStatus::Holding if !all_parked => {
                run.status = RunStatus::Running;
                run.reason = None;
            }
            _ => {}
        }
    }
}

/// Whether some org takes work of a family that waits.
fn can_be_served(state: &State, ix: usize) -> bool {
    let queue = &state.runs[ix].queue;
    let waiting = || Family::ALL.into_iter().filter(|family| queue.waits(*family));
    state.orgs.iter().any(|org| org.parked.is_none())
        && (waiting().next().is_none()
            || state.orgs.iter().any(|org| waiting().any(|family| state.serves(org.id, family))))
}

/// Unattended, what would wait for an operator ends the run.
fn give_up(state: &mut State, slot: RunSlot, now: Now, effects: &mut Vec<Effect>) {
    let limit = state.settings.outage_limit;
    let run = &state.runs[slot.ix()];
    if !run.facts.unattended || run.status.is_over() || run.status == RunStatus::Draining {
        return;
    }
    if run.status == RunStatus::Holding {
        let comes_back = state.orgs.iter().filter_map(|org| org.parked?.until).min();
        let in_time = comes_back.is_some_and(|until| limit.is_none_or(|limit| until.until(now.mono) <= limit));
        if !in_time {
            let reason = run.reason.clone().unwrap_or_default();
            stop_for(state, slot, &reason, "all-parked", now, effects);
        }
        return;
    }
    if let Some(reason) = outage_over(&run.outage, limit, now.mono) {
        stop_for(state, slot, &reason, "outage", now, effects);
    }
}

fn outage_over(outage: &Outage, limit: Option<Duration>, now: Mono) -> Option<String> {
    let away = now.since(outage.since?);
    let limit = if outage.heard { limit? } else { limit.map_or(NEVER_HEARD_LIMIT, |l| l.min(NEVER_HEARD_LIMIT)) };
    (away > limit).then(|| {
        let last = outage.last.as_ref().map(ToString::to_string).unwrap_or_default();
        format!("no org has answered for {} s; the last failure: {last}", away.as_secs())
    })
}

/// Comes to rest: leaves a trace of what is left, and says with which exit code.
fn end(state: &mut State, slot: RunSlot, now: Mono, effects: &mut Vec<Effect>) {
    let run = &mut state.runs[slot.ix()];
    let left = run.queue.redrives().iter().filter(|(_, redrive)| !redrive.journaled).map(|(no, redrive)| {
        Effect::RecordReDrivable {
            run: slot,
            no,
            org: redrive.org,
            attempts: redrive.attempts,
            trouble: redrive.trouble,
            error: redrive.error.clone(),
        }
    });
    effects.extend(left);
    let counts = run.queue.counts();
    run.status = if counts.open() == 0 { RunStatus::Finished } else { RunStatus::Incomplete };
    run.ended = Some(now);
    let exit_code = exit_code(run, &counts);
    run.exit_code = Some(exit_code);
    effects.push(Effect::Rest { run: slot, exit_code });
}

/// 2 when an unattended run gave up before anything was sent to the end: nothing was billed, the set-up is wrong.
fn exit_code(run: &RunState, counts: &Counts) -> u8 {
    let billed = counts.succeeded + counts.refused + counts.invalid + run.ledger.in_doubt().0;
    if counts.open() > 0 && run.facts.unattended && billed == 0 && !run.outage.heard && run.gave_up {
        2
    } else {
        counts.exit_code()
    }
}
