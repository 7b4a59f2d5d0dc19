//! The requests of a run that wait for an org: those never sent, in input order, and those to be sent again.
//!
//! Memory is flat: one byte a request says where it is, and one cursor a family walks the input. Only requests that
//! failed and wait for another attempt have an entry of their own.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use crate::model::{ApiError, Counts, Family, Money, Mono, OrgId, Outcome, RequestNo, Trouble};

use super::load::Load;
use super::worker::BROKE_OFF;

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

/// The failed attempts of a request that has no terminal outcome yet.
#[derive(Debug, Clone)]
pub(crate) struct Redrive {
    pub(crate) attempts: u16,
    pub(crate) org: OrgId,
    pub(crate) trouble: Trouble,
    pub(crate) error: ApiError,
    /// Answers of a success status that were no answers, one after the other: each was probably paid for.
    pub(crate) n_broken: u8,
    /// The journal has it: no attempt was made since.
    pub(crate) journaled: bool,
}

/// Whether an answer came with a success status, and was none; or could not be dealt with. It is likely to be so each time.
pub(crate) fn is_broken_answer(trouble: Trouble, error: &ApiError) -> bool {
    let success = error.status.is_some_and(|status| (200..300).contains(&status));
    trouble == Trouble::Broken && (success || error.kind == BROKE_OFF)
}

impl Redrive {
    /// As an earlier session left it; the journal knows the rest.
    fn of_earlier_session() -> Redrive {
        Redrive {
            attempts: 0,
            org: OrgId(0),
            trouble: Trouble::EarlierSession,
            error: ApiError::default(),
            n_broken: 0,
            journaled: true,
        }
    }
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

/// Requests that wait for another attempt, by when they are due.
type Due = BinaryHeap<Reverse<(Mono, u32)>>;

/// The queue of one run.
#[derive(Debug)]
pub(crate) struct Queue {
    places: Vec<Place>,
    /// Family of each request; empty when all are of `only`.
    families: Vec<Family>,
    only: Family,
    cursors: [u32; Family::COUNT],
    again: [Due; Family::COUNT],
    /// As `again`, of requests whose next attempt the retry budget pays for.
    paid: [Due; Family::COUNT],
    redrives: HashMap<u32, Redrive>,
    waiting: [u32; Family::COUNT],
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
        let mut waiting = [0; Family::COUNT];
        let mut again: [Due; Family::COUNT] = Default::default();
        let mut redrives = HashMap::new();
        for (no, (place, family)) in places.iter().zip(&families).enumerate() {
            match place {
                Place::Done(Outcome::Succeeded) => counts.succeeded += 1,
                Place::Done(Outcome::Refused) => counts.refused += 1,
                Place::Done(Outcome::Invalid) => counts.invalid += 1,
                Place::Cached => counts.cached += 1,
                Place::Again => {
                    counts.re_drivable += 1;
                    again[family.ix()].push(Reverse((Mono::ZERO, no as u32)));
                    redrives.insert(no as u32, Redrive::of_earlier_session());
                }
                Place::Aside => counts.unsent += 1,
                _ => {
                    counts.unsent += 1;
                    waiting[family.ix()] += 1;
                }
            }
        }
        let mixed = families.iter().any(|family| *family != only);
        Queue {
            places,
            families: if mixed { families } else { Vec::new() },
            only,
            cursors: [0; Family::COUNT],
            again,
            paid: Default::default(),
            redrives,
            waiting,
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
        if self.waiting[family.ix()] > 0 || is_due(&self.again[family.ix()], now) {
            Some(Work::Free)
        } else {
            is_due(&self.paid[family.ix()], now).then_some(Work::Paid)
        }
    }

    /// Whether re-drives that a budget has to pay for are due.
    pub(crate) fn paid_is_due(&self, family: Family, now: Mono) -> bool {
        is_due(&self.paid[family.ix()], now)
    }

