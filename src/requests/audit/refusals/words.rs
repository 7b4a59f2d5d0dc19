//! What is said of requests that the model will refuse.

use crate::catalog::{ModelInfo, ThinkingType};
use crate::model::format::count;
use crate::model::{Figure, Finding, Severity};

use super::super::facts::{AuditFacts, Model};
use super::{Found, Refusal};

/// Days before its retirement from which a model is worth a warning.
const SOON_DAYS: i32 = 30;

/// The finding about these requests.
pub(super) fn finding(refusal: Refusal, found: &Found, model: &Model<'_>, facts: &AuditFacts<'_>) -> Option<Finding> {
    let (severity, kind) = class(refusal, model, facts);
    let figure = match refusal {
        Refusal::MaxTokens | Refusal::Context => Figure::Tokens(found.largest),
        _ => Figure::Requests(found.lines.n),
    };
    found.lines.finding(severity, kind, figure, |_| (text(refusal, found, model), remedy(refusal, model)))
}

fn class(refusal: Refusal, model: &Model<'_>, facts: &AuditFacts<'_>) -> (Severity, &'static str) {
    let error = |kind| (Severity::Error, kind);
    let warning = |kind| (Severity::Warning, kind);
    match refusal {
        Refusal::UnknownModel => warning("unknown-model"),
        Refusal::Retired => error("retired-model"),
        Refusal::Retires if soon(model, facts) => warning("retiring-model"),
        Refusal::Retires => (Severity::Note, "retiring-model"),
        Refusal::Sampling => error("sampling-refused"),
        Refusal::SamplingBoth => error("temperature-and-top-p"),
        Refusal::ForcedTool => error("forced-tool-choice"),
        Refusal::ForcedWithThinking => error("forced-tool-choice-with-thinking"),
        Refusal::ToolMissing => error("tool-missing"),
        Refusal::Thinking(_) => error("thinking-type"),
        Refusal::Budget => error("thinking-budget"),
        Refusal::Prefill => error("prefilled-answer"),
        Refusal::MaxTokens => error("max-tokens-above-limit"),
        Refusal::Context => error("prompt-too-long"),
        Refusal::Marks => error("too-many-breakpoints"),
        Refusal::NoBatch => (Severity::Note, "not-for-batches"),
        Refusal::CutByThinking => warning("max-tokens-eaten-by-thinking"),
        Refusal::BelowObserved => warning("max-tokens-below-observed"),
        Refusal::FarAboveObserved => (Severity::Note, "max-tokens-far-above-observed"),
    }
}

fn soon(model: &Model<'_>, facts: &AuditFacts<'_>) -> bool {
    let left = model.info.and_then(|info| info.retires).and_then(|day| day.since(facts.today).ok());
    left.is_some_and(|left| left.get_days() <= SOON_DAYS)
}

/// The values of `max_tokens` of these requests.
fn values(found: &Found) -> String {
    match found.smallest {
        Some(smallest) if smallest < found.largest => {
            format!("{} to {}", count(smallest), count(found.largest))
        }
        _ => count(found.largest),
    }
}

