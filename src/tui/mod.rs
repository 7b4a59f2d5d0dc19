//! The screens: what an operator sees and does while runs go on.
//!
//! - [`screens`] are what there is to see, one module each; [`action`] is the one registry of what can be done there.
//! - [`run`] takes the terminal, draws until the operator leaves or the run is over, and gives it back.
//! - Keys become an [`action::Action`] by the [`keymap`]; [`update::update`] turns a [`msg::Msg`] (an action, a picture,
//!   time) into a new [`state::UiState`] and [`msg::Reaction`]s; [`view::render`] draws. Both are pure; the shell around
//!   them is in `shell`.
//! - [`guard`] is the terminal, taken and given back; [`log`] is where records go.
//! - [`backstage`] is what the screens ask of the product besides the picture.
//!
//! It sees only [`crate::model`] and [`crate::engine::EngineHandle`], and never makes the engine wait: the screen lives on
//! a thread of its own, so that a terminal that is blocked blocks nothing else.

pub mod action;
pub mod attention;
pub mod backstage;
pub mod choices;
mod commands;
mod copy;
pub mod field;
pub mod file;
pub mod gate;
mod glued;
pub mod guard;
pub mod keymap;
mod leaving;
pub mod log;
pub mod msg;
mod pace;
mod pulse;
mod reading;
pub mod screens;
mod shell;
mod shown;
mod signals;
mod stage;
pub mod state;
pub mod theme;
pub mod update;
pub mod valid;
pub mod view;
mod wires;
pub mod zone;

#[cfg(test)]
pub(crate) mod tests;

use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::sync::Arc;

use crate::model::{Attention, Snapshot};

use backstage::{Attached, Backstage};

pub use msg::LogMove;
pub use pulse::{give_back_stuck, is_stuck};

/// How the screen behaves.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TuiOptions {
    /// Refuse whatever changes what the engine does.
    pub read_only: bool,
    /// No colour, as `--no-color` or a non-empty `NO_COLOR` ask; wins over `theme`.
    pub no_color: bool,
    /// ASCII only.
    pub ascii: bool,
    /// Take the mouse; without it the terminal selects text.
    pub mouse: bool,
    /// Colours.
    pub theme: theme::Theme,
    /// Keys.
    pub keymap: Arc<keymap::Keymap>,
    /// How it calls when a run is over, stuck or parked.
    pub attention: Attention,
    /// The window's title.
    pub title: String,
    /// Where the log goes, for the help.
    pub log_file: Option<PathBuf>,
    /// What is planned.
    pub draft: Option<Box<screens::planner::Draft>>,
    /// The planner is shown first, when there is no run.
    pub plans_first: bool,
}

/// How the screen was left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TuiExit {
    /// Every run was over when the operator left, or there was none.
    Finished,
    /// The operator had it drained.
    Drained,
    /// The operator had it stopped.
    Stopped,
    /// Ctrl-C, or SIGINT.
    Interrupted,
    /// SIGTERM.
    Terminated,
    /// SIGHUP, or a terminal that went away.
    HungUp,
    /// A part of the program panicked: the terminal was given back, and the run can be resumed.
    Broken,
}

impl TuiExit {
    /// The exit code of the process, given the last picture: that of the runs, unless something ended them early.
    pub fn exit_code(self, snapshot: &Snapshot) -> u8 {
        let runs = snapshot.runs.iter().map(|run| run.counts.exit_code()).max().unwrap_or(0);
        match self {
            TuiExit::Broken => 1,
            // A signal that came when everything was done changes nothing.
            TuiExit::Interrupted if runs == 4 => 130,
            TuiExit::Terminated if runs == 4 => 143,
            TuiExit::HungUp if runs == 4 => 129,
            _ => runs,
        }
    }
}

/// Whether a screen can be shown: standard input and output are a terminal that obeys.
pub fn is_possible() -> bool {
    let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    io::stdin().is_terminal() && io::stdout().is_terminal() && !dumb
}

/// Whether the environment asks for no colour: `NO_COLOR` is there and not empty.
pub fn no_color_wanted() -> bool {
    std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
}

/// Shows the screens until the operator leaves, or the run is over and was to be left then: the live screen of `attached`,
/// or the list of runs without one. A run that goes on here is drained or stopped first, and waited for. Signals (SIGINT,
/// SIGTERM, SIGHUP, SIGTSTP, SIGCONT) are taken care of.
///
/// `log` tells that records came; without it the log pane is drawn with the rest only.
///
/// # Errors
/// When there is no terminal, or it does not obey. The terminal is given back in any case, unless it takes nothing any more
/// and a signal asks for the end: [`is_stuck`] says so then, and [`give_back_stuck`] is left to do.
pub async fn run(
    attached: Option<Attached>,
    backstage: Arc<dyn Backstage>,
    options: TuiOptions,
    log: Option<log::LogFeed>,
) -> io::Result<TuiExit> {
    if !is_possible() {
        return Err(io::Error::other("failed to show a screen: this is not a terminal; use --headless"));
    }
    let pulse = pulse::Pulse::default();
    let unheeded = pulse.clone();
    let signals = signals::Signals::new()?;
    let (done, left) = tokio::sync::oneshot::channel();
    std::thread::Builder::new().name("tui".to_owned()).spawn(move || {
        // The receiver is gone only when nobody wants to know any more.
        let _ = done.send(shell::on_this_thread(attached.as_ref(), backstage, &options, log, &pulse));
    })?;
    // A thread that panicked gave the terminal back in the panic hook.
    tokio::select! {
        left = left => left.unwrap_or(Ok(TuiExit::Broken)),
        exit = unheeded.stopped(signals) => Ok(exit),
    }
}