    /// Whether anything waits, now or later.
    pub(crate) fn is_empty(&self) -> bool {
        Family::ALL.iter().all(|family| !self.waits(*family))
    }

    /// Whether anything of a family waits, now or later.
    pub(crate) fn waits(&self, family: Family) -> bool {
        let ix = family.ix();
        self.waiting[ix] > 0 || !self.again[ix].is_empty() || !self.paid[ix].is_empty()
    }

    /// Requests that wait on the sync path, now or later.
    pub(crate) fn n_waiting(&self) -> u64 {
        let again = self.again.iter().chain(&self.paid).map(|heap| heap.len() as u64);
        self.waiting.iter().map(|n| u64::from(*n)).chain(again).sum()
    }

    /// When the next request that waits for another attempt is due.
    pub(crate) fn next_due(&self) -> Option<Mono> {
        let heaps = self.again.iter().chain(&self.paid);
        heaps.filter_map(|heap| heap.peek().map(|Reverse((at, _))| *at)).min()
    }

    /// Takes the next request of a family for an org: those to be sent again first, then in input order. `pays` says
    /// whether the org's retry budget does.
    pub(crate) fn take(&mut self, family: Family, org: OrgId, pays: bool, now: Mono) -> Option<Taken> {
        let (no, paid) = if pays && is_due(&self.paid[family.ix()], now) {
            (self.paid[family.ix()].pop()?.0.1, true)
        } else if is_due(&self.again[family.ix()], now) {
            (self.again[family.ix()].pop()?.0.1, false)
        } else {
            (self.next_waiting(family)?, false)
        };
        self.places[no as usize] = Place::InFlight;
        self.flying.insert(no, Flying { org, started: now, load: Load::default(), at_most: Money::ZERO });
        let attempt = self.redrives.get(&no).map_or(1, |redrive| redrive.attempts.saturating_add(1));
        Some(Taken { no: RequestNo(no), attempt, paid })
    }

    /// Notes what a request that was just taken is likely to take from the limits, and what it costs at the most.
    pub(crate) fn weigh(&mut self, no: RequestNo, load: Load, at_most: Money) {
        if let Some(flying) = self.flying.get_mut(&no.0) {
            (flying.load, flying.at_most) = (load, at_most);
        }
    }

    /// The request that [`Queue::take`] would give.
    pub(crate) fn peek(&mut self, family: Family, pays: bool, now: Mono) -> Option<RequestNo> {
        let due = |heap: &Due| heap.peek().filter(|Reverse((at, _))| *at <= now).map(|Reverse((_, no))| *no);
        let paid = if pays { due(&self.paid[family.ix()]) } else { None };
        let no = paid.or_else(|| due(&self.again[family.ix()])).or_else(|| self.first_waiting(family))?;
        Some(RequestNo(no))
    }

    fn next_waiting(&mut self, family: Family) -> Option<u32> {
        let no = self.first_waiting(family)?;
        self.cursors[family.ix()] = no + 1;
        self.waiting[family.ix()] -= 1;
        Some(no)
    }

