//! The latency of answers as a log-normal distribution: its mean, and how long the last of many takes.

/// The 95 % quantile of the standard normal distribution.
const Z95: f64 = 1.644_853_626_951_472_2;
/// The expected largest of k draws lies about where k × P(more) is e^-γ, γ being Euler's constant.
const LAST_OF: f64 = 0.561_459;
/// Halvings of an interval: enough for a millisecond in an hour.
const HALVINGS: usize = 26;

/// See the module.
#[derive(Debug, Clone, Copy)]
pub(super) struct LogNormal {
    /// Of the logarithm: mean.
    mu: f64,
    /// Of the logarithm: standard deviation.
    sigma: f64,
}

impl LogNormal {
    /// By the median and the 95th percentile, seconds. Anything below a tenth of a millisecond counts as that.
    pub(super) fn new(p50: f64, p95: f64) -> LogNormal {
        let p50 = p50.max(1e-4);
        LogNormal { mu: p50.ln(), sigma: ((p95.max(p50) / p50).ln() / Z95).max(1e-3) }
    }

    /// By the mean, seconds, and the 95th percentile as a multiple of the median.
    pub(super) fn of_mean(mean: f64, ratio: f64) -> LogNormal {
        let LogNormal { sigma, .. } = LogNormal::new(1.0, ratio);
        LogNormal { mu: mean.max(1e-4).ln() - sigma * sigma / 2.0, sigma }
    }

    pub(super) fn mean(&self) -> f64 {
        (self.mu + self.sigma * self.sigma / 2.0).exp()
    }

    /// The expected shortest of four draws: the smallest of four normal ones lies 1.03 σ below the mean.
    pub(super) fn first_of_four(&self) -> f64 {
        (self.mu - 1.03 * self.sigma).exp()
    }

    /// The share of draws above `x`.
    fn above(&self, x: f64) -> f64 {
        normal_cdf((self.mu - x.max(1e-9).ln()) / self.sigma)
    }

    /// Of the answers that are under way at some moment: the share that takes longer than `x` from there. Long ones are
    /// more often under way than short ones.
    fn left_above(&self, x: f64) -> f64 {
        let x = x.max(1e-9);
        let z = (self.mu - x.ln()) / self.sigma;
        (normal_cdf(z + self.sigma) - x * normal_cdf(z) / self.mean()).max(0.0)
    }

    /// When the last of `k` answers that start now has come.
    pub(super) fn last_of_fresh(&self, k: f64) -> f64 {
        self.last(k, |x| self.above(x))
    }

    /// When the last of `k` answers that are under way has come.
    pub(super) fn last_of_under_way(&self, k: f64) -> f64 {
        self.last(k, |x| self.left_above(x))
    }

    fn last(&self, k: f64, above: impl Fn(f64) -> f64) -> f64 {
        if k < 0.5 {
            return 0.0;
        }
        if k < 2.0 {
            return self.mean();
        }
        let (mut low, mut high) = (0.0, (self.mu + 6.0 * self.sigma).exp());
        for _ in 0..HALVINGS {
            let mid = (low + high) / 2.0;
            if k * above(mid) > LAST_OF { low = mid } else { high = mid }
        }
        high
    }
}

/// The standard normal distribution function, to 1e-7 (Abramowitz and Stegun, 26.2.17).
fn normal_cdf(z: f64) -> f64 {
    let t = 1.0 / (1.0 + 0.231_641_9 * z.abs());
    let poly =
        t * (0.319_381_53 + t * (-0.356_563_782 + t * (1.781_477_937 + t * (-1.821_255_978 + t * 1.330_274_429))));
    let tail = (-z * z / 2.0).exp() / (std::f64::consts::TAU).sqrt() * poly;
    if z >= 0.0 { 1.0 - tail } else { tail }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_distribution_is_that_of_its_two_percentiles() {
        let latency = LogNormal::new(1.5, 3.0);
        assert!((latency.above(1.5) - 0.5).abs() < 1e-4);
        assert!((latency.above(3.0) - 0.05).abs() < 1e-4);
        assert!((latency.mean() - 1.639).abs() < 0.001, "{}", latency.mean());
    }

    #[test]
    fn the_last_of_many_comes_late_and_what_is_under_way_ends_sooner() {
        let latency = LogNormal::new(1.5, 3.0);
        let (fresh, under_way) = (latency.last_of_fresh(300.0), latency.last_of_under_way(300.0));
        assert!(fresh > 4.5 && fresh < 6.0, "{fresh}");
        assert!(under_way > 3.0 && under_way < fresh, "{under_way}");
        assert!(latency.last_of_fresh(0.0).abs() < f64::EPSILON);
        assert!((latency.left_above(0.0) - 1.0).abs() < 1e-6);
    }
}
