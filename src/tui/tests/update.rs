//! What keys, pictures and time do, as tables of state × input → reactions.

use std::time::Duration;

use std::sync::Arc;

use super::*;
use crate::model::{CommandOutcome, Family, SubBatchStatus};
use crate::tui::action::Context;
use crate::tui::backstage::{Driver, Errand};
use crate::tui::field::TextField;
use crate::tui::screens::live::LogSize;
use crate::tui::state::{Ask, Deed, Gate, Tone};
use crate::tui::theme::ThemeName;
use crate::tui::valid::valid;
use crate::tui::zone::Zone;

#[test]
fn q_leaves_at_once_when_nothing_goes_on_and_asks_when_something_does() {
    for over in [fixtures::finished(), fixtures::incomplete(), Snapshot::default()] {
        assert_eq!(after(&over, &[Action::Quit]).1, [Reaction::Exit(TuiExit::Finished)]);
    }
    for open in [fixtures::busy(), fixtures::holding(), fixtures::paused(), fixtures::starting()] {
        let (ui, reactions) = after(&open, &[Action::Quit]);
        assert_eq!(reactions, []);
        assert_eq!(ui.overlay, Some(Overlay::Quit { focus: 0 }));
    }
}

#[test]
fn every_way_out_of_the_quit_dialog() {
    let busy = fixtures::busy();
    let stop = vec![Command::StopRun { run: RUN }];
    let drain = vec![Command::DrainRun { run: RUN }];
    let table: [(&[Action], Vec<Command>, Option<TuiExit>); 7] = [
        (&[Action::CloseDialog], vec![], None),
        (&[Action::PressChoice], vec![], None),
        (&[Action::Drain], drain.clone(), Some(TuiExit::Drained)),
        (&[Action::StopNow], stop.clone(), Some(TuiExit::Stopped)),
        (&[Action::Interrupt], stop.clone(), Some(TuiExit::Interrupted)),
        (&[Action::NextChoice, Action::PressChoice], drain, Some(TuiExit::Drained)),
        (&[Action::PreviousChoice, Action::PressChoice], stop, Some(TuiExit::Stopped)),
    ];
    for (then, sent, leaving) in table {
        let keys: Vec<Action> = std::iter::once(Action::Quit).chain(then.iter().copied()).collect();
        let (ui, reactions) = after(&busy, &keys);
        assert_eq!(commands(&reactions), sent, "{then:?}");
        assert_eq!(ui.leaving, leaving, "{then:?}");
        assert_eq!(ui.overlay, None, "{then:?}");
    }
}

#[test]
fn t8_enter_alone_never_destroys_and_the_focus_starts_on_stay_every_time() {
    let busy = fixtures::busy();
    let (ui, _) = after(&busy, &[Action::Quit, Action::NextChoice, Action::CloseDialog, Action::Quit]);
    assert_eq!(ui.overlay, Some(Overlay::Quit { focus: 0 }));
    let (ui, reactions) = after(&busy, &[Action::Quit, Action::PressChoice]);
    assert_eq!((ui.leaving, reactions), (None, vec![]));
}

#[test]
fn a_drain_can_still_be_stopped_and_a_stop_can_be_left() {
    let draining = fixtures::draining();
    let (ui, reactions) = after(&draining, &[Action::Quit, Action::Drain, Action::Quit, Action::StopNow]);
    assert_eq!(commands(&reactions), [Command::StopRun { run: RUN }]);
    assert_eq!(ui.leaving, Some(TuiExit::Stopped));
    let (_, reactions) = after(&draining, &[Action::Quit, Action::Drain, Action::Interrupt]);
    assert_eq!(commands(&reactions), [Command::StopRun { run: RUN }]);
}

