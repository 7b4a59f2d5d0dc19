//! What all runs of a user may cost in a day, as one of them sees it.
//!
//! The runs share a ledger of the day, kept by processes that know nothing of each other. Each has a claim there: what it has
//! spent, may have spent and has out, and some more; no claim is granted that would bring the sum of all above the limit, and
//! a run stays within its claim. So the day's limit holds whatever runs at once, and a run that is killed leaves a claim
//! behind that is not below what it did. The alternative, to read what the others wrote last, sees each of them some
//! seconds too late.
//!
//! A run without a limit of its own claims what it spent and is likely to spend until it claims again.

use std::sync::Arc;
use std::time::Duration;

use crate::model::{Money, Mono};

use super::budget::Blocked;
use super::ledger::date;

/// Between two claims that nothing asks for: with a limit to see what others gave back, without one to say what was spent.
const LIMITED_EVERY: Duration = Duration::from_secs(30);
const UNLIMITED_EVERY: Duration = Duration::from_secs(5);

/// How often it is looked at whether more should be claimed.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// A claim goes beyond what is spent by one in so many parts of the limit.
const PART: u64 = 50;

/// What a run claims of a day.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DayClaim {
    /// The day (UTC), as `2026-11-29`.
    pub day: String,
    /// What it has spent, may have spent and has out: cannot be refused any more.
    pub spent: Money,
    /// What it would have, at least `spent`.
    pub wanted: Money,
    /// What all runs may cost in a day; `None` takes what is wanted.
    pub limit: Option<Money>,
}

/// What it got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DayGrant {
    /// Claims of the other runs.
    pub others: Money,
    /// Its own from now on: durable.
    pub granted: Money,
}

/// Takes a claim, on a thread where it may wait for the disk.
pub type DayLedger = Arc<dyn Fn(&DayClaim) -> Result<DayGrant, String> + Send + Sync>;

/// A run's share in its days.
#[derive(Debug, Default)]
pub(crate) struct Day {
    limit: Option<Money>,
    /// Others have claims as well; else the whole limit is this run's.
    shared: bool,
    /// The day that the grant is of, by its number since 1970.
    grant: Option<(i64, DayGrant)>,
    /// What was claimed, while there is no answer.
    asked: Option<Money>,
    asked_at: Option<Mono>,
    /// What was spent when it was claimed last.
    spent_then: Money,
    looked_at: Mono,
    /// Why the ledger takes no claims.
    trouble: Option<String>,
}

impl Day {
    /// Of a run under this limit, if any, that shares it with nobody.
    pub(crate) fn new(limit: Option<Money>) -> Day {
        Day { limit, ..Day::default() }
    }

    /// From here on claims are granted.
    pub(crate) fn share(&mut self) {
        self.shared = true;
    }

    /// What others have claimed of the day.
    pub(crate) fn others(&self, today: i64) -> Money {
        self.of(today).map_or(Money::ZERO, |grant| grant.others)
    }

    fn of(&self, today: i64) -> Option<DayGrant> {
        self.grant.filter(|(day, _)| *day == today).map(|(_, grant)| grant)
    }

    /// Whether the run may come to `own` today, with what is out.
    pub(crate) fn admits(&self, own: Money, today: i64) -> Result<(), Blocked> {
        let Some(limit) = self.limit else { return Ok(()) };
        let used_up = || Blocked::by(format!("per-day-usd of {limit}"));
        if !self.shared {
            return if own <= limit { Ok(()) } else { Err(used_up()) };
        }
        if let Some(trouble) = &self.trouble {
            return Err(Blocked::by(format!("per-day-usd of {limit}, which cannot be kept: {trouble}")));
        }
        match self.of(today) {
            // A lower claim that is under way may hold already.
            Some(grant) if own <= self.asked.map_or(grant.granted, |asked| asked.min(grant.granted)) => Ok(()),
            Some(grant) if grant.others + own > limit => Err(used_up()),
            _ => Err(Blocked { needs: Some(own), ..used_up() }),
        }
    }

    /// Whether it should be looked at what the run has spent.
    pub(crate) fn is_look_due(&mut self, is_needed: bool, now: Mono) -> bool {
        let waits = self.asked.is_some() || !self.shared;
        let every = if self.limit.is_some() { LOOK_EVERY } else { UNLIMITED_EVERY };
        let due = !waits && (is_needed || self.asked_at.is_none() || now.since(self.looked_at) >= every);
        if due {
            self.looked_at = now;
        }
        due
    }

    /// The claim that is due, when the run has come to `own` and is kept back until it may come to `needs`.
    pub(crate) fn claim(&mut self, own: Money, needs: Option<Money>, today: i64, now: Mono) -> Option<DayClaim> {
        // What the first claim finds says nothing of the time to come.
        let since = if self.asked_at.is_some() { own - self.spent_then } else { Money::ZERO };
        let more = match self.limit {
            Some(limit) => since.max(Money(limit.0 / PART)),
            None => since,
        };
        let every = if self.limit.is_some() { LIMITED_EVERY } else { UNLIMITED_EVERY };
        let is_old = self.asked_at.is_none_or(|at| now.since(at) >= every);
        let is_low = |grant: DayGrant| {
            let limit = self.limit.unwrap_or(Money(u64::MAX));
            grant.granted < own + Money(more.0 / 2) && grant.granted + grant.others < limit
        };
        let is_due = self.of(today).is_none_or(is_low) || needs.is_some() || is_old;
        if self.asked.is_some() || !is_due {
            return None;
        }
        let wanted = (own + more).max(needs.unwrap_or_default());
        (self.asked, self.asked_at, self.spent_then) = (Some(wanted), Some(now), own);
        Some(DayClaim { day: date(today), spent: own, wanted, limit: self.limit })
    }

