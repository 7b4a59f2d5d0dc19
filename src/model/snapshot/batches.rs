//! The Message Batches of a run in the picture.

use serde::{Deserialize, Serialize};

use crate::model::money::Money;
use crate::model::sub_batch::SubBatchStatus;
use crate::model::time::Wall;

/// The Message Batches of a run.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct BatchesView {
    /// In the order of their indexes.
    pub sub_batches: Vec<SubBatchView>,
    /// Requests whose results are durable.
    pub n_harvested: u64,
    /// Requests in sub-batches that are at the API, or on their way there or back.
    pub n_open: u64,
    /// Requests in sub-batches that are only planned.
    pub n_planned: u64,
    /// Sub-batches that were created, over all sessions.
    pub created: u32,
    /// Of them: those that have ended.
    pub ended: u32,
    /// Of them: those that the escape canceled.
    pub stuck_canceled: u32,
    /// Whether `threshold_ms` says how it is; a run that another process drives may be of a version that does not tell.
    #[serde(default)]
    pub threshold_known: bool,
    /// Age from which a sub-batch is stuck; `None` turns the escape off.
    pub threshold_ms: Option<u64>,
    /// Whether the escape is made without asking.
    pub escape: bool,
    /// How long those took that ended without a cancel, in the middle and at the longest.
    pub took_median_ms: Option<u64>,
    /// As `took_median_ms`.
    pub took_longest_ms: Option<u64>,
    /// What is not in a sub-batch yet goes to the sync path.
    pub finish_on_sync: bool,
    /// What the answers of sub-batches cost, over all sessions.
    #[serde(rename = "cost_usd")]
    pub cost: Money,
}

impl BatchesView {
    /// Sub-batches that ended without a cancel: those by which others are measured.
    pub fn n_ended_by_themselves(&self) -> usize {
        let ended =
            |sub: &&SubBatchView| sub.status != SubBatchStatus::Planned && !sub.status.is_open() && !sub.canceled;
        self.sub_batches.iter().filter(ended).count()
    }

    /// The oldest open sub-batch, and the longest that any other took, when it is half as old again as that: it is worth a look
    /// long before the threshold. A few siblings are no measure, and neither are seconds.
    pub fn left_behind(&self) -> Option<(&SubBatchView, u64)> {
        let by_itself = |sub: &&SubBatchView| sub.status == SubBatchStatus::Harvested && !sub.canceled;
        let oldest = self.sub_batches.iter().filter(|sub| sub.status.is_open()).max_by_key(|sub| sub.age_ms)?;
        let longest = self.took_longest_ms?;
        let behind = oldest.status == SubBatchStatus::InProgress
            && oldest.age_ms.is_some_and(|age| age > (longest + longest / 2).max(10_000))
            && self.sub_batches.iter().filter(by_itself).count() >= 3;
        behind.then_some((oldest, longest))
    }
}

/// A sub-batch as the operator sees it. Its progress cannot be seen while it is open: the API's counts stay at zero until its
/// end, so that they are not here.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SubBatchView {
    /// Its index.
    pub index: u32,
    /// Label of its org; empty while planned.
    pub org: String,
    /// The API's name for it.
    pub batch_id: Option<String>,
    /// Its requests.
    pub n_requests: u32,
    /// Where it is.
    pub status: SubBatchStatus,
    /// The API's own word for its status, when it is one that is not known.
    pub api_status: Option<String>,
    /// Milliseconds since it was created, to its end once it has ended; `None` while planned.
    pub age_ms: Option<u64>,
    /// Milliseconds until it is stuck; zero when it is; `None` when there is no threshold, and once it was canceled or has
    /// ended.
    pub stuck_in_ms: Option<u64>,
    /// Milliseconds until it expires; `None` when it has ended.
    pub expires_in_ms: Option<u64>,
    /// Milliseconds until it is asked for next; `None` when it is not asked for.
    pub next_poll_ms: Option<u64>,
    /// Calls about it that failed since one was answered.
    pub n_failed: u32,
    /// A cancel was taken, ours or somebody else's.
    #[serde(default)]
    pub canceled: bool,
    /// The escape was used, or the operator is asked about it.
    pub stuck: bool,
    /// It was adopted by a guess.
    pub adopted: bool,
    /// What the operator is asked.
    pub question: Option<String>,
    /// Usable answers; these counts are known once it was harvested.
    pub n_succeeded: u32,
    /// Answers that cannot be used, and requests that the API called wrong.
    pub n_refused_invalid: u32,
    /// Requests that were not processed in time.
    pub n_expired: u32,
    /// Requests that a cancel kept from being processed.
    pub n_canceled: u32,
    /// Requests that failed by no fault of their own, or have no result.
    pub n_errored: u32,
    /// What its answers cost.
    #[serde(rename = "cost_usd")]
    pub cost: Money,
    /// What happened to it, and when, oldest first.
    pub timeline: Vec<(Wall, String)>,
}
