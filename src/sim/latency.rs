//! How long an answer takes: a log-normal distribution by its median and its 95th percentile.

use std::time::Duration;

use serde::Deserialize;

/// The 95 % quantile of the standard normal distribution.
const Z95: f64 = 1.644_853_626_951_472_2;

/// A latency distribution, as written in a scenario. A median of zero answers at once; a 95th percentile equal to the
/// median is a constant.
#[derive(Debug, Clone, Copy, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Latency {
    /// Median, milliseconds.
    pub(super) p50_ms: f64,
    /// 95th percentile, milliseconds; at least the median.
    pub(super) p95_ms: f64,
}

impl Latency {
    /// Whether the figures make a distribution.
    pub(super) fn problem(&self) -> Option<String> {
        let fine = self.p50_ms.is_finite() && self.p95_ms.is_finite() && self.p50_ms >= 0.0;
        (!fine || self.p95_ms < self.p50_ms || self.p95_ms > 3.6e6)
            .then(|| "latency: needs 0 <= p50-ms <= p95-ms <= 3600000".to_owned())
    }

    /// One draw.
    pub(super) fn draw(&self, rng: &mut fastrand::Rng) -> Duration {
        if self.p50_ms <= 0.0 {
            return Duration::ZERO;
        }
        let sigma = (self.p95_ms / self.p50_ms).ln() / Z95;
        let millis = self.p50_ms * (sigma * standard_normal(rng)).exp();
        Duration::from_micros((millis * 1e3) as u64)
    }

    /// A span in proportion to the median: what a refusal takes, which generates nothing.
    pub(super) fn share(&self, share: f64) -> Duration {
        Duration::from_micros((self.p50_ms * 1e3 * share) as u64)
    }
}

/// One draw of the standard normal distribution (Box and Muller).
fn standard_normal(rng: &mut fastrand::Rng) -> f64 {
    // 1 - f64() lies in (0, 1], so the logarithm is finite.
    let radius = (-2.0 * (1.0 - rng.f64()).ln()).sqrt();
    radius * (std::f64::consts::TAU * rng.f64()).cos()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn percentile(draws: &mut [Duration], share: f64) -> f64 {
        draws.sort_unstable();
        draws[(draws.len() as f64 * share) as usize].as_secs_f64() * 1e3
    }

    #[test]
    fn the_percentiles_of_many_draws_are_those_that_were_asked_for() {
        let latency = Latency { p50_ms: 1_500.0, p95_ms: 3_000.0 };
        let mut rng = fastrand::Rng::with_seed(1);
        let mut draws: Vec<Duration> = (0..20_000).map(|_| latency.draw(&mut rng)).collect();
        assert!((percentile(&mut draws, 0.5) - 1_500.0).abs() < 30.0);
        assert!((percentile(&mut draws, 0.95) - 3_000.0).abs() < 90.0);
    }

    #[test]
    fn a_median_of_zero_is_no_latency_and_equal_percentiles_are_a_constant() {
        let mut rng = fastrand::Rng::with_seed(1);
        assert_eq!(Latency::default().draw(&mut rng), Duration::ZERO);
        let constant = Latency { p50_ms: 20.0, p95_ms: 20.0 };
        assert!((0..50).all(|_| constant.draw(&mut rng) == Duration::from_millis(20)));
    }

    #[test]
    fn figures_that_make_no_distribution_are_named() {
        for (p50_ms, p95_ms) in [(-1.0, 5.0), (10.0, 5.0), (f64::NAN, 5.0), (1.0, f64::INFINITY)] {
            assert!(Latency { p50_ms, p95_ms }.problem().is_some(), "{p50_ms} {p95_ms}");
        }
    }
}
