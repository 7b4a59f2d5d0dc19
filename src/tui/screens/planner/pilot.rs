//! The pilot: a few dozen of the input's own requests are sent at full price, so that the plan stands on what they measured
//! and on no assumption. What it would cost is found out first, and asked; its answers are the first of the run that is
//! launched afterwards. The planner stays in view: the pilot's progress is in its first line.

use crate::model::snapshot::OrgView;
use crate::model::{Command, Mono, Snapshot};
use crate::report::format;
use crate::tui::backstage::{Driver, Errand, LaunchOrder, PilotTerms, Piloted};
use crate::tui::commands::{ask, confirm, say, send};
use crate::tui::msg::Reaction;
use crate::tui::screens::{Screen, live};
use crate::tui::state::{Ask, Deed, Gate, Tone, UiState, open_runs, shown_run};

use super::{Draft, launch};

/// Fewest requests that measure anything.
pub const FEWEST: u64 = 20;

/// Where a pilot is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Piloting {
    /// There is none.
    #[default]
    Nothing,
    /// What it would cost is being found out, or it is being started.
    Asked,
    /// Its requests are being sent.
    Sent,
    /// It has come to rest, and the plan is made anew.
    Measuring,
    /// What came of it; an error when it measured nothing.
    Done(Result<String, String>),
}

/// Whether the key does anything.
///
/// # Errors
/// Why not.
pub(super) fn may_pilot(draft: &Draft, ui: &UiState, snapshot: &Snapshot) -> Result<(), String> {
    match &ui.planner.pilot {
        Piloting::Sent => return Ok(()),
        Piloting::Asked | Piloting::Measuring => return Err("a pilot is on its way already".to_owned()),
        Piloting::Done(Ok(_)) => return Err("the pilot has measured already; launch sends the rest".to_owned()),
        Piloting::Nothing | Piloting::Done(Err(_)) => {}
    }
    launch::may_launch(draft, ui, snapshot)?;
    if draft.plan.n_to_send < FEWEST {
        return Err(format!(
            "a pilot measures with {FEWEST} requests at the least, and {} are to be sent: launch them",
            format::count(draft.plan.n_to_send)
        ));
    }
    if draft.is_mixed() {
        return Err("the input names several models: what a pilot measured would be of none of them".to_owned());
    }
    Ok(())
}

/// The key or the button: finds out what a pilot costs; while one is sent, lets what is in flight finish and ends it.
pub(super) fn press(ui: &mut UiState, snapshot: &Snapshot, now: Mono) -> Vec<Reaction> {
    if ui.planner.pilot == Piloting::Sent {
        let what = "end the pilot";
        let runs: Vec<_> = open_runs(snapshot).map(|(run, _)| run).collect();
        return runs
            .into_iter()
            .flat_map(|run| send(ui, Command::DrainRun { run }, what.to_owned(), None, now))
            .collect();
    }
    let Some(draft) = &ui.planner.draft else { return Vec::new() };
    let errand = Errand::AssessPilot(launch::order(draft));
    ui.planner.pilot = Piloting::Asked;
    ask(ui, errand, "what a pilot costs".to_owned(), snapshot, now)
}

/// What a pilot costs is known: the gate asks, when the operator is still there.
pub(in crate::tui) fn assessed(ui: &mut UiState, order: LaunchOrder, terms: Result<PilotTerms, String>, now: Mono) {
    ui.planner.pilot = Piloting::Nothing;
    let terms = match terms {
        Ok(terms) => terms,
        Err(why) => return say(ui, why, Tone::Bad, now),
    };
    let is_here = ui.screen == Screen::Planner && ui.overlay.is_none() && !ui.planner.field.editing;
    let Some(draft) = ui.planner.draft.as_ref().filter(|_| is_here) else { return };
    let cost = match terms.expected {
        Some(expected) => format!(
            "{} expected ({} to {})",
            format::money(expected),
            format::money(terms.range.0),
            format::money(terms.range.1)
        ),
        None => "not known: the model has no price".to_owned(),
    };
    let lines = vec![
        format!(
            "{} of the {} requests, evenly over the input",
            format::count(terms.n),
            format::count(draft.plan.n_to_send)
        ),
        format!("cost   {cost}, on sync"),
        format!("orgs   {}", order.orgs.join(", ")),
        "A launch goes on from them: nothing is paid twice.".to_owned(),
        String::new(),
        "y  send the pilot    Esc  keep planning".to_owned(),
    ];
    let what = format!("a pilot of {} requests", format::count(terms.n));
    let deed = Deed::Errand { errand: Errand::Pilot { order, agreed: terms }, what };
    confirm(ui, Ask { gate: Gate::Pilot, lines, deed });
}

/// The pilot is being sent, or could not be.
pub(in crate::tui) fn began(ui: &mut UiState, driver: Result<Driver, String>, now: Mono) {
    match driver {
        Ok(driver) => {
            live::begin(ui, driver, now);
            ui.planner.pilot = Piloting::Sent;
        }
        Err(why) => {
            ui.planner.pilot = Piloting::Done(Err(format!("pilot not sent: {why}")));
            say(ui, why, Tone::Bad, now);
        }
    }
}

/// Plans anew as soon as the pilot has come to rest, unless the screens are being left.
pub(in crate::tui) fn settle(ui: &mut UiState, snapshot: &Snapshot) -> Option<Reaction> {
    let is_over = !snapshot.runs.is_empty() && ui.is_over(snapshot);
    if ui.planner.pilot != Piloting::Sent || !is_over || ui.leaving.is_some() {
        return None;
    }
    ui.planner.pilot = Piloting::Measuring;
    Some(Reaction::Ask { ticket: 0, errand: Errand::Measure })
}

/// What the pilot came to: the plan stands on what it measured, or on what it stood on before.
pub(in crate::tui) fn measured(ui: &mut UiState, piloted: Result<Piloted, String>, now: Mono) {
    let said = match piloted {
        Ok(Piloted { draft, said }) => {
            if let Some(own) = &mut ui.planner.draft {
                own.learn(*draft);
            }
            said
        }
        Err(why) => Err(format!("the pilot was sent, and what it measured cannot be read: {why}")),
    };
    let tone = if said.is_ok() { Tone::Good } else { Tone::Bad };
    say(ui, said.clone().unwrap_or_else(|why| why), tone, now);
    ui.planner.pilot = Piloting::Done(said);
}

/// How far a pilot is, in a few words; nothing when none is on its way.
pub fn progress(ui: &UiState, snapshot: &Snapshot) -> Option<String> {
    match &ui.planner.pilot {
        Piloting::Asked => Some("pilot: asking".to_owned()),
        Piloting::Measuring => Some("pilot: planning anew".to_owned()),
        Piloting::Sent => {
            let run = shown_run(snapshot)?;
            let of_all = |count: fn(&OrgView) -> u64| snapshot.orgs.iter().map(count).fold(0, u64::saturating_add);
            let answered = of_all(|org| org.totals.n_ok.saturating_add(org.totals.n_refused));
            let n_429 = of_all(|org| org.totals.n_429());
            let limited = if n_429 > 0 { format!(", {n_429} × 429") } else { String::new() };
            Some(format!("pilot: {answered} answered, {} in flight{limited}", run.counts.in_flight))
        }
        Piloting::Nothing | Piloting::Done(_) => None,
    }
}
