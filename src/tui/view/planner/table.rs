//! The decision table: the row of the plan is marked, and cells in which the rules and the recipe disagree.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::plan::{TableCell, TableRow};
use crate::report::format;
use crate::report::text::{fit, fit_right, harmless, wrap};
use crate::tui::screens::planner::Draft;

use super::super::{Scene, put, styled};
use super::words;

/// Draws it.
///
/// ```text
///            n  if time matters  if money matters    sync             batch
///    10,000     sync             batch ! table: sync  1m40s    $2.10   1h00m    $1.05
///  › 100,000    sync             batch ! table: sync  12m04s  $21.00   1h00m   $10.50
///  ! 10,000, money matters: the recipe table says sync (…); the rules: …
/// ```
pub(super) fn render(buf: &mut Buffer, scene: &Scene<'_>, draft: &Draft, area: Rect) {
    let theme = scene.theme;
    let wide = area.width >= 66;
    let heading = match wide {
        true => format!(
            "   {}  {} {} {} {}",
            fit_right("n", 9),
            fit("if time", 9),
            fit("if money", 9),
            fit("   sync", 19),
            "   batch"
        ),
        false => {
            format!("   {}  {} {} {} {}", fit_right("n", 9), fit("time", 7), fit("money", 7), fit("sync", 8), "batch")
        }
    };
    put(buf, area, 0, [styled(heading, theme.dim)]);
    for (row, line) in (1..area.height).zip(&draft.plan.table) {
        row_of(buf, scene, area, row, line, wide);
    }
    let below = 1 + u16::try_from(draft.plan.table.len()).unwrap_or(u16::MAX);
    let rest = Rect { y: area.y + below.min(area.height), height: area.height.saturating_sub(below), ..area };
    let texts = draft.plan.table.iter().flat_map(|row| {
        [("time", &row.latency), ("money", &row.cost)]
            .into_iter()
            .filter(|(_, cell)| cell.disagrees)
            .map(|(what, cell)| format!("! {} if {what} matters: {}", format::count(row.n), cell.why))
    });
    let lines = texts.flat_map(|text| wrap(&harmless(&text), usize::from(area.width.saturating_sub(2)).max(1)));
    for (row, line) in (0..rest.height).zip(lines.skip(draft.scroll)) {
        put(buf, rest, row, [styled(format!(" {line}"), theme.warn)]);
    }
}

fn row_of(buf: &mut Buffer, scene: &Scene<'_>, area: Rect, row: u16, line: &TableRow, wide: bool) {
    let theme = scene.theme;
    let base = if line.is_current { theme.strong } else { theme.text };
    let mark = if line.is_current { " › " } else { "   " };
    let cell = |cell: &TableCell, columns: usize| {
        let flag = if cell.disagrees { " !" } else { "" };
        let style = if cell.disagrees { theme.warn } else { base };
        styled(format!("{} ", fit(&format!("{}{flag}", cell.route), columns)), style)
    };
    let n = styled(format!("{}  ", fit_right(&format::count(line.n), 9)), base);
    let columns = if wide { 9 } else { 7 };
    let mut spans = vec![styled(mark, theme.selected), n, cell(&line.latency, columns), cell(&line.cost, columns)];
    let (sync, batch) = (words::span(line.sync_wall_s), words::span(line.batch_wall_s));
    if wide {
        let with = |wall: &str, cost| format!("{} {}", fit_right(wall, 7), fit_right(&words::money(cost), 11));
        spans.push(styled(format!("{} ", with(&sync, line.sync_cost_usd)), base));
        spans.push(styled(with(&batch, line.batch_cost_usd), base));
    } else {
        spans.push(styled(format!("{} {batch}", fit(&sync, 8)), base));
    }
    put(buf, area, row, spans);
}
