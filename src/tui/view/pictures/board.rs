//! Which pictures stand where on the live screen, by the room there is.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::tui::state::shown_run;
use crate::tui::view::Scene;

use super::{cost, gantt, headroom, latency, outcomes, rate_window};

/// Columns from which two bands of pictures stand side by side.
const WIDE: u16 = 160;
/// Rows of the upper band of a wide board, at the least.
const BAND: u16 = 9;
/// Columns between two pictures.
const GAP: u16 = 2;

/// Rows that a board of a width can use, for orgs with so many rows of limiters; none is drawn in fewer than
/// [`rate_window::ROWS_MIN`].
pub fn rows_wanted(columns: u16, limiter_rows: u16, n_orgs: u16) -> u16 {
    let bars = n_orgs + 2;
    if columns >= WIDE { 16 + limiter_rows.max(bars) } else { 10 + bars }
}

/// Draws the pictures.
///
/// ```text
/// ── high-prio · answers a second ──────────────  ── latency of high-prio ─────  ── cost ───────────────
///  rate and window of the selected org            histogram                      paid and to come
/// ── headroom ──────────────────────────────────  ── attempts ───────────────────────────────────────────
///  a gauge a limiter                              a stacked bar an org; with sub-batches, their extents
/// ```
pub fn render(buf: &mut Buffer, scene: &Scene<'_>, area: Rect) {
    let snapshot = scene.snapshot;
    let Some(org) = scene.ui.selected_org(snapshot) else { return };
    let wanted = outcomes::rows_wanted(&snapshot.orgs);
    if area.width < WIDE || area.height < BAND + wanted {
        let below = if area.height >= rate_window::ROWS_MIN + wanted { wanted } else { 0 };
        let (chart, bars) = split_rows(area, area.height - below);
        rate_window::render(buf, chart, org, scene.theme);
        if below > 0 {
            outcomes::render(buf, bars, &snapshot.orgs, scene.theme);
        }
        return;
    }
    let lower = headroom::rows_wanted(&snapshot.orgs).max(wanted).min(area.height - BAND);
    let (upper, lower) = split_rows(area, area.height - lower);
    let third = (upper.width - 2 * GAP) * 3 / 10;
    let (chart, rest) = split_columns(upper, upper.width - 2 * (third + GAP));
    let (histogram, costs) = split_columns(rest, third);
    rate_window::render(buf, chart, org, scene.theme);
    latency::render(buf, histogram, org, scene.theme);
    let run = shown_run(snapshot);
    if let Some(run) = run {
        let budget = run.budget.as_ref().and_then(|budget| budget.max_cost);
        cost::render(buf, costs, run, budget, scene.theme);
    }
    let (gauges, bars) = split_columns(lower, chart.width);
    headroom::render(buf, gauges, &snapshot.orgs, scene.ui.age_ms(scene.now), scene.theme);
    outcomes::render(buf, bars, &snapshot.orgs, scene.theme);
    let (_, below) = split_rows(bars, wanted);
    if let Some(batches) = run.and_then(|run| run.batches.as_ref())
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
