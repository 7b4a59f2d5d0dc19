//! Everything that can be seen: each screen with something on it, each field while something is typed into it, and each
//! overlay, with the text that it really has.
//!
//! What is told apart here is told apart by a `match` without a rest: another screen, overlay or question of the gate is
//! compiled only when it is seen here too.

use super::*;
use crate::tui::action::Context;
use crate::tui::backstage::{Answer, Assessment, Driver, Errand, PilotTerms, RunLimit};
use crate::tui::field::TextField;
use crate::tui::screens;
use crate::tui::screens::live::LogSize;
use crate::tui::screens::planner::tests::draft;
use crate::tui::screens::planner::{Knob, PlannerUi};
use crate::tui::state::{Gate, Toast, Tone};
use crate::tui::view::requests::tests::{full_ui, list_ui};

/// Something to be seen.
pub(super) struct SceneOf {
    pub(super) name: String,
    pub(super) ui: UiState,
    pub(super) snapshot: Snapshot,
}

fn scene(name: impl Into<String>, ui: UiState, snapshot: Snapshot) -> SceneOf {
    SceneOf { name: name.into(), ui, snapshot }
}

fn planner(input: Option<&str>) -> UiState {
    let planner = PlannerUi { draft: Some(Box::new(draft(input))), ..PlannerUi::default() };
    UiState { screen: Screen::Planner, driver: Driver::Nothing, planner, ..ui() }
}

/// A screen with something on it.
pub(super) fn screen(screen: Screen) -> UiState {
    match screen {
        Screen::Runs => UiState { screen, runs: runs(), ..ui() },
        Screen::Planner => planner(Some("judge.jsonl")),
        Screen::Live => UiState { screen, live: on_org(1), ..ui() },
        Screen::Batches | Screen::Log => UiState { screen, ..ui() },
        Screen::Requests => list_ui(),
    }
}

/// The screens, and what they show besides their first sight.
pub(super) fn of_screens() -> Vec<SceneOf> {
    let batches = fixtures::batches;
    let mut all: Vec<SceneOf> =
        Screen::ALL.into_iter().map(|each| scene(each.as_str(), screen(each), batches())).collect();
    for size in [LogSize::Half, LogSize::Full] {
        let ui = screen(Screen::Live);
        let live = LiveUi { log_size: size, log_scrolled: true, ..ui.live.clone() };
        all.push(scene(format!("live, log {size:?}"), UiState { live, ..ui }, fixtures::eight_orgs()));
    }
    let toast = Toast { text: "not done: 判定 \u{1b}[31m".to_owned(), tone: Tone::Bad, until: Mono(u64::MAX) };
    let noted = UiState { toast: Some(toast), read_only: true, frozen: Some(Mono::ZERO), ..screen(Screen::Live) };
    all.push(scene("live, held and read-only", noted, fixtures::strange_names()));
    all.push(scene("a request in full", full_ui(), batches()));
    all.push(scene("runs, not found yet", UiState { screen: Screen::Runs, ..ui() }, Snapshot::default()));
    all
}

/// Each field while something is typed into it.
pub(super) fn of_fields() -> Vec<SceneOf> {
    let typed = || TextField { text: "判定 cap e\u{301}".to_owned(), editing: true };
    let mut all = Vec::new();
    for each in Screen::ALL {
        let mut ui = screen(each);
        if let Some(field) = screens::field_mut(&mut ui) {
            *field = typed();
            assert_eq!(ui.context(), Context::Field, "{each:?}");
            all.push(scene(format!("{each:?}, typing"), ui, fixtures::batches()));
        }
    }
    for knob in Knob::all(3).filter(|knob| !knob.is_switch()) {
        // Without an input, the number of requests is typed, too.
        let mut ui = planner(None);
        ui.planner.draft.as_mut().unwrap().focus = knob;
        press(&mut ui, &Snapshot::default(), Action::EditKnob);
        assert_eq!(ui.context(), Context::Field, "{knob:?}");
        ui.planner.field.text = "5".to_owned();
        all.push(scene(format!("typing of {knob:?}"), ui, Snapshot::default()));
    }
    let mut ui = planner(Some("judge.jsonl"));
    ui.planner.draft.as_mut().unwrap().confirm_above = Money::ZERO;
    press(&mut ui, &Snapshot::default(), Action::Launch);
    assert!(ui.planner.asks.is_some());
    all.push(scene("a dear launch", ui, Snapshot::default()));
    all
}

