//! The planner: what a run would take, cost and risk on each route, before a cent is spent.
//!
//! A [`Draft`] holds the knobs and the plan that is made of them. Every change makes the plan again, at once and as a pure
//! function ([`crate::plan`]), so that what is shown is never older than what is set. Who launches, measures or reads a
//! file lies behind the screens; the draft only says what is wanted.

pub mod draft;
pub mod entry;
pub mod knob;
pub mod ladder;
mod launch;
pub mod pilot;
#[cfg(test)]
pub(in crate::tui) mod tests;

use crate::model::{Finding, Mono, Snapshot};
use crate::tui::action::Context::Planner;
use crate::tui::action::{Action, ActionInfo, destroying, entry as action};
use crate::tui::backstage::Errand;
use crate::tui::commands::{ask, confirm, say};
use crate::tui::field::TextField;
use crate::tui::msg::Reaction;
use crate::tui::state::{Ask, Deed, Overlay, Tone, UiState};
use crate::tui::view;

pub use draft::{Audited, Draft, Learnt, OrgChoice, Panel};
pub use knob::Knob;
pub use pilot::Piloting;

/// What the planner adds to the registry.
pub const ACTIONS: &[ActionInfo] = &[
    destroying(action(
        Action::Launch,
        "launch",
        &["enter"],
        "launch it; repeats the cost and asks",
        Some("launch"),
        &[Planner],
    )),
    destroying(action(
        Action::Pilot,
        "pilot",
        &["p"],
        "measure by a few requests; asks; again: ends it",
        Some("pilot"),
        &[Planner],
    )),
    action(Action::KnobUp, "knob-up", &["right", "+", "=", "space", "l"], "turn the knob up", Some("turn"), &[Planner]),
    action(Action::KnobDown, "knob-down", &["left", "-", "h"], "turn the knob down", None, &[Planner]),
    action(Action::EditKnob, "edit-knob", &["e"], "type the value of the knob", Some("type"), &[Planner]),
    action(Action::ReadPlan, "read-plan", &["i"], "read reasons, notes and risks in full", Some("in full"), &[Planner]),
    action(Action::NextPanel, "next-panel", &["tab"], "table, chart, rules, figures, audit", Some("panel"), &[Planner]),
    action(Action::PreviousPanel, "previous-panel", &["backtab"], "the panel before", None, &[Planner]),
    action(Action::PanelDown, "panel-down", &["pagedown", "J"], "scroll the panel down", None, &[Planner]),
    action(Action::PanelUp, "panel-up", &["pageup", "K"], "scroll the panel up", None, &[Planner]),
];

/// What the planner remembers.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PlannerUi {
    /// What is planned; `None` while there is nothing to plan.
    pub draft: Option<Box<Draft>>,
    /// The value that is being typed.
    pub field: TextField,
    /// What a dear launch asks: it is agreed to by typing its dollars.
    pub asks: Option<Ask>,
    /// Where the pilot is.
    pub pilot: Piloting,
}

/// Why an action is of no use now.
///
/// # Errors
/// The reason.
pub(super) fn valid(action: Action, ui: &UiState, snapshot: &Snapshot) -> Result<(), String> {
    let own = ACTIONS.iter().any(|info| info.action == action);
    match (&ui.planner.draft, action) {
        (None, _) if own => Err("nothing is planned: fandeck plan, or fandeck run FILE".to_owned()),
        (Some(draft), Action::KnobUp | Action::KnobDown | Action::EditKnob) => draft.may_change(),
        (Some(draft), Action::Launch) => launch::may_launch(draft, ui, snapshot),
        (Some(draft), Action::Pilot) => pilot::may_pilot(draft, ui, snapshot),
        _ => Ok(()),
    }
}

