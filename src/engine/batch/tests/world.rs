//! An API, a disk and a clock for the whole reducer: answers get lost, batches wedge, and processes are killed.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap, HashSet};
use std::time::Duration;

use crate::api::batches::{BatchFailure, BatchReply};
use crate::engine::command::command;
use crate::engine::event::{Effect, Event};
use crate::engine::reduce::{next_wake, reduce};
use crate::engine::state::State;
use crate::model::books::Limits;
use crate::model::{
    ApiError, BatchSettings, Command, CommandOutcome, Family, Money, Mono, Now, OrgId, OrgSpec, Outcome, RequestNo,
    RetryAfter, RunSlot, Secret, SubBatchStatus, Trouble, Wall,
};
use crate::store::SubBatchEntry;

use crate::engine::batch::act::{BatchEvent, Happened, Step, ToDo};
use crate::engine::batch::pilot::Shape;

pub(super) const RUN: RunSlot = RunSlot(0);
pub(super) const EPOCH: i64 = 1_800_000_000_000;
pub(super) const HOUR: Duration = Duration::from_secs(3_600);
pub(super) const SECOND: Duration = Duration::from_secs(1);

/// What goes wrong, in percent of calls.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Weather {
    /// A create is taken, and its answer is lost.
    pub(super) lost: u32,
    /// A create is lost before it is taken, and nobody says so.
    pub(super) gone: u32,
    /// A create is refused for a full queue.
    pub(super) full: u32,
    /// A poll, a list, a cancel or a download fails.
    pub(super) failing: u32,
    /// A batch never ends by itself.
    pub(super) wedged: u32,
    /// A row is not processed: it expires.
    pub(super) expired: u32,
    /// A batch is not visible for a while after its creation.
    pub(super) hidden: u32,
}

/// A batch at the API.
#[derive(Debug, Clone)]
pub(super) struct Theirs {
    pub(super) id: String,
    pub(super) org: OrgId,
    pub(super) members: Vec<RequestNo>,
    pub(super) created: Mono,
    pub(super) visible: Mono,
    pub(super) ends: Option<Mono>,
    pub(super) canceled: Option<Mono>,
    pub(super) canceled_by_us: bool,
    /// Rows that were answered, once it has ended.
    pub(super) answered: Option<HashSet<RequestNo>>,
}

/// What is on the disk.
#[derive(Debug, Clone, Default)]
pub(super) struct Disk {
    pub(super) entries: Vec<SubBatchEntry>,
    pub(super) members: BTreeMap<u32, Vec<RequestNo>>,
    pub(super) journal: HashMap<RequestNo, Outcome>,
    pub(super) finish_on_sync: bool,
}

/// What happens at a time.
#[derive(Debug)]
pub(super) enum Due {
    Event(Event),
    Keep {
        entries: Vec<SubBatchEntry>,
        finish_on_sync: bool,
        then: Option<Event>,
    },
    Members {
        index: u32,
        members: Vec<RequestNo>,
    },
    Journal(RequestNo, Outcome),
    /// At the API: survives the process.
    Create {
        org: OrgId,
        members: Vec<RequestNo>,
        wedged: bool,
        hidden: bool,
    },
}

pub(super) struct World {
    pub(super) state: State,
    pub(super) now: Mono,
    pub(super) due: BinaryHeap<Reverse<(Mono, u64)>>,
    pub(super) what: HashMap<u64, Due>,
    pub(super) seq: u64,
    pub(super) rng: fastrand::Rng,
    pub(super) weather: Weather,
    pub(super) batches: Vec<Theirs>,
    pub(super) disk: Disk,
    pub(super) settings: BatchSettings,
    pub(super) n: u32,
    /// Answers that were billed, by request.
    pub(super) paid: HashMap<RequestNo, u32>,
    /// Sync attempts whose outcome a kill has lost: they may be billed again.
    pub(super) forgiven: HashMap<RequestNo, u32>,
    /// Sent on the sync path, not journaled yet.
    pub(super) on_sync: HashSet<RequestNo>,
    pub(super) polls: HashMap<String, Vec<Mono>>,
    pub(super) n_creates: u32,
    pub(super) n_kills: u32,
    pub(super) most_open: HashMap<OrgId, u32>,
    pub(super) rested: Option<u8>,
    pub(super) notices: Vec<String>,
    pub(super) invalid: HashSet<RequestNo>,
    pub(super) pilots: Vec<Shape>,
    pub(super) unattended: bool,
    /// Orgs whose key is not taken any more.
    pub(super) revoked: HashSet<OrgId>,
    /// No call of a batch is answered.
    pub(super) away: bool,
    /// Sub-batches that the API calls wrong.
    pub(super) wrong: HashSet<u32>,
    /// Ended batches have no results.
    pub(super) without_results: bool,
    /// Downloads that bring a page of somebody else's instead of results.
    pub(super) n_pages: u32,
    /// Cancels are not known at this address: so the API's error says, or a page of something else.
    pub(super) without_cancel: bool,
    pub(super) with_pages: bool,
    /// Their results are of a type that is not known.
    pub(super) unknown: HashSet<RequestNo>,
    /// Batches are created, their answers are lost, and the list never shows them.
    pub(super) blind: bool,
    pub(super) limits: Limits,
    /// What a request costs in a batch; twice that on the sync path.
    pub(super) cost: Money,
    /// A create is answered with what was said of the first batch.
    pub(super) echoes: bool,
    /// By how much the local clock is ahead of the API's, in milliseconds.
    pub(super) ahead_ms: i64,
}

