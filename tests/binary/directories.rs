//! Run directories: which are taken, which are refused, who owns them, and what happens when one is damaged.

use std::fs;

use crate::support::{Place, Server, finished, last_json, request, wait_for};

#[test]
fn a_directory_that_holds_a_run_is_refused_and_resume_is_named() {
    let server = Server::calm();
    let place = Place::at(&server);
    let (input, dir) = (place.requests(3), place.text("run"));
    fs::create_dir(place.path("run")).unwrap();
    assert_eq!(place.run(&["run", &input, "--run-dir", &dir, "--json"]).code, 0, "an empty one is taken");
    let journal = fs::read(place.path("run/results.jsonl")).unwrap();
    place.run(&["run", &input, "--run-dir", &dir, "--json"]).refused(2, &[&dir, "fandeck resume"]);
    assert_eq!(fs::read(place.path("run/results.jsonl")).unwrap(), journal);
}

#[test]
fn a_directory_of_somebody_else_is_refused_and_left_alone() {
    let server = Server::calm();
    let place = Place::at(&server);
    let input = place.requests(3);
    fs::create_dir(place.path("home-dir")).unwrap();
    place.write("home-dir/thesis.tex", "");
    let ended = place.run(&["run", &input, "--run-dir", &place.text("home-dir"), "--json"]);
    ended.refused(2, &["thesis.tex", "name an empty or a new directory"]);
    assert_eq!(fs::read_dir(place.path("home-dir")).unwrap().count(), 1);
    for command in ["resume", "status", "report", "export"] {
        place.run(&[command, &place.text("home-dir")]).refused(2, &["is not a run directory"]);
        place.run(&[command, &place.text("none")]).refused(2, &["is not a run directory"]);
    }
    assert_eq!((fs::read_dir(place.path("home-dir")).unwrap().count(), server.stats().n_messages), (1, 0));
}

#[test]
fn a_place_that_cannot_be_written_is_a_clear_error_and_nothing_is_sent() {
    let server = Server::calm();
    let mut place = Place::at(&server);
    let input = place.requests(3);
    // Below a file, and below a file system that takes nothing, there is no directory for anybody, root included.
    place.write("a-file", "");
    for dir in [place.text("a-file/run"), "/proc/fandeck/run".to_owned()] {
        place.run(&["run", &input, "--run-dir", &dir, "--json"]).refused(2, &["failed to create", &dir]);
    }
    place.set("XDG_DATA_HOME", &place.text("a-file"));
    place.run(&["run", &input, "--json"]).refused(2, &["failed to create", "a-file"]);
    place.set("XDG_DATA_HOME", &place.text("data"));
    place.set("XDG_CACHE_HOME", &place.text("a-file"));
    place.run(&["run", &input, "--json"]).refused(2, &["a-file", "--no-cache"]);
    place.set("XDG_CACHE_HOME", &place.text("cache"));
    place.set("XDG_STATE_HOME", &place.text("a-file"));
    place.run(&["run", &input, "--json"]).refused(2, &["log directory", "a-file"]);
    assert_eq!((server.stats().n_messages, place.runs()), (0, Vec::new()));
}

#[test]
fn d3_a_second_owner_is_refused_with_5_and_the_first_one_goes_on() {
    let server = Server::calm();
    let place = Place::at(&server);
    let (input, dir) = (place.requests(180), place.text("run"));
    // It has its first answers, and no more until the others have been there.
    server.hold_from(16);
    let mut first = place.start(&["run", &input, "--run-dir", &dir, "--json", "--cap", "5"]);
    first.line("the start", |line| line.contains("run-started"));
    let owner = format!("process {}", first.pid());
    // What goes on has no exit code yet.
    let reported = last_json(&place.run(&["report", &dir, "--json"]).stdout);
    assert_eq!((&reported["exit_code"], &reported["n_total"]), (&serde_json::Value::Null, &180.into()), "{reported}");
    place.run(&["resume", &dir, "--json"]).refused(5, &[&dir, "is owned by", &owner]);
    place.run(&["run", &input, "--run-dir", &dir, "--json"]).refused(5, &[&owner]);
    // A copy has a lock of its own, and what it would send is the same.
    let copy = place.text("copy");
    fs::create_dir(&copy).unwrap();
    for name in ["run.json", "state.json"] {
        fs::copy(place.path("run").join(name), place.path("copy").join(name)).unwrap();
    }
    place.run(&["resume", &copy, "--json"]).refused(5, &[&copy, "is a copy of a run", &owner]);
    // Looking is not owning.
    let status = last_json(&place.run(&["status", &dir, "--json"]).stdout);
    assert_eq!((&status["live"], &status["owner"]["pid"]), (&true.into(), &first.pid().into()));
    assert_eq!(place.run(&["export", &dir]).code, 0);
    server.release();
    assert_eq!(finished(&first.end())["n_succeeded"], 180);
    assert_eq!(last_json(&place.run(&["status", &dir, "--json"]).stdout)["live"], false);
    assert_eq!(server.stats().bodies_accepted_twice, 0);
}

#[test]
fn d3_the_lock_dies_with_its_owner() {
    let server = Server::calm();
    let place = Place::at(&server);
    let (input, dir) = (place.requests(60), place.text("run"));
    server.hold_from(1);
    let mut first = place.start(&["run", &input, "--run-dir", &dir, "--json", "--cap", "5"]);
    first.line("the start", |line| line.contains("run-started"));
    first.kill();
    server.release();
    let status = place.run(&["status", &dir]).stdout;
    assert!(status.contains("cut off while") && status.contains("fandeck resume"), "{status}");
    assert_eq!(finished(&place.run(&["resume", &dir, "--json"]))["n_succeeded"], 60);
}

