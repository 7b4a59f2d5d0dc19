//! A planned sub-batch that the budget does not hold: it is made smaller, or its requests go to the sync path.
//!
//! This is looked at only when nothing else is out. A sub-batch is reserved at the most that it can cost and is billed a
//! fraction of that, so that what one gives back usually makes room for the next; to cut sub-batches to what is free at any
//! moment would make many small ones, each of which takes as long as a large one.

use crate::model::{Level, Money, OrgId, RequestNo};

use super::part::{BatchRun, Ctx};
use super::sub::Sub;

/// Fewer requests are not worth the wait for a batch. More would be: what limits the run is money, of which a batch takes
/// half.
const LEAST: usize = 10;

/// Makes the next planned sub-batch fit into the budget. False when the budget takes no request of it on any path.
pub(super) fn fit(part: &mut BatchRun, ctx: &mut Ctx<'_>) -> bool {
    let next = |sub: &Sub| sub.is_planned() && !sub.busy && !sub.members.is_empty();
    let Some(at) = part.subs.iter().position(next) else { return false };
    if !ctx.admits || !part.piloted || part.finish_on_sync {
        return false;
    }
    let n = held(&part.subs[at], ctx);
    if n >= part.subs[at].members.len() {
        // It waits for an org that takes no creates now.
        true
    } else if n >= LEAST {
        split(part, at, n, ctx);
        true
    } else {
        to_sync(part, at, n, ctx)
    }
}

/// Orgs that take work.
fn usable(ctx: &Ctx<'_>) -> Vec<OrgId> {
    let usable = ctx.usable.iter().enumerate().filter(|(_, usable)| **usable);
    usable.map(|(ix, _)| OrgId(ix as u16)).collect()
}

/// How many of its first requests the budget holds in a batch, over the org that takes most.
fn held(sub: &Sub, ctx: &Ctx<'_>) -> usize {
    let holds = |org: OrgId| {
        let mut sum = Money::ZERO;
        let fits = |(at, no): &(usize, &RequestNo)| {
            sum += ctx.at_most_in_batch(**no);
            ctx.budget.admits(ctx.ledger, org, *at as u64 + 1, sum, ctx.now.wall).is_ok()
        };
        sub.members.iter().enumerate().take_while(fits).count()
    };
    usable(ctx).into_iter().map(holds).max().unwrap_or_default()
}

/// Its first `n` requests stay; the others are planned anew, behind all others. An index whose members are durable already
/// is not used again.
fn split(part: &mut BatchRun, at: usize, n: usize, ctx: &mut Ctx<'_>) {
    let sub = part.subs.remove(at);
    let (first, rest) = sub.members.split_at(n);
    let index = if sub.members_kept { part.new_index() } else { sub.entry.index };
    let rest_at = part.new_index();
    part.subs.push(Sub::planned(index, first.to_vec()));
    part.subs.push(Sub::planned(rest_at, rest.to_vec()));
    part.subs.sort_by_key(|sub| sub.entry.index);
    let text = format!(
        "the budget does not hold all {} requests of sub-batch {}: its first {n} go out as sub-batch {index}, the other {} wait \
         as sub-batch {rest_at} for what that leaves",
        sub.members.len(),
        sub.entry.index,
        rest.len()
    );
    part.blocked = None;
    part.soon();
    ctx.say(Level::Warn, "sub-batch-split", None, text);
}

/// What is only planned goes to the sync path, where a request is sent as soon as the budget holds it. Not for longer than
/// this session: with a higher budget the next one makes batches of it again.
fn to_sync(part: &mut BatchRun, at: usize, n: usize, ctx: &mut Ctx<'_>) -> bool {
    let Some(&no) = part.subs[at].members.first() else { return false };
    let single = ctx.ledger.at_most(ctx.sizes, no, false);
    let takes = |org: &OrgId| ctx.budget.admits(ctx.ledger, *org, 1, single, ctx.now.wall).is_ok();
    if !usable(ctx).iter().any(takes) {
        return false;
    }
    part.blocked = None;
    let n_released = part.release_planned(ctx);
    part.soon();
    let text = format!(
        "the budget holds no more than {n} requests in a batch, too few to wait for: the {n_released} that are not in a sub-batch go \
         to the sync path, as far as the budget goes"
    );
    ctx.say(Level::Warn, "rest-on-sync", None, text);
    true
}
