//! An org at work: its limits, its colleagues and its counters.

use std::time::Duration;

use http::HeaderMap;

use super::batch::Batches;
use super::bucket::Bucket;
use super::colleague::Colleague;
use super::fault::Calls;
use super::ids;
use super::limits::{Calendar, ClassLimits, LimitSettings, write_requests};
use super::models::Class;
use super::prices;
use super::prompt_cache::PromptCache;
use super::ramp::Ramp;
use super::request::Place;
use super::scenario::{Behaviour, OrgSettings};
use super::stats::OrgStats;
use super::ticket::ShownLimits;
use crate::model::{Money, Usage};

/// An org: one key.
#[derive(Debug)]
pub(super) struct Org {
    pub(super) organization: String,
    pub(super) behaviour: Behaviour,
    /// Where the limits of its organisation are.
    pub(super) pool: usize,
    pub(super) colleagues: Vec<Colleague>,
    /// `anthropic-workspace-id`.
    pub(super) workspace: String,
    /// Requests so far, by kind.
    pub(super) calls: Calls,
    /// What was billed.
    pub(super) cost: Money,
    pub(super) stats: OrgStats,
}

/// The limits of an organisation, which its keys share.
#[derive(Debug)]
pub(super) struct Pool {
    pub(super) settings: LimitSettings,
    classes: [Option<ClassLimits>; Class::COUNT],
    /// Requests to the endpoints of batches.
    batch_requests: Bucket,
    /// Counts of tokens.
    counts: Bucket,
    pub(super) ramp: Option<Ramp>,
    pub(super) batches: Batches,
    pub(super) prompt_cache: PromptCache,
}

impl Pool {
    pub(super) fn new(behaviour: &Behaviour) -> Pool {
        let settings = behaviour.limits;
        Pool {
            settings,
            classes: [None; Class::COUNT],
            batch_requests: Bucket::new(settings.batch_rpm, Duration::ZERO),
            counts: Bucket::new(settings.count_tokens_rpm, Duration::ZERO),
            ramp: behaviour.ramp.map(Ramp::new),
            batches: Batches::default(),
            prompt_cache: PromptCache::default(),
        }
    }

    /// The limit of requests that a kind of request has of its own, at this moment.
    pub(super) fn requests_to(&mut self, place: Place, now: Duration) -> Option<&mut Bucket> {
        let bucket = match place {
            Place::Messages | Place::Models => return None,
            Place::CountTokens => &mut self.counts,
            _ => &mut self.batch_requests,
        };
        bucket.refill(now);
        Some(bucket)
    }

    /// Writes the headers of these limits as they are now.
    pub(super) fn write_headers(
        &mut self,
        shown: ShownLimits,
        now: Duration,
        calendar: &Calendar,
        headers: &mut HeaderMap,
    ) {
        let (place, claimed_empty) = match shown {
            ShownLimits::Class { class, claimed_empty } => {
                return self.class(class, now).write_headers(now, calendar, claimed_empty, headers);
            }
            ShownLimits::Batches { claimed_empty } => (Place::BatchCreate, claimed_empty),
            ShownLimits::Counts { claimed_empty } => (Place::CountTokens, claimed_empty),
        };
        if let Some(bucket) = self.requests_to(place, now) {
            write_requests(*bucket, now, calendar, claimed_empty, headers);
        }
    }

    /// The limits of a class at this moment. They are full when they are first asked for.
    pub(super) fn class(&mut self, class: Class, now: Duration) -> &mut ClassLimits {
        let limits = self.classes[class.ix()].get_or_insert_with(|| ClassLimits::new(self.settings, now));
        limits.refill(now);
        limits
    }
}

impl Org {
    pub(super) fn new(settings: OrgSettings, pool: usize) -> Org {
        Org {
            workspace: ids::workspace(&settings.organization),
            organization: settings.organization,
            behaviour: settings.behaviour,
            pool,
            colleagues: settings.colleagues,
            calls: Calls::default(),
            cost: Money::ZERO,
            stats: OrgStats { label: settings.label, ..OrgStats::default() },
        }
    }

    /// Bills the tokens of an answer.
    pub(super) fn bill(&mut self, cost: Money, usage: &Usage) {
        self.cost += cost;
        let stats = &mut self.stats;
        stats.n_accepted += 1;
        stats.tokens_in += usage.prompt_tokens();
        stats.tokens_out += usage.output_tokens;
        stats.tokens_cache_written += usage.cache_write_5m + usage.cache_write_1h;
        stats.tokens_cache_read += usage.cache_read;
    }

    /// Whether it has spent what the scenario lets it spend.
    pub(super) fn has_spent_its_limit(&self) -> bool {
        self.behaviour.spend_limit.is_some_and(|limit| self.cost >= limit)
    }

    /// Its counters.
    pub(super) fn stats(&self) -> OrgStats {
        OrgStats { cost_micro_usd: prices::micro_usd(self.cost), ..self.stats.clone() }
    }

    /// Lets the colleagues make what is due, in the order of its moments.
    pub(super) fn advance_colleagues(&mut self, now: Duration, pool: &mut Pool) {
        let due = |colleague: &&mut Colleague| colleague.is_due(now);
        while let Some(first) = self.colleagues.iter_mut().filter(due).min_by_key(|colleague| colleague.next_at()) {
            // Not `Pool::class`: that would refill to a later moment than this request's.
            let limits =
                pool.classes[first.class.ix()].get_or_insert_with(|| ClassLimits::new(pool.settings, first.next_at()));
            first.make_next(limits, &mut self.stats.colleague);
        }
    }
}
