//! What of one family waits for an org, and what of it goes next: re-drives that are due, then what was never tried.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::model::Mono;

/// What could be sent now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Work {
    /// A first attempt, or a re-drive that no budget has to pay for.
    Free,
    /// Nothing but re-drives that a retry budget has to pay for.
    Paid,
}

/// Requests that wait for another attempt, by when they are due.
type Due = BinaryHeap<Reverse<(Mono, u32)>>;

/// The requests of one family that wait.
#[derive(Debug, Default)]
pub(super) struct Line {
    /// Those never tried to the end: how many they are. Where they are, the queue's places know.
    pub(super) waiting: u32,
    /// None of them stands before this one.
    cursor: u32,
    again: Due,
    /// As `again`, of requests whose next attempt the retry budget pays for.
    paid: Due,
}

impl Line {
    /// Whether anything could be sent now, and who pays.
    pub(super) fn work(&self, now: Mono) -> Option<Work> {
        if self.waiting > 0 || first_due(&self.again, now).is_some() {
            Some(Work::Free)
        } else {
            self.paid_is_due(now).then_some(Work::Paid)
        }
    }

    /// Whether re-drives that a budget has to pay for are due.
    pub(super) fn paid_is_due(&self, now: Mono) -> bool {
        first_due(&self.paid, now).is_some()
    }

    /// Whether nothing waits, now or later.
    pub(super) fn is_empty(&self) -> bool {
        self.waiting == 0 && self.again.is_empty() && self.paid.is_empty()
    }

    /// How many wait, now or later.
    pub(super) fn len(&self) -> u64 {
        u64::from(self.waiting) + (self.again.len() + self.paid.len()) as u64
    }

    /// When the next re-drive is due.
    pub(super) fn next_due(&self) -> Option<Mono> {
        [&self.again, &self.paid].into_iter().filter_map(|heap| heap.peek().map(|Reverse((at, _))| *at)).min()
    }

    /// The re-drive that goes next, if one is due.
    pub(super) fn peek_due(&self, pays: bool, now: Mono) -> Option<u32> {
        let paid = if pays { first_due(&self.paid, now) } else { None };
        paid.or_else(|| first_due(&self.again, now))
    }

    /// Takes that re-drive; whether a budget pays for it.
    pub(super) fn take_due(&mut self, pays: bool, now: Mono) -> Option<(u32, bool)> {
        let paid = pays && self.paid_is_due(now);
        let heap = if paid { &mut self.paid } else { &mut self.again };
        let no = first_due(heap, now)?;
        heap.pop();
        Some((no, paid))
    }

    /// Lets a request wait for another attempt, from `not_before` on.
    pub(super) fn push(&mut self, no: u32, paid: bool, not_before: Mono) {
        let heap = if paid { &mut self.paid } else { &mut self.again };
        heap.push(Reverse((not_before, no)));
    }

    /// Takes out the re-drives that wait no longer.
    pub(super) fn retain(&mut self, waits: impl Fn(u32) -> bool) {
        for heap in [&mut self.again, &mut self.paid] {
            heap.retain(|Reverse((_, no))| waits(*no));
        }
    }

    /// The first request that was never tried, out of `n` of the run; `is_it` tells whether one waits and is of this family.
    /// What was passed over is not looked at again: over a run, every request is looked at once.
    pub(super) fn first_waiting(&mut self, n: usize, is_it: impl Fn(usize) -> bool) -> Option<u32> {
        if self.waiting == 0 {
            return None;
        }
        let found = (self.cursor as usize..n).find(|at| is_it(*at));
        self.cursor = found.unwrap_or(n) as u32;
        found.map(|at| at as u32)
    }

    /// Takes the request that [`Line::first_waiting`] gave.
    pub(super) fn pass(&mut self, no: u32) {
        self.cursor = no + 1;
        self.waiting -= 1;
    }
}

/// The request that is due first, if one is.
fn first_due(heap: &Due, now: Mono) -> Option<u32> {
    heap.peek().filter(|Reverse((at, _))| *at <= now).map(|Reverse((_, no))| *no)
}
