//! What the screens remember between two frames: selection, overlays, messages, what is asked and not answered yet.

use crate::model::snapshot::{OrgView, RunView, WindowView};
use crate::model::{Command, Family, Mono, OrgId, RunSlot, RunStatus, Snapshot};

use super::TuiExit;
use super::action::{Action, Context};
use super::batches::BatchesUi;

/// How much of the screen the log takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LogSize {
    /// What the orgs leave.
    #[default]
    Small,
    /// Half of the room below the header.
    Half,
    /// All of the room below the header.
    Full,
}

/// What lies over the live screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Overlay {
    /// The list of actions.
    Help {
        /// What is searched for; empty shows all.
        search: String,
        /// Keys go into the search field.
        editing: bool,
        /// Lines scrolled down.
        scroll: usize,
    },
    /// What to do with a running job?
    Quit {
        /// The button that Enter presses; 0 is the one that changes nothing.
        focus: usize,
    },
    /// May the cap pass the polite one?
    Cap {
        /// The button that Enter presses; 0 is the one that changes nothing.
        focus: usize,
        /// The change that is asked about, as it was shown.
        ask: CapAsk,
    },
    /// May sub-batches be canceled?
    Batch {
        /// The button that Enter presses; 0 is the one that changes nothing.
        focus: usize,
        /// What is asked.
        ask: BatchAsk,
    },
}

/// What is asked about sub-batches, with what the operator saw.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BatchAsk {
    /// What is sent when the operator agrees.
    pub command: Command,
    /// What it is, for the message.
    pub what: String,
    /// What is at stake.
    pub lines: Vec<String>,
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

/// A button of a dialog.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Choice {
    /// What it does.
    pub action: Action,
    /// What is written on it.
    pub label: &'static str,
}

const QUIT_CHOICES: &[Choice] = &[
    Choice { action: Action::CloseDialog, label: "Stay" },
    Choice { action: Action::Drain, label: "Drain" },
    Choice { action: Action::StopNow, label: "Stop now" },
];

const CAP_CHOICES: &[Choice] =
    &[Choice { action: Action::CloseDialog, label: "Keep" }, Choice { action: Action::AgreeCap, label: "Raise" }];

const BATCH_CHOICES: &[Choice] = &[
    Choice { action: Action::CloseDialog, label: "Wait on" },
    Choice { action: Action::AgreeBatch, label: "Cancel it" },
];

impl Overlay {
    /// Its buttons, the harmless one first; empty for an overlay without buttons.
    pub fn choices(&self) -> &'static [Choice] {
        match self {
            Overlay::Help { .. } => &[],
            Overlay::Quit { .. } => QUIT_CHOICES,
            Overlay::Cap { .. } => CAP_CHOICES,
            Overlay::Batch { .. } => BATCH_CHOICES,
        }
    }

    /// The button that has the focus.
    pub fn focus(&self) -> usize {
        match self {
            Overlay::Help { .. } => 0,
            Overlay::Quit { focus } | Overlay::Cap { focus, .. } | Overlay::Batch { focus, .. } => *focus,
        }
    }
}

/// How a message looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// Asked, not answered.
    Asked,
    /// Done.
    Good,
    /// Refused, or of no effect.
    Bad,
}

/// A message in the status line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Toast {
    /// What it says.
    pub text: String,
    /// How it looks.
    pub tone: Tone,
    /// When it goes away by itself.
    pub until: Mono,
}

/// A command that was sent and not answered yet, or whose effect no picture shows yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// Its number; answers carry it.
    pub ticket: u64,
    /// What was asked, for the message.
    pub what: String,
    /// The cap that it sets.
    pub cap: Option<(OrgId, Family, u32)>,
    /// When it was sent.
    pub at: Mono,
}

