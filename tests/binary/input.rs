//! Inputs that cannot be run, and inputs that only look as if.

use std::fs::{self, File};
use std::io::Write;
use std::process::Stdio;

use crate::support::{Ended, Place, Running, Server, finished, ids, request};

/// Refused as an input: exit 2, nothing sent, no run directory left.
#[track_caller]
fn refused(server: &Server, place: &Place, ended: &Ended, texts: &[&str]) {
    ended.refused(2, texts);
    assert_eq!(server.stats().n_messages, 0);
    assert_eq!((place.runs(), &*ended.stdout), (Vec::new(), ""));
}

#[test]
fn d12_all_problems_are_listed_with_their_lines_and_nothing_is_sent() {
    let server = Server::calm();
    let place = Place::at(&server);
    let good = request("good", "a question");
    let text = format!(
        "{good}not json\n\n[1]\n{{\"custom_id\":\"a\"}}\n{{\"custom_id\":7,\"params\":{{\"model\":\"m\",\"max_tokens\":1,\
         \"messages\":[]}}}}\n{{\"params\":{{}}}}\n{{\"custom_id\":\"b\",\"params\":\"text\"}}\n{}",
        good.replace("64", "\"64\"").replace("good", "c")
    );
    let input = place.write("in.jsonl", text);
    let ended = place.run(&["run", &input, "--json"]);
    let texts = [
        &*input,
        "line 2: not JSON",
        "line 4: an array, not an object",
        "line 5: `params` is missing",
        "line 6: `custom_id` is",
        "line 7: `custom_id` is missing",
        "line 8: `params` is",
        "line 9: `params.max_tokens` is",
    ];
    refused(&server, &place, &ended, &texts);
    assert!(!ended.stderr.contains("line 1:") && !ended.stderr.contains("line 3:"), "{}", ended.stderr);
}

#[test]
fn d12_of_many_problems_the_first_twenty_are_listed_and_the_rest_counted() {
    let server = Server::calm();
    let place = Place::at(&server);
    let input = place.write("in.jsonl", "{\n".repeat(33));
    let ended = place.run(&["run", &input]);
    refused(&server, &place, &ended, &["has 33 problems, nothing was sent", "line 1: ", "line 20: ", "and 13 more"]);
    assert!(!ended.stderr.contains("line 21:"), "{}", ended.stderr);
}

#[test]
fn b2_d11_duplicates_and_system_roles_are_refused_with_both_lines_and_the_index() {
    let server = Server::calm();
    let place = Place::at(&server);
    let system = request("s", "x").replace(
        "[{\"content\":\"x\",\"role\":\"user\"}]",
        "[{\"content\":\"x\",\"role\":\"user\"},{\"content\":\"y\",\"role\":\"system\"}]",
    );
    assert!(system.contains("system"), "{system}");
    let text = format!("{}{}{}{system}", request("twin", "1"), request("other", "2"), request("twin", "3"));
    let input = place.write("in.jsonl", text);
    let ended = place.run(&["run", &input]);
    let texts = ["line 3: custom_id \"twin\" is that of line 1", "line 4: `params.messages[1]` has the role `system`"];
    refused(&server, &place, &ended, &texts);
}

#[test]
fn d10_a_line_that_is_too_long_is_named_and_the_lines_after_it_are_read_all_the_same() {
    let server = Server::calm();
    let place = Place::at(&server);
    let mut file = File::create(place.path("in.jsonl")).unwrap();
    file.write_all(&vec![b'x'; 33 << 20]).unwrap();
    file.write_all(b"\nnot json\n").unwrap();
    let ended = place.run(&["run", &place.text("in.jsonl")]);
    refused(&server, &place, &ended, &["line 1: 34603008 bytes long", "line 2: not JSON"]);
}

#[test]
fn what_is_no_file_of_requests_is_refused_by_name() {
    let server = Server::calm();
    let place = Place::at(&server);
    place.write("empty.jsonl", "");
    place.write("blank.jsonl", "\n\r\n  \n");
    place.write("latin.jsonl", b"{\"custom_id\":\"caf\xe9\"}\n");
    fs::create_dir(place.path("folder")).unwrap();
    for (name, what) in [
        ("empty.jsonl", "holds no request"),
        ("blank.jsonl", "holds no request"),
        ("latin.jsonl", "line 1: not UTF-8 at column 18"),
        ("folder", "it is a directory"),
        ("none.jsonl", "there is no such file"),
    ] {
        let ended = place.run(&["run", &place.text(name)]);
        refused(&server, &place, &ended, &[name, what]);
    }
}

#[test]
fn blank_lines_line_ends_of_windows_and_a_byte_order_mark_are_fine() {
    let server = Server::calm();
    let place = Place::at(&server);
    let lines = [request("é", "1"), "\n".to_owned(), request("b c", "2"), request("", "3")].concat();
    let input = place.write("in.jsonl", format!("\u{feff}{}", lines.trim_end().replace('\n', "\r\n")));
    let dir = place.text("run");
    assert_eq!(place.run(&["run", &input, "--run-dir", &dir, "--json"]).code, 0);
    assert_eq!(ids(&place.export(&dir, &[])), ["é", "b c", ""]);
}

/// Runs with this text on standard input.
fn piped(place: &Place, args: &[&str], text: &str) -> Ended {
    let file = place.write("piped", text);
    let mut command = place.command(args);
    command.stdin(Stdio::from(File::open(file).unwrap()));
    Running::spawn(command).end()
}

