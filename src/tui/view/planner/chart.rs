//! Wall-clock and cost against the number of requests, both axes logarithmic, with both crossovers marked.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use crate::plan::ChartPoint;
use crate::report::format;
use crate::report::text::fit_right;
use crate::tui::screens::planner::Draft;
use crate::tui::view::pictures::titled;

use super::super::{Scene, put, styled};
use super::words;

/// Columns of the labels on the left.
const LABELS: u16 = 8;

/// Rows that a chart needs to show anything.
const ROWS: u16 = 7;

/// A line of the chart: what of a point it shows.
type Of = fn(&ChartPoint) -> Option<f64>;

/// Draws both charts, side by side or one over the other.
///
/// ```text
/// ── wall-clock ● sync ○ batch ──
///    24h ┤      │     ┊   ○○○○
///        │○○○○○○○○○○○○○○○○
///  12m04s┤      │ ●●●●┊
///        │   ●●●│     ┊
///     2s ┤●●●   │     ┊
///         10   1k    100k    1M     │ crossover 20,000   ┊ cost-balance 500,000   ▲ this plan
/// ```
pub(super) fn render(buf: &mut Buffer, scene: &Scene<'_>, draft: &Draft, area: Rect) {
    let sync_wall: Of = |point| Some(point.sync_wall_s);
    let batch_wall: Of = |point| Some(point.batch_wall_s);
    let sync_cost: Of = |point| point.sync_cost_usd.map(|cost| cost.usd());
    let batch_cost: Of = |point| point.batch_cost_usd.map(|cost| cost.usd());
    let legend = legend(draft);
    let body = Rect { height: area.height.saturating_sub(1), ..area };
    let (first, second) = if area.width < 2 * 46 && body.height < 2 * ROWS {
        (body, Rect::default())
    } else if area.width >= 2 * 46 {
        let half = body.width / 2;
        (Rect { width: half, ..body }, Rect { x: body.x + half, width: body.width - half, ..body })
    } else {
        let half = body.height / 2;
        (Rect { height: half, ..body }, Rect { y: body.y + half, height: body.height - half, ..body })
    };
    one(buf, scene, draft, first, "wall-clock", [sync_wall, batch_wall], words::span);
    one(buf, scene, draft, second, "cost", [sync_cost, batch_cost], words::short_money);
    put(buf, area, area.height.saturating_sub(1), [styled(legend, scene.theme.dim)]);
}

fn legend(draft: &Draft) -> String {
    let chart = &draft.plan.chart;
    let balance = match chart.cost_balance_n {
        Some(n) => format!("   ┊ cost balance {}", format::count(n)),
        None => String::new(),
    };
    format!(" │ crossover {}{balance}   ▲ this plan", format::count(chart.crossover_n))
}

/// The scale of an axis: logarithmic.
#[derive(Clone, Copy)]
struct Scale {
    low: f64,
    high: f64,
    cells: u16,
}

impl Scale {
    /// Over these values; `None` when there is none that a logarithm takes.
    fn over(values: impl Iterator<Item = f64>, cells: u16) -> Option<Scale> {
        let usable = values.filter(|value| value.is_finite() && *value > 0.0);
        let (low, high) = usable.fold((f64::INFINITY, 0.0_f64), |(low, high), value| (low.min(value), high.max(value)));
        (low <= high && cells > 0).then_some(Scale { low, high: high.max(low * 1.001), cells })
    }

    /// The cell of a value, counted from the low end; `None` outside.
    fn cell(&self, value: f64) -> Option<u16> {
        if !(value.is_finite() && value >= self.low * 0.999 && value <= self.high * 1.001) {
            return None;
        }
        let share = (value / self.low).ln() / (self.high / self.low).ln();
        let last = f64::from(self.cells - 1);
        Some((share * last).round().clamp(0.0, last) as u16)
    }

