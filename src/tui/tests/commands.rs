//! What an operator may do to a run and its orgs, what is asked first, and what is said of it.

use std::time::Duration;

use super::*;
use crate::model::{CommandOutcome, Family};
use crate::tui::state::{Deed, Tone};

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
