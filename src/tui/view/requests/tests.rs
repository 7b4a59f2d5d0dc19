//! What the screen of the requests looks like, and that no size and no text breaks it.

use ratatui::buffer::Buffer;

use super::*;
use crate::model::browse::{Class, Page, RequestDetail, RequestRow};
use crate::model::{Money, Mono, RequestNo};
use crate::report::fixtures;
use crate::tui::log::Records;
use crate::tui::screens::Screen;
use crate::tui::screens::requests::RequestsUi;
use crate::tui::state::UiState;
use crate::tui::theme::{Theme, ThemeName};
use crate::tui::view::frames::{frame, text_of};

fn row(no: u32, id: &str, class: Class, error: &str, excerpt: &str) -> RequestRow {
    RequestRow {
        no: RequestNo(no),
        custom_id: id.to_owned(),
        class,
        org: if class == Class::Cached { String::new() } else { "high-prio".to_owned() },
        path: if class == Class::Cached { "cache" } else { "sync" }.to_owned(),
        attempt: u32::from(class != Class::Cached) + u32::from(class == Class::ReDrivable),
        request_id: if class == Class::Cached { String::new() } else { format!("req_011CS{no}") },
        latency_ms: 1_200 + u64::from(no),
        tokens_in: 1_203,
        tokens_out: 44,
        cost: Money(u64::from(no) * 1_234_000),
        at: "2026-11-29T17:05:09.042Z".to_owned(),
        stop_reason: if error.is_empty() { "end_turn".to_owned() } else { String::new() },
        error: error.to_owned(),
        excerpt: excerpt.to_owned(),
    }
}

fn page() -> Page {
    let rows = vec![
        row(0, "judge-000000", Class::Cached, "", "The answer is consistent with the rubric."),
        row(1, "judge-000001", Class::Succeeded, "", "Score: 4\nThe reply names all three causes."),
        row(2, "日本語の識別子-000002", Class::Refused, "", ""),
        row(
            3,
            "e\u{301}-\u{1b}[31mred\u{202e}-\u{1F600}",
            Class::Invalid,
            "invalid_request_error",
            "max_tokens: \u{7}too large",
        ),
        row(4, "مرحبا-000004", Class::ReDrivable, "overloaded_error", "Overloaded"),
        row(5, &"long-".repeat(40), Class::Succeeded, "", &"word ".repeat(80)),
    ];
    Page {
        from: 0,
        n_matched: 1_000_000,
        rows,
        counts: [1_000, 998_955, 30, 5, 10],
        selected_at: Some(3),
        read: 7,
        size: 7,
        n_passed_over: 2,
    }
}

fn detail() -> RequestDetail {
    let request = ["{", "  \"custom_id\": \"judge-000001\",", "  \"params\": {", "    \"max_tokens\": 1024,"];
    let mut request: Vec<String> = request.map(str::to_owned).to_vec();
    request.push(format!("    \"system\": \"\u{1b}]0;title\u{7}{}\"", "Judge the answer by the rubric. ".repeat(12)));
    request.extend(["  }", "}"].map(str::to_owned));
    let answer = ["{", "  \"type\": \"message\",", "  \"text\": \"日本語 and \u{202e}more\"", "}"].map(str::to_owned);
    RequestDetail { row: page().rows.remove(3), request: Ok(request), answer: answer.to_vec() }
}

fn with(requests: RequestsUi) -> UiState {
    UiState { screen: Screen::Requests, requests, ..UiState::default() }
}

pub(in crate::tui) fn list_ui() -> UiState {
    with(RequestsUi { page: Some(page()), at: 3, selected: Some(RequestNo(3)), ..RequestsUi::default() })
}

pub(in crate::tui) fn full_ui() -> UiState {
    let mut ui = list_ui();
    ui.requests.inspecting = true;
    ui.requests.detail = Some((RequestNo(3), Ok(detail())));
    ui
}

