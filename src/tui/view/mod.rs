//! Drawing: pure functions from the state of the screens and a picture to cells.
//!
//! Nothing here reads a clock or a global. Text from elsewhere passes [`crate::report::text::harmless`] before it
//! becomes a cell, and every line is cut at its rectangle.

pub mod banner;
pub mod bars;
pub mod batches;
pub mod dialog;
pub mod footer;
pub mod header;
pub mod help;
pub mod hit;
pub mod layout;
pub mod log;
pub mod panes;
pub mod pictures;
pub mod planner;
pub mod reader;
pub mod requests;
pub mod rows;
pub mod runs;
pub mod tabs;
pub mod words;

#[cfg(test)]
pub(in crate::tui) mod frames;
#[cfg(test)]
mod live_tests;
#[cfg(test)]
mod matrix;
#[cfg(test)]
mod screenshots;
#[cfg(test)]
pub(in crate::tui) mod tests;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::model::{Mono, Snapshot};
use crate::report::text;
use crate::tui::field::TextField;
use crate::tui::log::Records;
use crate::tui::screens::Screen;
use crate::tui::state::{Overlay, UiState};
use crate::tui::theme::Theme;

use layout::{Density, Layout, OrgShape};
use words::Weight;

/// What a frame is drawn from, besides the picture.
#[derive(Clone, Copy)]
pub struct Scene<'s> {
    /// The state of the screens.
    pub ui: &'s UiState,
    /// The picture.
    pub snapshot: &'s Snapshot,
    /// How things look.
    pub theme: &'s Theme,
    /// What was logged.
    pub log: &'s Records,
    /// ASCII only.
    pub ascii: bool,
    /// For countdowns and ages.
    pub now: Mono,
}

/// Draws the screen that is shown and what lies over it. The live screen:
///
/// ```text
///  1 runs  2 planner  3 live  4 batches  5 requests  6 log                                        tabs
///  judge-input.jsonl  ● running                                    sync · claude-haiku-5-5
///  ▓▓▓██████████████████████████████████████████▚×↻▒▒················  61.7 %  12,345 / 20,000     header
///  ▓ cached 1,000   █ succeeded 11,300   ▒ in flight 296   · unsent 7,333
///  98.2/s   eta 1m18s   elapsed 2m05s   $18.53
///  batch IS PARKED: auth — select it and press r to revive · its key: ANTHROPIC_BATCH_KEY · …       banners
/// ┏ high-prio ━━━━━━━━━━━━━━━━━━━┓┌ batch ───────────────────────┐┌ low-prio ───────────────────┐
/// ┃● steady                      ┃│■ parked: auth — press r …    ││▼ easing: colleague active …  │  orgs
/// ┃in flight  98 / 100  ████████·┃│in flight   0 /  50  ▒▒▒▒▒····││in flight  43 /  44  ████·····│
/// ┗━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━┛└──────────────────────────────┘└──────────────────────────────┘
/// ── log ─────────────────────────────────────────────────────────────────────────────────────────
///  10:00:03 WARN  batch: 25 answers 429, window 100 → 50, closed for 42s                          log
///  done: batch is revived, a probe goes first                                                     status
///  ? help  q quit  space pause  ↓ next org  r revive org  o pause org  + cap up  - cap down       footer
/// ```
pub fn render(buf: &mut Buffer, scene: &Scene<'_>) {
    let area = buf.area;
    let banners = banner::banners(scene.ui, scene.snapshot, scene.now);
    let layout = layout::place(area, scene.ui, scene.snapshot, banners.len());
    if layout.density == Density::TooSmall {
        too_small(buf, scene, layout.header);
    } else {
        tabs::render(buf, scene, layout.tabs);
        if scene.ui.screen.is_of_a_run() {
            header::render(buf, scene, &layout);
        }
        for (row, banner) in (0..layout.banners.height).zip(&banners) {
            let style = match banner.weight {
                Weight::Needy => scene.theme.banner_bad,
                Weight::Well | Weight::Quiet => scene.theme.banner_good,
                Weight::Moving | Weight::Waiting => scene.theme.banner_warn,
            };
            let line = text::fit(&format!(" {}", banner.text), usize::from(layout.banners.width));
            put(buf, layout.banners, row, [Span::styled(line, style)]);
        }
        let middle = layout.middle();
        match scene.ui.screen {
            Screen::Runs => runs::render(buf, scene, middle),
            Screen::Planner => planner::render(buf, scene, middle),
            Screen::Live => {
                orgs(buf, scene, &layout);
                if let pictures::board::Board::Page(page) = layout.board {
                    pictures::board::pages(buf, scene, layout.pages, page);
                }
                pictures::board::render(buf, scene, layout.pictures, layout.board);
                log::pane(buf, scene, &layout);
            }
            Screen::Batches => batches::render(buf, scene, &scene.ui.batches, middle),
            Screen::Requests => requests::render(buf, scene, middle),
            Screen::Log => log::screen(buf, scene, middle),
        }
        footer::render(buf, scene, &layout);
        match &scene.ui.overlay {
            Some(Overlay::Help { .. }) => help::render(buf, scene, area),
            Some(Overlay::Reader { title, lines, scroll }) => reader::render(buf, scene, area, (title, lines, *scroll)),
            Some(overlay) => dialog::render(buf, scene, overlay, area),
            None => {}
        }
    }
    if scene.ascii {
        to_ascii(buf);
    }
}

