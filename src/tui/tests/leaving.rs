//! The ways out, asked and unasked.

use std::time::Duration;

use super::*;
use crate::tui::backstage::Errand;
use crate::tui::state::{Ask, Deed, Gate};

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
