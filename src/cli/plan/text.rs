//! A plan in words, for a terminal or a file.
//!
//! ```text
//! 141,600 requests to claude-sonnet-4-5, balanced, over 3 orgs
//!
//! verdict   sync, by rule wedge-guard: 142 sub-batches are more than 3: …
//!
//!              sync                     batch
//! wall-clock   13m45s (9m16s - 20m32s)  12h00m (1h00m - 2d00h)
//! cost         $535.25 ($186.91 - …)    $267.62 (…)
//! binding      slots                    sub-batches, 142 in 12 waves
//! …
//! ```

use std::fmt::Write as _;

use crate::model::{Money, Route};
use crate::plan::{Plan, RouteView, RuleVerdict, TableCell};
use crate::report::{format, text};

/// See the module.
pub(super) fn of(plan: &Plan) -> String {
    let mut out = String::new();
    head(&mut out, plan);
    routes(&mut out, plan);
    if let Some(deadline) = &plan.deadline {
        let by = format::span(deadline.in_s.saturating_mul(1_000));
        let _ = writeln!(out, "\ndeadline in {by}: {}", deadline.words);
    }
    rules(&mut out, &plan.rules);
    table(&mut out, plan);
    let _ = writeln!(out, "\nworked out from");
    for figure in &plan.assumptions {
        let f = &figure.figure;
        let range = if f.low < f.high { format!(" ({} - {})", plain(f.low), plain(f.high)) } else { String::new() };
        let value = format!("{}{range} {}", plain(f.mid), figure.unit);
        let _ = writeln!(out, "  {}  {}  {}", text::fit(&figure.name, 24), text::fit(&value, 32), figure.words);
    }
    for note in &plan.notes {
        let _ = writeln!(out, "\nnote: {note}");
    }
    out
}

fn head(out: &mut String, plan: &Plan) {
    let cached = match plan.n_cached {
        0 => String::new(),
        n => format!(" ({} of {} are answered already)", format::count(n), format::count(plan.n_total)),
    };
    let _ = writeln!(
        out,
        "{} requests to {}{cached}, cost-pref {}",
        format::count(plan.n_to_send),
        plan.model,
        plan.cost_pref
    );
    let _ = writeln!(out, "\nverdict  {}, by rule {}: {}", plan.route, plan.rule.as_str(), plan.route_reason);
}

fn routes(out: &mut String, plan: &Plan) {
    let (sync, batch) = (&plan.sync, &plan.batch);
    let mark = |route| if plan.route == route { format!("{route} <-") } else { route.to_string() };
    let mut line = |name: &str, sync: &str, batch: &str| {
        let _ = writeln!(out, "{}  {}  {batch}", text::fit(name, 10), text::fit(sync, 34));
    };
    line("", "", "");
    line("", &mark(Route::Sync), &mark(Route::Batch));
    line("wall-clock", &wall(sync), &wall(batch));
    line("cost", &cost(sync), &cost(batch));
    if (1..plan.n_to_send).contains(&sync.n_unpriced) {
        let without = format!("without {} that have no price", format::count(sync.n_unpriced));
        line("", &without, &without);
    }
    let waves = format!(
        "{}, {} in {} {}",
        batch.binding.as_str(),
        format::count(batch.batch_passes),
        format::count(batch.batch_waves),
        if batch.batch_waves == 1 { "wave" } else { "waves" }
    );
    line("binding", sync.binding.as_str(), &waves);
    for (route, view) in [("sync", sync), ("batch", batch)] {
        for risk in &view.risks {
            let _ = writeln!(out, "{route} risk: {risk}");
        }
    }
}

fn rules(out: &mut String, rules: &[RuleVerdict]) {
    let _ = writeln!(out, "\nrules, of which the first that applies decides");
    for verdict in rules {
        let mark = if verdict.fired { "*" } else { " " };
        let said = verdict.verdict.map_or("-", Route::as_str);
        let _ =
            writeln!(out, "{mark} {}  {}  {}", text::fit(verdict.rule.as_str(), 20), text::fit(said, 5), verdict.why);
    }
}

fn table(out: &mut String, plan: &Plan) {
    let _ = writeln!(
        out,
        "\n  {:>10}  {:<9} {:<9} {:>10} {:>12} {:>12} {:>12}",
        "requests", "latency", "cost", "sync takes", "batch takes", "sync costs", "batch costs"
    );
    for row in &plan.table {
        let cell = |cell: &TableCell| format!("{}{}", cell.route, if cell.disagrees { " !" } else { "" });
        let _ = writeln!(
            out,
            "{} {:>10}  {:<9} {:<9} {:>10} {:>12} {:>12} {:>12}",
            if row.is_current { ">" } else { " " },
            format::count(row.n),
            cell(&row.latency),
            cell(&row.cost),
            secs(row.sync_wall_s),
            secs(row.batch_wall_s),
            usd(row.sync_cost_usd),
            usd(row.batch_cost_usd)
        );
    }
    for row in &plan.table {
        for cell in [&row.latency, &row.cost] {
            if cell.disagrees {
                let _ = writeln!(out, "  ! {}: {}", format::count(row.n), cell.why);
            }
        }
    }
}

fn wall(view: &RouteView) -> String {
    format!("{} ({} - {})", secs(view.wall_s), secs(view.wall_s_low), secs(view.wall_s_high))
}

fn cost(view: &RouteView) -> String {
    match view.cost_usd {
        None => "no price is known".to_owned(),
        Some(_) => format!("{} ({} - {})", usd(view.cost_usd), usd(view.cost_usd_low), usd(view.cost_usd_high)),
    }
}

fn secs(secs: f64) -> String {
    if secs.is_finite() { format::span((secs.clamp(0.0, 1e12) * 1e3) as u64) } else { "for ever".to_owned() }
}

fn usd(money: Option<Money>) -> String {
    money.map_or("-".to_owned(), format::money)
}

/// A figure with as many digits as it is worth.
fn plain(x: f64) -> String {
    if x >= 1_000.0 {
        format::count(x.round() as u64)
    } else if x >= 100.0 {
        format!("{x:.0}")
    } else if x >= 10.0 {
        format!("{x:.1}")
    } else {
        format!("{x:.2}")
    }
}
