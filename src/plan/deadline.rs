//! Whether a deadline can be kept, on each route; and what would keep it when it cannot.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::model::planning::BATCH_SLA_S;
use crate::model::{Route, format};

use super::batches;
use super::figure::End;
use super::flow::Flow;
use super::forecast::{Flows, batch_walls, secs};
use super::knobs::Knobs;
use super::route::span;

/// Most lanes that can be set.
const MOST_PROCS: u32 = 64;

/// See the module.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DeadlineView {
    /// Seconds from now.
    pub in_s: u64,
    /// Whether the verdict's route keeps it, as expected.
    pub is_kept: bool,
    /// Whether it does also when all goes badly.
    pub is_safe: bool,
    /// Seconds from now at which the sync path must have been started at the latest, also when all goes badly; negative
    /// when that has passed.
    #[serde(with = "secs")]
    pub latest_sync_start_s: f64,
    /// The same for batches: each may take 24 hours, and waves come one after the other.
    #[serde(with = "secs")]
    pub latest_batch_start_s: f64,
    /// The fewest lanes per key with which the sync path keeps it as expected; `None` when no number does.
    pub procs_needed: Option<u32>,
    /// All of it in words; when it cannot be kept, with the nearest plan that can.
    pub words: String,
}

pub(super) fn view(knobs: &Knobs, flows: &Flows, route: Route, by: Duration) -> DeadlineView {
    let n = knobs.n_to_send();
    let limit = by.as_secs_f64();
    let batch = batch_walls(knobs, flows, n);
    let (mid, high) = match route {
        Route::Batch => (batch.1, batch.2),
        _ => (flows.mid.time(n).secs, flows.high.time(n).secs),
    };
    let waves = batches::waves(knobs, n);
    let latest_batch = limit - waves.waves.max(1) as f64 * BATCH_SLA_S as f64;
    let procs_needed = procs_needed(knobs, flows, n, limit);
    let (is_kept, is_safe) = (mid <= limit, high <= limit);
    let head = match (is_kept, is_safe) {
        (_, true) => format!("{route} keeps it, also when all goes badly"),
        (true, false) => {
            format!("{route} is expected to keep it ({}), and not when all goes badly ({})", said(mid), said(high))
        }
        (false, _) => format!("{route} cannot keep it: {} are expected", said(mid)),
    };
    let words =
        if is_kept { head } else { format!("{head}; {}", nearest(knobs, flows, route, n, limit, procs_needed)) };
    DeadlineView {
        in_s: by.as_secs(),
        is_kept,
        is_safe,
        latest_sync_start_s: limit - flows.high.time(n).secs,
        latest_batch_start_s: latest_batch,
        procs_needed,
        words,
    }
}

/// The fewest lanes that are enough. More lanes never take longer.
fn procs_needed(knobs: &Knobs, flows: &Flows, n: u64, limit: f64) -> Option<u32> {
    let wall = |procs| Flow::of(knobs, procs, End::Mid).time(n).secs;
    if flows.mid.time(n).secs > limit && wall(MOST_PROCS) > limit {
        return None;
    }
    let (mut low, mut high) = (1, MOST_PROCS);
    while low < high {
        let mid = low.midpoint(high);
        if wall(mid) <= limit { high = mid } else { low = mid + 1 }
    }
    Some(low)
}

/// The nearest plan that keeps the deadline.
fn nearest(knobs: &Knobs, flows: &Flows, route: Route, n: u64, limit: f64, procs: Option<u32>) -> String {
    let now = knobs.dispatch.procs;
    let sync = flows.mid.time(n).secs;
    match procs {
        _ if route == Route::Batch && sync <= limit => format!("sync is expected to keep it, in {}", said(sync)),
        Some(procs) if procs > now => format!("sync with {procs} procs instead of {now} is expected to keep it"),
        Some(procs) => format!("sync with {procs} procs is expected to keep it"),
        None => {
            let most = flows.mid.most_within(limit);
            let best = Flow::of(knobs, MOST_PROCS, End::Mid).time(n).secs.min(sync);
            format!(
                "no number of procs is enough; by then {} of the {} can be done, or all of them in {}",
                format::count(most),
                format::count(n),
                said(best)
            )
        }
    }
}

fn said(secs: f64) -> String {
    if secs.is_finite() { span(Duration::from_secs_f64(secs.clamp(0.0, 1e12))) } else { "for ever".to_owned() }
}
