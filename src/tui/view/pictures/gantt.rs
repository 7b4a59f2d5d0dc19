//! The sub-batches over time: when each was created, how long it took, and which are near the threshold.
//!
//! An open sub-batch has no progress that could be drawn: its bar is its age, and the mark is the age at which it is stuck.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Span;

use crate::model::snapshot::{BatchesView, SubBatchView};
use crate::model::{SubBatchStatus, Wall};
use crate::report::format;
use crate::report::text::{fit, fit_right, harmless};
use crate::tui::theme::Theme;
use crate::tui::view::{put, styled};

use super::titled;

/// Fewest rows that it needs.
pub const ROWS_MIN: u16 = 4;
/// Columns of the number and the org.
const NAME: usize = 4 + 1 + 10 + 1;
/// Columns of the age behind the bar.
const AGE: usize = 9;

/// A bar, in milliseconds from the creation of the first sub-batch.
struct Extent<'v> {
    sub: &'v SubBatchView,
    from: u64,
    to: u64,
    /// When it is stuck, while it is open.
    stuck_at: Option<u64>,
}

/// Draws it; `aged_ms` is the time since the picture was made.
///
/// ```text
/// ── sub-batches over time · █ harvested · ▒ open · │ stuck from here ────────────────
///    0 high-prio  ███▌                                                        12m00s
///    1 low-prio   █████████▎                                                  31m00s
///    2 batch      ▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒│▒      4h01m
///    3 high-prio                                             ▒▒▒▒▒            10m00s
///                 -4h01m                       -2h00m                  now
/// ```
pub fn render(buf: &mut Buffer, area: Rect, view: &BatchesView, now: Wall, aged_ms: u64, theme: &Theme) {
    let title = "█ harvested · ▒ open · │ stuck from here";
    let body = titled(buf, area, "sub-batches over time", title, theme);
    let columns = usize::from(body.width).saturating_sub(NAME + AGE + 2);
    let spans = spans(view, now, aged_ms);
    if body.height < ROWS_MIN - 1 || columns < 8 || spans.is_empty() {
        return;
    }
    let elapsed = spans.iter().map(|span| span.to).max().unwrap_or(0).max(1);
    // A threshold that is far away would press the bars together: it is drawn when it comes near.
    let near = spans.iter().filter_map(|span| span.stuck_at).filter(|at| *at <= elapsed.saturating_mul(2)).max();
    let whole = elapsed.max(near.unwrap_or(0));
    let rows = body.height - 1;
    let hidden = spans.len().saturating_sub(usize::from(rows));
    for (row, span) in (0..rows).zip(&spans) {
        put(buf, body, row, line(span, whole, columns, theme));
    }
    put(buf, body, rows, [styled(foot(elapsed, whole, columns, hidden), theme.dim)]);
}

/// Those that were created: the open ones first, the oldest of them on top, then those that ended, the newest first.
fn spans(view: &BatchesView, now: Wall, aged_ms: u64) -> Vec<Extent<'_>> {
    let created = |sub: &SubBatchView| -> Option<i64> {
        let age = i64::try_from(sub.age_ms?).unwrap_or(i64::MAX);
        let begun = sub.timeline.first().map(|(at, _)| at.0).filter(|_| !sub.status.is_open());
        Some(begun.unwrap_or(now.0.saturating_sub(age)))
    };
    let first = view.sub_batches.iter().filter_map(created).min().unwrap_or(now.0);
    let mut spans: Vec<Extent<'_>> = view
        .sub_batches
        .iter()
        .filter_map(|sub| {
            let open = sub.status.is_open();
            let from = u64::try_from(created(sub)?.saturating_sub(first)).unwrap_or(0);
            let age = sub.age_ms? + if open { aged_ms } else { 0 };
            let stuck_at = view.threshold_ms.filter(|_| open).map(|after| from.saturating_add(after));
            Some(Extent { sub, from, to: from.saturating_add(age), stuck_at })
        })
        .collect();
    spans.sort_by_key(|span| {
        (!span.sub.status.is_open(), if span.sub.status.is_open() { span.from } else { u64::MAX - span.from })
    });
    spans
}

fn look(sub: &SubBatchView, theme: &Theme) -> (char, Style) {
    match sub.status {
        SubBatchStatus::Harvested => ('█', theme.good),
        SubBatchStatus::Unavailable | SubBatchStatus::Adrift => ('×', theme.bad),
        _ if sub.question.is_some() => ('▒', theme.bad),
        _ if sub.stuck || sub.status == SubBatchStatus::Canceling => ('▒', theme.warn),
        _ => ('▒', theme.info),
    }
}

fn line(span: &Extent<'_>, whole: u64, columns: usize, theme: &Theme) -> Vec<Span<'static>> {
    let at = |ms: u64| (ms as f64 / whole as f64 * columns as f64) as usize;
    let from = at(span.from).min(columns - 1);
    let to = at(span.to).clamp(from + 1, columns);
    let (glyph, style) = look(span.sub, theme);
    let mark = span.stuck_at.filter(|ms| *ms <= whole).map(|ms| at(ms).min(columns - 1));
    let label = format!("{} {} ", fit_right(&span.sub.index.to_string(), 4), fit(&harmless(&span.sub.org), NAME - 6));
    let mut spans = vec![styled(label, theme.text)];
    let (mut run, mut run_style) = (String::new(), style);
    for column in 0..columns {
        let (glyph, style) = match () {
            () if mark == Some(column) => ('│', theme.strong),
            () if (from..to).contains(&column) => (glyph, style),
            () => (' ', theme.text),
        };
        if style != run_style && !run.is_empty() {
            spans.push(styled(std::mem::take(&mut run), run_style));
        }
        run_style = style;
        run.push(glyph);
    }
    spans.push(styled(run, run_style));
    spans.push(styled(fit_right(&format::span(span.to - span.from), AGE), style));
    spans
}

fn foot(elapsed: u64, whole: u64, columns: usize, hidden: usize) -> String {
    let now = ((elapsed as f64 / whole as f64 * columns as f64) as usize).clamp(3, columns);
    let mut line = format!("{}-{}", " ".repeat(NAME), format::span(elapsed));
    let room = (NAME + now).saturating_sub(line.len() + 3);
    if room > 0 {
        line.push_str(&" ".repeat(room));
        line.push_str("now");
    }
    if hidden > 0 {
        let room = (NAME + columns + AGE).saturating_sub(line.len());
        line.push_str(&fit_right(&format!("+{hidden} more"), room));
    }
    line
}
