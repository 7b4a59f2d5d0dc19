//! The live screen: which org is selected, how big the log is, and what the keys of orgs do.

use crate::model::snapshot::{Condition, OrgView};
use crate::model::{Command, Mono, OrgId, Snapshot};

use super::Screen;
use crate::tui::action::Context::{Live, Log};
use crate::tui::action::{Action, ActionInfo, changing, entry};
use crate::tui::attention::Called;
use crate::tui::backstage::{Attached, Driver};
use crate::tui::commands::{change_cap, pause_org, say, send};
use crate::tui::msg::{LogMove, Reaction};
use crate::tui::screens::planner::Piloting;
use crate::tui::state::{Tone, UiState, shown_run};
use crate::tui::valid::cut_off;
use crate::tui::view;
use crate::tui::view::layout::Density;
use crate::tui::view::pictures::board::Board;

/// What the live screen adds to the registry.
pub const ACTIONS: &[ActionInfo] = &[
    entry(Action::NextOrg, "next-org", &["down", "j", "tab"], "select the next org", Some("next org"), &[Live]),
    entry(Action::PreviousOrg, "previous-org", &["up", "k", "backtab"], "select the previous org", None, &[Live]),
    entry(Action::OrgRight, "org-right", &["right", "l"], "select the org to the right", None, &[Live]),
    entry(Action::OrgLeft, "org-left", &["left", "h"], "select the org to the left", None, &[Live]),
    changing(entry(
        Action::ReviveOrg,
        "revive-org",
        &["r"],
        "end the org's pause, or probe it right now",
        Some("revive org"),
        &[Live],
    )),
    changing(entry(
        Action::PauseOrg,
        "pause-org",
        &["o"],
        "pause the org; its requests go to the others",
        Some("pause org"),
        &[Live],
    )),
    changing(entry(
        Action::MoveToBatch,
        "move-to-batch",
        &["B"],
        "move what waits to batches at half price",
        Some("to batch"),
        &[Live],
    )),
    changing(entry(
        Action::CapUp,
        "cap-up",
        &["+", "="],
        "raise the cap; asks above the polite one",
        Some("cap up"),
        &[Live],
    )),
    changing(entry(
        Action::CapDown,
        "cap-down",
        &["-", "_"],
        "lower the cap of the selected org",
        Some("cap down"),
        &[Live],
    )),
    entry(
        Action::NextFamily,
        "next-family",
        &["f"],
        "select the model family that cap keys mean",
        Some("family"),
        &[Live],
    ),
    entry(
        Action::NextPicture,
        "next-picture",
        &["v"],
        "pace, limits, cost in pictures; the log",
        Some("pictures"),
        &[Live],
    ),
    entry(Action::PreviousPicture, "previous-picture", &["V"], "the pictures before", None, &[Live]),
    entry(Action::LogSize, "log-size", &["L"], "make the log bigger, full, small again", Some("log"), &[Live]),
    entry(Action::LogUp, "log-up", &["pageup"], "scroll the log up", None, &[Live, Log]),
    entry(Action::LogDown, "log-down", &["pagedown"], "scroll the log down", None, &[Live, Log]),
    entry(Action::LogFollow, "log-follow", &["end"], "follow the log again", None, &[Live, Log]),
];

/// How much of the screen the log takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LogSize {
    /// What the orgs leave.
    #[default]
    Small,
    /// Half of the room below the header.
    Half,
    /// All of the room below the header.
    Full,
}

/// Pictures that stand side by side where there is no room for all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Page {
    /// Rate and window over time, latencies.
    #[default]
    Pace,
    /// What is left of every limit, and what became of the attempts.
    Limits,
    /// What was paid and is to come, and the sub-batches over time.
    Cost,
}

impl Page {
    /// All of them, in their order.
    pub const ALL: [Page; 3] = [Page::Pace, Page::Limits, Page::Cost];

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Page::Pace => "pace",
            Page::Limits => "limits",
            Page::Cost => "cost",
        }
    }
}

/// What the live screen remembers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LiveUi {
    /// The selected org; the first one without.
    pub selected: Option<OrgId>,
    /// Which of the selected org's families the cap keys mean.
    pub family: usize,
    /// Which pictures are asked for; `None` leaves it to the room there is, which may be the log alone.
    pub page: Option<Page>,
    /// Size of the log pane.
    pub log_size: LogSize,
    /// The log is scrolled up and does not follow.
    pub log_scrolled: bool,
}

