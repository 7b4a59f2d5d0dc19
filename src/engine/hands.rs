//! A run's hands: its worker context, its writer, its attempts under way, and what it may make batches with.

use std::collections::HashMap;
use std::sync::Arc;

use tokio::sync::mpsc::UnboundedSender;
use tokio::task::AbortHandle;

use crate::api::batches::BatchTransport;
use crate::catalog::Catalog;
use crate::model::{BatchSettings, Mono, Outcome, RequestNo, RunSlot, RunStatus, Scrubber};
use crate::requests::Input;
use crate::store;
use crate::store::{AuditEvent, Job, Last, StateFile, StoreError, StoreEvent, Writer};

use super::alarm::Alarm;
use super::batch;
use super::day::{DayClaim, DayLedger};
use super::event::Event;
use super::load::Sizes;
use super::preflight::{self, Want};
use super::promise::Promise;
use super::queue::{Place, Queue};
use super::spec::{RunEnd, RunSpec};
use super::state::State;
use super::worker::{RunWork, Shared};

/// A run's hands: its worker context, its writer, its attempts under way.
pub(super) struct Run {
    pub(super) work: Arc<RunWork>,
    pub(super) writer: Option<Writer>,
    pub(super) template: StateFile,
    pub(super) state_written: Mono,
    pub(super) status_written: Option<crate::model::RunStatus>,
    pub(super) attempts: HashMap<RequestNo, AbortHandle>,
    /// What it wants of which model.
    pub(super) wants: Vec<Want>,
    /// The hands of its batch part.
    pub(super) batch: Option<Arc<batch::Shell>>,
    /// What carries the calls of batches.
    pub(super) carries: Option<(Arc<dyn BatchTransport>, Scrubber)>,
    /// As [`RunSpec::may_batch`].
    pub(super) may_batch: Option<(String, BatchSettings)>,
    /// As [`RunSpec::day`].
    pub(super) day: Option<DayLedger>,
    pub(super) end: Option<RunEnd>,
}

impl Run {
    pub(super) fn new(
        spec: RunSpec,
        carries: Option<(Arc<dyn BatchTransport>, Scrubber)>,
        state: &mut State,
        shared: &Shared,
        catalog: &Catalog,
    ) -> Result<Run, StoreError> {
        let input = Arc::clone(&spec.input);
        let mut wants = preflight::wants(&input, &spec.last);
        let mut places: Vec<Place> = spec.last.into_iter().map(place).collect();
        if let Some(only) = &spec.only {
            keep_only(&mut places, only);
        }
        let queue = Queue::new(places, |no| input.family_of(no));
        let sizes: Arc<dyn Sizes> = Arc::<Input>::clone(&input);
        let slot = state.add_run(spec.facts, queue, sizes, shared.clock.mono());
        wants.iter_mut().for_each(|want| want.run = slot);
        let mut template = spec.state;
        // The ceiling must be durable before the first call; nothing else runs yet that could wait for it.
        let open = state.open_to_doubt(slot);
        let promise = Promise::first(open);
        // With the books: a session that is killed before its first heartbeat must not take those of the earlier ones along.
        template.books = state.runs[slot.ix()].books();
        template.n_possibly_charged = state.runs[slot.ix()].ledger.in_doubt().0;
        template.n_begun_at_most = promise.ceiling(open);
        template.status = RunStatus::Running;
        template.heartbeat_at = shared.clock.now().wall;
        template.save(spec.dir.path())?;
        state.runs[slot.ix()].promise = Some(promise);
        if spec.day.is_some() {
            state.runs[slot.ix()].budget.day.share();
        }
        let events = shared.events.clone();
        let writer = store::spawn(spec.dir, slot, spec.cache, spec.writer, move |event| tell(&events, slot, event))?;
        // Where a session begins is told by nothing else once the next state is written.
        if state.runs[slot.ix()].facts.opening.is_none() {
            let text = format!("session {} begins", template.sessions);
            let kind = AuditEvent::SESSION_STARTED.to_owned();
            writer.send(Job::Audit(AuditEvent { at: shared.clock.now().wall, kind, org: None, text, data: None }));
        }
        Ok(Run {
            work: Arc::new(RunWork::new(slot, spec.input, spec.keys, catalog)),
            writer: Some(writer),
            template,
            state_written: Mono::ZERO,
            status_written: None,
            attempts: HashMap::new(),
            wants,
            batch: None,
            carries,
            may_batch: spec.may_batch,
            day: spec.day,
            end: None,
        })
    }

