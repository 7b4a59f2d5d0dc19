//! The planner's errands: the audit of the input, a pilot of it, and the launch of what was agreed to.
//!
//! A pilot is the first session of the run, in its directory; a launch from the same planner goes on there, so that nothing
//! that the pilot has paid for is sent again.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use crate::cli::audit::facts;
use crate::cli::failure::Failure;
use crate::cli::front::Front;
use crate::cli::kept_index::KeptIndex;
use crate::cli::launch::{Indexed, Ready, Specs, with_cache};
use crate::cli::options::PathArg;
use crate::cli::pilot::Pilot;
use crate::cli::planned::Ground;
use crate::cli::resume::ResumeArgs;
use crate::cli::run::{NewRun, RunArgs, asked, expected_open, new_dir, plan_of, remember};
use crate::cli::setup::{Setup, catalog, settings};
use crate::cli::work::Work;
use crate::cli::{gate, planner, resume};
use crate::config::Overrides;
use crate::model::{Finding, PathChoice, Route, Snapshot};
use crate::report::format;
use crate::requests::{Input, audit_file};
use crate::store::{Last, RunDir};
use crate::tui::backstage::{Attached, LaunchOrder, PilotTerms, Piloted};
use crate::tui::screens::planner::pilot::FEWEST;

use super::{Console, blocking, lock};

/// Requests of a pilot, as `fandeck plan --pilot` sends without a number.
const PILOT: u32 = 100;

/// The input that is planned, and what is kept of it from one errand to the next.
pub(crate) struct PlannedRun {
    /// As it would be run.
    args: RunArgs,
    /// Its index.
    index: Mutex<Option<KeptIndex>>,
    /// The run directory that a pilot was sent in.
    begun: Mutex<Option<PathBuf>>,
}

impl PlannedRun {
    /// Of these arguments; an index that is there already is used.
    pub(crate) fn new(args: RunArgs, index: Option<KeptIndex>) -> PlannedRun {
        PlannedRun { args, index: Mutex::new(index), begun: Mutex::default() }
    }

    /// The input. A second errand waits for the first to have it.
    fn input(&self) -> Result<Arc<Input>, Failure> {
        KeptIndex::renew(&mut lock(&self.index), &self.args.input)
    }

    /// The directory of a pilot, while it is there.
    pub(super) fn begun(&self) -> Option<PathBuf> {
        lock(&self.begun).clone().filter(|dir| dir.exists())
    }

    /// Takes the directory of a pilot and reads back what is durable in it.
    fn go_on(&self, dir: PathBuf, args: &RunArgs, setup: &Setup) -> Result<(Ready, Indexed), Failure> {
        let args = ResumeArgs {
            dir,
            re_drive: false,
            path: args.path,
            accept_changed_input: false,
            accept_lost_results: false,
            drive: args.drive.clone(),
        };
        resume::open_with(&args, setup, |path| KeptIndex::renew(&mut lock(&self.index), path))
    }
}

/// What the API will refuse in the input, and what a prompt cache would save.
pub(super) fn audit(planned: &PlannedRun) -> Result<Vec<Finding>, String> {
    let args = &planned.args;
    let orgs = args.drive.planning.orgs.clone().unwrap_or_default();
    let found = || {
        let settings = settings(args.drive.planning.config.as_deref(), &Overrides { orgs, ..Overrides::default() })?;
        let catalog = catalog(settings.catalog_file.as_deref())?;
        audit_file(&args.input, &facts(&settings, &catalog), &mut |_| {}).map_err(Failure::usage)
    };
    found().map(|report| report.findings).map_err(words)
}

fn words(failure: Failure) -> String {
    failure.message
}

/// Runs the input as it was agreed to.
pub(super) async fn launch(console: Console, planned: Arc<PlannedRun>, order: LaunchOrder) -> Result<Attached, String> {
    let made = Arc::clone(&planned);
    let (ready, indexed, setup) = blocking(move || make(&made, &order).map_err(words)).await?;
    let attached = super::act::hand_over(&console, ready, indexed, &setup)?;
    // It is the run's from here on; what is launched next is another one.
    *lock(&planned.begun) = None;
    Ok(attached)
}

