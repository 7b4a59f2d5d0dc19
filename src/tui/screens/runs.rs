//! The runs found: which are shown, which one is selected, and what can be done with it.

use std::path::PathBuf;

use crate::model::Mono;
use crate::tui::action::Context::Runs;
use crate::tui::action::{Action, ActionInfo, entry};
use crate::tui::backstage::{Errand, RunRow};
use crate::tui::commands::say;
use crate::tui::field::TextField;
use crate::tui::state::{Tone, UiState};
use crate::tui::update::Reaction;

/// What the screen adds to the registry.
pub const ACTIONS: &[ActionInfo] =
    &[entry(Action::OpenRun, "open-run", &["enter", "o"], "show the selected run", Some("open"), &[Runs])];

/// What the screen remembers.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RunsUi {
    /// The runs as they were found last, newest first; `None` while they are looked for the first time.
    pub rows: Option<Vec<RunRow>>,
    /// When they were found.
    pub found_at: Mono,
    /// They are being looked for.
    pub looking: bool,
    /// The selected run, by its directory; the first one without.
    pub selected: Option<PathBuf>,
    /// Only runs that contain this are shown.
    pub filter: TextField,
}

impl RunsUi {
    /// The rows that the filter leaves.
    pub fn shown(&self) -> Vec<&RunRow> {
        let text = |row: &RunRow| {
            let facts = row.facts.as_ref().map_or(String::new(), |facts| {
                format!("{} {} {} {}", facts.run_id, facts.input, facts.standing, facts.path)
            });
            format!("{} {facts}", row.dir.display())
        };
        self.rows.iter().flatten().filter(|row| self.filter.matches(&text(row))).collect()
    }

    /// Position of the selected row among those that are shown; the selection follows the run, not the row.
    pub fn selected_ix(&self, shown: &[&RunRow]) -> usize {
        let selected = self.selected.as_ref();
        selected.and_then(|dir| shown.iter().position(|row| row.dir == *dir)).unwrap_or(0)
    }

    /// The selected row.
    pub fn selected_row(&self) -> Option<&RunRow> {
        let shown = self.shown();
        shown.get(self.selected_ix(&shown)).copied()
    }
}

/// The screen comes into view: the runs are looked for.
pub(super) fn shown(ui: &mut UiState) -> Vec<Reaction> {
    if ui.runs.looking {
        return Vec::new();
    }
    ui.runs.looking = true;
    vec![Reaction::Ask { ticket: 0, errand: Errand::ListRuns }]
}

/// The runs were looked for.
pub(super) fn found(ui: &mut UiState, found: Result<Vec<RunRow>, String>, now: Mono) -> Vec<Reaction> {
    ui.runs.looking = false;
    ui.runs.found_at = now;
    match found {
        Ok(rows) => ui.runs.rows = Some(rows),
        Err(why) => {
            ui.runs.rows.get_or_insert_default();
            say(ui, why, Tone::Bad, now);
        }
    }
    Vec::new()
}

pub(super) fn valid(action: Action, ui: &UiState) -> Result<(), String> {
    match action {
        Action::OpenRun => match ui.runs.selected_row() {
            None => Err("no run is selected".to_owned()),
            Some(row) => row.facts.as_ref().map(|_| ()).map_err(|why| format!("it cannot be read: {why}")),
        },
        _ => Ok(()),
    }
}

pub(super) fn act(ui: &mut UiState, action: Action, now: Mono) -> Vec<Reaction> {
    let at = ui.runs.selected_ix(&ui.runs.shown());
    match action {
        Action::MoveDown => select_ix(ui, at + 1),
        Action::MoveUp => select_ix(ui, at.saturating_sub(1)),
        Action::OpenRun => {
            let Some(dir) = ui.runs.selected_row().map(|row| row.dir.clone()) else { return Vec::new() };
            return super::super::commands::ask(ui, Errand::Open { dir }, "open the run".to_owned(), now);
        }
        _ => {}
    }
    Vec::new()
}

/// Selects a row by its position among those that are shown.
pub(super) fn select_ix(ui: &mut UiState, ix: usize) {
    let shown = ui.runs.shown();
    let row = shown.get(ix).or(shown.last()).map(|row| row.dir.clone());
    ui.runs.selected = row.or(ui.runs.selected.take());
}
