//! The budget of a run: whether one more request may go out, what is said at 60, 80, 95 and 100 %, and when the run is over.
//!
//! Admission holds `spent + in doubt + reserved + the most that the next request can cost` to the limit. What comes of
//! calls that are out can therefore not pass it: the worst that can happen is that all that is reserved is spent. The
//! alternative, reserving what a request is likely to cost, uses a budget up faster and passes it whenever the guess was
//! low; the price of the bound is that a run slows down over its last few dollars.
//!
//! The most that a request can cost follows from its own text. What is billed for things that are not in it, a document by
//! its URL or the results of a server tool, can pass that. The first answer that shows it raises all reservations by the
//! worst ratio seen, and it is said; what was out at that moment can pass the limit by as much.

use crate::model::books::Limits;
use crate::model::snapshot::BudgetView;
use crate::model::{Money, Now, OrgId, Wall};

use super::day::{Day, DayClaim};
use super::ledger::{Ledger, day_of};

/// Shares of the limit at which something is said, in percent.
const STEPS: [u8; 3] = [60, 80, 95];

/// The budget of one run.
#[derive(Debug, Default)]
pub(crate) struct Budget {
    limits: Limits,
    /// Limits by org, in the order of the orgs.
    of_orgs: Vec<Option<Money>>,
    /// What all runs may cost in a day.
    pub(crate) day: Day,
    /// The highest ratio of what an answer cost to what was reserved for it, in thousandths; 0 while none was above 1.
    dearer: u64,
    /// The highest step that was said.
    said: u8,
    /// The rest may be moved to batches at a key.
    pub(crate) offers_batch: bool,
    /// Why the last look at the queue admitted nothing; `None` when the budget was not the reason.
    pub(crate) blocked: Option<Blocked>,
}

/// What keeps the next request from going out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Blocked {
    /// The limit, in words.
    pub(crate) limit: String,
    /// It may go as soon as so much of the day is claimed, which is not refused yet.
    pub(crate) needs: Option<Money>,
}

impl Blocked {
    /// By a limit that is reached.
    pub(crate) fn by(limit: String) -> Blocked {
        Blocked { limit, needs: None }
    }
}

impl Budget {
    /// A budget over these orgs.
    pub(crate) fn new(limits: Limits, labels: &[String]) -> Budget {
        let of_orgs = labels.iter().map(|label| limits.of_orgs.get(label).copied()).collect();
        let day = Day::new(limits.per_day);
        Budget { limits, of_orgs, day, ..Budget::default() }
    }

    /// The limits.
    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Whether anything is limited.
    pub(crate) fn is_limited(&self) -> bool {
        self.limits_cost() || self.limits.max_requests.is_some() || self.limits.deadline.is_some()
    }

    /// Whether a cost is limited.
    fn limits_cost(&self) -> bool {
        let Limits { max_cost, per_day, .. } = &self.limits;
        max_cost.is_some() || per_day.is_some() || self.of_orgs.iter().any(Option::is_some)
    }

    /// Takes on what earlier sessions have learned.
    pub(crate) fn knows(&mut self, dearer: u64) {
        self.dearer = dearer;
    }

    /// The highest ratio of what an answer cost to what was reserved for it, in thousandths; 0 while none was above 1.
    pub(crate) fn dearer(&self) -> u64 {
        self.dearer
    }

    /// Whether an org may be sent `n` requests that cost so much at the most.
    pub(crate) fn admits(&self, ledger: &Ledger, org: OrgId, n: u64, at_most: Money, now: Wall) -> Result<(), Blocked> {
        let at_most = self.raised(at_most);
        self.run_admits(ledger, n, at_most, now)?;
        let Some(Some(limit)) = self.of_orgs.get(org.ix()) else { return Ok(()) };
        let sums = ledger.org(org);
        if sums.spent + sums.doubt + ledger.doubt_of_nobody() + self.raised(sums.reserved) + at_most <= *limit {
            return Ok(());
        }
        Err(Blocked::by(format!("the org's max-cost-usd of {limit}")))
    }

