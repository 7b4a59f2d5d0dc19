//! The async shell around the reducer: carries events in and effects out, and keeps time.

use std::panic::{AssertUnwindSafe, resume_unwind};
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::{mpsc, oneshot, watch};

use crate::model::{
    ApiError, CommandOutcome, Level, Money, Mono, Now, OrgId, Outcome, RequestNo, Route, RunSlot, Snapshot, Trouble,
    Usage,
};
use crate::store::{AuditEvent, Job, LineMeta, Record, StateFile, StoreError, journal};

use super::alarm::Alarm;
use super::batch::{self, BatchEffect, BatchEvent, Happened, Step, ToDo};
use super::clock::Clock;
use super::command::command;
use super::event::{Effect, Event};
use super::handle::{COMMAND_QUEUE, CommandRequest, EngineHandle};
use super::hands::Run;
use super::keep;
use super::ledger::day_of;
use super::preflight;
use super::publish::Publisher;
use super::reduce::{learn, next_wake, reduce};
use super::spec::{EngineSpec, RunEnd, RunSpec, Started};
use super::state::State;
use super::worker::{self, Shared, Task};

/// Between two pictures.
const PUBLISH_EVERY: Duration = Duration::from_millis(100);

/// Between two writes of `state.json` while nothing but counters changes: the heartbeat.
const STATE_EVERY: Duration = Duration::from_secs(5);

/// Events taken in one go.
const BATCH: usize = 512;

/// Starts the engine over these runs.
///
/// # Errors
/// When a run's writer cannot be started.
pub fn start(spec: EngineSpec, runs: Vec<RunSpec>) -> Result<Started, StoreError> {
    let (events_in, events) = unbounded_channel();
    let (commands_in, commands) = mpsc::channel(COMMAND_QUEUE);
    let clock = Clock::start();
    let labels: Arc<[String]> = spec.orgs.iter().map(|org| org.label.clone()).collect();
    let mut state = State::new(&spec.orgs, spec.settings, spec.seed);
    state.most_in_flight = spec.most_in_flight;
    for (org, prior) in state.orgs.iter_mut().zip(spec.prior) {
        org.totals = prior;
    }
    let shared = Shared { transport: spec.transport, events: events_in, clock, labels };
    let mut effects = Vec::new();
    let mut driven = Vec::with_capacity(runs.len());
    for mut run in runs {
        let plan = run.batch.take();
        let opening = run.facts.opening.clone();
        let mut run = Run::new(run, spec.batches.clone(), &mut state, &shared, &spec.catalog)?;
        if let Some(text) = opening {
            state.note(Level::Info, AuditEvent::SESSION_STARTED, None, text, clock.now(), &mut effects);
        }
        if let Some(text) = state.cramped(run.work.slot) {
            state.note(Level::Warn, "cramped", None, text, clock.now(), &mut effects);
        }
        if let Some(plan) = plan
            && run.can_batch(&plan.nonce, &shared)
        {
            batch::begin(&mut state, run.work.slot, plan, shared.clock.now(), &mut effects);
        }
        driven.push(run);
    }
    let runs = driven;
    let wants = runs.iter().flat_map(|run| run.wants.clone()).collect();
    preflight::begin(&mut state, wants, clock.now(), &mut effects);
    let mut publisher = Publisher::default();
    let first = publisher.picture(&mut state, clock.now());
    let (pictures, snapshots) = watch::channel(Arc::new(first));
    let dispatcher = Dispatcher {
        state,
        runs,
        shared,
        events,
        commands,
        pictures,
        publisher,
        published: Mono::ZERO,
        closed: unbounded_channel(),
    };
    Ok(Started { handle: EngineHandle::new(snapshots, commands_in), ended: tokio::spawn(dispatcher.run(effects)) })
}
struct Dispatcher {
    state: State,
    runs: Vec<Run>,
    shared: Shared,
    events: UnboundedReceiver<Event>,
    commands: mpsc::Receiver<CommandRequest>,
    pictures: watch::Sender<Arc<Snapshot>>,
    publisher: Publisher,
    published: Mono,
    /// Runs whose writers have been closed.
    closed: (UnboundedSender<RunEnd>, UnboundedReceiver<RunEnd>),
}

