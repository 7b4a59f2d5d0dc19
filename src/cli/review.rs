//! Makes the review of a run from its directory: the journal and the trail are read as streams, once each.

use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind};
use std::path::Path;

use crate::model::{Money, Terms, Wall};
use crate::report::finished::RunFinished;
use crate::report::format;
use crate::report::review::{Decision, Economy, OrgTrouble, PlanAgainstActual, Review, Seen, SubBatchSpan, Tally};
use crate::store::{AuditEvent, OrgState, RunPeek, SubBatchEntry, for_each_outcome};

use super::failure::Failure;
use super::out;
use super::plan_record::Made;
use super::price_record::Cards;
use super::segments::Segmenter;
use super::status::standing;

/// Entries of the trail that are kept, the newest ones.
const DECIDED: usize = 400;

/// The review of a run. `by` is what segments are made by, `cards` what it was billed by.
///
/// The state of a run that is not over is older than its journal. What came after is left out, so that all figures are of one
/// moment: an outcome is counted once it is durable, and the journal keeps their order.
pub(crate) fn review(peek: &RunPeek, run: RunFinished, by: Option<&str>, cards: &Cards) -> Result<Review, Failure> {
    let segmenter = Segmenter::new(by, peek)?;
    let state = &peek.state;
    let (tally, n_later) = gather(peek, &segmenter, Tally::default())?;
    let n_in_journal = tally.n() + n_later;
    let n_lost = state.counts.done().saturating_sub(n_in_journal);
    if n_lost > 0 {
        out::say(&format!(
            "fandeck: the journal in {} lacks {} of the {} outcomes that the run had: what is told of latencies and segments is \
             of the others only; fandeck resume says what can be done",
            peek.dir.display(),
            format::count(n_lost),
            format::count(state.counts.done())
        ));
    }
    let mut segments = match tally.second_look() {
        Some(looking) => gather(peek, &segmenter, looking)?.0.segments(),
        None => tally.segments(),
    };
    segmenter.name(&mut segments)?;
    let Trail { decisions, decided, sessions } = trail(&peek.dir)?;
    let prices = |model: &str, prompt: u64, terms: Terms| cards.get(model).map(|card| card.for_prompt(prompt, terms));
    Ok(Review {
        event: "run-report".to_owned(),
        sessions: state.sessions,
        live: run.exit_code.is_none(),
        standing: peek.owner.as_ref().map_or(standing(peek), |owner| format!("{} ({owner})", standing(peek))),
        as_of: (!state.status.is_over()).then_some(state.heartbeat_at),
        n_in_journal,
        n_later,
        time_ms: state.time_ms.clone(),
        throughput: tally.throughput(peek.run.created_at, &sessions),
        latencies: tally.latencies(),
        orgs: state.orgs.iter().map(trouble).collect(),
        economy: Economy::new(&state.books, state.counts.cached, &prices),
        books: state.books.clone(),
        decisions,
        decided,
        sub_batches: state.sub_batches.iter().map(span).collect(),
        stuck_fires: state.sub_batches.iter().filter(|sub| sub.stuck_cancel_intent_at.is_some()).count() as u64,
        plan: planned(peek.run.plan.as_ref(), state.wall_ms, state.cost),
        run,
        segments,
        by: by.map(str::to_owned),
    })
}

/// Shows a tally all outcomes of the moment that the state is of; and how many came later.
fn gather(peek: &RunPeek, segmenter: &Segmenter, mut tally: Tally) -> Result<(Tally, u64), Failure> {
    let state = &peek.state;
    let room = if state.status.is_over() { u64::MAX } else { state.counts.done() };
    let mut n_later = 0;
    for_each_outcome(&peek.dir, &mut |line| {
        if line.outcome.is_terminal() && tally.n() == room {
            n_later += 1;
            return;
        }
        tally.see(&Seen {
            outcome: line.outcome,
            org: &line.org,
            path: line.path,
            latency_ms: line.latency_ms,
            usage: line.usage,
            cost: line.cost,
            at: line.at,
            segment: segmenter.of(line),
        });
    })?;
    Ok((tally, n_later))
}

