//! The pictures of the README, drawn by the code that draws the screens; they are held against it here, so that none is
//! stale. Anybody makes them anew by
//!
//! ```text
//! UPDATE_SCREENSHOTS=1 cargo test --lib screenshots
//! ```

use std::fmt::Write as _;
use std::path::PathBuf;

use ratatui::buffer::{Buffer, Cell};
use ratatui::style::{Color, Modifier};

use super::matrix::{frame_of, on};
use super::*;
use crate::report::fixtures;
use crate::tui::msg::Msg;
use crate::tui::theme::ThemeName;
use crate::tui::update::update;

/// A cell, in pixels.
const CELL: (usize, usize) = (9, 19);
const BACKGROUND: &str = "#16161d";
const TEXT: &str = "#d8d8d8";

fn colour(color: Color) -> &'static str {
    match color {
        Color::Black => "#000000",
        Color::Red => "#cd4b4b",
        Color::Green => "#3cb44b",
        Color::Yellow => "#c8aa28",
        Color::Blue => "#5578dc",
        Color::Magenta => "#be50be",
        Color::Cyan => "#32b4be",
        Color::Gray => "#d2d2d2",
        Color::DarkGray => "#6e6e6e",
        Color::LightRed => "#ff6b6b",
        Color::LightGreen => "#6ee678",
        Color::LightYellow => "#fae664",
        Color::LightBlue => "#7896ff",
        Color::LightMagenta => "#f082f0",
        Color::LightCyan => "#6ee6f0",
        Color::White => "#ffffff",
        _ => TEXT,
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Cells of a row that look alike are one text, stretched to its columns, so that they hold in any font.
fn svg(buf: &Buffer) -> String {
    let (width, height) = (usize::from(buf.area.width), usize::from(buf.area.height));
    let (w, h) = (width * CELL.0 + 16, height * CELL.1 + 16);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{w}\" height=\"{h}\" viewBox=\"0 0 {w} {h}\" \
         font-family=\"DejaVu Sans Mono,Menlo,Consolas,monospace\" font-size=\"15\">\n\
         <rect width=\"100%\" height=\"100%\" rx=\"6\" fill=\"{BACKGROUND}\"/>\n"
    );
    for (y, row) in buf.content.chunks(width).enumerate() {
        let mut x = 0;
        for cells in row.chunk_by(|a, b| a.style() == b.style()) {
            run(&mut out, cells, (x, y));
            x += cells.len();
        }
    }
    out.push_str("</svg>\n");
    out
}

fn run(out: &mut String, cells: &[Cell], (x, y): (usize, usize)) {
    let Some(first) = cells.first() else { return };
    let reversed = first.modifier.contains(Modifier::REVERSED);
    let background = match (reversed, first.bg) {
        (true, _) => Some(TEXT),
        (false, Color::Reset) => None,
        (false, color) => Some(colour(color)),
    };
    let (left, top, span) = (8 + x * CELL.0, 8 + y * CELL.1, cells.len() * CELL.0);
    if let Some(fill) = background {
        let _ =
            writeln!(out, "<rect x=\"{left}\" y=\"{top}\" width=\"{span}\" height=\"{}\" fill=\"{fill}\"/>", CELL.1);
    }
    let text: String = cells.iter().map(Cell::symbol).collect();
    if text.trim().is_empty() {
        return;
    }
    let fill = if reversed { BACKGROUND } else { colour(first.fg) };
    let bold = if first.modifier.contains(Modifier::BOLD) { " font-weight=\"bold\"" } else { "" };
    let dim = if first.modifier.contains(Modifier::DIM) { " opacity=\"0.55\"" } else { "" };
    let _ = writeln!(
        out,
        "<text x=\"{left}\" y=\"{}\" fill=\"{fill}\"{bold}{dim} textLength=\"{span}\" lengthAdjust=\"spacingAndGlyphs\" \
         xml:space=\"preserve\">{}</text>",
        top + 15,
        escaped(&text)
    );
}

fn folder() -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "assets", "screenshots"].iter().collect()
}

#[test]
fn the_screenshots_show_what_the_screens_look_like() {
    let size = (120, 36);
    let of = |ui: &UiState, snapshot: &Snapshot| svg(&frame_of(ui, snapshot, size, ThemeName::Dark));
    let stuck = fixtures::batches();
    let mut asks = UiState { size, ..on(Screen::Batches, "stuck") };
    asks.batches.selected = Some(2);
    let batches = of(&asks, &stuck);
    update(&mut asks, Msg::Act(crate::tui::action::Action::CancelSubBatch), &stuck, Mono::ZERO);
    assert!(asks.overlay.is_some());
    let pictures = [
        ("runs", of(&on(Screen::Runs, "busy"), &fixtures::busy())),
        ("live", of(&on(Screen::Live, "storm"), &fixtures::storm())),
        ("batches", batches),
        ("cancel", of(&asks, &stuck)),
    ];
    for (name, picture) in pictures {
        let path = folder().join(format!("{name}.svg"));
        if std::env::var_os("UPDATE_SCREENSHOTS").is_some() {
            std::fs::write(&path, &picture).unwrap();
        }
        assert!(picture.contains("<text"), "{name}: nothing is drawn");
        let kept = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(kept == picture, "{name}.svg is stale: UPDATE_SCREENSHOTS=1 cargo test --lib screenshots");
    }
}

#[test]
fn what_has_a_meaning_in_svg_is_escaped_and_columns_are_held() {
    let mut buf = Buffer::empty(Rect::new(0, 0, 6, 1));
    put(&mut buf, Rect::new(0, 0, 6, 1), 0, [styled("a<&b", Style::new())]);
    let picture = svg(&buf);
    assert!(picture.contains("textLength=\"54\"") && picture.contains(">a&lt;&amp;b  </text>"), "{picture}");
}
