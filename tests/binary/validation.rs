//! `fandeck ab`: two arms over one input, held against each other; and `fandeck report` with its page and its segments.

use std::fs;
use std::io::Write;

use serde_json::{Value, json};

use crate::support::{Place, Server, finished, last_json, wait_for};

fn ab<'a>(input: &'a str, out: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["ab", input, "--out", out][..], more].concat()
}

#[test]
fn both_arms_are_run_held_against_each_other_as_sets_of_ids_and_never_run_twice() {
    let server = Server::slow(40);
    let place = Place::at(&server);
    let (input, out) = (place.requests(160), place.text("ab"));
    let slots = ["--baseline-slots", "4", "--cap", "12", "--target", "0.001", "--json"];
    let projected = place.run(&ab(&input, &out, &slots));
    assert_eq!(projected.code, 0, "{}", projected.stderr);
    for words in ["--confirm", "both arms", "baseline", "fan-out", "projected cost"] {
        assert!(projected.stderr.contains(words), "{words}: {}", projected.stderr);
    }
    assert_eq!(server.stats().n_requests, 0);
    place
        .run(&ab(&input, &out, &["--confirm", "--authorized-cost", "0.000001"]))
        .refused(2, &["1.5 times the authorised"]);

    let args = ab(&input, &out, &[&slots[..], &["--confirm"]].concat());
    let ended = place.run(&args);
    let verdict = last_json(&ended.stdout);
    assert_eq!((ended.code, &verdict["event"]), (0, &"ab-finished".into()), "{verdict}\n{}", ended.stderr);
    let wall_s = |no: usize| verdict["arms"][no]["wall_s"].as_f64().unwrap();
    let speed_up = verdict["speed_up"].as_f64().unwrap();
    // As near as figures that were written and read again are.
    assert!((speed_up - wall_s(0) / wall_s(1)).abs() < 1e-9 * speed_up, "{verdict}");
    assert_eq!(verdict["target_met"], true, "{verdict}");
    assert_eq!((&verdict["n_lost"], &verdict["n_undone"], &verdict["same_ids"]), (&0.into(), &0.into(), &true.into()));
    let arm = |no: usize, figure: &str| verdict["arms"][no][figure].as_u64().unwrap();
    assert_eq!((arm(0, "slots"), arm(1, "slots")), (4, 12 * 3), "{verdict}");
    assert!(arm(0, "in_flight_peak") <= 4 && arm(1, "in_flight_peak") > 4, "{verdict}");
    // Neither arm profited from an answer of the other.
    assert_eq!(server.stats().n_messages, 320);
    let kept: Value = serde_json::from_slice(&fs::read(place.path("ab/ab.json")).unwrap()).unwrap();
    assert_eq!(kept, verdict);
    for words in ["rotate the keys", "ANTHROPIC_API_KEY", "ANTHROPIC_BATCH_KEY"] {
        assert!(ended.stderr.contains(words), "{words}: {}", ended.stderr);
    }
    // The same command again reads what there is.
    assert_eq!(last_json(&place.run(&args).stdout), verdict);
    let unconfirmed = ab(&input, &out, &[&slots[..], &["--authorized-cost", "0"]].concat());
    assert_eq!(last_json(&place.run(&unconfirmed).stdout), verdict);
    assert_eq!(server.stats().n_messages, 320);
    // The same figures against a target that nothing meets.
    let missed = place.run(&ab(&input, &out, &["--baseline-slots", "4", "--cap", "12", "--target", "1e9", "--json"]));
    let against = last_json(&missed.stdout);
    assert_eq!((missed.code, &against["target_met"], &against["arms"]), (3, &false.into(), &verdict["arms"]));
    // What is there is not passed off as another baseline, and a target has to be one.
    let batch = [&slots[..], &["--confirm", "--baseline", "legacy-batch"]].concat();
    place.run(&ab(&input, &out, &batch)).refused(2, &["on the sync path, not batch", "--out"]);
    place.run(&ab(&input, &out, &["--confirm", "--orgs", "batch"])).refused(2, &["over the orgs", "--out"]);
    let slower = ["--confirm", "--baseline-slots", "5", "--cap", "12"];
    place.run(&ab(&input, &out, &slower)).refused(2, &["whose baseline has --baseline-slots 4, not 5", "--out"]);
    let fresh = place.text("fresh");
    for wrong in [["--procs", "0"], ["--cap", "0"], ["--procs", "65"]] {
        place.run(&ab(&input, &fresh, &[&["--confirm"][..], &wrong].concat())).refused(2, &wrong);
    }
    assert!(!place.path("fresh").exists());
    place.run(&["ab", "-", "--confirm"]).refused(2, &["give a file, not -"]);
    place.run(&ab(&input, &place.text("ab/baseline"), &["--confirm"])).refused(2, &["directory of a run", "--out"]);
    place.run(&ab(&input, &out, &["--baseline-slots", "0"])).refused(2, &["--baseline-slots 0", "from 1 to 10000"]);
    place.run(&ab(&input, &out, &["--confirm", "--target", "nan"])).refused(2, &["--target", "above 0"]);
    // Another input is another validation.
    let other = place.requests(7);
    place.run(&ab(&other, &out, &["--confirm"])).refused(2, &["another input", "--out"]);
}

