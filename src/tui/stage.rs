//! The terminal under the screens: taken, drawn on, lent to the shell that started us, and gone.

use std::io::{self, Stdout, stdout};

use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::buffer::Buffer;

use super::guard::{self, Guard, Taking};
use super::wires::copy_cells;

/// See the module.
pub(super) struct Stage {
    /// `None` when it is gone.
    terminal: Option<Terminal<CrosstermBackend<Stdout>>>,
    taking: Taking,
    /// Given up when the terminal is gone or lent to the shell.
    guard: Option<Guard>,
    suspended: bool,
    /// The terminal has gone since somebody looked last.
    lost: bool,
    /// The last frame; `None` when the next one has to be drawn anew.
    drawn: Option<Buffer>,
}

impl Stage {
    /// Takes the terminal.
    ///
    /// # Errors
    /// When it is none or does not obey.
    pub(super) fn enter(taking: Taking) -> io::Result<Stage> {
        let guard = Guard::enter(&taking)?;
        let terminal = Terminal::new(CrosstermBackend::new(stdout()))?;
        Ok(Stage { terminal: Some(terminal), taking, guard: Some(guard), suspended: false, lost: false, drawn: None })
    }

    /// A panic anywhere has given the terminal back: nothing may be drawn any more.
    pub(super) fn is_broken(&self) -> bool {
        self.guard.is_some() && !guard::is_taken()
    }

    /// Whether the terminal has gone since this was asked last.
    pub(super) fn was_lost(&mut self) -> bool {
        std::mem::take(&mut self.lost)
    }

    /// Columns and rows; `None` when there is nothing to draw on.
    pub(super) fn size(&mut self) -> Option<(u16, u16)> {
        let terminal = self.terminal.as_ref().filter(|_| self.guard.is_some())?;
        match terminal.size() {
            Ok(size) => Some((size.width, size.height)),
            Err(_) => {
                self.gone();
                None
            }
        }
    }

    /// Draws what has changed; a frame equal to the last one costs no byte. Whether it was shown.
    pub(super) fn show(&mut self, frame: Buffer) -> bool {
        let Some(terminal) = self.terminal.as_mut().filter(|_| self.guard.is_some()) else { return false };
        if self.drawn.as_ref() == Some(&frame) {
            return false;
        }
        let anew = self.drawn.is_none();
        let shown = guard::synchronized(|| {
            if anew {
                // Not `Terminal::clear`: it asks the terminal where the cursor is, and the answer goes to the task that
                // reads the keys.
                terminal.resize(frame.area)?;
            }
            terminal.draw(|target| copy_cells(&frame, target.buffer_mut())).map(|_| ())
        });
        match shown {
            Ok(Some(())) => {
                self.drawn = Some(frame);
                true
            }
            Ok(None) => false,
            Err(_) => {
                self.gone();
                false
            }
        }
    }

    /// The next frame is drawn whole.
    pub(super) fn forget_drawn(&mut self) {
        self.drawn = None;
    }

    /// Writes something that draws nothing.
    pub(super) fn aside(&mut self, sequence: &str) {
        if self.guard.is_some() && guard::aside(sequence).is_err() {
            self.gone();
        }
    }

    /// Sets the window's title.
    pub(super) fn title(&mut self, title: String) {
        self.aside(&format!("\x1b]2;{}\x07", crate::report::text::harmless(&title)));
        self.taking.title = title;
    }

    /// Takes or releases the mouse.
    pub(super) fn mouse(&mut self, on: bool) {
        self.taking.mouse = on;
        if self.guard.is_some() && guard::mouse(on).is_err() {
            self.gone();
        }
    }

    /// Gives the terminal back and stops. The terminal is taken again when the signal to go on arrives, not when the call
    /// returns: a process of several threads runs on for a moment after it has stopped itself.
    pub(super) fn suspend(&mut self) {
        if self.guard.take().is_none() {
            return;
        }
        self.suspended = true;
        if let Err(error) = guard::stop_self() {
            tracing::warn!("failed to suspend: {error}");
            self.retake();
        }
    }

    /// Goes on, also when somebody stopped us without asking: the shell has used the terminal meanwhile.
    pub(super) fn go_on(&mut self) {
        if self.guard.is_some() || self.suspended {
            self.retake();
        }
    }

    fn retake(&mut self) {
        self.suspended = false;
        self.guard = None;
        match Guard::enter(&self.taking) {
            Ok(guard) => self.guard = Some(guard),
            Err(error) => {
                tracing::warn!("failed to take the terminal again: {error}");
                self.gone();
                return;
            }
        }
        self.forget_drawn();
    }

    /// Nothing can be shown any more.
    pub(super) fn gone(&mut self) {
        self.guard = None;
        self.lost = true;
        // Dropping it would show the cursor, fail, print that to a standard error that has gone too, and panic.
        std::mem::forget(self.terminal.take());
    }
}
