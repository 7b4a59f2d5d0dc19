//! The way to the writer's thread: posting never waits, and wakes the thread only when there is a reason to.
//!
//! A channel of the standard library wakes its receiver for every message. At tens of thousands of outcomes a second
//! that costs more than writing them, and the thread would only go back to waiting for its group to fill.

use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// What waits for the receiver.
struct Letters<T> {
    posts: Vec<T>,
    /// Sum of the weights of `posts`.
    weight: usize,
    closed: bool,
    /// The receiver waits for any post at all.
    idle: bool,
}

struct Shared<T> {
    inner: Mutex<Letters<T>>,
    news: Condvar,
    /// Weight from which the receiver is not kept waiting.
    enough: usize,
}

impl<T> Shared<T> {
    fn lock(&self) -> MutexGuard<'_, Letters<T>> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The end that posts. Dropping it closes the mailbox.
pub(super) struct Sender<T>(Arc<Shared<T>>);

/// The end that collects.
pub(super) struct Receiver<T>(Arc<Shared<T>>);

/// A mailbox whose receiver is woken as soon as `enough` weight is in it.
pub(super) fn mailbox<T>(enough: usize) -> (Sender<T>, Receiver<T>) {
    let inner = Mutex::new(Letters { posts: Vec::new(), weight: 0, closed: false, idle: false });
    let shared = Arc::new(Shared { inner, news: Condvar::new(), enough });
    (Sender(Arc::clone(&shared)), Receiver(shared))
}

impl<T> Sender<T> {
    /// Posts. `weight` is what it adds to the reasons not to wait for more; `usize::MAX` is one by itself.
    pub(super) fn post(&self, post: T, weight: usize) {
        let mut inner = self.0.lock();
        inner.posts.push(post);
        inner.weight = inner.weight.saturating_add(weight);
        let wake = std::mem::take(&mut inner.idle) || inner.weight >= self.0.enough;
        drop(inner);
        if wake {
            self.0.news.notify_one();
        }
    }
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sender({} waiting)", self.0.lock().posts.len())
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        self.0.lock().closed = true;
        self.0.news.notify_one();
    }
}

/// Why waiting came to an end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Woken {
    /// There is something.
    Posts,
    /// The time was up; there may be something.
    InTime,
    /// There will be nothing more; there may be something left.
    Closed,
}

impl<T> Receiver<T> {
    /// Waits for the first post and collects what is there.
    pub(super) fn first(&self, into: &mut Vec<T>) -> Woken {
        let mut inner = self.0.lock();
        while inner.posts.is_empty() && !inner.closed {
            inner.idle = true;
            inner = self.0.news.wait(inner).unwrap_or_else(PoisonError::into_inner);
        }
        inner.idle = false;
        collect(&mut inner, into);
        if inner.closed { Woken::Closed } else { Woken::Posts }
    }

    /// Waits until a time, or until enough is there, and collects it.
    pub(super) fn until(&self, deadline: Instant, into: &mut Vec<T>) -> Woken {
        let mut inner = self.0.lock();
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if inner.closed || inner.weight >= self.0.enough || left.is_zero() {
                break;
            }
            inner = self.0.news.wait_timeout(inner, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        let woken = match (inner.closed, inner.weight >= self.0.enough) {
            (true, _) => Woken::Closed,
            (false, true) => Woken::Posts,
            (false, false) => Woken::InTime,
        };
        collect(&mut inner, into);
        woken
    }
}

fn collect<T>(inner: &mut Letters<T>, into: &mut Vec<T>) {
    inner.weight = 0;
    into.append(&mut inner.posts);
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn posts_come_out_in_order_and_what_was_posted_before_the_close_is_not_lost() {
        let (sender, receiver) = mailbox(10);
        for n in 0..5 {
            sender.post(n, 1);
        }
        let mut posts = Vec::new();
        assert_eq!(receiver.first(&mut posts), Woken::Posts);
        sender.post(5, 1);
        drop(sender);
        assert_eq!(receiver.until(Instant::now() + Duration::from_secs(3_600), &mut posts), Woken::Closed);
        assert_eq!(posts, [0, 1, 2, 3, 4, 5]);
        assert_eq!(receiver.first(&mut posts), Woken::Closed);
    }

    #[test]
    fn enough_weight_ends_the_wait_and_little_weight_waits_for_its_time() {
        let (sender, receiver) = mailbox(10);
        let far = Instant::now() + Duration::from_secs(3_600);
        let mut posts = Vec::new();
        sender.post('a', usize::MAX);
        assert_eq!(receiver.until(far, &mut posts), Woken::Posts);
        sender.post('b', 9);
        assert_eq!(receiver.until(Instant::now(), &mut posts), Woken::InTime);
        assert_eq!(posts, ['a', 'b']);
    }

    #[test]
    fn a_receiver_that_waits_for_the_first_post_is_woken_by_any() {
        let (sender, receiver) = mailbox(10);
        let waiting = std::thread::spawn(move || {
            let mut posts = Vec::new();
            (receiver.first(&mut posts), posts)
        });
        sender.post(7, 0);
        assert_eq!(waiting.join().unwrap(), (Woken::Posts, vec![7]));
    }
}
