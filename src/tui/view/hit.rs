//! What lies under the pointer.

use ratatui::layout::{Position, Rect};

use crate::model::Snapshot;
use crate::tui::action::Action;
use crate::tui::screens::Screen;
use crate::tui::screens::planner::{Knob, KnobPart, Panel};
use crate::tui::state::{Overlay, UiState};

use super::layout::{Density, place};
use super::{banner, batches, dialog, help, planner, requests, runs, tabs};

/// Something that reacts to the mouse.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// The name of a screen.
    Screen(Screen),
    /// A run, by its position among those that are shown.
    Run(usize),
    /// A request, by its position among those that match.
    Request(usize),
    /// The request that is shown in full.
    RequestInFull,
    /// An org, by its position in the picture.
    Org(usize),
    /// The log.
    Log,
    /// The help.
    Help,
    /// A button of a dialog.
    Choice(Action),
    /// A button of a screen: as its key.
    Press(Action),
    /// A knob of the planner.
    Knob(Knob, KnobPart),
    /// A panel of the planner, or its name.
    Panel(Panel),
    /// A row of the sub-batches.
    SubBatch {
        /// Its index.
        index: u32,
        /// On its button.
        cancel: bool,
    },
}

/// What lies at a place. Under an overlay nothing can be reached.
pub fn at(ui: &UiState, snapshot: &Snapshot, column: u16, row: u16) -> Option<Target> {
    let frame = Rect { x: 0, y: 0, width: ui.size.0, height: ui.size.1 };
    let here = Position { x: column, y: row };
    let layout = place(frame, ui, snapshot, banner::wanted(ui, snapshot));
    if layout.density == Density::TooSmall {
        return None;
    }
    match &ui.overlay {
        Some(Overlay::Help { .. } | Overlay::Reader { .. }) => help::area(frame).contains(here).then_some(Target::Help),
        Some(overlay) => dialog::places(overlay, snapshot, frame)
            .1
            .iter()
            .find(|(_, place)| place.contains(here))
            .map(|(choice, _)| Target::Choice(choice.action)),
        None if layout.tabs.contains(here) => tabs::hit(&ui.keymap, layout.tabs, here).map(Target::Screen),
        None => match ui.screen {
            Screen::Runs => runs::hit(ui, layout.middle(), here),
            Screen::Live if layout.pages.contains(here) => Some(Target::Press(Action::NextPicture)),
            Screen::Live if layout.log.contains(here) => Some(Target::Log),
            Screen::Live => layout.cells.iter().find(|cell| cell.area.contains(here)).map(|cell| Target::Org(cell.ix)),
            Screen::Batches => batches::hit(ui, snapshot, layout.middle(), here),
            Screen::Log => layout.middle().contains(here).then_some(Target::Log),
            Screen::Planner => planner::hit(ui, layout.middle(), here),
            Screen::Requests => requests::hit(ui, layout.middle(), here),
        },
    }
}
