//! The reducer: State × Event × now → Effects. Pure and synchronous, so every behaviour is tested without a network,
//! a disk or a clock.

use std::time::Duration;

use crate::model::snapshot::ParkReason;
use crate::model::{
    AccountTrouble, ApiError, Family, Level, LimitKind, Mono, Now, OrgId, Outcome, RateLimits, RequestNo, RetryAfter,
    Route, RunSlot, Trouble, Usage, Verdict,
};

use super::breaker::Trip;
use super::event::{Attempt, Effect, Event};
use super::gate::{Wait, backoff};
use super::ledger::Answer;
use super::queue::{Flying, is_broken_answer};
use super::state::{Parked, Pool, State};
use super::window::Cut;
use super::{admit, batch, money, organisation, park, preflight, rest, stop, suspicion};

/// An org that is closed by so much longer is worth a word.
const TELLING: Duration = Duration::from_secs(1);

/// Broken answers in a row, of a success status, after which a request is not sent again in this session: what makes one of
/// them broken is then likely to make all of them so, and each is paid for.
const BROKEN_ANSWERS: u8 = 4;

/// Takes a batch of events, in order, and then admits what may go. Effects come out in the order in which they are to be
/// done.
pub(crate) fn reduce(state: &mut State, events: impl IntoIterator<Item = Event>, now: Now, effects: &mut Vec<Effect>) {
    park::unpark_in_time(state, now, effects);
    state.runs.iter_mut().for_each(|run| run.budget.blocked = None);
    learn(state, events, now, effects);
    preflight::in_time(state, now, effects);
    batch::tick(state, now, effects);
    rest::hold_or_go_on(state, now, effects);
    admit::admit(state, now, effects);
    rest::settle(state, now, effects);
}

/// Takes a batch of events in, in order, and admits nothing: what is to be known before a command is carried out.
pub(crate) fn learn(state: &mut State, events: impl IntoIterator<Item = Event>, now: Now, effects: &mut Vec<Effect>) {
    for event in events {
        one(state, event, now, effects);
    }
}

fn one(state: &mut State, event: Event, now: Now, effects: &mut Vec<Effect>) {
    match event {
        Event::Attempted(attempt) => attempted(state, *attempt, now, effects),
        Event::Looked { org, model, sight } => preflight::looked(state, org, model, *sight, now, effects),
        Event::Unreadable { run, no, org, message } => unreadable(state, run, no, org, &message, now, effects),
        Event::BatchPlanned { run, plan } => batch::move_over(state, run, plan.map(|plan| *plan), now, effects),
        Event::Batch(event) => batch::event(state, *event, now, effects),
        // The dispatcher has come to its end by then.
        Event::Broke => {}
        Event::Synced { run, done } => {
            let run = &mut state.runs[run.ix()];
            for (no, outcome) in done {
                run.queue.synced(no, outcome);
                let done = u32::from(outcome.is_terminal());
                run.course.at(now.mono).done += done;
            }
        }
        Event::StoreBlocked { run: slot, message, for_good } => {
            let text = format!("nothing more is sent: {message}");
            let run = &mut state.runs[slot.ix()];
            run.store_trouble = Some(message.clone());
            run.store_lost = for_good;
            let ends = for_good && run.facts.unattended;
            state.note(Level::Error, "store-blocked", None, text, now, effects);
            if ends {
                stop::stop_for(state, slot, &message, "store-lost", now, effects);
            }
        }
        Event::PromiseKept { run } => {
            if let Some(promise) = &mut state.runs[run.ix()].promise {
                promise.kept();
            }
        }
        Event::DayGranted { run, day, grant } => state.runs[run.ix()].budget.day.granted(day, grant),
        Event::StoreHealed { run } => {
            if state.runs[run.ix()].store_trouble.take().is_some() {
                let text = "the run directory takes outcomes again: going on".to_owned();
                state.note(Level::Info, "store-healed", None, text, now, effects);
            }
        }
    }
}

