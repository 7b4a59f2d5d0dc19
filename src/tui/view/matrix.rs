//! Every screen at every size class, in every state and in two themes. At 80×24 and 40×10 the golden files hold the frames
//! themselves; of the larger ones, and of the looks, a checksum: a change is seen, and the frame is looked at in a terminal.

use ratatui::buffer::Buffer;

use super::frames::{frame, looks_of, text_of};
use super::tests::two_records;
use super::*;
use crate::report::fixtures;
use crate::tui::backstage::{Driver, RunsFound};
use crate::tui::screens::Screen;
use crate::tui::screens::runs::RunsUi;
use crate::tui::tests::runs;
use crate::tui::theme::ThemeName;

const SIZES: [(u16, u16); 4] = [(200, 60), (120, 40), (80, 24), (40, 10)];

fn states() -> [(&'static str, Snapshot); 6] {
    [
        ("empty", Snapshot::default()),
        ("busy", fixtures::busy()),
        ("storm", fixtures::storm()),
        ("stuck", fixtures::batches()),
        ("all-parked", fixtures::holding()),
        ("finished", fixtures::finished()),
    ]
}

pub(super) fn on(screen: Screen, state: &str) -> UiState {
    let empty = RunsUi { found: Some(RunsFound::default()), ..RunsUi::default() };
    let (driver, runs) = if state == "empty" { (Driver::Nothing, empty) } else { (Driver::Here, runs()) };
    UiState { screen, driver, runs, ..UiState::default() }
}

pub(super) fn frame_of(ui: &UiState, snapshot: &Snapshot, size: (u16, u16), theme: ThemeName) -> Buffer {
    let (ui, theme) = (UiState { size, ..ui.clone() }, Theme::of(theme));
    frame(&Scene { ui: &ui, snapshot, theme: &theme, log: &two_records(), ascii: false, now: Mono::ZERO })
}

fn golden(screen: Screen) -> String {
    let mut out = String::new();
    for (state, snapshot) in states() {
        let ui = on(screen, state);
        for size in SIZES {
            for theme in [ThemeName::Dark, ThemeName::Mono] {
                let buf = frame_of(&ui, &snapshot, size, theme);
                let (text, looks) = (text_of(&buf), looks_of(&buf));
                let sums =
                    format!("{:08x} {:08x}", crc32fast::hash(text.as_bytes()), crc32fast::hash(looks.as_bytes()));
                let (columns, rows) = size;
                out.push_str(&format!("{state} {columns}x{rows} {}: {sums}\n", theme.as_str()));
                if size.0 <= 80 && theme == ThemeName::Dark {
                    out.push_str(&text);
                }
            }
        }
    }
    out
}

macro_rules! golden {
    ($($name:ident: $screen:expr;)*) => {
        $(#[test]
        fn $name() {
            insta::assert_snapshot!(golden($screen));
        })*
    };
}

golden! {
    the_runs_screen: Screen::Runs;
    the_planner_screen: Screen::Planner;
    the_live_screen: Screen::Live;
    the_batches_screen: Screen::Batches;
    the_requests_screen: Screen::Requests;
    the_log_screen: Screen::Log;
}

#[test]
fn every_screen_names_itself_and_the_way_out_from_40_by_10() {
    for screen in Screen::ALL {
        for size in SIZES {
            let ui = on(screen, "busy");
            let text = text_of(&frame_of(&ui, &fixtures::batches(), size, ThemeName::Dark));
            assert!(text.contains("q quit"), "{screen:?} {size:?}\n{text}");
            if size.0 >= 80 {
                assert!(text.contains(screen.as_str()), "{screen:?} {size:?}\n{text}");
            }
        }
    }
}

#[test]
fn a_held_picture_says_so_and_how_old_it_is() {
    let ui = UiState { frozen: Some(Mono::ZERO), ..on(Screen::Live, "busy") };
    let text = text_of(&frame_of(&ui, &fixtures::busy(), (80, 24), ThemeName::Dark));
    assert!(text.contains("FROZEN: this picture is 0s old") && text.contains("z shows it"), "{text}");
}

/// Bytes that a terminal is sent for a frame after another.
fn bytes_between(before: &Buffer, after: &Buffer) -> usize {
    use ratatui::backend::{Backend, CrosstermBackend};
    let mut out = Vec::new();
    let mut backend = CrosstermBackend::new(&mut out);
    backend.draw(before.diff(after).into_iter()).unwrap();
    out.len()
}

#[test]
fn t9_a_second_of_frames_of_a_busy_run_is_less_than_twenty_kilobytes() {
    // Every figure that moves does so in every picture, ten times a second, which is as often as there are pictures.
    let picture = |tenth: u64| {
        let mut snapshot = fixtures::busy();
        for org in &mut snapshot.orgs {
            org.rate += tenth as f64 * 0.7;
            org.totals.n_ok += 50 * tenth;
            org.totals.tokens_in += 31_000 * tenth;
            org.totals.cost.0 += 170_000 * tenth;
            org.latency_p95_ms += (tenth * 13 % 90) as u32;
            for window in &mut org.windows {
                window.in_flight = window.in_flight.saturating_sub((tenth * 7 % 40) as u32);
            }
            let by = (tenth as usize) % org.rate_history.len().max(1);
            org.rate_history.rotate_left(by);
        }
        for run in &mut snapshot.runs {
            run.counts.succeeded += 150 * tenth;
            run.counts.unsent -= 150 * tenth;
            run.cost.0 += 510_000 * tenth;
            let by = (tenth as usize) % run.rate_history.len().max(1);
            run.rate_history.rotate_left(by);
        }
        frame_of(&on(Screen::Live, "busy"), &snapshot, (120, 40), ThemeName::Dark)
    };
    let frames: Vec<Buffer> = (0..=10).map(picture).collect();
    let bytes: usize = frames.iter().zip(&frames[1..]).map(|(before, after)| bytes_between(before, after)).sum();
    assert!(bytes < 20_000, "{bytes} bytes a second");
}
