//! `fandeck demo`: the whole product against the embedded simulated API.

use std::path::{Path, PathBuf};

use crate::model::Route;
use crate::store::{Last, RunDir, StateFile};

use super::args::{DemoArgs, PathArg};
use super::demo_input;
use super::failure::{Failure, Outcome};
use super::front::Front;
use super::launch::{Indexed, Ready, index, store_failure};
use super::out;
use super::run::{Named, run_file};
use super::simulated::{Simulated, beside};

/// Runs the demo.
pub(crate) fn demo(args: &DemoArgs) -> Outcome {
    let mut simulated = Simulated::load(&args.scenario, args.seed, args.time_scale)?;
    simulated.batch_share = match args.path {
        PathArg::Auto => simulated.batch_share,
        PathArg::Sync => 0.0,
        PathArg::Batch => 1.0,
    };
    let route = route(args.path, simulated.batch_share);
    let n = args.requests.unwrap_or(simulated.scenario.demo.requests);
    if n == 0 {
        return Err(Failure::usage("--requests 0: at least 1 is allowed"));
    }
    let front = Front::choose(&args.show);
    let (run_dir, kept) = place(args.run_dir.as_deref())?;
    let claim = RunDir::claim(&run_dir).map_err(|error| store_failure(&error))?;
    let input = beside(&run_dir, ".input.jsonl");
    let made = demo_input::write(&input, n);
    made.map_err(|error| Failure::usage(format!("failed to write {}: {error}", input.display())))?;
    let input = index(&input)?;
    let settings = simulated.settings();
    let named = format!("demo, scenario {}", args.scenario);
    let exit_code = simulated.drive(front, &args.show, &run_dir, |setup| {
        let mut run = run_file(&input, Named { named, spooled: false }, route, setup)?;
        run.settings = settings;
        let dir = claim.start(&run).map_err(|error| store_failure(&error))?;
        let state = StateFile::fresh(&run);
        let last = vec![Last::Unsent; input.len() as usize];
        Ok((Ready { dir, run, state, last, recovered: None, re_drive: false }, Indexed { input, cached: None }))
    })?;
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
