//! The planner: by which path a run goes, and why.

use crate::tui::action::ActionInfo;

/// What the planner adds to the registry.
pub const ACTIONS: &[ActionInfo] = &[];

/// What the planner remembers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PlannerUi {}
