//! The reducer as a whole: the cases that need more than one controller, and promises that hold for any order of events.

mod courses;
mod money;
mod orgs;
mod properties;
mod runs;

use std::sync::Arc;
use std::time::Duration;

use crate::model::snapshot::Condition;
use crate::model::{
    AccountTrouble, ApiError, Bucket, Command, CommandOutcome, DispatchSettings, Family, LimitKind, Money, Mono, Now,
    OrgId, OrgSpec, Outcome, RateLimits, RequestNo, RetryAfter, RunSlot, RunStatus, Secret, Trouble, Usage, Verdict,
    Wall,
};
use crate::store::Record;

use crate::engine::command::command;
use crate::engine::event::{Attempt, Effect, Event};
use crate::engine::facts::RunFacts;
use crate::engine::load::Uniform;
use crate::engine::publish::Publisher;
use crate::engine::queue::{Place, Queue};
use crate::engine::reduce::reduce;
use crate::engine::state::State;
use crate::engine::testing::first_session;

/// A dispatcher without a shell: time moves when the test says so.
struct Desk {
    state: State,
    now: Now,
    /// Sent and not answered: (run, request, org, started).
    flying: Vec<(RunSlot, RequestNo, OrgId, Mono)>,
    unsynced: Vec<(RunSlot, RequestNo, Outcome)>,
    rested: Vec<(RunSlot, u8)>,
    /// Requests sent in all.
    sent: usize,
    /// What an answer costs.
    cost: Money,
    /// Requests that were to be planned as batches.
    to_batches: usize,
}

fn org(label: &str, cap: u32) -> OrgSpec {
    OrgSpec {
        label: label.to_owned(),
        key_env: format!("KEY_{label}"),
        key: Secret::new(&format!("a-key-of-{label}")).unwrap(),
        base_url: "http://127.0.0.1:1".to_owned(),
        caps: [cap; Family::COUNT],
    }
}

impl Desk {
    fn new(caps: &[u32], runs: &[usize], settings: DispatchSettings, unattended: bool) -> Desk {
        let mut desk = Desk::bare(caps, runs, settings, unattended);
        desk.feed(vec![]);
        desk
    }

    /// Before its first step.
    fn bare(caps: &[u32], runs: &[usize], settings: DispatchSettings, unattended: bool) -> Desk {
        let orgs: Vec<OrgSpec> = caps.iter().enumerate().map(|(n, cap)| org(&format!("org-{n}"), *cap)).collect();
        let mut state = State::new(&orgs, settings, 1);
        for n in runs {
            let queue = Queue::new(vec![Place::Waiting; *n], |_| Family::Haiku);
            let facts = RunFacts { can_move: true, unattended, ..first_session() };
            state.add_run(facts, queue, Arc::new(Uniform { bytes: 400, max_tokens: 16 }), Mono::ZERO);
        }
        Desk {
            state,
            now: Now::default(),
            flying: vec![],
            unsynced: vec![],
            rested: vec![],
            sent: 0,
            cost: Money(7),
            to_batches: 0,
        }
    }

    fn headless(caps: &[u32], n: usize) -> Desk {
        Desk::new(caps, &[n], DispatchSettings::default(), true)
    }

    fn feed(&mut self, events: Vec<Event>) {
        let mut effects = Vec::new();
        reduce(&mut self.state, events, self.now, &mut effects);
        self.take(effects);
    }

    fn command(&mut self, order: Command) -> CommandOutcome {
        let mut effects = Vec::new();
        let outcome = command(&mut self.state, order, self.now, &mut effects);
        self.take(effects);
        self.feed(vec![]);
        outcome
    }

