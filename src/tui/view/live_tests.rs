//! What the live screen and the overlays make reachable: every picture within two keys, every figure of every org in the same
//! row, every action of the product by a search, every line of a text.

use super::tests::screen;
use super::*;
use crate::model::Counts;
use crate::model::snapshot::{BatchesView, RunView};
use crate::report::fixtures;
use crate::tui::action::{Action, Context, registry};
use crate::tui::backstage::Driver;
use crate::tui::msg::Msg;
use crate::tui::update::update;

/// The first words of the title of each picture.
const PICTURES: [&str; 6] =
    ["── high-prio ", "── latency of ", "── headroom ", "── attempts ", "── cost ", "── sub-batches over time "];

fn pressed(snapshot: &Snapshot, size: (u16, u16), actions: &[Action]) -> UiState {
    let mut ui = UiState { size, ..UiState::default() };
    for action in actions {
        update(&mut ui, Msg::Act(*action), snapshot, Mono::ZERO);
    }
    ui
}

#[test]
fn every_picture_is_within_two_keys_of_the_live_screen_at_every_size_that_has_room_for_one() {
    use Action::{NextPicture as Next, PreviousPicture as Before};
    let snapshot = fixtures::batches();
    for size in [(80, 24), (100, 30), (120, 30), (120, 40), (150, 50), (200, 60)] {
        let shown: String = [&[][..], &[Next], &[Before], &[Next, Next], &[Before, Before]]
            .map(|keys| screen(&snapshot, pressed(&snapshot, size, keys), size))
            .concat();
        for picture in PICTURES {
            assert!(shown.contains(picture), "{size:?}: {picture}\n{shown}");
        }
    }
}

#[test]
fn the_pictures_take_turns_with_the_log_where_there_is_no_room_for_both() {
    let (snapshot, size) = (fixtures::storm(), (80, 24));
    let shown = |keys: &[Action]| screen(&snapshot, pressed(&snapshot, size, keys), size);
    assert!(shown(&[]).contains("──[log]─ pace ─ limits ─ cost ─") && shown(&[]).contains("v next"), "{}", shown(&[]));
    let once = shown(&[Action::NextPicture]);
    assert!(once.contains("── log ─[pace]─ limits ─ cost ─"), "{once}");
    insta::assert_snapshot!("pace_compact", once);
    insta::assert_snapshot!("limits_compact", shown(&[Action::NextPicture, Action::NextPicture]));
    insta::assert_snapshot!("cost_compact", shown(&[Action::PreviousPicture]));
    assert_eq!(shown(&[Action::NextPicture; 4]), shown(&[]), "round and round");
    let back = [Action::NextPicture, Action::LogSize];
    assert!(shown(&back).contains("window 100 → 50"), "the key of the log brings it back\n{}", shown(&back));
}

#[test]
fn a_log_that_is_not_in_view_does_not_scroll_in_secret() {
    let snapshot = fixtures::busy();
    let ui = pressed(&snapshot, (80, 24), &[Action::NextPicture, Action::LogUp]);
    assert!(!ui.live.log_scrolled);
    assert!(ui.toast.is_some_and(|toast| toast.text.contains("L shows it")));
    let ui = pressed(&snapshot, (40, 10), &[Action::NextPicture]);
    assert!(ui.live.page.is_none() && ui.toast.is_some_and(|toast| toast.text.contains("80×24")));
    let ui = pressed(&fixtures::busy(), (200, 60), &[Action::NextPicture]);
    assert!(ui.toast.is_some_and(|toast| toast.text.contains("in view already")));
}

#[test]
fn a_figure_stands_in_the_same_row_of_every_org_whatever_an_org_lacks() {
    // One org has two families, one has told no limit yet.
    let mut snapshot = fixtures::eight_orgs();
    snapshot.orgs[2].headroom = None;
    snapshot.orgs[1].windows.clear();
    let shown = screen(&snapshot, UiState::default(), (200, 60));
    let mut panes = 0;
    for name in ["headroom ", "429 ", "errors ", "latency ", "tokens "] {
        let rows = shown.lines().filter(|line| line.contains('│') && line.contains(name));
        for row in rows.filter(|row| row.starts_with('│') || row.starts_with('┃')) {
            let n = row.matches(name).count();
            assert_eq!(n, 4, "{name}: {row}\n{shown}");
            panes += n;
        }
    }
    assert_eq!(panes, 40, "{shown}");
}

