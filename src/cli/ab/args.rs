//! The command line of `fandeck ab`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// What the fan-out is held against.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum BaselineArg {
    /// Messages API over one org, with 50 slots
    #[default]
    OneOrg,
    /// Message Batches of 8,000 over one org
    LegacyBatch,
}

/// `fandeck ab`.
#[derive(Debug, Args)]
pub(crate) struct AbArgs {
    /// The file of requests
    #[arg(value_name = "INPUT")]
    pub input: PathBuf,
    /// Run both arms; without it, they are projected and nothing is sent
    #[arg(long)]
    pub confirm: bool,
    /// Directory of both arms and of the result
    #[arg(long, value_name = "DIR", default_value_os_t = super::default_out())]
    pub out: PathBuf,
    /// What the fan-out is held against
    #[arg(long, value_enum, default_value_t)]
    pub baseline: BaselineArg,
    /// The org of the baseline; without it, the first
    #[arg(long, value_name = "LABEL")]
    pub baseline_org: Option<String>,
    /// Slots of the baseline, 1 to 10000
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub baseline_slots: u32,
    /// The speed-up that is to be reached
    #[arg(long, value_name = "X", default_value_t = 5.0)]
    pub target: f64,
    /// Orgs of the fan-out; without it, all
    #[arg(long, value_name = "LABEL,…", value_delimiter = ',')]
    pub orgs: Option<Vec<String>>,
    /// Lanes per key of the fan-out
    #[arg(long, value_name = "N")]
    pub procs: Option<u32>,
    /// Cap per org and lane of the fan-out
    #[arg(long, value_name = "N")]
    pub cap: Option<u32>,
    /// The cost that was authorised for both arms, in USD: more than 1.5 times that is refused
    #[arg(long, value_name = "USD")]
    pub authorized_cost: Option<f64>,
    /// Run although it is dear and no cost was authorised
    #[arg(long)]
    pub yes: bool,
    /// Configuration file
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// As NDJSON; the result is the last line
    #[arg(long)]
    pub json: bool,
}
