//! Whose batch is this: finding one's own in the org's list, after a create whose answer was lost.
//!
//! The API gives a batch no name of the client's, and the requests of an unfinished batch cannot be read. What tells is the
//! time of its creation and its size; once it has ended, the ids in its results, which carry the run's nonce, prove it.

use std::collections::HashSet;
use std::time::Duration;

use crate::api::batches::MessageBatch;
use crate::model::Wall;

/// How far the clocks of the API and of this machine may be apart.
pub(super) const SKEW: Duration = Duration::from_secs(300);

/// The longest time from an intent to a creation: an upload of the largest body over a slow line.
pub(super) const LONGEST_CREATE: Duration = Duration::from_secs(1_800);

/// What is looked for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted<'w> {
    /// When the create was about to be sent, by the API's clock: by each way in which that can be reckoned.
    pub(super) intents: &'w [Wall],
    /// Its requests.
    pub(super) n_requests: u32,
    /// Batches that are known to be something else.
    pub(super) not_these: &'w HashSet<String>,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Found {
    /// Nothing that it could be.
    Nothing,
    /// One. `sure`: nobody else in this list makes batches of this size, so that it may be treated as ours; else it is a guess.
    One { batch: Box<MessageBatch>, sure: bool },
    /// Several: time and size do not tell them apart.
    Several(Vec<MessageBatch>),
}

/// How far back the list is read, to see what others create.
const LOOK_BACK: Duration = Duration::from_secs(3_600);

/// The oldest creation that a list has to reach back to.
pub(super) fn since(intent_at: Wall) -> Wall {
    Wall(intent_at.0.saturating_sub(millis(LOOK_BACK)))
}

/// A moment of this machine's clock on the API's, which said `theirs` when this one said `ours`. A machine whose clock is an
/// hour off finds its batches all the same.
pub(super) fn by_their_clock(moment: Wall, theirs: Option<Wall>, ours: Wall) -> Wall {
    theirs.map_or(moment, |theirs| Wall(moment.0.saturating_add(theirs.0.saturating_sub(ours.0))))
}

/// Looks through a list.
pub(super) fn find(listed: &[MessageBatch], wanted: Wanted<'_>) -> Found {
    let in_time = |at: Wall| {
        wanted.intents.iter().any(|intent| {
            let until = intent.0.saturating_add(millis(LONGEST_CREATE) + millis(SKEW));
            (intent.0.saturating_sub(millis(SKEW))..=until).contains(&at.0)
        })
    };
    // Without counts or a time, a batch may be anything: also this one.
    let same_size = |batch: &&MessageBatch| {
        let n = batch.request_counts.total();
        !wanted.not_these.contains(&batch.id) && (n == u64::from(wanted.n_requests) || n == 0)
    };
    let n_same_size = listed.iter().filter(same_size).count();
    let fits = |batch: &&MessageBatch| same_size(batch) && batch.created_at.is_none_or(in_time);
    let mut found: Vec<MessageBatch> = listed.iter().filter(fits).cloned().collect();
    match found.len() {
        0 => Found::Nothing,
        1 => found.pop().map_or(Found::Nothing, |one| Found::One { batch: Box::new(one), sure: n_same_size == 1 }),
        _ => Found::Several(found),
    }
}

fn millis(span: Duration) -> i64 {
    i64::try_from(span.as_millis()).unwrap_or(i64::MAX / 4)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::batches::{BatchCounts, ProcessingStatus};

    const INTENT: Wall = Wall(1_800_000_000_000);

    fn batch(id: &str, after_s: i64, n: u64) -> MessageBatch {
        MessageBatch {
            id: id.to_owned(),
            processing_status: ProcessingStatus::InProgress,
            request_counts: BatchCounts { processing: n, ..BatchCounts::default() },
            created_at: Some(Wall(INTENT.0 + after_s * 1_000)),
            expires_at: None,
            ended_at: None,
            archived_at: None,
            cancel_initiated_at: None,
        }
    }

    fn look(listed: &[MessageBatch], not_these: &[&str]) -> Found {
        let not_these = not_these.iter().map(|id| (*id).to_owned()).collect();
        find(listed, Wanted { intents: &[INTENT], n_requests: 1_000, not_these: &not_these })
    }

    #[test]
    fn b4_the_one_of_the_right_time_and_size_is_taken() {
        let listed = [batch("late", 7_200, 1_000), batch("ours", 2, 1_000), batch("small", 2, 999)];
        // Somebody makes batches of this size: it is a guess.
        assert_eq!(look(&listed, &[]), Found::One { batch: Box::new(batch("ours", 2, 1_000)), sure: false });
        assert_eq!(look(&listed[1..], &[]), Found::One { batch: Box::new(batch("ours", 2, 1_000)), sure: true });
        assert_eq!(look(&[batch("old", -301, 1_000)], &[]), Found::Nothing);
        assert_eq!(
            look(&[batch("clock", -299, 1_000)], &[]),
            Found::One { batch: Box::new(batch("clock", -299, 1_000)), sure: true }
        );
    }

    #[test]
    fn b4_a_batch_without_counts_or_a_time_is_not_taken_for_absent() {
        let no_time = MessageBatch { created_at: None, ..batch("ours", 0, 1_000) };
        assert_eq!(look(std::slice::from_ref(&no_time), &[]), Found::One { batch: Box::new(no_time), sure: true });
        let no_counts = batch("ours", 2, 0);
        assert_eq!(look(std::slice::from_ref(&no_counts), &[]), Found::One { batch: Box::new(no_counts), sure: true });
    }

    #[test]
    fn b4_a_clock_that_is_off_hides_no_batch() {
        let (ours, theirs) = (Wall(INTENT.0 + 5_000), Wall(INTENT.0 - 895_000));
        assert_eq!(by_their_clock(INTENT, Some(theirs), ours), Wall(INTENT.0 - 900_000));
        assert_eq!(by_their_clock(INTENT, None, ours), INTENT);
    }

    #[test]
    fn b4_two_that_fit_are_not_chosen_between() {
        let listed = [batch("a", 2, 1_000), batch("b", 3, 1_000)];
        assert!(matches!(look(&listed, &[]), Found::Several(both) if both.len() == 2));
    }

    #[test]
    fn b5_batches_that_are_known_are_not_taken_twice() {
        let listed = [batch("a", 2, 1_000), batch("b", 3, 1_000)];
        assert_eq!(look(&listed, &["a"]), Found::One { batch: Box::new(batch("b", 3, 1_000)), sure: true });
        assert_eq!(look(&listed, &["a", "b"]), Found::Nothing);
    }
}
