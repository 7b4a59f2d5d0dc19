//! Where everything goes at a size. Drawing and the mouse both ask here, so they cannot disagree.
//!
//! Every rectangle is a part of the frame: they are cut off one another, never computed past an edge.

use ratatui::layout::Rect;

use crate::model::Snapshot;
use crate::tui::screens::live::{LogSize, Page};
use crate::tui::state::UiState;

use super::pictures::board::{self, Board};

/// How much can be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Density {
    /// One line that says which size is needed.
    TooSmall,
    /// From 40×10: one line an org.
    Minimal,
    /// From 80×24: one or two lines an org.
    Compact,
    /// From 120×30: a pane an org.
    Full,
}

/// The smallest size that shows anything, columns and rows.
pub const SMALLEST: (u16, u16) = (40, 10);
const COMPACT: (u16, u16) = (80, 24);
const FULL: (u16, u16) = (120, 30);
/// Rows of an org's pane with its frame.
pub const PANE_ROWS: u16 = 10;
/// More rows make the sparkline higher, up to this.
const PANE_ROWS_MAX: u16 = 12;
/// Columns that a pane needs.
const PANE_COLUMNS: u16 = 38;
/// Rows of the log that are kept when orgs want more room, with its title.
const LOG_ROWS_MIN: u16 = 4;
/// Rows of the log that pictures leave.
const LOG_ROWS_WITH_PICTURES: u16 = 6;
/// Rows of a page of pictures that takes the place of the log, with the names of the pages.
const PAGE_ROWS: u16 = board::ROWS_MIN;

/// How the orgs are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OrgShape {
    /// A grid of panes.
    Panes {
        /// Panes side by side.
        columns: usize,
    },
    /// A table with a heading, this many lines an org.
    Rows {
        /// 1 or 2.
        lines: u16,
    },
}

/// An org's place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OrgCell {
    /// Its position in the picture.
    pub ix: usize,
    /// Its place.
    pub area: Rect,
}

/// Where everything goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    /// How much can be shown.
    pub density: Density,
    /// The names of the screens; empty where rows are dear.
    pub tabs: Rect,
    /// The run; empty on screens that are not about one.
    pub header: Rect,
    /// Lines across the screen: what waits, what needs the operator.
    pub banners: Rect,
    /// The heading of the table of orgs; empty with panes.
    pub heading: Rect,
    /// The orgs, all of them.
    pub orgs: Rect,
    /// Panes or rows.
    pub shape: OrgShape,
    /// The orgs that have a place.
    pub cells: Vec<OrgCell>,
    /// The line that says how many orgs have none; empty when all have one.
    pub more: Rect,
    /// Which pictures are in view.
    pub board: Board,
    /// The names of the pages of pictures; empty when all pictures or none are in view.
    pub pages: Rect,
    /// The pictures, where there is room for them.
    pub pictures: Rect,
    /// The log, with its title.
    pub log: Rect,
    /// The message.
    pub status: Rect,
    /// The key bar.
    pub footer: Rect,
}

impl Layout {
    /// What is between the banners and the message: the whole of a screen of its own.
    pub fn middle(&self) -> Rect {
        let top = self.banners.y.saturating_add(self.banners.height);
        let bottom = if self.status.height > 0 { self.status.y } else { self.footer.y };
        Rect { x: self.footer.x, y: top, width: self.footer.width, height: bottom.saturating_sub(top) }
    }
}

/// The density of a size.
pub fn density(columns: u16, rows: u16) -> Density {
    let fits = |(c, r): (u16, u16)| columns >= c && rows >= r;
    if fits(FULL) {
        Density::Full
    } else if fits(COMPACT) {
        Density::Compact
    } else if fits(SMALLEST) {
        Density::Minimal
    } else {
        Density::TooSmall
    }
}

/// Cuts `rows` rows off the top.
fn cut_top(area: &mut Rect, rows: u16) -> Rect {
    let rows = rows.min(area.height);
    let top = Rect { height: rows, ..*area };
    area.y += rows;
    area.height -= rows;
    top
}

/// Cuts `rows` rows off the bottom.
fn cut_bottom(area: &mut Rect, rows: u16) -> Rect {
    let rows = rows.min(area.height);
    area.height -= rows;
    Rect { y: area.y + area.height, height: rows, ..*area }
}

fn whole_number(n: usize) -> u16 {
    u16::try_from(n).unwrap_or(u16::MAX)
}

