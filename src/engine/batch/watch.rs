//! A sub-batch at the API: polls, the verdict that it is stuck, the escape, and cancels of somebody else.

use std::time::Duration;

use crate::api::batches::{BatchFailure, BatchReply, MessageBatch, ProcessingStatus};
use crate::model::{AccountTrouble, ApiError, Level, SubBatchStatus, Trouble};

use super::act::{Out, Step, ToDo};
use super::part::{BatchRun, Ctx};
use super::poll::{Pace, grace, wished};
use super::stuck;
use super::sub::between;

/// Why a batch that was left for too long has no results any more.
const ARCHIVED: &str = "its results are archived: they are kept for 29 days";

/// Asks how a sub-batch is.
pub(super) fn poll(part: &mut BatchRun, at: usize, ctx: &mut Ctx<'_>) {
    let sub = &mut part.subs[at];
    let (Some(org), Some(id)) = (sub.org, sub.entry.batch_id.clone()) else { return };
    sub.busy = true;
    let index = sub.entry.index;
    ctx.todo(index, ToDo::Poll { org, id });
}

/// When it is asked for next.
pub(super) fn schedule(part: &mut BatchRun, at: usize, ctx: &mut Ctx<'_>) {
    let org = part.subs[at].org;
    let n_polled = part.subs.iter().filter(|sub| sub.org == org && sub.status().is_polled()).count() as u32;
    let every = part.settings.poll_every;
    let sub = &mut part.subs[at];
    let pace = Pace { every, age: sub.age(ctx.now.mono), n_polled, wish: sub.wish, n_failed: sub.n_failed };
    sub.next = ctx.now.mono + pace.wait(ctx.rng);
}

/// A poll has ended.
pub(super) fn polled(part: &mut BatchRun, at: usize, reply: BatchReply<MessageBatch>, ctx: &mut Ctx<'_>) {
    let sub = &mut part.subs[at];
    sub.busy = false;
    sub.look_first = false;
    sub.wish = reply.retry_after;
    part.clock.heard(reply.at, ctx.now.mono);
    let sub = &mut part.subs[at];
    if sub.status() == SubBatchStatus::Ended {
        return looked_again(part, at, reply.result, ctx);
    }
    if !sub.status().is_polled() {
        return;
    }
    if let (Some(org), Some(organisation)) = (sub.org, reply.organization) {
        ctx.out.push(Out::Organisation(org, organisation));
    }
    match reply.result {
        // A proxy that mixes up its answers.
        Ok(batch) if sub.entry.batch_id.as_ref() != Some(&batch.id) => {
            let message = format!("the answer is about {}", batch.id);
            let error = ApiError { kind: "wrong-batch".to_owned(), message, ..ApiError::default() };
            unseen(part, at, BatchFailure::Trouble(Trouble::Broken, error), ctx);
        }
        Ok(batch) => seen(part, at, &batch, ctx),
        Err(failure) => unseen(part, at, failure, ctx),
    }
}

/// Takes what the API says of it. A status that no document names is told once: it is shown, and it is no end.
pub(super) fn learn(part: &mut BatchRun, at: usize, batch: &MessageBatch, ctx: &mut Ctx<'_>) {
    let sub = &mut part.subs[at];
    let known = sub.api_status.clone();
    sub.learn(batch);
    if let ProcessingStatus::Other(word) = &batch.processing_status
        && known.as_ref() != Some(word)
    {
        let org = sub.org;
        let text = format!("{}: the API calls its status {word:?}, which is not known: it is polled on", sub.name());
        ctx.say(Level::Warn, "unknown-status", org, text);
    }
}