#[test]
fn the_other_limits_of_an_org_are_whole_or_counted_and_never_cut() {
    let mut snapshot = fixtures::busy();
    for org in &mut snapshot.orgs {
        let first = org.limiters[0].clone();
        org.limiters.push(first);
        org.limiters.iter_mut().for_each(|limiter| limiter.headroom = 1.0);
    }
    let shown = screen(&snapshot, UiState::default(), (120, 40));
    assert!(shown.contains(" 100 % in-tok · 100 % reqs · +1 "), "{shown}");
    let shown = screen(&snapshot, UiState::default(), (200, 60));
    assert!(shown.contains(" 100 % in-tok · 100 % reqs · 100 % out-tok "), "{shown}");
}

#[test]
fn a_run_whose_requests_go_both_ways_says_so_in_its_header() {
    let mut run: RunView = fixtures::batches().runs[0].clone();
    run.counts = Counts { total: 20_000, cached: 1_000, ..Counts::default() };
    let view = |n_open| Some(BatchesView { n_open, ..BatchesView::default() }.into());
    run.batches = view(5_000);
    assert_eq!(words::paths(&run, true), "sync 14,000 + batch 5,000");
    assert_eq!(words::paths(&run, false), "sync + batch");
    run.batches = view(19_000);
    assert_eq!(words::paths(&run, true), "batch");
    run.batches = None;
    run.path = crate::model::Route::Sync;
    assert_eq!(words::paths(&run, true), "sync");
}

fn searched(text: &str) -> UiState {
    let search = TextField { text: text.to_owned(), editing: false };
    UiState { overlay: Some(Overlay::Help { search, scroll: 0 }), ..UiState::default() }
}

#[test]
fn a_search_in_the_help_finds_what_other_screens_can_and_says_on_which() {
    let snapshot = fixtures::busy();
    let shown = screen(&snapshot, searched("cancel"), (120, 40));
    let (here, there) = shown.split_once("not here, but on other screens").unwrap();
    assert!(!here.contains("cancel the sub-batch"), "{shown}");
    let line = there.lines().find(|line| line.contains("cancel the sub-batch")).unwrap();
    assert!(line.contains("┃ c  ") && line.contains(" batches "), "{line}");
    // Without a search only what works here is listed.
    assert!(!screen(&snapshot, searched(""), (120, 60)).contains("on other screens"));
    for info in registry().filter(|info| info.contexts.iter().any(|context| Context::SCREENS.contains(context))) {
        let shown = screen(&snapshot, searched(info.name), (120, 40));
        assert!(shown.contains(&info.help[..info.help.len().min(30)]), "{}: {shown}", info.name);
    }
}

#[test]
fn every_text_of_the_help_is_whole_at_80_columns() {
    let snapshot = fixtures::busy();
    for info in registry().filter(|info| info.contexts.contains(&Context::Live)) {
        let shown = screen(&snapshot, searched(info.name), (80, 24));
        assert!(shown.contains(info.help), "{}: {shown}", info.name);
    }
}

#[test]
fn a_text_can_be_read_to_its_last_word_by_lines_and_by_pages() {
    let lines = vec!["one line that is much longer than a small screen is wide, ".repeat(9); 9];
    for (keys, n) in [(Action::ScrollDown, 90), (Action::PageDown, 9), (Action::Last, 1)] {
        let mut read = lines.clone();
        read.push("the last word".to_owned());
        let overlay = Some(Overlay::Reader { title: "report", lines: read, scroll: 0 });
        let mut ui = UiState { size: (80, 24), overlay, ..UiState::default() };
        for _ in 0..n {
            update(&mut ui, Msg::Act(keys), &Snapshot::default(), Mono::ZERO);
        }
        let shown = screen(&Snapshot::default(), ui.clone(), (80, 24));
        assert!(shown.contains("the last word"), "{keys:?}\n{shown}");
        update(&mut ui, Msg::Act(Action::First), &Snapshot::default(), Mono::ZERO);
        assert!(matches!(ui.overlay, Some(Overlay::Reader { scroll: 0, .. })));
    }
}

