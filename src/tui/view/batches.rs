//! The sub-batches: a strip of sums, a table with a button a row, and the life of the selected one.
//!
//! There is no progress bar of an open sub-batch, because there is no progress to be seen: the API's counts stay at zero
//! until its end. What is drawn is its age against the threshold, with a mark where its siblings ended.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use ratatui::text::Span;

use crate::model::snapshot::{BatchesView, SubBatchView};
use crate::model::{Snapshot, SubBatchStatus, Wall};
use crate::report::format;
use crate::report::text::{fit, fit_right, harmless};
use crate::tui::screens::batches::{BatchesUi, batches_of};
use crate::tui::state::UiState;
use crate::tui::theme::Theme;

use super::hit::Target;
use super::{Scene, put, styled};

/// Columns of the button.
const BUTTON: &str = "[cancel]";
/// Columns of the bar of ages.
const AGE_BAR: usize = 16;
/// Rows above the table: the strip, its bar, the heading.
const ABOVE: u16 = 4;

/// Rows of the table, and of the detail below it.
fn split(area: Rect) -> (Rect, Rect) {
    let below = area.height.saturating_sub(ABOVE);
    let detail = if below >= 12 { 7 } else { 0 };
    let table = Rect { y: area.y + ABOVE.min(area.height), height: below - detail, ..area };
    (table, Rect { y: table.y + table.height, height: detail, ..area })
}

/// The first row that is shown, so that the selected one is among them.
fn scrolled(selected: usize, rows: u16) -> usize {
    selected.saturating_sub(usize::from(rows).saturating_sub(1))
}

/// What is under the pointer.
pub(super) fn hit(ui: &UiState, snapshot: &Snapshot, area: Rect, here: Position) -> Option<Target> {
    let screen = &ui.batches;
    let (_, view) = batches_of(snapshot)?;
    let (table, _) = split(area);
    if !table.contains(here) {
        return None;
    }
    let rows = screen.rows(view);
    let first = scrolled(screen.selected_ix(&rows), table.height);
    let sub = rows.get(first + usize::from(here.y - table.y))?;
    let left = table.x + table.width.saturating_sub(BUTTON.len() as u16 + 1);
    Some(Target::SubBatch { index: sub.index, cancel: has_button(sub) && fits_button(table) && here.x >= left })
}

/// The columns end before it.
fn fits_button(table: Rect) -> bool {
    table.width > 108
}

fn has_button(sub: &SubBatchView) -> bool {
    sub.status == SubBatchStatus::InProgress
}

/// Draws the screen.
///
/// ```text
///  sub-batches 20: 11 harvested · 4 in-progress · 1 canceling · 4 planned      oldest 4h01m · next poll 12s
///  ███████████████████████████▒▒▒▒▒▒▒▒▒▒▒▒····················   harvested 1,100 · open 500 · planned 400
///    #  org         requests  state             age                       expires   done  again      cost
///  › 9  batch          1,000  in-progress       4h01m ██████████████▏│    19h58m      ·      ·         ·  [cancel]
/// ```
pub(super) fn render(buf: &mut Buffer, scene: &Scene<'_>, screen: &BatchesUi, area: Rect) {
    let theme = scene.theme;
    let Some((_, view)) = batches_of(scene.snapshot) else {
        return put(buf, area, 0, [styled(" the run has no sub-batches", theme.dim)]);
    };
    let aged = scene.ui.age_ms(scene.now);
    let rows = screen.rows(view);
    let at = screen.selected_ix(&rows);
    put(buf, area, 0, [styled(strip(view, aged), theme.strong)]);
    put(buf, area, 1, sums(view, usize::from(area.width), theme));
    let marks = format!(
        " {} of {} · sorted by {} · showing {}{}",
        rows.len(),
        view.sub_batches.len(),
        screen.sort.as_str(),
        screen.filter.as_str(),
        if screen.follow { " · following the oldest" } else { "" }
    );
    let mut head = vec![styled(marks, theme.dim)];
    head.extend(super::filter_spans(&screen.search, theme));
    put(buf, area, 2, head);
    put(buf, area, 3, [styled(heading(), theme.dim)]);
    let (table, detail) = split(area);
    let first = scrolled(at, table.height);
    for (row, (ix, sub)) in (0..table.height).zip(rows.iter().enumerate().skip(first)) {
        put(buf, table, row, line(view, sub, ix == at, aged, theme));
        if has_button(sub) && fits_button(table) {
            let width = BUTTON.len() as u16 + 1;
            let place = Rect { x: table.x + table.width - width, width, y: table.y + row, height: 1 };
            put(buf, place, 0, [styled(BUTTON, theme.key)]);
        }
    }
    if rows.is_empty() {
        put(buf, table, 0, [styled(" none to show; v shows others", theme.dim)]);
    }
    if let Some(sub) = rows.get(at) {
        life(buf, scene, sub, detail);
    }
}