/// An attempt has ended: frees its slot, lets the controllers learn from it, and finds the request its next place.
fn attempted(state: &mut State, attempt: Attempt, now: Now, effects: &mut Vec<Effect>) {
    let Attempt { run, no, org, started, latency, verdict, limits, retry_after, organization, cost, record } = attempt;
    let Some(flight) = state.runs[run.ix()].queue.flight(no) else { return };
    let family = state.runs[run.ix()].queue.family(no);
    let verdict = match verdict {
        Verdict::Invalid(error) if suspicion::lost_its_model(state, run, no, &error) => {
            Verdict::Trouble(Trouble::Account(AccountTrouble::Permission), error)
        }
        verdict => verdict,
    };
    let usage = match &verdict {
        Verdict::Answered { usage, .. } => Some((usage, latency)),
        _ => None,
    };
    state.flight_ended(run, family, &flight, usage, now.mono);
    let succeeded = usage.is_some().then_some(flight.started);
    let pool = state.orgs[org.ix()].pool;
    state.pools[pool].paces[family.ix()].observe(&limits, succeeded, now.mono);
    if let Some(organization) = organization {
        organisation::told(state, org, organization, now, effects);
    }
    if let Verdict::Trouble(trouble, _) = &verdict {
        state.runs[run.ix()].ledger.failed(trouble.as_str());
    }
    match verdict {
        Verdict::Answered { refused, usage } => {
            answered(state, run, org, flight.started, now, effects);
            state.orgs[org.ix()].proven = true;
            state.orgs[org.ix()].strikes = 0;
            state.orgs[org.ix()].budget.earn();
            let totals = &mut state.orgs[org.ix()].totals;
            if refused {
                totals.n_refused += 1;
            } else {
                totals.n_ok += 1;
            }
            state.orgs[org.ix()].answers.add(1, now.mono);
            state.orgs[org.ix()].course.at(now.mono).answered += 1;
            state.orgs[org.ix()].latency.saturating_record(latency.as_millis().min(u128::from(u32::MAX)) as u64);
            let slot = run;
            let run = &mut state.runs[slot.ix()];
            run.fuse.off = true;
            run.wire.add(1, now.mono);
            let outcome = if refused { Outcome::Refused } else { Outcome::Succeeded };
            let model = run.sizes.model(no);
            run.ledger.settle(Answer { org, path: Route::Sync, model, outcome, usage, cost }, now.wall);
            if let Some(trouble) = run.queue.redrives().last_trouble(no) {
                run.ledger.answered_again(trouble.as_str(), cost);
            }
            run.queue.answered(no);
            effects.extend(record.map(Effect::Record));
            money::compare(state, slot, (cost, flight.at_most), now, effects);
        }
        Verdict::Invalid(error) => {
            answered(state, run, org, flight.started, now, effects);
            state.orgs[org.ix()].totals.n_invalid += 1;
            let run_state = &mut state.runs[run.ix()];
            let model = run_state.sizes.model(no);
            let (outcome, usage) = (Outcome::Invalid, Usage::default());
            run_state.wire.add(1, now.mono);
            run_state.ledger.settle(Answer { org, path: Route::Sync, model, outcome, usage, cost }, now.wall);
            run_state.queue.answered(no);
            effects.extend(record.map(Effect::Record));
            stop::invalid(state, run, &error, now, effects);
            // While the fuse may still blow, an `invalid` proves the key but not the requests.
            state.orgs[org.ix()].proven |= state.runs[run.ix()].fuse.off;
        }
        Verdict::Trouble(Trouble::Account(account), error) => {
            state.orgs[org.ix()].totals.n_account += 1;
            if suspicion::is_the_requests(state, org, account) {
                suspicion::of_a_request(state, run, no, org, account, error, now, effects);
            } else {
                state.runs[run.ix()].queue.give_back(no, now.mono);
                park::for_account(state, org, account, &error, now, effects);
            }
        }
        Verdict::Trouble(Trouble::RateLimited(kind), error) => {
            let org_state = &mut state.orgs[org.ix()];
            org_state.course.at(now.mono).limited += 1;
            match kind {
                LimitKind::Steady => org_state.totals.n_429_steady += 1,
                LimitKind::Ramp => org_state.totals.n_429_ramp += 1,
            }
            heard(state, run, org, started, now, effects);
            let seen = Limited { family, started, kind, limits, retry_after };
            rate_limited(state, org, &seen, now, effects);
            state.runs[run.ix()].n_limited += 1;
            state.runs[run.ix()].queue.failed(no, org, Trouble::RateLimited(kind), error, now.mono);
        }
        Verdict::Trouble(trouble, error) => {
            failed(state, run, no, &flight, started, trouble, error, retry_after, now, effects);
        }
    }
}

/// The API took a request: it was not limited, and the org works.
fn answered(state: &mut State, run: RunSlot, org: OrgId, started: Mono, now: Now, effects: &mut Vec<Effect>) {
    let pool = state.orgs[org.ix()].pool;
    state.pools[pool].gate.answered(started);
    heard(state, run, org, started, now, effects);
}

