//! `fandeck plan`: what scripts read of it, pilots and the runs that follow them, and what runs leave for later plans.

use serde_json::{Value, json};

use crate::support::{Ended, Place, Server, finished, json_lines, last_json, with_prefix};

/// Figures of a route, in `plan --json` at the top and under each route's name.
const FIGURES: [&str; 9] = [
    "binding",
    "batch_passes",
    "batch_waves",
    "wall_s",
    "wall_s_low",
    "wall_s_high",
    "cost_usd",
    "cost_usd_low",
    "cost_usd_high",
];

#[track_caller]
fn planned(ended: &Ended) -> Value {
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    last_json(&ended.stdout)
}

#[track_caller]
fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

/// The figure behind a plan that has this name.
#[track_caller]
fn assumption<'p>(plan: &'p Value, name: &str) -> &'p Value {
    let all = plan["assumptions"].as_array().unwrap();
    all.iter().find(|one| one["name"] == name).unwrap_or_else(|| panic!("no {name} in {all:?}"))
}

fn run_json(dir: &str) -> Value {
    serde_json::from_slice(&std::fs::read(format!("{dir}/run.json")).unwrap()).unwrap()
}

#[test]
fn d8_answers_of_a_simulated_api_are_never_taken_for_real_ones() {
    let server = Server::calm();
    let mut place = Place::at(&server);
    let input = place.requests(8);
    assert_eq!(place.run(&["run", &input, "--json", "--path", "sync"]).code, 0);
    let cached = |place: &Place| planned(&place.run(&["plan", &input, "--json"]))["n_cached"].clone();
    assert_eq!(cached(&place), 8);
    // Nothing is sent by a plan.
    place.set("ANTHROPIC_BASE_URL", "https://api.example.invalid");
    assert_eq!(cached(&place), 0);
}

#[test]
fn a_plan_of_a_number_of_requests_names_route_reason_time_cost_and_every_rule() {
    let place = Place::new();
    let plan = planned(&place.run(&["plan", "--n", "141600", "--model", "claude-sonnet-4-5", "--json"]));
    assert_eq!(
        (&plan["n_total"], &plan["n_cached"], &plan["n_to_send"]),
        (&json!(141_600), &json!(0), &json!(141_600))
    );
    assert_eq!((plan["model"].as_str(), plan["cost_pref"].as_str()), (Some("claude-sonnet-4-5"), Some("balanced")));
    assert_eq!(plan["route"], "sync");
    let rules = plan["rules"].as_array().unwrap();
    let fired: Vec<&Value> = rules.iter().filter(|rule| rule["fired"] == true).collect();
    assert_eq!((rules.len(), fired.len()), (7, 1));
    assert_eq!((&fired[0]["rule"], &fired[0]["verdict"]), (&json!("wedge-guard"), &json!("sync")));
    assert_eq!(fired[0]["why"], plan["route_reason"]);
    assert!(rules.iter().all(|rule| rule["why"].as_str().is_some_and(|why| !why.is_empty())), "{rules:?}");
    for figures in [&plan, &plan["sync"], &plan["batch"]] {
        for name in FIGURES {
            assert!(!figures[name].is_null(), "{name} is not in {figures}");
        }
        // Three orgs of four open sub-batches of 1,000.
        assert_eq!((&figures["batch_passes"], &figures["batch_waves"]), (&json!(142), &json!(12)));
        for name in ["wall_s", "cost_usd"] {
            let [low, mid, high] = ["_low", "", "_high"].map(|end| number(&figures[&format!("{name}{end}")]));
            assert!(0.0 < low && low <= mid && mid <= high, "{name}: {low} {mid} {high}");
        }
    }
    for name in FIGURES {
        assert_eq!(plan[name], plan["sync"][name], "{name}");
    }
    assert!((number(&plan["batch"]["cost_usd"]) * 2.0 - number(&plan["sync"]["cost_usd"])).abs() < 1e-6);
}

