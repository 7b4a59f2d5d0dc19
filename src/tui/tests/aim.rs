//! From a screen about a run to the list: what is selected there, and what its keys then mean.

use super::*;
use crate::tui::backstage::{Answer, Driver, Errand};
use crate::tui::field::TextField;
use crate::tui::screens::runs::Kind;

/// The picture of the run in a row of [`runs_found`], as the console was started with.
fn picture_of(row: usize, snapshot: Snapshot) -> Snapshot {
    let found = runs_found();
    let mut snapshot = snapshot;
    snapshot.runs.truncate(1);
    snapshot.runs[0].dir = found.rows[row].dir.display().to_string();
    snapshot.runs[0].run_id = found.rows[row].facts.as_ref().unwrap().run_id.clone();
    snapshot
}

/// The rows of [`runs_found`], of which "labels" is the last one that can be read.
const LABELS: usize = 2;

fn come(ui: &mut UiState, found: RunsFound, snapshot: &Snapshot) -> Vec<Reaction> {
    update(ui, Msg::Told { ticket: 0, answer: Answer::Runs(Ok(found)) }, snapshot, NOW)
}

fn selected(ui: &UiState) -> Option<String> {
    ui.runs.selected_row().and_then(|row| Some(row.dir.file_name()?.to_string_lossy().into_owned()))
}

#[test]
fn the_list_selects_the_run_that_was_shown_and_not_the_newest_also_when_its_rows_come_later() {
    for driver in [Driver::Here, Driver::Elsewhere, Driver::Nobody] {
        let snapshot = picture_of(LABELS, fixtures::incomplete());
        let mut ui = UiState { driver, screen: Screen::Log, runs: runs(), ..ui() };
        press(&mut ui, &snapshot, Action::ShowRuns);
        assert_eq!(selected(&ui).as_deref(), Some("labels"), "{driver:?}");
        let mut ui = UiState { driver, ..super::ui() };
        let looks = press(&mut ui, &snapshot, Action::ShowRuns);
        assert_eq!(looks, [Reaction::Ask { ticket: 0, errand: Errand::ListRuns }]);
        come(&mut ui, runs_found(), &snapshot);
        assert_eq!(selected(&ui).as_deref(), Some("labels"), "{driver:?}");
    }
}

#[test]
fn the_way_over_the_planner_and_the_way_back_lead_to_the_run_that_was_shown_too() {
    let snapshot = picture_of(LABELS, fixtures::incomplete());
    let draft = crate::tui::screens::planner::tests::draft(Some("judge.jsonl"));
    let planner = crate::tui::screens::planner::PlannerUi { draft: Some(Box::new(draft)), ..Default::default() };
    let mut ui = UiState { driver: Driver::Nobody, runs: runs(), planner, ..ui() };
    let mut over_the_planner = ui.clone();
    press(&mut over_the_planner, &snapshot, Action::ShowPlanner);
    assert_eq!(over_the_planner.screen, Screen::Planner);
    press(&mut over_the_planner, &snapshot, Action::ShowRuns);
    assert_eq!(selected(&over_the_planner).as_deref(), Some("labels"));
    ui.before = vec![Screen::Runs];
    press(&mut ui, &snapshot, Action::Back);
    assert_eq!((ui.screen, selected(&ui).as_deref()), (Screen::Runs, Some("labels")));
    // What the operator selects here stays, whatever comes, until a run was shown again.
    press(&mut ui, &snapshot, Action::First);
    come(&mut ui, runs_found(), &snapshot);
    press(&mut ui, &snapshot, Action::ShowRuns);
    ui.screen = Screen::Planner;
    press(&mut ui, &snapshot, Action::ShowRuns);
    assert_eq!(selected(&ui).as_deref(), Some("cut-off"));
    press(&mut ui, &snapshot, Action::ShowLive);
    press(&mut ui, &snapshot, Action::ShowRuns);
    assert_eq!(selected(&ui).as_deref(), Some("labels"));
}

#[test]
fn while_the_list_does_not_have_the_run_yet_its_keys_mean_no_other() {
    let snapshot = picture_of(LABELS, fixtures::incomplete());
    let mut before = runs_found();
    before.rows.remove(LABELS);
    let stale = RunsUi { found: Some(before.clone()), looking: true, ..RunsUi::default() };
    let mut ui = UiState { driver: Driver::Nobody, runs: stale, ..ui() };
    // A look that goes on may have begun before the run was made: another one is taken.
    press(&mut ui, &snapshot, Action::ShowRuns);
    for action in [Action::ResumeRun, Action::DeleteRun, Action::OpenRun, Action::ExportRun] {
        assert_eq!((press(&mut ui, &snapshot, action), &ui.overlay), (vec![], &None), "{action:?}");
        assert!(ui.toast.take().unwrap().text.contains("being looked for"), "{action:?}");
    }
    let again = come(&mut ui, before.clone(), &snapshot);
    assert_eq!(again, [Reaction::Ask { ticket: 0, errand: Errand::ListRuns }]);
    let mut by_hand = ui.clone();
    come(&mut ui, runs_found(), &snapshot);
    assert_eq!(selected(&ui).as_deref(), Some("labels"));
    // A selection by hand meanwhile stays.
    press(&mut by_hand, &snapshot, Action::MoveDown);
    come(&mut by_hand, runs_found(), &snapshot);
    assert_eq!(selected(&by_hand).as_deref(), Some("live"));
}

