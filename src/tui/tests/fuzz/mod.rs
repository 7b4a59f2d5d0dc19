//! Whatever is pressed, clicked and told in whatever order: nothing panics, nothing is drawn that commands the terminal,
//! and the rules of [`rules`] hold.
//!
//! A seed is an operator who goes mad, at random and in the same way on every machine. `FANDECK_FUZZ=FROM..TO` chooses
//! other seeds than those of CI.

mod backstage;
mod rng;
mod rules;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::*;
use crate::report::fixtures::Engine;
use crate::tui::action::{Context, in_context};
use crate::tui::backstage::{Answer, Driver, Errand};
use crate::tui::field::TextField;
use crate::tui::keymap::Keymap;
use crate::tui::log::Records;
use crate::tui::screens::planner::PlannerUi;
use crate::tui::screens::planner::tests::draft;
use crate::tui::shown::Shown;
use crate::tui::state::{Deed, Gate};
use crate::tui::theme::{Theme, ThemeName};
use crate::tui::view::{Scene, hit, render};
use crate::tui::wires::key_msg;

use rng::Rng;
use rules::{Step, Wish};

/// Inputs of an operator before the next one begins.
const STEPS: usize = 120;

/// What the operators came by, all together.
#[derive(Debug, Default)]
struct Seen {
    agreed: BTreeMap<String, u32>,
    screens: BTreeSet<String>,
    contexts: BTreeSet<Context>,
    errands: BTreeSet<String>,
    n_commands: usize,
}

/// A console, and everything around it.
struct World {
    rng: Rng,
    ui: UiState,
    shown: Shown,
    engine: Engine,
    now: Mono,
    errands: VecDeque<(u64, Errand)>,
    tickets: VecDeque<u64>,
    /// Errands that were agreed to.
    agreed: Vec<Errand>,
    /// Which run is shown, and that of which the open question was asked.
    run_no: u32,
    asked_of: u32,
    log: VecDeque<String>,
}

fn name(of: &impl std::fmt::Debug) -> String {
    format!("{of:?}").chars().take_while(|c| c.is_alphanumeric()).collect()
}

impl World {
    fn new(seed: u64) -> World {
        let mut rng = Rng(seed);
        let keymap = if rng.percent(30) { Keymap::load("vim").unwrap() } else { Keymap::default() };
        let draft = rng.percent(80).then(|| {
            let mut draft = draft(rng.percent(80).then_some("in.jsonl"));
            if rng.percent(50) {
                draft.confirm_above = Money::ZERO;
            }
            Box::new(draft)
        });
        // Some have come to plan, and nothing goes on yet.
        let plans = rng.percent(25);
        let (screen, driver) = if plans {
            (Screen::Planner, Driver::Nothing)
        } else {
            let drivers = [Driver::Nothing, Driver::Here, Driver::Here, Driver::Elsewhere, Driver::Nobody];
            (*rng.one(&Screen::ALL), *rng.one(&drivers))
        };
        let ui = UiState {
            keymap: Arc::new(keymap),
            read_only: rng.percent(25),
            size: (120, 40),
            mouse: true,
            screen,
            driver,
            planner: PlannerUi { draft, ..PlannerUi::default() },
            runs: runs(),
            ..UiState::default()
        };
        let mut shown = Shown::new(Records::default());
        shown.renew(Arc::new(if ui.driver == Driver::Nothing {
            Snapshot::default()
        } else {
            backstage::picture(&mut rng)
        }));
        World {
            rng,
            ui,
            shown,
            engine: Engine::showing(Snapshot::default()),
            now: Mono(5_000_000),
            errands: VecDeque::new(),
            tickets: VecDeque::new(),
            agreed: Vec::new(),
            run_no: 0,
            asked_of: 0,
            log: VecDeque::new(),
        }
    }

    /// A key that means something here, or any other.
    fn key(&mut self) -> Option<Msg> {
        let context = self.ui.context();
        if self.rng.percent(30) && matches!(context, Context::ConfirmDialog) {
            return Some(Msg::Act(Action::Agree));
        }
        if self.rng.percent(40) && context == Context::Field {
            return self.text();
        }
        let destroying: Vec<Action> =
            in_context(context).filter(|info| info.destroys).map(|info| info.action).collect();
        if !destroying.is_empty() && self.rng.percent(20) {
            return Some(Msg::Act(*self.rng.one(&destroying)));
        }
        let all: Vec<_> = match self.rng.percent(80) {
            true => in_context(context).flat_map(|info| self.ui.keymap.keys(info.action)).collect(),
            false => registry().flat_map(|info| self.ui.keymap.keys(info.action)).collect(),
        };
        let event = match self.rng.percent(95) {
            true => self.rng.one(&all).event(),
            false => KeyEvent::new(KeyCode::Char(char::from(self.rng.below(256) as u8)), KeyModifiers::empty()),
        };
        // Whoever leaves at once sees little.
        let leaves = |msg: &Msg| matches!(msg, Msg::Act(Action::Quit | Action::Interrupt));
        let msg = key_msg(&self.ui, &event)?;
        (!leaves(&msg) || self.rng.percent(30)).then_some(msg)
    }

