//! The signals that concern a screen.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// Streams of the signals.
#[derive(Debug)]
pub(super) struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
    stop: Signal,
    go_on: Signal,
}

/// SIGTSTP. Its number, as that of SIGCONT, differs between systems; this is that of the platform.
pub(super) fn stop_kind() -> SignalKind {
    SignalKind::from_raw(rustix::process::Signal::TSTP.as_raw())
}

/// SIGCONT.
pub(super) fn go_on_kind() -> SignalKind {
    SignalKind::from_raw(rustix::process::Signal::CONT.as_raw())
}

impl Signals {
    /// Starts listening.
    ///
    /// # Errors
    /// When a handler cannot be installed.
    pub(super) fn new() -> io::Result<Signals> {
        Ok(Signals {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: signal(SignalKind::hangup())?,
            stop: signal(stop_kind())?,
            go_on: signal(go_on_kind())?,
        })
    }

    /// The next signal.
    pub(super) async fn next(&mut self) -> SignalKind {
        tokio::select! {
            _ = self.interrupt.recv() => SignalKind::interrupt(),
            _ = self.terminate.recv() => SignalKind::terminate(),
            _ = self.hangup.recv() => SignalKind::hangup(),
            _ = self.stop.recv() => stop_kind(),
            _ = self.go_on.recv() => go_on_kind(),
        }
    }
}