    /// The value in the middle of a cell.
    fn value(&self, cell: u16) -> f64 {
        let share = f64::from(cell) / f64::from(self.cells.saturating_sub(1).max(1));
        self.low * (self.high / self.low).powf(share)
    }
}

fn one(
    buf: &mut Buffer,
    scene: &Scene<'_>,
    draft: &Draft,
    area: Rect,
    name: &str,
    lines: [Of; 2],
    said: fn(f64) -> String,
) {
    let theme = scene.theme;
    let body = titled(buf, area, name, "● sync ○ batch", theme);
    if body.height < 3 || body.width < LABELS + 10 {
        return;
    }
    let plot = Rect { x: body.x + LABELS, width: body.width - LABELS, height: body.height - 1, ..body };
    let points = &draft.plan.chart.points;
    let across = Scale::over(points.iter().map(|point| point.n as f64), plot.width);
    let up = Scale::over(points.iter().flat_map(|point| lines.iter().filter_map(|of| of(point))), plot.height);
    let (Some(across), Some(up)) = (across, up) else {
        return put(buf, body, 1, [styled("  nothing to draw: no price, or no org", theme.dim)]);
    };
    let mut dot = |x: u16, y: u16, glyph: &str, style: Style| {
        let area = Rect { x: plot.x + x, width: 1, ..plot };
        put(buf, area, plot.height - 1 - y.min(plot.height - 1), [styled(glyph, style)]);
    };
    let chart = &draft.plan.chart;
    let marks = [(Some(chart.crossover_n), "│"), (chart.cost_balance_n, "┊")];
    for (x, glyph) in marks.into_iter().filter_map(|(n, glyph)| Some((across.cell(n? as f64)?, glyph))) {
        (0..plot.height).for_each(|y| dot(x, y, glyph, theme.frame));
    }
    for (of, glyph, style) in [(lines[1], "○", theme.info), (lines[0], "●", theme.good)] {
        for x in 0..plot.width {
            if let Some(y) = between(points, across.value(x), of).and_then(|value| up.cell(value)) {
                dot(x, y, glyph, style);
            }
        }
    }
    if let Some(x) = across.cell(draft.plan.n_to_send as f64) {
        dot(x, 0, "▲", theme.selected);
    }
    for (y, value) in [(plot.height - 1, up.high), (0, up.low)] {
        let label = format!("{}┤", fit_right(&said(value), usize::from(LABELS) - 1));
        put(buf, body, plot.height - 1 - y, [styled(label, theme.dim)]);
    }
    bottom(buf, scene, Rect { y: plot.y + plot.height, height: 1, ..plot }, &across);
}

/// The numbers of requests under a plot.
fn bottom(buf: &mut Buffer, scene: &Scene<'_>, area: Rect, across: &Scale) {
    // Next to the last one there is no room for another.
    let near = if area.width < 60 { 10_000 } else { 100_000 };
    for n in [10_u64, 1_000, near, 1_000_000] {
        let label = format::short_count(n);
        let Some(x) = across.cell(n as f64) else { continue };
        let x = x.min(area.width.saturating_sub(u16::try_from(label.len()).unwrap_or(0)));
        put(buf, Rect { x: area.x + x, width: area.width - x, ..area }, 0, [styled(label, scene.theme.dim)]);
    }
}

/// The value at a number of requests, between the points around it on logarithmic axes.
fn between(points: &[ChartPoint], n: f64, of: Of) -> Option<f64> {
    let after = points.partition_point(|point| (point.n as f64) < n);
    let (low, high) = (points.get(after.saturating_sub(1))?, points.get(after).or(points.last())?);
    let (a, b) = (of(low)?, of(high)?);
    let (from, to) = ((low.n.max(1) as f64).ln(), (high.n.max(1) as f64).ln());
    if to <= from || a <= 0.0 || b <= 0.0 {
        return Some(b);
    }
    let share = ((n.max(1.0).ln() - from) / (to - from)).clamp(0.0, 1.0);
    Some((a.ln() + (b.ln() - a.ln()) * share).exp())
}