#[test]
fn t1_the_first_ctrl_c_stops_and_the_second_leaves_at_once_from_anywhere() {
    let busy = fixtures::busy();
    let ways: [&[Action]; 5] =
        [&[], &[Action::Quit], &[Action::Help], &[Action::Help, Action::HelpSearch], &[Action::LogSize]];
    for way in ways {
        let mut ui = ui();
        for action in way {
            press(&mut ui, &busy, *action);
        }
        let first = press(&mut ui, &busy, Action::Interrupt);
        assert_eq!(commands(&first), [Command::StopRun { run: RUN }], "{way:?}");
        assert!(!first.iter().any(|reaction| matches!(reaction, Reaction::Exit(_))));
        let second = press(&mut ui, &busy, Action::Interrupt);
        assert_eq!(second, [Reaction::Exit(TuiExit::Interrupted)], "{way:?}");
    }
}

#[test]
fn the_screen_is_left_when_the_run_that_was_asked_to_end_is_over() {
    let (mut ui, _) = after(&fixtures::busy(), &[Action::Quit, Action::StopNow]);
    assert_eq!(exits(&update(&mut ui, Msg::Picture, &fixtures::draining(), NOW)), []);
    assert_eq!(exits(&update(&mut ui, Msg::Picture, &fixtures::incomplete(), NOW)), [TuiExit::Stopped]);
}

#[test]
fn an_engine_that_ends_lets_go_of_who_wanted_to_leave() {
    let busy = fixtures::busy();
    let (mut ui, _) = after(&busy, &[Action::Interrupt]);
    assert_eq!(update(&mut ui, Msg::EngineGone, &busy, NOW), [Reaction::Exit(TuiExit::Interrupted)]);
}

#[test]
fn a_finished_run_stays_on_screen_until_it_is_left() {
    let finished = fixtures::finished();
    let mut stays = ui();
    assert_eq!(update(&mut stays, Msg::Tick, &finished, NOW), []);
    assert_eq!(update(&mut stays, Msg::Tick, &finished, NOW + Duration::from_secs(3_600)), []);
}

#[test]
fn a_question_about_the_next_run_stays_when_the_one_that_is_shown_is_over() {
    let finished = fixtures::finished();
    let mut ui = ui();
    let deed = Deed::Errand { errand: Errand::ListRuns, what: "look for runs".to_owned() };
    let ask = Ask { gate: Gate::Resume, lines: Vec::new(), deed };
    ui.overlay = Some(Overlay::Confirm { focus: 0, ask });
    for later in [0, 1, 60] {
        update(&mut ui, Msg::Tick, &finished, NOW + Duration::from_secs(later));
        assert!(ui.overlay.is_some(), "{later}");
    }
}

#[test]
fn a_terminal_that_goes_away_stops_the_run_and_is_never_a_reason_to_leave_it_unfinished() {
    let mut ui = ui();
    let busy = fixtures::busy();
    for _ in 0..3 {
        let reactions = update(&mut ui, Msg::Signal(TuiExit::HungUp), &busy, NOW);
        assert_eq!(commands(&reactions), [Command::StopRun { run: RUN }]);
        assert!(!reactions.iter().any(|reaction| matches!(reaction, Reaction::Exit(_))));
    }
}

#[test]
fn signals_stop_the_run_and_a_second_one_leaves() {
    for exit in [TuiExit::Terminated, TuiExit::Interrupted] {
        let mut ui = ui();
        let busy = fixtures::busy();
        assert_eq!(commands(&update(&mut ui, Msg::Signal(exit), &busy, NOW)), [Command::StopRun { run: RUN }]);
        assert_eq!(update(&mut ui, Msg::Signal(exit), &busy, NOW), [Reaction::Exit(exit)]);
    }
}

#[test]
fn a_question_about_a_run_that_has_ended_goes_away() {
    let (mut ui, _) = after(&fixtures::busy(), &[Action::Quit]);
    update(&mut ui, Msg::Picture, &fixtures::finished(), NOW);
    assert_eq!(ui.overlay, None);
}

