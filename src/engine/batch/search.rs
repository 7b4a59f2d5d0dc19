//! The search for a sub-batch whose create had no answer: in the org's list, until it is found or surely was not made.

use std::collections::HashSet;
use std::time::Duration;

use crate::api::batches::{BatchFailure, BatchReply, MessageBatch, ProcessingStatus};
use crate::model::{AccountTrouble, ApiError, Level, Mono, OrgId, SubBatchStatus, Trouble, Wall};

use super::act::{Out, Step, ToDo};
use super::adopt::{self, Found, Wanted};
use super::part::{BatchRun, Ctx};
use super::poll::wished;
use super::sub::{Sub, between};
use super::watch;

/// When the list is looked at for a create that had no answer, as shares of the time that it is looked for: soon, since most
/// are there at once, and until the end, since one whose body had arrived may be made long after its connection died.
const LOOKS: [f64; 4] = [0.05, 0.15, 0.5, 1.0];
/// Creates without an answer and without a trace, one after the other, before their org is parked; and how long it rests
/// after the first of them.
const VANISHED: u32 = 4;
const VANISHED_REST: Duration = Duration::from_secs(15);

/// The wait between later looks, while it is ambiguous.
const LATER_LOOK: Duration = Duration::from_secs(60);

/// Begins to look for it.
pub(super) fn begin_search(sub: &mut Sub, search_for: Duration, now: Mono) {
    sub.adrift_since = now;
    sub.n_clean_lists = 0;
    sub.next = now + search_for.mul_f64(LOOKS[0]);
}

