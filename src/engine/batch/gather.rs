//! The harvest of an ended sub-batch, as the reducer sees it: when it begins, what it found, and what is sent again.

use std::sync::Arc;
use std::time::Duration;

use crate::api::batches::BatchFailure;
use crate::engine::queue::Place;
use crate::model::{AccountTrouble, ApiError, Level, Money, OrgId, RequestNo, Route, SubBatchStatus, Trouble};

use super::act::{Harvest, Out, Step, ToDo};
use super::part::{BatchRun, Ctx, HARVESTS};
use super::poll::grace;
use super::search::begin_search;
use super::sub::Sub;
use super::watch::unavailable;

/// Whole downloads without a result for some member, before it is sent again: usually; when the counts say that there is
/// more; when there was nothing in them.
const DOWNLOADS: u32 = 2;
const DOWNLOADS_OF_SHORT: u32 = 4;
const DOWNLOADS_OF_NOTHING: u32 = 8;

/// The least wait after a download that met a limit, which its key's owners share.
const LIMITED: Duration = Duration::from_secs(30);

/// The longest wait between two of them.
const LONGEST_WAIT: Duration = Duration::from_secs(300);

/// Begins the download, unless enough of them are under way.
pub(super) fn begin(part: &mut BatchRun, at: usize, ctx: &mut Ctx<'_>) {
    if part.subs.iter().filter(|sub| sub.status() == SubBatchStatus::Harvesting).count() >= HARVESTS {
        return;
    }
    let sub = &mut part.subs[at];
    let (Some(org), Some(id)) = (sub.org, sub.entry.batch_id.clone()) else { return };
    if !sub.step(SubBatchStatus::Harvesting) {
        return;
    }
    sub.busy = true;
    let (index, members) = (sub.entry.index, Arc::clone(&sub.members));
    let began_at = sub.entry.began_at();
    part.keep(at, Step::Other, ctx);
    ctx.todo(index, ToDo::Harvest { org, id, members, began_at });
}

/// The download has ended; all of its rows are durable.
pub(super) fn ended(part: &mut BatchRun, at: usize, result: Result<Harvest, BatchFailure>, ctx: &mut Ctx<'_>) {
    let sub = &mut part.subs[at];
    sub.busy = false;
    if sub.status() != SubBatchStatus::Harvesting {
        return;
    }
    let harvest = match result {
        Ok(harvest) => harvest,
        Err(failure) => return failed(part, at, failure, ctx),
    };
    say_what_was_odd(part, at, &harvest, ctx);
    let sub = &mut part.subs[at];
    let is_foreign =
        harvest.n_alien > 0 && harvest.missing.len() == sub.members.len() && sub.entry.submitted_at.is_none();
    if is_foreign {
        return not_ours(part, at, ctx);
    }
    if harvest.missing.is_empty() {
        return harvested(part, at, harvest, ctx);
    }
    let downloads = downloads(sub, &harvest);
    sub.n_lacking += 1;
    if sub.n_lacking < downloads {
        sub.step(SubBatchStatus::Ended);
        let doubled = 2_u32.saturating_pow(sub.n_lacking.min(10) - 1);
        sub.next = ctx.now.mono + part.settings.poll_every.saturating_mul(doubled).min(LONGEST_WAIT);
        part.version += 1;
    } else if downloads == DOWNLOADS_OF_NOTHING {
        unavailable(part, at, "none of its results can be read, although they were paid for", ctx);
    } else {
        harvested(part, at, harvest, ctx);
    }
}

