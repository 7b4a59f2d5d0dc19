use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::draft::Audited;
use super::*;
use crate::catalog::Catalog;
use crate::model::{CostPref, Family, PathChoice, Route, Snapshot};
use crate::plan::{Figure, Knobs, Limits, OrgKnobs};
use crate::tui::msg::Msg;
use crate::tui::screens::Screen;
use crate::tui::state::Overlay;
use crate::tui::update::update;

/// A draft of 141,600 requests over three orgs, the limits of one of them known.
pub(in crate::tui) fn draft(input: Option<&str>) -> Draft {
    let catalog = Arc::new(Catalog::builtin());
    let labels = ["high-prio", "batch", "low-prio"];
    let limits = Limits {
        requests: Some(Figure::given(30_000.0)),
        output_tokens: Some(Figure::given(1e6)),
        ..Limits::default()
    };
    let learnt = Learnt { limits: BTreeMap::from([("high-prio".to_owned(), limits.clone())]), ..Learnt::default() };
    let orgs = labels.map(|label| OrgKnobs::unknown(label, Family::Haiku)).map(|org| match org.label.as_str() {
        "high-prio" => OrgKnobs { limits: limits.clone(), ..org },
        _ => org,
    });
    let knobs = Knobs::assumed(141_600, "claude-haiku-4-5", orgs.to_vec(), &catalog);
    let choice = |label: &str| OrgChoice {
        label: label.to_owned(),
        caps: Family::ALL.map(Family::default_cap),
        chosen: true,
        has_key: true,
    };
    let orgs = labels.map(choice).to_vec();
    Draft::new(
        input.map(str::to_owned),
        knobs,
        orgs,
        BTreeMap::from([("claude-haiku-4-5".to_owned(), learnt)]),
        catalog,
    )
}

fn screen(input: Option<&str>) -> UiState {
    let planner = PlannerUi { draft: Some(Box::new(draft(input))), ..PlannerUi::default() };
    UiState { screen: Screen::Planner, planner, size: (120, 40), ..UiState::default() }
}

fn press(ui: &mut UiState, actions: &[Action]) {
    for action in actions {
        update(ui, Msg::Act(*action), &Snapshot::default(), Mono::ZERO);
    }
}

fn enter(ui: &mut UiState, text: &str) {
    press(ui, &[Action::EditKnob]);
    for c in text.chars() {
        update(ui, Msg::Type(c), &Snapshot::default(), Mono::ZERO);
    }
    press(ui, &[Action::KeepText]);
}

fn plan_of(ui: &UiState) -> &Draft {
    ui.planner.draft.as_ref().unwrap()
}

fn focus(ui: &mut UiState, knob: Knob) {
    ui.planner.draft.as_mut().unwrap().focus = knob;
}

#[test]
fn every_knob_turns_both_ways_and_the_plan_follows_at_once() {
    for knob in Knob::all(3) {
        for up in [Action::KnobUp, Action::KnobDown] {
            let mut ui = screen(None);
            // From the ends of their ranges some knobs go one way only.
            press(&mut ui, &[Action::Last, Action::First]);
            focus(&mut ui, Knob::Procs);
            press(&mut ui, &[Action::KnobUp]);
            focus(&mut ui, Knob::Deadline);
            press(&mut ui, &[Action::KnobDown]);
            focus(&mut ui, knob);
            let before = plan_of(&ui).clone();
            press(&mut ui, &[up]);
            let after = plan_of(&ui);
            assert_ne!(before.knobs, after.knobs, "{knob:?} {up:?}");
            assert_eq!(after.plan, crate::plan::Plan::of(&after.knobs, &after.catalog), "{knob:?} {up:?}");
        }
    }
}

#[test]
fn values_are_typed_and_taken_and_what_makes_no_sense_stays_to_be_mended() {
    let mut ui = screen(None);
    enter(&mut ui, "1.5M");
    assert_eq!(plan_of(&ui).plan.n_to_send, 1_500_000);
    enter(&mut ui, "lots");
    assert!(ui.planner.field.editing && ui.toast.as_ref().unwrap().text.contains("is not a number from 1"));
    assert_eq!(plan_of(&ui).plan.n_to_send, 1_500_000);
    press(&mut ui, &[Action::DropText]);
    assert!(!ui.planner.field.editing);
    for (knob, text) in
        [(Knob::Deadline, "6h"), (Knob::Procs, "4"), (Knob::SubBatchSize, "10k"), (Knob::TokensOut, "90")]
    {
        focus(&mut ui, knob);
        enter(&mut ui, text);
    }
    let knobs = &plan_of(&ui).knobs;
    assert_eq!(knobs.deadline, Some(Duration::from_secs(6 * 3_600)));
    assert_eq!((knobs.dispatch.procs, knobs.batch.size, knobs.tokens.output.mid), (4, 10_000, 90.0));
    assert!(plan_of(&ui).plan.deadline.is_some());
}