pub(super) fn org(label: &str) -> OrgSpec {
    OrgSpec {
        label: label.to_owned(),
        key_env: format!("KEY_{label}"),
        key: Secret::new(&format!("a-test-key-{label}")).unwrap(),
        base_url: "http://127.0.0.1:1".to_owned(),
        caps: [10; Family::COUNT],
    }
}

pub(super) fn error(kind: &str) -> ApiError {
    ApiError { kind: kind.to_owned(), ..ApiError::default() }
}

pub(super) fn reply<T>(result: Result<T, BatchFailure>) -> BatchReply<T> {
    BatchReply { result, retry_after: RetryAfter::Absent, organization: None, at: None }
}

pub(super) fn with_error(kind: &str, trouble: Trouble) -> BatchFailure {
    BatchFailure::Trouble(trouble, error(kind))
}

impl World {
    pub(super) fn new(n: u32, size: u32, weather: Weather, seed: u64) -> World {
        let settings = BatchSettings { size, ..BatchSettings::default() };
        let mut world = World {
            state: World::state(&Disk::default(), n, true, Limits::default()),
            now: Mono::ZERO,
            due: BinaryHeap::new(),
            what: HashMap::new(),
            seq: 0,
            rng: fastrand::Rng::with_seed(seed),
            weather,
            batches: Vec::new(),
            disk: Disk::default(),
            settings,
            n,
            paid: HashMap::new(),
            forgiven: HashMap::new(),
            on_sync: HashSet::new(),
            polls: HashMap::new(),
            n_creates: 0,
            n_kills: 0,
            most_open: HashMap::new(),
            rested: None,
            notices: Vec::new(),
            invalid: HashSet::new(),
            pilots: Vec::new(),
            unattended: true,
            revoked: HashSet::new(),
            away: false,
            wrong: HashSet::new(),
            without_results: false,
            n_pages: 0,
            without_cancel: false,
            with_pages: false,
            unknown: HashSet::new(),
            blind: false,
            limits: Limits::default(),
            cost: Money(1),
            echoes: false,
            ahead_ms: 0,
        };
        world.boot(false);
        world
    }

    pub(super) fn clock(&self) -> Now {
        Now { mono: self.now, wall: Wall(self.wall(self.now).0 + self.ahead_ms) }
    }

    pub(super) fn wall(&self, at: Mono) -> Wall {
        Wall(EPOCH + (at.0 / 1_000) as i64)
    }

    pub(super) fn at(&mut self, after: Duration, what: Due) {
        self.seq += 1;
        self.due.push(Reverse((self.now + after, self.seq)));
        self.what.insert(self.seq, what);
    }

    pub(super) fn happens(&mut self, after: Duration, index: u32, what: Happened) {
        let event = Event::Batch(Box::new(BatchEvent { run: RUN, index, what }));
        self.at(after, Due::Event(event));
    }

    pub(super) fn chance(&mut self, percent: u32) -> bool {
        self.rng.u32(0..100) < percent
    }

    /// One step: the next thing that is due, or the reducer's own wish.
    pub(super) fn step(&mut self) {
        let next = self.due.peek().map(|Reverse((at, _))| *at);
        let wake = next_wake(&self.state, self.now);
        let to = [next, wake].into_iter().flatten().min().unwrap_or(self.now + SECOND);
        self.now = self.now.max(to);
        let mut events = Vec::new();
        while let Some(Reverse((at, seq))) = self.due.peek().copied() {
            if at > self.now {
                break;
            }
            self.due.pop();
            match self.what.remove(&seq) {
                Some(Due::Event(event)) => events.push(event),
                Some(Due::Keep { entries, finish_on_sync, then }) => {
                    self.disk.entries = entries;
                    self.disk.finish_on_sync = finish_on_sync;
                    events.extend(then);
                }
                Some(Due::Members { index, members }) => {
                    let old = self.disk.members.insert(index, members.clone());
                    assert!(old.is_none_or(|old| old == members), "members are written once");
                }
                Some(Due::Journal(no, outcome)) => {
                    self.disk.journal.insert(no, outcome);
                    self.on_sync.remove(&no);
                    events.push(Event::Synced { run: RUN, done: vec![(no, outcome)] });
                }
                Some(Due::Create { org, members, wedged, hidden }) => self.create(org, members, wedged, hidden),
                None => {}
            }
        }
        let now = self.clock();
        let mut effects = Vec::new();
        reduce(&mut self.state, events, now, &mut effects);
        self.perform(effects);
        self.look_at_the_api();
    }

