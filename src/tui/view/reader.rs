//! A text to be read, over the screen: a report, or what could not be copied.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Span;

use crate::report::text;

use super::{Scene, clear, frame, help, put, styled};

/// What is inside of the frame.
fn inside(frame_area: Rect) -> Rect {
    let area = help::area(frame_area);
    Rect {
        x: area.x + 2.min(area.width),
        y: area.y + 1.min(area.height),
        width: area.width.saturating_sub(4),
        height: area.height.saturating_sub(2),
    }
}

fn wrapped(lines: &[String], inner: Rect) -> Vec<String> {
    let columns = usize::from(inner.width).max(1);
    lines.iter().flat_map(|line| text::wrap(&text::harmless(line), columns)).collect()
}

/// How far it can be scrolled, and by how much a page goes.
pub(in crate::tui) fn reach(lines: &[String], frame_area: Rect) -> (usize, usize) {
    let inner = inside(frame_area);
    let rows = usize::from(inner.height);
    (wrapped(lines, inner).len().saturating_sub(rows), rows.saturating_sub(1).max(1))
}

/// Draws it: its title, its lines from `scroll` on.
pub(super) fn render(buf: &mut Buffer, scene: &Scene<'_>, frame_area: Rect, read: (&str, &[String], usize)) {
    let (title, lines, scroll) = read;
    let theme = scene.theme;
    let area = help::area(frame_area);
    clear(buf, area);
    frame(buf, area, Span::styled(format!(" {title} "), theme.selected), true, theme.selected);
    let inner = inside(frame_area);
    let wrapped = wrapped(lines, inner);
    let first = scroll.min(wrapped.len().saturating_sub(usize::from(inner.height)));
    for (row, line) in (0..inner.height).zip(wrapped.iter().skip(first)) {
        put(buf, inner, row, [styled(line.clone(), theme.text)]);
    }
    let hidden = wrapped.len().saturating_sub(first + usize::from(inner.height));
    if hidden > 0 {
        let row = area.height.saturating_sub(1);
        let more = Rect { x: area.x + 2.min(area.width), width: area.width.saturating_sub(4), ..area };
        put(buf, more, row, [styled(format!(" {hidden} more below "), theme.selected)]);
    }
}
