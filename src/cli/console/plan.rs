//! The planner's errands: the audit of the input, and the launch of what was agreed to.

use crate::cli::args::{PathArg, RunArgs};
use crate::cli::audit::facts;
use crate::cli::failure::Failure;
use crate::cli::front::Front;
use crate::cli::launch::{Indexed, Ready, index, store_failure, with_cache};
use crate::cli::run::{NewRun, new_dir};
use crate::cli::setup::{Setup, catalog, settings};
use crate::config::Overrides;
use crate::model::{Finding, PathChoice};
use crate::report::format;
use crate::requests::audit_file;
use crate::store::RunDir;
use crate::tui::backstage::{Attached, LaunchOrder};

use super::{Console, blocking};

/// What the API will refuse in the input, and what a prompt cache would save.
pub(super) fn audit(args: &RunArgs) -> Result<Vec<Finding>, String> {
    let orgs = args.drive.orgs.clone().unwrap_or_default();
    let found = || {
        let settings = settings(args.drive.config.as_deref(), &Overrides { orgs, ..Overrides::default() })?;
        let catalog = catalog(settings.catalog_file.as_deref())?;
        audit_file(&args.input, &facts(&settings, &catalog), &mut |_| {}).map_err(Failure::usage)
    };
    found().map(|report| report.findings).map_err(|failure| failure.message)
}

/// Runs the input as it was agreed to.
pub(super) async fn launch(console: Console, args: RunArgs, order: LaunchOrder) -> Result<Attached, String> {
    let made = blocking(move || make(&as_ordered(args, &order), &order).map_err(|failure| failure.message));
    let (ready, indexed, setup) = made.await?;
    super::act::hand_over(&console, ready, indexed, &setup)
}

/// The arguments with what the operator set on the screen.
fn as_ordered(mut args: RunArgs, order: &LaunchOrder) -> RunArgs {
    args.path = match order.path {
        PathChoice::Auto => PathArg::Auto,
        PathChoice::Sync => PathArg::Sync,
        PathChoice::Batch => PathArg::Batch,
    };
    args.drive.cost_pref = Some(order.cost_pref.to_string());
    if let Some(deadline) = order.deadline {
        args.drive.deadline = deadline.map(|by| format!("{}s", by.as_secs().max(1)));
    }
    args.drive.procs = Some(order.procs);
    args.drive.sub_batch_size = Some(order.sub_batch_size);
    args.drive.orgs = Some(order.orgs.clone());
    args
}

fn make(args: &RunArgs, order: &LaunchOrder) -> Result<(Ready, Indexed, Setup), Failure> {
    let input = index(&args.input)?;
    let setup = Setup::for_a_run(&args.drive, Front::Screen)?;
    let dir = args.run_dir.clone().unwrap_or_else(|| new_dir(&setup.runs_dir, &args.input));
    let indexed = with_cache(input, setup.cache_dir.as_deref())?;
    let new = NewRun::plan(args, indexed, &setup)?;
    let (route, n) = (new.plan.route, new.plan.n_to_send);
    if route != order.route || n > order.agreed {
        return Err(Failure::usage(format!(
            "not launched: {} requests over the {route} path are planned by now, and {} over {} were agreed to; look again",
            format::count(n),
            format::count(order.agreed),
            order.route
        )));
    }
    let claim = RunDir::claim(&dir).map_err(|error| store_failure(&error))?;
    let (ready, indexed) = new.start(claim, args, &setup)?;
    Ok((ready, indexed, setup))
}
