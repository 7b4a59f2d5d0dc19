//! The planner in a pseudo-terminal, with a pilot of the input.

use termlens::{Key, Terminal};

use crate::screen::{builder, ends_with};
use crate::support::{Place, Server, Watch, wait_for};

const BINARY: &str = env!("CARGO_BIN_EXE_fandeck");

/// The planner of 200 requests, its figures shown.
fn planner(place: &Place, more: &[&str]) -> Terminal {
    let input = place.requests(200);
    let mut terminal = builder(place).args(["run", &input]).args(more).spawn(BINARY).unwrap();
    terminal.shows(|screen| screen.contains("200 to send") && screen.contains("pilot]"));
    // Table, chart, rules, figures.
    (0..3).for_each(|_| terminal.send(Key::Tab).unwrap());
    terminal.shows(|screen| screen.contains("[figures]") && screen.contains("assumed"));
    terminal
}

/// Presses the key and agrees in the gate.
fn pilot(terminal: &mut Terminal) {
    terminal.send(Key::Char('p')).unwrap();
    let gate = ["send a pilot?", "100 of the 200 requests", "expected (", "nothing is paid twice"];
    terminal.shows(|screen| gate.iter().all(|words| screen.contains(words)));
    terminal.send(Key::Char('y')).unwrap();
}

#[test]
fn a_pilot_from_the_planner_measures_and_a_launch_goes_on_where_it_ended_and_pays_nothing_twice() {
    for cache in [&["--no-cache"][..], &[]] {
        let server = Server::calm();
        let place = Place::at(&server);
        let mut terminal = planner(&place, cache);
        // Who does not agree sends nothing.
        let (row, column) = terminal.shows(|screen| screen.contains("pilot]")).find("pilot]").unwrap();
        terminal.click(column, row).unwrap();
        terminal.shows(|screen| screen.contains("send a pilot?"));
        terminal.send(Key::Esc).unwrap();
        terminal.shows(|screen| !screen.contains("send a pilot?"));
        assert_eq!((server.stats().n_messages, place.runs().len()), (0, 0));
        pilot(&mut terminal);
        terminal.shows(|screen| screen.contains("100 to send of 200") && screen.contains("100 answers"));
        let figures = ["tokens-in", "tokens-out", "latency-p50"];
        terminal.shows(|screen| {
            let text = screen.text();
            figures.iter().all(|name| {
                let from = text.find(name).map_or("", |at| &text[at..]);
                from.lines().take(2).any(|line| line.contains("pilot") && line.contains("100"))
            })
        });
        let stats = server.stats();
        assert_eq!((stats.bodies_accepted, place.runs().len()), (100, 1));
        terminal.send(Key::Enter).unwrap();
        terminal.shows(|screen| screen.contains("launch?") && screen.contains("100 requests to"));
        terminal.send(Key::Char('y')).unwrap();
        wait_for("all answers", || (server.stats().bodies_accepted == 200).then_some(()));
        terminal.shows(|screen| screen.contains("finished"));
        terminal.send(Key::Char('q')).unwrap();
        ends_with(terminal, 0);
        assert_eq!((server.stats().bodies_accepted_twice, place.runs().len()), (0, 1), "one run, nothing twice");
        let dir = place.runs().remove(0);
        assert_eq!(place.export(&dir.display().to_string(), &[]).len(), 200);
    }
}

#[test]
fn a_pilot_that_fails_says_why_and_leaves_what_was_assumed() {
    let faults = [
        ("kind = \"rate-limited\"", "no room now", 0),
        ("kind = \"unauthorized\"", "every org is parked", 2),
        ("kind = \"invalid\"", "× invalid", 0),
    ];
    for (fault, says, code) in faults {
        let server = Server::faulty(&format!("{fault}\non = \"messages\""));
        let place = Place::at(&server);
        let mut terminal = planner(&place, &[]);
        pilot(&mut terminal);
        let text = terminal.shows(|screen| screen.contains("pilot failed") && screen.contains(says)).text();
        assert!(text.contains("assumed") && !text.contains("measured"), "{fault}: {text}");
        // Enough is enough: an org without room is left in peace.
        assert!(server.stats().n_messages < 130, "{fault}: {}", server.stats().n_messages);
        terminal.send(Key::Char('q')).unwrap();
        ends_with(terminal, code);
    }
}
