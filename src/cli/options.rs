//! Options that several subcommands share: each is written, and worded, once.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::config::Overrides;

/// Options of what a plan is made by, and with it a run.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct PlanningArgs {
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
    /// What matters: latency, balanced or cost
    #[arg(long, value_name = "latency|balanced|cost")]
    pub cost_pref: Option<String>,
    /// Where the cache is, and the history of earlier runs
    #[arg(long, value_name = "DIR")]
    pub cache_dir: Option<PathBuf>,
    /// Neither look up nor fill the cache
    #[arg(long)]
    pub no_cache: bool,
    /// Configuration file
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
}

impl PlanningArgs {
    /// None, but for the configuration.
    pub(crate) fn of_config(config: Option<PathBuf>) -> PlanningArgs {
        PlanningArgs { config, ..PlanningArgs::default() }
    }

    /// What they say about settings.
    pub(crate) fn overrides(&self) -> Overrides {
        Overrides {
            procs: self.procs,
            cap: self.cap,
            sub_batch_size: self.sub_batch_size,
            max_open_sub_batches: self.max_open_sub_batches,
            cost_pref: self.cost_pref.clone(),
            orgs: self.orgs.clone().unwrap_or_default(),
            cache_dir: self.cache_dir.clone(),
            no_cache: self.no_cache,
            ..Overrides::default()
        }
    }
}

/// Options of everything that drives a run.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct DriveArgs {
    /// What its plan is made by
    #[command(flatten)]
    pub planning: PlanningArgs,
    /// Least time between two polls of a sub-batch: 15s, 1m
    #[arg(long, value_name = "DURATION")]
    pub poll_every: Option<String>,
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
    /// Launch without asking
    #[arg(long)]
    pub yes: bool,
    /// How to show it
    #[command(flatten)]
    pub show: ShowArgs,
}

impl DriveArgs {
    /// None, but for the configuration.
    pub(crate) fn of_config(config: Option<PathBuf>) -> DriveArgs {
        DriveArgs { planning: PlanningArgs::of_config(config), ..DriveArgs::default() }
    }
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
    /// No screen: plain lines, and what can be done with the run as a numbered list. For screen readers
    #[arg(long, conflicts_with_all = ["headless", "json"])]
    pub plain_ui: bool,
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