#[test]
fn an_input_that_is_changed_between_the_arms_ends_the_validation_before_the_second_one() {
    let server = Server::calm();
    let place = Place::at(&server);
    let (input, out) = (place.requests(60), place.text("ab"));
    server.hold_from(11);
    let running = place.start(&ab(&input, &out, &["--confirm", "--baseline-slots", "4", "--json"]));
    server.wait_for_messages(11);
    let text = fs::read_to_string(&input).unwrap();
    let more = text.lines().next().unwrap().replace("\"r-0\"", "\"one-more\"");
    assert!(more.contains("one-more"));
    // At its end: the lines that the first arm still reads are where they were at every moment.
    fs::OpenOptions::new().append(true).open(&input).unwrap().write_all(format!("{more}\n").as_bytes()).unwrap();
    server.release();
    running.end().refused(2, &["was changed since the first arm began", "--out"]);
    assert!(!place.path("ab/fan-out").exists() && !place.path("ab/ab.json").exists());
}

#[test]
fn the_old_batch_shape_is_a_baseline_too() {
    let server = Server::faster("batches = { p50-s = 60, p95-s = 120, cancel-s = 30 }\n", ["", "", ""], 60.0);
    let place = Place::at(&server);
    let (input, out) = (place.requests(40), place.text("ab"));
    let config = place.write("config.toml", "[batch]\npoll-every = \"1s\"\n");
    let more = ["--confirm", "--baseline", "legacy-batch", "--target", "0.001", "--config", &config, "--json"];
    let ended = place.run(&ab(&input, &out, &more));
    let verdict = last_json(&ended.stdout);
    assert_eq!((ended.code, &verdict["n_lost"]), (0, &0.into()), "{verdict}\n{}", ended.stderr);
    let path = |arm: usize| verdict["arms"][arm]["path"].as_str().unwrap().to_owned();
    assert_eq!((path(0), path(1)), ("batch".to_owned(), "sync".to_owned()));
    assert!(verdict["cost_ratio"].as_f64().unwrap() > 1.5, "{verdict}");
}

