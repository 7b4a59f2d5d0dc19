//! `fandeck` without a subcommand: on a terminal the console, elsewhere the runs found and the ways to go on.

use std::path::PathBuf;

use clap::Args;

use crate::config::Overrides;
use crate::model::Scrubber;
use crate::store::list_runs;

use super::drive::Shown;
use super::failure::Outcome;
use super::front::Front;
use super::logging::Logging;
use super::options::ShowArgs;
use super::runs::table;
use super::runtime::to_the_end;
use super::{console, out, setup};

/// Options of `fandeck` without a subcommand.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct ConsoleArgs {
    /// Configuration file
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// How to show it
    #[command(flatten)]
    pub show: ShowArgs,
}

const WAYS: &str = "
  fandeck demo          the whole product against the simulated API: no key, no network
  fandeck run FILE      run a file of requests
  fandeck resume DIR    go on with a run
  fandeck export DIR    results in input order
  fandeck --help        everything else
";

/// Opens the console; without a terminal, lists the runs found, newest first, and says what can be done.
pub(crate) fn home(args: &ConsoleArgs) -> Outcome {
    let front = Front::choose(&args.show);
    let settings = setup::settings(args.config.as_deref(), &Overrides::default())?;
    if front != Front::Screen {
        let listed = list_runs(&settings.runs_dir)?;
        let none = || format!("no runs in {} yet\n", settings.runs_dir.display());
        let head = if listed.is_empty() { none() } else { table(&listed) };
        return out::print(&format!("{head}{WAYS}"));
    }
    let scrubber = Scrubber::new(settings.orgs.iter().map(|org| &org.key));
    let logging = Logging::start(front, &settings.log_dir, "console".as_ref(), scrubber)?;
    let config = args.config.clone();
    let shown = Shown { front, show: args.show.clone(), config };
    to_the_end(console::show(console::Opening::Runs, &shown, &logging))
}
