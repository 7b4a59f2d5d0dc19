//! The requests of the run that is shown: which are wanted, which part of them is here, which one is selected, and what is
//! shown of it in full.
//!
//! There may be a million, so the screen holds one [`Page`] around what is in view. Moving within it is instant; what lies
//! beyond is asked for behind the screens, and its rows are blank until it comes. After every message `settle` looks
//! whether what is here is what is wanted, and asks for the difference; never for two things at once.

use std::path::PathBuf;
use std::time::Duration;

use crate::model::browse::{Class, Order, Page, Query, RequestDetail, RequestRow};
use crate::model::{Command, Mono, RequestNo, Snapshot};
use crate::tui::action::Context::Requests;
use crate::tui::action::{Action, ActionInfo, changing, entry};
use crate::tui::backstage::{Driver, Errand};
use crate::tui::commands::{ask, say, send};
use crate::tui::field::TextField;
use crate::tui::msg::Reaction;
use crate::tui::screens::Screen;
use crate::tui::state::{Tone, UiState, shown_run};
use crate::tui::view;

/// What the screen adds to the registry.
pub const ACTIONS: &[ActionInfo] = &[
    entry(
        Action::InspectRequest,
        "inspect-request",
        &["enter"],
        "show the request and its answer in full",
        Some("inspect"),
        &[Requests],
    ),
    changing(entry(
        Action::ReDriveRequest,
        "redrive-request",
        &["R"],
        "send the request again, if it is re-drivable",
        Some("re-drive"),
        &[Requests],
    )),
    entry(
        Action::InspectDown,
        "inspect-down",
        &["J", "ctrl-d"],
        "scroll what is shown in full down",
        Some("down"),
        &[Requests],
    ),
    entry(
        Action::InspectUp,
        "inspect-up",
        &["K", "ctrl-u"],
        "scroll what is shown in full up",
        Some("up"),
        &[Requests],
    ),
];

/// How often a page of a run that goes on is asked for again.
const REFRESH: Duration = Duration::from_millis(500);

/// What the rows depend on, besides the journal.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(in crate::tui) struct Wanted {
    class: Option<Class>,
    text: String,
    order: Order,
}

/// What the screen remembers.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RequestsUi {
    /// Only those of a class.
    pub class: Option<Class>,
    /// What comes first.
    pub order: Order,
    /// Only those that these words match.
    pub filter: TextField,
    /// The rows that are here; `None` before the first answer.
    pub page: Option<Page>,
    /// Why there is none.
    pub trouble: Option<String>,
    /// Position of the selected request among those that match.
    pub at: usize,
    /// Position of the first row in view.
    pub top: usize,
    /// The selected request; `None` while its row is not here.
    pub selected: Option<RequestNo>,
    /// The selected request is shown in full.
    pub inspecting: bool,
    /// Lines that are scrolled over in what is shown in full.
    pub scroll: usize,
    /// A request in full, or why it cannot be shown.
    pub detail: Option<(RequestNo, Result<RequestDetail, String>)>,
    /// What the page is an answer to.
    pub(in crate::tui) here: Wanted,
    /// When it came.
    pub(in crate::tui) came_at: Mono,
    /// The journal has been read since the run came to rest: nothing will be added to it.
    pub(in crate::tui) at_rest: bool,
    /// What is being asked for, by which errand: the rows, for this selection; and whether the run was at rest by then.
    pub(in crate::tui) asked: Option<(u64, Wanted, Option<RequestNo>, bool)>,
    /// Which request is being fetched in full, by which errand.
    pub(in crate::tui) asked_detail: Option<(u64, RequestNo)>,
}

impl RequestsUi {
    /// The selected row.
    pub fn row(&self) -> Option<&RequestRow> {
        self.page.as_ref()?.row(self.at)
    }

    fn wanted(&self) -> Wanted {
        Wanted { class: self.class, text: self.filter.text.trim().to_owned(), order: self.order }
    }

    fn n(&self) -> usize {
        self.page.as_ref().map_or(0, |page| page.n_matched)
    }

    /// Moves the selection to a position, as far as there is one.
    fn go(&mut self, at: usize) {
        self.at = at.min(self.n().saturating_sub(1));
        self.selected = self.row().map(|row| row.no);
    }

    /// Scrolls so that the selected row is in view.
    fn keep_in_view(&mut self, rows: usize) {
        self.top = self.top.min(self.at).max((self.at + 1).saturating_sub(rows));
        self.top = self.top.min(self.n().saturating_sub(rows));
    }

