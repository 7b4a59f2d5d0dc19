//! A run from its input to its results: the final line, the export, the report, and what a second run does.

use std::fs;

use serde_json::Value;

use crate::support::{Place, Server, finished, ids, json_lines, last_json, request, wait_for};

/// The counts of a final line in the order in which the contract names them.
fn counts(line: &Value) -> [u64; 7] {
    ["n_total", "n_cached", "n_succeeded", "n_refused", "n_invalid", "n_re_drivable", "n_unsent"]
        .map(|name| line[name].as_u64().unwrap())
}

fn sum(line: &Value, field: &str) -> f64 {
    line["orgs"].as_array().unwrap().iter().map(|org| org[field].as_f64().unwrap()).sum()
}

#[test]
fn a_run_ends_with_every_figure_in_its_final_line_and_the_report_repeats_it() {
    let server = Server::calm();
    let place = Place::at(&server);
    let (input, dir) = (place.requests(60), place.text("run"));
    let ended = place.run(&["run", &input, "--run-dir", &dir, "--json"]);
    assert_eq!((ended.code, &*ended.stderr), (0, ""));
    let events = json_lines(&ended.stdout);
    assert_eq!(events[0]["event"], "run-started");
    assert_eq!(events[0]["n_total"], 60);
    let line = finished(&ended);
    assert_eq!(counts(&line), [60, 0, 60, 0, 0, 0, 0]);
    assert_eq!((&line["path"], &line["status"]), (&"sync".into(), &"finished".into()));
    assert_eq!(line["sub_batches"], serde_json::json!({"created": 0, "ended": 0, "stuck_canceled": 0}));
    assert!(!line["run_id"].as_str().unwrap().is_empty() && !line["route_reason"].as_str().unwrap().is_empty());
    assert!(line["wall_s"].as_f64().unwrap() > 0.0);
    let labels: Vec<_> = line["orgs"].as_array().unwrap().iter().map(|org| org["label"].as_str().unwrap()).collect();
    assert_eq!(labels, ["high-prio", "batch", "low-prio"]);
    assert_eq!(sum(&line, "n_ok"), 60.0);
    let cost = line["cost_usd"].as_f64().unwrap();
    assert!(cost > 0.0 && (sum(&line, "cost_usd") - cost).abs() < 1e-9, "{line}");
    let stats = server.stats();
    let (tokens_in, tokens_out) = stats.orgs.iter().fold((0, 0), |s, o| (s.0 + o.tokens_in, s.1 + o.tokens_out));
    assert_eq!((sum(&line, "tokens_in"), sum(&line, "tokens_out")), (tokens_in as f64, tokens_out as f64));
    for org in line["orgs"].as_array().unwrap() {
        let seen = stats.org(org["label"].as_str().unwrap()).unwrap();
        assert!(u64::from(seen.in_flight_peak) <= org["in_flight_peak"].as_u64().unwrap(), "{org}");
        // An org whose models are told late may have been given none of so few requests.
        assert_eq!(org["window"].as_u64().unwrap() > 0, org["n_ok"].as_u64().unwrap() > 0, "{org}");
    }
    assert_eq!((stats.bodies_accepted, stats.bodies_accepted_twice), (60, 0));

    let report = place.run(&["report", &dir, "--json"]);
    assert_eq!(last_json(&report.stdout), line);
    let report = place.run(&["report", &dir]);
    for text in ["60 succeeded", "high-prio", "0, every request succeeded"] {
        assert!(report.stdout.contains(text), "{text}: {}", report.stdout);
    }
}