#[test]
fn a_run_that_is_not_in_the_list_leaves_the_first_one_selected() {
    let mut snapshot = picture_of(LABELS, fixtures::incomplete());
    (snapshot.runs[0].dir, snapshot.runs[0].run_id) = ("/gone".to_owned(), "run-gone".to_owned());
    let mut ui = UiState { driver: Driver::Nobody, runs: runs(), ..ui() };
    press(&mut ui, &snapshot, Action::ShowRuns);
    come(&mut ui, runs_found(), &snapshot);
    assert_eq!(selected(&ui).as_deref(), Some("cut-off"));
}

#[test]
fn a_run_that_was_started_with_a_path_as_seen_from_here_is_found_by_its_id_unless_a_copy_has_it_too() {
    let mut snapshot = picture_of(LABELS, fixtures::incomplete());
    snapshot.runs[0].dir = "./labels".to_owned();
    let mut found = runs_found();
    let mut ui = UiState { driver: Driver::Nobody, ..ui() };
    press(&mut ui, &snapshot, Action::ShowRuns);
    let mut with_copy = ui.clone();
    come(&mut ui, found.clone(), &snapshot);
    assert_eq!(selected(&ui).as_deref(), Some("labels"));
    let mut copy = found.rows[LABELS].clone();
    copy.dir = "/mnt/copy".into();
    found.rows.push(copy);
    come(&mut with_copy, found, &snapshot);
    assert_eq!(selected(&with_copy).as_deref(), Some("cut-off"));
}

#[test]
fn a_filter_that_would_hide_the_run_goes_and_one_that_is_typed_stays() {
    let snapshot = picture_of(LABELS, fixtures::incomplete());
    let hides = || RunsUi { filter: TextField { text: "cut".to_owned(), editing: false }, ..runs() };
    let mut ui = UiState { driver: Driver::Nobody, runs: RunsUi { kind: Kind::Live, ..hides() }, ..ui() };
    press(&mut ui, &snapshot, Action::ShowRuns);
    assert_eq!((selected(&ui).as_deref(), ui.runs.shown().len()), (Some("labels"), ui.runs.total()));
    let mut ui = UiState { driver: Driver::Nobody, runs: RunsUi { found: None, ..hides() }, ..super::ui() };
    press(&mut ui, &snapshot, Action::ShowRuns);
    ui.runs.filter.editing = true;
    come(&mut ui, runs_found(), &snapshot);
    assert_eq!((ui.runs.filter.text.as_str(), ui.runs.filter.editing), ("cut", true));
}

#[test]
fn of_the_run_that_this_console_drives_it_says_so_and_names_no_process_to_end() {
    let snapshot = picture_of(1, fixtures::busy());
    let mut found = runs_found();
    found.rows[1].facts.as_mut().unwrap().here = true;
    let mut ui = UiState { driver: Driver::Here, runs: RunsUi { found: Some(found), ..RunsUi::default() }, ..ui() };
    press(&mut ui, &snapshot, Action::ShowRuns);
    assert_eq!(selected(&ui).as_deref(), Some("live"));
    for (action, then) in
        [(Action::ResumeRun, "resumed"), (Action::ReDriveRun, "resumed"), (Action::DeleteRun, "deleted")]
    {
        assert_eq!((press(&mut ui, &snapshot, action), &ui.overlay), (vec![], &None));
        let said = ui.toast.take().unwrap().text;
        assert_eq!(said, format!("this console drives it: 3 shows it; it can be {then} once it has ended"));
    }
    // Its directory as seen from here changes nothing, and Enter shows it.
    let mut elsewhere = snapshot.clone();
    elsewhere.runs[0].dir = "./live".to_owned();
    press(&mut ui, &elsewhere, Action::OpenRun);
    assert_eq!((ui.screen, &ui.overlay), (Screen::Live, &None));
    // Once it is over, while the list does not know that yet, it is no other process either.
    press(&mut ui, &picture_of(1, fixtures::finished()), Action::ShowRuns);
    press(&mut ui, &picture_of(1, fixtures::finished()), Action::ResumeRun);
    let said = ui.toast.take().unwrap().text;
    assert!(said.starts_with("this console drives it: F5 looks") && !said.contains("4711"), "{said}");
}
