//! The reducer without its shell, for experiments in virtual time: the same decisions, while time moves when the caller
//! says so. Tests and benchmarks drive it against the simulated API, hours in seconds, and get the same figures each time.

use std::sync::Arc;
use std::time::Duration;

use crate::api::{Reply, Sight};
use crate::model::{
    Command, CommandOutcome, DispatchSettings, Family, Money, Mono, Now, OrgId, OrgSpec, Outcome, RequestNo, Route,
    RunSlot, Snapshot, Verdict,
};
use crate::store::Record;

use super::command::command;
use super::event::{Attempt, Effect, Event};
use super::facts::RunFacts;
use super::load::Sizes;
use super::preflight::{self, Want};
use super::publish::Publisher;
use super::queue::{Place, Queue};
use super::reduce::{next_wake, reduce};
use super::state::State;

/// What has happened to a dispatcher.
#[derive(Debug)]
pub enum Happened {
    /// An attempt has ended.
    Ended {
        /// Its run.
        run: RunSlot,
        /// Its request.
        no: RequestNo,
        /// Who it was sent to.
        org: OrgId,
        /// When it was sent.
        started: Mono,
        /// What came of it.
        reply: Box<Reply>,
    },
    /// An outcome is durable.
    Synced {
        /// Its run.
        run: RunSlot,
        /// Its request.
        no: RequestNo,
        /// The outcome.
        outcome: Outcome,
    },
    /// An org has shown itself.
    Looked {
        /// Which.
        org: OrgId,
        /// The model, by its place in the list.
        model: usize,
        /// What was seen.
        sight: Sight,
    },
}

/// What a dispatcher wants done.
#[derive(Debug)]
pub enum Wanted {
    /// Make an attempt.
    Send {
        /// Its run.
        run: RunSlot,
        /// Its request.
        no: RequestNo,
        /// Who it is sent to.
        org: OrgId,
    },
    /// Make an outcome durable.
    Record {
        /// Its run.
        run: RunSlot,
        /// Its request.
        no: RequestNo,
        /// The outcome.
        outcome: Outcome,
    },
    /// Ask an org about a model.
    Look {
        /// Which org.
        org: OrgId,
        /// The model, by its place in the list.
        model: usize,
        /// Its name.
        name: String,
    },
    /// The attempts of a run are abandoned.
    Abandon {
        /// Which run.
        run: RunSlot,
    },
    /// A run has come to rest.
    Rest {
        /// Which run.
        run: RunSlot,
        /// With this exit code.
        exit_code: u8,
    },
}

/// Requests of an experiment: the length of each line and its `max_tokens`.
#[derive(Debug, Clone)]
pub struct Requests(pub Vec<(u32, u32)>);

impl Sizes for Requests {
    fn bytes(&self, no: RequestNo) -> u32 {
        self.0.get(no.ix()).map_or(0, |(bytes, _)| *bytes)
    }

    fn max_tokens(&self, no: RequestNo) -> u32 {
        self.0.get(no.ix()).map_or(0, |(_, max_tokens)| *max_tokens)
    }
}

/// The facts of a run that nobody watches, on the sync path, without limits and without earlier sessions.
pub fn first_session() -> RunFacts {
    RunFacts {
        run_id: "r".to_owned(),
        dir: "d".to_owned(),
        input: "i".to_owned(),
        path: Route::Sync,
        route_reason: "forced".to_owned(),
        model: "claude-haiku-4-5".to_owned(),
        opening: None,
        embedded_api: false,
        can_move: false,
        pilot: None,
        unattended: true,
        prior: Default::default(),
        prior_waits: Default::default(),
        tariff: Vec::new(),
        limits: Default::default(),
        prior_wall: Duration::ZERO,
        absent_orgs: Vec::new(),
        prior_attempts: [0; 5],
    }
}

/// A dispatcher without a shell.
#[derive(Debug)]
pub struct Core {
    state: State,
    publisher: Publisher,
    effects: Vec<Effect>,
}

