//! The review as one HTML page: inline styles and charts, no script, nothing from the network, light and dark.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::svg::{bars, columns, escaped, ranges, stacked};
use super::{Review, Segment, WAITS};
use crate::model::books::Settled;
use crate::model::{Money, Wall};
use crate::report::format;

/// Decisions in the table.
const DECIDED: usize = 200;
/// Segments in the table.
const SEGMENTS: usize = 500;

const STYLE: &str = "
:root{color-scheme:light dark;--bg:#fbfaf8;--fg:#1c1b19;--dim:#6c6861;--line:#dcd8d0;--card:#fff;
--c0:#2f6f9f;--c1:#c8873a;--c2:#5a8f5a;--c3:#b4503e;--c4:#8a6bab;--c5:#8b8b86}
@media(prefers-color-scheme:dark){:root{--bg:#191817;--fg:#ece9e3;--dim:#a29d94;--line:#3a3733;--card:#211f1d;
--c0:#6aaedb;--c1:#e0a35c;--c2:#86bd86;--c3:#dd7f6d;--c4:#b79bd6;--c5:#9a9a94}}
*{box-sizing:border-box}body{margin:0;background:var(--bg);color:var(--fg);font:15px/1.5 system-ui,sans-serif}
main{max-width:960px;margin:0 auto;padding:24px 16px 64px}h1{font-size:22px;margin:0 0 4px}h2{font-size:16px;margin:32px 0 8px}
p.dim,.dim{color:var(--dim)}.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(150px,1fr));gap:12px;margin:16px 0}
.tile{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:10px 12px}.tile b{display:block;font-size:20px}
.wide{overflow-x:auto}table{border-collapse:collapse;width:100%;font-size:14px}th,td{text-align:left;padding:4px 10px 4px 0;
border-bottom:1px solid var(--line);vertical-align:top}td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}
td.text{overflow-wrap:anywhere}svg{width:100%;height:auto;display:block;margin:4px 0 12px}svg text{fill:var(--fg);font-size:13px}
svg text.small{fill:var(--dim);font-size:12px}.axis{stroke:var(--line)}.c0{fill:var(--c0)}.c1{fill:var(--c1)}.c2{fill:var(--c2)}
.c3{fill:var(--c3)}.c4{fill:var(--c4)}.c5{fill:var(--c5)}";

/// The page. Every text that comes from ids, orgs, files or the API is escaped.
pub fn page(review: &Review) -> String {
    let run = &review.run;
    let mut out = format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\
         <title>{id}</title><style>{STYLE}</style></head><body><main>\n\
         <h1>{id}</h1><p class=\"dim\">{} · {} · {}: {} · exit {}</p>\n",
        escaped(&run.input),
        escaped(&review.standing),
        escaped(&run.path),
        escaped(&run.route_reason),
        escaped(&review.exit()),
        id = escaped(&run.run_id)
    );
    if let Some(note) = review.note() {
        let _ = writeln!(out, "<p><b>{}</b></p>", escaped(&note));
    }
    tiles(&mut out, review);
    time(&mut out, review);
    throughput(&mut out, review);
    latencies(&mut out, review);
    money(&mut out, review);
    orgs(&mut out, review);
    sub_batches(&mut out, review);
    segments(&mut out, review);
    decisions(&mut out, review);
    out.push_str("</main></body></html>\n");
    out
}

fn tiles(out: &mut String, review: &Review) {
    let run = &review.run;
    let economy = &review.economy;
    let times = |ratio: Option<f64>| ratio.map_or("–".to_owned(), |ratio| format!("{ratio:.3}"));
    let plan = |ratio: Option<f64>| ratio.map_or("–".to_owned(), |ratio| format!("{:.0} %", ratio * 100.0));
    let mut tiles = vec![
        ("requests", format::count(run.n_total)),
        ("succeeded", format::count(run.n_succeeded + run.n_cached)),
        ("refused", format::count(run.n_refused)),
        ("invalid", format::count(run.n_invalid)),
        ("left", format::count(run.n_re_drivable + run.n_unsent)),
        ("wall-clock", format::span((run.wall_s * 1e3) as u64)),
        ("cost", format::money(economy.spent)),
        ("in doubt, at most", format::money(economy.in_doubt)),
        ("paid ÷ needed", times(economy.amplification)),
    ];
    if let Some(against) = &review.plan {
        tiles.push(("time against plan", plan(against.wall_ratio)));
        tiles.push(("cost against plan", plan(against.cost_ratio)));
    }
    out.push_str("<div class=\"tiles\">");
    for (name, value) in tiles {
        let _ = write!(out, "<div class=\"tile\"><b>{}</b>{name}</div>", escaped(&value));
    }
    out.push_str("</div>\n");
}

