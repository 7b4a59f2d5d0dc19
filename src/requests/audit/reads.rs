//! How many requests of a shared prefix find it in the cache.
//!
//! An entry can be read once the first answer has begun, and for as long after its last use as its lifetime lasts. So of
//! `n` requests that are `gap` lines apart, those that are in flight together at the start all miss; and all miss when the
//! next one comes after the lifetime is over. Every org has a cache of its own: at least one request on each misses.

use super::facts::Model;

/// A way to send the requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Plan {
    /// In the order of the file, over all orgs, entries that live five minutes.
    FiveMinutes,
    /// The same with entries that live an hour.
    Hour,
    /// In the order of the file over one org, entries that live five minutes.
    OneOrg,
    /// Over all orgs, in an order in which no request misses that need not.
    BestOrder,
}

impl Plan {
    pub(super) const ALL: [Plan; 4] = [Plan::FiveMinutes, Plan::Hour, Plan::OneOrg, Plan::BestOrder];
}

/// Hits and misses, and the tokens of each.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Reads {
    pub(super) hits: f64,
    pub(super) misses: f64,
    pub(super) hit_tokens: f64,
    pub(super) miss_tokens: f64,
}

impl Reads {
    /// Adds `n` requests of one prefix of so many tokens, `gap` lines apart.
    pub(super) fn add(&mut self, plan: Plan, n: f64, gap: f64, tokens: f64, model: &Model<'_>) {
        let misses = misses(plan, n, gap, model);
        self.misses += misses;
        self.hits += n - misses;
        self.miss_tokens += misses * tokens;
        self.hit_tokens += (n - misses) * tokens;
    }

    /// What caching these tokens saves at prices per token of input, write and read, beyond a prefix of `base` tokens
    /// that is cached already. Below zero when it costs more than it saves.
    pub(super) fn saving(&self, price: Prices, base: f64) -> f64 {
        let hit_tokens = (self.hit_tokens - self.hits * base).max(0.0);
        let miss_tokens = (self.miss_tokens - self.misses * base).max(0.0);
        hit_tokens * (price.input - price.read) - miss_tokens * (price.write - price.input)
    }

    /// What these tokens cost without a cache.
    pub(super) fn cost(&self, price: Prices) -> f64 {
        (self.hit_tokens + self.miss_tokens) * price.input
    }
}

/// USD a token.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Prices {
    pub(super) input: f64,
    pub(super) write: f64,
    pub(super) read: f64,
}

impl Prices {
    /// From which use on a cached prefix is cheaper than sending it each time: 2 when the first read pays for the write.
    pub(super) fn pays_from_use(&self) -> u64 {
        let per_read = self.input - self.read;
        if per_read <= 0.0 {
            return u64::MAX;
        }
        ((self.write - self.input) / per_read).floor() as u64 + 2
    }
}

/// Minutes between two uses of a prefix on the same org: on each of several orgs a prefix comes more rarely, and the
/// orgs together are faster by as much.
pub(super) fn minutes_apart(gap: f64, model: &Model<'_>) -> f64 {
    gap / model.per_minute
}

fn misses(plan: Plan, n: f64, gap: f64, model: &Model<'_>) -> f64 {
    let orgs = if plan == Plan::OneOrg { 1.0 } else { model.orgs };
    let at_least = orgs.min(n);
    if plan == Plan::BestOrder {
        return at_least;
    }
    let lifetime = if plan == Plan::Hour { 60.0 } else { 5.0 };
    if minutes_apart(gap, model) > lifetime {
        return n;
    }
    let together = (orgs * model.in_flight / gap.max(1.0)).ceil();
    together.clamp(at_least, n)
}
