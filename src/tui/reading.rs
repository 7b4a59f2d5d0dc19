//! What lies over a screen to be read: the help, and texts such as a report.

use ratatui::layout::Rect;

use super::action::Action;
use super::field::TextField;
use super::state::{Overlay, UiState};
use super::view;

/// Opens, closes and scrolls the help, and what is read.
pub(super) fn help(ui: &mut UiState, action: Action) {
    match (action, &mut ui.overlay) {
        (Action::Help, overlay) => *overlay = Some(Overlay::Help { search: TextField::default(), scroll: 0 }),
        (Action::HelpSearch, Some(Overlay::Help { search, scroll })) => (search.editing, *scroll) = (true, 0),
        (Action::CloseHelp | Action::CloseReader, overlay) => *overlay = None,
        _ => scroll(ui, action),
    }
}

/// Scrolls what is read, as far as there is something.
pub(super) fn scroll(ui: &mut UiState, action: Action) {
    let frame = Rect { x: 0, y: 0, width: ui.size.0, height: ui.size.1 };
    let (most, page) = match &ui.overlay {
        Some(Overlay::Help { search, .. }) => view::help::reach(ui, &search.text, frame),
        Some(Overlay::Reader { lines, .. }) => view::reader::reach(lines, frame),
        _ => return,
    };
    if let Some(Overlay::Help { scroll, .. } | Overlay::Reader { scroll, .. }) = &mut ui.overlay {
        *scroll = match action {
            Action::ScrollDown => scroll.saturating_add(1),
            Action::ScrollUp => (*scroll).min(most).saturating_sub(1),
            Action::PageDown => scroll.saturating_add(page),
            Action::PageUp => (*scroll).min(most).saturating_sub(page),
            Action::First => 0,
            Action::Last => most,
            _ => *scroll,
        }
        .min(most);
    }
}
