//! The API of the world: answers requests, takes creates, shows batches, lets them end, and hands out results.

use std::collections::HashSet;
use std::time::Duration;

use super::world::{HOUR, RUN, SECOND, Theirs, Weather, World, error, with_error};
use crate::api::batches::{BatchCounts, BatchFailure, CreateOutcome, CreateReply, MessageBatch, ProcessingStatus};
use crate::engine::batch::act::{Happened, Harvest, HarvestedRow, Token};
use crate::engine::event::{Attempt, Event};
use crate::model::{
    AccountTrouble, LimitKind, OrgId, Outcome, RateLimits, RequestNo, RetryAfter, Trouble, Usage, Verdict,
};
use crate::store::Record;

use super::world::Due;

impl World {
    pub(super) fn send(&mut self, no: RequestNo, org: OrgId) {
        let invalid = self.invalid.contains(&no);
        if !invalid {
            *self.paid.entry(no).or_default() += 1;
        }
        self.on_sync.insert(no);
        let usage = Usage { input_tokens: 10, output_tokens: 5, ..Usage::default() };
        let verdict = match invalid {
            true => Verdict::Invalid(error("invalid_request_error")),
            false => Verdict::Answered { refused: false, usage },
        };
        let record = Record { run: RUN, no, outcome: verdict.outcome(), line: Vec::new(), cache: None };
        let attempt = Attempt {
            run: RUN,
            no,
            org,
            started: self.now,
            latency: SECOND,
            verdict,
            limits: RateLimits::default(),
            retry_after: RetryAfter::Absent,
            organization: None,
            cost: self.cost + self.cost,
            record: Some(record),
        };
        self.at(SECOND, Due::Event(Event::Attempted(Box::new(attempt))));
    }

    pub(super) fn look_at_the_api(&mut self) {
        for org in (0..3).map(OrgId) {
            let open = self.batches.iter().filter(|batch| batch.org == org && !self.has_ended(batch)).count() as u32;
            let most = self.most_open.entry(org).or_default();
            *most = (*most).max(open);
            assert!(*most <= self.settings.max_open, "{open} open at once");
        }
    }

    pub(super) fn has_ended(&self, batch: &Theirs) -> bool {
        batch.ends.is_some_and(|ends| ends <= self.now)
    }

    pub(super) fn create(&mut self, org: OrgId, members: Vec<RequestNo>, wedged: bool, hidden: bool) {
        self.n_creates += 1;
        let id = format!("msgbatch_{}", self.n_creates);
        let takes = Duration::from_secs(self.rng.u64(60..3_600));
        let visible = if hidden { self.now + Duration::from_secs(20) } else { self.now };
        self.batches.push(Theirs {
            id,
            org,
            members,
            created: self.now,
            visible,
            // One that wedges ends by expiring.
            ends: Some(self.now + if wedged { 24 * HOUR } else { takes }),
            canceled: None,
            canceled_by_us: false,
            answered: None,
        });
    }

    pub(super) fn object(&self, batch: &Theirs) -> MessageBatch {
        let status = if self.has_ended(batch) {
            ProcessingStatus::Ended
        } else if batch.canceled.is_some() {
            ProcessingStatus::Canceling
        } else {
            ProcessingStatus::InProgress
        };
        MessageBatch {
            id: batch.id.clone(),
            processing_status: status,
            request_counts: match self.without_results && self.has_ended(batch) {
                true => BatchCounts { expired: batch.members.len() as u64, ..BatchCounts::default() },
                false => BatchCounts { processing: batch.members.len() as u64, ..BatchCounts::default() },
            },
            created_at: Some(self.wall(batch.created)),
            expires_at: Some(self.wall(batch.created + 24 * HOUR)),
            ended_at: batch.ends.filter(|ends| *ends <= self.now).map(|ends| self.wall(ends)),
            archived_at: None,
            cancel_initiated_at: batch.canceled.map(|at| self.wall(at)),
        }
    }