    /// Whether every row in view is here.
    fn is_covered(&self, rows: usize) -> bool {
        let Some(page) = &self.page else { return false };
        let end = (self.top + rows).min(page.n_matched);
        self.top >= page.from && end <= page.from + page.rows.len()
    }
}

/// Asks for what is wanted and not here.
pub(in crate::tui) fn settle(ui: &mut UiState, snapshot: &Snapshot, now: Mono) -> Vec<Reaction> {
    if ui.screen != Screen::Requests {
        return Vec::new();
    }
    let Some(dir) = shown_run(snapshot).map(|run| PathBuf::from(&run.dir)) else { return Vec::new() };
    let rows = view::requests::rows(ui, snapshot).max(1);
    let grows = ui.driver == Driver::Elsewhere || !ui.is_over(snapshot);
    let requests = &mut ui.requests;
    requests.keep_in_view(rows);
    let mut reactions = Vec::new();
    let wanted = requests.wanted();
    let other = requests.page.is_none() || requests.here != wanted;
    let stale = requests.page.as_ref().is_some_and(|page| !page.is_complete())
        || if grows { now.since(requests.came_at) >= REFRESH } else { !requests.at_rest };
    if requests.asked.is_none() && requests.trouble.is_none() && (other || stale || !requests.is_covered(rows)) {
        let query = Query {
            class: wanted.class,
            text: wanted.text.clone(),
            order: wanted.order,
            // A page is three views high, with this one in the middle.
            from: requests.top.saturating_sub(rows),
            rows: 3 * rows,
            selected: requests.selected,
            around: Some(requests.at - requests.top + rows),
        };
        ui.ticket += 1;
        requests.asked = Some((ui.ticket, wanted, requests.selected, !grows));
        reactions.push(Reaction::Ask { ticket: ui.ticket, errand: Errand::Requests { dir: dir.clone(), query } });
    }
    let inspected = requests.selected.filter(|_| requests.inspecting && requests.asked_detail.is_none());
    if let Some(no) = inspected.filter(|_| requests.detail_is_stale()) {
        ui.ticket += 1;
        requests.asked_detail = Some((ui.ticket, no));
        reactions.push(Reaction::Ask { ticket: ui.ticket, errand: Errand::Request { dir, no } });
    }
    reactions
}

impl RequestsUi {
    /// Whether what is shown in full is another request, or an outcome that a newer one has replaced.
    fn detail_is_stale(&self) -> bool {
        match (&self.detail, self.row()) {
            (Some((no, Ok(detail))), Some(row)) => *no != row.no || detail.row.at != row.at,
            (Some((no, Err(_))), Some(row)) => *no != row.no,
            (None, _) => true,
            (Some(_), None) => false,
        }
    }
}

/// Rows came; those that an earlier errand asked for may be of another run, and are not taken.
pub(super) fn found(ui: &mut UiState, ticket: u64, page: Result<Page, String>, now: Mono) -> Vec<Reaction> {
    let requests = &mut ui.requests;
    let Some((_, wanted, asked_for, at_rest)) = requests.asked.take_if(|(asked, ..)| *asked == ticket) else {
        return Vec::new();
    };
    let page = match page {
        Ok(page) => page,
        Err(why) => {
            requests.trouble = Some(why);
            return Vec::new();
        }
    };
    let changed = requests.here != wanted;
    requests.here = wanted;
    (requests.came_at, requests.at_rest) = (now, at_rest);
    let in_view = requests.at - requests.top.min(requests.at);
    // The selection may have moved while the rows were fetched.
    let selected_at = match requests.selected {
        selected if selected == asked_for => page.selected_at,
        Some(no) => page.rows.iter().position(|row| row.no == no).map(|at| page.from + at),
        None => None,
    };
    match selected_at {
        Some(at) => (requests.at, requests.top) = (at, at.saturating_sub(in_view)),
        None if changed && requests.selected.is_some() => (requests.at, requests.top) = (0, 0),
        None => {}
    }
    requests.page = Some(page);
    requests.go(requests.at);
    Vec::new()
}

/// A request came in full; as with rows, only that of the last errand is taken.
pub(super) fn inspected(ui: &mut UiState, ticket: u64, detail: Result<RequestDetail, String>) -> Vec<Reaction> {
    let requests = &mut ui.requests;
    let Some((_, no)) = requests.asked_detail.take_if(|(asked, _)| *asked == ticket) else { return Vec::new() };
    if requests.detail.as_ref().is_none_or(|(before, _)| *before != no) {
        requests.scroll = 0;
    }
    requests.detail = Some((no, detail));
    Vec::new()
}