/// The API showed it.
fn seen(part: &mut BatchRun, at: usize, batch: &MessageBatch, ctx: &mut Ctx<'_>) {
    ctx.out.push(Out::Heard);
    part.subs[at].refused = false;
    let was = part.subs[at].status();
    if part.subs[at].canceled_elsewhere(batch) {
        say_canceled_elsewhere(part, at, ctx);
    }
    let is_first_sight = part.subs[at].resumed && !part.subs[at].seen;
    learn(part, at, batch, ctx);
    let now_there = part.clock.now(ctx.now.mono);
    let sub = &mut part.subs[at];
    // Between two sessions the local clock may have been set, and a sub-batch is not to be canceled for that.
    if let (true, Some(created), Some(now_there)) = (is_first_sight, batch.created_at, now_there) {
        sub.begin(between(created, now_there), ctx.now.mono);
    }
    if batch.archived_at.is_some() {
        return unavailable(part, at, ARCHIVED, ctx);
    }
    match &batch.processing_status {
        ProcessingStatus::Ended => return ended(part, at, batch, ctx),
        ProcessingStatus::Canceling => {
            if was == SubBatchStatus::CancelRequested {
                sub.entry.stuck_canceled_at = Some(ctx.now.wall);
            }
            sub.step(SubBatchStatus::Canceling);
        }
        ProcessingStatus::InProgress | ProcessingStatus::Other(_) => {}
    }
    if part.subs[at].status() != was {
        part.keep(at, Step::Other, ctx);
    }
    if part.subs[at].is_overdue(ctx.now.mono) {
        return overdue(part, at, ctx);
    }
    schedule(part, at, ctx);
}

/// It has ended, and its results were not there: it says why, or they are asked for once more.
fn looked_again(part: &mut BatchRun, at: usize, result: Result<MessageBatch, BatchFailure>, ctx: &mut Ctx<'_>) {
    let sub = &mut part.subs[at];
    match result {
        Ok(batch) if batch.archived_at.is_some() => unavailable(part, at, ARCHIVED, ctx),
        Ok(batch) if batch.processing_status == ProcessingStatus::Ended => {
            sub.ended_counts = Some(batch.request_counts);
        }
        // It was shown as ended, and is not: it is waited for as before.
        Ok(batch) if sub.entry.batch_id.as_ref() == Some(&batch.id) => {
            sub.learn(&batch);
            sub.look_first = true;
            schedule(part, at, ctx);
        }
        // Nothing is learned; the next download tells.
        Ok(_) | Err(_) => {}
    }
}

/// It has ended: its results can be had.
fn ended(part: &mut BatchRun, at: usize, batch: &MessageBatch, ctx: &mut Ctx<'_>) {
    let now = ctx.now;
    let sub = &mut part.subs[at];
    let was = sub.status();
    if !sub.step(SubBatchStatus::Ended) {
        return;
    }
    if was == SubBatchStatus::CancelRequested {
        // The answer to our cancel was lost, and it has ended meanwhile.
        sub.entry.stuck_canceled_at = sub.entry.stuck_canceled_at.or(batch.cancel_initiated_at);
    }
    sub.took = Some(sub.age(now.mono));
    sub.entry.ended_at = batch.ended_at.or(Some(now.wall));
    sub.next = now.mono;
    sub.note(now.wall, "ended");
    let text = format!("{} ended after {}", sub.name(), stuck::in_words(sub.age(now.mono)));
    let org = sub.org;
    part.keep(at, Step::Other, ctx);
    ctx.say(Level::Info, "sub-batch-ended", org, text);
}

/// The poll brought nothing.
fn unseen(part: &mut BatchRun, at: usize, failure: BatchFailure, ctx: &mut Ctx<'_>) {
    let sub = &mut part.subs[at];
    match failure {
        BatchFailure::NotFound(error) => {
            sub.n_404 += 1;
            match grace(sub.n_404, sub.seen || sub.resumed) {
                Some(wait) => sub.next = ctx.now.mono + wait,
                None => unavailable(part, at, &format!("the API does not know it any more ({error})"), ctx),
            }
        }
        // A page in place of an answer about a batch that is there is weather, and no trouble of the account.
        BatchFailure::Trouble(Trouble::Account(account), error) if account != AccountTrouble::Endpoint => {
            part.park(at, account, error, ctx);
        }
        BatchFailure::Trouble(_, error) | BatchFailure::Invalid(error) => {
            sub.n_failed += 1;
            ctx.out.push(Out::Unheard(error.clone()));
            let (org, n) = (sub.org, sub.n_failed);
            // One failure is weather.
            if n == 3 {
                let text = format!("{}: {n} polls failed, the last: {error}; polled on", sub.name());
                ctx.say(Level::Warn, "polls-fail", org, text);
            }
            schedule(part, at, ctx);
        }
    }
}

