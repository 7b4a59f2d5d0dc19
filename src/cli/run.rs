//! `fandeck run INPUT`.

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;

use crate::model::{Money, Route, Wall};
use crate::plan::{Plan, Rule};
use crate::requests::{Input, spool};
use crate::store::{Claim, InputFile, Last, RunDir, RunFile, StateFile, remember_run, stamp};

use super::drive::{Shown, drive};
use super::failure::{Failure, Outcome};
use super::front::Front;
use super::gate;
use super::kept_index::KeptIndex;
use super::launch::{Indexed, Ready, index, with_cache};
use super::logging::Logging;
use super::options::{DriveArgs, PathArg};
use super::plan_record::{Made, for_the_record};
use super::planned::{Asked, Ground, until};
use super::planner;
use super::price_record;
use super::runtime::to_the_end;
use super::setup::Setup;
use super::work::Work;

/// `fandeck run`.
#[derive(Debug, Clone, Args)]
pub(crate) struct RunArgs {
    /// The file of requests, one JSON object with custom_id and params a line; - reads standard input
    #[arg(value_name = "INPUT")]
    pub input: PathBuf,
    /// The run directory itself; without it, a new one under the user's data directory
    #[arg(long, value_name = "DIR")]
    pub run_dir: Option<PathBuf>,
    /// Which way the requests go
    #[arg(long, value_enum, default_value_t)]
    pub path: PathArg,
    /// How to drive it
    #[command(flatten)]
    pub drive: DriveArgs,
}

/// Runs a file of requests.
pub(crate) fn run(args: &RunArgs) -> Outcome {
    let front = Front::choose(&args.drive.show);
    let from_stdin = args.input == Path::new("-");
    if from_stdin && front == Front::Screen && io::stdin().is_terminal() {
        return Err(Failure::usage("- reads requests from standard input, which is a terminal; pipe a file into it"));
    }
    if from_stdin && front == Front::Choices {
        return Err(Failure::usage("- and --plain-ui both read standard input; give the requests as a file"));
    }
    // A file is validated before a directory is made for it; standard input has to be kept somewhere first.
    let early = if from_stdin { None } else { Some(KeptIndex::of(&args.input)?) };
    let setup = Setup::for_a_run(&args.drive, front)?;
    let path = args.run_dir.clone().unwrap_or_else(|| new_dir(&setup.runs_dir, &args.input));
    if let (Front::Screen, false, Some(kept)) = (front, args.drive.yes, &early) {
        // Refused before anybody looks at a plan; let go again, so that one who leaves leaves no directory behind.
        drop(RunDir::claim(&path)?);
        let indexed = with_cache(Arc::clone(kept.input()), setup.cache())?;
        return planner::before_run(args, kept, &indexed, &asked(args, &setup), &setup);
    }
    let claim = RunDir::claim(&path)?;
    // Before the run is made, so that a place that takes no log leaves no run behind.
    let logging = Logging::start(front, &setup.log_dir, &path, setup.scrubber.clone())?;
    let input = match early {
        Some(kept) => Arc::clone(kept.input()),
        None => {
            let to = claim.spool_path();
            spool(io::stdin().lock(), &to).map_err(|error| {
                Failure::usage(format!("failed to spool standard input to {}: {error}", to.display()))
            })?;
            index(&to)?
        }
    };
    let indexed = with_cache(input, setup.cache())?;
    let new = NewRun::plan(args, indexed, &setup)?;
    if !args.drive.yes {
        gate::before_run(&new.indexed, &new.open, &setup, front, new.plan.route)?;
    }
    let (ready, indexed) = new.start(claim, args, &setup)?;
    launch(ready, indexed, &setup, front, &args.drive, &logging)
}

/// A run that is planned and not made yet.
pub(crate) struct NewRun {
    /// Its plan.
    pub plan: Plan,
    /// Its requests.
    indexed: Indexed,
    /// Where each would be if the cache were taken now.
    open: Vec<Last>,
}

