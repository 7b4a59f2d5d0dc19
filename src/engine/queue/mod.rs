//! The requests of a run that wait for an org: those never sent, in input order, and those to be sent again.
//!
//! Memory is flat: one byte a request says where it is, and one cursor a family walks the input. Only requests that
//! failed and wait for another attempt have an entry of their own.

mod line;
mod redrives;

use std::collections::HashMap;

use crate::model::{ApiError, Counts, Family, Money, Mono, OrgId, Outcome, RequestNo, Trouble};

use super::load::Load;
use line::Line;
pub(crate) use line::Work;
pub(crate) use redrives::{Redrives, is_broken_answer};

/// Where a request is. Every request is in exactly one place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// Waits, never tried to the end.
    Waiting,
    /// Waits for another attempt.
    Again,
    /// In a sub-batch, planned or at the API: no business of the sync path.
    Batched,
    /// Being answered.
    InFlight,
    /// Answered, not yet durable.
    Unsynced,
    /// Not sent again in this session unless the operator says so: its attempts fail on orgs that answer others. Or not sent
    /// in it at all, which is a pilot of others.
    Aside,
    /// Durable.
    Done(Outcome),
    /// Answered from the cache, durable.
    Cached,
}

/// A request that is being answered.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Flying {
    pub(crate) org: OrgId,
    /// When it was sent.
    pub(crate) started: Mono,
    /// What it is likely to take.
    pub(crate) load: Load,
    /// What is reserved for it.
    pub(crate) at_most: Money,
}

/// The queue of one run.
#[derive(Debug)]
pub(crate) struct Queue {
    places: Vec<Place>,
    /// Family of each request; empty when all are of `only`.
    families: Vec<Family>,
    only: Family,
    lines: [Line; Family::COUNT],
    redrives: Redrives,
    flying: HashMap<u32, Flying>,
    counts: Counts,
    /// Requests answered by the number of attempts that it took: 1, 2, 3, 4, 5 or more.
    attempts: [u64; 5],
}

impl Queue {
    /// A queue over `places`, as recovery and the cache left them: what is to be sent again is at once due. `family` tells
    /// each request's family.
    pub(crate) fn new(places: Vec<Place>, family: impl Fn(RequestNo) -> Family) -> Queue {
        let families: Vec<Family> = (0..places.len() as u32).map(|no| family(RequestNo(no))).collect();
        let only = families.first().copied().unwrap_or(Family::Other);
        let mut counts = Counts { total: places.len() as u64, ..Counts::default() };
        let mut lines: [Line; Family::COUNT] = Default::default();
        let mut redrives = Redrives::default();
        for (no, (place, family)) in places.iter().zip(&families).enumerate() {
            match place {
                Place::Done(Outcome::Succeeded) => counts.succeeded += 1,
                Place::Done(Outcome::Refused) => counts.refused += 1,
                Place::Done(Outcome::Invalid) => counts.invalid += 1,
                Place::Cached => counts.cached += 1,
                Place::Again => {
                    counts.re_drivable += 1;
                    lines[family.ix()].push(no as u32, false, Mono::ZERO);
                    redrives.inherit(RequestNo(no as u32));
                }
                Place::Aside => counts.unsent += 1,
                _ => {
                    counts.unsent += 1;
                    lines[family.ix()].waiting += 1;
                }
            }
        }
        let mixed = families.iter().any(|family| *family != only);
        Queue {
            places,
            families: if mixed { families } else { Vec::new() },
            only,
            lines,
            redrives,
            flying: HashMap::new(),
            counts,
            attempts: [0; 5],
        }
    }

    /// Where every request is, in numbers.
    pub(crate) fn counts(&self) -> Counts {
        let mut counts = self.counts;
        counts.in_flight = self.flying.len() as u64;
        counts
    }

    /// Family of a request.
    pub(crate) fn family(&self, no: RequestNo) -> Family {
        self.families.get(no.ix()).copied().unwrap_or(self.only)
    }

    /// Whether requests of a family may be in it.
    pub(crate) fn has(&self, family: Family) -> bool {
        !self.families.is_empty() || self.only == family
    }

    /// Whether a request of this family could be sent now: `Free` by any org, `Paid` by one whose retry budget pays.
    pub(crate) fn work(&self, family: Family, now: Mono) -> Option<Work> {
        self.lines[family.ix()].work(now)
    }

    /// Whether re-drives that a budget has to pay for are due.
    pub(crate) fn paid_is_due(&self, family: Family, now: Mono) -> bool {
        self.lines[family.ix()].paid_is_due(now)
    }

    /// Whether anything waits, now or later.
    pub(crate) fn is_empty(&self) -> bool {
        self.lines.iter().all(Line::is_empty)
    }

