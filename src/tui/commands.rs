//! Commands: how an action becomes one, what is said meanwhile, and what is said when it is answered.

use std::time::Duration;

use super::action::Action;
use super::backstage::{Answer, Errand};
use super::msg::Reaction;
use super::screens::{self, Screen};
use super::state::{Ask, Asked, CapAsk, Deed, Gate, Overlay, Toast, Tone, UiState, shown_run};
use crate::model::{Command, CommandOutcome, Family, Mono, OrgId, RunStatus, Snapshot};

/// How long a message stays.
const TOAST: Duration = Duration::from_secs(8);
/// A refusal that was shown for so long has been read.
const READ: Duration = Duration::from_millis(500);
/// How long a cap that was asked for is taken as set while no picture shows it.
const CAP_GRACE: Duration = Duration::from_secs(2);

/// Shows a message.
pub(super) fn say(ui: &mut UiState, text: String, tone: Tone, now: Mono) {
    ui.toast = Some(Toast { text, tone, until: now + TOAST });
}

/// What was refused has been read when the next key comes, except one that is already on its way while a key is held. `Esc`
/// takes a message back as its one deed.
pub(super) fn forget_refusal(ui: &mut UiState, action: Action, now: Mono) {
    let elsewhere = Screen::of_action(action).is_some();
    let read = |toast: &Toast| toast.tone == Tone::Bad && (elsewhere || now + TOAST >= toast.until + READ);
    if !matches!(action, Action::Dismiss | Action::Back) && ui.toast.as_ref().is_some_and(read) {
        ui.toast = None;
    }
}

/// Sends a command, and says that it was asked.
pub(super) fn send(
    ui: &mut UiState,
    command: Command,
    what: String,
    cap: Option<(OrgId, Family, u32)>,
    now: Mono,
) -> Vec<Reaction> {
    ui.ticket += 1;
    let ticket = ui.ticket;
    say(ui, format!("asked: {what}"), Tone::Asked, now);
    ui.asked.push(Asked { ticket, what, cap, at: now });
    vec![Reaction::Send { ticket, command }]
}

/// Asks for something behind the screens, and says so. Another run than the one that goes on here is shown only after the
/// operator has said what is to become of that.
pub(super) fn ask(ui: &mut UiState, errand: Errand, what: String, snapshot: &Snapshot, now: Mono) -> Vec<Reaction> {
    if errand.attaches() && !ui.may_leave(snapshot) {
        ui.then = Some((errand, what));
        ui.ask_how_to_leave();
        return Vec::new();
    }
    ui.ticket += 1;
    let ticket = ui.ticket;
    say(ui, format!("asked: {what}"), Tone::Asked, now);
    ui.asked.push(Asked { ticket, what, cap: None, at: now });
    vec![Reaction::Ask { ticket, errand }]
}

/// An errand was done: what was asked is asked no more, and the screen that it concerns is told.
pub(super) fn told(ui: &mut UiState, ticket: u64, answer: Answer, snapshot: &Snapshot, now: Mono) -> Vec<Reaction> {
    if let Some(at) = ui.asked.iter().position(|asked| asked.ticket == ticket) {
        ui.asked.remove(at);
        ui.toast = None;
    }
    screens::told(ui, ticket, answer, snapshot, now)
}

/// Opens the gate, with the focus on the button that changes nothing.
pub(super) fn confirm(ui: &mut UiState, ask: Ask) {
    ui.overlay = Some(Overlay::Confirm { focus: 0, ask });
}

pub(super) fn answered(ui: &mut UiState, ticket: u64, outcome: &CommandOutcome, now: Mono) -> Vec<Reaction> {
    let Some(at) = ui.asked.iter().position(|asked| asked.ticket == ticket) else { return Vec::new() };
    let what = ui.asked[at].what.clone();
    let keeps = matches!(outcome, CommandOutcome::Done(_)) && ui.asked[at].cap.is_some();
    if !keeps {
        ui.asked.remove(at);
    }
    let (tone, text) = match outcome {
        CommandOutcome::Done(text) => (Tone::Good, format!("done: {text}")),
        CommandOutcome::AlreadySo(text) => (Tone::Good, format!("already so: {text}")),
        CommandOutcome::Refused(text) => (Tone::Bad, format!("not done: {what}: {text}")),
    };
    say(ui, text, tone, now);
    Vec::new()
}