#[test]
fn what_no_plan_can_be_made_of_is_refused_by_name_and_nothing_is_left_behind() {
    let place = Place::new();
    let of = |more: &[&str]| place.run(&[&["plan", "--n", "1000", "--model", "claude-sonnet-4-5"][..], more].concat());
    for (more, texts) in [
        (&["--cost-pref", "cheap"][..], &["cheap", "latency, balanced or cost"][..]),
        (&["--path", "fast"], &["fast", "auto, sync, batch"]),
        (&["--orgs", "nobody"], &["nobody", "high-prio, batch, low-prio"]),
        (&["--sub-batch-size", "0"], &["--sub-batch-size 0", "from 1 to 100000"]),
        (&["--procs", "0"], &["--procs 0", "from 1 to 64"]),
        (&["--tokens-in", "nan"], &["--tokens-in", "a number from 0"]),
        (&["--deadline", "2020-01-01T00:00:00Z"], &["--deadline 2020", "lies in the past"]),
        (&["--pilot", "5", "in.jsonl"], &["--pilot 5", "from 20 to 1000"]),
        (&["--model", ""], &["--model", "empty"]),
        (&["--n", "5000000000"], &["5000000000", "4294967295"]),
    ] {
        let ended = if matches!(more[0], "--model" | "--n") {
            let mut args = vec!["plan", "--n", "1000", "--model", "claude-sonnet-4-5"];
            let at = args.iter().position(|arg| *arg == more[0]).unwrap();
            args[at + 1] = more[1];
            place.run(&args)
        } else {
            of(more)
        };
        ended.refused(2, texts);
        assert_eq!(ended.stdout, "", "{more:?}");
    }
    assert!(place.runs().is_empty() && !place.path("cache/fandeck").exists());
}

#[test]
fn a_pilot_is_the_first_session_of_the_run_and_nothing_of_it_is_sent_again() {
    let server = Server::calm();
    let place = Place::at(&server);
    let (input, dir) = (place.requests(90), place.text("run"));
    let pilot = place.run(&["plan", &input, "--pilot", "40", "--run-dir", &dir, "--yes", "--json"]);
    let plan = planned(&pilot);
    assert_eq!((&plan["n_total"], &plan["n_cached"], &plan["n_to_send"]), (&json!(90), &json!(40), &json!(50)));
    assert!(pilot.stderr.contains("pilot: 40 of 40 answered") && pilot.stderr.contains("fandeck resume"), "{pilot:?}");
    assert_eq!((server.stats().n_messages, &run_json(&dir)["pilot"]), (40, &json!(40)));
    for name in ["tokens-in", "tokens-out", "latency-p50", "latency-mean"] {
        let words = assumption(&plan, name)["words"].as_str().unwrap();
        assert!(words.starts_with("measured by pilot on 40 answers (20"), "{name}: {words}");
    }

    let resumed = place.run(&["resume", &dir, "--json"]);
    let line = finished(&resumed);
    assert_eq!((resumed.code, &line["n_succeeded"]), (0, &json!(90)), "{line}");
    let stats = server.stats();
    assert_eq!((stats.n_messages, stats.distinct_bodies, stats.bodies_seen_twice), (90, 90, 0));
    assert_eq!(line["cost_usd"].as_f64().map(|usd| (usd * 1e6).round() as u64), Some(stats.cost_micro_usd));
    let run = run_json(&dir);
    assert_eq!((run.get("pilot").filter(|pilot| !pilot.is_null()), &run["plan"]["n_to_send"]), (None, &json!(50)));
    assert_eq!(place.export(&dir, &[]).len(), 90);
    // The plan is one of the rest, and what the pilot cost is not held against it.
    assert_eq!(run["plan"]["made"]["session"], 2);
    let events = std::fs::read_to_string(format!("{dir}/events.jsonl")).unwrap_or_default();
    let differs: Vec<Value> = json_lines(&events).into_iter().filter(|event| event["kind"] == "plan-differs").collect();
    assert!(differs.iter().all(|event| event["data"]["cost_usd"].is_null()), "{differs:?}");
}

