//! The terminal, taken and given back. Whatever ends the screen (leaving, an error, a signal, a panic in any thread),
//! the terminal is as it was, and what is printed afterwards is readable.

use std::io::{self, Write, stdout};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

use crossterm::cursor::{Hide, Show};
use crossterm::event::{DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture};
use crossterm::style::Print;
use crossterm::terminal::{
    BeginSynchronizedUpdate, EndSynchronizedUpdate, EnterAlternateScreen, LeaveAlternateScreen, SetTitle,
    disable_raw_mode, enable_raw_mode,
};
use crossterm::{execute, queue};

use crate::report::text::harmless;

/// The terminal is ours.
static TAKEN: AtomicBool = AtomicBool::new(false);
static HOOK: Once = Once::new();

/// xterm's stack of titles: keep the one that is there, and bring it back.
const KEEP_TITLE: &str = "\x1b[22;2t";
const BRING_TITLE_BACK: &str = "\x1b[23;2t";

/// How the terminal is taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Taking {
    /// Report the mouse.
    pub mouse: bool,
    /// The window's title.
    pub title: String,
}

/// Holds the terminal; gives it back when dropped.
#[derive(Debug)]
pub struct Guard(());

impl Guard {
    /// Takes the terminal: raw mode, alternate screen, no cursor, bracketed paste, title.
    ///
    /// # Errors
    /// When it is not a terminal or does not obey; it is given back then.
    pub fn enter(taking: &Taking) -> io::Result<Guard> {
        chain_panic_hook();
        // Not in the middle of a report: its end would be on the alternate screen, and lost with it.
        let mut out = stdout().lock();
        enable_raw_mode()?;
        TAKEN.store(true, Ordering::SeqCst);
        let guard = Guard(());
        queue!(
            out,
            Print(KEEP_TITLE),
            SetTitle(harmless(&taking.title)),
            EnterAlternateScreen,
            EnableBracketedPaste,
            Hide
        )?;
        if taking.mouse {
            queue!(out, EnableMouseCapture)?;
        }
        out.flush()?;
        Ok(guard)
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        restore();
    }
}

/// Whether the terminal is ours. It is not any more after a panic anywhere: nothing may be drawn then.
pub fn is_taken() -> bool {
    TAKEN.load(Ordering::SeqCst)
}

/// Gives the terminal back. Does nothing when it was given back already; never fails, because a terminal that is gone
/// needs nothing.
pub fn restore() {
    // A frame that another thread has begun is finished first: the rest of it would go over what is printed next. The lock
    // is taken again by the thread that holds it, when drawing itself panics.
    let mut out = stdout().lock();
    if !TAKEN.swap(false, Ordering::SeqCst) {
        return;
    }
    let _ = execute!(
        out,
        EndSynchronizedUpdate,
        DisableMouseCapture,
        DisableBracketedPaste,
        Show,
        LeaveAlternateScreen,
        Print(BRING_TITLE_BACK)
    );
    let _ = disable_raw_mode();
}

/// Takes or releases the mouse.
///
/// # Errors
/// When the terminal does not obey.
pub fn mouse(on: bool) -> io::Result<()> {
    let mut out = stdout().lock();
    match (is_taken(), on) {
        (false, _) => Ok(()),
        (true, true) => execute!(out, EnableMouseCapture),
        (true, false) => execute!(out, DisableMouseCapture),
    }
}

/// Writes a sequence that draws nothing: a title, a bell, a text for the clipboard. Nothing once the terminal is given
/// back.
///
/// # Errors
/// When the terminal does not obey.
pub fn aside(sequence: &str) -> io::Result<()> {
    let mut out = stdout().lock();
    if is_taken() { execute!(out, Print(sequence)) } else { Ok(()) }
}

/// Draws in one piece, so that no half-drawn frame is seen; `None` when the terminal was given back, by a panic in
/// another thread.
///
/// # Errors
/// Those of `draw` and of the terminal.
pub fn synchronized<T>(draw: impl FnOnce() -> io::Result<T>) -> io::Result<Option<T>> {
    let mut out = stdout().lock();
    if !is_taken() {
        return Ok(None);
    }
    queue!(out, BeginSynchronizedUpdate)?;
    let drawn = draw();
    execute!(out, EndSynchronizedUpdate)?;
    drawn.map(Some)
}

/// Puts [`restore`] before the panic hook that is there (a report, for one), once; the screen is neither drawn nor taken
/// until that hook has done its work. Call it after that hook was installed; [`Guard::enter`] does it too.
pub fn chain_panic_hook() {
    HOOK.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let _quiet = stdout().lock();
            restore();
            before(info);
        }));
    });
}

/// Stops this process until the shell continues it. SIGSTOP rather than SIGTSTP: the latter is ignored in an orphaned
/// process group, as under many terminals' own launchers.
///
/// # Errors
/// When the signal cannot be sent.
pub fn stop_self() -> io::Result<()> {
    rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::STOP).map_err(io::Error::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn giving_back_a_terminal_that_was_not_taken_does_nothing() {
        assert!(!is_taken());
        restore();
        restore();
        assert!(!is_taken());
    }
}
