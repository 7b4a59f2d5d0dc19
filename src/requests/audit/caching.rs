//! What a prompt cache would save, and what breakpoints that are there already do.

use super::blocks::Level;
use super::facts::{Model, Models};
use super::prefixes::{Sums, SumsByLevel, min_tokens};
use super::reads::{Plan, Prices, minutes_apart};
use crate::model::format::{count, percent};
use crate::model::{Figure, Finding, Money, Severity, Terms};

/// Tokens below which a shared prefix is not worth a word.
pub(super) const MIN_TOKENS: u64 = 100;

/// Most breakpoints of a request.
const MAX_BREAKPOINTS: usize = 4;

/// A further breakpoint is worth a word when it adds this share to the saving.
const WORTH: f64 = 0.02;

/// Sending otherwise is worth a word when it saves this many times as much.
const MUCH_BETTER: f64 = 1.15;

/// All findings about caching.
pub(super) fn findings(sums: &SumsByLevel, models: &Models<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (number, model) in models.each() {
        let levels: Vec<(Level, &Sums)> =
            sums.iter().filter(|((of, _), _)| *of == number).map(|((_, level), sums)| (*level, sums)).collect();
        findings.extend(tools_never_vary(&levels, model));
        breakpoints_for_nothing(&levels, model, &mut findings);
        // Without a price there is nothing to weigh.
        if model.info.is_some() {
            opportunities(&levels, model, &mut findings);
        }
    }
    findings
}

/// Breakpoints that are worth having, as positions among the levels, and what they save in USD.
struct Choice {
    at: Vec<usize>,
    saves: f64,
    plan: Plan,
}

fn opportunities(levels: &[(Level, &Sums)], model: &Model<'_>, findings: &mut Vec<Finding>) {
    let five = choose(levels, model, Plan::FiveMinutes);
    let hour = choose(levels, model, Plan::Hour);
    let best = if hour.saves > five.saves * 1.05 { hour } else { five };
    let mut base = 0.0;
    for &at in &best.at {
        let Some((level, sums)) = levels.get(at) else { continue };
        findings.extend(opportunity(*level, sums, model, best.plan, base));
        base = sums.mean_tokens();
    }
    findings.extend(better_order(levels, model, &best));
    findings.extend(one_org(levels, model, &best));
    if best.at.is_empty() {
        findings.extend(too_short(levels, model));
    }
}

/// The best set of at most four breakpoints, and no more than are worth it. Each saves what it holds beyond the one before.
fn choose(levels: &[(Level, &Sums)], model: &Model<'_>, plan: Plan) -> Choice {
    let mut best = Choice { at: Vec::new(), saves: 0.0, plan };
    let mut ending: Vec<Option<Choice>> = levels.iter().map(|_| None).collect();
    for _ in 0..MAX_BREAKPOINTS {
        let longer: Vec<Option<Choice>> =
            (0..levels.len()).map(|at| extend(&ending, best.at.is_empty(), levels, at, model, plan)).collect();
        let top = longer.iter().flatten().max_by(|a, b| a.saves.total_cmp(&b.saves));
        match top {
            Some(top) if top.saves > best.saves * (1.0 + WORTH) && top.saves > 0.0 => {
                best = Choice { at: top.at.clone(), saves: top.saves, plan };
            }
            _ => break,
        }
        ending = longer;
    }
    best
}

/// The best set that ends at `at` and has one breakpoint more than those of `ending`; a first one when there are none.
fn extend(
    ending: &[Option<Choice>],
    first: bool,
    levels: &[(Level, &Sums)],
    at: usize,
    model: &Model<'_>,
    plan: Plan,
) -> Option<Choice> {
    let (_, sums) = levels.get(at)?;
    if sums.n_shared == 0 {
        return None;
    }
    let prices = prices(model, plan, sums.mean_tokens())?;
    let reads = sums.reads(plan);
    if first {
        return Some(Choice { at: vec![at], saves: reads.saving(prices, 0.0), plan });
    }
    let before = ending.get(..at)?.iter().flatten().filter_map(|choice| {
        let (_, inner) = levels.get(*choice.at.last()?)?;
        Some((choice, choice.saves + reads.saving(prices, inner.mean_tokens())))
    });
    let (choice, saves) = before.max_by(|a, b| a.1.total_cmp(&b.1))?;
    let at = choice.at.iter().copied().chain([at]).collect();
    Some(Choice { at, saves, plan })
}