/// How many downloads there are to be, when one was whole and lacked results. What the API has counted as answered is paid
/// for: a file that ends early, and all the more one without any result of it (a proxy's page, for one), is asked for more
/// often before its requests are paid for again; the latter are not sent again without the operator.
fn downloads(sub: &Sub, harvest: &Harvest) -> u32 {
    let tally = &harvest.tally;
    if nothing_was_paid(sub).is_some() {
        DOWNLOADS
    } else if harvest.missing.len() == sub.members.len() {
        DOWNLOADS_OF_NOTHING
    } else {
        let n_read = u64::from(tally.n_succeeded) + u64::from(tally.n_refused);
        let more_were_answered = sub.ended_counts.is_some_and(|counts| counts.succeeded > n_read);
        // Lines that are there and cannot be read do not get better.
        let ends_early = harvest.missing.len() > harvest.n_bad as usize;
        if more_were_answered && ends_early { DOWNLOADS_OF_SHORT } else { DOWNLOADS }
    }
}

/// Why nothing of it was processed, when its counts say so.
fn nothing_was_paid(sub: &Sub) -> Option<Trouble> {
    let counts = sub.ended_counts?;
    let unpaid = counts.expired.saturating_add(counts.canceled).saturating_add(counts.errored);
    let none = unpaid == u64::from(sub.entry.n_requests) && counts.succeeded == 0 && counts.processing == 0;
    none.then_some(if counts.canceled > counts.expired { Trouble::Canceled } else { Trouble::Expired })
}

/// What became of its requests is known, and what was answered is durable.
fn harvested(part: &mut BatchRun, at: usize, harvest: Harvest, ctx: &mut Ctx<'_>) {
    let sub = &mut part.subs[at];
    if let (Some(org), Some((account, error))) = (sub.org, harvest.account) {
        ctx.out.push(Out::Park(org, account, error));
    }
    sub.entry.tally = harvest.tally;
    sub.again = harvest.again;
    sub.again.extend(harvest.missing.into_iter().map(|no| (no, Trouble::NoResult)));
    sub.entry.harvested_at = Some(ctx.now.wall);
    sub.step(SubBatchStatus::Harvested);
    sub.note(ctx.now.wall, "harvested");
    // Now, so that the state that calls it harvested says so as well: the next session asks nobody.
    doubt(sub.org, &sub.again, ctx);
    // A result of a type that is not known may be an answer that was paid: not twice without the operator.
    let leaves_all = sub.entry.left;
    let again = std::mem::take(&mut sub.again).into_iter();
    (sub.left, sub.again) = again.partition(|(_, trouble)| leaves_all || *trouble == Trouble::UnknownResult);
    sub.entry.left = !sub.left.is_empty();
    sub.unknown = harvest.unknown;
    part.keep(at, Step::Harvested, ctx);
}

/// Puts down what may have been charged although there is no result of it.
fn doubt(org: Option<OrgId>, again: &[(RequestNo, Trouble)], ctx: &mut Ctx<'_>) {
    let Some(org) = org else { return };
    for (no, trouble) in again.iter().filter(|(_, trouble)| trouble.possibly_charged()) {
        if ctx.queue.place(*no) == Some(Place::Batched) {
            let (model, at_most) = (ctx.sizes.model(*no), ctx.at_most_in_batch(*no));
            ctx.ledger.doubt(org, Route::Batch, model, trouble.as_str(), at_most, ctx.now.wall);
        }
    }
}

