//! No size of a terminal breaks anything that can be seen.

use std::collections::BTreeSet;

use ratatui::buffer::Buffer;

use super::scenes::{OVERLAYS, SceneOf, gate, kind, of_fields, of_overlays, of_screens};
use super::*;
use crate::report::text;
use crate::tui::log::Records;
use crate::tui::state::Gate;
use crate::tui::theme::{Theme, ThemeName};
use crate::tui::view::Scene;
use crate::tui::view::frames::{frame, text_of};

fn drawn(of: &SceneOf, size: (u16, u16), ascii: bool) -> Buffer {
    let (ui, theme, log) = (UiState { size, ..of.ui.clone() }, Theme::of(ThemeName::Mono), Records::default());
    frame(&Scene { ui: &ui, snapshot: &of.snapshot, theme: &theme, log: &log, ascii, now: NOW })
}

fn sweep(scenes: &[SceneOf], sizes: &(impl Iterator<Item = (u16, u16)> + Clone)) {
    for of in scenes {
        for size in sizes.clone() {
            let buf = drawn(of, size, size.0 % 2 == 0);
            let controls = |cell: &ratatui::buffer::Cell| cell.symbol().chars().any(char::is_control);
            assert!(!buf.content.iter().any(controls), "{} {size:?}", of.name);
        }
    }
}

fn all_small() -> impl Iterator<Item = (u16, u16)> + Clone {
    (0..=60).flat_map(|columns| (0..=24).map(move |rows| (columns, rows)))
}

#[test]
fn t2_no_size_from_nothing_to_60_by_24_breaks_any_screen() {
    sweep(&of_screens(), &all_small());
}

#[test]
fn t2_no_size_from_nothing_to_60_by_24_breaks_any_field_that_is_typed_into() {
    sweep(&of_fields(), &all_small());
}

#[test]
fn t2_no_size_from_nothing_to_60_by_24_breaks_any_dialog_help_or_text() {
    let overlays = of_overlays();
    let kinds: BTreeSet<usize> = overlays.iter().filter_map(|of| of.ui.overlay.as_ref()).map(kind).collect();
    assert_eq!(kinds, (0..OVERLAYS).collect(), "each is swept");
    sweep(&overlays, &all_small());
}

#[test]
fn t2_no_size_up_to_300_by_100_breaks_anything() {
    let columns = [1, 39, 61, 79, 100, 119, 161, 300];
    let rows = [1, 9, 25, 29, 61, 100];
    let sizes = columns.into_iter().flat_map(|columns| rows.into_iter().map(move |rows| (columns, rows)));
    for scenes in [of_screens(), of_fields(), of_overlays()] {
        sweep(&scenes, &sizes);
    }
}

#[test]
fn t8_a_question_names_itself_and_both_buttons_at_every_size_and_says_all_that_it_says_from_80_by_24() {
    for of in Gate::ALL.into_iter().map(gate) {
        let Some(Overlay::Confirm { ask, .. }) = &of.ui.overlay else { panic!() };
        for size in [(40, 10), (80, 24), (120, 40), (200, 60)] {
            let shown = text_of(&drawn(&of, size, false));
            let parts =
                [ask.gate.title().to_owned(), format!("[ {} ]", ask.gate.keep()), format!("[ {} ]", ask.gate.agree())];
            for part in parts {
                assert!(shown.contains(&part), "{part} at {size:?}\n{shown}");
            }
            if size.0 >= 80 {
                for line in ask.lines.iter().flat_map(|line| text::wrap(line, 60)) {
                    assert!(shown.contains(line.trim()), "{line} at {size:?}\n{shown}");
                }
            }
        }
    }
}