    /// Whether the run may send so much, whoever takes it.
    fn run_admits(&self, ledger: &Ledger, n: u64, at_most: Money, now: Wall) -> Result<(), Blocked> {
        let out = self.raised(ledger.reserved());
        if let Some(most) = self.limits.max_requests
            && ledger.n_sent() + n > most
        {
            return Err(Blocked::by(format!("max-requests of {most}")));
        }
        if let Some(limit) = self.limits.max_cost
            && ledger.committed() + out + at_most > limit
        {
            return Err(Blocked::by(format!("max-cost of {limit}")));
        }
        if self.limits.per_day.is_some() {
            self.day.admits(ledger.committed_on_day_of(now) + out + at_most, day_of(now))?;
        }
        Ok(())
    }

    /// The claim to the day that is due, if one is.
    pub(crate) fn claim(&mut self, ledger: &Ledger, now: Now) -> Option<DayClaim> {
        let needs = self.blocked.as_ref().and_then(|blocked| blocked.needs);
        if !self.day.is_look_due(needs.is_some(), now.mono) {
            return None;
        }
        let own = self.own_today(ledger, now.wall);
        self.day.claim(own, needs, day_of(now.wall), now.mono)
    }

    /// What the run has spent today, may have spent, and has out.
    pub(crate) fn own_today(&self, ledger: &Ledger, now: Wall) -> Money {
        ledger.committed_on_day_of(now) + self.raised(ledger.reserved())
    }

    /// A reservation, by what answers have shown.
    fn raised(&self, at_most: Money) -> Money {
        if self.dearer == 0 {
            return at_most;
        }
        Money(u64::try_from(u128::from(at_most.0) * u128::from(self.dearer) / 1_000).unwrap_or(u64::MAX))
    }

    /// Learns from an answer that cost more than was reserved for it. Gives how many times that was, when it is more than was
    /// known and costs are limited.
    pub(crate) fn learn(&mut self, cost: Money, at_most: Money) -> Option<f64> {
        if !self.limits_cost() || cost <= at_most || at_most == Money::ZERO {
            return None;
        }
        let times = u64::try_from((u128::from(cost.0) * 1_000).div_ceil(u128::from(at_most.0))).unwrap_or(u64::MAX);
        if times <= self.dearer {
            return None;
        }
        self.dearer = times;
        Some(times as f64 / 1e3)
    }

    /// Whether the time is over.
    pub(crate) fn is_late(&self, now: Wall) -> bool {
        self.limits.deadline.is_some_and(|deadline| now.0 >= deadline)
    }

    /// Time to the deadline in milliseconds.
    pub(crate) fn ms_left(&self, now: Wall) -> Option<u64> {
        self.limits.deadline.map(|deadline| u64::try_from(deadline - now.0).unwrap_or(0))
    }

    /// The share that has newly been reached, in percent.
    pub(crate) fn step(&mut self, ledger: &Ledger) -> Option<u8> {
        let limit = self.limits.max_cost?;
        let reached = STEPS.into_iter().rev().find(|step| {
            u128::from(ledger.committed().0) * 100 >= u128::from(limit.0) * u128::from(*step) && limit > Money::ZERO
        })?;
        if reached <= self.said {
            return None;
        }
        self.said = reached;
        Some(reached)
    }

    /// Whether work that the run can do without may still be done.
    pub(crate) fn affords_optional(&self) -> bool {
        self.said < 95
    }

    /// For the frontends; `None` when nothing is limited.
    pub(crate) fn view(&self, ledger: &Ledger, now: Wall) -> Option<BudgetView> {
        self.is_limited().then(|| {
            let (_, doubt) = ledger.in_doubt();
            BudgetView {
                max_cost: self.limits.max_cost,
                per_day: self.limits.per_day,
                spent_today: self.day.others(day_of(now)) + ledger.committed_on_day_of(now),
                max_requests: self.limits.max_requests,
                n_sent: ledger.n_sent(),
                ms_left: self.ms_left(now),
                spent: ledger.spent(),
                in_doubt: doubt,
                reserved: ledger.reserved(),
                offers_batch: self.offers_batch,
                blocked: self
                    .blocked
                    .as_ref()
                    .filter(|blocked| blocked.needs.is_none())
                    .map(|blocked| blocked.limit.clone()),
            }
        })
    }
}

#[cfg(test)]
#[path = "budget_tests.rs"]
mod tests;