#[test]
fn an_arm_that_was_interrupted_is_gone_on_with_and_a_missing_id_is_named() {
    let server = Server::calm();
    let place = Place::at(&server);
    let (input, out) = (place.requests(120), place.text("ab"));
    server.hold_from(21);
    let args = ab(&input, &out, &["--confirm", "--baseline-slots", "4", "--target", "0.1", "--json"]);
    let running = place.start(&args);
    server.wait_for_messages(21);
    running.signal(rustix::process::Signal::TERM);
    server.release();
    let ended = running.end();
    assert_eq!(ended.code, 143, "{}", ended.stderr);
    assert!(ended.stderr.contains("the same command goes on"), "{}", ended.stderr);
    assert!(!place.path("ab/fan-out").exists());
    // Killed without a word in the second arm, which ends with it; the answers to its second half are still out then.
    server.hold_from(120 + 60);
    let running = place.start(&args);
    wait_for("answers of the fan-out", || {
        let journal = fs::read_to_string(place.path("ab/fan-out/results.jsonl")).ok()?;
        (journal.lines().count() > 5).then_some(())
    });
    running.kill();
    server.release();
    let ended = place.run(&args);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let verdict = last_json(&ended.stdout);
    assert_eq!((&verdict["n_lost"], &verdict["n_undone"], &verdict["same_ids"]), (&0.into(), &0.into(), &true.into()));
    assert!(verdict["arms"].as_array().unwrap().iter().all(|arm| arm["sessions"] == 2), "{verdict}");
    // What was out when it was killed may have been paid, and is said.
    let doubt = |arm: &Value| arm["n_in_doubt"].as_u64().unwrap();
    assert!(verdict["arms"].as_array().unwrap().iter().map(doubt).sum::<u64>() > 0, "{verdict}");
    let said = place.run(&args[..args.len() - 1]).stdout;
    assert!(said.contains("in doubt     ") && said.contains("attempts without an answer"), "{said}");
    // An id that is gone from a journal is a loss, whatever the counters say.
    let journal = place.path("ab/fan-out/results.jsonl");
    let text = fs::read_to_string(&journal).unwrap();
    let kept: Vec<&str> = text.lines().filter(|line| !line.contains("\"custom_id\":\"r-17\"")).collect();
    fs::write(&journal, format!("{}\n", kept.join("\n"))).unwrap();
    let ended = place.run(&args);
    let verdict = last_json(&ended.stdout);
    assert_eq!((ended.code, &verdict["n_lost"], &verdict["same_ids"]), (3, &1.into(), &false.into()), "{verdict}");
    assert_eq!(verdict["arms"][1]["lost"], json!(["r-17"]));
}

