//! `fandeck plan [INPUT]`: what a run would take, cost and risk on each route, before a cent is spent.

mod text;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;

use crate::catalog::Catalog;
use crate::config::Settings;
use crate::model::Scrubber;
use crate::plan::Plan;
use crate::store::{Last, stamp};
use crate::tui::screens::planner::Draft;

use super::console::{self, PlannedRun};
use super::deadline;
use super::drive::Shown;
use super::failure::{Failure, Outcome};
use super::front::Front;
use super::launch::{CacheAt, index, with_cache};
use super::logging::Logging;
use super::options::{DriveArgs, PathArg, PlanningArgs, ShowArgs};
use super::out;
use super::pilot::pilot;
use super::planned::{Asked, Ground, until};
use super::planner::{self, Planned};
use super::run::{RunArgs, expected_open};
use super::runtime::runtime;
use super::setup::{catalog, settings};
use super::work::Work;

/// `fandeck plan`. It needs neither keys nor the network, but for `--pilot`.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct PlanArgs {
    /// The file of requests; without it, --n and --model say what is to be sent
    #[arg(value_name = "INPUT")]
    pub input: Option<PathBuf>,
    /// How many requests; beside an input, as many of its kind
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(..=u64::from(u32::MAX)))]
    pub n: Option<u64>,
    /// The model; beside an input, instead of its own
    #[arg(long, value_name = "MODEL")]
    pub model: Option<String>,
    /// Which way the requests go
    #[arg(long, value_enum, default_value_t)]
    pub path: PathArg,
    /// By when it must be done: 90m, 6h, or an RFC 3339 time
    #[arg(long, value_name = "DURATION|TIME")]
    pub deadline: Option<String>,
    /// What it is made by
    #[command(flatten)]
    pub planning: PlanningArgs,
    /// Input tokens of a request, instead of what is measured or assumed
    #[arg(long, value_name = "N")]
    pub tokens_in: Option<f64>,
    /// Output tokens of a request, instead of what is measured or assumed
    #[arg(long, value_name = "N")]
    pub tokens_out: Option<f64>,
    /// Send so many of the input's requests now (100 unless N is given), at full price, and plan with what they measure.
    /// Their answers count: `fandeck resume` on the run directory sends the rest
    #[arg(long, value_name = "N", requires = "input", num_args = 0..=1, default_missing_value = "100")]
    pub pilot: Option<u32>,
    /// The run directory of a pilot; without it, a new one under the user's data directory
    #[arg(long, value_name = "DIR", requires = "pilot")]
    pub run_dir: Option<PathBuf>,
    /// Launch a pilot without asking
    #[arg(long)]
    pub yes: bool,
    /// No screen: print the plan. Chosen by itself when there is no terminal
    #[arg(long)]
    pub headless: bool,
    /// As one JSON object
    #[arg(long)]
    pub json: bool,
}

/// Plans, and prints the plan.
pub(crate) fn plan(args: &PlanArgs) -> Outcome {
    let settings = settings(args.planning.config.as_deref(), &args.planning.overrides())?;
    let catalog = catalog(settings.catalog_file.as_deref())?;
    let asked = asked(args)?;
    if args.model.as_ref().is_some_and(|model| model.trim().is_empty()) {
        return Err(Failure::usage("--model is empty: name a model, such as claude-haiku-4-5"));
    }
    if let (Some(n), Some(input)) = (args.pilot, &args.input) {
        return pilot(args, n, input, &asked);
    }
    let on_screen = Front::choose(&ShowArgs { json: args.json, headless: args.headless, ..ShowArgs::default() });
    if on_screen == Front::Screen {
        return screen(args, &settings, &Arc::new(catalog), &asked);
    }
    let mut work = work(args, &settings, &catalog)?;
    let model = match (&args.model, work.model()) {
        (Some(model), _) => model.clone(),
        (None, Some(model)) => model.to_owned(),
        (None, None) => return Err(Failure::usage("name the model by --model, or an input")),
    };
    if args.model.is_some() {
        work.groups.iter_mut().for_each(|group| group.model.clone_from(&model));
    }
    let labels = args.planning.orgs.clone().unwrap_or_default();
    let ground = Ground::of_settings(&settings, &catalog, &labels);
    print(&ground.plan(&work, &model, &asked), args.json)
}

/// Prints a plan, for people or for scripts.
pub(crate) fn print(plan: &Plan, json: bool) -> Outcome {
    if !json {
        return out::print(&text::of(plan));
    }
    let mut line =
        serde_json::to_string(plan).map_err(|error| Failure::internal(format!("failed to write the plan: {error}")))?;
    line.push('\n');
    out::print(&line)
}

