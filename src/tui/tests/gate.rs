//! The gate before what destroys something or costs money, and going from run to run.

use super::*;
use crate::tui::action::Context;
use crate::tui::backstage::{Answer, Assessment, Attached, Driver, Errand};

fn every_screen(snapshot: &Snapshot) -> Vec<UiState> {
    let all = Screen::ALL.into_iter().map(|screen| {
        let mut ui = UiState { screen, runs: runs(), ..ui() };
        update(&mut ui, Msg::Picture, snapshot, NOW);
        ui
    });
    all.collect()
}

#[test]
fn t8_what_destroys_something_does_nothing_but_open_the_gate_with_the_focus_on_what_changes_nothing() {
    let snapshot = fixtures::batches();
    let mut opened = 0;
    for info in registry().filter(|info| info.destroys) {
        for before in every_screen(&snapshot).iter().filter(|ui| info.contexts.contains(&ui.context())) {
            let mut ui = before.clone();
            let reactions = press(&mut ui, &snapshot, info.action);
            assert_eq!(commands(&reactions), [], "{}", info.name);
            let deeds = reactions.iter().filter(|reaction| match reaction {
                Reaction::Ask { errand, .. } => !matches!(errand, Errand::Assess { .. }),
                _ => false,
            });
            assert_eq!(deeds.count(), 0, "{}", info.name);
            if let Some(overlay) = &ui.overlay {
                opened += 1;
                assert_eq!(overlay.focus(), 0, "{}", info.name);
                assert_eq!(overlay.choices()[0].action, Action::CloseDialog, "{}", info.name);
                let before = ui.clone();
                assert_eq!(press(&mut ui, &snapshot, Action::PressChoice), [], "{}: Enter alone", info.name);
                assert_eq!(UiState { overlay: before.overlay.clone(), ..ui }, before, "{}", info.name);
            }
        }
    }
    assert!(opened >= 2, "{opened}");
}

#[test]
fn a_run_is_gone_on_with_only_after_its_cost_was_said_and_agreed_to() {
    let none = Snapshot::default();
    let mut ui = UiState { screen: Screen::Runs, driver: Driver::Nothing, runs: runs(), ..ui() };
    select_run(&mut ui, "cut-off");
    let [Reaction::Ask { ticket, errand: Errand::Assess { dir, re_drive: false } }] =
        &press(&mut ui, &none, Action::ResumeRun)[..]
    else {
        panic!("no question")
    };
    let assessment = Assessment {
        dir: dir.clone(),
        re_drive: false,
        input: "judge.jsonl".to_owned(),
        n_left: 1_200,
        in_batches: 1_000,
        cost: "$4.10".to_owned(),
        orgs: vec!["batch".to_owned()],
        ..Assessment::default()
    };
    update(&mut ui, Msg::Told { ticket: *ticket, answer: Answer::Assessed(Ok(assessment)) }, &none, NOW);
    let Some(Overlay::Confirm { focus: 0, ask }) = &ui.overlay else { panic!("{:?}", ui.overlay) };
    let words = ask.lines.join("\n");
    assert!(
        ["1,200", "1,000 of them are in batches", "$4.10", "batch", "judge.jsonl"]
            .iter()
            .all(|said| words.contains(said)),
        "{words}"
    );
    // What the list selects meanwhile changes nothing of what was asked.
    ui.runs.selected = None;
    let [Reaction::Ask { errand: Errand::Resume { dir: resumed, agreed: 1_200, .. }, .. }] =
        &press(&mut ui, &none, Action::Agree)[..]
    else {
        panic!("not resumed")
    };
    assert_eq!(resumed, dir);
}

#[test]
fn a_deletion_names_the_run_its_results_and_its_money_and_is_bound_to_what_was_seen() {
    let none = Snapshot::default();
    let mut ui = UiState { screen: Screen::Runs, driver: Driver::Nothing, runs: runs(), ..ui() };
    select_run(&mut ui, "cut-off");
    assert_eq!(press(&mut ui, &none, Action::DeleteRun), []);
    let Some(Overlay::Confirm { ask, .. }) = &ui.overlay else { panic!() };
    let words = ask.lines.join("\n");
    let facts = ui.runs.selected_row().unwrap().facts.clone().unwrap();
    assert!(words.contains(&crate::report::format::money(facts.cost)), "{words}");
    ui.runs.found.as_mut().unwrap().rows.reverse();
    let [Reaction::Ask { errand: Errand::Delete { run_id, done, .. }, .. }] = &press(&mut ui, &none, Action::Agree)[..]
    else {
        panic!()
    };
    assert_eq!((run_id, *done), (&facts.run_id, facts.counts.done()));
    // One that somebody drives is not deleted, and says why.
    select_run(&mut ui, "live");
    press(&mut ui, &none, Action::DeleteRun);
    assert_eq!(ui.overlay, None);
    assert!(ui.toast.unwrap().text.contains("drives it"));
}

