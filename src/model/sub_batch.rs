//! The life of a sub-batch: its states and the steps between them that are legal.

use super::snapshot::RunView;
use std::fmt;

use serde::{Deserialize, Serialize};

/// Where a sub-batch is, in `state.json`, on the screen and in JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SubBatchStatus {
    /// Its members are chosen; nothing of it is at the API.
    Planned,
    /// The intent to create it is written or being written; the create may be under way.
    Creating,
    /// The API works on it.
    InProgress,
    /// The intent to cancel it is written or being written; the cancel may be under way.
    CancelRequested,
    /// The API has taken the cancel.
    Canceling,
    /// The API has finished with it; its results wait.
    Ended,
    /// Its results are being downloaded, checked and journaled.
    Harvesting,
    /// All of its results are durable.
    Harvested,
    /// Whether it was created is not known. It is looked for in the org's list, and never created again blindly.
    Adrift,
    /// Its results cannot be had: archived, or invisible for good. Its requests may have been paid.
    Unavailable,
}

impl SubBatchStatus {
    /// All of them, in the order of a life.
    pub const ALL: [SubBatchStatus; 10] = [
        SubBatchStatus::Planned,
        SubBatchStatus::Creating,
        SubBatchStatus::Adrift,
        SubBatchStatus::InProgress,
        SubBatchStatus::CancelRequested,
        SubBatchStatus::Canceling,
        SubBatchStatus::Ended,
        SubBatchStatus::Harvesting,
        SubBatchStatus::Harvested,
        SubBatchStatus::Unavailable,
    ];

    /// The name that users see.
    pub fn as_str(self) -> &'static str {
        match self {
            SubBatchStatus::Planned => "planned",
            SubBatchStatus::Creating => "creating",
            SubBatchStatus::InProgress => "in-progress",
            SubBatchStatus::CancelRequested => "cancel-requested",
            SubBatchStatus::Canceling => "canceling",
            SubBatchStatus::Ended => "ended",
            SubBatchStatus::Harvesting => "harvesting",
            SubBatchStatus::Harvested => "harvested",
            SubBatchStatus::Adrift => "adrift",
            SubBatchStatus::Unavailable => "unavailable",
        }
    }

    /// Whether it is at the API, or on its way there or back: no longer planned only, and not over.
    pub fn is_under_way(self) -> bool {
        !self.is_over() && self != SubBatchStatus::Planned
    }

    /// Whether it counts against the sub-batches that an org may have open: from the intent on, until it has ended.
    pub fn is_open(self) -> bool {
        matches!(
            self,
            SubBatchStatus::Creating
                | SubBatchStatus::Adrift
                | SubBatchStatus::InProgress
                | SubBatchStatus::CancelRequested
                | SubBatchStatus::Canceling
        )
    }

    /// Whether the API works on it, as far as is known: it is polled.
    pub fn is_polled(self) -> bool {
        matches!(self, SubBatchStatus::InProgress | SubBatchStatus::CancelRequested | SubBatchStatus::Canceling)
    }

    /// Whether nothing more happens to it by itself.
    pub fn is_over(self) -> bool {
        matches!(self, SubBatchStatus::Harvested | SubBatchStatus::Unavailable)
    }

    /// Whether this step is legal.
    pub fn may_become(self, next: SubBatchStatus) -> bool {
        use SubBatchStatus::{
            Adrift, CancelRequested, Canceling, Creating, Ended, Harvested, Harvesting, InProgress, Planned,
            Unavailable,
        };
        match self {
            Planned => matches!(next, Creating),
            // Back to planned: the API refused it, so that it surely was not created.
            Creating => matches!(next, InProgress | Adrift | Planned),
            // Found in the list in whatever state; or proved absent; or never told apart from others until all of them expired.
            Adrift => matches!(next, InProgress | Canceling | Ended | Planned | Unavailable),
            // Canceling without a request of ours: somebody else did it.
            InProgress => matches!(next, CancelRequested | Canceling | Ended | Unavailable),
            // It may end before the cancel arrives.
            CancelRequested => matches!(next, Canceling | Ended | Unavailable),
            Canceling => matches!(next, Ended | Unavailable),
            Ended => matches!(next, Harvesting | Unavailable),
            // Back to ended: the download broke and is begun anew. Adrift: the results are somebody else's.
            Harvesting => matches!(next, Harvested | Ended | Unavailable | Adrift),
            Harvested | Unavailable => false,
        }
    }
}

impl fmt::Display for SubBatchStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl RunView {
    /// Requests that are at the API in sub-batches, or on their way there or back. They count as unsent, because nothing of
    /// them is durable, and yet nobody has to send them.
    pub fn n_in_batches(&self) -> u64 {
        self.batches.as_ref().map_or(0, |batches| batches.n_open)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_can_be_reached_and_only_two_are_final() {
        let mut reached = vec![SubBatchStatus::Planned];
        let mut at = 0;
        while let Some(from) = reached.get(at).copied() {
            at += 1;
            for next in SubBatchStatus::ALL {
                if from.may_become(next) && !reached.contains(&next) {
                    reached.push(next);
                }
            }
        }
        assert_eq!(reached.len(), SubBatchStatus::ALL.len());
        for status in SubBatchStatus::ALL {
            let leads_on = SubBatchStatus::ALL.into_iter().any(|next| status.may_become(next));
            assert_eq!(leads_on, !status.is_over(), "{status}");
        }
    }

    #[test]
    fn what_may_have_been_created_is_planned_again_only_after_a_refusal_or_a_proof_of_absence() {
        let back: Vec<_> =
            SubBatchStatus::ALL.into_iter().filter(|from| from.may_become(SubBatchStatus::Planned)).collect();
        assert_eq!(back, [SubBatchStatus::Creating, SubBatchStatus::Adrift]);
    }

    #[test]
    fn no_state_becomes_itself() {
        for status in SubBatchStatus::ALL {
            assert!(!status.may_become(status), "{status}");
        }
    }
}
