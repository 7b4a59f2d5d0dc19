//! Rate and window of an org over the session, on one time axis: what the controller did, and what came of it.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::model::series::OrgStep;
use crate::model::snapshot::OrgView;
use crate::report::format;
use crate::report::text::harmless;
use crate::tui::theme::Theme;
use crate::tui::view::{put, styled};

use super::axis::{self, Bar, LABELS, Scale};
use super::{titled, unseen};

/// Fewest rows that it needs.
pub const ROWS_MIN: u16 = 7;

/// A column: the steps that share it.
#[derive(Debug, Clone, Copy, Default)]
struct Column {
    rate: f64,
    window: f64,
    cuts: u32,
    limited: u32,
    failed: u32,
}

/// Draws it.
///
/// ```text
/// ── high-prio · now 33.4/s · cuts 2, 429s 50 in 12m04s · answers a second ─────────────────
///     50 ┤            ▂▅▇█████▇▇▅▂  ▃▅▇███████████▇▆▆     yellow: 429s came; red: failures
///        │    ▂▄▇████████████████▃▅█████████████████
///      0 ┤▁▄████████████████████████████████████████
///   cuts │                      ▼                 ▼       where the window was cut
///    100 ┤╌╌╌╌╌╌▅██████████████╌╌╌╌╌╌▃▅███████████╌╌      the line is the ceiling of the window
/// window ┤▅▇███████████████████▄▅▇████████████████▄▄
///        -12m04s              -6m02s              now
/// ```
pub fn render(buf: &mut Buffer, area: Rect, org: &OrgView, goes_on: bool, theme: &Theme) {
    let columns = usize::from(area.width.saturating_sub(LABELS));
    let steps = &org.course.steps;
    let each = axis::steps_a_column(steps.len(), columns);
    let drawn: Vec<Column> = steps.chunks(each).map(|chunk| column(chunk, org.course.step_s)).collect();
    if steps.is_empty() {
        let body = titled(buf, area, &harmless(&org.label), "rate and window", theme);
        // A run that is only looked at has a past, and its course is not here.
        let what = if org.totals.n_ok > 0 { "kept where the run is driven" } else { "nothing seen yet" };
        return unseen(buf, body, what, theme);
    }
    let body = titled(buf, area, &harmless(&org.label), &says(org, goes_on), theme);
    if body.height < ROWS_MIN - 1 || columns < 8 {
        return;
    }
    let for_bars = body.height - 2;
    let window_rows = (for_bars * 2 / 5).max(2);
    let rate_rows = for_bars - window_rows;
    let at = |y: u16, height: u16| Rect { y: body.y + y, height, ..body };
    rates(buf, at(0, rate_rows), &drawn, theme);
    cuts(buf, at(rate_rows, 1), &drawn, theme);
    windows(buf, at(rate_rows + 1, window_rows), &drawn, org, theme);
    axis::time(buf, body, body.height - 1, org.course.step_s * each as u64, "now", theme);
}

fn says(org: &OrgView, goes_on: bool) -> String {
    let sum = |of: fn(&OrgStep) -> u32| org.course.steps.iter().map(|step| u64::from(of(step))).sum::<u64>();
    let span = format::span(org.course.step_s * org.course.steps.len() as u64 * 1_000);
    // The last rate of a run that is over is not one of now.
    let now = if goes_on { format!("now {} · ", format::rate(org.rate)) } else { String::new() };
    format!(
        "{now}cuts {}, 429s {} in {span} · answers a second",
        format::count(sum(|step| step.cuts)),
        format::count(sum(|step| step.limited)),
    )
}

fn column(steps: &[OrgStep], step_s: u64) -> Column {
    let span = (step_s * steps.len() as u64).max(1) as f64;
    let sum = |of: fn(&OrgStep) -> u32| steps.iter().map(of).fold(0, u32::saturating_add);
    Column {
        rate: f64::from(sum(|step| step.answered)) / span,
        window: steps.iter().map(|step| f64::from(step.window)).sum::<f64>() / steps.len().max(1) as f64,
        cuts: sum(|step| step.cuts),
        limited: sum(|step| step.limited),
        failed: sum(|step| step.failed),
    }
}

fn rates(buf: &mut Buffer, area: Rect, columns: &[Column], theme: &Theme) {
    let top = axis::round_up(columns.iter().map(|column| column.rate).fold(0.0, f64::max));
    let bar = |column: &Column| {
        let style = match column {
            Column { failed: 1.., .. } => theme.bad,
            Column { limited: 1.., .. } => theme.warn,
            _ => theme.good,
        };
        Bar { value: column.rate, style, to_come: false }
    };
    let bars: Vec<Bar> = columns.iter().map(bar).collect();
    let number = |value: f64| if value < 10.0 { format!("{value}") } else { format::short_count(value as u64) };
    let labels = [format!("{}/s", number(top)), number(top / 2.0), "0".to_owned()];
    axis::bars(buf, area, &bars, &Scale { top, labels, line: None }, theme);
}

fn cuts(buf: &mut Buffer, area: Rect, columns: &[Column], theme: &Theme) {
    let room = usize::from(area.width.saturating_sub(LABELS));
    let shown = &columns[columns.len().saturating_sub(room)..];
    let marks: String = std::iter::repeat_n(' ', room - shown.len())
        .chain(shown.iter().map(|column| if column.cuts > 0 { '▼' } else { ' ' }))
        .collect();
    put(buf, area, 0, [styled("   cuts│", theme.dim), styled(marks, theme.warn)]);
}

fn windows(buf: &mut Buffer, area: Rect, columns: &[Column], org: &OrgView, theme: &Theme) {
    let ceiling = f64::from(org.ceiling());
    let top = columns.iter().map(|column| column.window).fold(ceiling, f64::max).max(1.0);
    let bars: Vec<Bar> =
        columns.iter().map(|column| Bar { value: column.window, style: theme.info, to_come: false }).collect();
    let labels = [format::short_count(top as u64), String::new(), "window".to_owned()];
    axis::bars(buf, area, &bars, &Scale { top, labels, line: Some((ceiling, theme.dim)) }, theme);
}