    pub(super) fn perform(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Send { no, org, .. } => self.send(no, org),
                Effect::Record(record) => {
                    self.at(Duration::from_millis(50), Due::Journal(record.no, record.outcome));
                }
                Effect::Batch(effect) => self.batch(effect.index, effect.what),
                Effect::Rest { exit_code, .. } => {
                    self.rested = Some(exit_code);
                    let part = self.state.batches[0].as_ref().unwrap();
                    self.disk.entries = part.entries();
                    self.disk.finish_on_sync = part.finish_on_sync;
                }
                Effect::Audit { text, .. } => self.notices.push(text),
                Effect::RecordReDrivable { .. }
                | Effect::PlanBatches { .. }
                | Effect::Abandon { .. }
                | Effect::Look { .. } => {}
            }
        }
    }

    pub(super) fn batch(&mut self, index: u32, what: ToDo) {
        let ms = Duration::from_millis;
        match what {
            ToDo::KeepMembers { members } => {
                self.at(ms(20), Due::Members { index, members: members.to_vec() });
                self.happens(ms(21), index, Happened::MembersKept(Ok(())));
            }
            ToDo::KeepState(step) => {
                let part = self.state.batches[0].as_ref().unwrap();
                let (entries, finish_on_sync) = (part.entries(), part.finish_on_sync);
                let kept = BatchEvent { run: RUN, index, what: Happened::StateKept(step) };
                let then = (step != Step::Other).then(|| Event::Batch(Box::new(kept)));
                self.at(ms(50), Due::Keep { entries, finish_on_sync, then });
            }
            ToDo::Create { org, members } => self.answer_create(index, org, &members),
            ToDo::Poll { org, id } => {
                self.polls.entry(id.clone()).or_default().push(self.now);
                let answer = self.look(org, &id);
                let at = Some(self.wall(self.now));
                self.happens(ms(300), index, Happened::Polled(Box::new(BatchReply { at, ..reply(answer) })));
            }
            ToDo::Cancel { org, id } => {
                let answer = self.take_cancel(org, &id);
                self.happens(ms(300), index, Happened::CancelAnswered(Box::new(reply(answer))));
            }
            ToDo::List { org, .. } => {
                let answer = if let Some(failure) = self.refusal(org) {
                    Err(failure)
                } else if self.blind {
                    Ok(Vec::new())
                } else {
                    Ok(self.batches.iter().filter(|batch| batch.org == org).map(|batch| self.object(batch)).collect())
                };
                let at = Some(self.wall(self.now));
                self.happens(ms(300), index, Happened::Listed(Box::new(BatchReply { at, ..reply(answer) })));
            }
            ToDo::Peek { batch, .. } => {
                let ours = Some(!batch.id.starts_with("foreign"));
                self.happens(ms(300), index, Happened::Peeked { batch, ours });
            }
            ToDo::Harvest { org, id, members, .. } => self.harvest(index, org, &id, &members),
            ToDo::Permit(token) => token.give_back(),
        }
    }

    pub(super) fn run_until(&mut self, done: impl Fn(&World) -> bool) {
        for _ in 0..100_000 {
            if done(self) {
                return;
            }
            self.step();
        }
        let run = &self.state.runs[0];
        panic!("no end after {} s: {} {:?} {:?}", self.now.secs_f64(), run.status, run.queue.counts(), self.statuses());
    }

    pub(super) fn run(&mut self) -> u8 {
        self.run_until(|world| world.rested.is_some());
        self.rested.unwrap()
    }

    pub(super) fn statuses(&self) -> Vec<SubBatchStatus> {
        self.state.batches[0].as_ref().unwrap().subs.iter().map(crate::engine::batch::sub::Sub::status).collect()
    }

    pub(super) fn command(&mut self, order: Command) -> CommandOutcome {
        let now = self.clock();
        let mut effects = Vec::new();
        let outcome = command(&mut self.state, order, now, &mut effects);
        self.perform(effects);
        outcome
    }

    pub(super) fn part(&mut self) -> &mut crate::engine::batch::part::BatchRun {
        self.state.batches[0].as_mut().unwrap()
    }

    /// Nothing lost, nothing paid twice, no request in two batches.
    pub(super) fn check_books(&self) {
        let mut homes: HashMap<RequestNo, u32> = HashMap::new();
        for no in self.batches.iter().flat_map(|batch| &batch.members) {
            *homes.entry(*no).or_default() += 1;
        }
        assert!(homes.values().all(|n| *n == 1), "a request is in two batches");
        for no in (0..self.n).map(RequestNo) {
            let paid = self.paid.get(&no).copied().unwrap_or(0);
            let forgiven = self.forgiven.get(&no).copied().unwrap_or(0);
            assert!(paid <= 1 + forgiven, "request {} was paid {paid} times", no.0);
        }
    }

    pub(super) fn all_done(&self) -> bool {
        (0..self.n).all(|no| self.disk.journal.get(&RequestNo(no)).is_some_and(|outcome| outcome.is_terminal()))
    }
}
