//! From a `custom_id` to its request, at 12 bytes a request.

use std::hash::{DefaultHasher, Hasher};

use crate::model::RequestNo;

/// Hash of a `custom_id`, the same in every place of one process. It is never stored.
pub fn id_hash(id: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(id.as_bytes());
    hasher.finish()
}

/// A slot: the hash in two halves, so that it takes 12 bytes and not 16.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Slot {
    high: u32,
    low: u32,
    no: u32,
}

/// The hashes of all ids of an input, sorted. Equal hashes are told apart by whoever can read the ids.
#[derive(Debug, Default)]
pub struct IdMap {
    slots: Vec<Slot>,
}

impl IdMap {
    /// Adds an id; [`IdMap::sort`] must follow before any look-up.
    pub(super) fn push(&mut self, hash: u64, no: RequestNo) {
        self.slots.push(Slot { high: (hash >> 32) as u32, low: hash as u32, no: no.0 });
    }

    /// Puts the slots in order.
    pub(super) fn sort(&mut self) {
        self.slots.sort_unstable();
        self.slots.shrink_to_fit();
    }

    /// The requests whose id has this hash, in the order of the file. More than one is possible, if hardly ever met.
    pub fn candidates(&self, hash: u64) -> impl Iterator<Item = RequestNo> + Clone + '_ {
        let key = ((hash >> 32) as u32, hash as u32);
        let from = self.slots.partition_point(|slot| (slot.high, slot.low) < key);
        self.slots
            .get(from..)
            .unwrap_or_default()
            .iter()
            .take_while(move |slot| (slot.high, slot.low) == key)
            .map(|slot| RequestNo(slot.no))
    }

    /// Groups of requests whose ids have equal hashes, each in the order of the file.
    pub(super) fn collisions(&self) -> impl Iterator<Item = Vec<RequestNo>> + '_ {
        self.slots
            .chunk_by(|a, b| (a.high, a.low) == (b.high, b.low))
            .filter(|group| group.len() > 1)
            .map(|group| group.iter().map(|slot| RequestNo(slot.no)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_requests_of_a_hash_are_found_in_the_order_of_the_file() {
        let mut map = IdMap::default();
        for (no, hash) in [(0, u64::MAX), (1, 7), (2, 1 << 40), (3, 7)] {
            map.push(hash, RequestNo(no));
        }
        map.sort();
        assert_eq!(map.candidates(7).collect::<Vec<_>>(), [RequestNo(1), RequestNo(3)]);
        assert_eq!(map.candidates(u64::MAX).collect::<Vec<_>>(), [RequestNo(0)]);
        assert_eq!(map.candidates(8).count(), 0);
        assert_eq!(map.collisions().collect::<Vec<_>>(), [vec![RequestNo(1), RequestNo(3)]]);
    }

    #[test]
    fn a_slot_takes_twelve_bytes() {
        assert_eq!(size_of::<Slot>(), 12);
    }
}
