//! Commands of the operator. Each is idempotent, acts on the object that was shown, and answers in words.

use crate::model::{Command, CommandOutcome, Family, Level, Now, OrgId, Outcome, RequestNo, RunSlot, RunStatus};

use super::batch;
use super::event::Effect;
use super::money;
use super::queue::Place;
use super::state::State;
use super::{rest, stop};

/// Carries out a command.
pub(crate) fn command(state: &mut State, command: Command, now: Now, effects: &mut Vec<Effect>) -> CommandOutcome {
    match command {
        Command::PauseRun { run } => pause_run(state, run, now, effects),
        Command::ResumeRun { run } => resume_run(state, run, now, effects),
        Command::DrainRun { run } => drain_run(state, run, now, effects),
        Command::StopRun { run } => stop_run(state, run, now, effects),
        Command::PauseOrg { org } => pause_org(state, org, now, effects),
        Command::ReviveOrg { org } => revive_org(state, org, now, effects),
        Command::CancelSubBatch { run, sub_batch, seen } => {
            batch::cancel_sub_batch(state, run, sub_batch, seen, now, effects)
        }
        Command::FinishOnSync { run, cancel_open } => batch::finish_on_sync(state, run, cancel_open, now, effects),
        Command::ReDriveSubBatch { run, sub_batch } => batch::re_drive_sub_batch(state, run, sub_batch, now, effects),
        Command::MoveToBatch { run } => money::move_to_batch(state, run, "operator", now, effects),
        Command::ReDriveRequest { run, no, seen } => re_drive(state, run, no, seen, now, effects),
        Command::LeaveSubBatch { run, sub_batch } => batch::leave_sub_batch(state, run, sub_batch, now, effects),
        Command::SetCap { org, family, seen, cap, above_polite } => {
            set_cap(state, org, family, Cap { seen, wanted: cap, above_polite }, now, effects)
        }
    }
}

fn no_such(what: &str) -> CommandOutcome {
    CommandOutcome::Refused(format!("there is no such {what}"))
}

/// A run that may still change, or why not.
fn live(state: &State, slot: RunSlot) -> Result<RunStatus, CommandOutcome> {
    let run = state.runs.get(slot.ix()).ok_or_else(|| no_such("run"))?;
    if run.status.is_over() {
        return Err(CommandOutcome::AlreadySo(format!("the run is over already: {}", run.status)));
    }
    Ok(run.status)
}

fn done(
    state: &mut State,
    kind: &'static str,
    org: Option<OrgId>,
    text: String,
    now: Now,
    effects: &mut Vec<Effect>,
) -> CommandOutcome {
    state.note(Level::Info, kind, org, format!("operator: {text}"), now, effects);
    CommandOutcome::Done(text)
}

fn pause_run(state: &mut State, slot: RunSlot, now: Now, effects: &mut Vec<Effect>) -> CommandOutcome {
    match live(state, slot) {
        Err(outcome) => outcome,
        Ok(RunStatus::Paused) => CommandOutcome::AlreadySo("the run is paused already".to_owned()),
        Ok(RunStatus::Draining) => CommandOutcome::Refused("the run is draining: it admits nothing anyway".to_owned()),
        Ok(_) => {
            let run = &mut state.runs[slot.ix()];
            run.status = RunStatus::Paused;
            run.reason = Some("paused by the operator".to_owned());
            let text = format!("paused; {} in flight finish", run.queue.in_flight());
            done(state, "run-paused", None, text, now, effects)
        }
    }
}

fn resume_run(state: &mut State, slot: RunSlot, now: Now, effects: &mut Vec<Effect>) -> CommandOutcome {
    match live(state, slot) {
        Err(outcome) => outcome,
        Ok(RunStatus::Paused) => {
            // Who goes on against the findings of the preflight wants to see for himself.
            for org in &mut state.orgs {
                org.barred = [false; Family::COUNT];
            }
            let run = &mut state.runs[slot.ix()];
            run.status = RunStatus::Running;
            run.reason = None;
            done(state, "run-resumed", None, "resumed".to_owned(), now, effects)
        }
        Ok(RunStatus::Draining) => {
            CommandOutcome::Refused("the run is draining; resume it when it has ended".to_owned())
        }
        Ok(_) => CommandOutcome::AlreadySo("the run is not paused".to_owned()),
    }
}

fn drain_run(state: &mut State, slot: RunSlot, now: Now, effects: &mut Vec<Effect>) -> CommandOutcome {
    match live(state, slot) {
        Err(outcome) => outcome,
        Ok(RunStatus::Draining) => CommandOutcome::AlreadySo("the run is draining already".to_owned()),
        Ok(_) => {
            let run = &mut state.runs[slot.ix()];
            run.status = RunStatus::Draining;
            run.reason = Some("drained by the operator".to_owned());
            let text = format!("draining: {} in flight finish, nothing more is sent", run.queue.in_flight());
            let outcome = done(state, "run-draining", None, text, now, effects);
            rest::settle(state, now, effects);
            outcome
        }
    }
}