fn strip(view: &BatchesView, aged: u64) -> String {
    let counts = SubBatchStatus::ALL.iter().filter_map(|status| {
        let n = view.sub_batches.iter().filter(|sub| sub.status == *status).count();
        (n > 0).then(|| format!("{n} {status}"))
    });
    let counts: Vec<String> = counts.collect();
    let open = || view.sub_batches.iter().filter(|sub| sub.status.is_open());
    let mut text = format!(" sub-batches {}: {}", view.sub_batches.len(), counts.join(" · "));
    if let Some(oldest) = open().filter_map(|sub| sub.age_ms).max() {
        text.push_str(&format!("   oldest {}", format::span(oldest + aged)));
    }
    if let Some(next) = open().filter_map(|sub| sub.next_poll_ms).min() {
        text.push_str(&format!("   next poll {}", format::countdown(next.saturating_sub(aged))));
    }
    text
}

/// Requests harvested, open and planned, as a bar and in figures.
fn sums(view: &BatchesView, columns: usize, theme: &Theme) -> Vec<Span<'static>> {
    let parts = [view.n_harvested, view.n_open, view.n_planned];
    let words = format!(
        "  harvested {} · open {} · planned {} · {}",
        format::count(parts[0]),
        format::count(parts[1]),
        format::count(parts[2]),
        format::money(view.cost)
    );
    let room = columns.saturating_sub(words.chars().count() + 2).min(60);
    let shares = super::bars::shares(&parts, room);
    let glyphs = [("█", theme.good), ("▒", theme.info), ("·", theme.dim)];
    let mut spans = vec![Span::raw(" ")];
    spans.extend(shares.iter().zip(glyphs).map(|(n, (glyph, style))| styled(glyph.repeat(*n), style)));
    spans.push(styled(words, theme.text));
    spans
}

fn heading() -> String {
    format!(
        "   {} {} {} {} {} {} {} {} {}",
        fit_right("#", 4),
        fit("org", 12),
        fit_right("requests", 8),
        fit("state", 17),
        fit("age", 9 + AGE_BAR),
        fit_right("expires", 8),
        fit_right("done", 7),
        fit_right("again", 6),
        fit_right("cost", 9),
    )
}

fn line(view: &BatchesView, sub: &SubBatchView, selected: bool, aged: u64, theme: &Theme) -> Vec<Span<'static>> {
    let open = sub.status.is_open();
    let age = sub.age_ms.map(|age| if open { age + aged } else { age });
    let state = match &sub.api_status {
        Some(word) => format!("{} ({})", sub.status, harmless(word)),
        None => sub.status.to_string(),
    };
    let style = style_of(sub, theme);
    let base = if selected { theme.strong } else { theme.text };
    let known = sub.status.is_over();
    let figure = |text: String| if known { text } else { "·".to_owned() };
    vec![
        styled(if selected { " › " } else { "   " }, theme.selected),
        styled(format!("{} ", fit_right(&sub.index.to_string(), 4)), base),
        styled(format!("{} ", fit(&harmless(&sub.org), 12)), base),
        styled(format!("{} ", fit_right(&format::count(u64::from(sub.n_requests)), 8)), base),
        styled(format!("{} ", fit(&state, 17)), style),
        styled(fit(&age.map_or("·".to_owned(), format::span), 9), base),
        styled(format!("{} ", age_bar(view, age)), style),
        styled(format!("{} ", fit_right(&expires(sub, aged), 8)), theme.dim),
        styled(
            format!("{} ", fit_right(&figure(format::count(u64::from(sub.n_succeeded + sub.n_refused_invalid))), 7)),
            base,
        ),
        styled(
            format!("{} ", fit_right(&figure((sub.n_expired + sub.n_canceled + sub.n_errored).to_string()), 6)),
            base,
        ),
        styled(fit_right(&figure(format::money(sub.cost)), 9), base),
    ]
}

