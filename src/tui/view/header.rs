//! The run: its name, its state in a word, where its requests are, how fast it goes, when it ends, what it costs.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Span;

use crate::model::snapshot::RunView;
use crate::model::{RunStatus, Snapshot};
use crate::report::format;
use crate::report::text::{self, harmless};
use crate::tui::backstage::Driver;
use crate::tui::state::shown_run;

use super::layout::{Density, Layout};
use super::{Scene, banner, bars, put, put_right, styled, words};

/// Draws it.
///
/// ```text
///  judge-input.jsonl  ● running                                    sync · claude-haiku-5-5
///  ▓▓▓█████████████████████████████████████████▚×↻▒▒···············  61.7 %  12,345 / 20,000
///  ▓ cached 1,000   █ succeeded 11,300   ▚ refused 40   ↻ re-driving 12   · unsent 7,333
///  98.2/s   eta 1m18s   elapsed 2m05s   $18.53   possibly charged 3          ▃▄▅▆▇▇▇▆▇▇
/// ```
pub fn render(buf: &mut Buffer, scene: &Scene<'_>, layout: &Layout) {
    let full = layout.header;
    let area = Rect { x: full.x + 1, width: full.width.saturating_sub(2), ..full };
    let Some(run) = shown_run(scene.snapshot) else {
        put(buf, area, 0, [Span::styled("no run", scene.theme.strong)]);
        return;
    };
    title(buf, scene, area, run, layout.density);
    if layout.density == Density::Minimal {
        let bar = bars::outcomes(&run.counts, usize::from(area.width), scene.theme);
        put(buf, area, 1, bar);
        put(buf, area, 2, joined(figures(scene, run, true), "  ", usize::from(area.width)));
        return;
    }
    let first = u16::from(layout.density == Density::Full);
    bar(buf, scene, area, 1 + first, run);
    let used = legend(buf, scene, area, 2 + first, run);
    let row = 2 + first + used;
    let line = joined(figures(scene, run, false), "   ", usize::from(area.width));
    let room = usize::from(area.width).saturating_sub(line.iter().map(Span::width).sum::<usize>() + 3);
    put(buf, area, row, line);
    if layout.density == Density::Full && room >= SPARK_MIN {
        let spark = bars::sparkline(&run.rate_history, room.min(SPARK_MAX), 1, 0);
        put_right(buf, area, row, [styled(spark, scene.theme.info)]);
    }
}

/// Fewest and most columns of the run's sparkline.
const SPARK_MIN: usize = 12;
const SPARK_MAX: usize = 40;

fn title(buf: &mut Buffer, scene: &Scene<'_>, area: Rect, run: &RunView, density: Density) {
    let theme = scene.theme;
    let word = words::run(scene.ui, scene.snapshot, run);
    let width = usize::from(area.width);
    let right = if density == Density::Minimal {
        format::share(run.counts.done(), run.counts.total)
    } else {
        let more = more_runs(scene.snapshot);
        let model = if run.model == "mixed" { "several models".into() } else { harmless(&run.model) };
        format!("{more}{} · {model}", words::paths(run, density == Density::Full))
    };
    let right = banner::stale(scene.ui, scene.snapshot, scene.now).unwrap_or(right);
    let state = format!("  {} {}", word.glyph, word.short);
    let room = width.saturating_sub(text::width(&state) + text::width(&right) + 2);
    let name = text::cut(&harmless(&run.input), room.max(6)).into_owned();
    put(buf, area, 0, [styled(name, theme.strong), styled(state, word.style(theme))]);
    put_right(buf, area, 0, [styled("  ", theme.text), styled(right, theme.dim)]);
}

fn more_runs(snapshot: &Snapshot) -> String {
    match snapshot.runs.len() {
        0 | 1 => String::new(),
        n => format!("1 of {n} runs · "),
    }
}

fn bar(buf: &mut Buffer, scene: &Scene<'_>, area: Rect, row: u16, run: &RunView) {
    let counts = &run.counts;
    let share = format!("  {}", text::fit_right(&format::share(counts.done(), counts.total), 7));
    let figures = format!("  {} / {}", format::count(counts.done()), format::count(counts.total));
    let columns = usize::from(area.width).saturating_sub(text::width(&share) + text::width(&figures)).max(10);
    let mut spans = bars::outcomes(counts, columns, scene.theme);
    spans.push(styled(share, scene.theme.strong));
    spans.push(styled(figures, scene.theme.text));
    put(buf, area, row, spans);
}