fn stop_run(state: &mut State, slot: RunSlot, now: Now, effects: &mut Vec<Effect>) -> CommandOutcome {
    if let Err(outcome) = live(state, slot) {
        return outcome;
    }
    let run = &mut state.runs[slot.ix()];
    let unsaved = run.queue.counts().unsynced;
    let waits = unsaved > 0 && run.store_trouble.is_some() && !run.store_lost;
    if run.stopping && (run.leaving || !waits) {
        return CommandOutcome::AlreadySo("the run is being stopped already".to_owned());
    }
    if waits && !run.stopping {
        run.stopping = true;
        run.status = RunStatus::Draining;
        run.reason = Some("stopped by the operator; it waits until the answers in memory are on the disk".to_owned());
        let text = format!(
            "stopping: {unsaved} answers in memory are not on the disk, and are waited for; stop again to leave without them"
        );
        return done(state, "run-stopping", None, text, now, effects);
    }
    run.leaving |= waits;
    let in_flight = run.queue.in_flight();
    stop::stop_now(state, slot, now, effects);
    let run = &mut state.runs[slot.ix()];
    run.status = RunStatus::Draining;
    run.reason = Some("stopped by the operator".to_owned());
    let text = format!("stopped; {in_flight} attempts abandoned, which may have been billed");
    let outcome = done(state, "run-stopped", None, text, now, effects);
    rest::settle(state, now, effects);
    outcome
}

fn pause_org(state: &mut State, org: OrgId, now: Now, effects: &mut Vec<Effect>) -> CommandOutcome {
    let Some(org_state) = state.orgs.get_mut(org.ix()) else { return no_such("org") };
    if org_state.paused {
        return CommandOutcome::AlreadySo(format!("{} is paused already", org_state.label));
    }
    org_state.paused = true;
    let text = format!("{} paused; {} in flight finish", org_state.label, org_state.in_flight());
    done(state, "org-paused", Some(org), text, now, effects)
}

fn revive_org(state: &mut State, org: OrgId, now: Now, effects: &mut Vec<Effect>) -> CommandOutcome {
    let Some(org_state) = state.orgs.get_mut(org.ix()) else { return no_such("org") };
    let label = org_state.label.clone();
    let was_paused = std::mem::take(&mut org_state.paused);
    let was_parked = org_state.parked.take().is_some();
    if !was_parked && !was_paused && org_state.breaker.is_probing(now.mono) {
        return CommandOutcome::AlreadySo(format!("{label} is being probed already"));
    }
    if was_parked || !org_state.breaker.is_closed() {
        org_state.breaker.probe(now.mono);
        let text = format!("{label} revived: one probe goes out first");
        return done(state, "org-revived", Some(org), text, now, effects);
    }
    if was_paused {
        return done(state, "org-revived", Some(org), format!("{label} takes work again"), now, effects);
    }
    let pool = state.orgs[org.ix()].pool;
    if let Some((span, why)) = state.pools[pool].gate.closed_for(now.mono) {
        return CommandOutcome::Refused(format!(
            "{label} is closed for {:.0} s more ({why}); calls before that would fail and hurt colleagues",
            span.as_secs_f64().ceil()
        ));
    }
    CommandOutcome::AlreadySo(format!("{label} is neither parked nor paused"))
}

/// Only what was set aside needs it: whatever else has no terminal outcome is sent again by itself, and what has one was
/// paid for.
fn re_drive(
    state: &mut State,
    slot: RunSlot,
    no: RequestNo,
    seen: Outcome,
    now: Now,
    effects: &mut Vec<Effect>,
) -> CommandOutcome {
    if let Err(outcome) = live(state, slot) {
        return outcome;
    }
    let run = &mut state.runs[slot.ix()];
    match run.queue.place(no) {
        None => no_such("request"),
        Some(Place::Done(outcome)) if outcome != seen => {
            CommandOutcome::AlreadySo(format!("request {} has become {outcome} meanwhile", no.0))
        }
        Some(Place::Done(outcome)) => {
            CommandOutcome::Refused(format!("request {} is {outcome}: only what is re-drivable is sent again", no.0))
        }
        Some(Place::Cached) => CommandOutcome::Refused(format!("request {} was answered by the cache", no.0)),
        Some(Place::Batched) => {
            CommandOutcome::Refused(format!("request {} is in a sub-batch; see the batches screen", no.0))
        }
        Some(Place::Waiting | Place::Again) => {
            CommandOutcome::AlreadySo(format!("request {} waits to be sent again by itself", no.0))
        }
        Some(Place::InFlight | Place::Unsynced) => {
            CommandOutcome::AlreadySo(format!("request {} is being sent again", no.0))
        }
        Some(Place::Aside) => {
            run.queue.take_back(no, now.mono);
            let text = format!("request {} is sent again", no.0);
            done(state, "re-driving", None, text, now, effects)
        }
    }
}

#[derive(Clone, Copy)]
struct Cap {
    seen: u32,
    wanted: u32,
    above_polite: bool,
}

fn set_cap(
    state: &mut State,
    org: OrgId,
    family: Family,
    cap: Cap,
    now: Now,
    effects: &mut Vec<Effect>,
) -> CommandOutcome {
    if state.orgs.get(org.ix()).is_none() {
        return no_such("org");
    }
    let label = state.orgs[org.ix()].label.clone();
    let window = state.window_mut(org, family, now.mono);
    let (is, polite) = (window.cap, window.polite_cap);
    if cap.wanted == is {
        return CommandOutcome::AlreadySo(format!("the cap of {label} for {family} is {is} already"));
    }
    if cap.seen != is {
        return CommandOutcome::Refused(format!("the cap of {label} for {family} has become {is} meanwhile"));
    }
    if !(1..=10_000).contains(&cap.wanted) {
        return CommandOutcome::Refused("a cap is between 1 and 10,000".to_owned());
    }
    if cap.wanted > polite && cap.wanted > is && !cap.above_polite {
        return CommandOutcome::Refused(format!("{} is above the polite cap of {polite}: confirm it", cap.wanted));
    }
    window.set_cap(cap.wanted);
    let mark = if cap.wanted > polite { format!(", above the polite cap of {polite}") } else { String::new() };
    let text = format!("cap of {label} for {family}: {is} to {}{mark}", cap.wanted);
    done(state, "cap-set", Some(org), text, now, effects)
}