#[test]
fn d5_a_corrupt_state_is_refused_by_path_and_not_touched() {
    let server = Server::calm();
    let place = Place::at(&server);
    let (input, dir) = (place.requests(5), place.text("run"));
    assert_eq!(place.run(&["run", &input, "--run-dir", &dir, "--json"]).code, 0);
    let before = server.stats().n_messages;
    for name in ["state.json", "run.json"] {
        let path = place.text(&format!("run/{name}"));
        let good = fs::read(&path).unwrap();
        let bad = &good[..good.len() / 2];
        fs::write(&path, bad).unwrap();
        for command in ["resume", "status", "report"] {
            place.run(&[command, &dir]).refused(2, &[&path, "is corrupt"]);
        }
        assert_eq!(fs::read(&path).unwrap(), bad);
        fs::write(&path, good).unwrap();
    }
    assert_eq!((place.run(&["resume", &dir]).code, server.stats().n_messages), (0, before));
}

#[test]
fn d8_a_cache_that_is_damaged_or_foreign_is_refused_with_the_way_around_it() {
    let server = Server::calm();
    let place = Place::at(&server);
    let input = place.requests(4);
    fs::create_dir_all(place.path("cache-dir")).unwrap();
    place.write("cache-dir/answers.sqlite", "this is somebody's letter, not a database at all");
    let args = ["run", &*input, "--json", "--cache-dir", &*place.text("cache-dir")];
    place.run(&args).refused(2, &["answers.sqlite", "--no-cache"]);
    assert_eq!((server.stats().n_messages, place.runs()), (0, Vec::new()));
    assert_eq!(place.run(&[&args[..], &["--no-cache"]].concat()).code, 0);
    let letter = fs::read_to_string(place.path("cache-dir/answers.sqlite")).unwrap();
    assert!(letter.starts_with("this is somebody's letter"));
}

#[test]
fn a_directory_whose_run_sent_nothing_is_taken_again() {
    let server = Server::faulty("kind = \"unauthorized\"");
    let place = Place::at(&server);
    let (input, dir) = (place.write("in.jsonl", request("a", "b")), place.text("run"));
    let ended = place.run(&["run", &input, "--run-dir", &dir, "--json"]);
    assert_eq!(ended.code, 2, "{}", ended.stdout);
    let again = place.run(&["run", &input, "--run-dir", &dir, "--json"]);
    assert_eq!(finished(&again)["n_total"], 1, "{}", again.stderr);
}

#[test]
fn a_run_directory_that_is_deleted_under_the_run_is_put_back_with_every_answer() {
    let server = Server::calm();
    let place = Place::at(&server);
    let (input, dir) = (place.requests(150), place.text("run"));
    // Some answers come before the journal goes, and the others afterwards.
    server.hold_from(16);
    let mut running = place.start(&["run", &input, "--run-dir", &dir, "--json", "--cap", "5"]);
    running.line("the start", |line| line.contains("run-started"));
    wait_for("answers in the journal", || {
        fs::metadata(place.path("run/results.jsonl")).ok().filter(|meta| meta.len() > 0).map(drop)
    });
    fs::remove_file(place.path("run/results.jsonl")).unwrap();
    server.release();
    let ended = running.end();
    assert_eq!(ended.code, 0, "{}\n{}", ended.stdout, ended.stderr);
    assert_eq!(place.export(&dir, &[]).len(), 150);
    assert!(ended.stdout.contains("moved, deleted or replaced"), "{}", ended.stdout);
    assert_eq!(server.stats().bodies_accepted_twice, 0);
}

#[test]
fn a_journal_that_is_shorter_than_the_state_says_is_refused_with_both_numbers_and_nothing_is_paid_twice_unasked() {
    let server = Server::calm();
    let place = Place::at(&server);
    let (input, dir) = (place.requests(10), place.text("run"));
    assert_eq!(place.run(&["run", &input, "--run-dir", &dir, "--json", "--no-cache"]).code, 0);
    let path = place.path("run/results.jsonl");
    let whole = fs::read_to_string(&path).unwrap();
    let eight = whole.split_inclusive('\n').take(8).collect::<String>();
    fs::write(&path, &eight).unwrap();
    let report = place.run(&["report", &dir]);
    assert!(report.stderr.contains("lacks 2 of the 10 outcomes"), "{}", report.stderr);
    let words = ["results.jsonl", "holds 8 outcomes", "10 were there", "--accept-lost-results"];
    place.run(&["resume", &dir, "--json", "--no-cache"]).refused(2, &words);
    fs::remove_file(&path).unwrap();
    place.run(&["resume", &dir, "--json", "--no-cache"]).refused(2, &["holds 0 outcomes", "put the journal back"]);
    // Nor is it a run that sent nothing.
    place.run(&["run", &input, "--run-dir", &dir, "--json", "--no-cache"]).refused(2, &["holds a run"]);
    assert_eq!(server.stats().n_messages, 10);
    // With the journal back all is well, and so it is for somebody who wants to pay.
    fs::write(&path, &whole).unwrap();
    assert_eq!(place.run(&["resume", &dir, "--json", "--no-cache"]).code, 0);
    assert_eq!(server.stats().n_messages, 10);
    fs::write(&path, &eight).unwrap();
    let resumed = place.run(&["resume", &dir, "--json", "--no-cache", "--accept-lost-results"]);
    assert_eq!((resumed.code, server.stats().n_messages), (0, 12), "{}", resumed.stderr);
    // More in the journal than the state knows of is what a crash leaves.
    fs::remove_file(place.path("run/state.json")).unwrap();
    assert_eq!(place.run(&["resume", &dir, "--json", "--no-cache"]).code, 0);
    assert_eq!((server.stats().n_messages, place.export(&dir, &[]).len()), (12, 10));
}
