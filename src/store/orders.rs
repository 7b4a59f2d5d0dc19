//! `orders/`: what another process asks of a run's owner, and the answers. `fandeck cancel` beside a running console leaves an
//! order here; the owner looks, carries it out, and answers.
//!
//! Files, not a socket: they work on every file system, their names have no length limit of a hundred bytes, and an order
//! that is left while nobody owns the run is simply taken back.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::atomic;
use super::error::StoreError;
use super::run_file::FORMAT;
use crate::model::{CommandOutcome, SubBatchStatus};

/// The directory's name in a run directory.
pub const NAME: &str = "orders";

/// An order: cancel a sub-batch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    /// As in run.json.
    pub format: u32,
    /// The sub-batch, by its index.
    pub sub_batch: u32,
    /// What the operator saw of it.
    pub seen: SubBatchStatus,
}

/// The answer to an order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct OrderAnswer {
    format: u32,
    outcome: CommandOutcome,
}

/// An order that waits for its answer. Dropped, it is taken back.
#[derive(Debug)]
pub struct Posted {
    order: PathBuf,
    answer: PathBuf,
}

impl Order {
    /// An order to cancel a sub-batch.
    pub fn cancel(sub_batch: u32, seen: SubBatchStatus) -> Order {
        Order { format: FORMAT, sub_batch, seen }
    }

    /// Leaves it for the owner of a run.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn post(&self, run_dir: &Path) -> Result<Posted, StoreError> {
        let folder = run_dir.join(NAME);
        DirBuilder::new().recursive(true).mode(0o700).create(&folder).map_err(StoreError::io("create", &folder))?;
        let name = format!("{}-{:016x}", std::process::id(), fastrand::u64(..));
        let posted = Posted {
            order: folder.join(format!("{name}.order.json")),
            answer: folder.join(format!("{name}.answer.json")),
        };
        atomic::save(&posted.order, self)?;
        Ok(posted)
    }
}

impl Posted {
    /// The answer, once it is there.
    ///
    /// # Errors
    /// [`StoreError::Io`], [`StoreError::Corrupt`].
    pub fn answer(&self) -> Result<Option<CommandOutcome>, StoreError> {
        Ok(atomic::load::<OrderAnswer>(&self.answer)?.map(|answer| answer.outcome))
    }
}

impl Drop for Posted {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.order);
        let _ = std::fs::remove_file(&self.answer);
    }
}

/// The orders that wait in a run directory, with their files. What cannot be read is passed over: whoever left it waits in
/// vain, and says so.
pub fn waiting(run_dir: &Path) -> Vec<(PathBuf, Order)> {
    let Ok(entries) = std::fs::read_dir(run_dir.join(NAME)) else { return Vec::new() };
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let orders = paths.filter(|path| path.to_string_lossy().ends_with(".order.json"));
    orders.filter_map(|path| atomic::load::<Order>(&path).ok().flatten().map(|order| (path, order))).collect()
}

/// Answers an order, and takes it away.
///
/// # Errors
/// [`StoreError::Io`].
pub fn answer(order: &Path, outcome: CommandOutcome) -> Result<(), StoreError> {
    let name = order.to_string_lossy();
    let answer = PathBuf::from(format!("{}.answer.json", name.strip_suffix(".order.json").unwrap_or(&name)));
    match std::fs::remove_file(order) {
        // Taken back meanwhile: nobody waits for an answer.
        Err(err) if err.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(err) => Err(StoreError::io("remove", order)(err)),
        Ok(()) => atomic::save(&answer, &OrderAnswer { format: FORMAT, outcome }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_is_found_answered_and_gone() {
        let dir = tempfile::tempdir().unwrap();
        assert!(waiting(dir.path()).is_empty());
        let order = Order::cancel(7, SubBatchStatus::InProgress);
        let posted = order.post(dir.path()).unwrap();
        assert_eq!(posted.answer().unwrap(), None);
        let found = waiting(dir.path());
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].1, order);
        answer(&found[0].0, CommandOutcome::Done("done".to_owned())).unwrap();
        assert!(waiting(dir.path()).is_empty());
        assert_eq!(posted.answer().unwrap(), Some(CommandOutcome::Done("done".to_owned())));
        drop(posted);
        assert_eq!(std::fs::read_dir(dir.path().join(NAME)).unwrap().count(), 0);
    }

    #[test]
    fn an_order_that_nobody_waits_for_is_taken_back() {
        let dir = tempfile::tempdir().unwrap();
        let posted = Order::cancel(7, SubBatchStatus::InProgress).post(dir.path()).unwrap();
        let found = waiting(dir.path());
        drop(posted);
        answer(&found[0].0, CommandOutcome::Done("done".to_owned())).unwrap();
        assert_eq!(std::fs::read_dir(dir.path().join(NAME)).unwrap().count(), 0);
    }
}
