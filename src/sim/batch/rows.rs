//! The rows of a batch, kept as what their answers depend on: some 100 bytes a row, whatever the length of its prompt.

use super::super::answer::{Answer, BilledUsage, Essence, Tier};
use super::super::failure::Failure;
use crate::model::Usage;

/// The rows of a batch, in the order in which they were submitted.
#[derive(Debug, Default)]
pub(in crate::sim) struct Rows {
    /// All custom ids, one after the other.
    ids: String,
    rows: Vec<Row>,
}

#[derive(Debug)]
struct Row {
    id_ends: u32,
    what: What,
}

/// What a row is.
#[derive(Debug)]
pub(super) enum What {
    Valid(Valid),
    /// Its params are wrong, which comes out at the end.
    Invalid(Box<Refusal>),
}

/// A row that can be answered.
#[derive(Debug)]
pub(super) struct Valid {
    pub(super) essence: Essence,
    /// Output tokens of its answer.
    pub(super) output_tokens: u32,
    pub(super) cached: Option<Cached>,
}

/// The prefix of a row that is marked for the prompt cache.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cached {
    pub(super) tokens: u32,
    pub(super) hour: bool,
    /// Whether it is the first row of its batch with this prefix.
    pub(super) first: bool,
}

/// The error of a row.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) kind: &'static str,
    pub(super) message: String,
}

impl Rows {
    pub(super) fn with_capacity(n: usize) -> Rows {
        Rows { ids: String::with_capacity(n * 16), rows: Vec::with_capacity(n) }
    }

    pub(super) fn push(&mut self, custom_id: &str, what: What) {
        self.ids.push_str(custom_id);
        // 100,000 ids of 64 bytes are far below 4 GB.
        let id_ends = u32::try_from(self.ids.len()).unwrap_or(u32::MAX);
        self.rows.push(Row { id_ends, what });
    }

    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// The custom id and the content of a row.
    pub(super) fn get(&self, at: usize) -> Option<(&str, &What)> {
        let row = self.rows.get(at)?;
        let start = at.checked_sub(1).and_then(|before| self.rows.get(before)).map_or(0, |before| before.id_ends);
        Some((self.ids.get(start as usize..row.id_ends as usize)?, &row.what))
    }

    /// The digests of the rows that can be answered.
    pub(super) fn digests(&self) -> impl Iterator<Item = &[u8; 16]> {
        self.rows.iter().filter_map(|row| match &row.what {
            What::Valid(valid) => Some(&valid.essence.digest),
            What::Invalid(_) => None,
        })
    }
}

impl Refusal {
    pub(super) fn of(failure: Failure) -> Refusal {
        Refusal { kind: failure.kind, message: failure.message }
    }
}

impl Valid {
    /// What its answer is billed as. Whether a prefix that another row wrote is found is a matter of luck: `hit`.
    pub(super) fn usage(&self, hit: bool) -> BilledUsage {
        let prompt = u64::from(self.essence.prompt_tokens);
        let mut usage = Usage {
            output_tokens: u64::from(self.output_tokens),
            web_searches: u64::from(self.essence.searches),
            terms: self.essence.terms,
            ..Usage::default()
        };
        let held = self.cached.map_or(0, |cached| u64::from(cached.tokens));
        if let Some(cached) = self.cached {
            let into = match (hit && !cached.first, cached.hour) {
                (true, _) => &mut usage.cache_read,
                (false, true) => &mut usage.cache_write_1h,
                (false, false) => &mut usage.cache_write_5m,
            };
            *into = held;
        }
        usage.input_tokens = prompt.saturating_sub(held);
        BilledUsage { tokens: usage, tier: Tier::Batch }
    }

    pub(super) fn answer(&self) -> Answer {
        super::super::answer::compose(&self.essence)
    }
}
