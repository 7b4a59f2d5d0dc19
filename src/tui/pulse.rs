//! Whether the thread of the screen still comes round. A terminal that takes nothing (Ctrl-S, a connection that is cut)
//! holds it in the middle of a write, and then it hears no signal: whoever waits for it has to end the run without it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use tokio::signal::unix::SignalKind;

use super::TuiExit;
use super::guard;
use super::signals::Signals;

/// Between two looks.
const LOOK: Duration = Duration::from_secs(1);

/// Looks at a thread that stands still until it is given up. It comes round every second while a run goes on.
const PATIENCE: u32 = 5;

/// How long a stuck terminal has to take its modes back.
const MOMENT: Duration = Duration::from_millis(300);

/// The thread of the screen was given up.
static STUCK: AtomicBool = AtomicBool::new(false);

/// Whether the terminal takes nothing, so that whoever writes to it waits for ever.
pub fn is_stuck() -> bool {
    STUCK.load(Ordering::Acquire)
}

/// Gives a stuck terminal back as far as it lets us: the modes of the line at once, the rest if it takes that within a moment
/// after all.
pub fn give_back_stuck() {
    let _ = crossterm::terminal::disable_raw_mode();
    let (done, given_back) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        guard::restore();
        let _ = done.send(());
    });
    let _ = given_back.recv_timeout(MOMENT);
}

/// Counts how often the thread came round.
#[derive(Debug, Clone, Default)]
pub(super) struct Pulse(Arc<AtomicU64>);

impl Pulse {
    pub(super) fn beat(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// Waits for a signal that asks for the end and is not heeded, because the thread stands still; gives what it asked for.
    pub(super) async fn stopped(&self, mut signals: Signals) -> TuiExit {
        let exit = loop {
            if let Some(exit) = exit_of(signals.next().await) {
                break exit;
            }
        };
        let (mut last, mut still) = (self.0.load(Ordering::Relaxed), 0);
        while still < PATIENCE {
            tokio::time::sleep(LOOK).await;
            let now = self.0.load(Ordering::Relaxed);
            still = if now == last { still + 1 } else { 0 };
            last = now;
        }
        STUCK.store(true, Ordering::Release);
        tracing::warn!("the terminal takes nothing: the run is ended without it");
        exit
    }
}

/// What a signal asks for.
pub(super) fn exit_of(kind: SignalKind) -> Option<TuiExit> {
    match kind {
        kind if kind == SignalKind::terminate() => Some(TuiExit::Terminated),
        kind if kind == SignalKind::interrupt() => Some(TuiExit::Interrupted),
        kind if kind == SignalKind::hangup() => Some(TuiExit::HungUp),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_signals_that_ask_for_the_end_are_told_from_those_that_do_not() {
        let all = [SignalKind::terminate(), SignalKind::interrupt(), SignalKind::hangup(), SignalKind::user_defined1()];
        let exits = [Some(TuiExit::Terminated), Some(TuiExit::Interrupted), Some(TuiExit::HungUp), None];
        assert_eq!(all.map(exit_of), exits);
    }
}
