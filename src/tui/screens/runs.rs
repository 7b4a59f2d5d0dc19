//! The runs found: which are shown, which one is selected, and what can be done with it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::aim::{self, Aim};
use super::raise::Raise;
use super::{Screen, moved};
use crate::model::{Money, Mono, RunStatus, Snapshot};
use crate::report::format;
use crate::tui::action::Context::Runs;
use crate::tui::action::{Action, ActionInfo, changing, destroying, entry};
use crate::tui::backstage::{Assessment, Driver, Errand, RunFacts, RunLimit, RunRow, RunsFound};
use crate::tui::commands::{ask, confirm, say};
use crate::tui::field::TextField;
use crate::tui::msg::Reaction;
use crate::tui::state::{Ask, Deed, Gate, Overlay, Tone, UiState};

/// What the screen adds to the registry.
pub const ACTIONS: &[ActionInfo] = &[
    entry(Action::OpenRun, "open-run", &["enter", "o"], "show the selected run", Some("open"), &[Runs]),
    destroying(entry(
        Action::ResumeRun,
        "resume-run",
        &["r"],
        "go on with the run; says the cost and asks",
        Some("resume"),
        &[Runs],
    )),
    destroying(entry(
        Action::ReDriveRun,
        "redrive-run",
        &["R"],
        "resume, and send again what a policy left; asks",
        Some("re-drive"),
        &[Runs],
    )),
    entry(Action::ReportRun, "report-run", &["i"], "say what happened in the run", Some("report"), &[Runs]),
    changing(entry(
        Action::ExportRun,
        "export-run",
        &["e"],
        "write the results to a file, as JSON lines",
        Some("export"),
        &[Runs],
    )),
    changing(entry(Action::ExportTable, "export-table", &["E"], "write the results to a file, as CSV", None, &[Runs])),
    destroying(entry(
        Action::DeleteRun,
        "delete-run",
        &["D", "delete"],
        "delete the run and its results; asks",
        Some("delete"),
        &[Runs],
    )),
    changing(entry(
        Action::StartDemo,
        "start-demo",
        &["d"],
        "start the demo: no key, no network",
        Some("demo"),
        &[Runs],
    )),
    entry(Action::LookAgain, "look-again", &["f5", "ctrl-r"], "look for runs again", None, &[Runs]),
];

/// Between two looks at the disk while the list is shown.
const LOOK_EVERY: Duration = Duration::from_secs(5);

/// What comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sort {
    /// The newest.
    #[default]
    Newest,
    /// What goes on, then what can be resumed.
    State,
    /// What has the most left.
    Left,
    /// What cost the most.
    Cost,
}

impl Sort {
    /// Its word.
    pub fn as_str(self) -> &'static str {
        match self {
            Sort::Newest => "newest",
            Sort::State => "state",
            Sort::Left => "left",
            Sort::Cost => "cost",
        }
    }
}

/// Which are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Kind {
    /// All.
    #[default]
    All,
    /// Those that somebody drives.
    Live,
    /// Those that can be resumed.
    Resumable,
}

impl Kind {
    /// Its word.
    pub fn as_str(self) -> &'static str {
        match self {
            Kind::All => "all",
            Kind::Live => "live",
            Kind::Resumable => "resumable",
        }
    }
}

/// What the screen remembers.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RunsUi {
    /// The runs as they were found last; `None` while they are looked for the first time.
    pub found: Option<RunsFound>,
    /// When they were found.
    pub found_at: Mono,
    /// They are being looked for.
    pub looking: bool,
    /// A run was deleted or made since that look began, which may have seen it or not: what it finds is not taken.
    pub outdated: bool,
    /// Why they could not be found, when they were looked for last.
    pub trouble: Option<String>,
    /// The selected run, by its directory; the first one without.
    pub selected: Option<PathBuf>,
    /// A screen about a run was shown since the list was: the list is to select that run.
    pub aims: bool,
    /// The run that is to be selected once the list has it; none is until then.
    pub aim: Option<Aim>,
    /// Only runs that contain this are shown.
    pub filter: TextField,
    /// What comes first.
    pub sort: Sort,
    /// Which are shown.
    pub kind: Kind,
}