/// Its results cannot be had. Its requests may have been paid: the operator decides.
pub(super) fn unavailable(part: &mut BatchRun, at: usize, why: &str, ctx: &mut Ctx<'_>) {
    let sub = &mut part.subs[at];
    if !sub.step(SubBatchStatus::Unavailable) {
        return;
    }
    let org = sub.org;
    sub.entry.left = true;
    sub.note(ctx.now.wall, format!("unavailable: {why}"));
    let question = format!(
        "{}: {why}. Its {} requests may have been paid, and have no outcome: re-drive them on sync, or leave them",
        sub.name(),
        sub.entry.n_requests
    );
    sub.question = (!ctx.unattended).then(|| question.clone());
    part.keep(at, Step::Other, ctx);
    ctx.say(Level::Error, "sub-batch-unavailable", org, question);
}

/// It should have ended half an hour after its expiry. A cancel may shake it loose; after that it is given up.
fn overdue(part: &mut BatchRun, at: usize, ctx: &mut Ctx<'_>) {
    let sub = &part.subs[at];
    match sub.status() {
        SubBatchStatus::InProgress if !sub.entry.adopted => {
            escape(part, at, "it has not ended half an hour after its expiry", ctx);
        }
        SubBatchStatus::Canceling | SubBatchStatus::CancelRequested if sub.age(ctx.now.mono) > twice_overdue() => {
            unavailable(part, at, "it has not ended long after its expiry, although it was canceled", ctx);
        }
        _ => schedule(part, at, ctx),
    }
}

/// A day's life, and two hours for a cancel that came late.
fn twice_overdue() -> Duration {
    Duration::from_secs(26 * 3_600)
}

/// Whether it has become stuck.
pub(super) fn look_for_stuck(part: &mut BatchRun, at: usize, ctx: &mut Ctx<'_>) {
    let threshold = part.settings.stuck_after;
    let sub = &mut part.subs[at];
    let may_cancel = sub.status() == SubBatchStatus::InProgress && !sub.busy;
    if let Some(why) = sub.cancel_wanted.take_if(|_| may_cancel) {
        return escape(part, at, &why, ctx);
    }
    let sub = &part.subs[at];
    let is_stuck = sub.status() == SubBatchStatus::InProgress
        && !sub.busy
        && !sub.stuck
        // One of an earlier session may have ended long ago: it is looked at first.
        && sub.seen
        && stuck::is_stuck(sub.age(ctx.now.mono), threshold);
    if !is_stuck {
        return;
    }
    let why = stuck::explain(sub.age(ctx.now.mono), threshold, &part.peers());
    if part.settings.escape && !part.subs[at].entry.adopted {
        return escape(part, at, &why, ctx);
    }
    let sub = &mut part.subs[at];
    sub.stuck = true;
    let guess = match (sub.entry.adopted, ctx.unattended) {
        (false, _) => String::new(),
        (true, false) => "; it was adopted by a guess, and is never canceled without you".to_owned(),
        // It may be a colleague's. The others go on, and it expires by itself.
        (true, true) => format!(
            "; it was adopted by a guess and may be a colleague's: it is waited for until it expires in {}, or until \
             `fandeck cancel` names it",
            stuck::in_words(sub.expires_in(ctx.now.mono))
        ),
    };
    let question = format!("STUCK BATCH: {}: {why}{guess}. Cancel it, or wait on", sub.name());
    sub.question = Some(question.clone());
    sub.note(ctx.now.wall, "stuck: the operator is asked");
    let org = sub.org;
    part.version += 1;
    ctx.say(Level::Warn, "stuck-batch", org, question);
}