    fn take(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Send { run, no, org, .. } => {
                    self.sent += 1;
                    self.flying.push((run, no, org, self.now.mono));
                }
                Effect::Record(record) => self.unsynced.push((record.run, record.no, record.outcome)),
                Effect::Abandon { run } => self.flying.retain(|(flying, ..)| *flying != run),
                Effect::PlanBatches { open, .. } => self.to_batches += open.len(),
                Effect::Rest { run, exit_code } => self.rested.push((run, exit_code)),
                Effect::RecordReDrivable { .. } | Effect::Audit { .. } | Effect::Look { .. } | Effect::Batch(_) => {}
            }
        }
    }

    fn wait(&mut self, span: Duration) {
        self.now.mono = self.now.mono + span;
        self.now.wall = Wall(self.now.mono.0 as i64 / 1_000);
        self.feed(vec![]);
    }

    /// Ends the attempt at `ix` of those in flight.
    fn end(&mut self, ix: usize, verdict: Verdict, limits: RateLimits, retry_after: RetryAfter) {
        let (run, no, org, started) = self.flying.remove(ix);
        let outcome = verdict.outcome();
        let record = outcome.is_terminal().then(|| Record { run, no, outcome, line: Vec::new(), cache: None });
        let attempt = Attempt {
            run,
            no,
            org,
            started,
            latency: self.now.mono.since(started),
            verdict,
            limits,
            retry_after,
            organization: None,
            cost: self.cost,
            record,
        };
        self.feed(vec![Event::Attempted(Box::new(attempt))]);
    }

    fn end_all(&mut self, verdict: &Verdict) {
        for _ in 0..self.flying.len() {
            self.end(0, verdict.clone(), RateLimits::default(), RetryAfter::Absent);
        }
    }

    fn end_all_of(&mut self, org: OrgId, verdict: &Verdict) {
        let of_org = self.flying.iter().filter(|(.., flying, _)| *flying == org).count();
        for _ in 0..of_org {
            let ix = self.flying.iter().position(|(.., flying, _)| *flying == org).unwrap();
            self.end(ix, verdict.clone(), RateLimits::default(), RetryAfter::Absent);
        }
    }

    fn sync(&mut self) {
        let done = std::mem::take(&mut self.unsynced);
        let events = done.into_iter().map(|(run, no, outcome)| Event::Synced { run, done: vec![(no, outcome)] });
        self.feed(events.collect());
    }

    /// Answers and syncs everything until nothing is in flight, a second a step.
    fn finish(&mut self) {
        for _ in 0..10_000 {
            if self.rested.len() == self.state.runs.len() {
                return;
            }
            self.wait(Duration::from_secs(1));
            self.end_all(&ok());
            self.sync();
        }
        panic!("the run does not come to an end: {:?}", self.state.runs[0].queue.counts());
    }

    fn counts(&self) -> crate::model::Counts {
        self.state.runs[0].queue.counts()
    }

    fn flying_on(&self, org: OrgId) -> usize {
        self.flying.iter().filter(|(.., flying, _)| *flying == org).count()
    }

    fn condition(&mut self, org: usize) -> Condition {
        Publisher::default().picture(&mut self.state, self.now).orgs[org].condition.clone()
    }

    fn notices(&self, kind: &str) -> usize {
        self.state.notices.ring.iter().filter(|notice| notice.kind == kind).count()
    }
}

fn ok() -> Verdict {
    Verdict::Answered { refused: false, usage: Usage { input_tokens: 10, output_tokens: 5, ..Usage::default() } }
}

fn limited() -> Verdict {
    Verdict::Trouble(Trouble::RateLimited(LimitKind::Steady), ApiError::default())
}

fn overloaded() -> Verdict {
    Verdict::Trouble(Trouble::Overloaded, ApiError { kind: "overloaded_error".to_owned(), ..ApiError::default() })
}

fn unauthorised() -> Verdict {
    Verdict::Trouble(Trouble::Account(AccountTrouble::Auth), ApiError { status: Some(401), ..ApiError::default() })
}

fn no_model() -> Verdict {
    Verdict::Invalid(ApiError {
        status: Some(404),
        kind: "not_found_error".to_owned(),
        message: "model: claude-typo-9".to_owned(),
        code: None,
    })
}

const A: OrgId = OrgId(0);
const B: OrgId = OrgId(1);
const RUN: RunSlot = RunSlot(0);
