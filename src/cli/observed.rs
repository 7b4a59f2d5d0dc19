//! How long the answers of earlier runs were, for the audit: read from the journals, since only they have every answer.

use std::collections::BTreeMap;
use std::path::Path;

use crate::catalog::Catalog;
use crate::model::{Outcome, Route};
use crate::requests::Observed;
use crate::store::{RunPeek, for_each_outcome, list_runs};

/// Answers of a model after which no older run of it is read.
const ENOUGH: usize = 2_000;
/// Fewer answers than this have no ninety-ninth percentile.
const FEWEST: usize = 100;
/// Answers that are read at the most, so that an audit does not wait for the journals of millions.
const MOST: u64 = 200_000;

/// What the runs in a directory say of the models' answers, the newest runs first. Runs of several models are passed over,
/// as are runs that cannot be read: this is advice.
pub(crate) fn observed(runs_dir: &Path, catalog: &Catalog) -> Vec<Observed> {
    let mut lengths: BTreeMap<String, Vec<u32>> = BTreeMap::new();
    let mut room = MOST;
    for listed in list_runs(runs_dir).unwrap_or_default() {
        let Ok(RunPeek { run, state, .. }) = &listed.run else { continue };
        let [model] = run.models.as_slice() else { continue };
        let id = catalog.lookup(model).map_or(model, |info| &info.id);
        let n = state.counts.done();
        let known = lengths.entry(id.clone()).or_default();
        if known.len() >= ENOUGH || n == 0 || n > room {
            continue;
        }
        room -= n;
        let read = for_each_outcome(&listed.dir, &mut |line| {
            // What the cache gave was answered in another run.
            if line.outcome == Outcome::Succeeded && line.path != Route::Cache {
                known.push(u32::try_from(line.usage.output_tokens).unwrap_or(u32::MAX));
            }
        });
        if let Err(error) = read {
            tracing::debug!("{} says nothing of the length of answers: {error}", listed.dir.display());
        }
    }
    lengths.into_iter().filter_map(|(model, lengths)| of(model, lengths)).collect()
}

fn of(model: String, mut lengths: Vec<u32>) -> Option<Observed> {
    let n = lengths.len();
    if n < FEWEST {
        return None;
    }
    lengths.sort_unstable();
    // The nearest rank.
    let p99 = *lengths.get((n * 99).div_ceil(100).checked_sub(1)?)?;
    Some(Observed { model, n: n as u64, output_p99: p99, output_max: *lengths.last()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_all_lengths_the_ninety_ninth_and_the_longest_are_told_and_of_a_few_nothing() {
        let found = of("m".to_owned(), (1..=200).rev().collect()).unwrap();
        assert_eq!((found.n, found.output_p99, found.output_max), (200, 198, 200));
        assert_eq!(of("m".to_owned(), (1..=100).collect()).unwrap().output_p99, 99);
        assert_eq!((of("m".to_owned(), vec![7; 99]), of("m".to_owned(), Vec::new())), (None, None));
    }
}