/// The arguments with what the operator set on the screen.
fn as_ordered(args: &RunArgs, order: &LaunchOrder) -> RunArgs {
    let mut args = args.clone();
    args.path = match order.path {
        PathChoice::Auto => PathArg::Auto,
        PathChoice::Sync => PathArg::Sync,
        PathChoice::Batch => PathArg::Batch,
    };
    args.drive.planning.cost_pref = Some(order.cost_pref.to_string());
    if let Some(deadline) = order.deadline {
        args.drive.deadline = deadline.map(|by| format!("{}s", by.as_secs().max(1)));
    }
    args.drive.planning.procs = Some(order.procs);
    args.drive.planning.sub_batch_size = Some(order.sub_batch_size);
    args.drive.planning.orgs = Some(order.orgs.clone());
    args
}

fn make(planned: &PlannedRun, order: &LaunchOrder) -> Result<(Ready, Indexed, Setup), Failure> {
    let args = as_ordered(&planned.args, order);
    let setup = Setup::for_a_run(&args.drive, Front::Screen)?;
    if let Some(dir) = planned.begun() {
        let (mut ready, indexed) = planned.go_on(dir, &args, &setup)?;
        let is_open = |last: &&Last| matches!(last, Last::Unsent | Last::ReDrivable);
        let n = ready.last.iter().filter(is_open).count() as u64;
        refuse_another(order, ready.run.path, n)?;
        let spent = ready.recovered.as_ref().map(|recovered| recovered.books.spent()).unwrap_or_default();
        gate::refuses(&indexed, &ready.last, &setup, spent, ready.run.path)?;
        ready.take_hits(&indexed)?;
        return Ok((ready, indexed, setup));
    }
    let dir = args.run_dir.clone().unwrap_or_else(|| new_dir(&setup.runs_dir, &args.input));
    let indexed = with_cache(planned.input()?, setup.cache())?;
    let new = NewRun::plan(&args, indexed, &setup)?;
    refuse_another(order, new.plan.route, new.plan.n_to_send)?;
    let claim = RunDir::claim(&dir)?;
    let (ready, indexed) = new.start(claim, &args, &setup)?;
    Ok((ready, indexed, setup))
}

/// What is launched is what was agreed to.
fn refuse_another(order: &LaunchOrder, route: Route, n: u64) -> Result<(), Failure> {
    if route == order.route && n <= order.agreed {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "not launched: {} requests over the {route} path are planned by now, and {} over {} were agreed to; look again",
        format::count(n),
        format::count(order.agreed),
        order.route
    )))
}

/// What a pilot would send, and for how much.
pub(super) fn assess_pilot(planned: &PlannedRun, order: &LaunchOrder) -> Result<PilotTerms, String> {
    let args = as_ordered(&planned.args, order);
    let assess = || {
        let setup = Setup::for_a_run(&args.drive, Front::Screen)?;
        let (indexed, open) = match planned.begun() {
            Some(dir) => {
                let (ready, indexed) = planned.go_on(dir, &args, &setup)?;
                (indexed, ready.last)
            }
            None => {
                let indexed = with_cache(planned.input()?, setup.cache())?;
                let open = expected_open(&indexed);
                (indexed, open)
            }
        };
        terms(&Pilot::of(&indexed, &open, PILOT, &setup))
    };
    assess().map_err(words)
}

fn terms(pilot: &Pilot) -> Result<PilotTerms, Failure> {
    if pilot.len() == 0 {
        return Err(Failure::usage("no request is left that was never sent: there is nothing to pilot with"));
    }
    let cost = &pilot.cost;
    Ok(PilotTerms { n: pilot.len() as u64, expected: cost.priced(cost.expected), range: (cost.low, cost.high) })
}

/// Sends a pilot, as it was agreed to.
pub(super) async fn pilot(
    console: Console,
    planned: Arc<PlannedRun>,
    order: LaunchOrder,
    agreed: PilotTerms,
) -> Result<Attached, String> {
    let specs = blocking(move || make_pilot(&planned, &order, &agreed).map_err(words)).await?;
    console.drive(specs).map_err(words)
}