#[test]
fn the_run_is_paused_and_resumed_by_the_same_key() {
    assert_eq!(commands(&after(&fixtures::busy(), &[Action::PauseRun]).1), [Command::PauseRun { run: RUN }]);
    assert_eq!(commands(&after(&fixtures::paused(), &[Action::PauseRun]).1), [Command::ResumeRun { run: RUN }]);
    for over in [fixtures::finished(), fixtures::draining()] {
        let (ui, reactions) = after(&over, &[Action::PauseRun]);
        assert_eq!(commands(&reactions), []);
        assert_eq!(ui.toast.unwrap().tone, Tone::Bad);
    }
}

#[test]
fn a_refusal_goes_with_the_next_screen_or_with_the_next_key_after_it_was_read() {
    let none = Snapshot::default();
    let mut ui = UiState { driver: Driver::Nothing, screen: Screen::Runs, ..ui() };
    press(&mut ui, &none, Action::ShowBatches);
    assert_eq!(ui.toast.as_ref().unwrap().text, "no run is shown; open one first");
    // A key that is held does not take it away unread.
    press(&mut ui, &none, Action::MoveDown);
    assert!(ui.toast.is_some());
    update(&mut ui, Msg::Act(Action::MoveDown), &none, NOW + Duration::from_secs(1));
    assert_eq!(ui.toast, None);
    press(&mut ui, &none, Action::ShowBatches);
    press(&mut ui, &none, Action::ShowPlanner);
    assert_eq!(ui.toast, None);
}

#[test]
fn the_first_change_of_theme_leads_to_another_one() {
    let mut ui = UiState { theme_at_start: Some(ThemeName::Dark), ..ui() };
    press(&mut ui, &fixtures::busy(), Action::NextTheme);
    assert_eq!(ui.theme, Some(ThemeName::Light));
    let mut ui = UiState { theme_at_start: None, theme: None, ..ui };
    press(&mut ui, &fixtures::busy(), Action::NextTheme);
    assert_eq!(ui.theme, ThemeName::ALL.first().copied());
}

#[test]
fn times_are_changed_to_utc_and_back_where_the_own_zone_is_another() {
    let mut ui = ui();
    press(&mut ui, &fixtures::busy(), Action::ChangeZone);
    assert_eq!(ui.toast.as_ref().unwrap().text, "times are in UTC, which is this machine's zone");
    ui.zone = Zone::of(jiff::tz::TimeZone::posix("<-03>3").unwrap());
    for name in ["UTC", "-03"] {
        press(&mut ui, &fixtures::busy(), Action::ChangeZone);
        assert_eq!(ui.toast.as_ref().unwrap().text, format!("times are in {name}"));
    }
}

#[test]
fn orgs_are_paused_and_revived_by_their_id() {
    let parked = fixtures::parked_auth();
    let (_, reactions) = after(&parked, &[Action::OrgRight, Action::ReviveOrg]);
    assert_eq!(commands(&reactions), [Command::ReviveOrg { org: OrgId(1) }]);
    let (_, reactions) = after(&parked, &[Action::PauseOrg]);
    assert_eq!(commands(&reactions), [Command::PauseOrg { org: OrgId(0) }]);
    let (ui, reactions) = after(&parked, &[Action::ReviveOrg]);
    assert_eq!(reactions, []);
    assert_eq!(ui.toast.unwrap().text, "high-prio is not parked, paused or failing; select batch first, by ↓");
}

#[test]
fn the_cap_goes_down_and_up_again_to_the_polite_cap_without_a_question() {
    let busy = fixtures::busy();
    let set = |seen, cap| Command::SetCap { org: OrgId(0), family: Family::Haiku, seen, cap, above_polite: false };
    let mut ui = ui();
    assert_eq!(commands(&press(&mut ui, &busy, Action::CapDown)), [set(100, 90)]);
    // The next press goes on from what was asked for, though no picture shows it yet.
    assert_eq!(commands(&press(&mut ui, &busy, Action::CapDown)), [set(90, 80)]);
    assert_eq!(commands(&press(&mut ui, &busy, Action::CapUp)), [set(80, 90)]);
}

