//! The review as lines, below the summary of the run.

use std::fmt::Write as _;

use super::{Review, Segment, WAITS, dollars, plural, shown};
use crate::model::Money;
use crate::report::format;
use crate::report::text::{fit, fit_right, harmless, width};

/// The review in words. Ends with a line end.
pub fn text(review: &Review) -> String {
    let mut out = String::new();
    if let Some(note) = review.note() {
        line(&mut out, "note", &note);
    }
    time(&mut out, review);
    money(&mut out, review);
    troubles(&mut out, review);
    if let Some(ended) = review.ended() {
        line(&mut out, "batches", &ended);
    }
    if !review.segments.is_empty() {
        segments(&mut out, review);
    }
    out
}

fn line(out: &mut String, name: &str, value: &str) {
    // Writing to a String cannot fail.
    let _ = writeln!(out, "{} {value}", fit(name, 10));
}

fn time(out: &mut String, review: &Review) {
    let total: u64 = review.time_ms.values().sum();
    if total > 0 {
        let parts = WAITS.iter().filter_map(|(name, _)| {
            let ms = review.time_ms.get(*name).copied().filter(|ms| *ms > 0)?;
            Some(format!("{} {name} ({})", format::took(ms), format::share(ms, total)))
        });
        line(out, "time", &parts.collect::<Vec<_>>().join(" · "));
    }
    for latency in &review.latencies {
        let text = format!(
            "{} {}: {}, p50 {} · p90 {} · p95 {} · p99 {} · longest {}",
            harmless(&latency.org),
            latency.path,
            plural(latency.n, "answer"),
            format::took(latency.p50_ms),
            format::took(latency.p90_ms),
            format::took(latency.p95_ms),
            format::took(latency.p99_ms),
            format::took(latency.max_ms)
        );
        line(out, "latency", &text);
    }
    if let Some(plan) = &review.plan {
        let ratio = |ratio: Option<f64>| ratio.map_or("?".to_owned(), |ratio| format!("{:.0} %", ratio * 100.0));
        let seconds = plan.wall_s.map_or("?".to_owned(), |s| format::took((s * 1e3) as u64));
        let cost = plan.cost_usd.map_or("?".to_owned(), dollars);
        let took = if review.as_of.is_some() { "so far it has taken" } else { "it took" };
        let text = format!(
            "{seconds} and {cost}; {took} {} of the planned time and {} of the planned cost",
            ratio(plan.wall_ratio),
            ratio(plan.cost_ratio)
        );
        line(out, "plan", &text);
    }
}

fn money(out: &mut String, review: &Review) {
    let economy = &review.economy;
    for settled in &review.books.settled {
        let text = format!(
            "{:>12}  {} {} {} {} · {} in, {} cached, {} out",
            format::money(settled.cost),
            format::count(settled.n),
            settled.outcome,
            settled.path,
            harmless(&format!("{} {}", settled.org, settled.model)),
            format::count(settled.tokens.prompt_tokens()),
            format::count(settled.tokens.cache_read),
            format::count(settled.tokens.output_tokens)
        );
        line(out, "paid", &text);
    }
    for doubt in &review.books.doubtful {
        let text = format!(
            "{:>12}  at most, for {}: {} {} {}",
            format::money(doubt.at_most),
            plural(doubt.n, "attempt"),
            harmless(&doubt.cause),
            doubt.path,
            harmless(format!("{} {}", doubt.org, doubt.model).trim())
        );
        line(out, "in doubt", &text);
    }
    for again in &review.books.re_driven {
        let text = format!(
            "{:>12}  for {} after {} that failed: {}",
            format::money(again.cost),
            plural(again.answered, "answer"),
            plural(again.attempts, "attempt"),
            harmless(&again.cause)
        );
        line(out, "re-driven", &text);
    }
    let class = &economy.by_class;
    let mut classes = format!(
        "input {} · output {} · cache writes {} · cache reads {}",
        format::money(class.input),
        format::money(class.output),
        format::money(class.cache_write),
        format::money(class.cache_read)
    );
    if class.web_search > Money::ZERO {
        classes.push_str(&format!(" · web searches {}", format::money(class.web_search)));
    }
    line(out, "by class", &classes);
    if let (Some(times), Some(at_most)) = (economy.amplification, economy.amplification_at_most) {
        line(out, "paid/need", &format!("{times:.3}, at most {at_most:.3} with what is in doubt"));
    }
    let saved = format!(
        "prompt cache {} · batches {} · answer cache {}",
        dollars(economy.prompt_cache_saved_usd),
        format::money(economy.batches_saved),
        format::money(economy.answer_cache_saved)
    );
    line(out, "saved", &saved);
}

fn troubles(out: &mut String, review: &Review) {
    for org in &review.orgs {
        let counts = [
            (org.n_429_steady, "429 steady"),
            (org.n_429_ramp, "429 ramp"),
            (org.n_overloaded, "overloaded"),
            (org.n_5xx, "5xx"),
            (org.n_transport, "no answer"),
            (org.n_account, "account"),
        ];
        let shown: Vec<String> =
            counts.iter().filter(|(n, _)| *n > 0).map(|(n, name)| format!("{} {name}", format::count(*n))).collect();
        if !shown.is_empty() {
            line(out, "trouble", &format!("{}: {}", harmless(&org.label), shown.join(" · ")));
        }
    }
    if !review.decisions.is_empty() {
        let kinds = review.decisions.iter().map(|(kind, n)| format!("{} {}", format::count(*n), harmless(kind)));
        line(out, "decisions", &kinds.collect::<Vec<_>>().join(" · "));
    }
}

/// Columns of the table of segments: heading and width.
const COLUMNS: [(&str, usize); 8] = [
    ("requests", 10),
    ("usable", 10),
    ("in p50", 9),
    ("in p95", 9),
    ("out p50", 9),
    ("out p95", 9),
    ("cost", 11),
    ("per usable", 12),
];

/// Segments that are told one by one, the dearest.
const TOLD: usize = 50;

fn segments(out: &mut String, review: &Review) {
    let by = harmless(review.by.as_deref().unwrap_or("segment"));
    let names = review.segments.iter().map(|segment| width(&harmless(&shown(&segment.name))));
    let columns = names.max().unwrap_or(0).max(width(&by)).clamp(12, 40);
    let mut row = |name: &str, cells: [String; COLUMNS.len()]| {
        out.push_str(&fit(name, columns));
        for ((_, width), cell) in COLUMNS.iter().zip(&cells) {
            out.push_str(&fit_right(cell, *width));
        }
        out.push('\n');
    };
    row(&by, COLUMNS.map(|(heading, _)| heading.to_owned()));
    let (told_apart, others): (Vec<&Segment>, Vec<&Segment>) =
        review.segments.iter().partition(|segment| segment.key.is_some());
    for segment in told_apart.iter().take(TOLD).chain(&others) {
        row(&harmless(&shown(&segment.name)), segment.figures());
    }
    if let Some(more @ 1..) = told_apart.len().checked_sub(TOLD) {
        let _ = writeln!(out, "and {more} more between these; --html FILE or --json --full has them");
    }
}
