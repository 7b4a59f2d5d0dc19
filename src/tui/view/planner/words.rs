//! Figures of a plan, in words.

use crate::model::{CostPref, Money, PathChoice, Route};
use crate::plan::{Figure, Origin, RouteView};
use crate::report::format;
use crate::report::text::harmless;
use crate::tui::screens::planner::{Draft, Knob, entry};

/// Columns of a title that has no room for words that say nothing new.
const NARROW: u16 = 60;

/// What is planned.
pub(super) fn title(draft: &Draft, columns: u16) -> String {
    let plan = &draft.plan;
    let what = match &draft.input {
        Some(input) if columns < NARROW => harmless(input).into_owned(),
        Some(input) => format!("plan of {}", harmless(input)),
        None => "what if".to_owned(),
    };
    let cached = match plan.n_cached {
        0 => String::new(),
        n => format!(" of {}, {} cached", format::count(plan.n_total), format::count(n)),
    };
    let to_send = if columns < NARROW { "" } else { " to send" };
    format!(" {what} · {}{to_send}{cached}", format::count(plan.n_to_send))
}

/// Seconds: `12m04s`; `never` when nothing can be sent.
pub(super) fn span(secs: f64) -> String {
    if !secs.is_finite() {
        return "never".to_owned();
    }
    if secs < 10.0 { format!("{secs:.1}s") } else { format::span((secs * 1e3).min(u64::MAX as f64) as u64) }
}

/// Money, or that there is no price.
pub(super) fn money(amount: Option<Money>) -> String {
    amount.map_or_else(|| "no price".to_owned(), format::money)
}

/// `3m58s–8m40s`; nothing when the interval is of no width.
pub(super) fn wall_interval(view: &RouteView) -> String {
    if !view.wall_s.is_finite() || view.wall_s_low == view.wall_s_high {
        return String::new();
    }
    format!("{}–{}", span(view.wall_s_low), span(view.wall_s_high))
}

/// `$62.30–$237.89`; nothing when the interval is of no width.
pub(super) fn cost_interval(view: &RouteView) -> String {
    match (view.cost_usd_low, view.cost_usd_high) {
        (Some(low), Some(high)) if low != high => format!("{}–{}", format::money(low), format::money(high)),
        _ => String::new(),
    }
}

/// A figure with its interval in brackets.
fn with(mid: String, interval: &str) -> String {
    if interval.is_empty() { mid } else { format!("{mid} ({interval})") }
}

/// `5m51s (3m58s–8m40s)`.
pub(super) fn wall(view: &RouteView) -> String {
    with(span(view.wall_s), &wall_interval(view))
}

/// `$178.42 ($62.30–$237.89)`.
pub(super) fn cost(view: &RouteView) -> String {
    with(money(view.cost_usd), &cost_interval(view))
}

/// Money in at most seven columns, for an axis: `$1.3k`, `$12.60`, `$0.0063`.
pub(super) fn short_money(usd: f64) -> String {
    match usd {
        usd if usd >= 1_000.0 => format!("${}", format::short_count(usd.round() as u64)),
        usd if usd >= 1.0 => format!("${usd:.2}"),
        usd => format!("${usd:.4}"),
    }
}

/// Where a figure is from, in a word.
pub(super) fn origin(figure: &Figure) -> &'static str {
    match figure.origin {
        Origin::Measured { .. } => "measured",
        Origin::Given => "given",
        Origin::Estimated { .. } => "estimated",
        Origin::Assumed { .. } => "assumed",
    }
}

/// A number that may have a fraction.
pub(super) fn figure(value: f64) -> String {
    if value.fract() == 0.0 && value < 1e15 || value >= 100.0 {
        format::count(value.round().max(0.0) as u64)
    } else {
        format!("{value:.2}")
    }
}

/// The value of a knob.
pub(super) fn value(draft: &Draft, knob: Knob) -> String {
    let knobs = &draft.knobs;
    let tokens = |figure: &Figure| format!("{} {}", self::figure(figure.mid.round()), origin(figure));
    match knob {
        Knob::N => format::count(knobs.n_total.saturating_sub(knobs.n_cached)),
        Knob::Model => harmless(&knobs.model).into_owned(),
        Knob::CostPref => knobs.policy.cost_pref.to_string(),
        Knob::Path => knobs.path.to_string(),
        Knob::Deadline => match knobs.deadline {
            Some(by) => format!("in {}", span(by.as_secs_f64())),
            None => "none".to_owned(),
        },
        Knob::Procs => knobs.dispatch.procs.to_string(),
        Knob::SubBatchSize => format::count(u64::from(knobs.batch.size)),
        Knob::TokensIn => tokens(&knobs.tokens.input),
        Knob::TokensOut => tokens(&knobs.tokens.output),
        Knob::Org(ix) => org(draft, ix),
    }
}

/// The cap of an org and what is known of its limits: `cap 100 · 3.0k/min 1.0M out`.
fn org(draft: &Draft, ix: usize) -> String {
    let Some(org) = draft.orgs.get(ix) else { return String::new() };
    let family = draft.catalog.family(&draft.knobs.model);
    let cap = format!("cap {}", org.caps[family.ix()]);
    let Some(limits) = draft.limits_of(org) else { return format!("{cap} · limits ?") };
    let short = |figure: &Option<Figure>, unit: &str| {
        figure.as_ref().map(|figure| format!(" {}{unit}", format::short_count(figure.mid.max(0.0) as u64)))
    };
    let parts =
        [short(&limits.requests, "/min"), short(&limits.input_tokens, " in"), short(&limits.output_tokens, " out")];
    format!("{cap} ·{}", parts.into_iter().flatten().collect::<String>())
}

/// What may be typed for a knob.
pub(super) fn how_to_type(knob: Knob) -> &'static str {
    match knob {
        Knob::N => "a number of requests: 141600, 20k, 1.5M",
        Knob::Model => "a part of the model's name",
        Knob::CostPref => "one of",
        Knob::Path => "one of",
        Knob::Deadline => "a time from now: 90m, 6h, 1h30m, 2d, or none",
        Knob::Procs => "lanes per key, 1 to 64",
        Knob::SubBatchSize => "requests of a sub-batch, 1 to 100,000",
        Knob::TokensIn | Knob::TokensOut => "tokens of a request",
        Knob::Org(_) => "anything turns it",
    }
}

/// What a text would be taken for, the first one if it were taken now.
pub(super) fn candidates<'d>(draft: &'d Draft, typed: &str) -> impl Iterator<Item = &'d str> {
    let words: Vec<&str> = match draft.focus {
        Knob::Model => entry::models(typed, &draft.catalog),
        Knob::CostPref => CostPref::ALL.iter().map(|value| value.as_str()).collect(),
        Knob::Path => PathChoice::ALL.iter().map(|value| value.as_str()).collect(),
        _ => Vec::new(),
    };
    words.into_iter()
}

/// A mark for what is chosen, so that it is seen without colour.
pub(super) fn mark(route: Route, chosen: Route) -> &'static str {
    if route == chosen { "●" } else { "○" }
}