    /// What is typed into a field: the dollars of a dear launch sometimes, else anything.
    fn text(&mut self) -> Option<Msg> {
        let dollars = self.ui.planner.draft.as_ref().and_then(|draft| draft.dollars_to_type());
        if let (Some(dollars), true) = (dollars.filter(|_| self.ui.planner.asks.is_some()), self.rng.percent(60)) {
            self.ui.planner.field = TextField { text: dollars, editing: true };
            return Some(Msg::Act(Action::KeepText));
        }
        let chars: Vec<char> = backstage::TEXTS.concat().chars().chain("0123456789".chars()).collect();
        Some(if self.rng.percent(15) { Msg::Erase } else { Msg::Type(*self.rng.one(&chars)) })
    }

    /// A place where something is, if one is found soon.
    fn place(&mut self) -> (u16, u16) {
        let (columns, rows) = (usize::from(self.ui.size.0) + 2, usize::from(self.ui.size.1) + 2);
        let mut place = (0, 0);
        for _ in 0..12 {
            place = (self.rng.below(columns) as u16, self.rng.below(rows) as u16);
            if hit::at(&self.ui, self.shown.drawn().0, place.0, place.1).is_some() {
                break;
            }
        }
        place
    }

    fn size(&mut self) -> (u16, u16) {
        match self.rng.below(4) {
            0 => *self.rng.one(&[(0, 0), (1, 1), (39, 9), (40, 10), (300, 2), (2, 100), (200, 60)]),
            1 => (self.rng.below(160) as u16, self.rng.below(50) as u16),
            _ => *self.rng.one(&[(80, 24), (120, 40), (60, 16)]),
        }
    }

    fn input(&mut self) -> Option<Msg> {
        self.now = self.now + Duration::from_millis(self.rng.next() % 1_500);
        match self.rng.below(100) {
            0..45 => self.key(),
            45..60 => {
                let (column, row) = self.place();
                Some(Msg::Click(column, row))
            }
            60..65 => {
                let (column, row) = self.place();
                Some(Msg::Wheel { column, row, down: self.rng.percent(50) })
            }
            65..70 => {
                let (columns, rows) = self.size();
                Some(Msg::Resize(columns, rows))
            }
            70..80 if self.ui.driver != Driver::Nothing => {
                let picture = backstage::picture(&mut self.rng);
                self.shown.renew(Arc::new(picture));
                Some(Msg::Picture)
            }
            70..92 => self.answer(),
            92..93 => Some(Msg::EngineGone),
            93..94 => Some(Msg::Signal(*self.rng.one(&[TuiExit::Terminated, TuiExit::HungUp, TuiExit::Interrupted]))),
            _ => Some(Msg::Tick),
        }
    }

    /// Something that was asked for is answered, in any order, sometimes late.
    fn answer(&mut self) -> Option<Msg> {
        if let Some(ticket) = self.tickets.pop_front() {
            return Some(Msg::Answered { ticket, outcome: backstage::outcome(&mut self.rng) });
        }
        let at = self.rng.below(self.errands.len().max(1));
        // A run that was asked for long ago may come at any time.
        let late = self.rng.percent(15).then(|| (0, Errand::Open { dir: "/late".into() }));
        let (ticket, errand) = late.or_else(|| self.errands.remove(at))?;
        let answer = backstage::answer(&mut self.rng, &errand, &self.engine.handle());
        if let Answer::Attached(Ok(_)) | Answer::Piloting(Ok(_)) = &answer {
            self.run_no += 1;
            let picture = backstage::picture(&mut self.rng);
            self.shown.renew(Arc::new(picture));
        }
        Some(Msg::Told { ticket, answer })
    }

