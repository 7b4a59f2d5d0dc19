//! The ways out: to leave at once, to drain first, or to stop every run and wait until what is known is on the disk.

use crate::model::{Command, Mono, Snapshot};

use super::TuiExit;
use super::commands::send;
use super::msg::Reaction;
use super::state::{UiState, open_runs};

/// Leaves when nothing goes on, else asks.
pub(super) fn quit(ui: &mut UiState, snapshot: &Snapshot) -> Vec<Reaction> {
    if ui.may_leave(snapshot) {
        return vec![Reaction::Exit(ui.leaving.unwrap_or(TuiExit::Finished))];
    }
    ui.ask_how_to_leave();
    Vec::new()
}

/// Stops every run and waits for it, so that what is known is on the disk; asked a second time, leaves at once.
pub(super) fn stop(ui: &mut UiState, exit: TuiExit, snapshot: &Snapshot, now: Mono) -> Vec<Reaction> {
    ui.overlay = None;
    if exit != TuiExit::Stopped {
        ui.then = None;
    }
    if ui.may_leave(snapshot) {
        return vec![Reaction::Exit(ui.leaving.unwrap_or(TuiExit::Finished))];
    }
    let before = ui.leaving.replace(exit);
    // A run that drains is stopped by the first interrupt; only one that is being stopped already is left behind.
    // A terminal that goes away tells so in several ways; that is no second wish.
    let insists = matches!(exit, TuiExit::Interrupted | TuiExit::Terminated);
    if insists && before.is_some_and(|leaving| leaving != TuiExit::Drained) {
        return vec![Reaction::Exit(exit)];
    }
    open_runs(snapshot)
        .flat_map(|(run, _)| send(ui, Command::StopRun { run }, "stop the run".to_owned(), None, now))
        .collect()
}

/// Lets what is in flight finish, and leaves then.
pub(super) fn drain(ui: &mut UiState, snapshot: &Snapshot, now: Mono) -> Vec<Reaction> {
    ui.overlay = None;
    if ui.leaving.is_none() {
        ui.leaving = Some(TuiExit::Drained);
    }
    open_runs(snapshot)
        .flat_map(|(run, _)| send(ui, Command::DrainRun { run }, "drain the run".to_owned(), None, now))
        .collect()
}
