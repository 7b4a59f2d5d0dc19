//! The picture of the sub-batches of a run.

use std::sync::Arc;
use std::time::Duration;

use crate::model::snapshot::{BatchesView, SubBatchView};
use crate::model::{Mono, Now, SubBatchStatus};
use crate::store::{batches_view, sub_batch_view};

use super::part::BatchRun;
use super::sub::Sub;

/// A picture that is made anew when something has changed, and once a second for its clocks: there may be a thousand
/// sub-batches, and ten pictures a second.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    made: Option<(u64, u64, Arc<BatchesView>)>,
}

/// The picture.
pub(crate) fn picture(part: &mut BatchRun, now: Now) -> Arc<BatchesView> {
    let second = now.mono.0 / 1_000_000;
    if let Some((version, at, view)) = &part.kept.made
        && (*version, *at) == (part.version, second)
    {
        return Arc::clone(view);
    }
    let view = Arc::new(view(part, now.mono));
    part.kept.made = Some((part.version, second, Arc::clone(&view)));
    view
}

fn view(part: &BatchRun, now: Mono) -> BatchesView {
    let peers = part.peers();
    BatchesView {
        threshold_known: true,
        threshold_ms: part.settings.stuck_after.map(millis),
        escape: part.settings.escape,
        took_median_ms: peers.median().map(millis),
        took_longest_ms: peers.longest().map(millis),
        finish_on_sync: part.finish_on_sync,
        sub_batches: part.subs.iter().map(|sub| one(part, sub, now)).collect(),
        ..batches_view(part.subs.iter().map(|sub| &sub.entry))
    }
}

fn one(part: &BatchRun, sub: &Sub, now: Mono) -> SubBatchView {
    let status = sub.status();
    let planned = status == SubBatchStatus::Planned;
    let age = (!planned).then(|| sub.took.unwrap_or_else(|| sub.age(now)));
    let open = status.is_open();
    // A cancel that is under way ends the countdown to it.
    let waits = open && !matches!(status, SubBatchStatus::CancelRequested | SubBatchStatus::Canceling);
    let unknown =
        sub.api_status.as_ref().filter(|word| !matches!(word.as_str(), "in_progress" | "canceling" | "ended"));
    SubBatchView {
        api_status: unknown.cloned(),
        age_ms: age.map(millis),
        stuck_in_ms: part
            .settings
            .stuck_after
            .filter(|_| waits)
            .map(|after| millis(after.saturating_sub(sub.age(now)))),
        expires_in_ms: open.then(|| millis(sub.expires_in(now))),
        next_poll_ms: (status.is_polled() && sub.org.is_some()).then(|| millis(sub.next.until(now))),
        n_failed: sub.n_failed + sub.n_404,
        stuck: sub.stuck || sub.entry.stuck_cancel_intent_at.is_some(),
        question: sub.question.clone(),
        timeline: sub.timeline.clone(),
        ..sub_batch_view(&sub.entry)
    }
}

fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}
