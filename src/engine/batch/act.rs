//! What the batch part is told, and what it asks for: the calls of batches, and the intents that have to be durable first.

use std::sync::Arc;
use std::sync::mpsc::SyncSender;

use crate::api::batches::{BatchFailure, BatchReply, CreateReply, MessageBatch};
use crate::model::{AccountTrouble, ApiError, Money, OrgId, Outcome, RequestNo, RunSlot, Trouble, Usage, Wall};
use crate::store::{Record, Tally};

/// Something that has happened to a sub-batch.
#[derive(Debug)]
pub(crate) struct BatchEvent {
    pub(crate) run: RunSlot,
    /// Which sub-batch.
    pub(crate) index: u32,
    pub(crate) what: Happened,
}

/// What has happened.
#[derive(Debug)]
pub(crate) enum Happened {
    /// Its members are durable, or why they are not.
    MembersKept(Result<(), String>),
    /// The state with this step in it is durable.
    StateKept(Step),
    /// The create has ended, one way or the other.
    Created(Box<CreateReply>),
    /// A poll has ended.
    Polled(Box<BatchReply<MessageBatch>>),
    /// A cancel has ended.
    CancelAnswered(Box<BatchReply<MessageBatch>>),
    /// The org's list was read, back to the time that was asked for.
    Listed(Box<BatchReply<Vec<MessageBatch>>>),
    /// The first result of a batch was looked at: whether its id carries the run's nonce; `None` when it could not be had.
    Peeked { batch: Box<MessageBatch>, ours: Option<bool> },
    /// Some of its results, ready for the journal.
    Rows { rows: Vec<HarvestedRow>, token: Token },
    /// The download has ended, and all of its rows are durable.
    HarvestEnded(Box<Result<Harvest, BatchFailure>>),
}

/// Which step is to be durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// The intent to create it.
    CreateIntent,
    /// The intent to cancel it.
    CancelIntent,
    /// All of its results are durable.
    Harvested,
    /// Nothing waits for it.
    Other,
}

/// A result with a terminal outcome.
#[derive(Debug)]
pub(crate) struct HarvestedRow {
    pub(crate) no: RequestNo,
    pub(crate) outcome: Outcome,
    pub(crate) usage: Usage,
    pub(crate) cost: Money,
    pub(crate) record: Record,
}

/// Permits the harvest to go on once its rows are durable; what bounds its memory.
#[derive(Debug, Clone)]
pub(crate) struct Token(pub(crate) SyncSender<()>);

impl Token {
    /// Gives it back. The harvest may have been abandoned.
    pub(crate) fn give_back(self) {
        let _ = self.0.try_send(());
    }
}

/// What a harvest found.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Harvest {
    /// What became of the members.
    pub(crate) tally: Tally,
    /// Members with a result that has to be made again, and why.
    pub(crate) again: Vec<(RequestNo, Trouble)>,
    /// Members without a result that can be read.
    pub(crate) missing: Vec<RequestNo>,
    /// Trouble of the account that rows named, and the first error of it.
    pub(crate) account: Option<(AccountTrouble, ApiError)>,
    /// Lines that are no results: where the first ones start, and why.
    pub(crate) bad: Vec<(u64, String)>,
    pub(crate) n_bad: u32,
    /// Results of something else.
    pub(crate) n_alien: u32,
    /// Results of members that had one already.
    pub(crate) n_twice: u32,
    /// What is said of the first result of a type that is not known.
    pub(crate) unknown: Option<String>,
    /// Requests that the API called wrong, the first ones.
    pub(crate) invalid: Vec<(RequestNo, ApiError)>,
}

/// Something to do.
#[derive(Debug)]
pub(crate) struct BatchEffect {
    pub(crate) run: RunSlot,
    pub(crate) index: u32,
    pub(crate) what: ToDo,
}

/// What is to be done. Every call is answered by an event, whatever happens.
#[derive(Debug)]
pub(crate) enum ToDo {
    /// Make its members durable.
    KeepMembers { members: Arc<Vec<RequestNo>> },
    /// Make the state durable as it is now.
    KeepState(Step),
    /// Create it. The intent is durable.
    Create { org: OrgId, members: Arc<Vec<RequestNo>> },
    /// Ask how it is.
    Poll { org: OrgId, id: String },
    /// Cancel it. The intent is durable.
    Cancel { org: OrgId, id: String },
    /// Read the org's list, back to a time.
    List { org: OrgId, since: Wall },
    /// Look whose results these are.
    Peek { org: OrgId, batch: Box<MessageBatch> },
    /// Download its results and merge them.
    Harvest { org: OrgId, id: String, members: Arc<Vec<RequestNo>>, began_at: Option<Wall> },
    /// Give a token back once all that was handed to the store before is durable.
    Permit(Token),
}

/// What the batch part wants of the rest of the dispatcher.
#[derive(Debug)]
pub(crate) enum Out {
    /// Something for the shell.
    Do(u32, ToDo),
    /// Something to tell.
    Note(crate::model::Level, &'static str, Option<OrgId>, String),
    /// The account of an org is in trouble.
    Park(OrgId, AccountTrouble, ApiError),
    /// An org has named its organisation.
    Organisation(OrgId, String),
    /// The API was heard of: what is wrong now is no mistake in the set-up.
    Heard,
    /// The API did not answer as it should: the beginning of an outage, if nothing else is heard.
    Unheard(ApiError),
    /// These go to the sync path as if nothing had been tried.
    ToSync(Vec<RequestNo>),
    /// These were in a sub-batch of this org, and go to the sync path.
    ReDrive(OrgId, Vec<(RequestNo, Trouble)>),
    /// These have an outcome, which is to be made durable.
    Rows(OrgId, Vec<HarvestedRow>),
    /// More of the same would not help: the run ends, or waits for the operator.
    Stop(&'static str, String),
}
