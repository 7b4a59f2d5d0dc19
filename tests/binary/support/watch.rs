//! What a terminal shows, frame by whole frame, and all that it was sent.

use std::time::Duration;

use termlens::{Error, ExitStatus, Screen, Terminal};

/// A terminal that a test looks at.
pub(crate) trait Watch {
    /// Waits until a whole frame is as `wanted`; gives it.
    fn shows(&mut self, wanted: impl FnMut(&Screen) -> bool) -> Screen;

    /// Waits for the end of the process and of all that it wrote; gives how it ended and the last picture.
    fn ended(&mut self) -> (ExitStatus, Screen);
}

impl Watch for Terminal {
    #[track_caller]
    fn shows(&mut self, mut wanted: impl FnMut(&Screen) -> bool) -> Screen {
        loop {
            self.wait_until(&mut wanted).unwrap();
            // A frame comes in several writes, and one that is drawn anew begins with an empty screen: what is missing in
            // the middle of it may be there in a moment. No stillness is asked for, only that no frame is open.
            let screen = self.wait_stable(Duration::ZERO).unwrap();
            if wanted(&screen) {
                return screen;
            }
        }
    }

    #[track_caller]
    fn ended(&mut self) -> (ExitStatus, Screen) {
        // `wait_exit` alone waits for half a second at the most for what was written before the end.
        match self.wait_until(|_| false) {
            Err(Error::Eof { screen, .. }) => (self.wait_exit().unwrap(), screen),
            other => panic!("{other:?}"),
        }
    }
}