/// What an action does here.
pub(super) fn act(ui: &mut UiState, action: Action, snapshot: &Snapshot, now: Mono) -> Vec<Reaction> {
    if action == Action::Pilot {
        return pilot::press(ui, snapshot, now);
    }
    let Some(draft) = &mut ui.planner.draft else { return Vec::new() };
    match action {
        Action::MoveDown => draft.move_focus(1),
        Action::MoveUp => draft.move_focus(-1),
        Action::First => draft.focus = Knob::FIRST,
        Action::Last => draft.focus = draft.last_knob(),
        Action::KnobUp => draft.turn(true),
        Action::KnobDown => draft.turn(false),
        Action::EditKnob => ui.planner.field = TextField { text: String::new(), editing: true },
        Action::NextPanel => draft.show(draft.panel.next()),
        Action::PreviousPanel => draft.show(draft.panel.previous()),
        Action::PanelDown => draft.scroll = draft.scroll.saturating_add(1),
        Action::ReadPlan => {
            let lines = view::planner::in_full(draft, &ui.planner.pilot);
            ui.overlay = Some(Overlay::Reader { title: "the plan in full", lines, scroll: 0 });
        }
        Action::Launch => {
            let question = launch::question(draft);
            if draft.dollars_to_type().is_none() {
                confirm(ui, question);
            } else {
                ui.planner.asks = Some(question);
                ui.planner.field = TextField { text: String::new(), editing: true };
            }
        }
        Action::PanelUp => draft.scroll = draft.scroll.saturating_sub(1),
        _ => {}
    }
    Vec::new()
}

/// The screen comes into view: the input is audited, once.
pub(super) fn shown(ui: &mut UiState) -> Vec<Reaction> {
    match &mut ui.planner.draft {
        Some(draft) if draft.audited == Audited::Due => {
            draft.audited = Audited::Reading;
            vec![Reaction::Ask { ticket: 0, errand: Errand::AuditInput }]
        }
        _ => Vec::new(),
    }
}

/// The input was audited.
pub(super) fn audited(ui: &mut UiState, found: Result<Vec<Finding>, String>) {
    if let Some(draft) = &mut ui.planner.draft {
        draft.audited = found.map_or_else(Audited::Failed, Audited::Found);
    }
}

/// The typed value is taken; one that makes no sense is said, and stays to be mended.
pub(in crate::tui) fn typed(ui: &mut UiState, snapshot: &Snapshot, now: Mono) -> Vec<Reaction> {
    let Some(draft) = &mut ui.planner.draft else { return Vec::new() };
    if let Some(question) = ui.planner.asks.take() {
        let wanted = draft.dollars_to_type();
        let typed = ui.planner.field.text.trim().trim_start_matches('$').replace(',', "");
        ui.planner.field.drop_text();
        return match question.deed {
            Deed::Errand { errand, what } if wanted.as_deref() == Some(&typed) => ask(ui, errand, what, snapshot, now),
            _ => {
                say(ui, "not launched: what was typed is not the projected dollars".to_owned(), Tone::Bad, now);
                Vec::new()
            }
        };
    }
    match draft.enter(&ui.planner.field.text) {
        Ok(()) => ui.planner.field.drop_text(),
        Err(why) => {
            ui.planner.field.editing = true;
            say(ui, why, Tone::Bad, now);
        }
    }
    Vec::new()
}

/// Typing was given up.
pub(in crate::tui) fn dropped(ui: &mut UiState) {
    ui.planner.asks = None;
}

/// Where on a knob the pointer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KnobPart {
    /// Its name.
    Name,
    /// Its value.
    Value,
    /// The arrow that turns it down.
    Down,
    /// The arrow that turns it up.
    Up,
}

/// A press on a knob: selects it; on an arrow it turns it, on the value of the selected one it lets it be typed.
pub(super) fn click(ui: &mut UiState, knob: Knob, part: KnobPart, now: Mono) {
    let Some(draft) = &mut ui.planner.draft else { return };
    let was_selected = draft.focus == knob;
    draft.focus = knob;
    let turns = !matches!(part, KnobPart::Name) && (was_selected || part != KnobPart::Value);
    if !turns {
        return;
    }
    if let Err(why) = draft.may_change() {
        return say(ui, why, Tone::Bad, now);
    }
    match part {
        KnobPart::Down => draft.turn(false),
        KnobPart::Up => draft.turn(true),
        _ if draft.focus.is_switch() => draft.turn(true),
        _ => ui.planner.field = TextField { text: String::new(), editing: true },
    }
}

/// A press on the name of a panel.
pub(super) fn show_panel(ui: &mut UiState, panel: Panel) {
    if let Some(draft) = &mut ui.planner.draft
        && draft.panel != panel
    {
        draft.show(panel);
    }
}

/// The wheel over a knob turns it.
pub(super) fn wheel(ui: &mut UiState, knob: Knob, down: bool) {
    let Some(draft) = &mut ui.planner.draft else { return };
    draft.focus = knob;
    if draft.may_change().is_ok() {
        draft.turn(!down);
    }
}
