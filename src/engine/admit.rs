//! Admission and picking: which request goes out next, and over which org.

use crate::model::{Family, Mono, Now, OrgId, RunSlot, Wall};

use super::event::Effect;
use super::pace::easing;
use super::queue::Work;
use super::squeeze;
use super::state::State;

/// Answers that may wait for their fsync before admission stops: what a stalled disk may cost in memory.
const UNSYNCED_LIMIT: u64 = 20_000;

/// Admits all that may go now. Runs take turns, one request each.
pub(crate) fn admit(state: &mut State, now: Now, effects: &mut Vec<Effect>) {
    refresh(state, now.mono);
    let runs = state.runs.len();
    let mut idle = 0;
    let mut room = state.most_in_flight.saturating_sub(state.in_flight());
    while idle < runs && room > 0 {
        let slot = RunSlot((state.next_run % runs) as u16);
        state.next_run = (state.next_run + 1) % runs;
        if admit_one(state, slot, now, effects) {
            idle = 0;
            room -= 1;
        } else {
            idle += 1;
        }
    }
    touch_windows(state, now.mono);
    squeeze::look(state, now, effects);
}

/// Brings the paces and the comparison between orgs up to this moment.
fn refresh(state: &mut State, now: Mono) {
    let threshold = state.settings.easing_headroom;
    for pool in &mut state.pools {
        pool.growths.iter_mut().for_each(|growth| growth.refresh(now));
        for (pace, window) in pool.paces.iter_mut().zip(&pool.windows) {
            if let Some(window) = window {
                if window.in_flight == 0 {
                    pace.is_quiet();
                }
                pace.refresh(threshold, now);
            }
        }
    }
    let at_work = state.orgs.iter().filter(|org| org.parked.is_none() && !org.paused && org.breaker.is_closed());
    state.best_health = at_work.map(|org| org.breaker.health()).fold(0.0, f64::max);
}

/// Sends one request of a run, if it has one and an org can take it.
fn admit_one(state: &mut State, slot: RunSlot, Now { mono: now, wall }: Now, effects: &mut Vec<Effect>) -> bool {
    for family in Family::ALL {
        let run = &state.runs[slot.ix()];
        if !run.admits() || run.queue.counts().unsynced >= UNSYNCED_LIMIT {
            return false;
        }
        let Some(work) = run.queue.work(family, now) else { continue };
        let Some(org) = pick(state, slot, family, work, now, wall) else { continue };
        // Last of all, so that nothing is promised for calls that cannot go out.
        let open = state.open_to_doubt(slot);
        if state.runs[slot.ix()].promise.as_mut().is_some_and(|promise| !promise.admits(open)) {
            return false;
        }
        if send(state, slot, family, org, now, effects) {
            return true;
        }
    }
    false
}

/// The org with the most headroom × free window. Ties go round; an org that cannot take it does not hold it.
fn pick(state: &mut State, slot: RunSlot, family: Family, work: Work, now: Mono, wall: Wall) -> Option<OrgId> {
    let n = state.orgs.len();
    // What the next request may cost is looked up only where something limits it.
    let limited = state.runs[slot.ix()].budget.is_limited();
    let mut best: Option<(f64, usize)> = None;
    for step in 0..n {
        let ix = (state.next_org + step) % n;
        let Some((free, headroom)) = state.free(OrgId(ix as u16), family, now) else { continue };
        if work == Work::Paid && !state.orgs[ix].budget.pays(now) {
            state.orgs[ix].spared = Some(now);
            continue;
        }
        if limited && !is_paid_for(state, slot, family, OrgId(ix as u16), now, wall) {
            continue;
        }
        let score = f64::from(free) * headroom.max(0.001);
        if best.is_none_or(|(most, _)| score > most) {
            best = Some((score, ix));
        }
    }
    let (_, ix) = best?;
    state.next_org = (ix + 1) % n;
    Some(OrgId(ix as u16))
}

/// Whether the budget admits the next request of a run over an org; if not, the budget keeps in mind why.
fn is_paid_for(state: &mut State, slot: RunSlot, family: Family, org: OrgId, now: Mono, wall: Wall) -> bool {
    let pays = state.orgs[org.ix()].budget.pays(now);
    let run = &mut state.runs[slot.ix()];
    let Some(no) = run.queue.peek(family, pays, now) else { return true };
    let at_most = run.at_most(no);
    match run.budget.admits(&run.ledger, org, 1, at_most, wall) {
        Ok(()) => true,
        Err(blocked) => {
            run.budget.blocked = Some(blocked);
            false
        }
    }
}

/// Takes the next request of a run for an org, and has it sent.
fn send(state: &mut State, slot: RunSlot, family: Family, org: OrgId, now: Mono, effects: &mut Vec<Effect>) -> bool {
    let State { orgs, pools, runs, .. } = state;
    let (org_state, run) = (&mut orgs[org.ix()], &mut runs[slot.ix()]);
    let pays = org_state.budget.pays(now);
    if !pays && run.queue.paid_is_due(family, now) {
        org_state.spared = Some(now);
    }
    let Some(taken) = run.queue.take(family, org, pays, now) else { return false };
    if taken.paid {
        org_state.budget.spend(now);
    }
    let pool = &mut pools[org_state.pool];
    let pace = &mut pool.paces[family.ix()];
    let load = pace.guess(run.sizes.bytes(taken.no), run.sizes.max_tokens(taken.no));
    pace.started(&load, now);
    pool.growths[family.ix()].started(now);
    pool.gate.started();
    let at_most = run.at_most(taken.no);
    run.queue.weigh(taken.no, load, at_most);
    run.ledger.reserve(org, at_most);
    if let Some(promise) = &mut run.promise {
        promise.begun(now);
    }
    org_state.breaker.started(now);
    org_state.in_flight[family.ix()] += 1;
    org_state.totals.n_sent += 1;
    let in_flight = org_state.in_flight();
    org_state.totals.in_flight_peak = org_state.totals.in_flight_peak.max(in_flight);
    state.window_mut(org, family, now).started();
    effects.push(Effect::Send { run: slot, no: taken.no, org, attempt: taken.attempt });
    true
}

/// Credits growth to the windows that stayed full.
fn touch_windows(state: &mut State, now: Mono) {
    let threshold = state.settings.easing_headroom;
    let floor = state.settings.floor;
    for pool in &mut state.pools {
        let closed = pool.gate.closed_for(now).is_some() || pool.gate.probes_left(floor).is_some();
        for (window, pace) in pool.windows.iter_mut().zip(&pool.paces) {
            let Some(window) = window else { continue };
            let eased = window.eased(easing(pace.headroom(now), threshold));
            window.touch(now, if closed { 0 } else { eased });
        }
    }
}
