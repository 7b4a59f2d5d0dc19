//! The command line, as a contract: scripts and benchmarks use it. The options of a subcommand stand in its own file, those
//! that several share in `options`.

use clap::{Parser, Subcommand};
use clap_complete::Shell;

use super::ab::AbArgs;
use super::audit::AuditArgs;
use super::cancel::CancelArgs;
use super::config::ConfigArgs;
use super::demo::DemoArgs;
use super::export::ExportArgs;
use super::home::ConsoleArgs;
use super::plan::PlanArgs;
use super::report::ReportArgs;
use super::resume::ResumeArgs;
use super::run::RunArgs;
use super::runs::RunsArgs;
use super::simulate::SimulateArgs;
use super::status::StatusArgs;

/// Exit codes, for `--help` and the manual page.
const EXIT_CODES: &str = "Exit codes:
  0    every request succeeded
  1    internal error
  2    usage, configuration or input problem; nothing was sent
  3    finished, some requests invalid or refused; of ab: an id lost or undone, or its target missed
  4    incomplete, can be resumed (orgs parked, stopped, outage)
  5    the run directory is owned by another process
  130, 143, 129  ended by Ctrl-C, SIGTERM, SIGHUP; can be resumed";

/// A terminal operations console for people who run very many Claude calls over several organisation keys.
#[derive(Debug, Parser)]
#[command(name = "fandeck", version, about, after_help = EXIT_CODES, disable_help_subcommand = true)]
// An option of the console before a subcommand would be heard by nobody: `fandeck --read-only demo` is refused.
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Cli {
    /// What to do; without it, the console opens on a terminal, and elsewhere the runs found are listed.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// Options of the console
    #[command(flatten)]
    pub console: ConsoleArgs,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show the whole product against the embedded simulated API: no key, no network
    Demo(DemoArgs),
    /// Say what a run would take, cost and risk on each route, and which one the rules choose
    Plan(PlanArgs),
    /// Run a file of requests
    Run(RunArgs),
    /// Say what the API will refuse in a file of requests, and what a prompt cache would save; nothing is sent
    Audit(AuditArgs),
    /// Go on with a run directory
    Resume(ResumeArgs),
    /// Cancel a sub-batch that is stuck, and let the run finish it on the sync path
    Cancel(CancelArgs),
    /// Show where a run is
    Status(StatusArgs),
    /// List the runs found
    Runs(RunsArgs),
    /// Write the results in input order
    Export(ExportArgs),
    /// Say what happened in a run: outcomes, time, money, per org
    Report(ReportArgs),
    /// Hold the fan-out against the old way: two runs of one input, back to back, with the figures of both
    Ab(AbArgs),
    /// Serve the simulated API
    Simulate(SimulateArgs),
    /// Show every setting with its origin
    Config(ConfigArgs),
    /// Print a completion script
    Completions {
        /// For which shell
        shell: Shell,
    },
    /// Print the manual page, in roff
    Man,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
