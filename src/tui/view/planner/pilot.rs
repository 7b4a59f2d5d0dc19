//! The pilot's button at the right of the first line; how far it is while it is sent.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::report::text::width;
use crate::tui::action::Action;
use crate::tui::screens::planner::Piloting;
use crate::tui::screens::planner::pilot::progress;
use crate::tui::state::UiState;

use super::super::{Scene, put_right, styled};

/// What is written on it; nothing when there is nothing that could be sent.
fn label(ui: &UiState) -> Option<String> {
    let draft = ui.planner.draft.as_ref().filter(|draft| draft.input.is_some())?;
    let key = ui.keymap.hint(Action::Pilot);
    match &ui.planner.pilot {
        Piloting::Asked | Piloting::Measuring | Piloting::Done(Ok(_)) => None,
        Piloting::Sent => Some(format!("[{key} end it]")),
        Piloting::Nothing | Piloting::Done(Err(_)) if draft.knobs.orgs.is_empty() => None,
        Piloting::Nothing | Piloting::Done(Err(_)) => Some(format!("[{key} pilot]")),
    }
}

/// Where it is; empty when it is not shown.
pub(super) fn button(ui: &UiState, title: Rect) -> Rect {
    let Some(label) = label(ui) else { return Rect::default() };
    let columns = u16::try_from(width(&label)).unwrap_or(u16::MAX).saturating_add(1).min(title.width);
    Rect { x: title.x + title.width - columns, width: columns, ..title }
}

/// Draws it.
pub(super) fn render(buf: &mut Buffer, scene: &Scene<'_>, title: Rect) {
    let theme = scene.theme;
    let mut spans = Vec::new();
    // Where there is no room for all of it, the button and the first figure are what is left.
    let is_narrow = title.width < 60;
    if let Some(progress) = progress(scene.ui, scene.snapshot) {
        let first = progress.split(',').next().unwrap_or_default().to_owned();
        let progress = if is_narrow { first } else { progress };
        spans.push(styled(format!(" {progress} "), theme.info));
    }
    if let Some(label) = label(scene.ui) {
        spans.extend([styled(" ", theme.text), styled(label, theme.selected), styled(" ", theme.text)]);
    }
    put_right(buf, title, 0, spans);
}