#[test]
fn a_pilots_rest_goes_the_way_that_is_asked_for_then() {
    let server = Server::faster(
        "latency = { p50-ms = 900, p95-ms = 1800 }\nbatches = { p50-s = 60, p95-s = 120 }\n",
        [""; 3],
        60.0,
    );
    let place = Place::at(&server);
    let (input, dir) = (place.requests(60), place.text("run"));
    planned(&place.run(&["plan", &input, "--pilot", "20", "--run-dir", &dir, "--yes", "--json"]));
    let resumed = place.run(&["resume", &dir, "--path", "batch", "--poll-every", "1s", "--json"]);
    let line = finished(&resumed);
    assert_eq!((resumed.code, &line["path"], &line["n_succeeded"]), (0, &json!("batch"), &json!(60)), "{line}");
    let run = run_json(&dir);
    assert_eq!(
        (&run["path"], &run["plan"]["route"], &run["plan"]["rule"]),
        (&json!("batch"), &json!("batch"), &json!("forced"))
    );
}

#[test]
fn a_finished_run_is_read_into_the_next_plan_with_when_and_how_many() {
    let server = Server::calm();
    let place = Place::at(&server);
    let input = place.requests(60);
    let before = planned(&place.run(&["plan", &input, "--json"]));
    assert!(assumption(&before, "latency-p50")["words"].as_str().unwrap().starts_with("assumed"));
    let line = finished(&place.run(&["run", &input, "--json"]));
    assert_eq!(line["n_succeeded"], 60);
    let answers = place.export(line["run_dir"].as_str().unwrap(), &["--with-meta"]);
    let mut took: Vec<f64> = answers.iter().map(|line| number(&line["fandeck"]["latency_ms"]) / 1e3).collect();
    took.sort_by(f64::total_cmp);
    let other = place.write("other.jsonl", crate::support::request("x", "another case"));
    for args in [
        &["plan", &input, "--no-cache", "--json"][..],
        &["plan", &other, "--json"],
        &["plan", "--n", "100", "--model", "claude-haiku-4-5", "--json"],
    ] {
        let plan = planned(&place.run(args));
        for name in ["tokens-in", "tokens-out", "latency-p50"] {
            let figure = assumption(&plan, name);
            assert_eq!((&figure["origin"]["is"], &figure["origin"]["n"]), (&json!("measured"), &json!(60)), "{args:?}");
            let words = figure["words"].as_str().unwrap();
            assert!(words.starts_with("measured by history on 60 answers (20") && words.ends_with("Z)"), "{words}");
        }
        // Of three orgs, each with a median of its own, in a histogram of three digits.
        let median = number(&assumption(&plan, "latency-p50")["mid"]);
        assert!(took[0] * 0.99 - 0.001 <= median && median <= took[59] * 1.01 + 0.001, "{median}: {took:?}");
        let limits = assumption(&plan, "high-prio.requests")["words"].as_str().unwrap();
        assert!(limits.starts_with("measured by headers on "), "{limits}");
    }
    let another = planned(&place.run(&["plan", "--n", "100", "--model", "claude-opus-4-8", "--json"]));
    assert!(assumption(&another, "latency-p50")["words"].as_str().unwrap().starts_with("assumed"));
    let elsewhere = Server::calm();
    let mut moved = place;
    moved.set("ANTHROPIC_BASE_URL", &elsewhere.url);
    let plan = planned(&moved.run(&["plan", &input, "--no-cache", "--json"]));
    let words = assumption(&plan, "latency-p50")["words"].as_str().unwrap();
    assert!(words.starts_with("assumed"), "another server answers as it likes: {words}");
}

#[test]
fn a_plan_of_nothing_but_answers_that_are_there_names_the_model_and_no_cost() {
    let server = Server::calm();
    let place = Place::at(&server);
    let input = place.requests(20);
    assert_eq!(place.run(&["run", &input, "--json"]).code, 0);
    let plan = planned(&place.run(&["plan", &input, "--json"]));
    assert_eq!(
        (&plan["model"], &plan["n_cached"], &plan["n_to_send"]),
        (&json!("claude-haiku-4-5"), &json!(20), &json!(0))
    );
    assert_eq!((number(&plan["wall_s"]), number(&plan["cost_usd"])), (0.0, 0.0));
}

