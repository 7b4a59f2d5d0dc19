//! Runs on the batch path, by the statistics of the simulated API: wedged, canceled from outside, with answers that get lost.

mod crash;
mod creates;
mod rows;
mod scenarios;
mod trouble;

use std::fs;
use std::time::Duration;

use serde_json::Value;
use termlens::Key;

use crate::screen::{builder, ends_with};
use crate::support::{Ended, KEYS, Place, Running, Server, Watch, finished, ids, wait_for};

/// Four sub-batches of 25 over three orgs, and the pilot.
const REQUESTS: usize = 101;
const SUB_BATCHES: u64 = 4;

/// Batches end after some a third to half a simulated minute, which is half a second here.
const QUICK: &str = "latency = { p50-ms = 900, p95-ms = 1800 }\nbatches = { p50-s = 20, p95-s = 30, cancel-s = 15 }\n";
const SCALE: f64 = 60.0;

/// The first batch of an org never ends.
const WEDGED_ONCE: &str = "[[orgs.batch-faults]]\nkind = \"wedged\"\nat = 0.4\nto-batch = 1\n";

/// Those of one org never end.
const WEDGED: &str = "[[orgs.batch-faults]]\nkind = \"wedged\"\nat = 0.4\n";

/// The first batch of an org ends [`LATER_S`].
const LONG_ONCE: &str = "[[orgs.batch-faults]]\nkind = \"slow\"\nfactor = 1000\nto-batch = 1\n";

/// Seconds of the API's clock that no test takes, and that are no day: what lasts so long lasts until [`later`].
const LATER_S: u64 = 40_000;

const OPTIONS: [&str; 4] = ["--poll-every", "1s", "--json", "--no-cache"];

/// Four of them, one at a time and org.
const SPLIT: [&str; 4] = ["--sub-batch-size", "25", "--max-open-sub-batches", "1"];

fn server(orgs: [&str; 3]) -> Server {
    Server::faster(QUICK, orgs, SCALE)
}

fn place(server: &Server, stuck_s: f64) -> Place {
    let mut place = Place::at(server);
    place.more_config("[store]\ngroup-commit = \"5ms\"\n[batch]\nlost-create-search = \"2s\"\n");
    place.set("EPS_BATCH_STUCK_HOURS", &(stuck_s / 3_600.0).to_string());
    place
}

fn start(place: &Place) -> Running {
    let input = place.requests(REQUESTS);
    start_with(place, &input, &SPLIT)
}

fn start_with(place: &Place, input: &str, more: &[&str]) -> Running {
    let dir = place.text("run");
    place.start(&[&["run", input, "--path", "batch", "--yes", "--run-dir", &dir][..], &OPTIONS, more].concat())
}

fn events(place: &Place) -> String {
    fs::read_to_string(place.path("run/events.jsonl")).unwrap()
}

fn resume(place: &Place) -> Ended {
    place.run(&[&["resume", &place.text("run"), "--yes"][..], &OPTIONS, &SPLIT].concat())
}

fn state(place: &Place) -> Option<Value> {
    serde_json::from_slice(&fs::read(place.path("run/state.json")).ok()?).ok()
}

fn sub_batches(place: &Place) -> Vec<Value> {
    state(place).and_then(|state| state["sub_batches"].as_array().cloned()).unwrap_or_default()
}

/// The sub-batch of the org whose first one never ends, once it is in progress.
fn wedged(place: &Place) -> Value {
    let in_progress = |sub: &&Value| sub["status"] == "in-progress" && sub["org"] == "high-prio";
    wait_for("the wedged one", || sub_batches(place).iter().find(in_progress).cloned())
}

fn has(place: &Place, status: &str) -> Option<()> {
    sub_batches(place).iter().any(|sub| sub["status"] == status).then_some(())
}

/// Waits until the first three sub-batches, one at each org, are in progress; they stay so when they are [`LONG_ONCE`].
fn three_in_progress(place: &Place) {
    wait_for("three in progress", || {
        (sub_batches(place).iter().filter(|sub| sub["status"] == "in-progress").count() == 3).then_some(())
    });
}

/// Moves the clock of the API to where all that lasts [`LATER_S`] is over.
fn later(server: &Server) {
    server.skip(Duration::from_secs(LATER_S));
}

fn created(server: &Server) -> u64 {
    server.stats().orgs.iter().map(|org| org.batches.n_created).sum()
}

