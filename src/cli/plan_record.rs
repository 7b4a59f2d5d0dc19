//! The plan as `run.json` keeps it: held against what came of it by the report, and against later sessions.

use serde::{Deserialize, Serialize};

use crate::model::Money;
use crate::plan::Plan;

/// Where a run was when its plan was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Made {
    /// The session that it is the plan of, counted from 1.
    pub session: u32,
    /// What the run had cost before.
    pub spent_usd: Money,
    /// How long it had been running before, in milliseconds; 0 in files of versions that did not keep it.
    #[serde(default)]
    pub wall_ms: u64,
}

impl Made {
    /// Before the run began.
    pub(crate) const FIRST: Made = Made { session: 1, spent_usd: Money::ZERO, wall_ms: 0 };

    /// Of the plan that a `run.json` keeps; of those of earlier versions the first session is taken.
    pub(crate) fn of_record(plan: &serde_json::Value) -> Made {
        plan.get("made").and_then(|made| serde_json::from_value(made.clone()).ok()).unwrap_or(Made::FIRST)
    }
}

/// The plan as `run.json` keeps it: without what depends on nothing of this run, and with where the run was when the plan
/// was made, since it is a plan of the rest.
pub(crate) fn for_the_record(plan: &Plan, made: Made) -> Option<serde_json::Value> {
    let mut value = serde_json::to_value(plan).ok()?;
    let object = value.as_object_mut()?;
    object.remove("table");
    object.remove("chart");
    object.insert("made".to_owned(), serde_json::to_value(made).ok()?);
    Some(value)
}