    /// Moves the cursor of a family to the first request of it that waits.
    fn first_waiting(&mut self, family: Family) -> Option<u32> {
        if self.waiting[family.ix()] == 0 {
            return None;
        }
        let mut at = self.cursors[family.ix()];
        while (at as usize) < self.places.len() {
            if self.places[at as usize] == Place::Waiting && self.family(RequestNo(at)) == family {
                self.cursors[family.ix()] = at;
                return Some(at);
            }
            at += 1;
        }
        self.cursors[family.ix()] = at;
        None
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
                Some(Place::Waiting) => self.waiting[self.family(no).ix()] -= 1,
                Some(Place::Again) => {}
                _ => continue,
            }
            self.places[no.ix()] = Place::Batched;
        }
        let Queue { again, paid, places, .. } = self;
        for heap in again.iter_mut().chain(paid) {
            heap.retain(|Reverse((_, no))| places[*no as usize] == Place::Again);
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
            self.places[no.ix()] = Place::Unsynced;
            self.counts.unsynced += 1;
            let failed = usize::from(self.failed_attempts(no));
            self.attempts[failed.min(self.attempts.len() - 1)] += 1;
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
            self.places[no.ix()] = Place::Unsynced;
            self.flying.remove(&no.0);
            self.counts.unsynced += 1;
            let failed = usize::from(self.failed_attempts(no));
            self.attempts[failed.min(self.attempts.len() - 1)] += 1;
        }
    }

    /// An outcome is durable.
    pub(crate) fn synced(&mut self, no: RequestNo, outcome: Outcome) {
        if self.places.get(no.ix()) != Some(&Place::Unsynced) || !outcome.is_terminal() {
            return;
        }
        self.places[no.ix()] = Place::Done(outcome);
        self.counts.unsynced -= 1;
        if self.redrives.remove(&no.0).is_some() {
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
            if let Some(redrive) = self.redrives.get_mut(&no.0) {
                redrive.journaled = true;
            }
        }
    }

    /// A request that was set aside waits for another attempt after all.
    pub(crate) fn take_back(&mut self, no: RequestNo, now: Mono) {
        if self.place(no) == Some(Place::Aside) {
            self.put_back(no, false, now);
        }
    }

    /// Whether the last attempt of a request failed for trouble of the org's account.
    pub(crate) fn failed_by_account(&self, no: RequestNo) -> bool {
        self.redrives.get(&no.0).is_some_and(|redrive| matches!(redrive.trouble, Trouble::Account(_)))
    }

    /// How many broken answers in a row a request has had.
    pub(crate) fn n_broken(&self, no: RequestNo) -> u8 {
        self.redrives.get(&no.0).map_or(0, |redrive| redrive.n_broken)
    }

    /// Why the last attempt of a request failed in this session.
    pub(crate) fn last_trouble(&self, no: RequestNo) -> Option<Trouble> {
        self.redrives.get(&no.0).filter(|redrive| redrive.attempts > 0).map(|redrive| redrive.trouble)
    }

    fn remember(&mut self, no: RequestNo, org: OrgId, trouble: Trouble, error: ApiError) {
        let attempts = match self.redrives.get(&no.0) {
            Some(redrive) => redrive.attempts.saturating_add(1),
            None => {
                self.counts.unsent -= 1;
                self.counts.re_drivable += 1;
                1
            }
        };
        let n_broken = match is_broken_answer(trouble, &error) {
            true => self.n_broken(no).saturating_add(1),
            false => 0,
        };
        self.redrives.insert(no.0, Redrive { attempts, org, trouble, error, n_broken, journaled: false });
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
        let family = self.family(no).ix();
        let heap = if paid { &mut self.paid[family] } else { &mut self.again[family] };
        heap.push(Reverse((not_before, no.0)));
    }

    /// Requests answered by the number of attempts that it took: 1, 2, 3, 4, 5 or more.
    pub(crate) fn attempts(&self) -> [u64; 5] {
        self.attempts
    }

    /// Attempts of a request that failed so far.
    pub(crate) fn failed_attempts(&self, no: RequestNo) -> u16 {
        self.redrives.get(&no.0).map_or(0, |redrive| redrive.attempts)
    }

    /// Requests that failed and have no terminal outcome.
    pub(crate) fn redrives(&self) -> impl Iterator<Item = (RequestNo, &Redrive)> {
        self.redrives.iter().map(|(no, redrive)| (RequestNo(*no), redrive))
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

/// What could be sent now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Work {
    /// A first attempt, or a re-drive that no budget has to pay for.
    Free,
    /// Nothing but re-drives that a retry budget has to pay for.
    Paid,
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

fn is_due(heap: &Due, now: Mono) -> bool {
    heap.peek().is_some_and(|Reverse((at, _))| *at <= now)
}

#[cfg(test)]
#[path = "queue_tests.rs"]
mod tests;
