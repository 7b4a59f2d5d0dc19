//! The gate before what destroys something or costs money: which questions there are, and what lies behind each.

use super::backstage::Errand;
use crate::model::{Command, Family, OrgId};

/// A question of the gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Gate {
    /// A cap above the polite one.
    Cap,
    /// A sub-batch is canceled.
    CancelSubBatch,
    /// The run is finished on the sync path.
    FinishOnSync,
    /// What is planned is launched.
    Launch,
    /// A pilot is sent.
    Pilot,
    /// A run is gone on with.
    Resume,
    /// A run is deleted.
    Delete,
}

impl Gate {
    /// All of them.
    pub const ALL: [Gate; 7] =
        [Gate::Cap, Gate::CancelSubBatch, Gate::FinishOnSync, Gate::Launch, Gate::Pilot, Gate::Resume, Gate::Delete];

    /// The question in a word or two, what is written on the button that changes nothing, and on the other one.
    fn words(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Gate::Cap => ("above the polite cap?", "Keep", "Raise"),
            Gate::CancelSubBatch => ("cancel?", "Wait on", "Cancel it"),
            Gate::FinishOnSync => ("finish on sync?", "Wait on", "Finish on sync"),
            Gate::Launch => ("launch?", "Keep planning", "Launch"),
            Gate::Pilot => ("send a pilot?", "Keep planning", "Send"),
            Gate::Resume => ("go on with the run?", "Not now", "Go on"),
            Gate::Delete => ("delete the run?", "Keep", "Delete"),
        }
    }

    /// The question, in a word or two.
    pub fn title(self) -> &'static str {
        self.words().0
    }

    /// What is written on the button that changes nothing.
    pub fn keep(self) -> &'static str {
        self.words().1
    }

    /// What is written on the other one.
    pub fn agree(self) -> &'static str {
        self.words().2
    }
}

/// What the gate asks, with what the operator saw. What is done when he agrees is bound here, to ids and states as they
/// were shown, so that nothing that moves meanwhile changes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ask {
    /// Which question it is.
    pub gate: Gate,
    /// The object, the numbers, the money, and what follows.
    pub lines: Vec<String>,
    /// What is done when the operator agrees.
    pub deed: Deed,
}

/// What lies behind the gate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Deed {
    /// A command.
    Command {
        /// The command.
        command: Command,
        /// What it is, for the message.
        what: String,
    },
    /// A cap above the polite one.
    SetCap(CapAsk),
    /// Something behind the screens.
    Errand {
        /// The errand.
        errand: Errand,
        /// What it is, for the message.
        what: String,
    },
}

impl Deed {
    /// Whether it is about the run that is shown, and so has no object any more when that is over or another one is shown.
    pub fn is_of_the_shown_run(&self) -> bool {
        match self {
            Deed::Command { .. } | Deed::SetCap(_) => true,
            Deed::Errand { .. } => false,
        }
    }
}

/// A change of a cap, with the figures that the operator saw.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CapAsk {
    /// The org.
    pub org: OrgId,
    /// Its name.
    pub label: String,
    /// The family.
    pub family: Family,
    /// The cap that was shown.
    pub seen: u32,
    /// The cap that is wanted.
    pub wanted: u32,
    /// The polite cap.
    pub polite: u32,
}
