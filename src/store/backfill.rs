//! Answers that a journal has and the cache has not: those of a process that died between the two.

use std::path::Path;

use bytes::Bytes;

use super::cache::{Cache, CacheEntry, CacheError};
use super::error::StoreError;
use super::export::LastLines;
use super::recovery::{Last, Recovered};
use crate::model::RequestNo;
use crate::requests::{Fingerprint, Input, member};

/// Answers put in with one transaction.
const ROWS: usize = 5_000;

/// Why answers were not carried over.
#[derive(Debug, thiserror::Error)]
pub enum BackfillError {
    /// The journal or the input.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The cache.
    #[error(transparent)]
    Cache(#[from] CacheError),
}

/// Puts the answers of a recovered run into the cache, those that are not there yet, and returns how many they were. The
/// journal is read only when there is something to put in.
///
/// # Errors
/// Trouble with the journal or the cache; neither is a reason not to go on with the run.
pub fn backfill(
    dir: &Path,
    input: &Input,
    recovered: &Recovered,
    keys: &[Fingerprint],
    cache: &mut Cache,
) -> Result<u64, BackfillError> {
    let hits = cache.lookup(keys);
    let missing: Vec<RequestNo> = (0..input.len())
        .map(RequestNo)
        .filter(|&no| recovered.last_of(no) == Last::Succeeded && hits.get(no.ix()) == Some(&false))
        .collect();
    if missing.is_empty() {
        return Ok(0);
    }
    let lines = LastLines::scan(dir, input, &mut |_| {})?;
    let mut buffer = Vec::new();
    let mut n = 0;
    for group in missing.chunks(ROWS) {
        let mut entries = Vec::with_capacity(group.len());
        for &no in group {
            let Some(line) = lines.read(no, &mut buffer)? else { continue };
            if let (Some(message), Some(&key)) = (message_of(line), keys.get(no.ix())) {
                entries.push(CacheEntry { key, body: Bytes::copy_from_slice(message) });
            }
        }
        cache.insert_many(&mut entries)?;
        n += entries.len() as u64;
    }
    Ok(n)
}

/// The raw Message of a journal line.
fn message_of(line: &[u8]) -> Option<&[u8]> {
    let result = line.get(member(line, "result")?)?;
    let message = result.get(member(result, "message")?)?;
    message.starts_with(b"{").then_some(message)
}