/// What the filter looks into.
fn text_of(row: &RunRow) -> String {
    let facts = row.facts.as_ref().map_or_else(Clone::clone, |facts| {
        format!("{} {} {} {}", facts.run_id, facts.input, facts.standing, facts.path)
    });
    format!("{} {facts}", row.dir.display())
}

impl RunsUi {
    /// The rows that kind and filter leave, in order. Those that cannot be read come last.
    pub fn shown(&self) -> Vec<&RunRow> {
        let of_kind = |row: &&RunRow| match (&row.facts, self.kind) {
            (_, Kind::All) => true,
            (Ok(facts), Kind::Live) => facts.owner.is_some(),
            (Ok(facts), Kind::Resumable) => facts.resumable,
            (Err(_), _) => false,
        };
        let all = self.found.iter().flat_map(|found| &found.rows);
        let mut rows: Vec<&RunRow> = all.filter(of_kind).filter(|row| self.filter.matches(&text_of(row))).collect();
        let key = |facts: &RunFacts| match self.sort {
            Sort::Newest => 0,
            Sort::State => u64::from(facts.owner.is_some()) * 2 + u64::from(facts.resumable),
            Sort::Left => facts.counts.open(),
            Sort::Cost => facts.cost.0,
        };
        rows.sort_by_key(|row| std::cmp::Reverse(row.facts.as_ref().map_or(None, |facts| Some(key(facts)))));
        rows
    }

    /// Position of the selected row among those that are shown; the selection follows the run, not the row. `None` while the
    /// run that is to be selected is being looked for.
    pub fn selected_ix(&self, shown: &[&RunRow]) -> Option<usize> {
        let at = |dir: &PathBuf| shown.iter().position(|row| row.dir == *dir);
        self.aim.is_none().then(|| self.selected.as_ref().and_then(at).unwrap_or(0))
    }

    /// The selected row.
    pub fn selected_row(&self) -> Option<&RunRow> {
        let shown = self.shown();
        shown.get(self.selected_ix(&shown)?).copied()
    }

    /// How many there are in all.
    pub fn total(&self) -> usize {
        self.found.as_ref().map_or(0, |found| found.rows.len())
    }
}

/// The screen comes into view: the runs are looked for.
pub(super) fn shown(ui: &mut UiState) -> Vec<Reaction> {
    if ui.runs.looking {
        return Vec::new();
    }
    ui.runs.looking = true;
    vec![Reaction::Ask { ticket: 0, errand: Errand::ListRuns }]
}

/// Time passes: other processes may have changed what is on the disk.
pub(super) fn tick(ui: &mut UiState, now: Mono) -> Vec<Reaction> {
    if now.since(ui.runs.found_at) < LOOK_EVERY { Vec::new() } else { shown(ui) }
}

/// The runs were looked for.
pub(super) fn found(ui: &mut UiState, found: Result<RunsFound, String>, now: Mono) -> Vec<Reaction> {
    ui.runs.looking = false;
    if std::mem::take(&mut ui.runs.outdated) {
        return shown(ui);
    }
    ui.runs.found_at = now;
    match found {
        Ok(found) => {
            (ui.runs.found, ui.runs.trouble) = (Some(found), None);
            aim::settle(&mut ui.runs);
            // It is not in the list, and will not be.
            ui.runs.aim = None;
        }
        Err(why) => ui.runs.trouble = Some(why),
    }
    Vec::new()
}

pub(super) fn valid(action: Action, ui: &UiState, snapshot: &Snapshot) -> Result<(), String> {
    let of_a_run = [
        Action::OpenRun,
        Action::ResumeRun,
        Action::ReDriveRun,
        Action::ExportRun,
        Action::ExportTable,
        Action::ReportRun,
        Action::DeleteRun,
    ];
    if [Action::Sort, Action::Show, Action::Filter].contains(&action) && ui.runs.total() == 0 {
        return Err("there is no run to show".to_owned());
    }
    if !of_a_run.contains(&action) {
        return Ok(());
    }
    if ui.runs.aim.is_some() {
        return Err("the run is being looked for; select one, or press again when the list has come".to_owned());
    }
    let Some(row) = ui.runs.selected_row() else { return Err("there is no run to select".to_owned()) };
    let facts = row.facts.as_ref().map_err(|why| format!("it cannot be read: {why}"))?;
    match action {
        Action::ResumeRun | Action::ReDriveRun | Action::DeleteRun if facts.here || is_shown(ui, snapshot, row) => {
            let then = if action == Action::DeleteRun { "deleted" } else { "resumed" };
            let show = match is_shown(ui, snapshot, row) {
                true => format!("{} shows it", ui.keymap.hint(Action::ShowLive)),
                false => format!("{} looks whether it still does", ui.keymap.hint(Action::LookAgain)),
            };
            Err(format!("this console drives it: {show}; it can be {then} once it has ended"))
        }
        Action::ResumeRun | Action::ReDriveRun | Action::DeleteRun if facts.owner.is_some() => {
            Err(format!("{} drives it; end that first", facts.owner.as_deref().unwrap_or("another process")))
        }
        Action::ResumeRun | Action::ReDriveRun if !facts.resumable => Err("nothing is left to send".to_owned()),
        _ => Ok(()),
    }
}

