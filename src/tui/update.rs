//! What an input does to the screens, and what it asks of the world around them. Pure: no terminal, no engine, no clock.

use crate::model::{Mono, Snapshot};

use super::TuiExit;
use super::action::Action;
use super::attention;
use super::backstage::Driver;
use super::commands::{answered, ask, forget_refusal, forget_settled, pause_run, say, send, set_cap, told};
use super::field::TextField;
use super::leaving::{drain, quit, stop};
use super::msg::{Msg, Reaction};
use super::reading::{help, scroll};
use super::screens::{self, Screen};
use super::state::{Deed, Overlay, Tone, UiState};
use super::theme::ThemeName;
use super::valid::valid;
use super::view::hit::{Target, at};

/// Takes in a message.
pub fn update(ui: &mut UiState, msg: Msg, snapshot: &Snapshot, now: Mono) -> Vec<Reaction> {
    let mut reactions = take(ui, msg, snapshot, now);
    reactions.extend(screens::requests::settle(ui, snapshot, now));
    reactions.extend(screens::planner::pilot::settle(ui, snapshot));
    reactions
}

fn take(ui: &mut UiState, msg: Msg, snapshot: &Snapshot, now: Mono) -> Vec<Reaction> {
    match msg {
        Msg::Act(action) => act(ui, action, snapshot, now),
        Msg::Type(c) => edit(ui, |field| field.type_char(c)),
        Msg::Erase => edit(ui, TextField::erase),
        Msg::Click(column, row) => click(ui, column, row, snapshot, now),
        Msg::Wheel { column, row, down } => wheel(ui, (column, row), down, snapshot, now),
        Msg::Resize(columns, rows) => {
            ui.size = (columns, rows);
            Vec::new()
        }
        Msg::Picture => {
            ui.pictured_at = now;
            let mut reactions = attention::look(ui, snapshot);
            reactions.extend(tick(ui, snapshot, now));
            reactions
        }
        Msg::EngineGone => {
            ui.engine_gone = true;
            tick(ui, snapshot, now)
        }
        Msg::Answered { ticket, outcome } => answered(ui, ticket, &outcome, now),
        Msg::Told { ticket, answer } => told(ui, ticket, answer, snapshot, now),
        Msg::Signal(exit) => stop(ui, exit, snapshot, now),
        Msg::Tick => {
            let mut reactions = screens::tick(ui, now);
            reactions.extend(tick(ui, snapshot, now));
            reactions
        }
    }
}

fn act(ui: &mut UiState, action: Action, snapshot: &Snapshot, now: Mono) -> Vec<Reaction> {
    forget_refusal(ui, action, now);
    if let Err(reason) = valid(action, ui, snapshot) {
        if !matches!(action, Action::Dismiss | Action::LogFollow | Action::Back) {
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
            let text = if ui.mouse { "the mouse selects rows" } else { "the mouse is released: it selects text" };
            say(ui, text.to_owned(), Tone::Good, now);
            vec![Reaction::Mouse(ui.mouse)]
        }
        Action::PauseRun => pause_run(ui, snapshot, now),
        Action::Freeze => {
            ui.frozen = if ui.frozen.is_some() { None } else { Some(now) };
            Vec::new()
        }
        Action::NextTheme => {
            next_theme(ui, now);
            Vec::new()
        }
        Action::ChangeZone => {
            let name = ui.zone.change(snapshot.at);
            say(ui, format!("times are in {name}"), Tone::Good, now);
            Vec::new()
        }
        Action::Copy => copy(ui, snapshot, now),
        Action::NextScreen | Action::PreviousScreen => beside(ui, action == Action::NextScreen, snapshot),
        Action::Dismiss => {
            ui.toast = None;
            Vec::new()
        }
        Action::Back => back(ui, snapshot),
        Action::Help
        | Action::CloseHelp
        | Action::HelpSearch
        | Action::CloseReader
        | Action::ScrollDown
        | Action::ScrollUp => {
            help(ui, action);
            Vec::new()
        }
        Action::PageDown | Action::PageUp | Action::First | Action::Last if ui.overlay.is_some() => {
            scroll(ui, action);
            Vec::new()
        }
        Action::Filter | Action::KeepText | Action::DropText => field(ui, action, snapshot, now),
        Action::Drain
        | Action::StopNow
        | Action::Agree
        | Action::CloseDialog
        | Action::NextChoice
        | Action::PreviousChoice
        | Action::PressChoice => dialog(ui, action, snapshot, now),
        _ => match Screen::of_action(action) {
            Some(screen) => show(ui, screen, snapshot),
            None => screens::act(ui, action, snapshot, now),
        },
    }
}

