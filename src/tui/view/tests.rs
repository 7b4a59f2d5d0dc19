//! What the live screen looks like, and that no size and no picture breaks it.

use std::sync::Arc;

use ratatui::buffer::Buffer;
use ratatui::style::Color;

use super::frames::{frame, looks_of, text_of};
use super::*;
use crate::model::{Family, OrgId};
use crate::report::fixtures;
use crate::tui::field::TextField;
use crate::tui::log::Record;
use crate::tui::screens::batches::BatchesUi;
use crate::tui::screens::live::{LiveUi, LogSize};
use crate::tui::state::{Ask, CapAsk, Deed, Gate, Toast, Tone};
use crate::tui::theme::ThemeName;

/// Two records.
pub(super) fn two_records() -> Records {
    let record = |seq, level, text: &str| Record {
        seq,
        at: crate::model::Wall(36_002_000 + i64::try_from(seq).unwrap() * 1_000),
        level,
        target: "fandeck::engine".to_owned(),
        text: text.to_owned(),
    };
    let mut records = Records::default();
    records.take_in([
        record(1, tracing::Level::WARN, "batch: 25 answers 429, window 100 → 50, closed for 42s"),
        record(2, tracing::Level::INFO, "second"),
    ]);
    records
}

pub(super) fn drawn(snapshot: &Snapshot, ui: UiState, size: (u16, u16), theme: ThemeName, ascii: bool) -> Buffer {
    let (ui, theme) = (UiState { size, ..ui }, Theme::of(theme));
    frame(&Scene { ui: &ui, snapshot, theme: &theme, log: &two_records(), ascii, now: Mono::ZERO })
}

pub(in crate::tui) fn screen(snapshot: &Snapshot, ui: UiState, size: (u16, u16)) -> String {
    text_of(&drawn(snapshot, ui, size, ThemeName::Dark, false))
}

const WIDE: (u16, u16) = (200, 60);
const FULL: (u16, u16) = (120, 40);
const COMPACT: (u16, u16) = (80, 24);
const MINIMAL: (u16, u16) = (40, 10);

fn on_org(id: u16) -> UiState {
    let live = LiveUi { selected: Some(OrgId(id)), ..LiveUi::default() };
    UiState { live, ..UiState::default() }
}

fn quit_dialog() -> UiState {
    UiState { overlay: Some(Overlay::Quit { focus: 0 }), ..UiState::default() }
}

fn cap_dialog() -> UiState {
    let ask = CapAsk {
        org: OrgId(0),
        label: "high-prio".to_owned(),
        family: Family::Haiku,
        seen: 100,
        wanted: 110,
        polite: 100,
    };
    let ask = Ask {
        gate: Gate::Cap,
        lines: vec![
            "high-prio, haiku: cap 100 → 110.".to_owned(),
            "The polite cap is 100: more may push others.".to_owned(),
        ],
        deed: Deed::SetCap(ask),
    };
    UiState { overlay: Some(Overlay::Confirm { focus: 0, ask }), ..UiState::default() }
}

fn help(search: &str, editing: bool) -> UiState {
    let search = TextField { text: search.to_owned(), editing };
    UiState { overlay: Some(Overlay::Help { search, scroll: 0 }), ..UiState::default() }
}

macro_rules! screens {
    ($($name:ident: $snapshot:expr, $ui:expr, $size:expr;)*) => {
        $(#[test]
        fn $name() {
            insta::assert_snapshot!(screen(&$snapshot, $ui, $size));
        })*
    };
}

