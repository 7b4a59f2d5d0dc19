//! The sub-batches: a strip of sums, a table with a button a row, and the life of the selected one.
//!
//! There is no progress bar of an open sub-batch, because there is no progress to be seen: the API's counts stay at zero
//! until its end. What is drawn is its age against the threshold, with a mark where its siblings ended.

mod table;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use ratatui::text::Span;

use crate::model::snapshot::{BatchesView, SubBatchView};
use crate::model::{Snapshot, SubBatchStatus};
use crate::report::format;
use crate::report::text::{fit, harmless, width, wrap};
use crate::tui::screens::batches::{BatchesUi, batches_of};
use crate::tui::state::UiState;
use crate::tui::theme::Theme;

use super::hit::Target;
use super::{Scene, pictures, put, put_right, styled};
use table::{BUTTON, BUTTON_ROOM, Columns, Row, age, has_button, style_of};

/// Rows above the table: the strip, its bar, the heading.
const ABOVE: u16 = 4;

/// The table, all of them over time below it, and the life of the selected one at the bottom, as far as there is room.
fn split(area: Rect) -> (Rect, Rect, Rect) {
    let below = area.height.saturating_sub(ABOVE);
    let detail = if below >= 12 { 7 } else { 0 };
    let times = if below >= 24 { below / 3 } else { 0 };
    let table = Rect { y: area.y + ABOVE.min(area.height), height: below - detail - times, ..area };
    let times = Rect { y: table.y + table.height, height: times, ..area };
    (table, times, Rect { y: times.y + times.height, height: detail, ..area })
}

/// The first row that is shown, so that the selected one is among them.
fn scrolled(selected: usize, rows: u16) -> usize {
    selected.saturating_sub(usize::from(rows).saturating_sub(1))
}

/// What is under the pointer.
pub(super) fn hit(ui: &UiState, snapshot: &Snapshot, area: Rect, here: Position) -> Option<Target> {
    let screen = &ui.batches;
    let (_, view) = batches_of(snapshot)?;
    let (table, ..) = split(area);
    if !table.contains(here) {
        return None;
    }
    let rows = screen.rows(view);
    let first = scrolled(screen.selected_ix(&rows).unwrap_or(0), table.height);
    let sub = rows.get(first + usize::from(here.y - table.y))?;
    let button = table.x + table.width.saturating_sub(BUTTON_ROOM);
    Some(Target::SubBatch { index: sub.index, cancel: has_button(sub) && here.x >= button })
}