/// Asks the terminal to copy what is selected, and says what was asked: whether the terminal did, it does not tell.
fn copy(ui: &mut UiState, snapshot: &Snapshot, now: Mono) -> Vec<Reaction> {
    let Some(text) = screens::to_copy(ui, snapshot) else {
        say(ui, "there is nothing to copy here".to_owned(), Tone::Bad, now);
        return Vec::new();
    };
    say(ui, format!("sent to the terminal's clipboard, which may not take it: {text}"), Tone::Good, now);
    vec![Reaction::Copy(text)]
}

/// Changes to the built-in theme after the one that is shown; from a theme of one's own, to the first.
fn next_theme(ui: &mut UiState, now: Mono) {
    let all = ThemeName::ALL;
    let at = ui.theme.or(ui.theme_at_start).and_then(|theme| all.iter().position(|known| *known == theme));
    let next = at.map_or(0, |at| (at + 1) % all.len());
    if let Some(name) = all.get(next) {
        ui.theme = Some(*name);
        say(ui, format!("theme {}; keep it by theme = \"{0}\" under [screen]", name.as_str()), Tone::Good, now);
    }
}

/// Shows the screen to the right or to the left, passing over those that have nothing to show.
fn beside(ui: &mut UiState, right: bool, snapshot: &Snapshot) -> Vec<Reaction> {
    let n = Screen::ALL.len();
    let at = Screen::ALL.iter().position(|screen| *screen == ui.screen).unwrap_or(0);
    let others = (1..n).map(|step| if right { (at + step) % n } else { (at + n - step) % n });
    let next = others.filter_map(|at| Screen::ALL.get(at)).find(|screen| valid(screen.action(), ui, snapshot).is_ok());
    next.map_or(Vec::new(), |screen| show(ui, *screen, snapshot))
}

/// Shows another screen.
fn show(ui: &mut UiState, screen: Screen, snapshot: &Snapshot) -> Vec<Reaction> {
    let before = ui.screen;
    ui.go_to(screen);
    screens::aim::came_from(ui, before, snapshot);
    screens::shown(ui)
}

/// Takes back one thing: the filter, the message, the screen.
fn back(ui: &mut UiState, snapshot: &Snapshot) -> Vec<Reaction> {
    if screens::requests::close(ui) {
        return Vec::new();
    }
    if let Some(field) = screens::field_mut(ui)
        && !field.text.is_empty()
    {
        field.drop_text();
        return Vec::new();
    }
    if ui.toast.take().is_some() {
        return Vec::new();
    }
    if let Some(before) = ui.before.pop() {
        let left = std::mem::replace(&mut ui.screen, before);
        screens::aim::came_from(ui, left, snapshot);
        return screens::shown(ui);
    }
    Vec::new()
}

/// The field that keys go into, or would: that of the help, else that of the screen.
fn field_of(ui: &mut UiState) -> Option<&mut TextField> {
    match ui.overlay {
        None => screens::field_mut(ui),
        Some(_) => match &mut ui.overlay {
            Some(Overlay::Help { search, .. }) => Some(search),
            Some(Overlay::Raise(raise)) => Some(&mut raise.field),
            _ => None,
        },
    }
}

fn field(ui: &mut UiState, action: Action, snapshot: &Snapshot, now: Mono) -> Vec<Reaction> {
    match (&ui.overlay, action) {
        (Some(Overlay::Raise(_)), Action::KeepText) => {
            screens::raise::keep(ui);
            return Vec::new();
        }
        (Some(Overlay::Raise(_)), _) => {
            ui.overlay = None;
            return Vec::new();
        }
        _ => {}
    }
    if let Some(field) = field_of(ui) {
        match action {
            Action::DropText => field.drop_text(),
            _ => field.editing = action == Action::Filter,
        }
    }
    match action {
        _ if ui.overlay.is_some() => Vec::new(),
        Action::KeepText => screens::kept(ui, snapshot, now),
        Action::DropText => {
            screens::dropped(ui);
            Vec::new()
        }
        _ => Vec::new(),
    }
}