pub(super) fn pause_run(ui: &mut UiState, snapshot: &Snapshot, now: Mono) -> Vec<Reaction> {
    let Some(run) = shown_run(snapshot) else { return Vec::new() };
    let slot = run.slot;
    if run.status == RunStatus::Paused {
        send(ui, Command::ResumeRun { run: slot }, "resume the run".to_owned(), None, now)
    } else {
        send(ui, Command::PauseRun { run: slot }, "pause the run".to_owned(), None, now)
    }
}

pub(super) fn pause_org(ui: &mut UiState, action: Action, snapshot: &Snapshot, now: Mono) -> Vec<Reaction> {
    let Some(org) = ui.selected_org(snapshot) else { return Vec::new() };
    if action == Action::PauseOrg {
        send(ui, Command::PauseOrg { org: org.id }, format!("pause {}", org.label), None, now)
    } else {
        send(ui, Command::ReviveOrg { org: org.id }, format!("revive {}", org.label), None, now)
    }
}

/// A tenth of the polite cap, so that the steps mean the same for every family.
fn cap_step(polite: u32) -> u32 {
    (polite / 10).max(1)
}

pub(super) fn change_cap(ui: &mut UiState, up: bool, snapshot: &Snapshot, now: Mono) -> Vec<Reaction> {
    let Some((org, window)) = ui.selected_window(snapshot) else { return Vec::new() };
    let seen = ui.cap(org.id, window);
    let polite = window.polite_cap;
    let step = cap_step(polite);
    let wanted = match (up, seen < polite) {
        // The polite cap is a stop on the way up, whatever the step.
        (true, true) => seen.saturating_add(step).min(polite),
        (true, false) => seen.saturating_add(step),
        (false, _) => seen.saturating_sub(step).max(1),
    };
    let ask = CapAsk { org: org.id, label: org.label.clone(), family: window.family, seen, wanted, polite };
    if up && wanted > polite {
        confirm(ui, cap_question(ask));
        return Vec::new();
    }
    set_cap(ui, &ask, now)
}

fn cap_question(ask: CapAsk) -> Ask {
    let lines = vec![
        format!("{}, {}: cap {} → {}.", ask.label, ask.family, ask.seen, ask.wanted),
        String::new(),
        format!(
            "The polite cap is {}: more may push colleagues, who share the limits of this org, into 429s.",
            ask.polite
        ),
        String::new(),
        format!("y  raise to {}    Esc  keep {}", ask.wanted, ask.seen),
    ];
    Ask { gate: Gate::Cap, lines, deed: Deed::SetCap(ask) }
}

pub(super) fn set_cap(ui: &mut UiState, ask: &CapAsk, now: Mono) -> Vec<Reaction> {
    let command = Command::SetCap {
        org: ask.org,
        family: ask.family,
        seen: ask.seen,
        cap: ask.wanted,
        above_polite: ask.wanted > ask.polite && ask.wanted > ask.seen,
    };
    let what = format!("cap of {} for {} from {} to {}", ask.label, ask.family, ask.seen, ask.wanted);
    send(ui, command, what, Some((ask.org, ask.family, ask.wanted)), now)
}

/// Forgets the caps that a picture shows by now, or that none has shown for too long.
pub(super) fn forget_settled(ui: &mut UiState, snapshot: &Snapshot, now: Mono) {
    ui.asked.retain(|asked| match asked.cap {
        Some((id, family, cap)) => {
            let mut windows = snapshot.orgs.iter().filter(|org| org.id == id).flat_map(|org| &org.windows);
            let shown = windows.any(|window| window.family == family && window.cap == cap);
            !shown && now.since(asked.at) < CAP_GRACE
        }
        None => true,
    });
}
