//! The names of the screens, with their keys, across the top. A click goes there.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use crate::report::text;
use crate::tui::keymap::Keymap;
use crate::tui::screens::Screen;

use super::{Scene, put, styled};

/// Each name with its place.
fn places(keymap: &Keymap, area: Rect) -> Vec<(Screen, String, Rect)> {
    let mut x = area.x;
    let mut out = Vec::new();
    for screen in Screen::ALL {
        let label = format!(" {} {} ", keymap.hint(screen.action()), screen.as_str());
        let width = u16::try_from(text::width(&label)).unwrap_or(u16::MAX);
        out.push((screen, label, Rect { x, width, ..area }.intersection(area)));
        x = x.saturating_add(width);
    }
    out
}

/// The screen whose name is at a place.
pub(super) fn hit(keymap: &Keymap, area: Rect, here: Position) -> Option<Screen> {
    places(keymap, area).into_iter().find(|(_, _, place)| place.contains(here)).map(|(screen, _, _)| screen)
}

/// Draws them.
///
/// ```text
///  1 runs  2 planner  3 live  4 batches  5 requests  6 log
/// ```
pub(super) fn render(buf: &mut Buffer, scene: &Scene<'_>, area: Rect) {
    let theme = scene.theme;
    for (screen, label, place) in places(&scene.ui.keymap, area) {
        let style = match () {
            () if screen == scene.ui.screen => theme.focus,
            () if crate::tui::valid::valid(screen.action(), scene.ui, scene.snapshot).is_err() => theme.dim,
            () => theme.text,
        };
        put(buf, place, 0, [styled(label, style)]);
    }
}