impl Dispatcher {
    /// Drives the runs to their rest. A panic here or in a task that is waited for ends the engine as a kill would, but for the
    /// answers that were received: those are made durable first.
    async fn run(mut self, mut effects: Vec<Effect>) -> Vec<RunEnd> {
        let mut batch = Vec::with_capacity(BATCH);
        if let Err(panic) = AssertUnwindSafe(self.drive(&mut batch, &mut effects)).catch_unwind().await {
            self.save(batch, effects);
            resume_unwind(panic);
        }
        self.publish(true);
        self.runs.into_iter().filter_map(|run| run.end).collect()
    }

    async fn drive(&mut self, batch: &mut Vec<Event>, effects: &mut Vec<Effect>) {
        let sleep = tokio::time::sleep(Duration::ZERO);
        tokio::pin!(sleep);
        let mut answer: Option<(oneshot::Sender<CommandOutcome>, CommandOutcome)> = None;
        loop {
            let now = self.shared.clock.now();
            let events = self.in_order(batch);
            reduce(&mut self.state, events, now, effects);
            self.perform(effects);
            self.keep_state_files(now.mono);
            self.claim_days(now);
            self.publish(answer.is_some());
            // After the picture that shows what it tells of: whoever has read it acts on what he sees.
            if let Some((reply, outcome)) = answer.take() {
                // Whoever asked may have left.
                let _ = reply.send(outcome);
            }
            if self.runs.iter().all(|run| run.end.is_some()) {
                break;
            }
            let wake = next_wake(&self.state, now.mono).unwrap_or(now.mono + STATE_EVERY);
            sleep.as_mut().reset(self.shared.clock.instant(wake));
            tokio::select! {
                biased;
                Some(request) = self.commands.recv() => {
                    let now = self.shared.clock.now();
                    // What had come before it counts first: a stop abandons no answer that is in hand.
                    let n = self.events.len();
                    batch.extend(std::iter::from_fn(|| self.events.try_recv().ok()).take(n));
                    let events = self.in_order(batch);
                    learn(&mut self.state, events, now, effects);
                    answer = Some((request.reply, command(&mut self.state, request.command, now, effects)));
                }
                n = self.events.recv_many(batch, BATCH) => debug_assert!(n > 0, "the dispatcher holds a sender"),
                Some(end) = self.closed.1.recv() => {
                    let slot = end.slot;
                    self.runs[slot.ix()].end = Some(end);
                }
                () = &mut sleep => {}
            }
        }
    }

