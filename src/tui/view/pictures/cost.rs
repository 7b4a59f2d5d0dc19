//! What the answers cost so far, and what they will have cost at the end, against the budget if there is one.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::model::Money;
use crate::model::snapshot::RunView;
use crate::report::format;
use crate::tui::theme::Theme;
use crate::tui::view::{put, styled};

use super::axis::{self, Bar, LABELS, Scale};
use super::titled;

/// Fewest rows that it needs.
pub const ROWS_MIN: u16 = 5;

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
/// ── cost · $18.53 so far · about $30.02 at the end · budget $40.00 ───────────────
///  $40.00 ┤╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌   the line is the budget
///         │                              ▒▒▒▒▒▒▒▒▒▒▒▒▒
///         │               ▂▃▄▅▆▇███▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒
///   $0.00 ┤▁▂▃▄▅▆▇█████████████████▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒
///          -2m05s                  now           +1m18s
/// ```
pub fn render(buf: &mut Buffer, area: Rect, run: &RunView, budget: Option<Money>, theme: &Theme) {
    let end = projected(run).filter(|_| !run.status.is_over());
    let over = budget.is_some_and(|budget| end.unwrap_or(run.cost) > budget);
    let mut says = format!("{} so far", format::money(run.cost));
    if let Some(end) = end {
        says.push_str(&format!(" · about {} at the end", format::money(end)));
    }
    if let Some(budget) = budget {
        says.push_str(&format!(" · budget {}{}", format::money(budget), if over { ", NOT ENOUGH" } else { "" }));
    }
    let body = titled(buf, area, "cost", &says, theme);
    let columns = usize::from(body.width.saturating_sub(LABELS));
    if body.height < ROWS_MIN - 1 || columns < 16 {
        return;
    }
    let Timeline { past, future, column_s } = timeline(run, columns);
    let to_come = if over { theme.bad } else { theme.dim };
    let final_cost = end.unwrap_or(run.cost);
    let mut bars: Vec<Bar> =
        past.iter().map(|cost| Bar { value: cost.usd(), style: theme.info, to_come: false }).collect();
    bars.extend((1..=future).map(|n| {
        let share = (n as f64 * column_s as f64 * 1_000.0 / run.eta_ms.unwrap_or(1).max(1) as f64).min(1.0);
        Bar { value: run.cost.usd() + (final_cost.usd() - run.cost.usd()) * share, style: to_come, to_come: true }
    }));
    let drawn = bars.len();
    bars.resize(columns.max(drawn), Bar::NOTHING);
    let top = budget.map_or(0.0, Money::usd).max(final_cost.usd());
    let label =
        |usd: f64| if top < 10.0 { format!("${usd:.2}") } else { format!("${}", format::short_count(usd as u64)) };
    let scale = Scale {
        top,
        labels: [label(top), label(top / 2.0), "$0".to_owned()],
        line: budget.map(|budget| (budget.usd(), theme.warn)),
    };
    axis::bars(buf, Rect { height: body.height - 1, ..body }, &bars, &scale, theme);
    let ago = format!("-{}", format::span(column_s * past.len() as u64 * 1_000));
    let mut line = format!("{}{ago}", " ".repeat(usize::from(LABELS)));
    for (column, text) in [
        (past.len(), "now".to_owned()),
        (past.len() + future, format!("+{}", format::span(column_s * future as u64 * 1_000))),
    ] {
        let from = line.len();
        let at = (usize::from(LABELS) + column).saturating_sub(text.len());
        if at > from && (text == "now" || future > 0) {
            line.push_str(&" ".repeat(at - from));
            line.push_str(&text);
        }
    }
    put(buf, body, body.height - 1, [styled(line, theme.dim)]);
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
