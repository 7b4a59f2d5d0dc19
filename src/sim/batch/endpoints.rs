//! The endpoints of batches, on the core.

use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;

use super::course::Course;
use super::draft::Draft;
use super::ended::Outcome;
use super::fault::BatchStrike;
use super::results::ResultRows;
use super::settings::CountsShown;
use super::{ARCHIVED_AFTER, Batch, Counts};
use crate::sim::bodies;
use crate::sim::core::Sim;
use crate::sim::failure::Failure;
use crate::sim::ids;
use crate::sim::other::Reply;
use crate::sim::page::Page;
use crate::sim::prices;
use crate::sim::stats::BatchStats;

/// A name of generators, apart from those of other things.
const BATCH_DRAWS: u64 = 3;

/// How long the API asks pollers to wait.
const POLL_HINT: Duration = Duration::from_secs(10);

/// How long it asks those to wait who find the queue full.
const QUEUE_HINT: Duration = Duration::from_secs(60);

/// Who asks, and when.
#[derive(Debug, Clone, Copy)]
pub(in crate::sim) struct Asker<'a> {
    pub(in crate::sim) now: Duration,
    /// An index of orgs.
    pub(in crate::sim) org: usize,
    /// Of pools.
    pub(in crate::sim) pool: usize,
    /// The `host` header.
    pub(in crate::sim) host: Option<&'a str>,
}

impl Sim {
    /// Creates a batch.
    ///
    /// # Errors
    /// The queue is full, or the money spent.
    pub(in crate::sim) fn batch_create(&mut self, asker: Asker<'_>, draft: Draft) -> Result<Reply, Failure> {
        let Asker { now, org, pool, host } = asker;
        self.check_spend(org)?;
        let n_rows = draft.rows.len();
        let limit = self.pools.get(pool).map_or(0, |pool| pool.settings.batch_queue);
        let queued = self.pools.get(pool).map_or(0, |pool| pool.batches.queued(now));
        if queued + n_rows as u64 > limit {
            let message = format!(
                "This request would exceed your organization's limit of {limit} batch requests in the processing queue. \
                 Please wait until some of your batches have been processed."
            );
            return Err(Failure::rate_limited(message, Some(self.calendar.retry_after(QUEUE_HINT))));
        }
        for digest in draft.rows.digests() {
            self.bodies.arrive(bodies::identity(digest));
        }
        let Some(creator) = self.orgs.get_mut(org) else { return Err(lost()) };
        creator.stats.batches.n_created += 1;
        creator.stats.batches.n_rows += n_rows as u64;
        let number = creator.stats.batches.n_created;
        let mut rng = ids::rng(self.seed, BATCH_DRAWS ^ (org as u64) << 32, number);
        let settings = creator.behaviour.batches;
        let strikes: Arc<[BatchStrike]> =
            creator.behaviour.batch_faults.iter().filter_map(|fault| fault.strikes(now, number, &mut rng)).collect();
        let id = ids::batch(&mut rng);
        let mut course = Course {
            created: now,
            n_rows,
            takes: settings.draw(&mut rng),
            wedged_at: None,
            cancel_takes: Some(settings.cancel()),
            canceled: None,
        };
        for strike in strikes.iter() {
            match strike {
                BatchStrike::Wedged { at } => course.wedged_at = Some(*at),
                BatchStrike::Slow { factor } => course.takes = course.takes.mul_f64(*factor),
                BatchStrike::Cancel { takes } => course.cancel_takes = *takes,
                _ => {}
            }
        }
        let batch =
            Batch { id, org, number, seed: self.seed, rows: Arc::new(draft.rows), strikes, course, ended: None };
        let body = batch.object(now, &self.calendar, host, CountsShown::AtEnd);
        self.next_end = self.next_end.min(course.ends_at());
        if let Some(pool) = self.pools.get_mut(pool) {
            pool.batches.add(batch);
        }
        Ok(Reply::json(body))
    }