screens! {
    starting_full: fixtures::starting(), UiState::default(), FULL;
    ramping_full: fixtures::ramping(), UiState::default(), FULL;
    busy_wide: fixtures::busy(), UiState::default(), WIDE;
    busy_full: fixtures::busy(), UiState::default(), FULL;
    busy_compact: fixtures::busy(), UiState::default(), COMPACT;
    busy_minimal: fixtures::busy(), UiState::default(), MINIMAL;
    storm_wide: fixtures::storm(), UiState::default(), WIDE;
    storm_full: fixtures::storm(), UiState::default(), FULL;
    storm_compact: fixtures::storm(), UiState::default(), COMPACT;
    storm_minimal: fixtures::storm(), UiState::default(), MINIMAL;
    parked_full: fixtures::parked_auth(), on_org(1), FULL;
    parked_compact: fixtures::parked_auth(), UiState::default(), COMPACT;
    holding_full: fixtures::holding(), UiState::default(), FULL;
    holding_compact: fixtures::holding(), UiState::default(), COMPACT;
    store_blocked_compact: fixtures::store_blocked(), UiState::default(), COMPACT;
    paused_compact: fixtures::paused(), UiState::default(), COMPACT;
    draining_compact: fixtures::draining(), UiState { leaving: Some(crate::tui::TuiExit::Drained), ..UiState::default() }, COMPACT;
    finished_full: fixtures::finished(), UiState::default(), FULL;
    finished_compact: fixtures::finished(), UiState::default(), COMPACT;
    incomplete_compact: fixtures::incomplete(), UiState::default(), COMPACT;
    zero_orgs_compact: fixtures::zero_orgs(), UiState::default(), COMPACT;
    one_org_full: fixtures::one_org(), UiState::default(), FULL;
    eight_orgs_wide: fixtures::eight_orgs(), on_org(3), WIDE;
    eight_orgs_full: fixtures::eight_orgs(), UiState::default(), FULL;
    eight_orgs_compact: fixtures::eight_orgs(), UiState::default(), COMPACT;
    eight_orgs_minimal_name_the_worst_hidden_state: fixtures::eight_orgs(), UiState::default(), MINIMAL;
    strange_names_full: fixtures::strange_names(), UiState::default(), FULL;
    strange_names_compact: fixtures::strange_names(), UiState::default(), COMPACT;
    huge_numbers_full: fixtures::huge_numbers(), UiState::default(), FULL;
    huge_numbers_compact: fixtures::huge_numbers(), UiState::default(), COMPACT;
    quit_dialog_full: fixtures::busy(), quit_dialog(), FULL;
    quit_dialog_store_blocked_full: fixtures::store_blocked(), quit_dialog(), FULL;
    quit_dialog_compact: fixtures::busy(), quit_dialog(), COMPACT;
    quit_dialog_minimal: fixtures::busy(), quit_dialog(), MINIMAL;
    cap_dialog_compact: fixtures::busy(), cap_dialog(), COMPACT;
    help_full: fixtures::busy(), help("", false), FULL;
    help_search_compact: fixtures::busy(), help("cap", true), COMPACT;
    help_read_only_full: fixtures::busy(), UiState { read_only: true, log_file: Some("/data/fandeck.log".into()), ..help("", false) }, FULL;
    nothing_compact: Snapshot::default(), UiState::default(), COMPACT;
    too_small: fixtures::busy(), UiState::default(), (39, 9);
}

#[test]
fn a_big_log_leaves_the_orgs_their_place_or_takes_all() {
    for log_size in [LogSize::Half, LogSize::Full] {
        let ui = UiState { live: LiveUi { log_size, ..LiveUi::default() }, ..UiState::default() };
        let shown = screen(&fixtures::storm(), ui, COMPACT);
        assert!(shown.contains("second"), "{shown}");
    }
}

#[test]
fn t4_without_colour_the_selection_the_alarm_and_the_focus_are_still_seen() {
    let parked = drawn(&fixtures::parked_auth(), quit_dialog(), FULL, ThemeName::Mono, false);
    assert!(parked.content.iter().all(|cell| cell.fg == Color::Reset && cell.bg == Color::Reset));
    insta::assert_snapshot!(looks_of(&parked));
}

#[test]
fn the_dark_theme_colours_what_matters() {
    insta::assert_snapshot!(looks_of(&drawn(&fixtures::storm(), UiState::default(), FULL, ThemeName::Dark, false)));
}

#[test]
fn in_ascii_every_cell_is_ascii_and_columns_stay_where_they_are() {
    for (name, snapshot) in fixtures::all() {
        for size in [FULL, COMPACT, MINIMAL] {
            let buf = drawn(&snapshot, quit_dialog(), size, ThemeName::Mono, true);
            assert!(buf.content.iter().all(|cell| cell.symbol().is_ascii()), "{name}");
        }
    }
    let storm = drawn(&fixtures::storm(), UiState::default(), COMPACT, ThemeName::Mono, true);
    insta::assert_snapshot!(text_of(&storm));
}