    /// What came of the claim.
    pub(crate) fn granted(&mut self, day: i64, grant: Result<DayGrant, String>) {
        self.asked = None;
        match grant {
            Ok(grant) => (self.grant, self.trouble) = (Some((day, grant)), None),
            Err(trouble) => self.trouble = Some(trouble),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TODAY: i64 = 20_787;

    fn at(ms: u64) -> Mono {
        Mono::from_span(Duration::from_secs(100) + Duration::from_millis(ms))
    }

    /// A day of a limit of 1,000, of which the others have so much.
    fn day(others: u64) -> Day {
        let mut day = Day::new(Some(Money(1_000)));
        day.share();
        grant(&mut day, others, Money(0), None, TODAY, 0);
        day
    }

    /// Claims, and is granted what is left.
    fn grant(day: &mut Day, others: u64, own: Money, needs: Option<Money>, today: i64, ms: u64) -> DayClaim {
        let claim = day.claim(own, needs, today, at(ms)).unwrap();
        let left = claim.limit.unwrap() - Money(others);
        day.granted(today, Ok(DayGrant { others: Money(others), granted: claim.wanted.min(left).max(own) }));
        claim
    }

    #[test]
    fn a_run_stays_within_its_claim_and_claims_more_before_it_needs_it() {
        let mut day = day(300);
        assert_eq!(day.admits(Money(20), TODAY), Ok(()));
        let needs = day.admits(Money(50), TODAY).unwrap_err().needs;
        assert_eq!(needs, Some(Money(50)));
        assert_eq!(day.claim(Money(5), None, TODAY, at(200)), None);
        assert_eq!(grant(&mut day, 300, Money(15), needs, TODAY, 300).wanted, Money(50));
        assert_eq!(day.admits(Money(50), TODAY), Ok(()));
    }

    #[test]
    fn what_others_have_claimed_is_left_to_them_and_then_it_is_used_up() {
        let mut day = day(900);
        grant(&mut day, 900, Money(95), Some(Money(200)), TODAY, 200);
        assert_eq!(day.admits(Money(100), TODAY), Ok(()));
        let blocked = day.admits(Money(101), TODAY).unwrap_err();
        assert!(blocked.needs.is_none() && blocked.limit.contains("per-day-usd"), "{blocked:?}");
    }

    #[test]
    fn a_lower_claim_holds_from_the_moment_that_it_is_made() {
        let mut day = day(0);
        grant(&mut day, 0, Money(10), Some(Money(500)), TODAY, 100);
        assert_eq!(day.admits(Money(500), TODAY), Ok(()));
        assert_eq!(day.claim(Money(10), None, TODAY, at(31_000)).unwrap().wanted, Money(30));
        assert!(day.admits(Money(31), TODAY).is_err());
    }

    #[test]
    fn at_midnight_nothing_is_sent_before_the_new_day_has_granted_something() {
        let mut day = day(990);
        assert!(day.admits(Money(11), TODAY).is_err());
        assert_eq!(day.admits(Money(1), TODAY + 1).unwrap_err().needs, Some(Money(1)));
        assert_eq!(grant(&mut day, 0, Money(0), None, TODAY + 1, 200).day, date(TODAY + 1));
        assert_eq!(day.admits(Money(20), TODAY + 1), Ok(()));
    }

    #[test]
    fn a_ledger_that_takes_no_claims_admits_nothing_under_a_limit_and_all_without_one() {
        let mut day = day(0);
        day.granted(TODAY, Err("the disk is full".to_owned()));
        assert!(day.admits(Money(1), TODAY).unwrap_err().limit.contains("the disk is full"));
        let mut free = Day::new(None);
        free.share();
        assert!(free.is_look_due(false, at(0)) && free.claim(Money(7), None, TODAY, at(0)).is_some());
        free.granted(TODAY, Err("the disk is full".to_owned()));
        assert_eq!(free.admits(Money(u64::MAX), TODAY), Ok(()));
        assert!(!free.is_look_due(false, at(4_000)) && free.is_look_due(false, at(5_000)));
    }

    #[test]
    fn without_a_limit_it_claims_what_it_is_likely_to_spend_until_it_claims_again() {
        let mut day = Day::new(None);
        day.share();
        assert_eq!(day.claim(Money(100), None, TODAY, at(0)).unwrap().wanted, Money(100));
        day.granted(TODAY, Ok(DayGrant { others: Money(0), granted: Money(100) }));
        assert_eq!(day.claim(Money(150), None, TODAY, at(5_000)).unwrap().wanted, Money(200));
    }

    #[test]
    fn alone_a_run_has_the_whole_day() {
        let day = Day::new(Some(Money(10)));
        assert_eq!(day.admits(Money(10), TODAY), Ok(()));
        assert!(day.admits(Money(11), TODAY).unwrap_err().needs.is_none());
    }
}