    /// Shows a batch.
    ///
    /// # Errors
    /// It is unknown, or said to be for a while.
    pub(in crate::sim) fn batch_retrieve(&mut self, asker: Asker<'_>, id: &str) -> Result<Reply, Failure> {
        let at = self.visible(asker, id)?;
        self.count(asker, |stats| stats.n_polls += 1);
        self.show(asker, at)
    }

    fn show(&self, asker: Asker<'_>, at: usize) -> Result<Reply, Failure> {
        let (batch, shown) = self.batch(asker.pool, at).ok_or_else(lost)?;
        let reply = Reply::json(batch.object(asker.now, &self.calendar, asker.host, shown));
        let hint = batch.ended.is_none().then(|| self.calendar.retry_after(POLL_HINT));
        Ok(Reply { retry_after: hint, ..reply })
    }

    /// Asks for the end of a batch; asked again while it is coming, changes nothing.
    ///
    /// # Errors
    /// It is unknown, or has ended.
    pub(in crate::sim) fn batch_cancel(&mut self, asker: Asker<'_>, id: &str) -> Result<Reply, Failure> {
        let at = self.known(asker, id)?;
        let batch = self.pools.get_mut(asker.pool).and_then(|pool| pool.batches.get_mut(at)).ok_or_else(lost)?;
        if batch.ended.is_some() {
            return Err(Failure::invalid(format!("Message Batch {id} has already ended and cannot be canceled.")));
        }
        if batch.course.canceled.is_none() {
            batch.course.canceled = Some(asker.now);
            let ends_at = batch.course.ends_at();
            self.next_end = self.next_end.min(ends_at);
            self.count(asker, |stats| stats.n_canceled += 1);
        }
        self.show(asker, at).map(|reply| Reply { retry_after: None, ..reply })
    }

    /// Forgets a batch that has ended.
    ///
    /// # Errors
    /// It is unknown, or has not ended.
    pub(in crate::sim) fn batch_delete(&mut self, asker: Asker<'_>, id: &str) -> Result<Reply, Failure> {
        let at = self.known(asker, id)?;
        let pool = self.pools.get_mut(asker.pool).ok_or_else(lost)?;
        if pool.batches.get(at).is_some_and(|batch| batch.ended.is_none()) {
            return Err(Failure::invalid(
                "In progress batches cannot be deleted. Consider canceling the batch instead.",
            ));
        }
        pool.batches.remove(at);
        self.count(asker, |stats| stats.n_deleted += 1);
        Ok(Reply::json(format!("{{\"id\":\"{id}\",\"type\":\"message_batch_deleted\"}}")))
    }

    /// A page of batches, newest first.
    ///
    /// # Errors
    /// A limit out of range, or a cursor that is no batch.
    pub(in crate::sim) fn batch_list(&mut self, asker: Asker<'_>, query: &str) -> Result<Reply, Failure> {
        let page = Page::of(query)?;
        self.count(asker, |stats| stats.n_lists += 1);
        let pool = self.pools.get(asker.pool).ok_or_else(lost)?;
        let list: Vec<&Batch> = pool.batches.newest_first().collect();
        let slice = page.slice(list.len(), |id| list.iter().position(|batch| batch.id == id))?;
        let batches = list.get(slice.range).unwrap_or_default();
        let object = |batch: &&Batch| batch.object(asker.now, &self.calendar, asker.host, self.shown(batch.org));
        let data: Vec<String> = batches.iter().map(object).collect();
        let id = |batch: Option<&&Batch>| batch.map_or("null".to_owned(), |batch| format!("\"{}\"", batch.id));
        Ok(Reply::json(format!(
            "{{\"data\":[{}],\"has_more\":{},\"first_id\":{},\"last_id\":{}}}",
            data.join(","),
            slice.has_more,
            id(batches.first()),
            id(batches.last())
        )))
    }

    /// The results of a batch.
    ///
    /// # Errors
    /// It is unknown, or has no results yet or any more.
    pub(in crate::sim) fn batch_results(&mut self, asker: Asker<'_>, id: &str) -> Result<Reply, Failure> {
        let at = self.visible(asker, id)?;
        self.count(asker, |stats| stats.n_downloads += 1);
        let (batch, _) = self.batch(asker.pool, at).ok_or_else(lost)?;
        let is_kept = asker.now < batch.course.created.saturating_add(ARCHIVED_AFTER);
        let ended = batch.ended.as_ref().filter(|_| is_kept);
        let (ended, _) =
            ended.ok_or_else(|| Failure::not_found(format!("Message Batch {id} has no available results.")))?;
        Ok(Reply { rows: Some(ResultRows::new(Arc::clone(ended))), ..Reply::json(String::new()) })
    }

