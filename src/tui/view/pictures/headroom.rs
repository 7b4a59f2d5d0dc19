//! What is left of every limit of every org, and when it is whole again.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Span;

use crate::model::snapshot::{Binding, LimiterView, OrgView};
use crate::report::format;
use crate::report::text::{fit, fit_right, harmless};
use crate::tui::theme::Theme;
use crate::tui::view::words::{self, headroom_style};
use crate::tui::view::{bars, put, styled};

use super::titled;

/// Columns of an org's name.
const NAME: usize = 12;
/// Columns of everything but the name and the gauge.
const FIGURES: usize = 8 + 6 + 3 + 14 + 12;
/// Columns below which a limit has its gauge and its share, and no figures.
const NARROW: usize = 64;

/// Rows that it wants: the title, and a row for each limiter.
pub fn rows_wanted(orgs: &[OrgView]) -> u16 {
    let rows: usize = orgs.iter().map(|org| org.limiters.len().max(1)).sum();
    u16::try_from(rows + 1).unwrap_or(u16::MAX)
}

/// How many rows each org gets of those that there are: all of its limiters if they have room, else the same number as the
/// others. The tightest limiter of an org comes first, so that is what is left.
fn shares(orgs: &[OrgView], rows: u16) -> Vec<usize> {
    let wanted: Vec<usize> = orgs.iter().map(|org| org.limiters.len().max(1)).collect();
    let mut each = vec![0; orgs.len()];
    let mut left = usize::from(rows);
    while left > 0 && each.iter().zip(&wanted).any(|(got, wanted)| got < wanted) {
        for (got, wanted) in each.iter_mut().zip(&wanted) {
            if left > 0 && *got < *wanted {
                (*got, left) = (*got + 1, left - 1);
            }
        }
    }
    each
}

/// Draws it.
///
/// ```text
/// ── headroom · left of each limit · full again in ─────────────────────────────────
///  high-prio    out-tok  62 % █████████████████·········  496k of 800k   full in 0:23
///               in-tok   77 % █████████████████████·····  3.1M of 4.0M   full in 0:14
///               reqs     91 % ████████████████████████··  3.6k of 4.0k   full in 0:06
///  batch        out-tok   0 % ··························     0 of 800k   full in 1:00  binds
/// ```
pub fn render(buf: &mut Buffer, area: Rect, orgs: &[OrgView], aged_ms: u64, theme: &Theme) {
    let body = titled(buf, area, "headroom", "left of each limit, and when it is whole again", theme);
    let columns = usize::from(body.width);
    let name_columns = if columns < NARROW { NAME - 3 } else { NAME };
    let mut row = 0;
    for (org, rows) in orgs.iter().zip(shares(orgs, body.height)) {
        let label = fit(&harmless(&org.label), name_columns);
        if org.limiters.is_empty() && rows > 0 {
            put(buf, body, row, [styled(format!(" {label} not told yet"), theme.dim)]);
            row += 1;
        }
        for (n, limiter) in (0..rows).zip(&org.limiters) {
            let name = if n == 0 { label.clone() } else { " ".repeat(name_columns) };
            put(buf, body, row, line(&name, org, limiter, aged_ms, columns, theme));
            row += 1;
        }
    }
}

fn line(
    name: &str,
    org: &OrgView,
    limiter: &LimiterView,
    aged_ms: u64,
    columns: usize,
    theme: &Theme,
) -> Vec<Span<'static>> {
    let style = headroom_style(limiter.headroom, theme);
    let binds = org.binding == Some(Binding::Limiter(limiter.limiter));
    let narrow = columns < NARROW;
    let gauge = match narrow {
        true => columns.saturating_sub(name.len() + 2 + 8 + 6 + 7),
        false => columns.saturating_sub(NAME + FIGURES + 10).min(60),
    };
    let left = format!("{} of {}", format::short_count(limiter.remaining), format::short_count(limiter.limit));
    let full = match limiter.full_in_ms.saturating_sub(aged_ms) {
        0 => "full".to_owned(),
        ms => format!("full in {}", format::countdown(ms)),
    };
    let mut spans = vec![
        styled(format!(" {name} "), theme.strong),
        styled(fit(words::limiter(limiter.limiter), 8), theme.dim),
        styled(format!("{:>5} ", format::percent(limiter.headroom)), style),
    ];
    spans.extend(bars::gauge(limiter.headroom, gauge, style, theme.dim));
    if !narrow {
        spans.push(styled(format!(" {}", fit_right(&left, 14)), theme.text));
        spans.push(styled(format!("  {}", fit(&full, 12)), theme.dim));
    }
    if binds {
        spans.push(styled(" binds", theme.warn));
    }
    spans
}
