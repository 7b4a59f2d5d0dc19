//! What came of a plan: route, wall-clock and cost of a finished run against what was planned. A difference is an event in
//! the audit trail of the run.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::json;

use crate::catalog::Catalog;
use crate::model::{Money, Route, RunStatus, Snapshot};
use crate::plan::Plan;
use crate::report::format;
use crate::store::{AuditEvent, RunDir, RunFile, StateFile, stamp};

use super::history;
use super::plan_record::Made;
use super::setup::Setup;

/// A figure outside its interval.
struct Difference {
    words: String,
    data: serde_json::Value,
}

/// What is done with the figures of a run that has come to rest.
pub(crate) struct Memory {
    run: RunFile,
    n_sessions: u32,
    history_dir: Option<PathBuf>,
    catalog: Arc<Catalog>,
}

impl Memory {
    /// Of a run that was started this many times, this one included.
    pub(crate) fn of(run: &RunFile, n_sessions: u32, setup: &Setup) -> Memory {
        let (history_dir, catalog) = (setup.history_dir.clone(), Arc::clone(&setup.catalog));
        Memory { run: run.clone(), n_sessions, history_dir, catalog }
    }

    /// Writes down what was measured, and what differs from the plan. Only the session that it is the
    /// plan of is compared by its wall-clock: the pauses between sessions were not planned.
    pub(crate) fn keep(&self, snapshot: &Snapshot, dir: &RunDir) {
        let state = StateFile::load(dir.path()).ok().flatten();
        let books = state.map(|state| state.books).unwrap_or_default();
        history::keep(self.history_dir.as_deref(), &self.run, &books, snapshot, &self.catalog);
        for difference in differences(&self.run, self.n_sessions, snapshot) {
            let event = AuditEvent {
                at: stamp::now(),
                kind: "plan-differs".to_owned(),
                org: None,
                text: difference.words,
                data: Some(difference.data),
            };
            if let Err(error) = event.append(dir.path()) {
                tracing::warn!("failed to write that the run differs from its plan: {error}");
            }
        }
    }
}

fn differences(run: &RunFile, n_sessions: u32, snapshot: &Snapshot) -> Vec<Difference> {
    let Some(record) = &run.plan else { return Vec::new() };
    let made = Made::of_record(record);
    let plan = serde_json::from_value::<Plan>(record.clone()).ok();
    let (Some(plan), Some(view)) = (plan, snapshot.runs.first()) else { return Vec::new() };
    if view.status != RunStatus::Finished {
        return Vec::new();
    }
    let mut found = Vec::new();
    if plan.route == Route::Batch {
        let answered = view.counts.done() - view.counts.cached;
        let by_batch = view.batches.as_ref().map_or(0, |batches| batches.n_harvested).min(answered);
        let by_sync = answered - by_batch;
        // A few go out on the sync path before the first create, to see that their shape is accepted.
        if by_sync * 100 > answered {
            found.push(Difference {
                words: format!(
                    "planned for batch; {} of {} requests were answered on the sync path",
                    format::count(by_sync),
                    format::count(answered)
                ),
                data: json!({"route": {"planned": "batch", "n_batch": by_batch, "n_sync": by_sync}}),
            });
        }
    }
    let chosen = &plan.chosen;
    let wall = view.session_wall_ms as f64 / 1e3;
    if n_sessions == made.session && !(chosen.wall_s_low..=chosen.wall_s_high).contains(&wall) {
        let ms = |secs: f64| format::took((secs.min(1e12) * 1e3) as u64);
        found.push(Difference {
            words: format!(
                "took {}; planned were {} ({} to {})",
                ms(wall),
                ms(chosen.wall_s),
                ms(chosen.wall_s_low),
                ms(chosen.wall_s_high)
            ),
            data: json!({"wall_s": {"planned": chosen.wall_s, "realised": wall}}),
        });
    }
    let cost = plan.cost();
    let spent = Money(view.cost.0.saturating_sub(made.spent_usd.0));
    if chosen.cost_usd.is_some() && !(cost.low..=cost.high).contains(&spent) {
        found.push(Difference {
            words: format!(
                "cost {}; planned were {} ({} to {})",
                format::money(spent),
                format::money(cost.expected),
                format::money(cost.low),
                format::money(cost.high)
            ),
            data: json!({"cost_usd": {"planned": cost.expected, "realised": spent}}),
        });
    }
    found
}
