//! A request in full: what the call was, the line of the input, the answer.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Span;

use crate::model::browse::{RequestDetail, RequestRow};
use crate::report::format;
use crate::report::text::{fit, harmless, wrap};
use crate::tui::theme::Theme;
use crate::tui::view::{Scene, put, put_right, styled};
use crate::tui::zone::{self, Zone};

use super::list;

/// Columns of the names of facts.
const NAME: usize = 11;

/// Draws it.
///
/// ```text
/// ── judge-000012 ────────────────────────────────────────── 1–24 of 61
///  outcome    × invalid · invalid_request_error
///  call       high-prio · sync · attempt 2 · req_011CS…
///  took       1.2s · 1,203 tokens in · 44 out · $0.0012
///  at         2026-11-29 17:05:09 UTC
/// ── request ───────────────────────────────────────────────────────────
///  {
///    "custom_id": "judge-000012",
/// ── answer ────────────────────────────────────────────────────────────
/// ```
pub(super) fn render(buf: &mut Buffer, scene: &Scene<'_>, area: Rect) {
    let theme = scene.theme;
    let ui = &scene.ui.requests;
    let selected = ui.row();
    let id = selected.map_or("no request is selected".to_owned(), |row| harmless(&row.custom_id).into_owned());
    put(buf, area, 0, [rule(&id, area.width, theme.selected)]);
    let body = Rect { y: area.y + 1.min(area.height), height: area.height.saturating_sub(1), ..area };
    let columns = usize::from(body.width.saturating_sub(2));
    let lines = match &ui.detail {
        Some((no, Ok(detail))) if selected.is_some_and(|row| row.no == *no) => {
            full(detail, columns, &scene.ui.zone, theme)
        }
        Some((no, Err(why))) if selected.is_some_and(|row| row.no == *no) => {
            vec![(harmless(why).into_owned(), theme.bad)]
        }
        _ => vec![("reading it".to_owned(), theme.dim)],
    };
    let first = ui.scroll.min(lines.len().saturating_sub(usize::from(body.height)));
    let shown = lines.len().min(first + usize::from(body.height));
    if lines.len() > usize::from(body.height) {
        put_right(buf, area, 0, [styled(format!(" {}–{shown} of {} ", first + 1, lines.len()), theme.dim)]);
    }
    for (row, (line, style)) in (0..body.height).zip(lines.into_iter().skip(first)) {
        put(buf, body, row, [Span::raw(" "), styled(line, style)]);
    }
}

fn rule(title: &str, columns: u16, style: Style) -> Span<'static> {
    styled(
        fit(&format!("── {title} {}", "─".repeat(usize::from(columns))), usize::from(columns)).replace('…', "─"),
        style,
    )
}

/// All lines at a width.
fn full(detail: &RequestDetail, columns: usize, zone: &Zone, theme: &Theme) -> Vec<(String, Style)> {
    let mut lines = facts(&detail.row, columns, zone, theme);
    let heading =
        |name: &str| (format!("── {name} {}", "─".repeat(columns.saturating_sub(name.len() + 4))), theme.frame);
    lines.push(heading("request"));
    match &detail.request {
        Ok(request) => lines.extend(json(request, columns, theme)),
        Err(why) => lines.extend(wrapped(why, columns).map(|line| (line, theme.warn))),
    }
    lines.push(heading("answer"));
    lines.extend(json(&detail.answer, columns, theme));
    lines
}

fn facts(row: &RequestRow, columns: usize, zone: &Zone, theme: &Theme) -> Vec<(String, Style)> {
    let mut outcome = format!("{} {}", list::glyph(row.class), row.class.as_str());
    for more in [&row.stop_reason, &row.error] {
        if !more.is_empty() {
            outcome.push_str(&format!(" · {more}"));
        }
    }
    let org = if row.org.is_empty() { String::new() } else { format!("{} · ", row.org) };
    let mut call = format!("{org}{}", row.path);
    if row.attempt > 0 {
        call.push_str(&format!(" · attempt {}", row.attempt));
    }
    let request_id = if row.request_id.is_empty() { "not told" } else { &row.request_id };
    let latency = format::latency(u32::try_from(row.latency_ms).unwrap_or(u32::MAX));
    let took = format!(
        "{latency} · {} tokens in · {} out · {}",
        format::count(row.tokens_in),
        format::count(row.tokens_out),
        format::money(row.cost)
    );
    let at = zone::read(&row.at).map_or_else(|| row.at.clone(), |at| zone.moment(at));
    let named =
        [("outcome", outcome.as_str()), ("call", &call), ("request-id", request_id), ("took", &took), ("at", &at)];
    let line = |(at, (name, value)): (usize, (&str, &str))| {
        let style = if at == 0 { list::style(row.class, theme) } else { theme.text };
        (fit(&format!("{}{}", fit(name, NAME), harmless(value)), columns), style)
    };
    named.into_iter().enumerate().map(line).collect()
}

/// Lines of JSON, broken at the width, with their indentation kept.
fn json<'l>(lines: &'l [String], columns: usize, theme: &'l Theme) -> impl Iterator<Item = (String, Style)> + 'l {
    lines.iter().flat_map(move |line| wrapped(line, columns)).map(|line| (line, theme.text))
}

fn wrapped(line: &str, columns: usize) -> impl Iterator<Item = String> + use<> {
    let line = harmless(line);
    let text = line.trim_start();
    let indent = (line.len() - text.len()).min(columns / 2);
    let lines = wrap(text, columns.saturating_sub(indent).max(1));
    lines.into_iter().filter(|line| !line.is_empty()).map(move |line| format!("{}{line}", " ".repeat(indent)))
}
