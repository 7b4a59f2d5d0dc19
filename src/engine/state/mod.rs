//! The state that the reducer owns: orgs at the top, runs below, so that several runs share an org's window.

mod notices;
mod org;
mod pool;
mod run;

use std::sync::Arc;
use std::time::Duration;

use crate::model::{DispatchSettings, Family, Level, Mono, Now, OrgId, OrgSpec, RunSlot, Usage};

use super::batch::BatchRun;
use super::event::Effect;
use super::facts::RunFacts;
use super::load::Sizes;
use super::pace::easing;
use super::preflight::Preflight;
use super::promise::Open;
use super::queue::{Flying, Queue};
use super::window::Window;
use notices::Notices;
pub(crate) use org::{OrgState, Parked};
pub(crate) use pool::Pool;
pub(crate) use run::{Outage, RunState};

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
        let labels = self.orgs.iter().map(|org| org.label.clone()).collect();
        self.batches.push(None);
        self.runs.push(RunState::new(slot, facts, queue, sizes, labels, now));
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
        self.notices.push(level, kind, org, text.clone(), now.wall);
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
