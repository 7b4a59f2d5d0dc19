//! The picture of sub-batches as far as their entries tell it. Who drives them, or looks at who does, adds the clocks, the
//! questions and the thresholds.

use super::sub_batch::SubBatchEntry;
use crate::model::SubBatchStatus;
use crate::model::snapshot::{BatchesView, SubBatchView};

/// What the entries of a run come to: requests and sub-batches by where they are, and the cost; without the sub-batches
/// themselves.
pub fn batches_view<'e>(entries: impl Iterator<Item = &'e SubBatchEntry>) -> BatchesView {
    let mut view = BatchesView::default();
    for entry in entries {
        let n = u64::from(entry.n_requests);
        match entry.status {
            SubBatchStatus::Planned => view.n_planned += n,
            status if status.is_over() => view.n_harvested += n,
            _ => view.n_open += n,
        }
        view.created += u32::from(entry.batch_id.is_some());
        view.ended += u32::from(entry.ended_at.is_some());
        view.stuck_canceled += u32::from(entry.stuck_canceled_at.is_some());
        view.cost += entry.tally.cost;
    }
    view
}

/// One sub-batch, without its timeline.
pub fn sub_batch_view(entry: &SubBatchEntry) -> SubBatchView {
    let tally = &entry.tally;
    SubBatchView {
        index: entry.index,
        org: entry.org.clone(),
        batch_id: entry.batch_id.clone(),
        n_requests: entry.n_requests,
        status: entry.status,
        api_status: None,
        age_ms: None,
        stuck_in_ms: None,
        expires_in_ms: None,
        next_poll_ms: None,
        n_failed: 0,
        canceled: entry.was_canceled(),
        stuck: entry.stuck_cancel_intent_at.is_some(),
        adopted: entry.adopted,
        question: None,
        n_succeeded: tally.n_succeeded,
        n_refused_invalid: tally.n_refused + tally.n_invalid,
        n_expired: tally.n_expired,
        n_canceled: tally.n_canceled,
        n_errored: tally.n_errored + tally.n_missing + tally.n_unknown,
        cost: tally.cost,
        timeline: Vec::new(),
    }
}
