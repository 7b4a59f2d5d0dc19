//! Two clocks, both handed in by the caller.
//!
//! Waits are measured on the monotonic clock only, so a wall clock that jumps moves no deadline. The wall clock dates
//! things for people and reads the reset times of headers, which are turned into spans the moment they arrive.

use std::ops::{Add, Sub};
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Microseconds since this process's engine started. Never goes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Mono(pub u64);

impl Mono {
    /// The engine's start.
    pub const ZERO: Mono = Mono(0);

    /// From a span since the engine's start.
    pub fn from_span(span: Duration) -> Mono {
        Mono(u64::try_from(span.as_micros()).unwrap_or(u64::MAX))
    }

    /// Span since the engine's start.
    pub fn span(self) -> Duration {
        Duration::from_micros(self.0)
    }

    /// How long after `earlier` this is; zero when it is not after.
    pub fn since(self, earlier: Mono) -> Duration {
        Duration::from_micros(self.0.saturating_sub(earlier.0))
    }

    /// How long from `now` until this; zero when it has passed.
    pub fn until(self, now: Mono) -> Duration {
        self.since(now)
    }

    /// Seconds since the engine's start.
    pub fn secs_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }
}

impl Add<Duration> for Mono {
    type Output = Mono;
    fn add(self, span: Duration) -> Mono {
        Mono(self.0.saturating_add(u64::try_from(span.as_micros()).unwrap_or(u64::MAX)))
    }
}

impl Sub<Duration> for Mono {
    type Output = Mono;
    fn sub(self, span: Duration) -> Mono {
        Mono(self.0.saturating_sub(u64::try_from(span.as_micros()).unwrap_or(u64::MAX)))
    }
}

/// Milliseconds since the Unix epoch, UTC. May jump.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Wall(pub i64);

/// One reading of both clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Now {
    /// For waits and rates.
    pub mono: Mono,
    /// For dates.
    pub wall: Wall,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_never_wrap_below_zero_or_past_the_end() {
        let early = Mono(5);
        let late = Mono(9);
        assert_eq!(early.since(late), Duration::ZERO);
        assert_eq!(late.since(early), Duration::from_micros(4));
        assert_eq!(late + Duration::MAX, Mono(u64::MAX));
        assert_eq!(early - Duration::from_secs(1), Mono::ZERO);
    }
}