/// The screen comes into view: what kept it from reading before may be over.
pub(super) fn shown(ui: &mut UiState) -> Vec<Reaction> {
    ui.requests.trouble = None;
    Vec::new()
}

/// Closes what is shown in full. False when nothing is.
pub(in crate::tui) fn close(ui: &mut UiState) -> bool {
    ui.screen == Screen::Requests && std::mem::take(&mut ui.requests.inspecting)
}

/// Why an action is of no use now.
///
/// # Errors
/// The reason.
pub(super) fn valid(action: Action, ui: &UiState) -> Result<(), String> {
    let requests = &ui.requests;
    match action {
        Action::InspectDown | Action::InspectUp if !requests.inspecting => {
            Err("nothing is shown in full; inspect a request first".to_owned())
        }
        Action::InspectRequest | Action::ReDriveRequest if requests.page.is_none() => {
            Err("the journal is being read; in a moment".to_owned())
        }
        Action::InspectRequest if requests.row().is_none() => Err("no request is selected".to_owned()),
        Action::ReDriveRequest => {
            let Some(row) = requests.row() else { return Err("no request is selected".to_owned()) };
            if row.class != Class::ReDrivable {
                return Err(format!("request {} is {}: nothing is to be sent again", row.no.0, row.class.as_str()));
            }
            match ui.driver {
                Driver::Elsewhere => Err("another process drives the run".to_owned()),
                // What is left of a run that is over is sent again by a resume, which says first what it will cost.
                _ => Ok(()),
            }
        }
        _ => Ok(()),
    }
}

pub(super) fn act(ui: &mut UiState, action: Action, snapshot: &Snapshot, now: Mono) -> Vec<Reaction> {
    let rows = view::requests::rows(ui, snapshot).max(1);
    let requests = &mut ui.requests;
    let at = requests.at;
    match action {
        Action::MoveDown => requests.go(at + 1),
        Action::MoveUp => requests.go(at.saturating_sub(1)),
        Action::PageDown => requests.go(at + rows),
        Action::PageUp => requests.go(at.saturating_sub(rows)),
        Action::First => requests.go(0),
        Action::Last => requests.go(usize::MAX),
        Action::Show => {
            requests.class = match requests.class {
                None => Class::ALL.first().copied(),
                Some(class) => Class::ALL.get(class as usize + 1).copied(),
            };
        }
        Action::Sort => {
            requests.order = match requests.order {
                Order::Input => Order::Newest,
                Order::Newest => Order::Input,
            };
        }
        Action::InspectRequest => requests.inspecting = !requests.inspecting,
        Action::InspectDown => requests.scroll = requests.scroll.saturating_add(rows / 2 + 1),
        Action::InspectUp => requests.scroll = requests.scroll.saturating_sub(rows / 2 + 1),
        Action::ReDriveRequest => return re_drive(ui, snapshot, now),
        _ => {}
    }
    Vec::new()
}

/// The command carries the request and the outcome that were shown. A run that is over is resumed, with all that is left.
fn re_drive(ui: &mut UiState, snapshot: &Snapshot, now: Mono) -> Vec<Reaction> {
    let (Some(run), Some(row)) = (shown_run(snapshot), ui.requests.row()) else { return Vec::new() };
    if ui.driver != Driver::Here || ui.is_over(snapshot) {
        let errand = Errand::Assess { dir: PathBuf::from(&run.dir), re_drive: true };
        return ask(ui, errand, "look what a resume would send".to_owned(), snapshot, now);
    }
    let (no, seen, slot) = (row.no, row.class.outcome(), run.slot);
    send(ui, Command::ReDriveRequest { run: slot, no, seen }, format!("send request {} again", no.0), None, now)
}

/// A press on a row: selects, and a second one inspects.
pub(super) fn click(ui: &mut UiState, at: usize, now: Mono) {
    if ui.requests.at == at && ui.requests.row().is_some() {
        ui.requests.inspecting = !ui.requests.inspecting;
    } else {
        ui.requests.go(at);
    }
    if ui.requests.row().is_none() {
        say(ui, "the row is still being read".to_owned(), Tone::Asked, now);
    }
}

#[cfg(test)]
#[path = "requests_tests.rs"]
mod tests;
