//! What the answers cost so far, and what they will have cost at the end, against the budget if there is one.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use crate::model::Money;
use crate::model::snapshot::RunView;
use crate::report::format;
use crate::tui::theme::Theme;
use crate::tui::view::{put, styled};

use super::axis::{self, Bar, LABELS, Scale};
use super::{titled, unseen};

/// Fewest rows that it needs.
pub const ROWS_MIN: u16 = 5;
/// A budget is drawn when it is at most so many times as high as the highest bar.
const FARTHEST_BUDGET: f64 = 4.0;

/// What the run will have cost when all that is open is done at the mean price of what was done; `None` before the first
/// answer that cost something.
pub fn projected(run: &RunView) -> Option<Money> {
    let paid = run.counts.succeeded.saturating_add(run.counts.refused);
    if paid == 0 || run.cost == Money::ZERO {
        return None;
    }
    let open = u128::from(run.counts.unsent) + u128::from(run.counts.re_drivable);
    let more = u128::from(run.cost.0) * open / u128::from(paid);
    Some(Money(run.cost.0.saturating_add(u64::try_from(more).unwrap_or(u64::MAX))))
}

/// Draws it: solid is what was paid, shaded what is to come at this rate.
///
/// ```text
/// ── cost · $18.53 of about $30.02 at the end · budget $40.00 ─────────────────────
///  $40.00 ┤╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌   the line is the budget
///         │                              ▒▒▒▒▒▒▒▒▒▒▒▒▒
///         │               ▂▃▄▅▆▇███▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒
///   $0.00 ┤▁▂▃▄▅▆▇█████████████████▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒
///          -2m05s                  now           +1m18s
/// ```
pub fn render(buf: &mut Buffer, area: Rect, run: &RunView, budget: Option<Money>, theme: &Theme) {
    let end = projected(run).filter(|_| !run.status.is_over());
    let over = budget.is_some_and(|budget| end.unwrap_or(run.cost) > budget);
    let mut says = match (budget, end) {
        // What matters most comes first, where the rest has no room.
        (Some(budget), _) if over => format!("OVER THE BUDGET of {}: ", format::money(budget)),
        _ => String::new(),
    };
    says.push_str(&format::money(run.cost));
    if let Some(end) = end {
        says.push_str(&format!(" of about {} at the end", format::money(end)));
    }
    if let Some(budget) = budget.filter(|_| !over) {
        says.push_str(&format!(" · budget {}", format::money(budget)));
    }
    let body = titled(buf, area, "cost", &says, theme);
    let columns = usize::from(body.width.saturating_sub(LABELS));
    if body.height < ROWS_MIN - 1 || columns < 16 {
        return;
    }
    if run.course.steps.is_empty() {
        let what =
            if run.cost > Money::ZERO { "its course is kept where the run is driven" } else { "nothing paid yet" };
        return unseen(buf, body, what, theme);
    }
    let times = timeline(run, columns);
    let mut bars = bars(run, &times, end.unwrap_or(run.cost), if over { theme.bad } else { theme.dim }, theme);
    let most = bars.iter().map(|bar| bar.value).fold(0.0, f64::max);
    bars.resize(columns.max(bars.len()), Bar::NOTHING);
    // A budget that is far away would flatten the picture: its figure is in the title.
    let line = budget.map(Money::usd).filter(|budget| *budget <= most * FARTHEST_BUDGET);
    let top = line.unwrap_or(0.0).max(most);
    let label = |usd: f64| match top {
        100.0.. => format!("${}", format::short_count(usd as u64)),
        0.1.. => format!("${usd:.2}"),
        _ => format!("${usd:.4}"),
    };
    let labels = [label(top), label(top / 2.0), "$0".to_owned()];
    let scale = Scale { top, labels, line: line.map(|budget| (budget, theme.warn)) };
    axis::bars(buf, Rect { height: body.height - 1, ..body }, &bars, &scale, theme);
    put(buf, body, body.height - 1, [styled(foot(&times), theme.dim)]);
}

/// What was paid, and what is to come up to the end of the picture.
fn bars(run: &RunView, times: &Timeline, end: Money, to_come: Style, theme: &Theme) -> Vec<Bar> {
    let (now, eta_ms) = (run.cost.usd(), run.eta_ms.unwrap_or(0).max(1) as f64);
    let past = times.past.iter().map(|cost| Bar { value: cost.usd(), style: theme.info, to_come: false });
    let future = (1..=times.future).map(|column| {
        let share = (column as f64 * times.column_s as f64 * 1_000.0 / eta_ms).min(1.0);
        Bar { value: now + (end.usd() - now) * share, style: to_come, to_come: true }
    });
    past.chain(future).collect()
}

/// The time axis.
fn foot(times: &Timeline) -> String {
    let span = |columns: usize| format::span(times.column_s.saturating_mul(columns as u64).saturating_mul(1_000));
    let past = times.past.len();
    let mut line = format!("{}-{}", " ".repeat(usize::from(LABELS)), span(past));
    let ends = [(past, "now".to_owned()), (past + times.future, format!("+{}", span(times.future)))];
    for (column, text) in ends.into_iter().take(if times.future > 0 { 2 } else { 1 }) {
        let at = (usize::from(LABELS) + column).saturating_sub(text.len());
        if at > line.len() {
            line.push_str(&" ".repeat(at - line.len()));
            line.push_str(&text);
        }
    }
    line
}

/// The columns of the picture.
struct Timeline {
    /// What had been paid at the end of each column.
    past: Vec<Money>,
    /// Columns of what is to come.
    future: usize,
    /// Seconds a column.
    column_s: u64,
}

/// Divides the columns between what was and what is to come.
fn timeline(run: &RunView, columns: usize) -> Timeline {
    let step_s = run.course.step_s.max(1);
    let eta_s = run.eta_ms.filter(|_| !run.status.is_over()).map_or(0, |ms| ms.div_ceil(1_000));
    let steps = run.course.steps.len();
    let in_all = steps + usize::try_from(eta_s / step_s).unwrap_or(usize::MAX / 2);
    // However long it will take, half of the picture is for what has been.
    let each = axis::steps_a_column(in_all, columns).min(axis::steps_a_column(steps, columns / 2));
    let past: Vec<Money> =
        run.course.steps.chunks(each).filter_map(|chunk| chunk.last()).map(|step| step.cost).collect();
    let column_s = step_s * each as u64;
    let future = usize::try_from(eta_s.div_ceil(column_s)).unwrap_or(usize::MAX).min(columns - past.len().min(columns));
    Timeline { past, future, column_s }
}
