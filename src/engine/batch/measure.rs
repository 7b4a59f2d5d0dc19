//! The reading of results by itself, for the benchmark: no network and no dispatcher, all else as in a run.

use std::path::Path;
use std::sync::Arc;

use super::harvest::{self, Harvester};
use crate::catalog::Catalog;
use crate::engine::worker::RunWork;
use crate::model::{RequestNo, RunSlot, Scrubber, Wall};
use crate::requests::Input;

/// Harvests a results file over all requests of an input: every row is checked and becomes a journal line, which is handed to
/// `keep`. Gives how many requests were answered.
///
/// # Errors
/// The file or the input cannot be read, or a request has no result.
pub fn harvest_file(
    input: Arc<Input>,
    results: &Path,
    nonce: &str,
    keep: &mut dyn FnMut(&[u8]),
) -> Result<u32, String> {
    let members: Vec<RequestNo> = (0..input.len()).map(RequestNo).collect();
    let work = RunWork::new(RunSlot(0), input, None, &Catalog::builtin());
    let by = Harvester {
        work: &work,
        scrubber: &Scrubber::default(),
        nonce,
        org: "batch",
        members: &members,
        began_at: None,
        now: Wall(0),
    };
    let found = harvest::read(&by, results, &mut |rows, token| {
        rows.iter().for_each(|row| keep(&row.record.line));
        token.give_back();
        true
    })?;
    match (found.missing.len(), found.n_bad) {
        (0, 0) => Ok(found.tally.n_succeeded),
        (missing, bad) => Err(format!("{missing} requests without a result, {bad} lines that are none")),
    }
}
