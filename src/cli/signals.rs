//! Signals that end a run: the first one stops it and waits for the disk, the second one leaves at once. While the disk takes
//! nothing, the second one makes the run keep its answers elsewhere, and the third one leaves at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::Instant;

use crate::engine::EngineHandle;
use crate::model::{Command, RunSlot};
use crate::report::format;

use super::ab::is_arm;
use super::failure::Failure;
use super::out;

/// Signals that follow the first one so closely repeat it.
const SAME_WISH: Duration = Duration::from_millis(300);

/// The same for the arm of a validation: Ctrl-C reaches it from the terminal, and once more from the validation, which may be
/// held up meanwhile on a busy machine. Taken for a second wish it would cost the answers that are not on the disk yet.
const SAME_WISH_OF_ARM: Duration = Duration::from_secs(3);

/// Which signal came, as the exit code that it means: 128 + its number; 0 for none.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ended(Arc<AtomicU8>);

impl Ended {
    /// The exit code of a run that a signal ended.
    pub(crate) fn exit_code(&self) -> Option<u8> {
        match self.0.load(Ordering::Acquire) {
            0 => None,
            code => Some(code),
        }
    }

    /// Notes what ended the run, as an exit code.
    pub(crate) fn note(&self, code: u8) {
        self.0.store(code, Ordering::Release);
    }
}

/// The signals that are listened to.
pub(crate) struct Signals {
    int: Signal,
    term: Signal,
    hup: Signal,
}

impl Signals {
    /// Starts to listen; call it inside the runtime.
    pub(crate) fn listen() -> Result<Signals, Failure> {
        let on =
            |kind| signal(kind).map_err(|error| Failure::internal(format!("failed to listen to signals: {error}")));
        Ok(Signals {
            int: on(SignalKind::interrupt())?,
            term: on(SignalKind::terminate())?,
            hup: on(SignalKind::hangup())?,
        })
    }

    async fn next(&mut self) -> u8 {
        tokio::select! {
            _ = self.int.recv() => 130,
            _ = self.term.recv() => 143,
            _ = self.hup.recv() => 129,
        }
    }

    /// Waits for a signal; gives its exit code.
    pub(crate) async fn wait(&mut self) -> u8 {
        self.next().await
    }

    /// The exit code of a signal that has come and was not waited for. Call it inside the runtime.
    pub(crate) async fn came(&mut self) -> Option<u8> {
        tokio::time::timeout(Duration::ZERO, self.next()).await.ok()
    }

    /// Stops the run at the first signal and the process at the second; at the third when the second had answers in memory to
    /// take care of.
    pub(crate) async fn stop(mut self, handle: EngineHandle, run: RunSlot, ended: Ended) {
        let code = self.next().await;
        ended.note(code);
        if let Some(n) = unsaved(&handle) {
            out::say(&format!(
                "fandeck: {n} answers in memory are not on the disk yet; waiting for it: free some space, or give the signal \
                 again to leave without them in the journal"
            ));
        }
        // A command queue that is full, or an engine that has ended: the second signal does without them.
        let _ = handle.send(Command::StopRun { run });
        let mut code = self.next_wish().await;
        if unsaved(&handle).is_some() {
            ended.note(code);
            let _ = handle.send(Command::StopRun { run });
            code = self.next_wish().await;
        }
        let lost = match handle.snapshot().store.unsynced {
            0 => String::new(),
            n => format!(" {} answers in memory are not, and may be lost: they were billed.", format::count(n)),
        };
        out::say(&format!("fandeck: leaving at once; what is durable is kept, and resume goes on from there.{lost}"));
        std::process::exit(i32::from(code));
    }

    /// The next signal that is not a repetition: `timeout` and some shells signal the process and its group, and what comes
    /// at once is the same wish.
    async fn next_wish(&mut self) -> u8 {
        let same_wish = Instant::now() + if is_arm() { SAME_WISH_OF_ARM } else { SAME_WISH };
        loop {
            let code = self.next().await;
            if Instant::now() >= same_wish {
                return code;
            }
        }
    }
}

/// How many answers wait for a disk that takes nothing, in words.
fn unsaved(handle: &EngineHandle) -> Option<String> {
    let store = &handle.snapshot().store;
    (store.trouble.is_some() && store.unsynced > 0).then(|| format::count(store.unsynced))
}

#[cfg(test)]
mod tests {
    use rustix::process::{Signal, getpid, kill_process};

    use super::*;

    #[tokio::test]
    async fn a_signal_that_came_while_nobody_waited_is_not_lost() {
        let mut signals = Signals::listen().unwrap();
        assert_eq!(signals.came().await, None);
        kill_process(getpid(), Signal::HUP).unwrap();
        let came = async {
            loop {
                if let Some(code) = signals.came().await {
                    break code;
                }
                tokio::task::yield_now().await;
            }
        };
        assert_eq!(came.await, 129);
        assert_eq!(signals.came().await, None);
    }
}
