//! The log on a screen of its own: which records are looked at, by text and by target. What is scrolled and followed is
//! shared with the pane of the live screen.

use std::collections::BTreeMap;

use tracing::level_filters::LevelFilter;

use crate::tui::action::Context::Log;
use crate::tui::action::{Action, ActionInfo, entry};
use crate::tui::field::TextField;
use crate::tui::log::LogView;
use crate::tui::msg::{LogMove, Reaction};
use crate::tui::state::UiState;
use crate::tui::zone::Zone;

/// What the screen adds to the registry.
pub const ACTIONS: &[ActionInfo] = &[
    entry(Action::LogTarget, "log-target", &["t", "tab"], "select a part of the program", Some("target"), &[Log]),
    entry(Action::LogPreviousTarget, "log-prev-target", &["backtab"], "select the part before", None, &[Log]),
    entry(Action::LogMore, "log-more", &["+", "="], "show more of the selected part", Some("more"), &[Log]),
    entry(Action::LogLess, "log-less", &["-", "_"], "show less of the selected part", Some("less"), &[Log]),
    entry(Action::LogLineUp, "log-line-up", &["up", "k"], "scroll the log up by a line", None, &[Log]),
    entry(Action::LogLineDown, "log-line-down", &["down", "j"], "scroll the log down by a line", None, &[Log]),
];

/// How much can be shown of a target, from nothing on.
const LEVELS: [LevelFilter; 6] = [
    LevelFilter::OFF,
    LevelFilter::ERROR,
    LevelFilter::WARN,
    LevelFilter::INFO,
    LevelFilter::DEBUG,
    LevelFilter::TRACE,
];

/// What the screen remembers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LogUi {
    /// Only records that contain this.
    pub filter: TextField,
    /// The targets that have logged, as the shell found them before the last frame.
    pub targets: Vec<String>,
    /// The target that the level keys mean; none means all of them.
    pub selected: Option<String>,
    /// How much is shown of each; what is not named here is shown whole.
    pub levels: BTreeMap<String, LevelFilter>,
}

impl LogUi {
    /// Which records are looked at.
    pub fn view(&self, targets: bool, zone: &Zone) -> LogView {
        let filter = self.filter.text.trim().to_owned();
        LogView { filter, levels: self.levels.clone(), targets, zone: zone.clone() }
    }

    /// How much is shown of a target.
    pub fn level(&self, target: &str) -> LevelFilter {
        self.levels.get(target).copied().unwrap_or(LevelFilter::TRACE)
    }

    /// Selects the target `by` places further on, with all of them as the first.
    fn select(&mut self, by: isize) {
        let at = self.selected.as_ref().and_then(|name| self.targets.iter().position(|target| target == name));
        let places = self.targets.len() + 1;
        let next = (at.map_or(0, |at| at + 1) + places).wrapping_add_signed(by) % places;
        self.selected = next.checked_sub(1).and_then(|at| self.targets.get(at)).cloned();
    }

    /// Shows more or less of what is selected.
    fn shift(&mut self, by: isize) {
        let meant: Vec<String> = match &self.selected {
            Some(target) => vec![target.clone()],
            None => self.targets.clone(),
        };
        for target in meant {
            let at = LEVELS.iter().position(|level| *level == self.level(&target)).unwrap_or(0);
            if let Some(level) = at.checked_add_signed(by).and_then(|at| LEVELS.get(at)) {
                self.levels.insert(target, *level);
            }
        }
    }
}

pub(super) fn act(ui: &mut UiState, action: Action) -> Vec<Reaction> {
    match action {
        Action::LogUp | Action::LogDown | Action::LogFollow => return super::live::scroll(ui, action),
        Action::LogLineUp => {
            ui.live.log_scrolled = true;
            return vec![Reaction::Log(LogMove::LineUp)];
        }
        Action::LogLineDown => return vec![Reaction::Log(LogMove::LineDown)],
        Action::LogTarget => ui.log.select(1),
        Action::LogPreviousTarget => ui.log.select(-1),
        Action::LogMore => ui.log.shift(1),
        Action::LogLess => ui.log.shift(-1),
        _ => {}
    }
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log() -> LogUi {
        LogUi { targets: ["api", "engine", "store"].map(str::to_owned).to_vec(), ..LogUi::default() }
    }

    #[test]
    fn levels_are_changed_for_the_selected_target_only_or_for_all() {
        let mut log = log();
        log.select(2);
        log.shift(-1);
        assert_eq!((log.level("engine"), log.level("api")), (LevelFilter::DEBUG, LevelFilter::TRACE));
        log.select(-2);
        assert_eq!(log.selected, None);
        log.shift(-1);
        assert_eq!((log.level("engine"), log.level("api")), (LevelFilter::INFO, LevelFilter::DEBUG));
        for _ in 0..9 {
            log.shift(-1);
        }
        assert_eq!(log.level("store"), LevelFilter::OFF);
        log.shift(1);
        assert_eq!(log.level("store"), LevelFilter::ERROR);
    }

    #[test]
    fn the_selection_goes_round_over_all_targets_and_stays_with_its_target() {
        let mut log = log();
        let mut seen = Vec::new();
        for _ in 0..4 {
            log.select(1);
            seen.push(log.selected.clone().unwrap_or_default());
        }
        assert_eq!(seen, ["api", "engine", "store", ""]);
        log.select(-1);
        log.targets.insert(0, "a-new-one".to_owned());
        assert_eq!(log.selected.as_deref(), Some("store"));
        LogUi::default().select(1);
    }
}