#[test]
fn the_cap_passes_the_polite_cap_only_after_a_question_that_names_the_numbers() {
    let busy = fixtures::busy();
    let (ui, reactions) = after(&busy, &[Action::CapUp]);
    assert_eq!(reactions, []);
    let Some(Overlay::Confirm { focus: 0, ask }) = &ui.overlay else { panic!("{:?}", ui.overlay) };
    let Deed::SetCap(cap) = &ask.deed else { panic!("{ask:?}") };
    assert_eq!((cap.seen, cap.wanted, cap.polite), (100, 110, 100));
    for keeps in [&[Action::CapUp, Action::PressChoice], &[Action::CapUp, Action::CloseDialog]] {
        let (ui, reactions) = after(&busy, keeps);
        assert_eq!((commands(&reactions), ui.overlay), (vec![], None));
    }
    let agreed = Command::SetCap { org: OrgId(0), family: Family::Haiku, seen: 100, cap: 110, above_polite: true };
    assert_eq!(commands(&after(&busy, &[Action::CapUp, Action::Agree]).1), std::slice::from_ref(&agreed));
    let pressed = [Action::CapUp, Action::NextChoice, Action::PressChoice];
    assert_eq!(commands(&after(&busy, &pressed).1), [agreed]);
}

#[test]
fn the_cap_that_was_confirmed_is_the_one_that_was_shown_even_if_the_selection_moves() {
    let busy = fixtures::busy();
    let (mut ui, _) = after(&busy, &[Action::CapUp]);
    ui.live.selected = Some(OrgId(2));
    let [Command::SetCap { org, .. }] = commands(&press(&mut ui, &busy, Action::Agree))[..] else { panic!() };
    assert_eq!(org, OrgId(0));
}

#[test]
fn a_cap_that_is_shown_or_refused_is_no_longer_asked_for() {
    let busy = fixtures::busy();
    let (mut ui, _) = after(&busy, &[Action::CapDown]);
    let window = &busy.orgs[0].windows[0];
    assert_eq!(ui.cap(OrgId(0), window), 90);
    update(&mut ui, Msg::Answered { ticket: 1, outcome: CommandOutcome::Refused("no".into()) }, &busy, NOW);
    assert_eq!(ui.cap(OrgId(0), window), 100);
    let (mut ui, _) = after(&busy, &[Action::CapDown]);
    update(&mut ui, Msg::Answered { ticket: 1, outcome: CommandOutcome::Done("cap 90".into()) }, &busy, NOW);
    assert_eq!(ui.cap(OrgId(0), window), 90);
    update(&mut ui, Msg::Tick, &busy, NOW + Duration::from_secs(10));
    assert_eq!(ui.cap(OrgId(0), window), 100, "a picture that never shows it is believed in the end");
}

#[test]
fn read_only_refuses_every_action_that_changes_something_and_says_why() {
    let parked = fixtures::parked_auth();
    for info in registry().filter(|info| info.mutates) {
        let mut ui = UiState { read_only: true, live: on_org(1), ..ui() };
        assert_eq!(press(&mut ui, &parked, info.action), [], "{}", info.name);
        assert!(ui.toast.unwrap().text.contains("read-only"), "{}", info.name);
    }
    // Whoever may not change anything may still leave.
    let mut ui = UiState { read_only: true, ..ui() };
    press(&mut ui, &parked, Action::Quit);
    assert_eq!(commands(&press(&mut ui, &parked, Action::Drain)), [Command::DrainRun { run: RUN }]);
}

