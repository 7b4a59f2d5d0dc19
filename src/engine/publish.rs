//! The picture of the state for the frontends.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::model::limits::Limiter;
use crate::model::snapshot::{Condition, LimiterView, OrgView, RunView, Snapshot, StoreView, WindowView};
use crate::model::{Family, Mono, Notice, Now, RunStatus};

use super::headroom::easing;
use super::state::{OrgState, RunState, State};

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
        let working = state.runs.iter().any(|run| run.status == RunStatus::Running && !run.queue.is_empty());
        Snapshot {
            seq: self.seq,
            at: now.wall,
            uptime_ms: now.mono.0 / 1_000,
            orgs: state.orgs.iter().map(|org| org_view(state, org, working, now.mono)).collect(),
            runs: state.runs.iter().map(|run| run_view(run, now.mono)).collect(),
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
        org.window_levels.level(windows.map(super::window::Window::limit).sum(), now);
    }
    for run in runs.iter_mut().filter(|run| !run.status.is_over()) {
        run.outcomes.roll(now);
    }
}

fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

fn org_view(state: &State, org: &OrgState, working: bool, now: Mono) -> OrgView {
    let pool = &state.pools[org.pool];
    let mut limiters: Vec<LimiterView> = Limiter::ALL
        .into_iter()
        .filter_map(|limiter| {
            let bucket = pool.headroom.limits()?.get(limiter)?;
            let headroom = pool.headroom.of(limiter, now)?;
            Some(LimiterView { limiter, limit: bucket.limit, remaining: bucket.remaining, headroom })
        })
        .collect();
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
        totals: org.totals,
        rate: org.answers.rate(),
        rate_history: org.answers.seconds(),
        window_history: org.window_levels.seconds(),
        latency_p50_ms: quantile(0.5),
        latency_p95_ms: quantile(0.95),
        last_decision: org.last_decision.clone(),
    }
}

fn windows(state: &State, org: &OrgState, now: Mono) -> Vec<WindowView> {
    let pool = &state.pools[org.pool];
    let share = easing(pool.headroom.value(now), state.settings.easing_headroom);
    Family::ALL
        .into_iter()
        .filter_map(|family| {
            let window = pool.windows[family.ix()].as_ref()?;
            Some(WindowView {
                family,
                in_flight: org.in_flight[family.ix()],
                window: ((f64::from(window.limit()) * share) as u32).max(1),
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
        return Condition::Paused;
    }
    if let Some((span, why)) = pool.gate.closed_for(now) {
        return Condition::BackingOff { for_ms: millis(span), why: format!("rate-limited, {why}") };
    }
    if let Some(span) = org.breaker.open_for(now) {
        return Condition::BackingOff { for_ms: millis(span), why: "a run of failures".to_owned() };
    }
    if org.breaker.is_probing(now) {
        return Condition::Probing;
    }
    if pool.easing && (working || org.in_flight() > 0) {
        return Condition::Easing { headroom: pool.headroom.value(now) };
    }
    if org.in_flight() == 0 && !working {
        return Condition::Idle;
    }
    let grows = pool.windows.iter().flatten().any(|window| window.below_ceiling() && window.is_full());
    if grows || !org.proven { Condition::Ramping } else { Condition::Steady }
}

fn run_view(run: &RunState, now: Mono) -> RunView {
    let counts = run.queue.counts();
    let rate = run.outcomes.rate();
    let eta = (run.status == RunStatus::Running && rate > 0.0).then(|| (counts.open() as f64 / rate * 1_000.0) as u64);
    let session_wall = run.session_wall(now);
    RunView {
        slot: run.slot,
        run_id: run.facts.run_id.clone(),
        dir: run.facts.dir.clone(),
        input: run.facts.input.clone(),
        status: run.status,
        reason: run.reason.clone(),
        exit_code: run.exit_code,
        counts,
        path: run.facts.path,
        route_reason: run.facts.route_reason.clone(),
        model: run.facts.model.clone(),
        rate,
        rate_history: run.outcomes.seconds(),
        eta_ms: eta,
        cost: run.cost,
        n_possibly_charged: run.possibly_charged,
        wall_ms: millis(run.facts.prior_wall + session_wall),
        session_wall_ms: millis(session_wall),
        re_drives: re_drives(run),
    }
}

/// Requests whose last attempt failed, by reason, most first.
fn re_drives(run: &RunState) -> Vec<(String, u64)> {
    let mut by_reason: BTreeMap<&'static str, u64> = BTreeMap::new();
    for (_, redrive) in run.queue.redrives() {
        *by_reason.entry(redrive.trouble.as_str()).or_default() += 1;
    }
    let mut reasons: Vec<_> = by_reason.into_iter().map(|(reason, n)| (reason.to_owned(), n)).collect();
    reasons.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
    reasons
}