#[test]
fn the_export_has_every_id_once_in_the_order_of_the_input() {
    let server = Server::calm();
    let place = Place::at(&server);
    let (input, dir) = (place.requests(40), place.text("run"));
    assert_eq!(place.run(&["run", &input, "--run-dir", &dir, "--json"]).code, 0);
    let wanted: Vec<String> = (0..40).map(|no| format!("r-{no}")).collect();
    let lines = place.export(&dir, &[]);
    assert_eq!(ids(&lines), wanted);
    assert!(lines.iter().all(|line| line.as_object().unwrap().len() == 2 && line["result"]["type"] == "succeeded"));
    let with_meta = place.export(&dir, &["--with-meta"]);
    assert_eq!(ids(&with_meta), wanted);
    assert!(with_meta.iter().all(|line| line["fandeck"]["outcome"] == "succeeded"));
    assert_eq!(with_meta[7]["result"], lines[7]["result"]);

    let out = place.text("out.csv");
    assert_eq!(place.run(&["export", &dir, "--format", "csv", "--out", &out]).code, 0);
    let mut table = csv::Reader::from_path(&out).unwrap();
    let header = "custom_id,outcome,text,stop_reason,error_type,error_message,model,org,path,input_tokens,\
                  output_tokens,cost_usd,latency_ms";
    assert_eq!(table.headers().unwrap().iter().collect::<Vec<_>>().join(","), header);
    let rows: Vec<csv::StringRecord> = table.records().map(Result::unwrap).collect();
    assert_eq!(rows.iter().map(|row| row[0].to_owned()).collect::<Vec<_>>(), wanted);
    let text = lines[3]["result"]["message"]["content"][0]["text"].as_str().unwrap();
    assert_eq!((&rows[3][1], &rows[3][2], &rows[3][8]), ("succeeded", text, "sync"));
    assert!(rows.iter().all(|row| row[11].parse::<f64>().unwrap() > 0.0));
}

#[test]
fn the_export_is_the_same_when_the_input_is_gone() {
    let server = Server::calm();
    let place = Place::at(&server);
    let (input, dir) = (place.requests(40), place.text("run"));
    place.run(&["run", &input, "--run-dir", &dir, "--json"]);
    let lines = place.export(&dir, &[]);
    std::fs::remove_file(&input).unwrap();
    let ended = place.run(&["export", &dir]);
    assert_eq!((ended.code, json_lines(&ended.stdout)), (0, lines), "{}", ended.stderr);
    assert!(ended.stderr.contains(&format!("the input {input} is gone")), "{}", ended.stderr);
}

#[test]
fn a_second_run_of_the_same_file_sends_nothing() {
    let server = Server::calm();
    let place = Place::at(&server);
    let input = place.requests(50);
    assert_eq!(place.run(&["run", &input, "--json"]).code, 0);
    let before = server.stats().n_messages;
    let again = place.run(&["run", &input, "--run-dir", &place.text("again"), "--json"]);
    let line = finished(&again);
    assert_eq!((again.code, counts(&line)), (0, [50, 50, 0, 0, 0, 0, 0]));
    assert_eq!((server.stats().n_messages, line["cost_usd"].as_f64()), (before, Some(0.0)));
    assert_eq!(place.export(&place.text("again"), &[]).len(), 50);
    // Without the cache it is paid again, which is what was asked for.
    let paid = finished(&place.run(&["run", &input, "--no-cache", "--json"]));
    assert_eq!((counts(&paid), server.stats().n_messages), ([50, 0, 50, 0, 0, 0, 0], before + 50));
    // A resume keeps to that.
    let part = place.text("part");
    let first = ["run", &input, "--no-cache", "--run-dir", &part, "--max-requests", "10", "--json"];
    assert_eq!(counts(&finished(&place.run(&first)))[2], 10);
    let rest = finished(&place.run(&["resume", &part, "--max-requests", "100", "--json"]));
    assert_eq!((counts(&rest), server.stats().n_messages), ([50, 0, 50, 0, 0, 0, 0], before + 100));
    // Who reads the audit trail sees that it went on, and by which limits.
    let events = std::fs::read_to_string(place.path("part/events.jsonl")).unwrap();
    assert!(events.contains("session 2 begins: 40 requests are left"), "{events}");
    assert!(events.contains("changed max-requests from 10 to 100"), "{events}");
}

#[test]
fn d6_eight_alike_are_eight_calls_and_eight_hits() {
    let server = Server::calm();
    let place = Place::at(&server);
    let lines: String = (0..8).map(|no| request(&format!("draw-{no}"), "the same")).collect();
    let input = place.write("in.jsonl", lines);
    assert_eq!(counts(&finished(&place.run(&["run", &input, "--json"]))), [8, 0, 8, 0, 0, 0, 0]);
    assert_eq!(server.stats().n_messages, 8);
    assert_eq!(counts(&finished(&place.run(&["run", &input, "--json"]))), [8, 8, 0, 0, 0, 0, 0]);
    assert_eq!(server.stats().n_messages, 8);
}

