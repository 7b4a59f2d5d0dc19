//! The orgs as a table: one or two lines each, for smaller screens and for many orgs.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Span;

use crate::model::snapshot::OrgView;
use crate::report::format;
use crate::report::text::{self, harmless};

use super::layout::{Density, Layout};
use super::words::{self, Weight, Word, headroom_style};
use super::{Scene, bars, put, put_right, styled};

/// Columns of the figures on the right: in flight, its gauge, headroom, rate, 429s, with the gaps between them.
const FIGURES: usize = 11 + GAUGE + 6 + 9 + 7;
/// Columns of the gauge.
const GAUGE: usize = 8;
/// Columns of a sparkline, where there is room.
const SPARK: usize = 30;

/// Draws it.
///
/// ```text
///   org          state                        in flight             headroom   rate    429
/// › high-prio    ● steady                      98/100 █████████·        62 %  33.4/s     0
///                cap 100 · 429 steady ×3 · $6.17 · p50 1.5s p95 3.0s · room by out-tok
///   batch        ◆ backing off 0:42 (rate-…     0/50  ▒▒▒▒▒·····         0 %     0/s   212
/// +3 more · worst: parked: auth
/// ```
pub fn render(buf: &mut Buffer, scene: &Scene<'_>, layout: &Layout, lines: u16) {
    let minimal = layout.density == Density::Minimal;
    let label = label_width(scene, layout.orgs.width, minimal);
    if !minimal {
        heading(buf, scene, layout.heading, label);
    }
    for cell in &layout.cells {
        let Some(org) = scene.snapshot.orgs.get(cell.ix) else { continue };
        let selected = scene.ui.selected_ix(scene.snapshot) == cell.ix;
        let word = words::org(scene, org, selected);
        let row = Row { org, word, selected, label };
        if minimal {
            row.minimal(buf, scene, cell.area);
        } else {
            row.table(buf, scene, cell.area);
            if lines > 1 {
                row.details(buf, scene, cell.area);
            }
        }
    }
    more(buf, scene, layout);
}

fn label_width(scene: &Scene<'_>, width: u16, minimal: bool) -> usize {
    let longest = scene.snapshot.orgs.iter().map(|org| text::width(&harmless(&org.label))).max().unwrap_or(0);
    let most = if minimal { 12 } else { usize::from(width / 6).clamp(12, 24) };
    longest.clamp(6, most)
}

fn heading(buf: &mut Buffer, scene: &Scene<'_>, area: Rect, label: usize) {
    let name = text::fit("org", label);
    put(buf, area, 0, [styled(format!("  {name}  state"), scene.theme.dim)]);
    let right = format!("{:>12}{:>GAUGE$}{:>5} {:>8} {:>5} ", "in flight ", "", "room", "rate", "429");
    let spark = if wide(area) { " ".repeat(SPARK + 2) } else { String::new() };
    put_right(buf, area, 0, [styled(format!("{right}{spark}"), scene.theme.dim)]);
}

/// Whether a line has room for a sparkline.
fn wide(area: Rect) -> bool {
    area.width >= 120
}

struct Row<'s> {
    org: &'s OrgView,
    word: Word,
    selected: bool,
    label: usize,
}

