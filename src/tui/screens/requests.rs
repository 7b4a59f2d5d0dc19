//! The requests of the run that is shown, by outcome.

use crate::tui::action::ActionInfo;

/// What the screen adds to the registry.
pub const ACTIONS: &[ActionInfo] = &[];

/// What the screen remembers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RequestsUi {}
