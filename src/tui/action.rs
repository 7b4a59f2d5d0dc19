//! The one registry of what an operator can do: each action with its name, its default keys, its help text, its place
//! in the key bar, and where it works. Dispatch, the key bar and the help overlay are all made from it.

/// Where keys go at the moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Context {
    /// The live screen.
    Live,
    /// The screen of the sub-batches.
    Batches,
    /// The help overlay.
    Help,
    /// The search field of the help overlay: printable keys are text.
    HelpSearch,
    /// The dialog that asks what to do with a running job.
    QuitDialog,
    /// The dialog that asks whether a cap may pass the polite one.
    CapDialog,
    /// The dialog that asks whether sub-batches are to be canceled.
    BatchDialog,
}

impl Context {
    /// All of them.
    pub const ALL: [Context; 7] = [
        Context::Live,
        Context::Batches,
        Context::Help,
        Context::HelpSearch,
        Context::QuitDialog,
        Context::CapDialog,
        Context::BatchDialog,
    ];

    /// Whether printable keys are text here.
    pub fn takes_text(self) -> bool {
        self == Context::HelpSearch
    }
}

/// What the operator means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Action {
    /// Leave; asks first when a run is going on.
    Quit,
    /// Show or close the help.
    Help,
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
    /// Revive the selected org.
    ReviveOrg,
    /// Select the next family of the selected org.
    NextFamily,
    /// Show the sub-batches, or go back.
    Batches,
    /// Go back to the live screen.
    CloseBatches,
    /// Select the next sub-batch.
    NextSubBatch,
    /// Select the previous sub-batch.
    PreviousSubBatch,
    /// Cancel the selected sub-batch; asks first.
    CancelSubBatch,
    /// Finish the run on the sync path; asks first.
    FinishOnSync,
    /// Send again what was left of the selected sub-batch.
    ReDriveSubBatch,
    /// Leave the selected sub-batch as it is.
    LeaveSubBatch,
    /// Sort the sub-batches by something else.
    SortSubBatches,
    /// Show all sub-batches, or fewer.
    FilterSubBatches,
    /// Follow the oldest open sub-batch.
    FollowSubBatches,
    /// Agree to what the dialog about sub-batches asks.
    AgreeBatch,
    /// Make the log pane bigger, biggest, and small again.
    LogSize,
    /// Scroll the log up.
    LogUp,
    /// Scroll the log down.
    LogDown,
    /// Follow the log again.
    LogFollow,
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
    /// Scroll the help down.
    HelpDown,
    /// Scroll the help up.
    HelpUp,
    /// Keep what was searched for and go back to the list.
    KeepSearch,
    /// Give up the search.
    ClearSearch,
    /// Let what is in flight finish, then leave.
    Drain,
    /// Abandon what is in flight and leave.
    StopNow,
    /// Agree to the cap that is above the polite one.
    AgreeCap,
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
    /// What it does, for the help.
    pub help: &'static str,
    /// Its word in the key bar, where it has a place there.
    pub bar: Option<&'static str>,
    /// Where it works.
    pub contexts: &'static [Context],
    /// Whether it changes what the engine does. Leaving is not among these: an operator who may not change anything may
    /// still go.
    pub mutates: bool,
}

use Context::{BatchDialog, Batches, CapDialog, Help, HelpSearch, Live, QuitDialog};

const DIALOGS: &[Context] = &[QuitDialog, CapDialog, BatchDialog];

const fn entry(
    action: Action,
    name: &'static str,
    keys: &'static [&'static str],
    help: &'static str,
    bar: Option<&'static str>,
    contexts: &'static [Context],
) -> ActionInfo {
    ActionInfo { action, name, keys, help, bar, contexts, mutates: false }
}

const fn changing(info: ActionInfo) -> ActionInfo {
    ActionInfo { mutates: true, ..info }
}