#[test]
fn the_key_that_revives_names_the_org_to_select_when_another_one_is_meant() {
    let snapshot = fixtures::parked_auth();
    let ui = pressed(&snapshot, (80, 24), &[Action::ReviveOrg]);
    let said = ui.toast.unwrap().text;
    assert!(said.contains("high-prio is not parked") && said.contains("select batch first, by ↓"), "{said}");
}

#[test]
fn the_end_is_told_of_what_it_is_the_end_of_or_why_there_is_none() {
    use crate::model::snapshot::CutShort;
    let told = |eta: Option<u64>, sync: Option<u64>, cut: Option<&str>, rate: f64| {
        let mut snapshot = fixtures::busy();
        let run = &mut snapshot.runs[0];
        (run.eta_ms, run.sync_eta_ms, run.rate) = (eta, sync, rate);
        run.cut_short = cut.map(|by| CutShort { by: by.to_owned(), in_ms: 90_000 });
        screen(&snapshot, UiState { size: (120, 40), ..UiState::default() }, (120, 40))
    };
    assert!(told(Some(60_000), None, None, 9.0).contains("eta 1m00s"));
    assert!(told(None, Some(60_000), None, 9.0).contains("eta of the sync part 1m00s"));
    assert!(told(None, None, Some("budget"), 9.0).contains("budget ends it first, in 1m30s"));
    assert!(told(None, None, None, 0.0).contains("eta – (no answers yet)"));
}

/// A run as the disk has it: no window, no limit, no course.
fn from_the_disk() -> Snapshot {
    let mut snapshot = fixtures::busy();
    for org in &mut snapshot.orgs {
        org.condition = crate::model::snapshot::Condition::Idle;
        (org.course, org.latencies, org.rate) = (Default::default(), Default::default(), 0.0);
        (org.headroom, org.latency_p50_ms, org.latency_p95_ms) = (None, 0, 0);
        org.windows.clear();
        org.limiters.clear();
    }
    let run = &mut snapshot.runs[0];
    (run.rate, run.eta_ms, run.course) = (0.0, None, Default::default());
    snapshot
}

#[test]
fn a_run_that_was_cut_off_is_not_said_to_run_and_names_the_keys_that_resume_it() {
    let snapshot = from_the_disk();
    let ui = UiState { driver: Driver::Nobody, engine_gone: true, ..UiState::default() };
    let shown = screen(&snapshot, ui, (120, 40));
    for said in [
        "! cut off",
        "CUT OFF with 7,655 requests left: 1 and r resume it; nobody drives it; 296 were in flight",
        "were in flight 296",
    ] {
        assert!(shown.contains(said), "{said}\n{shown}");
    }
    for lie in ["● running", "ENGINE HAS ENDED", "eta", "○ idle", "0/s", "no answer yet"] {
        assert!(!shown.contains(lie), "{lie}\n{shown}");
    }
    let ui = UiState { driver: Driver::Nobody, size: (120, 40), ..UiState::default() };
    for action in [Action::PauseOrg, Action::PauseRun, Action::CapUp] {
        let why = crate::tui::valid::valid(action, &ui, &snapshot).unwrap_err();
        assert_eq!(why, "nobody drives the run; go on with it first: 1, then r");
    }
}

#[test]
fn a_run_that_is_only_watched_says_what_is_not_known_here() {
    let ui = UiState { driver: Driver::Elsewhere, ..UiState::default() };
    let shown = screen(&from_the_disk(), ui, (120, 40));
    for said in ["driven elsewhere", "kept where the run is driven", "none seen here", "–/s"] {
        assert!(shown.contains(said), "{said}\n{shown}");
    }
    for lie in [" 0/s", "○ idle", "no answer yet", "0s"] {
        assert!(!shown.contains(lie), "{lie}\n{shown}");
    }
}

#[test]
fn a_long_message_is_told_to_its_last_word_and_lends_its_rows_from_the_screen() {
    let snapshot = fixtures::busy();
    let text =
        "the input names several models: what a pilot measured would be of none of them; send the rest without one";
    let toast =
        crate::tui::state::Toast { text: text.to_owned(), tone: crate::tui::state::Tone::Bad, until: Mono(u64::MAX) };
    let ui = UiState { toast: Some(toast), ..UiState::default() };
    let shown = screen(&snapshot, ui, (80, 24));
    assert!(shown.contains(" ! the input names") && shown.contains("without one\n"), "{shown}");
    assert!(shown.lines().last().unwrap().contains("? help"), "the keys stay\n{shown}");
}
