//! A colleague: a load of its own on a key that we share.
//!
//! It needs no task: whenever the simulation is asked something, the colleague first makes the requests that were due
//! since, each at its own moment.

use std::time::Duration;

use serde::Deserialize;

use super::fault::window;
use super::limits::ClassLimits;
use super::models::{self, Class};
use super::stats::ColleagueStats;

/// A colleague as written in a scenario.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct ColleagueFile {
    model: Option<String>,
    from_s: Option<f64>,
    to_s: f64,
    rps: f64,
    rps_at_end: Option<f64>,
    tokens_in: u64,
    tokens_out: u64,
}

/// A steady or ramping load.
#[derive(Debug, Clone)]
pub(super) struct Colleague {
    pub(super) class: Class,
    from: Duration,
    to: Duration,
    rps: f64,
    rps_at_end: f64,
    tokens_in: u64,
    tokens_out: u64,
    next: Duration,
}

/// More requests a second than this are not a colleague.
const MAX_RPS: f64 = 10_000.0;

impl ColleagueFile {
    /// The colleague, or what is wrong and what to write instead.
    pub(super) fn resolve(self) -> Result<Colleague, String> {
        let (from, to) = window(self.from_s, Some(self.to_s))?;
        let rps_at_end = self.rps_at_end.unwrap_or(self.rps);
        let fine = |rps: f64| (0.001..=MAX_RPS).contains(&rps);
        if !fine(self.rps) || !fine(rps_at_end) {
            return Err(format!("rps and rps-at-end: write requests a second between 0.001 and {MAX_RPS}"));
        }
        let name = self.model.as_deref().unwrap_or("claude-haiku-4-5");
        let model = models::find(name).ok_or_else(|| format!("model = \"{name}\": no such model is simulated"))?;
        let Self { rps, tokens_in, tokens_out, .. } = self;
        Ok(Colleague { class: model.class, from, to, rps, rps_at_end, tokens_in, tokens_out, next: from })
    }
}

impl Colleague {
    /// Makes its next request, at that request's moment.
    pub(super) fn make_next(&mut self, limits: &mut ClassLimits, stats: &mut ColleagueStats) {
        limits.refill(self.next);
        stats.n_wanted += 1;
        stats.tokens_wanted += self.tokens_out;
        if limits.admit(self.tokens_in).is_ok() {
            limits.settle(0, 0, self.tokens_out);
            stats.tokens_got += self.tokens_out;
        } else {
            stats.n_429 += 1;
        }
        self.next += Duration::from_secs_f64(1.0 / self.rate());
    }

    /// The moment of the next request.
    pub(super) fn next_at(&self) -> Duration {
        self.next
    }

    /// Whether a request is due by now.
    pub(super) fn is_due(&self, now: Duration) -> bool {
        self.next <= now && self.next < self.to
    }

    /// Requests a second at the moment of the next request.
    fn rate(&self) -> f64 {
        let passed = self.next.saturating_sub(self.from).as_secs_f64();
        let share = passed / (self.to - self.from).as_secs_f64();
        self.rps + (self.rps_at_end - self.rps) * share
    }
}

#[cfg(test)]
mod tests {
    use super::super::limits::LimitSettings;
    use super::*;

    fn colleague(text: &str) -> Colleague {
        toml::from_str::<ColleagueFile>(text).unwrap().resolve().unwrap()
    }

    fn run(colleague: &mut Colleague, limits: LimitSettings, until_s: u64) -> ColleagueStats {
        let mut limits = ClassLimits::new(limits, Duration::ZERO);
        let mut stats = ColleagueStats::default();
        while colleague.is_due(Duration::from_secs(until_s)) {
            colleague.make_next(&mut limits, &mut stats);
        }
        stats
    }

    #[test]
    fn a_steady_colleague_makes_its_requests_however_seldom_the_simulation_is_asked() {
        let mut steady = colleague("from-s = 10\nto-s = 20\nrps = 5\ntokens-in = 10\ntokens-out = 100");
        let stats = run(&mut steady, LimitSettings::default(), 1_000);
        assert_eq!((stats.n_wanted, stats.n_429, stats.tokens_got), (50, 0, 5_000));
    }

    #[test]
    fn a_ramping_colleague_makes_the_mean_of_its_rates() {
        let mut ramping = colleague("to-s = 100\nrps = 1\nrps-at-end = 9\ntokens-in = 1\ntokens-out = 1");
        let stats = run(&mut ramping, LimitSettings::default(), 100);
        assert!((480..520).contains(&stats.n_wanted), "{}", stats.n_wanted);
    }

    #[test]
    fn a_colleague_meets_429s_of_its_own_when_the_bucket_is_empty() {
        let mut greedy = colleague("to-s = 10\nrps = 10\ntokens-in = 1\ntokens-out = 100");
        let stats =
            run(&mut greedy, LimitSettings { rpm: 1_000, itpm: 1_000, otpm: 1_000, ..LimitSettings::default() }, 10);
        assert_eq!(stats.n_wanted, 100);
        assert!(stats.n_429 > 80, "{}", stats.n_429);
        assert!(stats.tokens_got < 1_000 + 10 * 1_000 / 60 + 100);
    }

    #[test]
    fn figures_that_make_no_load_are_refused() {
        for (text, remedy) in [
            ("to-s = 1\nrps = 0\ntokens-in = 1\ntokens-out = 1", "between 0.001"),
            ("to-s = 1\nrps = 1e9\ntokens-in = 1\ntokens-out = 1", "between 0.001"),
            ("to-s = 1\nrps = 1\ntokens-in = 1\ntokens-out = 1\nmodel = \"x\"", "no such model"),
            ("from-s = 2\nto-s = 1\nrps = 1\ntokens-in = 1\ntokens-out = 1", "after from-s"),
        ] {
            let problem = toml::from_str::<ColleagueFile>(text).unwrap().resolve().unwrap_err();
            assert!(problem.contains(remedy), "{problem}");
        }
    }
}