pub(super) fn act(ui: &mut UiState, action: Action, snapshot: &Snapshot, now: Mono) -> Vec<Reaction> {
    match action {
        Action::Sort => {
            ui.runs.sort = match ui.runs.sort {
                Sort::Newest => Sort::State,
                Sort::State => Sort::Left,
                Sort::Left => Sort::Cost,
                Sort::Cost => Sort::Newest,
            };
            Vec::new()
        }
        Action::Show => {
            ui.runs.kind = match ui.runs.kind {
                Kind::All => Kind::Live,
                Kind::Live => Kind::Resumable,
                Kind::Resumable => Kind::All,
            };
            Vec::new()
        }
        Action::LookAgain => shown(ui),
        Action::StartDemo => ask(ui, Errand::Demo, "start the demo".to_owned(), snapshot, now),
        _ => act_on_selected(ui, action, snapshot, now),
    }
}

/// Whether a row is the run that goes on here, and is shown.
pub fn is_shown(ui: &UiState, snapshot: &Snapshot, row: &RunRow) -> bool {
    let goes_on = ui.driver == Driver::Here && !ui.is_over(snapshot);
    // One that was started with a path as seen from here is listed by its whole path.
    let here = row.facts.as_ref().is_ok_and(|facts| facts.here);
    goes_on && (here || snapshot.runs.iter().any(|run| Path::new(&run.dir) == row.dir))
}

fn act_on_selected(ui: &mut UiState, action: Action, snapshot: &Snapshot, now: Mono) -> Vec<Reaction> {
    let Some(row) = ui.runs.selected_row().cloned() else { return move_selection(ui, action) };
    let is_shown = is_shown(ui, snapshot, &row);
    let RunRow { dir, facts } = row;
    let (errand, what) = match action {
        Action::OpenRun if is_shown => {
            ui.go_to(Screen::Live);
            return Vec::new();
        }
        Action::OpenRun => (Errand::Open { dir }, "open the run"),
        Action::ResumeRun => (Errand::Assess { dir, re_drive: false }, "find out what is left to send"),
        Action::ReDriveRun => (Errand::Assess { dir, re_drive: true }, "find out what would be sent again"),
        Action::ExportRun => (Errand::Export { dir, csv: false }, "write the results"),
        Action::ExportTable => (Errand::Export { dir, csv: true }, "write the results as CSV"),
        Action::ReportRun => (Errand::Report { dir }, "report"),
        Action::DeleteRun => {
            if let Ok(facts) = facts {
                confirm(ui, delete_question(dir, &facts));
            }
            return Vec::new();
        }
        _ => return move_selection(ui, action),
    };
    ask(ui, errand, what.to_owned(), snapshot, now)
}

fn move_selection(ui: &mut UiState, action: Action) -> Vec<Reaction> {
    let shown = ui.runs.shown();
    let next = moved(action, ui.runs.selected_ix(&shown).unwrap_or(0), shown.len(), usize::from(ui.size.1) / 2);
    select_ix(ui, next);
    Vec::new()
}

