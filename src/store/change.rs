//! What an edit of the input means for a run that has outcomes already.

use std::collections::HashSet;
use std::fmt;
use std::path::Path;

use super::error::StoreError;
use super::journal;
use super::resolve::{Subject, subject, walk};
use super::run_file::RunFile;
use crate::requests::{Input, id_hash};

/// The difference between the input that a run was made for and the file as it is now, as far as outcomes go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct InputChange {
    /// Requests in the input that the run was made for.
    pub n_before: u64,
    /// Requests in the file now.
    pub n_now: u64,
    /// Requests with an outcome that still holds: the same id, and the same text.
    pub n_same: u64,
    /// Requests with an outcome of an earlier text of theirs: to be sent again.
    pub n_changed: u64,
    /// Ids with an outcome that the file has no more.
    pub n_gone: u64,
}

impl InputChange {
    /// Requests of the file without an outcome under their id.
    pub fn n_new(&self) -> u64 {
        self.n_now.saturating_sub(self.n_same + self.n_changed)
    }
}

impl fmt::Display for InputChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let InputChange { n_before, n_now, n_same, n_changed, n_gone } = self;
        write!(
            f,
            "{n_before} requests before, {n_now} now; {n_same} have an outcome that still holds, {n_changed} have one of another text, {} have none, {n_gone} outcomes are of requests that are gone",
            self.n_new()
        )
    }
}

/// Compares the input of a run with the file as it is now, by the ids and checksums in the journal; `None` when it is the
/// same file.
///
/// # Errors
/// [`StoreError::Io`] about the journal, [`StoreError::Input`] about the input.
pub fn compare_input(dir: &Path, run: &RunFile, input: &Input) -> Result<Option<InputChange>, StoreError> {
    if run.input.sha256 == input.sha256() {
        return Ok(None);
    }
    let mut change = InputChange { n_before: run.input.count, n_now: u64::from(input.len()), ..InputChange::default() };
    // One line about the text as it is now is enough, whatever stands after it about an older one: so does recovery see it.
    let mut same = vec![None; input.len() as usize];
    let mut gone = HashSet::new();
    walk(&dir.join(journal::NAME), &mut |_| {}, &mut |_, line| {
        let Some(line) = line else { return Ok(()) };
        let (no, holds) = match subject(input, &line)? {
            Subject::Request(no) => (no, true),
            Subject::Changed(no) => (no, false),
            Subject::Alien => {
                gone.insert(id_hash(&line.custom_id));
                return Ok(());
            }
        };
        if let Some(slot) = same.get_mut(no.ix()) {
            *slot = Some(slot.unwrap_or(false) || holds);
        }
        Ok(())
    })?;
    change.n_same = same.iter().filter(|slot| **slot == Some(true)).count() as u64;
    change.n_changed = same.iter().filter(|slot| **slot == Some(false)).count() as u64;
    change.n_gone = gone.len() as u64;
    Ok(Some(change))
}