    /// The events that have come, one by one, so that what was not reduced is still there after a panic.
    fn in_order<'a>(&mut self, batch: &'a mut Vec<Event>) -> impl Iterator<Item = Event> + use<'a> {
        for event in batch.iter() {
            self.forget(event);
            if matches!(event, Event::Broke) {
                resume_unwind(Box::new("a task of the engine panicked"));
            }
        }
        batch.reverse();
        std::iter::from_fn(|| batch.pop())
    }

    /// Hands the answers that were received to the writers, which make them durable before they are dropped. What is under way is
    /// abandoned; the promise in `state.json` counts it as possibly charged.
    fn save(&mut self, events: Vec<Event>, effects: Vec<Effect>) {
        self.runs.iter_mut().flat_map(|run| run.attempts.drain()).for_each(|(_, attempt)| attempt.abort());
        let queued = std::iter::from_fn(|| self.events.try_recv().ok());
        let of_events = events.into_iter().chain(queued).filter_map(|event| match event {
            Event::Attempted(attempt) => attempt.record,
            _ => None,
        });
        let of_effects = effects.into_iter().filter_map(|effect| match effect {
            Effect::Record(record) => Some(record),
            _ => None,
        });
        for record in of_effects.chain(of_events) {
            if let Some(run) = self.runs.get(record.run.ix()) {
                run.store(Job::Record(record));
            }
        }
    }

    /// The task of an attempt that has ended needs no aborting any more.
    fn forget(&mut self, event: &Event) {
        let (run, no) = match event {
            Event::Attempted(attempt) => (attempt.run, attempt.no),
            Event::Unreadable { run, no, .. } => (*run, *no),
            _ => return,
        };
        self.runs[run.ix()].attempts.remove(&no);
    }

    fn perform(&mut self, effects: &mut Vec<Effect>) {
        // One by one, as events are.
        effects.reverse();
        while let Some(effect) = effects.pop() {
            match effect {
                Effect::Send { run, no, org, attempt } => {
                    let run = &mut self.runs[run.ix()];
                    let task = worker::attempt(self.shared.clone(), Arc::clone(&run.work), Task { no, org, attempt });
                    run.attempts.insert(no, tokio::spawn(task).abort_handle());
                }
                Effect::Look { org, model, name } => {
                    let (sight, events) = (self.shared.transport.look(org, &name), self.shared.events.clone());
                    // The dispatcher may have come to an end meanwhile; then nobody wants to know.
                    // One that panics is not waited for, either: the preflight is given up in time.
                    tokio::spawn(
                        async move { events.send(Event::Looked { org, model, sight: Box::new(sight.await) }) },
                    );
                }
                Effect::Record(record) => self.runs[record.run.ix()].store(Job::Record(record)),
                Effect::RecordReDrivable { run, no, org, attempts, trouble, error } => {
                    let record = self.left_over(run, no, org, attempts, trouble, &error);
                    self.runs[run.ix()].store(Job::Record(record));
                }
                Effect::Audit { level, kind, org, text } => self.audit(level, kind, org, &text),
                Effect::Abandon { run } => {
                    for (_, attempt) in self.runs[run.ix()].attempts.drain() {
                        attempt.abort();
                    }
                }
                Effect::PlanBatches { run, open } => self.runs[run.ix()].plan_batches(&open, &self.shared),
                Effect::Batch(effect) => self.batch(effect),
                Effect::Rest { run, exit_code } => self.rest(run, exit_code),
            }
        }
    }

    /// The line of a request that came to rest without a terminal outcome. Its id is left empty when the input can no
    /// longer be read; the number of the request still says which it is.
    fn left_over(
        &self,
        run: RunSlot,
        no: RequestNo,
        org: OrgId,
        attempts: u16,
        trouble: Trouble,
        error: &ApiError,
    ) -> Record {
        let input = &self.runs[run.ix()].work.input;
        let custom_id = input.read(no).map(|line| line.custom_id).unwrap_or_default();
        let meta = LineMeta {
            no,
            outcome: Outcome::ReDrivable,
            org: self.shared.labels.get(org.ix()).map(String::as_str),
            path: Route::Sync,
            attempt: u32::from(attempts),
            request_id: None,
            latency_ms: 0,
            usage: Usage::default(),
            cost: Money::ZERO,
            at: self.shared.clock.now().wall,
            crc: input.crc_of(no),
        };
        let error = if error.kind.is_empty() {
            ApiError { kind: trouble.as_str().to_owned(), ..error.clone() }
        } else {
            error.clone()
        };
        let line = journal::line(&custom_id, &journal::error_body(&error), &meta);
        Record { run, no, outcome: Outcome::ReDrivable, line, cache: None }
    }

    /// What a sub-batch needs of the writer is done here; the rest by its own hands.
    fn batch(&mut self, effect: BatchEffect) {
        let BatchEffect { run: slot, index, what } = effect;
        match what {
            ToDo::KeepState(step) => {
                let file = self.state_file(slot.ix(), None);
                let run = &self.runs[slot.ix()];
                run.store(Job::State(Box::new(file)));
                if step != Step::Other {
                    let events = self.shared.events.clone();
                    let kept = BatchEvent { run: slot, index, what: Happened::StateKept(step) };
                    // On the writer's thread, after its fsync.
                    run.store(Job::Flush(Box::new(move || drop(events.send(Event::Batch(Box::new(kept)))))));
                }
            }
            ToDo::Permit(token) => self.runs[slot.ix()].store(Job::Flush(Box::new(move || token.give_back()))),
            what => {
                if let Some(shell) = &self.runs[slot.ix()].batch {
                    shell.begin(index, what);
                }
            }
        }
    }

    fn audit(&self, level: Level, kind: &'static str, org: Option<OrgId>, text: &str) {
        let label = org.and_then(|org| self.shared.labels.get(org.ix())).cloned();
        match level {
            Level::Error => tracing::error!(target: "fandeck::engine", "{text}"),
            Level::Warn => tracing::warn!(target: "fandeck::engine", "{text}"),
            Level::Info => tracing::info!(target: "fandeck::engine", "{text}"),
            Level::Debug => tracing::debug!(target: "fandeck::engine", "{text}"),
        }
        for run in &self.runs {
            let at = self.shared.clock.now().wall;
            let (kind, text) = (kind.to_owned(), text.to_owned());
            run.store(Job::Audit(AuditEvent { at, kind, org: label.clone(), text, data: None }));
        }
    }

    /// Writes `state.json` when the status has changed or its ceiling should, and else as a heartbeat.
    fn keep_state_files(&mut self, now: Mono) {
        for ix in 0..self.runs.len() {
            let status = self.state.runs[ix].status;
            let run = &self.runs[ix];
            let open = self.state.open_to_doubt(run.work.slot);
            let promises = self.state.runs[ix].promise.as_ref().is_some_and(|promise| promise.is_due(open, now));
            let due = run.status_written != Some(status) || now.since(run.state_written) >= STATE_EVERY || promises;
            if !due || run.end.is_some() || status.is_over() {
                continue;
            }
            self.keep_promise(ix, now);
            let run = &mut self.runs[ix];
            run.status_written = Some(status);
            run.state_written = now;
        }
    }

    /// Claims what runs need of the day.
    fn claim_days(&mut self, now: Now) {
        for (run, hands) in self.state.runs.iter_mut().zip(&self.runs) {
            if hands.end.is_none()
                && !run.status.is_over()
                && let Some(claim) = run.budget.claim(&run.ledger, now)
            {
                hands.claim(day_of(now.wall), claim, &self.shared);
            }
        }
    }

    /// Writes the state with a new ceiling of what may be in doubt.
    fn keep_promise(&mut self, ix: usize, now: Mono) {
        let run = RunSlot(ix as u16);
        let (open, capacity) = (self.state.open_to_doubt(run), self.state.capacity(run));
        let Some(promise) = &mut self.state.runs[ix].promise else { return };
        promise.renew(open, capacity, now);
        let file = self.state_file(ix, None);
        let events = self.shared.events.clone();
        self.runs[ix].store(Job::State(Box::new(file)));
        // On the writer's thread, after its fsync.
        self.runs[ix].store(Job::Flush(Box::new(move || drop(events.send(Event::PromiseKept { run })))));
    }

    fn state_file(&mut self, ix: usize, exit_code: Option<u8>) -> StateFile {
        let now = self.shared.clock.now();
        let picture = self.publisher.picture(&mut self.state, now);
        let mut file = keep::state_file(&self.runs[ix].template, &picture, ix, exit_code);
        let run = &self.state.runs[ix];
        file.books = run.books();
        file.time_ms = run.waited.ms();
        let open = self.state.open_to_doubt(run.slot);
        file.n_begun_at_most = match (&run.promise, exit_code) {
            (Some(promise), None) => promise.ceiling(open),
            _ => open.sum(),
        };
        if let Some(Some(part)) = self.state.batches.get(ix) {
            file.sub_batches = part.entries();
            file.finish_on_sync = part.finish_on_sync;
            file.stuck_after_ms = Some(part.stuck_after_ms());
        }
        file
    }

    /// The run's last state, flushed; its directory is handed back.
    fn rest(&mut self, slot: RunSlot, exit_code: u8) {
        let file = self.state_file(slot.ix(), Some(exit_code));
        let counts = self.state.runs[slot.ix()].queue.counts();
        let last = self.state.runs[slot.ix()].last_claim(self.shared.clock.now().wall);
        let run = &mut self.runs[slot.ix()];
        let day = run.day.take();
        run.store(Job::State(Box::new(file)));
        let Some(writer) = run.writer.take() else { return };
        let closed = self.closed.0.clone();
        // Closing waits for the disk; the other runs go on meanwhile.
        let alarm = Alarm::new(&self.shared.events);
        tokio::task::spawn_blocking(move || {
            let _alarm = alarm;
            // What is not needed any more is given back. One that fails stays as it is, above the truth.
            let _ = day.map(|ledger| ledger(&last));
            let _ = closed.send(RunEnd { slot, exit_code, counts, closed: writer.close() });
        });
    }

    fn publish(&mut self, now_anyway: bool) {
        let now = self.shared.clock.now();
        let due = self.published == Mono::ZERO || now.mono.since(self.published) >= PUBLISH_EVERY;
        if due || now_anyway {
            self.published = now.mono;
            self.pictures.send_replace(Arc::new(self.publisher.picture(&mut self.state, now)));
        }
    }
}
