//! The picture of the state for the frontends.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::model::limits::Limiter;
use crate::model::series::Latencies;
use crate::model::snapshot::{
    BatchesView, Binding, Condition, LimiterView, OrgTotals, OrgView, RunView, Snapshot, StoreView, WindowView,
};
use crate::model::{Family, Money, Mono, Notice, Now, RunStatus};

use super::ahead::{Ahead, ahead};
use super::batch;
use super::money;
use super::pace::easing;
use super::squeeze::Squeeze;
use super::state::{OrgState, Pool, RunState, State};
use super::waits;

/// How long re-drives count as waiting for a budget after one had to.
const SPARED_FOR: Duration = Duration::from_secs(1);

/// Makes pictures, and keeps the list of notices between two of them when none was added.
#[derive(Debug, Default)]
pub(crate) struct Publisher {
    seq: u64,
    notices: Arc<[Notice]>,
    notices_seq: u64,
}

impl Publisher {
    /// One picture.
    pub(crate) fn picture(&mut self, state: &mut State, now: Now) -> Snapshot {
        self.seq += 1;
        if self.notices_seq != state.notices.seq {
            self.notices_seq = state.notices.seq;
            self.notices = state.notices.ring.iter().cloned().collect();
        }
        roll(state, now.mono);
        waits::look(state, now.mono);
        let working = state.runs.iter().any(|run| run.status == RunStatus::Running && !run.queue.is_empty());
        Snapshot {
            seq: self.seq,
            at: now.wall,
            uptime_ms: now.mono.0 / 1_000,
            orgs: state.orgs.iter().map(|org| org_view(state, org, working, now.mono)).collect(),
            runs: run_views(state, now),
            notices: Arc::clone(&self.notices),
            store: StoreView {
                unsynced: state.runs.iter().map(|run| run.queue.counts().unsynced).sum(),
                trouble: state.runs.iter().find_map(|run| run.store_trouble.clone()),
            },
        }
    }
}

/// Closes the seconds that have passed, so that silence is drawn as silence.
fn roll(state: &mut State, now: Mono) {
    let State { orgs, pools, runs, .. } = state;
    for org in orgs {
        org.answers.roll(now);
        let windows = pools[org.pool].windows.iter().flatten();
        let window = windows.map(super::window::Window::limit).sum();
        org.window_levels.level(window, now);
        org.course.at(now).window = window;
        org.course.refresh(now);
        count_latencies(org);
    }
    for run in runs {
        // A run that is over stands still.
        let now = run.ended.unwrap_or(now);
        run.wire.roll(now);
        run.course.at(now).cost = run.ledger.spent();
        run.course.refresh(now);
    }
}

/// Sums the latencies into the buckets of the picture, when there are new ones.
fn count_latencies(org: &mut OrgState) {
    if org.latencies.n() == org.latency.len() {
        return;
    }
    let mut counts = vec![0; Latencies::BUCKETS];
    for step in org.latency.iter_recorded() {
        counts[Latencies::bucket_of(step.value_iterated_to())] += step.count_since_last_iteration();
    }
    let p99_ms = org.latency.value_at_quantile(0.99) as u32;
    org.latencies = Latencies { counts: counts.into(), p99_ms };
}

fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

fn org_view(state: &State, org: &OrgState, working: bool, now: Mono) -> OrgView {
    let pool = &state.pools[org.pool];
    let mut limiters: Vec<LimiterView> =
        Limiter::ALL.into_iter().filter_map(|limiter| limiter_view(pool, limiter, now)).collect();
    limiters.sort_by(|a, b| a.headroom.total_cmp(&b.headroom));
    let quantile = |q: f64| if org.latency.is_empty() { 0 } else { org.latency.value_at_quantile(q) as u32 };
    OrgView {
        id: org.id,
        label: org.label.clone(),
        key_env: org.key_env.clone(),
        host: org.host.clone(),
        organization: pool.organization.clone(),
        condition: condition(state, org, working, now),
        windows: windows(state, org, now),
        headroom: limiters.first().map(|tightest| tightest.headroom),
        limiters,
        binding: if working { binding(pool, now) } else { None },
        totals: totals(state, org),
        rate: org.answers.rate(),
        rate_history: org.answers.seconds(),
        window_history: org.window_levels.seconds(),
        course: org.course.shown(),
        latencies: org.latencies.clone(),
        latency_p50_ms: quantile(0.5),
        latency_mean_ms: org.latency.mean().round() as u32,
        latency_p95_ms: quantile(0.95),
        last_decision: org.last_decision.clone(),
    }
}

