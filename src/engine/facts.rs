//! What a run is started with and what does not change while it runs: who it is, and what earlier sessions left.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::model::Route;
use crate::model::books::{Books, Limits};
use crate::model::snapshot::OrgTotals;

use super::ledger::Tariff;

/// What of a run does not change.
#[derive(Debug, Clone)]
pub struct RunFacts {
    /// Its id.
    pub run_id: String,
    /// Its directory, for people.
    pub dir: String,
    /// Its input, as the operator named it.
    pub input: String,
    /// Its path.
    pub path: Route,
    /// The rule that chose the path.
    pub route_reason: String,
    /// Its model, or `mixed`.
    pub model: String,
    /// The API is a simulated one of this process: what is in batches there ends with it.
    pub embedded_api: bool,
    /// What waits may be moved to batches while it runs.
    pub can_move: bool,
    /// How many requests this session sends to measure what they take, and no others; `None` when it sends all.
    pub pilot: Option<u64>,
    /// What is to be said when it begins, for the audit trail: that it goes on, and by whose limits.
    pub opening: Option<String>,
    /// Nobody watches: what would wait for an operator ends the run instead.
    pub unattended: bool,
    /// The books of earlier sessions.
    pub prior: Books,
    /// Its models with their prices, by the index that its requests name.
    pub tariff: Tariff,
    /// What it may cost and do at most.
    pub limits: Limits,
    /// What earlier sessions waited for, in milliseconds.
    pub prior_waits: BTreeMap<String, u64>,
    /// Time in which earlier sessions ran.
    pub prior_wall: Duration,
    /// What orgs of earlier sessions did that this one does not use, by label.
    pub absent_orgs: Vec<(String, OrgTotals)>,
    /// Requests answered in earlier sessions, by the number of attempts that it took.
    pub prior_attempts: [u64; 5],
}
