//! A run in the picture: where its requests are, what it takes and costs, and what limits it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::batches::BatchesView;
use super::org::OrgTotals;
use crate::model::ids::{Route, RunSlot};
use crate::model::money::Money;
use crate::model::run::{Counts, RunStatus};
use crate::model::series::{Course, RunStep};

/// A limit that ends a run before all of its requests are answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CutShort {
    /// Which: `budget`, `max-requests` or `deadline`.
    pub by: String,
    /// Milliseconds until then.
    pub in_ms: u64,
}

/// The budget of a run as the operator sees it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct BudgetView {
    /// What the run may cost.
    #[serde(rename = "max_cost_usd")]
    pub max_cost: Option<Money>,
    /// What all runs of a day may cost.
    #[serde(rename = "per_day_usd")]
    pub per_day: Option<Money>,
    /// What all runs of today have cost, as far as it is known.
    #[serde(rename = "spent_today_usd")]
    pub spent_today: Money,
    /// Attempts that the run may make.
    pub max_requests: Option<u64>,
    /// Attempts that it has made.
    pub n_sent: u64,
    /// Milliseconds until it admits nothing more.
    pub ms_left: Option<u64>,
    /// What the answers cost.
    #[serde(rename = "spent_usd")]
    pub spent: Money,
    /// What attempts without an answer cost at the most.
    #[serde(rename = "in_doubt_usd")]
    pub in_doubt: Money,
    /// What is out costs at the most: the worst that can still come on top.
    #[serde(rename = "reserved_usd")]
    pub reserved: Money,
    /// The rest can be moved to batches at half the price.
    pub offers_batch: bool,
    /// The limit that keeps the next request from going out.
    pub blocked: Option<String>,
}

impl BudgetView {
    /// The share of `max_cost` that is used, surely or perhaps, in percent.
    pub fn percent(&self) -> Option<u64> {
        let limit = self.max_cost.filter(|limit| *limit > Money::ZERO)?;
        u64::try_from(u128::from((self.spent + self.in_doubt).0) * 100 / u128::from(limit.0)).ok()
    }
}

/// A run as the operator sees it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunView {
    /// Its slot.
    pub slot: RunSlot,
    /// Its id, as in `run.json`.
    pub run_id: String,
    /// Its directory.
    pub dir: String,
    /// Its input, as the operator named it.
    pub input: String,
    /// Its state.
    pub status: RunStatus,
    /// Why it holds or was stopped, in words, with what to do.
    pub reason: Option<String>,
    /// How it ended, as in the contract of exit codes; `None` while it runs.
    #[serde(default)]
    pub exit_code: Option<u8>,
    /// Where its requests are.
    pub counts: Counts,
    /// What orgs of earlier sessions did that this one does not use, by label.
    #[serde(default)]
    pub absent_orgs: Vec<(String, OrgTotals)>,
    /// Its path.
    pub path: Route,
    /// The rule that chose the path.
    pub route_reason: String,
    /// The model of its requests; `mixed` when there are several.
    pub model: String,
    /// The API is a simulated one of this process: what is in batches there ends with it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub embedded_api: bool,
    /// Answers of the sync path a second over the last ten seconds. What sub-batches bring comes in bursts, and says nothing
    /// of the pace.
    pub rate: f64,
    /// Such answers in each of the last seconds, oldest first, at most 120.
    pub rate_history: Vec<u32>,
    /// Outcomes and cost over the whole session.
    #[serde(default)]
    pub course: Course<RunStep>,
    /// Milliseconds to go at this rate; `None` while there is no telling, and when a limit ends the run before that.
    pub eta_ms: Option<u64>,
    /// Milliseconds until the sync path has answered what is on it, while sub-batches are open, whose end nobody knows.
    #[serde(default)]
    pub sync_eta_ms: Option<u64>,
    /// What ends the run before all is answered, at the pace and the price of its answers so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut_short: Option<CutShort>,
    /// What its answers cost, over all sessions.
    pub cost: Money,
    /// Attempts that may have been billed without an answer, over all sessions.
    pub n_possibly_charged: u64,
    /// Milliseconds in which it was running, over all sessions.
    pub wall_ms: u64,
    /// Milliseconds in this session.
    pub session_wall_ms: u64,
    /// Requests whose last attempt failed, by reason, most first.
    pub re_drives: Vec<(String, u64)>,
    /// Attempts that failed and had to be made again, by reason, over all sessions, most first.
    #[serde(default)]
    pub re_driven: Vec<(String, u64)>,
    /// Requests answered by the number of attempts that it took in its session, over all sessions: 1, 2, 3, 4, 5 or more.
    #[serde(default)]
    pub attempts: [u64; 5],
    /// What it may cost and do at most; `None` when nothing is limited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<BudgetView>,
    /// Its Message Batches; `None` when the run has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batches: Option<Arc<BatchesView>>,
}
