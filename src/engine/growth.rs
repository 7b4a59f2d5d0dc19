//! Growth: at what rate calls may start after the API has said that use grew too sharply.
//!
//! An acceleration limit allows what was used lately and a little more. To answer it like an empty bucket, with a cut by
//! half and a few probes, lets use fall, and with it what is allowed: the window would saw up and down at the bottom. So
//! the rate that was accepted is held, a tenth lower, and grows by about a percent a second from there; half as fast after
//! every further one, faster again when a while has passed without.

use std::time::Duration;

use crate::model::Mono;

/// Share of the accepted rate that is held.
const HELD: f64 = 0.9;

/// Growth a second at first, as a share of the rate: it doubles in a little over a minute.
const SPEED: f64 = 0.01;

/// The slowest and the fastest growth.
const SPEEDS: (f64, f64) = (SPEED / 8.0, SPEED * 4.0);

/// Time without a further one after which growth doubles.
const CALM: Duration = Duration::from_secs(60);

/// Not having held anything back for so long, it lets go.
const IDLE: Duration = Duration::from_secs(120);

/// Calls of this many seconds may start at once.
const BURST: f64 = 0.1;

/// Calls a second below which a rate is not held.
const LEAST: f64 = 0.5;

/// See the module.
#[derive(Debug, Clone)]
pub(crate) struct Growth {
    /// Calls a second; infinite while no such limit is known.
    rate: f64,
    speed: f64,
    debt: f64,
    refreshed: Mono,
    /// When the speed was set last.
    set: Mono,
    /// When a call was held back last.
    held_back: Mono,
    /// Calls that started in this second and in the one before.
    second: u64,
    starts: [u32; 2],
    /// Starts within the second before the last episode, and how many of them were refused.
    episode: (f64, f64),
}

impl Default for Growth {
    fn default() -> Growth {
        Growth {
            rate: f64::INFINITY,
            speed: SPEED,
            debt: 0.0,
            refreshed: Mono::ZERO,
            set: Mono::ZERO,
            held_back: Mono::ZERO,
            second: 0,
            starts: [0; 2],
            episode: (0.0, 0.0),
        }
    }
}

impl Growth {
    /// Growth as a share of the usual one; `None` while nothing is held.
    pub(crate) fn held(&self) -> Option<(f64, f64)> {
        self.rate.is_finite().then_some((self.rate, self.speed / SPEED))
    }

    /// The API said so. `new_episode` is false for the other calls of an episode.
    pub(crate) fn too_sharp(&mut self, new_episode: bool, now: Mono) {
        self.roll(now);
        if new_episode {
            let known = self.rate.is_finite();
            self.episode = (if known { self.rate } else { self.last_second(now) }, 0.0);
            self.speed = if known { (self.speed / 2.0).max(SPEEDS.0) } else { self.speed };
            self.set = now;
            self.held_back = now;
        }
        self.episode.1 += 1.0;
        let (started, refused) = self.episode;
        self.rate = (HELD * started.min((started - refused).max(started * 0.5))).max(LEAST);
    }

    /// Drains what was admitted ahead, and lets the rate grow.
    pub(crate) fn refresh(&mut self, now: Mono) {
        let span = now.since(self.refreshed).as_secs_f64();
        self.refreshed = now;
        if !self.rate.is_finite() {
            return;
        }
        if now.since(self.held_back) >= IDLE {
            *self = Growth { refreshed: now, second: self.second, starts: self.starts, ..Growth::default() };
            return;
        }
        if now.since(self.set) >= CALM {
            self.speed = (self.speed * 2.0).min(SPEEDS.1);
            self.set = now;
        }
        // A rate that is not used does not grow: only its use is what the API allows more of.
        if now.since(self.held_back) <= Duration::from_secs(2) {
            self.rate *= (self.speed * span).exp();
        }
        self.debt = (self.debt - self.rate * span).max(0.0);
    }

    /// Whether a call may start now.
    pub(crate) fn admits(&mut self, now: Mono) -> bool {
        let admits = !self.rate.is_finite() || self.debt <= self.rate * BURST;
        if !admits {
            self.held_back = now;
        }
        admits
    }

    /// A call starts.
    pub(crate) fn started(&mut self, now: Mono) {
        self.roll(now);
        self.starts[0] += 1;
        if self.rate.is_finite() {
            self.debt += 1.0;
        }
    }

    /// Calls that started within the last second.
    fn last_second(&self, now: Mono) -> f64 {
        let into = (now.0 % 1_000_000) as f64 / 1e6;
        f64::from(self.starts[0]) + f64::from(self.starts[1]) * (1.0 - into)
    }

    fn roll(&mut self, now: Mono) {
        let second = now.0 / 1_000_000;
        if second > self.second {
            self.starts = [0, if second == self.second + 1 { self.starts[0] } else { 0 }];
            self.second = second;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(secs: f64) -> Mono {
        Mono::from_span(Duration::from_secs_f64(secs))
    }

    /// All that may start between two moments, looked at every 50 ms.
    fn starts(growth: &mut Growth, from: f64, to: f64) -> u32 {
        let mut n = 0;
        for step in 0..((to - from) * 20.0) as u32 {
            let now = at(from + f64::from(step) / 20.0);
            growth.refresh(now);
            while growth.admits(now) && n < 100_000 {
                growth.started(now);
                n += 1;
            }
        }
        n
    }

    #[test]
    fn the_accepted_rate_is_held_and_grows_slowly() {
        let mut growth = Growth::default();
        for step in 0..20 {
            growth.started(at(f64::from(step) / 20.0));
        }
        growth.too_sharp(true, at(0.99));
        growth.too_sharp(false, at(0.99));
        let first = starts(&mut growth, 1.0, 2.0);
        assert!((14..=20).contains(&first), "{first}");
        let minute = starts(&mut growth, 2.0, 62.0);
        let last = starts(&mut growth, 62.0, 63.0);
        assert!((25..=33).contains(&last), "{last} after {minute}");
    }

    #[test]
    fn a_second_one_slows_growth_and_a_long_quiet_lets_go() {
        let mut growth = Growth::default();
        for _ in 0..20 {
            growth.started(at(0.5));
        }
        growth.too_sharp(true, at(0.9));
        growth.too_sharp(true, at(5.0));
        assert!(growth.held().is_some_and(|(_, speed)| (speed - 0.5).abs() < 1e-9));
        growth.refresh(at(200.0));
        assert_eq!(growth.held(), None);
    }
}