pub(super) fn act(ui: &mut UiState, action: Action, snapshot: &Snapshot, now: Mono) -> Vec<Reaction> {
    match action {
        Action::PauseOrg | Action::ReviveOrg => pause_org(ui, action, snapshot, now),
        Action::CapUp | Action::CapDown => change_cap(ui, action == Action::CapUp, snapshot, now),
        Action::MoveToBatch => move_to_batch(ui, snapshot, now),
        Action::LogUp | Action::LogDown | Action::LogFollow | Action::LogSize => scroll(ui, action),
        Action::NextPicture | Action::PreviousPicture => {
            turn(ui, action == Action::NextPicture, snapshot);
            Vec::new()
        }
        Action::NextOrg | Action::PreviousOrg | Action::OrgRight | Action::OrgLeft | Action::NextFamily => {
            select(ui, action, snapshot);
            Vec::new()
        }
        _ => Vec::new(),
    }
}

/// It is asked for without a gate: nothing is lost by it, and finishing on sync undoes it.
fn move_to_batch(ui: &mut UiState, snapshot: &Snapshot, now: Mono) -> Vec<Reaction> {
    let Some(run) = shown_run(snapshot) else { return Vec::new() };
    send(ui, Command::MoveToBatch { run: run.slot }, "move the rest to batches".to_owned(), None, now)
}

/// Turns to other pictures, round and round. Where they stand in place of the log, the log is one of the pages.
fn turn(ui: &mut UiState, forward: bool, snapshot: &Snapshot) {
    (ui.live.log_size, ui.live.log_scrolled) = (LogSize::Small, false);
    let page = ui.live.page.take();
    let in_place_of_log = view::layout::now(ui, snapshot).board == Board::Nothing;
    let mut pages = Page::ALL.map(Some).to_vec();
    if in_place_of_log {
        pages.insert(0, None);
    }
    let shown = if in_place_of_log { page } else { Some(page.unwrap_or_default()) };
    let at = pages.iter().position(|page| *page == shown).unwrap_or(0);
    let n = pages.len();
    let next = if forward { at + 1 } else { at + n - 1 } % n;
    ui.live.page = pages.get(next).copied().flatten();
}

/// Scrolls the log pane, or changes its size.
pub(super) fn scroll(ui: &mut UiState, action: Action) -> Vec<Reaction> {
    let live = &mut ui.live;
    match action {
        Action::LogSize => {
            live.page = None;
            live.log_size = match live.log_size {
                LogSize::Small => LogSize::Half,
                LogSize::Half => LogSize::Full,
                LogSize::Full => LogSize::Small,
            };
            Vec::new()
        }
        Action::LogUp => {
            live.log_scrolled = true;
            vec![Reaction::Log(LogMove::Up)]
        }
        Action::LogDown if !live.log_scrolled => Vec::new(),
        Action::LogDown => vec![Reaction::Log(LogMove::Down)],
        _ => {
            live.log_scrolled = false;
            vec![Reaction::Log(LogMove::Follow)]
        }
    }
}

fn select(ui: &mut UiState, action: Action, snapshot: &Snapshot) {
    let n = snapshot.orgs.len().max(1);
    let at = ui.selected_ix(snapshot);
    if action == Action::NextFamily {
        let families = snapshot.orgs.get(at).map_or(1, |org| org.windows.len().max(1));
        ui.live.family = (ui.live.family + 1) % families;
        return;
    }
    let columns = view::layout::org_columns(ui, snapshot);
    // In one column, left and right go where up and down go; in a grid, up and down keep the column.
    let next = match action {
        Action::OrgRight => (at + 1) % n,
        Action::OrgLeft => (at + n - 1) % n,
        Action::NextOrg if columns <= 1 || at + columns >= n => (at + 1) % n,
        Action::NextOrg => at + columns,
        _ if columns <= 1 || at < columns => (at + n - 1) % n,
        _ => at - columns,
    };
    select_ix(ui, next, snapshot);
}

/// Selects the org at a position.
pub(super) fn select_ix(ui: &mut UiState, ix: usize, snapshot: &Snapshot) {
    if let Some(org) = snapshot.orgs.get(ix)
        && ui.live.selected != Some(org.id)
    {
        ui.live.selected = Some(org.id);
        ui.live.family = 0;
    }
}

/// The wheel over the orgs.
pub(super) fn wheel(ui: &mut UiState, down: bool, snapshot: &Snapshot) {
    let ix = ui.selected_ix(snapshot);
    let next = if down { ix + 1 } else { ix.saturating_sub(1) };
    select_ix(ui, next, snapshot);
}

