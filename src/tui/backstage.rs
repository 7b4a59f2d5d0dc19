//! What lies behind the screens: everything that they need of the product and that is not in the picture. A screen asks by
//! a [`crate::tui::msg::Reaction::Ask`], goes on, and is told the answer as a message: nothing on the screen waits.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use futures_util::future::BoxFuture;

use crate::engine::EngineHandle;
use crate::model::browse::{Page, Query, RequestDetail};
use crate::model::format;
use crate::model::{CostPref, Counts, Finding, Money, PathChoice, RequestNo, Route, RunStatus, Wall};

use super::screens::planner::Draft;

/// Does errands for the screens. The future is polled on the thread of the screen: whatever computes, reads files or waits
/// has to do so elsewhere.
pub trait Backstage: Send + Sync {
    /// Does an errand; the answer comes when it is done, and its failure is an answer too.
    fn ask(&self, errand: Errand) -> BoxFuture<'static, Answer>;
}

/// Something that is to be fetched or done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Errand {
    /// Find the runs: told by [`Answer::Runs`].
    ListRuns,
    /// Show a run as it is on the disk, without driving it: told by [`Answer::Attached`].
    Open {
        /// Its directory.
        dir: PathBuf,
    },
    /// Read a page of the requests of a run: told by [`Answer::Requests`].
    Requests {
        /// Its directory.
        dir: PathBuf,
        /// Which of them.
        query: Query,
    },
    /// Read a request of a run in full: told by [`Answer::Request`].
    Request {
        /// Its directory.
        dir: PathBuf,
        /// The request.
        no: RequestNo,
    },
    /// Find out what a resume would send, and for how much: told by [`Answer::Assessed`].
    Assess {
        /// The directory.
        dir: PathBuf,
        /// Also what a policy left re-drivable.
        re_drive: bool,
    },
    /// Go on with a run: told by [`Answer::Attached`].
    Resume {
        /// Its directory.
        dir: PathBuf,
        /// Also what a policy left re-drivable.
        re_drive: bool,
        /// How many requests the operator agreed to send; refused when more are left by now.
        agreed: u64,
        /// The limit that the operator has raised, and up to where.
        raised: Option<RunLimit>,
    },
    /// Start the demo: told by [`Answer::Attached`].
    Demo,
    /// Write the results of a run to a file beside where fandeck was started: told by [`Answer::Said`].
    Export {
        /// Its directory.
        dir: PathBuf,
        /// As a table, instead of lines of JSON.
        csv: bool,
    },
    /// Say what happened in a run: told by [`Answer::Report`].
    Report {
        /// Its directory.
        dir: PathBuf,
    },
    /// Delete a run, as it was seen: told by [`Answer::Deleted`].
    Delete {
        /// Its directory.
        dir: PathBuf,
        /// The run that the operator saw there.
        run_id: String,
        /// The requests with an outcome that the operator saw; refused when there are more by now.
        done: u64,
    },
    /// Say what the API will refuse in the input that is planned, and what a prompt cache would save: told by
    /// [`Answer::Audited`].
    AuditInput,
    /// Run the input that is planned: told by [`Answer::Attached`].
    Launch(LaunchOrder),
    /// Find out what a pilot of the input that is planned would send, and for how much: told by [`Answer::PilotAssessed`].
    AssessPilot(LaunchOrder),
    /// Send a pilot: told by [`Answer::Piloting`].
    Pilot {
        /// With these orgs and lanes.
        order: LaunchOrder,
        /// What the operator agreed to; refused when it would be more or dearer by now.
        agreed: PilotTerms,
    },
    /// The pilot has come to rest: plan again with what it measured. Told by [`Answer::Measured`].
    Measure,
}

/// A run as it was planned and agreed to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaunchOrder {
    /// Which path is asked for.
    pub path: PathChoice,
    /// What matters.
    pub cost_pref: CostPref,
    /// From now; `None` leaves it as the command line or the configuration say it, which may be a time of the day.
    pub deadline: Option<Option<Duration>>,
    /// Lanes per key.
    pub procs: u32,
    /// Requests of a sub-batch.
    pub sub_batch_size: u32,
    /// Labels of the orgs.
    pub orgs: Vec<String>,
    /// The route that the operator agreed to; refused when the rules choose another by now.
    pub route: Route,
    /// How many requests the operator agreed to send; refused when more are left by now.
    pub agreed: u64,
}

/// What a pilot would send, and for how much.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PilotTerms {
    /// Requests.
    pub n: u64,
    /// What they are expected to cost on the sync path; `None` when a price is not known.
    pub expected: Option<Money>,
    /// At the least and at the most.
    pub range: (Money, Money),
}

/// What a pilot came to.
#[derive(Debug, Clone, PartialEq)]
pub struct Piloted {
    /// The plan of what is left, with what is known now.
    pub draft: Box<Draft>,
    /// What came of it, in words; an error when too little was answered to measure anything by it.
    pub said: Result<String, String>,
}