/// The API was heard of, be it by a 429.
fn heard(state: &mut State, run: RunSlot, org: OrgId, started: Mono, now: Now, effects: &mut Vec<Effect>) {
    let outage = &mut state.runs[run.ix()].outage;
    outage.heard = true;
    outage.since = None;
    if state.orgs[org.ix()].breaker.answered(started) {
        let text = format!("{}: the probe was answered: back at work", state.orgs[org.ix()].label);
        state.note(Level::Info, "breaker-closed", Some(org), text, now, effects);
    }
}

/// What a 429 showed.
struct Limited {
    family: Family,
    started: Mono,
    kind: LimitKind,
    limits: RateLimits,
    retry_after: RetryAfter,
}

/// Cuts the window, once an episode, and closes the organisation for as long as it asks.
fn rate_limited(state: &mut State, org: OrgId, seen: &Limited, now: Now, effects: &mut Vec<Effect>) {
    let cut = state.window_mut(org, seen.family, now.mono).cut(seen.kind, seen.started, now.mono);
    let new_episode = cut != Cut::SameEpisode;
    let State { pools, orgs, settings, rng, .. } = state;
    let Pool { gate, growths, .. } = &mut pools[orgs[org.ix()].pool];
    match seen.kind {
        // What was accepted is known: there is nothing to probe for.
        LimitKind::Ramp => growths[seen.family.ix()].too_sharp(new_episode, now.mono),
        LimitKind::Steady if new_episode => gate.limited(now.mono),
        LimitKind::Steady => {}
    }
    let held = growths[seen.family.ix()].held();
    let wait = gate.wait(seen.retry_after, &seen.limits, new_episode, settings, rng);
    let longer = match wait {
        Wait::For(span, why) => gate.close(span, why, now.mono),
        Wait::Park(_) | Wait::Nothing => Duration::ZERO,
    };
    let label = orgs[org.ix()].label.clone();
    if let Wait::Park(span) = wait {
        let until = Some(now.mono + span);
        let text =
            format!("{label}: retry-after of {} s: parked until then, its requests go to the others", span.as_secs());
        park::park(state, org, Parked { why: ParkReason::RetryAfter, until }, text, now, effects);
    }
    if let (Cut::SameEpisode, Wait::For(span, why)) = (cut, wait)
        && longer >= TELLING
    {
        let text = format!("{label}: a further 429: closed for {:.1} s ({why})", span.as_secs_f64());
        state.note(Level::Info, "closed", Some(org), text, now, effects);
    }
    if let Cut::Cut { from, to } = cut {
        state.orgs[org.ix()].course.at(now.mono).cuts += 1;
        let what = match seen.kind {
            LimitKind::Steady => "429".to_owned(),
            LimitKind::Ramp => {
                let (rate, speed) = held.unwrap_or((0.0, 1.0));
                format!("429 for growing too sharply, {rate:.1} a second held, growth at {:.0} %", speed * 100.0)
            }
        };
        let closed = match wait {
            Wait::For(span, why) => format!(", closed for {:.1} s ({why})", span.as_secs_f64()),
            Wait::Park(_) | Wait::Nothing => String::new(),
        };
        let cut = if from == to {
            format!("window of {} stays at its floor of {to}", seen.family)
        } else {
            format!("window of {} cut from {from} to {to}", seen.family)
        };
        let text = format!("{label}: {what}: {cut}{closed}; re-driving");
        state.note(Level::Info, "window-cut", Some(org), text, now, effects);
    }
}

