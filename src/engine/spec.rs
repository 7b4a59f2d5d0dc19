//! What the engine is started with, and what it comes to.

use std::sync::Arc;

use tokio::task::JoinHandle;

use crate::api::Transport;
use crate::api::batches::BatchTransport;
use crate::catalog::Catalog;
use crate::model::snapshot::OrgTotals;
use crate::model::{BatchSettings, Counts, DispatchSettings, OrgSpec, RequestNo, RunSlot, Scrubber};
use crate::requests::Input;
use crate::store::{Cache, Closed, Last, RunDir, StateFile, WriterSettings};

use super::batch::BatchPlan;
use super::day::DayLedger;
use super::facts::RunFacts;
use super::handle::EngineHandle;

/// What the engine sends with.
pub struct EngineSpec {
    /// The orgs, in the order of their ids.
    pub orgs: Vec<OrgSpec>,
    /// How to behave.
    pub settings: DispatchSettings,
    /// What carries calls.
    pub transport: Arc<dyn Transport>,
    /// Prices.
    pub catalog: Arc<Catalog>,
    /// What the orgs did in earlier sessions of the run, in their order; shorter when there were none.
    pub prior: Vec<OrgTotals>,
    /// What carries the calls of batches, and takes key material out of results; for runs that have batches.
    pub batches: Option<(Arc<dyn BatchTransport>, Scrubber)>,
    /// How many calls may be out at once, over all orgs and whatever their caps are: what the process can open.
    pub most_in_flight: u32,
    /// Seed of the jitter.
    pub seed: u64,
}

/// A run to drive.
pub struct RunSpec {
    /// What does not change.
    pub facts: RunFacts,
    /// Its requests.
    pub input: Arc<Input>,
    /// The last durable outcome of each request.
    pub last: Vec<Last>,
    /// Cache keys by request; `None` when the cache is off.
    pub keys: Option<Arc<[[u8; 32]]>>,
    /// Its directory, owned.
    pub dir: RunDir,
    /// Where succeeded answers go besides.
    pub cache: Option<Cache>,
    /// Group commit.
    pub writer: WriterSettings,
    /// The state to begin with; its counters go on.
    pub state: StateFile,
    /// Its sub-batches; `None` on the sync path.
    pub batch: Option<BatchPlan>,
    /// Send these only, and come to rest: a pilot. `None` sends all.
    pub only: Option<Vec<RequestNo>>,
    /// With what it would make batches of what waits: its nonce, and how they are driven.
    pub may_batch: Option<(String, BatchSettings)>,
    /// Takes its claims to what all runs may cost in a day; `None` where it shares a day with nobody.
    pub day: Option<DayLedger>,
}

/// How a run came to rest.
pub struct RunEnd {
    /// Its slot.
    pub slot: RunSlot,
    /// As in the contract of exit codes, signals apart.
    pub exit_code: u8,
    /// Where its requests are.
    pub counts: Counts,
    /// Its directory, still owned, and what could not be written.
    pub closed: Closed,
}

/// A running engine.
pub struct Started {
    /// For the frontends.
    pub handle: EngineHandle,
    /// Ends when every run has come to rest, after the last picture.
    pub ended: JoinHandle<Vec<RunEnd>>,
}