impl Errand {
    /// Whether another run would be shown by it, in place of the one that is shown.
    pub fn attaches(&self) -> bool {
        matches!(
            self,
            Errand::Open { .. } | Errand::Resume { .. } | Errand::Demo | Errand::Launch(_) | Errand::Pilot { .. }
        )
    }
}

/// What became of an errand. Failures are in words, complete, with the remedy.
#[derive(Debug)]
pub enum Answer {
    /// The runs found, newest first.
    Runs(Result<RunsFound, String>),
    /// A run to show from now on, in place of the one before.
    Attached(Result<Attached, String>),
    /// A page of requests.
    Requests(Result<Page, String>),
    /// A request in full.
    Request(RequestNo, Result<Box<RequestDetail>, String>),
    /// What the audit of the input found, the worst first.
    Audited(Result<Vec<Finding>, String>),
    /// What a pilot would send.
    PilotAssessed(LaunchOrder, Result<PilotTerms, String>),
    /// A pilot is being sent: its pictures, while the planner stays in view.
    Piloting(Result<Attached, String>),
    /// What a pilot came to.
    Measured(Result<Piloted, String>),
    /// What a resume would send.
    Assessed(Result<Assessment, String>),
    /// Something was done; in words.
    Said(Result<String, String>),
    /// What happened in a run, to be read.
    Report(Result<String, String>),
    /// A run is gone, or is not.
    Deleted(Result<PathBuf, String>),
}

/// A limit of a run, over all of its sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunLimit {
    /// What it may cost.
    Cost(Money),
    /// Attempts that it may make.
    Attempts(u64),
}

/// `$2.00`, `7,000 attempts`.
impl fmt::Display for RunLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RunLimit::Cost(most) => f.write_str(&format::money(*most)),
            RunLimit::Attempts(most) => write!(f, "{} attempts", format::count(*most)),
        }
    }
}

/// What a resume would send.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Assessment {
    /// The run directory.
    pub dir: PathBuf,
    /// Also what a policy left re-drivable.
    pub re_drive: bool,
    /// The input, as the operator named it.
    pub input: String,
    /// Requests that have no outcome yet.
    pub n_left: u64,
    /// Those of them that are in batches at the API: they are harvested, and not sent.
    pub in_batches: u64,
    /// What they would cost, in words.
    pub cost: String,
    /// The same as a figure; `None` when it costs nothing, or is not known.
    pub expected: Option<Money>,
    /// What the run has cost so far, with what may have been charged without an answer.
    pub spent: Money,
    /// What it may cost in all; `None` when it has no limit.
    pub max_cost: Option<Money>,
    /// Labels of the orgs that would take them.
    pub orgs: Vec<String>,
    /// The limit that ended the run and would end it again at once.
    pub ended_at: Option<RunLimit>,
}

/// A run that the screens show.
#[derive(Debug, Clone)]
pub struct Attached {
    /// Its pictures, and where its commands go.
    pub handle: EngineHandle,
    /// Who drives it.
    pub driver: Driver,
}

/// Who drives the run that is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Driver {
    /// No run is shown.
    Nothing,
    /// This process: leaving means to end it.
    #[default]
    Here,
    /// Another process: it goes on when the screen is left.
    Elsewhere,
    /// Nobody: what is shown is what the disk holds.
    Nobody,
}

/// The runs found.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RunsFound {
    /// The runs, newest first.
    pub rows: Vec<RunRow>,
    /// When they were found.
    pub at: Wall,
    /// Where they were looked for.
    pub place: PathBuf,
    /// Labels of the orgs that have a key.
    pub orgs: Vec<String>,
}

/// A run directory as the list shows it.
#[derive(Debug, Clone, PartialEq)]
pub struct RunRow {
    /// The directory.
    pub dir: PathBuf,
    /// What can be told of it, or why it cannot be read.
    pub facts: Result<RunFacts, String>,
}

/// What can be told of a run from outside.
#[derive(Debug, Clone, PartialEq)]
pub struct RunFacts {
    /// Its id.
    pub run_id: String,
    /// Its input, as the operator named it.
    pub input: String,
    /// When it was made.
    pub created_at: Wall,
    /// What it does, in a word or two; a run without an owner that was running was cut off.
    pub standing: String,
    /// Its state as it was written last.
    pub status: RunStatus,
    /// Who drives it, in words; `None` when nobody does.
    pub owner: Option<String>,
    /// It is this console that drives it.
    pub here: bool,
    /// Milliseconds since its state was written last.
    pub heartbeat_ms: u64,
    /// Its path.
    pub path: Route,
    /// Where its requests are.
    pub counts: Counts,
    /// Those of the open ones that are in batches at the API: a resume harvests them.
    pub in_batches: u64,
    /// What its answers cost.
    pub cost: Money,
    /// Why it came to rest.
    pub reason: Option<String>,
    /// Nobody drives it and requests are left.
    pub resumable: bool,
    /// It speaks to the simulated API.
    pub simulated: bool,
}
