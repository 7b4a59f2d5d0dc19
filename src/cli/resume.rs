//! `fandeck resume DIR`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;

use crate::model::{Route, Wall};
use crate::report::format;
use crate::requests::Input;
use crate::store::{Recovered, RunDir, RunFile, StateFile, backfill, compare_input, recover};

use super::failure::{Failure, Outcome};
use super::front::Front;
use super::gate;
use super::launch::{Indexed, Ready, index, with_cache};
use super::logging::Logging;
use super::options::{DriveArgs, PathArg};
use super::out;
use super::plan_record::{Made, for_the_record};
use super::planned::{Asked, until};
use super::rescue;
use super::run::{launch, plan_of, route};
use super::setup::Setup;
use super::simulated::Simulated;

/// `fandeck resume`.
#[derive(Debug, Args)]
pub(crate) struct ResumeArgs {
    /// The run directory
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
    /// Also send again what a policy left re-drivable
    #[arg(long)]
    pub re_drive: bool,
    /// After a pilot: which way the rest goes
    #[arg(long, value_enum, default_value_t)]
    pub path: PathArg,
    /// Go on although the input has changed, with what still matches
    #[arg(long)]
    pub accept_changed_input: bool,
    /// Go on although results are missing from the journal, and pay for them again
    #[arg(long)]
    pub accept_lost_results: bool,
    /// How to drive it
    #[command(flatten)]
    pub drive: DriveArgs,
}

/// Goes on with a run directory: what was never sent and what is re-drivable is sent. A finished run sends nothing. A run
/// of the demo goes on against the simulated API.
pub(crate) fn resume(args: &ResumeArgs) -> Outcome {
    let front = Front::choose(&args.drive.show);
    let run = RunFile::load(&args.dir)?;
    if let Some(simulated) = Simulated::of_run(&run) {
        return simulated?.drive(front, &args.drive.show, &args.dir, |setup| open(args, setup));
    }
    let mut setup = Setup::for_a_run(&args.drive, front)?;
    let (mut ready, indexed) = open(args, &setup)?;
    refuse_another_path(args, &ready.run)?;
    setup.limits = setup.limits.or(&ready.state.limits);
    let spent = ready.recovered.as_ref().map(|recovered| recovered.books.spent()).unwrap_or_default();
    gate::refuses(&indexed, &ready.last, &setup, spent, ready.run.path)?;
    if !args.drive.yes {
        gate::before_resume(&indexed, &ready.last, &setup, front, ready.run.path)?;
    }
    ready.take_hits(&indexed)?;
    let logging = Logging::start(front, &setup.log_dir, &args.dir, setup.scrubber.clone())?;
    launch(ready, indexed, &setup, front, &args.drive, &logging)
}

/// The path of a run is chosen when it is launched, and that of a pilot's when the rest is.
fn refuse_another_path(args: &ResumeArgs, run: &RunFile) -> Result<(), Failure> {
    let same = match args.path {
        PathArg::Auto => true,
        PathArg::Sync => run.path == Route::Sync,
        PathArg::Batch => run.path == Route::Batch,
    };
    if run.pilot.is_some() || same {
        return Ok(());
    }
    Err(Failure::usage(format!("the run was launched on the {} path, and stays there; leave out --path", run.path)))
}

/// What a pilot has left gets the route that its measurements lead to.
fn plan_anew(args: &ResumeArgs, setup: &Setup, ready: &mut Ready, indexed: &Indexed) {
    if ready.run.pilot.is_none() {
        return;
    }
    let asked = Asked { path: args.path.into(), deadline: until(setup.limits.deadline.map(Wall)), ..Asked::default() };
    let plan = plan_of(indexed, &ready.last, &asked, setup);
    (ready.run.path, ready.run.route_reason) = route(&plan);
    let spent_usd = ready.recovered.as_ref().map(|recovered| recovered.books.spent()).unwrap_or_default();
    let made = Made { session: ready.state.sessions + 1, spent_usd, wall_ms: ready.state.wall_ms };
    ready.run.plan = for_the_record(&plan, made);
}

/// Takes the directory and reads back what is durable.
pub(crate) fn open(args: &ResumeArgs, setup: &Setup) -> Result<(Ready, Indexed), Failure> {
    open_with(args, setup, index)
}

