//! The screen of the sub-batches: what it remembers, what its keys do, and when they make sense.

use crate::model::snapshot::{BatchesView, RunView, SubBatchView};
use crate::model::{Command, Money, Mono, Snapshot, SubBatchStatus};
use crate::report::format;
use crate::tui::action::Context::Batches;
use crate::tui::action::{Action, ActionInfo, changing, destroying, entry};
use crate::tui::backstage::Driver;
use crate::tui::commands::{confirm, say, send};
use crate::tui::field::TextField;
use crate::tui::msg::Reaction;
use crate::tui::state::{Ask, Deed, Gate, Tone, UiState, shown_run};

/// What the screen adds to the registry.
pub const ACTIONS: &[ActionInfo] = &[
    destroying(entry(
        Action::CancelSubBatch,
        "cancel-batch",
        &["c"],
        "cancel the sub-batch, finish it on sync; asks",
        Some("cancel"),
        &[Batches],
    )),
    destroying(entry(
        Action::FinishOnSync,
        "finish-sync",
        &["S"],
        "finish the whole run on the sync path; asks",
        Some("finish on sync"),
        &[Batches],
    )),
    changing(entry(
        Action::ReDriveSubBatch,
        "redrive-batch",
        &["R"],
        "send again what was left of the sub-batch",
        Some("re-drive"),
        &[Batches],
    )),
    changing(entry(
        Action::LeaveSubBatch,
        "leave-batch",
        &["n"],
        "leave the sub-batch as it is",
        Some("leave it"),
        &[Batches],
    )),
];

/// What comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sort {
    /// By index.
    #[default]
    Index,
    /// The oldest first.
    Age,
    /// By state, in the order of a life.
    State,
}

impl Sort {
    /// Its word.
    pub fn as_str(self) -> &'static str {
        match self {
            Sort::Index => "index",
            Sort::Age => "age",
            Sort::State => "state",
        }
    }
}

/// Which are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Filter {
    /// All.
    #[default]
    All,
    /// Those at the API, or on their way.
    Open,
    /// Those about which the operator is asked something.
    Asks,
}

impl Filter {
    /// Its word.
    pub fn as_str(self) -> &'static str {
        match self {
            Filter::All => "all",
            Filter::Open => "open",
            Filter::Asks => "asking",
        }
    }
}

/// What the screen remembers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BatchesUi {
    /// The selected sub-batch, by its index; the first one without, unless it follows.
    pub selected: Option<u32>,
    /// What comes first.
    pub sort: Sort,
    /// Which are shown.
    pub filter: Filter,
    /// Only those are shown whose org, id or state contains this.
    pub search: TextField,
    /// The selection follows the one to worry about: one that asks, else the oldest that could be canceled, else the oldest.
    pub follow: bool,
}

/// It follows until the operator selects another.
impl Default for BatchesUi {
    fn default() -> BatchesUi {
        BatchesUi {
            selected: None,
            sort: Sort::default(),
            filter: Filter::default(),
            search: TextField::default(),
            follow: true,
        }
    }
}

/// The sub-batches of the run that is shown.
pub fn batches_of(snapshot: &Snapshot) -> Option<(&RunView, &BatchesView)> {
    let run = shown_run(snapshot)?;
    Some((run, run.batches.as_deref()?))
}

impl BatchesUi {
    /// Selects one and stays there: what the operator has acted on is not left for the next one to worry about.
    fn stay_at(&mut self, index: u32) {
        (self.selected, self.follow) = (Some(index), false);
    }

    /// The sub-batches that are shown, in order.
    pub fn rows<'v>(&self, view: &'v BatchesView) -> Vec<&'v SubBatchView> {
        let shown = |sub: &&SubBatchView| match self.filter {
            Filter::All => true,
            Filter::Open => sub.status != SubBatchStatus::Planned && !sub.status.is_over(),
            Filter::Asks => sub.question.is_some(),
        };
        let text = |sub: &SubBatchView| {
            format!("{} {} {} {}", sub.index, sub.org, sub.batch_id.as_deref().unwrap_or_default(), sub.status)
        };
        let found = |sub: &&SubBatchView| self.search.is_empty() || self.search.matches(&text(sub));
        let mut rows: Vec<&SubBatchView> = view.sub_batches.iter().filter(shown).filter(found).collect();
        match self.sort {
            Sort::Index => {}
            Sort::Age => rows.sort_by_key(|sub| std::cmp::Reverse(sub.age_ms)),
            Sort::State => {
                rows.sort_by_key(|sub| SubBatchStatus::ALL.iter().position(|status| *status == sub.status));
            }
        }
        rows
    }

    /// Position of the selected one among the rows. `None` when the operator's own is not among them any more: what a key does
    /// must not fall on another one that came to stand in its place.
    pub fn selected_ix(&self, rows: &[&SubBatchView]) -> Option<usize> {
        if self.follow {
            let open = rows.iter().enumerate().filter(|(_, sub)| sub.status.is_open() || sub.question.is_some());
            let worry =
                |sub: &SubBatchView| (sub.question.is_some(), sub.status == SubBatchStatus::InProgress, sub.age_ms);
            return Some(open.max_by_key(|(_, sub)| worry(sub)).map_or(0, |(at, _)| at));
        }
        match self.selected {
            Some(index) => rows.iter().position(|sub| sub.index == index),
            None => Some(0),
        }
    }
}

