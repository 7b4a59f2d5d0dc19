//! What an input does to the screens, and what it asks of the world around them. Pure: no terminal, no engine, no clock.

use std::time::Duration;

use crate::model::{Command, CommandOutcome, Mono, Snapshot};

use super::TuiExit;
use super::action::Action;
use super::batches;
use super::commands::{answered, change_cap, forget_settled, pause_org, pause_run, say, send, set_cap};
use super::state::{LogSize, Overlay, Tone, UiState, open_runs};
use super::valid::valid;
use super::view::hit::{Target, at};

/// Something that came in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Msg {
    /// The operator meant something.
    Act(Action),
    /// A character for the text field.
    Type(char),
    /// The last character of the text field goes.
    Erase,
    /// A press of the left button at column and row.
    Click(u16, u16),
    /// The wheel turned at column and row.
    Wheel {
        /// Column.
        column: u16,
        /// Row.
        row: u16,
        /// Towards the operator.
        down: bool,
    },
    /// The terminal has another size.
    Resize(u16, u16),
    /// A picture arrived.
    Picture,
    /// The engine has ended: no picture will follow.
    EngineGone,
    /// The engine answered a command.
    Answered {
        /// The command's number.
        ticket: u64,
        /// What became of it.
        outcome: CommandOutcome,
    },
    /// A signal asks the program to end.
    Signal(TuiExit),
    /// Time passed.
    Tick,
}

/// Something to do outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reaction {
    /// Hand a command to the engine; its outcome comes back with the number.
    Send {
        /// The number.
        ticket: u64,
        /// The command.
        command: Command,
    },
    /// Leave the screen.
    Exit(TuiExit),
    /// Give the terminal back and stop until the shell continues us.
    Suspend,
    /// Forget what the terminal shows and draw everything.
    Redraw,
    /// Take (`true`) or release the mouse.
    Mouse(bool),
    /// Scroll the log.
    Log(LogMove),
}

/// A movement in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogMove {
    /// Towards older records.
    Up,
    /// Towards newer ones.
    Down,
    /// To the newest, and follow.
    Follow,
}

/// How long the final state stays on screen with [`UiState::leave_when_done`].
pub const LINGER: Duration = Duration::from_secs(3);

/// Takes in a message.
pub fn update(ui: &mut UiState, msg: Msg, snapshot: &Snapshot, now: Mono) -> Vec<Reaction> {
    match msg {
        Msg::Act(action) => act(ui, action, snapshot, now),
        Msg::Type(c) => edit(ui, |search| search.push(c)),
        Msg::Erase => edit(ui, |search| {
            search.pop();
        }),
        Msg::Click(column, row) => click(ui, column, row, snapshot, now),
        Msg::Wheel { column, row, down } => wheel(ui, (column, row), down, snapshot, now),
        Msg::Resize(columns, rows) => {
            ui.size = (columns, rows);
            Vec::new()
        }
        Msg::Picture => {
            ui.pictured_at = now;
            tick(ui, snapshot, now)
        }
        Msg::EngineGone => {
            ui.engine_gone = true;
            tick(ui, snapshot, now)
        }
        Msg::Answered { ticket, outcome } => answered(ui, ticket, &outcome, now),
        Msg::Signal(exit) => stop(ui, exit, snapshot, now),
        Msg::Tick => tick(ui, snapshot, now),
    }
}

fn act(ui: &mut UiState, action: Action, snapshot: &Snapshot, now: Mono) -> Vec<Reaction> {
    if let Err(reason) = valid(action, ui, snapshot) {
        if !matches!(action, Action::Dismiss | Action::LogFollow) {
            say(ui, reason, Tone::Bad, now);
        }
        return Vec::new();
    }
    match action {
        Action::Quit => quit(ui, snapshot),
        Action::Interrupt => stop(ui, TuiExit::Interrupted, snapshot, now),
        Action::Suspend => vec![Reaction::Suspend],
        Action::Redraw => vec![Reaction::Redraw],
        Action::ToggleMouse => {
            ui.mouse = !ui.mouse;
            let text = if ui.mouse { "the mouse selects orgs" } else { "the mouse is released: it selects text" };
            say(ui, text.to_owned(), Tone::Good, now);
            vec![Reaction::Mouse(ui.mouse)]
        }
        Action::PauseRun => pause_run(ui, snapshot, now),
        Action::PauseOrg | Action::ReviveOrg => pause_org(ui, action, snapshot, now),
        Action::CapUp | Action::CapDown => change_cap(ui, action == Action::CapUp, snapshot, now),
        Action::LogUp | Action::LogDown | Action::LogFollow | Action::LogSize => log(ui, action),
        Action::NextOrg | Action::PreviousOrg | Action::OrgRight | Action::OrgLeft | Action::NextFamily => {
            select(ui, action, snapshot);
            Vec::new()
        }
        Action::Dismiss => {
            ui.toast = None;
            Vec::new()
        }
        Action::Help
        | Action::CloseHelp
        | Action::HelpSearch
        | Action::HelpDown
        | Action::HelpUp
        | Action::KeepSearch
        | Action::ClearSearch => {
            help(ui, action);
            Vec::new()
        }
        Action::Batches
        | Action::CloseBatches
        | Action::NextSubBatch
        | Action::PreviousSubBatch
        | Action::CancelSubBatch
        | Action::FinishOnSync
        | Action::ReDriveSubBatch
        | Action::LeaveSubBatch
        | Action::SortSubBatches
        | Action::FilterSubBatches
        | Action::FollowSubBatches => batches::act(ui, action, snapshot, now),
        Action::Drain
        | Action::StopNow
        | Action::AgreeBatch
        | Action::AgreeCap
        | Action::CloseDialog
        | Action::NextChoice
        | Action::PreviousChoice
        | Action::PressChoice => dialog(ui, action, snapshot, now),
    }
}

