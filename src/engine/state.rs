//! The state that the reducer owns: orgs at the top, runs below, so that several runs share an org's window.

use std::sync::Arc;
use std::time::Duration;

use hdrhistogram::Histogram;

use crate::model::series::{Latencies, OrgStep, RunStep};
use crate::model::snapshot::{OrgTotals, ParkReason};
use crate::model::{
    ApiError, Books, DispatchSettings, Family, Level, Money, Mono, Notice, Now, OrgId, OrgSpec, RequestNo, RunSlot,
    RunStatus, Usage, Wall,
};

use super::batch::BatchRun;
use super::breaker::Breaker;
use super::budget::Budget;
use super::course::CourseState;
use super::day::DayClaim;
use super::event::Effect;
use super::facts::RunFacts;
use super::gate::Gate;
use super::growth::Growth;
use super::history::PerSecond;
use super::ledger::{Ledger, date, day_of};
use super::load::Sizes;
use super::pace::{Pace, easing};
use super::preflight::Preflight;
use super::promise::{Open, Promise};
use super::queue::{Flying, Queue};
use super::retry_budget::RetryBudget;
use super::squeeze::Squeeze;
use super::waits::Waited;
use super::window::Window;

/// Notices kept for frontends that come late.
const NOTICES_KEPT: usize = 200;

/// Longest latency that is told from longer ones, milliseconds: an hour.
const LONGEST_MS: u64 = 3_600_000;

/// Everything that the dispatcher knows.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) settings: DispatchSettings,
    pub(crate) orgs: Vec<OrgState>,
    /// What orgs draw from; orgs of one organisation draw from the same.
    pub(crate) pools: Vec<Pool>,
    pub(crate) runs: Vec<RunState>,
    /// The batch part of each run that has one.
    pub(crate) batches: Vec<Option<Box<BatchRun>>>,
    pub(crate) rng: fastrand::Rng,
    pub(crate) notices: Notices,
    /// Where the next round of picking starts, so that ties go round.
    pub(crate) next_org: usize,
    pub(crate) next_run: usize,
    /// The look at each org before the first wave, while it is under way.
    pub(crate) preflight: Option<Preflight>,
    /// Health of the healthiest org that takes work.
    pub(crate) best_health: f64,
    /// Calls that may be out at once, over all orgs, whatever their caps are.
    pub(crate) most_in_flight: u32,
}

/// The limits of one organisation: its windows, its gate, its pace.
#[derive(Debug)]
pub(crate) struct Pool {
    pub(crate) windows: [Option<Window>; Family::COUNT],
    pub(crate) gate: Gate,
    pub(crate) paces: [Pace; Family::COUNT],
    pub(crate) growths: [Growth; Family::COUNT],
    /// What presses on it, when it was looked at last.
    pub(crate) squeeze: Squeeze,
    /// `anthropic-organization-id`, once seen.
    pub(crate) organization: Option<String>,
}

/// One key.
#[derive(Debug)]
pub(crate) struct OrgState {
    pub(crate) id: OrgId,
    pub(crate) label: String,
    pub(crate) key_env: String,
    pub(crate) host: String,
    pub(crate) caps: [u32; Family::COUNT],
    /// Index of its pool.
    pub(crate) pool: usize,
    pub(crate) parked: Option<Parked>,
    pub(crate) paused: bool,
    /// Families of which it has none of the models that are asked for.
    pub(crate) barred: [bool; Family::COUNT],
    pub(crate) breaker: Breaker,
    pub(crate) budget: RetryBudget,
    /// When re-drives last waited for its budget.
    pub(crate) spared: Option<Mono>,
    /// Whether it has answered at all. Until then it is sent a few calls only: a wrong key shows at once.
    pub(crate) proven: bool,
    /// Refusals in a row, with no answer between them, that may be about a request as well as about the key.
    pub(crate) strikes: u32,
    pub(crate) in_flight: [u32; Family::COUNT],
    pub(crate) totals: OrgTotals,
    pub(crate) answers: PerSecond,
    pub(crate) window_levels: PerSecond,
    /// The whole session.
    pub(crate) course: CourseState<OrgStep>,
    /// Latency of answers in milliseconds.
    pub(crate) latency: Histogram<u32>,
    /// As it was shown last.
    pub(crate) latencies: Latencies,
    pub(crate) last_decision: Option<(Wall, String)>,
}

/// Takes no work.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Parked {
    pub(crate) why: ParkReason,
    /// `None`: until the operator revives it.
    pub(crate) until: Option<Mono>,
}

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

/// The newest notices, a ring.
#[derive(Debug, Default)]
pub(crate) struct Notices {
    pub(crate) ring: std::collections::VecDeque<Notice>,
    pub(crate) seq: u64,
}