fn time(out: &mut String, review: &Review) {
    let parts: Vec<(&str, u64, String)> = WAITS
        .iter()
        .filter_map(|(name, meaning)| {
            let ms = review.time_ms.get(*name).copied().filter(|ms| *ms > 0)?;
            Some((*name, ms, format!("{} – {meaning}", format::span(ms))))
        })
        .collect();
    if !parts.is_empty() {
        let _ = writeln!(out, "<h2>Where the time went</h2>{}", stacked("Where the time went", &parts));
    }
}

fn throughput(out: &mut String, review: &Review) {
    let bars = &review.throughput;
    if bars.done.is_empty() {
        return;
    }
    let until = bars.from_ms.saturating_add((bars.done.len() as i64).saturating_mul(bars.step_s as i64 * 1_000));
    let title = format!("Outcomes in each {} s", bars.step_s);
    let ends = [clock(Wall(bars.from_ms)), clock(Wall(until))];
    let _ = writeln!(
        out,
        "<h2>Throughput</h2><p class=\"dim\">{}</p>{}",
        escaped(&title),
        columns(&title, &bars.done, [&ends[0], &ends[1]])
    );
}

fn latencies(out: &mut String, review: &Review) {
    if review.latencies.is_empty() {
        return;
    }
    let rows: Vec<(String, Vec<u64>, String)> = review
        .latencies
        .iter()
        .map(|of| {
            let marks = vec![of.p50_ms, of.p90_ms, of.p95_ms, of.p99_ms];
            let words = format!(
                "{} answers · p50 {} · p90 {} · p95 {} · p99 {} · longest {} ms",
                format::count(of.n),
                of.p50_ms,
                of.p90_ms,
                of.p95_ms,
                of.p99_ms,
                of.max_ms
            );
            (format!("{} {}", of.org, of.path), marks, words)
        })
        .collect();
    let _ = writeln!(out, "<h2>Latency</h2>{}", ranges("Latency percentiles in milliseconds", &rows));
}

fn money(out: &mut String, review: &Review) {
    let economy = &review.economy;
    out.push_str("<h2>Cost</h2>");
    let mut by_org: BTreeMap<String, (Money, u64)> = BTreeMap::new();
    for line in &review.books.settled {
        let (cost, n) = by_org.entry(format!("{} {}", line.org, line.path)).or_default();
        *cost += line.cost;
        *n += line.n;
    }
    if !by_org.is_empty() {
        let row = |(name, (cost, n)): (String, (Money, u64))| {
            (name, cost.usd(), format!("{} · {}", format::money(cost), format::count(n)))
        };
        out.push_str(&bars("Cost by org and path", &by_org.into_iter().map(row).collect::<Vec<_>>()));
    }
    paid(out, &review.books.settled);
    let class = &economy.by_class;
    let classes: Vec<_> = [
        ("input", class.input),
        ("output", class.output),
        ("cache writes", class.cache_write),
        ("cache reads", class.cache_read),
    ]
    .into_iter()
    .map(|(name, cost)| (name.to_owned(), cost.usd(), format::money(cost)))
    .collect();
    out.push_str(&bars("Cost by price class", &classes));
    let saved = format!("${:.2}", economy.prompt_cache_saved_usd);
    let mut facts = vec![
        ("needed: usable answers".to_owned(), format::money(economy.needed)),
        ("saved by the prompt cache".to_owned(), saved),
        ("saved by batches".to_owned(), format::money(economy.batches_saved)),
        ("saved by the answer cache".to_owned(), format::money(economy.answer_cache_saved)),
    ];
    for doubt in &review.books.doubtful {
        let name = format!(
            "in doubt, at most: {} attempts, {} {} {} {}",
            format::count(doubt.n),
            doubt.cause,
            doubt.path,
            doubt.org,
            doubt.model
        );
        facts.push((name, format::money(doubt.at_most)));
    }
    for again in &review.books.re_driven {
        let name = format!(
            "re-driven after {}: {} attempts, {} answers",
            again.cause,
            format::count(again.attempts),
            format::count(again.answered)
        );
        facts.push((name, format::money(again.cost)));
    }
    table(out, &["", "USD"], facts.into_iter().map(|(name, value)| vec![Cell::Text(name), Cell::Figure(value)]));
}

/// What was paid, line by line.
fn paid(out: &mut String, settled: &[Settled]) {
    if settled.is_empty() {
        return;
    }
    let heads = ["org", "path", "model", "outcome", "answers", "tokens in", "cached", "tokens out", "USD"];
    let row = |line: &Settled| {
        let texts = [line.org.clone(), line.path.to_string(), line.model.clone(), line.outcome.to_string()];
        let figures = [
            format::count(line.n),
            format::count(line.tokens.prompt_tokens()),
            format::count(line.tokens.cache_read),
            format::count(line.tokens.output_tokens),
            format::money(line.cost),
        ];
        texts.map(Cell::Text).into_iter().chain(figures.map(Cell::Figure)).collect()
    };
    table(out, &heads, settled.iter().map(row));
}

