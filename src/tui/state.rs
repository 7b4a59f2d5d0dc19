//! What the screens share and remember between two frames: which one is shown, overlays, messages, what is asked and not
//! answered yet. What one screen alone remembers is in [`super::screens`].

use std::sync::Arc;

use crate::model::snapshot::{OrgView, RunView, WindowView};
use crate::model::{Family, Mono, OrgId, RunSlot, RunStatus, Snapshot};

use super::TuiExit;
use super::action::{Action, Context};
use super::attention::Called;
use super::backstage::{Driver, Errand};
use super::field::TextField;
use super::keymap::Keymap;
use super::screens::batches::BatchesUi;
use super::screens::live::LiveUi;
use super::screens::log::LogUi;
use super::screens::planner::PlannerUi;
use super::screens::raise::Raise;
use super::screens::requests::RequestsUi;
use super::screens::runs::RunsUi;
use super::screens::{self, Screen};
use super::theme::ThemeName;
use super::zone::Zone;

pub use super::gate::{Ask, CapAsk, Deed, Gate};

/// What lies over a screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Overlay {
    /// The list of actions.
    Help {
        /// What is searched for; empty shows all.
        search: TextField,
        /// Lines scrolled down.
        scroll: usize,
    },
    /// A text to be read.
    Reader {
        /// What it is.
        title: &'static str,
        /// Its lines.
        lines: Vec<String>,
        /// Lines scrolled down.
        scroll: usize,
    },
    /// A higher limit of a run that ended at its own, to be typed.
    Raise(Box<Raise>),
    /// What to do with a running job?
    Quit {
        /// The button that Enter presses; 0 is the one that changes nothing.
        focus: usize,
    },
    /// The gate: may this be done?
    Confirm {
        /// The button that Enter presses; 0 is the one that changes nothing.
        focus: usize,
        /// What is asked.
        ask: Ask,
    },
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

impl Overlay {
    /// Its buttons, the harmless one first; empty for an overlay without buttons.
    pub fn choices(&self) -> Vec<Choice> {
        match self {
            Overlay::Help { .. } | Overlay::Reader { .. } | Overlay::Raise(_) => Vec::new(),
            Overlay::Quit { .. } => QUIT_CHOICES.to_vec(),
            Overlay::Confirm { ask, .. } => vec![
                Choice { action: Action::CloseDialog, label: ask.gate.keep() },
                Choice { action: Action::Agree, label: ask.gate.agree() },
            ],
        }
    }

    /// The button that has the focus.
    pub fn focus(&self) -> usize {
        match self {
            Overlay::Help { .. } | Overlay::Reader { .. } | Overlay::Raise(_) => 0,
            Overlay::Quit { focus } | Overlay::Confirm { focus, .. } => *focus,
        }
    }

