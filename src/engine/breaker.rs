//! The circuit breaker of an org: opens after a run of failures that are neither a 429 nor the request's fault, then
//! lets one probe through at a time until one is answered.
//!
//! Between "all is well" and "all fails" it keeps the share of attempts that were answered lately. An org that fails
//! half of its calls without ever failing ten in a row is given less work by it, instead of being opened and closed.

use std::time::Duration;

use crate::model::{DispatchSettings, Mono};

use super::gate::backoff;

/// Failures in a row that open the breaker.
const RUN_OF_FAILURES: u32 = 10;

/// Weight of one attempt in the share of answered ones: about the last twenty count.
const HEALTH_WEIGHT: f64 = 0.05;

/// Below this share of answered attempts an org is given less work.
const HEALTHY: f64 = 0.9;

/// How steeply the window is given up with the share of attempts that fail, when all orgs fail alike.
const STEEPNESS: i32 = 2;

/// How steeply work moves to orgs that do better. Failures come back sooner than answers, so an org that fails half of
/// its calls turns its slots over twice as fast: less than a cube would leave it with more than its share.
const STEERING: i32 = 5;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Closed,
    Open { until: Mono },
    HalfOpen { probing: bool },
}

/// See the module.
#[derive(Debug, Clone)]
pub(crate) struct Breaker {
    mode: Mode,
    failures: u32,
    trips: u32,
    health: f64,
    /// Calls that started before this say nothing about now.
    since: Mono,
}

/// What a failure did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trip {
    /// Nothing yet.
    No,
    /// It opened, after so many failures in a row, for so long.
    Opened {
        /// Failures in a row.
        failures: u32,
        /// Until a probe is let through.
        wait: Duration,
    },
}

impl Default for Breaker {
    fn default() -> Breaker {
        Breaker { mode: Mode::Closed, failures: 0, trips: 0, health: 1.0, since: Mono::ZERO }
    }
}

impl Breaker {
    /// Time until a probe is let through; `None` when calls or a probe may go.
    pub(crate) fn open_for(&self, now: Mono) -> Option<Duration> {
        match self.mode {
            Mode::Open { until } if until > now => Some(until.until(now)),
            _ => None,
        }
    }

    /// When the next probe is due.
    pub(crate) fn probe_at(&self) -> Option<Mono> {
        match self.mode {
            Mode::Open { until } => Some(until),
            _ => None,
        }
    }

    /// Whether it waits for the answer of a probe, or for one to be sent.
    pub(crate) fn is_probing(&self, now: Mono) -> bool {
        match self.mode {
            Mode::HalfOpen { .. } => true,
            Mode::Open { until } => until <= now,
            Mode::Closed => false,
        }
    }

    /// Whether it lets all calls through.
    pub(crate) fn is_closed(&self) -> bool {
        self.mode == Mode::Closed
    }

    /// Share of attempts that were answered lately, 0..=1.
    pub(crate) fn health(&self) -> f64 {
        self.health
    }

    /// Share of the window that may be used, 0..=1, when the healthiest org has `best`.
    fn factor(&self, best: f64) -> f64 {
        if self.health >= HEALTHY {
            return 1.0;
        }
        let relative = (self.health / best.clamp(self.health, HEALTHY).max(f64::MIN_POSITIVE)).powi(STEERING);
        (self.health / HEALTHY).powi(STEEPNESS) * relative
    }

    /// How many calls may be in flight now, when the window alone would allow `limit` and the healthiest of the orgs that
    /// take work has `best`.
    pub(crate) fn allowance(&self, limit: u32, best: f64, now: Mono) -> u32 {
        match self.mode {
            Mode::Closed => ((f64::from(limit) * self.factor(best)) as u32).max(1),
            Mode::Open { until } if until > now => 0,
            Mode::Open { .. } | Mode::HalfOpen { probing: false } => 1,
            Mode::HalfOpen { probing: true } => 0,
        }
    }

    /// A call starts: the probe, when one is due.
    pub(crate) fn started(&mut self, now: Mono) {
        match self.mode {
            Mode::Open { until } if until <= now => self.mode = Mode::HalfOpen { probing: true },
            Mode::HalfOpen { .. } => self.mode = Mode::HalfOpen { probing: true },
            _ => {}
        }
    }

