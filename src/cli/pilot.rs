//! A pilot: a few dozen of the input's own requests are sent at full price, to plan the rest with what they measure.
//!
//! It is the first session of the run itself. Its answers are in the run directory (and in the cache) like any others, so
//! that nothing of it is paid again when the rest is launched there by `fandeck resume`.

use std::path::Path;

use crate::model::{Money, RequestNo, Route, Snapshot};
use crate::plan::{Cost, Plan};
use crate::report::format;
use crate::store::{Claim, Last, RunDir, StateFile};

use super::drive::{Driving, RUN};
use super::failure::{Failure, Outcome};
use super::front::Front;
use super::gate::answer;
use super::launch::{Indexed, Ready, Specs, index, with_cache};
use super::logging::Logging;
use super::options::DriveArgs;
use super::out;
use super::plan::PlanArgs;
use super::plan_record::{Made, for_the_record};
use super::planned::Asked;
use super::price::Price;
use super::run::{Named, expected_open, new_dir, plan_of, run_file};
use super::runtime::runtime;
use super::setup::Setup;
use super::signals::{Ended, Signals};

/// Fewest requests of a pilot: fewer measure nothing that a plan could go by.
const LEAST: u32 = super::history::FEWEST as u32;
/// Most requests of a pilot: more is a run.
const MOST: u32 = 1_000;

/// What a pilot will send, and what that costs.
pub(crate) struct Pilot {
    /// Evenly over what the input has left, since files are often sorted.
    chosen: Vec<RequestNo>,
    /// On the sync path.
    pub cost: Cost,
}

impl Pilot {
    /// Of `n` requests, or of all that are left when they are fewer.
    pub(crate) fn of(indexed: &Indexed, open: &[Last], n: u32, setup: &Setup) -> Pilot {
        let left: Vec<RequestNo> =
            (0..indexed.input.len()).map(RequestNo).filter(|no| open.get(no.ix()) == Some(&Last::Unsent)).collect();
        let n = (n as usize).min(left.len());
        let chosen: Vec<RequestNo> = (0..n).filter_map(|at| left.get(at * left.len() / n.max(1)).copied()).collect();
        let mut alone = vec![Last::Cached; open.len()];
        for no in &chosen {
            if let Some(slot) = alone.get_mut(no.ix()) {
                *slot = Last::Unsent;
            }
        }
        Pilot { chosen, cost: Price::of(&indexed.input, &alone, setup, Route::Sync).cost }
    }

    /// What it sends.
    pub(crate) fn chosen(&self) -> &[RequestNo] {
        &self.chosen
    }

    /// How many requests it sends.
    pub(crate) fn len(&self) -> usize {
        self.chosen.len()
    }

    /// Makes the run that it is the first session of. `plan` is what was known before.
    pub(crate) fn prepare(
        &self,
        claim: Claim,
        indexed: Indexed,
        named: &str,
        plan: &Plan,
        setup: &Setup,
    ) -> Result<Specs, Failure> {
        let reason = format!("a pilot of {} requests; the rest is planned when it is launched", self.len());
        let named = Named { named: named.to_owned(), spooled: false };
        let mut run = run_file(&indexed.input, named, (Route::Sync, reason), setup)?;
        run.pilot = Some(self.len() as u64);
        run.plan = for_the_record(plan, Made::FIRST);
        let mut dir = claim.start(&run)?;
        dir.exclude_copies(&setup.at_work(), &run.run_id)?;
        let state = StateFile::fresh(&run);
        let last = vec![Last::Unsent; indexed.input.len() as usize];
        let only = Some(self.chosen.clone());
        let mut ready = Ready { dir, run, state, last, recovered: None, re_drive: false, only };
        ready.take_hits(&indexed)?;
        ready.specs(indexed, setup, true)
    }
}