    /// Which of its rows were answered: decided, and billed, once.
    pub(super) fn settle(&mut self, at: usize) -> HashSet<RequestNo> {
        if let Some(answered) = &self.batches[at].answered {
            return answered.clone();
        }
        let (expired, canceled) = (self.weather.expired, self.batches[at].canceled.is_some());
        let members = self.batches[at].members.clone();
        let percent = if canceled { 50 } else { expired };
        let answered: HashSet<RequestNo> = members.into_iter().filter(|_| !self.chance(percent)).collect();
        for no in &answered {
            *self.paid.entry(*no).or_default() += 1;
        }
        self.batches[at].answered = Some(answered.clone());
        answered
    }

    pub(super) fn answer_create(&mut self, index: u32, org: OrgId, members: &[RequestNo]) {
        if self.wrong.contains(&index) || self.revoked.contains(&org) {
            let refused = match self.refusal(org) {
                Some(failure) if self.revoked.contains(&org) => failure,
                _ => BatchFailure::Invalid(error("invalid_request_error")),
            };
            let outcome = CreateOutcome::Refused(refused);
            let reply = CreateReply { outcome, retry_after: RetryAfter::Absent, organization: None };
            return self.happens(SECOND, index, Happened::Created(Box::new(reply)));
        }
        let Weather { lost, gone, full, wedged, hidden, .. } = self.weather;
        let done = |outcome, retry_after| {
            Happened::Created(Box::new(CreateReply { outcome, retry_after, organization: None }))
        };
        if self.chance(full) {
            let failure = with_error("rate_limit_error", Trouble::RateLimited(LimitKind::Steady));
            let wait = RetryAfter::After(Duration::from_secs(30));
            return self.happens(SECOND, index, done(CreateOutcome::Refused(failure), wait));
        }
        let unknown = done(CreateOutcome::Unknown(error("timeout")), RetryAfter::Absent);
        if self.chance(gone) {
            return self.happens(5 * SECOND, index, unknown);
        }
        let (is_wedged, is_hidden) = (self.chance(wedged), self.chance(hidden));
        let n_next = self.n_creates + self.what.values().filter(|due| matches!(due, Due::Create { .. })).count() as u32;
        self.at(SECOND, Due::Create { org, members: members.to_vec(), wedged: is_wedged, hidden: is_hidden });
        if self.chance(lost) {
            return self.happens(5 * SECOND, index, unknown);
        }
        let created = self.now + SECOND;
        let echo = self.batches.first().filter(|_| self.echoes);
        let batch = MessageBatch {
            id: echo.map_or_else(|| format!("msgbatch_{}", n_next + 1), |first| first.id.clone()),
            processing_status: ProcessingStatus::InProgress,
            request_counts: BatchCounts { processing: members.len() as u64, ..BatchCounts::default() },
            created_at: Some(self.wall(created)),
            expires_at: Some(self.wall(created + 24 * HOUR)),
            ended_at: None,
            archived_at: None,
            cancel_initiated_at: None,
        };
        self.happens(SECOND * 2, index, done(CreateOutcome::Created(Box::new(batch)), RetryAfter::Absent));
    }

    pub(super) fn look(&mut self, org: OrgId, id: &str) -> Result<MessageBatch, BatchFailure> {
        if let Some(failure) = self.refusal(org) {
            return Err(failure);
        }
        let batch = self.batches.iter().find(|batch| batch.id == id);
        let batch = batch.ok_or_else(|| BatchFailure::NotFound(error("not_found_error")))?;
        assert_eq!(batch.org, org, "b18: each batch is asked for with its own org's key only");
        if batch.visible > self.now {
            return Err(BatchFailure::NotFound(error("not_found_error")));
        }
        Ok(self.object(batch))
    }

