//! Which run the list selects when the operator comes to it from a screen about a run: that run, and not the newest. What the
//! screen before said of its keys ("1 and r resume it") then holds. What the operator selects in the list stays selected until
//! a screen about a run has been shown again.

use std::path::{Path, PathBuf};

use super::Screen;
use super::runs::{Kind, RunsUi};
use crate::model::Snapshot;
use crate::tui::backstage::RunRow;
use crate::tui::state::{UiState, shown_run};

/// The run that is to be selected as soon as the list has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Aim {
    /// Its directory, as the run was started with.
    pub dir: PathBuf,
    /// Its id: the list names directories outside of its own by their whole path.
    pub run_id: String,
}

impl Aim {
    /// Its directory, as the list names it. A copy of a run has its id too: where several have it, only the directory counts.
    fn found_in(&self, rows: &[RunRow]) -> Option<PathBuf> {
        let of_id = |row: &&RunRow| row.facts.as_ref().is_ok_and(|facts| facts.run_id == self.run_id);
        let mut same = rows.iter().filter(of_id);
        let by_id = || same.next().filter(|_| same.next().is_none());
        rows.iter().find(|row| row.dir == self.dir).or_else(by_id).map(|row| row.dir.clone())
    }
}

/// Another screen than `before` is shown by now.
pub(in crate::tui) fn came_from(ui: &mut UiState, before: Screen, snapshot: &Snapshot) {
    ui.runs.aims |= before.is_of_a_run();
    if ui.screen == Screen::Runs && std::mem::take(&mut ui.runs.aims) {
        take(&mut ui.runs, snapshot);
    }
}

fn take(runs: &mut RunsUi, snapshot: &Snapshot) {
    let Some(run) = shown_run(snapshot) else { return };
    let aim = Aim { dir: Path::new(&run.dir).to_owned(), run_id: run.run_id.clone() };
    let is_new = runs.aim.as_ref() != Some(&aim);
    runs.aim = Some(aim);
    settle(runs);
    if runs.aim.is_some() && is_new && runs.looking {
        // The look that goes on may have begun before the run was made.
        runs.outdated = true;
    }
}

/// Selects the run if the list has it; what would hide it there is dropped, unless the operator is typing it.
pub(super) fn settle(runs: &mut RunsUi) {
    let rows = runs.found.as_ref().map_or(&[][..], |found| &found.rows);
    let Some(dir) = runs.aim.as_ref().and_then(|aim| aim.found_in(rows)) else { return };
    runs.aim = None;
    if !runs.filter.editing && !runs.shown().iter().any(|row| row.dir == dir) {
        runs.filter.drop_text();
        runs.kind = Kind::All;
    }
    runs.selected = Some(dir);
}
