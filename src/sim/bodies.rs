//! Which bodies were seen, and which were accepted: how a result that was paid twice is found out.

use std::collections::HashMap;

/// What is known about a body.
#[derive(Debug, Clone, Copy, Default)]
struct Record {
    seen: u32,
    accepted: u32,
}

/// The bodies so far. 64 bits of the digest identify one: among a million bodies, two alike are one chance in 10⁷.
#[derive(Debug, Default)]
pub(super) struct Bodies {
    records: HashMap<u64, Record>,
    pub(super) seen_twice: u64,
    pub(super) accepted: u64,
    pub(super) accepted_twice: u64,
}

/// The identity of a body among the others.
pub(super) fn identity(digest: &[u8; 16]) -> u64 {
    let [a, b, c, d, e, f, g, h, ..] = *digest;
    u64::from_be_bytes([a, b, c, d, e, f, g, h])
}

impl Bodies {
    /// Notes an arrival; says how often the body was seen before.
    pub(super) fn arrive(&mut self, identity: u64) -> u32 {
        let record = self.records.entry(identity).or_default();
        let before = record.seen;
        record.seen = before.saturating_add(1);
        self.seen_twice += u64::from(before == 1);
        before
    }

    /// Notes that a body was processed and billed.
    pub(super) fn accept(&mut self, identity: u64) {
        let record = self.records.entry(identity).or_default();
        record.accepted = record.accepted.saturating_add(1);
        self.accepted += u64::from(record.accepted == 1);
        self.accepted_twice += u64::from(record.accepted == 2);
    }

    /// How many different bodies arrived.
    pub(super) fn distinct(&self) -> u64 {
        self.records.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_that_comes_three_times_counts_once_as_seen_twice() {
        let mut bodies = Bodies::default();
        assert_eq!([bodies.arrive(7), bodies.arrive(7), bodies.arrive(7), bodies.arrive(8)], [0, 1, 2, 0]);
        bodies.accept(7);
        bodies.accept(7);
        bodies.accept(7);
        assert_eq!((bodies.distinct(), bodies.seen_twice), (2, 1));
        assert_eq!((bodies.accepted, bodies.accepted_twice), (1, 1));
    }
}
