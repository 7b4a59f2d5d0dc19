//! States in words, with the glyph and the style that go with them.

use ratatui::style::Style;

use crate::model::snapshot::{Condition, OrgView};
use crate::model::{RunStatus, limits::Limiter};
use crate::report::format;
use crate::report::text::{harmless, width};
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
    /// The state in few words: `easing: colleague`.
    pub short: String,
    /// The state in full: `easing: colleague active`.
    pub full: String,
    /// Why, or what to do: `headroom 9 %`, `press r to revive`. Empty when there is nothing to add.
    pub why: String,
    /// How much it matters.
    pub weight: Weight,
}

impl Word {
    fn new(glyph: char, weight: Weight, text: impl Into<String>, why: impl Into<String>) -> Word {
        let text = text.into();
        Word { glyph, short: text.clone(), full: text, why: why.into(), weight }
    }

    /// Everything that `columns` columns have room for, with the glyph; whether the reason is in it comes too.
    pub fn fitting(&self, columns: usize) -> (String, bool) {
        let Word { glyph, short, full, why, .. } = self;
        let whole = if why.is_empty() { format!("{glyph} {full}") } else { format!("{glyph} {full} ({why})") };
        let without = format!("{glyph} {full}");
        if width(&whole) <= columns {
            (whole, true)
        } else if width(&without) <= columns {
            (without, false)
        } else {
            (format!("{glyph} {short}"), false)
        }
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
        Condition::Idle => Word::new('○', Weight::Quiet, "idle", ""),
        Condition::Ramping => Word::new('▲', Weight::Moving, "ramping", ""),
        Condition::Steady => Word::new('●', Weight::Well, "steady", ""),
        Condition::Easing { headroom } => {
            let why = format!("headroom {}", format::percent(*headroom));
            let word = Word::new('▼', Weight::Waiting, "easing: colleague", why);
            Word { full: "easing: colleague active".to_owned(), ..word }
        }
        Condition::BackingOff { for_ms, why } => {
            Word::new('◆', Weight::Waiting, format!("backing off {}", left(*for_ms)), harmless(why))
        }
        Condition::Parked { why, for_ms: None } => {
            Word::new('■', Weight::Needy, format!("parked: {}", why.as_str()), "press r to revive")
        }
        Condition::Parked { why, for_ms: Some(ms) } => {
            let word = Word::new('■', Weight::Waiting, format!("parked: {}", why.as_str()), "r revives");
            Word { full: format!("{} {}", word.short, left(*ms)), ..word }
        }
        Condition::AtLimit { limiter: which, headroom } => {
            let why = format!("headroom {}, our own use", format::percent(*headroom));
            let word = Word::new('◇', Weight::Well, format!("at limit: {}", limiter(*which)), why);
            Word { full: format!("at the limit of its {}", which.as_str()), ..word }
        }
        Condition::BreakerOpen { for_ms } => {
            let word = Word::new('◈', Weight::Waiting, format!("breaker {}", left(*for_ms)), "a run of failures");
            Word { full: format!("breaker open {}", left(*for_ms)), ..word }
        }
        Condition::Probing => Word::new('?', Weight::Moving, "probing", ""),
        Condition::SparingRetries => Word::new('▽', Weight::Waiting, "sparing re-drives", "many of its calls fail"),
        Condition::Draining { in_flight } => {
            let why = format!("{in_flight} in flight finish");
            Word::new('≡', Weight::Waiting, "draining", why)
        }
        Condition::Paused => Word::new('=', Weight::Waiting, "paused", "press r to go on"),
    }
}

/// What a run does.
pub fn status(status: RunStatus) -> Word {
    match status {
        RunStatus::Planned => Word::new('○', Weight::Quiet, "planned", ""),
        RunStatus::Running => Word::new('●', Weight::Well, "running", ""),
        RunStatus::Paused => Word::new('=', Weight::Waiting, "paused", ""),
        RunStatus::Holding => Word::new('■', Weight::Needy, "holding", ""),
        RunStatus::Draining => Word::new('▼', Weight::Waiting, "draining", ""),
        RunStatus::Incomplete => Word::new('■', Weight::Waiting, "incomplete", ""),
        RunStatus::Finished => Word::new('✓', Weight::Well, "finished", ""),
    }
}

/// A limiter's name, short enough for a gauge.
pub fn limiter(limiter: Limiter) -> &'static str {
    match limiter {
        Limiter::Requests => "reqs",
        Limiter::InputTokens => "in-tok",
        Limiter::OutputTokens => "out-tok",
        Limiter::Tokens => "tokens",
    }
}

/// The style of a headroom: the thresholds are those of the dispatcher's easing.
pub fn headroom_style(headroom: f64, theme: &Theme) -> Style {
    if headroom < 0.15 { theme.warn } else { theme.good }
}
