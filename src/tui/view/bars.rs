//! Numbers that are drawn: gauges, the bar of outcomes, sparklines. All of them return cells for a line; none touches a
//! buffer, so none can leave it.

use ratatui::style::Style;
use ratatui::text::Span;

use crate::model::Counts;
use crate::tui::theme::Theme;

/// Eighths of a cell, from the left.
const EIGHTHS: [char; 8] = [' ', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];
/// Eighths of a cell, from below.
const LEVELS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// A bar of `columns` cells, filled to `ratio` of it in eighths.
pub fn gauge(ratio: f64, columns: usize, filled: Style, empty: Style) -> Vec<Span<'static>> {
    let ratio = if ratio.is_finite() { ratio.clamp(0.0, 1.0) } else { 0.0 };
    let eighths = (ratio * columns as f64 * 8.0).round() as usize;
    let (full, rest) = ((eighths / 8).min(columns), eighths % 8);
    let mut cells = "█".repeat(full);
    let mut used = full;
    // Something is never drawn as nothing.
    let sliver = if eighths == 0 && ratio > 0.0 { 1 } else { rest };
    if sliver > 0 && used < columns {
        cells.extend(EIGHTHS.get(sliver));
        used += 1;
    }
    vec![Span::styled(cells, filled), Span::styled("·".repeat(columns - used), empty)]
}

/// A window: what is in flight, what the window would still admit, and what is left to the ceiling.
pub fn window(in_flight: u32, window: u32, ceiling: u32, columns: usize, theme: &Theme) -> Vec<Span<'static>> {
    let whole = f64::from(ceiling.max(window).max(in_flight).max(1));
    let cells = |n: u32| ((f64::from(n) / whole * columns as f64).round() as usize).min(columns);
    let mut busy = cells(in_flight);
    if in_flight > 0 {
        busy = busy.max(1.min(columns));
    }
    let open = cells(window).max(busy) - busy;
    vec![
        Span::styled("█".repeat(busy), theme.info),
        Span::styled("▒".repeat(open), theme.info),
        Span::styled("·".repeat(columns - busy - open), theme.dim),
    ]
}

/// The parts of a run, in the order of the bar: glyph, name, number. Requests in flight are shown apart from those that
/// wait; the parts add up to the total.
pub fn parts(counts: &Counts) -> [(char, &'static str, u64); 7] {
    let moving = counts.in_flight.saturating_add(counts.unsynced);
    let unsent = counts.unsent.saturating_sub(moving);
    [
        ('▓', "cached", counts.cached),
        ('█', "succeeded", counts.succeeded),
        ('▚', "refused", counts.refused),
        ('×', "invalid", counts.invalid),
        ('↻', "re-driving", counts.re_drivable),
        ('▒', "in flight", counts.unsent - unsent),
        ('·', "unsent", unsent),
    ]
}

/// Cells of each part: in proportion, but every part that is there has one, as far as there are cells.
pub fn shares(parts: &[u64], columns: usize) -> Vec<usize> {
    let whole: u128 = parts.iter().map(|n| u128::from(*n)).sum();
    if whole == 0 || columns == 0 {
        return vec![0; parts.len()];
    }
    let mut cells: Vec<usize> = parts.iter().map(|n| (u128::from(*n) * columns as u128 / whole) as usize).collect();
    for (at, n) in parts.iter().enumerate() {
        if *n > 0 && cells[at] == 0 {
            cells[at] = 1;
        }
    }
    // What rounding left goes to the largest part, and what the smallest ones took comes from it.
    loop {
        let used: usize = cells.iter().sum();
        let largest = (0..cells.len()).max_by_key(|at| cells[*at]).unwrap_or(0);
        if used < columns {
            let largest = (0..parts.len()).max_by_key(|at| parts[*at]).unwrap_or(0);
            cells[largest] += columns - used;
        } else if used > columns {
            cells[largest] -= 1;
        } else {
            return cells;
        }
    }
}

/// The bar of outcomes.
pub fn outcomes(counts: &Counts, columns: usize, theme: &Theme) -> Vec<Span<'static>> {
    let parts = parts(counts);
    let cells = shares(&parts.map(|(_, _, n)| n), columns);
    let glyphs = parts.iter().zip(theme.outcomes);
    glyphs
        .zip(cells)
        .map(|(((glyph, _, _), style), cells)| {
            Span::styled(std::iter::repeat_n(*glyph, cells).collect::<String>(), style)
        })
        .collect()
}