/// One line: the size needed, and the keys that work.
fn too_small(buf: &mut Buffer, scene: &Scene<'_>, area: Rect) {
    let (columns, rows) = layout::SMALLEST;
    let text = match scene.ui.overlay {
        Some(Overlay::Quit { .. }) => "d drain  s stop now  Esc stay".to_owned(),
        _ if area.width < 11 => format!("{columns}×{rows}"),
        _ if area.width < 24 => format!("needs {columns}×{rows}  q quit"),
        _ => format!("needs {columns}×{rows}, has {}×{}  q quit  ? help", buf.area.width, buf.area.height),
    };
    put(buf, area, 0, [Span::styled(text, scene.theme.strong)]);
}

fn orgs(buf: &mut Buffer, scene: &Scene<'_>, layout: &Layout) {
    if scene.snapshot.orgs.is_empty() && layout.orgs.height > 0 {
        let text = " no org: set ANTHROPIC_API_KEY, or name orgs in the config file (fandeck config)";
        put(buf, layout.orgs, 0, [Span::styled(text, scene.theme.warn)]);
        return;
    }
    match layout.shape {
        OrgShape::Panes { .. } => {
            for cell in &layout.cells {
                panes::render(buf, scene, cell);
            }
        }
        OrgShape::Rows { lines } => rows::render(buf, scene, layout, lines),
    }
}

/// A rule across the screen that begins with a title.
pub(super) fn rule(title: &str, columns: usize) -> String {
    let title = text::cut(title, columns).into_owned();
    let rest = columns.saturating_sub(text::width(&title));
    format!("{title}{}", "─".repeat(rest))
}

/// A filter in the head of a list: nothing when there is none, with a cursor while it is edited.
pub(super) fn filter_spans(field: &TextField, theme: &Theme) -> Vec<Span<'static>> {
    if !field.editing && field.text.is_empty() {
        return Vec::new();
    }
    let cursor = if field.editing { "▏" } else { "" };
    vec![styled(" · filter: ", theme.dim), styled(format!("{}{cursor}", text::harmless(&field.text)), theme.selected)]
}

/// Writes spans into row `row` of `area`, cut at its right edge; nothing when the row is not in it.
pub(super) fn put<'a>(buf: &mut Buffer, area: Rect, row: u16, spans: impl IntoIterator<Item = Span<'a>>) {
    let area = area.intersection(buf.area);
    if row >= area.height || area.width == 0 {
        return;
    }
    let line = Line::from_iter(spans);
    buf.set_line(area.x, area.y + row, &line, area.width);
}

