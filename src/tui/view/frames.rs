//! Frames for the tests: a scene drawn into memory, and what can be read of it.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier};

use super::{Scene, render};
use crate::report::text;

/// The scene, at the size that its state says.
pub(in crate::tui) fn frame(scene: &Scene<'_>) -> Buffer {
    let (columns, rows) = scene.ui.size;
    let mut buf = Buffer::empty(Rect::new(0, 0, columns, rows));
    render(&mut buf, scene);
    buf
}

/// The text of a frame; the second cell of a wide character is left out, as a terminal does.
pub(in crate::tui) fn text_of(buf: &Buffer) -> String {
    let mut out = String::new();
    for row in buf.content.chunks(usize::from(buf.area.width).max(1)) {
        let mut line = String::new();
        let mut skip = 0;
        for cell in row {
            if skip > 0 {
                skip -= 1;
                continue;
            }
            line.push_str(cell.symbol());
            skip = text::width(cell.symbol()).saturating_sub(1);
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

/// The places and looks of everything that is not plain, for the themes.
pub(in crate::tui) fn looks_of(buf: &Buffer) -> String {
    let mut out = String::new();
    for row in buf.content.chunks(usize::from(buf.area.width).max(1)) {
        let line: String = row
            .iter()
            .map(|cell| {
                let modifier = cell.modifier;
                match () {
                    () if modifier.contains(Modifier::REVERSED) => 'R',
                    () if modifier.contains(Modifier::UNDERLINED) => 'U',
                    () if cell.bg != Color::Reset => 'B',
                    () if cell.fg != Color::Reset => 'c',
                    () if modifier.contains(Modifier::BOLD) => 'b',
                    () if modifier.contains(Modifier::DIM) => 'd',
                    () => ' ',
                }
            })
            .collect();
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}
