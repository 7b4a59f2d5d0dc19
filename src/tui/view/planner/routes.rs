//! The two routes side by side, and the verdict.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use crate::model::Route;
use crate::plan::{DeadlineView, RouteView, Rule};
use crate::report::format;
use crate::report::text::{cut, fit, harmless, wrap};
use crate::tui::action::Action;
use crate::tui::screens::planner::{Draft, Piloting};

use super::super::{Scene, put, styled};
use super::words;

/// Rows of risks, where there is room.
pub(super) const RISKS: u16 = 5;
/// The same where the screen is tall.
pub(super) const RISKS_OF_TALL: u16 = 9;
/// Columns that a figure with its interval needs.
const WITH_INTERVAL: usize = 26;
/// Columns of the names of the figures.
const NAME: usize = 12;

/// Columns of a route.
fn column(width: u16) -> usize {
    usize::from(width).saturating_sub(NAME + 1) / 2
}

/// Rows of the figures: intervals have rows of their own where a column is narrow.
pub(super) fn rows(width: u16) -> u16 {
    if column(width) < WITH_INTERVAL { 7 } else { 5 }
}

/// Draws both.
pub(super) fn render(buf: &mut Buffer, scene: &Scene<'_>, draft: &Draft, area: Rect) {
    let theme = scene.theme;
    let plan = &draft.plan;
    let column = column(area.width);
    let heading = |route: Route| format!("{} {route}", words::mark(route, plan.route));
    let style = |route: Route| if route == plan.route { theme.strong } else { theme.dim };
    let mut line = |row: u16, name: &str, sync: &str, batch: &str, styles: (Style, Style)| {
        put(
            buf,
            area,
            row,
            [
                styled(format!(" {}", fit(name, NAME)), theme.dim),
                styled(fit(sync, column), styles.0),
                styled(cut(batch, column).into_owned(), styles.1),
            ],
        );
    };
    let both = (style(Route::Sync), style(Route::Batch));
    line(0, "", &heading(Route::Sync), &heading(Route::Batch), both);
    let (sync, batch) = (&plan.sync, &plan.batch);
    let mut figures: Vec<(&str, String, String)> = match column < WITH_INTERVAL {
        true => vec![
            ("wall-clock", words::span(sync.wall_s), words::span(batch.wall_s)),
            ("", words::wall_interval(sync), words::wall_interval(batch)),
            ("cost", words::money(sync.cost_usd), words::money(batch.cost_usd)),
            ("", words::cost_interval(sync), words::cost_interval(batch)),
        ],
        false => {
            vec![("wall-clock", words::wall(sync), words::wall(batch)), ("cost", words::cost(sync), words::cost(batch))]
        }
    };
    figures.push(("binds", sync.binding.as_str().to_owned(), batch.binding.as_str().to_owned()));
    figures.push(("sub-batches", "–".to_owned(), passes(batch)));
    let text = (theme.text, theme.text);
    let mut at = 1;
    for (name, sync, batch) in &figures {
        line(at, name, sync, batch, text);
        at += 1;
    }
    let above = at;
    let rows = area.height.saturating_sub(above);
    let (sync, batch) = (risks(&plan.sync, column), risks(&plan.batch, column));
    let read = format!("{} reads them", scene.ui.keymap.hint(Action::ReadPlan));
    for (row, at) in (above..area.height).zip(0..) {
        let name = if at == 0 { "risks" } else { "" };
        let more = at + 1 == usize::from(rows);
        let of = |lines: &[String]| match lines.get(at) {
            Some(_) if more && lines.len() > at + 1 => format!("… {} more lines: {read}", lines.len() - at),
            Some(line) => line.clone(),
            None => String::new(),
        };
        line(row, name, &of(&sync), &of(&batch), (theme.dim, theme.dim));
    }
}

fn passes(view: &RouteView) -> String {
    let noun = if view.batch_waves == 1 { "wave" } else { "waves" };
    format!("{} in {} {noun}", format::count(view.batch_passes), format::count(view.batch_waves))
}

/// The risks as lines of a column, each with a mark before it.
fn risks(view: &RouteView, column: usize) -> Vec<String> {
    let wide = column.saturating_sub(3).max(1);
    view.risks
        .iter()
        .flat_map(|risk| {
            let lines = wrap(&harmless(risk), wide);
            lines.into_iter().enumerate().map(|(at, line)| format!("{} {line}", if at == 0 { "·" } else { " " }))
        })
        .collect()
}

