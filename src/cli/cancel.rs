//! `fandeck cancel DIR SUB_BATCH`: the stuck escape from a script.
//!
//! Beside a running console its owner does it: the order is left in the run directory. Without an owner it is done here, the
//! intent durable before the cancel and its outcome after; the next `fandeck resume` harvests.

use std::io::{self, BufRead, IsTerminal, Write};
use std::path::{Path, PathBuf};

use clap::Args;

use crate::api::batches::{BatchFailure, ProcessingStatus};
use crate::model::{CommandOutcome, OrgId, SubBatchStatus, Wall};
use crate::report::format;
use crate::store::{AuditEvent, RunDir, RunPeek, SubBatchEntry, stamp};

use super::failure::{Failure, Outcome};
use super::front::Front;
use super::orders;
use super::out;
use super::runtime::runtime;
use super::setup::Setup;
use super::simulated::Simulated;

/// `fandeck cancel`.
#[derive(Debug, Args)]
pub(crate) struct CancelArgs {
    /// The run directory
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
    /// The sub-batch, by its index or by the API's id
    #[arg(value_name = "SUB_BATCH")]
    pub sub_batch: String,
    /// Cancel without asking
    #[arg(long)]
    pub yes: bool,
    /// Configuration file
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
}

/// Cancels a sub-batch.
pub(crate) fn cancel(args: &CancelArgs) -> Outcome {
    let peek = RunDir::peek(&args.dir)?;
    let entry = find(&peek, &args.sub_batch)?;
    let name = name(entry);
    match entry.status {
        SubBatchStatus::InProgress => {}
        SubBatchStatus::CancelRequested | SubBatchStatus::Canceling => {
            return out::print(&format!("{name} is being canceled already\n"));
        }
        SubBatchStatus::Ended | SubBatchStatus::Harvesting | SubBatchStatus::Harvested => {
            return out::print(&format!("{name} is {} already: there is nothing to cancel\n", entry.status));
        }
        other => return Err(Failure::usage(format!("{name} is {other}: it cannot be canceled"))),
    }
    if peek.owner.is_none() && Simulated::of_run(&peek.run).is_some() {
        return Err(Failure::usage(format!(
            "{name} was at the simulated API of a demo, which ended with its process; `fandeck resume {}` makes it anew",
            args.dir.display()
        )));
    }
    confirm(entry, args.yes)?;
    if peek.owner.is_some() { by_owner(&args.dir, entry) } else { here(args, entry.index) }
}

/// A sub-batch, by its index or by its id.
fn find<'p>(peek: &'p RunPeek, wanted: &str) -> Result<&'p SubBatchEntry, Failure> {
    let index: Option<u32> = wanted.parse().ok();
    let entries = &peek.state.sub_batches;
    let found = entries.iter().find(|entry| Some(entry.index) == index || entry.batch_id.as_deref() == Some(wanted));
    found.ok_or_else(|| {
        let known: Vec<String> = entries.iter().map(|entry| entry.index.to_string()).collect();
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        Failure::usage(format!("{}: there is no sub-batch {wanted}; begun are: {known}", peek.dir.display()))
    })
}

fn name(entry: &SubBatchEntry) -> String {
    match &entry.batch_id {
        Some(id) => format!("sub-batch {} ({id})", entry.index),
        None => format!("sub-batch {}", entry.index),
    }
}

/// Asks, naming what is at stake.
fn confirm(entry: &SubBatchEntry, yes: bool) -> Result<(), Failure> {
    if yes {
        return Ok(());
    }
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return Err(Failure::usage("there is no terminal to ask on; say --yes"));
    }
    let age = entry.began_at().map_or(0, |began| stamp::now().0.saturating_sub(began.0));
    let guess = if entry.adopted { " It was adopted by a guess: it may be a colleague's." } else { "" };
    let question = format!(
        "{}: {} requests, {} old, at {}.{guess} What it has processed is paid and kept; the rest goes to the sync path at its full price.\nCancel it? [y/N] ",
        name(entry),
        format::count(u64::from(entry.n_requests)),
        format::span(u64::try_from(age).unwrap_or(0)),
        entry.org
    );
    let mut err = io::stderr().lock();
    let mut answer = String::new();
    let asked = err.write_all(question.as_bytes()).and_then(|()| err.flush());
    let answered = asked.and_then(|()| io::stdin().lock().read_line(&mut answer));
    if answered.is_ok() && matches!(answer.trim(), "y" | "Y" | "yes") {
        Ok(())
    } else {
        Err(Failure::usage("not canceled"))
    }
}

/// Leaves the order for the run's owner, and waits for its answer.
fn by_owner(dir: &Path, entry: &SubBatchEntry) -> Outcome {
    match orders::cancel(dir, entry.index, entry.status).map_err(Failure::internal)? {
        CommandOutcome::Refused(text) => Err(Failure::usage(text)),
        outcome => out::print(&format!("{}\n", outcome.text())),
    }
}

/// Cancels it from this process, which owns the run for that long.
fn here(args: &CancelArgs, index: u32) -> Outcome {
    let setup = Setup::of_config(args.config.as_deref(), Front::Plain)?;
    let (dir, _, mut state) = RunDir::open(&args.dir)?;
    let Some(at) = state.sub_batches.iter().position(|entry| entry.index == index) else {
        return Err(Failure::internal(format!("sub-batch {index} has gone")));
    };
    let entry = &mut state.sub_batches[at];
    let (name, id) = (name(entry), entry.batch_id.clone().unwrap_or_default());
    if entry.status != SubBatchStatus::InProgress {
        return out::print(&format!("{name} has become {} meanwhile\n", entry.status));
    }
    let org = setup.orgs.iter().position(|org| org.label == entry.org);
    let org = org.and_then(|ix| u16::try_from(ix).ok()).map(OrgId).ok_or_else(|| {
        Failure::usage(format!("{name} is of org {}, which is not configured: its key is needed", entry.org))
    })?;
    let now = stamp::now();
    entry.status = SubBatchStatus::CancelRequested;
    entry.stuck_cancel_intent_at = Some(now);
    state.save(dir.path())?;
    tell(&dir, now, format!("STUCK BATCH: {name}: canceled by `fandeck cancel`"));
    let reply = runtime()?.block_on(setup.batches.cancel(org, &id)).result;
    let entry = &mut state.sub_batches[at];
    let text = match reply {
        Ok(batch) => {
            let ended = batch.processing_status == ProcessingStatus::Ended;
            entry.stuck_canceled_at = Some(stamp::now());
            entry.status = if ended { SubBatchStatus::Ended } else { SubBatchStatus::Canceling };
            entry.ended_at = if ended { batch.ended_at.or(Some(stamp::now())) } else { None };
            format!("{name}: the cancel was taken; `fandeck resume {}` harvests it", args.dir.display())
        }
        // What it means is found out by the next session, which looks, and cancels again if need be.
        Err(BatchFailure::Invalid(error) | BatchFailure::NotFound(error) | BatchFailure::Trouble(_, error)) => {
            return Err(Failure::internal(format!(
                "{name}: the cancel was not taken: {error}; the intent is kept, and `fandeck resume {}` tries again",
                args.dir.display()
            )));
        }
    };
    state.save(dir.path())?;
    out::print(&format!("{text}\n"))
}

fn tell(dir: &RunDir, at: Wall, text: String) {
    // The state file has it already; this is the line for people.
    let event = AuditEvent { at, kind: "stuck-batch".to_owned(), org: None, text, data: None };
    let _ = event.append(dir.path());
}
