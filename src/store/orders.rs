//! `orders/`: what another process asks of a run's owner, and the answers. `fandeck cancel` beside a running console leaves an
//! order here; the owner looks, takes it, carries it out, and answers. An order is taken or taken back by removing its file, so
//! that only one of the two happens: whoever was told that it was taken back can rely on it.
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

    /// Takes the order back. False when the owner has taken it, and carries it out.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn take_back(&self) -> Result<bool, StoreError> {
        take(&self.order)
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

/// Takes an order, to carry it out. False when it was taken back meanwhile.
///
/// # Errors
/// [`StoreError::Io`].
pub fn take(order: &Path) -> Result<bool, StoreError> {
    match std::fs::remove_file(order) {
        Ok(()) => Ok(true),
        Err(err) if err.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(err) => Err(StoreError::io("remove", order)(err)),
    }
}

/// Answers an order that was taken.
///
/// # Errors
/// [`StoreError::Io`].
pub fn answer(order: &Path, outcome: CommandOutcome) -> Result<(), StoreError> {
    let name = order.to_string_lossy();
    let answer = PathBuf::from(format!("{}.answer.json", name.strip_suffix(".order.json").unwrap_or(&name)));
    atomic::save(&answer, &OrderAnswer { format: FORMAT, outcome })
}

/// Throws away what was left for an owner before this one: whoever left it was told, or knows, that nobody heard it.
pub fn forget(run_dir: &Path) {
    let Ok(entries) = std::fs::read_dir(run_dir.join(NAME)) else { return };
    for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
        let name = path.to_string_lossy();
        if name.ends_with(".order.json") || name.ends_with(".answer.json") {
            let _ = std::fs::remove_file(&path);
        }
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
        assert!(take(&found[0].0).unwrap());
        answer(&found[0].0, CommandOutcome::Done("done".to_owned())).unwrap();
        assert!(waiting(dir.path()).is_empty());
        assert_eq!(posted.answer().unwrap(), Some(CommandOutcome::Done("done".to_owned())));
        drop(posted);
        assert_eq!(std::fs::read_dir(dir.path().join(NAME)).unwrap().count(), 0);
    }

    #[test]
    fn an_order_is_either_taken_or_taken_back() {
        let dir = tempfile::tempdir().unwrap();
        let left = || {
            let posted = Order::cancel(7, SubBatchStatus::InProgress).post(dir.path()).unwrap();
            (posted, waiting(dir.path()).remove(0).0)
        };
        let (posted, found) = left();
        assert!(posted.take_back().unwrap());
        assert!(!take(&found).unwrap());
        let (posted, found) = left();
        assert!(take(&found).unwrap());
        assert!(!posted.take_back().unwrap());
        let (posted, found) = left();
        drop(posted);
        assert!(!take(&found).unwrap(), "nobody waits for it");
    }

    #[test]
    fn an_order_that_was_left_for_an_owner_before_is_not_for_the_next_one() {
        let dir = tempfile::tempdir().unwrap();
        forget(dir.path());
        std::mem::forget(Order::cancel(7, SubBatchStatus::InProgress).post(dir.path()).unwrap());
        assert_eq!(waiting(dir.path()).len(), 1);
        forget(dir.path());
        assert_eq!(std::fs::read_dir(dir.path().join(NAME)).unwrap().count(), 0);
    }
}