/// The selected sub-batch, and its run.
pub fn selected<'s>(ui: &UiState, snapshot: &'s Snapshot) -> Option<(&'s RunView, &'s SubBatchView)> {
    let (run, view) = batches_of(snapshot)?;
    let screen = &ui.batches;
    let rows = screen.rows(view);
    Some((run, rows.get(screen.selected_ix(&rows)?).copied()?))
}

/// Why an action is of no use now.
///
/// # Errors
/// The reason.
pub(super) fn valid(action: Action, ui: &UiState, snapshot: &Snapshot) -> Result<(), String> {
    let deeds = [Action::CancelSubBatch, Action::FinishOnSync, Action::ReDriveSubBatch, Action::LeaveSubBatch];
    if !deeds.contains(&action) {
        return Ok(());
    }
    let Some((run, view)) = batches_of(snapshot) else { return Err("the run has no sub-batches".to_owned()) };
    match ui.driver {
        _ if run.status.is_over() => return Err("the run is over".to_owned()),
        Driver::Nobody => return Err(crate::tui::valid::cut_off(ui)),
        // The owner takes this order from others, as from `fandeck cancel`.
        Driver::Elsewhere if action != Action::CancelSubBatch => {
            return Err("another process drives the run: do that there".to_owned());
        }
        _ => {}
    }
    if action == Action::FinishOnSync {
        let nothing =
            view.finish_on_sync && !view.sub_batches.iter().any(|sub| sub.status == SubBatchStatus::InProgress);
        return if nothing { Err("what is left finishes on the sync path already".to_owned()) } else { Ok(()) };
    }
    let Some((_, sub)) = selected(ui, snapshot) else { return Err("no sub-batch is selected".to_owned()) };
    match action {
        Action::CancelSubBatch if sub.status != SubBatchStatus::InProgress => {
            Err(format!("sub-batch {} is {}: there is nothing to cancel", sub.index, sub.status))
        }
        Action::ReDriveSubBatch | Action::LeaveSubBatch if sub.question.is_none() => {
            Err(format!("nothing is asked about sub-batch {}", sub.index))
        }
        _ => Ok(()),
    }
}

/// What a key does.
pub(super) fn act(ui: &mut UiState, action: Action, snapshot: &Snapshot, now: Mono) -> Vec<Reaction> {
    let Some((run, view)) = batches_of(snapshot) else { return Vec::new() };
    let slot = run.slot;
    let index = selected(ui, snapshot).map(|(_, sub)| sub.index);
    let page = usize::from(ui.size.1) / 2;
    let screen = &mut ui.batches;
    match action {
        Action::MoveDown | Action::MoveUp | Action::PageDown | Action::PageUp | Action::First | Action::Last => {
            let rows = screen.rows(view);
            let next = super::moved(action, screen.selected_ix(&rows).unwrap_or(0), rows.len(), page);
            match rows.get(next) {
                Some(sub) => screen.stay_at(sub.index),
                None => screen.follow = false,
            }
        }
        Action::Sort => {
            screen.selected = index;
            screen.sort = match screen.sort {
                Sort::Index => Sort::Age,
                Sort::Age => Sort::State,
                Sort::State => Sort::Index,
            };
        }
        Action::Show => {
            screen.selected = index;
            screen.filter = match screen.filter {
                Filter::All => Filter::Open,
                Filter::Open => Filter::Asks,
                Filter::Asks => Filter::All,
            };
        }
        Action::Follow => screen.follow = !screen.follow,
        Action::CancelSubBatch => ask_cancel(ui, snapshot),
        Action::FinishOnSync => ask_finish(ui, run, view),
        Action::ReDriveSubBatch => {
            let Some(sub_batch) = index else { return Vec::new() };
            screen.stay_at(sub_batch);
            let what = format!("re-drive what is left of sub-batch {sub_batch}");
            return send(ui, Command::ReDriveSubBatch { run: slot, sub_batch }, what, None, now);
        }
        Action::LeaveSubBatch => {
            let Some(sub_batch) = index else { return Vec::new() };
            screen.stay_at(sub_batch);
            let what = format!("leave sub-batch {sub_batch}");
            return send(ui, Command::LeaveSubBatch { run: slot, sub_batch }, what, None, now);
        }
        _ => {}
    }
    Vec::new()
}

