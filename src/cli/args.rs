//! The command line, as a contract: scripts and benchmarks use it.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

use super::args_after::{AbArgs, ReportArgs};

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

/// Options of everything that drives a run.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct DriveArgs {
    /// Lanes per key, 1 to 64: multiplies every cap
    #[arg(long, value_name = "N")]
    pub procs: Option<u32>,
    /// Cap per org and lane, 1 to 10000, instead of the family's own
    #[arg(long, value_name = "N")]
    pub cap: Option<u32>,
    /// Requests of a sub-batch, 1 to 100000
    #[arg(long, value_name = "N")]
    pub sub_batch_size: Option<u32>,
    /// Sub-batches that an org may have open at once, 1 to 100
    #[arg(long, value_name = "N")]
    pub max_open_sub_batches: Option<u32>,
    /// Least time between two polls of a sub-batch: 15s, 1m
    #[arg(long, value_name = "DURATION")]
    pub poll_every: Option<String>,
    /// What matters: latency, balanced or cost
    #[arg(long, value_name = "latency|balanced|cost")]
    pub cost_pref: Option<String>,
    /// What the run may cost in USD, over all of its sessions: it ends incomplete before it costs more
    #[arg(long, value_name = "USD")]
    pub max_cost: Option<f64>,
    /// Attempts that the run may make, over all of its sessions
    #[arg(long, value_name = "N")]
    pub max_requests: Option<u32>,
    /// When to stop sending: a duration such as 90m from now, or an RFC 3339 time; what is left can be resumed. One sooner
    /// than 24 h takes the sync path
    #[arg(long, value_name = "DURATION|TIME")]
    pub deadline: Option<String>,
    /// The cost that was authorised, in USD: a run that is projected to cost more than 1.5 times that is refused
    #[arg(long, value_name = "USD")]
    pub authorized_cost: Option<f64>,
    /// Only these orgs
    #[arg(long, value_name = "LABEL,…", value_delimiter = ',')]
    pub orgs: Option<Vec<String>>,
    /// Where the cache is
    #[arg(long, value_name = "DIR")]
    pub cache_dir: Option<PathBuf>,
    /// Neither look up nor fill the cache
    #[arg(long)]
    pub no_cache: bool,
    /// Configuration file
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Launch without asking
    #[arg(long)]
    pub yes: bool,
    /// How to show it
    #[command(flatten)]
    pub show: ShowArgs,
}

/// Options of the frontends.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct ShowArgs {
    /// No screen: plain lines. Chosen by itself when there is no terminal
    #[arg(long)]
    pub headless: bool,
    /// No screen: one JSON object a line
    #[arg(long)]
    pub json: bool,
    /// On screen, refuse every action that changes something
    #[arg(long)]
    pub read_only: bool,
    /// On screen, leave the mouse to the terminal
    #[arg(long)]
    pub no_mouse: bool,
    /// On screen, no colours; NO_COLOR in the environment does the same
    #[arg(long)]
    pub no_color: bool,
    /// On screen, ASCII borders and bars; chosen by itself when the locale is not UTF-8
    #[arg(long)]
    pub ascii: bool,
}

/// Which way the requests go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum PathArg {
    /// As the rules decide
    #[default]
    Auto,
    /// Messages API fan-out
    Sync,
    /// Message Batches
    Batch,
}

