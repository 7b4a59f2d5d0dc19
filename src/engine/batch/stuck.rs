//! Whether a sub-batch is stuck.
//!
//! The API's counts stay at zero until a batch has ended, so that progress cannot be seen. What can be said is how old it is
//! against the threshold, its siblings and the run's own history; the threshold alone decides, the others explain.

use std::time::Duration;

use humantime::format_duration;

/// What is known of the time that sub-batches take.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Peers {
    /// How long those took that have ended, sorted.
    took: Vec<Duration>,
}

impl Peers {
    /// Of sub-batches that have ended.
    pub(super) fn new(mut took: Vec<Duration>) -> Peers {
        took.sort_unstable();
        Peers { took }
    }

    /// The middle one.
    pub(super) fn median(&self) -> Option<Duration> {
        self.took.get(self.took.len() / 2).copied()
    }

    /// The longest.
    pub(super) fn longest(&self) -> Option<Duration> {
        self.took.last().copied()
    }

    /// How many.
    pub(super) fn len(&self) -> usize {
        self.took.len()
    }
}

/// Whether this age is over the threshold; `None` turns the escape off.
pub(super) fn is_stuck(age: Duration, threshold: Option<Duration>) -> bool {
    threshold.is_some_and(|threshold| age >= threshold)
}

/// The verdict in words: age, threshold, siblings.
pub(super) fn explain(age: Duration, threshold: Option<Duration>, peers: &Peers) -> String {
    let limit = match threshold {
        Some(threshold) => format!("the threshold is {}", in_words(threshold)),
        None => "there is no threshold".to_owned(),
    };
    let siblings = match (peers.median(), peers.longest()) {
        (Some(median), Some(longest)) => format!(
            "{} others took {} in the middle and {} at the longest",
            peers.len(),
            in_words(median),
            in_words(longest)
        ),
        _ => "no other has ended yet".to_owned(),
    };
    format!("{} old; {limit}; {siblings}", in_words(age))
}

/// A span to the second, or to the millisecond below one.
pub(super) fn in_words(span: Duration) -> String {
    let whole = if span >= Duration::from_secs(1) { Duration::from_secs(span.as_secs()) } else { span };
    format_duration(Duration::from_millis(u64::try_from(whole.as_millis()).unwrap_or(u64::MAX))).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3_600);

    #[test]
    fn the_threshold_decides_and_none_turns_it_off() {
        assert!(!is_stuck(4 * HOUR - Duration::from_millis(1), Some(4 * HOUR)));
        assert!(is_stuck(4 * HOUR, Some(4 * HOUR)));
        assert!(!is_stuck(1_000 * HOUR, None));
    }

    #[test]
    fn b10_the_verdict_is_told_by_age_and_siblings_and_never_by_counts() {
        let peers = Peers::new(vec![Duration::from_secs(1_860), Duration::from_secs(300), Duration::from_secs(720)]);
        assert_eq!(
            explain(4 * HOUR + Duration::from_secs(61), Some(4 * HOUR), &peers),
            "4h 1m 1s old; the threshold is 4h; 3 others took 12m in the middle and 31m at the longest"
        );
        assert_eq!(
            explain(Duration::from_secs(59), None, &Peers::default()),
            "59s old; there is no threshold; no other has ended yet"
        );
    }
}