fn select_run(ui: &mut UiState, name: &str) {
    let rows = &ui.runs.found.as_ref().unwrap().rows;
    ui.runs.selected = rows.iter().find(|row| row.dir.ends_with(name)).map(|row| row.dir.clone());
    assert!(ui.runs.selected.is_some());
}

#[test]
fn another_run_is_shown_only_after_the_operator_has_said_what_becomes_of_the_one_that_goes_on() {
    let busy = fixtures::busy();
    let mut ui = UiState { screen: Screen::Runs, runs: runs(), ..ui() };
    select_run(&mut ui, "cut-off");
    assert_eq!(press(&mut ui, &busy, Action::OpenRun), []);
    assert_eq!(ui.overlay, Some(Overlay::Quit { focus: 0 }));
    // Staying forgets it.
    press(&mut ui, &busy, Action::CloseDialog);
    assert_eq!(ui.then, None);
    press(&mut ui, &busy, Action::OpenRun);
    assert_eq!(commands(&press(&mut ui, &busy, Action::StopNow)), [Command::StopRun { run: RUN }]);
    let reactions = update(&mut ui, Msg::Picture, &fixtures::incomplete(), NOW);
    assert_eq!(exits(&reactions), [], "the console stays");
    assert!(reactions.iter().any(|r| matches!(r, Reaction::Ask { errand: Errand::Open { .. }, .. })), "{reactions:?}");
    assert_eq!((ui.leaving, &ui.then), (None, &None));
}

#[test]
fn a_run_that_another_process_drives_is_watched_and_left_without_a_question() {
    let busy = fixtures::busy();
    let mut ui = UiState { driver: Driver::Elsewhere, ..ui() };
    assert_eq!(press(&mut ui, &busy, Action::Quit), [Reaction::Exit(TuiExit::Finished)]);
    let mut ui = UiState { driver: Driver::Elsewhere, ..ui };
    assert_eq!(press(&mut ui, &busy, Action::Interrupt), [Reaction::Exit(TuiExit::Finished)]);
    for action in [Action::PauseRun, Action::PauseOrg, Action::CapDown, Action::MoveToBatch] {
        assert_eq!(commands(&press(&mut ui, &busy, action)), [], "{action:?}");
        assert!(ui.toast.take().unwrap().text.contains("another process drives"), "{action:?}");
    }
}

#[test]
fn runs_are_filtered_sorted_and_the_selection_follows_the_run() {
    let none = Snapshot::default();
    let mut ui = UiState { screen: Screen::Runs, driver: Driver::Nothing, runs: runs(), ..ui() };
    select_run(&mut ui, "live");
    for _ in 0..4 {
        press(&mut ui, &none, Action::Sort);
        assert!(ui.runs.selected_row().unwrap().dir.ends_with("live"));
    }
    press(&mut ui, &none, Action::Filter);
    assert_eq!(ui.context(), Context::Field);
    for c in "CUT".chars() {
        update(&mut ui, Msg::Type(c), &none, NOW);
    }
    press(&mut ui, &none, Action::KeepText);
    assert_eq!((ui.runs.shown().len(), ui.context()), (1, Context::Runs));
    press(&mut ui, &none, Action::Back);
    assert_eq!(ui.runs.shown().len(), ui.runs.total());
    press(&mut ui, &none, Action::Show);
    assert!(ui.runs.shown().iter().all(|row| row.facts.as_ref().unwrap().owner.is_some()));
}

#[test]
fn copying_never_claims_more_than_that_it_was_asked() {
    let busy = fixtures::busy();
    let (ui, reactions) = after(&busy, &[Action::Copy]);
    assert!(matches!(&reactions[..], [Reaction::Copy(text)] if *text == busy.runs[0].dir));
    let text = ui.toast.unwrap().text;
    assert!(text.contains("may not take it") && text.contains(&busy.runs[0].dir), "{text}");
}

