//! What the screen of the requests asks for, and where the selection goes.

use super::*;
use crate::model::{Money, RunSlot};
use crate::report::fixtures;
use crate::tui::backstage::Answer;
use crate::tui::msg::Msg;
use crate::tui::update::update;

const ALL: usize = 1_000_000;

fn row(no: usize) -> RequestRow {
    RequestRow {
        no: RequestNo(no as u32),
        custom_id: format!("judge-{no}"),
        class: if no % 10 == 3 { Class::ReDrivable } else { Class::Succeeded },
        org: "high-prio".to_owned(),
        path: "sync".to_owned(),
        attempt: 1,
        request_id: String::new(),
        latency_ms: 1_200,
        tokens_in: 10,
        tokens_out: 5,
        cost: Money::ZERO,
        at: "2026-11-29T17:05:09.042Z".to_owned(),
        stop_reason: "end_turn".to_owned(),
        error: String::new(),
        excerpt: "yes".to_owned(),
    }
}

/// What lies behind the screens, for a run of which these requests have an outcome.
fn answer(query: &Query, nos: &[usize]) -> Page {
    let selected_at = query.selected.and_then(|no| nos.iter().position(|other| *other == no.ix()));
    let from = match (selected_at, query.around) {
        (Some(at), Some(above)) => at.saturating_sub(above),
        _ => query.from,
    };
    let from = from.min(nos.len().saturating_sub(query.rows));
    let rows = nos.iter().skip(from).take(query.rows).map(|no| row(*no)).collect();
    let counts = [0, nos.len() as u64, 0, 0, 0];
    Page { from, rows, n_matched: nos.len(), counts, selected_at, read: 1, size: 1, n_passed_over: 0 }
}

/// A console that shows the requests of a run which is over.
struct Desk {
    ui: UiState,
    snapshot: Snapshot,
    nos: Vec<usize>,
    now: Mono,
    asked: Vec<Errand>,
    /// That of the last errand.
    ticket: u64,
    commands: Vec<Command>,
}

impl Desk {
    fn new(nos: impl IntoIterator<Item = usize>) -> Desk {
        let ui = UiState { size: (120, 40), ..UiState::default() };
        let (snapshot, nos) = (fixtures::finished(), nos.into_iter().collect());
        let mut desk = Desk { ui, snapshot, nos, now: Mono::ZERO, asked: Vec::new(), ticket: 0, commands: Vec::new() };
        desk.act(Action::ShowRequests);
        desk.deliver();
        desk
    }

    fn tell(&mut self, msg: Msg) {
        for reaction in update(&mut self.ui, msg, &self.snapshot, self.now) {
            match reaction {
                Reaction::Ask { errand, ticket } => {
                    self.ticket = ticket;
                    self.asked.push(errand);
                }
                Reaction::Send { command, .. } => self.commands.push(command),
                _ => {}
            }
        }
    }

    fn act(&mut self, action: Action) {
        self.tell(Msg::Act(action));
    }

    /// Answers what was asked, until nothing is.
    fn deliver(&mut self) {
        for _ in 0..10 {
            let Some(errand) = self.asked.pop() else { return };
            assert!(self.asked.is_empty(), "one thing at a time");
            let answer = match errand {
                Errand::Requests { query, .. } => Answer::Requests(Ok(answer(&query, &self.nos))),
                Errand::Request { no, .. } => {
                    let detail = RequestDetail { row: row(no.ix()), request: Ok(vec![]), answer: vec![] };
                    Answer::Request(no, Ok(Box::new(detail)))
                }
                other => panic!("{other:?}"),
            };
            self.tell(Msg::Told { ticket: self.ticket, answer });
        }
        panic!("the screen never stops asking");
    }

    fn selected(&self) -> usize {
        self.ui.requests.row().expect("a row").no.ix()
    }
}

