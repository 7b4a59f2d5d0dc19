//! `fandeck` without a subcommand: the runs found, and the ways to go on.

use crate::store::list_runs;

use super::failure::Outcome;
use super::launch::store_failure;
use super::out;
use super::runs::table;
use super::setup;

const WAYS: &str = "
  fandeck demo          the whole product against the simulated API: no key, no network
  fandeck run FILE      run a file of requests
  fandeck resume DIR    go on with a run
  fandeck export DIR    results in input order
  fandeck --help        everything else
";

/// Lists the runs found, newest first, and says what can be done.
pub(crate) fn home() -> Outcome {
    let dir = setup::runs_dir(None)?;
    let listed = list_runs(&dir).map_err(|error| store_failure(&error))?;
    let head = if listed.is_empty() { format!("no runs in {} yet\n", dir.display()) } else { table(&listed) };
    out::print(&format!("{head}{WAYS}"))
}
