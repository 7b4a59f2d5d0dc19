//! The frontends without a screen: plain lines, NDJSON and the summary that is left on the normal screen, together
//! with the formats of numbers and the text safety that the screens share with them.
//!
//! Everything is made from [`crate::model::Snapshot`]s. A reader that is slow or gone never slows the engine: lines go
//! through [`sink::Sink`], which drops and counts what a blocked reader does not take.

pub mod finished;
pub mod json;
pub mod plain;
pub mod review;
pub mod sink;
pub mod summary;
pub mod text;
pub mod words;

#[cfg(test)]
pub(crate) mod fixtures;

use std::sync::Arc;

use tokio::sync::watch;
use tokio::time::Instant;

use crate::model::Snapshot;
pub use crate::model::format;

/// Whether there is a run and every run has come to rest.
pub fn all_over(snapshot: &Snapshot) -> bool {
    !snapshot.runs.is_empty() && snapshot.runs.iter().all(|run| run.status.is_over())
}

/// Waits for the next picture, or until `deadline`. `false` when the engine has ended and every picture was seen.
async fn another(pictures: &mut watch::Receiver<Arc<Snapshot>>, deadline: Instant) -> bool {
    tokio::select! {
        changed = pictures.changed() => changed.is_ok(),
        () = tokio::time::sleep_until(deadline) => true,
    }
}

/// Waits until the engine has ended. The run directory is whole then: whoever reads the last line may go on with it.
async fn ended(pictures: &mut watch::Receiver<Arc<Snapshot>>) {
    while pictures.changed().await.is_ok() {}
}
