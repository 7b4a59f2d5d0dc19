//! `fandeck status DIR`: where a run is, without taking it.

use std::path::PathBuf;

use clap::Args;

use serde_json::{Value, json};

use crate::model::{SubBatchStatus, Wall};
use crate::report::{format, text::harmless, words};
use crate::store::{RunDir, RunPeek, SubBatchEntry, stamp};

use super::failure::Outcome;
use super::launch::input_name;
use super::out;
use super::simulated::Simulated;

/// `fandeck status`.
#[derive(Debug, Args)]
pub(crate) struct StatusArgs {
    /// The run directory
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
    /// As JSON
    #[arg(long)]
    pub json: bool,
}

/// Shows one run.
pub(crate) fn status(args: &StatusArgs) -> Outcome {
    let peek = RunDir::peek(&args.dir)?;
    if args.json {
        return print_json(&as_json(&peek));
    }
    out::print(&in_words(&peek))
}

/// Prints a value on a line.
pub(crate) fn print_json(value: &Value) -> Outcome {
    out::print(&format!("{value}\n"))
}

/// A run as one JSON object.
pub(crate) fn as_json(peek: &RunPeek) -> Value {
    let RunPeek { dir, run, state, owner, heartbeat_age } = peek;
    json!({
        "run_id": run.run_id,
        "dir": dir,
        "input": run.input.path,
        "status": state.status,
        "live": owner.is_some(),
        "owner": owner,
        "heartbeat_age_s": heartbeat_age.as_secs(),
        "resumable": owner.is_none() && state.counts.open() > 0,
        "reason": state.reason,
        "path": run.path,
        "route_reason": run.route_reason,
        "n_total": state.counts.total,
        "n_cached": state.counts.cached,
        "n_succeeded": state.counts.succeeded,
        "n_refused": state.counts.refused,
        "n_invalid": state.counts.invalid,
        "n_re_drivable": state.counts.re_drivable,
        "n_unsent": state.counts.unsent,
        "n_possibly_charged": state.n_possibly_charged,
        "cost_usd": state.cost,
        "sub_batches": state.sub_batches,
        "wall_s": state.wall_ms as f64 / 1e3,
        "sessions": state.sessions,
        "exit_code": state.exit_code,
    })
}

/// `1 session`, `3 sessions`.
pub(crate) fn sessions(n: u32) -> String {
    if n == 1 { "1 session".to_owned() } else { format!("{n} sessions") }
}

/// Requests of a run that are in batches at its API, and wait there to be harvested. A simulated API ends with its process.
pub(crate) fn in_batches(peek: &RunPeek) -> u64 {
    let are_gone = peek.owner.is_none() && Simulated::is_of_run(&peek.run);
    if are_gone { 0 } else { peek.state.n_in_batches() }
}

/// What a run does, in a word or two: a run that says it is running and has no owner was cut off.
pub(crate) fn standing(peek: &RunPeek) -> String {
    match (&peek.owner, peek.state.status.is_over()) {
        (Some(_), _) | (None, true) => peek.state.status.to_string(),
        (None, false) => format!("cut off while {}", peek.state.status),
    }
}

