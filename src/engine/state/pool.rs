//! The limits of one organisation, which all of its keys draw from.

use crate::engine::gate::Gate;
use crate::engine::growth::Growth;
use crate::engine::pace::Pace;
use crate::engine::squeeze::Squeeze;
use crate::engine::window::Window;
use crate::model::Family;

/// The limits of one organisation: its windows, its gate, its pace.
#[derive(Debug)]
pub(crate) struct Pool {
    pub(crate) windows: [Option<Window>; Family::COUNT],
    pub(crate) gate: Gate,
    pub(crate) paces: [Pace; Family::COUNT],
    pub(crate) growths: [Growth; Family::COUNT],
    /// What presses on it, when it was looked at last.
    pub(crate) squeeze: Squeeze,
    /// `anthropic-organization-id`, once seen.
    pub(crate) organization: Option<String>,
}

impl Default for Pool {
    fn default() -> Pool {
        Pool {
            windows: [const { None }; Family::COUNT],
            gate: Gate::default(),
            paces: Default::default(),
            growths: Default::default(),
            squeeze: Squeeze::default(),
            organization: None,
        }
    }
}
