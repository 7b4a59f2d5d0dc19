//! Pictures: numbers over time, over orgs and over values, drawn. Each file is one picture, a pure function from a part of
//! the snapshot to cells; the picture stands above its function.
//!
//! What they have in common is here and in [`axis`]: a title that names the figure and its unit, marks in the theme's
//! meaning (yellow is what gave way, red is what needs the operator), and nothing outside the rectangle. They use block
//! elements only, which the ASCII glyph set replaces cell by cell.

pub mod axis;
pub mod board;
pub mod cost;
pub mod gantt;
pub mod headroom;
pub mod latency;
pub mod outcomes;
pub mod rate_window;

#[cfg(test)]
mod tests;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Span;

use crate::report::text;
use crate::tui::theme::Theme;

use super::{put, styled};

/// What stands in place of a picture that nothing was seen for.
pub(super) fn unseen(buf: &mut Buffer, body: Rect, what: &str, theme: &Theme) {
    let text = text::cut(what, usize::from(body.width).saturating_sub(1)).into_owned();
    put(buf, body, 0, [styled(format!(" {text}"), theme.dim)]);
}

/// Draws the line above a picture, `── name · what it says ───`, and returns what is below it. What it says is cut first.
pub(super) fn titled(buf: &mut Buffer, area: Rect, name: &str, says: &str, theme: &Theme) -> Rect {
    let columns = usize::from(area.width);
    let name = text::cut(name, columns.saturating_sub(4)).into_owned();
    let room = columns.saturating_sub(text::width(&name) + 8);
    let says = if says.is_empty() || room < 8 { String::new() } else { format!("· {} ", text::cut(says, room)) };
    let used = text::width(&name) + text::width(&says) + 4;
    let line: [Span<'static>; 4] = [
        styled("── ", theme.frame),
        styled(format!("{name} "), theme.strong),
        styled(says, theme.text),
        styled("─".repeat(columns.saturating_sub(used)), theme.frame),
    ];
    put(buf, area, 0, line);
    Rect { y: area.y + 1.min(area.height), height: area.height.saturating_sub(1), ..area }
}