#[test]
fn what_became_of_a_command_is_said() {
    let busy = fixtures::busy();
    for (outcome, tone, text) in [
        (CommandOutcome::Done("paused".into()), Tone::Good, "done: paused"),
        (CommandOutcome::AlreadySo("paused".into()), Tone::Good, "already so: paused"),
        (CommandOutcome::Refused("the run has ended".into()), Tone::Bad, "not done: pause the run: the run has ended"),
    ] {
        let (mut ui, _) = after(&busy, &[Action::PauseRun]);
        assert_eq!(ui.toast.as_ref().unwrap().text, "asked: pause the run");
        update(&mut ui, Msg::Answered { ticket: 1, outcome }, &busy, NOW);
        let toast = ui.toast.clone().unwrap();
        assert_eq!((toast.tone, toast.text.as_str()), (tone, text));
        assert!(ui.asked.is_empty());
        update(&mut ui, Msg::Tick, &busy, NOW + Duration::from_secs(60));
        assert_eq!(ui.toast, None, "messages go away");
    }
}

#[test]
fn the_selection_follows_the_org_and_not_the_row() {
    let mut snapshot = fixtures::busy();
    let (ui, _) = after(&snapshot, &[Action::NextOrg]);
    let chosen = ui.live.selected.unwrap();
    snapshot.orgs.reverse();
    assert_eq!(ui.selected_org(&snapshot).unwrap().id, chosen);
    snapshot.orgs.clear();
    assert!(ui.selected_org(&snapshot).is_none());
}

#[test]
fn the_selection_goes_round_in_every_direction_and_shape() {
    for size in [(40, 10), (80, 24), (120, 40), (200, 60)] {
        let snapshot = fixtures::eight_orgs();
        for action in [Action::NextOrg, Action::PreviousOrg, Action::OrgLeft, Action::OrgRight] {
            let mut ui = UiState { size, ..ui() };
            let mut seen = std::collections::HashSet::new();
            for _ in 0..64 {
                press(&mut ui, &snapshot, action);
                seen.insert(ui.selected_ix(&snapshot));
            }
            assert!(seen.len() >= 2, "{action:?} {size:?}: {seen:?}");
        }
    }
}

#[test]
fn the_family_that_the_cap_keys_mean_can_be_chosen() {
    let snapshot = fixtures::eight_orgs();
    let mut ui = UiState { live: on_org(3), ..ui() };
    press(&mut ui, &snapshot, Action::NextFamily);
    let [Command::SetCap { family, .. }] = commands(&press(&mut ui, &snapshot, Action::CapDown))[..] else { panic!() };
    assert_eq!(family, Family::Opus);
    assert!(valid(Action::NextFamily, &UiState::default(), &snapshot).is_err());
}

#[test]
fn the_help_is_searched_and_closed() {
    let busy = fixtures::busy();
    let (mut ui, _) = after(&busy, &[Action::Help, Action::HelpSearch]);
    assert_eq!(ui.context(), Context::Field);
    for c in "capx".chars() {
        update(&mut ui, Msg::Type(c), &busy, NOW);
    }
    update(&mut ui, Msg::Erase, &busy, NOW);
    let Some(Overlay::Help { search, .. }) = &ui.overlay else { panic!() };
    assert_eq!(search, &TextField { text: "cap".to_owned(), editing: true });
    press(&mut ui, &busy, Action::KeepText);
    assert_eq!(ui.context(), Context::Help);
    press(&mut ui, &busy, Action::CloseHelp);
    assert_eq!(ui.overlay, None);
    update(&mut ui, Msg::Type('x'), &busy, NOW);
    assert_eq!(ui.overlay, None, "text without a field goes nowhere");
}

#[test]
fn the_wheel_and_the_button_reach_what_lies_under_the_pointer() {
    let busy = fixtures::busy();
    let mut ui = ui();
    update(&mut ui, Msg::Click(60, 9), &busy, NOW);
    assert_eq!(ui.live.selected, Some(OrgId(1)));
    let reactions = update(&mut ui, Msg::Wheel { column: 5, row: 36, down: false }, &busy, NOW);
    assert!(matches!(reactions[..], [Reaction::Log(_)]), "{reactions:?}");
    assert!(ui.live.log_scrolled);
    press(&mut ui, &busy, Action::LogSize);
    assert_eq!(ui.live.log_size, LogSize::Half);
    press(&mut ui, &busy, Action::Quit);
    update(&mut ui, Msg::Click(60, 9), &busy, NOW);
    assert_eq!(ui.live.selected, Some(OrgId(1)), "nothing under a dialog is reached");
}