/// The harvest is durable: what was not processed may be sent again, and only now.
pub(super) fn kept(part: &mut BatchRun, at: usize, ctx: &mut Ctx<'_>) {
    let sub = &mut part.subs[at];
    sub.busy = false;
    part.version += 1;
    let again = std::mem::replace(&mut sub.again, std::mem::take(&mut sub.left));
    let tally = sub.entry.tally;
    let (org, name) = (sub.org, sub.name());
    let counts = [
        (tally.n_refused, "refused"),
        (tally.n_invalid, "invalid"),
        (tally.n_expired, "expired"),
        (tally.n_canceled, "canceled"),
        (tally.n_errored, "errored"),
        (tally.n_missing, "without a result"),
        (tally.n_unknown, "of a type that is not known"),
    ];
    let mut text = format!("{name} harvested: {} answered", tally.n_succeeded);
    for (n, what) in counts.iter().filter(|(n, _)| *n > 0) {
        text.push_str(&format!(", {n} {what}"));
    }
    text.push_str(&format!("; {}", tally.cost));
    let canceled = sub.entry.stuck_cancel_intent_at.is_some();
    if again.is_empty() && sub.again.is_empty() && canceled {
        let saved = Money(tally.cost.0.saturating_mul(2));
        text.push_str(&format!(". The cancel came too late: nothing is sent again, which saved {saved}"));
    }
    if sub.again.is_empty() {
        sub.question = None;
    } else {
        text.push_str(&format!("; {} are left re-drivable", sub.again.len()));
    }
    if let (Some(why), false) = (&sub.unknown, ctx.unattended) {
        sub.question = Some(format!(
            "{name}: {why}; {} of its requests may have been paid and have no outcome: re-drive them on sync, or leave them",
            tally.n_unknown
        ));
    }
    if let (Some(org), false) = (org, again.is_empty()) {
        text.push_str(&format!("; {} go to the sync path", again.len()));
        ctx.out.push(Out::ReDrive(org, again));
    }
    ctx.say(Level::Info, "sub-batch-harvested", org, text);
}

/// The operator wants what was left of a sub-batch to be sent again. Gives how many requests that is.
pub(crate) fn re_drive(part: &mut BatchRun, at: usize, ctx: &mut Ctx<'_>) -> usize {
    let sub = &mut part.subs[at];
    sub.entry.left = false;
    sub.question = None;
    let again = match sub.status() {
        // Nothing is known of any of them.
        SubBatchStatus::Unavailable => {
            let again: Vec<_> = sub.members.iter().map(|no| (*no, Trouble::NoResult)).collect();
            doubt(sub.org, &again, ctx);
            // From out at the API to in doubt.
            sub.at_most = Money::ZERO;
            again
        }
        _ => std::mem::take(&mut sub.again),
    };
    let n = again.len();
    let sub = &part.subs[at];
    if let Some(org) = sub.org.or(Some(crate::model::OrgId(0))) {
        ctx.out.push(Out::ReDrive(org, again));
    }
    part.keep(at, Step::Other, ctx);
    n
}

/// The download broke, or there is nothing to download yet.
fn failed(part: &mut BatchRun, at: usize, failure: BatchFailure, ctx: &mut Ctx<'_>) {
    let sub = &mut part.subs[at];
    let is_invalid = matches!(failure, BatchFailure::Invalid(_));
    let is_limit = matches!(failure, BatchFailure::Trouble(Trouble::RateLimited(_), _));
    match failure {
        BatchFailure::NotFound(error) => {
            sub.n_404 += 1;
            match grace(sub.n_404, true) {
                Some(wait) => {
                    sub.step(SubBatchStatus::Ended);
                    // What the batch itself says tells results that are late from such as are archived or never were.
                    sub.look_first = true;
                    sub.next = ctx.now.mono + wait;
                    part.keep(at, Step::Other, ctx);
                }
                None => without_results(part, at, &error, ctx),
            }
        }
        BatchFailure::Trouble(Trouble::Account(account), error) if account != AccountTrouble::Endpoint => {
            sub.step(SubBatchStatus::Ended);
            part.park(at, account, error, ctx);
        }
        BatchFailure::Trouble(_, error) | BatchFailure::Invalid(error) => {
            sub.step(SubBatchStatus::Ended);
            sub.n_failed += 1;
            ctx.out.push(Out::Unheard(error.clone()));
            let own = Duration::from_secs(2_u64.saturating_pow(sub.n_failed.min(8)));
            let wait = if is_limit { own.max(LIMITED) } else { own };
            // It may not have ended after all.
            sub.look_first = is_invalid;
            sub.next = ctx.now.mono + wait;
            let (org, n) = (sub.org, sub.n_failed);
            let text = format!(
                "{}: download {n} of its results broke: {error}; all of it again in {} s",
                sub.name(),
                wait.as_secs()
            );
            part.keep(at, Step::Other, ctx);
            ctx.say(Level::Warn, "download-broke", org, text);
        }
    }
    part.version += 1;
}

