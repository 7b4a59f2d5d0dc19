//! What a picture says of the time before it: a course in steps, and how long answers took.
//!
//! A course covers the whole session in a bounded number of steps. They are a second wide at first; when there are too many,
//! two become one, so that a day takes no more memory than ten minutes. Courses are shared, so that a picture stays cheap
//! to copy.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::money::Money;

/// A course in steps of equal width, oldest first; the step that is not over yet is not in it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Course<P> {
    /// Width of a step in seconds, a power of two.
    pub step_s: u64,
    /// The steps.
    pub steps: Arc<[P]>,
}

impl<P> Default for Course<P> {
    fn default() -> Course<P> {
        Course { step_s: 1, steps: Arc::from(Vec::new()) }
    }
}

/// What an org did in a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct OrgStep {
    /// Usable and refused answers.
    pub answered: u32,
    /// 429s.
    pub limited: u32,
    /// Overload, server errors, no connection, timeouts.
    pub failed: u32,
    /// How often its window was cut.
    pub cuts: u32,
    /// Its window: the sum over the families, at the end of a step of a second, and the mean over longer ones.
    pub window: u32,
}

/// What a run did in a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RunStep {
    /// Requests that became done.
    pub done: u32,
    /// What the answers cost up to the end of the step, over all sessions.
    #[serde(rename = "cost_usd")]
    pub cost: Money,
}

/// How long answers took: their number by buckets whose bounds grow by a fixed factor.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Latencies {
    /// Answers by bucket, [`Latencies::BUCKETS`] of them; empty until there is one.
    pub counts: Arc<[u64]>,
    /// 99th percentile in milliseconds; zero until there is one.
    pub p99_ms: u32,
}

impl Latencies {
    /// Number of buckets: four to a doubling, from a millisecond to more than an hour.
    pub const BUCKETS: usize = 88;

    /// Where a bucket starts, in milliseconds; the bucket below ends there.
    pub fn start_ms(bucket: usize) -> f64 {
        (bucket as f64 / 4.0).exp2()
    }

    /// The bucket of a latency; what is longer than all is in the last.
    pub fn bucket_of(ms: u64) -> usize {
        ((ms.max(1) as f64).log2() * 4.0 + 1e-9).floor().min(Latencies::BUCKETS as f64 - 1.0) as usize
    }

    /// Number of answers.
    pub fn n(&self) -> u64 {
        self.counts.iter().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_latency_is_in_the_bucket_whose_bounds_hold_it() {
        for ms in (1..5_000).chain([60_000, 600_000, 3_600_000]) {
            let bucket = Latencies::bucket_of(ms);
            assert!(Latencies::start_ms(bucket) <= ms as f64 + 1e-6, "{ms}");
            assert!(ms as f64 <= Latencies::start_ms(bucket + 1), "{ms}");
        }
        assert_eq!(Latencies::bucket_of(0), 0);
        assert_eq!(Latencies::bucket_of(u64::MAX), Latencies::BUCKETS - 1);
    }
}