fn make_pilot(planned: &PlannedRun, order: &LaunchOrder, agreed: &PilotTerms) -> Result<Specs, Failure> {
    let args = as_ordered(&planned.args, order);
    let setup = Setup::for_a_run(&args.drive, Front::Screen)?;
    if let Some(dir) = planned.begun() {
        let (mut ready, indexed) = planned.go_on(dir, &args, &setup)?;
        let pilot = Pilot::of(&indexed, &ready.last, PILOT, &setup);
        refuse_dearer(&terms(&pilot)?, agreed)?;
        ready.only = Some(pilot.chosen().to_vec());
        return ready.specs(indexed, &setup, true);
    }
    let indexed = with_cache(planned.input()?, setup.cache())?;
    let open = expected_open(&indexed);
    let pilot = Pilot::of(&indexed, &open, PILOT, &setup);
    refuse_dearer(&terms(&pilot)?, agreed)?;
    let plan = plan_of(&indexed, &open, &asked(&args, &setup), &setup);
    let dir = args.run_dir.clone().unwrap_or_else(|| new_dir(&setup.runs_dir, &args.input));
    let claim = RunDir::claim(&dir)?;
    let specs = pilot.prepare(claim, indexed, &args.input.display().to_string(), &plan, &setup)?;
    if args.run_dir.is_some() {
        remember(&setup.runs_dir, &dir);
    }
    *lock(&planned.begun) = Some(dir);
    Ok(specs)
}

fn refuse_dearer(now: &PilotTerms, agreed: &PilotTerms) -> Result<(), Failure> {
    let is_dearer = match (now.expected, agreed.expected) {
        (Some(now), Some(agreed)) => now > agreed,
        (now, agreed) => now.is_some() != agreed.is_some(),
    };
    if now.n > agreed.n || is_dearer {
        return Err(Failure::usage("the pilot would be another one than was agreed to; look again"));
    }
    Ok(())
}

fn n_429(snapshot: &Snapshot) -> u64 {
    snapshot.orgs.iter().map(|org| org.totals.n_429()).sum()
}

/// The plan of what a pilot has left, and what came of the pilot. `ending` is its last picture.
pub(super) fn measure(planned: &PlannedRun, ending: &Snapshot) -> Result<Piloted, String> {
    let args = &planned.args;
    let plan_anew = || {
        let dir = planned.begun().ok_or_else(|| Failure::internal("there is no pilot"))?;
        let setup = Setup::for_a_run(&args.drive, Front::Screen)?;
        let (ready, indexed) = planned.go_on(dir, args, &setup)?;
        let work = Work::of_input(&indexed.input, &ready.last, &setup.catalog);
        let first = indexed.input.models().first().map_or("", |used| used.model.as_str());
        let model = work.model().unwrap_or(first).to_owned();
        let ground = Ground::of_setup(&setup);
        let named = Some(args.input.display().to_string());
        Ok(planner::draft(&ground, &work, &model, &asked(args, &setup), named, &setup.catalog))
    };
    let draft = plan_anew().map_err(words)?;
    Ok(Piloted { draft: Box::new(draft), said: in_words(ending) })
}

/// What came of a pilot.
fn in_words(ending: &Snapshot) -> Result<String, String> {
    let Some(run) = ending.runs.first() else { return Err("the pilot has no end".to_owned()) };
    let sum = |of: &dyn Fn(&crate::model::snapshot::OrgTotals) -> u64| -> u64 {
        ending.orgs.iter().map(|org| of(&org.totals)).sum()
    };
    let answered = sum(&|totals| totals.n_ok + totals.n_refused);
    let faults = [
        ("invalid", run.counts.invalid),
        ("429", n_429(ending)),
        ("overloaded", sum(&|totals| totals.n_overloaded)),
        ("server errors", sum(&|totals| totals.n_5xx)),
        ("broken connections", sum(&|totals| totals.n_transport)),
        ("account trouble", sum(&|totals| totals.n_account)),
    ];
    let faults: String =
        faults.iter().filter(|(_, n)| *n > 0).map(|(what, n)| format!(", {} × {what}", format::count(*n))).collect();
    let cost = format::money(run.cost);
    if answered >= FEWEST {
        return Ok(format!("pilot: {answered} answers for {cost} measured tokens and latency{faults}"));
    }
    let why = run.reason.as_ref().map(|reason| format!("; {reason}")).unwrap_or_default();
    Err(format!("pilot failed: {answered} answered{faults}{why}. The figures stay as they were"))
}