/// What an org did; what it was paid stands in the ledgers of the runs.
fn totals(state: &State, org: &OrgState) -> OrgTotals {
    let mut totals = org.totals;
    (totals.cost, totals.tokens_in, totals.tokens_out, totals.n_possibly_charged) = (Money::ZERO, 0, 0, 0);
    for run in &state.runs {
        let sums = run.ledger.org(org.id);
        totals.cost += sums.spent;
        totals.tokens_in += sums.tokens_in;
        totals.tokens_out += sums.tokens_out;
        totals.n_possibly_charged += sums.n_doubt;
    }
    totals
}

/// A limiter of the family that has the least of it left.
fn limiter_view(pool: &Pool, limiter: Limiter, now: Mono) -> Option<LimiterView> {
    let levels = pool.paces.iter().filter_map(|pace| pace.level(limiter));
    let level = levels.min_by(|a, b| a.headroom(now).total_cmp(&b.headroom(now)))?;
    Some(LimiterView {
        limiter,
        limit: level.limit() as u64,
        // The cast takes what is below zero for zero.
        remaining: level.units(now) as u64,
        headroom: level.headroom(now),
        full_in_ms: (level.full_in(now) * 1_000.0) as u64,
        foreign: level.foreign_share(now).unwrap_or(0.0),
    })
}

/// What keeps an organisation from taking more: a limit, else a window that is full.
fn binding(pool: &Pool, now: Mono) -> Option<Binding> {
    if let Some(limiter) = pool.paces.iter().find_map(|pace| pace.binds(now)) {
        return Some(Binding::Limiter(limiter));
    }
    let full = pool.windows.iter().flatten().find(|window| window.is_full())?;
    Some(if full.below_ceiling() { Binding::Window } else { Binding::Cap })
}

fn windows(state: &State, org: &OrgState, now: Mono) -> Vec<WindowView> {
    let pool = &state.pools[org.pool];
    Family::ALL
        .into_iter()
        .filter_map(|family| {
            let window = pool.windows[family.ix()].as_ref()?;
            let share = easing(pool.paces[family.ix()].headroom(now), state.settings.easing_headroom);
            Some(WindowView {
                family,
                in_flight: org.in_flight[family.ix()],
                window: window.eased(share),
                ceiling: window.ceiling(),
                cap: window.cap,
                polite_cap: window.polite_cap,
            })
        })
        .collect()
}

/// What an org does now; the first that applies.
fn condition(state: &State, org: &OrgState, working: bool, now: Mono) -> Condition {
    let pool = &state.pools[org.pool];
    if let Some(parked) = org.parked {
        return Condition::Parked { why: parked.why, for_ms: parked.until.map(|until| millis(until.until(now))) };
    }
    if org.paused {
        return match org.in_flight() {
            0 => Condition::Paused,
            in_flight => Condition::Draining { in_flight },
        };
    }
    if let Some((span, why)) = pool.gate.closed_for(now) {
        return Condition::BackingOff { for_ms: millis(span), why: format!("rate-limited, {why}") };
    }
    if let Some(span) = org.breaker.open_for(now) {
        return Condition::BreakerOpen { for_ms: millis(span) };
    }
    let at_work = working || org.in_flight() > 0;
    let storm = pool.gate.probes_left(state.settings.floor).is_some();
    if org.breaker.is_probing(now) || (storm && at_work) {
        return Condition::Probing;
    }
    if !at_work {
        return Condition::Idle;
    }
    let headroom = pool.paces.iter().map(|pace| pace.headroom(now)).fold(1.0, f64::min);
    if let Squeeze::Colleague(_) = pool.squeeze {
        return Condition::Easing { headroom };
    }
    if org.spared.is_some_and(|at| now.since(at) <= SPARED_FOR) {
        return Condition::SparingRetries;
    }
    if let Squeeze::OwnUse(limiter) = pool.squeeze {
        return Condition::AtLimit { limiter, headroom };
    }
    let grows = pool.windows.iter().flatten().any(|window| window.below_ceiling() && window.is_full());
    if grows || !org.proven { Condition::Ramping } else { Condition::Steady }
}

