//! One sub-batch: what is durable of it, and what this session knows besides.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use crate::api::batches::{BatchCounts, MessageBatch, ProcessingStatus};
use crate::model::{Money, Mono, Now, OrgId, RequestNo, RetryAfter, SubBatchStatus, Trouble, Wall};
use crate::store::SubBatchEntry;

use crate::engine::ledger::Ledger;
use crate::engine::load::Sizes;

/// Steps of a timeline that are kept.
const STEPS_KEPT: usize = 24;

/// How long after its expiry a sub-batch is waited for.
pub(crate) const AFTER_EXPIRY: Duration = Duration::from_secs(30 * 60);

/// How long a batch lives, when the API does not say.
const LIFETIME: Duration = Duration::from_secs(24 * 3_600);

/// A sub-batch.
#[derive(Debug)]
pub(crate) struct Sub {
    pub(crate) entry: SubBatchEntry,
    /// Whose it is; `None` while planned, and when its org is not configured now.
    pub(crate) org: Option<OrgId>,
    pub(crate) members: Arc<Vec<RequestNo>>,
    /// What it costs at the most; known when it is created.
    pub(crate) at_most: Money,
    /// Its file of members is durable: only then may the state name it.
    pub(crate) members_kept: bool,
    /// A call or a write about it is under way: nothing else is begun.
    pub(crate) busy: bool,
    /// When something about it is due.
    pub(crate) next: Mono,
    /// What the last answer wished.
    pub(crate) wish: RetryAfter,
    /// Calls that failed since one was answered.
    pub(crate) n_failed: u32,
    /// The account of its org was refused when last asked about it.
    pub(crate) refused: bool,
    /// 404s in a row.
    pub(crate) n_404: u32,
    /// It was seen at the API in this session.
    pub(crate) seen: bool,
    /// The status in the API's own word.
    pub(crate) api_status: Option<String>,
    /// Why it is to be canceled as soon as nothing else is under way.
    pub(crate) cancel_wanted: Option<String>,
    /// A cancel failed, or results that should be there are not: look at it before the next try.
    pub(crate) look_first: bool,
    /// Of a life that began in an earlier session.
    pub(crate) resumed: bool,
    /// Age at `began`.
    age: Duration,
    began: Mono,
    /// Span from its beginning to its expiry.
    lifetime: Duration,
    /// When it ended, as an age.
    pub(crate) took: Option<Duration>,
    /// While adrift: since when, and how many lists did not have it.
    pub(crate) adrift_since: Mono,
    pub(crate) n_clean_lists: u32,
    /// Batches that it is not.
    pub(crate) not_these: HashSet<String>,
    /// What its counts said once it had ended; before that they say nothing.
    pub(crate) ended_counts: Option<BatchCounts>,
    /// Downloads that were whole and lacked rows.
    pub(crate) n_lacking: u32,
    /// Results to be made again: by themselves once the harvest is durable, and afterwards those that the operator decides
    /// about.
    pub(crate) again: Vec<(RequestNo, Trouble)>,
    /// Of a harvest that is not durable yet, those that the operator decides about, and why.
    pub(crate) left: Vec<(RequestNo, Trouble)>,
    pub(crate) unknown: Option<String>,
    /// What the operator is asked, and has been told once.
    pub(crate) question: Option<String>,
    /// It was said that it is stuck.
    pub(crate) stuck: bool,
    /// What happened to it, and when.
    pub(crate) timeline: Vec<(Wall, String)>,
}

impl Sub {
    /// One that is planned.
    pub(crate) fn planned(index: u32, members: Vec<RequestNo>) -> Sub {
        let n = u32::try_from(members.len()).unwrap_or(u32::MAX);
        Sub::new(SubBatchEntry::planned(index, n), None, members, Now::default())
    }

    /// One of an earlier session, as its entry says.
    pub(crate) fn resumed(entry: SubBatchEntry, org: Option<OrgId>, members: Vec<RequestNo>, now: Now) -> Sub {
        let mut sub = Sub::new(entry, org, members, now);
        sub.resumed = true;
        sub.members_kept = true;
        sub.timeline = sub.entry.moments();
        sub.took = match (sub.entry.began_at(), sub.entry.ended_at) {
            (Some(began), Some(ended)) => Some(between(began, ended)),
            _ => None,
        };
        sub
    }

    fn new(entry: SubBatchEntry, org: Option<OrgId>, members: Vec<RequestNo>, now: Now) -> Sub {
        let age = entry.began_at().map_or(Duration::ZERO, |began| between(began, now.wall));
        let lifetime = match (entry.created_at, entry.expires_at) {
            (Some(created), Some(expires)) => between(created, expires),
            _ => LIFETIME,
        };
        Sub {
            entry,
            org,
            members: Arc::new(members),
            at_most: Money::ZERO,
            members_kept: false,
            busy: false,
            next: now.mono,
            wish: RetryAfter::Absent,
            n_failed: 0,
            refused: false,
            n_404: 0,
            seen: false,
            api_status: None,
            cancel_wanted: None,
            look_first: false,
            resumed: false,
            age,
            began: now.mono,
            lifetime,
            took: None,
            adrift_since: now.mono,
            n_clean_lists: 0,
            not_these: HashSet::new(),
            ended_counts: None,
            n_lacking: 0,
            again: Vec::new(),
            left: Vec::new(),
            unknown: None,
            question: None,
            stuck: false,
            timeline: Vec::new(),
        }
    }

