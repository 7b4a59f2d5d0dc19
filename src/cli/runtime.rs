//! What the asynchronous part of a command runs on.

use std::time::Duration;

use tokio::runtime::Runtime;

use super::failure::{Failure, Outcome};

/// A runtime of one worker a core.
pub(crate) fn runtime() -> Result<Runtime, Failure> {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::internal(format!("failed to start the runtime: {error}")))
}

/// How long a look at the disk, an export or a deletion may last after everything else has ended.
const LEFT_OVER: Duration = Duration::from_secs(5);

/// Runs something to its end. A read that hangs, on a file system whose server is gone, does not keep the process alive.
pub(crate) fn to_the_end(work: impl Future<Output = Outcome>) -> Outcome {
    let runtime = runtime()?;
    let outcome = runtime.block_on(work);
    runtime.shutdown_timeout(LEFT_OVER);
    outcome
}
