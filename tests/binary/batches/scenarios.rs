//! The scenarios `wedge` and `friday-night` on the batch path, and the operator's button on a screen.

use std::collections::HashSet;

use termlens::{Key, Screen, Terminal};

use super::*;

use crate::support::finished;

/// A day of the API in 36 seconds: four hours are six.
const SCALE_OF_WEDGE: f64 = 2_400.0;

/// A place whose keys are those of the scenarios that are built in.
fn place_in(server: &Server, stuck_s: f64) -> Place {
    let mut place = place(server, stuck_s);
    for (variable, key) in [
        ("ANTHROPIC_API_KEY", "sim-high-prio"),
        ("ANTHROPIC_BATCH_KEY", "sim-batch"),
        ("ANTHROPIC_API_KEY_LOW_PRIO", "sim-low-prio"),
    ] {
        place.set(variable, key);
    }
    place
}

fn run_of(place: &Place, requests: usize, size: &str) -> Running {
    let (input, dir) = (place.requests(requests), place.text("run"));
    let options = ["--sub-batch-size", size, "--poll-every", "1s", "--json", "--no-cache", "--cap", "20"];
    place.start(&[&["run", &input, "--path", "batch", "--yes", "--run-dir", &dir][..], &options].concat())
}

#[test]
fn in_the_scenario_wedge_one_of_twenty_never_ends_and_the_run_completes_by_itself_at_the_threshold() {
    let server = Server::built_in("wedge", SCALE_OF_WEDGE);
    let place = place_in(&server, 4.0 * 3_600.0 / SCALE_OF_WEDGE);
    let ended = run_of(&place, 401, "20").end();
    let line = finished(&ended);
    assert_eq!((ended.code, &line["n_succeeded"]), (0, &401.into()), "{line}");
    assert_eq!(line["sub_batches"], serde_json::json!({"created": 20, "ended": 20, "stuck_canceled": 1}));
    let stats = server.stats();
    assert_eq!((created(&server), stats.bodies_accepted, stats.bodies_accepted_twice), (20, 401, 0));
    let rows: Vec<(u64, u64)> =
        stats.orgs.iter().map(|org| (org.batches.n_canceled, org.batches.rows.canceled)).collect();
    assert_eq!(rows, [(0, 0), (1, 12), (0, 0)], "two fifths of twenty were done");
    // The pilot and those twelve.
    assert_eq!(stats.n_messages, 13);
    let stuck: Vec<Value> =
        sub_batches(&place).into_iter().filter(|sub| !sub["stuck_cancel_intent_at"].is_null()).collect();
    assert!(stuck.len() == 1 && stuck[0]["org"] == "batch", "{stuck:?}");
    assert_eq!(ended.stdout.matches("STUCK BATCH").count(), 1);
}

#[test]
fn on_a_friday_night_by_batches_everything_is_accounted_for() {
    let scale = 300.0;
    let server = Server::built_in("friday-night", scale);
    let place = place_in(&server, 4.0 * 3_600.0 / scale);
    let ended = run_of(&place, 601, "50").end();
    let line = finished(&ended);
    let stats = server.stats();
    // What `batch` had taken before its key was revoked stays at the API, to be resumed; all else is answered.
    let stranded: Vec<Value> = sub_batches(&place).into_iter().filter(|sub| sub["status"] != "harvested").collect();
    assert!(stranded.iter().all(|sub| sub["org"] == "batch"), "{stranded:?}");
    let n_stranded: u64 = stranded.iter().map(|sub| sub["n_requests"].as_u64().unwrap()).sum();
    assert_eq!(line["n_succeeded"], 601 - n_stranded, "{line}\n{}", ended.stdout);
    assert_eq!(ended.code, if n_stranded == 0 { 0 } else { 4 }, "{line}");
    assert!(created(&server) <= 12, "{stats:?}");
    let charged = line["n_possibly_charged"].as_u64().unwrap_or(0);
    assert!(stats.bodies_accepted_twice <= charged, "{} of {charged}: {line}", stats.bodies_accepted_twice);
    let export = place.export(&place.text("run"), &[]);
    let ids: HashSet<&str> = ids(&export).into_iter().collect();
    assert_eq!(ids.len() as u64, 601 - n_stranded);
}

/// A run on a screen, with one wedged sub-batch that only the operator ends; when its row is there.
fn on_screen(server: &Server, place: &Place) -> Terminal {
    let (input, dir) = (place.requests(REQUESTS), place.text("run"));
    let options = ["--sub-batch-size", "25", "--poll-every", "1s", "--max-open-sub-batches", "1", "--no-cache"];
    let args = [&["run", &input, "--path", "batch", "--yes", "--run-dir", &dir][..], &options].concat();
    let mut terminal = builder(place).args(args).spawn(env!("CARGO_BIN_EXE_fandeck")).unwrap();
    terminal.shows(|screen| screen.contains("high-prio"));
    terminal.send(Key::Char('b')).unwrap();
    // All the others are harvested: the one that is left is the oldest, and selected.
    terminal.shows(|screen| screen.contains("1 in-progress · 3 harvested"));
    assert_eq!(server.stats().org("high-prio").unwrap().batches.n_canceled, 0);
    terminal
}

