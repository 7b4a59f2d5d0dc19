//! The planner, drawn: knobs, the two routes side by side, the verdict, and a panel.
//!
//! Where things go is decided in one place, `places`, that drawing and the mouse both ask.

mod chart;
mod in_full;
mod knobs;
mod panels;
mod pilot;
mod routes;
mod table;
#[cfg(test)]
mod tests;
mod words;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use crate::report::format;
use crate::report::text::{cut, harmless, width};
use crate::tui::action::Action;
use crate::tui::screens::planner::{Draft, Panel};
use crate::tui::state::{UiState, shown_run};

use super::hit::Target;
use super::{Scene, put, styled};

pub(in crate::tui) use in_full::in_full;

/// Columns of the knobs.
const KNOBS: u16 = 42;
/// Columns of the knobs on a screen of 80.
const KNOBS_NARROW: u16 = 33;
/// Columns from which on the panel has the chart beside it.
const TWO_PANELS: u16 = 110;
/// Columns of a screen that has room for anything but the knobs and the verdict.
const TWO_COLUMNS: u16 = 70;

/// Where everything goes. What has no room is empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Places {
    /// The name of the input or of the plan.
    title: Rect,
    knobs: Rect,
    /// The two routes.
    routes: Rect,
    /// The verdict and its reason.
    verdict: Rect,
    /// The names of the panels.
    tabs: Rect,
    panel: Rect,
    /// The chart beside the panel.
    chart: Rect,
}

fn cut_top(area: &mut Rect, rows: u16) -> Rect {
    let rows = rows.min(area.height);
    let top = Rect { height: rows, ..*area };
    area.y += rows;
    area.height -= rows;
    top
}

fn places(area: Rect) -> Places {
    let mut left = area;
    let title = cut_top(&mut left, 1);
    if area.width < TWO_COLUMNS {
        let rows = if left.height >= 12 { 6 } else { 2 };
        let verdict = cut_top(&mut left, rows);
        return Places { title, knobs: left, verdict, ..Places::default() };
    }
    let columns = if area.width >= 110 { KNOBS } else { KNOBS_NARROW };
    let mut right = Rect { x: left.x + columns + 1, width: left.width - columns - 1, ..left };
    let knobs = Rect { width: columns, ..left };
    let rows = routes::rows(right.width);
    let risks = match area.height {
        0..26 => 0,
        26..36 => routes::RISKS,
        _ => routes::RISKS_OF_TALL,
    };
    let routes = cut_top(&mut right, rows + risks);
    let verdict = cut_top(&mut right, if area.height >= 36 { 5 } else { 3 });
    let tabs = cut_top(&mut right, 1);
    let (panel, chart) = match right.width >= TWO_PANELS && right.height >= 8 {
        true => {
            let half = right.width / 2;
            let chart = Rect { x: right.x + half + 1, width: right.width - half - 1, ..right };
            (Rect { width: half, ..right }, chart)
        }
        false => (right, Rect::default()),
    };
    Places { title, knobs, routes, verdict, tabs, panel, chart }
}

/// What is under the pointer.
pub(super) fn hit(ui: &UiState, area: Rect, here: Position) -> Option<Target> {
    let draft = ui.planner.draft.as_ref()?;
    let places = places(area);
    if places.knobs.contains(here) {
        return knobs::hit(draft, places.knobs, here).map(|(knob, part)| Target::Knob(knob, part));
    }
    if pilot::button(ui, places.title).contains(here) {
        return Some(Target::Press(Action::Pilot));
    }
    if places.tabs.contains(here) {
        return panels::tab_at(places.tabs, here).map(Target::Panel);
    }
    places.panel.contains(here).then_some(Target::Panel(draft.panel))
}

