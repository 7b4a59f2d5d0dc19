//! `fandeck status DIR`: where a run is, without taking it.

use serde_json::{Value, json};

use crate::report::{format, summary, text::harmless};
use crate::store::{RunDir, RunPeek};

use super::args::StatusArgs;
use super::failure::Outcome;
use super::launch::{input_name, store_failure};
use super::out;

/// Shows one run.
pub(crate) fn status(args: &StatusArgs) -> Outcome {
    let peek = RunDir::peek(&args.dir).map_err(|error| store_failure(&error))?;
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
    lines.push(format!("outcomes   {}", summary::outcomes(counts)));
    if owner.is_none() && !state.status.is_over() {
        lines.push("           as of its last heartbeat; the journal may hold more, and resume counts it".to_owned());
    }
    lines.push(format!("cost       {}", format::money(state.cost)));
    if state.n_possibly_charged > 0 {
        lines.push(format!("           and {} attempts possibly charged", format::count(state.n_possibly_charged)));
    }
    lines.push(format!("running    {} in {}", format::span(state.wall_ms), sessions(state.sessions)));
    if owner.is_none() && counts.open() > 0 {
        lines.push(format!("go on      fandeck resume {}", dir.display()));
    }
    lines.join("\n") + "\n"
}