/// Does the same under each of these faults, at once: what such runs do is mostly to wait.
fn under_each<T: Sync>(faults: &[T], run: impl Fn(&T) + Sync) {
    std::thread::scope(|scope| {
        for fault in faults {
            scope.spawn(|| run(fault));
        }
    });
}

/// Nothing beyond the plan was created, every row was paid once, and none was lost.
#[track_caller]
fn check_books(server: &Server, place: &Place, ended: &Ended) -> Value {
    assert_ne!(ended.code, 2, "{}", ended.stderr);
    let line = finished(ended);
    assert_eq!((ended.code, &line["n_succeeded"]), (0, &REQUESTS.into()), "{line}\n{}", ended.stderr);
    assert_eq!(line["path"], "batch");
    let stats = server.stats();
    assert_eq!(created(server), SUB_BATCHES, "creates");
    assert_eq!((stats.bodies_accepted, stats.bodies_accepted_twice), (REQUESTS as u64, 0));
    let export = place.export(&place.text("run"), &[]);
    let wanted: Vec<String> = (0..REQUESTS).map(|no| format!("r-{no}")).collect();
    assert_eq!(ids(&export), wanted);
    let billed = stats.cost_micro_usd as f64 / 1e6;
    assert!((line["cost_usd"].as_f64().unwrap() - billed).abs() < 2e-6, "{line}: billed {billed}");
    assert!(place.files().iter().all(|(path, _)| !path.to_string_lossy().ends_with(".fandeck-tmp")));
    line
}

