//! Waiting with a limit, in a process that may be stopped meanwhile.
//!
//! A process that is stopped (Ctrl-Z, SIGSTOP, a debugger, a virtual machine that is moved) finds all its limits passed when
//! it goes on, and beside them, in the buffers of the system, the answers that came while it slept. Both are looked at in
//! the same round, in any order. To let the limit win would throw away answers that are there and paid for, and pay for them
//! again. So a limit that has passed is followed by a little time in which what is there is read. It is added to every limit,
//! and not only to one that passed by much: that a process was stopped cannot be told for sure, and a second more is no
//! harm to a wait of a minute.

use std::future::Future;
use std::pin::pin;
use std::time::Duration;

use tokio::time::error::Elapsed;
use tokio::time::{Instant, timeout};

/// The time to read what is there: many times what the largest windows take, on a slow machine.
pub(super) const GRACE: Duration = Duration::from_secs(1);

/// Waits for `limit`, and for [`GRACE`] from when that was seen to have passed.
///
/// # Errors
/// Both have passed.
pub(super) async fn within<F: Future>(limit: Duration, future: F) -> Result<F::Output, Elapsed> {
    let mut future = pin!(future);
    match timeout(limit, future.as_mut()).await {
        Ok(output) => Ok(output),
        Err(_) => timeout(GRACE, future).await,
    }
}

/// The time for something of many steps; extended once, by [`GRACE`] from when it was seen to have passed.
#[derive(Debug)]
pub(super) struct Span {
    until: Instant,
    extended: bool,
}

impl Span {
    /// One that begins now.
    pub(super) fn new(length: Duration) -> Span {
        Span { until: Instant::now() + length, extended: false }
    }

    /// What is left of it; `None` when it is over.
    pub(super) fn left(&mut self) -> Option<Duration> {
        let now = Instant::now();
        if now >= self.until && !self.extended {
            (self.until, self.extended) = (now + GRACE, true);
        }
        Some(self.until.saturating_duration_since(now)).filter(|left| !left.is_zero())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_secs(60);
    const BIT: Duration = Duration::from_millis(1);

    #[tokio::test(start_paused = true)]
    async fn l16_what_is_there_when_a_stopped_process_goes_on_is_taken_although_its_time_is_over() {
        // As after a stop: the limit has passed, and the answer is seen in the round after.
        for (arrives, is_taken) in [(LIMIT - BIT, true), (LIMIT + BIT, true), (LIMIT + GRACE + BIT, false)] {
            let answer = within(LIMIT, tokio::time::sleep(arrives)).await;
            assert_eq!(answer.is_ok(), is_taken, "{arrives:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_stop_of_an_hour_leaves_time_to_read_what_came_and_no_more() {
        let mut span = Span::new(LIMIT);
        assert_eq!(span.left(), Some(LIMIT));
        tokio::time::advance(Duration::from_secs(3_600)).await;
        assert_eq!(span.left(), Some(GRACE));
        tokio::time::advance(GRACE / 2).await;
        assert_eq!(span.left(), Some(GRACE / 2));
        tokio::time::advance(GRACE / 2).await;
        assert_eq!(span.left(), None);
        assert_eq!(span.left(), None);
    }
}