#[test]
fn a_model_is_found_by_a_part_of_its_name_and_brings_its_caps_and_what_is_known_of_it() {
    let mut ui = screen(None);
    focus(&mut ui, Knob::Model);
    enter(&mut ui, "opus 4-8");
    let draft = plan_of(&ui);
    assert_eq!((draft.knobs.model.as_str(), draft.knobs.orgs[0].cap), ("claude-opus-4-8", 40));
    assert!(draft.knobs.orgs[0].limits.is_empty(), "the limits of another model are not its own");
    enter(&mut ui, "haiku-4-5");
    assert!(!plan_of(&ui).knobs.orgs[0].limits.is_empty());
    enter(&mut ui, "my-own-model");
    assert!(plan_of(&ui).plan.notes.iter().any(|note| note.contains("my-own-model is not in the catalog")));
}

#[test]
fn orgs_are_switched_off_and_on_and_a_plan_without_any_says_so() {
    let mut ui = screen(None);
    for ix in 0..3 {
        focus(&mut ui, Knob::Org(ix));
        press(&mut ui, &[Action::KnobUp]);
    }
    assert!(plan_of(&ui).chosen_orgs().is_empty());
    assert!(plan_of(&ui).plan.notes.iter().any(|note| note.contains("no org is chosen")));
    press(&mut ui, &[Action::KnobDown]);
    assert_eq!(plan_of(&ui).chosen_orgs(), ["low-prio"]);
}

#[test]
fn the_preferences_change_the_verdict_and_a_forced_path_wins() {
    let mut ui = screen(None);
    assert_eq!(plan_of(&ui).plan.route, Route::Sync);
    focus(&mut ui, Knob::CostPref);
    press(&mut ui, &[Action::KnobUp]);
    assert_eq!((plan_of(&ui).knobs.policy.cost_pref, plan_of(&ui).plan.route), (CostPref::Cost, Route::Batch));
    focus(&mut ui, Knob::Path);
    press(&mut ui, &[Action::KnobUp]);
    assert_eq!((plan_of(&ui).knobs.path, plan_of(&ui).plan.route), (PathChoice::Sync, Route::Sync));
}

#[test]
fn the_number_of_requests_of_an_input_is_not_to_be_turned_and_says_why() {
    let mut ui = screen(Some("judge.jsonl"));
    press(&mut ui, &[Action::First, Action::KnobUp]);
    assert!(ui.toast.as_ref().unwrap().text.contains("that of judge.jsonl"));
    assert_eq!(plan_of(&ui).plan.n_to_send, 141_600);
    assert_eq!(plan_of(&ui).audited, Audited::Due);
}

#[test]
fn panels_go_round_and_the_focus_stops_at_the_ends() {
    let mut ui = screen(None);
    press(&mut ui, &[Action::MoveUp]);
    assert_eq!(plan_of(&ui).focus, Knob::N);
    press(&mut ui, &[Action::Last, Action::MoveDown]);
    assert_eq!(plan_of(&ui).focus, Knob::Org(2));
    press(&mut ui, &[Action::PreviousPanel]);
    assert_eq!(plan_of(&ui).panel, Panel::Audit);
    press(&mut ui, &[Action::NextPanel]);
    assert_eq!(plan_of(&ui).panel, Panel::Table);
}

#[test]
fn without_anything_to_plan_leaving_and_other_screens_work_all_the_same() {
    let mut ui = UiState { screen: Screen::Planner, size: (120, 40), ..UiState::default() };
    press(&mut ui, &[Action::KnobUp]);
    assert!(ui.toast.as_ref().unwrap().text.contains("fandeck plan"));
    assert!(!update(&mut ui, Msg::Act(Action::Quit), &Snapshot::default(), Mono::ZERO).is_empty());
}

