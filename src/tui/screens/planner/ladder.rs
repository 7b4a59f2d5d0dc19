//! The steps that a knob takes when it is turned.

use std::time::Duration;

/// The next of 1, 2, 5, 10, 20, 50, … above a number, or below it.
pub fn step(n: u64, up: bool) -> u64 {
    if up {
        let mut decade = 1_u64;
        loop {
            for factor in [1, 2, 5] {
                let rung = decade.saturating_mul(factor);
                if rung > n || rung == u64::MAX {
                    return rung;
                }
            }
            decade = decade.saturating_mul(10);
        }
    }
    let mut below = 0;
    let mut decade = 1_u64;
    while decade < n {
        for factor in [1, 2, 5] {
            let rung = decade.saturating_mul(factor);
            if rung < n {
                below = below.max(rung);
            }
        }
        decade = decade.saturating_mul(10);
    }
    below
}

/// A tenth more or less, at least 1, and never below 1.
pub fn tenth(value: f64, up: bool) -> f64 {
    let by = (value * 0.1).round().max(1.0);
    let turned = if up { value + by } else { value - by };
    turned.round().max(1.0)
}

/// Hours that a deadline steps over; none at all stands above the last one.
const HOURS: [u64; 12] = [1, 2, 3, 4, 6, 8, 12, 24, 30, 36, 48, 72];

/// The next deadline: later when turned up, and none at the end.
pub fn deadline(now: Option<Duration>, up: bool) -> Option<Duration> {
    let rungs = HOURS.map(|hours| Duration::from_secs(hours * 3_600));
    match (now, up) {
        (None, true) => None,
        (None, false) => rungs.last().copied(),
        (Some(now), true) => rungs.into_iter().find(|rung| *rung > now),
        (Some(now), false) => rungs.into_iter().rev().find(|rung| *rung < now).or(Some(now)),
    }
}

/// The value after or before one among several, round and round; the first when it is not among them.
pub fn next<T: Copy + PartialEq>(all: &[T], now: T, up: bool) -> T {
    let n = all.len().max(1);
    let at = all.iter().position(|value| *value == now);
    let to = match (at, up) {
        (Some(at), true) => (at + 1) % n,
        (Some(at), false) => (at + n - 1) % n,
        (None, _) => 0,
    };
    all.get(to).copied().unwrap_or(now)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_requests_go_by_one_two_five() {
        let up: Vec<u64> = [0, 1, 2, 5, 9, 10, 141_600, 999_999].map(|n| step(n, true)).to_vec();
        assert_eq!(up, [1, 2, 5, 10, 10, 20, 200_000, 1_000_000]);
        let down: Vec<u64> = [0, 1, 2, 5, 10, 11, 141_600].map(|n| step(n, false)).to_vec();
        assert_eq!(down, [0, 0, 1, 2, 5, 10, 100_000]);
        assert_eq!(step(u64::MAX, true), u64::MAX);
        assert!(step(u64::MAX, false) < u64::MAX);
    }

    #[test]
    fn a_deadline_ends_in_none_and_comes_back_from_there() {
        let hours = |n: u64| Some(Duration::from_secs(n * 3_600));
        assert_eq!(deadline(None, false), hours(72));
        assert_eq!(deadline(hours(72), true), None);
        assert_eq!(deadline(hours(5), true), hours(6));
        assert_eq!(deadline(hours(1), false), hours(1));
        assert_eq!(deadline(None, true), None);
    }

    #[test]
    fn tokens_go_by_tenths_and_never_below_one() {
        assert_eq!(
            (tenth(300.0, true), tenth(300.0, false), tenth(1.0, false), tenth(4.0, true)),
            (330.0, 270.0, 1.0, 5.0)
        );
    }
}
