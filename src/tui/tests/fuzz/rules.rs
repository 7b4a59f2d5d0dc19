//! What has to hold whatever is pressed: nothing is destroyed and nothing is paid for without a yes to a question that was
//! about it, and who may not change anything changes nothing but the end of his own run.

use crate::model::{Command, Snapshot};
use crate::tui::TuiExit;
use crate::tui::action::Action;
use crate::tui::backstage::Errand;
use crate::tui::msg::{Msg, Reaction};
use crate::tui::screens::Screen;
use crate::tui::screens::planner::Piloting;
use crate::tui::state::{Deed, Overlay, UiState};
use crate::tui::view::hit::{Target, at};

/// What the operator says by a message.
pub(super) struct Wish {
    /// Yes, to the question that is open: its deed.
    pub(super) agreed: Option<Deed>,
    /// The runs that go on here are to end.
    leaves: bool,
}

impl Wish {
    /// By the screens before the message, and the picture that it is about.
    pub(super) fn of(ui: &UiState, msg: &Msg, picture: &Snapshot) -> Wish {
        let pressed = pressed(ui, msg, picture);
        let agreed = match &ui.overlay {
            Some(Overlay::Confirm { ask, .. }) if pressed == Some(Action::Agree) => Some(ask.deed.clone()),
            None => typed_dollars(ui, msg),
            _ => None,
        };
        let in_dialog = matches!(ui.overlay, Some(Overlay::Quit { .. }))
            && matches!(pressed, Some(Action::Drain | Action::StopNow));
        Wish { agreed, leaves: in_dialog || matches!(msg, Msg::Act(Action::Interrupt) | Msg::Signal(_)) }
    }
}

/// The button of a dialog that a message presses, if it does.
fn pressed(ui: &UiState, msg: &Msg, picture: &Snapshot) -> Option<Action> {
    let overlay = ui.overlay.as_ref()?;
    match msg {
        Msg::Act(Action::PressChoice) => overlay.choices().get(overlay.focus()).map(|choice| choice.action),
        Msg::Act(action) => Some(*action),
        Msg::Click(column, row) => match at(ui, picture, *column, *row) {
            Some(Target::Choice(action)) => Some(action),
            _ => None,
        },
        _ => None,
    }
}

/// A dear launch is agreed to by typing its dollars.
fn typed_dollars(ui: &UiState, msg: &Msg) -> Option<Deed> {
    let asks = ui.planner.asks.as_ref().filter(|_| ui.screen == Screen::Planner && ui.planner.field.editing)?;
    let dollars = ui.planner.draft.as_ref()?.dollars_to_type()?;
    let typed = ui.planner.field.text.trim().trim_start_matches('$').replace(',', "");
    (matches!(msg, Msg::Act(Action::KeepText)) && typed == dollars).then(|| asks.deed.clone())
}

/// A message that was taken in.
pub(super) struct Step<'s> {
    pub(super) wish: &'s Wish,
    pub(super) before: &'s UiState,
    pub(super) after: &'s UiState,
    pub(super) newest: &'s Snapshot,
    /// The question that was open was asked about the run that is shown now.
    pub(super) question_is_of_this_run: bool,
    /// Errands that were agreed to so far.
    pub(super) errands: &'s [Errand],
}

impl Step<'_> {
    /// Holds the rules against what came of it.
    pub(super) fn hold(&self, reactions: &[Reaction]) {
        for reaction in reactions {
            match reaction {
                Reaction::Send { command, .. } => self.sends(command),
                Reaction::Ask { errand, .. } => self.asks(errand),
                Reaction::Exit(exit) => self.exits(*exit),
                _ => {}
            }
        }
    }

    fn sends(&self, command: &Command) {
        let before = self.before;
        let ends_a_pilot = before.planner.pilot == Piloting::Sent && before.screen == Screen::Planner;
        let agreed = self.wish.agreed.as_ref();
        let allowed = match command {
            Command::StopRun { .. } => self.wish.leaves,
            Command::DrainRun { .. } => self.wish.leaves || (ends_a_pilot && !before.read_only),
            _ if before.read_only => false,
            Command::CancelSubBatch { .. } | Command::FinishOnSync { .. } => {
                matches!(agreed, Some(Deed::Command { command: agreed, .. }) if agreed == command)
            }
            Command::SetCap { above_polite: true, org, family, cap, .. } => matches!(
                agreed,
                Some(Deed::SetCap(ask)) if (ask.org, ask.family, ask.wanted) == (*org, *family, *cap)
            ),
            Command::SetCap { .. }
            | Command::PauseRun { .. }
            | Command::ResumeRun { .. }
            | Command::PauseOrg { .. }
            | Command::ReviveOrg { .. }
            | Command::MoveToBatch { .. }
            | Command::ReDriveSubBatch { .. }
            | Command::LeaveSubBatch { .. }
            | Command::ReDriveRequest { .. } => true,
        };
        assert!(allowed, "{command:?} was sent without a yes");
        let by_a_question = agreed.is_some_and(Deed::is_of_the_shown_run);
        assert!(!by_a_question || self.question_is_of_this_run, "{command:?} was agreed to for another run");
    }

    fn asks(&self, errand: &Errand) {
        let (gated, changes) = match errand {
            Errand::Resume { .. } | Errand::Delete { .. } | Errand::Launch(_) | Errand::Pilot { .. } => (true, true),
            Errand::Demo | Errand::Export { .. } | Errand::AssessPilot(_) => (false, true),
            Errand::ListRuns
            | Errand::Open { .. }
            | Errand::Requests { .. }
            | Errand::Request { .. }
            | Errand::Assess { .. }
            | Errand::Report { .. }
            | Errand::AuditInput
            | Errand::Measure => (false, false),
        };
        assert!(!gated || self.errands.contains(errand), "{errand:?} was asked for without a yes");
        assert!(!changes || !self.before.read_only, "{errand:?} under --read-only");
    }

    /// The screens are left when nothing goes on, or when somebody insisted.
    fn exits(&self, exit: TuiExit) {
        let rests = self.before.may_leave(self.newest) || self.after.is_over(self.newest);
        let insists = self.before.leaving.is_some() && self.wish.leaves;
        assert!(rests || insists, "{exit:?} with work open");
    }
}
