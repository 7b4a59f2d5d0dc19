//! T1: a run that a signal ends leaves a directory that can be gone on with, and its exit code says which it was.

use rustix::process::Signal;
use serde_json::Value;

use crate::support::{Place, Running, Server, finished, last_json, wait_for};

/// Each org answers two calls, none of the four after them, and all others: with a cap of four, a run stands still with six
/// answers until it is ended.
fn server() -> Server {
    Server::faulty("kind = \"hang\"\non = \"messages\"\nfrom-call = 3\nto-call = 6")
}

/// A run of 60 that has some answers and some calls under way.
fn under_way(server: &Server, place: &Place, dir: &str, front: &str) -> Running {
    let input = place.requests(60);
    let running = place.start(&["run", &input, "--run-dir", dir, front, "--cap", "4"]);
    wait_for("answers in the journal", || {
        let journal = std::fs::read_to_string(place.path("run/results.jsonl")).ok()?;
        (journal.lines().count() == 6 && server.stats().n_hung == 12).then_some(())
    });
    running
}

#[test]
fn t1_each_signal_ends_a_run_with_its_own_code_and_the_run_is_resumed_without_loss() {
    for (signal, code, word) in
        [(Signal::INT, 130, "Ctrl-C"), (Signal::TERM, 143, "SIGTERM"), (Signal::HUP, 129, "SIGHUP")]
    {
        let server = server();
        let place = Place::at(&server);
        let dir = place.text("run");
        let running = under_way(&server, &place, &dir, "--json");
        running.signal(signal);
        let ended = running.end();
        let line = finished(&ended);
        assert_eq!((ended.code, &line["status"]), (code, &Value::from("incomplete")), "{line}");
        let done = line["n_succeeded"].as_u64().unwrap();
        let open = line["n_re_drivable"].as_u64().unwrap() + line["n_unsent"].as_u64().unwrap();
        assert_eq!((done, open), (6, 54), "{line}");
        // What was abandoned may have been billed, and is said.
        assert_eq!(line["n_possibly_charged"], 12, "{line}");
        assert_eq!(last_json(&place.run(&["report", &dir, "--json"]).stdout), line);
        let report = place.run(&["report", &dir]).stdout;
        assert!(report.contains(&format!("exit       {code}")) && report.contains(word), "{report}");
        let rows = std::fs::read_to_string(place.path("run/results.jsonl")).unwrap();
        assert!(rows.ends_with('\n'));

        let resumed = place.run(&["resume", &dir, "--json"]);
        assert_eq!((resumed.code, &finished(&resumed)["n_succeeded"]), (0, &60.into()));
        assert_eq!(place.export(&dir, &[]).len(), 60);
        assert_eq!((server.stats().bodies_accepted, server.stats().bodies_accepted_twice), (60, 0));
    }
}

#[test]
fn t1_plain_lines_end_with_a_summary_that_says_how_to_go_on() {
    let server = server();
    let place = Place::at(&server);
    let dir = place.text("run");
    let running = under_way(&server, &place, &dir, "--headless");
    running.signal(Signal::INT);
    let ended = running.end();
    assert_eq!(ended.code, 130);
    for text in ["incomplete", &format!("fandeck resume {dir}"), "exit      130, ended by Ctrl-C, can be resumed"] {
        assert!(ended.stdout.contains(text), "{text}: {}", ended.stdout);
    }
}

#[test]
fn t1_a_second_signal_leaves_at_once_and_the_run_can_still_be_resumed() {
    let server = server();
    let place = Place::at(&server);
    let dir = place.text("run");
    let running = under_way(&server, &place, &dir, "--json");
    // Stopped, it takes both of them before it can do anything about the first.
    running.signal(Signal::STOP);
    running.signal(Signal::INT);
    running.signal(Signal::TERM);
    running.signal(Signal::CONT);
    let ended = running.end();
    assert!([130, 143].contains(&ended.code), "{}", ended.code);
    assert_eq!(finished(&place.run(&["resume", &dir, "--json"]))["n_succeeded"], 60);
    assert_eq!(place.export(&dir, &[]).len(), 60);
}
