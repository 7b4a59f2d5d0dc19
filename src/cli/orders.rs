//! Orders that other processes leave in the run directory: looked for, carried out and answered while the run is driven;
//! and left for the owner of a run by others.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::engine::EngineHandle;
use crate::model::{Command, CommandOutcome, RunSlot, SubBatchStatus};
use crate::store::orders::{self, Order, Posted};

/// Between two looks. An order waits for a person's decision before it is left; half a second more is not felt.
const EVERY: Duration = Duration::from_millis(500);

/// Carries out orders for as long as the run is driven: those that are left from now on.
pub(crate) async fn obey(handle: EngineHandle, run: RunSlot, dir: PathBuf) {
    let left_before = dir.clone();
    let Ok(()) = tokio::task::spawn_blocking(move || orders::forget(&left_before)).await else { return };
    loop {
        tokio::time::sleep(EVERY).await;
        let look_in = dir.clone();
        let Ok(taken) = tokio::task::spawn_blocking(move || take(&look_in)).await else { return };
        for (path, order) in taken {
            let command = Command::CancelSubBatch { run, sub_batch: order.sub_batch, seen: order.seen };
            let outcome = match handle.send(command) {
                Ok(answer) => match answer.await {
                    Ok(outcome) => outcome,
                    Err(_) => CommandOutcome::Refused("the run has ended".to_owned()),
                },
                Err(refused) => refused,
            };
            // Whoever waits for it waits in vain, and says so.
            let _ = tokio::task::spawn_blocking(move || orders::answer(&path, outcome)).await;
        }
    }
}

/// The orders that wait, but for those that are taken back at this moment. One that cannot be taken away is not carried out:
/// it would be again and again.
fn take(dir: &Path) -> Vec<(PathBuf, Order)> {
    let waiting = orders::waiting(dir);
    waiting.into_iter().filter(|(path, _)| orders::take(path).unwrap_or(false)).collect()
}

/// How long an owner has for its answer.
const PATIENCE: Duration = Duration::from_secs(20);

/// Leaves the order to cancel a sub-batch, which was seen in this state, for the run's owner, and waits for the answer. Blocks.
///
/// # Errors
/// What failed, in words.
pub(crate) fn cancel(dir: &Path, sub_batch: u32, seen: SubBatchStatus) -> Result<CommandOutcome, String> {
    let posted = Order::cancel(sub_batch, seen).post(dir).map_err(|error| error.to_string())?;
    if let Some(outcome) = answer_in_time(&posted)? {
        return Ok(outcome);
    }
    let (owner, patience) = (format!("the owner of {}", dir.display()), PATIENCE.as_secs());
    if posted.take_back().map_err(|error| error.to_string())? {
        return Err(format!("{owner} did not answer within {patience} s; the order was taken back"));
    }
    // It is being carried out: what becomes of it is still worth waiting for.
    answer_in_time(&posted)?.ok_or_else(|| {
        format!(
            "{owner} took the order, and has not said for {patience} s what became of it; see fandeck status {}",
            dir.display()
        )
    })
}

/// The answer to an order, unless there is none within [`PATIENCE`].
fn answer_in_time(posted: &Posted) -> Result<Option<CommandOutcome>, String> {
    let start = Instant::now();
    loop {
        match posted.answer().map_err(|error| error.to_string())? {
            None if start.elapsed() <= PATIENCE => std::thread::sleep(Duration::from_millis(50)),
            answer => return Ok(answer),
        }
    }
}