/// Why an action is of no use now.
///
/// # Errors
/// The reason.
pub(super) fn valid(action: Action, ui: &UiState, snapshot: &Snapshot) -> Result<(), String> {
    match action {
        Action::NextOrg | Action::PreviousOrg | Action::OrgLeft | Action::OrgRight if snapshot.orgs.len() < 2 => {
            Err("there is no other org".to_owned())
        }
        Action::ReviveOrg | Action::PauseOrg | Action::CapUp | Action::CapDown => of_org(action, ui, snapshot),
        Action::MoveToBatch if ui.driver == Driver::Elsewhere => {
            Err("another process drives the run: do that there".to_owned())
        }
        Action::MoveToBatch => {
            let offered =
                shown_run(snapshot).and_then(|run| run.budget.as_ref()).is_some_and(|budget| budget.offers_batch);
            if offered && !ui.is_over(snapshot) {
                Ok(())
            } else if shown_run(snapshot).is_some_and(|run| run.batches.is_some()) {
                Err("the run is in sub-batches already".to_owned())
            } else {
                Err("the move to batches is offered when 80 % of the run's budget is used and something waits"
                    .to_owned())
            }
        }
        Action::NextFamily if ui.selected_org(snapshot).is_none_or(|org| org.windows.len() < 2) => {
            Err("the selected org has one model family only".to_owned())
        }
        Action::NextPicture | Action::PreviousPicture => {
            let layout = view::layout::now(ui, snapshot);
            match (layout.board, layout.density) {
                _ if snapshot.orgs.is_empty() => Err("there is no org to draw".to_owned()),
                (_, Density::Minimal | Density::TooSmall) => Err("pictures need 80×24".to_owned()),
                (Board::All, _) => Err("all pictures are in view already".to_owned()),
                _ => Ok(()),
            }
        }
        Action::LogUp | Action::LogDown if view::layout::now(ui, snapshot).log.height == 0 => {
            let key = ui.keymap.hint(Action::LogSize);
            Err(format!("the log is not in view; {key} shows it"))
        }
        Action::LogFollow if !ui.live.log_scrolled => Err("the log is being followed already".to_owned()),
        _ => Ok(()),
    }
}

/// Whether an org can be revived. A wait that the API asked for is not cut short; one of our own after failures may be.
fn is_resting(org: &OrgView) -> bool {
    match &org.condition {
        Condition::Parked { .. } | Condition::BreakerOpen { .. } => true,
        condition => condition.is_paused(),
    }
}

fn of_org(action: Action, ui: &UiState, snapshot: &Snapshot) -> Result<(), String> {
    let Some(org) = ui.selected_org(snapshot) else { return Err("there is no org".to_owned()) };
    if ui.is_cut_off(snapshot) {
        return Err(cut_off(ui));
    }
    if ui.is_over(snapshot) {
        return Err("the run is over".to_owned());
    }
    if ui.driver == Driver::Elsewhere {
        return Err("another process drives the run: do that there".to_owned());
    }
    let resting = is_resting(org);
    match action {
        Action::ReviveOrg if !resting => {
            let others: Vec<&str> =
                snapshot.orgs.iter().filter(|org| is_resting(org)).map(|org| org.label.as_str()).collect();
            let select = match others.as_slice() {
                [] => String::new(),
                others => format!("; select {} first, by {}", others.join(" or "), ui.keymap.hint(Action::NextOrg)),
            };
            Err(format!("{} is not parked, paused or failing{select}", org.label))
        }
        Action::PauseOrg if org.condition.is_paused() => {
            Err(format!("{} is paused already; revive it to go on", org.label))
        }
        Action::CapUp | Action::CapDown => {
            let Some((_, window)) = ui.selected_window(snapshot) else {
                return Err(format!("{} has no window yet", org.label));
            };
            if action == Action::CapDown && ui.cap(org.id, window) <= 1 {
                return Err(format!("the cap of {} is 1 already; pause the org to send nothing", org.label));
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

/// Forgets what the screens remembered of the run before.
pub(super) fn begin(ui: &mut UiState, driver: Driver, now: Mono) {
    ui.driver = driver;
    ui.live = LiveUi::default();
    ui.batches = super::batches::BatchesUi::default();
    ui.requests = super::requests::RequestsUi::default();
    ui.runs.aims = true;
    (ui.leaving, ui.engine_gone) = (None, false);
    (ui.frozen, ui.called) = (None, Called::default());
    ui.asked.clear();
    ui.drop_question();
    ui.pictured_at = now;
}

/// Another run is shown from now on, or could not be. The shell has changed the picture already.
pub(super) fn attached(
    ui: &mut UiState,
    attached: Result<Attached, String>,
    snapshot: &Snapshot,
    now: Mono,
) -> Vec<Reaction> {
    match attached {
        Ok(Attached { driver, .. }) => {
            begin(ui, driver, now);
            ui.planner.pilot = Piloting::default();
            ui.go_to(Screen::Live);
            if let Some(run) = snapshot.runs.first() {
                say(ui, format!("shown: {}", run.dir), Tone::Good, now);
            }
        }
        Err(why) => say(ui, why, Tone::Bad, now),
    }
    Vec::new()
}