#[test]
fn a_wedged_sub_batch_is_canceled_at_the_threshold_and_found_by_grep() {
    let server = server([WEDGED_ONCE, "", ""]);
    let place = place(&server, 5.0);
    let ended = start(&place).end();
    let line = check_books(&server, &place, &ended);
    assert_eq!(line["sub_batches"], serde_json::json!({"created": 4, "ended": 4, "stuck_canceled": 1}));
    assert_eq!(line["re_driven"]["canceled"], 15, "{line}");
    let text = fs::read_to_string(place.path("run/state.json")).unwrap();
    assert_eq!(text.matches("stuck_cancel_intent_at").count(), 1);
    let holds = |(_, bytes): &(std::path::PathBuf, Vec<u8>)| String::from_utf8_lossy(bytes).contains("STUCK BATCH");
    assert!(place.files().iter().any(|file| file.0.ends_with("events.jsonl") && holds(file)));
    let journal = fs::read_to_string(place.path("run/results.jsonl")).unwrap();
    assert_eq!(journal.matches(r#""path":"sync""#).count(), 16, "the pilot, and what was not processed");
}

#[test]
fn b4_b5_creates_whose_answers_are_lost_are_adopted() {
    let lost = "[[orgs.faults]]\nkind = \"reset-after\"\non = \"batch-create\"\n";
    let server = server([lost; 3]);
    let place = place(&server, 3_600.0);
    let ended = start(&place).end();
    check_books(&server, &place, &ended);
    assert_eq!(events(&place).matches("sub-batch-adopted").count() as u64, SUB_BATCHES);
}

#[test]
fn a_cancel_beside_a_running_console_is_done_by_its_owner() {
    let server = server([WEDGED_ONCE, "", ""]);
    let place = place(&server, 3_600.0);
    let running = start(&place);
    let wedged = wedged(&place);
    let dir = place.text("run");
    let id = wedged["batch_id"].as_str().unwrap();
    place.run(&["cancel", &dir, "99", "--yes"]).refused(2, &["there is no sub-batch 99"]);
    place.run(&["cancel", &dir, id]).refused(2, &["--yes"]);
    let canceled = place.run(&["cancel", &dir, id, "--yes"]);
    assert_eq!(canceled.code, 0, "{}", canceled.stderr);
    assert!(canceled.stdout.contains("is being canceled"), "{}", canceled.stdout);
    let line = check_books(&server, &place, &running.end());
    assert_eq!(line["sub_batches"]["stuck_canceled"], 1);
    let again = place.run(&["cancel", &dir, id, "--yes"]);
    assert!(again.stdout.contains("harvested already"), "{}", again.stdout);
}

#[test]
fn a_cancel_from_a_console_that_watches_the_run_is_done_by_its_owner() {
    let server = server([WEDGED_ONCE, "", ""]);
    let place = place(&server, 3_600.0);
    let running = start(&place);
    let wedged = wedged(&place);
    fs::create_dir_all(place.path("data/fandeck/runs")).unwrap();
    std::os::unix::fs::symlink(place.path("run"), place.path("data/fandeck/runs/elsewhere-1")).unwrap();
    let mut terminal = builder(&place).spawn(env!("CARGO_BIN_EXE_fandeck")).unwrap();
    terminal.shows(|screen| screen.contains("elsewhere-1") || screen.contains("in.jsonl"));
    terminal.send(Key::Enter).unwrap();
    terminal.shows(|screen| screen.contains("driven elsewhere") && screen.contains("in batches"));
    terminal.send(Key::Char('4')).unwrap();
    terminal.shows(|screen| screen.contains("in-progress"));
    terminal.send(Key::Char('S')).unwrap();
    terminal.shows(|screen| screen.contains("another process drives the run: do that there"));
    // The others end; the one to worry about is followed.
    let id = wedged["batch_id"].as_str().unwrap();
    wait_for("the others", || {
        (sub_batches(&place).iter().filter(|sub| sub["status"] == "harvested").count() >= 3).then_some(())
    });
    let rows = |screen: &termlens::Screen| screen.full_text().lines().filter(|line| line.contains("harvested")).count();
    terminal.shows(|screen| rows(screen) >= 3 && screen.contains(&id[..12]));
    terminal.send(Key::Char('c')).unwrap();
    terminal.shows(|screen| screen.contains("cancel?") && screen.contains(&id[..12]));
    terminal.send(Key::Char('y')).unwrap();
    terminal.shows(|screen| screen.contains("is being canceled"));
    let ended = running.end();
    terminal.send(Key::Char('q')).unwrap();
    ends_with(terminal, 0);
    // Nobody writes any more.
    let line = check_books(&server, &place, &ended);
    assert_eq!(line["sub_batches"]["stuck_canceled"], 1);
}

#[test]
fn a_cancel_of_a_run_that_nobody_owns_is_done_at_once_and_harvested_by_the_next_session() {
    let server = server([WEDGED_ONCE, "", ""]);
    let place = place(&server, 3_600.0);
    let running = start(&place);
    let wedged = wedged(&place);
    running.kill();
    let index = wedged["index"].to_string();
    let canceled = place.run(&["cancel", &place.text("run"), &index, "--yes"]);
    assert_eq!(canceled.code, 0, "{}", canceled.stderr);
    assert!(fs::read_to_string(place.path("run/state.json")).unwrap().contains("stuck_cancel_intent_at"));
    let line = check_books(&server, &place, &resume(&place));
    assert_eq!(line["sub_batches"]["stuck_canceled"], 1);
}

#[test]
fn b2_an_id_that_stands_twice_is_refused_before_anything_is_sent() {
    let server = server([""; 3]);
    let place = place(&server, 3_600.0);
    let line = crate::support::request("twice", "judge");
    let input = place.write("in.jsonl", format!("{line}{line}"));
    place
        .run(&["run", &input, "--path", "batch", "--yes"])
        .refused(2, &["line 2: custom_id \"twice\" is that of line 1"]);
    assert_eq!(server.stats().n_requests, 0);
}

#[test]
fn b18_sub_batches_of_an_org_that_is_not_configured_now_wait_for_it() {
    let server = server([LONG_ONCE; 3]);
    let place = place(&server, 3_600.0);
    let running = start(&place);
    three_in_progress(&place);
    running.kill();
    later(&server);
    let dir = place.text("run");
    let without = place.run(&[&["resume", &dir, "--yes", "--orgs", "high-prio,batch"][..], &OPTIONS, &SPLIT].concat());
    assert_eq!(without.code, 4, "{}", without.stderr);
    check_books(&server, &place, &resume(&place));
}

#[test]
fn a_wrong_shape_stops_the_run_before_a_batch_is_created() {
    let server = server([""; 3]);
    let place = place(&server, 3_600.0);
    // No model of this name: every request of the shape is wrong.
    let wrong: String = (0..40).map(|no| crate::support::request(&format!("r-{no}"), "x")).collect();
    let input = place.write("in.jsonl", wrong.replace("claude-haiku-4-5", "claude-haiku-9-9"));
    let dir = place.text("run");
    let ended = place.run(&[&["run", &input, "--path", "batch", "--yes", "--run-dir", &dir][..], &OPTIONS].concat());
    assert!([2, 4].contains(&ended.code), "{}: {}", ended.code, ended.stderr);
    assert_eq!(created(&server), 0);
}
