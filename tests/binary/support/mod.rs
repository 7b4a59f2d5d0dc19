//! What the tests share: a place with directories of its own, a server of the simulated API, and a process to watch.

mod place;
mod process;
mod server;
mod watch;

use std::time::{Duration, Instant};

pub(crate) use place::{KEYS, Place, finished, ids, json_lines, last_json, request, with_prefix};
pub(crate) use process::{Ended, Running};
pub(crate) use server::Server;
pub(crate) use watch::Watch;

/// Longest wait for anything: only a hang takes so long, on a busy machine too.
pub(crate) const DEADLINE: Duration = Duration::from_secs(60);

/// Waits until `look` sees something.
#[track_caller]
pub(crate) fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(seen) = look() {
            return seen;
        }
        assert!(start.elapsed() < DEADLINE, "waited {} s in vain for {what}", DEADLINE.as_secs());
        // Between two looks at the same state, so that the other processes get the processor.
        std::thread::sleep(Duration::from_millis(3));
    }
}
