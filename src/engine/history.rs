//! What happened in each of the last seconds: the sparklines, and the rate over the last ten.

use std::collections::VecDeque;

use crate::model::Mono;

/// Seconds kept.
const KEPT: usize = 120;

/// Seconds over which a rate is taken.
const RATE_OVER: usize = 10;

/// Counts per second, a ring of the last two minutes.
#[derive(Debug, Clone, Default)]
pub(crate) struct PerSecond {
    second: u64,
    seconds: VecDeque<u32>,
    current: u32,
}

impl PerSecond {
    /// Counts `n` in the current second.
    pub(crate) fn add(&mut self, n: u32, now: Mono) {
        self.roll(now);
        self.current = self.current.saturating_add(n);
    }

    /// Notes a level rather than a count: the last one of a second stands for it.
    pub(crate) fn level(&mut self, level: u32, now: Mono) {
        let second = now.0 / 1_000_000;
        // A second without a note keeps the level of the one before.
        while self.second < second {
            self.push(self.current);
            self.second += 1;
            if second - self.second > KEPT as u64 {
                self.second = second - KEPT as u64;
            }
        }
        self.current = level;
    }

    /// Closes the seconds that have passed.
    pub(crate) fn roll(&mut self, now: Mono) {
        let second = now.0 / 1_000_000;
        if second <= self.second {
            return;
        }
        let passed = (second - self.second).min(KEPT as u64);
        self.push(self.current);
        for _ in 1..passed {
            self.push(0);
        }
        self.current = 0;
        self.second = second;
    }

    fn push(&mut self, n: u32) {
        if self.seconds.len() == KEPT {
            self.seconds.pop_front();
        }
        self.seconds.push_back(n);
    }

    /// The whole seconds, oldest first.
    pub(crate) fn seconds(&self) -> Vec<u32> {
        self.seconds.iter().copied().collect()
    }

    /// Mean per second over the last ten whole seconds, or over as many as there are.
    pub(crate) fn rate(&self) -> f64 {
        let over = self.seconds.len().min(RATE_OVER);
        if over == 0 {
            return f64::from(self.current);
        }
        let sum: u64 = self.seconds.iter().rev().take(over).map(|n| u64::from(*n)).sum();
        sum as f64 / over as f64
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn at(millis: u64) -> Mono {
        Mono::from_span(Duration::from_millis(millis))
    }

    #[test]
    fn counts_fall_into_their_seconds_and_silence_is_zero() {
        let mut history = PerSecond::default();
        history.add(2, at(100));
        history.add(3, at(900));
        history.add(1, at(3_500));
        history.roll(at(4_000));
        assert_eq!(history.seconds(), vec![5, 0, 0, 1]);
        assert!((history.rate() - 1.5).abs() < 1e-9);
    }

    #[test]
    fn only_two_minutes_are_kept_however_long_the_silence() {
        let mut history = PerSecond::default();
        history.add(7, at(0));
        history.roll(at(90_000_000));
        assert_eq!(history.seconds().len(), KEPT);
        assert!(history.rate().abs() < 1e-9);
    }

    #[test]
    fn a_level_holds_until_it_changes() {
        let mut history = PerSecond::default();
        history.level(25, at(500));
        history.level(30, at(3_200));
        assert_eq!(history.seconds(), vec![25, 25, 25]);
    }
}
