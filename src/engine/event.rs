//! What the reducer is told, and what it asks for.
//!
//! An `Event` is in the past tense: it has happened and cannot be refused. An `Effect` is to be done by the shell, in
//! order. Payloads (the journal line of an answer) ride through the reducer unread, so that one owner decides whether
//! they are recorded.

use std::time::Duration;

use crate::api::Sight;
use crate::model::{
    ApiError, Level, Money, Mono, OrgId, Outcome, RateLimits, RequestNo, RetryAfter, RunSlot, Trouble, Verdict,
};
use crate::store::Record;

use super::batch::{BatchEffect, BatchEvent, BatchPlan};
use super::day::DayGrant;

/// Something that has happened.
#[derive(Debug)]
pub(crate) enum Event {
    /// An attempt came to an end.
    Attempted(Box<Attempt>),
    /// An org was asked about a model, by its place in the preflight's list.
    Looked { org: OrgId, model: usize, sight: Box<Sight> },
    /// The request could not be read from the input as it was indexed: the file is gone, or was edited.
    Unreadable { run: RunSlot, no: RequestNo, org: OrgId, message: String },
    /// Outcomes are durable.
    Synced { run: RunSlot, done: Vec<(RequestNo, Outcome)> },
    /// Outcomes cannot be made durable; why, and what to do. `for_good`: and never will be.
    StoreBlocked { run: RunSlot, message: String, for_good: bool },
    /// They can again.
    StoreHealed { run: RunSlot },
    /// The oldest state with a ceiling of what may be in doubt that was not known to be durable is so.
    PromiseKept { run: RunSlot },
    /// What came of a claim to a day, by its number since 1970.
    DayGranted { run: RunSlot, day: i64, grant: Result<DayGrant, String> },
    /// The sub-batches for what is left of a run are planned; or why they cannot be.
    BatchPlanned { run: RunSlot, plan: Result<Box<BatchPlan>, String> },
    /// Something has happened to a sub-batch.
    Batch(Box<BatchEvent>),
    /// A task of the engine panicked, and with it went an answer that somebody waits for.
    Broke,
}

/// One attempt, ended.
#[derive(Debug)]
pub(crate) struct Attempt {
    pub(crate) run: RunSlot,
    pub(crate) no: RequestNo,
    pub(crate) org: OrgId,
    pub(crate) started: Mono,
    pub(crate) latency: Duration,
    pub(crate) verdict: Verdict,
    pub(crate) limits: RateLimits,
    pub(crate) retry_after: RetryAfter,
    pub(crate) organization: Option<String>,
    pub(crate) cost: Money,
    /// The journal line of a terminal outcome.
    pub(crate) record: Option<Record>,
}

/// Something to do.
#[derive(Debug)]
pub(crate) enum Effect {
    /// Make an attempt.
    Send { run: RunSlot, no: RequestNo, org: OrgId, attempt: u16 },
    /// Ask an org about a model, at no cost, and say so with `Looked`.
    Look { org: OrgId, model: usize, name: String },
    /// Make an outcome durable, and say so with `Synced`.
    Record(Record),
    /// Leave a trace of a request that comes to rest without a terminal outcome.
    RecordReDrivable { run: RunSlot, no: RequestNo, org: OrgId, attempts: u16, trouble: Trouble, error: ApiError },
    /// Write to the audit trail of every run.
    Audit { level: Level, kind: &'static str, org: Option<OrgId>, text: String },
    /// Abandon the attempts of a run that are under way.
    Abandon { run: RunSlot },
    /// Plan sub-batches for these requests of a run, and say so with `BatchPlanned`. None of them is sent meanwhile.
    PlanBatches { run: RunSlot, open: Vec<RequestNo> },
    /// Something is to be done about a sub-batch.
    Batch(BatchEffect),
    /// The run has come to rest: write its last state.
    Rest { run: RunSlot, exit_code: u8 },
}