/// Places everything in `area`; `n_banners` lines are wanted for banners.
pub fn place(area: Rect, ui: &UiState, snapshot: &Snapshot, n_banners: usize) -> Layout {
    let density = density(area.width, area.height);
    let mut rest = area;
    let mut layout = Layout {
        density,
        tabs: Rect::default(),
        header: Rect::default(),
        banners: Rect::default(),
        heading: Rect::default(),
        orgs: Rect::default(),
        shape: OrgShape::Rows { lines: 1 },
        cells: Vec::new(),
        more: Rect::default(),
        board: Board::Nothing,
        pages: Rect::default(),
        pictures: Rect::default(),
        log: Rect::default(),
        status: Rect::default(),
        footer: Rect::default(),
    };
    if density == Density::TooSmall {
        layout.header = cut_top(&mut rest, 1);
        return layout;
    }
    layout.footer = cut_bottom(&mut rest, 1);
    if density > Density::Minimal {
        layout.tabs = cut_top(&mut rest, 1);
    }
    if ui.screen.is_of_a_run() {
        layout.header = cut_top(&mut rest, header_rows(density));
    }
    layout.banners = cut_top(&mut rest, whole_number(n_banners).min(if density == Density::Minimal { 1 } else { 3 }));
    if density > Density::Minimal {
        layout.status = cut_bottom(&mut rest, 1);
    }
    place_log(&mut layout, &mut rest, ui, snapshot);
    place_orgs(&mut layout, rest, ui, snapshot);
    layout
}

/// Rows of the header.
pub fn header_rows(density: Density) -> u16 {
    match density {
        Density::TooSmall => 1,
        Density::Minimal => 3,
        Density::Compact => 5,
        Density::Full => 6,
    }
}

/// Gives the log what the orgs do not need, or what the operator asked for, and chooses the shape of the orgs.
fn place_log(layout: &mut Layout, rest: &mut Rect, ui: &UiState, snapshot: &Snapshot) {
    let n = snapshot.orgs.len().max(1);
    let log_min = match (layout.density, ui.live.log_size) {
        (_, LogSize::Full) => rest.height,
        (_, LogSize::Half) => rest.height / 2,
        (Density::Minimal, LogSize::Small) => 0,
        (_, LogSize::Small) if ui.live.page.is_some() => PAGE_ROWS.min(rest.height),
        (_, LogSize::Small) => LOG_ROWS_MIN.min(rest.height),
    };
    let room = rest.height - log_min;
    let wanted = choose_shape(layout, rest.width, room, n);
    let orgs = wanted.min(room);
    layout.log = cut_bottom(rest, rest.height - orgs);
    if layout.density == Density::Minimal && ui.live.log_size == LogSize::Small && layout.log.height < 3 {
        layout.log = Rect::default();
    }
    if layout.density > Density::Minimal && ui.live.log_size == LogSize::Small && !snapshot.orgs.is_empty() {
        place_pictures(layout, ui.live.page, snapshot);
    }
}

/// Pictures above the log where both have room, all of them or a page; else a page in place of the log, when one is asked
/// for.
fn place_pictures(layout: &mut Layout, page: Option<Page>, snapshot: &Snapshot) {
    let room = match layout.density {
        Density::Full => layout.log.height.saturating_sub(LOG_ROWS_WITH_PICTURES),
        _ => 0,
    };
    let room = room.min(board::rows_wanted(layout.log.width, &snapshot.orgs));
    if board::has_room_for_all(layout.log.width, room, &snapshot.orgs) {
        layout.board = Board::All;
        layout.pictures = cut_top(&mut layout.log, room);
    } else if room >= board::ROWS_MIN {
        layout.board = Board::Page(page.unwrap_or_default());
        layout.pictures = cut_top(&mut layout.log, room);
        layout.pages = cut_top(&mut layout.pictures, 1);
    } else if let Some(page) = page.filter(|_| layout.log.height > 0) {
        layout.board = Board::Page(page);
        layout.pictures = std::mem::take(&mut layout.log);
        layout.pages = cut_top(&mut layout.pictures, 1);
    }
}

/// Chooses the fullest shape that shows every org in `room` rows, and says how many rows it takes.
fn choose_shape(layout: &mut Layout, width: u16, room: u16, n: usize) -> u16 {
    if layout.density == Density::Full {
        let columns = usize::from(width / PANE_COLUMNS).clamp(1, n);
        // An even grid: four orgs are two by two rather than three and one.
        let grid_rows = n.div_ceil(columns);
        let columns = n.div_ceil(grid_rows);
        let each = (room / whole_number(grid_rows).max(1)).min(PANE_ROWS_MAX);
        if each >= PANE_ROWS {
            layout.shape = OrgShape::Panes { columns };
            return each * whole_number(grid_rows);
        }
    }
    let two = 1 + 2 * u32::from(whole_number(n));
    if layout.density > Density::Minimal && two <= u32::from(room) {
        layout.shape = OrgShape::Rows { lines: 2 };
        return whole_number(two as usize);
    }
    layout.shape = OrgShape::Rows { lines: 1 };
    let heading = usize::from(layout.density > Density::Minimal);
    whole_number(n + heading)
}

