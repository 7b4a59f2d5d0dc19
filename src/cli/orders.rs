//! Orders that other processes leave in the run directory: looked for, carried out and answered while the run is driven;
//! and left for the owner of a run by others.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::engine::EngineHandle;
use crate::model::{Command, CommandOutcome, RunSlot, SubBatchStatus};
use crate::store::orders::{self, Order};

/// Between two looks. An order waits for a person's decision before it is left; half a second more is not felt.
const EVERY: Duration = Duration::from_millis(500);

/// Carries out orders for as long as the run is driven.
pub(crate) async fn obey(handle: EngineHandle, run: RunSlot, dir: PathBuf) {
    loop {
        tokio::time::sleep(EVERY).await;
        let look_in = dir.clone();
        let Ok(waiting) = tokio::task::spawn_blocking(move || orders::waiting(&look_in)).await else { return };
        for (path, order) in waiting {
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

/// How long an owner has for its answer.
const PATIENCE: Duration = Duration::from_secs(20);

/// Leaves the order to cancel a sub-batch, which was seen in this state, for the run's owner, and waits for the answer. Blocks.
///
/// # Errors
/// What failed, in words.
pub(crate) fn cancel(dir: &Path, sub_batch: u32, seen: SubBatchStatus) -> Result<CommandOutcome, String> {
    let posted = Order::cancel(sub_batch, seen).post(dir).map_err(|error| error.to_string())?;
    let start = Instant::now();
    loop {
        match posted.answer().map_err(|error| error.to_string())? {
            Some(outcome) => return Ok(outcome),
            None if start.elapsed() > PATIENCE => {
                return Err(format!(
                    "the owner of {} did not answer within {} s; the order was taken back",
                    dir.display(),
                    PATIENCE.as_secs()
                ));
            }
            None => std::thread::sleep(Duration::from_millis(50)),
        }
    }
}
