//! An org in a pane of its own, where there is room.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Span;

use crate::model::snapshot::{Binding, OrgView, WindowView};
use crate::report::format;
use crate::report::text::{self, harmless};
use crate::tui::backstage::Driver;

use super::layout::OrgCell;
use super::words::{self, headroom_style};
use super::{Scene, bars, frame, put, put_right, styled};

/// Columns of the names on the left.
const NAME: usize = 9;

/// Most windows of an org that have a line; the pane has no more room.
const WINDOWS: usize = 2;

/// Share of the tightest limit from which on others' use of it is shown.
const SHOWN_FROM: f64 = 0.05;

/// Draws it.
///
/// ```text
/// ┌ batch ─────────────────────────────────┐
/// │ ◆ backing off 0:42 (rate-limited)      │
/// │ in flight    0/50   ▒▒▒▒▒▒···· cap 100 │   in flight, window, what is left to the ceiling
/// │ headroom   0 % ··············· out-tok │   the tightest limiter, then the others
/// │                              62 % reqs │
/// │ 429       steady ×180  ramp ×32        │
/// │ errors    529 ×4    5xx ×0    net ×0   │
/// │ latency   p50 1.5s  p95 3.0s           │
/// │ tokens    4.2M in  388k out      $6.17 │
/// │ 0/s      ▄▅▆▇▇▇▆▇▇▃▄▅▆▇▇▇▆▇▇▅▂▁▁▁▁▁▁▁▁ │
/// └────────────────────────────────────────┘
/// ```
pub fn render(buf: &mut Buffer, scene: &Scene<'_>, cell: &OrgCell) {
    let Some(org) = scene.snapshot.orgs.get(cell.ix) else { return };
    let theme = scene.theme;
    let selected = scene.ui.selected_ix(scene.snapshot) == cell.ix;
    let word = words::org(scene, org, selected);
    let edge = match (selected, word.weight) {
        (true, _) => theme.selected,
        (false, words::Weight::Needy) => theme.bad,
        (false, words::Weight::Waiting) => theme.warn,
        (false, _) => theme.frame,
    };
    let room = usize::from(cell.area.width).saturating_sub(6);
    let label = format!(" {} ", text::cut(&harmless(&org.label), room));
    let title = if selected { theme.selected } else { theme.strong };
    let inner = frame(buf, cell.area, Span::styled(label, title), selected, edge);
    let mut rows = Rows { buf, area: pad(inner), at: 0 };
    let (state, _) = word.fitting(rows.width());
    rows.line([styled(state, word.style(theme))]);
    windows(&mut rows, scene, org, selected);
    headroom(&mut rows, scene, org);
    counters(&mut rows, scene, org);
    rate(&mut rows, scene, org);
}

/// One blank column on each side.
fn pad(area: Rect) -> Rect {
    Rect { x: area.x + 1.min(area.width), width: area.width.saturating_sub(2), ..area }
}

/// Lines from the top down.
struct Rows<'b> {
    buf: &'b mut Buffer,
    area: Rect,
    at: u16,
}

impl Rows<'_> {
    fn width(&self) -> usize {
        usize::from(self.area.width)
    }

    fn left(&self) -> u16 {
        self.area.height.saturating_sub(self.at)
    }

    fn line<'a>(&mut self, spans: impl IntoIterator<Item = Span<'a>>) {
        put(self.buf, self.area, self.at, spans);
        self.at += 1;
    }
}

/// A gauge a family, and the caps. With several families, the one that the cap keys mean is marked.
fn windows(rows: &mut Rows<'_>, scene: &Scene<'_>, org: &OrgView, selected: bool) {
    let theme = scene.theme;
    let several = org.windows.len() > 1;
    let first = if several && selected { scene.ui.live.family % org.windows.len() } else { 0 };
    let shown: Vec<&WindowView> =
        org.windows.iter().skip(first.min(org.windows.len().saturating_sub(WINDOWS))).take(WINDOWS).collect();
    // Every pane has the lines of the one that has most, so that the same figure stands in the same row of all.
    let most = scene.snapshot.orgs.iter().map(|org| org.windows.len()).max().unwrap_or(0).min(WINDOWS);
    let blank = most.saturating_sub(shown.len());
    for window in shown {
        let meant = selected && several && scene.ui.selected_window(scene.snapshot).is_some_and(|(_, w)| w == window);
        let name = match (several, meant) {
            (true, true) => format!("›{}", window.family),
            (true, false) => window.family.to_string(),
            (false, _) => "in flight".to_owned(),
        };
        let figures = format!(
            "{:>5}/{:<5}",
            format::short_count(u64::from(window.in_flight)),
            format::short_count(u64::from(window.window))
        );
        let cap = cap(scene, org, window, rows.width().saturating_sub(NAME + text::width(&figures)));
        let used = NAME + text::width(&figures) + text::width(&cap.content) + 1;
        let bar =
            bars::window(window.in_flight, window.window, window.ceiling, rows.width().saturating_sub(used), theme);
        let mut line = vec![styled(text::fit(&name, NAME), theme.dim), styled(figures, theme.strong)];
        line.extend(bar);
        if rows.width() > used {
            line.push(Span::raw(" "));
        }
        line.push(cap);
        rows.line(line);
    }
    for _ in 0..blank {
        rows.line([]);
    }
}

