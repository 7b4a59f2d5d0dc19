//! Prefixes that requests share, counted in a table of a fixed size.
//!
//! When the table is full, prefixes that have not been met for the longest time leave it, those met once for good: their
//! next request, if there is any, would come after their entry in the cache is gone. What a prefix came to is summed up by
//! model and level when it leaves, so that the end of the file is only the last such leaving.

use std::collections::{BTreeMap, HashMap};

use super::blocks::{Boundary, Level};
use super::facts::{Model, Models};
use super::reads::{Plan, Reads};
use super::tally::Tally;
use super::tokens;

/// Most prefixes in the table: seven eighths of 2^20, at which a table of that many slots is full. About 45 MB.
const MAX_ENTRIES: usize = 7 << 17;

/// Most new prefixes that one request may bring. The rest of a long conversation follows with the next requests that
/// share it, so that conversations of a hundred turns do not flood the table.
const NEW_PER_REQUEST: usize = 8;

/// A prefix. Lines are counted to 4 billion.
#[derive(Debug, Clone, Copy)]
struct Entry {
    first: u32,
    last: u32,
    n: u32,
    bytes: u32,
    n_marked: u32,
    level: Level,
    model: u8,
}

/// What the prefixes of a model came to that end at the same place.
#[derive(Debug, Clone, Default)]
pub(super) struct Sums {
    /// Prefixes met at least twice that can be cached, and their requests.
    pub(super) n_shared: u64,
    pub(super) shared: Tally,
    /// Tokens of these prefixes, summed over their requests.
    pub(super) tokens: f64,
    /// Lines between two uses, summed over the uses.
    pub(super) gaps: f64,
    /// In the order of [`Plan::ALL`].
    pub(super) reads: [Reads; Plan::ALL.len()],
    /// Requests of shared prefixes that are too short to be cached, and the tokens of the longest.
    pub(super) too_short: Tally,
    pub(super) too_short_tokens: u64,
    /// Requests with a breakpoint here: all; those whose prefix is too short; those whose prefix is met no second time,
    /// and the tokens that are written for nothing.
    pub(super) marked: u64,
    pub(super) marked_too_short: Tally,
    pub(super) marked_once: Tally,
    pub(super) marked_once_tokens: f64,
}

impl Sums {
    /// Tokens of a prefix, in the mean over its requests.
    pub(super) fn mean_tokens(&self) -> f64 {
        if self.shared.n == 0 { 0.0 } else { self.tokens / self.shared.n as f64 }
    }

    /// Lines from one use of a prefix to the next, in the mean.
    pub(super) fn mean_gap(&self) -> f64 {
        let again = self.shared.n.saturating_sub(self.n_shared);
        if again == 0 { 0.0 } else { self.gaps / again as f64 }
    }

    pub(super) fn reads(&self, plan: Plan) -> &Reads {
        let at = Plan::ALL.iter().position(|known| *known == plan).unwrap_or(0);
        &self.reads[at]
    }
}

/// The sums by model and level.
pub(super) type SumsByLevel = BTreeMap<(u8, Level), Sums>;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Prefixes {
    entries: HashMap<u64, Entry>,
    sums: SumsByLevel,
}

impl Prefixes {
    /// Takes the prefixes of a request in.
    pub(super) fn take(&mut self, line: u64, model: u8, ends: &[Boundary], models: &Models<'_>) {
        let line = u32::try_from(line).unwrap_or(u32::MAX);
        let mut new = 0;
        for end in ends {
            match self.entries.get_mut(&end.hash) {
                Some(entry) => {
                    entry.n = entry.n.saturating_add(1);
                    entry.last = line;
                    entry.n_marked = entry.n_marked.saturating_add(u32::from(end.marked));
                }
                None if new < NEW_PER_REQUEST || end.marked => {
                    new += 1;
                    let bytes = u32::try_from(end.bytes).unwrap_or(u32::MAX);
                    let n_marked = u32::from(end.marked);
                    let entry = Entry { first: line, last: line, n: 1, bytes, n_marked, level: end.level, model };
                    self.entries.insert(end.hash, entry);
                }
                None => {}
            }
        }
        if self.entries.len() > MAX_ENTRIES - super::blocks::MAX_BOUNDARIES {
            self.shrink(line, models);
        }
    }

    /// Lets the older half go.
    fn shrink(&mut self, now: u32, models: &Models<'_>) {
        let mut lasts: Vec<u32> = self.entries.values().map(|entry| entry.last).collect();
        let middle = lasts.len() / 2;
        let (_, oldest_kept, _) = lasts.select_nth_unstable(middle);
        // A request's own prefixes stay, also when the whole table is of one line.
        let until = (*oldest_kept).min(now.saturating_sub(1));
        let sums = &mut self.sums;
        self.entries.retain(|_, entry| {
            let stays = entry.last > until;
            if !stays {
                sum_up(entry, sums, models);
            }
            stays
        });
    }

    /// Sums up what is left, and gives all sums.
    pub(super) fn finish(&mut self, models: &Models<'_>) -> SumsByLevel {
        for (_, entry) in self.entries.drain() {
            sum_up(&entry, &mut self.sums, models);
        }
        std::mem::take(&mut self.sums)
    }
}

fn sum_up(entry: &Entry, sums: &mut SumsByLevel, models: &Models<'_>) {
    let Some(model) = models.get(entry.model) else { return };
    let sums = sums.entry((entry.model, entry.level)).or_default();
    let tokens = tokens(u64::from(entry.bytes));
    let (line, n, n_marked) = (u64::from(entry.first), u64::from(entry.n), u64::from(entry.n_marked));
    sums.marked += n_marked;
    let too_short = tokens < min_tokens(model);
    if too_short && n_marked > 0 {
        sums.marked_too_short.add_many(line, n_marked);
    } else if n == 1 && n_marked > 0 {
        sums.marked_once.add_many(line, n_marked);
        sums.marked_once_tokens += tokens as f64;
    }
    if n < 2 {
        return;
    }
    if too_short {
        sums.too_short.add_many(line, n);
        sums.too_short_tokens = sums.too_short_tokens.max(tokens);
        return;
    }
    let span = f64::from(entry.last - entry.first);
    let gap = span / (n - 1) as f64;
    sums.n_shared += 1;
    sums.shared.add_many(line, n);
    sums.tokens += n as f64 * tokens as f64;
    sums.gaps += span;
    for (plan, reads) in Plan::ALL.into_iter().zip(&mut sums.reads) {
        reads.add(plan, n as f64, gap, tokens as f64, model);
    }
}

/// The shortest prefix that this model caches; the shortest of any model when that is not known.
pub(super) fn min_tokens(model: &Model<'_>) -> u64 {
    const SMALLEST: u32 = 512;
    u64::from(model.info.and_then(|info| info.min_cacheable_tokens).unwrap_or(SMALLEST))
}