fn edit(ui: &mut UiState, change: impl FnOnce(&mut TextField)) -> Vec<Reaction> {
    if let Some(field) = field_of(ui).filter(|field| field.editing) {
        change(field);
    }
    match &mut ui.overlay {
        Some(Overlay::Help { scroll, .. }) => *scroll = 0,
        Some(Overlay::Raise(raise)) => raise.refused = None,
        _ => {}
    }
    Vec::new()
}

fn dialog(ui: &mut UiState, action: Action, snapshot: &Snapshot, now: Mono) -> Vec<Reaction> {
    let Some(overlay) = &mut ui.overlay else { return Vec::new() };
    match (action, overlay) {
        (Action::NextChoice, overlay) => overlay.move_focus(1),
        (Action::PreviousChoice, overlay) => overlay.move_focus(-1),
        (Action::PressChoice, overlay) => {
            if let Some(choice) = overlay.choices().get(overlay.focus()) {
                let action = choice.action;
                return dialog(ui, action, snapshot, now);
            }
        }
        (Action::Drain, Overlay::Quit { .. }) => return drain(ui, snapshot, now),
        (Action::StopNow, Overlay::Quit { .. }) => return stop(ui, TuiExit::Stopped, snapshot, now),
        (Action::Agree, Overlay::Confirm { ask: asked, .. }) => {
            let deed = asked.deed.clone();
            ui.overlay = None;
            return match deed {
                Deed::Command { command, what } => send(ui, command, what, None, now),
                Deed::SetCap(ask) => set_cap(ui, &ask, now),
                Deed::Errand { errand, what } => ask(ui, errand, what, snapshot, now),
            };
        }
        (Action::CloseDialog, _) => (ui.overlay, ui.then) = (None, None),
        _ => {}
    }
    Vec::new()
}

fn click(ui: &mut UiState, column: u16, row: u16, snapshot: &Snapshot, now: Mono) -> Vec<Reaction> {
    match at(ui, snapshot, column, row) {
        Some(Target::Choice(action)) => dialog(ui, action, snapshot, now),
        Some(Target::Screen(screen)) => act(ui, screen.action(), snapshot, now),
        Some(Target::Press(action)) => act(ui, action, snapshot, now),
        Some(target) => screens::click(ui, target, snapshot, now),
        None => Vec::new(),
    }
}

fn wheel(ui: &mut UiState, (column, row): (u16, u16), down: bool, snapshot: &Snapshot, now: Mono) -> Vec<Reaction> {
    match at(ui, snapshot, column, row) {
        Some(Target::Help) => {
            help(ui, if down { Action::ScrollDown } else { Action::ScrollUp });
            Vec::new()
        }
        Some(target) => screens::wheel(ui, target, down, snapshot, now),
        None => Vec::new(),
    }
}

/// Everything that time and pictures bring about: messages go, caps that are shown are no longer asked, and the screen
/// is left when that was wanted and the run is over.
fn tick(ui: &mut UiState, snapshot: &Snapshot, now: Mono) -> Vec<Reaction> {
    if ui.toast.as_ref().is_some_and(|toast| now >= toast.until) {
        ui.toast = None;
    }
    forget_settled(ui, snapshot, now);
    let nothing_to_wait_for = ui.driver != Driver::Here || (snapshot.runs.is_empty() && !ui.engine_gone);
    if !ui.is_over(snapshot) || nothing_to_wait_for {
        return Vec::new();
    }
    // A question about a run that is over has no object any more. Errands are about something else: the next run.
    ui.drop_question();
    // What waited for the end of this run, also one that came by itself while its operator was asked about it.
    if let Some((errand, what)) = ui.then.take() {
        ui.leaving = None;
        return ask(ui, errand, what, snapshot, now);
    }
    ui.leaving.map_or(Vec::new(), |exit| vec![Reaction::Exit(exit)])
}
