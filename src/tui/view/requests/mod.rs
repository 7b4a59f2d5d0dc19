//! The requests by outcome, as a list that is read page by page, and the selected one in full beside or over it.

mod inspector;
mod list;

#[cfg(test)]
pub(in crate::tui) mod tests;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use crate::model::Snapshot;
use crate::tui::state::UiState;

use super::hit::Target;
use super::{Scene, banner, layout};

/// Columns from which the list and what is shown in full stand side by side.
const SIDE_BY_SIDE: u16 = 120;
/// Rows above the list: the classes, the filter, the heading.
const ABOVE: u16 = 3;

/// The places of the list and of what is shown in full; one of them may be empty.
fn split(area: Rect, inspecting: bool) -> (Rect, Rect) {
    let none = Rect { width: 0, ..area };
    if !inspecting {
        return (area, none);
    }
    if area.width < SIDE_BY_SIDE {
        return (none, area);
    }
    let list = area.width * 9 / 20;
    (Rect { width: list, ..area }, Rect { x: area.x + list + 1, width: area.width - list - 1, ..area })
}

/// The rows of the list.
fn table(area: Rect) -> Rect {
    Rect { y: area.y + ABOVE.min(area.height), height: area.height.saturating_sub(ABOVE), ..area }
}

/// How many rows of the list are in view, also while what is shown in full lies over it.
pub fn rows(ui: &UiState, snapshot: &Snapshot) -> usize {
    let frame = Rect { x: 0, y: 0, width: ui.size.0, height: ui.size.1 };
    let middle = layout::place(frame, ui, snapshot, banner::wanted(ui, snapshot)).middle();
    usize::from(table(middle).height)
}

/// What is under the pointer.
pub(super) fn hit(ui: &UiState, area: Rect, here: Position) -> Option<Target> {
    let (list, full) = split(area, ui.requests.inspecting);
    if full.contains(here) {
        return Some(Target::RequestInFull);
    }
    let table = table(list);
    let at = ui.requests.top + usize::from(here.y.checked_sub(table.y)?);
    let n = ui.requests.page.as_ref()?.n_matched;
    (table.contains(here) && at < n).then_some(Target::Request(at))
}

/// Draws the screen.
pub(super) fn render(buf: &mut Buffer, scene: &Scene<'_>, area: Rect) {
    let (left, right) = split(area, scene.ui.requests.inspecting);
    if left.width > 0 {
        list::render(buf, scene, left);
    }
    if right.width > 0 {
        inspector::render(buf, scene, right);
    }
}
