//! What the shell of the screens waits for and hands on: keys, pictures, log records, commands; cells to the terminal.

use std::io;
use std::sync::Arc;

use crossterm::event::{Event, EventStream, KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use ratatui::buffer::Buffer;
use tokio::sync::watch;

use super::keymap::Key;
use super::log::LogFeed;
use super::msg::Msg;
use super::state::UiState;
use crate::engine::EngineHandle;
use crate::model::{Command, CommandOutcome, Snapshot};

/// Hands a command in; the future is its outcome, whatever becomes of the engine.
pub(super) fn ask(
    handle: Option<&EngineHandle>,
    ticket: u64,
    command: Command,
) -> BoxFuture<'static, (u64, CommandOutcome)> {
    let sent = match handle {
        Some(handle) => handle.send(command),
        None => Err(CommandOutcome::Refused("no run is shown".to_owned())),
    };
    match sent {
        Ok(outcome) => Box::pin(async move {
            let ended = CommandOutcome::Refused("the run ended first".to_owned());
            (ticket, outcome.await.unwrap_or(ended))
        }),
        Err(refused) => Box::pin(std::future::ready((ticket, refused))),
    }
}

/// Copies what both have; the terminal may have changed its size in between.
pub(super) fn copy_cells(from: &Buffer, to: &mut Buffer) {
    for position in from.area.intersection(to.area).positions() {
        if let (Some(source), Some(target)) = (from.cell(position), to.cell_mut(position)) {
            *target = source.clone();
        }
    }
}

/// The next key; never, when there are none.
pub(super) async fn next_event(keys: &mut Option<EventStream>) -> Option<io::Result<Event>> {
    match keys {
        Some(keys) => keys.next().await,
        None => std::future::pending().await,
    }
}

/// Waits for a picture: `true` when there is one, `false` when none will come; for ever without a run.
pub(super) async fn next_picture(pictures: &mut Option<watch::Receiver<Arc<Snapshot>>>) -> bool {
    match pictures {
        Some(pictures) => pictures.changed().await.is_ok(),
        None => std::future::pending().await,
    }
}

pub(super) async fn news(feed: Option<&LogFeed>) {
    match feed {
        Some(feed) => feed.news().await,
        None => std::future::pending().await,
    }
}

/// The keys of an event. `Esc` and the key after it that are read at once look like that key with Alt: a terminal sends the
/// same bytes, and a screen that was held up reads both. They are `Esc` and that key, unless the keymap knows the one with Alt.
pub(super) fn apart(ui: &UiState, event: Event) -> Vec<Event> {
    match event {
        Event::Key(key) if key.modifiers.contains(KeyModifiers::ALT) && key_msg(ui, &key).is_none() => {
            let after = KeyEvent { modifiers: key.modifiers.difference(KeyModifiers::ALT), ..key };
            vec![Event::Key(KeyEvent::new(KeyCode::Esc, KeyModifiers::empty())), Event::Key(after)]
        }
        event => vec![event],
    }
}

/// What a key means where keys go at the moment.
pub(super) fn key_msg(ui: &UiState, event: &KeyEvent) -> Option<Msg> {
    let key = Key::of_event(event)?;
    let context = ui.context();
    if let Some(action) = ui.keymap.action(context, key) {
        return Some(Msg::Act(action));
    }
    if context.takes_text() {
        return if key.erases() { Some(Msg::Erase) } else { key.text().map(Msg::Type) };
    }
    None
}

pub(super) fn mouse_msg(mouse: &MouseEvent) -> Option<Msg> {
    let (column, row) = (mouse.column, mouse.row);
    match mouse.kind {
        MouseEventKind::Down(MouseButton::Left) => Some(Msg::Click(column, row)),
        MouseEventKind::ScrollDown => Some(Msg::Wheel { column, row, down: true }),
        MouseEventKind::ScrollUp => Some(Msg::Wheel { column, row, down: false }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::RunSlot;
    use crate::report::fixtures::{self, Engine};
    use crate::tui::keymap::Keymap;

    const PAUSE: Command = Command::PauseRun { run: RunSlot(0) };

    #[test]
    fn an_escape_and_a_key_that_are_read_at_once_are_two_keys_unless_the_keymap_knows_the_one_with_alt() {
        let key = |code, modifiers| Event::Key(KeyEvent::new(code, modifiers));
        let (none, ctrl) = (KeyModifiers::empty(), KeyModifiers::CONTROL);
        let (ui, c) = (UiState::default(), KeyCode::Char('c'));
        let escape = key(KeyCode::Esc, none);
        for modifiers in [none, ctrl] {
            let glued = key(c, modifiers | KeyModifiers::ALT);
            assert_eq!(apart(&ui, glued), [escape.clone(), key(c, modifiers)]);
            assert_eq!(apart(&ui, key(c, modifiers)), [key(c, modifiers)]);
        }
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "quit = [\"alt-c\"]\n").unwrap();
        let keymap = Keymap::load(file.path().to_str().unwrap()).unwrap();
        let known = UiState { keymap: Arc::new(keymap), ..ui };
        let known_key = key(c, KeyModifiers::ALT);
        assert_eq!(apart(&known, known_key.clone()), [known_key]);
    }

    #[tokio::test]
    async fn a_command_reaches_the_engine_and_its_outcome_comes_back_with_its_number() {
        let mut engine = Engine::showing(fixtures::busy());
        let answer = ask(Some(&engine.handle()), 7, PAUSE);
        let request = engine.commands.recv().await.unwrap();
        assert_eq!(request.command, PAUSE);
        request.reply.send(CommandOutcome::Done("paused".to_owned())).unwrap();
        assert_eq!(answer.await, (7, CommandOutcome::Done("paused".to_owned())));
    }

    #[tokio::test]
    async fn an_engine_that_has_ended_or_ends_meanwhile_is_an_outcome_too() {
        let mut engine = Engine::showing(fixtures::busy());
        let handle = engine.handle();
        let meanwhile = ask(Some(&handle), 1, PAUSE);
        drop(engine.commands.recv().await);
        assert_eq!(meanwhile.await, (1, CommandOutcome::Refused("the run ended first".to_owned())));
        drop(engine);
        assert_eq!(ask(Some(&handle), 2, PAUSE).await, (2, CommandOutcome::Refused("the run has ended".to_owned())));
    }
}
