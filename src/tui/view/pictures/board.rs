//! Which pictures stand where on the live screen, by the room there is.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::model::snapshot::OrgView;
use crate::tui::action::Action;
use crate::tui::screens::live::Page;
use crate::tui::state::shown_run;
use crate::tui::view::{Scene, layout, put, put_right, styled};

use super::{cost, gantt, headroom, latency, outcomes, rate_window};

/// Columns from which two bands of pictures stand side by side.
const WIDE: u16 = 160;
/// Rows of the upper band of a wide board, at the least.
const BAND: u16 = 9;
/// Columns between two pictures.
const GAP: u16 = 2;

/// Fewest rows of a page above the log, with the names of the pages.
pub const ROWS_MIN: u16 = rate_window::ROWS_MIN + 1;

/// Which pictures are in view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Board {
    /// None.
    Nothing,
    /// Those of a page.
    Page(Page),
    /// All.
    All,
}

/// Rows that a board of a width can use; none is drawn in fewer than [`ROWS_MIN`].
pub fn rows_wanted(columns: u16, orgs: &[OrgView]) -> u16 {
    let bars = outcomes::rows_wanted(orgs);
    if columns >= WIDE { 16 + headroom::rows_wanted(orgs).max(bars) } else { 11 + bars }
}

/// Whether all pictures have room.
pub fn has_room_for_all(columns: u16, rows: u16, orgs: &[OrgView]) -> bool {
    columns >= WIDE && rows >= BAND + outcomes::rows_wanted(orgs)
}

/// Draws the names of the pages, the one in view marked, with the key that turns to the next.
///
/// ```text
/// ──[pace]─ limits ─ cost ──────────────────────────────── v next ──
/// ```
pub fn pages(buf: &mut Buffer, scene: &Scene<'_>, area: Rect, shown: Page) {
    let names = Page::ALL.map(|page| (page.as_str(), page == shown));
    // In place of the log, the log is one of the pages.
    let log = [("log", false)];
    let with_log = scene.ui.live.page.is_some() && layout::now(scene.ui, scene.snapshot).log.height == 0;
    strip(buf, scene, area, log.iter().filter(|_| with_log).chain(&names), "");
}

/// Draws names in a rule, the one in view in brackets; then what is to be said of it, and the key.
pub(in crate::tui::view) fn strip<'n>(
    buf: &mut Buffer,
    scene: &Scene<'_>,
    area: Rect,
    names: impl Iterator<Item = &'n (&'static str, bool)>,
    says: &str,
) {
    let theme = scene.theme;
    put(buf, area, 0, [styled("─".repeat(usize::from(area.width)), theme.frame)]);
    let mut spans = vec![styled("──", theme.frame)];
    for (at, (name, shown)) in names.enumerate() {
        if at > 0 {
            spans.push(styled("─", theme.frame));
        }
        spans.push(match shown {
            true => styled(format!("[{name}]"), theme.selected),
            false => styled(format!(" {name} "), theme.text),
        });
    }
    if !says.is_empty() {
        spans.push(styled(format!(" {says}"), theme.frame));
    }
    put(buf, area, 0, spans);
    let key = scene.ui.keymap.hint(Action::NextPicture);
    if !key.is_empty() {
        let hint = [styled(format!(" {key}"), theme.key), styled(" next ", theme.dim), styled("──", theme.frame)];
        put_right(buf, area, 0, hint);
    }
}

/// Draws the pictures.
///
/// ```text
/// ── high-prio · answers a second ──────────────  ── latency of high-prio ─────  ── cost ───────────────
///  rate and window of the selected org            histogram                      paid and to come
/// ── headroom ──────────────────────────────────  ── attempts ───────────────────────────────────────────
///  a gauge a limiter                              a stacked bar an org; with sub-batches, their extents
/// ```
pub fn render(buf: &mut Buffer, scene: &Scene<'_>, area: Rect, board: Board) {
    match board {
        Board::Nothing => {}
        Board::Page(page) => one_page(buf, scene, area, page),
        Board::All => all(buf, scene, area),
    }
}

