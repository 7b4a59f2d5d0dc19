//! Parameters that the model will refuse, and values of `max_tokens` that will cut answers: what is looked for. What is
//! said of it is in `words`.

mod words;

use std::collections::BTreeMap;

use super::super::scan;
use super::blocks::Walked;
use super::facts::{AuditFacts, Model, Models};
use super::row::{Row, field, number, word};
use super::tally::Tally;
use super::tokens;
use crate::catalog::{Sampling, Takes, ThinkingType};
use crate::model::Finding;

/// Most `cache_control` marks that the API takes.
const MAX_MARKS: usize = 4;

/// Least `budget_tokens` of thinking.
const MIN_BUDGET: f64 = 1_024.0;

/// `max_tokens` below this leaves little for an answer at a model that thinks: its thinking counts into it.
const LITTLE_FOR_A_THINKER: u32 = 1_024;

/// How many times longer than the longest answer seen a `max_tokens` must be to be worth a word.
const FAR_ABOVE: u32 = 8;

/// What is wrong with a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Refusal {
    UnknownModel,
    Retired,
    Retires,
    Sampling,
    SamplingBoth,
    ForcedTool,
    ForcedWithThinking,
    ToolMissing,
    Thinking(&'static str),
    Budget,
    Prefill,
    MaxTokens,
    Context,
    Marks,
    NoBatch,
    CutByThinking,
    BelowObserved,
    FarAboveObserved,
}

/// The requests with something wrong, by model and by what.
#[derive(Debug, Default)]
pub(super) struct Refusals {
    found: BTreeMap<(u8, Refusal), Found>,
}

/// Requests with the same thing wrong.
#[derive(Debug, Default)]
struct Found {
    lines: Tally,
    /// The largest value among them: of `max_tokens`, of the prompt in tokens, of marks.
    largest: u64,
    /// The smallest.
    smallest: Option<u64>,
}

impl Refusals {
    /// Looks at a request.
    pub(super) fn take(
        &mut self,
        row: &Row<'_>,
        model_no: u8,
        models: &Models<'_>,
        walked: &Walked<'_>,
        facts: &AuditFacts<'_>,
    ) {
        let Some(model) = models.get(model_no) else { return };
        let mut add = |refusal: Refusal, value: u64| {
            let found = self.found.entry((model_no, refusal)).or_default();
            found.lines.add(row.line);
            found.largest = found.largest.max(value);
            found.smallest = Some(found.smallest.map_or(value, |smallest| smallest.min(value)));
        };
        if walked.n_marks > MAX_MARKS {
            add(Refusal::Marks, walked.n_marks as u64);
        }
        if row.speed == Some(b"\"fast\"") || row.max_tokens == 0 {
            add(Refusal::NoBatch, 0);
        }
        if let Some(refusal) = choice(row) {
            add(refusal, 0);
        }
        let max_tokens = u64::from(row.max_tokens);
        if let Some(refusal) = observed(row.max_tokens, model) {
            add(refusal, max_tokens);
        }
        let Some(info) = model.info else { return add(Refusal::UnknownModel, 0) };
        match info.retires {
            Some(day) if day <= facts.today => add(Refusal::Retired, 0),
            Some(_) => add(Refusal::Retires, 0),
            None => {}
        }
        if row.max_tokens > info.max_output_tokens {
            add(Refusal::MaxTokens, max_tokens);
        }
        let prompt = tokens(walked.bytes);
        if prompt > u64::from(info.context_tokens) {
            add(Refusal::Context, prompt);
        }
        if let Some(takes) = &info.takes {
            refused(row, takes, walked, &mut |refusal| add(refusal, max_tokens));
        }
    }

    /// What there is to say.
    pub(super) fn findings(&self, models: &Models<'_>, facts: &AuditFacts<'_>) -> Vec<Finding> {
        let say = |(&(model_no, refusal), found): (&(u8, Refusal), &Found)| {
            words::finding(refusal, found, models.get(model_no)?, facts)
        };
        self.found.iter().filter_map(say).collect()
    }
}

/// What the model does not take.
fn refused(row: &Row<'_>, takes: &Takes, walked: &Walked<'_>, add: &mut dyn FnMut(Refusal)) {
    match takes.sampling {
        Sampling::None
            if [row.temperature, row.top_p].into_iter().flatten().any(|value| number(value) != Some(1.0)) =>
        {
            add(Refusal::Sampling);
        }
        Sampling::None if row.top_k.is_some() => add(Refusal::Sampling),
        Sampling::One if row.temperature.is_some() && row.top_p.is_some() => add(Refusal::SamplingBoth),
        _ => {}
    }
    if walked.prefilled && !takes.prefill {
        add(Refusal::Prefill);
    }
    if forces(row) && !takes.forced_tools {
        add(Refusal::ForcedTool);
    }
    thinking(row, takes, add);
}

fn thinking(row: &Row<'_>, takes: &Takes, add: &mut dyn FnMut(Refusal)) {
    let kind = row.thinking.and_then(|thinking| word(thinking, "type"));
    let known = [ThinkingType::Adaptive, ThinkingType::BetweenTools, ThinkingType::Disabled, ThinkingType::Enabled];
    let kind = kind.and_then(|kind| known.into_iter().find(|known| known.as_str().as_bytes() == kind));
    if let Some(kind) = kind.filter(|kind| !takes.thinking.contains(kind)) {
        return add(Refusal::Thinking(kind.as_str()));
    }
    let budget = row.thinking.and_then(|thinking| field(thinking, "budget_tokens")).and_then(number);
    if kind == Some(ThinkingType::Enabled)
        && budget.is_none_or(|budget| budget < MIN_BUDGET || budget >= f64::from(row.max_tokens))
    {
        add(Refusal::Budget);
    }
    let thinks = matches!(kind, Some(ThinkingType::Adaptive)) || (kind.is_none() && takes.thinks_by_default());
    if thinks && (1..LITTLE_FOR_A_THINKER).contains(&row.max_tokens) {
        add(Refusal::CutByThinking);
    }
}

/// Whether a tool is forced.
fn forces(row: &Row<'_>) -> bool {
    let kind = row.tool_choice.and_then(|choice| word(choice, "type"));
    matches!(kind, Some(b"any" | b"tool"))
}

/// What is wrong with `tool_choice`, whatever the model.
fn choice(row: &Row<'_>) -> Option<Refusal> {
    let choice = row.tool_choice?;
    let kind = word(choice, "type")?;
    let mut tools = row.tools.into_iter().flat_map(scan::items);
    let missing = match kind {
        b"none" => false,
        b"tool" => {
            let name = word(choice, "name");
            !tools.any(|tool| word(tool, "name") == name)
        }
        _ => tools.next().is_none(),
    };
    if missing {
        return Some(Refusal::ToolMissing);
    }
    let thinking = row.thinking.and_then(|thinking| word(thinking, "type"));
    (forces(row) && matches!(thinking, Some(b"enabled" | b"adaptive"))).then_some(Refusal::ForcedWithThinking)
}

/// How `max_tokens` stands to the answers that were seen.
fn observed(max_tokens: u32, model: &Model<'_>) -> Option<Refusal> {
    let observed = model.observed?;
    if max_tokens > 0 && max_tokens < observed.output_p99 {
        return Some(Refusal::BelowObserved);
    }
    (max_tokens > observed.output_max.saturating_mul(FAR_ABOVE)).then_some(Refusal::FarAboveObserved)
}
