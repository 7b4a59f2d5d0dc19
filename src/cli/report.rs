//! `fandeck report DIR`: what happened in a run.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use clap::Args;

use crate::report;
use crate::report::finished::{OrgFinished, RunFinished, SubBatches};
use crate::report::review::{Review, page};
use crate::report::{format, text::harmless, words};
use crate::store::{OrgState, RunDir, RunPeek, batches_view};

use super::failure::{Failure, Outcome};
use super::launch::input_name;
use super::out;
use super::price_record::of_run;
use super::review::review;
use super::status::{in_batches, sessions};

/// `fandeck report`.
#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// The run directory
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
    /// As JSON: the last line of the run
    #[arg(long)]
    pub json: bool,
    /// With --json: all of the report, as a line before that
    #[arg(long, requires = "json")]
    pub full: bool,
    /// Write the report as one HTML page with charts, which needs no network
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Unit economics by metadata.TAG, by what custom_id:PATTERN finds (its first group, else all of it), or by model
    #[arg(long, value_name = "BY")]
    pub by: Option<String>,
    /// Configuration file: its catalog has the prices of a run that has not recorded its own
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
}

/// How every page begins.
const PAGE_BEGINS: &[u8] = b"<!DOCTYPE html>";

/// Reports one run: as text, as the last NDJSON line of the run with or without all of it before, and as a page.
pub(crate) fn report(args: &ReportArgs) -> Outcome {
    let peek = RunDir::peek(&args.dir)?;
    let finished = finished(&peek);
    if args.json && !args.full && args.html.is_none() && args.by.is_none() {
        return out::print(&format!("{}\n", json(&finished)?));
    }
    let cards = of_run(&peek.run, args.config.as_deref())?;
    let review = review(&peek, finished.clone(), args.by.as_deref(), &cards)?;
    if let Some(path) = &args.html {
        write_page(path, &page(&review))?;
        out::say(&format!("fandeck: the report is in {}", path.display()));
    }
    match (args.json, args.full || args.by.is_some()) {
        (true, true) => out::print(&format!("{}\n{}\n", json(&review)?, json(&finished)?)),
        (true, false) => out::print(&format!("{}\n", json(&finished)?)),
        (false, _) => out::print(&format!("{}\n{}", in_words(&peek, &review), report::review::text(&review))),
    }
}

/// Writes the page. It replaces a page, and nothing else: a slip of the hand must not cost a journal.
fn write_page(path: &Path, page: &str) -> Result<(), Failure> {
    let failed = |what: &dyn std::fmt::Display| {
        Failure::usage(format!("failed to write {}: {what}; name another file with --html", path.display()))
    };
    let mut head = Vec::new();
    if path.is_file() {
        let read = File::open(path).and_then(|file| file.take(PAGE_BEGINS.len() as u64).read_to_end(&mut head));
        read.map_err(|error| failed(&error))?;
    }
    if !head.is_empty() && !head.eq_ignore_ascii_case(PAGE_BEGINS) {
        return Err(failed(&"it is there already and is no HTML page"));
    }
    std::fs::write(path, page).map_err(|error| failed(&error))
}

fn json<T: serde::Serialize>(value: &T) -> Result<String, Failure> {
    serde_json::to_string(value).map_err(|error| Failure::internal(format!("failed to write the report: {error}")))
}

/// What happened in a run, in words: what `fandeck report` prints.
pub(crate) fn text(dir: &Path) -> Result<String, Failure> {
    let peek = RunDir::peek(dir)?;
    let review = review(&peek, finished(&peek), None, &of_run(&peek.run, None)?)?;
    Ok(format!("{}\n{}", in_words(&peek, &review), report::review::text(&review)))
}

/// The facts of a run, from its directory. One that was cut off has the exit code of its counts; one that goes on has none,
/// whatever these would come to now.
fn finished(peek: &RunPeek) -> RunFinished {
    let RunPeek { dir, run, state, .. } = peek;
    let goes_on = peek.owner.is_some() && !state.status.is_over();
    RunFinished {
        event: "run-finished".to_owned(),
        run_id: run.run_id.clone(),
        run_dir: dir.display().to_string(),
        input: input_name(run),
        status: state.status,
        counts: state.counts,
        n_possibly_charged: state.n_possibly_charged,
        re_driven: state.re_driven.clone(),
        attempts: state.attempts,
        wall_s: state.wall_ms as f64 / 1e3,
        session_wall_s: state.session_wall_ms as f64 / 1e3,
        cost_usd: state.cost.usd(),
        path: run.path.as_str().to_owned(),
        route_reason: run.route_reason.clone(),
        orgs: state.orgs.iter().map(org).collect(),
        sub_batches: SubBatches::of(&batches_view(state.sub_batches.iter())),
        exit_code: (!goes_on).then(|| state.exit_code.unwrap_or_else(|| state.counts.exit_code())),
    }
}

fn org(org: &OrgState) -> OrgFinished {
    OrgFinished::new(&org.label, &org.totals, org.window)
}

fn in_words(peek: &RunPeek, review: &Review) -> String {
    let (state, finished) = (&peek.state, &review.run);
    let mut text = format!(
        "run        {}\ninput      {}\nstatus     {}\noutcomes   {}\nroute      {}: {}\nrunning    {} in {}\ncost       {}",
        finished.run_id,
        harmless(&finished.input),
        harmless(&review.standing),
        words::outcomes(&state.counts, in_batches(peek)),
        finished.path,
        finished.route_reason,
        format::took(state.wall_ms),
        sessions(state.sessions),
        format::money(state.cost),
    );
    if finished.n_possibly_charged > 0 {
        text.push_str(&format!(", and {} attempts possibly charged", format::count(finished.n_possibly_charged)));
    }
    if !state.re_driven.is_empty() {
        let reasons = state.re_driven.iter().map(|(why, n)| (why.as_str(), *n));
        text.push_str(&format!("\nre-driven  {}", words::re_driven(reasons, &state.attempts)));
    }
    text.push('\n');
    if !finished.orgs.is_empty() {
        text.push_str("\norg                  usable      429      5xx     peak   tokens in  tokens out       cost\n");
    }
    for (org, state) in finished.orgs.iter().zip(&state.orgs) {
        text.push_str(&format!(
            "{:<16} {:>10} {:>8} {:>8} {:>8} {:>11} {:>11} {:>10}\n",
            org.label,
            format::count(org.n_ok),
            format::count(org.n_429),
            format::count(org.n_5xx),
            org.in_flight_peak,
            format::count(org.tokens_in),
            format::count(org.tokens_out),
            format::money(state.totals.cost),
        ));
    }
    text.push_str(&format!("\nexit       {}\n", review.exit()));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_replaces_a_page_and_nothing_else() {
        let temp = tempfile::tempdir().unwrap();
        let (new, old, journal) =
            (temp.path().join("new.html"), temp.path().join("old.html"), temp.path().join("results.jsonl"));
        std::fs::write(&old, "<!doctype html><p>old").unwrap();
        std::fs::write(&journal, "{\"custom_id\":\"paid\"}\n").unwrap();
        for path in [&new, &new, &old] {
            assert!(write_page(path, "<!DOCTYPE html><p>new").is_ok());
            assert_eq!(std::fs::read_to_string(path).unwrap(), "<!DOCTYPE html><p>new");
        }
        let failure = write_page(&journal, "<!DOCTYPE html>").err().unwrap();
        assert!(failure.message.contains("no HTML page; name another file with --html"), "{}", failure.message);
        assert!(std::fs::read_to_string(&journal).unwrap().contains("paid"));
    }
}