fn orgs(out: &mut String, review: &Review) {
    out.push_str("<h2>Orgs</h2>");
    let heads = ["org", "answers", "429 steady", "429 ramp", "529", "5xx", "no answer", "account", "peak"];
    let rows = review.orgs.iter().map(|org| {
        let done = review.run.orgs.iter().find(|done| done.label == org.label);
        let counts = [
            done.map_or(0, |done| done.n_ok),
            org.n_429_steady,
            org.n_429_ramp,
            org.n_overloaded,
            org.n_5xx,
            org.n_transport,
            org.n_account,
            done.map_or(0, |done| u64::from(done.in_flight_peak)),
        ];
        let figures = counts.map(|n| Cell::Figure(format::count(n)));
        std::iter::once(Cell::Text(org.label.clone())).chain(figures).collect()
    });
    table(out, &heads, rows);
}

fn sub_batches(out: &mut String, review: &Review) {
    if review.sub_batches.is_empty() {
        return;
    }
    let _ = write!(out, "<h2>Sub-batches</h2><p class=\"dim\">{} canceled as stuck</p>", review.stuck_fires);
    let rows: Vec<_> = review
        .sub_batches
        .iter()
        .filter_map(|sub| {
            let took = sub.took_ms?;
            let stuck = if sub.stuck { " · stuck" } else { "" };
            Some((format!("{} {}", sub.index, sub.org), took as f64, format!("{}{stuck}", format::span(took))))
        })
        .take(DECIDED)
        .collect();
    out.push_str(&bars("Time from creation to end", &rows));
}

fn segments(out: &mut String, review: &Review) {
    if review.segments.is_empty() {
        return;
    }
    let by = review.by.as_deref().unwrap_or("segment");
    let _ = write!(out, "<h2>By {}</h2>", escaped(by));
    let shown = &review.segments[..review.segments.len().min(SEGMENTS)];
    let rows: Vec<_> = shown
        .iter()
        .take(20)
        .map(|segment| (segment.name.clone(), segment.per_success.usd(), format::money(segment.per_success)))
        .collect();
    out.push_str(&bars("Cost of a usable answer", &rows));
    let heads = ["segment", "requests", "usable", "in p50", "in p95", "out p50", "out p95", "cost", "per usable"];
    let row = |segment: &Segment| {
        std::iter::once(Cell::Text(segment.name.clone())).chain(segment.figures().map(Cell::Figure)).collect()
    };
    table(out, &heads, shown.iter().map(row));
}

fn decisions(out: &mut String, review: &Review) {
    if review.decided.is_empty() {
        return;
    }
    let kinds = review.decisions.iter().map(|(kind, n)| format!("{} {}", format::count(*n), kind));
    let _ = write!(out, "<h2>Decisions</h2><p class=\"dim\">{}</p>", escaped(&kinds.collect::<Vec<_>>().join(" · ")));
    let last = &review.decided[review.decided.len().saturating_sub(DECIDED)..];
    let row = |decision: &super::Decision| {
        vec![Cell::Text(clock(decision.at)), Cell::Text(decision.kind.clone()), Cell::Text(decision.text.clone())]
    };
    table(out, &["at (UTC)", "kind", ""], last.iter().map(row));
}

enum Cell {
    Text(String),
    Figure(String),
}

fn table(out: &mut String, heads: &[&str], rows: impl Iterator<Item = Vec<Cell>>) {
    out.push_str("<div class=\"wide\"><table><thead><tr>");
    let mut rows = rows.peekable();
    let is_figure =
        |at: usize| rows.peek().and_then(|row| row.get(at)).is_some_and(|cell| matches!(cell, Cell::Figure(_)));
    let classes: Vec<&str> = (0..heads.len()).map(is_figure).map(|is| if is { " class=\"n\"" } else { "" }).collect();
    for (head, class) in heads.iter().zip(classes) {
        let _ = write!(out, "<th{class}>{head}</th>");
    }
    out.push_str("</tr></thead><tbody>\n");
    for row in rows {
        out.push_str("<tr>");
        for cell in row {
            let (class, text) = match &cell {
                Cell::Text(text) => ("text", text),
                Cell::Figure(text) => ("n", text),
            };
            let _ = write!(out, "<td class=\"{class}\">{}</td>", escaped(text));
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody></table></div>\n");
}

/// A moment as `2026-11-29 17:05:09`.
fn clock(at: Wall) -> String {
    let time = jiff::Timestamp::from_millisecond(at.0);
    time.map(|at| at.strftime("%Y-%m-%d %H:%M:%S").to_string()).unwrap_or_default()
}

#[cfg(test)]
#[path = "page_tests.rs"]
mod tests;