/// Leaves when nothing goes on, else asks.
fn quit(ui: &mut UiState, snapshot: &Snapshot) -> Vec<Reaction> {
    if ui.is_over(snapshot) {
        return vec![Reaction::Exit(ui.leaving.unwrap_or(TuiExit::Finished))];
    }
    ui.overlay = Some(Overlay::Quit { focus: 0 });
    Vec::new()
}

/// Stops every run and waits for it, so that what is known is on the disk; asked a second time, leaves at once.
fn stop(ui: &mut UiState, exit: TuiExit, snapshot: &Snapshot, now: Mono) -> Vec<Reaction> {
    ui.overlay = None;
    if ui.is_over(snapshot) {
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

fn drain(ui: &mut UiState, snapshot: &Snapshot, now: Mono) -> Vec<Reaction> {
    ui.overlay = None;
    if ui.leaving.is_none() {
        ui.leaving = Some(TuiExit::Drained);
    }
    open_runs(snapshot)
        .flat_map(|(run, _)| send(ui, Command::DrainRun { run }, "drain the run".to_owned(), None, now))
        .collect()
}

fn log(ui: &mut UiState, action: Action) -> Vec<Reaction> {
    match action {
        Action::LogSize => {
            ui.log_size = match ui.log_size {
                LogSize::Small => LogSize::Half,
                LogSize::Half => LogSize::Full,
                LogSize::Full => LogSize::Small,
            };
            Vec::new()
        }
        Action::LogUp => {
            ui.log_scrolled = true;
            vec![Reaction::Log(LogMove::Up)]
        }
        Action::LogDown if !ui.log_scrolled => Vec::new(),
        Action::LogDown => vec![Reaction::Log(LogMove::Down)],
        _ => {
            ui.log_scrolled = false;
            vec![Reaction::Log(LogMove::Follow)]
        }
    }
}

fn select(ui: &mut UiState, action: Action, snapshot: &Snapshot) {
    let n = snapshot.orgs.len().max(1);
    let at = ui.selected_ix(snapshot);
    if action == Action::NextFamily {
        let families = snapshot.orgs.get(at).map_or(1, |org| org.windows.len().max(1));
        ui.family = (ui.family + 1) % families;
        return;
    }
    let columns = super::view::layout::org_columns(ui, snapshot);
    // In one column, left and right go where up and down go; in a grid, up and down keep the column.
    let next = match action {
        Action::OrgRight => (at + 1) % n,
        Action::OrgLeft => (at + n - 1) % n,
        Action::NextOrg if columns <= 1 || at + columns >= n => (at + 1) % n,
        Action::NextOrg => at + columns,
        _ if columns <= 1 || at < columns => (at + n - 1) % n,
        _ => at - columns,
    };
    select_ix(ui, next, snapshot);
}

fn select_ix(ui: &mut UiState, ix: usize, snapshot: &Snapshot) {
    if let Some(org) = snapshot.orgs.get(ix)
        && ui.selected != Some(org.id)
    {
        ui.selected = Some(org.id);
        ui.family = 0;
    }
}

fn help(ui: &mut UiState, action: Action) {
    match (action, &mut ui.overlay) {
        (Action::Help, overlay) => {
            *overlay = Some(Overlay::Help { search: String::new(), editing: false, scroll: 0 });
        }
        (Action::HelpSearch, Some(Overlay::Help { editing, scroll, .. })) => (*editing, *scroll) = (true, 0),
        (Action::KeepSearch, Some(Overlay::Help { editing, .. })) => *editing = false,
        (Action::ClearSearch, Some(Overlay::Help { editing, search, .. })) => {
            *editing = false;
            search.clear();
        }
        (Action::HelpDown, Some(Overlay::Help { scroll, search, .. })) => {
            let lines = super::view::help::entries(search).count();
            *scroll = (*scroll + 1).min(lines.saturating_sub(1));
        }
        (Action::HelpUp, Some(Overlay::Help { scroll, .. })) => *scroll = scroll.saturating_sub(1),
        (Action::CloseHelp, overlay) => *overlay = None,
        _ => {}
    }
}

fn edit(ui: &mut UiState, change: impl FnOnce(&mut String)) -> Vec<Reaction> {
    if let Some(Overlay::Help { search, editing: true, scroll }) = &mut ui.overlay {
        change(search);
        *scroll = 0;
    }
    Vec::new()
}

fn dialog(ui: &mut UiState, action: Action, snapshot: &Snapshot, now: Mono) -> Vec<Reaction> {
    let Some(overlay) = &mut ui.overlay else { return Vec::new() };
    let choices = overlay.choices();
    let n = choices.len().max(1);
    match (action, overlay) {
        (Action::NextChoice, Overlay::Quit { focus } | Overlay::Cap { focus, .. } | Overlay::Batch { focus, .. }) => {
            *focus = (*focus + 1) % n;
        }
        (
            Action::PreviousChoice,
            Overlay::Quit { focus } | Overlay::Cap { focus, .. } | Overlay::Batch { focus, .. },
        ) => *focus = (*focus + n - 1) % n,
        (Action::PressChoice, overlay) => {
            if let Some(choice) = choices.get(overlay.focus()) {
                return dialog(ui, choice.action, snapshot, now);
            }
        }
        (Action::Drain, Overlay::Quit { .. }) => return drain(ui, snapshot, now),
        (Action::StopNow, Overlay::Quit { .. }) => return stop(ui, TuiExit::Stopped, snapshot, now),
        (Action::AgreeCap, Overlay::Cap { ask, .. }) => {
            let ask = ask.clone();
            ui.overlay = None;
            return set_cap(ui, &ask, now);
        }
        (Action::AgreeBatch, Overlay::Batch { ask, .. }) => {
            let ask = ask.clone();
            ui.overlay = None;
            return send(ui, ask.command, ask.what, None, now);
        }
        (Action::CloseDialog, _) => ui.overlay = None,
        _ => {}
    }
    Vec::new()
}

fn click(ui: &mut UiState, column: u16, row: u16, snapshot: &Snapshot, now: Mono) -> Vec<Reaction> {
    match at(ui, snapshot, column, row) {
        Some(Target::Org(ix)) => {
            select_ix(ui, ix, snapshot);
            Vec::new()
        }
        Some(Target::Choice(action)) => dialog(ui, action, snapshot, now),
        Some(Target::SubBatch { index, cancel }) => batches::click(ui, index, cancel, snapshot, now),
        _ => Vec::new(),
    }
}

fn wheel(ui: &mut UiState, (column, row): (u16, u16), down: bool, snapshot: &Snapshot, now: Mono) -> Vec<Reaction> {
    match at(ui, snapshot, column, row) {
        Some(Target::Help) => {
            help(ui, if down { Action::HelpDown } else { Action::HelpUp });
            Vec::new()
        }
        Some(Target::SubBatch { .. }) => {
            let action = if down { Action::NextSubBatch } else { Action::PreviousSubBatch };
            batches::act(ui, action, snapshot, now)
        }
        Some(Target::Log) => log(ui, if down { Action::LogDown } else { Action::LogUp }),
        Some(Target::Org(_)) => {
            let ix = ui.selected_ix(snapshot);
            let next = if down { ix + 1 } else { ix.saturating_sub(1) };
            select_ix(ui, next, snapshot);
            Vec::new()
        }
        _ => Vec::new(),
    }
}

/// Everything that time and pictures bring about: messages go, caps that are shown are no longer asked, and the screen
/// is left when that was wanted and the run is over.
fn tick(ui: &mut UiState, snapshot: &Snapshot, now: Mono) -> Vec<Reaction> {
    if ui.toast.as_ref().is_some_and(|toast| now >= toast.until) {
        ui.toast = None;
    }
    forget_settled(ui, snapshot, now);
    let nothing_to_wait_for = snapshot.runs.is_empty() && !ui.engine_gone;
    if !ui.is_over(snapshot) || nothing_to_wait_for {
        ui.over_since = None;
        return Vec::new();
    }
    // A question about a run that is over has no object any more.
    if matches!(ui.overlay, Some(Overlay::Quit { .. } | Overlay::Cap { .. } | Overlay::Batch { .. })) {
        ui.overlay = None;
    }
    let since = *ui.over_since.get_or_insert(now);
    match ui.leaving {
        Some(exit) => vec![Reaction::Exit(exit)],
        None if ui.leave_when_done && now.since(since) >= LINGER => vec![Reaction::Exit(TuiExit::Finished)],
        None => Vec::new(),
    }
}
