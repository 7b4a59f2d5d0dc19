//! How long batches take, and how they are shown.

use std::time::Duration;

use serde::Deserialize;

use super::super::latency::Latency;

/// Settings of batches, as written in a scenario.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub(in crate::sim) struct BatchSettings {
    /// Median of the time a batch takes, seconds.
    pub(in crate::sim) p50_s: f64,
    /// Its 95th percentile, seconds.
    pub(in crate::sim) p95_s: f64,
    /// How long a cancel takes, seconds: what was running is finished.
    pub(in crate::sim) cancel_s: f64,
    /// When results are counted.
    pub(in crate::sim) counts: CountsShown,
}

/// When `request_counts` show results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(in crate::sim) enum CountsShown {
    /// All rows are `processing` until the batch has ended, as the API documents it.
    AtEnd,
    /// As they come, as some gateways do.
    Live,
}

/// Most batches end within minutes, some take longer.
impl Default for BatchSettings {
    fn default() -> BatchSettings {
        BatchSettings { p50_s: 300.0, p95_s: 1_200.0, cancel_s: 25.0, counts: CountsShown::AtEnd }
    }
}

/// A day, in seconds: no batch takes longer.
const MAX_S: f64 = 86_400.0;

impl BatchSettings {
    /// What is wrong with the figures.
    pub(in crate::sim) fn problem(&self) -> Option<String> {
        let fine = |seconds: f64| (0.0..=MAX_S).contains(&seconds);
        let all = fine(self.p50_s) && fine(self.p95_s) && fine(self.cancel_s) && self.p50_s <= self.p95_s;
        (!all).then(|| format!("batches: needs 0 <= p50-s <= p95-s <= {MAX_S} and 0 <= cancel-s <= {MAX_S}"))
    }

    /// One draw of the time a batch takes.
    pub(super) fn draw(&self, rng: &mut fastrand::Rng) -> Duration {
        Latency { p50_ms: self.p50_s * 1e3, p95_ms: self.p95_s * 1e3 }.draw(rng)
    }

    /// How long a cancel takes.
    pub(super) fn cancel(&self) -> Duration {
        Duration::from_secs_f64(self.cancel_s)
    }
}