/// The cap, with a mark when it is above the polite one; lanes when there are several.
fn cap(scene: &Scene<'_>, org: &OrgView, window: &WindowView, columns: usize) -> Span<'static> {
    let cap = scene.ui.cap(org.id, window);
    let shown = format::short_count(u64::from(cap));
    let lanes = match window.ceiling.checked_div(window.cap.max(1)) {
        Some(lanes) if lanes > 1 => format!("×{lanes}"),
        _ => String::new(),
    };
    if cap > window.polite_cap {
        // The mark matters more than the gauge: it gives way, and then the word `cap` does.
        let full = format!("cap {shown}{lanes} > polite {}", window.polite_cap);
        let short = format!("{shown}{lanes} > polite {}", window.polite_cap);
        styled(if text::width(&full) < columns { full } else { short }, scene.theme.warn)
    } else {
        styled(format!("cap {shown}{lanes}"), scene.theme.dim)
    }
}

/// The tightest limiter as a gauge, the others in figures.
fn headroom(rows: &mut Rows<'_>, scene: &Scene<'_>, org: &OrgView) {
    let theme = scene.theme;
    let name = styled(text::fit("headroom", NAME), theme.dim);
    let Some(headroom) = org.headroom else {
        let what = if scene.ui.driver == Driver::Here { "not told yet" } else { "not known here" };
        rows.line([name, styled(format!("    – {what}"), theme.dim)]);
        rows.line([]);
        return;
    };
    let tightest = org.limiters.first().map_or("", |limiter| words::limiter(limiter.limiter));
    let binds = org.limiters.first().is_some_and(|first| org.binding == Some(Binding::Limiter(first.limiter)));
    let mark = if binds { " binds" } else { "" };
    let figure = format!("{:>5} ", format::percent(headroom));
    let used = NAME + text::width(&figure) + tightest.len() + mark.len() + 1;
    let style = headroom_style(headroom, theme);
    let mut line = vec![name, styled(figure, style)];
    line.extend(bars::gauge(headroom, rows.width().saturating_sub(used), style, theme.dim));
    line.push(styled(format!(" {tightest}"), theme.dim));
    line.push(styled(mark, theme.strong));
    rows.line(line);
    let others = others(org, rows.width());
    put_right(rows.buf, rows.area, rows.at, [styled(others, theme.dim)]);
    rows.line([]);
}

/// What others use of the tightest limit, or else the limits that are not the tightest, as many as `columns` columns hold
/// whole; of the rest, how many.
fn others(org: &OrgView, columns: usize) -> String {
    if let Some(tightest) = org.limiters.first().filter(|limiter| limiter.foreign >= SHOWN_FROM) {
        return format!("others use {}", format::percent(tightest.foreign));
    }
    let each: Vec<String> = org
        .limiters
        .iter()
        .skip(1)
        .map(|limiter| format!("{} {}", format::percent(limiter.headroom), words::limiter(limiter.limiter)))
        .collect();
    let told = |n: usize| {
        let hidden = each.len() - n;
        let more = (hidden > 0).then(|| format!("+{hidden}"));
        each.iter().take(n).cloned().chain(more).collect::<Vec<_>>().join(" · ")
    };
    (0..=each.len()).rev().map(told).find(|text| text::width(text) <= columns).unwrap_or_default()
}

fn counters(rows: &mut Rows<'_>, scene: &Scene<'_>, org: &OrgView) {
    let theme = scene.theme;
    let totals = &org.totals;
    let counted = |figures: &[(u64, &str)]| -> Vec<Span<'static>> {
        let mut out = Vec::new();
        for (n, name) in figures {
            // Zeros are quiet, so that the eye finds what happened.
            let style = if *n > 0 { theme.warn } else { theme.dim };
            out.push(styled(format!(" {name} "), theme.dim));
            out.push(styled(format!("×{:<4}", format::short_count(*n)), style));
        }
        out
    };
    let named = |name: &str, figures: Vec<Span<'static>>| {
        std::iter::once(styled(text::fit(name, NAME), theme.dim)).chain(figures).collect::<Vec<_>>()
    };
    rows.line(named("429", counted(&[(totals.n_429_steady, "steady"), (totals.n_429_ramp, "ramp")])));
    let errors = [(totals.n_overloaded, "529"), (totals.n_5xx, "5xx"), (totals.n_transport, "net")];
    rows.line(named("errors", counted(&errors)));
    let figures = [
        styled(" p50 ", theme.dim),
        styled(format!("{:<5}", format::latency(org.latency_p50_ms)), theme.text),
        styled(" p95 ", theme.dim),
        styled(format::latency(org.latency_p95_ms), theme.text),
    ];
    rows.line(named("latency", figures.to_vec()));
    if rows.left() > 1 {
        let mut figures = vec![
            styled(format!(" {:>4}", format::short_count(totals.tokens_in)), theme.text),
            styled(" in", theme.dim),
            styled(format!(" {:>5}", format::short_count(totals.tokens_out)), theme.text),
            styled(" out ", theme.dim),
        ];
        // Both are one line: the cost is whole, and the figures give way to it.
        let cost = format::money(totals.cost);
        while figures.iter().map(Span::width).sum::<usize>() + NAME + text::width(&cost) > rows.width()
            && figures.len() > 2
        {
            figures.truncate(figures.len() - 2);
        }
        put_right(rows.buf, rows.area, rows.at, [styled(cost, theme.strong)]);
        rows.line(named("tokens", figures));
    }
}

/// The rate and its last two minutes, as high as there is room.
fn rate(rows: &mut Rows<'_>, scene: &Scene<'_>, org: &OrgView) {
    let theme = scene.theme;
    let high = usize::from(rows.left());
    let columns = rows.width().saturating_sub(NAME);
    for row in 0..high {
        let name = if row + 1 == high { words::rate(scene, org) } else { String::new() };
        let spark = bars::sparkline(&org.rate_history, columns, high, row);
        rows.line([styled(text::fit(&name, NAME), theme.strong), styled(spark, theme.info)]);
    }
    if high == 0 {
        put_right(rows.buf, rows.area, 0, [styled(words::rate(scene, org), theme.strong)]);
    }
}