/// What is said of the verdict, of the deadline and of what the plan rests on; what it is, besides, for its looks.
pub(super) fn said(draft: &Draft, pilot: &Piloting) -> Vec<(String, Said)> {
    let plan = &draft.plan;
    let mut lines = Vec::new();
    if let Piloting::Done(said) = pilot {
        lines.push(match said {
            Ok(said) => (said.clone(), Said::Measured),
            Err(said) => (said.clone(), Said::Bad),
        });
    }
    let by = if plan.rule == Rule::Forced { "as asked".to_owned() } else { format!("by {}", plan.rule.as_str()) };
    lines.push((format!("{} {by}: {}", plan.route, plan.route_reason), Said::Verdict));
    if let Some(deadline) = &plan.deadline {
        let is = if deadline.is_kept { Said::Good } else { Said::Bad };
        lines.push((format!("deadline in {}: {}", words::span(deadline.in_s as f64), deadline.words), is));
        lines.push((latest_starts(deadline), Said::Plain));
    }
    lines.extend(plan.notes.iter().map(|note| (format!("! {note}"), Said::Note)));
    lines
}

/// What a line of the verdict is.
///
/// In the order in which lines are kept where there is no room for all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Said {
    /// What a pilot came to.
    Measured,
    /// The route and its reason.
    Verdict,
    /// Something that cannot be kept.
    Bad,
    /// What the plan rests on, and should not.
    Note,
    /// Something that is kept.
    Good,
    /// The rest.
    Plain,
}

/// Draws the verdict with its reason, and the deadline.
pub(super) fn verdict(buf: &mut Buffer, scene: &Scene<'_>, draft: &Draft, area: Rect) {
    let theme = scene.theme;
    let style = |said| match said {
        Said::Measured => theme.info,
        Said::Verdict | Said::Good => theme.good,
        Said::Bad => theme.bad,
        Said::Plain => theme.text,
        Said::Note => theme.warn,
    };
    let mut lines = said(draft, &scene.ui.planner.pilot);
    let rows = usize::from(area.height);
    if lines.len() > rows {
        // Where not all have a row, what is wrong comes before what is well, and the rest is counted, with the key that reads it.
        lines.sort_by_key(|(_, said)| *said);
        let hidden = lines.split_off(rows.saturating_sub(1).min(lines.len()));
        let wrong = hidden.iter().any(|(_, said)| matches!(said, Said::Bad | Said::Note));
        let key = scene.ui.keymap.hint(Action::ReadPlan);
        let mark = if wrong { "! " } else { "" };
        lines.push((
            format!("{mark}{} more: {key} reads them", hidden.len()),
            if wrong { Said::Note } else { Said::Plain },
        ));
    }
    let lines = lines.into_iter().map(|(text, said)| (text, style(said)));
    fill(buf, area, &lines.collect::<Vec<_>>());
}

/// Puts lines into an area: wrapped where there is room for all of them, else cut.
fn fill(buf: &mut Buffer, area: Rect, lines: &[(String, Style)]) {
    let wide = usize::from(area.width.saturating_sub(2)).max(1);
    let rows = usize::from(area.height);
    let mut row = 0;
    for (at, (text, style)) in lines.iter().enumerate() {
        let text = harmless(text);
        let others = lines.len() - at - 1;
        let room = rows.saturating_sub(usize::from(row)).saturating_sub(others).max(1);
        let mut wrapped = wrap(&text, wide);
        if wrapped.len() > room {
            let rest = wrapped.split_off(room - 1).join(" ");
            wrapped.push(cut(&rest, wide).into_owned());
        }
        for line in wrapped {
            put(buf, area, row, [styled(format!(" {line}"), *style)]);
            row += 1;
        }
    }
}

/// When each route must have been started at the latest, and the lanes that the sync path needs.
fn latest_starts(deadline: &DeadlineView) -> String {
    let latest = |secs: f64| match secs {
        secs if !secs.is_finite() || secs < 0.0 => "now is too late".to_owned(),
        secs => format!("in {}", words::span(secs)),
    };
    let procs = match deadline.procs_needed {
        Some(n) => format!("sync needs procs {n}"),
        None => "no number of procs is enough for sync".to_owned(),
    };
    format!(
        "latest safe start: sync {}, batch {}; {procs}",
        latest(deadline.latest_sync_start_s),
        latest(deadline.latest_batch_start_s)
    )
}

/// On a small screen: the verdict's route and the other one, a line each; then why.
pub(super) fn in_brief(buf: &mut Buffer, scene: &Scene<'_>, draft: &Draft, area: Rect) {
    let theme = scene.theme;
    let plan = &draft.plan;
    let (other, view) = match plan.route {
        Route::Batch => (Route::Sync, &plan.sync),
        _ => (Route::Batch, &plan.batch),
    };
    for (row, (route, view)) in (0..).zip([(plan.route, &plan.chosen), (other, view)]) {
        let style = if row == 0 { theme.strong } else { theme.dim };
        let text = format!(
            " {} {:<5} {}  {}",
            words::mark(route, plan.route),
            route.as_str(),
            words::span(view.wall_s),
            words::money(view.cost_usd)
        );
        put(buf, area, row, [styled(text, style)]);
    }
    let below = Rect { y: area.y + 2.min(area.height), height: area.height.saturating_sub(2), ..area };
    if below.height > 0 {
        verdict(buf, scene, draft, below);
    }
}