fn run_views(state: &mut State, now: Now) -> Vec<RunView> {
    let State { runs, batches, .. } = state;
    let parts = batches.iter_mut().map(|part| part.as_mut().map(|part| batch::picture(part, now)));
    runs.iter().zip(parts).map(|(run, batches)| run_view(run, batches, now)).collect()
}

fn run_view(run: &RunState, batches: Option<Arc<BatchesView>>, now: Now) -> RunView {
    let counts = run.queue.counts();
    let rate = run.wire.rate();
    let mut budget = run.budget.view(&run.ledger, now.wall);
    if let Some(budget) = &mut budget {
        budget.offers_batch &= money::movable(run, batches.is_some()).is_ok();
    }
    // Nobody knows when a batch ends.
    let in_batches = batches.as_ref().map_or(0, |batches| batches.n_open + batches.n_planned);
    let ahead = match run.status {
        RunStatus::Running => ahead(&counts, in_batches, rate, run.ledger.spent(), budget.as_ref()),
        _ => Ahead::default(),
    };
    let session_wall = run.session_wall(now.mono);
    RunView {
        slot: run.slot,
        run_id: run.facts.run_id.clone(),
        dir: run.facts.dir.clone(),
        input: run.facts.input.clone(),
        status: run.status,
        reason: run.reason.clone(),
        exit_code: run.exit_code,
        counts,
        absent_orgs: run.facts.absent_orgs.clone(),
        path: run.facts.path,
        route_reason: run.facts.route_reason.clone(),
        embedded_api: run.facts.embedded_api,
        model: run.facts.model.clone(),
        rate,
        rate_history: run.wire.seconds(),
        course: run.course.shown(),
        eta_ms: ahead.eta_ms,
        sync_eta_ms: ahead.sync_eta_ms,
        cut_short: ahead.cut_short,
        cost: run.ledger.spent(),
        n_possibly_charged: run.ledger.in_doubt().0,
        wall_ms: millis(run.facts.prior_wall + session_wall),
        session_wall_ms: millis(session_wall),
        re_drives: re_drives(run),
        re_driven: most_first(run.ledger.re_driven().map(|(reason, n)| (reason.to_owned(), n))),
        attempts: attempts(run),
        budget,
        batches,
    }
}

/// Requests answered by the number of attempts that it took, over all sessions.
fn attempts(run: &RunState) -> [u64; 5] {
    let mut all = run.facts.prior_attempts;
    for (sum, session) in all.iter_mut().zip(run.queue.attempts()) {
        *sum += session;
    }
    all
}

/// Requests whose last attempt failed, by reason, most first.
fn re_drives(run: &RunState) -> Vec<(String, u64)> {
    let mut by_reason: BTreeMap<&'static str, u64> = BTreeMap::new();
    for (_, redrive) in run.queue.redrives().iter() {
        *by_reason.entry(redrive.trouble.as_str()).or_default() += 1;
    }
    most_first(by_reason.into_iter().map(|(reason, n)| (reason.to_owned(), n)))
}

fn most_first(reasons: impl Iterator<Item = (String, u64)>) -> Vec<(String, u64)> {
    let mut reasons: Vec<_> = reasons.collect();
    reasons.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
    reasons
}
