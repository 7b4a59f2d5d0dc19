//! What ends a run early: a fuse that blows, a reason that more sending would not mend, the operator.

use crate::model::{ApiError, Level, Now, Route, RunSlot, RunStatus, Trouble};

use super::event::Effect;
use super::state::State;

/// A request was called invalid. The first ones failing alike blow the fuse: it is the file or the model that is wrong,
/// and a million of them would say no more than five.
pub(super) fn invalid(state: &mut State, slot: RunSlot, error: &ApiError, now: Now, effects: &mut Vec<Effect>) {
    let blow_at = state.settings.fuse;
    let run = &mut state.runs[slot.ix()];
    if run.fuse.off || blow_at == 0 || run.status.is_over() {
        return;
    }
    let key = without_digits(&error.to_string());
    let alike = match &mut run.fuse.alike {
        Some((first, n)) if *first == key => {
            *n += 1;
            *n
        }
        Some(_) => {
            // Two different errors: the requests differ, so others may be right.
            run.fuse.off = true;
            return;
        }
        None => {
            run.fuse.alike = Some((key, 1));
            1
        }
    };
    if alike < blow_at {
        return;
    }
    run.fuse.off = true;
    let reason = format!("the first {alike} requests failed alike: {error}");
    blow(state, slot, &reason, "fuse", now, effects);
}

/// Nothing that is sent will succeed: on screen the operator decides whether to go on, unattended the run ends.
pub(super) fn blow(
    state: &mut State,
    slot: RunSlot,
    reason: &str,
    kind: &'static str,
    now: Now,
    effects: &mut Vec<Effect>,
) {
    let run = &mut state.runs[slot.ix()];
    if run.facts.unattended {
        stop_for(state, slot, reason, kind, now, effects);
    } else if !run.status.is_over() && run.status != RunStatus::Draining {
        run.status = RunStatus::Paused;
        run.reason = Some(format!("{reason}. Resume to go on with the rest, or quit"));
        state.note(Level::Error, kind, None, format!("paused: {reason}"), now, effects);
    }
}

/// Ends the run when what is in flight has finished, for a reason that more sending would not mend.
pub(super) fn stop_for(
    state: &mut State,
    slot: RunSlot,
    reason: &str,
    kind: &'static str,
    now: Now,
    effects: &mut Vec<Effect>,
) {
    let run = &mut state.runs[slot.ix()];
    if run.status.is_over() || run.status == RunStatus::Draining {
        return;
    }
    run.status = RunStatus::Draining;
    run.reason = Some(reason.to_owned());
    run.gave_up = true;
    state.note(Level::Error, kind, None, format!("stopping: {reason}"), now, effects);
}

/// Stops at once: the attempts under way are abandoned, and counted as possibly charged.
pub(super) fn stop_now(state: &mut State, slot: RunSlot, now: Now, effects: &mut Vec<Effect>) {
    for (no, flight) in state.runs[slot.ix()].queue.flying() {
        let family = state.runs[slot.ix()].queue.family(no);
        let org = flight.org;
        state.flight_ended(slot, family, &flight, None, now.mono);
        state.orgs[org.ix()].breaker.abandoned();
        let run = &mut state.runs[slot.ix()];
        run.ledger.doubt(org, Route::Sync, run.sizes.model(no), "stopped", flight.at_most, now.wall);
        let error =
            ApiError { kind: "abandoned".to_owned(), message: "the run was stopped".to_owned(), ..ApiError::default() };
        run.queue.failed(no, org, Trouble::Abandoned, error, now.mono);
    }
    state.runs[slot.ix()].stopping = true;
    effects.push(Effect::Abandon { run: slot });
}

/// The text with every run of digits made one `#`, so that errors that name a position or a size compare as alike.
fn without_digits(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if !c.is_ascii_digit() {
            out.push(c);
        } else if !out.ends_with('#') {
            out.push('#');
        }
    }
    out
}
