//! Which frontend shows a run.

use std::io::{self, IsTerminal};

use super::options::ShowArgs;

/// Which frontend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Front {
    /// The screen.
    Screen,
    /// Plain lines.
    Plain,
    /// Plain lines, and what can be done as a numbered list.
    Choices,
    /// NDJSON.
    Json,
}

impl Front {
    /// As asked; without a terminal at both ends, or in a place that says it is none, lines.
    pub(crate) fn choose(show: &ShowArgs) -> Front {
        let env = |name: &str| std::env::var_os(name).unwrap_or_default();
        let no_screen = env("TERM") == "dumb" || !env("CI").is_empty();
        if show.json {
            Front::Json
        } else if show.plain_ui {
            Front::Choices
        } else if show.headless || no_screen || !io::stdin().is_terminal() || !io::stdout().is_terminal() {
            Front::Plain
        } else {
            Front::Screen
        }
    }

    /// Whether an operator is there who can be asked while a run goes on.
    pub(crate) fn is_attended(self) -> bool {
        matches!(self, Front::Screen | Front::Choices)
    }
}
