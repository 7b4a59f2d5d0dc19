//! Which actions make sense now. The key bar shows those that do, the help greys the others, and a key that is pressed
//! all the same is answered with the reason.

use crate::model::snapshot::Condition;
use crate::model::{RunStatus, Snapshot};

use super::action::{Action, info};
use super::batches::batches_of;
use super::state::{UiState, shown_run};

/// Why an action is of no use now, in words for the operator; `Ok` when it is of use.
///
/// # Errors
/// The reason.
pub fn valid(action: Action, ui: &UiState, snapshot: &Snapshot) -> Result<(), String> {
    if ui.read_only && info(action).is_some_and(|info| info.mutates) {
        return Err("read-only: this console was started with --read-only, so nothing can be changed".to_owned());
    }
    match action {
        Action::PauseRun => pausable(ui, snapshot),
        Action::NextOrg | Action::PreviousOrg | Action::OrgLeft | Action::OrgRight if snapshot.orgs.len() < 2 => {
            Err("there is no other org".to_owned())
        }
        Action::ReviveOrg | Action::PauseOrg | Action::CapUp | Action::CapDown => org_action(action, ui, snapshot),
        Action::NextFamily if ui.selected_org(snapshot).is_none_or(|org| org.windows.len() < 2) => {
            Err("the selected org has one model family only".to_owned())
        }
        Action::Batches if batches_of(snapshot).is_none() => Err("the run has no sub-batches".to_owned()),
        Action::CancelSubBatch | Action::FinishOnSync | Action::ReDriveSubBatch | Action::LeaveSubBatch => {
            super::batches::valid(action, ui, snapshot)
        }
        Action::LogFollow if !ui.log_scrolled => Err("the log is being followed already".to_owned()),
        Action::Dismiss if ui.toast.is_none() => Err("there is no message".to_owned()),
        _ => Ok(()),
    }
}

fn pausable(ui: &UiState, snapshot: &Snapshot) -> Result<(), String> {
    let Some(run) = shown_run(snapshot) else { return Err("there is no run".to_owned()) };
    match run.status {
        _ if ui.is_over(snapshot) => Err("the run is over".to_owned()),
        RunStatus::Draining => Err("the run is draining: it ends when what is in flight has finished".to_owned()),
        _ if ui.leaving.is_some() => Err("the run is being stopped".to_owned()),
        _ => Ok(()),
    }
}

fn org_action(action: Action, ui: &UiState, snapshot: &Snapshot) -> Result<(), String> {
    let Some(org) = ui.selected_org(snapshot) else { return Err("there is no org".to_owned()) };
    if ui.is_over(snapshot) {
        return Err("the run is over".to_owned());
    }
    // A wait that the API asked for is not cut short; one of our own after failures may be.
    let resting = match &org.condition {
        Condition::Parked { .. } | Condition::BreakerOpen { .. } => true,
        condition => condition.is_paused(),
    };
    match action {
        Action::ReviveOrg if !resting => Err(format!("{} is not parked, paused or failing", org.label)),
        Action::PauseOrg if org.condition.is_paused() => {
            Err(format!("{} is paused already; revive it to go on", org.label))
        }
        Action::CapUp | Action::CapDown => {
            let Some((_, window)) = ui.selected_window(snapshot) else {
                return Err(format!("{} has no window yet", org.label));
            };
            if action == Action::CapDown && ui.cap(org.id, window) <= 1 {
                return Err(format!("the cap of {} is 1 already; pause the org to send nothing", org.label));
            }
            Ok(())
        }
        _ => Ok(()),
    }
}