    /// Whether anything of a family waits, now or later.
    pub(crate) fn waits(&self, family: Family) -> bool {
        !self.lines[family.ix()].is_empty()
    }

    /// Requests that wait on the sync path, now or later.
    pub(crate) fn n_waiting(&self) -> u64 {
        self.lines.iter().map(Line::len).sum()
    }

    /// When the next request that waits for another attempt is due.
    pub(crate) fn next_due(&self) -> Option<Mono> {
        self.lines.iter().filter_map(Line::next_due).min()
    }

    /// Takes the next request of a family for an org: those to be sent again first, then in input order. `pays` says
    /// whether the org's retry budget does.
    pub(crate) fn take(&mut self, family: Family, org: OrgId, pays: bool, now: Mono) -> Option<Taken> {
        let (no, paid) = match self.lines[family.ix()].take_due(pays, now) {
            Some(due) => due,
            None => (self.next_waiting(family)?, false),
        };
        self.places[no as usize] = Place::InFlight;
        self.flying.insert(no, Flying { org, started: now, load: Load::default(), at_most: Money::ZERO });
        let no = RequestNo(no);
        Some(Taken { no, attempt: self.redrives.failed_attempts(no).saturating_add(1), paid })
    }

    /// Notes what a request that was just taken is likely to take from the limits, and what it costs at the most.
    pub(crate) fn weigh(&mut self, no: RequestNo, load: Load, at_most: Money) {
        if let Some(flying) = self.flying.get_mut(&no.0) {
            (flying.load, flying.at_most) = (load, at_most);
        }
    }

    /// The request that [`Queue::take`] would give.
    pub(crate) fn peek(&mut self, family: Family, pays: bool, now: Mono) -> Option<RequestNo> {
        let due = self.lines[family.ix()].peek_due(pays, now);
        due.or_else(|| self.first_waiting(family)).map(RequestNo)
    }

    fn next_waiting(&mut self, family: Family) -> Option<u32> {
        let no = self.first_waiting(family)?;
        self.lines[family.ix()].pass(no);
        Some(no)
    }

    /// The first request of a family that waits and was never tried to the end.
    fn first_waiting(&mut self, family: Family) -> Option<u32> {
        let Queue { lines, places, families, only, .. } = self;
        let is_it = |at: usize| places[at] == Place::Waiting && families.get(at).copied().unwrap_or(*only) == family;
        lines[family.ix()].first_waiting(places.len(), is_it)
    }

    /// Where a request is; `None` when it is not of this run.
    pub(crate) fn place(&self, no: RequestNo) -> Option<Place> {
        self.places.get(no.ix()).copied()
    }

    /// Requests that wait on the sync path, in the order of the input.
    pub(crate) fn waiting_nos(&self) -> impl Iterator<Item = RequestNo> {
        let waits = |(_, place): &(usize, &Place)| matches!(place, Place::Waiting | Place::Again);
        self.places.iter().enumerate().filter(waits).map(|(no, _)| RequestNo(no as u32))
    }

    /// Takes requests that wait out of the sync path: they are in sub-batches. The others stay where they are.
    pub(crate) fn hold(&mut self, nos: impl IntoIterator<Item = RequestNo>) {
        for no in nos {
            match self.place(no) {
                Some(Place::Waiting) => self.lines[self.family(no).ix()].waiting -= 1,
                Some(Place::Again) => {}
                _ => continue,
            }
            self.places[no.ix()] = Place::Batched;
        }
        let Queue { lines, places, .. } = self;
        for line in lines {
            line.retain(|no| places[no as usize] == Place::Again);
        }
    }

    /// Gives a request of a sub-batch to the sync path, as if nothing had been tried.
    pub(crate) fn let_go(&mut self, no: RequestNo, now: Mono) {
        if self.place(no) == Some(Place::Batched) {
            self.put_back(no, false, now);
        }
    }

    /// A result of a sub-batch is there; it is not durable yet. False when the request has another outcome already.
    pub(crate) fn answered_in_batch(&mut self, no: RequestNo) -> bool {
        let waits = self.place(no) == Some(Place::Batched);
        if waits {
            self.arrived(no);
        }
        waits
    }

    /// A sub-batch brought nothing for a request, through no fault of its own: it goes to the sync path. False when it has
    /// another outcome already.
    pub(crate) fn failed_in_batch(
        &mut self,
        no: RequestNo,
        org: OrgId,
        trouble: Trouble,
        error: ApiError,
        now: Mono,
    ) -> bool {
        if self.place(no) != Some(Place::Batched) {
            return false;
        }
        self.put_back(no, false, now);
        self.remember(no, org, trouble, error);
        true
    }