fn text(refusal: Refusal, found: &Found, model: &Model<'_>) -> String {
    let name = &model.name;
    match refusal {
        Refusal::UnknownModel => format!("{name} is not in the catalog: neither its price nor what it takes is known"),
        Refusal::Retired => format!("{name} is retired: every call answers 404"),
        Refusal::Retires => format!("{name} retires on {}", day(model)),
        Refusal::Sampling => format!("{name} refuses temperature, top_p and top_k unless at their defaults"),
        Refusal::SamplingBoth => format!("{name} refuses temperature together with top_p"),
        Refusal::ForcedTool => format!("{name} refuses a tool_choice of \"any\" or \"tool\""),
        Refusal::ForcedWithThinking => {
            "tool_choice forces a tool while thinking is on, which the API refuses".to_owned()
        }
        Refusal::ToolMissing => "tool_choice names a tool that is not among the tools".to_owned(),
        Refusal::Thinking(kind) => format!("{name} refuses thinking of the type \"{kind}\""),
        Refusal::Budget => "thinking.budget_tokens must be from 1,024 to less than max_tokens".to_owned(),
        Refusal::Prefill => format!("{name} refuses a conversation that ends with an assistant message"),
        Refusal::MaxTokens => {
            let limit = model.info.map_or(0, |info| u64::from(info.max_output_tokens));
            format!("max_tokens is {}; {name} gives at most {}", values(found), count(limit))
        }
        Refusal::Context => {
            let limit = model.info.map_or(0, |info| u64::from(info.context_tokens));
            format!(
                "prompts of up to about {} tokens; {name} takes {}, answer included",
                count(found.largest),
                count(limit)
            )
        }
        Refusal::Marks => format!("up to {} cache_control breakpoints; the API takes 4 a request", found.largest),
        Refusal::NoBatch => {
            "speed \"fast\" or max_tokens 0, which no batch takes: these go over the sync path".to_owned()
        }
        Refusal::CutByThinking => format!(
            "{name} thinks unless told not to, and what it thinks counts into max_tokens, which is {} here: answers will \
             be cut or empty",
            values(found)
        ),
        Refusal::BelowObserved => {
            let (n, p99) = model.observed.map_or((0, 0), |seen| (seen.n, seen.output_p99));
            format!(
                "max_tokens is {}, and 1 % of {} earlier answers of {name} had more than {} tokens: such answers are cut \
                 and billed",
                values(found),
                count(n),
                count(u64::from(p99))
            )
        }
        Refusal::FarAboveObserved => {
            let longest = model.observed.map_or(0, |seen| u64::from(seen.output_max));
            format!(
                "max_tokens is {}; the longest earlier answer of {name} had {} tokens",
                values(found),
                count(longest)
            )
        }
    }
}

fn day(model: &Model<'_>) -> String {
    model.info.and_then(|info| info.retires).map(|day| day.to_string()).unwrap_or_default()
}

fn remedy(refusal: Refusal, model: &Model<'_>) -> String {
    let takes = |kind: ThinkingType| {
        model.info.and_then(|info: &ModelInfo| info.takes.as_ref()).is_some_and(|takes| takes.thinking.contains(&kind))
    };
    match refusal {
        Refusal::UnknownModel => "check the id; a model of your own goes into the catalog file".to_owned(),
        Refusal::Retired => "take a model that is in service".to_owned(),
        Refusal::Retires => format!(
            "be through before {}, results of batches included: a batch may take 24 hours; or take its successor",
            day(model)
        ),
        Refusal::Sampling => "drop temperature, top_p and top_k".to_owned(),
        Refusal::SamplingBoth => "drop one of the two".to_owned(),
        Refusal::ForcedTool => {
            "use \"auto\", or output_config.format with a JSON schema for an answer of a fixed form".to_owned()
        }
        Refusal::ForcedWithThinking => "use tool_choice \"auto\", or turn thinking off".to_owned(),
        Refusal::ToolMissing => "add the tool, or drop tool_choice".to_owned(),
        Refusal::Thinking(_) if takes(ThinkingType::BetweenTools) => {
            "use \"between_tools\" for the least thinking, or \"adaptive\" with output_config.effort".to_owned()
        }
        Refusal::Thinking(_) if takes(ThinkingType::Adaptive) => {
            "use \"adaptive\", and output_config.effort to say how much".to_owned()
        }
        Refusal::Thinking(_) => "use \"enabled\" with budget_tokens".to_owned(),
        Refusal::Budget => "lower budget_tokens, or raise max_tokens".to_owned(),
        Refusal::Prefill => {
            "end with a user message; for an answer of a fixed form use output_config.format".to_owned()
        }
        Refusal::MaxTokens => "lower max_tokens".to_owned(),
        Refusal::Context => "shorten or split these prompts".to_owned(),
        Refusal::Marks => "keep the breakpoints whose prefixes repeat".to_owned(),
        Refusal::NoBatch => "nothing, or put them into a file of their own when all else goes by batch".to_owned(),
        Refusal::CutByThinking if takes(ThinkingType::Disabled) => {
            "set \"thinking\": {\"type\": \"disabled\"}, or raise max_tokens".to_owned()
        }
        Refusal::CutByThinking if takes(ThinkingType::BetweenTools) => {
            "set \"thinking\": {\"type\": \"between_tools\"}, or raise max_tokens".to_owned()
        }
        Refusal::CutByThinking => "raise max_tokens, and set output_config.effort to \"low\"".to_owned(),
        Refusal::BelowObserved => "raise max_tokens above the longest answer that you want whole".to_owned(),
        Refusal::FarAboveObserved => {
            "lower it to bound what a runaway answer may cost; it takes nothing from the rate limits".to_owned()
        }
    }
}
