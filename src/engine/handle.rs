//! What a frontend holds of the engine: pictures come out, commands go in, and neither side waits for the other.

use std::sync::Arc;

use tokio::sync::{mpsc, oneshot, watch};

use crate::model::{Command, CommandOutcome, Snapshot};

/// How many commands may wait for the engine. It takes them between any two events, so more means that it is stuck.
pub(super) const COMMAND_QUEUE: usize = 64;

/// A command on its way to the engine.
#[derive(Debug)]
pub struct CommandRequest {
    /// What is asked.
    pub command: Command,
    /// Where the outcome goes; nobody may be listening any more.
    pub reply: oneshot::Sender<CommandOutcome>,
}

/// The frontends' end of the engine. Cheap to clone.
#[derive(Debug, Clone)]
pub struct EngineHandle {
    snapshots: watch::Receiver<Arc<Snapshot>>,
    commands: mpsc::Sender<CommandRequest>,
}

impl EngineHandle {
    /// Ties the two ends together.
    pub fn new(snapshots: watch::Receiver<Arc<Snapshot>>, commands: mpsc::Sender<CommandRequest>) -> EngineHandle {
        EngineHandle { snapshots, commands }
    }

    /// The newest picture.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.snapshots.borrow().clone()
    }

    /// A receiver of pictures, to wait on. It closes when the engine has ended, after the last picture.
    pub fn watch(&self) -> watch::Receiver<Arc<Snapshot>> {
        self.snapshots.clone()
    }

    /// Hands in a command without waiting. The outcome comes by the receiver, after the picture that shows what it did; one
    /// that closes without an outcome means that the engine ended first.
    ///
    /// # Errors
    /// A `Refused` outcome when the engine has ended or does not take commands.
    pub fn send(&self, command: Command) -> Result<oneshot::Receiver<CommandOutcome>, CommandOutcome> {
        let (reply, outcome) = oneshot::channel();
        match self.commands.try_send(CommandRequest { command, reply }) {
            Ok(()) => Ok(outcome),
            Err(mpsc::error::TrySendError::Closed(_)) => Err(CommandOutcome::Refused("the run has ended".to_owned())),
            Err(mpsc::error::TrySendError::Full(_)) => {
                Err(CommandOutcome::Refused("the engine does not answer; try again".to_owned()))
            }
        }
    }
}