#[test]
fn t10_a_million_rows_are_moved_through_at_once_and_a_page_is_all_that_is_held() {
    let mut desk = Desk::new(0..ALL);
    assert_eq!(desk.selected(), 0);
    desk.act(Action::Last);
    assert_eq!(desk.ui.requests.at, ALL - 1, "the selection does not wait for the rows");
    desk.deliver();
    assert_eq!(desk.selected(), ALL - 1);
    for _ in 0..1_000 {
        desk.act(Action::PageUp);
    }
    desk.deliver();
    assert!(desk.selected() < ALL - 10_000);
    assert!(desk.ui.requests.page.as_ref().unwrap().rows.len() <= 3 * 40);
    desk.act(Action::MoveDown);
    assert!(desk.asked.is_empty(), "the next row is here already");
    desk.act(Action::First);
    desk.deliver();
    assert_eq!(desk.selected(), 0);
}

#[test]
fn nothing_is_asked_twice_while_an_answer_is_awaited_and_nothing_when_all_is_here() {
    let mut desk = Desk::new(0..ALL);
    desk.act(Action::Last);
    desk.act(Action::First);
    desk.act(Action::Last);
    assert_eq!(desk.asked.len(), 1);
    desk.deliver();
    assert_eq!(desk.selected(), ALL - 1);
    desk.tell(Msg::Tick);
    assert!(desk.asked.is_empty(), "a run that is over does not change");
}

#[test]
fn the_selection_follows_the_request_when_others_come_before_it() {
    let mut desk = Desk::new((0..500).map(|no| no * 2));
    desk.snapshot = fixtures::busy();
    for _ in 0..20 {
        desk.act(Action::MoveDown);
    }
    desk.deliver();
    assert_eq!(desk.selected(), 40);
    let in_view = desk.ui.requests.at - desk.ui.requests.top;
    desk.nos = (0..1_000).collect();
    desk.now = Mono::from_span(Duration::from_secs(1));
    desk.tell(Msg::Picture);
    desk.deliver();
    assert_eq!(desk.selected(), 40);
    assert_eq!(desk.ui.requests.at - desk.ui.requests.top, in_view, "it stays where the eye is");
}

#[test]
fn a_filter_is_asked_for_as_it_is_typed_and_a_selection_that_it_hides_goes_to_the_first() {
    let mut desk = Desk::new(0..100);
    desk.act(Action::Last);
    desk.deliver();
    desk.act(Action::Filter);
    desk.tell(Msg::Type('7'));
    let Some(Errand::Requests { query, .. }) = desk.asked.last() else { panic!("{:?}", desk.asked) };
    assert_eq!(query.text, "7");
    desk.nos = vec![7, 17, 27];
    desk.deliver();
    assert_eq!(desk.selected(), 7);
    desk.act(Action::KeepText);
    desk.act(Action::Back);
    desk.nos = (0..100).collect();
    desk.deliver();
    assert_eq!(desk.selected(), 7, "the selected request is found again without the filter");
    desk.act(Action::Show);
    let Some(Errand::Requests { query, .. }) = desk.asked.last() else { panic!("{:?}", desk.asked) };
    assert_eq!(query.class, Some(Class::Cached));
}

#[test]
fn no_match_is_an_empty_list_and_moving_in_it_breaks_nothing() {
    let mut desk = Desk::new([]);
    for action in [Action::MoveDown, Action::PageUp, Action::Last, Action::InspectRequest, Action::ReDriveRequest] {
        desk.act(action);
        desk.deliver();
    }
    assert_eq!((desk.ui.requests.row(), desk.ui.requests.inspecting), (None, false));
    assert!(desk.commands.is_empty());
}

#[test]
fn what_is_shown_in_full_is_fetched_for_the_selected_request_and_esc_closes_it() {
    let mut desk = Desk::new(0..100);
    desk.act(Action::InspectRequest);
    desk.deliver();
    desk.act(Action::InspectDown);
    assert!(desk.ui.requests.scroll > 0);
    desk.act(Action::MoveDown);
    desk.deliver();
    assert_eq!(desk.ui.requests.detail.as_ref().map(|(no, _)| no.0), Some(1));
    assert_eq!(desk.ui.requests.scroll, 0, "another request is read from its start");
    desk.act(Action::Back);
    assert!(!desk.ui.requests.inspecting);
    assert_eq!(desk.ui.screen, Screen::Requests);
}