    pub(super) fn harvest(&mut self, index: u32, org: OrgId, id: &str, members: &[RequestNo]) {
        let ended = |result| Happened::HarvestEnded(Box::new(result));
        if let Err(failure) = self.look(org, id) {
            return self.happens(SECOND, index, ended(Err(failure)));
        }
        if self.without_results {
            return self.happens(SECOND, index, ended(Err(BatchFailure::NotFound(error("not_found_error")))));
        }
        if self.n_pages > 0 {
            self.n_pages -= 1;
            let harvest = Harvest { missing: members.to_vec(), n_bad: 1, ..Harvest::default() };
            return self.happens(SECOND, index, ended(Ok(harvest)));
        }
        let at = self.batches.iter().position(|batch| batch.id == id).unwrap();
        assert!(self.has_ended(&self.batches[at]), "harvested before its end");
        let answered = self.settle(at);
        let theirs: HashSet<RequestNo> = self.batches[at].members.iter().copied().collect();
        let mut harvest = Harvest::default();
        let mut rows = Vec::new();
        let trouble = if self.batches[at].canceled.is_some() { Trouble::Canceled } else { Trouble::Expired };
        for no in members {
            if !theirs.contains(no) {
                harvest.missing.push(*no);
            } else if self.unknown.contains(no) {
                harvest.tally.n_unknown += 1;
                harvest.unknown = Some("a result of type \"half\", which is not known".to_owned());
                harvest.again.push((*no, Trouble::UnknownResult));
            } else if answered.contains(no) {
                harvest.tally.n_succeeded += 1;
                let record = Record { run: RUN, no: *no, outcome: Outcome::Succeeded, line: Vec::new(), cache: None };
                let (usage, cost) = (Usage::default(), self.cost);
                rows.push(HarvestedRow { no: *no, outcome: Outcome::Succeeded, usage, cost, record });
            } else {
                harvest.tally.n_canceled += 1;
                harvest.again.push((*no, trouble));
            }
        }
        harvest.n_alien = theirs.iter().filter(|no| !members.contains(no)).count() as u32;
        let (permits, _permitted) = std::sync::mpsc::sync_channel(2);
        let token = Token(permits);
        let failing = self.weather.failing;
        if self.chance(failing) {
            // Breaks off after some of the rows went to the disk.
            rows.truncate(members.len() / 2);
            self.happens(SECOND, index, Happened::Rows { rows, token });
            return self.happens(SECOND * 2, index, ended(Err(with_error("connection", Trouble::Broken))));
        }
        self.happens(SECOND, index, Happened::Rows { rows, token });
        self.happens(SECOND * 2, index, ended(Ok(harvest)));
    }

    /// Why an org's call about a batch is not answered.
    pub(super) fn refusal(&mut self, org: OrgId) -> Option<BatchFailure> {
        if self.revoked.contains(&org) {
            return Some(with_error("authentication_error", Trouble::Account(AccountTrouble::Auth)));
        }
        let failing = self.weather.failing;
        (self.away || self.chance(failing)).then(|| with_error("api_error", Trouble::Server))
    }

    /// Takes a cancel, unless the batch has ended.
    pub(super) fn take_cancel(&mut self, org: OrgId, id: &str) -> Result<MessageBatch, BatchFailure> {
        self.look(org, id)?;
        if self.with_pages {
            return Err(with_error("not-json", Trouble::Account(AccountTrouble::Endpoint)));
        }
        if self.without_cancel {
            return Err(BatchFailure::NotFound(error("not_found_error")));
        }
        let at = self.batches.iter().position(|batch| batch.id == id);
        let at = at.ok_or_else(|| BatchFailure::NotFound(error("not_found_error")))?;
        if self.has_ended(&self.batches[at]) {
            return Err(BatchFailure::Invalid(error("invalid_request_error")));
        }
        let now = self.now;
        let batch = &mut self.batches[at];
        batch.canceled_by_us = true;
        if batch.canceled.is_none() {
            batch.canceled = Some(now);
            batch.ends = Some(batch.ends.map_or(now + 25 * SECOND, |ends| ends.min(now + 25 * SECOND)));
        }
        Ok(self.object(&self.batches[at].clone()))
    }
}
