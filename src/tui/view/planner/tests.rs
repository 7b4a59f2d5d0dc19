use ratatui::layout::Position;

use super::*;
use crate::model::{Figure, Finding, Money, Mono, Severity, Snapshot};
use crate::report::text;
use crate::tui::field::TextField;
use crate::tui::log::Records;
use crate::tui::msg::Msg;
use crate::tui::screens::Screen;
use crate::tui::screens::planner::draft::Audited;
use crate::tui::screens::planner::tests::draft;
use crate::tui::screens::planner::{Knob, KnobPart, PlannerUi};
use crate::tui::state::Overlay;
use crate::tui::theme::{Theme, ThemeName};
use crate::tui::update::update;
use crate::tui::view::frames::{frame, text_of};

fn screen(size: (u16, u16), change: impl FnOnce(&mut Draft)) -> UiState {
    let mut draft = draft(Some("judge.jsonl"));
    draft.audited = Audited::Found(vec![finding()]);
    change(&mut draft);
    let planner = PlannerUi { draft: Some(Box::new(draft)), ..PlannerUi::default() };
    UiState { screen: Screen::Planner, planner, size, ..UiState::default() }
}

fn finding() -> Finding {
    Finding {
        severity: Severity::Advice,
        kind: "cacheable-prefix".to_owned(),
        text: "141,600 requests begin with a prefix that is the same up to the system prompt".to_owned(),
        n_lines: 141_600,
        lines: vec![1],
        figure: Figure::Usd(Money::from_usd(92.1)),
        remedy: "put \"cache_control\" on the system prompt".to_owned(),
    }
}

fn drawn(ui: &UiState, ascii: bool) -> String {
    let (snapshot, theme, log) = (Snapshot::default(), Theme::of(ThemeName::Dark), Records::default());
    text_of(&frame(&Scene { ui, snapshot: &snapshot, theme: &theme, log: &log, ascii, now: Mono::ZERO }))
}

#[test]
fn the_planner_at_every_density() {
    for (name, size) in [("wide", (200, 60)), ("full", (120, 40)), ("compact", (80, 24)), ("minimal", (40, 10))] {
        insta::assert_snapshot!(format!("planner_{name}"), drawn(&screen(size, |_| {}), false));
    }
}

#[test]
fn each_panel_shows_what_its_name_says() {
    for (panel, words) in [
        (Panel::Table, "100,000"),
        (Panel::Chart, "crossover 20,000"),
        (Panel::Rules, "wedge-guard"),
        (Panel::Figures, "latency-p50"),
        (Panel::Audit, "cacheable-prefix  $92.10  lines 1 and 141,599 more"),
    ] {
        let text = drawn(&screen((120, 40), |draft| draft.panel = panel), false);
        assert!(text.contains(words), "{}: {text}", panel.as_str());
    }
}

#[test]
fn what_the_screen_cuts_of_the_plan_is_read_in_full_by_the_key_that_it_names() {
    let mut ui = screen((120, 40), |_| {});
    assert!(drawn(&ui, false).contains(" more lines: i reads them"), "{}", drawn(&ui, false));
    update(&mut ui, Msg::Act(Action::ReadPlan), &Snapshot::default(), Mono::ZERO);
    let Some(Overlay::Reader { lines, .. }) = &ui.overlay else { panic!("nothing is read: {:?}", ui.overlay) };
    let plan = &ui.planner.draft.as_ref().unwrap().plan;
    assert!(!plan.sync.risks.is_empty() && !plan.batch.risks.is_empty());
    for risk in plan.sync.risks.iter().chain(&plan.batch.risks) {
        assert!(lines.iter().any(|line| line.ends_with(risk)), "{risk}\n{lines:?}");
    }
    let text = lines.join("\n");
    assert!(text.contains("wedge-guard") && text.contains("the recipe table says"), "{text}");
}

#[test]
fn on_a_small_screen_what_is_wrong_with_the_plan_comes_first_and_the_rest_is_counted_with_its_key() {
    let ui = screen((80, 24), |draft| {
        draft.knobs.deadline = Some(std::time::Duration::from_secs(60));
        let model = draft.knobs.model.clone();
        draft.set_model(&model);
        draft.plan.notes.push("claude-haiku-4-5 was retired: every call will answer 404".to_owned());
    });
    let text = drawn(&ui, false);
    assert!(text.contains("deadline in 1m00s: ") && text.contains("! 2 more: i reads them"), "{text}");
}

#[test]
fn the_question_before_a_launch_names_every_model_and_what_the_plan_warns_of() {
    let mut ui = screen((120, 40), |draft| {
        draft.plan.notes.push("claude-sonnet-4-5 was retired: every call will answer 404".to_owned());
    });
    update(&mut ui, Msg::Act(Action::Launch), &Snapshot::default(), Mono::ZERO);
    let asked = match &ui.overlay {
        Some(Overlay::Confirm { ask, .. }) => ask.lines.join("\n"),
        _ => ui.planner.asks.as_ref().unwrap().lines.join("\n"),
    };
    assert!(asked.contains("! claude-sonnet-4-5 was retired"), "{asked}");
}

#[test]
fn words_stay_apart_where_a_reason_is_cut() {
    let text = drawn(&screen((80, 24), |draft| draft.orgs.iter_mut().for_each(|org| org.has_key = false)), false);
    assert!(!text.contains("aref") && !text.contains("forhigh"), "{text}");
}