/// Asks for the org's list.
pub(super) fn look_in_list(part: &mut BatchRun, at: usize, ctx: &mut Ctx<'_>) {
    let sub = &mut part.subs[at];
    let intent_at = sub.entry.create_intent_at_api.or(sub.entry.create_intent_at);
    let (Some(org), Some(intent_at)) = (sub.org, intent_at) else {
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
    let theirs = reply.at;
    part.clock.heard(theirs, ctx.now.mono);
    let listed = match reply.result {
        Ok(listed) => listed,
        Err(BatchFailure::Trouble(Trouble::Account(account), error)) => return part.park(at, account, error, ctx),
        Err(failure) => {
            let sub = &mut part.subs[at];
            sub.n_failed += 1;
            let own = Duration::from_secs(5 * u64::from(sub.n_failed.min(12)));
            sub.next = ctx.now.mono + own.max(wished(reply.retry_after));
            ctx.out.push(Out::Unheard(failure.error().clone()));
            let (org, n) = (sub.org, sub.n_failed);
            if n == 3 {
                let text = format!(
                    "{}: the list of {} could not be read {n} times, the last: {}; until it can, it is neither adopted nor \
                     created again",
                    sub.name(),
                    sub.entry.org,
                    failure.error()
                );
                ctx.say(Level::Warn, "lists-fail", org, text);
            }
            return;
        }
    };
    ctx.out.push(Out::Heard);
    let mut not_these: HashSet<String> = part.subs.iter().filter_map(|sub| sub.entry.batch_id.clone()).collect();
    let sub = &mut part.subs[at];
    sub.n_failed = 0;
    sub.refused = false;
    not_these.extend(sub.not_these.iter().cloned());
    let intent_at = sub.entry.create_intent_at.unwrap_or(Wall(0));
    // Two reckonings: the local clock may have been set since the intent, or the machine have slept before it.
    let mut intents = vec![adopt::by_their_clock(intent_at, theirs, ctx.now.wall)];
    intents.extend(sub.entry.create_intent_at_api);
    let wanted = Wanted { intents: &intents, n_requests: sub.entry.n_requests, not_these: &not_these };
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
    let now = part.clock.now(ctx.now.mono).unwrap_or(ctx.now.wall);
    let age = sub.entry.created_at.map_or(Duration::ZERO, |created| between(created, now));
    sub.begin(age, ctx.now.mono);
    sub.question = None;
    if by_guess {
        // Whoever wanted it canceled meant one that is surely ours.
        sub.cancel_wanted = None;
    }
    sub.step(match batch.processing_status {
        ProcessingStatus::Ended => SubBatchStatus::Ended,
        ProcessingStatus::Canceling => SubBatchStatus::Canceling,
        ProcessingStatus::InProgress | ProcessingStatus::Other(_) => SubBatchStatus::InProgress,
    });
    if sub.status() == SubBatchStatus::Ended {
        sub.took = Some(age);
        sub.entry.ended_at = batch.ended_at.or(Some(ctx.now.wall));
    }
    sub.next = ctx.now.mono;
    ctx.ledger.sent_in_batch(u64::from(sub.entry.n_requests));
    if let Some(desk) = org.and_then(|org| part.desks.get_mut(org.ix())) {
        desk.n_vanished = 0;
    }
    let sub = &mut part.subs[at];
    sub.note(ctx.now.wall, format!("adopted as {}", batch.id));
    let how = if by_guess { "by time and size, a guess" } else { "as the only one that it can be" };
    let text = format!("{} was found in the list of {} {how}, and adopted", sub.name(), sub.entry.org);
    part.keep(at, Step::Other, ctx);
    ctx.say(Level::Info, "sub-batch-adopted", org, text);
    if part.subs[at].canceled_elsewhere(batch) {
        watch::say_canceled_elsewhere(part, at, ctx);
    }
}

/// It is not in the list. After enough looks, over enough time, it was not created.
fn absent(part: &mut BatchRun, at: usize, ctx: &mut Ctx<'_>) {
    let sub = &mut part.subs[at];
    sub.n_clean_lists += 1;
    if let Some(share) = LOOKS.get(sub.n_clean_lists as usize) {
        sub.next = sub.adrift_since + part.settings.search_for.mul_f64(*share);
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
    if let Some(org) = org {
        vanished(part, org, ctx);
    }
}

/// A create of this org had no answer and left nothing in its list. When that happens again and again, the list may be what
/// is wrong, and each try is paid for: the org rests, and is parked in the end.
fn vanished(part: &mut BatchRun, org: OrgId, ctx: &mut Ctx<'_>) {
    let desk = &mut part.desks[org.ix()];
    desk.n_vanished += 1;
    desk.closed_until = ctx.now.mono + VANISHED_REST * desk.n_vanished;
    if desk.n_vanished < VANISHED {
        return;
    }
    let n = std::mem::take(&mut desk.n_vanished);
    let message = format!(
        "{n} creates in a row had no answer and are not in its list; whether they are billed is not known: look at the \
         org's batches in the Console before it goes on"
    );
    let error = ApiError { kind: "creates-vanish".to_owned(), message, ..ApiError::default() };
    ctx.out.push(Out::Park(org, AccountTrouble::Endpoint, error));
}

/// Several could be it. Those that have ended tell by the ids in their results; the others are waited for.
fn ambiguous(part: &mut BatchRun, at: usize, candidates: &[MessageBatch], ctx: &mut Ctx<'_>) {
    let sub = &mut part.subs[at];
    let ended = candidates.iter().find(|batch| batch.processing_status == ProcessingStatus::Ended);
    if sub.is_overdue(ctx.now.mono) {
        let why = "what was created for it could not be told from other batches of its time and size";
        return watch::unavailable(part, at, why, ctx);
    }
    if let (Some(batch), Some(org)) = (ended, sub.org) {
        sub.busy = true;
        let (index, batch) = (sub.entry.index, Box::new(batch.clone()));
        ctx.todo(index, ToDo::Peek { org, batch });
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
pub(super) fn peeked(part: &mut BatchRun, at: usize, batch: MessageBatch, ours: Option<bool>, ctx: &mut Ctx<'_>) {
    let sub = &mut part.subs[at];
    sub.busy = false;
    if sub.status() != SubBatchStatus::Adrift {
        return;
    }
    match ours {
        None => sub.next = ctx.now.mono + LATER_LOOK,
        Some(false) => {
            sub.not_these.insert(batch.id);
            sub.next = ctx.now.mono;
        }
        Some(true) => adopt_it(part, at, &batch, false, ctx),
    }
}