#[test]
fn a_re_drive_names_the_request_and_the_outcome_that_were_shown_and_only_a_re_drivable_one() {
    let mut desk = Desk::new(0..100);
    desk.snapshot = fixtures::busy();
    desk.act(Action::ReDriveRequest);
    assert!(desk.commands.is_empty());
    for _ in 0..3 {
        desk.act(Action::MoveDown);
    }
    desk.act(Action::ReDriveRequest);
    let seen = crate::model::Outcome::ReDrivable;
    assert_eq!(desk.commands, [Command::ReDriveRequest { run: RunSlot(0), no: RequestNo(3), seen }]);
    desk.ui.read_only = true;
    desk.act(Action::ReDriveRequest);
    assert_eq!(desk.commands.len(), 1);
    (desk.ui.read_only, desk.snapshot) = (false, fixtures::finished());
    desk.act(Action::ReDriveRequest);
    assert_eq!(desk.commands.len(), 1);
    let dir = PathBuf::from(&desk.snapshot.runs[0].dir);
    assert_eq!(desk.asked, [Errand::Assess { dir, re_drive: true }], "a run that is over is resumed, which asks first");
}

#[test]
fn a_journal_that_cannot_be_read_is_said_once_and_tried_again_when_the_screen_is_shown_again() {
    let mut desk = Desk::new(0..10);
    desk.act(Action::Sort);
    desk.asked.clear();
    desk.tell(Msg::Told { ticket: desk.ticket, answer: Answer::Requests(Err("no permission".to_owned())) });
    desk.tell(Msg::Tick);
    assert!(desk.asked.is_empty());
    desk.act(Action::ShowLive);
    desk.act(Action::ShowRequests);
    assert_eq!(desk.asked.len(), 1);
}

#[test]
fn rows_that_the_run_before_was_asked_for_are_not_taken_for_those_of_the_run_that_is_shown() {
    let mut desk = Desk::new(0..10);
    desk.act(Action::Sort);
    let of_the_run_before = desk.ticket;
    desk.ui.requests = RequestsUi::default();
    desk.tell(Msg::Tick);
    assert_ne!(desk.ticket, of_the_run_before);
    let late = Page { n_matched: 777, ..Page::default() };
    desk.tell(Msg::Told { ticket: of_the_run_before, answer: Answer::Requests(Ok(late)) });
    assert_eq!(desk.ui.requests.page, None);
    desk.asked.drain(..1);
    desk.deliver();
    assert_eq!(desk.ui.requests.page.as_ref().map(|page| page.n_matched), Some(10));
}

#[test]
fn what_was_written_last_is_read_when_the_run_has_come_to_rest_and_then_no_more() {
    let mut desk = Desk::new(0..3);
    desk.snapshot = fixtures::busy();
    desk.now = desk.now + REFRESH;
    desk.tell(Msg::Tick);
    desk.deliver();
    // The last outcomes and the end of the run come before the next look is due.
    desk.nos = (0..5).collect();
    desk.snapshot = fixtures::finished();
    desk.tell(Msg::Picture);
    desk.deliver();
    assert_eq!(desk.ui.requests.page.as_ref().unwrap().n_matched, 5);
    desk.now = desk.now + REFRESH;
    desk.tell(Msg::Tick);
    assert!(desk.asked.is_empty(), "a run at rest does not change");
}

#[test]
fn what_is_pressed_before_the_journal_is_read_is_answered_with_that() {
    let mut ui = UiState { size: (120, 40), ..UiState::default() };
    let snapshot = fixtures::finished();
    for action in [Action::ShowRequests, Action::InspectRequest] {
        update(&mut ui, Msg::Act(action), &snapshot, Mono::ZERO);
    }
    assert!(ui.toast.is_some_and(|toast| toast.text.contains("being read")));
}
