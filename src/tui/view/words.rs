//! States in words, with the glyph and the style that go with them.

use ratatui::style::Style;

use crate::model::snapshot::{Condition, OrgView};
use crate::model::{RunStatus, limits::Limiter};
use crate::report::format;
use crate::report::text::harmless;
use crate::tui::theme::Theme;

/// How much a state wants the operator's eye; the larger, the more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    /// Nothing to see.
    Quiet,
    /// At work.
    Well,
    /// Moving.
    Moving,
    /// Gives way, or waits for a while.
    Waiting,
    /// Needs the operator.
    Needy,
}

/// A state as it is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    /// One column; distinct for each state.
    pub glyph: char,
    /// The state in few words: `backing off 0:42`.
    pub short: String,
    /// With its reason: `backing off 0:42 (rate-limited)`.
    pub long: String,
    /// How much it matters.
    pub weight: Weight,
}

impl Word {
    fn new(glyph: char, weight: Weight, short: String, long: String) -> Word {
        Word { glyph, short, long, weight }
    }

    fn plain(glyph: char, weight: Weight, text: &str) -> Word {
        Word::new(glyph, weight, text.to_owned(), text.to_owned())
    }

    /// The style of its weight.
    pub fn style(&self, theme: &Theme) -> Style {
        match self.weight {
            Weight::Quiet => theme.dim,
            Weight::Well => theme.good,
            Weight::Moving => theme.info,
            Weight::Waiting => theme.warn,
            Weight::Needy => theme.bad,
        }
    }
}

/// What an org does. Waits are aged by `age_ms`, the time since the picture was made.
pub fn condition(org: &OrgView, age_ms: u64) -> Word {
    let left = |ms: u64| format::countdown(ms.saturating_sub(age_ms));
    match &org.condition {
        Condition::Idle => Word::plain('○', Weight::Quiet, "idle"),
        Condition::Ramping => Word::plain('▲', Weight::Moving, "ramping"),
        Condition::Steady => Word::plain('●', Weight::Well, "steady"),
        Condition::Easing { headroom } => Word::new(
            '▼',
            Weight::Waiting,
            "easing: colleague".to_owned(),
            format!("easing: colleague active (headroom {})", format::percent(*headroom)),
        ),
        Condition::BackingOff { for_ms, why } => {
            let short = format!("backing off {}", left(*for_ms));
            let long = format!("{short} ({})", harmless(why));
            Word::new('◆', Weight::Waiting, short, long)
        }
        Condition::Parked { why, for_ms: None } => {
            let short = format!("parked: {}", why.as_str());
            let long = format!("{short} — press r to revive");
            Word::new('■', Weight::Needy, short, long)
        }
        Condition::Parked { why, for_ms: Some(ms) } => {
            let short = format!("parked: {}", why.as_str());
            let long = format!("{short} {} — r revives", left(*ms));
            Word::new('■', Weight::Needy, short, long)
        }
        Condition::Probing => Word::plain('?', Weight::Moving, "probing"),
        Condition::Paused => {
            Word::new('=', Weight::Waiting, "paused".to_owned(), "paused — press r to go on".to_owned())
        }
    }
}

/// What a run does.
pub fn status(status: RunStatus) -> Word {
    match status {
        RunStatus::Planned => Word::plain('○', Weight::Quiet, "planned"),
        RunStatus::Running => Word::plain('●', Weight::Well, "running"),
        RunStatus::Paused => Word::plain('=', Weight::Waiting, "paused"),
        RunStatus::Holding => Word::plain('■', Weight::Needy, "holding"),
        RunStatus::Draining => Word::plain('▼', Weight::Waiting, "draining"),
        RunStatus::Incomplete => Word::plain('■', Weight::Waiting, "incomplete"),
        RunStatus::Finished => Word::plain('✓', Weight::Well, "finished"),
    }
}

/// A limiter's name, short enough for a gauge.
pub fn limiter(limiter: Limiter) -> &'static str {
    match limiter {
        Limiter::Requests => "requests",
        Limiter::InputTokens => "input-tok",
        Limiter::OutputTokens => "output-tok",
        Limiter::Tokens => "tokens",
    }
}

/// The style of a headroom: the thresholds are those of the dispatcher's easing.
pub fn headroom_style(headroom: f64, theme: &Theme) -> Style {
    if headroom < 0.15 { theme.warn } else { theme.good }
}