#[test]
fn a_report_has_the_contract_line_all_of_it_a_page_and_segments() {
    let server = Server::faulty("kind = \"refusal\"\nshare = 0.2");
    let place = Place::at(&server);
    let line = |no: usize| {
        let (group, user) = (["easy", "hard"][no % 2], ["ann", "<b>bob</b>", "cy"][no % 3]);
        let params = json!({"model": "claude-haiku-4-5", "max_tokens": 64, "metadata": {"user_id": user},
            "messages": [{"role": "user", "content": format!("case {no}")}]});
        format!("{}\n", json!({"custom_id": format!("{group}-{no}"), "params": params}))
    };
    let input = place.write("in.jsonl", (0..60).map(line).collect::<String>());
    let (dir, html) = (place.text("run"), place.text("report.html"));
    let ended = place.run(&["run", &input, "--run-dir", &dir, "--json", "--no-cache"]);
    let finished = finished(&ended);
    let contract = place.run(&["report", &dir, "--json"]).stdout;
    assert_eq!((contract.lines().count(), last_json(&contract)), (1, finished.clone()));

    let full = place.run(&["report", &dir, "--json", "--full", "--by", "metadata.user_id", "--html", &html]);
    let review: Value = serde_json::from_str(full.stdout.lines().next().unwrap()).unwrap();
    assert_eq!(last_json(&full.stdout), finished);
    let segments = review["segments"].as_array().unwrap();
    let sum = |field: &str| segments.iter().map(|segment| segment[field].as_u64().unwrap()).sum::<u64>();
    assert_eq!((segments.len(), sum("n"), sum("n_succeeded")), (3, 60, finished["n_succeeded"].as_u64().unwrap()));
    let cost: f64 = segments.iter().map(|segment| segment["cost_usd"].as_f64().unwrap()).sum();
    assert!((cost - finished["cost_usd"].as_f64().unwrap()).abs() < 1e-9);
    // An org that got nothing to do has no latency.
    let at_work = finished["orgs"].as_array().unwrap().iter().filter(|org| org["n_ok"].as_u64() > Some(0)).count();
    assert_eq!(review["latencies"].as_array().unwrap().len(), at_work);
    assert!(review["economy"]["amplification"].as_f64().unwrap() > 1.0, "refusals were paid for");
    let page = fs::read_to_string(&html).unwrap();
    assert!(page.contains("&lt;b&gt;bob&lt;/b&gt;") && !page.contains("<b>bob</b>") && page.contains("<svg "));

    let by_id = place.run(&["report", &dir, "--by", "custom_id:^([a-z]+)-"]).stdout;
    assert!(by_id.contains("easy") && by_id.contains("hard") && by_id.contains("per usable"), "{by_id}");
    let by_model = place.run(&["report", &dir, "--by", "model"]).stdout;
    assert!(by_model.contains("claude-haiku-4-5"), "{by_model}");
    // Two lines in the place of one: positions have moved, ids have not; and one is gone.
    let text = fs::read_to_string(&input).unwrap();
    let (first, rest) = text.split_once('\n').unwrap();
    let new = ["new-one", "new-two"].map(|id| first.replace("easy-0", id)).join("\n");
    fs::write(&input, format!("{new}\n{rest}")).unwrap();
    let moved = place.run(&["report", &dir, "--json", "--by", "metadata.user_id"]);
    assert!(moved.stderr.contains("the input has changed"), "{}", moved.stderr);
    let review: Value = serde_json::from_str(moved.stdout.lines().next().unwrap()).unwrap();
    let mut counts: Vec<(&str, u64)> = review["segments"]
        .as_array()
        .unwrap()
        .iter()
        .map(|segment| (segment["name"].as_str().unwrap(), segment["n"].as_u64().unwrap()))
        .collect();
    counts.sort_unstable();
    assert_eq!(counts, [("(unmatched)", 1), ("<b>bob</b>", 20), ("ann", 19), ("cy", 20)]);
    fs::remove_file(&input).unwrap();
    place.run(&["report", &dir, "--by", "model"]).refused(2, &["without the input, --by custom_id:PATTERN"]);
    place.run(&["report", &dir, "--by", "weather"]).refused(2, &["custom_id:PATTERN"]);
    place.run(&["report", &dir, "--html", "/nowhere/at/all.html"]).refused(2, &["--html"]);
}

#[test]
fn neither_a_report_nor_an_export_replaces_a_file_of_the_run_and_a_journal_that_was_cut_is_told() {
    let server = Server::calm();
    let place = Place::at(&server);
    let dir = place.text("run");
    assert_eq!(place.run(&["run", &place.requests(20), "--run-dir", &dir, "--json", "--no-cache"]).code, 0);
    let journal = place.text("run/results.jsonl");
    let before = fs::read(&journal).unwrap();
    place.run(&["report", &dir, "--html", &journal]).refused(2, &["no HTML page", "--html"]);
    for out in [journal.clone(), place.text("run/../run/results.jsonl"), place.text("run/state.json")] {
        place.run(&["export", &dir, "--out", &out]).refused(2, &["a file of the run itself", "--out"]);
    }
    assert_eq!(fs::read(&journal).unwrap(), before);
    let whole = place.run(&["report", &dir]);
    assert!(!whole.stdout.contains("the journal holds"), "{}", whole.stdout);
    // Nine lines, and half of the tenth.
    let lengths: Vec<usize> = before.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::len).collect();
    fs::write(&journal, &before[..lengths[..9].iter().sum::<usize>() + lengths[9] / 2]).unwrap();
    let cut = place.run(&["report", &dir]);
    assert!(cut.stdout.contains("the journal holds 9 outcomes of the 20"), "{}", cut.stdout);
}
