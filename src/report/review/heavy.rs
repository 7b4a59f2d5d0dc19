//! The keys that weigh most among any number of them, in memory that does not grow with that number: Misra-Gries with
//! weights (Misra and Gries, "Finding repeated elements", 1982; the cut to the half by Anderson et al., 2017).

use std::collections::{HashMap, HashSet};

/// Counters that survive a cut. A key with more than this share of all the weight is never lost.
const KEPT: usize = 1 << 16;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Heavy {
    weights: HashMap<u64, u64>,
    /// Some key was cut: there were more of them than there are counters.
    was_cut: bool,
}

impl Heavy {
    /// Adds to a key.
    pub(super) fn add(&mut self, key: u64, weight: u64) {
        let sum = self.weights.entry(key).or_default();
        *sum = sum.saturating_add(weight);
        if self.weights.len() >= 2 * KEPT {
            self.cut();
        }
    }

    /// Takes the weight of the lightest key that is to stay from all, and those that have none left away.
    fn cut(&mut self) {
        self.was_cut = true;
        let mut weights: Vec<u64> = self.weights.values().copied().collect();
        let (_, least, _) = weights.select_nth_unstable_by(KEPT, |a, b| b.cmp(a));
        let least = *least;
        self.weights.retain(|_, weight| {
            *weight = weight.saturating_sub(least);
            *weight > 0
        });
    }

    /// The `n` heaviest keys; `None` when there are no more than that.
    pub(super) fn heaviest(&self, n: usize) -> Option<HashSet<u64>> {
        if !self.was_cut && self.weights.len() <= n {
            return None;
        }
        let mut keys: Vec<(u64, u64)> = self.weights.iter().map(|(key, weight)| (*weight, *key)).collect();
        keys.sort_unstable_by(|a, b| b.cmp(a));
        Some(keys.into_iter().take(n).map(|(_, key)| key).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_heavy_key_among_many_light_ones_is_found_wherever_it_comes_and_memory_is_bounded() {
        let mut heavy = Heavy::default();
        for light in 0..(KEPT as u64 * 10) {
            heavy.add(1_000 + light, 3);
            // Late, and never twice in a row.
            if light > KEPT as u64 * 5 && light % 100 < 10 {
                heavy.add(light % 100, 5);
            }
            assert!(heavy.weights.len() < 2 * KEPT);
        }
        let found = heavy.heaviest(10).unwrap();
        assert_eq!(found, (0..10).collect());
    }

    #[test]
    fn of_few_keys_all_are_heavy() {
        let mut heavy = Heavy::default();
        (0..10).for_each(|key| heavy.add(key, key));
        assert_eq!(heavy.heaviest(10), None);
        assert_eq!(heavy.heaviest(2).unwrap(), HashSet::from([8, 9]));
    }
}