#[test]
fn t6_nothing_from_elsewhere_commands_the_terminal() {
    for size in [WIDE, FULL, COMPACT, MINIMAL] {
        let buf = drawn(&fixtures::strange_names(), quit_dialog(), size, ThemeName::Dark, false);
        for cell in &buf.content {
            assert!(!cell.symbol().chars().any(char::is_control), "{:?}", cell.symbol());
            assert!(!cell.symbol().contains('\u{202E}'));
        }
    }
}

fn log_of(log_size: LogSize) -> LiveUi {
    LiveUi { log_size, ..LiveUi::default() }
}

fn every_overlay() -> Vec<UiState> {
    let toast = Toast { text: "done".to_owned(), tone: Tone::Bad, until: Mono(u64::MAX) };
    let mut all = vec![UiState::default(), quit_dialog(), cap_dialog(), help("", false), help("cap", true)];
    all.push(UiState { toast: Some(toast), read_only: true, live: log_of(LogSize::Half), ..UiState::default() });
    all.push(UiState { live: log_of(LogSize::Full), ..quit_dialog() });
    all
}

#[test]
fn t2_no_size_up_to_300_by_100_breaks_any_picture_or_dialog() {
    let sizes = [(1, 1), (40, 9), (39, 10), (40, 10), (79, 24), (80, 24), (119, 30), (120, 29), (120, 30), (160, 45)];
    for (_, snapshot) in fixtures::all() {
        for ui in every_overlay() {
            for size in sizes.into_iter().chain([(300, 100), (300, 10), (40, 100), (300, 1)]) {
                drawn(&snapshot, ui.clone(), size, ThemeName::HighContrast, true);
            }
        }
    }
}

#[test]
fn below_the_smallest_size_the_line_names_the_size_that_is_needed() {
    for size in [(39, 10), (40, 9), (12, 3)] {
        let shown = screen(&fixtures::busy(), UiState::default(), size);
        assert!(shown.starts_with("needs 40×10"), "{shown}");
        assert_eq!(shown.trim_end().lines().count(), 1);
    }
    assert!(screen(&fixtures::busy(), UiState::default(), (10, 3)).starts_with("40×10"), "not cut to another size");
}

#[test]
fn a_picture_that_is_held_of_a_run_that_is_over_promises_nothing() {
    let ui = UiState { frozen: Some(Mono::ZERO), ..UiState::default() };
    let told = screen(&fixtures::finished(), ui.clone(), FULL);
    assert!(told.contains("old; nothing runs · z lets go"), "{told}");
    assert!(screen(&fixtures::busy(), ui, FULL).contains("the run goes on"));
}

#[test]
fn every_org_and_its_state_is_seen_from_80_by_24() {
    for (name, snapshot) in fixtures::all() {
        for size in [COMPACT, FULL, WIDE] {
            let shown = screen(&snapshot, UiState::default(), size);
            for org in &snapshot.orgs {
                let word = words::condition(org, 0, String::new());
                assert!(shown.contains(&format!("{} {}", word.glyph, word.short)), "{name} {size:?} {word:?}\n{shown}");
            }
        }
    }
}

#[test]
fn a_cap_above_the_polite_one_says_so_from_80_by_24() {
    let mut snapshot = fixtures::busy();
    (snapshot.orgs[0].windows[0].cap, snapshot.orgs[0].windows[0].ceiling) = (110, 110);
    for size in [COMPACT, FULL, WIDE] {
        let shown = screen(&snapshot, UiState::default(), size);
        assert!(shown.contains("110 > polite 100"), "{size:?}\n{shown}");
    }
}

