//! What became of each row of a batch, as a function of the row.

use std::sync::Arc;

use super::Counts;
use super::course::Tail;
use super::fault::{BatchStrike, RowError};
use super::rows::{Rows, Valid, What};
use crate::sim::ids;

/// A name of generators, apart from those of other things.
const ROW_DRAWS: u64 = 4;

/// How often a row finds a prefix in the cache that another row of its batch has written.
const CACHE_HITS: f64 = 0.8;

/// A batch at its end, or as far as it has come.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) rows: Arc<Rows>,
    pub(super) strikes: Arc<[BatchStrike]>,
    pub(super) seed: u64,
    /// Tells it from the other batches of the simulation.
    pub(super) batch: u64,
    /// How many rows were processed.
    pub(super) done: usize,
    pub(super) tail: Tail,
}

/// What became of a row.
pub(super) enum Outcome<'r> {
    Succeeded { valid: &'r Valid, hit: bool },
    Errored { kind: &'r str, message: &'r str },
    Canceled,
    Expired,
}

/// A row and what became of it.
pub(super) struct Fate<'r> {
    pub(super) custom_id: &'r str,
    pub(super) outcome: Outcome<'r>,
    /// For what else is drawn about this row.
    pub(super) rng: fastrand::Rng,
}

impl Ended {
    /// The row that was processed as the `rank`-th, from 0; `None` after the last one. Rows are processed, and results come, in no order of theirs.
    pub(super) fn at(&self, rank: usize) -> Option<Fate<'_>> {
        if rank >= self.rows.len() {
            return None;
        }
        let at = shuffled(rank, self.rows.len(), self.batch);
        let (custom_id, what) = self.rows.get(at)?;
        let mut rng = ids::rng(self.seed, self.batch ^ ROW_DRAWS, at as u64);
        let hit = rng.f64() < CACHE_HITS;
        let outcome = if rank < self.done {
            self.processed(what, hit, &mut rng)
        } else {
            match self.tail {
                Tail::Canceled => Outcome::Canceled,
                Tail::Expired => Outcome::Expired,
            }
        };
        Some(Fate { custom_id, outcome, rng })
    }

    fn processed<'r>(&self, what: &'r What, hit: bool, rng: &mut fastrand::Rng) -> Outcome<'r> {
        for strike in self.strikes.iter() {
            match strike {
                BatchStrike::RowErrored { share, error } if rng.f64() < *share => return errored(*error),
                BatchStrike::RowExpired { share } if rng.f64() < *share => return Outcome::Expired,
                _ => {}
            }
        }
        match what {
            What::Valid(valid) => Outcome::Succeeded { valid, hit },
            What::Invalid(refusal) => Outcome::Errored { kind: refusal.kind, message: &refusal.message },
        }
    }

    /// Counts the first so many rows that were processed, and those that were left if it has ended.
    pub(super) fn counts(&self, ranks: std::ops::Range<usize>) -> Counts {
        let mut counts = Counts::default();
        for fate in ranks.filter_map(|rank| self.at(rank)) {
            match fate.outcome {
                Outcome::Succeeded { .. } => counts.succeeded += 1,
                Outcome::Errored { .. } => counts.errored += 1,
                Outcome::Canceled => counts.canceled += 1,
                Outcome::Expired => counts.expired += 1,
            }
        }
        counts
    }
}

fn errored(error: RowError) -> Outcome<'static> {
    let (kind, message) = error.words();
    Outcome::Errored { kind, message }
}

/// A permutation of `0..n` that needs no memory: steps of a size that has no divisor in common with `n`.
fn shuffled(rank: usize, n: usize, name: u64) -> usize {
    let (n, rank) = (n as u64, rank as u64);
    if n == 0 {
        return 0;
    }
    // About the golden section, so that neighbours end up far apart.
    let mut step = (n as f64 * 0.618_034) as u64 | 1;
    while gcd(step, n) != 1 {
        step += 2;
    }
    usize::try_from((rank * (step % n) + name % n) % n).unwrap_or(0)
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_has_one_rank() {
        for n in [1, 2, 3, 7, 10, 100, 101, 4_096] {
            let mut seen: Vec<usize> = (0..n).map(|rank| shuffled(rank, n, 12_345)).collect();
            assert!(n < 7 || !seen.is_sorted(), "{n}");
            seen.sort_unstable();
            assert_eq!(seen, (0..n).collect::<Vec<_>>());
        }
    }
}