#[test]
fn every_action_can_be_pressed_in_every_state_without_harm() {
    let before = UiState { runs: runs(), ..ui() };
    for (name, snapshot) in fixtures::all() {
        for first in registry() {
            for second in registry() {
                let mut ui = before.clone();
                press(&mut ui, &snapshot, first.action);
                let reactions = press(&mut ui, &snapshot, second.action);
                let destroys = commands(&reactions).iter().any(|command| matches!(command, Command::StopRun { .. }));
                let meant = [Action::StopNow, Action::Interrupt].contains(&second.action);
                assert!(!destroys || meant, "{name}: {} {}", first.name, second.name);
            }
        }
    }
}

#[test]
fn the_exit_code_is_that_of_the_runs_unless_something_ended_them_early() {
    for (exit, snapshot, code) in [
        (TuiExit::Finished, fixtures::finished(), 3),
        (TuiExit::Drained, fixtures::incomplete(), 4),
        (TuiExit::Stopped, fixtures::incomplete(), 4),
        (TuiExit::Interrupted, fixtures::incomplete(), 130),
        (TuiExit::Interrupted, fixtures::finished(), 3),
        (TuiExit::Terminated, fixtures::incomplete(), 143),
        (TuiExit::HungUp, fixtures::incomplete(), 129),
        (TuiExit::Broken, fixtures::finished(), 1),
        (TuiExit::Finished, Snapshot::default(), 0),
    ] {
        assert_eq!(exit.exit_code(&snapshot), code, "{exit:?}");
    }
}

#[test]
fn a_sub_batch_is_canceled_after_a_dialog_that_names_what_is_at_stake() {
    let snapshot = fixtures::batches();
    let (ui, reactions) = after(&snapshot, &[Action::ShowBatches, Action::CancelSubBatch]);
    assert_eq!(reactions, []);
    let Some(Overlay::Confirm { focus: 0, ask }) = &ui.overlay else { panic!("{:?}", ui.overlay) };
    let words = ask.lines.join("\n");
    // A thousand at the price of 1,988 answers that cost $0.84 in batches.
    for stake in [
        "1,000 requests",
        "4h",
        "batch",
        "2 others ended, after a median of 31m00s",
        "about $0.4242,",
        "about $0.8485,",
        "sync path",
    ] {
        assert!(words.contains(stake), "{stake}: {words}");
    }
    let cancel = Command::CancelSubBatch { run: RUN, sub_batch: 2, seen: SubBatchStatus::InProgress };
    let keys = [Action::ShowBatches, Action::CancelSubBatch, Action::Agree];
    assert_eq!(commands(&after(&snapshot, &keys).1), [cancel]);
    // Enter presses the button that changes nothing.
    let keys = [Action::ShowBatches, Action::CancelSubBatch, Action::PressChoice];
    let (ui, reactions) = after(&snapshot, &keys);
    assert_eq!((ui.overlay, reactions), (None, Vec::new()));
}

#[test]
fn the_screen_of_the_sub_batches_opens_only_when_there_are_some_and_sorts_filters_and_follows() {
    assert_eq!(after(&fixtures::busy(), &[Action::ShowBatches]).0.screen, Screen::Live);
    let snapshot = fixtures::batches();
    let selected = |keys: &[Action]| {
        let (ui, _) = after(&snapshot, keys);
        crate::tui::screens::batches::selected(&ui, &snapshot).map(|(_, sub)| sub.index)
    };
    assert_eq!(selected(&[Action::ShowBatches]), Some(2), "the one that asks");
    assert_eq!(selected(&[Action::ShowBatches, Action::Follow]), Some(0));
    assert_eq!(selected(&[Action::ShowBatches, Action::MoveDown]), Some(3));
    assert_eq!(selected(&[Action::ShowBatches, Action::MoveDown, Action::Follow]), Some(2));
    let (ui, _) = after(&snapshot, &[Action::ShowBatches, Action::Show, Action::Show]);
    let view = snapshot.runs[0].batches.as_deref().unwrap();
    let rows: Vec<u32> = ui.batches.rows(view).iter().map(|sub| sub.index).collect();
    assert_eq!(rows, [2], "what asks");
    let (ui, _) = after(&snapshot, &[Action::ShowBatches, Action::Sort]);
    let rows: Vec<u32> = ui.batches.rows(view).iter().map(|sub| sub.index).collect();
    assert_eq!(rows[0], 4, "the oldest first");
    assert_eq!(after(&snapshot, &[Action::ShowBatches, Action::Back]).0.screen, Screen::Live);
}

