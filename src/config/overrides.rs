//! What the command line says about settings.

use std::path::PathBuf;

/// The flags that override settings; the command line fills it in.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Overrides {
    /// `--procs`.
    pub procs: Option<u32>,
    /// `--cap`.
    pub cap: Option<u32>,
    /// `--sub-batch-size`.
    pub sub_batch_size: Option<u32>,
    /// `--max-open-sub-batches`.
    pub max_open_sub_batches: Option<u32>,
    /// `--poll-every`.
    pub poll_every: Option<String>,
    /// `--cost-pref`.
    pub cost_pref: Option<String>,
    /// `--max-cost`, in USD.
    pub max_cost: Option<f64>,
    /// `--max-requests`.
    pub max_requests: Option<u32>,
    /// `--orgs`: labels; empty takes all.
    pub orgs: Vec<String>,
    /// `--cache-dir`.
    pub cache_dir: Option<PathBuf>,
    /// `--no-cache`.
    pub no_cache: bool,
    /// The run has no screen, by flag or by itself: nobody watches an outage.
    pub headless: bool,
}