#[test]
fn the_row_of_the_plan_is_marked_and_disagreements_with_the_recipe_are_flagged() {
    let text = drawn(&screen((160, 50), |_| {}), false);
    let row = text.lines().find(|line| line.contains("›   100,000")).unwrap();
    assert!(row.contains("batch !"), "{row}");
    assert!(text.contains("! 100,000 if money matters: the recipe table says sync"), "{text}");
}

#[test]
fn a_deadline_that_cannot_be_kept_is_said_with_what_can() {
    let text = drawn(
        &screen((160, 50), |draft| {
            draft.knobs.deadline = Some(std::time::Duration::from_secs(60));
            let model = draft.knobs.model.clone();
            draft.set_model(&model);
        }),
        false,
    );
    assert!(text.contains("cannot keep it") && text.contains("latest safe start"), "{text}");
}

#[test]
fn while_a_model_is_typed_those_that_it_may_be_are_listed() {
    let mut ui = screen((120, 40), |draft| draft.focus = Knob::Model);
    ui.planner.field = TextField { text: "sonnet".to_owned(), editing: true };
    let text = drawn(&ui, false);
    assert!(
        text.contains("> sonnet█") && text.contains("› claude-sonnet-5-5") && text.contains("claude-sonnet-4-6"),
        "{text}"
    );
}

#[test]
fn no_size_and_no_panel_breaks_it_and_ascii_is_ascii() {
    let mut panels = Panel::ALL.into_iter().cycle();
    for columns in (0..=300).step_by(23).chain([39, 40, 41, 69, 70, 79, 80, 81, 119, 120, 121]) {
        for rows in (0..=100).step_by(19).chain([1, 9, 10, 11, 23, 24, 25, 29, 30, 31]) {
            for panel in panels.by_ref().take(2) {
                let ui = screen((columns, rows), |draft| (draft.panel, draft.scroll) = (panel, 7));
                let text = drawn(&ui, true);
                assert!(text.is_ascii(), "{columns}x{rows} {text}");
            }
        }
    }
}

#[test]
fn strange_names_stay_in_their_places() {
    let text = drawn(
        &screen((80, 24), |draft| {
            draft.input = Some("judge\u{1b}[31m\u{202e}\u{4e2d}\u{6587}.jsonl".repeat(9));
            draft.orgs[0].label = "\u{4e2d}\u{6587}\u{7ec4}\u{7ec7}\u{540d}\u{79f0}\u{957f}".to_owned();
        }),
        false,
    );
    assert!(!text.contains('\u{1b}') && text.lines().all(|line| text::width(line) <= 90), "{text}");
}

/// The place of a knob's row and of its parts, as drawn.
fn place_of(ui: &UiState, knob: Knob, wanted: KnobPart) -> (u16, u16) {
    let snapshot = Snapshot::default();
    for row in 0..ui.size.1 {
        for column in 0..ui.size.0 {
            if super::super::hit::at(ui, &snapshot, column, row) == Some(Target::Knob(knob, wanted)) {
                return (column, row);
            }
        }
    }
    panic!("{knob:?} {wanted:?} is nowhere");
}

#[test]
fn the_mouse_selects_a_knob_turns_it_by_its_arrows_and_opens_it_to_type() {
    for size in [(200, 60), (120, 40), (80, 24), (40, 12)] {
        let mut ui = screen(size, |_| {});
        let snapshot = Snapshot::default();
        let procs = |ui: &UiState| ui.planner.draft.as_ref().unwrap().knobs.dispatch.procs;
        let click = |ui: &mut UiState, part| {
            let (column, row) = place_of(ui, Knob::Procs, part);
            update(ui, Msg::Click(column, row), &snapshot, Mono::ZERO);
        };
        click(&mut ui, KnobPart::Name);
        assert_eq!(ui.planner.draft.as_ref().unwrap().focus, Knob::Procs, "{size:?}");
        click(&mut ui, KnobPart::Up);
        click(&mut ui, KnobPart::Up);
        click(&mut ui, KnobPart::Down);
        assert_eq!(procs(&ui), 2, "{size:?}");
        let (column, row) = place_of(&ui, Knob::Procs, KnobPart::Value);
        update(&mut ui, Msg::Wheel { column, row, down: false }, &snapshot, Mono::ZERO);
        assert_eq!(procs(&ui), 3, "{size:?}");
        update(&mut ui, Msg::Click(column, row), &snapshot, Mono::ZERO);
        assert!(ui.planner.field.editing, "{size:?}");
    }
}

#[test]
fn the_mouse_changes_panels_by_their_names() {
    let mut ui = screen((120, 40), |_| {});
    let text = drawn(&ui, false);
    let (row, line) = text.lines().enumerate().find(|(_, line)| line.contains("[table]")).unwrap();
    let column = line.chars().take_while(|c| *c != 'f').count();
    assert!(line.chars().skip(column).collect::<String>().starts_with("figures"), "{line}");
    let here = Position { x: column as u16, y: row as u16 };
    update(&mut ui, Msg::Click(here.x + 1, here.y), &Snapshot::default(), Mono::ZERO);
    assert_eq!(ui.planner.draft.as_ref().unwrap().panel, Panel::Figures);
}
