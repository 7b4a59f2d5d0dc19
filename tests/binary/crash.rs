//! D1 and the promise about money: a run that is killed again and again loses nothing and pays for nothing that is durable.

use std::collections::HashSet;
use std::fs::{self, OpenOptions};
use std::io::Write;

use serde_json::Value;

use crate::support::{Place, Server, finished, ids};

const REQUESTS: usize = 400;
const CAP: u64 = 8;
const KILLS: u64 = 6;

/// The ids that have a whole line in the journal.
fn durable(place: &Place) -> HashSet<String> {
    let text = fs::read(place.path("run/results.jsonl")).unwrap_or_default();
    let lines = text.split_inclusive(|byte| *byte == b'\n').filter(|line| line.ends_with(b"\n"));
    lines
        .filter_map(|line| serde_json::from_slice::<Value>(line).ok())
        .filter(|line| line["fandeck"]["outcome"] == "succeeded")
        .map(|line| line["custom_id"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn d1_a_run_that_is_killed_at_random_moments_has_every_id_once_and_pays_twice_only_for_what_was_in_flight() {
    let server = Server::slow(60);
    let place = Place::at(&server);
    place.more_config("[store]\ngroup-commit = \"5ms\"\n");
    let (input, dir, cap) = (place.requests(REQUESTS), place.text("run"), CAP.to_string());
    let mut rng = fastrand::Rng::with_seed(20_261_129);
    let mut not_durable_at_kills = 0;
    for kill in 0..KILLS {
        let args = match kill {
            0 => vec!["run", &input, "--run-dir", &dir, "--json", "--cap", &cap],
            _ => vec!["resume", &dir, "--json", "--cap", &cap],
        };
        // Somewhere in the next fiftieth to thirteenth of the run, at a moment that the server chooses by its load; and
        // before the end of the run, however late the kill is.
        let until = server.stats().n_messages + rng.u64(8..30);
        server.hold_from(until + 8);
        let running = place.start(&args);
        server.wait_for_messages(until);
        let ended = running.kill();
        assert_eq!(ended.code, 137, "{}", ended.stderr);
        server.wait_until_left();
        let stats = server.stats();
        not_durable_at_kills += stats.bodies_accepted - durable(&place).len() as u64;
    }
    server.release();
    let before = durable(&place);
    let state: Value = serde_json::from_slice(&fs::read(place.path("run/state.json")).unwrap()).unwrap();
    let ceiling = state["n_begun_at_most"].as_u64().unwrap();
    let resumed = place.run(&["resume", &dir, "--json"]);
    let line = finished(&resumed);
    assert_eq!((resumed.code, &line["n_succeeded"], &line["n_total"]), (0, &400.into(), &400.into()), "{line}");

    let export = place.export(&dir, &[]);
    let wanted: Vec<String> = (0..REQUESTS).map(|no| format!("r-{no}")).collect();
    assert_eq!(ids(&export), wanted);
    let stats = server.stats();
    assert_eq!(stats.bodies_accepted, REQUESTS as u64);
    // What was out, and what was answered and not on the disk.
    assert!(stats.bodies_accepted_twice <= not_durable_at_kills, "{not_durable_at_kills}: {stats:?}");
    // What was durable before the last resume stands there once: it was not sent again.
    let journal = fs::read_to_string(place.path("run/results.jsonl")).unwrap();
    let rows = |id: &str| journal.lines().filter(|line| line.contains(&format!("\"custom_id\":\"{id}\""))).count();
    assert!(before.iter().all(|id| rows(id) == 1));
    let paid = line["n_possibly_charged"].as_u64().unwrap();
    // An upper bound of what was paid twice: what the last ceiling leaves above what the journal held.
    assert!(paid >= stats.bodies_accepted_twice, "{line}");
    assert_eq!(paid, ceiling - before.len() as u64, "{line}");
    assert!(place.files().iter().all(|(path, _)| !path.to_string_lossy().ends_with(".fandeck-tmp")));

    // A finished run sends nothing and ends as it ended; so does a second run of the same file.
    let sent = stats.n_messages;
    assert_eq!(finished(&place.run(&["resume", &dir, "--json"]))["n_succeeded"], 400);
    let again = finished(&place.run(&["run", &input, "--json"]));
    assert_eq!((&again["n_cached"], server.stats().n_messages), (&400.into(), sent));
}

#[test]
fn d1_a_torn_line_is_kept_aside_and_its_request_is_sent_again() {
    let server = Server::calm();
    let place = Place::at(&server);
    let (input, dir) = (place.requests(10), place.text("run"));
    assert_eq!(place.run(&["run", &input, "--run-dir", &dir, "--json", "--no-cache"]).code, 0);
    let path = place.path("run/results.jsonl");
    let whole = fs::read(&path).unwrap();
    let torn = whole.len() - 25;
    OpenOptions::new().write(true).open(&path).unwrap().set_len(torn as u64).unwrap();
    // Nor had anybody counted it: what a line is counted by is its fsync.
    let state = fs::read_to_string(place.path("run/state.json")).unwrap();
    let before = state.replace("\"succeeded\": 10", "\"succeeded\": 9").replace("\"unsent\": 0", "\"unsent\": 1");
    assert_ne!(state, before);
    place.write("run/state.json", before);
    let last_line = whole[..whole.len() - 1].iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
    let resumed = place.run(&["resume", &dir, "--json", "--no-cache"]);
    assert_eq!((resumed.code, &finished(&resumed)["n_succeeded"]), (0, &10.into()));
    assert!(resumed.stderr.contains("results.torn-0"), "{}", resumed.stderr);
    assert_eq!(fs::read(place.path("run/results.torn-0")).unwrap(), whole[last_line..torn]);
    assert_eq!((server.stats().n_messages, place.export(&dir, &[]).len()), (11, 10));
}

#[test]
fn d1_noise_in_the_middle_of_the_journal_is_said_and_costs_no_other_line() {
    let server = Server::calm();
    let place = Place::at(&server);
    let (input, dir) = (place.requests(10), place.text("run"));
    assert_eq!(place.run(&["run", &input, "--run-dir", &dir, "--json"]).code, 0);
    let path = place.path("run/results.jsonl");
    let whole = fs::read(&path).unwrap();
    let mut file = fs::File::create(&path).unwrap();
    file.write_all(b"\xff\xfenoise\n").unwrap();
    file.write_all(&whole).unwrap();
    let resumed = place.run(&["resume", &dir, "--json"]);
    assert_eq!((resumed.code, server.stats().n_messages), (0, 10));
    assert!(resumed.stderr.contains("1 lines of the journal cannot be read"), "{}", resumed.stderr);
    assert_eq!(place.export(&dir, &[]).len(), 10);
}
