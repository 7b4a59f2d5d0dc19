//! Puts answers into the cache from a thread of its own, in large transactions: a slow cache delays no journal.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::cache::{Cache, CacheEntry};

/// A transaction is made of what comes within this time of its first answer…
const SPAN: Duration = Duration::from_millis(1_000);
/// …or of this many answers…
const ROWS: usize = 10_000;
/// …or of this many bytes.
const BYTES: usize = 16 << 20;
/// What may wait. Beyond it answers are not cached: they are in the journal, so only a later run may pay again.
const MAX_WAITING: usize = 256 << 20;

/// The cache's thread.
pub(super) struct CacheWriter {
    sender: Option<Sender<Vec<CacheEntry>>>,
    waiting: Arc<AtomicUsize>,
    n_dropped: u64,
    thread: Option<JoinHandle<()>>,
}

fn bytes_of(entries: &[CacheEntry]) -> usize {
    entries.iter().map(|entry| entry.body.len() + size_of::<CacheEntry>()).sum()
}

impl CacheWriter {
    /// Starts the thread. Without one (the system refused) nothing is cached, and a warning says so.
    pub(super) fn spawn(cache: Cache) -> CacheWriter {
        let (sender, receiver) = mpsc::channel();
        let waiting = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&waiting);
        let thread =
            std::thread::Builder::new().name("cache".to_owned()).spawn(move || run(cache, &receiver, &counter));
        if let Err(err) = &thread {
            tracing::warn!("failed to start the cache's thread: {err}; answers are not cached");
        }
        CacheWriter { sender: Some(sender), waiting, n_dropped: 0, thread: thread.ok() }
    }

    /// Hands answers over; never waits.
    pub(super) fn send(&mut self, entries: Vec<CacheEntry>) {
        let (Some(sender), Some(_), false) = (&self.sender, &self.thread, entries.is_empty()) else { return };
        let bytes = bytes_of(&entries);
        if self.waiting.load(Ordering::Relaxed) + bytes > MAX_WAITING {
            if self.n_dropped == 0 {
                tracing::warn!("the cache does not keep up; some answers are not cached");
            }
            self.n_dropped += entries.len() as u64;
            return;
        }
        self.waiting.fetch_add(bytes, Ordering::Relaxed);
        // The thread ends only after this sender.
        let _ = sender.send(entries);
    }
}

impl Drop for CacheWriter {
    /// Waits until all that was handed over is in.
    fn drop(&mut self) {
        drop(self.sender.take());
        if self.thread.take().is_some_and(|thread| thread.join().is_err()) {
            tracing::warn!("the cache's thread broke; some answers are not cached");
        }
    }
}

fn run(mut cache: Cache, receiver: &Receiver<Vec<CacheEntry>>, waiting: &AtomicUsize) {
    let mut warned = false;
    while let Ok(mut entries) = receiver.recv() {
        let mut bytes = bytes_of(&entries);
        let until = Instant::now() + SPAN;
        while entries.len() < ROWS && bytes < BYTES {
            match receiver.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(more) => {
                    bytes += bytes_of(&more);
                    entries.extend(more);
                }
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
            }
        }
        if let Err(err) = cache.insert_many(&mut entries) {
            if !warned {
                tracing::warn!("{err}; answers of this run may not be cached");
            }
            warned = true;
        }
        waiting.fetch_sub(bytes, Ordering::Relaxed);
    }
}
