//! The screens, one module each: what it remembers, which actions it adds to the registry, what its keys and clicks do
//! (`act`, `click`, `wheel`), and why an action is of no use at the moment (`valid`). How it looks is in the module of the
//! same name under [`super::view`].
//!
//! This module passes on: each function here only asks the screen that is shown.

pub mod aim;
pub mod batches;
pub mod live;
pub mod log;
pub mod planner;
pub mod raise;
pub mod requests;
pub mod runs;

use super::action::{Action, Context};
use super::backstage::Answer;
use super::commands::say;
use super::field::TextField;
use super::msg::Reaction;
use super::state::{Overlay, Tone, UiState, shown_run};
use super::view::hit::Target;
use crate::model::{Mono, Snapshot};

/// The screens, in the order of their keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Screen {
    /// The runs found.
    Runs,
    /// What a run would cost and take, and by which path.
    Planner,
    /// The run that goes on.
    #[default]
    Live,
    /// Its sub-batches.
    Batches,
    /// Its requests by outcome.
    Requests,
    /// What was logged.
    Log,
}

impl Screen {
    /// All of them, in the order of their keys.
    pub const ALL: [Screen; 6] =
        [Screen::Runs, Screen::Planner, Screen::Live, Screen::Batches, Screen::Requests, Screen::Log];

    /// Its name.
    pub fn as_str(self) -> &'static str {
        self.context().as_str()
    }

    /// Where keys go when nothing lies over it and no field is edited.
    pub fn context(self) -> Context {
        match self {
            Screen::Runs => Context::Runs,
            Screen::Planner => Context::Planner,
            Screen::Live => Context::Live,
            Screen::Batches => Context::Batches,
            Screen::Requests => Context::Requests,
            Screen::Log => Context::Log,
        }
    }

    /// The action that shows it.
    pub fn action(self) -> Action {
        match self {
            Screen::Runs => Action::ShowRuns,
            Screen::Planner => Action::ShowPlanner,
            Screen::Live => Action::ShowLive,
            Screen::Batches => Action::ShowBatches,
            Screen::Requests => Action::ShowRequests,
            Screen::Log => Action::ShowLog,
        }
    }

    /// The screen that an action shows.
    pub fn of_action(action: Action) -> Option<Screen> {
        Screen::ALL.into_iter().find(|screen| screen.action() == action)
    }

    /// Whether it shows a run, and has its header.
    pub fn is_of_a_run(self) -> bool {
        !matches!(self, Screen::Runs | Screen::Planner)
    }
}

/// The text field of the screen that is shown, edited or not; `None` when it has none.
pub fn field(ui: &UiState) -> Option<&TextField> {
    match ui.screen {
        Screen::Runs => Some(&ui.runs.filter),
        Screen::Planner => Some(&ui.planner.field),
        Screen::Batches => Some(&ui.batches.search),
        Screen::Requests => Some(&ui.requests.filter),
        Screen::Log => Some(&ui.log.filter),
        Screen::Live => None,
    }
}

/// As [`field`], to change it.
pub(super) fn field_mut(ui: &mut UiState) -> Option<&mut TextField> {
    match ui.screen {
        Screen::Runs => Some(&mut ui.runs.filter),
        Screen::Planner => Some(&mut ui.planner.field),
        Screen::Batches => Some(&mut ui.batches.search),
        Screen::Requests => Some(&mut ui.requests.filter),
        Screen::Log => Some(&mut ui.log.filter),
        Screen::Live => None,
    }
}

/// The screen comes into view.
pub(in crate::tui) fn shown(ui: &mut UiState) -> Vec<Reaction> {
    match ui.screen {
        Screen::Runs => runs::shown(ui),
        Screen::Requests => requests::shown(ui),
        Screen::Planner => planner::shown(ui),
        Screen::Live | Screen::Batches | Screen::Log => Vec::new(),
    }
}

/// Why an action of a screen is of no use now.
///
/// # Errors
/// The reason.
pub(super) fn valid(action: Action, ui: &UiState, snapshot: &Snapshot) -> Result<(), String> {
    match ui.screen {
        Screen::Runs => runs::valid(action, ui, snapshot),
        Screen::Live => live::valid(action, ui, snapshot),
        Screen::Batches => batches::valid(action, ui, snapshot),
        Screen::Planner => planner::valid(action, ui, snapshot),
        Screen::Requests => requests::valid(action, ui),
        Screen::Log => Ok(()),
    }
}

/// What an action does on the screen that is shown.
pub(super) fn act(ui: &mut UiState, action: Action, snapshot: &Snapshot, now: Mono) -> Vec<Reaction> {
    match ui.screen {
        Screen::Runs => runs::act(ui, action, snapshot, now),
        Screen::Live => live::act(ui, action, snapshot, now),
        Screen::Batches => batches::act(ui, action, snapshot, now),
        Screen::Log => log::act(ui, action),
        Screen::Planner => planner::act(ui, action, snapshot, now),
        Screen::Requests => requests::act(ui, action, snapshot, now),
    }
}

/// The text of the screen's field is kept.
pub(super) fn kept(ui: &mut UiState, snapshot: &Snapshot, now: Mono) -> Vec<Reaction> {
    if ui.screen == Screen::Planner { planner::typed(ui, snapshot, now) } else { Vec::new() }
}

