//! The acceleration limit: how fast the request rate of an org may grow.

use std::time::Duration;

use serde::Deserialize;

/// An acceleration limit.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct RampSettings {
    /// Requests a second that are always allowed.
    pub(super) start_rps: f64,
    /// Factor by which the allowed rate may grow in a minute of full use, and shrinks in a minute of little use.
    pub(super) growth_per_minute: f64,
}

impl RampSettings {
    /// What is wrong with the figures.
    pub(super) fn problem(&self) -> Option<String> {
        let fine = |value: f64, least: f64| value.is_finite() && value >= least;
        (!fine(self.start_rps, 1.0) || !fine(self.growth_per_minute, 1.0) || self.growth_per_minute > 1e6)
            .then(|| "ramp: needs start-rps >= 1 and 1 <= growth-per-minute <= 1000000".to_owned())
    }
}

/// Share of the allowed rate that counts as using it fully.
const FULL_USE: f64 = 0.8;

/// The limit at work: an allowance for each second, which follows the use of the second before.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ramp {
    settings: RampSettings,
    allowed: f64,
    second: u64,
    used: f64,
}

impl Ramp {
    pub(super) fn new(settings: RampSettings) -> Ramp {
        Ramp { settings, allowed: settings.start_rps, second: 0, used: 0.0 }
    }

    /// Lets a request in, or says how long the allowance is used up.
    pub(super) fn admit(&mut self, now: Duration) -> Result<(), Duration> {
        self.advance(now.as_secs());
        if self.used + 1.0 > self.allowed {
            return Err(Duration::from_secs(self.second + 1).saturating_sub(now));
        }
        self.used += 1.0;
        Ok(())
    }

    fn advance(&mut self, second: u64) {
        let passed = second.saturating_sub(self.second);
        if passed == 0 {
            return;
        }
        let by = |seconds: f64| self.settings.growth_per_minute.powf(seconds / 60.0);
        if self.used >= FULL_USE * self.allowed.floor() {
            self.allowed *= by(1.0);
        } else {
            self.allowed /= by(1.0);
        }
        // The seconds in between saw no request at all.
        self.allowed = (self.allowed / by((passed - 1) as f64)).max(self.settings.start_rps);
        self.second = second;
        self.used = 0.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETTINGS: RampSettings = RampSettings { start_rps: 10.0, growth_per_minute: 2.0 };

    /// How many of `wanted` requests are let in during a second.
    fn second(ramp: &mut Ramp, second: u64, wanted: u32) -> u32 {
        (0..wanted).map(|_| u32::from(ramp.admit(Duration::from_secs(second)).is_ok())).sum()
    }

    #[test]
    fn a_step_is_refused_and_a_steady_climb_doubles_the_rate_in_a_minute() {
        let mut ramp = Ramp::new(SETTINGS);
        assert_eq!(second(&mut ramp, 0, 50), 10);
        let last = (1..=60).map(|at| second(&mut ramp, at, 50)).last().unwrap();
        assert!((19..=20).contains(&last), "{last}");
    }

    #[test]
    fn an_hour_of_silence_brings_the_allowance_back_to_its_start() {
        let mut ramp = Ramp::new(SETTINGS);
        for at in 0..300 {
            second(&mut ramp, at, 1_000);
        }
        assert_eq!(second(&mut ramp, 4_000, 1_000), 10);
    }

    #[test]
    fn a_refusal_lasts_until_the_next_second() {
        let mut ramp = Ramp::new(SETTINGS);
        second(&mut ramp, 0, 10);
        assert_eq!(ramp.admit(Duration::from_millis(400)), Err(Duration::from_millis(600)));
    }
}