/// As [`open`], with an index that may be there already.
pub(crate) fn open_with(
    args: &ResumeArgs,
    setup: &Setup,
    index: impl FnOnce(&Path) -> Result<Arc<Input>, Failure>,
) -> Result<(Ready, Indexed), Failure> {
    let (mut dir, run, mut state) = RunDir::open(&args.dir)?;
    dir.exclude_copies(&setup.at_work(), &run.run_id)?;
    if Simulated::of_run(&run).is_some() {
        // Batches of a simulated API ended with the process that served it, and their answers were never paid.
        let n_lost = state.n_in_batches();
        state.sub_batches.retain(|entry| entry.status.is_over());
        if n_lost > 0 {
            out::say(&format!(
                "fandeck: the batches of the simulated API ended with it: their {} requests are sent again",
                format::count(n_lost)
            ));
        }
    }
    let input = index(&input_path(&run, &args.dir))?;
    refuse_changed_input(&args.dir, &run, &input, args.accept_changed_input)?;
    let mut recovered = recover(&dir, &input, &mut |_| {})?;
    say_repairs(&recovered);
    if take_in_rescued(&dir, &run, setup)? {
        recovered = recover(&dir, &input, &mut |_| {})?;
    }
    if !args.accept_lost_results {
        refuse_lost_results(&dir, &state, &recovered)?;
    }
    let cache = setup.cache().filter(|_| run.may_use_cache());
    let mut indexed = with_cache(input, cache)?;
    fill_cache(&args.dir, &mut indexed, &recovered);
    let last = recovered.last.clone();
    let mut ready = Ready { dir, run, state, last, recovered: Some(recovered), re_drive: args.re_drive, only: None };
    plan_anew(args, setup, &mut ready, &indexed);
    Ok((ready, indexed))
}

/// Answers that the directory did not take when the run was left; whether there were any. What cannot be taken in ends the
/// resume: to send it again is to pay for it twice.
fn take_in_rescued(dir: &RunDir, run: &RunFile, setup: &Setup) -> Result<bool, Failure> {
    let taken = rescue::take_in(rescue::places(Some(&setup.log_dir)), &run.run_id, &dir.journal_path()).map_err(
        |(path, error)| {
            Failure::usage(format!(
                "failed to put answers that were kept aside into the journal: {}: {error}",
                path.display()
            ))
        },
    )?;
    for path in &taken {
        out::say(&format!("fandeck: the answers that were kept in {} are in the journal now", path.display()));
    }
    Ok(!taken.is_empty())
}

fn say_repairs(recovered: &Recovered) {
    if let Some(torn) = &recovered.torn {
        out::say(&format!(
            "fandeck: the journal ended in the middle of a line: {} bytes are kept aside in {}",
            torn.bytes,
            torn.kept.display()
        ));
    }
    if recovered.n_bad > 0 {
        out::say(&format!(
            "fandeck: {} lines of the journal cannot be read and are passed over; the first at byte {}",
            recovered.n_bad,
            recovered.bad_offsets.first().copied().unwrap_or_default()
        ));
    }
}

/// Refuses a journal that has lost outcomes. `state.json` counts only what was durable in the journal before, so the journal
/// has as many or, after a crash, more. Lines about another text and about ids that the input has no more are outcomes,
/// too: an input that was changed is another matter.
fn refuse_lost_results(dir: &RunDir, state: &StateFile, recovered: &Recovered) -> Result<(), Failure> {
    let found = recovered.counts().done() + recovered.n_changed + recovered.n_alien;
    let known = state.counts.done();
    if found >= known {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "{journal} holds {found} outcomes, and state.json says that {known} were there: {n} results that were paid for are \
         missing; put the journal back, or go on by --accept-lost-results, which sends and pays for the missing ones again \
         (those in the cache are taken from there)",
        journal = dir.journal_path().display(),
        found = format::count(found),
        known = format::count(known),
        n = format::count(known - found),
    )))
}

/// Where the input of a run is: in its directory when it was standard input.
pub(crate) fn input_path(run: &RunFile, dir: &Path) -> PathBuf {
    if run.input.spooled { dir.join("input.jsonl") } else { run.input.path.clone() }
}

/// Refuses an input that is not the one that the run was made for, naming the difference.
pub(crate) fn refuse_changed_input(dir: &Path, run: &RunFile, input: &Arc<Input>, accept: bool) -> Result<(), Failure> {
    match compare_input(dir, run, input)? {
        Some(change) if !accept => Err(Failure::usage(format!(
            "{} has changed since the run was made: {change}; put the old file back, or go on with what still matches by \
             --accept-changed-input",
            input.path().display()
        ))),
        _ => Ok(()),
    }
}

/// A process that died between the journal and the cache left answers that only the journal has. The cache is advice: its
/// trouble is said and costs nothing.
fn fill_cache(dir: &Path, indexed: &mut Indexed, recovered: &Recovered) {
    let Indexed { input, cached: Some((keys, cache)) } = indexed else { return };
    if let Err(error) = backfill(dir, input, recovered, keys, cache) {
        out::say(&format!("fandeck: the cache was not filled up: {error}"));
    }
}