impl State {
    /// A state without runs.
    pub(crate) fn new(orgs: &[OrgSpec], settings: DispatchSettings, seed: u64) -> State {
        // One key under two labels is one organisation, before any answer says so.
        let same = |spec: &OrgSpec, other: &OrgSpec| spec.key == other.key && spec.base_url == other.base_url;
        let pool = |spec: &OrgSpec, ix: usize| orgs.iter().position(|other| same(spec, other)).unwrap_or(ix);
        let orgs: Vec<OrgState> = orgs
            .iter()
            .enumerate()
            .map(|(ix, spec)| OrgState { pool: pool(spec, ix), ..OrgState::new(ix, spec, &settings) })
            .collect();
        State {
            pools: orgs.iter().map(|_| Pool::default()).collect(),
            settings,
            orgs,
            runs: Vec::new(),
            batches: Vec::new(),
            rng: fastrand::Rng::with_seed(seed),
            notices: Notices::default(),
            next_org: 0,
            next_run: 0,
            preflight: None,
            best_health: 1.0,
            most_in_flight: u32::MAX,
        }
    }

    /// What the ceiling of a run counts, as it is now.
    pub(crate) fn open_to_doubt(&self, slot: RunSlot) -> Open {
        let run = &self.runs[slot.ix()];
        Open {
            answered: run.ledger.n_answered_on_sync(),
            doubt: run.ledger.in_doubt().0,
            in_flight: u64::from(run.queue.in_flight()),
            waiting: if run.admits() { run.queue.n_waiting() } else { 0 },
        }
    }

    /// How many calls of a run can be out at once, as the caps are.
    pub(crate) fn capacity(&self, slot: RunSlot) -> u64 {
        let run = &self.runs[slot.ix()];
        let capacity = |family: Family| {
            let of_pool = |(ix, pool): (usize, &Pool)| match &pool.windows[family.ix()] {
                Some(window) => u64::from(window.ceiling()),
                None => {
                    let caps = self.orgs.iter().filter(|org| org.pool == ix).map(|org| org.caps[family.ix()]);
                    u64::from(caps.max().unwrap_or(0)) * u64::from(self.settings.procs)
                }
            };
            self.pools.iter().enumerate().map(of_pool).sum::<u64>()
        };
        Family::ALL.into_iter().filter(|family| run.queue.has(*family)).map(capacity).sum()
    }

    /// What to say where the caps of a run allow more than can be out.
    pub(crate) fn cramped(&self, slot: RunSlot) -> Option<String> {
        let (most, capacity) = (self.most_in_flight, self.capacity(slot));
        (capacity > u64::from(most)).then(|| {
            format!(
                "no more than {most} calls go out at once, although the caps allow {capacity}: this process may not open \
                 more files; `ulimit -n` raises that"
            )
        })
    }

    /// Calls that are being answered, of all runs over all orgs.
    pub(crate) fn in_flight(&self) -> u32 {
        self.orgs.iter().map(OrgState::in_flight).sum()
    }

    /// Adds a run and gives its slot.
    pub(crate) fn add_run(&mut self, facts: RunFacts, queue: Queue, sizes: Arc<dyn Sizes>, now: Mono) -> RunSlot {
        let slot = RunSlot(self.runs.len() as u16);
        // Answers of earlier sessions and of the cache say as well that the file is not wrong as a whole.
        let counts = queue.counts();
        let fuse = Fuse { off: counts.succeeded + counts.refused + counts.cached > 0, ..Fuse::default() };
        self.batches.push(None);
        let labels: Vec<String> = self.orgs.iter().map(|org| org.label.clone()).collect();
        let mut budget = Budget::new(facts.limits.clone(), &labels);
        budget.knows(facts.prior.dearer);
        self.runs.push(RunState {
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
        });
        slot
    }

    /// The window of an (org, family), made when it is first asked for.
    pub(crate) fn window_mut(&mut self, org: OrgId, family: Family, now: Mono) -> &mut Window {
        let State { orgs, pools, settings, .. } = self;
        let org = &orgs[org.ix()];
        pools[org.pool].windows[family.ix()].get_or_insert_with(|| Window::new(org.caps[family.ix()], settings, now))
    }

    /// Whether an org takes work of a family, now or when a time has passed.
    pub(crate) fn serves(&self, org: OrgId, family: Family) -> bool {
        let org = &self.orgs[org.ix()];
        org.parked.is_none() && !org.barred[family.ix()]
    }