/// The escape: the intent first.
pub(super) fn escape(part: &mut BatchRun, at: usize, why: &str, ctx: &mut Ctx<'_>) {
    let sub = &mut part.subs[at];
    if !sub.step(SubBatchStatus::CancelRequested) {
        return;
    }
    sub.stuck = true;
    sub.question = None;
    sub.entry.stuck_cancel_intent_at = Some(ctx.now.wall);
    sub.note(ctx.now.wall, "intent to cancel");
    let org = sub.org;
    let text = format!(
        "STUCK BATCH: {}: {why}. Its cancel is asked for; once the API has ended it, its results are harvested, and only what was not processed goes to the sync path",
        sub.name()
    );
    part.keep(at, Step::CancelIntent, ctx);
    ctx.say(Level::Warn, "stuck-batch", org, text);
}

/// Sends the cancel, whose intent is durable. After one that failed it looks first: it may have ended.
pub(super) fn cancel(part: &mut BatchRun, at: usize, ctx: &mut Ctx<'_>) {
    if part.subs[at].look_first {
        return poll(part, at, ctx);
    }
    let sub = &mut part.subs[at];
    let (Some(org), Some(id)) = (sub.org, sub.entry.batch_id.clone()) else { return };
    sub.busy = true;
    let index = sub.entry.index;
    ctx.todo(index, ToDo::Cancel { org, id });
}

/// The cancel has ended.
pub(super) fn cancel_answered(part: &mut BatchRun, at: usize, reply: BatchReply<MessageBatch>, ctx: &mut Ctx<'_>) {
    let sub = &mut part.subs[at];
    sub.busy = false;
    if sub.status() != SubBatchStatus::CancelRequested {
        return;
    }
    match reply.result {
        Ok(batch) => {
            sub.learn(&batch);
            sub.entry.stuck_canceled_at = Some(ctx.now.wall);
            sub.note(ctx.now.wall, "cancel taken");
            if batch.processing_status == ProcessingStatus::Ended {
                return ended(part, at, &batch, ctx);
            }
            sub.step(SubBatchStatus::Canceling);
            let (org, text) = (sub.org, format!("{}: the cancel was taken; waiting for its end", sub.name()));
            part.keep(at, Step::Other, ctx);
            schedule(part, at, ctx);
            ctx.say(Level::Info, "sub-batch-canceling", org, text);
        }
        Err(BatchFailure::Trouble(Trouble::Account(account), error)) if account != AccountTrouble::Endpoint => {
            part.park(at, account, error, ctx);
        }
        // What it means to cancel a batch that has ended is not documented: look.
        Err(BatchFailure::Invalid(_)) => {
            sub.look_first = true;
            sub.next = ctx.now.mono;
        }
        // Whether it is not known at all, or only its cancel is not, a look tells.
        Err(BatchFailure::NotFound(_) | BatchFailure::Trouble(..)) => {
            sub.look_first = true;
            sub.n_failed += 1;
            let own = Duration::from_secs(2 * u64::from(sub.n_failed.min(15)));
            sub.next = ctx.now.mono + own.max(wished(reply.retry_after));
        }
    }
}

/// Somebody else canceled it. Its requests are not sent again on the quiet.
pub(super) fn say_canceled_elsewhere(part: &mut BatchRun, at: usize, ctx: &mut Ctx<'_>) {
    let again = part.settings.re_drive_elsewhere;
    let sub = &mut part.subs[at];
    sub.entry.canceled_elsewhere_at = Some(ctx.now.wall);
    sub.entry.left = !again;
    sub.note(ctx.now.wall, "seen canceled elsewhere");
    let then = if again {
        "what was not processed goes to the sync path, as the settings say"
    } else if ctx.unattended {
        "what was not processed is left re-drivable: `fandeck resume --re-drive` sends it again"
    } else {
        "what was not processed waits for you: re-drive it on sync, or leave it"
    };
    let text = format!("{} was canceled by somebody else, not by this run; {then}", sub.name());
    sub.question = (!again && !ctx.unattended).then(|| text.clone());
    let org = sub.org;
    part.keep(at, Step::Other, ctx);
    ctx.say(Level::Warn, "canceled-elsewhere", org, text);
}
