//! `fandeck demo`: the whole product against the embedded simulated API.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;

use crate::model::Route;
use crate::requests::Input;
use crate::store::{Claim, Last, RunDir, StateFile};

use super::demo_input;
use super::failure::{Failure, Outcome};
use super::front::Front;
use super::launch::{Indexed, Ready, index};
use super::options::{PathArg, ShowArgs};
use super::out;
use super::run::{Named, run_file};
use super::setup::Setup;
use super::simulated::{Simulated, beside};

/// `fandeck demo`.
#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// How many requests
    #[arg(long, value_name = "N")]
    pub requests: Option<u32>,
    /// Scenario, by name or by file
    #[arg(long, value_name = "NAME|FILE", default_value = "demo")]
    pub scenario: String,
    /// Which way the requests go; auto is as the scenario says
    #[arg(long, value_enum, default_value_t)]
    pub path: PathArg,
    /// How many times faster than real the simulated clock runs; without it, as the scenario says
    #[arg(long, value_name = "X")]
    pub time_scale: Option<f64>,
    /// Seed of everything that is drawn by lot
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// The run directory; without it, a new one in the system's directory for temporary files
    #[arg(long, value_name = "DIR")]
    pub run_dir: Option<PathBuf>,
    /// How to show it
    #[command(flatten)]
    pub show: ShowArgs,
}

impl DemoArgs {
    /// The demo as it is without any option.
    pub(crate) fn usual() -> DemoArgs {
        DemoArgs {
            requests: None,
            scenario: "demo".to_owned(),
            path: PathArg::Auto,
            time_scale: None,
            seed: 1,
            run_dir: None,
            show: ShowArgs::default(),
        }
    }
}

/// A demo whose files are made.
pub(crate) struct Made {
    /// What it runs against.
    pub simulated: Simulated,
    /// Its run directory.
    pub run_dir: PathBuf,
    /// Where its files stay, when nobody named a place.
    pub kept: Option<PathBuf>,
    /// Its run, not begun.
    pub seed: Seed,
}

/// A run of the demo that is not begun.
pub(crate) struct Seed {
    claim: Claim,
    input: Arc<Input>,
    settings: BTreeMap<String, String>,
    named: String,
    /// Its path, and why.
    route: (Route, String),
}

impl Seed {
    /// Begins the run.
    pub(crate) fn ready(self, setup: &Setup) -> Result<(Ready, Indexed), Failure> {
        let Seed { claim, input, settings, named, route } = self;
        let mut run = run_file(&input, Named { named, spooled: false }, route, setup)?;
        run.settings = settings;
        let dir = claim.start(&run)?;
        let state = StateFile::fresh(&run);
        let last = vec![Last::Unsent; input.len() as usize];
        Ok((
            Ready { dir, run, state, last, recovered: None, re_drive: false, only: None },
            Indexed { input, cached: None },
        ))
    }
}

/// Makes the files of a demo.
pub(crate) fn make(args: &DemoArgs) -> Result<Made, Failure> {
    let mut simulated = Simulated::load(&args.scenario, args.seed, args.time_scale)?;
    simulated.batch_share = match args.path {
        PathArg::Auto => simulated.batch_share,
        PathArg::Sync => 0.0,
        PathArg::Batch => 1.0,
    };
    let n = args.requests.unwrap_or(simulated.scenario.demo.requests);
    if n == 0 {
        return Err(Failure::usage("--requests 0: at least 1 is allowed"));
    }
    let (run_dir, kept) = place(args.run_dir.as_deref())?;
    let claim = RunDir::claim(&run_dir)?;
    let path = beside(&run_dir, ".input.jsonl");
    let made = demo_input::write(&path, n);
    made.map_err(|error| Failure::usage(format!("failed to write {}: {error}", path.display())))?;
    let settings = simulated.settings();
    let named = format!("demo, scenario {}", args.scenario);
    let route = route(args.path, simulated.batch_share);
    let seed = Seed { claim, input: index(&path)?, settings, named, route };
    Ok(Made { simulated, run_dir, kept, seed })
}

/// Runs the demo.
pub(crate) fn demo(args: &DemoArgs) -> Outcome {
    let front = Front::choose(&args.show);
    let Made { simulated, run_dir, kept, seed } = make(args)?;
    let exit_code = simulated.drive(front, &args.show, &run_dir, |setup| seed.ready(setup))?;
    if let (Some(kept), true) = (kept, front != Front::Json) {
        out::say(&format!("fandeck: the files of the demo stay in {} until you delete them", kept.display()));
    }
    Ok(exit_code)
}

/// The path, and why.
fn route(asked: PathArg, batch_share: f64) -> (Route, String) {
    let by = match asked {
        PathArg::Auto => "the scenario",
        PathArg::Sync => "--path sync",
        PathArg::Batch => "--path batch",
    };
    if batch_share <= 0.0 {
        (Route::Sync, format!("sync, by {by}"))
    } else if batch_share < 1.0 {
        (Route::Batch, format!("{:.0} % in sub-batches and the rest on sync, by {by}", batch_share * 100.0))
    } else {
        (Route::Batch, format!("batch, by {by}"))
    }
}

/// The run directory, and the directory of everything when nobody named one. It stays: a demo can be resumed and exported
/// like any other run.
fn place(named: Option<&Path>) -> Result<(PathBuf, Option<PathBuf>), Failure> {
    let Some(dir) = named else {
        let temp = tempfile::Builder::new()
            .prefix("fandeck-demo-")
            .tempdir()
            .map_err(|error| Failure::usage(format!("failed to make a temporary directory: {error}; set TMPDIR")))?
            .keep();
        return Ok((temp.join("run"), Some(temp)));
    };
    let dir = std::path::absolute(dir)
        .map_err(|error| Failure::usage(format!("failed to find {}: {error}", dir.display())))?;
    Ok((dir, None))
}