#[test]
fn hints_fit_every_width_and_name_no_key_that_does_nothing() {
    for (name, snapshot) in fixtures::all() {
        for ui in every_overlay() {
            for columns in 0..=130 {
                let hints = footer::hints(&ui, &snapshot, columns, false);
                let width: usize = hints.iter().map(|(key, word)| text::width(key) + text::width(word) + 3).sum();
                assert!(width <= columns, "{name} {columns}: {hints:?}");
            }
        }
    }
    let ui = UiState { read_only: true, ..UiState::default() };
    let hints = footer::hints(&ui, &fixtures::busy(), 200, false);
    assert!(hints.iter().all(|(_, word)| !word.contains("cap") && word != "pause"), "{hints:?}");
}

#[test]
fn keys_without_a_glyph_in_ascii_are_named_and_long_names_in_the_help_keep_their_gap() {
    let (ui, busy) = (UiState::default(), fixtures::busy());
    let plain = text_of(&drawn(&busy, ui, (200, 40), ThemeName::Mono, true));
    let bar = plain.lines().last().unwrap();
    assert!(bar.contains(" down next org") && !bar.contains(" ^ "), "{bar}");
    let longest = crate::tui::action::registry().map(|info| info.name.len()).max();
    assert!(longest.unwrap() <= crate::tui::view::help::NAMES, "{longest:?}");
    let ui = UiState { screen: crate::tui::screens::Screen::Log, ..help("", false) };
    let shown = screen(&busy, ui, (120, 80));
    assert!(shown.contains("log-prev-target  "), "{shown}");
}

#[test]
fn a_run_of_another_process_has_no_log_here_and_says_so() {
    let ui = UiState { driver: crate::tui::backstage::Driver::Elsewhere, ..UiState::default() };
    let shown = screen(&fixtures::busy(), ui, FULL);
    assert!(shown.contains("another process drives the run, and keeps its log"), "{shown}");
    assert!(!shown.contains("window 100 → 50"), "{shown}");
}

#[test]
fn the_help_lists_every_action_of_the_screen_below_and_nothing_else() {
    use crate::tui::action::{Context, in_context};
    let shown = screen(&fixtures::busy(), help("", false), (120, 80));
    for info in in_context(Context::Live) {
        assert!(shown.contains(info.name), "{} is not shown\n{shown}", info.name);
    }
    let elsewhere = crate::tui::action::registry().filter(|info| !info.contexts.contains(&Context::Live));
    for info in elsewhere.filter(|info| info.name.len() > 8) {
        assert!(!shown.contains(info.name), "{} is of another screen\n{shown}", info.name);
    }
}

fn with_batches(screen: BatchesUi) -> UiState {
    UiState { screen: Screen::Batches, batches: screen, ..UiState::default() }
}

#[test]
fn b10_the_sub_batches_are_drawn_by_age_and_never_by_counts_of_open_ones() {
    let shown =
        screen(&fixtures::batches(), with_batches(BatchesUi { selected: Some(2), ..BatchesUi::default() }), FULL);
    insta::assert_snapshot!(shown);
    let open = shown.lines().find(|line| line.contains("in-progress") && line.contains("high-prio")).unwrap();
    assert!(!open.contains(" 0 ") && !open.contains('%'), "{open}");
}

#[test]
fn a_canceled_sub_batch_says_so_counts_nothing_down_and_is_no_measure() {
    let select = |index| with_batches(BatchesUi { selected: Some(index), follow: false, ..BatchesUi::default() });
    let mut snapshot = fixtures::batches();
    let mut view = (**snapshot.runs[0].batches.as_ref().unwrap()).clone();
    view.sub_batches[1].canceled = true;
    snapshot.runs[0].batches = Some(Arc::new(view.clone()));
    let shown = screen(&snapshot, select(4), FULL);
    assert!(shown.contains("1 ended, median") && shown.contains("its cancel was taken"), "{shown}");
    assert!(!shown.contains("stuck in"), "{shown}");
    let shown = screen(&snapshot, select(1), FULL);
    let row = shown.lines().find(|line| line.contains("› ") && line.contains("low-prio")).unwrap();
    assert!(row.contains("canceled") && shown.contains("was canceled"), "{shown}");
    // Where the driver has not written it, nobody says that there is no threshold.
    (view.threshold_known, view.threshold_ms) = (false, None);
    snapshot.runs[0].batches = Some(Arc::new(view.clone()));
    let shown = screen(&snapshot, select(1), FULL);
    assert!(shown.contains("when stuck is known to its driver"), "{shown}");
    view.threshold_known = true;
    snapshot.runs[0].batches = Some(Arc::new(view));
    assert!(screen(&snapshot, select(1), FULL).contains("none is called stuck"));
}