#[test]
fn the_selection_stays_at_the_sub_batch_that_was_canceled_and_never_falls_on_another() {
    let before = fixtures::batches();
    let (mut ui, _) = after(&before, &[Action::ShowBatches, Action::CancelSubBatch, Action::Agree]);
    let mut then = before;
    let run = &mut then.runs[0];
    let mut view = (**run.batches.as_ref().unwrap()).clone();
    (view.sub_batches[2].status, view.sub_batches[2].question) = (SubBatchStatus::CancelRequested, None);
    run.batches = Some(Arc::new(view.clone()));
    let selected = |ui: &UiState, snapshot: &Snapshot| {
        crate::tui::screens::batches::selected(ui, snapshot).map(|(_, sub)| sub.index)
    };
    assert_eq!(selected(&ui, &then), Some(2), "not the next one to worry about");
    let again = press(&mut ui, &then, Action::CancelSubBatch);
    assert_eq!((ui.overlay.is_some(), commands(&again)), (false, vec![]));
    // Among those that are open it is until it has ended; what comes to stand in its place is not selected.
    press(&mut ui, &then, Action::Show);
    assert_eq!(selected(&ui, &then), Some(2));
    view.sub_batches[2].status = SubBatchStatus::Harvested;
    then.runs[0].batches = Some(Arc::new(view));
    assert_eq!(selected(&ui, &then), None);
    press(&mut ui, &then, Action::CancelSubBatch);
    assert_eq!(ui.overlay, None);
    press(&mut ui, &then, Action::Follow);
    assert_eq!(selected(&ui, &then), Some(3));
}

#[test]
fn finishing_on_sync_is_asked_and_what_is_asked_about_a_sub_batch_can_be_answered() {
    let snapshot = fixtures::batches();
    let finish = Command::FinishOnSync { run: RUN, cancel_open: true };
    let keys = [Action::ShowBatches, Action::FinishOnSync, Action::Agree];
    assert_eq!(commands(&after(&snapshot, &keys).1), [finish]);
    let keys = [Action::ShowBatches, Action::LeaveSubBatch];
    assert_eq!(commands(&after(&snapshot, &keys).1), [Command::LeaveSubBatch { run: RUN, sub_batch: 2 }]);
    let read_only = UiState { read_only: true, ..ui() };
    let mut ui = read_only;
    press(&mut ui, &snapshot, Action::ShowBatches);
    press(&mut ui, &snapshot, Action::CancelSubBatch);
    assert_eq!(ui.overlay, None);
}

#[test]
fn the_rest_is_moved_to_batches_by_one_key_once_that_is_offered() {
    let mut snapshot = fixtures::busy();
    assert_eq!(commands(&after(&snapshot, &[Action::MoveToBatch]).1), []);
    snapshot.runs[0].budget = Some(fixtures::budget());
    assert_eq!(commands(&after(&snapshot, &[Action::MoveToBatch]).1), [Command::MoveToBatch { run: RUN }]);
    let banners = crate::tui::view::banner::banners(&ui(), &snapshot, Mono::ZERO);
    assert!(banners.iter().any(|banner| banner.text.contains("83 % of $50.00") && banner.text.contains("B moves")));
}
