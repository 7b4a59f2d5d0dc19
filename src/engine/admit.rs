//! Admission and picking: which request goes out next, and over which org.

use crate::model::{Family, Level, Mono, Now, OrgId, RunSlot};

use super::event::Effect;
use super::state::State;

/// Answers that may wait for their fsync before admission stops: what a stalled disk may cost in memory.
const UNSYNCED_LIMIT: u64 = 20_000;

/// Admits all that may go now. Runs take turns, one request each.
pub(crate) fn admit(state: &mut State, now: Now, effects: &mut Vec<Effect>) {
    note_easing(state, now, effects);
    let runs = state.runs.len();
    let mut idle = 0;
    while idle < runs {
        let slot = RunSlot((state.next_run % runs) as u16);
        state.next_run = (state.next_run + 1) % runs;
        if admit_one(state, slot, now.mono, effects) {
            idle = 0;
        } else {
            idle += 1;
        }
    }
    touch_windows(state, now.mono);
}

/// Sends one request of a run, if it has one and an org can take it.
fn admit_one(state: &mut State, slot: RunSlot, now: Mono, effects: &mut Vec<Effect>) -> bool {
    for family in Family::ALL {
        let run = &state.runs[slot.ix()];
        if !run.admits() || run.queue.counts().unsynced >= UNSYNCED_LIMIT {
            return false;
        }
        if !run.queue.has_work(family, now) {
            continue;
        }
        let Some(org) = pick(state, family, now) else { continue };
        let Some((no, attempt)) = state.runs[slot.ix()].queue.take(family, org, now) else { continue };
        started(state, org, family, now);
        effects.push(Effect::Send { run: slot, no, org, attempt });
        return true;
    }
    false
}

/// The org with the most headroom × free window. Ties go round; an org that cannot take it does not hold it.
fn pick(state: &mut State, family: Family, now: Mono) -> Option<OrgId> {
    let n = state.orgs.len();
    let mut best: Option<(f64, usize)> = None;
    for step in 0..n {
        let ix = (state.next_org + step) % n;
        let org = OrgId(ix as u16);
        let free = state.free(org, family, now);
        if free == 0 {
            continue;
        }
        let score = f64::from(free) * state.pool(org).headroom.value(now).max(0.001);
        if best.is_none_or(|(most, _)| score > most) {
            best = Some((score, ix));
        }
    }
    let (_, ix) = best?;
    state.next_org = (ix + 1) % n;
    Some(OrgId(ix as u16))
}

fn started(state: &mut State, org: OrgId, family: Family, now: Mono) {
    state.window_mut(org, family, now).started();
    let org = &mut state.orgs[org.ix()];
    org.breaker.started(now);
    org.in_flight[family.ix()] += 1;
    org.totals.n_sent += 1;
    let in_flight = org.in_flight();
    org.totals.in_flight_peak = org.totals.in_flight_peak.max(in_flight);
}

/// Credits growth to the windows that stayed full.
fn touch_windows(state: &mut State, now: Mono) {
    let threshold = state.settings.easing_headroom;
    for pool in &mut state.pools {
        let share = super::headroom::easing(pool.headroom.value(now), threshold);
        let closed = pool.gate.closed_for(now).is_some();
        for window in pool.windows.iter_mut().flatten() {
            let eased = ((f64::from(window.limit()) * share) as u32).max(1);
            window.touch(now, if closed { 0 } else { eased });
        }
    }
}

/// Says when an org starts and stops to give way.
fn note_easing(state: &mut State, now: Now, effects: &mut Vec<Effect>) {
    let threshold = state.settings.easing_headroom;
    for ix in 0..state.orgs.len() {
        let pool_ix = state.orgs[ix].pool;
        let pool = &state.pools[pool_ix];
        // While it is closed, an empty bucket is no news.
        if pool.gate.closed_for(now.mono).is_some() {
            continue;
        }
        // Half as much again above the threshold before it counts as over: the figure is coarse and flutters.
        let (limiter, headroom) = match pool.headroom.tightest(now.mono) {
            Some(tightest) => tightest,
            None => continue,
        };
        let eases = if pool.easing { headroom < threshold * 1.5 } else { headroom < threshold };
        if eases == pool.easing {
            continue;
        }
        state.pools[pool_ix].easing = eases;
        let label = &state.orgs[ix].label;
        let percent = headroom * 100.0;
        let (kind, text) = if eases {
            let text = format!(
                "{label}: easing off: {percent:.0} % of its {} left, below {:.0} %; the window gives way in proportion",
                limiter.as_str(),
                threshold * 100.0
            );
            ("easing", text)
        } else {
            ("easing-over", format!("{label}: easing is over: {percent:.0} % of its {} left", limiter.as_str()))
        };
        state.note(Level::Info, kind, Some(OrgId(ix as u16)), text, now, effects);
    }
}
