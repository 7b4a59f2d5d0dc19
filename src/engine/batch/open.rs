//! How a sub-batch comes to be at the API: the intent, the create, and what its answer means. `search` looks for one whose
//! create had no answer.

use std::sync::Arc;
use std::time::Duration;

use crate::api::batches::{BatchFailure, CreateOutcome, CreateReply};
use crate::model::{AccountTrouble, ApiError, Level, Money, OrgId, RetryAfter, SubBatchStatus, Trouble};

use super::act::{Out, Step, ToDo};
use super::part::{BatchRun, Ctx};
use super::shell::INPUT_CHANGED;
use super::{search, watch};
use crate::engine::budget::Blocked;

/// Sub-batches that the API calls wrong and which then go to the sync path, where every request is judged by itself. More of
/// them are no accident: the run stops before all of it is sent at twice the price.
const WRONG: u32 = 3;

/// First and longest wait of an org that refuses creates without naming a wait.
const REFUSED_MIN: Duration = Duration::from_secs(15);
const REFUSED_MAX: Duration = Duration::from_secs(600);

/// Opens planned sub-batches on orgs that have room. One create at a time and org: a create without an answer is looked for
/// by time and size, and two of them could not be told apart.
pub(super) fn open(part: &mut BatchRun, ctx: &mut Ctx<'_>) {
    part.blocked = None;
    if !ctx.admits || !part.piloted || part.finish_on_sync {
        return;
    }
    for at in 0..part.subs.len() {
        let sub = &part.subs[at];
        if sub.status() != SubBatchStatus::Planned || sub.busy || sub.next > ctx.now.mono {
            continue;
        }
        if sub.members.is_empty() {
            // Its only member went out as a pilot.
            part.subs.remove(at);
            part.version += 1;
            return open(part, ctx);
        }
        // The whole of it counts from here on: what a batch was given is paid for, whatever becomes of it.
        if part.subs[at].at_most == Money::ZERO {
            part.subs[at].at_most = part.subs[at].worst(ctx.ledger, ctx.sizes);
        }
        let at_most = part.subs[at].at_most;
        let Some(org) = pick(part, at, at_most, ctx) else { return };
        let label = part.label(org);
        let sub = &mut part.subs[at];
        if !sub.step(SubBatchStatus::Creating) {
            continue;
        }
        sub.org = Some(org);
        sub.entry.org = label;
        // Before the next one is looked at, which has to fit beside it.
        ctx.ledger.reserve_batches(part.reserved());
        let sub = &mut part.subs[at];
        sub.entry.create_intent_at = Some(ctx.now.wall);
        sub.entry.create_intent_at_api = part.clock.now(ctx.now.mono);
        sub.begin(Duration::ZERO, ctx.now.mono);
        sub.busy = true;
        sub.note(ctx.now.wall, format!("intent to create at {}", sub.entry.org));
        let members = Arc::clone(&sub.members);
        let index = sub.entry.index;
        part.version += 1;
        ctx.todo(index, ToDo::KeepMembers { members });
    }
}

/// The org with the fewest open that may open one more, and whose budget takes it. Keys of one organisation count as one: each
/// sees what the others create, so that two creates at once could be taken for each other.
fn pick(part: &mut BatchRun, at: usize, at_most: Money, ctx: &Ctx<'_>) -> Option<OrgId> {
    let beside = |org: OrgId| {
        let pool = ctx.pools.get(org.ix());
        part.subs.iter().filter(move |sub| sub.org.is_some_and(|other| ctx.pools.get(other.ix()) == pool))
    };
    let n_open = |org: OrgId| beside(org).filter(|sub| sub.status().is_open()).count() as u32;
    let in_creation =
        |org: OrgId| beside(org).any(|sub| matches!(sub.status(), SubBatchStatus::Creating | SubBatchStatus::Adrift));
    let may = |org: &OrgId| {
        ctx.usable.get(org.ix()).copied().unwrap_or(false)
            && part.desks[org.ix()].closed_until <= ctx.now.mono
            && n_open(*org) < part.settings.max_open
            && !in_creation(*org)
    };
    let mut orgs: Vec<OrgId> = (0..part.desks.len()).map(|ix| OrgId(ix as u16)).filter(may).collect();
    orgs.sort_by_key(|org| n_open(*org));
    let n = part.subs[at].members.len() as u64;
    for org in orgs {
        match ctx.budget.admits(ctx.ledger, org, n, at_most, ctx.now.wall) {
            Ok(()) => return Some(org),
            Err(Blocked { limit, needs }) => {
                let limit = format!("{limit}: a sub-batch of {n} requests may cost up to {at_most}");
                part.blocked = Some(Blocked { limit, needs });
            }
        }
    }
    None
}