/// An attempt failed that was neither limited nor answered: the request waits by itself, holding no slot.
#[expect(clippy::too_many_arguments, reason = "all of one attempt; bundling them would only rename the list")]
fn failed(
    state: &mut State,
    slot: RunSlot,
    no: RequestNo,
    flight: &Flying,
    started: Mono,
    trouble: Trouble,
    error: ApiError,
    retry_after: RetryAfter,
    now: Now,
    effects: &mut Vec<Effect>,
) {
    let org = flight.org;
    state.orgs[org.ix()].course.at(now.mono).failed += 1;
    let totals = &mut state.orgs[org.ix()].totals;
    match trouble {
        Trouble::Overloaded => totals.n_overloaded += 1,
        Trouble::Server => totals.n_5xx += 1,
        _ => totals.n_transport += 1,
    }
    let State { orgs, pools, runs, settings, rng, .. } = state;
    let run = &mut runs[slot.ix()];
    if trouble.possibly_charged() {
        run.ledger.doubt(org, Route::Sync, run.sizes.model(no), trouble.as_str(), flight.at_most, now.wall);
    }
    run.outage.since.get_or_insert(started);
    run.outage.last = Some(error.clone());
    let closed = match retry_after {
        RetryAfter::After(span) => {
            let span = span.min(settings.park_after);
            let longer = pools[orgs[org.ix()].pool].gate.close(span, "retry-after", now.mono);
            (longer >= TELLING).then_some(span)
        }
        _ => None,
    };
    let closed = closed
        .map(|span| format!("{}: {error}: closed for {:.1} s (retry-after)", orgs[org.ix()].label, span.as_secs_f64()));
    let trip = orgs[org.ix()].breaker.failed(started, now.mono, settings, rng);
    let wait = backoff(u32::from(run.queue.redrives().failed_attempts(no)), settings, rng);
    let text = match trip {
        Trip::No => None,
        Trip::Opened { failures, wait } => Some(format!(
            "{}: {failures} failures in a row, the last: {error}; next probe in {:.1} s",
            orgs[org.ix()].label,
            wait.as_secs_f64()
        )),
    };
    let n_broken = run.queue.redrives().n_broken(no) + u8::from(is_broken_answer(trouble, &error));
    let aside = (n_broken >= BROKEN_ANSWERS).then(|| {
        format!(
            "{}: request {} (from 0) got {n_broken} answers in a row that were none, each of them probably billed: {error}; \
             set aside, a resume tries it again",
            orgs[org.ix()].label, no.0
        )
    });
    match &aside {
        Some(_) => {
            run.queue.set_aside(no, org, trouble, error.clone());
            let attempts = run.queue.redrives().failed_attempts(no);
            effects.push(Effect::RecordReDrivable { run: slot, no, org, attempts, trouble, error });
        }
        None => run.queue.failed(no, org, trouble, error, now.mono + wait),
    }
    if let Some(text) = aside {
        state.note(Level::Warn, "set-aside", None, text, now, effects);
    }
    if let Some(text) = closed {
        state.note(Level::Info, "closed", Some(org), text, now, effects);
    }
    if let Some(text) = text {
        restart_windows(state, org, now.mono);
        state.note(Level::Warn, "breaker-open", Some(org), text, now, effects);
    }
}

fn restart_windows(state: &mut State, org: OrgId, now: Mono) {
    let pool = state.orgs[org.ix()].pool;
    for window in state.pools[pool].windows.iter_mut().flatten() {
        window.restart(now);
    }
}

/// The input is not what was indexed: sending on would send bytes that nobody validated.
fn unreadable(
    state: &mut State,
    run: RunSlot,
    no: RequestNo,
    org: OrgId,
    message: &str,
    now: Now,
    effects: &mut Vec<Effect>,
) {
    let Some(flight) = state.runs[run.ix()].queue.flight(no) else { return };
    let family = state.runs[run.ix()].queue.family(no);
    state.flight_ended(run, family, &flight, None, now.mono);
    state.orgs[org.ix()].breaker.abandoned();
    state.runs[run.ix()].queue.give_back(no, now.mono);
    stop::stop_for(state, run, message, "input-changed", now, effects);
}

/// When the reducer wants to be called again although nothing has happened. `None`: not before the next event.
pub(crate) fn next_wake(state: &State, now: Mono) -> Option<Mono> {
    let live = state.runs.iter().filter(|run| !run.status.is_over());
    let mut wake: Option<Mono> = None;
    let mut at = |time: Mono| wake = Some(wake.map_or(time, |w: Mono| w.min(time)));
    for run in live {
        let working = run.admits() && !run.queue.is_empty();
        // While work waits: growth, headroom and re-drives are looked at ten times a second; otherwise the clocks on
        // the screen are all that moves.
        at(now + if working { Duration::from_millis(100) } else { Duration::from_secs(1) });
        if let Some(preflight) = &state.preflight {
            at(preflight.until());
        }
        batch::wants(state, run.slot, now).into_iter().for_each(&mut at);
        if working {
            run.queue.next_due().filter(|due| *due > now).into_iter().for_each(&mut at);
            for org in &state.orgs {
                let gate = state.pools[org.pool].gate.opens_at();
                let probe = org.breaker.probe_at();
                let parked = org.parked.and_then(|parked| parked.until);
                [gate, probe, parked].into_iter().flatten().filter(|time| *time > now).for_each(&mut at);
            }
        }
    }
    wake
}
