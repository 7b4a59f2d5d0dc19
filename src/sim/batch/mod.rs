//! Message Batches: what was submitted, how each lives and ends, and the results, made while they are streamed.
//!
//! A batch is decided when it is created: how long it takes, whether it wedges, what its rows and its download suffer
//! ([`BatchFault`]). Everything later follows from that, the clock and a cancel, so nothing has to run in the meantime.

mod course;
mod draft;
mod ended;
mod endpoints;
mod fault;
mod results;
mod rows;
mod settings;
mod view;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use course::Course;
use ended::Ended;

pub(super) use draft::Draft;
pub(super) use endpoints::Asker;
pub(super) use fault::{BatchFault, BatchFaultFile, BatchStrike};
pub use results::ResultRows;
pub(super) use rows::Rows;
pub(super) use settings::BatchSettings;

/// Most rows of a batch.
pub(super) const MAX_ROWS: usize = 100_000;

/// How long a batch may take.
const EXPIRES_AFTER: Duration = Duration::from_secs(24 * 3_600);

/// How long results can be downloaded, from the creation on.
const ARCHIVED_AFTER: Duration = Duration::from_secs(29 * 24 * 3_600);

/// A batch.
#[derive(Debug)]
pub(super) struct Batch {
    id: String,
    /// Whose: an index of orgs.
    org: usize,
    /// The how many-th of its org, from 1.
    number: u64,
    /// The seed of the simulation.
    seed: u64,
    rows: Arc<Rows>,
    strikes: Arc<[BatchStrike]>,
    course: Course,
    /// Set when its end has come.
    ended: Option<(Arc<Ended>, Counts)>,
}

/// `request_counts`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Counts {
    /// Rows without a result yet.
    pub processing: u64,
    /// Rows with an answer.
    pub succeeded: u64,
    /// Rows with an error.
    pub errored: u64,
    /// Rows that a cancel kept from being processed.
    pub canceled: u64,
    /// Rows that were not processed within 24 hours.
    pub expired: u64,
}

/// The batches of an organisation, oldest first.
#[derive(Debug, Default)]
pub(super) struct Batches {
    list: Vec<Option<Batch>>,
    by_id: HashMap<String, usize>,
}

impl Batches {
    fn add(&mut self, batch: Batch) -> usize {
        let at = self.list.len();
        self.by_id.insert(batch.id.clone(), at);
        self.list.push(Some(batch));
        at
    }

    fn place(&self, id: &str) -> Option<usize> {
        self.by_id.get(id).copied()
    }

    fn get(&self, at: usize) -> Option<&Batch> {
        self.list.get(at)?.as_ref()
    }

    fn get_mut(&mut self, at: usize) -> Option<&mut Batch> {
        self.list.get_mut(at)?.as_mut()
    }

    /// Takes a batch out for good; the places of the others stay.
    fn remove(&mut self, at: usize) {
        if let Some(batch) = self.list.get_mut(at).and_then(Option::take) {
            self.by_id.remove(&batch.id);
        }
    }

    /// Those that are there, newest first.
    fn newest_first(&self) -> impl DoubleEndedIterator<Item = &Batch> {
        self.list.iter().rev().flatten()
    }

    /// Rows that wait to be processed.
    fn queued(&self, now: Duration) -> u64 {
        let open = self.list.iter().flatten().filter(|batch| batch.ended.is_none());
        open.map(|batch| (batch.rows.len() - batch.course.done_at(now)) as u64).sum()
    }
}

/// What is known about a batch, for the statistics. The true state, whatever the API shows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BatchView {
    /// Its id.
    pub id: String,
    /// The label of the org that created it.
    pub org: String,
    /// The how many-th batch of that org, from 1.
    pub number: u64,
    /// `in_progress`, `canceling` or `ended`.
    pub status: String,
    /// Its rows by what became of them. Unlike the API's these are true while it is under way.
    pub counts: Counts,
    /// When it was created, seconds on the simulation's clock.
    pub created_s: f64,
    /// When it ends, or ended, as things stand.
    pub ends_s: f64,
    /// What goes wrong with it, by the names of the scenario's batch faults.
    pub faults: Vec<String>,
}
