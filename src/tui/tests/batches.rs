//! The sub-batches on the screen: what may be done to them, and that it is done to the one that was meant.

use std::sync::Arc;

use super::*;
use crate::model::SubBatchStatus;

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
