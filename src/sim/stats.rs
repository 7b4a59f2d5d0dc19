//! What the simulated API counted. Orgs are named by label; no key is ever in here.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::batch::Counts;
use super::request::Place;

/// All counters at one moment.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Stats {
    /// Seconds on the simulation's clock since its start.
    pub at_s: f64,
    /// Requests that arrived, whatever became of them.
    pub n_requests: u64,
    /// Those of them that asked for a Message; the others cost nothing.
    pub n_messages: u64,
    /// Requests answered, by HTTP status. An answer that was cut off in its body counts.
    pub answered: BTreeMap<u16, u64>,
    /// Connections dropped without an answer, on purpose.
    pub n_reset: u64,
    /// Requests that were never answered, on purpose.
    pub n_hung: u64,
    /// Answers cut off in the middle of their bodies, on purpose.
    pub n_cut: u64,
    /// Requests whose caller left before the answer.
    pub n_abandoned: u64,
    /// Requests without an answer yet.
    pub in_flight: u32,
    /// Highest number of requests in flight at once.
    pub in_flight_peak: u32,
    /// Different bodies among the Messages requests.
    pub distinct_bodies: u64,
    /// Bodies that arrived more than once.
    pub bodies_seen_twice: u64,
    /// Different bodies that were accepted: processed and billed, whether or not the answer reached the caller.
    pub bodies_accepted: u64,
    /// Bodies that were accepted more than once: each one is money spent twice.
    pub bodies_accepted_twice: u64,
    /// What all orgs were billed, millionths of a dollar.
    pub cost_micro_usd: u64,
    /// By org, in the order of the scenario, then of first appearance.
    pub orgs: Vec<OrgStats>,
}

impl Stats {
    /// The counters of an org.
    pub fn org(&self, label: &str) -> Option<&OrgStats> {
        self.orgs.iter().find(|org| org.label == label)
    }
}

/// Counters of one org, which is one key.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct OrgStats {
    /// Its name: the scenario's, or `key-N` for the N-th key that only showed up.
    pub label: String,
    /// Requests that carried its key.
    pub n_requests: u64,
    /// Its requests by kind, whatever became of them.
    pub calls: BTreeMap<Place, u64>,
    /// Its requests answered, by HTTP status: `answered["429"]` is how often it was refused.
    pub answered: BTreeMap<u16, u64>,
    /// Requests without an answer yet.
    pub in_flight: u32,
    /// Highest number of requests in flight at once: what a cap must bound.
    pub in_flight_peak: u32,
    /// Requests and rows of batches accepted: processed and billed.
    pub n_accepted: u64,
    /// Input tokens of what was accepted, cached ones included.
    pub tokens_in: u64,
    /// Output tokens of what was accepted.
    pub tokens_out: u64,
    /// Input tokens that were written to the prompt cache.
    pub tokens_cache_written: u64,
    /// Input tokens that were read from the prompt cache.
    pub tokens_cache_read: u64,
    /// What it was billed, millionths of a dollar, at the prices of the built-in catalog.
    pub cost_micro_usd: u64,
    /// Its batches.
    pub batches: BatchStats,
    /// The colleagues who use the same key.
    pub colleague: ColleagueStats,
}

impl OrgStats {
    /// Answers with this status.
    pub fn n_status(&self, status: u16) -> u64 {
        self.answered.get(&status).copied().unwrap_or(0)
    }
}

/// Batches of an org, and what it asked about them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct BatchStats {
    /// Batches created, whether or not the answer reached the caller.
    pub n_created: u64,
    /// Rows in them.
    pub n_rows: u64,
    /// Batches that have ended.
    pub n_ended: u64,
    /// Batches that were cancelled, once each.
    pub n_canceled: u64,
    /// Batches that were deleted.
    pub n_deleted: u64,
    /// Batches that were looked up one by one.
    pub n_polls: u64,
    /// Pages of the list that were looked up.
    pub n_lists: u64,
    /// Downloads of results that were asked for.
    pub n_downloads: u64,
    /// Rows of ended batches by what became of them.
    pub rows: Counts,
}

/// What the colleagues on a key wanted and got.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ColleagueStats {
    /// Requests that they made.
    pub n_wanted: u64,
    /// Their requests that met a 429: a sin of ours when we caused it.
    pub n_429: u64,
    /// Output tokens that they wanted.
    pub tokens_wanted: u64,
    /// Output tokens that they got.
    pub tokens_got: u64,
}