/// A plan of nothing but numbers, to turn its knobs beside a run: of as many requests of the model as the run has.
pub(crate) fn what_if(config: Option<&Path>, model: Option<&str>, n: Option<u64>) -> Result<Draft, Failure> {
    let planning = PlanningArgs::of_config(config.map(Path::to_owned));
    let args = PlanArgs { n, model: model.map(str::to_owned), planning, ..PlanArgs::default() };
    let settings = settings(config, &args.planning.overrides())?;
    let catalog = catalog(settings.catalog_file.as_deref())?;
    Ok(planned(&args, &settings, &Arc::new(catalog), &asked(&args)?)?.draft)
}

/// Opens the planner: of an input, which can be launched from there, or of a number of requests, to ask what if.
fn screen(args: &PlanArgs, settings: &Settings, catalog: &Arc<Catalog>, asked: &Asked) -> Outcome {
    let planned = planned(args, settings, catalog, asked)?;
    let scrubber = Scrubber::new(settings.orgs.iter().map(|org| &org.key));
    let logging = Logging::start(Front::Screen, &settings.log_dir, "console".as_ref(), scrubber)?;
    let config = args.planning.config.clone();
    let shown = Shown { front: Front::Screen, show: ShowArgs::default(), config };
    runtime()?.block_on(console::show(console::Opening::Plan(Box::new(planned)), &shown, &logging))
}

/// What the planner is opened with.
fn planned(args: &PlanArgs, settings: &Settings, catalog: &Arc<Catalog>, asked: &Asked) -> Result<Planned, Failure> {
    const USUAL: u64 = 10_000;
    let numbers = PlanArgs { n: args.n.or(Some(USUAL)), ..args.clone() };
    let mut work = match args.input {
        Some(_) => work(args, settings, catalog)?,
        None => work(&numbers, settings, catalog)?,
    };
    let model = match (&args.model, work.model(), catalog.models().first()) {
        (Some(model), _, _) => model.clone(),
        (None, Some(model), _) => model.to_owned(),
        (None, None, first) => first.map_or("unknown", |info| info.id.as_str()).to_owned(),
    };
    let labels = args.planning.orgs.clone().unwrap_or_default();
    let ground = Ground::of_settings(settings, catalog, &labels);
    let run = args.input.as_ref().filter(|_| args.n.is_none() && args.model.is_none()).map(|input| as_run(args, input));
    if args.model.is_some() {
        work.groups.iter_mut().for_each(|group| group.model.clone_from(&model));
    }
    let named = run.as_ref().map(|run| run.input.display().to_string());
    let mut draft = planner::draft(&ground, &work, &model, asked, named, catalog);
    draft.confirm_above = settings.confirm_above_usd;
    draft.max_cost = settings.limits.max_cost;
    Ok(Planned { draft, run: run.map(|run| PlannedRun::new(run, None)) })
}

/// The run that a plan of an input is launched as.
fn as_run(args: &PlanArgs, input: &Path) -> RunArgs {
    let drive = DriveArgs { planning: args.planning.clone(), deadline: args.deadline.clone(), ..DriveArgs::default() };
    RunArgs { input: input.to_owned(), run_dir: None, path: args.path, drive }
}

fn asked(args: &PlanArgs) -> Result<Asked, Failure> {
    let tokens = |flag: &str, given: Option<f64>| match given {
        Some(n) if !(n.is_finite() && (0.0..=1e9).contains(&n)) => {
            Err(Failure::usage(format!("{flag} {n}: must be a number from 0 to 1000000000")))
        }
        given => Ok(given),
    };
    Ok(Asked {
        path: args.path.into(),
        deadline: until(args.deadline.as_deref().map(|text| deadline::parse(text, stamp::now())).transpose()?),
        tokens_in: tokens("--tokens-in", args.tokens_in)?,
        tokens_out: tokens("--tokens-out", args.tokens_out)?,
    })
}

/// What is to be sent: what an input has left after the cache, or a number.
fn work(args: &PlanArgs, settings: &Settings, catalog: &Catalog) -> Result<Work, Failure> {
    let Some(path) = &args.input else {
        let n = args.n.ok_or_else(|| Failure::usage("name an input, or say by --n how many requests there are"))?;
        return Ok(Work::of_number(n));
    };
    let cache = (settings.use_cache && settings.cache_dir.join(crate::store::Cache::NAME).exists())
        .then(|| CacheAt::of(&settings.cache_dir, &settings.orgs));
    let indexed = with_cache(index(path)?, cache)?;
    let last: Vec<Last> = expected_open(&indexed);
    let mut work = Work::of_input(&indexed.input, &last, catalog);
    if let Some(n) = args.n {
        // As many of its kind: nothing is known of what the cache has of them.
        (work.n_total, work.n_done) = (n, 0);
    }
    Ok(work)
}
