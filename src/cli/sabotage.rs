//! Panics on demand, in builds for tests only: `FANDECK_PANIC=worker` in one attempt, after a few answers;
//! `FANDECK_PANIC=dispatcher` in the one task that decides, when it asks about the models;
//! `FANDECK_PANIC=screen` on the thread of the screen, when it looks for runs. A panic must leave a readable terminal, exit
//! code 1, and a run directory that can be resumed; that can only be seen by panicking.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::api::transport::{ReplyFuture, SightFuture};
use crate::api::{Call, Transport};
use crate::model::OrgId;

/// The variable.
const VARIABLE: &str = "FANDECK_PANIC";

/// Calls before a worker panics.
const AFTER: u32 = 30;

fn wanted(place: &str) -> bool {
    cfg!(debug_assertions) && std::env::var_os(VARIABLE).is_some_and(|value| value == place)
}

/// Panics when that is wanted of the screen.
pub(super) fn screen() {
    if wanted("screen") {
        panic_now("a panic of the screen was asked for");
    }
}

#[expect(clippy::panic, reason = "this is what the module is for; it is reached in builds for tests only")]
fn panic_now(why: &str) {
    panic!("{why}");
}

/// A transport, or one that panics when that is wanted of a worker or of the dispatcher.
pub(super) fn transport(inner: Arc<dyn Transport>) -> Arc<dyn Transport> {
    if wanted("worker") || wanted("dispatcher") {
        Arc::new(Panicking { inner, calls: AtomicU32::new(0) })
    } else {
        inner
    }
}

struct Panicking {
    inner: Arc<dyn Transport>,
    calls: AtomicU32,
}

impl Transport for Panicking {
    fn call(&self, call: Call) -> ReplyFuture {
        if wanted("worker") && self.calls.fetch_add(1, Ordering::Relaxed) == AFTER {
            panic_now("a panic of a worker was asked for");
        }
        self.inner.call(call)
    }

    fn look(&self, org: OrgId, model: &str) -> SightFuture {
        if wanted("dispatcher") {
            panic_now("a panic of the dispatcher was asked for");
        }
        self.inner.look(org, model)
    }
}