#[test]
fn with_nothing_in_flight_nothing_is_said_to_be_abandoned() {
    let mut snapshot = fixtures::busy();
    assert!(screen(&snapshot, quit_dialog(), FULL).contains("in flight are abandoned"));
    snapshot.runs[0].counts.in_flight = 0;
    let shown = screen(&snapshot, quit_dialog(), FULL);
    assert!(shown.contains("nothing is in flight") && !shown.contains("are abandoned"), "{shown}");
}

#[test]
fn no_size_breaks_the_screen_of_the_sub_batches() {
    for columns in [1, 20, 40, 80, 100, 101, 120, 200] {
        for rows in [1, 5, 10, 16, 24, 30, 60] {
            let _ = screen(&fixtures::batches(), with_batches(BatchesUi::default()), (columns, rows));
        }
    }
}

#[test]
fn the_mouse_finds_the_rows_and_the_buttons_of_sub_batches() {
    let snapshot = fixtures::batches();
    let ui = UiState { size: FULL, ..with_batches(BatchesUi::default()) };
    let shown = screen(&snapshot, ui.clone(), FULL);
    let rows: Vec<(u16, &str)> = (0..).zip(shown.lines()).collect();
    let (row, line) = *rows.iter().find(|(_, line)| line.contains("[cancel]")).unwrap();
    let column = line[..line.find("[cancel]").unwrap()].chars().count() as u16;
    assert_eq!(hit::at(&ui, &snapshot, column, row), Some(hit::Target::SubBatch { index: 2, cancel: true }));
    assert_eq!(hit::at(&ui, &snapshot, 10, row), Some(hit::Target::SubBatch { index: 2, cancel: false }));
    assert_eq!(hit::at(&ui, &snapshot, column, row + 2), Some(hit::Target::SubBatch { index: 4, cancel: false }));
}

#[test]
fn the_mouse_finds_what_is_drawn() {
    let ui = UiState { size: FULL, ..UiState::default() };
    let snapshot = fixtures::busy();
    let shown = screen(&snapshot, UiState::default(), FULL);
    let find = |shown: &str, what: &str| {
        shown.lines().enumerate().find_map(|(row, line)| {
            let at = line.find(what)?;
            Some((u16::try_from(line[..at].chars().count()).unwrap(), u16::try_from(row).unwrap()))
        })
    };
    let (column, row) = find(&shown, "low-prio").unwrap();
    assert_eq!(hit::at(&ui, &snapshot, column, row), Some(hit::Target::Org(2)));
    let ui = UiState { size: FULL, ..quit_dialog() };
    let shown = screen(&snapshot, quit_dialog(), FULL);
    let (column, row) = find(&shown, "[ Drain ]").unwrap();
    assert_eq!(hit::at(&ui, &snapshot, column, row), Some(hit::Target::Choice(crate::tui::action::Action::Drain)));
    assert_eq!(hit::at(&ui, &snapshot, 0, 0), None);
}

#[test]
fn a_countdown_goes_down_between_two_pictures() {
    let snapshot = fixtures::storm();
    assert_eq!(words::condition(&snapshot.orgs[1], 0, String::new()).short, "backing off 0:42");
    assert_eq!(words::condition(&snapshot.orgs[1], 2_000, String::new()).short, "backing off 0:40");
    assert_eq!(words::condition(&snapshot.orgs[1], 60_000, String::new()).short, "backing off 0:00");
}

#[test]
fn who_leaves_is_told_what_becomes_of_the_batches() {
    let mut snapshot = fixtures::batches();
    let told = screen(&snapshot, quit_dialog(), WIDE);
    assert!(told.contains("and sends none again"), "{told}");
    snapshot.runs[0].embedded_api = true;
    let told = screen(&snapshot, quit_dialog(), WIDE);
    assert!(told.contains("of the simulated API") && !told.contains("and sends none again"), "{told}");
}