fn trouble(org: &OrgState) -> OrgTrouble {
    let totals = &org.totals;
    OrgTrouble {
        label: org.label.clone(),
        n_429_steady: totals.n_429_steady,
        n_429_ramp: totals.n_429_ramp,
        n_overloaded: totals.n_overloaded,
        n_5xx: totals.n_5xx,
        n_transport: totals.n_transport,
        n_account: totals.n_account,
    }
}

fn span(sub: &SubBatchEntry) -> SubBatchSpan {
    let took = sub.began_at().zip(sub.ended_at).map(|(began, ended)| ended.0.saturating_sub(began.0));
    SubBatchSpan {
        index: sub.index,
        org: sub.org.clone(),
        n_requests: sub.n_requests,
        status: sub.status.to_string(),
        took_ms: took.and_then(|ms| u64::try_from(ms).ok()),
        stuck: sub.stuck_cancel_intent_at.is_some(),
    }
}

/// What the plan in `run.json` says, and what has come of it since it was made: a pilot before it was not planned by it.
fn planned(plan: Option<&serde_json::Value>, wall_ms: u64, cost: Money) -> Option<PlanAgainstActual> {
    let plan = plan?;
    let made = Made::of_record(plan);
    let figure = |name: &str| plan.get(name).and_then(serde_json::Value::as_f64);
    let wall_s = wall_ms.saturating_sub(made.wall_ms) as f64 / 1e3;
    let cost = cost - made.spent_usd;
    PlanAgainstActual::new((figure("wall_s"), figure("cost_usd")), (wall_s, cost.usd()))
}

/// What the trail of a run tells.
#[derive(Debug, Default)]
struct Trail {
    /// How often what was decided.
    decisions: BTreeMap<String, u64>,
    /// The last decisions, oldest first.
    decided: Vec<Decision>,
    /// When its sessions began, oldest first; nothing in trails of versions that did not note it.
    sessions: Vec<Wall>,
}

/// The trail of a run. Lines that cannot be read are passed over.
fn trail(dir: &Path) -> Result<Trail, Failure> {
    let path = dir.join(AuditEvent::NAME);
    let file = match File::open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Trail::default()),
        Err(error) => return Err(Failure::usage(format!("failed to open {}: {error}", path.display()))),
    };
    let mut kinds: BTreeMap<String, u64> = BTreeMap::new();
    let (mut last, mut sessions) = (VecDeque::new(), Vec::new());
    for line in BufReader::new(file).split(b'\n') {
        let line = line.map_err(|error| Failure::usage(format!("failed to read {}: {error}", path.display())))?;
        let Ok(event) = serde_json::from_slice::<AuditEvent>(&line) else { continue };
        if event.kind == AuditEvent::SESSION_STARTED {
            sessions.push(event.at);
            continue;
        }
        match kinds.get_mut(&event.kind) {
            Some(n) => *n += 1,
            None => {
                kinds.insert(event.kind.clone(), 1);
            }
        }
        if last.len() == DECIDED {
            last.pop_front();
        }
        last.push_back(Decision { at: event.at, kind: event.kind, org: event.org, text: event.text });
    }
    Ok(Trail { decisions: kinds, decided: last.into(), sessions })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_plan_that_was_made_after_a_pilot_is_held_against_what_came_after_it() {
        let usd = Money::from_usd;
        let plan = json!({"wall_s": 10.0, "cost_usd": 2.0, "made": {"session": 2, "spent_usd": 1.0, "wall_ms": 5_000}});
        let against = planned(Some(&plan), 25_000, usd(4.0)).unwrap();
        assert_eq!((against.wall_ratio, against.cost_ratio), (Some(2.0), Some(1.5)));
        let first = planned(Some(&json!({"wall_s": 10.0, "cost_usd": null})), 25_000, usd(4.0)).unwrap();
        assert_eq!((first.wall_ratio, first.cost_ratio), (Some(2.5), None));
        assert_eq!(planned(None, 1, usd(1.0)), None);
    }
}
