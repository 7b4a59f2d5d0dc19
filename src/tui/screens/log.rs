//! The log on a screen of its own. It shows what the pane of the live screen shows, and is scrolled with it.

use crate::tui::action::{Action, ActionInfo};
use crate::tui::state::UiState;
use crate::tui::update::Reaction;

/// What the screen adds to the registry.
pub const ACTIONS: &[ActionInfo] = &[];

/// What the screen remembers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LogUi {}

pub(super) fn act(ui: &mut UiState, action: Action) -> Vec<Reaction> {
    match action {
        Action::LogUp | Action::LogDown | Action::LogFollow => super::live::scroll(ui, action),
        _ => Vec::new(),
    }
}