fn place_orgs(layout: &mut Layout, mut area: Rect, ui: &UiState, snapshot: &Snapshot) {
    layout.orgs = area;
    let n = snapshot.orgs.len();
    match layout.shape {
        OrgShape::Panes { columns } => layout.cells = grid(area, n, columns),
        OrgShape::Rows { lines } => {
            if layout.density > Density::Minimal {
                layout.heading = cut_top(&mut area, 1);
            }
            let mut places = usize::from(area.height / lines);
            if places < n {
                layout.more = cut_bottom(&mut area, 1);
                places = usize::from(area.height / lines);
            }
            // The selected org is always among those that have a place.
            let first = ui.selected_ix(snapshot).saturating_sub(places / 2).min(n.saturating_sub(places));
            for ix in (first..n).take(places) {
                layout.cells.push(OrgCell { ix, area: cut_top(&mut area, lines) });
            }
        }
    }
}

/// Panes from left to right, then down; the last column takes what division left over.
fn grid(area: Rect, n: usize, columns: usize) -> Vec<OrgCell> {
    let columns = columns.max(1);
    let rows = n.div_ceil(columns).max(1);
    let (wide, high) = (area.width / whole_number(columns), area.height / whole_number(rows));
    (0..n)
        .map(|ix| {
            let (column, row) = (whole_number(ix % columns), whole_number(ix / columns));
            let last = usize::from(column) + 1 == columns;
            let width = if last { area.width - column * wide } else { wide };
            let pane = Rect { x: area.x + column * wide, y: area.y + row * high, width, height: high };
            OrgCell { ix, area: pane.intersection(area) }
        })
        .collect()
}

/// Where everything goes on the screen as it is now.
pub fn now(ui: &UiState, snapshot: &Snapshot) -> Layout {
    let area = Rect { x: 0, y: 0, width: ui.size.0, height: ui.size.1 };
    place(area, ui, snapshot, super::banner::wanted(ui, snapshot))
}

/// How many orgs stand side by side now.
pub fn org_columns(ui: &UiState, snapshot: &Snapshot) -> usize {
    match now(ui, snapshot).shape {
        OrgShape::Panes { columns } => columns,
        OrgShape::Rows { .. } => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fixtures;
    use crate::tui::screens::live::LiveUi;

    #[test]
    fn t2_everything_lies_inside_the_frame_and_nothing_overlaps_at_any_size() {
        for (name, snapshot) in fixtures::all() {
            let pages = Page::ALL.map(|page| (LogSize::Small, Some(page)));
            let logs = [LogSize::Small, LogSize::Half, LogSize::Full].map(|log_size| (log_size, None));
            for (log_size, page) in logs.into_iter().chain(pages) {
                let ui = UiState { live: LiveUi { log_size, page, ..LiveUi::default() }, ..UiState::default() };
                for (columns, rows) in (0..=130).step_by(10).flat_map(|c| (0..=60).map(move |r| (c, r))) {
                    let frame = Rect::new(0, 0, columns, rows);
                    let layout = place(frame, &ui, &snapshot, 2);
                    let mut parts = vec![
                        layout.tabs,
                        layout.header,
                        layout.banners,
                        layout.heading,
                        layout.more,
                        layout.pages,
                        layout.pictures,
                        layout.log,
                        layout.status,
                        layout.footer,
                    ];
                    parts.extend(layout.cells.iter().map(|cell| cell.area));
                    for (at, part) in parts.iter().enumerate() {
                        assert_eq!(part.intersection(frame).area(), part.area(), "{name} {columns}x{rows} {at}");
                        for other in &parts[at + 1..] {
                            assert_eq!(part.intersection(*other).area(), 0, "{name} {columns}x{rows} {layout:?}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn the_selected_org_always_has_a_place() {
        let snapshot = fixtures::eight_orgs();
        for org in &snapshot.orgs {
            let ui = UiState { live: LiveUi { selected: Some(org.id), ..LiveUi::default() }, ..UiState::default() };
            for rows in 10..40 {
                let layout = place(Rect::new(0, 0, 40, rows), &ui, &snapshot, 1);
                assert!(layout.cells.iter().any(|cell| cell.ix == ui.selected_ix(&snapshot)), "{rows}: {layout:?}");
            }
        }
    }

    #[test]
    fn every_org_has_a_place_from_80_by_24_with_eight_of_them() {
        let snapshot = fixtures::eight_orgs();
        let layout = place(Rect::new(0, 0, 80, 24), &UiState::default(), &snapshot, 2);
        assert_eq!(layout.cells.len(), 8);
    }
}
