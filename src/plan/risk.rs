//! What can go wrong on each route, in words.

use crate::model::format::count;
use crate::model::planning::BATCH_SLA_S;

use super::batches::{self, Waves};
use super::figure::End;
use super::forecast::Flows;
use super::knobs::Knobs;
use super::route::span;

/// Whether, at the worst, sub-batches are canceled by the escape and their requests sent again on the sync path.
pub(super) fn may_be_driven_again(knobs: &Knobs) -> bool {
    batches::longest(knobs).as_secs() < BATCH_SLA_S && knobs.sub_batch_s.high >= batches::longest(knobs).as_secs_f64()
}

pub(super) fn of_sync(knobs: &Knobs, flows: &Flows, n: u64) -> Vec<String> {
    let mut risks = Vec::new();
    if n == 0 {
        return risks;
    }
    let unknown: Vec<&str> =
        knobs.orgs.iter().filter(|org| org.limits.is_empty()).map(|org| org.label.as_str()).collect();
    if !unknown.is_empty() {
        risks.push(format!(
            "the limits of {} for this model are not known yet: should one be below the pace, it takes longer",
            unknown.join(", ")
        ));
    }
    if let Some((label, share)) = most_used(knobs, flows).filter(|(_, share)| *share >= 0.5) {
        risks.push(format!(
            "takes {:.0} % of the output tokens of {label}: colleagues there are given way to, and it takes longer then",
            share * 100.0
        ));
    }
    let minutes = flows.mid.time(n).secs / 60.0;
    if minutes.is_finite() && minutes > 60.0 {
        risks.push(
            "over an hour at full price: a fault on the way costs what is in flight, nothing that is done".to_owned(),
        );
    }
    risks
}

/// The org of whose output-token limit the run takes the largest share, and that share, once all is steady.
fn most_used<'k>(knobs: &'k Knobs, flows: &Flows) -> Option<(&'k str, f64)> {
    let each = flows.mid.rate() / knobs.orgs.len().max(1) as f64 * 60.0 * knobs.tokens.output.mid;
    let shares = knobs.orgs.iter().filter_map(|org| {
        let limit = org.limits.output_tokens.as_ref()?.at(End::Mid);
        (limit > 0.0).then(|| (org.label.as_str(), (each / limit).min(1.0)))
    });
    shares.max_by(|a, b| a.1.total_cmp(&b.1))
}

pub(super) fn of_batch(knobs: &Knobs, waves: &Waves) -> Vec<String> {
    let mut risks = Vec::new();
    if waves.passes == 0 {
        return risks;
    }
    let draws = if waves.passes == 1 {
        "one draw from the tail of the queue: minutes, or most of a day".to_owned()
    } else {
        format!(
            "{} draws of their own from the tail of the queue: one wedged sub-batch holds the end of the run",
            count(waves.passes)
        )
    };
    risks.push(draws);
    match knobs.batch.stuck_after {
        Some(after) if knobs.batch.escape => risks.push(format!(
            "a sub-batch older than {} is canceled and what it left is sent on the sync path, at full price",
            span(after)
        )),
        Some(after) => {
            risks.push(format!("a sub-batch older than {} waits for the operator to cancel it", span(after)));
        }
        None => risks
            .push("the stuck escape is off: a wedged sub-batch is waited for until it expires after 24 h".to_owned()),
    }
    risks.push("nothing is shown of a sub-batch until it has ended".to_owned());
    risks
}
