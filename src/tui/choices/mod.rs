//! The console in lines, for a screen reader or a terminal that draws nothing: how the run stands is told when it is asked
//! for, and what can be done is a numbered list.
//!
//! A number does what the key of the screen does: the same actions, valid under the same conditions, with the same question
//! before what destroys something or costs money. What is offered is bound to ids, so that a number means what was read out,
//! whatever has moved since. Nothing here draws, waits or writes; [`shell`] does.

pub mod shell;

use crate::model::snapshot::SubBatchView;
use crate::model::{CommandOutcome, Mono, OrgId, RunStatus, Snapshot};
use crate::report::format;
use crate::report::plain::{org_phrase, standing};
use crate::report::text::harmless;

use super::action::{Action, Context, info};
use super::backstage::Driver;
use super::msg::{Msg, Reaction};
use super::screens::Screen;
use super::screens::batches::batches_of;
use super::state::{Overlay, Toast, UiState, shown_run};
use super::update::update;
use super::valid::valid;

/// A size at which every action works.
const SIZE: (u16, u16) = (120, 40);

/// See the module.
#[derive(Debug)]
pub struct Choices {
    ui: UiState,
    place: Place,
    offered: Vec<Offer>,
    /// What was told of it already.
    toast: Option<Toast>,
}

/// Which list is read out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Run,
    Orgs,
    SubBatches,
}

/// What an action is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Subject {
    Run,
    Org(OrgId),
    SubBatch(u32),
}

/// What a number means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Offer {
    Go(Place),
    Do(Subject, Action),
}

impl Choices {
    /// For a run that this process drives.
    pub fn new(read_only: bool) -> Choices {
        let ui = UiState { size: SIZE, read_only, driver: Driver::Here, screen: Screen::Live, ..UiState::default() };
        Choices { ui, place: Place::Run, offered: Vec::new(), toast: None }
    }