impl Core {
    /// A dispatcher over these orgs, without a run.
    pub fn new(orgs: &[OrgSpec], settings: DispatchSettings, seed: u64) -> Core {
        Core { state: State::new(orgs, settings, seed), publisher: Publisher::default(), effects: Vec::new() }
    }

    /// Adds a run of one family; it starts with the next step.
    pub fn add_run(&mut self, requests: Requests, family: Family, unattended: bool, now: Now) -> RunSlot {
        let facts = RunFacts {
            run_id: format!("run-{}", self.state.runs.len()),
            model: family.as_str().to_owned(),
            unattended,
            ..first_session()
        };
        let queue = Queue::new(vec![Place::Waiting; requests.0.len()], |_| family);
        self.state.add_run(facts, queue, Arc::new(requests), now.mono)
    }

    /// Looks at each org before the first wave of a run.
    pub fn look(&mut self, run: RunSlot, model: &str, max_tokens: u32, now: Now) -> Vec<Wanted> {
        let want = Want {
            run,
            model: model.to_owned(),
            family: Family::of_model(model),
            n: self.state.runs[run.ix()].queue.counts().total,
            least_tokens: max_tokens,
            most_tokens: max_tokens,
        };
        preflight::begin(&mut self.state, vec![want], now, &mut self.effects);
        self.wanted()
    }

    /// Tells what has happened, in order; gives what is to be done.
    pub fn step(&mut self, happened: impl IntoIterator<Item = Happened>, now: Now) -> Vec<Wanted> {
        let events = happened.into_iter().map(|happened| event(happened, now));
        reduce(&mut self.state, events, now, &mut self.effects);
        self.wanted()
    }

    /// Carries out a command of the operator.
    pub fn command(&mut self, order: Command, now: Now) -> (CommandOutcome, Vec<Wanted>) {
        let outcome = command(&mut self.state, order, now, &mut self.effects);
        (outcome, self.wanted())
    }

    /// When it wants to be stepped although nothing has happened.
    pub fn next_wake(&self, now: Mono) -> Option<Mono> {
        next_wake(&self.state, now)
    }

    /// The picture for frontends.
    pub fn snapshot(&mut self, now: Now) -> Snapshot {
        self.publisher.picture(&mut self.state, now)
    }

    fn wanted(&mut self) -> Vec<Wanted> {
        self.effects.drain(..).filter_map(wanted).collect()
    }
}

fn event(happened: Happened, now: Now) -> Event {
    match happened {
        Happened::Ended { run, no, org, started, reply } => {
            let Reply { verdict, limits, retry_after, organization, .. } = *reply;
            let outcome = verdict.outcome();
            let record = outcome.is_terminal().then(|| Record { run, no, outcome, line: Vec::new(), cache: None });
            // A figure that is not zero, so that what was billed twice would show.
            let cost = if matches!(verdict, Verdict::Answered { .. }) { Money(1) } else { Money::ZERO };
            Event::Attempted(Box::new(Attempt {
                run,
                no,
                org,
                started,
                latency: now.mono.since(started),
                verdict,
                limits,
                retry_after,
                organization,
                cost,
                record,
            }))
        }
        Happened::Synced { run, no, outcome } => Event::Synced { run, done: vec![(no, outcome)] },
        Happened::Looked { org, model, sight } => Event::Looked { org, model, sight: Box::new(sight) },
    }
}

fn wanted(effect: Effect) -> Option<Wanted> {
    Some(match effect {
        Effect::Send { run, no, org, .. } => Wanted::Send { run, no, org },
        Effect::Record(record) => Wanted::Record { run: record.run, no: record.no, outcome: record.outcome },
        Effect::Look { org, model, name } => Wanted::Look { org, model, name },
        Effect::Abandon { run } => Wanted::Abandon { run },
        Effect::Rest { run, exit_code } => Wanted::Rest { run, exit_code },
        Effect::RecordReDrivable { .. } | Effect::Audit { .. } | Effect::PlanBatches { .. } | Effect::Batch(_) => {
            return None;
        }
    })
}