/// Its members are durable: now the intent.
pub(super) fn members_kept(part: &mut BatchRun, at: usize, kept: Result<(), String>, ctx: &mut Ctx<'_>) {
    match kept {
        Ok(()) => {
            part.subs[at].members_kept = true;
            part.keep(at, Step::CreateIntent, ctx);
        }
        Err(message) => {
            let sub = &mut part.subs[at];
            sub.busy = false;
            sub.back_to_planned(ctx.now.mono + Duration::from_secs(10));
            let text = format!("{} was not created: {message}; it is tried again", sub.name());
            ctx.say(Level::Warn, "members-not-kept", None, text);
        }
    }
}

/// The intent is durable: now the create. A run that was paused meanwhile has sent nothing, and knows it.
pub(super) fn intent_kept(part: &mut BatchRun, at: usize, ctx: &mut Ctx<'_>) {
    let sub = &mut part.subs[at];
    let (Some(org), SubBatchStatus::Creating) = (sub.org, sub.status()) else {
        sub.busy = false;
        return;
    };
    if !ctx.admits {
        sub.busy = false;
        sub.back_to_planned(ctx.now.mono);
        part.keep(at, Step::Other, ctx);
        return;
    }
    let (index, members) = (sub.entry.index, Arc::clone(&sub.members));
    ctx.todo(index, ToDo::Create { org, members });
}

/// The create has ended.
pub(super) fn created(part: &mut BatchRun, at: usize, reply: CreateReply, ctx: &mut Ctx<'_>) {
    let sub = &mut part.subs[at];
    sub.busy = false;
    let Some(org) = sub.org else { return };
    if let Some(organisation) = reply.organization {
        ctx.out.push(Out::Organisation(org, organisation));
    }
    let is_known = |id: &String| part.subs.iter().any(|other| other.entry.batch_id.as_ref() == Some(id));
    match reply.outcome {
        // A proxy that answers one create with the answer to another: what became of this one is not known.
        CreateOutcome::Created(batch) if is_known(&batch.id) => {
            let message = format!("the answer names {}, which is another sub-batch", batch.id);
            let error = ApiError { kind: "wrong-batch".to_owned(), message, ..ApiError::default() };
            adrift(part, at, &error, ctx);
        }
        CreateOutcome::Created(batch) => {
            ctx.out.push(Out::Heard);
            let sub = &mut part.subs[at];
            sub.entry.batch_id = Some(batch.id.clone());
            sub.entry.submitted_at = Some(ctx.now.wall);
            sub.begin(Duration::ZERO, ctx.now.mono);
            watch::learn(part, at, &batch, ctx);
            let sub = &mut part.subs[at];
            sub.seen = false;
            sub.wish = reply.retry_after;
            sub.step(SubBatchStatus::InProgress);
            ctx.ledger.sent_in_batch(u64::from(sub.entry.n_requests));
            sub.note(ctx.now.wall, format!("created as {}", batch.id));
            let text = format!(
                "{} created at {}: {} requests",
                sub.name(),
                part.desks[org.ix()].label,
                part.subs[at].entry.n_requests
            );
            let desk = &mut part.desks[org.ix()];
            (desk.n_refused, desk.n_vanished) = (0, 0);
            watch::schedule(part, at, ctx);
            part.keep(at, Step::Other, ctx);
            ctx.say(Level::Info, "sub-batch-created", Some(org), text);
        }
        CreateOutcome::Refused(failure) => refused(part, at, org, failure, reply.retry_after, ctx),
        CreateOutcome::Unknown(error) => adrift(part, at, &error, ctx),
    }
}

