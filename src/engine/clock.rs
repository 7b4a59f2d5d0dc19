//! The shell's two clocks. The monotonic one is tokio's, so that paused time drives the engine in tests.

use jiff::Timestamp;
use tokio::time::Instant;

use crate::model::{Mono, Now, Wall};

/// Reads both clocks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    start: Instant,
}

impl Clock {
    /// A clock that starts now.
    pub(crate) fn start() -> Clock {
        Clock { start: Instant::now() }
    }

    /// Both clocks.
    pub(crate) fn now(&self) -> Now {
        Now { mono: self.mono(), wall: Wall(Timestamp::now().as_millisecond()) }
    }

    /// The monotonic one.
    pub(crate) fn mono(&self) -> Mono {
        Mono::from_span(self.start.elapsed())
    }

    /// The instant of a monotonic time, to sleep until.
    pub(crate) fn instant(&self, at: Mono) -> Instant {
        self.start + at.span()
    }
}