/// Every action, in the order of the help; the key bar takes the same order, so the most important come first.
pub const REGISTRY: &[ActionInfo] = &[
    entry(Action::Help, "help", &["?", "f1"], "show or close this help", Some("help"), &[Live, Batches]),
    entry(Action::Quit, "quit", &["q"], "leave; asks first when a run is going on", Some("quit"), &[Live, Batches]),
    changing(entry(
        Action::PauseRun,
        "pause-run",
        &["space", "p"],
        "pause the run, or let it go on",
        Some("pause"),
        &[Live, Batches],
    )),
    entry(Action::Batches, "batches", &["b"], "show the sub-batches, or go back", Some("batches"), &[Live]),
    entry(Action::NextOrg, "next-org", &["down", "j", "tab"], "select the next org", Some("next org"), &[Live]),
    entry(Action::PreviousOrg, "previous-org", &["up", "k", "backtab"], "select the previous org", None, &[Live]),
    entry(Action::OrgRight, "org-right", &["right", "l"], "select the org to the right", None, &[Live]),
    entry(Action::OrgLeft, "org-left", &["left", "h"], "select the org to the left", None, &[Live]),
    changing(entry(
        Action::ReviveOrg,
        "revive-org",
        &["r"],
        "end the org's pause, or probe it right now",
        Some("revive org"),
        &[Live],
    )),
    changing(entry(
        Action::PauseOrg,
        "pause-org",
        &["o"],
        "pause the org; its requests go to the others",
        Some("pause org"),
        &[Live],
    )),
    changing(entry(
        Action::CapUp,
        "cap-up",
        &["+", "="],
        "raise the cap; asks above the polite one",
        Some("cap up"),
        &[Live],
    )),
    changing(entry(
        Action::CapDown,
        "cap-down",
        &["-", "_"],
        "lower the cap of the selected org",
        Some("cap down"),
        &[Live],
    )),
    entry(
        Action::NextFamily,
        "next-family",
        &["f"],
        "select the model family that cap keys mean",
        Some("family"),
        &[Live],
    ),
    entry(Action::CloseBatches, "close-batches", &["esc", "b"], "go back to the live screen", Some("back"), &[Batches]),
    entry(Action::NextSubBatch, "next-batch", &["down", "j"], "select the next sub-batch", None, &[Batches]),
    entry(Action::PreviousSubBatch, "prev-batch", &["up", "k"], "select the previous sub-batch", None, &[Batches]),
    changing(entry(
        Action::CancelSubBatch,
        "cancel-batch",
        &["c"],
        "cancel the sub-batch, finish it on sync; asks",
        Some("cancel"),
        &[Batches],
    )),
    changing(entry(
        Action::FinishOnSync,
        "finish-sync",
        &["S"],
        "finish the whole run on the sync path; asks",
        Some("finish on sync"),
        &[Batches],
    )),
    changing(entry(
        Action::ReDriveSubBatch,
        "redrive-batch",
        &["R"],
        "send again what was left of the sub-batch",
        Some("re-drive"),
        &[Batches],
    )),
    changing(entry(
        Action::LeaveSubBatch,
        "leave-batch",
        &["n"],
        "leave the sub-batch as it is",
        Some("leave it"),
        &[Batches],
    )),
    entry(Action::SortSubBatches, "sort-batches", &["s"], "sort by index, age or state", Some("sort"), &[Batches]),
    entry(
        Action::FilterSubBatches,
        "filter-batch",
        &["v"],
        "show all, the open, or what asks",
        Some("filter"),
        &[Batches],
    ),
    entry(
        Action::FollowSubBatches,
        "follow-batch",
        &["f"],
        "follow the oldest open sub-batch",
        Some("follow"),
        &[Batches],
    ),
    entry(Action::LogSize, "log-size", &["L"], "make the log bigger, full, small again", Some("log"), &[Live]),
    entry(Action::LogUp, "log-up", &["pageup"], "scroll the log up", None, &[Live]),
    entry(Action::LogDown, "log-down", &["pagedown"], "scroll the log down", None, &[Live]),
    entry(Action::LogFollow, "log-follow", &["end"], "follow the log again", None, &[Live]),
    entry(
        Action::ToggleMouse,
        "toggle-mouse",
        &["m"],
        "leave the mouse to the terminal, or take it",
        None,
        &[Live, Batches],
    ),
    entry(Action::Dismiss, "dismiss", &["esc"], "take the message away", None, &[Live]),
    entry(Action::Interrupt, "interrupt", &["ctrl-c"], "stop the run and leave; again: at once", None, &Context::ALL),
    entry(Action::Suspend, "suspend", &["ctrl-z"], "go to the background; fg comes back", None, &Context::ALL),
    entry(Action::Redraw, "redraw", &["ctrl-l"], "draw the screen again", None, &Context::ALL),
    entry(Action::CloseHelp, "close-help", &["esc", "?", "f1", "q"], "close the help", Some("close"), &[Help]),
    entry(Action::HelpSearch, "help-search", &["/"], "search by name, key or text", Some("search"), &[Help]),
    entry(Action::HelpDown, "help-down", &["down", "j", "pagedown"], "scroll down", Some("down"), &[Help]),
    entry(Action::HelpUp, "help-up", &["up", "k", "pageup"], "scroll up", Some("up"), &[Help]),
    entry(Action::KeepSearch, "keep-search", &["enter"], "keep the search", Some("keep"), &[HelpSearch]),
    entry(Action::ClearSearch, "clear-search", &["esc"], "give up the search", Some("clear"), &[HelpSearch]),
    entry(Action::Drain, "drain", &["d"], "let what is in flight finish, then leave", Some("drain"), &[QuitDialog]),
    entry(
        Action::StopNow,
        "stop-now",
        &["s", "q"],
        "abandon what is in flight and leave",
        Some("stop now"),
        &[QuitDialog],
    ),
    entry(Action::AgreeCap, "agree-cap", &["y"], "set the cap above the polite one", Some("raise"), &[CapDialog]),
    entry(Action::AgreeBatch, "agree-batch", &["y"], "do what the dialog asks", Some("yes"), &[BatchDialog]),
    entry(Action::CloseDialog, "close-dialog", &["esc", "n"], "close it; nothing changes", Some("close"), DIALOGS),
    entry(
        Action::NextChoice,
        "next-choice",
        &["right", "tab", "down", "l", "j"],
        "move to the next button",
        Some("next button"),
        DIALOGS,
    ),
    entry(
        Action::PreviousChoice,
        "previous-choice",
        &["left", "backtab", "up", "h", "k"],
        "move to the previous button",
        None,
        DIALOGS,
    ),
    entry(Action::PressChoice, "press-choice", &["enter"], "press the marked button", Some("press"), DIALOGS),
];

/// The entries that work in a context, in the order of the help.
pub fn in_context(context: Context) -> impl Iterator<Item = &'static ActionInfo> {
    REGISTRY.iter().filter(move |info| info.contexts.contains(&context))
}

/// The entry of an action; every action has one, which a test makes sure of.
pub fn info(action: Action) -> Option<&'static ActionInfo> {
    REGISTRY.iter().find(|info| info.action == action)
}

/// The action of a kebab-case name.
pub fn by_name(name: &str) -> Option<Action> {
    REGISTRY.iter().find(|info| info.name == name).map(|info| info.action)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_text_of_the_help_can_be_read_whole_at_80_columns() {
        for info in REGISTRY {
            assert!(info.help.chars().count() <= 47, "{}: {}", info.name, info.help.chars().count());
        }
    }

    #[test]
    fn names_are_unique_and_kebab_case_and_lead_back_to_their_action() {
        let mut names = HashSet::new();
        for info in REGISTRY {
            assert!(names.insert(info.name), "{} twice", info.name);
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