impl Row<'_> {
    fn name(&self, scene: &Scene<'_>) -> Vec<Span<'static>> {
        let theme = scene.theme;
        let style = if self.selected { theme.selected } else { theme.strong };
        let mark = if self.selected { "› " } else { "  " };
        vec![styled(mark, theme.selected), styled(text::fit(&harmless(&self.org.label), self.label), style)]
    }

    /// Columns of the state in the table.
    fn state_columns(&self, area: Rect) -> usize {
        let spark = if wide(area) { SPARK + 2 } else { 0 };
        usize::from(area.width).saturating_sub(2 + self.label + 2 + FIGURES + spark)
    }

    fn state(&self, scene: &Scene<'_>, columns: usize) -> Span<'static> {
        let (state, _) = self.word.fitting(columns);
        styled(text::fit(&state, columns), self.word.style(scene.theme))
    }

    /// `› high-prio  ● steady            98/100`
    fn minimal(&self, buf: &mut Buffer, scene: &Scene<'_>, area: Rect) {
        let figures = format!(" {}/{} ", short(self.org.in_flight()), short(self.org.window()));
        let columns = usize::from(area.width).saturating_sub(2 + self.label + 1 + text::width(&figures));
        let mut line = self.name(scene);
        line.extend([Span::raw(" "), self.state(scene, columns), styled(figures, scene.theme.text)]);
        put(buf, area, 0, line);
    }

    fn table(&self, buf: &mut Buffer, scene: &Scene<'_>, area: Rect) {
        let theme = scene.theme;
        let mut line = self.name(scene);
        line.extend([Span::raw("  "), self.state(scene, self.state_columns(area))]);
        put(buf, area, 0, line);
        let org = self.org;
        let limited = org.totals.n_429_steady.saturating_add(org.totals.n_429_ramp);
        let headroom = org.headroom.map_or("–".to_owned(), format::percent);
        let mut right = vec![styled(format!("{:>5}/{:<5}", short(org.in_flight()), short(org.window())), theme.text)];
        right.extend(bars::window(org.in_flight(), org.window(), org.ceiling(), GAUGE, theme));
        right.extend([
            styled(format!(" {headroom:>5}"), org.headroom.map_or(theme.dim, |h| headroom_style(h, theme))),
            styled(format!(" {:>8}", text::cut(&words::rate(scene, org), 8)), theme.text),
            styled(format!(" {:>5} ", format::short_count(limited)), if limited > 0 { theme.warn } else { theme.dim }),
        ]);
        if wide(area) {
            right.push(styled(format!("{}  ", bars::sparkline(&org.rate_history, SPARK, 1, 0)), theme.info));
        }
        put_right(buf, area, 0, right);
    }

    /// The cap of each family; one that is above the polite cap says so.
    fn caps(&self, scene: &Scene<'_>) -> String {
        let one = self.org.windows.len() == 1;
        let caps = self.org.windows.iter().map(|window| {
            let cap = scene.ui.cap(self.org.id, window);
            let family = if one { String::new() } else { format!("{} ", window.family) };
            let above =
                if cap > window.polite_cap { format!(" > polite {}", window.polite_cap) } else { String::new() };
            format!("{family}cap {}{above}", short(cap))
        });
        caps.collect::<Vec<_>>().join(", ")
    }

    /// What the first line has no room for.
    fn details(&self, buf: &mut Buffer, scene: &Scene<'_>, area: Rect) {
        let theme = scene.theme;
        let totals = &self.org.totals;
        let mut parts = vec![self.caps(scene)];
        for (n, name) in [
            (totals.n_429_steady, "429 steady"),
            (totals.n_429_ramp, "429 ramp"),
            (totals.n_overloaded, "529"),
            (totals.n_5xx, "5xx"),
            (totals.n_transport, "network"),
        ] {
            if n > 0 {
                parts.push(format!("{name} ×{}", format::short_count(n)));
            }
        }
        let (p50, p95) = (format::latency(self.org.latency_p50_ms), format::latency(self.org.latency_p95_ms));
        parts.push(format::money(totals.cost));
        // Answers of sub-batches have no latency that is one of the org.
        if self.org.latency_p50_ms > 0 {
            parts.push(format!("p50 {p50} p95 {p95}"));
        }
        if let Some(limiter) = self.org.limiters.first() {
            parts.push(format!("room by {}", words::limiter(limiter.limiter)));
        }
        let (tokens_in, tokens_out) = (format::short_count(totals.tokens_in), format::short_count(totals.tokens_out));
        parts.push(format!("{tokens_in} in {tokens_out} out"));
        let indent = " ".repeat(2 + self.label + 2);
        let mut room = usize::from(area.width).saturating_sub(indent.len() + 1);
        let mut line = vec![Span::raw(indent)];
        // The reason of a state comes first when the line above has no room for it.
        let (_, told) = self.word.fitting(self.state_columns(area));
        if !told {
            let reason = text::cut(&self.word.why, room).into_owned();
            room = room.saturating_sub(text::width(&reason) + 3);
            line.extend([styled(reason, self.word.style(theme)), styled(" · ", theme.dim)]);
        }
        // A figure is told whole or not at all.
        let mut told = String::new();
        for part in parts {
            let gap = if told.is_empty() { "" } else { " · " };
            if text::width(&told) + gap.chars().count() + text::width(&part) <= room {
                told.push_str(gap);
                told.push_str(&part);
            }
        }
        line.push(styled(told, theme.dim));
        put(buf, area, 1, line);
    }
}

fn short(n: u32) -> String {
    format::short_count(u64::from(n))
}

/// How many orgs have no place, and the worst state among them.
fn more(buf: &mut Buffer, scene: &Scene<'_>, layout: &Layout) {
    let shown = |ix: usize| layout.cells.iter().any(|cell| cell.ix == ix);
    let hidden = scene.snapshot.orgs.iter().enumerate().filter(|(ix, _)| !shown(*ix));
    let words: Vec<Word> = hidden.map(|(_, org)| words::org(scene, org, false)).collect();
    let Some(worst) = words.iter().max_by_key(|word| word.weight) else { return };
    let style = if worst.weight >= Weight::Waiting { worst.style(scene.theme) } else { scene.theme.dim };
    let text = format!("  +{} more, worst: {} {}", words.len(), worst.glyph, worst.short);
    put(buf, layout.more, 0, [styled(text, style)]);
}