/// Draws the screen.
///
/// ```text
///  sub-batches 20: 11 harvested · 4 in-progress · 1 canceling · 4 planned      oldest 4h01m · next poll 12s
///  ███████████████████████████▒▒▒▒▒▒▒▒▒▒▒▒····················   harvested 1,100 · open 500 · planned 400
///  20 of 20 · sorted by index · showing all                                   │ median  ┊ longest  end: stuck at 4h00m
///    #  org         requests  state             age                       expires   done  again      cost
///  › 9  batch          1,000  in-progress       4h01m █│██┊███████████    19h58m      ·      ·         ·  [cancel]
/// ── sub-batch 9 · msgbatch_01…
///  4h01m old · 11 ended, median 12m00s, longest 31m00s · over the threshold of 4h00m · expires in 19h58m
///  10:00:02  created as msgbatch_01…
/// ```
pub(super) fn render(buf: &mut Buffer, scene: &Scene<'_>, screen: &BatchesUi, area: Rect) {
    let theme = scene.theme;
    let Some((_, view)) = batches_of(scene.snapshot) else {
        return put(buf, area, 0, [styled(" the run has no sub-batches", theme.dim)]);
    };
    let aged = scene.ui.age_ms(scene.now);
    let rows = screen.rows(view);
    let selected = screen.selected_ix(&rows);
    let at = selected.unwrap_or(0);
    put(buf, area, 0, [styled(strip(view, aged), theme.strong)]);
    put(buf, area, 1, sums(view, usize::from(area.width), theme));
    let has_open = view.sub_batches.iter().any(|sub| sub.status.is_open());
    let marks = format!(
        " {} of {} · sorted by {} · showing {}{}",
        rows.len(),
        view.sub_batches.len(),
        screen.sort.as_str(),
        screen.filter.as_str(),
        if screen.follow && has_open { " · following the oldest" } else { "" }
    );
    let mut head = vec![styled(marks, theme.dim)];
    head.extend(super::filter_spans(&screen.search, theme));
    let legend = legend(view);
    let taken: usize = head.iter().map(Span::width).sum();
    put(buf, area, 2, head);
    let legend_fits = taken + width(&legend) + 3 <= usize::from(area.width);
    if legend_fits {
        put_right(buf, area, 2, [styled(legend, theme.dim)]);
    }
    let columns = Columns::of(area.width);
    put(buf, area, 3, [styled(columns.heading(!legend_fits), theme.dim)]);
    let (table, times, detail) = split(area);
    let first = scrolled(at, table.height);
    for (row, (ix, sub)) in (0..table.height).zip(rows.iter().enumerate().skip(first)) {
        put(buf, table, row, columns.row(view, sub, Row { selected: selected == Some(ix), aged }, theme));
        if has_button(sub) {
            let place = Rect { x: table.x + table.width.saturating_sub(BUTTON_ROOM), width: BUTTON_ROOM, ..table };
            put(buf, place, row, [styled(BUTTON, theme.key)]);
        }
    }
    if rows.is_empty() {
        put(buf, table, 0, [styled(" none to show; v shows others", theme.dim)]);
    }
    pictures::gantt::render(buf, times, view, scene.snapshot.at, aged, theme);
    if let Some(sub) = selected.and_then(|at| rows.get(at)) {
        life(buf, scene, view, sub, detail);
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

/// What the bar of ages means.
fn legend(view: &BatchesView) -> String {
    let end = match view.threshold_ms {
        Some(ms) => format!("stuck at {}", format::span(ms)),
        None if view.threshold_known => "24h, none is called stuck".to_owned(),
        None => "24h; when stuck is known to its driver".to_owned(),
    };
    format!("│ median  ┊ longest  end: {end} ")
}

/// The life of the selected one: how it stands against the others, what is asked about it, what happened to it.
fn life(buf: &mut Buffer, scene: &Scene<'_>, view: &BatchesView, sub: &SubBatchView, area: Rect) {
    if area.height < 3 {
        return;
    }
    let (theme, aged) = (scene.theme, scene.ui.age_ms(scene.now));
    let id = sub.batch_id.as_deref().unwrap_or("no id yet");
    let mut title = format!("── sub-batch {} · {}", sub.index, harmless(id));
    if sub.adopted {
        title.push_str(" · adopted by a guess");
    }
    if sub.n_failed > 0 {
        title.push_str(&format!(" · {} calls failed", sub.n_failed));
    }
    put(buf, area, 0, [styled(fit(&title, usize::from(area.width)), theme.frame)]);
    let columns = usize::from(area.width).saturating_sub(2);
    let mut lines: Vec<(String, Style)> = wrap(&standing(view, sub, aged), columns)
        .into_iter()
        .map(|line| (line, style_of(view, sub, aged, theme)))
        .collect();
    if let Some(question) = &sub.question {
        lines.extend(wrap(&harmless(question), columns).into_iter().map(|line| (line, theme.bad)));
    }
    let mut row = 1;
    // One row is left for what happened last.
    for (line, style) in lines.into_iter().take(usize::from(area.height.saturating_sub(2))) {
        put(buf, area, row, [styled(format!(" {line}"), style)]);
        row += 1;
    }
    let room = usize::from(area.height.saturating_sub(row));
    let newest = sub.timeline.iter().skip(sub.timeline.len().saturating_sub(room));
    for (row, (at, what)) in (row..area.height).zip(newest) {
        let what = styled(harmless(what).into_owned(), theme.text);
        put(buf, area, row, [styled(format!(" {}  ", scene.ui.zone.clock(*at)), theme.dim), what]);
    }
}

/// The verdict: an age against siblings and threshold, never a progress, which nobody can see; or what it came to.
fn standing(view: &BatchesView, sub: &SubBatchView, aged: u64) -> String {
    if sub.status == SubBatchStatus::Planned {
        return "planned: waits for an org that has room".to_owned();
    }
    let mut parts = Vec::new();
    if let Some(age) = age(sub, aged) {
        parts.push(if sub.status.is_open() {
            format!("{} old", format::span(age))
        } else {
            format!("took {}", format::span(age))
        });
    }
    if sub.status.is_over() {
        if sub.canceled {
            parts.push("was canceled".to_owned());
        }
        parts.push(format!("{} done", format::count(u64::from(sub.n_succeeded + sub.n_refused_invalid))));
        for (n, what) in [(sub.n_expired, "expired"), (sub.n_canceled, "canceled"), (sub.n_errored, "errored")] {
            if n > 0 {
                parts.push(format!("{} {what}", format::count(u64::from(n))));
            }
        }
        parts.push(format!("{} paid", format::money(sub.cost)));
        return parts.join(" · ");
    }
    parts.push(match (view.took_median_ms, view.took_longest_ms) {
        (Some(median), Some(longest)) => {
            let n = view.n_ended_by_themselves();
            format!("{n} ended, median {}, longest {}", format::span(median), format::span(longest))
        }
        _ if view.ended > 0 => "none has ended without a cancel".to_owned(),
        _ => "none has ended yet".to_owned(),
    });
    let threshold = view.threshold_ms.map(format::span).unwrap_or_default();
    match sub.stuck_in_ms.map(|ms| ms.saturating_sub(aged)) {
        Some(0) => parts.push(format!("over the threshold of {threshold}")),
        Some(ms) => parts.push(format!("stuck in {} (threshold {threshold})", format::countdown(ms))),
        None => {}
    }
    if sub.canceled {
        parts.push("its cancel was taken".to_owned());
    }
    if let Some(ms) = sub.expires_in_ms {
        parts.push(format!("expires in {}", format::span(ms.saturating_sub(aged))));
    }
    parts.join(" · ")
}
