//! What came of the runs of a session: the text that is left on the normal screen.

use std::fmt::Write as _;

use super::format;
use super::text::{fit, fit_right, harmless};
use super::words::{exit_meaning, limit_to_raise, outcomes, re_driven};
use crate::model::Snapshot;
use crate::model::snapshot::{Condition, OrgView, RunView};

/// The text for the normal screen: what came of every run, per org, and how to go on. Ends with a line end.
pub fn text(snapshot: &Snapshot, exit_code: u8) -> String {
    let mut out = String::new();
    for run in &snapshot.runs {
        run_block(&mut out, run);
    }
    if snapshot.orgs.iter().any(|org| org.totals.n_sent > 0) {
        org_table(&mut out, snapshot);
    }
    parked(&mut out, &snapshot.orgs);
    for run in &snapshot.runs {
        how_to_go_on(&mut out, run);
    }
    let all_cached = snapshot.runs.iter().all(|run| run.counts.all_cached());
    line(&mut out, "exit", &format!("{exit_code}, {}", exit_meaning(exit_code, all_cached)));
    out
}

fn line(out: &mut String, name: &str, value: &str) {
    // Writing to a String cannot fail.
    let _ = writeln!(out, "  {} {value}", fit(name, 9));
}

fn run_block(out: &mut String, run: &RunView) {
    let counts = &run.counts;
    let _ = writeln!(out, "run {}: {}", harmless(&run.run_id), run.status);
    if let Some(reason) = &run.reason {
        line(out, "reason", &harmless(reason));
    }
    line(out, "input", &harmless(&run.input));
    let outcomes = outcomes(counts, run.n_in_batches());
    line(out, "requests", &format!("{} in all: {outcomes}", format::count(counts.total)));
    let done = counts.done().saturating_sub(counts.cached);
    let mut time = format::span(run.wall_ms);
    if run.wall_ms > 0 && done > 0 {
        let _ = write!(time, " at {} on average", format::rate(done as f64 * 1e3 / run.wall_ms as f64));
    }
    if is_resumed(run) {
        let _ = write!(time, " · this session {}", format::span(run.session_wall_ms));
    }
    line(out, "time", &time);
    let mut cost = format::money(run.cost);
    if run.n_possibly_charged > 0 {
        let attempts = if run.n_possibly_charged == 1 { "attempt" } else { "attempts" };
        let _ = write!(cost, " · {} {attempts} possibly charged too", format::count(run.n_possibly_charged));
    }
    line(out, "cost", &cost);
    if !run.re_driven.is_empty() {
        let reasons = run.re_driven.iter().map(|(why, n)| (why.as_str(), *n));
        line(out, "re-driven", &re_driven(reasons, &run.attempts));
    }
    line(out, "path", &format!("{} · {}", run.path, harmless(&run.route_reason)));
    out.push('\n');
}

/// Columns of the table of orgs: heading and width.
const COLUMNS: [(&str, usize); 10] = [
    ("answers", 11),
    ("429 steady", 11),
    ("429 ramp", 9),
    ("529", 6),
    ("5xx", 6),
    ("no answer", 10),
    ("peak", 6),
    ("p50", 7),
    ("p95", 7),
    ("cost", 12),
];

/// Orgs of this session, and those of earlier ones that are not in it.
fn org_table(out: &mut String, snapshot: &Snapshot) {
    let here = snapshot.orgs.iter().map(|org| (&org.label, &org.totals, org.latency_p50_ms, org.latency_p95_ms));
    let absent = snapshot.runs.iter().flat_map(|run| &run.absent_orgs).map(|(label, totals)| (label, totals, 0, 0));
    let orgs: Vec<_> = here.chain(absent).collect();
    let name_width = orgs.iter().map(|org| super::text::width(&harmless(org.0))).max().unwrap_or(0).clamp(9, 32);
    let mut row = |name: &str, cells: [&str; COLUMNS.len()]| {
        let _ = write!(out, "  {}", fit(name, name_width));
        for ((_, width), cell) in COLUMNS.iter().zip(cells) {
            out.push_str(&fit_right(cell, *width));
        }
        out.push('\n');
    };
    row("org", COLUMNS.map(|(heading, _)| heading));
    for (label, totals, p50, p95) in orgs {
        let counted = [
            totals.n_ok + totals.n_refused,
            totals.n_429_steady,
            totals.n_429_ramp,
            totals.n_overloaded,
            totals.n_5xx,
            totals.n_transport,
            u64::from(totals.in_flight_peak),
        ]
        .map(format::count);
        let rest = [format::latency(p50), format::latency(p95), format::money(totals.cost)];
        let [answers, steady, ramp, overloaded, server, transport, peak] = &counted;
        let [p50, p95, cost] = &rest;
        row(&harmless(label), [answers, steady, ramp, overloaded, server, transport, peak, p50, p95, cost]);
    }
    if snapshot.runs.iter().any(is_resumed) && snapshot.orgs.iter().any(|org| org.latency_p50_ms > 0) {
        let _ = writeln!(out, "  p50 and p95 are of this session alone; `fandeck report` has those of the whole run");
    }
    out.push('\n');
}

/// Whether there were sessions before this one.
fn is_resumed(run: &RunView) -> bool {
    run.session_wall_ms + 1_000 < run.wall_ms
}