fn style_of(sub: &SubBatchView, theme: &Theme) -> Style {
    match sub.status {
        _ if sub.question.is_some() => theme.bad,
        SubBatchStatus::Harvested => theme.good,
        SubBatchStatus::Planned => theme.dim,
        SubBatchStatus::Unavailable | SubBatchStatus::Adrift => theme.bad,
        _ if sub.stuck => theme.warn,
        _ => theme.info,
    }
}

fn expires(sub: &SubBatchView, aged: u64) -> String {
    sub.expires_in_ms.map_or("·".to_owned(), |ms| format::span(ms.saturating_sub(aged)))
}

/// The age against the threshold; `│` marks where the siblings ended in the middle.
fn age_bar(view: &BatchesView, age: Option<u64>) -> String {
    let (Some(age), Some(whole)) = (age, view.threshold_ms.filter(|ms| *ms > 0)) else { return " ".repeat(AGE_BAR) };
    let place = |ms: u64| ((ms.min(whole) as f64 / whole as f64) * AGE_BAR as f64).round() as usize;
    let (filled, median) = (place(age), view.took_median_ms.map(|ms| place(ms).min(AGE_BAR - 1)));
    (0..AGE_BAR)
        .map(|at| match (median == Some(at), at < filled) {
            (true, _) => '│',
            (false, true) => '█',
            (false, false) => '·',
        })
        .collect()
}

/// The life of the selected one, and what is asked about it.
fn life(buf: &mut Buffer, scene: &Scene<'_>, sub: &SubBatchView, area: Rect) {
    if area.height < 3 {
        return;
    }
    let theme = scene.theme;
    let id = sub.batch_id.as_deref().unwrap_or("no id yet");
    let mut title = format!("── sub-batch {} · {} · ", sub.index, harmless(id));
    if sub.adopted {
        title.push_str("adopted by a guess · ");
    }
    if sub.n_failed > 0 {
        title.push_str(&format!("{} calls failed · ", sub.n_failed));
    }
    match sub.stuck_in_ms {
        Some(0) => title.push_str("over the threshold "),
        Some(ms) => {
            title.push_str(&format!("stuck in {} ", format::countdown(ms.saturating_sub(scene.ui.age_ms(scene.now)))));
        }
        None => {}
    }
    put(buf, area, 0, [styled(fit(&title, usize::from(area.width)), theme.frame)]);
    let mut row = 1;
    if let Some(question) = &sub.question {
        put(buf, area, row, [styled(format!(" {}", harmless(question)), theme.bad)]);
        row += 1;
    }
    let room = usize::from(area.height - row);
    let newest = sub.timeline.iter().skip(sub.timeline.len().saturating_sub(room));
    for (row, (at, what)) in (row..area.height).zip(newest) {
        let clock = clock(*at);
        put(
            buf,
            area,
            row,
            [styled(format!(" {clock}  "), theme.dim), styled(harmless(what).into_owned(), theme.text)],
        );
    }
}

/// The time of day, UTC, as the log has it.
fn clock(at: Wall) -> String {
    let seconds = at.0.div_euclid(1_000).rem_euclid(86_400);
    format!("{:02}:{:02}:{:02}", seconds / 3_600, seconds / 60 % 60, seconds % 60)
}