/// Writes spans so that they end at the right edge of `area`.
pub(super) fn put_right<'a>(buf: &mut Buffer, area: Rect, row: u16, spans: impl IntoIterator<Item = Span<'a>>) {
    let line = Line::from_iter(spans);
    let width = u16::try_from(line.width()).unwrap_or(u16::MAX).min(area.width);
    let right = Rect { x: area.x + (area.width - width), width, ..area };
    put(buf, right, row, line.spans);
}

/// A span with its own copy of the text.
pub(super) fn styled(text: impl Into<String>, style: Style) -> Span<'static> {
    Span::styled(text.into(), style)
}

/// Draws a frame of one of the two kinds around `area` and returns what is inside: heavy for what is selected, so that
/// it is seen without colour.
pub(super) fn frame(buf: &mut Buffer, area: Rect, title: Span<'_>, heavy: bool, style: Style) -> Rect {
    let area = area.intersection(buf.area);
    if area.width < 2 || area.height < 2 {
        return Rect::default();
    }
    let [top_left, top_right, bottom_left, bottom_right, across, down] =
        if heavy { ["┏", "┓", "┗", "┛", "━", "┃"] } else { ["┌", "┐", "└", "┘", "─", "│"] };
    let inner = usize::from(area.width - 2);
    let edge = |left: &str, right: &str| Span::styled(format!("{left}{}{right}", across.repeat(inner)), style);
    put(buf, area, 0, [edge(top_left, top_right)]);
    put(buf, area, area.height - 1, [edge(bottom_left, bottom_right)]);
    for row in 1..area.height - 1 {
        put(buf, area, row, [Span::styled(down, style)]);
        put_right(buf, area, row, [Span::styled(down, style)]);
    }
    let title_area = Rect { x: area.x + 1, width: area.width - 2, height: 1, ..area };
    put(buf, title_area, 0, [title]);
    Rect { x: area.x + 1, y: area.y + 1, width: area.width - 2, height: area.height - 2 }
}

/// Blanks a rectangle.
pub(super) fn clear(buf: &mut Buffer, area: Rect) {
    let area = area.intersection(buf.area);
    for position in area.positions() {
        if let Some(cell) = buf.cell_mut(position) {
            cell.reset();
        }
    }
}

/// Replaces whatever is not ASCII, cell by cell, so that columns stay where they are.
fn to_ascii(buf: &mut Buffer) {
    for cell in &mut buf.content {
        let shown = cell.symbol();
        if shown.is_ascii() {
            continue;
        }
        let plain = match shown {
            "─" | "━" | "–" | "—" | "╌" => "-",
            "│" | "┃" | "┤" => "|",
            "┊" => "!",
            "┌" | "┐" | "└" | "┘" | "┏" | "┓" | "┗" | "┛" => "+",
            "█" | "▇" | "▉" | "▊" => "#",
            "▓" => "=",
            "▚" => "%",
            "▒" => ":",
            "·" => ".",
            "×" => "x",
            "↻" => "~",
            "▁" | "▏" => "_",
            "▂" | "▃" | "▎" | "▍" => "-",
            "▄" | "▅" | "▌" | "▋" => "=",
            "▆" => "*",
            "●" | "✓" => "*",
            "○" => "o",
            "▲" | "↑" => "^",
            "▼" | "↓" => "v",
            "◆" => "!",
            "■" => "X",
            "◇" => "+",
            "◈" => "%",
            "≡" => "#",
            "▽" => "u",
            "›" | "→" => ">",
            "←" => "<",
            "…" => "~",
            wide if text::width(wide) == 2 => "??",
            _ => "?",
        };
        // A wide character owns two cells; the second is blank and keeps being so.
        cell.set_symbol(if plain == "??" { "?" } else { plain });
    }
}
