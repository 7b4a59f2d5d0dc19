//! What lies behind the screens: everything that they need of the product and that is not in the picture. A screen asks by
//! a [`crate::tui::update::Reaction::Ask`], goes on, and is told the answer as a message: nothing on the screen waits.

use std::path::PathBuf;

use futures_util::future::BoxFuture;

use crate::engine::EngineHandle;
use crate::model::{Counts, Money, Route, RunStatus, Wall};

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
}

/// What became of an errand. Failures are in words, complete, with the remedy.
#[derive(Debug)]
pub enum Answer {
    /// The runs found, newest first.
    Runs(Result<Vec<RunRow>, String>),
    /// A run to show from now on, in place of the one before.
    Attached(Result<Attached, String>),
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
    /// Milliseconds since its state was written last.
    pub heartbeat_ms: u64,
    /// Its path.
    pub path: Route,
    /// Where its requests are.
    pub counts: Counts,
    /// What its answers cost.
    pub cost: Money,
    /// Why it came to rest.
    pub reason: Option<String>,
    /// Nobody drives it and requests are left.
    pub resumable: bool,
    /// It speaks to the simulated API.
    pub simulated: bool,
}
