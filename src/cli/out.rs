//! Writing to standard output and standard error, where a closed pipe is not an error: the reader has had enough.

use std::io::{self, Write};

use super::failure::{Failure, Outcome};

/// Prints bytes and gives exit code 0.
pub(crate) fn print_bytes(bytes: &[u8]) -> Outcome {
    let mut out = io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::usage(format!("failed to write to standard output: {error}")))
        }
        _ => Ok(0),
    }
}

/// Prints a text.
pub(crate) fn print(text: &str) -> Outcome {
    print_bytes(text.as_bytes())
}

/// A line for people, on standard error; into the log while the screen has the terminal, because only the renderer writes
/// to that, and while that takes nothing.
pub(crate) fn say(line: &str) {
    if crate::tui::guard::is_taken() || crate::tui::is_stuck() {
        tracing::warn!("{}", line.trim_start_matches("fandeck: "));
        return;
    }
    // Nobody reads standard error when it is closed.
    let _ = writeln!(io::stderr().lock(), "{line}");
}