#[test]
fn d7_a_parameter_that_changed_is_a_miss() {
    let server = Server::calm();
    let place = Place::at(&server);
    let input = place.requests(6);
    assert_eq!(place.run(&["run", &input, "--json"]).code, 0);
    let text = fs::read_to_string(&input).unwrap();
    let input = place.write("in.jsonl", text.replacen("\"max_tokens\":64", "\"max_tokens\":65", 2));
    assert_eq!(counts(&finished(&place.run(&["run", &input, "--json"]))), [6, 4, 2, 0, 0, 0, 0]);
}

#[test]
fn l19_refused_and_invalid_ones_are_counted_apart_end_with_3_and_are_not_cached() {
    let server = Server::with(
        "",
        ["[[orgs.faults]]\nkind = \"refusal\"\nfrom-call = 5\nto-call = 6\n\
          [[orgs.faults]]\nkind = \"empty-answer\"\nfrom-call = 7\nto-call = 7\n\
          [[orgs.faults]]\nkind = \"invalid\"\nfrom-call = 8\nto-call = 9"; 3],
    );
    let place = Place::at(&server);
    let (input, dir) = (place.requests(30), place.text("run"));
    let args = ["run", &*input, "--run-dir", &*dir, "--json", "--orgs", "batch", "--cap", "4"];
    let ended = place.run(&args);
    let line = finished(&ended);
    assert_eq!((ended.code, counts(&line)), (3, [30, 0, 25, 3, 2, 0, 0]));
    let export = place.export(&dir, &["--with-meta"]);
    let of = |outcome: &str| export.iter().filter(|line| line["fandeck"]["outcome"] == outcome).count();
    assert_eq!((export.len(), of("refused"), of("invalid")), (30, 3, 2));
    let invalid = export.iter().find(|line| line["fandeck"]["outcome"] == "invalid").unwrap();
    assert_eq!(invalid["result"]["error"]["error"]["type"], "invalid_request_error");
    assert_eq!(last_json(&place.run(&["report", &dir, "--json"]).stdout), line);
    // Resuming a finished run sends nothing and ends as it ended; only what succeeded was cached.
    let before = server.stats().n_messages;
    let resumed = place.run(&["resume", &dir, "--json"]);
    assert_eq!((resumed.code, counts(&finished(&resumed))), (3, [30, 0, 25, 3, 2, 0, 0]));
    assert_eq!(server.stats().n_messages, before);
    let again = finished(&place.run(&["run", &input, "--json"]));
    assert_eq!((again["n_cached"].as_u64(), server.stats().n_messages), (Some(25), before + 5));
}

