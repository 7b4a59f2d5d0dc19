//! What charts share: columns of time, a scale that ends at a round number, and bars of eighths.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Span;

use crate::report::format;
use crate::report::text::fit_right;
use crate::tui::theme::Theme;
use crate::tui::view::{put, styled};

/// Columns of the labels on the left, with the tick.
pub const LABELS: u16 = 8;

/// Eighths of a cell, from below.
const LEVELS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// How many steps share a column so that `n` of them fit.
pub fn steps_a_column(n: usize, columns: usize) -> usize {
    n.div_ceil(columns.max(1)).max(1)
}

/// The smallest of 1, 2, 2.5, 5 times a power of ten that is not below a value: scales that do not twitch.
pub fn round_up(value: f64) -> f64 {
    if !value.is_finite() || value <= 0.0 {
        return 1.0;
    }
    let power = 10f64.powf(value.log10().floor());
    [1.0, 2.0, 2.5, 5.0, 10.0].into_iter().map(|n| n * power).find(|top| *top >= value - 1e-9).unwrap_or(value)
}

/// The character of a value in a row of a bar that is `rows` high; row 0 is the top. Something is never drawn as nothing.
pub fn level(value: f64, top: f64, rows: u16, row: u16) -> char {
    let share = if top > 0.0 && value.is_finite() { (value / top).clamp(0.0, 1.0) } else { 0.0 };
    let mut eighths = (share * f64::from(rows) * 8.0).round() as usize;
    if value > 0.0 {
        eighths = eighths.max(1);
    }
    let below = usize::from(rows.saturating_sub(row + 1)) * 8;
    LEVELS[eighths.saturating_sub(below).min(8)]
}

/// One bar of a chart.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bar {
    /// How high it is, in the unit of the scale.
    pub value: f64,
    /// How it looks.
    pub style: Style,
    /// It is not so yet: drawn shaded.
    pub to_come: bool,
}

impl Bar {
    /// No bar.
    pub const NOTHING: Bar = Bar { value: 0.0, style: Style::new(), to_come: false };

    fn glyph(&self, scale: &Scale, rows: u16, row: u16) -> char {
        match level(self.value, scale.top, rows, row) {
            '█' if self.to_come => '▒',
            glyph => glyph,
        }
    }
}

/// The scale of a chart.
#[derive(Debug, Clone, PartialEq)]
pub struct Scale {
    /// The value at the upper edge.
    pub top: f64,
    /// What is written at the top, in the middle and at the bottom; the middle only from five rows on.
    pub labels: [String; 3],
    /// A line across at a value: a cap, a budget.
    pub line: Option<(f64, Style)>,
}

/// Draws bars at the right of `area`, one a column, with the labels of the scale on the left.
pub fn bars(buf: &mut Buffer, area: Rect, bars: &[Bar], scale: &Scale, theme: &Theme) {
    let rows = area.height;
    let columns = usize::from(area.width.saturating_sub(LABELS));
    let shown = &bars[bars.len().saturating_sub(columns)..];
    let lead = columns - shown.len();
    let line_row = scale.line.map(|(value, style)| (row_of(value, scale.top, rows), style));
    for row in 0..rows {
        let mut spans = vec![label(row, rows, &scale.labels, theme)];
        let crossed = line_row.filter(|(at, _)| *at == row).map(|(_, style)| style);
        push_run(&mut spans, std::iter::repeat_n((' ', theme.text), lead), crossed);
        push_run(&mut spans, shown.iter().map(|bar| (bar.glyph(scale, rows, row), bar.style)), crossed);
        put(buf, area, row, spans);
    }
}

/// The row in which a value ends.
pub fn row_of(value: f64, top: f64, rows: u16) -> u16 {
    let share = if top > 0.0 { (value / top).clamp(0.0, 1.0) } else { 0.0 };
    let from_below = (share * f64::from(rows)).ceil().max(1.0) as u16;
    rows.saturating_sub(from_below)
}

/// The tick of a row, with what is written there.
fn label(row: u16, rows: u16, labels: &[String; 3], theme: &Theme) -> Span<'static> {
    let middle = rows / 2;
    let (text, tick) = match row {
        0 if rows > 1 => (labels[0].as_str(), '┤'),
        row if row + 1 == rows => (labels[2].as_str(), '┤'),
        row if row == middle && rows >= 5 => (labels[1].as_str(), '┤'),
        _ => ("", '│'),
    };
    styled(format!("{}{tick}", fit_right(text, usize::from(LABELS) - 1)), theme.dim)
}

/// Adds cells as few spans; blanks that a line crosses are drawn as the line.
fn push_run(spans: &mut Vec<Span<'static>>, cells: impl Iterator<Item = (char, Style)>, crossed: Option<Style>) {
    let mut run = String::new();
    let mut run_style = None;
    for (glyph, style) in cells {
        let (glyph, style) = match crossed {
            Some(line) if glyph == ' ' => ('╌', line),
            _ => (glyph, style),
        };
        if run_style != Some(style)
            && let Some(style) = run_style.replace(style)
        {
            spans.push(styled(std::mem::take(&mut run), style));
        }
        run.push(glyph);
    }
    if let Some(style) = run_style {
        spans.push(styled(run, style));
    }
}

/// Draws the time axis: how long ago the left edge is, the middle, and `now` at the right.
pub fn time(buf: &mut Buffer, area: Rect, row: u16, column_s: u64, right: &str, theme: &Theme) {
    let columns = usize::from(area.width.saturating_sub(LABELS));
    let ago = |columns: usize| format!("-{}", format::span(column_s.saturating_mul(columns as u64) * 1_000));
    let middle = if columns >= 40 { ago(columns / 2) } else { String::new() };
    let left = ago(columns);
    let gap = |from: usize, to: usize| " ".repeat(to.saturating_sub(from));
    let middle_at = columns / 2;
    let mut line = left;
    line.push_str(&gap(line.len(), middle_at));
    line.push_str(&middle);
    line.push_str(&gap(line.len(), columns.saturating_sub(right.len())));
    line.push_str(right);
    put(buf, area, row, [styled(" ".repeat(usize::from(LABELS)), theme.dim), styled(line, theme.dim)]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_end_at_round_numbers() {
        for (value, top) in
            [(0.0, 1.0), (0.7, 1.0), (1.0, 1.0), (1.2, 2.0), (23.0, 25.0), (98.0, 100.0), (501.0, 1_000.0)]
        {
            assert!((round_up(value) - top).abs() < 1e-9, "{value} {}", round_up(value));
        }
        assert!((round_up(f64::NAN) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn a_bar_rises_by_eighths_and_the_smallest_value_is_seen() {
        let column = |value| (0..2).map(|row| level(value, 16.0, 2, row)).collect::<String>();
        assert_eq!(column(0.0), "  ");
        assert_eq!(column(0.001), " ▁");
        assert_eq!(column(8.0), " █");
        assert_eq!(column(12.0), "▄█");
        assert_eq!(column(99.0), "██");
    }

    #[test]
    fn a_line_is_in_the_row_in_which_a_bar_of_its_value_ends() {
        assert_eq!(row_of(100.0, 100.0, 4), 0);
        assert_eq!(row_of(75.0, 100.0, 4), 1);
        assert_eq!(row_of(0.0, 100.0, 4), 3);
    }
}