#[test]
fn a_history_that_cannot_be_read_is_said_and_leaves_assumptions() {
    let place = Place::new();
    std::fs::create_dir_all(place.path("cache/fandeck")).unwrap();
    place.write(
        "cache/fandeck/history.sqlite",
        "these are no tables, and longer than the header of a file of SQLite is: 100",
    );
    let ended = place.run(&["plan", "--n", "10", "--model", "claude-haiku-4-5", "--json"]);
    let plan = planned(&ended);
    assert!(ended.stderr.contains("history.sqlite") && ended.stderr.contains("assumptions"), "{}", ended.stderr);
    assert!(assumption(&plan, "tokens-out")["words"].as_str().unwrap().starts_with("assumed"));
}

#[test]
fn a_run_that_takes_and_costs_something_else_than_planned_says_so_in_its_audit_trail() {
    let server = Server::calm();
    let place = Place::at(&server);
    let (input, dir) = (place.requests(40), place.text("run"));
    // Nothing is measured yet: seconds are planned for each of forty calls, one after the other, and the simulated API answers
    // in milliseconds.
    let line =
        finished(&place.run(&["run", &input, "--run-dir", &dir, "--orgs", "batch", "--cap", "1", "--yes", "--json"]));
    let plan = &run_json(&dir)["plan"];
    let wall = number(&line["session_wall_s"]);
    let low = number(&plan["wall_s_low"]);
    assert!(low > 20.0 && wall < low, "{wall} against {plan}");
    let events = json_lines(&std::fs::read_to_string(format!("{dir}/events.jsonl")).unwrap());
    let differs: Vec<&Value> = events.iter().filter(|event| event["kind"] == "plan-differs").collect();
    let by_wall = differs.iter().find(|event| !event["data"]["wall_s"].is_null()).unwrap();
    assert_eq!(by_wall["data"]["wall_s"]["planned"], plan["wall_s"]);
    assert!(by_wall["text"].as_str().unwrap().contains("planned were"), "{by_wall}");
}

#[test]
fn a_prompt_cache_that_a_pilot_saw_is_in_the_cost_of_the_rest() {
    let server = Server::calm();
    let place = Place::at(&server);
    let (input, dir) = (with_prefix(&place, 400), place.text("run"));
    let before = planned(&place.run(&["plan", &input, "--json"]));
    let plan = planned(&place.run(&["plan", &input, "--pilot", "100", "--run-dir", &dir, "--yes", "--json"]));
    assert!(number(&assumption(&plan, "cache-read")["mid"]) > 1_000.0, "{plan}");
    let pilot_cost = server.stats().cost_micro_usd as f64 / 1e6;
    assert_eq!(finished(&place.run(&["resume", &dir, "--json"]))["n_succeeded"], 400);
    let took = server.stats().cost_micro_usd as f64 / 1e6 - pilot_cost;
    let cost = number(&plan["cost_usd"]);
    // How many calls find the prefix unwritten depends on how many are out at once when it is written first.
    assert!((cost / took - 1.0).abs() < 0.25, "planned {cost}, cost {took}");
    assert!(number(&before["cost_usd"]) * 0.75 > 1.5 * took, "{before}");
}

#[test]
fn the_gate_names_the_figure_of_the_plan() {
    let server = Server::calm();
    let place = Place::at(&server);
    let input = place.requests(200);
    for path in ["sync", "batch"] {
        let plan = planned(&place.run(&["plan", &input, "--path", path, "--json"]));
        let cost = number(&plan["cost_usd"]);
        let ended = place.run(&["run", &input, "--path", path, "--authorized-cost", "0.000001"]);
        ended.refused(2, &[&format!("projected cost ${cost:.4} "), "token counts are assumed"]);
    }
    assert_eq!(server.stats().n_messages, 0);
}
