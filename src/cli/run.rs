//! `fandeck run INPUT`.

use std::collections::BTreeMap;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::model::{Money, Route};
use crate::requests::{Input, spool};
use crate::store::{InputFile, Last, RunDir, RunFile, StateFile, remember_run, stamp};

use super::args::{PathArg, RunArgs};
use super::drive::{Shown, drive, runtime};
use super::failure::{Failure, Outcome};
use super::front::Front;
use super::gate;
use super::launch::{Indexed, Ready, index, store_failure, with_cache};
use super::logging::Logging;
use super::setup::Setup;

/// Runs a file of requests.
pub(crate) fn run(args: &RunArgs) -> Outcome {
    let route = route(args.path);
    let front = Front::choose(&args.drive.show);
    let from_stdin = args.input == Path::new("-");
    if from_stdin && front == Front::Screen && io::stdin().is_terminal() {
        return Err(Failure::usage("- reads requests from standard input, which is a terminal; pipe a file into it"));
    }
    // A file is validated before a directory is made for it; standard input has to be kept somewhere first.
    let early = if from_stdin { None } else { Some(index(&args.input)?) };
    let setup = Setup::for_a_run(&args.drive, front)?;
    let path = args.run_dir.clone().unwrap_or_else(|| new_dir(&setup.runs_dir, &args.input));
    let mut claim = RunDir::claim(&path).map_err(|error| store_failure(&error))?;
    // Before the run is made, so that a place that takes no log leaves no run behind.
    let logging = Logging::start(front, &setup.log_dir, &path, setup.scrubber.clone())?;
    let input = match early {
        Some(input) => input,
        None => {
            let to = claim.spool_path();
            spool(io::stdin().lock(), &to).map_err(|error| {
                Failure::usage(format!("failed to spool standard input to {}: {error}", to.display()))
            })?;
            index(&to)?
        }
    };
    let indexed = with_cache(input, setup.cache_dir.as_deref())?;
    let named = if from_stdin { "standard input".to_owned() } else { args.input.display().to_string() };
    let file = run_file(&indexed.input, Named { named, spooled: from_stdin }, route, &setup)?;
    let last = vec![Last::Unsent; indexed.input.len() as usize];
    let open = expected_open(&indexed);
    gate::refuses(&indexed, &open, &setup, Money::ZERO)?;
    if !args.drive.yes && front == Front::Screen {
        // Let go while the operator is asked: one who leaves by Ctrl-C leaves no directory behind.
        drop(claim);
        gate::before_run(&indexed, &open, &setup, front, &path)?;
        claim = RunDir::claim(&path).map_err(|error| store_failure(&error))?;
    } else if !args.drive.yes {
        gate::before_run(&indexed, &open, &setup, front, &path)?;
    }
    let dir = claim.start(&file).map_err(|error| store_failure(&error))?;
    if args.run_dir.is_some() {
        remember(&setup.runs_dir, dir.path());
    }
    let state = StateFile::fresh(&file);
    let mut ready = Ready { dir, run: file, state, last, recovered: None, re_drive: false };
    ready.take_hits(&indexed)?;
    launch(ready, indexed, &setup, front, &args.drive, &logging)
}

/// Hands a run to the engine and shows it.
pub(crate) fn launch(
    ready: Ready,
    indexed: Indexed,
    setup: &Setup,
    front: Front,
    drive_args: &super::args::DriveArgs,
    logging: &Logging,
) -> Outcome {
    let config = drive_args.config.clone();
    let shown = Shown { front, show: drive_args.show.clone(), config, leave_when_done: false };
    let (engine, run) = ready.specs(indexed, setup, front != Front::Screen)?;
    runtime()?.block_on(drive(engine, run, &shown, logging))
}

/// Makes a run directory that is elsewhere findable among the others. One that cannot be made so still runs.
pub(crate) fn remember(runs_dir: &Path, run_dir: &Path) {
    if let Err(error) = remember_run(runs_dir, run_dir) {
        tracing::warn!("{} will not be in the list of runs: {error}", run_dir.display());
    }
}

/// The path, and the rule that chose it.
fn route(path: PathArg) -> (Route, String) {
    match path {
        PathArg::Sync => (Route::Sync, "forced by --path sync".to_owned()),
        PathArg::Auto => (Route::Sync, "sync, unless --path batch is asked for".to_owned()),
        PathArg::Batch => (Route::Batch, "forced by --path batch".to_owned()),
    }
}

/// Where each request would be if the cache were taken now.
fn expected_open(indexed: &Indexed) -> Vec<Last> {
    match &indexed.cached {
        None => vec![Last::Unsent; indexed.input.len() as usize],
        Some((keys, cache)) => {
            cache.lookup(keys).into_iter().map(|hit| if hit { Last::Cached } else { Last::Unsent }).collect()
        }
    }
}

/// A new directory's name: when, and what of. Two of the same second differ in their nonce.
fn new_dir(runs: &Path, input: &Path) -> PathBuf {
    let now = jiff::Timestamp::now().strftime("%Y%m%d-%H%M%S").to_string();
    let stem = match input.file_stem().and_then(|stem| stem.to_str()) {
        Some("-") | None => "stdin",
        Some(stem) => stem,
    };
    let stem: String = stem.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).take(40).collect();
    runs.join(format!("{now}-{stem}-{}", nonce(4)))
}

fn nonce(len: usize) -> String {
    std::iter::repeat_with(|| char::from(*fastrand::choice(b"0123456789abcdefghjkmnpqrstvwxyz").unwrap_or(&b'0')))
        .take(len)
        .collect()
}

/// What the operator knows of an input.
pub(crate) struct Named {
    /// What it is called.
    pub named: String,
    /// It came by standard input.
    pub spooled: bool,
}

/// What `run.json` says of a new run.
pub(crate) fn run_file(
    input: &Arc<Input>,
    from: Named,
    (path_of_run, reason): (Route, String),
    setup: &Setup,
) -> Result<RunFile, Failure> {
    let path = std::path::absolute(input.path())
        .map_err(|error| Failure::usage(format!("failed to find {}: {error}", input.path().display())))?;
    let nonce = nonce(8);
    Ok(RunFile {
        format: crate::store::run_file::FORMAT,
        fandeck: env!("CARGO_PKG_VERSION").to_owned(),
        run_id: format!("run-{}-{nonce}", jiff::Timestamp::now().strftime("%Y%m%dT%H%M%SZ")),
        nonce,
        created_at: stamp::now(),
        input: InputFile {
            path,
            named: from.named,
            sha256: input.sha256().to_owned(),
            count: u64::from(input.len()),
            bytes: input.bytes(),
            spooled: from.spooled,
        },
        path: path_of_run,
        route_reason: reason,
        models: input.models().iter().map(|used| used.model.clone()).collect(),
        orgs: setup.orgs.iter().map(|org| org.label.clone()).collect(),
        settings: BTreeMap::new(),
    })
}
