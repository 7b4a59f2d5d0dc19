//! Requests that are sent more than once, by the same notion of "same" that the cache of answers has.
//!
//! Hashes are kept, not texts, and not more than a fixed number: when there are too many, those with a certain last bit
//! go, all of a kind at once, and the rest stands for all. So the count is exact for files of up to 900,000 different
//! requests, and an estimate from a fair sample beyond.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hasher};

use super::super::canonical::Canonicaliser;
use super::row::Row;
use super::tally::Tally;
use super::tokens;
use crate::model::format::count;
use crate::model::{Figure, Finding, Severity};

/// Most hashes that are kept: seven eighths of 2^20. About 18 MB.
const MAX_KEPT: usize = 7 << 17;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Duplicates {
    canonicaliser: Canonicaliser,
    /// How often each was met.
    met: HashMap<u64, u32>,
    /// Only hashes with no bit of these are kept.
    mask: u64,
    repeats: Tally,
    repeated_bytes: u64,
}

impl Duplicates {
    /// Takes a request in.
    pub(super) fn take(&mut self, row: &Row<'_>) {
        let mut hasher = DefaultHasher::new();
        hasher.write(self.canonicaliser.canonical(row.params));
        let hash = hasher.finish();
        if hash & self.mask != 0 {
            return;
        }
        let met = self.met.entry(hash).or_default();
        *met = met.saturating_add(1);
        if *met > 1 {
            self.repeats.add(row.line);
            self.repeated_bytes += row.params.len() as u64;
        }
        if self.met.len() >= MAX_KEPT {
            self.mask = self.mask << 1 | 1;
            let mask = self.mask;
            self.met.retain(|hash, _| hash & mask == 0);
        }
    }

    /// What there is to say.
    pub(super) fn finding(&self) -> Option<Finding> {
        let in_sample: u64 = self.met.values().map(|met| u64::from(met.saturating_sub(1))).sum();
        let n = in_sample.saturating_mul(self.mask + 1);
        let mut lines = self.repeats.clone();
        lines.n = n;
        let mean = self.repeated_bytes / self.repeats.n.max(1);
        let figure = Figure::Tokens(tokens(mean.saturating_mul(n)));
        lines.finding(Severity::Note, "duplicate-requests", figure, |n| {
            (
                format!(
                    "{}{} requests are the same as an earlier one; each is a draw of its own, sent and billed",
                    if self.mask == 0 { "" } else { "about " },
                    count(n)
                ),
                "drop them unless several draws are meant; a second run of the file takes all of them from the cache"
                    .to_owned(),
            )
        })
    }
}
