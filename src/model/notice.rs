//! What a human is told: a decision of a controller, trouble of an org, a step of a run.

use serde::{Deserialize, Serialize};

use super::ids::OrgId;
use super::time::Wall;

/// How loud a notice is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// A decision that is of interest when one looks for reasons.
    Debug,
    /// Progress.
    Info,
    /// Something that the operator may want to act on.
    Warn,
    /// Something that stops work.
    Error,
}

/// One notice. `kind` is stable and kebab-case; `text` is for people and may change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notice {
    /// Counts up from 1 over the life of the process; a reader that saw `seq` has seen all before it.
    pub seq: u64,
    /// When.
    pub at: Wall,
    /// How loud.
    pub level: Level,
    /// What kind, `window-cut` for example.
    pub kind: String,
    /// The org that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub org: Option<OrgId>,
    /// In words, with the numbers that were seen, what was decided, and why. Names the org by its label.
    pub text: String,
}