fn delete_question(dir: PathBuf, facts: &RunFacts) -> Ask {
    let counts = &facts.counts;
    let mut lines = vec![
        format!("{}: {}.", facts.input, facts.standing),
        dir.display().to_string(),
        String::new(),
        format!(
            "{} results that cost {} are deleted with it; {} requests are left unsent.",
            format::count(counts.done()),
            format::money(facts.cost),
            format::count(counts.open())
        ),
        "What is in the cache stays there. This cannot be taken back.".to_owned(),
    ];
    if facts.status != RunStatus::Finished && counts.in_flight > 0 {
        lines.push(format!("{} were in flight when it was cut off.", format::count(counts.in_flight)));
    }
    lines.extend([String::new(), "y  delete it    Esc  keep it".to_owned()]);
    let errand = Errand::Delete { dir, run_id: facts.run_id.clone(), done: counts.done() };
    let deed = Deed::Errand { errand, what: format!("delete {}", facts.run_id) };
    Ask { gate: Gate::Delete, lines, deed }
}

/// What a resume would send is known: the gate opens.
pub(super) fn assessed(ui: &mut UiState, assessed: Result<Assessment, String>, now: Mono) -> Vec<Reaction> {
    let assessed = match assessed {
        Ok(assessed) => assessed,
        Err(why) => {
            say(ui, why, Tone::Bad, now);
            return Vec::new();
        }
    };
    if ui.overlay.is_some() {
        say(ui, "the answer came while something else was asked; ask again".to_owned(), Tone::Bad, now);
        return Vec::new();
    }
    if let Some(limit) = assessed.ended_at {
        ui.overlay = Some(Overlay::Raise(Box::new(Raise::of(assessed, limit))));
    } else {
        confirm(ui, resume_question(assessed, None));
    }
    Vec::new()
}

/// The question before a run goes on, with the limit that was raised for it.
pub(super) fn resume_question(assessed: Assessment, raised: Option<RunLimit>) -> Ask {
    let Assessment { dir, re_drive, input, n_left, in_batches, cost, spent, max_cost, orgs, ended_at, .. } = assessed;
    let mut lines = vec![match in_batches {
        0 => format!("{input}: {} requests are left.", format::count(n_left)),
        n => format!(
            "{input}: {} requests are left. {} of them are in batches at the API: they are harvested, and not sent again.",
            format::count(n_left),
            format::count(n)
        ),
    }];
    let most = match raised {
        Some(RunLimit::Cost(most)) => Some(most),
        _ => max_cost,
    };
    // The money comes first: on a small screen, what comes last is cut.
    if let (Some(before), Some(raised)) = (ended_at, raised) {
        lines.push(format!("The limit of the run is raised from {before} to {raised}, over all of its sessions."));
    }
    if let Some(most) = most {
        let (more, spent, most) = (Money(most.0.saturating_sub(spent.0)), format::money(spent), format::money(most));
        lines.push(format!("It costs at most {} more: {spent} of {most} is spent.", format::money(more)));
    }
    if n_left > 0 {
        lines.extend([format!("Projected cost: {cost}."), format!("Over {}.", orgs.join(", "))]);
    }
    if re_drive {
        lines.push("Also what a policy left re-drivable is sent again.".to_owned());
    }
    lines.extend([String::new(), dir.display().to_string(), String::new(), "y  go on    Esc  not now".to_owned()]);
    let up_to = raised.map_or(String::new(), |raised| format!(", up to {raised}"));
    let what = format!("go on with {input}{up_to}");
    let deed = Deed::Errand { errand: Errand::Resume { dir, re_drive, agreed: n_left, raised }, what };
    Ask { gate: Gate::Resume, lines, deed }
}

/// A run is gone, or is not.
pub(super) fn deleted(ui: &mut UiState, deleted: Result<PathBuf, String>, now: Mono) -> Vec<Reaction> {
    match deleted {
        Ok(dir) => {
            say(ui, format!("deleted: {}", dir.display()), Tone::Good, now);
            if let Some(found) = &mut ui.runs.found {
                found.rows.retain(|row| row.dir != dir);
            }
            ui.runs.outdated = ui.runs.looking;
        }
        Err(why) => say(ui, why, Tone::Bad, now),
    }
    shown(ui)
}

/// Selects a row by its position among those that are shown.
pub(super) fn select_ix(ui: &mut UiState, ix: usize) {
    let Some(dir) = ui.runs.shown().get(ix).map(|row| row.dir.clone()) else { return };
    (ui.runs.selected, ui.runs.aim) = (Some(dir), None);
}