fn drawn(ui: &UiState, size: (u16, u16), theme: ThemeName, ascii: bool) -> Buffer {
    let (ui, snapshot, theme) = (UiState { size, ..ui.clone() }, fixtures::busy(), Theme::of(theme));
    let log = Records::default();
    frame(&Scene { ui: &ui, snapshot: &snapshot, theme: &theme, log: &log, ascii, now: Mono::ZERO })
}

const SIZES: [(u16, u16); 4] = [(200, 60), (120, 40), (80, 24), (40, 10)];

#[test]
fn the_list_and_a_request_in_full_at_every_size() {
    for (name, ui) in [("list", list_ui()), ("full", full_ui())] {
        for size in SIZES {
            let shown = text_of(&drawn(&ui, size, ThemeName::Dark, false));
            insta::assert_snapshot!(format!("{name}_{}x{}", size.0, size.1), shown);
        }
    }
}

#[test]
fn t2_no_size_from_nothing_to_60_by_24_breaks_it() {
    for ui in [list_ui(), full_ui(), with(RequestsUi::default())] {
        for size in (0..=60).flat_map(|columns| (0..=24).map(move |rows| (columns, rows))) {
            drawn(&ui, size, ThemeName::Mono, false);
        }
    }
}

#[test]
fn t6_no_text_of_a_request_commands_the_terminal_or_shifts_a_column() {
    for ui in [list_ui(), full_ui()] {
        for size in SIZES {
            let buf = drawn(&ui, size, ThemeName::Dark, false);
            for cell in &buf.content {
                assert!(!cell.symbol().chars().any(char::is_control), "{:?}", cell.symbol());
                assert!(!cell.symbol().contains(['\u{202E}', '\u{1b}']), "{:?}", cell.symbol());
            }
            assert!(drawn(&ui, size, ThemeName::Mono, true).content.iter().all(|cell| cell.symbol().is_ascii()));
        }
    }
    // The outcome of every row starts in the same column, whatever the id.
    let buf = drawn(&list_ui(), (120, 40), ThemeName::Dark, false);
    let column = |word: &str| {
        let glyph = word.chars().next().map(String::from);
        let rows = buf.content.chunks(120).skip(10).take(6);
        rows.filter_map(|row| row.iter().position(|cell| Some(cell.symbol()) == glyph.as_deref())).max()
    };
    let all: Vec<_> = ["○", "✓", "▚", "×", "↻"].map(column).to_vec();
    assert!(all.windows(2).all(|pair| pair[0] == pair[1]), "{all:?}");
}

#[test]
fn rows_that_are_not_here_yet_are_told_from_none_and_an_empty_list_says_why() {
    let mut ui = list_ui();
    (ui.requests.top, ui.requests.at) = (500_000, 500_002);
    assert!(text_of(&drawn(&ui, (80, 24), ThemeName::Dark, false)).contains(" › …"));
    let none = Page { n_matched: 0, rows: Vec::new(), ..page() };
    let ui = with(RequestsUi { page: Some(none), ..RequestsUi::default() });
    assert!(
        text_of(&drawn(&ui, (80, 24), ThemeName::Dark, false)).contains("no request matches; v shows other outcomes")
    );
    let reading = Page { read: 430, size: 1_000, ..page() };
    let ui = with(RequestsUi { page: Some(reading), ..RequestsUi::default() });
    assert!(text_of(&drawn(&ui, (80, 24), ThemeName::Dark, false)).contains("reading the journal: 43.0 %"));
}

#[test]
fn the_mouse_finds_the_rows_and_what_is_shown_in_full() {
    let ui = UiState { size: (120, 40), ..full_ui() };
    let shown = text_of(&drawn(&ui, (120, 40), ThemeName::Dark, false));
    let row = shown.lines().position(|line| line.contains("judge-000001  ")).unwrap() as u16;
    let snapshot = fixtures::busy();
    let at = |column| crate::tui::view::hit::at(&ui, &snapshot, column, row);
    assert_eq!(at(10), Some(Target::Request(1)));
    assert_eq!(at(100), Some(Target::RequestInFull));
}