    /// The org answered, be it with a 429 or an `invalid`. True when this closed the breaker.
    pub(crate) fn answered(&mut self, started: Mono) -> bool {
        self.health += (1.0 - self.health) * HEALTH_WEIGHT;
        self.failures = 0;
        // A straggler from before the trip says nothing about now.
        if self.mode == Mode::Closed || started < self.since {
            return false;
        }
        self.mode = Mode::Closed;
        self.trips = 0;
        self.health = 1.0;
        true
    }

    /// A call failed.
    pub(crate) fn failed(
        &mut self,
        started: Mono,
        now: Mono,
        settings: &DispatchSettings,
        rng: &mut fastrand::Rng,
    ) -> Trip {
        self.health -= self.health * HEALTH_WEIGHT;
        self.failures = self.failures.saturating_add(1);
        let trips = match self.mode {
            Mode::Closed => self.failures >= RUN_OF_FAILURES,
            Mode::HalfOpen { probing: true } => started >= self.since,
            Mode::HalfOpen { probing: false } | Mode::Open { .. } => false,
        };
        if !trips {
            return Trip::No;
        }
        let wait = backoff(self.trips, settings, rng);
        self.trips = self.trips.saturating_add(1);
        self.mode = Mode::Open { until: now + wait };
        self.since = now;
        Trip::Opened { failures: self.failures, wait }
    }

    /// A probe that never came to an end (its run was stopped): another may go.
    pub(crate) fn abandoned(&mut self) {
        if let Mode::HalfOpen { probing: true } = self.mode {
            self.mode = Mode::HalfOpen { probing: false };
        }
    }

    /// Lets one probe through, whatever was: the operator revived the org, or its parking time is over.
    pub(crate) fn probe(&mut self, now: Mono) {
        self.mode = Mode::HalfOpen { probing: false };
        self.since = now;
        self.failures = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(secs: u64) -> Mono {
        Mono::from_span(Duration::from_secs(secs))
    }

    fn fail(breaker: &mut Breaker, started: Mono, now: Mono) -> Trip {
        breaker.failed(started, now, &DispatchSettings::default(), &mut fastrand::Rng::with_seed(1))
    }

    fn tripped() -> Breaker {
        let mut breaker = Breaker::default();
        for n in 1..RUN_OF_FAILURES {
            assert_eq!(fail(&mut breaker, at(0), at(1)), Trip::No, "{n}");
        }
        assert!(matches!(fail(&mut breaker, at(0), at(1)), Trip::Opened { failures: RUN_OF_FAILURES, .. }));
        breaker
    }

    #[test]
    fn l7_a_run_of_failures_opens_it_and_one_probe_at_a_time_goes_through() {
        let mut breaker = tripped();
        assert_eq!(breaker.allowance(50, 1.0, at(1)), 0);
        let due = breaker.probe_at().unwrap();
        assert_eq!(breaker.allowance(50, 1.0, due), 1);
        breaker.started(due);
        assert_eq!(breaker.allowance(50, 1.0, due), 0);
        assert!(matches!(fail(&mut breaker, due, due), Trip::Opened { .. }));
        let again = breaker.probe_at().unwrap();
        breaker.started(again);
        assert!(breaker.answered(again));
        assert_eq!(breaker.allowance(50, 1.0, again), 50);
    }

    #[test]
    fn stragglers_from_before_the_trip_neither_close_nor_trip_it_again() {
        let mut breaker = tripped();
        let due = breaker.probe_at().unwrap();
        breaker.started(due);
        assert!(!breaker.answered(at(0)));
        assert_eq!(fail(&mut breaker, at(0), due), Trip::No);
        assert!(breaker.is_probing(due));
    }

    #[test]
    fn an_org_that_fails_half_of_its_calls_is_given_little_work() {
        let mut breaker = Breaker::default();
        for _ in 0..60 {
            assert_eq!(fail(&mut breaker, at(0), at(1)), Trip::No);
            breaker.answered(at(0));
        }
        assert!(breaker.allowance(100, 1.0, at(1)) <= 5, "{}", breaker.allowance(100, 1.0, at(1)));
        assert!((10..=40).contains(&breaker.allowance(100, breaker.health(), at(1))), "when no other does better");
        for _ in 0..60 {
            breaker.answered(at(0));
        }
        assert_eq!(breaker.allowance(100, 1.0, at(1)), 100);
    }

    #[test]
    fn an_abandoned_probe_does_not_block_the_next() {
        let mut breaker = tripped();
        let due = breaker.probe_at().unwrap();
        breaker.started(due);
        breaker.abandoned();
        assert_eq!(breaker.allowance(9, 1.0, due), 1);
    }
}