    /// One input, held against the rules, and the picture after it. `false` when the screens were left.
    fn step(&mut self, seen: &mut Seen) -> bool {
        let Some(msg) = self.input() else { return true };
        self.log.push_back(format!("{:?} {:?}: {msg:.300?}", self.ui.screen, self.ui.context()));
        if self.log.len() > 12 {
            self.log.pop_front();
        }
        let (before, meant) = (self.ui.clone(), self.shown.meant(&msg));
        let wish = Wish::of(&before, &msg, &meant);
        self.note(&wish, seen);
        let reactions = update(&mut self.ui, msg, &meant, self.now);
        self.shown.hold(self.ui.frozen.is_some());
        let (newest, question_is_of_this_run) = (self.shown.newest(), self.asked_of == self.run_no);
        let (after, errands) = (&self.ui, &self.agreed[..]);
        let step = Step { wish: &wish, before: &before, after, newest, question_is_of_this_run, errands };
        step.hold(&reactions);
        self.look_at_the_overlay(&before);
        seen.screens.insert(name(&self.ui.screen));
        seen.contexts.insert(self.ui.context());
        let left = !exits(&reactions).is_empty();
        for reaction in reactions {
            match reaction {
                Reaction::Ask { ticket, errand } => {
                    seen.errands.insert(name(&errand));
                    self.errands.push_back((ticket, errand));
                }
                Reaction::Send { ticket, .. } => {
                    seen.n_commands += 1;
                    self.tickets.push_back(ticket);
                }
                _ => {}
            }
        }
        if self.rng.percent(50) {
            self.draw();
        }
        !left
    }

    fn note(&mut self, wish: &Wish, seen: &mut Seen) {
        let Some(deed) = &wish.agreed else { return };
        if let Some(Overlay::Confirm { ask, .. }) = &self.ui.overlay {
            *seen.agreed.entry(name(&ask.gate)).or_default() += 1;
        }
        if let Deed::Errand { errand, .. } = deed {
            self.agreed.push(errand.clone());
        }
    }

    /// Whatever opens has its focus on what changes nothing.
    fn look_at_the_overlay(&mut self, before: &UiState) {
        let Some(overlay) = &self.ui.overlay else { return };
        let kind = std::mem::discriminant(overlay);
        if before.overlay.as_ref().map(std::mem::discriminant) == Some(kind) {
            return;
        }
        assert_eq!(overlay.focus(), 0, "{overlay:?}");
        if matches!(overlay, Overlay::Confirm { .. }) {
            self.asked_of = self.run_no;
        }
    }

    fn draw(&mut self) {
        let (columns, rows) = self.ui.size;
        let mut buf = Buffer::empty(Rect::new(0, 0, columns, rows));
        let (snapshot, log) = self.shown.drawn();
        let (theme, ascii) = (Theme::of(ThemeName::Dark), self.rng.percent(25));
        render(&mut buf, &Scene { ui: &self.ui, snapshot, theme: &theme, log, ascii, now: self.now });
        for cell in &buf.content {
            assert!(!cell.symbol().chars().any(|c| c.is_control() || c == '\u{202e}'), "{:?}", cell.symbol());
            assert!(!ascii || cell.symbol().is_ascii(), "{:?}", cell.symbol());
        }
    }
}

/// The operators of some seeds, one after the other.
fn operators(seeds: std::ops::Range<u64>) -> Seen {
    let mut seen = Seen::default();
    for seed in seeds {
        let mut world = World::new(seed);
        let told = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            for _ in 0..STEPS {
                if !world.step(&mut seen) {
                    break;
                }
            }
        }));
        if let Err(panic) = told {
            let lately: Vec<String> = world.log.iter().cloned().collect();
            eprintln!("seed {seed}, read-only {}; lately:\n{}", world.ui.read_only, lately.join("\n"));
            std::panic::resume_unwind(panic);
        }
    }
    seen
}

/// Those of CI, or of `FANDECK_FUZZ=FROM..TO`.
fn seeds(ours: std::ops::Range<u64>) -> std::ops::Range<u64> {
    let Ok(wanted) = std::env::var("FANDECK_FUZZ") else { return ours };
    let (from, to) = wanted.split_once("..").unwrap();
    from.parse().unwrap()..to.parse().unwrap()
}

#[test]
fn operators_who_go_mad_break_nothing_destroy_nothing_and_change_nothing_that_they_may_not() {
    let seen = operators(seeds(0..300));
    // They have to come by everything, or they prove nothing.
    assert_eq!(seen.agreed.len(), Gate::ALL.len(), "{:?}", seen.agreed);
    assert_eq!(seen.screens.len(), Screen::ALL.len(), "{:?}", seen.screens);
    assert_eq!(seen.contexts.len(), Context::ALL.len(), "{:?}", seen.contexts);
    assert!(seen.errands.len() >= 14 && seen.n_commands >= 40, "{} {:?}", seen.n_commands, seen.errands);
}
