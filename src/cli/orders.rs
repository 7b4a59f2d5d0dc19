//! Orders that other processes leave in the run directory: looked for, carried out and answered while the run is driven.

use std::path::PathBuf;
use std::time::Duration;

use crate::engine::EngineHandle;
use crate::model::{Command, CommandOutcome, RunSlot};
use crate::store::orders;

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
