//! The table of sub-batches: which columns fit, and what stands in them.

use ratatui::style::Style;
use ratatui::text::Span;

use crate::model::SubBatchStatus;
use crate::model::snapshot::{BatchesView, SubBatchView};
use crate::report::format;
use crate::report::text::{fit, fit_right, harmless};
use crate::tui::theme::Theme;

use super::super::styled;

/// The button of a row that can be canceled.
pub(super) const BUTTON: &str = "[cancel]";

/// What the marks on the bar of ages are: where those ended that have.
const MARKS: &str = "│median ┊longest";

/// Columns of the button, and one before the edge.
pub(super) const BUTTON_ROOM: u16 = BUTTON.len() as u16 + 1;

/// Widths of the columns. The button is in every layout; what an operator can do without goes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Columns {
    org: usize,
    requests: usize,
    state: usize,
    age: usize,
    /// The bar of ages; 0 leaves it out.
    bar: usize,
    stuck: usize,
    expires: usize,
    /// What it came to: answers, requests to be sent again, cost.
    counts: bool,
    id: usize,
}

/// The mark of the selected row, and the index.
const BEFORE: usize = 3 + 5;

impl Columns {
    pub(super) fn of(width: u16) -> Columns {
        let room = usize::from(width.saturating_sub(BUTTON_ROOM)).saturating_sub(BEFORE);
        let narrow =
            Columns { org: 0, requests: 0, state: 11, age: 7, bar: 0, stuck: 0, expires: 0, counts: false, id: 0 };
        let small = Columns { org: 10, ..narrow };
        let middle = Columns { requests: 6, expires: 7, ..small };
        let wide = Columns { org: 12, requests: 8, state: 16, counts: true, ..middle };
        let wider = Columns { stuck: 7, ..wide };
        let widest = Columns { id: 34, ..wider };
        let fits = [(widest, 24), (wider, 16), (wide, 8), (middle, 8), (small, 0), (narrow, 0)];
        let (columns, _) =
            fits.into_iter().find(|(columns, least)| columns.taken() + least <= room).unwrap_or((narrow, 0));
        let left = room.saturating_sub(columns.taken() + 1);
        Columns { bar: if left >= 8 { left.min(48) } else { 0 }, ..columns }
    }

    /// What all but the bar take, each with the space behind it.
    fn taken(self) -> usize {
        let each = [self.org, self.requests, self.state, self.age, self.stuck, self.expires, self.id];
        let counts = if self.counts { 7 + 6 + 9 + 3 } else { 0 };
        each.iter().filter(|width| **width > 0).map(|width| width + 1).sum::<usize>() + counts
    }

    /// The heading; `marks` says over the bar of ages what its marks are.
    pub(super) fn heading(self, marks: bool) -> String {
        let mut text = format!("   {} ", fit_right("#", 4));
        let mut left = |name: &str, width: usize| {
            if width > 0 {
                text.push_str(&format!("{} ", fit(name, width)));
            }
        };
        left("org", self.org);
        left(&fit_right(if self.requests < 8 { "n" } else { "requests" }, self.requests), self.requests);
        left("state", self.state);
        left("age", self.age);
        left(if marks && self.bar >= MARKS.chars().count() { MARKS } else { "" }, self.bar);
        left(&fit_right("stuck", self.stuck), self.stuck);
        left(&fit_right("expires", self.expires), self.expires);
        if self.counts {
            text.push_str(&format!("{} {} {} ", fit_right("done", 7), fit_right("again", 6), fit_right("cost", 9)));
        }
        if self.id > 0 {
            text.push_str("batch");
        }
        text
    }

