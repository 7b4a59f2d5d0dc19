//! The console in lines, as somebody uses it who has them read out.

use termlens::{Key, Screen, Terminal};

use crate::screen::{builder, given_back};
use crate::support::{Place, Server};

/// Types the number of the choice with these words, which stands in the list that was told last.
fn choose(terminal: &mut Terminal, words: &str) {
    terminal.wait_until(|screen| number(screen, words).is_some()).unwrap();
    let number = number(&terminal.screen(), words).unwrap();
    terminal.send_str(&number).unwrap();
    terminal.send(Key::Enter).unwrap();
}

fn number(screen: &Screen, words: &str) -> Option<String> {
    let text = screen.full_text();
    let line = text.lines().rev().find(|line| line.contains(words))?;
    Some(line.trim_start().split_once(". ")?.0.to_owned())
}

#[test]
fn a_run_is_paused_let_go_on_and_stopped_by_numbers_and_nothing_is_drawn() {
    // It would take minutes.
    let server = Server::slow(3_000);
    let place = Place::at(&server);
    place.requests(2_000);
    let args = ["run", "in.jsonl", "--plain-ui", "--run-dir", "run", "--cap", "4"];
    let mut terminal = builder(&place).args(args).spawn(env!("CARGO_BIN_EXE_fandeck")).unwrap();
    terminal.wait_until(|screen| screen.full_text().contains("Launch? [y/N]")).unwrap();
    assert!(terminal.screen().full_text().contains("2,000 requests to send, path sync"), "{}", terminal.screen());
    assert_eq!(server.stats().n_messages, 0);
    terminal.send_str("y").unwrap();
    terminal.send(Key::Enter).unwrap();
    terminal.wait_until(|screen| screen.full_text().contains("press Enter to hear how the run stands")).unwrap();
    terminal.send(Key::Enter).unwrap();
    choose(&mut terminal, "pause the run");
    terminal.wait_until(|screen| screen.full_text().contains("done: paused")).unwrap();
    terminal.send(Key::Enter).unwrap();
    choose(&mut terminal, "let the run go on");
    terminal.wait_until(|screen| screen.full_text().contains("done: resumed")).unwrap();
    terminal.send(Key::Enter).unwrap();
    choose(&mut terminal, "leave: drain or stop");
    choose(&mut terminal, "Stop now");
    let status = terminal.wait_exit().unwrap();
    assert_eq!(status.code(), Some(4));
    let screen = terminal.screen();
    given_back(&screen);
    assert_eq!(screen.repaints(), 0);
    assert!(screen.full_text().contains("go on     fandeck resume"), "{screen}");
}

#[test]
fn standard_input_is_not_read_for_two_things() {
    let ended = Place::new().run(&["run", "-", "--plain-ui"]);
    assert_eq!(ended.code, 2, "{ended:?}");
    assert!(ended.stderr.contains("- and --plain-ui both read standard input"), "{ended:?}");
}