    /// Gives it the hands for batches; false when nothing carries their calls.
    pub(super) fn can_batch(&mut self, nonce: &str, shared: &Shared) -> bool {
        let (Some(writer), Some((transport, scrubber))) = (&self.writer, self.carries.clone()) else { return false };
        self.batch = Some(Arc::new(batch::Shell {
            transport,
            events: shared.events.clone(),
            work: Arc::clone(&self.work),
            clock: shared.clock,
            labels: Arc::clone(&shared.labels),
            scrubber,
            nonce: nonce.to_owned(),
            dir: writer.dir().to_owned(),
        }));
        true
    }

    /// Plans sub-batches for these requests, on a thread of its own: it reads all of them.
    pub(super) fn plan_batches(&mut self, open: &[RequestNo], shared: &Shared) {
        let slot = self.work.slot;
        let events = shared.events.clone();
        let may = self.may_batch.clone().filter(|(nonce, _)| self.can_batch(nonce, shared));
        let Some(((nonce, settings), writer)) = may.zip(self.writer.as_ref()) else {
            let plan = Err("nothing carries the calls of batches".to_owned());
            return drop(events.send(Event::BatchPlanned { run: slot, plan }));
        };
        let (input, dir, template) = (Arc::clone(&self.work.input), writer.dir().to_owned(), self.template.clone());
        let mut last = vec![Last::Succeeded; input.len() as usize];
        for no in open {
            last[no.ix()] = Last::Unsent;
        }
        let alarm = Alarm::new(&events);
        tokio::task::spawn_blocking(move || {
            let _alarm = alarm;
            let plan = batch::plan(&input, &last, &template, &dir, &nonce, settings, false);
            let plan = plan.map(Box::new).map_err(|error| error.to_string());
            // The dispatcher may have come to an end meanwhile; then nobody wants to know.
            let _ = events.send(Event::BatchPlanned { run: slot, plan });
        });
    }

    /// Claims of the day, on a thread where that may wait for the disk.
    pub(super) fn claim(&self, day: i64, claim: DayClaim, shared: &Shared) {
        let Some(ledger) = self.day.clone() else { return };
        let (events, run) = (shared.events.clone(), self.work.slot);
        // What a day may cost could not be held without it.
        let alarm = Alarm::new(&events);
        tokio::task::spawn_blocking(move || {
            let _alarm = alarm;
            events.send(Event::DayGranted { run, day, grant: ledger(&claim) })
        });
    }

    pub(super) fn store(&self, job: Job) {
        if let Some(writer) = &self.writer {
            writer.send(job);
        }
    }
}

/// Leaves out of this session what waits and is not among these.
fn keep_only(places: &mut [Place], only: &[RequestNo]) {
    let mut chosen = vec![false; places.len()];
    for no in only {
        if let Some(slot) = chosen.get_mut(no.ix()) {
            *slot = true;
        }
    }
    for (place, chosen) in places.iter_mut().zip(chosen) {
        if !chosen && matches!(place, Place::Waiting | Place::Again) {
            *place = Place::Aside;
        }
    }
}

fn place(last: Last) -> Place {
    match last {
        Last::Unsent => Place::Waiting,
        Last::ReDrivable => Place::Again,
        Last::Cached => Place::Cached,
        Last::Succeeded => Place::Done(Outcome::Succeeded),
        Last::Refused => Place::Done(Outcome::Refused),
        Last::Invalid => Place::Done(Outcome::Invalid),
    }
}

fn tell(events: &UnboundedSender<Event>, run: RunSlot, event: StoreEvent) {
    let event = match event {
        StoreEvent::Synced { done, .. } => Event::Synced { run, done },
        StoreEvent::Blocked { message, for_good } => Event::StoreBlocked { run, message, for_good },
        StoreEvent::Healed => Event::StoreHealed { run },
    };
    // The dispatcher outlives the writers; when it is gone, nobody counts any more.
    let _ = events.send(event);
}