    /// Whether this request is being answered.
    pub(crate) fn is_in_flight(&self, no: RequestNo) -> bool {
        self.places.get(no.ix()) == Some(&Place::InFlight)
    }

    /// A terminal answer arrived; it is not durable yet.
    pub(crate) fn answered(&mut self, no: RequestNo) {
        if self.is_in_flight(no) {
            self.flying.remove(&no.0);
            self.arrived(no);
        }
    }

    fn arrived(&mut self, no: RequestNo) {
        self.places[no.ix()] = Place::Unsynced;
        self.counts.unsynced += 1;
        let failed = usize::from(self.redrives.failed_attempts(no));
        self.attempts[failed.min(self.attempts.len() - 1)] += 1;
    }

    /// An outcome is durable.
    pub(crate) fn synced(&mut self, no: RequestNo, outcome: Outcome) {
        if self.places.get(no.ix()) != Some(&Place::Unsynced) || !outcome.is_terminal() {
            return;
        }
        self.places[no.ix()] = Place::Done(outcome);
        self.counts.unsynced -= 1;
        if self.redrives.forget(no) {
            self.counts.re_drivable -= 1;
        } else {
            self.counts.unsent -= 1;
        }
        match outcome {
            Outcome::Succeeded => self.counts.succeeded += 1,
            Outcome::Refused => self.counts.refused += 1,
            Outcome::Invalid => self.counts.invalid += 1,
            Outcome::ReDrivable => {}
        }
    }

    /// An attempt failed through no fault of the request: back it goes, to be sent from `not_before` on.
    pub(crate) fn failed(&mut self, no: RequestNo, org: OrgId, trouble: Trouble, error: ApiError, not_before: Mono) {
        if !self.is_in_flight(no) {
            return;
        }
        // Gate, window and pace answer for what a 429 sends back; the rest is on a budget.
        let paid = !matches!(trouble, Trouble::RateLimited(_));
        self.put_back(no, paid, not_before);
        self.remember(no, org, trouble, error);
    }

    /// As [`Queue::failed`], but the request waits for the operator or another session instead of another attempt, and the
    /// caller journals it.
    pub(crate) fn set_aside(&mut self, no: RequestNo, org: OrgId, trouble: Trouble, error: ApiError) {
        if self.is_in_flight(no) {
            self.flying.remove(&no.0);
            self.places[no.ix()] = Place::Aside;
            self.remember(no, org, trouble, error);
            self.redrives.journaled(no);
        }
    }

    /// A request that was set aside waits for another attempt after all.
    pub(crate) fn take_back(&mut self, no: RequestNo, now: Mono) {
        if self.place(no) == Some(Place::Aside) {
            self.put_back(no, false, now);
        }
    }

    fn remember(&mut self, no: RequestNo, org: OrgId, trouble: Trouble, error: ApiError) {
        if self.redrives.failed(no, org, trouble, error) {
            self.counts.unsent -= 1;
            self.counts.re_drivable += 1;
        }
    }

    /// An attempt was not made after all: back it goes as it was.
    pub(crate) fn give_back(&mut self, no: RequestNo, now: Mono) {
        if self.is_in_flight(no) {
            self.put_back(no, false, now);
        }
    }

    fn put_back(&mut self, no: RequestNo, paid: bool, not_before: Mono) {
        self.flying.remove(&no.0);
        self.places[no.ix()] = Place::Again;
        self.lines[self.family(no).ix()].push(no.0, paid, not_before);
    }

    /// Requests answered by the number of attempts that it took: 1, 2, 3, 4, 5 or more.
    pub(crate) fn attempts(&self) -> [u64; 5] {
        self.attempts
    }

    /// The failed attempts of the requests that have no terminal outcome.
    pub(crate) fn redrives(&self) -> &Redrives {
        &self.redrives
    }

    /// Requests that are being answered.
    pub(crate) fn in_flight(&self) -> u32 {
        self.flying.len() as u32
    }

    /// What is being answered, and by which org.
    pub(crate) fn flying(&self) -> Vec<(RequestNo, Flying)> {
        self.flying.iter().map(|(no, flying)| (RequestNo(*no), *flying)).collect()
    }

    /// One that is being answered.
    pub(crate) fn flight(&self, no: RequestNo) -> Option<Flying> {
        self.flying.get(&no.0).copied()
    }

    /// Where each request is; for the tests of conservation.
    #[cfg(test)]
    pub(crate) fn places(&self) -> &[Place] {
        &self.places
    }
}

/// A request that was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Taken {
    pub(crate) no: RequestNo,
    /// From 1.
    pub(crate) attempt: u16,
    /// The org's retry budget pays for it.
    pub(crate) paid: bool,
}

#[cfg(test)]
mod tests;
