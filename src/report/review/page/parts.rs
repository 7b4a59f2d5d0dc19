//! The sections of the page, each left out when there is nothing to say.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::chart::{Cell, Plot, bars, columns, escaped, ranges, stacked, table};
use crate::model::books::Settled;
use crate::model::{Money, Route, Wall};
use crate::report::format;
use crate::report::review::{Review, Segment, SubBatchSpan, WAITS, clock, dollars, plural, shown};

/// Decisions in the table.
const DECIDED: usize = 200;
/// Segments, and sub-batches, that have a bar.
const BARS: usize = 40;

/// All of them.
pub(super) fn all(out: &mut String, review: &Review) {
    time(out, review);
    plan(out, review);
    throughput(out, review);
    latencies(out, review);
    money(out, review);
    orgs(out, review);
    sub_batches(out, review);
    segments(out, review);
    decisions(out, review);
}

fn heading(out: &mut String, text: &str) {
    let _ = writeln!(out, "<h2>{}</h2>", escaped(text));
}

fn time(out: &mut String, review: &Review) {
    let total: u64 = review.time_ms.values().sum();
    let parts: Vec<(&str, u64, usize, Vec<Cell>)> = WAITS
        .iter()
        .enumerate()
        .filter_map(|(colour, (name, meaning))| {
            let ms = review.time_ms.get(*name).copied().filter(|ms| *ms > 0)?;
            let cells = vec![
                Cell::Figure(format::took(ms)),
                Cell::Figure(format::share(ms, total)),
                Cell::Text((*meaning).to_owned()),
            ];
            Some((*name, ms, colour, cells))
        })
        .collect();
    if !parts.is_empty() {
        heading(out, "Where the time went");
        stacked(out, &["", "time", "share", "what the run waits for"], &parts);
    }
}

fn plan(out: &mut String, review: &Review) {
    let Some(plan) = &review.plan else { return };
    heading(out, "Plan and what came of it");
    let unknown = || "?".to_owned();
    let ratio = |ratio: Option<f64>| ratio.map_or_else(unknown, |ratio| format!("{:.0} %", ratio * 100.0));
    let span = |seconds: f64| format::took((seconds * 1e3) as u64);
    let rows = [
        [
            "wall-clock".to_owned(),
            plan.wall_s.map_or_else(unknown, span),
            span(plan.actual_wall_s),
            ratio(plan.wall_ratio),
        ],
        [
            "cost".to_owned(),
            plan.cost_usd.map_or_else(unknown, dollars),
            dollars(plan.actual_cost_usd),
            ratio(plan.cost_ratio),
        ],
    ];
    let now = if review.as_of.is_some() { "so far" } else { "actual" };
    let row = |[name, planned, actual, ratio]: [String; 4]| {
        vec![Cell::Word(name), Cell::Figure(planned), Cell::Figure(actual), Cell::Figure(ratio)]
    };
    table(out, "", &["", "planned", now, "of the plan"], rows.into_iter().map(row));
}

fn throughput(out: &mut String, review: &Review) {
    let bars = &review.throughput;
    if bars.done.is_empty() {
        return;
    }
    let step_ms = i64::try_from(bars.step_s.saturating_mul(1_000)).unwrap_or(i64::MAX);
    let at = |ix: usize| clock(Wall(bars.from_ms.saturating_add(step_ms.saturating_mul(ix as i64))));
    let name = match bars.step_s {
        1 => "outcomes in each second".to_owned(),
        step => format!("outcomes in every {step} s"),
    };
    heading(out, "Throughput");
    let until = format!("{} UTC", at(bars.done.len()));
    let plot = Plot { name: &name, values: &bars.done, ends: [&at(0), &until], gaps: &bars.gaps() };
    columns(out, &plot, &at);
    for resumed in &bars.resumed_ms {
        let _ = writeln!(
            out,
            "<p class=\"dim\">A session began at {} UTC; the gap before it is shaded.</p>",
            clock(Wall(*resumed))
        );
    }
}