/// One row of a sparkline of the last `columns` values, `rows` high; row 0 is the top. The scale is the largest value
/// shown, at least 1.
pub fn sparkline(values: &[u32], columns: usize, rows: usize, row: usize) -> String {
    let shown = &values[values.len().saturating_sub(columns)..];
    let top = shown.iter().copied().max().unwrap_or(0).max(1);
    let from_below = rows.saturating_sub(row + 1);
    let mut out = " ".repeat(columns - shown.len());
    for value in shown {
        let mut eighths = (f64::from(*value) / f64::from(top) * (rows * 8) as f64).round() as usize;
        if *value > 0 {
            eighths = eighths.max(1);
        }
        let here = eighths.saturating_sub(from_below * 8).min(8);
        let base = if row + 1 == rows && here == 0 { '▁' } else { LEVELS[here] };
        out.push(base);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text(spans: &[Span<'_>]) -> String {
        spans.iter().map(|span| span.content.as_ref()).collect()
    }

    #[test]
    fn a_gauge_fills_in_eighths_and_shows_the_smallest_amount() {
        let plain = Style::new();
        assert_eq!(text(&gauge(0.0, 4, plain, plain)), "····");
        assert_eq!(text(&gauge(0.001, 4, plain, plain)), "▏···");
        assert_eq!(text(&gauge(0.5, 4, plain, plain)), "██··");
        assert_eq!(text(&gauge(1.0, 4, plain, plain)), "████");
        assert_eq!(text(&gauge(f64::NAN, 4, plain, plain)), "····");
    }

    #[test]
    fn the_smallest_part_has_a_cell_and_the_cells_add_up() {
        assert_eq!(shares(&[1, 1_000_000, 0], 10), [1, 9, 0]);
        assert_eq!(shares(&[5, 5], 5), [2, 3]);
        assert_eq!(shares(&[0, 0], 5), [0, 0]);
    }

    #[test]
    fn a_sparkline_is_as_wide_as_asked_and_rises_over_rows() {
        assert_eq!(sparkline(&[0, 4, 8], 5, 1, 0), "  ▁▄█");
        assert_eq!(sparkline(&[0, 4, 8], 3, 2, 0), "  █");
        assert_eq!(sparkline(&[0, 4, 8], 3, 2, 1), "▁██");
        assert_eq!(sparkline(&[], 3, 1, 0), "   ");
    }

    proptest! {
        #[test]
        fn bars_have_exactly_the_columns_that_they_were_given(
            counts in proptest::array::uniform8(any::<u32>()),
            columns in 0usize..130,
        ) {
            let [cached, succeeded, refused, invalid, re_drivable, unsent, in_flight, unsynced] = counts.map(u64::from);
            let counts = Counts {
                total: cached + succeeded + refused + invalid + re_drivable + unsent,
                cached, succeeded, refused, invalid, re_drivable, unsent, in_flight, unsynced,
            };
            let theme = Theme::of(crate::tui::theme::ThemeName::Dark);
            let bar = text(&outcomes(&counts, columns, &theme)).chars().count();
            // More parts than columns cannot all have a cell.
            prop_assert_eq!(bar, if counts.total == 0 { 0 } else { columns });
            prop_assert_eq!(parts(&counts).iter().map(|(_, _, n)| n).sum::<u64>(), counts.total);
            let [a, b, c, ..] = [cached, succeeded, refused].map(|n| n as u32);
            prop_assert_eq!(text(&window(a, b, c, columns, &theme)).chars().count(), columns);
        }
    }
}