#[test]
fn a_launch_repeats_route_cost_and_orgs_and_orders_what_is_on_the_screen() {
    let mut ui = screen(Some("judge.jsonl"));
    focus(&mut ui, Knob::Org(1));
    press(&mut ui, &[Action::KnobUp]);
    focus(&mut ui, Knob::Procs);
    press(&mut ui, &[Action::KnobUp, Action::Launch]);
    let Some(Overlay::Confirm { ask, .. }) = &ui.overlay else { panic!("no gate") };
    let text = ask.lines.join("\n");
    for words in [
        "judge.jsonl: 141,600 requests to claude-haiku-4-5",
        "route  sync",
        "cost   $178.42 expected",
        "orgs   high-prio, low-prio",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let reactions = update(&mut ui, Msg::Act(Action::Agree), &Snapshot::default(), Mono::ZERO);
    let [Reaction::Ask { errand: Errand::Launch(order), .. }] = &reactions[..] else { panic!("{reactions:?}") };
    assert_eq!((order.procs, order.agreed, order.route), (2, 141_600, Route::Sync));
    assert_eq!(order.orgs, ["high-prio", "low-prio"]);
}

#[test]
fn a_dear_launch_is_agreed_to_by_typing_its_dollars_and_by_nothing_else() {
    let mut ui = screen(Some("judge.jsonl"));
    ui.planner.draft.as_mut().unwrap().confirm_above = crate::model::Money::from_usd(50.0);
    let answer = |ui: &mut UiState, text: &str| {
        press(ui, &[Action::Launch]);
        assert!(ui.overlay.is_none() && ui.planner.field.editing);
        text.chars().for_each(|c| drop(update(ui, Msg::Type(c), &Snapshot::default(), Mono::ZERO)));
        update(ui, Msg::Act(Action::KeepText), &Snapshot::default(), Mono::ZERO)
    };
    assert_eq!(answer(&mut ui, "y"), []);
    assert!(ui.toast.as_ref().unwrap().text.contains("not launched") && !ui.planner.field.editing);
    assert_eq!(answer(&mut ui, ""), []);
    assert_eq!(answer(&mut ui, "$179").len(), 1);
    press(&mut ui, &[Action::Launch, Action::DropText]);
    assert_eq!((ui.planner.asks.as_ref(), ui.planner.field.editing), (None, false));
}

#[test]
fn what_is_no_plan_of_the_input_as_it_is_cannot_be_launched_and_says_why() {
    let refusal = |change: &dyn Fn(&mut UiState), input| {
        let mut ui = screen(input);
        change(&mut ui);
        press(&mut ui, &[Action::Launch]);
        assert!(ui.overlay.is_none());
        ui.toast.unwrap().text
    };
    assert!(refusal(&|_| {}, None).contains("there is no input"));
    let other = |ui: &mut UiState| ui.planner.draft.as_mut().unwrap().set_model("claude-opus-4-8");
    assert!(refusal(&other, Some("a")).contains("the requests name claude-haiku-4-5"));
    let none = |ui: &mut UiState| {
        (0..3).for_each(|ix| {
            focus(ui, Knob::Org(ix));
            press(ui, &[Action::KnobUp]);
        });
    };
    assert!(refusal(&none, Some("a")).contains("no org is chosen"));
    assert!(refusal(&|ui| ui.read_only = true, Some("a")).contains("read-only"));
}

#[test]
fn the_input_is_audited_once_when_the_planner_is_shown() {
    let mut ui = screen(Some("judge.jsonl"));
    let shown = |ui: &mut UiState| crate::tui::screens::shown(ui);
    assert_eq!(shown(&mut ui), [Reaction::Ask { ticket: 0, errand: Errand::AuditInput }]);
    assert_eq!(shown(&mut ui), []);
    let answer = crate::tui::backstage::Answer::Audited(Err("failed to open it".to_owned()));
    update(&mut ui, Msg::Told { ticket: 0, answer }, &Snapshot::default(), Mono::ZERO);
    assert_eq!(plan_of(&ui).audited, Audited::Failed("failed to open it".to_owned()));
}

#[test]
fn retirements_keys_that_are_missing_and_a_budget_are_said_where_the_launch_is_decided() {
    let mut ui = screen(Some("judge.jsonl"));
    let draft = ui.planner.draft.as_mut().unwrap();
    draft.today = Some(jiff::civil::date(2100, 1, 1));
    draft.max_cost = Some(crate::model::Money::from_usd(20.0));
    draft.orgs[1].has_key = false;
    draft.set_model("claude-sonnet-4-5");
    let notes = plan_of(&ui).plan.notes.join("\n");
    assert!(notes.contains("claude-sonnet-4-5") && notes.contains("404"), "{notes}");
    assert!(notes.contains("planned as if there were keys for batch"), "{notes}");
    ui.planner.draft.as_mut().unwrap().set_model("claude-haiku-4-5");
    press(&mut ui, &[Action::Launch]);
    assert!(ui.overlay.is_none() && ui.toast.as_ref().unwrap().text.contains("no key for batch"));
    focus(&mut ui, Knob::Org(1));
    press(&mut ui, &[Action::KnobUp, Action::Launch]);
    assert!(!plan_of(&ui).plan.notes.iter().any(|note| note.contains("keys for")));
    let Some(Overlay::Confirm { ask, .. }) = &ui.overlay else { panic!("no gate") };
    let text = ask.lines.join("\n");
    assert!(text.contains("budget $20.00: probably used up before the end"), "{text}");
}

/// A picture of a run of the pilot.
fn picture(status: crate::model::RunStatus) -> Snapshot {
    let mut snapshot = crate::report::fixtures::finished();
    snapshot.runs.iter_mut().for_each(|run| run.status = status);
    snapshot
}

#[test]
fn a_pilot_is_priced_asked_for_and_measured_and_what_the_operator_has_set_stays() {
    let mut ui = screen(Some("judge.jsonl"));
    focus(&mut ui, Knob::Procs);
    press(&mut ui, &[Action::KnobUp]);
    let reactions = update(&mut ui, Msg::Act(Action::Pilot), &Snapshot::default(), Mono::ZERO);
    let [Reaction::Ask { errand: Errand::AssessPilot(order), .. }] = &reactions[..] else { panic!("{reactions:?}") };
    let terms = crate::tui::backstage::PilotTerms {
        n: 40,
        expected: Some(crate::model::Money::from_usd(0.05)),
        range: (crate::model::Money::from_usd(0.02), crate::model::Money::from_usd(0.1)),
    };
    pilot::assessed(&mut ui, order.clone(), Ok(terms.clone()), Mono::ZERO);
    let Some(Overlay::Confirm { ask, .. }) = &ui.overlay else { panic!("no gate") };
    let text = ask.lines.join("\n");
    assert!(text.contains("40 of the 141,600 requests") && text.contains("$0.0500 expected"), "{text}");
    let reactions = update(&mut ui, Msg::Act(Action::Agree), &Snapshot::default(), Mono::ZERO);
    assert!(matches!(&reactions[..], [Reaction::Ask { errand: Errand::Pilot { agreed, .. }, .. }] if *agreed == terms));
    pilot::began(&mut ui, Ok(crate::tui::backstage::Driver::Here), Mono::ZERO);
    let going = picture(crate::model::RunStatus::Running);
    let asks = |reactions: &[Reaction]| reactions.iter().any(|one| matches!(one, Reaction::Ask { .. }));
    assert!(!asks(&update(&mut ui, Msg::Picture, &going, Mono::ZERO)));
    assert!(matches!(update(&mut ui, Msg::Act(Action::Launch), &going, Mono::ZERO)[..], []) && ui.overlay.is_none());
    // The key ends it.
    let ended = update(&mut ui, Msg::Act(Action::Pilot), &going, Mono::ZERO);
    assert!(matches!(ended[..], [Reaction::Send { command: crate::model::Command::DrainRun { .. }, .. }]), "{ended:?}");
    let over = picture(crate::model::RunStatus::Incomplete);
    let reactions = update(&mut ui, Msg::Picture, &over, Mono::ZERO);
    assert!(reactions.contains(&Reaction::Ask { ticket: 0, errand: Errand::Measure }), "{reactions:?}");
    assert!(!asks(&update(&mut ui, Msg::Picture, &over, Mono::ZERO)));
    let mut fresh = draft(Some("judge.jsonl"));
    fresh.knobs.n_cached = 40;
    let by_pilot = crate::plan::Origin::Measured { by: "pilot".to_owned(), n: 40, at: "now".to_owned() };
    let measured = Figure { low: 8.0, mid: 9.0, high: 10.0, origin: by_pilot };
    let mut tokens = fresh.knobs.tokens.clone();
    tokens.output = measured.clone();
    fresh.learnt.get_mut("claude-haiku-4-5").unwrap().tokens = Some(tokens);
    let cost = plan_of(&ui).plan.sync.cost_usd;
    let piloted = crate::tui::backstage::Piloted { draft: Box::new(fresh), said: Ok("40 answers".to_owned()) };
    pilot::measured(&mut ui, Ok(piloted), Mono::ZERO);
    let draft = plan_of(&ui);
    assert_eq!((draft.plan.n_to_send, &draft.knobs.tokens.output, draft.knobs.dispatch.procs), (141_560, &measured, 2));
    assert!(draft.plan.sync.cost_usd < cost, "both routes stand on what was measured");
    press(&mut ui, &[Action::Pilot]);
    assert!(ui.toast.as_ref().unwrap().text.contains("measured already"));
}

/// The launch that a press of the key and a `y` order.
fn ordered(ui: &mut UiState) -> crate::tui::backstage::LaunchOrder {
    press(ui, &[Action::Launch]);
    let reactions = update(ui, Msg::Act(Action::Agree), &Snapshot::default(), Mono::ZERO);
    let [Reaction::Ask { errand: Errand::Launch(order), .. }] = &reactions[..] else { panic!("{reactions:?}") };
    order.clone()
}

#[test]
fn a_deadline_that_nobody_turned_stays_the_time_that_it_was_given_as() {
    let mut ui = screen(Some("judge.jsonl"));
    assert_eq!(ordered(&mut ui).deadline, None);
    let mut ui = screen(Some("judge.jsonl"));
    focus(&mut ui, Knob::Deadline);
    enter(&mut ui, "6h");
    assert_eq!(ordered(&mut ui).deadline, Some(Some(Duration::from_secs(6 * 3_600))));
}