/// The state of the screens.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UiState {
    /// Refuses everything that changes what the engine does.
    pub read_only: bool,
    /// Leaves a while after every run is over.
    pub leave_when_done: bool,
    /// Columns and rows.
    pub size: (u16, u16),
    /// The mouse is ours.
    pub mouse: bool,
    /// Where the log goes, for the help.
    pub log_file: Option<String>,
    /// The selected org; the first one without.
    pub selected: Option<OrgId>,
    /// Which of the selected org's families the cap keys mean.
    pub family: usize,
    /// The screen of the sub-batches, when it is shown.
    pub batches: Option<BatchesUi>,
    /// What lies over the screen.
    pub overlay: Option<Overlay>,
    /// The operator (or a signal) asked to leave: how the run then ends.
    pub leaving: Option<TuiExit>,
    /// The message in the status line.
    pub toast: Option<Toast>,
    /// Size of the log pane.
    pub log_size: LogSize,
    /// The log is scrolled up and does not follow.
    pub log_scrolled: bool,
    /// Commands without an answer or an effect.
    pub asked: Vec<Asked>,
    /// The number of the last command.
    pub ticket: u64,
    /// When the newest picture arrived.
    pub pictured_at: Mono,
    /// When every run was first seen to be over.
    pub over_since: Option<Mono>,
    /// The engine has ended: no picture will come.
    pub engine_gone: bool,
}

impl UiState {
    /// Where keys go.
    pub fn context(&self) -> Context {
        match &self.overlay {
            None if self.batches.is_some() => Context::Batches,
            None => Context::Live,
            Some(Overlay::Help { editing: true, .. }) => Context::HelpSearch,
            Some(Overlay::Help { .. }) => Context::Help,
            Some(Overlay::Quit { .. }) => Context::QuitDialog,
            Some(Overlay::Cap { .. }) => Context::CapDialog,
            Some(Overlay::Batch { .. }) => Context::BatchDialog,
        }
    }

    /// Position of the selected org; the selection follows the org, not the row.
    pub fn selected_ix(&self, snapshot: &Snapshot) -> usize {
        let found = self.selected.and_then(|id| snapshot.orgs.iter().position(|org| org.id == id));
        found.unwrap_or(0)
    }

    /// The selected org.
    pub fn selected_org<'s>(&self, snapshot: &'s Snapshot) -> Option<&'s OrgView> {
        snapshot.orgs.get(self.selected_ix(snapshot))
    }

    /// The window that the cap keys mean.
    pub fn selected_window<'s>(&self, snapshot: &'s Snapshot) -> Option<(&'s OrgView, &'s WindowView)> {
        let org = self.selected_org(snapshot)?;
        Some((org, org.windows.get(self.family % org.windows.len().max(1))?))
    }

    /// The cap of a window: what was asked for last, while no picture shows it yet.
    pub fn cap(&self, org: OrgId, window: &WindowView) -> u32 {
        let asked = self.asked.iter().rev().find_map(|asked| match asked.cap {
            Some((id, family, cap)) if id == org && family == window.family => Some(cap),
            _ => None,
        });
        asked.unwrap_or(window.cap)
    }

    /// Milliseconds since the newest picture arrived: what its spans have to be aged by.
    pub fn age_ms(&self, now: Mono) -> u64 {
        u64::try_from(now.since(self.pictured_at).as_millis()).unwrap_or(u64::MAX)
    }

    /// Whether nothing goes on any more.
    pub fn is_over(&self, snapshot: &Snapshot) -> bool {
        self.engine_gone || snapshot.runs.iter().all(|run| run.status.is_over())
    }
}

/// The run that the live screen shows: the first one that goes on, else the last one.
pub fn shown_run(snapshot: &Snapshot) -> Option<&RunView> {
    snapshot.runs.iter().find(|run| !run.status.is_over()).or(snapshot.runs.last())
}

/// The runs that go on.
pub fn open_runs(snapshot: &Snapshot) -> impl Iterator<Item = (RunSlot, RunStatus)> {
    snapshot.runs.iter().filter(|run| !run.status.is_over()).map(|run| (run.slot, run.status))
}