    fn batch(&self, pool: usize, at: usize) -> Option<(&Batch, CountsShown)> {
        let batch = self.pools.get(pool)?.batches.get(at)?;
        Some((batch, self.shown(batch.org)))
    }

    fn shown(&self, org: usize) -> CountsShown {
        self.orgs.get(org).map_or(CountsShown::AtEnd, |org| org.behaviour.batches.counts)
    }

    fn count(&mut self, asker: Asker<'_>, add: impl FnOnce(&mut BatchStats)) {
        if let Some(org) = self.orgs.get_mut(asker.org) {
            add(&mut org.stats.batches);
        }
    }

    /// Where a batch of the asker's organisation is.
    fn known(&self, asker: Asker<'_>, id: &str) -> Result<usize, Failure> {
        let place = self.pools.get(asker.pool).and_then(|pool| pool.batches.place(id));
        place.ok_or_else(|| not_found(id))
    }

    /// The same, unless it is said not to be there.
    fn visible(&self, asker: Asker<'_>, id: &str) -> Result<usize, Failure> {
        let at = self.known(asker, id)?;
        let (batch, _) = self.batch(asker.pool, at).ok_or_else(lost)?;
        let hidden = batch.strikes.iter().any(|strike| match strike {
            BatchStrike::NotFound { after, until } => batch.is_within(asker.now, *after, *until),
            _ => false,
        });
        if hidden { Err(not_found(id)) } else { Ok(at) }
    }

    /// Ends the batches whose end has come.
    pub(in crate::sim) fn end_batches(&mut self, now: Duration) {
        if now < self.next_end {
            return;
        }
        self.next_end = Duration::MAX;
        for pool in &mut self.pools {
            for batch in pool.batches.list.iter_mut().flatten().filter(|batch| batch.ended.is_none()) {
                let ends_at = batch.course.ends_at();
                if now < ends_at {
                    self.next_end = self.next_end.min(ends_at);
                    continue;
                }
                let ended = batch.as_ended(batch.course.done_at(ends_at));
                let counts = ended.counts(0..batch.rows.len());
                if let Some(org) = self.orgs.get_mut(batch.org) {
                    for fate in (0..ended.done).filter_map(|rank| ended.at(rank)) {
                        let Outcome::Succeeded { valid, hit } = fate.outcome else { continue };
                        self.bodies.accept(bodies::identity(&valid.essence.digest));
                        let usage = valid.usage(hit).tokens;
                        org.bill(prices::cost(valid.essence.model, &usage, true), &usage);
                    }
                    org.stats.batches.add_ended(&counts);
                }
                batch.ended = Some((Arc::new(ended), counts));
            }
        }
    }

    /// Every batch that was not deleted, oldest first by organisation, as it truly is.
    pub fn batches(&mut self, now: Duration) -> Vec<super::BatchView> {
        self.advance(now);
        let label = |org: usize| self.orgs.get(org).map_or("", |org| org.stats.label.as_str());
        let all = self.pools.iter().flat_map(|pool| pool.batches.list.iter().flatten());
        all.map(|batch| batch.view(now, label(batch.org))).collect()
    }
}

impl BatchStats {
    fn add_ended(&mut self, counts: &Counts) {
        self.n_ended += 1;
        self.rows.succeeded += counts.succeeded;
        self.rows.errored += counts.errored;
        self.rows.canceled += counts.canceled;
        self.rows.expired += counts.expired;
    }
}

fn not_found(id: &str) -> Failure {
    Failure::not_found(format!("Message Batch {id} not found."))
}

/// What indexes of our own making rule out.
fn lost() -> Failure {
    Failure::server_error(StatusCode::INTERNAL_SERVER_ERROR)
}