#[test]
fn a_question_about_the_run_before_is_gone_when_another_run_is_shown_and_one_about_the_next_run_stays() {
    let snapshot = fixtures::batches();
    let elsewhere = || {
        let engine = fixtures::Engine::showing(fixtures::busy());
        Answer::Attached(Ok(Attached { handle: engine.handle(), driver: Driver::Here }))
    };
    for asks in [Action::CancelSubBatch, Action::FinishOnSync, Action::Quit] {
        let (mut ui, _) = after(&snapshot, &[Action::ShowBatches, asks]);
        assert!(ui.overlay.is_some(), "{asks:?}");
        update(&mut ui, Msg::Told { ticket: 9, answer: elsewhere() }, &fixtures::busy(), NOW);
        assert_eq!(ui.overlay, None, "{asks:?}");
        // What agrees to a question that is gone does nothing.
        assert_eq!(commands(&press(&mut ui, &fixtures::busy(), Action::Agree)), [], "{asks:?}");
    }
    let mut ui = UiState { screen: Screen::Runs, runs: runs(), ..ui() };
    select_run(&mut ui, "cut-off");
    press(&mut ui, &snapshot, Action::DeleteRun);
    update(&mut ui, Msg::Told { ticket: 9, answer: elsewhere() }, &fixtures::busy(), NOW);
    assert!(matches!(ui.overlay, Some(Overlay::Confirm { .. })));
}

#[test]
fn a_run_that_ends_while_its_operator_is_asked_about_it_makes_room_for_the_one_that_was_wanted() {
    let busy = fixtures::busy();
    let mut ui = UiState { screen: Screen::Runs, runs: runs(), ..ui() };
    select_run(&mut ui, "cut-off");
    press(&mut ui, &busy, Action::OpenRun);
    assert_eq!(ui.overlay, Some(Overlay::Quit { focus: 0 }));
    let reactions = update(&mut ui, Msg::Picture, &fixtures::finished(), NOW);
    assert!(reactions.iter().any(|r| matches!(r, Reaction::Ask { errand: Errand::Open { .. }, .. })), "{reactions:?}");
    assert_eq!((exits(&reactions), &ui.overlay, &ui.then), (vec![], &None, &None));
}

#[test]
fn whoever_is_about_to_leave_sees_what_is_and_no_held_picture() {
    let (ui, _) = after(&fixtures::busy(), &[Action::Freeze, Action::Quit]);
    assert_eq!((ui.frozen, ui.overlay), (None, Some(Overlay::Quit { focus: 0 })));
}

#[test]
fn t2_what_cannot_be_seen_is_not_done_and_the_way_out_works_at_every_size() {
    let snapshot = fixtures::batches();
    for size in [(39, 10), (40, 9), (0, 0)] {
        for info in registry().filter(|info| info.mutates) {
            for before in every_screen(&snapshot) {
                let mut ui = UiState { size, ..before };
                assert_eq!(commands(&press(&mut ui, &snapshot, info.action)), [], "{} at {size:?}", info.name);
                assert_eq!(ui.overlay, None, "{} at {size:?}", info.name);
            }
        }
        // A question that was open when the terminal shrank is not agreed to unseen; it can be closed.
        let (mut ui, _) = after(&snapshot, &[Action::ShowBatches, Action::CancelSubBatch, Action::NextChoice]);
        ui.size = size;
        for agrees in [Action::Agree, Action::PressChoice] {
            assert_eq!(press(&mut ui, &snapshot, agrees), [], "{agrees:?} at {size:?}");
        }
        press(&mut ui, &snapshot, Action::CloseDialog);
        assert_eq!(ui.overlay, None);
        press(&mut ui, &snapshot, Action::Quit);
        assert_eq!(commands(&press(&mut ui, &snapshot, Action::Drain)), [Command::DrainRun { run: RUN }]);
    }
}

#[test]
fn a_look_at_the_disk_that_began_before_a_deletion_does_not_bring_the_run_back() {
    let mut ui = UiState { screen: Screen::Runs, runs: RunsUi { looking: true, ..runs() }, ..ui() };
    let dir = runs_found().rows[0].dir.clone();
    let told = |ui: &mut UiState, answer| update(ui, Msg::Told { ticket: 0, answer }, &Snapshot::default(), NOW);
    assert_eq!(told(&mut ui, Answer::Deleted(Ok(dir.clone()))), []);
    // It is not taken, and another one begins.
    let again = told(&mut ui, Answer::Runs(Ok(runs_found())));
    assert_eq!(again, [Reaction::Ask { ticket: 0, errand: Errand::ListRuns }]);
    assert!(ui.runs.found.as_ref().unwrap().rows.iter().all(|row| row.dir != dir));
    // That one is.
    assert_eq!(told(&mut ui, Answer::Runs(Ok(RunsFound::default()))), []);
    assert_eq!(ui.runs.total(), 0);
}
