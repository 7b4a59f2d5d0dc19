//! How a sub-batch comes to be at the API: the intent, the create, and the search for one whose create had no answer.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use crate::api::batches::{BatchFailure, BatchReply, CreateOutcome, CreateReply, MessageBatch, ProcessingStatus};
use crate::model::{AccountTrouble, ApiError, Level, Money, Mono, OrgId, RetryAfter, SubBatchStatus, Trouble, Wall};

use super::act::{Out, Step, ToDo};
use super::adopt::{self, Found, Wanted};
use super::part::{BatchRun, Ctx};
use super::sub::between;
use crate::engine::budget::Blocked;

/// Waits between two looks into the list for a create that had no answer.
const LOOKS: [u64; 4] = [3, 7, 20, 30];
/// The same, when the process that sent it is dead: its connection died with it.
const LOOKS_AFTER_DEATH: [u64; 2] = [3, 7];
/// The wait between later looks, while it is ambiguous.
const LATER_LOOK: Duration = Duration::from_secs(60);

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
        ctx.ledger.reserve_batches(part.reserved());
        let sub = &mut part.subs[at];
        sub.org = Some(org);
        sub.entry.org = label;
        sub.entry.create_intent_at = Some(ctx.now.wall);
        sub.begin(Duration::ZERO, ctx.now.mono);
        sub.busy = true;
        sub.note(ctx.now.wall, format!("intent to create at {}", sub.entry.org));
        let members = Arc::clone(&sub.members);
        let index = sub.entry.index;
        part.version += 1;
        ctx.todo(index, ToDo::KeepMembers { members });
    }
}

