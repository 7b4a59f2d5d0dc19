//! States in words, with the glyph and the style that go with them.

use ratatui::style::Style;

use crate::model::snapshot::{Condition, OrgView, RunView};
use crate::model::{RunStatus, Snapshot, limits::Limiter};
use crate::report::format;
use crate::report::text::{harmless, width};
use crate::tui::action::Action;
use crate::tui::backstage::Driver;
use crate::tui::state::UiState;
use crate::tui::theme::Theme;

use super::Scene;

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
    /// Why, or what to do: `headroom 9 %`, `r revives it`. Empty when there is nothing to add.
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

/// What brings an org back that takes no work, in words: a key where one does it.
pub fn revival(ui: &UiState, selected: bool) -> String {
    let key = ui.keymap.hint(Action::ReviveOrg);
    match ui.driver {
        Driver::Nobody | Driver::Nothing => String::new(),
        Driver::Elsewhere => "revive it where it is driven".to_owned(),
        Driver::Here if ui.read_only => "read-only here".to_owned(),
        Driver::Here if key.is_empty() => "revive-org has no key".to_owned(),
        Driver::Here if selected => format!("{key} revives it"),
        Driver::Here => format!("select it, {key} revives it"),
    }
}

/// What an org does, as the live screen says it: with what brings it back. Waits are aged by the age of the picture.
///
/// What an org does is only known where its run is driven.
pub(super) fn org(scene: &Scene<'_>, org: &OrgView, selected: bool) -> Word {
    match scene.ui.driver {
        Driver::Elsewhere if !scene.ui.is_over(scene.snapshot) => {
            return Word::new('○', Weight::Quiet, "driven elsewhere", "its window and limits are known there");
        }
        Driver::Nobody => return Word::new('○', Weight::Quiet, "at rest", "nobody drives the run"),
        _ => {}
    }
    condition(org, scene.ui.age_ms(scene.now), revival(scene.ui, selected))
}

/// What an org does. Waits are aged by `age_ms`, the time since the picture was made; `revival` is what brings it back.
pub fn condition(org: &OrgView, age_ms: u64, revival: String) -> Word {
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
            Word::new('■', Weight::Needy, format!("parked: {}", why.as_str()), revival)
        }
        Condition::Parked { why, for_ms: Some(ms) } => {
            let word = Word::new('■', Weight::Waiting, format!("parked: {}", why.as_str()), revival);
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
        Condition::Paused => Word::new('=', Weight::Waiting, "paused", revival),
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

/// What the run that is shown does: one that nobody drives does nothing, whatever its state said last.
pub fn run(ui: &UiState, snapshot: &Snapshot, run: &RunView) -> Word {
    if ui.is_cut_off(snapshot) { Word::new('!', Weight::Waiting, "cut off", "") } else { status(run.status) }
}

/// The paths that a run's requests go, with their numbers where there is room: the path that was chosen for the run is not
/// the whole truth when some of them go the other way.
pub fn paths(run: &RunView, numbers: bool) -> String {
    let Some(view) = &run.batches else { return run.path.to_string() };
    let batch = view.n_harvested.saturating_add(view.n_open).saturating_add(view.n_planned);
    let sync = run.counts.total.saturating_sub(run.counts.cached).saturating_sub(batch);
    match (sync, batch) {
        (0, _) | (_, 0) => run.path.to_string(),
        _ if numbers => format!("sync {} + batch {}", format::count(sync), format::count(batch)),
        _ => "sync + batch".to_owned(),
    }
}

/// The rate of an org; of a run that is over there is none.
pub(super) fn rate(scene: &Scene<'_>, org: &OrgView) -> String {
    let is_known = scene.ui.driver == Driver::Here && !scene.ui.is_over(scene.snapshot);
    if is_known { format::rate(org.rate) } else { "–".to_owned() }
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
