//! T3: without a terminal there are lines and nothing else, and a reader that leaves hurts nobody.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use crate::support::{Ended, Place, Running, Server, finished, wait_for};

#[track_caller]
fn no_escapes(ended: &Ended) {
    for text in [&ended.stdout, &ended.stderr] {
        assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "{text:?}");
    }
}

#[test]
fn t3_lines_are_chosen_by_themselves_without_a_terminal_and_hold_no_escapes() {
    let server = Server::calm();
    let mut place = Place::at(&server);
    let input = place.requests(12);
    for (name, value) in [("TERM", "xterm-256color"), ("TERM", "dumb"), ("CI", "true"), ("FORCE_COLOR", "1")] {
        place.set(name, value);
        let ended = place.run(&["run", &input, "--no-cache"]);
        assert_eq!(ended.code, 0, "{}", ended.stderr);
        assert!(ended.stdout.contains("12 succeeded"), "{}", ended.stdout);
        no_escapes(&ended);
    }
    let dir = place.runs().remove(0);
    let dir = dir.to_str().unwrap();
    for args in [&["status", dir][..], &["report", dir], &["runs"], &["config"], &["export", dir], &["--help"], &[]] {
        let ended = place.run(args);
        assert_eq!(ended.code, 0, "{args:?}: {}", ended.stderr);
        no_escapes(&ended);
    }
    no_escapes(&place.run(&["run", "--no-such-flag"]));
    no_escapes(&place.run(&["demo", "--requests", "20", "--scenario", "calm", "--time-scale", "50"]));
}

#[test]
fn t3_in_a_session_without_a_terminal_nothing_hangs() {
    let server = Server::calm();
    let place = Place::at(&server);
    let input = place.requests(12);
    let mut setsid = std::process::Command::new("setsid");
    setsid.args(["--wait", env!("CARGO_BIN_EXE_fandeck"), "run", &input]).env_clear().envs(place.environment());
    // Found by its usual path: the environment of the place has none.
    setsid.env("PATH", "/usr/bin:/bin").stdin(Stdio::null());
    let ended = Running::spawn(setsid).end();
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    no_escapes(&ended);
}

#[test]
fn a_reader_that_leaves_after_the_first_line_does_not_hurt_the_run() {
    for front in ["--json", "--headless"] {
        let server = Server::slow(40);
        let place = Place::at(&server);
        let (input, dir) = (place.requests(60), place.text("run"));
        let mut command = place.command(&["run", &input, "--run-dir", &dir, front, "--cap", "4"]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut first = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
        assert!(first.contains("run-"), "{first}");
        let status = wait_for("the end", || child.try_wait().unwrap());
        assert_eq!(status.code(), Some(0));
        assert_eq!(place.export(&dir, &[]).len(), 60);
    }
}

#[test]
fn an_export_into_a_pipe_that_is_closed_is_no_error() {
    let server = Server::calm();
    let place = Place::at(&server);
    let (input, dir) = (place.requests(200), place.text("run"));
    assert_eq!(finished(&place.run(&["run", &input, "--run-dir", &dir, "--json"]))["n_succeeded"], 200);
    for args in [&["export", &dir][..], &["export", &dir, "--format", "csv"], &["report", &dir], &["man"]] {
        let mut child = place.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!((output.status.code(), &*String::from_utf8_lossy(&output.stderr)), (Some(0), ""), "{args:?}");
    }
    // Nor is a device that is full a fault of fandeck itself.
    for args in [&["status", &dir][..], &["report", &dir], &["export", &dir]] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = place.command(args).stdout(full).stderr(Stdio::piped()).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}");
    }
    // A file that cannot be made is an error that names it, and what was there stays.
    place.run(&["export", &dir, "--out", &place.text("none/out.jsonl")]).refused(2, &["none/out.jsonl"]);
}

#[test]
fn help_completions_and_the_manual_tell_every_command_and_exit_code() {
    let place = Place::new();
    let help = place.run(&["--help"]).stdout;
    for text in ["run", "resume", "export", "completions", "130, 143, 129", "owned by another process"] {
        assert!(help.contains(text), "{text}: {help}");
    }
    for command in ["demo", "run", "resume", "status", "runs", "export", "report", "simulate", "config", "completions"]
    {
        let ended = place.run(&[command, "--help"]);
        assert_eq!((ended.code, &*ended.stderr), (0, ""));
        assert!(help.contains(command));
    }
    for (shell, mark) in [("bash", "complete -F"), ("zsh", "#compdef fandeck"), ("fish", "complete -c fandeck")] {
        let ended = place.run(&["completions", shell]);
        assert!(ended.code == 0 && ended.stdout.contains(mark) && ended.stdout.contains("resume"), "{shell}");
    }
    let man = place.run(&["man"]).stdout;
    for text in [".TH fandeck", "fandeck run", "fandeck export", "run\\-dir", "Exit codes"] {
        assert!(man.contains(text), "{text}");
    }
    assert!(place.run(&["--version"]).stdout.starts_with("fandeck 0."));
}
