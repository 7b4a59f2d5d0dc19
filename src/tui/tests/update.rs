//! What keys, pictures and time do, as tables of state × input → reactions.

use std::time::Duration;

use super::*;
use crate::model::Family;
use crate::tui::action::Context;
use crate::tui::backstage::Driver;
use crate::tui::field::TextField;
use crate::tui::screens::live::LogSize;
use crate::tui::theme::ThemeName;
use crate::tui::valid::valid;
use crate::tui::zone::Zone;

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