/// The text of the screen's field is given up.
pub(super) fn dropped(ui: &mut UiState) {
    if ui.screen == Screen::Planner {
        planner::dropped(ui);
    }
}

/// A press of the left button on something of a screen.
pub(super) fn click(ui: &mut UiState, target: Target, snapshot: &Snapshot, now: Mono) -> Vec<Reaction> {
    match target {
        Target::Org(ix) => live::select_ix(ui, ix, snapshot),
        Target::SubBatch { index, cancel } => return batches::click(ui, index, cancel, snapshot, now),
        Target::Run(ix) => runs::select_ix(ui, ix),
        Target::Knob(knob, part) => planner::click(ui, knob, part, now),
        Target::Panel(panel) => planner::show_panel(ui, panel),
        Target::Request(at) => requests::click(ui, at, now),
        Target::RequestInFull
        | Target::Screen(_)
        | Target::Log
        | Target::Help
        | Target::Press(_)
        | Target::Choice(_) => {}
    }
    Vec::new()
}

/// The wheel over something of a screen.
pub(super) fn wheel(ui: &mut UiState, target: Target, down: bool, snapshot: &Snapshot, now: Mono) -> Vec<Reaction> {
    let step = if down { Action::MoveDown } else { Action::MoveUp };
    match target {
        Target::Org(_) => {
            live::wheel(ui, down, snapshot);
            Vec::new()
        }
        Target::Log => live::scroll(ui, if down { Action::LogDown } else { Action::LogUp }),
        Target::RequestInFull => act(ui, if down { Action::InspectDown } else { Action::InspectUp }, snapshot, now),
        Target::SubBatch { .. } | Target::Run(_) | Target::Request(_) => act(ui, step, snapshot, now),
        Target::Knob(knob, _) => {
            planner::wheel(ui, knob, down);
            Vec::new()
        }
        Target::Panel(_) => act(ui, if down { Action::PanelDown } else { Action::PanelUp }, snapshot, now),
        Target::Screen(_) | Target::Help | Target::Press(_) | Target::Choice(_) => Vec::new(),
    }
}

/// What would be copied: the id or the path of what is selected.
pub(super) fn to_copy(ui: &UiState, snapshot: &Snapshot) -> Option<String> {
    match ui.screen {
        Screen::Runs => ui.runs.selected_row().map(|row| row.dir.display().to_string()),
        Screen::Live => shown_run(snapshot).map(|run| run.dir.clone()),
        Screen::Batches => batches::selected(ui, snapshot).and_then(|(_, sub)| sub.batch_id.clone()),
        Screen::Requests => ui.requests.row().map(|row| row.custom_id.to_string()),
        Screen::Planner | Screen::Log => None,
    }
}

/// An answer from behind the screens, to the errand of this number.
pub(super) fn told(ui: &mut UiState, ticket: u64, answer: Answer, snapshot: &Snapshot, now: Mono) -> Vec<Reaction> {
    match answer {
        Answer::Runs(found) => runs::found(ui, found, now),
        Answer::Attached(attached) => live::attached(ui, attached, snapshot, now),
        Answer::Requests(page) => requests::found(ui, ticket, page, now),
        Answer::Request(_, detail) => requests::inspected(ui, ticket, detail.map(|detail| *detail)),
        Answer::Audited(found) => {
            planner::audited(ui, found);
            Vec::new()
        }
        Answer::PilotAssessed(order, terms) => {
            planner::pilot::assessed(ui, order, terms, now);
            Vec::new()
        }
        Answer::Piloting(attached) => {
            planner::pilot::began(ui, attached.map(|attached| attached.driver), now);
            Vec::new()
        }
        Answer::Measured(piloted) => {
            planner::pilot::measured(ui, piloted, now);
            Vec::new()
        }
        Answer::Assessed(assessed) => runs::assessed(ui, assessed, now),
        Answer::Deleted(deleted) => runs::deleted(ui, deleted, now),
        Answer::Said(Ok(text)) => {
            say(ui, text, Tone::Good, now);
            Vec::new()
        }
        Answer::Report(Ok(text)) => {
            let lines = text.lines().map(str::to_owned).collect();
            ui.overlay = Some(Overlay::Reader { title: "report", lines, scroll: 0 });
            Vec::new()
        }
        Answer::Said(Err(why)) | Answer::Report(Err(why)) => {
            say(ui, why, Tone::Bad, now);
            Vec::new()
        }
    }
}

/// Time passes over the screen that is shown.
pub(super) fn tick(ui: &mut UiState, now: Mono) -> Vec<Reaction> {
    match ui.screen {
        Screen::Runs => runs::tick(ui, now),
        Screen::Planner | Screen::Live | Screen::Batches | Screen::Requests | Screen::Log => Vec::new(),
    }
}

/// The row that a movement leads to, of `n` rows of which `page` are seen at once.
pub(super) fn moved(action: Action, at: usize, n: usize, page: usize) -> usize {
    let last = n.saturating_sub(1);
    match action {
        Action::MoveDown => (at + 1).min(last),
        Action::MoveUp => at.saturating_sub(1),
        Action::PageDown => (at + page.max(1)).min(last),
        Action::PageUp => at.saturating_sub(page.max(1)),
        Action::First => 0,
        Action::Last => last,
        _ => at.min(last),
    }
}
