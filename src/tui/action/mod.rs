//! The one registry of what an operator can do: each action with its name, its default keys, its help text, its place
//! in the key bar, where it works, and whether it changes or destroys something. Dispatch, the key bar, the help overlay,
//! keymap files and the table of the README are all made from it.
//!
//! A screen lists its own actions beside its code ([`super::screens`]); those of all screens and of the overlays are in
//! [`common`].

pub mod common;

use super::screens;

/// Where keys go at the moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Context {
    /// The list of runs.
    Runs,
    /// The planner.
    Planner,
    /// The live screen.
    Live,
    /// The screen of the sub-batches.
    Batches,
    /// The screen of the requests.
    Requests,
    /// The screen of the log.
    Log,
    /// The help overlay.
    Help,
    /// A text to be read: a report, or what could not be copied.
    Reader,
    /// A text field, of the help or of a screen: printable keys are text.
    Field,
    /// The dialog that asks what to do with a running job.
    QuitDialog,
    /// The gate in front of what destroys something or costs money.
    ConfirmDialog,
}

impl Context {
    /// All of them.
    pub const ALL: [Context; 11] = [
        Context::Runs,
        Context::Planner,
        Context::Live,
        Context::Batches,
        Context::Requests,
        Context::Log,
        Context::Help,
        Context::Reader,
        Context::Field,
        Context::QuitDialog,
        Context::ConfirmDialog,
    ];

    /// Those of the screens, without overlays and fields.
    pub const SCREENS: [Context; 6] =
        [Context::Runs, Context::Planner, Context::Live, Context::Batches, Context::Requests, Context::Log];

    /// Whether printable keys are text here.
    pub fn takes_text(self) -> bool {
        self == Context::Field
    }

    /// Its name in keymap files, kebab-case.
    pub fn as_str(self) -> &'static str {
        match self {
            Context::Runs => "runs",
            Context::Planner => "planner",
            Context::Live => "live",
            Context::Batches => "batches",
            Context::Requests => "requests",
            Context::Log => "log",
            Context::Help => "help",
            Context::Reader => "reader",
            Context::Field => "field",
            Context::QuitDialog => "quit-dialog",
            Context::ConfirmDialog => "confirm-dialog",
        }
    }
}

/// What the operator means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Action {
    /// Leave; asks first when a run is going on.
    Quit,
    /// Show or close the help.
    Help,
    /// Show the list of runs.
    ShowRuns,
    /// Show the planner.
    ShowPlanner,
    /// Show the live screen.
    ShowLive,
    /// Show the sub-batches.
    ShowBatches,
    /// Show the requests.
    ShowRequests,
    /// Show the log.
    ShowLog,
    /// Show the screen to the right.
    NextScreen,
    /// Show the screen to the left.
    PreviousScreen,
    /// Give up the filter, take the message away, or go back to the screen before.
    Back,
    /// Select the next row.
    MoveDown,
    /// Select the previous row.
    MoveUp,
    /// Go down by a page.
    PageDown,
    /// Go up by a page.
    PageUp,
    /// Go to the first row.
    First,
    /// Go to the last row.
    Last,
    /// Show only what contains a text.
    Filter,
    /// Sort by something else.
    Sort,
    /// Show all rows, or only some kinds of them.
    Show,
    /// Follow what moves.
    Follow,
    /// Show the selected run.
    OpenRun,
    /// Go on with the selected run; asks first.
    ResumeRun,
    /// As ResumeRun, and also what a policy left; asks first.
    ReDriveRun,
    /// Write the results of the selected run as lines of JSON.
    ExportRun,
    /// Write the results of the selected run as a table.
    ExportTable,
    /// Say what happened in the selected run.
    ReportRun,
    /// Delete the selected run; asks first.
    DeleteRun,
    /// Start the demo.
    StartDemo,
    /// Look for runs again.
    LookAgain,
    /// Pause or resume the run.
    PauseRun,
    /// Select the next org.
    NextOrg,
    /// Select the previous org.
    PreviousOrg,
    /// Select the org to the right.
    OrgRight,
    /// Select the org to the left.
    OrgLeft,
    /// Raise the cap of the selected org.
    CapUp,
    /// Lower the cap of the selected org.
    CapDown,
    /// Pause the selected org.
    PauseOrg,
    /// Move what waits to batches, at half the price.
    MoveToBatch,
    /// Revive the selected org.
    ReviveOrg,
    /// Select the next family of the selected org.
    NextFamily,
    /// Show the next pictures.
    NextPicture,
    /// Show the pictures before.
    PreviousPicture,
    /// Make the log pane bigger, biggest, and small again.
    LogSize,
    /// Scroll the log up.
    LogUp,
    /// Scroll the log down.
    LogDown,
    /// Follow the log again.
    LogFollow,
    /// Scroll the log up by a line.
    LogLineUp,
    /// Scroll the log down by a line.
    LogLineDown,
    /// Select the next part of the program that logs.
    LogTarget,
    /// Select the part before.
    LogPreviousTarget,
    /// Show more of the selected part.
    LogMore,
    /// Show less of the selected part.
    LogLess,
    /// Cancel the selected sub-batch; asks first.
    CancelSubBatch,
    /// Finish the run on the sync path; asks first.
    FinishOnSync,
    /// Send again what was left of the selected sub-batch.
    ReDriveSubBatch,
    /// Leave the selected sub-batch as it is.
    LeaveSubBatch,
    /// Turn the selected knob of the planner up.
    KnobUp,
    /// Turn it down.
    KnobDown,
    /// Type its value.
    EditKnob,
    /// Show the next panel of the planner.
    NextPanel,
    /// Show the panel before.
    PreviousPanel,
    /// Scroll the panel down.
    PanelDown,
    /// Scroll the panel up.
    PanelUp,
    /// Read reasons, notes and risks of the plan in full.
    ReadPlan,
    /// Launch what is planned; asks first.
    Launch,
    /// Send a few of the requests to measure what the plan assumes, asks first; stops those that are being sent.
    Pilot,
    /// Hold the picture, or let it go on.
    Freeze,
    /// Copy what is selected.
    Copy,
    /// Change to the next theme.
    NextTheme,
    /// Show times in UTC, or in the zone of this machine.
    ChangeZone,
    /// Show the selected request in full, or close it.
    InspectRequest,
    /// Scroll what is shown in full down.
    InspectDown,
    /// Scroll what is shown in full up.
    InspectUp,
    /// Send the selected request again.
    ReDriveRequest,
    /// Take or release the mouse.
    ToggleMouse,
    /// Take the message away.
    Dismiss,
    /// Stop everything and leave; a second time: leave at once.
    Interrupt,
    /// Put the program into the background.
    Suspend,
    /// Draw everything again.
    Redraw,
    /// Close the help.
    CloseHelp,
    /// Search in the help.
    HelpSearch,
    /// Scroll what is read down.
    ScrollDown,
    /// Scroll what is read up.
    ScrollUp,
    /// Close what is read.
    CloseReader,
    /// Keep the text of the field and leave it.
    KeepText,
    /// Give up the text of the field and leave it.
    DropText,
    /// Let what is in flight finish, then leave.
    Drain,
    /// Abandon what is in flight and leave.
    StopNow,
    /// Agree to what the gate asks.
    Agree,
    /// Close the dialog; nothing changes.
    CloseDialog,
    /// Move to the next button.
    NextChoice,
    /// Move to the previous button.
    PreviousChoice,
    /// Press the button that has the focus.
    PressChoice,
}