/// The overlay of each kind.
pub(super) fn of_overlays() -> Vec<SceneOf> {
    let help = |search: TextField, scroll| Some(Overlay::Help { search, scroll });
    let reader = |title, lines: Vec<String>| Some(Overlay::Reader { title, lines, scroll: 999 });
    let long = vec!["a line of a report that is longer than a small screen is wide".to_owned(); 70];
    let over = |below: Screen, overlay| UiState { overlay, ..screen(below) };
    let searching = TextField { text: "cap".to_owned(), editing: true };
    let mut all = vec![
        scene("quit", over(Screen::Live, Some(Overlay::Quit { focus: 2 })), fixtures::eight_orgs()),
        scene("quit, batches", over(Screen::Batches, Some(Overlay::Quit { focus: 0 })), fixtures::batches()),
        scene("quit, disk full", over(Screen::Live, Some(Overlay::Quit { focus: 1 })), fixtures::store_blocked()),
        scene("help, searching", over(Screen::Live, help(searching, 0)), fixtures::busy()),
        scene("report", over(Screen::Runs, reader("report", long)), fixtures::busy()),
        scene("copy", over(Screen::Runs, reader("copy", vec!["/a/path".to_owned()])), fixtures::busy()),
    ];
    for each in Screen::ALL {
        all.push(scene(format!("help of {each:?}"), over(each, help(TextField::default(), 3)), fixtures::batches()));
    }
    let (mut raise, none) = asked(of_runs(), Snapshot::default(), &[Action::ResumeRun], Some(ended_at_its_limit));
    all.push(scene("a higher limit", raise.clone(), none.clone()));
    update(&mut raise, Msg::Type('7'), &none, NOW);
    press(&mut raise, &none, Action::KeepText);
    all.push(scene("a higher limit, refused", raise, none));
    all.extend(Gate::ALL.into_iter().map(gate));
    all
}

/// Which overlay it is; there are [`OVERLAYS`].
pub(super) fn kind(overlay: &Overlay) -> usize {
    match overlay {
        Overlay::Help { .. } => 0,
        Overlay::Reader { .. } => 1,
        Overlay::Quit { .. } => 2,
        Overlay::Confirm { .. } => 3,
        Overlay::Raise(_) => 4,
    }
}

pub(super) const OVERLAYS: usize = 5;

/// A question of the gate, come to as an operator comes to it.
pub(super) fn gate(gate: Gate) -> SceneOf {
    let (ui, snapshot) = match gate {
        Gate::Cap => asked(screen(Screen::Live), fixtures::busy(), &[Action::CapUp], None),
        Gate::CancelSubBatch => asked(screen(Screen::Batches), fixtures::batches(), &[Action::CancelSubBatch], None),
        Gate::FinishOnSync => asked(screen(Screen::Batches), fixtures::batches(), &[Action::FinishOnSync], None),
        Gate::Launch => asked(screen(Screen::Planner), Snapshot::default(), &[Action::Launch], None),
        Gate::Pilot => asked(screen(Screen::Planner), Snapshot::default(), &[Action::Pilot], Some(piloted)),
        Gate::Resume => asked(of_runs(), Snapshot::default(), &[Action::ReDriveRun], Some(assessed)),
        Gate::Delete => asked(of_runs(), Snapshot::default(), &[Action::DeleteRun], None),
    };
    assert!(matches!(&ui.overlay, Some(Overlay::Confirm { ask, .. }) if ask.gate == gate), "{gate:?}: {:?}", ui.toast);
    scene(format!("{gate:?}"), ui, snapshot)
}

fn of_runs() -> UiState {
    UiState { driver: Driver::Nothing, ..screen(Screen::Runs) }
}

/// The keys are pressed, and what they ask for is answered.
fn asked(
    mut ui: UiState,
    snapshot: Snapshot,
    keys: &[Action],
    answer: Option<fn(Errand) -> Answer>,
) -> (UiState, Snapshot) {
    for key in keys {
        for reaction in press(&mut ui, &snapshot, *key) {
            if let (Reaction::Ask { ticket, errand }, Some(answer)) = (reaction, answer) {
                update(&mut ui, Msg::Told { ticket, answer: answer(errand) }, &snapshot, NOW);
            }
        }
    }
    (ui, snapshot)
}

fn piloted(errand: Errand) -> Answer {
    let Errand::AssessPilot(order) = errand else { panic!("{errand:?}") };
    let range = (Money::from_usd(0.02), Money::from_usd(0.31));
    Answer::PilotAssessed(order, Ok(PilotTerms { n: 40, expected: Some(Money::from_usd(0.05)), range }))
}

fn assessed(errand: Errand) -> Answer {
    Answer::Assessed(Ok(assessment(errand)))
}

fn ended_at_its_limit(errand: Errand) -> Answer {
    Answer::Assessed(Ok(Assessment { ended_at: Some(RunLimit::Cost(Money::from_usd(50.0))), ..assessment(errand) }))
}

/// As much as a question can say.
fn assessment(errand: Errand) -> Assessment {
    let Errand::Assess { dir, re_drive } = errand else { panic!("{errand:?}") };
    Assessment {
        dir,
        re_drive,
        input: "judge-input-of-the-whole-of-november.jsonl".to_owned(),
        n_left: 141_600,
        in_batches: 4_000,
        cost: "$179.00 ($120.00 to $240.00)".to_owned(),
        orgs: ["high-prio", "batch", "low-prio"].map(str::to_owned).to_vec(),
        expected: Some(Money::from_usd(179.0)),
        spent: Money::from_usd(49.9),
        max_cost: Some(Money::from_usd(250.0)),
        ended_at: None,
    }
}
