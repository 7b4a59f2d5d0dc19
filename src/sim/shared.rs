//! The core, a mutex and a clock: what the shells hold.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use tokio::sync::watch;
use tokio::time::Instant;

use super::batch::BatchView;
use super::core::Sim;
use super::prepare::prepare;
use super::request::SimRequest;
use super::scenario::Scenario;
use super::stats::Stats;
use super::ticket::{Ending, Fate, SimResponse, Ticket};
use crate::model::Wall;

/// A simulation that several tasks use. Its clock is tokio's, so it obeys paused time in tests.
#[derive(Debug)]
pub struct SharedSim {
    sim: Mutex<Sim>,
    start: Instant,
    epoch: Wall,
    scale: f64,
    /// Milliseconds of its clock that were skipped.
    skipped: AtomicU64,
    /// The first message whose answer is held back, counted from 1.
    held_from: watch::Sender<u64>,
}

/// Nothing is held back.
const NONE: u64 = u64::MAX;

impl SharedSim {
    /// Starts a simulation now. Its clock runs `time_scale` times as fast as real time; a scale that is not a positive
    /// number is taken as 1. Call it inside the runtime whose clock is meant.
    pub fn new(scenario: Scenario, seed: u64, time_scale: f64) -> Arc<SharedSim> {
        let scale = if time_scale.is_finite() && time_scale > 0.0 { time_scale } else { 1.0 };
        let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let epoch = Wall(i64::try_from(since_1970.as_millis()).unwrap_or(i64::MAX));
        let sim = Mutex::new(Sim::new(scenario, seed, epoch, scale));
        let held_from = watch::Sender::new(NONE);
        Arc::new(SharedSim { sim, start: Instant::now(), epoch, scale, skipped: AtomicU64::new(0), held_from })
    }

    /// Time on the simulation's clock.
    pub fn now(&self) -> Duration {
        self.start.elapsed().mul_f64(self.scale) + Duration::from_millis(self.skipped.load(Ordering::Acquire))
    }

    /// Moves its clock on at once: for what takes weeks at the API, such as results that are archived.
    pub fn skip(&self, span: Duration) {
        self.skipped.fetch_add(u64::try_from(span.as_millis()).unwrap_or(u64::MAX), Ordering::AcqRel);
    }

    /// Holds back the answer to the `first` Messages request that arrives, counted from 1, and to all later ones, until
    /// [`SharedSim::release`]: for what has to happen while requests are out, however long it takes.
    pub fn hold_from(&self, first: u64) {
        self.held_from.send_replace(first);
    }

    /// Gives the answers that are held back, each at its time at the earliest.
    pub fn release(&self) {
        self.hold_from(NONE);
    }

    /// The date, in real time.
    pub fn wall(&self) -> Wall {
        Wall(self.epoch.0.saturating_add(i64::try_from(self.start.elapsed().as_millis()).unwrap_or(i64::MAX)))
    }

    /// Waits for a span of the simulation's clock. A span of nothing does not even yield.
    pub(super) async fn sleep(&self, span: Duration) {
        if span > Duration::ZERO {
            tokio::time::sleep(self.real(span)).await;
        }
    }

    /// What a span of the simulation's clock is in real time.
    pub(super) fn real(&self, span: Duration) -> Duration {
        Duration::try_from_secs_f64(span.as_secs_f64() / self.scale).unwrap_or(Duration::MAX)
    }

    /// The counters now.
    pub fn stats(&self) -> Stats {
        self.lock().stats(self.now())
    }

    /// The batches now, as they truly are.
    pub fn batches(&self) -> Vec<BatchView> {
        self.lock().batches(self.now())
    }

    /// Brings a request in.
    pub fn arrive(self: &Arc<SharedSim>, request: &SimRequest<'_>) -> Flight {
        // Nearly all of the work needs no lock.
        let prepared = prepare(request);
        let mut sim = self.lock();
        let before = sim.n_messages();
        let Fate { ending, ticket } = sim.arrive_prepared(self.now(), request, prepared);
        let message = (sim.n_messages() > before).then(|| sim.n_messages());
        Flight { sim: Arc::clone(self), ending, ticket: Some(ticket), message }
    }

    /// A panic inside the core would be a bug; the other requests still get the answers that it can give.
    fn lock(&self) -> MutexGuard<'_, Sim> {
        self.sim.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request in flight. Dropped without an answer, it tells the simulation that the caller is gone.
#[derive(Debug)]
pub struct Flight {
    sim: Arc<SharedSim>,
    ending: Ending,
    ticket: Option<Ticket>,
    /// The how many-th message it is.
    message: Option<u64>,
}

impl Flight {
    /// How it ends, and when.
    pub fn ending(&self) -> Ending {
        self.ending
    }

    /// Waits for the span that its end takes, and as long as that is held back.
    pub(super) async fn due(&self, after: Duration) {
        self.sim.sleep(after).await;
        let Some(message) = self.message else { return };
        if message >= *self.sim.held_from.borrow() {
            // The sender is in the simulation, which this flight holds: it cannot be gone.
            let _ = self.sim.held_from.subscribe().wait_for(|first| message < *first).await;
        }
    }

    /// The answer. `None` is impossible by construction but for a flight that has been answered, which nobody can hold.
    pub fn answer(mut self) -> Option<SimResponse> {
        let ticket = self.ticket.take()?;
        Some(self.sim.lock().answer(self.sim.now(), ticket))
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket.take() {
            self.sim.lock().gone(self.sim.now(), ticket);
        }
    }
}