    /// How many more calls of a family an org may be sent now, and its headroom. `None` when it may be sent none. One
    /// place decides it.
    pub(crate) fn free(&mut self, org: OrgId, family: Family, now: Mono) -> Option<(u32, f64)> {
        let state = &self.orgs[org.ix()];
        let pool = &self.pools[state.pool];
        let looked_at = self.preflight.as_ref().is_none_or(|preflight| !preflight.is_looking(org));
        if state.paused || !self.serves(org, family) || !looked_at || pool.gate.closed_for(now).is_some() {
            return None;
        }
        let (pool_ix, proven, own_in_flight) = (state.pool, state.proven, state.in_flight[family.ix()]);
        let (floor, threshold) = (self.settings.floor, self.settings.easing_headroom);
        let headroom = pool.paces[family.ix()].headroom(now);
        let probes = pool.gate.probes_left(floor).unwrap_or(u32::MAX);
        let window = self.window_mut(org, family, now);
        let eased = window.eased(easing(headroom, threshold));
        let shared = eased.saturating_sub(window.in_flight).min(probes);
        let mut own = self.orgs[org.ix()].breaker.allowance(eased, self.best_health, now);
        if !proven {
            own = own.min(floor);
        }
        let free = shared.min(own.saturating_sub(own_in_flight));
        let pool = &mut self.pools[pool_ix];
        let admitted = free > 0 && pool.paces[family.ix()].admits(now) && pool.growths[family.ix()].admits(now);
        admitted.then_some((free, headroom))
    }

    /// Tells the operator: notice, audit trail, and for an org its last decision.
    pub(crate) fn note(
        &mut self,
        level: Level,
        kind: &'static str,
        org: Option<OrgId>,
        text: String,
        now: Now,
        effects: &mut Vec<Effect>,
    ) {
        if let Some(org) = org {
            self.orgs[org.ix()].last_decision = Some((now.wall, text.clone()));
        }
        self.notices.seq += 1;
        if self.notices.ring.len() == NOTICES_KEPT {
            self.notices.ring.pop_front();
        }
        let notice =
            Notice { seq: self.notices.seq, at: now.wall, level, kind: kind.to_owned(), org, text: text.clone() };
        self.notices.ring.push_back(notice);
        effects.push(Effect::Audit { level, kind, org, text });
    }

    /// Frees the slot of a call. `answer` holds what it was billed for and how long it took, if it was answered.
    pub(super) fn flight_ended(
        &mut self,
        run: RunSlot,
        family: Family,
        flight: &Flying,
        answer: Option<(&Usage, Duration)>,
        now: Mono,
    ) {
        let org = flight.org;
        self.runs[run.ix()].ledger.release(org, flight.at_most);
        let pool = &mut self.pools[self.orgs[org.ix()].pool];
        if let Some(window) = &mut pool.windows[family.ix()] {
            window.ended();
        }
        pool.gate.ended(flight.started);
        pool.paces[family.ix()].ended(&flight.load, answer, now);
        let in_flight = &mut self.orgs[org.ix()].in_flight[family.ix()];
        *in_flight = in_flight.saturating_sub(1);
    }
}

impl Default for Pool {
    fn default() -> Pool {
        Pool {
            windows: [const { None }; Family::COUNT],
            gate: Gate::default(),
            paces: Default::default(),
            growths: Default::default(),
            squeeze: Squeeze::default(),
            organization: None,
        }
    }
}

impl OrgState {
    fn new(ix: usize, spec: &OrgSpec, settings: &DispatchSettings) -> OrgState {
        let host = spec.base_url.split("://").nth(1).unwrap_or(&spec.base_url).to_owned();
        OrgState {
            id: OrgId(ix as u16),
            label: spec.label.clone(),
            key_env: spec.key_env.clone(),
            host,
            caps: settings.cap.map_or(spec.caps, |cap| [cap; Family::COUNT]),
            pool: ix,
            parked: None,
            paused: false,
            barred: [false; Family::COUNT],
            breaker: Breaker::default(),
            budget: RetryBudget::default(),
            spared: None,
            proven: false,
            strikes: 0,
            in_flight: [0; Family::COUNT],
            totals: OrgTotals::default(),
            answers: PerSecond::default(),
            window_levels: PerSecond::default(),
            course: CourseState::new(Mono::ZERO),
            // Bounded, so that it never grows; what is longer counts as the longest.
            latency: Histogram::new_with_bounds(1, LONGEST_MS, 2)
                .unwrap_or_else(|_| unreachable!("two digits are a valid precision")),
            latencies: Latencies::default(),
            last_decision: None,
        }
    }

    /// Requests of every family being answered.
    pub(crate) fn in_flight(&self) -> u32 {
        self.in_flight.iter().sum()
    }
}

impl RunState {
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
