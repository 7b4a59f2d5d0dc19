//! What became of the attempts of each org, as a stacked bar.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Span;

use crate::model::snapshot::{OrgTotals, OrgView};
use crate::report::format;
use crate::report::text::{fit, fit_right, harmless};
use crate::tui::theme::Theme;
use crate::tui::view::{bars, put, styled};

use super::titled;

/// Columns of an org's name.
const NAME: usize = 12;
/// Columns below which the number of attempts is left out.
const NARROW: usize = 64;

/// The parts of the attempts, in the order of the bar: glyph, name, number, style.
fn parts(totals: &OrgTotals, theme: &Theme) -> [(char, &'static str, u64, Style); 6] {
    [
        ('█', "ok", totals.n_ok, theme.good),
        ('▚', "refused", totals.n_refused, theme.outcomes[2]),
        ('×', "invalid", totals.n_invalid, theme.bad),
        ('▒', "429", totals.n_429(), theme.warn),
        ('◆', "5xx and 529", totals.n_5xx.saturating_add(totals.n_overloaded), theme.bad),
        ('?', "network and account", totals.n_transport.saturating_add(totals.n_account), theme.bad),
    ]
}

/// Rows that it wants: the title, an org a row, the legend.
pub fn rows_wanted(orgs: &[OrgView]) -> u16 {
    u16::try_from(orgs.len() + 2).unwrap_or(u16::MAX)
}

/// Draws it.
///
/// ```text
/// ── attempts · what became of them ──────────────────────────────────────
///  high-prio    4,112 █████████████████████████████████████████▚  99.7 %
///  batch        4,328 ████████████████████████████████████▚▒▒▒◆   94.9 %
///  █ ok 8,200   ▚ refused 24   ▒ 429 212   ◆ 5xx and 529 4
/// ```
pub fn render(buf: &mut Buffer, area: Rect, orgs: &[OrgView], theme: &Theme) {
    let body = titled(buf, area, "attempts", "what became of them, and the share that was answered", theme);
    let narrow = usize::from(body.width) < NARROW;
    let (name, number) = if narrow { (NAME - 3, 0) } else { (NAME, 9) };
    let columns = usize::from(body.width).saturating_sub(name + 2 + number + usize::from(!narrow) + 9);
    for (row, org) in (0..body.height.saturating_sub(1)).zip(orgs) {
        let parts = parts(&org.totals, theme);
        let numbers = parts.map(|(_, _, n, _)| n);
        let n = numbers.iter().fold(0, |sum: u64, n| sum.saturating_add(*n));
        let mut spans = vec![
            styled(format!(" {} ", fit(&harmless(&org.label), name)), theme.strong),
            styled(
                if narrow { String::new() } else { format!("{} ", fit_right(&format::count(n), number)) },
                theme.text,
            ),
        ];
        let cells = bars::shares(&numbers, columns);
        spans.extend(parts.iter().zip(&cells).filter(|(_, cells)| **cells > 0).map(|((glyph, _, _, style), cells)| {
            styled(std::iter::repeat_n(*glyph, *cells).collect::<String>(), *style)
        }));
        let share = if n == 0 {
            "–".to_owned()
        } else {
            format::share(org.totals.n_ok.saturating_add(org.totals.n_refused), n)
        };
        spans.push(styled(" ".repeat(columns - cells.iter().sum::<usize>()), theme.text));
        spans.push(styled(fit_right(&share, 9), theme.text));
        put(buf, body, row, spans);
    }
    if body.height > 0 {
        let row = u16::try_from(orgs.len()).unwrap_or(u16::MAX).min(body.height - 1);
        put(buf, body, row, legend(orgs, theme));
    }
}

fn legend(orgs: &[OrgView], theme: &Theme) -> Vec<Span<'static>> {
    let mut sums = parts(&OrgTotals::default(), theme);
    for org in orgs {
        for (sum, part) in sums.iter_mut().zip(parts(&org.totals, theme)) {
            sum.2 = sum.2.saturating_add(part.2);
        }
    }
    let mut spans = vec![Span::raw(" ")];
    // A part that nothing fell into is not told.
    for (glyph, name, n, style) in sums.into_iter().filter(|part| part.2 > 0) {
        spans.push(styled(glyph.to_string(), style));
        spans.push(styled(format!(" {name} "), theme.dim));
        spans.push(styled(format!("{}   ", format::count(n)), theme.text));
    }
    spans
}