/// Orgs that need somebody before the next run, although this one may have gone well without them.
fn parked(out: &mut String, orgs: &[OrgView]) {
    for org in orgs {
        if let Condition::Parked { why, .. } = &org.condition {
            let key = harmless(&org.key_env);
            line(out, "parked", &format!("{}: {} (its key: {key})", harmless(&org.label), why.as_str()));
        }
    }
}

fn how_to_go_on(out: &mut String, run: &RunView) {
    let dir = harmless(&run.dir);
    let shell_dir = quoted(&dir);
    line(out, "directory", &dir);
    if run.counts.open() > 0 {
        let harvested = if run.embedded_api { 0 } else { run.n_in_batches() };
        let left = format::count(run.counts.open().saturating_sub(harvested));
        let harvests = match harvested {
            0 => String::new(),
            n => format!("harvests the {} in batches, ", format::count(n)),
        };
        let raise = limit_to_raise(run.reason.as_deref()).map_or(String::new(), |option| format!(" {option} N"));
        // A limit of the configuration, or of the day, is not raised by an option.
        let is_limited = run.reason.as_deref().is_some_and(|reason| reason.contains("would pass "));
        let with = match (raise.is_empty(), is_limited) {
            (false, _) => ", up to N",
            (true, true) => ", once that limit is higher or its day is over",
            (true, false) => "",
        };
        let does = format!("{harvests}sends the {left} that are left{with}");
        line(out, "go on", &format!("fandeck resume {shell_dir}{raise}    # {does}"));
    }
    if run.counts.done() > 0 {
        line(out, "results", &format!("fandeck export {shell_dir}    # writes them in input order"));
    }
}

/// The path as a shell takes it: in single quotes when it holds anything but plain characters.
fn quoted(path: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+,:@%".contains(c);
    if !path.is_empty() && path.chars().all(plain) {
        path.to_owned()
    } else {
        format!("'{}'", path.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Counts, RunStatus};
    use crate::report::fixtures;

    #[test]
    fn a_finished_run_is_summed_up_with_its_orgs_and_its_export() {
        insta::assert_snapshot!(text(&fixtures::finished(), 3));
    }

    #[test]
    fn a_run_that_its_budget_ended_is_gone_on_with_by_a_higher_one() {
        let mut snapshot = fixtures::incomplete();
        snapshot.runs[0].reason = Some(
            "resume with a higher limit: the next request would pass max-cost of $1.00: $0.99 spent in 9 attempts"
                .into(),
        );
        let told = text(&snapshot, 4);
        assert!(told.contains(" --max-cost N    # sends the "), "{told}");
        snapshot.runs[0].reason = Some("the next request would pass per-day-usd of $7.00: …".into());
        let told = text(&snapshot, 4);
        assert!(told.contains("that are left, once that limit is higher or its day is over"), "{told}");
    }

    #[test]
    fn a_run_that_was_answered_from_the_cache_alone_is_not_said_to_have_sent_anything_well() {
        let mut snapshot = fixtures::finished();
        let run = &mut snapshot.runs[0];
        run.counts = Counts { total: 200, cached: 200, ..Counts::default() };
        let told = text(&snapshot, 0);
        assert!(told.contains("200 in all: 200 cached\n"), "{told}");
        assert!(told.contains("0, every request was answered from the cache"), "{told}");
    }

    #[test]
    fn the_latencies_of_a_resumed_run_are_said_to_be_those_of_its_last_session() {
        let mut snapshot = fixtures::finished();
        let run = &mut snapshot.runs[0];
        run.wall_ms = run.session_wall_ms;
        let says = "p50 and p95 are of this session alone";
        assert!(!text(&snapshot, 0).contains(says));
        snapshot.runs[0].wall_ms += 60_000;
        assert!(text(&snapshot, 0).contains(says));
    }

    #[test]
    fn an_incomplete_run_says_how_to_go_on() {
        insta::assert_snapshot!(text(&fixtures::incomplete(), 4));
    }

    #[test]
    fn what_is_in_batches_is_harvested_by_a_resume_unless_its_api_ends_with_this_process() {
        let mut snapshot = fixtures::batches();
        snapshot.runs[0].status = RunStatus::Incomplete;
        let n = format::count(snapshot.runs[0].n_in_batches());
        let told = text(&snapshot, 4);
        assert!(
            told.contains(&format!("{n} in batches at the API")) && told.contains(&format!("harvests the {n}")),
            "{told}"
        );
        snapshot.runs[0].embedded_api = true;
        let told = text(&snapshot, 4);
        let open = format::count(snapshot.runs[0].counts.open());
        assert!(told.contains(&format!("# sends the {open} that are left")) && !told.contains("harvests"), "{told}");
    }

    #[test]
    fn a_run_that_sent_nothing_has_no_table_of_orgs() {
        insta::assert_snapshot!(text(&fixtures::starting(), 130));
    }

    #[test]
    fn a_directory_with_a_blank_or_a_quote_can_be_pasted_into_a_shell() {
        assert_eq!(quoted("/data/run-1"), "/data/run-1");
        assert_eq!(quoted("/my data/it's"), r"'/my data/it'\''s'");
        assert_eq!(quoted(""), "''");
    }
}