/// It was surely not created: it is planned again, and the org rests.
fn refused(
    part: &mut BatchRun,
    at: usize,
    org: OrgId,
    failure: BatchFailure,
    retry_after: RetryAfter,
    ctx: &mut Ctx<'_>,
) {
    let label = part.label(org);
    let sub = &mut part.subs[at];
    let name = sub.name();
    sub.note(ctx.now.wall, format!("refused by {label}: {}", failure.error()));
    sub.back_to_planned(ctx.now.mono);
    part.keep(at, Step::Other, ctx);
    match failure {
        BatchFailure::Trouble(Trouble::Account(account), error) => ctx.out.push(Out::Park(org, account, error)),
        BatchFailure::NotFound(error) => ctx.out.push(Out::Park(org, AccountTrouble::Endpoint, error)),
        BatchFailure::Trouble(_, error) => {
            let desk = &mut part.desks[org.ix()];
            desk.n_refused += 1;
            let own = REFUSED_MIN.saturating_mul(2_u32.saturating_pow(desk.n_refused.min(10) - 1)).min(REFUSED_MAX);
            let wait = match retry_after {
                RetryAfter::After(span) => span.clamp(Duration::from_secs(1), Duration::from_secs(3_600)),
                RetryAfter::Absent | RetryAfter::Now | RetryAfter::Junk => own,
            };
            let wait = wait.mul_f64(1.0 + 0.25 * ctx.rng.f64());
            desk.closed_until = ctx.now.mono + wait;
            let text = format!(
                "{label} takes no new sub-batch: {error}; {name} waits, the other orgs go on; next try in {:.0} s",
                wait.as_secs_f64()
            );
            ctx.say(Level::Warn, "create-refused", Some(org), text);
        }
        BatchFailure::Invalid(error) => wrong(part, at, &label, &error, ctx),
    }
}

/// The API calls it wrong as a whole. Where others were taken, its own requests go to the sync path, which names the one that
/// is at fault; else, and when it happens again and again, the run stops.
fn wrong(part: &mut BatchRun, at: usize, label: &str, error: &ApiError, ctx: &mut Ctx<'_>) {
    let name = part.subs[at].name();
    let others_were_taken = part.subs.iter().any(|sub| sub.entry.batch_id.is_some());
    if error.kind == INPUT_CHANGED || !others_were_taken || part.n_wrong >= WRONG {
        ctx.out.push(Out::Stop("create-refused", format!("{label} refuses {name}: {error}")));
        return;
    }
    part.n_wrong += 1;
    let sub = part.subs.remove(at);
    let text = format!(
        "{label} refuses {name}: {error}; its {} requests go to the sync path, where each is judged by itself",
        sub.members.len()
    );
    ctx.out.push(Out::ToSync(sub.members.to_vec()));
    ctx.say(Level::Warn, "create-refused", sub.org, text);
}

/// It may have been created. Never again blindly: it is looked for.
fn adrift(part: &mut BatchRun, at: usize, error: &ApiError, ctx: &mut Ctx<'_>) {
    let sub = &mut part.subs[at];
    if !sub.step(SubBatchStatus::Adrift) {
        return;
    }
    let org = sub.org;
    search::begin_search(sub, part.settings.search_for, ctx.now.mono);
    let sub = &mut part.subs[at];
    sub.note(ctx.now.wall, format!("create without an answer: {error}"));
    let text = format!(
        "{} at {}: whether it was created is not known ({error}); it is looked for in the list, and not created again blindly",
        sub.name(),
        sub.entry.org
    );
    part.keep(at, Step::Other, ctx);
    ctx.say(Level::Warn, "sub-batch-adrift", org, text);
}