/// Draws the screen.
///
/// ```text
///  plan of judge.jsonl · 141,600 to send of 150,000, 8,400 cached
///  requests      141,600              │                    ● sync                   batch
///  model       ‹ claude-haiku-4-5 ›   │ wall-clock         12m (9m–31m)             1h00m (5m–24h)
///  cost-pref     balanced             │ cost               $18.53 ($12–$40)         $9.27 ($6–$41)
///  path          auto                 │ binds              slots                    queue
///  deadline      none                 │ sub-batches        –                        142 in 12 waves
///  procs         1                    │ sync: 142 sub-batches are more than 3: each is a draw of its own …
///  sub-batch     1,000                │ ── table ── chart   rules   figures   audit ─────────────────────
///  tokens in     300 assumed          │         n  latency   cost     sync       batch
///  tokens out    160 assumed          │       10   sync      sync     2s         1h
///  [x] high-prio  cap 120             │ › 100,000  sync      batch !  8m         1h
/// ```
pub(super) fn render(buf: &mut Buffer, scene: &Scene<'_>, area: Rect) {
    let theme = scene.theme;
    let Some(draft) = &scene.ui.planner.draft else {
        return of_the_run(buf, scene, area);
    };
    let places = places(area);
    let of_run = match (&draft.input, shown_run(scene.snapshot)) {
        (None, Some(run)) => format!("   this run: {}, {}", run.path, harmless(&run.route_reason)),
        _ => String::new(),
    };
    let title = words::title(draft, places.title.width);
    let room = usize::from(places.title.width).saturating_sub(width(&title) + 1);
    let of_run = cut(&of_run, room).into_owned();
    put(buf, places.title, 0, [styled(title, theme.strong), styled(of_run, theme.dim)]);
    pilot::render(buf, scene, places.title);
    knobs::render(buf, scene, draft, places.knobs);
    if places.routes.height == 0 {
        return routes::in_brief(buf, scene, draft, places.verdict);
    }
    for row in 0..places.knobs.height {
        let x = places.knobs.x + places.knobs.width;
        put(buf, Rect { x, width: 1, ..places.knobs }, row, [styled("│", theme.frame)]);
    }
    routes::render(buf, scene, draft, places.routes);
    routes::verdict(buf, scene, draft, places.verdict);
    panels::tabs(buf, scene, draft, places.tabs);
    let panel = match draft.panel {
        // The chart stands beside the panel already.
        Panel::Chart if places.chart.width > 0 => Panel::Table,
        panel => panel,
    };
    panels::render(buf, scene, draft, panel, places.panel);
    if places.chart.width > 0 {
        chart::render(buf, scene, draft, places.chart);
    }
    if scene.ui.planner.field.editing {
        candidates(buf, scene, draft, places.panel);
    }
}

/// Without a plan in the making: the path of the run that is shown, and the rule that chose it.
fn of_the_run(buf: &mut Buffer, scene: &Scene<'_>, area: Rect) {
    let theme = scene.theme;
    let Some(run) = shown_run(scene.snapshot) else {
        put(buf, area, 0, [styled(" nothing is planned", theme.strong)]);
        return put(buf, area, 2, [styled(" fandeck plan [FILE], or fandeck run FILE", theme.text)]);
    };
    let lines = [
        ("input", format!("{}, {} requests", harmless(&run.input), format::count(run.counts.total))),
        ("model", harmless(&run.model).into_owned()),
        ("path", run.path.to_string()),
        ("because", harmless(&run.route_reason).into_owned()),
    ];
    for (row, (name, value)) in (0..).zip(lines) {
        put(buf, area, row, [styled(format!(" {name:<9}"), theme.dim), styled(value, theme.text)]);
    }
}

/// While a value is typed: what would be taken, and the keys.
fn candidates(buf: &mut Buffer, scene: &Scene<'_>, draft: &Draft, area: Rect) {
    let theme = scene.theme;
    super::clear(buf, area);
    if let (Some(question), Some(dollars)) = (&scene.ui.planner.asks, draft.dollars_to_type()) {
        let last = format!(
            "above {}: type {dollars} and Enter to launch: {}█",
            format::money(draft.confirm_above),
            scene.ui.planner.field.text
        );
        let lines = question.lines.iter().take_while(|line| !line.is_empty()).chain([&last]);
        for (row, line) in (0..area.height).zip(lines) {
            put(buf, area, row, [styled(format!(" {}", harmless(line)), theme.strong)]);
        }
        return;
    }
    let keep = scene.ui.keymap.hint(Action::KeepText);
    let drop = scene.ui.keymap.hint(Action::DropText);
    let hint = words::how_to_type(draft.focus);
    put(buf, area, 0, [styled(format!(" {hint}    {keep} takes it, {drop} leaves it"), theme.info)]);
    for (row, (at, name)) in (1..area.height).zip(words::candidates(draft, &scene.ui.planner.field.text).enumerate()) {
        let (mark, style) = if at == 0 { ("›", theme.selected) } else { (" ", theme.text) };
        put(buf, area, row, [styled(format!(" {mark} {name}"), style)]);
    }
}