/// What the registry knows about an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ActionInfo {
    /// The action.
    pub action: Action,
    /// Its name in keymaps, kebab-case.
    pub name: &'static str,
    /// Its default keys, the one that is shown first.
    pub keys: &'static [&'static str],
    /// What it does, for the help; at most 47 columns.
    pub help: &'static str,
    /// Its word in the key bar, where it has a place there.
    pub bar: Option<&'static str>,
    /// Where it works.
    pub contexts: &'static [Context],
    /// Whether it changes what the engine does, or what is on the disk. Leaving is not among these: an operator who may
    /// not change anything may still go.
    pub mutates: bool,
    /// Whether it destroys something or costs money that was not agreed to: it opens the gate and does nothing itself.
    pub destroys: bool,
}

/// An action that changes nothing.
pub const fn entry(
    action: Action,
    name: &'static str,
    keys: &'static [&'static str],
    help: &'static str,
    bar: Option<&'static str>,
    contexts: &'static [Context],
) -> ActionInfo {
    ActionInfo { action, name, keys, help, bar, contexts, mutates: false, destroys: false }
}

/// The same action, as one that changes something: `--read-only` refuses it.
pub const fn changing(info: ActionInfo) -> ActionInfo {
    ActionInfo { mutates: true, ..info }
}

/// The same action, as one that changes something and goes through the gate.
pub const fn destroying(info: ActionInfo) -> ActionInfo {
    ActionInfo { mutates: true, destroys: true, ..info }
}

/// Every action by group, in the order of the help; the key bar takes the same order, so the most important come first.
pub const GROUPS: &[&[ActionInfo]] = &[
    common::FIRST,
    screens::runs::ACTIONS,
    screens::planner::ACTIONS,
    screens::live::ACTIONS,
    screens::batches::ACTIONS,
    screens::requests::ACTIONS,
    screens::log::ACTIONS,
    common::LISTS,
    common::SCREENS,
    common::LAST,
    common::OVERLAYS,
];

/// Every action.
pub fn registry() -> impl Iterator<Item = &'static ActionInfo> {
    GROUPS.iter().copied().flatten()
}

/// The entries that work in a context, in the order of the help.
pub fn in_context(context: Context) -> impl Iterator<Item = &'static ActionInfo> {
    registry().filter(move |info| info.contexts.contains(&context))
}

/// The entry of an action; every action has one, which a test makes sure of.
pub fn info(action: Action) -> Option<&'static ActionInfo> {
    registry().find(|info| info.action == action)
}

/// The action of a kebab-case name.
pub fn by_name(name: &str) -> Option<Action> {
    registry().find(|info| info.name == name).map(|info| info.action)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_text_of_the_help_can_be_read_whole_at_80_columns() {
        for info in registry() {
            assert!(info.help.chars().count() <= 47, "{}: {}", info.name, info.help.chars().count());
        }
    }

    #[test]
    fn names_are_unique_and_kebab_case_and_lead_back_to_their_action() {
        let (mut names, mut actions) = (HashSet::new(), HashSet::new());
        for info in registry() {
            assert!(names.insert(info.name), "{} twice", info.name);
            assert!(actions.insert(info.action), "{} has two names", info.name);
            assert!(info.name.chars().all(|c| c.is_ascii_lowercase() || c == '-'), "{}", info.name);
            assert_eq!(by_name(info.name), Some(info.action));
            assert!(!info.help.is_empty() && !info.keys.is_empty() && !info.contexts.is_empty(), "{}", info.name);
        }
    }

    #[test]
    fn an_interrupt_works_everywhere() {
        assert_eq!(info(Action::Interrupt).unwrap().contexts, Context::ALL);
    }
}
