//! Which parameters a model accepts, besides those that all models take.

use serde::Deserialize;

/// What a model accepts. A request that asks for more is refused with status 400.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Takes {
    /// Which sampling parameters.
    pub sampling: Sampling,
    /// Whether the last message may be the beginning of the answer.
    pub prefill: bool,
    /// Whether `tool_choice` may be of the types `any` and `tool`.
    pub forced_tools: bool,
    /// The types of `thinking`. The first is what a request gets that says nothing of it.
    pub thinking: Vec<ThinkingType>,
}

impl Takes {
    /// Whether it thinks when a request says nothing of thinking. What it thinks counts into `max_tokens`.
    pub fn thinks_by_default(&self) -> bool {
        self.thinking.first().is_some_and(|first| *first != ThinkingType::Disabled)
    }
}

/// Which of `temperature` and `top_p` a model accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sampling {
    /// Both at once.
    Both,
    /// One or the other.
    One,
    /// Neither, nor `top_k`, unless at its default.
    None,
}

/// A type of `thinking`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ThinkingType {
    /// As much as the model sees fit.
    Adaptive,
    /// Only between calls of tools.
    BetweenTools,
    /// Not at all.
    Disabled,
    /// With a budget.
    Enabled,
}

impl ThinkingType {
    /// The name that requests use.
    pub fn as_str(self) -> &'static str {
        match self {
            ThinkingType::Adaptive => "adaptive",
            ThinkingType::BetweenTools => "between_tools",
            ThinkingType::Disabled => "disabled",
            ThinkingType::Enabled => "enabled",
        }
    }
}
