//! What the operator asks of the engine. A command names its object by id and carries the state that the operator saw,
//! so that it acts on what was shown or says that things have moved on.

use serde::{Deserialize, Serialize};

use super::ids::{Family, OrgId, RequestNo, RunSlot};
use super::outcome::Outcome;
use super::sub_batch::SubBatchStatus;

/// A command. Each one is idempotent: given twice, the second changes nothing and says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "command")]
pub enum Command {
    /// Admit nothing more to this run until it is resumed; what is in flight finishes.
    PauseRun {
        /// The run.
        run: RunSlot,
    },
    /// Admit again.
    ResumeRun {
        /// The run.
        run: RunSlot,
    },
    /// Admit nothing more and end the run when what is in flight has finished.
    DrainRun {
        /// The run.
        run: RunSlot,
    },
    /// End the run now: what is in flight is abandoned (and counted as possibly charged), the directory stays resumable.
    StopRun {
        /// The run.
        run: RunSlot,
    },
    /// Admit nothing more to this org.
    PauseOrg {
        /// The org.
        org: OrgId,
    },
    /// Admit again; also revives an org that is parked, with a probe first.
    ReviveOrg {
        /// The org.
        org: OrgId,
    },
    /// Set the cap of an (org, family).
    SetCap {
        /// The org.
        org: OrgId,
        /// The family.
        family: Family,
        /// The cap that the operator saw.
        seen: u32,
        /// The cap that is wanted, at least 1.
        cap: u32,
        /// The operator was told that this is above the polite cap, and agreed.
        above_polite: bool,
    },
    /// Cancel a sub-batch, harvest it when it has ended, and send what it did not process on the sync path.
    CancelSubBatch {
        /// The run.
        run: RunSlot,
        /// The sub-batch, by its index.
        sub_batch: u32,
        /// What the operator saw of it.
        seen: SubBatchStatus,
    },
    /// Move what is not in a sub-batch yet to the sync path.
    FinishOnSync {
        /// The run.
        run: RunSlot,
        /// Cancel the sub-batches that are open too, so that what they do not process follows.
        cancel_open: bool,
    },
    /// Move what waits on the sync path into sub-batches, at half the price. What is being answered finishes.
    MoveToBatch {
        /// The run.
        run: RunSlot,
    },
    /// Send again what was left of a sub-batch: after a cancel made elsewhere, or when its results cannot be had.
    ReDriveSubBatch {
        /// The run.
        run: RunSlot,
        /// The sub-batch, by its index.
        sub_batch: u32,
    },
    /// Send a request again that is re-drivable and was set aside in this session.
    ReDriveRequest {
        /// The run.
        run: RunSlot,
        /// The request, by its position in the input.
        no: RequestNo,
        /// The outcome that the operator saw.
        seen: Outcome,
    },
    /// Answer the question about a sub-batch with no: it stays as it is.
    LeaveSubBatch {
        /// The run.
        run: RunSlot,
        /// The sub-batch, by its index.
        sub_batch: u32,
    },
}

/// What became of a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CommandOutcome {
    /// Done; in words.
    Done(String),
    /// It was so already; in words.
    AlreadySo(String),
    /// Not done; why, and what to do.
    Refused(String),
}

impl CommandOutcome {
    /// The words for the operator.
    pub fn text(&self) -> &str {
        match self {
            CommandOutcome::Done(text) | CommandOutcome::AlreadySo(text) | CommandOutcome::Refused(text) => text,
        }
    }
}