    /// What is said first.
    pub fn greeting() -> &'static str {
        "press Enter to hear how the run stands and what can be done"
    }

    /// Takes a line that was typed: the number of a choice, or nothing. Gives what is read out, and what is to be done.
    pub fn take(&mut self, line: &str, snapshot: &Snapshot, now: Mono) -> (Vec<String>, Vec<Reaction>) {
        let line = line.trim();
        if line.is_empty() {
            self.place = Place::Run;
            self.ui.overlay = None;
            let mut lines = standing(snapshot);
            lines.extend(self.list(snapshot));
            return (lines, Vec::new());
        }
        let chosen = line.parse::<usize>().ok().and_then(|n| self.offered.get(n.checked_sub(1)?)).copied();
        let Some(chosen) = chosen else {
            let remedy = match self.offered.len() {
                0 => Choices::greeting().to_owned(),
                n => format!("type a number from 1 to {n}, or {}", Choices::greeting()),
            };
            return (vec![format!("{} is no choice: {remedy}", harmless(line))], Vec::new());
        };
        match chosen {
            Offer::Go(place) => {
                self.place = place;
                (self.list(snapshot), Vec::new())
            }
            Offer::Do(subject, action) => {
                self.look_at(subject, action);
                let reactions = update(&mut self.ui, Msg::Act(action), snapshot, now);
                self.place = Place::Run;
                let mut lines = self.question();
                lines.extend(self.said());
                if self.ui.overlay.is_some() {
                    lines.extend(self.list(snapshot));
                } else {
                    // What comes next begins with how the run stands then.
                    self.offered.clear();
                }
                (lines, reactions)
            }
        }
    }

    /// A command was answered. Gives what is read out.
    pub fn answered(&mut self, ticket: u64, outcome: CommandOutcome, snapshot: &Snapshot, now: Mono) -> Vec<String> {
        update(&mut self.ui, Msg::Answered { ticket, outcome }, snapshot, now);
        self.said()
    }

    /// A new message of the status line.
    fn said(&mut self) -> Vec<String> {
        if self.toast == self.ui.toast {
            return Vec::new();
        }
        self.toast.clone_from(&self.ui.toast);
        self.toast.iter().map(|toast| harmless(&toast.text).into_owned()).collect()
    }

    /// What the gate asks.
    fn question(&self) -> Vec<String> {
        match &self.ui.overlay {
            Some(Overlay::Confirm { ask, .. }) => {
                let lines = ask.lines.iter().filter(|line| !line.is_empty()).map(|line| harmless(line).into_owned());
                std::iter::once(ask.gate.title().to_owned()).chain(lines).collect()
            }
            Some(Overlay::Quit { .. }) => vec!["leave? the run goes on until it is drained or stopped".to_owned()],
            _ => Vec::new(),
        }
    }

    /// Offers what can be done, and reads it out.
    fn list(&mut self, snapshot: &Snapshot) -> Vec<String> {
        let offers = match &self.ui.overlay {
            Some(overlay) => {
                let choices = overlay.choices().into_iter();
                choices.map(|choice| (Offer::Do(Subject::Run, choice.action), choice.label.to_owned())).collect()
            }
            None => match self.place {
                Place::Run => self.of_run(snapshot),
                Place::Orgs => self.of_orgs(snapshot),
                Place::SubBatches => self.of_sub_batches(snapshot),
            },
        };
        let lines = offers.iter().enumerate().map(|(at, (_, words))| format!("{}. {words}", at + 1)).collect();
        self.offered = offers.into_iter().map(|(offer, _)| offer).collect();
        lines
    }

    fn of_run(&mut self, snapshot: &Snapshot) -> Vec<(Offer, String)> {
        let paused = shown_run(snapshot).is_some_and(|run| run.status == RunStatus::Paused);
        let pause = if paused { "let the run go on" } else { "pause the run" };
        let (orgs, subs) = (self.of_orgs(snapshot).len() > 1, self.of_sub_batches(snapshot).len() > 1);
        let mut offers = Vec::new();
        self.add(&mut offers, Subject::Run, Action::PauseRun, snapshot, || pause.to_owned());
        if orgs {
            offers.push((Offer::Go(Place::Orgs), "pause an org, or let one go on".to_owned()));
        }
        if subs {
            offers
                .push((Offer::Go(Place::SubBatches), "cancel a sub-batch, or answer what is asked of one".to_owned()));
        }
        for (action, words) in [
            (Action::MoveToBatch, "move what waits to batches at half price"),
            (Action::FinishOnSync, "finish the whole run on the sync path"),
            (Action::Quit, "leave: drain or stop the run"),
        ] {
            self.add(&mut offers, Subject::Run, action, snapshot, || words.to_owned());
        }
        offers
    }

    fn of_orgs(&mut self, snapshot: &Snapshot) -> Vec<(Offer, String)> {
        let mut offers = Vec::new();
        for org in &snapshot.orgs {
            for (action, verb) in [(Action::ReviveOrg, "let go on"), (Action::PauseOrg, "pause")] {
                self.add(&mut offers, Subject::Org(org.id), action, snapshot, || {
                    format!("{verb}: {}", org_phrase(org))
                });
            }
        }
        offers.push((Offer::Go(Place::Run), "back".to_owned()));
        offers
    }

    fn of_sub_batches(&mut self, snapshot: &Snapshot) -> Vec<(Offer, String)> {
        let mut offers = Vec::new();
        let subs = batches_of(snapshot).map(|(_, view)| view.sub_batches.as_slice()).unwrap_or_default();
        for sub in subs {
            for (action, verb) in [
                (Action::CancelSubBatch, "cancel"),
                (Action::ReDriveSubBatch, "send again what is left of"),
                (Action::LeaveSubBatch, "leave as it is"),
            ] {
                let words = || format!("{verb}: {}", told(sub));
                self.add(&mut offers, Subject::SubBatch(sub.index), action, snapshot, words);
            }
        }
        offers.push((Offer::Go(Place::Run), "back".to_owned()));
        offers
    }

    /// Adds an action where it is of use now.
    fn add(
        &mut self,
        offers: &mut Vec<(Offer, String)>,
        subject: Subject,
        action: Action,
        snapshot: &Snapshot,
        words: impl FnOnce() -> String,
    ) {
        self.look_at(subject, action);
        if valid(action, &self.ui, snapshot).is_ok() {
            offers.push((Offer::Do(subject, action), words()));
        }
    }

    /// Goes where an action is at home, and selects what it is to be about.
    fn look_at(&mut self, subject: Subject, action: Action) {
        let is_at = |context| info(action).is_some_and(|info| info.contexts.contains(&context));
        self.ui.screen = if is_at(Context::Batches) && !is_at(Context::Live) { Screen::Batches } else { Screen::Live };
        match subject {
            Subject::Run => {}
            Subject::Org(id) => self.ui.live.selected = Some(id),
            Subject::SubBatch(index) => (self.ui.batches.selected, self.ui.batches.follow) = (Some(index), false),
        }
    }
}

/// A sub-batch, short: `sub-batch 3 at batch, in-progress, 120 requests, 12m old, asks: …`.
fn told(sub: &SubBatchView) -> String {
    let n = format::count(u64::from(sub.n_requests));
    let mut text = format!("sub-batch {} at {}, {}, {n} requests", sub.index, harmless(&sub.org), sub.status);
    if let Some(age) = sub.age_ms {
        text.push_str(&format!(", {} old", format::span(age)));
    }
    if let Some(question) = &sub.question {
        text.push_str(&format!(", asks: {}", harmless(question)));
    }
    text
}

#[cfg(test)]
mod tests;