#[test]
fn standard_input_is_kept_in_the_run_directory_so_that_the_run_can_be_resumed() {
    let server = Server::calm();
    let place = Place::at(&server);
    server.hold_from(25);
    let text: String = (0..60).map(|no| request(&format!("p-{no}"), &format!("piped {no}"))).collect();
    let dir = place.text("run");
    let mut command = place.command(&["run", "-", "--run-dir", &dir, "--json", "--cap", "4"]);
    command.stdin(Stdio::from(File::open(place.write("piped", &text)).unwrap()));
    let mut running = Running::spawn(command);
    running.line("the start", |line| line.contains("run-started"));
    crate::support::wait_for("some answers", || (server.stats().bodies_accepted > 20).then_some(()));
    running.kill();
    server.release();
    fs::remove_file(place.path("piped")).unwrap();
    assert_eq!(fs::read_to_string(place.path("run/input.jsonl")).unwrap(), text);
    let resumed = place.run(&["resume", &dir, "--json"]);
    let line = finished(&resumed);
    assert_eq!((resumed.code, &line["n_succeeded"], &line["input"]), (0, &60.into(), &"standard input".into()));
    let report = crate::support::last_json(&place.run(&["report", &dir, "--json"]).stdout);
    assert_eq!(report, line);
    assert_eq!(place.export(&dir, &[]).len(), 60);
}

#[test]
fn d12_bad_standard_input_leaves_no_run_directory_behind() {
    let server = Server::calm();
    let place = Place::at(&server);
    for text in ["{\n", ""] {
        let ended = piped(&place, &["run", "-", "--json"], text);
        ended.refused(2, &[if text.is_empty() { "holds no request" } else { "line 1: not JSON" }]);
        assert_eq!((place.runs(), server.stats().n_messages), (Vec::new(), 0));
        // A directory that was named and empty before is empty again, and can be used.
        fs::create_dir_all(place.path("named")).unwrap();
        piped(&place, &["run", "-", "--json", "--run-dir", &place.text("named")], text).refused(2, &[]);
        assert_eq!(fs::read_dir(place.path("named")).unwrap().count(), 0);
    }
    let ended = piped(&place, &["run", "-", "--json", "--run-dir", &place.text("named")], &request("a", "b"));
    assert_eq!(ended.code, 0, "{}", ended.stderr);
}

#[test]
fn a_run_that_costs_too_much_to_launch_unasked_names_the_figure_and_leaves_nothing_behind() {
    let server = Server::calm();
    let place = Place::at(&server);
    place.config("confirm-above-usd = 0.000001\n");
    let input = place.requests(30);
    let ended = place.run(&["run", &input, "--json"]);
    refused(&server, &place, &ended, &["projected cost $", "confirm-above-usd", "--yes"]);
    let yes = place.run(&["run", &input, "--json", "--yes"]);
    assert_eq!(yes.code, 0, "{}", yes.stderr);
    // What is cached costs nothing.
    assert_eq!(place.run(&["run", &input, "--json"]).code, 0);
}

#[test]
fn d2_an_edited_input_is_refused_with_counts_and_goes_on_only_when_that_is_accepted() {
    let server = Server::calm();
    let place = Place::at(&server);
    let (input, dir) = (place.requests(20), place.text("run"));
    assert_eq!(place.run(&["run", &input, "--run-dir", &dir, "--json"]).code, 0);
    let text = fs::read_to_string(&input).unwrap();
    let mut lines: Vec<&str> = text.lines().collect();
    let (edited, new) = (lines[4].replace("case 4", "case four"), request("new", "a new one"));
    lines[4] = &edited;
    lines.truncate(18);
    lines.push(new.trim_end());
    let input = place.write("in.jsonl", lines.join("\n"));
    let before = server.stats().n_messages;
    let texts = [&*input, "has changed since the run was made", "17 ", "1 ", "2 ", "--accept-changed-input"];
    place.run(&["resume", &dir, "--json"]).refused(2, &texts);
    place.run(&["export", &dir]).refused(2, &["has changed", "--accept-changed-input"]);
    assert_eq!(server.stats().n_messages, before);
    let ended = place.run(&["resume", &dir, "--json", "--accept-changed-input"]);
    let line = finished(&ended);
    assert_eq!((ended.code, &line["n_total"], server.stats().n_messages), (0, &19.into(), before + 2), "{line}");
    let export = place.export(&dir, &["--accept-changed-input"]);
    assert_eq!((export.len(), ids(&export)[18]), (19, "new"));
}

#[test]
fn d2_an_input_that_is_edited_under_the_run_ends_it_and_no_changed_line_is_sent() {
    let server = Server::calm();
    let place = Place::at(&server);
    let (input, dir) = (place.requests(100), place.text("run"));
    server.hold_from(25);
    let good = fs::read_to_string(&input).unwrap();
    let mut running = place.start(&["run", &input, "--run-dir", &dir, "--json", "--cap", "4"]);
    running.line("the start", |line| line.contains("run-started"));
    crate::support::wait_for("some answers", || (server.stats().bodies_accepted > 20).then_some(()));
    // In place, as an editor that keeps the file does it.
    let edited = good.replace("judge case", "JUDGE CASE");
    fs::OpenOptions::new().write(true).open(&input).unwrap().write_all(edited.as_bytes()).unwrap();
    server.release();
    let ended = running.end();
    let line = finished(&ended);
    assert_eq!((ended.code, &line["status"]), (4, &"incomplete".into()), "{line}");
    assert!(ended.stdout.contains("was changed after the run read it"), "{}", ended.stdout);
    // With the old file back it goes on where it was.
    place.write("in.jsonl", good);
    assert_eq!(finished(&place.run(&["resume", &dir, "--json"]))["n_succeeded"], 100);
    assert_eq!(place.export(&dir, &[]).len(), 100);
    assert_eq!(server.stats().bodies_accepted, 100);
}
