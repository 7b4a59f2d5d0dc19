//! The picture of the engine that every frontend reads: the screens, the plain lines, the NDJSON and the tests.
//!
//! It is immutable and made at most ten times a second. Spans are relative to the moment it was made, so a reader that
//! shows an old one can age it honestly.

mod batches;
mod org;
mod run;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::notice::Notice;
use super::time::Wall;

pub use batches::{BatchesView, SubBatchView};
pub use org::{Binding, Condition, LimiterView, OrgTotals, OrgView, ParkReason, WindowView};
pub use run::{BudgetView, CutShort, RunView};

/// One picture.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Snapshot {
    /// Counts up with every picture.
    pub seq: u64,
    /// When it was made.
    pub at: Wall,
    /// Milliseconds since the engine started.
    pub uptime_ms: u64,
    /// In the order of the configuration.
    pub orgs: Vec<OrgView>,
    /// In the order of their slots.
    pub runs: Vec<RunView>,
    /// The newest notices, oldest first; a ring.
    pub notices: Arc<[Notice]>,
    /// The disk.
    pub store: StoreView,
}

/// Whether outcomes reach the disk.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct StoreView {
    /// Answers that wait for their fsync.
    pub unsynced: u64,
    /// The error that keeps them waiting, with what to do about it. `None` when all is well.
    pub trouble: Option<String>,
}