/// `fandeck run`.
#[derive(Debug, Clone, Args)]
pub(crate) struct RunArgs {
    /// The file of requests, one JSON object with custom_id and params a line; - reads standard input
    #[arg(value_name = "INPUT")]
    pub input: PathBuf,
    /// The run directory itself; without it, a new one under the user's data directory
    #[arg(long, value_name = "DIR")]
    pub run_dir: Option<PathBuf>,
    /// Which way the requests go
    #[arg(long, value_enum, default_value_t)]
    pub path: PathArg,
    /// How to drive it
    #[command(flatten)]
    pub drive: DriveArgs,
}

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
    /// What matters: latency, balanced or cost
    #[arg(long, value_name = "latency|balanced|cost")]
    pub cost_pref: Option<String>,
    /// By when it must be done: 90m, 6h, or an RFC 3339 time
    #[arg(long, value_name = "DURATION|TIME")]
    pub deadline: Option<String>,
    /// Lanes per key, 1 to 64: multiplies every cap
    #[arg(long, value_name = "N")]
    pub procs: Option<u32>,
    /// Cap per org and lane, 1 to 10000, instead of the family's own
    #[arg(long, value_name = "N")]
    pub cap: Option<u32>,
    /// Only these orgs
    #[arg(long, value_name = "LABEL,…", value_delimiter = ',')]
    pub orgs: Option<Vec<String>>,
    /// Requests of a sub-batch, 1 to 100000
    #[arg(long, value_name = "N")]
    pub sub_batch_size: Option<u32>,
    /// Sub-batches that an org may have open at once, 1 to 100
    #[arg(long, value_name = "N")]
    pub max_open_sub_batches: Option<u32>,
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
    /// Where the cache is, and the history of earlier runs
    #[arg(long, value_name = "DIR")]
    pub cache_dir: Option<PathBuf>,
    /// Do not look into the cache
    #[arg(long)]
    pub no_cache: bool,
    /// Configuration file
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// No screen: print the plan. Chosen by itself when there is no terminal
    #[arg(long)]
    pub headless: bool,
    /// As one JSON object
    #[arg(long)]
    pub json: bool,
}

/// `fandeck audit`.
#[derive(Debug, Args)]
pub(crate) struct AuditArgs {
    /// The file of requests; - reads standard input
    #[arg(value_name = "INPUT")]
    pub input: PathBuf,
    /// As one JSON object
    #[arg(long)]
    pub json: bool,
    /// Only these orgs
    #[arg(long, value_name = "LABEL,…", value_delimiter = ',')]
    pub orgs: Option<Vec<String>>,
    /// Configuration file
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
}

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

/// `fandeck cancel`.
#[derive(Debug, Args)]
pub(crate) struct CancelArgs {
    /// The run directory
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
    /// The sub-batch, by its index or by the API's id
    #[arg(value_name = "SUB_BATCH")]
    pub sub_batch: String,
    /// Cancel without asking
    #[arg(long)]
    pub yes: bool,
    /// Configuration file
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
}

/// `fandeck status`.
#[derive(Debug, Args)]
pub(crate) struct StatusArgs {
    /// The run directory
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
    /// As JSON
    #[arg(long)]
    pub json: bool,
}

/// `fandeck runs`.
#[derive(Debug, Args)]
pub(crate) struct RunsArgs {
    /// As JSON, one object a line
    #[arg(long)]
    pub json: bool,
    /// Configuration file
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
}

/// Forms of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum ExportFormat {
    /// The API's batch-result lines
    #[default]
    Jsonl,
    /// A table with a header line
    Csv,
}

/// `fandeck export`.
#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// The run directory
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
    /// Form of the output
    #[arg(long, value_enum, default_value_t)]
    pub format: ExportFormat,
    /// Where to write; without it, standard output
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Keep the fandeck block of each line
    #[arg(long)]
    pub with_meta: bool,
    /// Export although the input has changed, what still matches
    #[arg(long)]
    pub accept_changed_input: bool,
}

/// `fandeck simulate`.
#[derive(Debug, Args)]
pub(crate) struct SimulateArgs {
    /// Address to listen on
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8787")]
    pub listen: String,
    /// Address of the statistics; without it, they are not served
    #[arg(long, value_name = "ADDR")]
    pub control: Option<String>,
    /// Scenario, by name or by file
    #[arg(long, value_name = "NAME|FILE", default_value = "calm")]
    pub scenario: String,
    /// How many times faster than real its clock runs
    #[arg(long, value_name = "X", default_value_t = 1.0)]
    pub time_scale: f64,
    /// Seed of everything that is drawn by lot
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
}

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

/// `fandeck config`.
#[derive(Debug, Args)]
pub(crate) struct ConfigArgs {
    /// Say whether the configuration is sound, and nothing else
    #[arg(long)]
    pub check: bool,
    /// Print the sample configuration, which equals the defaults
    #[arg(long)]
    pub default: bool,
    /// Configuration file
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// As JSON, one setting a line
    #[arg(long)]
    pub json: bool,
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