/// USD a token, of prompts of so many tokens.
pub(super) fn prices(model: &Model<'_>, plan: Plan, tokens: f64) -> Option<Prices> {
    let card = model.info?.card.for_prompt(tokens as u64, Terms::default());
    let write = if plan == Plan::Hour { card.cache_write_1h } else { card.cache_write_5m };
    let a_token = |price: Money| price.usd() / 1e6;
    Some(Prices { input: a_token(card.input), write: a_token(write), read: a_token(card.cache_read) })
}

fn opportunity(level: Level, sums: &Sums, model: &Model<'_>, plan: Plan, base: f64) -> Option<Finding> {
    let prices = prices(model, plan, sums.mean_tokens())?;
    let reads = sums.reads(plan);
    let saving = reads.saving(prices, base);
    let in_use = sums.marked * 2 > sums.shared.n;
    let (severity, kind) = match in_use {
        true => (Severity::Note, "cached-prefix"),
        false => (Severity::Advice, "cacheable-prefix"),
    };
    let figure = Figure::Usd(Money::from_usd(saving));
    sums.shared.finding(severity, kind, figure, |n| {
        let uses = format!(
            "{} requests to {} begin with one of {} that are the same up to {}, about {} tokens",
            count(n),
            model.name,
            match sums.n_shared {
                1 => "one prefix".to_owned(),
                many => format!("{} prefixes", count(many)),
            },
            level.name(),
            count(sums.mean_tokens().round() as u64),
        )
        .replace("one of one prefix that are", "a prefix that is");
        let hits = percent(reads.hits / (reads.hits + reads.misses).max(1.0));
        let share = percent(saving / reads.cost(prices).max(f64::MIN_POSITIVE));
        let text = format!(
            "{uses}; {} about {hits} of them read it from the cache and save {share} of what it costs \
             (pays from use {} on)",
            if in_use { "its breakpoint lets" } else { "a breakpoint there would let" },
            prices.pays_from_use(),
        );
        (text, breakpoint_remedy(level, plan, in_use))
    })
}

fn breakpoint_remedy(level: Level, plan: Plan, in_use: bool) -> String {
    let mark = match plan {
        Plan::Hour => r#"{"type": "ephemeral", "ttl": "1h"}"#,
        _ => r#"{"type": "ephemeral"}"#,
    };
    if in_use {
        return "keep all before it the same to the byte; in batches use \"ttl\": \"1h\"".to_owned();
    }
    format!(
        "put \"cache_control\": {mark} on {} in every request; in batches with \"ttl\": \"1h\" (30 to 98 % hit there, and \
         the discounts stack)",
        level.name()
    )
}

/// Whether another order of the lines would save much more.
fn better_order(levels: &[(Level, &Sums)], model: &Model<'_>, now: &Choice) -> Option<Finding> {
    let ideal = choose(levels, model, Plan::BestOrder);
    if ideal.saves <= now.saves * MUCH_BETTER {
        return None;
    }
    let (level, sums) = levels.get(*ideal.at.last()?)?;
    let (gap, more) = (sums.mean_gap(), ideal.saves - now.saves);
    let minutes = minutes_apart(gap, model);
    sums.shared.finding(Severity::Advice, "order-loses-hits", Figure::Usd(Money::from_usd(more)), |_| {
        let place = level.name();
        if minutes > 5.0 {
            (
                format!(
                    "requests that are the same up to {place} stand {} lines apart, about {minutes:.0} minutes at {} \
                     requests a minute and org: their cache entry is gone by then",
                    count(gap.round() as u64),
                    count(model.per_minute.round() as u64)
                ),
                "sort the lines so that equal prefixes come within five minutes (an hour with \"ttl\": \"1h\")".to_owned(),
            )
        } else {
            (
                format!(
                    "requests that are the same up to {place} come every {} lines or so: many are in flight together \
                     before the first answer has begun, and an entry can be read only from then on",
                    count(gap.round().max(1.0) as u64)
                ),
                format!(
                    "spread equal prefixes {} lines or more apart, or send each once before the rest (max_tokens 0 does)",
                    count((model.orgs * model.in_flight) as u64)
                ),
            )
        }
    })
}

