//! What comes in to the screens, and what they ask of the world around them: all that [`super::update`] and the shell tell each
//! other.

use crate::model::{Command, CommandOutcome};

use super::TuiExit;
use super::action::Action;
use super::backstage::{Answer, Errand};

/// Something that came in.
#[derive(Debug)]
pub enum Msg {
    /// The operator meant something.
    Act(Action),
    /// A character for the text field.
    Type(char),
    /// The last character of the text field goes.
    Erase,
    /// A press of the left button at column and row.
    Click(u16, u16),
    /// The wheel turned at column and row.
    Wheel {
        /// Column.
        column: u16,
        /// Row.
        row: u16,
        /// Towards the operator.
        down: bool,
    },
    /// The terminal has another size.
    Resize(u16, u16),
    /// A picture arrived.
    Picture,
    /// The engine has ended: no picture will follow.
    EngineGone,
    /// The engine answered a command.
    Answered {
        /// The command's number.
        ticket: u64,
        /// What became of it.
        outcome: CommandOutcome,
    },
    /// An errand was done. When another run is shown from now on, the picture is that of the new one already.
    Told {
        /// The errand's number.
        ticket: u64,
        /// What became of it.
        answer: Answer,
    },
    /// A signal asks the program to end.
    Signal(TuiExit),
    /// Time passed.
    Tick,
}

/// Something to do outside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reaction {
    /// Hand a command to the engine; its outcome comes back with the number.
    Send {
        /// The number.
        ticket: u64,
        /// The command.
        command: Command,
    },
    /// Do an errand behind the screens; its answer comes back with the number.
    Ask {
        /// The number.
        ticket: u64,
        /// The errand.
        errand: Errand,
    },
    /// Leave the screen.
    Exit(TuiExit),
    /// Give the terminal back and stop until the shell continues us.
    Suspend,
    /// Forget what the terminal shows and draw everything.
    Redraw,
    /// Take (`true`) or release the mouse.
    Mouse(bool),
    /// Scroll the log.
    Log(LogMove),
    /// Call the operator.
    Call(String),
    /// Set the terminal's title.
    Title(String),
    /// Ask the terminal to put a text into its clipboard.
    Copy(String),
}

/// A movement in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogMove {
    /// Towards older records.
    Up,
    /// Towards newer ones.
    Down,
    /// Towards older records, by one.
    LineUp,
    /// Towards newer ones, by one.
    LineDown,
    /// To the newest, and follow.
    Follow,
}