fn latencies(out: &mut String, review: &Review) {
    if review.latencies.is_empty() {
        return;
    }
    heading(out, "Latency");
    // A batch takes minutes where a call takes a second: one scale for both would hide the calls.
    for (path, title) in [
        (Route::Sync, "sync: a bar from the median to the 99th percentile, marks at p50, p90, p95 and p99"),
        (Route::Batch, "batch: from the creation of a batch until its end was seen; marks as above"),
    ] {
        let of_path: Vec<_> = review.latencies.iter().filter(|of| of.path == path).collect();
        let rows: Vec<(String, Vec<u64>, String)> = of_path
            .iter()
            .map(|of| {
                let words = format!("p50 {} · p99 {}", format::took(of.p50_ms), format::took(of.p99_ms));
                (of.org.clone(), vec![of.p50_ms, of.p90_ms, of.p95_ms, of.p99_ms], words)
            })
            .collect();
        let Some(most) = of_path.iter().map(|of| of.p99_ms).max() else { continue };
        ranges(out, title, &rows, ["0", &format::took(most)]);
    }
    let heads = ["org", "path", "answers", "p50", "p90", "p95", "p99", "longest"];
    let row = |of: &crate::report::review::Latency| {
        let figures = [of.p50_ms, of.p90_ms, of.p95_ms, of.p99_ms, of.max_ms].map(format::took).map(Cell::Figure);
        let names = [Cell::Text(of.org.clone()), Cell::Word(of.path.to_string()), Cell::Figure(format::count(of.n))];
        names.into_iter().chain(figures).collect()
    };
    table(out, "", &heads, review.latencies.iter().map(row));
}

fn money(out: &mut String, review: &Review) {
    let economy = &review.economy;
    heading(out, "Cost");
    let mut by_org: BTreeMap<String, (Money, u64)> = BTreeMap::new();
    for line in &review.books.settled {
        let (cost, n) = by_org.entry(format!("{} {}", line.org, line.path)).or_default();
        *cost += line.cost;
        *n += line.n;
    }
    if !by_org.is_empty() {
        let row = |(name, (cost, n)): (String, (Money, u64))| {
            let words = format!("{} · {}", format::money(cost), plural(n, "answer"));
            (name, cost.usd(), words)
        };
        bars(out, "by org and path", &by_org.into_iter().map(row).collect::<Vec<_>>());
    }
    let class = &economy.by_class;
    let mut classes = vec![
        ("input", class.input),
        ("output", class.output),
        ("cache writes", class.cache_write),
        ("cache reads", class.cache_read),
    ];
    if class.web_search > Money::ZERO {
        classes.push(("web searches", class.web_search));
    }
    let classes: Vec<_> =
        classes.into_iter().map(|(name, cost)| (name.to_owned(), cost.usd(), format::money(cost))).collect();
    bars(out, "by price class", &classes);
    paid(out, &review.books.settled);
    facts(out, review);
}

/// What was needed, saved, perhaps paid, and paid again.
fn facts(out: &mut String, review: &Review) {
    let economy = &review.economy;
    let mut facts = vec![("needed: the usable answers".to_owned(), format::money(economy.needed))];
    if let Some(times) = economy.amplification_at_most {
        facts.push(("paid ÷ needed at most, with what is in doubt".to_owned(), format!("{times:.3}")));
    }
    facts.push(("saved by the prompt cache".to_owned(), dollars(economy.prompt_cache_saved_usd)));
    facts.push(("saved by batches".to_owned(), format::money(economy.batches_saved)));
    facts.push(("saved by the answer cache".to_owned(), format::money(economy.answer_cache_saved)));
    for doubt in &review.books.doubtful {
        let of = format!("{} {} {} {}", doubt.cause, doubt.path, doubt.org, doubt.model);
        facts.push((
            format!("in doubt, at most: {}, {}", plural(doubt.n, "attempt"), of.trim()),
            format::money(doubt.at_most),
        ));
    }
    for again in &review.books.re_driven {
        let (answers, attempts) = (plural(again.answered, "answer"), plural(again.attempts, "attempt"));
        facts.push((format!("{answers} after {attempts} that failed: {}", again.cause), format::money(again.cost)));
    }
    let row = |(name, value)| vec![Cell::Text(name), Cell::Figure(value)];
    table(out, "", &["what follows from the books", "USD"], facts.into_iter().map(row));
}

/// What was paid, line by line.
fn paid(out: &mut String, settled: &[Settled]) {
    if settled.is_empty() {
        return;
    }
    let heads = ["org", "path", "model", "outcome", "answers", "tokens in", "of them cached", "tokens out", "USD"];
    let row = |line: &Settled| {
        let texts = [
            Cell::Text(line.org.clone()),
            Cell::Word(line.path.to_string()),
            Cell::Text(line.model.clone()),
            Cell::Word(line.outcome.to_string()),
        ];
        let figures = [
            format::count(line.n),
            format::count(line.tokens.prompt_tokens()),
            format::count(line.tokens.cache_read),
            format::count(line.tokens.output_tokens),
            format::money(line.cost),
        ];
        texts.into_iter().chain(figures.map(Cell::Figure)).collect()
    };
    table(out, "", &heads, settled.iter().map(row));
}