/// The org with the fewest open that may open one more, and whose budget takes it.
fn pick(part: &mut BatchRun, at: usize, at_most: Money, ctx: &Ctx<'_>) -> Option<OrgId> {
    let in_creation = |org: OrgId| {
        part.subs.iter().any(|sub| {
            sub.org == Some(org) && matches!(sub.status(), SubBatchStatus::Creating | SubBatchStatus::Adrift)
        })
    };
    let may = |org: &OrgId| {
        ctx.usable.get(org.ix()).copied().unwrap_or(false)
            && part.desks[org.ix()].closed_until <= ctx.now.mono
            && part.n_open(*org) < part.settings.max_open
            && !in_creation(*org)
    };
    let mut orgs: Vec<OrgId> = (0..part.desks.len()).map(|ix| OrgId(ix as u16)).filter(may).collect();
    orgs.sort_by_key(|org| part.n_open(*org));
    let n = part.subs[at].members.len() as u64;
    for org in orgs {
        match ctx.budget.admits(ctx.ledger, org, n, at_most, ctx.now.wall) {
            Ok(()) => return Some(org),
            Err(Blocked(limit)) => {
                let text = format!("{limit}: a sub-batch of {n} requests may cost up to {at_most}");
                part.blocked = Some(Blocked(text));
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
    match reply.outcome {
        CreateOutcome::Created(batch) => {
            ctx.out.push(Out::Heard);
            sub.entry.batch_id = Some(batch.id.clone());
            sub.entry.submitted_at = Some(ctx.now.wall);
            sub.begin(Duration::ZERO, ctx.now.mono);
            sub.learn(&batch);
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
            part.desks[org.ix()].n_refused = 0;
            super::watch::schedule(part, at, ctx);
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
        BatchFailure::Invalid(error) => {
            ctx.out.push(Out::Stop("create-refused", format!("{label} refuses {name}: {error}")));
        }
    }
}

/// It may have been created. Never again blindly: it is looked for.
fn adrift(part: &mut BatchRun, at: usize, error: &ApiError, ctx: &mut Ctx<'_>) {
    let sub = &mut part.subs[at];
    if !sub.step(SubBatchStatus::Adrift) {
        return;
    }
    let org = sub.org;
    begin_search(sub, false, ctx.now.mono);
    sub.note(ctx.now.wall, format!("create without an answer: {error}"));
    let text = format!(
        "{} at {}: whether it was created is not known ({error}); it is looked for in the list, and not created again blindly",
        sub.name(),
        sub.entry.org
    );
    part.keep(at, Step::Other, ctx);
    ctx.say(Level::Warn, "sub-batch-adrift", org, text);
}

/// Begins to look for it.
pub(super) fn begin_search(sub: &mut super::sub::Sub, after_death: bool, now: Mono) {
    sub.resumed = after_death;
    sub.adrift_since = now;
    sub.n_clean_lists = 0;
    sub.next = now + Duration::from_secs(if after_death { LOOKS_AFTER_DEATH[0] } else { LOOKS[0] });
}

/// Asks for the org's list.
pub(super) fn look_in_list(part: &mut BatchRun, at: usize, ctx: &mut Ctx<'_>) {
    let sub = &mut part.subs[at];
    let (Some(org), Some(intent_at)) = (sub.org, sub.entry.create_intent_at) else {
        // Without an intent nothing was sent.
        sub.back_to_planned(ctx.now.mono);
        return;
    };
    sub.busy = true;
    let index = sub.entry.index;
    ctx.todo(index, ToDo::List { org, since: adopt::since(intent_at) });
}

/// The list is there.
pub(super) fn listed(part: &mut BatchRun, at: usize, reply: BatchReply<Vec<MessageBatch>>, ctx: &mut Ctx<'_>) {
    part.subs[at].busy = false;
    if part.subs[at].status() != SubBatchStatus::Adrift {
        return;
    }
    let listed = match reply.result {
        Ok(listed) => listed,
        Err(BatchFailure::Trouble(Trouble::Account(account), error)) => return part.park(at, account, error, ctx),
        Err(_) => {
            let sub = &mut part.subs[at];
            sub.n_failed += 1;
            sub.next = ctx.now.mono + Duration::from_secs(5 * u64::from(sub.n_failed.min(12)));
            return;
        }
    };
    let mut not_these: HashSet<String> = part.subs.iter().filter_map(|sub| sub.entry.batch_id.clone()).collect();
    let sub = &mut part.subs[at];
    sub.n_failed = 0;
    not_these.extend(sub.not_these.iter().cloned());
    let intent_at = sub.entry.create_intent_at.unwrap_or(Wall(0));
    let wanted = Wanted { intent_at, n_requests: sub.entry.n_requests, not_these: &not_these };
    match adopt::find(&listed, wanted) {
        Found::One { batch, sure } => adopt_it(part, at, &batch, !sure, ctx),
        Found::Nothing => absent(part, at, ctx),
        Found::Several(candidates) => ambiguous(part, at, &candidates, ctx),
    }
}

/// It is taken for ours.
fn adopt_it(part: &mut BatchRun, at: usize, batch: &MessageBatch, by_guess: bool, ctx: &mut Ctx<'_>) {
    let sub = &mut part.subs[at];
    let org = sub.org;
    sub.entry.batch_id = Some(batch.id.clone());
    sub.entry.adopted = by_guess;
    sub.learn(batch);
    let age = sub.entry.created_at.map_or(Duration::ZERO, |created| between(created, ctx.now.wall));
    sub.begin(age, ctx.now.mono);
    sub.question = None;
    sub.step(match batch.processing_status {
        ProcessingStatus::Ended => SubBatchStatus::Ended,
        ProcessingStatus::Canceling => SubBatchStatus::Canceling,
        ProcessingStatus::InProgress | ProcessingStatus::Other(_) => SubBatchStatus::InProgress,
    });
    if sub.status() == SubBatchStatus::Ended {
        sub.took = Some(age);
        sub.entry.ended_at = batch.ended_at.or(Some(ctx.now.wall));
    }
    if sub.canceled_elsewhere(batch) {
        sub.entry.canceled_elsewhere_at = Some(ctx.now.wall);
    }
    sub.next = ctx.now.mono;
    ctx.ledger.sent_in_batch(u64::from(sub.entry.n_requests));
    sub.note(ctx.now.wall, format!("adopted as {}", batch.id));
    let how = if by_guess { "by time and size, a guess" } else { "as the only one that it can be" };
    let text = format!("{} was found in the list of {} {how}, and adopted", sub.name(), sub.entry.org);
    part.keep(at, Step::Other, ctx);
    ctx.say(Level::Info, "sub-batch-adopted", org, text);
}

/// It is not in the list. After enough looks, over enough time, it was not created.
fn absent(part: &mut BatchRun, at: usize, ctx: &mut Ctx<'_>) {
    let sub = &mut part.subs[at];
    sub.n_clean_lists += 1;
    let looks: &[u64] = if sub.resumed { &LOOKS_AFTER_DEATH } else { &LOOKS };
    if let Some(wait) = looks.get(sub.n_clean_lists as usize) {
        sub.next = ctx.now.mono + Duration::from_secs(*wait);
        return;
    }
    let (name, label, org) = (sub.name(), sub.entry.org.clone(), sub.org);
    let span = ctx.now.mono.since(sub.adrift_since);
    sub.question = None;
    sub.note(ctx.now.wall, format!("not in the list of {label}: planned again"));
    sub.back_to_planned(ctx.now.mono);
    let n = sub.n_clean_lists;
    part.keep(at, Step::Other, ctx);
    let text = format!(
        "{name} is not in the list of {label}, in {n} looks over {:.0} s: it was not created, and is planned again",
        span.as_secs_f64()
    );
    ctx.say(Level::Info, "sub-batch-absent", org, text);
}

/// Several could be it. Those that have ended tell by the ids in their results; the others are waited for.
fn ambiguous(part: &mut BatchRun, at: usize, candidates: &[MessageBatch], ctx: &mut Ctx<'_>) {
    let sub = &mut part.subs[at];
    let ended = candidates.iter().find(|batch| batch.processing_status == ProcessingStatus::Ended);
    if let (Some(batch), Some(org)) = (ended, sub.org) {
        sub.busy = true;
        let (index, id) = (sub.entry.index, batch.id.clone());
        ctx.todo(index, ToDo::Peek { org, id });
        return;
    }
    sub.next = ctx.now.mono + LATER_LOOK;
    if sub.question.is_none() {
        let ids: Vec<&str> = candidates.iter().map(|batch| batch.id.as_str()).collect();
        let question = format!(
            "{} may be any of {} at {}: time and size do not tell them apart; their results will, when they have ended",
            sub.name(),
            ids.join(", "),
            sub.entry.org
        );
        sub.question = Some(question.clone());
        let org = sub.org;
        part.version += 1;
        ctx.say(Level::Warn, "sub-batch-ambiguous", org, question);
    }
}

/// The first result of a candidate was looked at.
pub(super) fn peeked(part: &mut BatchRun, at: usize, id: String, ours: Option<bool>, ctx: &mut Ctx<'_>) {
    let sub = &mut part.subs[at];
    sub.busy = false;
    if sub.status() != SubBatchStatus::Adrift {
        return;
    }
    match ours {
        None => sub.next = ctx.now.mono + LATER_LOOK,
        Some(false) => {
            sub.not_these.insert(id);
            sub.next = ctx.now.mono;
        }
        Some(true) => {
            let batch = MessageBatch {
                id,
                processing_status: ProcessingStatus::Ended,
                request_counts: Default::default(),
                created_at: sub.entry.create_intent_at,
                expires_at: None,
                ended_at: None,
                archived_at: None,
                cancel_initiated_at: None,
            };
            adopt_it(part, at, &batch, false, ctx);
        }
    }
}