/// Draws the parts with their numbers, on two rows when one is too short; returns the rows used.
fn legend(buf: &mut Buffer, scene: &Scene<'_>, area: Rect, row: u16, run: &RunView) -> u16 {
    let theme = scene.theme;
    let (mut used, mut rows) = (0, 1);
    let mut line: Vec<Span<'static>> = Vec::new();
    let in_batches = run.n_in_batches();
    let cut_off = scene.ui.is_cut_off(scene.snapshot);
    let mut parts: Vec<_> = bars::parts(&run.counts).into_iter().zip(theme.outcomes).collect();
    parts.insert(parts.len() - 1, (('·', "in batches", in_batches), theme.info));
    for ((glyph, name, n), style) in parts {
        let n = match name {
            // What is in flight is told as it is: the bar counts a re-driven request once.
            "in flight" => run.counts.in_flight,
            "unsent" => n.saturating_sub(in_batches),
            _ => n,
        };
        let always = name == "succeeded" || (!run.status.is_over() && matches!(name, "in flight" | "unsent"));
        if n == 0 && !always {
            continue;
        }
        let name = if name == "in flight" && cut_off { "were in flight" } else { name };
        let figure = format::count(n);
        let width = text::width(name) + figure.len() + 6;
        if used > 0 && used + width > usize::from(area.width) + 3 && rows < 2 {
            put(buf, area, row, std::mem::take(&mut line));
            (used, rows) = (0, 2);
        }
        used += width;
        let strong = if matches!(name, "refused" | "invalid" | "re-driving") { style } else { theme.text };
        line.extend([
            styled(glyph.to_string(), style),
            styled(format!(" {name} "), theme.dim),
            styled(format!("{figure}   "), strong),
        ]);
    }
    put(buf, area, row + rows - 1, line);
    rows
}

/// When it ends, as a name and a value: of all, of what is on the sync path, or what ends it before; or why there is no telling.
fn ahead(run: &RunView, age: u64, short: bool) -> (String, String) {
    let left = |ms: u64| format::span(ms.saturating_sub(age));
    if let Some(cut) = &run.cut_short {
        let name = if short { format!("{} ends", cut.by) } else { format!("{} ends it first, in", harmless(&cut.by)) };
        return (name, left(cut.in_ms));
    }
    if let Some(ms) = run.eta_ms {
        return ("eta".to_owned(), left(ms));
    }
    if let Some(ms) = run.sync_eta_ms {
        return (if short { "sync eta" } else { "eta of the sync part" }.to_owned(), left(ms));
    }
    let why = match run.status {
        _ if short => "",
        RunStatus::Running if run.n_in_batches() > 0 => " (a batch tells none)",
        RunStatus::Running if run.rate <= 0.0 => " (no answers yet)",
        _ => "",
    };
    ("eta".to_owned(), format!("–{why}"))
}

fn figures(scene: &Scene<'_>, run: &RunView, short: bool) -> Vec<Vec<Span<'static>>> {
    let theme = scene.theme;
    let named = |name: &str, value: String| vec![styled(format!("{name} "), theme.dim), styled(value, theme.text)];
    let over = run.status.is_over() || scene.ui.is_cut_off(scene.snapshot);
    let age = if over { 0 } else { scene.ui.age_ms(scene.now) };
    // Where another process drives it, a rate is known once two of its states were seen.
    let rate = match run.rate {
        0.0 if scene.ui.driver == Driver::Elsewhere => "–/s".to_owned(),
        rate => format::rate(rate),
    };
    let mut out = vec![vec![styled(rate, theme.strong)]];
    if over {
        out.clear();
    } else {
        let (name, eta) = ahead(run, age, short);
        out.push(named(&name, eta));
    }
    if !short {
        out.push(named("elapsed", format::span(run.wall_ms.saturating_add(age))));
    }
    let mut cost = vec![styled(format::money(run.cost), theme.text)];
    if let Some(limit) = run.budget.as_ref().and_then(|budget| budget.max_cost) {
        cost.push(styled(format!(" of {}", format::money(limit)), theme.dim));
    }
    out.push(cost);
    if run.n_possibly_charged > 0 {
        let figure = format::count(run.n_possibly_charged);
        out.push(if short {
            vec![styled(format!("+{figure}?"), theme.warn)]
        } else {
            vec![styled(format!("{figure} possibly charged"), theme.warn)]
        });
    }
    if short && run.counts.re_drivable > 0 {
        out.push(vec![styled(format!("↻{}", format::short_count(run.counts.re_drivable)), theme.warn)]);
    }
    if !short && run.counts.re_drivable > 0 && !run.re_drives.is_empty() {
        let reasons: Vec<String> =
            run.re_drives.iter().take(3).map(|(why, n)| format!("{} {}", format::count(*n), harmless(why))).collect();
        out.push(vec![styled(format!("re-driving: {}", reasons.join(", ")), theme.warn)]);
    }
    out
}

/// The groups that fit `columns`, in their order.
fn joined(groups: Vec<Vec<Span<'static>>>, gap: &'static str, columns: usize) -> Vec<Span<'static>> {
    let (mut line, mut used) = (Vec::new(), 0);
    for group in groups {
        let gap = if used == 0 { "" } else { gap };
        let width = gap.len() + group.iter().map(Span::width).sum::<usize>();
        if used + width <= columns {
            used += width;
            line.push(Span::raw(gap));
            line.extend(group);
        }
    }
    line
}