/// It has ended and has no results. Where its counts say that nothing was processed, nothing was paid, and all of it may be
/// sent again; else the operator decides.
fn without_results(part: &mut BatchRun, at: usize, error: &ApiError, ctx: &mut Ctx<'_>) {
    let sub = &part.subs[at];
    let Some(trouble) = nothing_was_paid(sub) else {
        return unavailable(part, at, &format!("its results cannot be found ({error})"), ctx);
    };
    let again: Vec<_> = sub.members.iter().map(|no| (*no, trouble)).collect();
    let mut harvest = Harvest { again, ..Harvest::default() };
    let tally = &mut harvest.tally;
    *(if trouble == Trouble::Expired { &mut tally.n_expired } else { &mut tally.n_canceled }) = sub.entry.n_requests;
    harvested(part, at, harvest, ctx);
}

/// It was adopted by a guess, and its results are somebody else's.
fn not_ours(part: &mut BatchRun, at: usize, ctx: &mut Ctx<'_>) {
    let sub = &mut part.subs[at];
    let (name, org) = (sub.name(), sub.org);
    if let Some(id) = sub.entry.batch_id.take() {
        sub.not_these.insert(id);
    }
    sub.entry.adopted = false;
    sub.step(SubBatchStatus::Adrift);
    sub.took = None;
    begin_search(sub, part.settings.search_for, ctx.now.mono);
    sub.note(ctx.now.wall, "not ours after all");
    part.keep(at, Step::Other, ctx);
    ctx.say(
        Level::Warn,
        "sub-batch-not-ours",
        org,
        format!("{name} is somebody else's after all; it is looked for again"),
    );
}

fn say_what_was_odd(part: &BatchRun, at: usize, harvest: &Harvest, ctx: &mut Ctx<'_>) {
    let sub = &part.subs[at];
    let (name, org) = (sub.name(), sub.org);
    if harvest.n_bad > 0 {
        let (offset, why) = harvest.bad.first().cloned().unwrap_or_default();
        let text = format!(
            "{name}: {} lines of its results are no results and are passed over; the first at byte {offset}: {why}",
            harvest.n_bad
        );
        ctx.say(Level::Warn, "bad-rows", org, text);
    }
    if harvest.n_twice + harvest.n_alien > 0 {
        let text = format!(
            "{name}: {} results came twice and {} are of no request of it; they are passed over",
            harvest.n_twice, harvest.n_alien
        );
        ctx.say(Level::Warn, "odd-rows", org, text);
    }
    if !harvest.missing.is_empty() {
        let first = harvest.missing.first().map_or(0, |no: &RequestNo| no.0);
        let then = if sub.n_lacking + 1 < downloads(sub, harvest) {
            "downloaded again"
        } else {
            "sent again on the sync path"
        };
        let text = format!("{name}: {} requests have no result, number {first} first: {then}", harvest.missing.len());
        ctx.say(Level::Warn, "missing-rows", org, text);
    }
    if let Some(why) = &harvest.unknown {
        let text = format!(
            "{name}: {} requests have {why}; whether they were paid is not known: they are not sent again by themselves, `fandeck \
             resume --re-drive` does. The API keeps the results for 29 days",
            harvest.tally.n_unknown
        );
        ctx.say(Level::Warn, "unknown-rows", org, text);
    }
    if let Some((no, error)) = harvest.invalid.first() {
        let text = format!(
            "{name}: {} requests were called invalid and are not sent again; number {} first: {error}",
            harvest.tally.n_invalid, no.0
        );
        ctx.say(Level::Warn, "invalid-rows", org, text);
    }
}