fn in_words(peek: &RunPeek) -> String {
    let RunPeek { dir, run, state, owner, heartbeat_age } = peek;
    let counts = &state.counts;
    let mut lines = vec![
        format!("run        {}", run.run_id),
        format!("directory  {}", harmless(&dir.display().to_string())),
        format!("input      {}", harmless(&input_name(run))),
        format!("status     {}", standing(peek)),
    ];
    if let Some(reason) = &state.reason {
        lines.push(format!("reason     {}", harmless(reason)));
    }
    if let Some(owner) = owner {
        let age = format::span(heartbeat_age.as_millis().try_into().unwrap_or(u64::MAX));
        lines.push(format!("owner      {owner}, heartbeat {age} ago"));
    }
    lines.push(format!(
        "done       {} of {} ({})",
        format::count(counts.done()),
        format::count(counts.total),
        format::share(counts.done(), counts.total)
    ));
    lines.push(format!("outcomes   {}", words::outcomes(counts, in_batches(peek))));
    if owner.is_none() && !state.status.is_over() {
        lines.push("           as of its last heartbeat; the journal may hold more, and resume counts it".to_owned());
    }
    lines.extend(sub_batches(&state.sub_batches, stamp::now()));
    lines.push(format!("cost       {}", format::money(state.cost)));
    if state.n_possibly_charged > 0 {
        lines.push(format!("           and {} attempts possibly charged", format::count(state.n_possibly_charged)));
    }
    lines.push(format!("running    {} in {}", format::span(state.wall_ms), sessions(state.sessions)));
    if owner.is_none() && counts.open() > 0 {
        let raise =
            words::limit_to_raise(state.reason.as_deref()).map_or(String::new(), |option| format!(" {option} N"));
        lines.push(format!("go on      fandeck resume {}{raise}", dir.display()));
    }
    lines.join("\n") + "\n"
}

/// Sub-batches that are told one by one: what a screen shows without scrolling.
const TOLD: usize = 24;

/// The sub-batches by state, and a line for each that is at the API, or about which the operator has to decide.
fn sub_batches(entries: &[SubBatchEntry], now: Wall) -> Vec<String> {
    if entries.is_empty() {
        return Vec::new();
    }
    let counts = SubBatchStatus::ALL.iter().filter_map(|status| {
        let n = entries.iter().filter(|entry| entry.status == *status).count();
        (n > 0).then(|| format!("{n} {status}"))
    });
    let counts: Vec<String> = counts.collect();
    let mut lines = vec![format!("batches    {} begun: {}", entries.len(), counts.join(", "))];
    let telling: Vec<&SubBatchEntry> = entries.iter().filter(|entry| !entry.status.is_over() || entry.left).collect();
    lines.extend(telling.iter().take(TOLD).map(|entry| one_sub_batch(entry, now)));
    if telling.len() > TOLD {
        lines.push(format!("           and {} more", telling.len() - TOLD));
    }
    lines
}

fn one_sub_batch(entry: &SubBatchEntry, now: Wall) -> String {
    let age = entry.began_at().map_or(0, |began| u64::try_from(now.0.saturating_sub(began.0)).unwrap_or(0));
    let n = format::count(u64::from(entry.n_requests));
    let id = entry.batch_id.as_deref().unwrap_or("no id yet");
    let mut line = format!(
        "           {}  {}  {n} requests  {}  {} old  {}",
        entry.index,
        harmless(&entry.org),
        entry.status,
        format::span(age),
        harmless(id)
    );
    if entry.adopted {
        line.push_str("  adopted by a guess");
    }
    if entry.left {
        line.push_str("  left re-drivable: resume --re-drive sends what has no outcome");
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sub_batches_are_told_by_state_and_those_at_the_api_one_by_one() {
        let entry = |index, status, at: i64| {
            let mut entry = SubBatchEntry::planned(index, 1_000);
            (entry.status, entry.org) = (status, "batch".to_owned());
            (entry.submitted_at, entry.batch_id) = (Some(Wall(at)), Some(format!("msgbatch_{index}")));
            entry
        };
        let mut left = entry(2, SubBatchStatus::Unavailable, 0);
        left.left = true;
        let entries = [entry(0, SubBatchStatus::Harvested, 0), entry(1, SubBatchStatus::InProgress, 3_600_000), left];
        assert_eq!(
            sub_batches(&entries, Wall(4 * 3_600_000)).join("\n"),
            "batches    3 begun: 1 in-progress, 1 harvested, 1 unavailable\n           \
             1  batch  1,000 requests  in-progress  3h00m old  msgbatch_1\n           \
             2  batch  1,000 requests  unavailable  4h00m old  msgbatch_2  left re-drivable: resume --re-drive sends what \
             has no outcome"
        );
        assert!(sub_batches(&[], Wall(0)).is_empty());
    }
}