impl NewRun {
    /// Plans it; refuses what no agreement overrides.
    pub(crate) fn plan(args: &RunArgs, indexed: Indexed, setup: &Setup) -> Result<NewRun, Failure> {
        let open = expected_open(&indexed);
        let plan = plan_of(&indexed, &open, &asked(args, setup), setup);
        gate::refuses(&indexed, &open, setup, Money::ZERO, plan.route)?;
        Ok(NewRun { plan, indexed, open })
    }

    /// Makes it in a directory, and takes what the cache has.
    pub(crate) fn start(self, claim: Claim, args: &RunArgs, setup: &Setup) -> Result<(Ready, Indexed), Failure> {
        let NewRun { plan, indexed, .. } = self;
        let spooled = args.input == Path::new("-");
        let named = if spooled { "standard input".to_owned() } else { args.input.display().to_string() };
        let mut file = run_file(&indexed.input, Named { named, spooled }, route(&plan), setup)?;
        file.plan = for_the_record(&plan, Made::FIRST);
        let last = vec![Last::Unsent; indexed.input.len() as usize];
        let mut dir = claim.start(&file)?;
        dir.exclude_copies(&setup.at_work(), &file.run_id)?;
        if args.run_dir.is_some() {
            remember(&setup.runs_dir, dir.path());
        }
        let state = StateFile::fresh(&file);
        let mut ready = Ready { dir, run: file, state, last, recovered: None, re_drive: false, only: None };
        ready.take_hits(&indexed)?;
        Ok((ready, indexed))
    }
}

/// What the operator asks of the plan.
pub(crate) fn asked(args: &RunArgs, setup: &Setup) -> Asked {
    Asked { path: args.path.into(), deadline: until(setup.limits.deadline.map(Wall)), ..Asked::default() }
}

/// Hands a run to the engine and shows it.
pub(crate) fn launch(
    ready: Ready,
    indexed: Indexed,
    setup: &Setup,
    front: Front,
    drive_args: &DriveArgs,
    logging: &Logging,
) -> Outcome {
    let config = drive_args.planning.config.clone();
    let shown = Shown { front, show: drive_args.show.clone(), config };
    let specs = ready.specs(indexed, setup, !front.is_attended())?;
    to_the_end(drive(specs, &shown, logging))
}

/// Makes a run directory that is elsewhere findable among the others. One that cannot be made so still runs.
pub(crate) fn remember(runs_dir: &Path, run_dir: &Path) {
    if let Err(error) = remember_run(runs_dir, run_dir) {
        tracing::warn!("{} will not be in the list of runs: {error}", run_dir.display());
    }
}

/// The plan of what an input has left.
pub(crate) fn plan_of(indexed: &Indexed, last: &[Last], asked: &Asked, setup: &Setup) -> Plan {
    let work = Work::of_input(&indexed.input, last, &setup.catalog);
    let model = work.model().unwrap_or_default().to_owned();
    Ground::of_setup(setup).plan(&work, &model, asked)
}

/// The path of a plan, and the rule that chose it.
pub(crate) fn route(plan: &Plan) -> (Route, String) {
    let reason = match plan.rule {
        Rule::Forced => plan.route_reason.clone(),
        rule => format!("{}: {}", rule.as_str(), plan.route_reason),
    };
    (plan.route, reason)
}

/// Where each request would be if the cache were taken now.
pub(crate) fn expected_open(indexed: &Indexed) -> Vec<Last> {
    match &indexed.cached {
        None => vec![Last::Unsent; indexed.input.len() as usize],
        Some((keys, cache)) => {
            cache.lookup(keys).into_iter().map(|hit| if hit { Last::Cached } else { Last::Unsent }).collect()
        }
    }
}

/// A new directory's name: when, and what of. Two of the same second differ in their nonce.
pub(crate) fn new_dir(runs: &Path, input: &Path) -> PathBuf {
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
        plan: None,
        pilot: None,
        prices: price_record::record(input, &setup.catalog),
        settings: setup.cache_dir.is_none().then(RunFile::without_cache).into_iter().collect(),
    })
}