#[test]
fn plain_lines_tell_the_run_and_its_summary() {
    let server = Server::calm();
    let place = Place::at(&server);
    let (input, dir) = (place.requests(20), place.text("run"));
    let ended = place.run(&["run", &input, "--run-dir", &dir, "--headless"]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let lines: Vec<&str> = ended.stdout.lines().collect();
    assert!(lines[0].starts_with("run run-") && lines[0].contains("20 requests from "), "{}", lines[0]);
    assert!(lines[0].contains("orgs high-prio, batch, low-prio"), "{}", lines[0]);
    for text in ["20 succeeded", "exit      0, every request succeeded", &format!("fandeck export {dir}")] {
        assert!(ended.stdout.contains(text), "{text}: {}", ended.stdout);
    }
}

#[test]
fn a_run_without_a_place_gets_one_that_is_found_again() {
    let server = Server::calm();
    let place = Place::at(&server);
    place.requests(5);
    let ended = place.run(&["run", "in.jsonl", "--json"]);
    let line = finished(&ended);
    let [dir] = &place.runs()[..] else { panic!("{:?}", place.runs()) };
    assert_eq!(line["run_dir"], dir.to_str().unwrap());
    // The input is called what the operator called it, by the report too, and found again from any directory.
    assert_eq!(line["input"], "in.jsonl");
    assert_eq!(last_json(&place.run(&["report", dir.to_str().unwrap(), "--json"]).stdout), line);
    let listed = json_lines(&place.run(&["runs", "--json"]).stdout);
    assert_eq!((listed.len(), &listed[0]["run_id"], &listed[0]["status"]), (1, &line["run_id"], &"finished".into()));
    let table = place.run(&["runs"]).stdout;
    assert!(table.contains("finished") && table.contains(dir.to_str().unwrap()), "{table}");
    assert!(place.run(&[]).stdout.contains(dir.to_str().unwrap()));
    let status = last_json(&place.run(&["status", dir.to_str().unwrap(), "--json"]).stdout);
    assert_eq!((&status["n_succeeded"], &status["live"], &status["exit_code"]), (&5.into(), &false.into(), &0.into()));
    assert!(place.run(&["status", dir.to_str().unwrap()]).stdout.contains("5 of 5"));
}

#[test]
fn a_run_directory_is_named_by_a_path_that_holds_anywhere() {
    let server = Server::calm();
    let place = Place::at(&server);
    place.requests(3);
    let line = finished(&place.run(&["run", "in.jsonl", "--run-dir", "here/run", "--json"]));
    assert_eq!(line["run_dir"], place.text("here/run"));
    assert_eq!(last_json(&place.run(&["report", "./here/run", "--json"]).stdout), line);
    place.run(&["run", "in.jsonl", "--run-dir", ""]).refused(2, &["--run-dir"]);
}

#[test]
fn l16_an_answer_that_never_comes_is_given_up_and_what_it_may_have_cost_is_counted() {
    let server = Server::with("", ["[[orgs.faults]]\nkind = \"hang\"\nfrom-call = 6\nto-call = 7", "", ""]);
    let place = Place::at(&server);
    place.more_config(
        "[wire]\nconnect-timeout = \"1s\"\nfirst-byte-timeout = \"1s\"\nfirst-byte-per-1k-tokens = \"0s\"\n",
    );
    let line = finished(&place.run(&["run", &place.requests(40), "--json", "--cap", "4"]));
    assert_eq!(counts(&line), [40, 0, 40, 0, 0, 0, 0]);
    // Other answers may come too late as well, on a machine that stands still for a second.
    let given_up = line["n_possibly_charged"].as_u64().unwrap();
    assert!(given_up >= 2 && server.stats().n_hung == 2, "{line}");
    wait_for("every call to arrive", || (server.stats().n_messages == 40 + given_up).then_some(()));
}

#[test]
fn the_simulated_api_is_a_server_too_and_ends_by_a_signal() {
    let place = Place::new();
    let args =
        ["simulate", "--listen", "127.0.0.1:0", "--control", "127.0.0.1:0", "--scenario", "calm", "--time-scale", "50"];
    let mut simulate = place.start(&args);
    let said = simulate.line("its address", |line| line.starts_with("fandeck simulate: http://127.0.0.1:"));
    let url = said.split_whitespace().nth(2).unwrap().to_owned();
    let key = simulate.line("a key", |line| line.contains("is org batch"));
    simulate.line("the statistics", |line| line.contains("/_sim/stats"));
    let mut place = place;
    place.set("ANTHROPIC_BASE_URL", &url);
    place.set("ANTHROPIC_BATCH_KEY", key.split_whitespace().nth(1).unwrap());
    assert_eq!(counts(&finished(&place.run(&["run", &place.requests(20), "--json"])))[2], 20);
    simulate.signal(rustix::process::Signal::TERM);
    assert_eq!(simulate.end().code, 0);
    place.run(&["simulate", "--listen", "nowhere"]).refused(2, &["nowhere", "127.0.0.1:8787"]);
    place.run(&["simulate", "--scenario", "none"]).refused(2, &["none", "calm", "storm"]);
    place.run(&["demo", "--time-scale", "nan"]).refused(2, &["--time-scale", "a number above 0"]);
    place.run(&["demo", "--requests", "0"]).refused(2, &["--requests 0"]);
}

#[test]
fn overloads_and_resets_cost_tries_and_no_request() {
    let server = Server::with(
        "",
        ["[[orgs.faults]]\nkind = \"overloaded\"\nshare = 0.1\n[[orgs.faults]]\nkind = \"reset-after\"\nshare = 0.05";
            3],
    );
    let place = Place::at(&server);
    let (input, dir) = (place.requests(80), place.text("run"));
    let ended = place.run(&["run", &input, "--run-dir", &dir, "--json"]);
    let line = finished(&ended);
    assert_eq!((ended.code, counts(&line)), (0, [80, 0, 80, 0, 0, 0, 0]));
    let stats = server.stats();
    let overloaded: u64 = stats.orgs.iter().map(|org| org.n_status(529)).sum();
    assert!(overloaded > 0 && stats.n_reset > 0);
    assert_eq!(sum(&line, "n_5xx"), overloaded as f64);
    // An answer that never arrived may have been billed, and is counted as such.
    assert_eq!(line["n_possibly_charged"].as_u64(), Some(stats.n_reset));
    assert_eq!(last_json(&place.run(&["report", &dir, "--json"]).stdout), line);
}