/// A click: selects, and on the button asks.
pub(super) fn click(ui: &mut UiState, index: u32, cancel: bool, snapshot: &Snapshot, now: Mono) -> Vec<Reaction> {
    ui.batches.stay_at(index);
    if cancel {
        if let Err(reason) = crate::tui::valid::valid(Action::CancelSubBatch, ui, snapshot) {
            say(ui, reason, Tone::Bad, now);
        } else {
            ask_cancel(ui, snapshot);
        }
    }
    Vec::new()
}

/// What a request has cost on average at the price of the sync path: by the batches of the run, else by what it sent on the
/// sync path, such as its pilots. `None` before the first answer.
fn sync_price(run: &RunView, view: &BatchesView) -> Option<Money> {
    let in_batches: u64 = view.sub_batches.iter().map(|sub| u64::from(sub.n_succeeded)).sum();
    let on_sync = run.counts.succeeded + run.counts.refused;
    let by_batches = view.cost.0.saturating_mul(2).checked_div(in_batches);
    by_batches.or_else(|| run.cost.0.saturating_sub(view.cost.0).checked_div(on_sync)).map(Money)
}

/// What is at stake for so many requests of open sub-batches: what may be paid already, and what the rest will cost.
fn stakes(n: u64, run: &RunView, view: &BatchesView) -> [String; 2] {
    match sync_price(run, view) {
        Some(price) => {
            let all = Money(price.0.saturating_mul(n));
            [
                format!(
                    "Paid already, at half the price: at most about {}, for what it has processed; that is harvested and kept.",
                    format::money(Money(all.0 / 2))
                ),
                format!(
                    "The rest is sent again on the sync path: at most about {}, if nothing was processed.",
                    format::money(all)
                ),
            ]
        }
        None => [
            "What it has processed is paid at half the price, harvested and kept.".to_owned(),
            "The rest is sent again on the sync path, at the full price.".to_owned(),
        ],
    }
}

/// How its age compares, in a sentence.
fn against_siblings(sub: &SubBatchView, view: &BatchesView) -> String {
    let siblings = match (view.took_median_ms, view.took_longest_ms) {
        (Some(median), Some(longest)) => format!(
            "{} others ended, after a median of {} and {} at the longest.",
            view.n_ended_by_themselves(),
            format::span(median),
            format::span(longest)
        ),
        _ if view.ended > 0 => "No other has ended without a cancel yet.".to_owned(),
        _ => "No other has ended yet.".to_owned(),
    };
    match sub.stuck_in_ms {
        Some(ms) if ms > 0 && view.escape && !sub.adopted => {
            format!("{siblings} It is canceled by itself in {}.", format::span(ms))
        }
        _ => siblings,
    }
}

fn ask_cancel(ui: &mut UiState, snapshot: &Snapshot) {
    let Some((run, sub)) = selected(ui, snapshot) else { return };
    ui.batches.stay_at(sub.index);
    let Some((_, view)) = batches_of(snapshot) else { return };
    let mut lines = vec![
        format!(
            "Sub-batch {} ({}) at {}: {} requests, {} old.",
            sub.index,
            sub.batch_id.as_deref().unwrap_or("no id"),
            sub.org,
            format::count(u64::from(sub.n_requests)),
            format::span(sub.age_ms.unwrap_or(0))
        ),
        against_siblings(sub, view),
        String::new(),
    ];
    lines.extend(stakes(u64::from(sub.n_requests), run, view));
    if sub.adopted {
        lines.push("It was adopted by a guess: it may be a colleague's.".to_owned());
    }
    let command = Command::CancelSubBatch { run: run.slot, sub_batch: sub.index, seen: sub.status };
    let deed = Deed::Command { command, what: format!("cancel sub-batch {}", sub.index) };
    confirm(ui, Ask { gate: Gate::CancelSubBatch, lines, deed });
}

fn ask_finish(ui: &mut UiState, run: &RunView, view: &BatchesView) {
    let open = view.sub_batches.iter().filter(|sub| sub.status == SubBatchStatus::InProgress).count();
    let mut lines = Vec::new();
    if view.n_planned > 0 {
        let planned = format::count(view.n_planned);
        lines.push(format!("{planned} requests are planned for sub-batches: they go to the sync path now."));
    }
    let requests = format::count(view.n_open);
    match open {
        0 => {}
        1 => lines.push(format!(
            "1 sub-batch is open, with {requests} requests: it is canceled, harvested, and what it did not process follows."
        )),
        n => lines.push(format!(
            "{n} sub-batches are open, with {requests} requests: they are canceled, harvested, and what they did not \
             process follows."
        )),
    }
    lines.push(String::new());
    lines.extend(stakes(view.n_planned + view.n_open, run, view));
    let command = Command::FinishOnSync { run: run.slot, cancel_open: true };
    let deed = Deed::Command { command, what: "finish on sync".to_owned() };
    confirm(ui, Ask { gate: Gate::FinishOnSync, lines, deed });
}
