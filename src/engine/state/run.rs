//! One run: where its requests are, what it cost, and what keeps it from sending.

use std::sync::Arc;
use std::time::Duration;

use crate::engine::budget::Budget;
use crate::engine::course::CourseState;
use crate::engine::day::DayClaim;
use crate::engine::facts::RunFacts;
use crate::engine::history::PerSecond;
use crate::engine::ledger::{Ledger, date, day_of};
use crate::engine::load::Sizes;
use crate::engine::promise::Promise;
use crate::engine::queue::Queue;
use crate::engine::waits::Waited;
use crate::model::series::RunStep;
use crate::model::{ApiError, Books, Money, Mono, RequestNo, RunSlot, RunStatus, Wall};

/// One run.
#[derive(Debug)]
pub(crate) struct RunState {
    pub(crate) slot: RunSlot,
    pub(crate) facts: RunFacts,
    pub(crate) queue: Queue,
    pub(crate) sizes: Arc<dyn Sizes>,
    pub(crate) status: RunStatus,
    pub(crate) reason: Option<String>,
    pub(crate) started: Mono,
    pub(crate) ended: Option<Mono>,
    pub(crate) ledger: Ledger,
    pub(crate) budget: Budget,
    /// Where its time went.
    pub(crate) waited: Waited,
    /// Sub-batches for what waits are being planned. Nothing of it goes out on the sync path meanwhile, at twice the price and out
    /// of a budget that is nearly used up.
    pub(crate) moving: bool,
    /// What a death of this process may leave in doubt at the most; `None` when nobody keeps it.
    pub(crate) promise: Option<Promise>,
    /// Answers of the sync path: what sub-batches bring comes in bursts, and is no pace.
    pub(crate) wire: PerSecond,
    /// The whole session.
    pub(crate) course: CourseState<RunStep>,
    pub(crate) fuse: Fuse,
    pub(crate) outage: Outage,
    /// Attempts of this session that met a 429.
    pub(crate) n_limited: u64,
    /// It was ended for a reason that more sending would not mend, by nobody's wish.
    pub(crate) gave_up: bool,
    /// It was told to stop.
    pub(crate) stopping: bool,
    /// It was told to stop again, when it waited for a disk that took nothing: it leaves without the answers in memory.
    pub(crate) leaving: bool,
    /// The error that keeps outcomes from the disk.
    pub(crate) store_trouble: Option<String>,
    /// That will never change.
    pub(crate) store_lost: bool,
    pub(crate) exit_code: Option<u8>,
}

/// Whether the first requests fail alike.
#[derive(Debug, Default)]
pub(crate) struct Fuse {
    /// A request was answered, or the operator has decided: the fuse is out of the circuit.
    pub(crate) off: bool,
    /// The first error, without its digits, and how many were like it.
    pub(crate) alike: Option<(String, u32)>,
}

/// Whether the API is away.
#[derive(Debug, Default)]
pub(crate) struct Outage {
    /// The API has been heard of in this run: an answer, a 429, an `invalid`.
    pub(crate) heard: bool,
    /// Since when every attempt has failed.
    pub(crate) since: Option<Mono>,
    /// The last failure, in words.
    pub(crate) last: Option<ApiError>,
}

impl RunState {
    /// One that starts now, over the orgs of these labels.
    pub(super) fn new(
        slot: RunSlot,
        facts: RunFacts,
        queue: Queue,
        sizes: Arc<dyn Sizes>,
        labels: Vec<String>,
        now: Mono,
    ) -> RunState {
        // Answers of earlier sessions and of the cache say as well that the file is not wrong as a whole.
        let counts = queue.counts();
        let fuse = Fuse { off: counts.succeeded + counts.refused + counts.cached > 0, ..Fuse::default() };
        let mut budget = Budget::new(facts.limits.clone(), &labels);
        budget.knows(facts.prior.dearer);
        RunState {
            slot,
            ledger: Ledger::new(labels, facts.tariff.clone(), facts.prior.clone()),
            budget,
            waited: Waited::new(facts.prior_waits.clone()),
            moving: false,
            promise: None,
            facts,
            queue,
            sizes,
            status: RunStatus::Running,
            reason: None,
            started: now,
            ended: None,
            wire: PerSecond::default(),
            course: CourseState::new(now),
            fuse,
            outage: Outage::default(),
            n_limited: 0,
            gave_up: false,
            stopping: false,
            leaving: false,
            store_trouble: None,
            store_lost: false,
            exit_code: None,
        }
    }

    /// Whether requests may be sent.
    pub(crate) fn admits(&self) -> bool {
        self.status == RunStatus::Running && self.store_trouble.is_none() && !self.moving
    }

    /// The books as they are to be kept.
    pub(crate) fn books(&self) -> Books {
        Books { dearer: self.budget.dearer(), ..self.ledger.books() }
    }

    /// The claim of a run that has come to rest: what it spent, may have spent, and leaves at the API.
    pub(crate) fn last_claim(&self, now: Wall) -> DayClaim {
        let spent = self.budget.own_today(&self.ledger, now);
        DayClaim { day: date(day_of(now)), spent, wanted: spent, limit: None }
    }

    /// The most that a request can cost on the sync path.
    pub(crate) fn at_most(&self, no: RequestNo) -> Money {
        self.ledger.at_most(&*self.sizes, no, false)
    }

    /// The most that a request can cost in a batch.
    pub(crate) fn at_most_in_batch(&self, no: RequestNo) -> Money {
        self.ledger.at_most(&*self.sizes, no, true)
    }

    /// Milliseconds of this session.
    pub(crate) fn session_wall(&self, now: Mono) -> Duration {
        self.ended.unwrap_or(now).since(self.started)
    }
}
