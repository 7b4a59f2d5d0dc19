//! An org at work: its limits, its colleagues and its counters.

use std::time::Duration;

use super::colleague::Colleague;
use super::limits::ClassLimits;
use super::models::Class;
use super::ramp::Ramp;
use super::scenario::{Behaviour, OrgSettings};
use super::stats::OrgStats;

/// An org: one key.
#[derive(Debug)]
pub(super) struct Org {
    pub(super) organization: String,
    pub(super) behaviour: Behaviour,
    /// Where the limits of its organisation are.
    pub(super) pool: usize,
    pub(super) colleagues: Vec<Colleague>,
    /// Messages requests so far.
    pub(super) calls: u64,
    pub(super) stats: OrgStats,
}

/// The limits of an organisation, which its keys share.
#[derive(Debug)]
pub(super) struct Pool {
    settings: super::limits::LimitSettings,
    classes: [Option<ClassLimits>; Class::COUNT],
    pub(super) ramp: Option<Ramp>,
}

impl Pool {
    pub(super) fn new(behaviour: &Behaviour) -> Pool {
        Pool { settings: behaviour.limits, classes: [None; Class::COUNT], ramp: behaviour.ramp.map(Ramp::new) }
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
            organization: settings.organization,
            behaviour: settings.behaviour,
            pool,
            colleagues: settings.colleagues,
            calls: 0,
            stats: OrgStats { label: settings.label, ..OrgStats::default() },
        }
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
