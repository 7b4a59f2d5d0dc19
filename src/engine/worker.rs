//! One attempt: read the request's bytes, send them, and make of the answer what the reducer and the journal need.
//!
//! This runs once a request, on whatever thread is free, and holds no lock. The line for the journal is made here, so
//! that the dispatcher, of which there is one, only hands it on.

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt;
use tokio::sync::mpsc::UnboundedSender;

use crate::api::{Call, Reply, Transport};
use crate::catalog::{Card, Catalog};
use crate::model::{ApiError, Money, Mono, OrgId, Outcome, RequestNo, Route, RunSlot, Trouble, Usage, Verdict};
use crate::requests::Input;
use crate::store::{CacheEntry, LineMeta, Record, journal};

use super::clock::Clock;
use super::event::{Attempt, Event};

/// The kind of the error of an attempt that a panic broke off.
pub(crate) const BROKE_OFF: &str = "internal-error";

/// What all attempts share.
#[derive(Clone)]
pub(crate) struct Shared {
    pub(crate) transport: Arc<dyn Transport>,
    pub(crate) events: UnboundedSender<Event>,
    pub(crate) clock: Clock,
    pub(crate) labels: Arc<[String]>,
}

/// What the attempts of one run share.
pub(crate) struct RunWork {
    pub(crate) slot: RunSlot,
    pub(crate) input: Arc<Input>,
    /// Cache keys by request; `None` when the cache is off.
    pub(crate) keys: Option<Arc<[[u8; 32]]>>,
    cards: HashMap<String, Card>,
}

impl RunWork {
    /// Looks the price cards up once.
    pub(crate) fn new(slot: RunSlot, input: Arc<Input>, keys: Option<Arc<[[u8; 32]]>>, catalog: &Catalog) -> RunWork {
        let cards =
            input.models().iter().filter_map(|used| Some((used.model.clone(), catalog.card(&used.model)?))).collect();
        RunWork { slot, input, keys, cards }
    }

    fn cost(&self, no: RequestNo, usage: &Usage) -> Money {
        self.cards.get(self.input.model_of(no)).map_or(Money::ZERO, |card| card.cost(usage, false))
    }

    /// What an answer in a batch costs: half of it.
    pub(crate) fn batch_cost(&self, no: RequestNo, usage: &Usage) -> Money {
        self.cards.get(self.input.model_of(no)).map_or(Money::ZERO, |card| card.cost(usage, true))
    }
}

/// Which attempt.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Task {
    pub(crate) no: RequestNo,
    pub(crate) org: OrgId,
    pub(crate) attempt: u16,
}

/// Makes the attempt and reports it, whatever happens: one that panics has ended without an answer, and may have been
/// charged.
pub(crate) async fn attempt(shared: Shared, work: Arc<RunWork>, task: Task) {
    let started = shared.clock.mono();
    let made = AssertUnwindSafe(make(&shared, &work, task)).catch_unwind().await;
    let event = made.unwrap_or_else(|_| {
        let error = ApiError {
            kind: BROKE_OFF.to_owned(),
            message: "a fault of fandeck itself broke the attempt off; its report is on standard error".to_owned(),
            ..ApiError::default()
        };
        let reply = Reply::unanswered(Trouble::Broken, error);
        Event::Attempted(Box::new(ended(&shared, &work, task, started, "", reply)))
    });
    // The dispatcher is gone only when its runs have come to rest; then nobody waits for this.
    let _ = shared.events.send(event);
}

async fn make(shared: &Shared, work: &RunWork, task: Task) -> Event {
    let started = shared.clock.mono();
    match work.input.read(task.no) {
        Ok(line) => {
            let call = Call { org: task.org, body: line.body, max_tokens: work.input.max_tokens_of(task.no) };
            let reply = shared.transport.call(call).await;
            Event::Attempted(Box::new(ended(shared, work, task, started, &line.custom_id, reply)))
        }
        Err(error) => Event::Unreadable { run: work.slot, no: task.no, org: task.org, message: error.to_string() },
    }
}

fn ended(shared: &Shared, work: &RunWork, task: Task, started: Mono, custom_id: &str, reply: Reply) -> Attempt {
    let now = shared.clock.now();
    let latency = now.mono.since(started);
    let usage = match &reply.verdict {
        Verdict::Answered { usage, .. } => *usage,
        _ => Usage::default(),
    };
    let cost = work.cost(task.no, &usage);
    let outcome = reply.verdict.outcome();
    let record = outcome.is_terminal().then(|| {
        let meta = LineMeta {
            no: task.no,
            outcome,
            org: shared.labels.get(task.org.ix()).map(String::as_str),
            path: Route::Sync,
            attempt: u32::from(task.attempt),
            request_id: reply.request_id.as_deref(),
            latency_ms: u64::try_from(latency.as_millis()).unwrap_or(u64::MAX),
            usage,
            cost,
            at: now.wall,
            crc: work.input.crc_of(task.no),
        };
        let cache = match (&work.keys, outcome) {
            (Some(keys), Outcome::Succeeded) => {
                keys.get(task.no.ix()).map(|key| CacheEntry { key: *key, body: reply.body.clone() })
            }
            _ => None,
        };
        Record { run: work.slot, no: task.no, outcome, line: journal::line(custom_id, &reply.body, &meta), cache }
    });
    Attempt {
        run: work.slot,
        no: task.no,
        org: task.org,
        started,
        latency,
        verdict: reply.verdict,
        limits: reply.limits,
        retry_after: reply.retry_after,
        organization: reply.organization,
        cost,
        record,
    }
}