    /// A row.
    pub(super) fn row(self, view: &BatchesView, sub: &SubBatchView, at: Row, theme: &Theme) -> Vec<Span<'static>> {
        let Row { selected, aged } = at;
        let age = age(sub, aged);
        let state = match &sub.api_status {
            Some(word) => format!("{} ({})", sub.status, harmless(word)),
            // What was harvested of it stands in the row; that it did not come to its end is what else there is to know.
            None if sub.canceled && sub.status == SubBatchStatus::Harvested => "canceled".to_owned(),
            None => sub.status.to_string(),
        };
        let style = style_of(view, sub, aged, theme);
        let base = if selected { theme.strong } else { theme.text };
        let mut spans = vec![
            styled(if selected { " › " } else { "   " }, theme.selected),
            styled(format!("{} ", fit_right(&sub.index.to_string(), 4)), base),
        ];
        let mut cell = |text: String, width: usize, style: Style| {
            if width > 0 {
                spans.push(styled(format!("{text} "), style));
            }
        };
        cell(fit(&harmless(&sub.org), self.org), self.org, base);
        let n = format::count(u64::from(sub.n_requests));
        cell(fit_right(&n, self.requests), self.requests, base);
        cell(fit(&state, self.state), self.state, style);
        cell(fit(&age.map_or("·".to_owned(), format::span), self.age), self.age, base);
        cell(age_bar(view, age, self.bar), self.bar, style);
        let countdown = |ms: Option<u64>| ms.map_or("·".to_owned(), |ms| format::span(ms.saturating_sub(aged)));
        cell(fit_right(&countdown(sub.stuck_in_ms), self.stuck), self.stuck, theme.dim);
        cell(fit_right(&countdown(sub.expires_in_ms), self.expires), self.expires, theme.dim);
        if self.counts {
            let known = sub.status.is_over();
            let mut figure = |text: String, width: usize| {
                cell(fit_right(if known { &text } else { "·" }, width), width, base);
            };
            figure(format::count(u64::from(sub.n_succeeded + sub.n_refused_invalid)), 7);
            figure(format::count(u64::from(sub.n_expired + sub.n_canceled + sub.n_errored)), 6);
            figure(format::money(sub.cost), 9);
        }
        cell(fit(&harmless(sub.batch_id.as_deref().unwrap_or("")), self.id), self.id, theme.dim);
        spans
    }
}

/// What a row depends on besides its sub-batch.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row {
    pub(super) selected: bool,
    /// Milliseconds since the snapshot was made.
    pub(super) aged: u64,
}

/// Whether it can be canceled.
pub(super) fn has_button(sub: &SubBatchView) -> bool {
    sub.status == SubBatchStatus::InProgress
}

/// Its age now.
pub(super) fn age(sub: &SubBatchView, aged: u64) -> Option<u64> {
    sub.age_ms.map(|age| if sub.status.is_open() { age + aged } else { age })
}

/// Whether it is open and older than any that has ended became.
pub(super) fn is_behind(view: &BatchesView, sub: &SubBatchView, aged: u64) -> bool {
    let longest = view.took_longest_ms.filter(|_| sub.status.is_open());
    longest.zip(age(sub, aged)).is_some_and(|(longest, age)| age > longest)
}

pub(super) fn style_of(view: &BatchesView, sub: &SubBatchView, aged: u64, theme: &Theme) -> Style {
    match sub.status {
        _ if sub.question.is_some() => theme.bad,
        SubBatchStatus::Harvested if sub.canceled => theme.warn,
        SubBatchStatus::Harvested => theme.good,
        SubBatchStatus::Planned => theme.dim,
        SubBatchStatus::Unavailable | SubBatchStatus::Adrift => theme.bad,
        _ if sub.stuck || is_behind(view, sub, aged) => theme.warn,
        _ => theme.info,
    }
}

/// The age against the threshold, where the bar ends; `│` marks where the siblings ended in the middle, `┊` where the last of
/// them did.
fn age_bar(view: &BatchesView, age: Option<u64>, width: usize) -> String {
    let whole = view.threshold_ms.or(Some(24 * 3_600_000)).filter(|ms| *ms > 0);
    let (Some(age), Some(whole)) = (age, whole) else { return " ".repeat(width) };
    let place = |ms: u64| ((ms.min(whole) as f64 / whole as f64) * width as f64).round() as usize;
    let mark = |ms: Option<u64>| ms.map(|ms| place(ms).min(width.saturating_sub(1)));
    let (filled, median, longest) = (place(age), mark(view.took_median_ms), mark(view.took_longest_ms));
    (0..width)
        .map(|at| match at < filled {
            _ if median == Some(at) => '│',
            _ if longest == Some(at) => '┊',
            true => '█',
            false => '·',
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_columns_and_the_button_fit_into_every_width() {
        for width in 40..300 {
            let columns = Columns::of(width);
            let used = BEFORE + columns.taken() + if columns.bar > 0 { columns.bar + 1 } else { 0 };
            assert!(used + usize::from(BUTTON_ROOM) <= usize::from(width), "{width}: {columns:?}");
        }
        let at_80 = Columns::of(80);
        assert!(at_80.bar >= 8 && at_80.expires > 0 && at_80.requests > 0, "{at_80:?}");
        assert!(Columns::of(120).counts && Columns::of(200).id > 0);
    }
}