    /// What its requests cost at the most in a batch.
    pub(crate) fn worst(&self, ledger: &Ledger, sizes: &dyn Sizes) -> Money {
        let of = |no: &RequestNo| ledger.at_most(sizes, *no, true);
        self.members.iter().map(of).sum()
    }

    /// Whether nothing of it has been sent.
    pub(crate) fn is_planned(&self) -> bool {
        self.entry.status == SubBatchStatus::Planned
    }

    /// Where it is.
    pub(crate) fn status(&self) -> SubBatchStatus {
        self.entry.status
    }

    /// Takes a step. False, and nothing happens, when it is not legal: an answer that came too late.
    pub(crate) fn step(&mut self, next: SubBatchStatus) -> bool {
        let legal = self.entry.status.may_become(next);
        if legal {
            self.entry.status = next;
        }
        legal
    }

    /// Notes something in its timeline.
    pub(crate) fn note(&mut self, at: Wall, what: impl Into<String>) {
        if self.timeline.len() >= STEPS_KEPT {
            self.timeline.remove(1);
        }
        self.timeline.push((at, what.into()));
    }

    /// How it is called: index, and the API's id where it has one.
    pub(crate) fn name(&self) -> String {
        match &self.entry.batch_id {
            Some(id) => format!("sub-batch {} ({id})", self.entry.index),
            None => format!("sub-batch {}", self.entry.index),
        }
    }

    /// Its age. A wall clock that jumps in the session does not move it.
    pub(crate) fn age(&self, now: Mono) -> Duration {
        self.age + now.since(self.began)
    }

    /// Begins to count its age anew.
    pub(crate) fn begin(&mut self, age: Duration, now: Mono) {
        (self.age, self.began) = (age, now);
    }

    /// Time until it expires; zero when it has.
    pub(crate) fn expires_in(&self, now: Mono) -> Duration {
        self.lifetime.saturating_sub(self.age(now))
    }

    /// Whether it should have ended long ago.
    pub(crate) fn is_overdue(&self, now: Mono) -> bool {
        self.age(now) >= self.lifetime + AFTER_EXPIRY
    }

    /// Takes what the API says of it that does not depend on the step.
    pub(crate) fn learn(&mut self, batch: &MessageBatch) {
        (self.seen, self.n_failed, self.n_404) = (true, 0, 0);
        self.api_status = Some(batch.processing_status.as_str().to_owned());
        if batch.processing_status == ProcessingStatus::Ended {
            self.ended_counts = Some(batch.request_counts);
        }
        self.entry.created_at = batch.created_at.or(self.entry.created_at);
        self.entry.expires_at = batch.expires_at.or(self.entry.expires_at);
        if let (Some(created), Some(expires)) = (self.entry.created_at, self.entry.expires_at) {
            self.lifetime = between(created, expires);
            self.entry.deadline = Some(Wall(expires.0.saturating_add(AFTER_EXPIRY.as_millis() as i64)));
        }
    }

    /// Looks for one that was given up: if it is not there now, it is given up again at once.
    pub(crate) fn one_look(&mut self) {
        self.n_404 = u32::MAX - 1;
    }

    /// Whether the API shows a cancel that was not ours, for the first time.
    pub(crate) fn canceled_elsewhere(&self, batch: &MessageBatch) -> bool {
        let canceled = batch.cancel_initiated_at.is_some() || batch.processing_status == ProcessingStatus::Canceling;
        canceled && self.entry.stuck_cancel_intent_at.is_none() && self.entry.canceled_elsewhere_at.is_none()
    }

    /// It is planned again, for whichever org.
    pub(crate) fn back_to_planned(&mut self, now: Mono) -> bool {
        let back = self.step(SubBatchStatus::Planned);
        if back {
            self.org = None;
            self.entry.org = String::new();
            self.entry.create_intent_at = None;
            self.entry.create_intent_at_api = None;
            self.entry.batch_id = None;
            self.entry.adopted = false;
            self.next = now;
        }
        back
    }

    /// Whether something will still happen to it without the operator, as long as its org can be asked.
    pub(crate) fn is_waited_for(&self) -> bool {
        match self.status() {
            SubBatchStatus::Planned => true,
            status => !status.is_over() && self.org.is_some(),
        }
    }
}

/// From one moment to another; zero when it is not after.
pub(crate) fn between(from: Wall, until: Wall) -> Duration {
    Duration::from_millis(u64::try_from(until.0.saturating_sub(from.0)).unwrap_or(0))
}