/// Two pictures side by side; below the pace, the attempts where there is room.
fn one_page(buf: &mut Buffer, scene: &Scene<'_>, area: Rect, page: Page) {
    let (snapshot, theme) = (scene.snapshot, scene.theme);
    let Some(org) = scene.ui.selected_org(snapshot) else { return };
    let (left, right) = split_columns(area, (area.width - GAP.min(area.width)) / 2);
    match page {
        Page::Pace => {
            let wanted = outcomes::rows_wanted(&snapshot.orgs);
            let below = if area.height >= rate_window::ROWS_MIN + wanted { wanted } else { 0 };
            rate_window::render(buf, split_rows(left, area.height - below).0, org, !scene.ui.is_over(snapshot), theme);
            latency::render(buf, split_rows(right, area.height - below).0, org, theme);
            outcomes::render(buf, split_rows(area, area.height - below).1, &snapshot.orgs, theme);
        }
        Page::Limits => {
            headroom::render(buf, left, &snapshot.orgs, scene.ui.age_ms(scene.now), theme);
            outcomes::render(buf, right, &snapshot.orgs, theme);
        }
        Page::Cost => {
            let batches = shown_run(snapshot).and_then(|run| run.batches.as_ref());
            costs(buf, scene, if batches.is_some() { left } else { area });
            if let Some(batches) = batches {
                gantt::render(buf, right, batches, snapshot.at, scene.ui.age_ms(scene.now), theme);
            }
        }
    }
}

fn costs(buf: &mut Buffer, scene: &Scene<'_>, area: Rect) {
    if let Some(run) = shown_run(scene.snapshot) {
        let budget = run.budget.as_ref().and_then(|budget| budget.max_cost);
        cost::render(buf, area, run, budget, scene.theme);
    }
}

fn all(buf: &mut Buffer, scene: &Scene<'_>, area: Rect) {
    let snapshot = scene.snapshot;
    let Some(org) = scene.ui.selected_org(snapshot) else { return };
    let wanted = outcomes::rows_wanted(&snapshot.orgs);
    let lower = headroom::rows_wanted(&snapshot.orgs).max(wanted).min(area.height - BAND);
    let (upper, lower) = split_rows(area, area.height - lower);
    let third = (upper.width - 2 * GAP) * 3 / 10;
    let (chart, rest) = split_columns(upper, upper.width - 2 * (third + GAP));
    let (histogram, paid) = split_columns(rest, third);
    rate_window::render(buf, chart, org, !scene.ui.is_over(snapshot), scene.theme);
    latency::render(buf, histogram, org, scene.theme);
    costs(buf, scene, paid);
    let (gauges, bars) = split_columns(lower, chart.width);
    headroom::render(buf, gauges, &snapshot.orgs, scene.ui.age_ms(scene.now), scene.theme);
    outcomes::render(buf, bars, &snapshot.orgs, scene.theme);
    let (_, below) = split_rows(bars, wanted);
    if let Some(batches) = shown_run(snapshot).and_then(|run| run.batches.as_ref())
        && below.height >= gantt::ROWS_MIN
    {
        gantt::render(buf, below, batches, snapshot.at, scene.ui.age_ms(scene.now), scene.theme);
    }
}

fn split_rows(area: Rect, upper: u16) -> (Rect, Rect) {
    let upper = upper.min(area.height);
    (Rect { height: upper, ..area }, Rect { y: area.y + upper, height: area.height - upper, ..area })
}

/// Two parts with a gap between them.
fn split_columns(area: Rect, left: u16) -> (Rect, Rect) {
    let left = left.min(area.width);
    let from = (left + GAP).min(area.width);
    (Rect { width: left, ..area }, Rect { x: area.x + from, width: area.width - from, ..area })
}