/// `fandeck plan INPUT --pilot N`.
pub(crate) fn pilot(args: &PlanArgs, n: u32, input: &Path, asked: &Asked) -> Outcome {
    if !(LEAST..=MOST).contains(&n) {
        return Err(Failure::usage(format!("--pilot {n}: must be from {LEAST} to {MOST}")));
    }
    if args.n.is_some() || args.model.is_some() {
        return Err(Failure::usage("--pilot sends the input's own requests; leave out --n and --model"));
    }
    let drive = DriveArgs { planning: args.planning.clone(), ..DriveArgs::default() };
    let setup = Setup::for_a_run(&drive, Front::Plain)?;
    let indexed = with_cache(index(input)?, setup.cache())?;
    let mut open = expected_open(&indexed);
    let pilot = Pilot::of(&indexed, &open, n, &setup);
    let plan = plan_of(&indexed, &open, asked, &setup);
    if pilot.len() == 0 {
        return super::plan::print(&plan, args.json);
    }
    let dir = args.run_dir.clone().unwrap_or_else(|| new_dir(&setup.runs_dir, input));
    agree(&pilot, &setup, args, &dir)?;
    let claim = RunDir::claim(&dir)?;
    let logging = Logging::start(Front::Plain, &setup.log_dir, &dir, setup.scrubber.clone())?;
    super::run::remember(&setup.runs_dir, &dir);
    let kept = Indexed { input: indexed.input.clone(), cached: None };
    let specs = pilot.prepare(claim, indexed, &input.display().to_string(), &plan, &setup)?;
    let (snapshot, exit_code) = runtime()?.block_on(send(specs, &logging))?;
    let done = told(&snapshot, &pilot, &dir)?;
    for no in pilot.chosen.iter().take(done) {
        if let Some(slot) = open.get_mut(no.ix()) {
            *slot = Last::Succeeded;
        }
    }
    super::plan::print(&plan_of(&kept, &open, asked, &setup), args.json)?;
    // Incomplete is what a pilot leaves by design.
    Ok(if exit_code == 4 { 0 } else { exit_code })
}

/// Names the price and asks; without a terminal, `--yes` or a small price is the answer.
fn agree(pilot: &Pilot, setup: &Setup, args: &PlanArgs, dir: &Path) -> Result<(), Failure> {
    let cost = &pilot.cost;
    let range = |money: Money| format::money(money);
    let price = match cost.priced(cost.expected) {
        Some(expected) => format!("{} ({} to {})", range(expected), range(cost.low), range(cost.high)),
        None => "a price that is not known".to_owned(),
    };
    out::say(&format!("pilot: {} requests on the sync path for {price}, into {}", pilot.len(), dir.display()));
    if args.yes {
        return Ok(());
    }
    let at_terminal = std::io::IsTerminal::is_terminal(&std::io::stdin());
    if at_terminal {
        let yes = answer("Send them? [y/N] ").is_some_and(|answer| matches!(answer.trim(), "y" | "Y" | "yes"));
        return if yes { Ok(()) } else { Err(Failure::usage("not sent; nothing was paid")) };
    }
    if cost.n_unpriced > 0 || cost.expected > setup.confirm_above {
        return Err(Failure::usage(format!(
            "the pilot's price, {price}, is not known to be below confirm-above-usd ({}); send it with --yes",
            format::money(setup.confirm_above)
        )));
    }
    Ok(())
}

/// Sends, with no other frontend than the end.
async fn send(specs: Specs, logging: &Logging) -> Result<(std::sync::Arc<Snapshot>, u8), Failure> {
    let by_signal = Ended::default();
    let signals = Signals::listen()?;
    let driving = Driving::start(specs)?;
    let watcher = tokio::spawn(signals.stop(driving.handle.clone(), RUN, by_signal.clone()));
    let ending = driving.rest(&logging.file).await?;
    watcher.abort();
    let exit_code = ending.close(&by_signal);
    Ok((std::sync::Arc::clone(&ending.snapshot), exit_code))
}

/// Says what came of it. Gives how many are done.
fn told(snapshot: &Snapshot, pilot: &Pilot, dir: &Path) -> Result<usize, Failure> {
    let Some(run) = snapshot.runs.first() else { return Err(Failure::internal("the pilot has no end")) };
    let counts = &run.counts;
    let done = counts.succeeded + counts.refused + counts.invalid;
    let why = run.reason.as_ref().map(|reason| format!("; {reason}")).unwrap_or_default();
    out::say(&format!(
        "pilot: {} of {} answered, {} refused, {} invalid, for {}{why}\npilot: fandeck resume {} sends the rest",
        format::count(counts.succeeded),
        pilot.len(),
        format::count(counts.refused),
        format::count(counts.invalid),
        format::money(run.cost),
        dir.display()
    ));
    if done == 0 {
        return Err(Failure { exit_code: 4, message: "the pilot got no answer; nothing was measured".to_owned() });
    }
    Ok(usize::try_from(done).unwrap_or(usize::MAX))
}
