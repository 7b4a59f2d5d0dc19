//! Actions that belong to no screen of their own: to lists, to all screens, to the overlays.

use super::Context::{Batches, ConfirmDialog, Field, Help, Live, Log, Planner, QuitDialog, Reader, Requests, Runs};
use super::{Action, ActionInfo, Context, changing, entry};

/// Screens that are a list.
const A_LIST: &[Context] = &[Runs, Batches, Requests];

/// Screens that are a list, or a list of knobs.
const ROWS: &[Context] = &[Runs, Planner, Batches, Requests];

/// What can be gone through by pages: those screens, and what is read.
const BY_PAGES: &[Context] = &[Runs, Batches, Requests, Help, Reader];

/// What has a beginning and an end.
const TO_THE_ENDS: &[Context] = &[Runs, Planner, Batches, Requests, Help, Reader];

const DIALOGS: &[Context] = &[QuitDialog, ConfirmDialog];

/// Screens about a run.
const OF_A_RUN: &[Context] = &[Live, Batches, Requests, Log];

/// Screens that show times of day.
const TIMES: &[Context] = &[Live, Batches, Requests, Log];

/// Screens of which something can be copied.
const COPIES: &[Context] = &[Runs, Live, Batches, Requests];

/// What is always within reach, first in the key bar.
pub const FIRST: &[ActionInfo] = &[
    entry(Action::Help, "help", &["?", "f1"], "show or close this help", Some("help"), &Context::SCREENS),
    entry(Action::Quit, "quit", &["q"], "leave; asks first when a run is going on", Some("quit"), &Context::SCREENS),
    changing(entry(
        Action::PauseRun,
        "pause-run",
        &["space", "p"],
        "pause the run, or let it go on",
        Some("pause"),
        OF_A_RUN,
    )),
];

/// Moving in lists, and what of them is shown.
pub const LISTS: &[ActionInfo] = &[
    entry(Action::MoveDown, "move-down", &["down", "j"], "select the next row", None, ROWS),
    entry(Action::MoveUp, "move-up", &["up", "k"], "select the previous row", None, ROWS),
    entry(Action::First, "first", &["home", "g"], "go to the first row", None, TO_THE_ENDS),
    entry(Action::Last, "last", &["end", "G"], "go to the last row", None, TO_THE_ENDS),
    entry(Action::PageDown, "page-down", &["pagedown", "ctrl-f"], "go down by a page", None, BY_PAGES),
    entry(Action::PageUp, "page-up", &["pageup", "ctrl-b"], "go up by a page", None, BY_PAGES),
    entry(
        Action::Filter,
        "filter",
        &["/"],
        "show only what contains a text",
        Some("filter"),
        &[Runs, Batches, Requests, Log],
    ),
    entry(Action::Sort, "sort", &["s"], "sort by something else", Some("sort"), A_LIST),
    entry(Action::Show, "show", &["v"], "show all kinds of rows, or one of them", Some("show"), A_LIST),
    entry(Action::Follow, "follow", &["f"], "follow the oldest open one", Some("follow"), &[Batches]),
];

/// Going from screen to screen.
pub const SCREENS: &[ActionInfo] = &[
    entry(Action::ShowRuns, "show-runs", &["1"], "show the runs found", None, &Context::SCREENS),
    entry(Action::ShowPlanner, "show-planner", &["2"], "show the planner", None, &Context::SCREENS),
    entry(Action::ShowLive, "show-live", &["3"], "show the run, live", None, &Context::SCREENS),
    entry(Action::ShowBatches, "show-batches", &["4", "b"], "show the sub-batches", Some("batches"), &Context::SCREENS),
    entry(Action::ShowRequests, "show-requests", &["5"], "show the requests by outcome", None, &Context::SCREENS),
    entry(Action::ShowLog, "show-log", &["6"], "show the log", None, &Context::SCREENS),
    entry(Action::NextScreen, "next-screen", &["]"], "show the screen to the right", None, &Context::SCREENS),
    entry(Action::PreviousScreen, "previous-screen", &["["], "show the screen to the left", None, &Context::SCREENS),
    entry(
        Action::Back,
        "back",
        &["esc"],
        "drop the filter or message, or go back",
        Some("back"),
        &[Runs, Planner, Batches, Requests, Log],
    ),
];

/// What is seldom needed.
pub const LAST: &[ActionInfo] = &[
    entry(Action::Copy, "copy", &["y"], "copy the id or path of what is selected", Some("copy"), COPIES),
    entry(Action::Freeze, "freeze", &["z"], "hold the picture, or let it go on", None, OF_A_RUN),
    entry(Action::NextTheme, "next-theme", &["T"], "change to the next theme", None, &Context::SCREENS),
    entry(Action::ChangeZone, "change-zone", &["U"], "show times in UTC, or in your own zone", None, TIMES),
    entry(
        Action::ToggleMouse,
        "toggle-mouse",
        &["m"],
        "leave the mouse to the terminal, or take it",
        None,
        &Context::SCREENS,
    ),
    entry(Action::Dismiss, "dismiss", &["esc"], "take the message away", None, &[Live]),
    entry(Action::Interrupt, "interrupt", &["ctrl-c"], "stop the run and leave; again: at once", None, &Context::ALL),
    entry(Action::Suspend, "suspend", &["ctrl-z"], "go to the background; fg comes back", None, &Context::ALL),
    entry(Action::Redraw, "redraw", &["ctrl-l"], "draw the screen again", None, &Context::ALL),
];

/// The help, text fields and dialogs.
pub const OVERLAYS: &[ActionInfo] = &[
    entry(Action::CloseHelp, "close-help", &["esc", "?", "f1", "q"], "close the help", Some("close"), &[Help]),
    entry(Action::HelpSearch, "help-search", &["/"], "search by name, key or text", Some("search"), &[Help]),
    entry(Action::CloseReader, "close-reader", &["esc", "q", "enter"], "close the text", Some("close"), &[Reader]),
    entry(Action::ScrollDown, "scroll-down", &["down", "j"], "scroll down", Some("down"), &[Help, Reader]),
    entry(Action::ScrollUp, "scroll-up", &["up", "k"], "scroll up", Some("up"), &[Help, Reader]),
    entry(Action::KeepText, "keep-text", &["enter"], "keep the text of the field", Some("keep"), &[Field]),
    entry(Action::DropText, "drop-text", &["esc"], "give up the text of the field", Some("drop"), &[Field]),
    entry(Action::Drain, "drain", &["d"], "let what is in flight finish, then leave", Some("drain"), &[QuitDialog]),
    entry(
        Action::StopNow,
        "stop-now",
        &["s", "q"],
        "abandon what is in flight and leave",
        Some("stop now"),
        &[QuitDialog],
    ),
    entry(Action::Agree, "agree", &["y"], "do what the dialog asks", Some("yes"), &[ConfirmDialog]),
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