fn orgs(out: &mut String, review: &Review) {
    if review.orgs.is_empty() {
        return;
    }
    heading(out, "Orgs");
    let heads = ["org", "usable", "429 steady", "429 ramp", "529", "5xx", "no answer", "account", "peak"];
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
    table(out, "", &heads, rows);
}

fn sub_batches(out: &mut String, review: &Review) {
    if review.sub_batches.is_empty() {
        return;
    }
    heading(out, "Sub-batches");
    if let Some(ended) = review.ended() {
        let _ = writeln!(out, "<p class=\"dim\">{}</p>", escaped(&ended));
    }
    let mut ended: Vec<(&SubBatchSpan, u64)> =
        review.sub_batches.iter().filter_map(|sub| Some((sub, sub.took_ms?))).collect();
    let title = if ended.len() > BARS {
        ended.sort_by_key(|(_, took)| std::cmp::Reverse(*took));
        ended.truncate(BARS);
        format!("from creation to end, the {BARS} longest")
    } else {
        "from creation to end".to_owned()
    };
    let rows: Vec<_> = ended
        .into_iter()
        .map(|(sub, took)| {
            let stuck = if sub.stuck { " · stuck, canceled" } else { "" };
            (format!("{} {}", sub.index, sub.org), took as f64, format!("{}{stuck}", format::took(took)))
        })
        .collect();
    if !rows.is_empty() {
        bars(out, &title, &rows);
    }
    let open: Vec<&SubBatchSpan> = review.sub_batches.iter().filter(|sub| sub.took_ms.is_none()).collect();
    if !open.is_empty() {
        let _ = writeln!(out, "<h3>{} without an end</h3>", format::count(open.len() as u64));
        let row = |sub: &&SubBatchSpan| {
            vec![
                Cell::Word(sub.index.to_string()),
                Cell::Text(sub.org.clone()),
                Cell::Word(sub.status.clone()),
                Cell::Figure(format::count(u64::from(sub.n_requests))),
            ]
        };
        table(out, "", &["sub-batch", "org", "state", "requests"], open.iter().take(DECIDED).map(row));
    }
}

fn segments(out: &mut String, review: &Review) {
    if review.segments.is_empty() {
        return;
    }
    heading(out, &format!("By {}", review.by.as_deref().unwrap_or("segment")));
    let bar = |segment: &Segment| {
        (shown(&segment.name), segment.per_success.usd(), format!("{} each", format::money(segment.per_success)))
    };
    let rows: Vec<_> = review.segments.iter().take(BARS).map(bar).collect();
    let title = if review.segments.len() > BARS {
        format!("cost of a usable answer, of the {BARS} dearest in all")
    } else {
        "cost of a usable answer".to_owned()
    };
    bars(out, &title, &rows);
    let heads = ["segment", "requests", "usable", "in p50", "in p95", "out p50", "out p95", "cost", "per usable"];
    let row = |segment: &Segment| {
        std::iter::once(Cell::Text(shown(&segment.name))).chain(segment.figures().map(Cell::Figure)).collect()
    };
    table(out, "", &heads, review.segments.iter().map(row));
}

fn decisions(out: &mut String, review: &Review) {
    if review.decided.is_empty() {
        return;
    }
    heading(out, "Decisions");
    let kinds = review.decisions.iter().map(|(kind, n)| format!("{} {}", format::count(*n), kind));
    let _ = writeln!(out, "<p class=\"dim\">{}</p>", escaped(&kinds.collect::<Vec<_>>().join(" · ")));
    let n: u64 = review.decisions.values().sum();
    let last = &review.decided[review.decided.len().saturating_sub(DECIDED)..];
    if n > last.len() as u64 {
        let _ = writeln!(out, "<p class=\"dim\">the last {} of {}</p>", last.len(), format::count(n));
    }
    let row = |decision: &crate::report::review::Decision| {
        vec![Cell::Word(clock(decision.at)), Cell::Word(decision.kind.clone()), Cell::Text(decision.text.clone())]
    };
    table(out, "log", &["at (UTC)", "kind", "what"], last.iter().map(row));
}
