//! `state.json`: where a run is. Small, and rewritten whole.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::error::StoreError;
use super::run_file::{FORMAT, RunFile};
use super::sub_batch::SubBatchEntry;
use super::{atomic, stamp};
use crate::model::books::{Books, Limits};
use crate::model::snapshot::OrgTotals;
use crate::model::{Counts, Money, RunStatus, Wall};

/// `state.json`. The journal is the authority on outcomes; this is what a glance at a run shows, and what no line of the
/// journal says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StateFile {
    /// As in run.json.
    pub format: u32,
    /// The run's state when it was written.
    pub status: RunStatus,
    /// Where its requests were.
    pub counts: Counts,
    /// What the answers cost, over all sessions, in USD.
    #[serde(rename = "cost_usd")]
    pub cost: Money,
    /// Attempts that may have been billed without an answer, over all sessions.
    #[serde(default)]
    pub n_possibly_charged: u64,
    /// Attempts of the sync path that were answered or possibly charged, or can have been out when the process died without a
    /// word: at the most, over all sessions. Those of them that neither the journal nor `n_possibly_charged` knows may have
    /// been charged.
    #[serde(default)]
    pub n_begun_at_most: u64,
    /// What was paid and perhaps paid, over all sessions.
    #[serde(default)]
    pub books: Books,
    /// Where its time went, by what it waited for, in milliseconds, over all sessions.
    #[serde(default)]
    pub time_ms: BTreeMap<String, u64>,
    /// What the run may cost and do at most.
    #[serde(default)]
    pub limits: Limits,
    /// Attempts that had to be made again, by reason, over all sessions.
    #[serde(default)]
    pub re_driven: BTreeMap<String, u64>,
    /// Requests answered by the number of attempts that it took: 1, 2, 3, 4, 5 or more.
    #[serde(default)]
    pub attempts: [u64; 5],
    /// Milliseconds in which it was running, over all sessions.
    #[serde(default)]
    pub wall_ms: u64,
    /// Milliseconds in the last session.
    #[serde(default)]
    pub session_wall_ms: u64,
    /// How often it was started or resumed.
    #[serde(default)]
    pub sessions: u32,
    /// When anything but the heartbeat changed last.
    #[serde(with = "stamp")]
    pub updated_at: Wall,
    /// When its owner was last seen at work.
    #[serde(with = "stamp")]
    pub heartbeat_at: Wall,
    /// Why it holds or was stopped, in words.
    #[serde(default)]
    pub reason: Option<String>,
    /// How it ended; `None` while it runs.
    #[serde(default)]
    pub exit_code: Option<u8>,
    /// What each org did, over all sessions.
    #[serde(default)]
    pub orgs: Vec<OrgState>,
    /// The Message Batches of the run, from the intent to create each on; empty on the sync path.
    #[serde(default)]
    pub sub_batches: Vec<SubBatchEntry>,
    /// Age in milliseconds from which its owner calls a sub-batch stuck; zero when it calls none so. Absent on the sync path,
    /// and in files of versions that did not keep it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stuck_after_ms: Option<u64>,
    /// The operator moved what was not in a sub-batch yet to the sync path.
    #[serde(default)]
    pub finish_on_sync: bool,
}

/// An org's share in a run, over all sessions.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct OrgState {
    /// Its name.
    pub label: String,
    /// Sum of its windows when the state was written.
    pub window: u32,
    /// What it did, over all sessions.
    #[serde(flatten)]
    pub totals: OrgTotals,
}

impl StateFile {
    /// Its name in a run directory.
    pub const NAME: &'static str = "state.json";

    /// Requests that are in batches at the API: they were sent, and have no outcome yet.
    pub fn n_in_batches(&self) -> u64 {
        let there = self.sub_batches.iter().filter(|entry| entry.status.is_under_way());
        let n: u64 = there.map(|entry| u64::from(entry.n_requests)).sum();
        n.min(self.counts.open())
    }

    /// The state of a run that has done nothing yet.
    pub fn fresh(run: &RunFile) -> StateFile {
        StateFile {
            format: FORMAT,
            status: RunStatus::Planned,
            counts: Counts { total: run.input.count, unsent: run.input.count, ..Counts::default() },
            cost: Money::ZERO,
            n_possibly_charged: 0,
            n_begun_at_most: 0,
            books: Books::default(),
            time_ms: BTreeMap::new(),
            limits: Limits::default(),
            re_driven: BTreeMap::new(),
            attempts: [0; 5],
            wall_ms: 0,
            session_wall_ms: 0,
            sessions: 0,
            updated_at: run.created_at,
            heartbeat_at: run.created_at,
            reason: None,
            exit_code: None,
            orgs: Vec::new(),
            sub_batches: Vec::new(),
            stuck_after_ms: None,
            finish_on_sync: false,
        }
    }

    /// Reads it from a run directory; `None` when there is none, which is the moment right after the run was made.
    ///
    /// # Errors
    /// [`StoreError::NewerVersion`], [`StoreError::Corrupt`], [`StoreError::Io`].
    pub fn load(dir: &Path) -> Result<Option<StateFile>, StoreError> {
        atomic::load(&dir.join(StateFile::NAME))
    }

    /// Writes it into a run directory; durable when this returns.
    ///
    /// # Errors
    /// [`StoreError::Io`]; the file is then as it was.
    pub fn save(&self, dir: &Path) -> Result<(), StoreError> {
        atomic::save(&dir.join(StateFile::NAME), self)
    }
}