    /// Moves the focus by buttons, round and round.
    pub fn move_focus(&mut self, by: isize) {
        let n = self.choices().len().max(1);
        if let Overlay::Quit { focus } | Overlay::Confirm { focus, .. } = self {
            *focus = focus.wrapping_add_signed(by.rem_euclid(n.cast_signed())) % n;
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
#[derive(Debug, Clone, PartialEq, Default)]
pub struct UiState {
    /// Which key does what.
    pub keymap: Arc<Keymap>,
    /// Refuses everything that changes what the engine does.
    pub read_only: bool,
    /// No colour is wanted: the theme stays as it is.
    pub no_color: bool,
    /// The built-in theme that the screen started with; `None` when it was one of a file.
    pub theme_at_start: Option<ThemeName>,
    /// The theme that the operator changed to.
    pub theme: Option<ThemeName>,
    /// The zone of the times that are shown.
    pub zone: Zone,
    /// Since when the picture is held.
    pub frozen: Option<Mono>,
    /// What the operator was called for already.
    pub called: Called,
    /// What the terminal's title says.
    pub title: String,
    /// Columns and rows.
    pub size: (u16, u16),
    /// The mouse is ours.
    pub mouse: bool,
    /// Where the log goes, for the help.
    pub log_file: Option<String>,
    /// Which screen is shown.
    pub screen: Screen,
    /// The screens shown before, the last one last; going back takes from here.
    pub before: Vec<Screen>,
    /// Who drives the run that is shown.
    pub driver: Driver,
    /// The list of runs.
    pub runs: RunsUi,
    /// The planner.
    pub planner: PlannerUi,
    /// The live screen.
    pub live: LiveUi,
    /// The sub-batches.
    pub batches: BatchesUi,
    /// The requests.
    pub requests: RequestsUi,
    /// The log.
    pub log: LogUi,
    /// What lies over the screen.
    pub overlay: Option<Overlay>,
    /// The operator (or a signal) asked to leave: how the run then ends.
    pub leaving: Option<TuiExit>,
    /// What is to be shown in place of the run that goes on here, once that has come to rest: the errand, and what it is.
    pub then: Option<(Errand, String)>,
    /// The message in the status line.
    pub toast: Option<Toast>,
    /// Commands without an answer or an effect.
    pub asked: Vec<Asked>,
    /// The number of the last command.
    pub ticket: u64,
    /// When the newest picture arrived.
    pub pictured_at: Mono,
    /// The engine has ended: no picture will come.
    pub engine_gone: bool,
}

impl UiState {
    /// Where keys go.
    pub fn context(&self) -> Context {
        match &self.overlay {
            None if screens::field(self).is_some_and(|field| field.editing) => Context::Field,
            None => self.screen.context(),
            Some(Overlay::Help { search, .. }) if search.editing => Context::Field,
            Some(Overlay::Help { .. }) => Context::Help,
            Some(Overlay::Reader { .. }) => Context::Reader,
            Some(Overlay::Raise(_)) => Context::Field,
            Some(Overlay::Quit { .. }) => Context::QuitDialog,
            Some(Overlay::Confirm { .. }) => Context::ConfirmDialog,
        }
    }

    /// Opens the question what becomes of a run that goes on. A held picture is let go of: this is decided by what is.
    pub(super) fn ask_how_to_leave(&mut self) {
        self.frozen = None;
        self.overlay = Some(Overlay::Quit { focus: 0 });
    }

    /// Drops a question about the run that is shown: it is over, or another one is shown from now on.
    pub fn drop_question(&mut self) {
        let about_it = match &self.overlay {
            Some(Overlay::Confirm { ask, .. }) => ask.deed.is_of_the_shown_run(),
            Some(Overlay::Quit { .. }) => true,
            Some(Overlay::Help { .. } | Overlay::Reader { .. } | Overlay::Raise(_)) | None => false,
        };
        if about_it {
            self.overlay = None;
        }
    }

    /// Shows another screen, and remembers this one for going back.
    pub fn go_to(&mut self, screen: Screen) {
        if screen != self.screen {
            self.before.retain(|before| *before != screen && *before != self.screen);
            self.before.push(self.screen);
            self.screen = screen;
        }
    }

    /// Position of the selected org; the selection follows the org, not the row.
    pub fn selected_ix(&self, snapshot: &Snapshot) -> usize {
        let found = self.live.selected.and_then(|id| snapshot.orgs.iter().position(|org| org.id == id));
        found.unwrap_or(0)
    }

    /// The selected org.
    pub fn selected_org<'s>(&self, snapshot: &'s Snapshot) -> Option<&'s OrgView> {
        snapshot.orgs.get(self.selected_ix(snapshot))
    }

    /// The window that the cap keys mean.
    pub fn selected_window<'s>(&self, snapshot: &'s Snapshot) -> Option<(&'s OrgView, &'s WindowView)> {
        let org = self.selected_org(snapshot)?;
        Some((org, org.windows.get(self.live.family % org.windows.len().max(1))?))
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

    /// Whether nothing would be cut off if the screen were left now: nothing goes on, or another process does it.
    pub fn may_leave(&self, snapshot: &Snapshot) -> bool {
        self.driver != Driver::Here || self.is_over(snapshot)
    }

    /// Whether the run that is shown was cut off: it has not come to rest, and nobody drives it.
    pub fn is_cut_off(&self, snapshot: &Snapshot) -> bool {
        let nobody = self.driver == Driver::Nobody || (self.driver == Driver::Elsewhere && self.engine_gone);
        nobody && shown_run(snapshot).is_some_and(|run| !run.status.is_over())
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