/// Whether one org alone would save much more.
fn one_org(levels: &[(Level, &Sums)], model: &Model<'_>, now: &Choice) -> Option<Finding> {
    if model.orgs < 2.0 {
        return None;
    }
    let alone = choose(levels, model, Plan::OneOrg);
    if alone.saves <= now.saves * MUCH_BETTER {
        return None;
    }
    let (level, sums) = levels.get(*alone.at.last()?)?;
    let more = Figure::Usd(Money::from_usd(alone.saves - now.saves));
    let uses = sums.shared.n as f64 / sums.n_shared.max(1) as f64;
    sums.shared.finding(Severity::Advice, "orgs-lose-hits", more, |_| {
        (
            format!(
                "prefixes up to {} are used {uses:.1} times each, and every org has a cache of its own: over {} orgs each is \
                 written as often",
                level.name(),
                model.orgs
            ),
            format!("send this file over one org (--orgs LABEL); it takes about {} times as long", model.orgs),
        )
    })
}

/// Shared prefixes that no breakpoint helps, because they are too short.
fn too_short(levels: &[(Level, &Sums)], model: &Model<'_>) -> Option<Finding> {
    let worth_a_word = |sums: &Sums| sums.too_short.n * 2 > model.lines.n && sums.too_short_tokens >= MIN_TOKENS;
    let (level, sums) = levels.iter().rev().find(|(_, sums)| worth_a_word(sums))?;
    let figure = Figure::Tokens(sums.too_short_tokens);
    sums.too_short.finding(Severity::Note, "prefix-too-short-to-cache", figure, |n| {
        (
            format!(
                "{} requests are the same up to {}, about {} tokens at the most; {} caches no prefix below {}",
                count(n),
                level.name(),
                count(sums.too_short_tokens),
                model.name,
                count(min_tokens(model))
            ),
            "nothing: a breakpoint there does nothing".to_owned(),
        )
    })
}

/// Breakpoints that cost money or do nothing.
fn breakpoints_for_nothing(levels: &[(Level, &Sums)], model: &Model<'_>, findings: &mut Vec<Finding>) {
    for (level, sums) in levels {
        let place = level.name();
        let n_short = Figure::Requests(sums.marked_too_short.n);
        findings.extend(sums.marked_too_short.finding(Severity::Note, "breakpoint-too-early", n_short, |_| {
            (
                format!(
                    "a breakpoint on {place} has less than {} tokens before it: {} ignores it",
                    count(min_tokens(model)),
                    model.name
                ),
                "drop it, or move it behind more of what stays the same".to_owned(),
            )
        }));
        let lost = prices(model, Plan::FiveMinutes, sums.mean_tokens())
            .map_or(0.0, |prices| sums.marked_once_tokens * (prices.write - prices.input));
        let lost = Figure::Usd(Money::from_usd(lost));
        findings.extend(sums.marked_once.finding(Severity::Warning, "breakpoint-never-read", lost, |_| {
            (
                format!(
                    "a breakpoint on {place} stands behind something that changes with every request: what is written \
                     there, at 1.25 times the price of input or more, is never read"
                ),
                "move the breakpoint before what changes, or move what changes behind it".to_owned(),
            )
        }));
    }
}

/// Tools that are the same in all requests.
fn tools_never_vary(levels: &[(Level, &Sums)], model: &Model<'_>) -> Option<Finding> {
    let (_, sums) = levels.first().filter(|(level, _)| *level == Level::TOOLS)?;
    let long = sums.n_shared == 1 && sums.shared.n == model.lines.n;
    let (lines, tokens) = match long {
        true => (&sums.shared, sums.mean_tokens() as u64),
        false if sums.too_short.n == model.lines.n => (&sums.too_short, sums.too_short_tokens),
        false => return None,
    };
    lines.finding(Severity::Note, "tools-never-vary", Figure::Tokens(tokens), |n| {
        (
            format!("all {} requests to {} send the same tools, about {} tokens", count(n), model.name, count(tokens)),
            "keep them the same to the byte, and in this order: they stand before all else that can be cached"
                .to_owned(),
        )
    })
}
