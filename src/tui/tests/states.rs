//! Every screen, with something on it, in every state of a run, at every size class, in colour and without: what a tired
//! operator has to see at a glance is there. The frames themselves are in the golden files of `view`.

use ratatui::buffer::Buffer;
use ratatui::style::{Color, Modifier};

use super::scenes::screen;
use super::*;
use crate::tui::backstage::Driver;
use crate::tui::log::Records;
use crate::tui::state::shown_run;
use crate::tui::theme::{Theme, ThemeName};
use crate::tui::view::Scene;
use crate::tui::view::frames::{frame, text_of};

const SIZES: [(u16, u16); 4] = [(200, 60), (120, 40), (80, 24), (40, 10)];

/// The states, each with the word that every screen about the run shows of it, and the one that every screen shows.
fn states() -> [(&'static str, Snapshot, &'static str, &'static str); 6] {
    [
        ("empty", Snapshot::default(), "", ""),
        ("busy", fixtures::busy(), "running", ""),
        ("storm", fixtures::storm(), "running", ""),
        ("stuck", fixtures::batches(), "running", ""),
        ("all parked", fixtures::holding(), "holding", "HOLDING"),
        ("finished", fixtures::finished(), "finished", ""),
    ]
}

fn drawn(ui: &UiState, snapshot: &Snapshot, size: (u16, u16), theme: ThemeName, ascii: bool) -> Buffer {
    let (ui, theme, log) = (UiState { size, ..ui.clone() }, Theme::of(theme), Records::default());
    frame(&Scene { ui: &ui, snapshot, theme: &theme, log: &log, ascii, now: Mono::ZERO })
}

/// Every screen in every state at every size: what it is, the screens, the picture, its words, and the size.
fn all(mut look: impl FnMut(&str, &UiState, &Snapshot, (&str, &str), (u16, u16))) {
    for (state, snapshot, of_a_run, everywhere) in states() {
        for each in Screen::ALL {
            let mut snapshot = snapshot.clone();
            if let (Screen::Batches, Some(run)) = (each, snapshot.runs.first_mut()) {
                run.batches.clone_from(&fixtures::batches().runs[0].batches);
            }
            let driver = if snapshot.runs.is_empty() { Driver::Nothing } else { Driver::Here };
            let ui = UiState { driver, ..screen(each) };
            for size in SIZES {
                let name = format!("{each:?}, {state}, {size:?}");
                look(&name, &ui, &snapshot, (of_a_run, everywhere), size);
            }
        }
    }
}

#[test]
fn without_colour_every_screen_says_the_same_and_marks_what_matters() {
    all(|name, ui, snapshot, _, size| {
        let dark = drawn(ui, snapshot, size, ThemeName::Dark, false);
        let mono = drawn(ui, snapshot, size, ThemeName::Mono, false);
        assert_eq!(text_of(&dark), text_of(&mono), "{name}");
        let plain = |cell: &ratatui::buffer::Cell| cell.fg == Color::Reset && cell.bg == Color::Reset;
        assert!(mono.content.iter().all(plain), "{name}: a colour in mono");
        let marked = Modifier::BOLD | Modifier::REVERSED | Modifier::UNDERLINED;
        assert!(mono.content.iter().any(|cell| cell.modifier.intersects(marked)), "{name}: nothing stands out");
    });
}

#[test]
fn every_screen_says_what_the_run_does_and_the_way_out() {
    all(|name, ui, snapshot, (of_a_run, everywhere), size| {
        let text = text_of(&drawn(ui, snapshot, size, ThemeName::Dark, false));
        assert!(text.contains("q quit"), "{name}\n{text}");
        assert!(text.contains(everywhere), "{name}\n{text}");
        if ui.screen.is_of_a_run() {
            assert!(text.contains(of_a_run), "{name}\n{text}");
        }
        if size.0 >= 80 {
            assert!(text.contains(ui.screen.as_str()), "{name}\n{text}");
        }
    });
}

#[test]
fn what_asks_for_the_operator_is_seen_on_every_screen_and_at_every_size() {
    all(|name, ui, snapshot, _, size| {
        let text = text_of(&drawn(ui, snapshot, size, ThemeName::Dark, false));
        let asks = shown_run(snapshot)
            .and_then(|run| run.batches.as_deref())
            .is_some_and(|batches| batches.sub_batches.iter().any(|sub| sub.question.is_some()));
        // On its own screen the sub-batch itself is seen, with its button; elsewhere a banner says so.
        let seen = match (ui.screen, shown_run(snapshot).is_some_and(|run| run.status.is_over())) {
            (_, true) => true,
            (Screen::Batches, _) => text.contains("STUCK") || text.contains("4h01m") || text.contains("HOLDING"),
            _ => text.contains("ASKS") || text.contains("HOLDING"),
        };
        assert!(!asks || seen, "{name}\n{text}");
    });
}

#[test]
fn in_ascii_every_screen_is_ascii_in_every_state() {
    all(|name, ui, snapshot, _, size| {
        let buf = drawn(ui, snapshot, size, ThemeName::Mono, true);
        assert!(buf.content.iter().all(|cell| cell.symbol().is_ascii()), "{name}\n{}", text_of(&buf));
    });
}

#[test]
fn a_run_that_is_over_says_so_on_every_screen_about_it() {
    for snapshot in [fixtures::finished(), fixtures::incomplete()] {
        for each in Screen::ALL.into_iter().filter(|each| each.is_of_a_run()) {
            for size in SIZES {
                let text = text_of(&drawn(&screen(each), &snapshot, size, ThemeName::Dark, false));
                let word = snapshot.runs[0].status.to_string();
                assert!(text.contains(&word.to_uppercase()), "{each:?} {size:?} {word}\n{text}");
            }
        }
    }
}

#[test]
fn the_help_of_every_screen_lists_its_actions_and_no_others_with_the_operators_own_keys() {
    use crate::tui::action::in_context;
    use crate::tui::field::TextField;
    use crate::tui::keymap::Keymap;
    for keymap in [Keymap::default(), Keymap::load("vim").unwrap()] {
        for each in Screen::ALL {
            let overlay = Some(Overlay::Help { search: TextField::default(), scroll: 0 });
            let ui = UiState { overlay, keymap: std::sync::Arc::new(keymap.clone()), ..screen(each) };
            let text = text_of(&drawn(&ui, &fixtures::batches(), (160, 200), ThemeName::Dark, false));
            let has = |line: &str, name: &str| line.split_whitespace().any(|word| word == name);
            for info in in_context(each.context()) {
                let key = keymap.hint(info.action);
                let said = text.lines().any(|line| has(line, info.name) && line.contains(&key));
                assert!(said, "{each:?}: no {} with its key {key}\n{text}", info.name);
            }
            // Names that are plain words stand in the texts of others, too.
            let others = registry().filter(|info| !info.contexts.contains(&each.context()) && info.name.contains('-'));
            for info in others {
                let said = text.lines().find(|line| has(line, info.name));
                assert_eq!(said, None, "{each:?} does not have {}", info.name);
            }
        }
    }
}
