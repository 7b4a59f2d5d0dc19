//! Which actions make sense now. The key bar shows those that do, the help greys the others, and a key that is pressed
//! all the same is answered with the reason.

use crate::model::{RunStatus, Snapshot};

use super::action::{Action, info};
use super::backstage::Driver;
use super::field::TextField;
use super::screens::{self, Screen};
use super::state::{UiState, shown_run};
use super::view::layout::{Density, density};

/// Why an action is of no use now, in words for the operator; `Ok` when it is of use.
///
/// # Errors
/// The reason.
pub fn valid(action: Action, ui: &UiState, snapshot: &Snapshot) -> Result<(), String> {
    if ui.read_only && info(action).is_some_and(|info| info.mutates) {
        return Err("read-only: this console was started with --read-only, so nothing can be changed".to_owned());
    }
    if density(ui.size.0, ui.size.1) == Density::TooSmall && !works_unseen(action) {
        return Err("the terminal was too small to show what that would do".to_owned());
    }
    match action {
        Action::PauseRun => pausable(ui, snapshot),
        Action::Back
            if ui.before.is_empty() && ui.toast.is_none() && screens::field(ui).is_none_or(TextField::is_empty) =>
        {
            Err("there is nothing to go back to".to_owned())
        }
        Action::NextTheme if ui.no_color => Err("no colour is wanted: NO_COLOR or --no-color".to_owned()),
        Action::ChangeZone if !ui.zone.has_own() => Err("times are in UTC, which is this machine's zone".to_owned()),
        Action::Dismiss if ui.toast.is_none() => Err("there is no message".to_owned()),
        Action::ShowBatches if ui.driver != Driver::Nothing && screens::batches::batches_of(snapshot).is_none() => {
            Err("the run has no sub-batches".to_owned())
        }
        _ => match Screen::of_action(action) {
            Some(screen) if screen.is_of_a_run() && ui.driver == Driver::Nothing => {
                Err("no run is shown; open one first".to_owned())
            }
            Some(_) => Ok(()),
            None => screens::valid(action, ui, snapshot),
        },
    }
}

/// Whether an action does what it is known for when nothing of the screens can be seen: the way out, and the ways back. The
/// question how to leave is shown in words on the one line that there is.
fn works_unseen(action: Action) -> bool {
    use Action::{
        Back, CloseDialog, CloseHelp, CloseReader, Dismiss, Drain, DropText, Help, Interrupt, Quit, Redraw, StopNow,
        Suspend,
    };
    let leaves = matches!(action, Quit | Drain | StopNow | Interrupt | Suspend);
    leaves || matches!(action, Help | CloseHelp | CloseReader | CloseDialog | DropText | Back | Dismiss | Redraw)
}

/// Why nothing can be done to a run that nobody drives, and what can.
pub(super) fn cut_off(ui: &UiState) -> String {
    let (runs, resume) = (ui.keymap.hint(Action::ShowRuns), ui.keymap.hint(Action::ResumeRun));
    format!("nobody drives the run; go on with it first: {runs}, then {resume}")
}

fn pausable(ui: &UiState, snapshot: &Snapshot) -> Result<(), String> {
    let Some(run) = shown_run(snapshot) else { return Err("there is no run".to_owned()) };
    match run.status {
        _ if ui.is_cut_off(snapshot) => Err(cut_off(ui)),
        _ if ui.is_over(snapshot) => Err("the run is over".to_owned()),
        _ if ui.driver != Driver::Here => Err("another process drives the run".to_owned()),
        RunStatus::Draining => Err("the run is draining: it ends when what is in flight has finished".to_owned()),
        _ if ui.leaving.is_some() => Err("the run is being stopped".to_owned()),
        _ => Ok(()),
    }
}