/// Where a text stands.
#[track_caller]
fn find(screen: &Screen, what: &str) -> (u16, u16) {
    let text = screen.full_text();
    let found = (0..).zip(text.lines()).find_map(|(row, line)| {
        let at = line.find(what)?;
        Some((u16::try_from(line[..at].chars().count()).unwrap(), row))
    });
    found.unwrap_or_else(|| panic!("{what} is not on\n{text}"))
}

/// It has ended as planned, sooner than any threshold.
#[track_caller]
fn completed(mut terminal: Terminal, server: &Server, place: &Place) {
    terminal.shows(|screen| screen.contains("every request succeeded"));
    terminal.send(Key::Char('q')).unwrap();
    ends_with(terminal, 0);
    let stats = server.stats();
    assert_eq!((created(server), stats.bodies_accepted), (SUB_BATCHES, REQUESTS as u64));
    assert_eq!(stats.bodies_accepted_twice, 0);
    assert_eq!(stats.org("high-prio").unwrap().batches.n_canceled, 1);
    let wanted: Vec<String> = (0..REQUESTS).map(|no| format!("r-{no}")).collect();
    assert_eq!(ids(&place.export(&place.text("run"), &[])), wanted);
}

#[test]
fn b10_the_operator_ends_a_wedged_sub_batch_with_a_key_after_a_dialog_that_names_what_is_at_stake() {
    let server = server([WEDGED_ONCE, "", ""]);
    let place = place(&server, 3_600.0);
    let mut terminal = on_screen(&server, &place);
    // An age against its siblings, and no progress that nobody can know.
    terminal.shows(|screen| screen.contains("3 ended, median") && screen.contains("stuck in "));
    terminal.send(Key::Char('c')).unwrap();
    let stakes = ["cancel?", "at high-prio", "25 requests", "Paid already", "at most about $", "on the sync path"];
    terminal.shows(|screen| stakes.iter().all(|text| screen.contains(text)));
    // Enter alone cancels nothing.
    terminal.send(Key::Enter).unwrap();
    terminal.shows(|screen| !screen.contains("cancel?"));
    assert_eq!(server.stats().org("high-prio").unwrap().batches.n_canceled, 0);
    terminal.send(Key::Char('c')).unwrap();
    terminal.shows(|screen| screen.contains("cancel?"));
    terminal.send(Key::Char('y')).unwrap();
    completed(terminal, &server, &place);
}

#[test]
fn the_operator_ends_a_wedged_sub_batch_with_a_click_on_the_button_of_its_row() {
    let server = server([WEDGED_ONCE, "", ""]);
    let place = place(&server, 3_600.0);
    let mut terminal = on_screen(&server, &place);
    let (column, row) = find(&terminal.shows(|screen| screen.contains("[cancel]")), "[cancel]");
    terminal.click(column + 2, row).unwrap();
    let (column, row) = find(&terminal.shows(|screen| screen.contains("[ Cancel it ]")), "[ Cancel it ]");
    terminal.click(column + 3, row).unwrap();
    completed(terminal, &server, &place);
}

#[test]
fn the_rest_is_finished_on_sync_when_the_operator_says_so_and_both_ledgers_are_kept() {
    let server = server([WEDGED; 3]);
    let place = place(&server, 3_600.0);
    let (input, dir) = (place.requests(REQUESTS), place.text("run"));
    let options = ["--sub-batch-size", "25", "--poll-every", "1s", "--max-open-sub-batches", "1", "--no-cache"];
    let args = [&["run", &input, "--path", "batch", "--yes", "--run-dir", &dir][..], &options].concat();
    let mut terminal = builder(&place).args(args).spawn(env!("CARGO_BIN_EXE_fandeck")).unwrap();
    terminal.shows(|screen| screen.contains("high-prio"));
    terminal.send(Key::Char('b')).unwrap();
    terminal.shows(|screen| screen.contains("1 planned · 3 in-progress"));
    terminal.send(Key::Char('S')).unwrap();
    terminal.shows(|screen| screen.contains("finish on sync?") && screen.contains("25 requests"));
    terminal.send(Key::Char('y')).unwrap();
    terminal.shows(|screen| screen.contains("every request succeeded"));
    terminal.send(Key::Char('q')).unwrap();
    ends_with(terminal, 0);
    let stats = server.stats();
    assert_eq!((created(&server), stats.bodies_accepted, stats.bodies_accepted_twice), (3, REQUESTS as u64, 0));
    let export = place.export(&dir, &["--with-meta"]);
    let by = |path: &str| export.iter().filter(|line| line["fandeck"]["path"] == path).count();
    // Two fifths of each batch were done when it wedged.
    assert_eq!((by("batch"), by("sync")), (30, 71));
    let billed = stats.cost_micro_usd as f64 / 1e6;
    let report: Value = serde_json::from_str(&place.run(&["report", &dir, "--json"]).stdout).unwrap();
    assert!((report["cost_usd"].as_f64().unwrap() - billed).abs() < 2e-6, "{report}: billed {billed}");
}
