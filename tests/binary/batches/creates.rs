//! How sub-batches come to be: ids, sizes, refusals, answers that are lost, and how many are open at once.

use super::*;
use crate::support::{finished, request};

const DONE: [&str; 3] = [""; 3];

#[test]
fn b1_any_id_of_the_users_goes_through_a_batch_and_comes_out_as_it_was() {
    let server = server(DONE);
    let place = place(&server, 3_600.0);
    let ids = ["x".repeat(65), "with spaces".to_owned(), "ünïcödé ✓".to_owned(), String::new(), "plain".to_owned()];
    let input = place.write("in.jsonl", ids.iter().map(|id| request(id, &format!("case {id}"))).collect::<String>());
    let ended = start_with(&place, &input, &SPLIT).end();
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    assert_eq!(created(&server), 1);
    let export = place.export(&place.text("run"), &[]);
    let out: Vec<&str> = export.iter().map(|line| line["custom_id"].as_str().unwrap()).collect();
    assert_eq!(out, ids);
}

#[test]
fn b3_a_batch_that_is_not_found_right_after_its_creation_is_waited_for() {
    let hidden = format!("[[orgs.batch-faults]]\nkind = \"not-found\"\nfor-s = {LATER_S}\nto-batch = 1\n");
    let server = server([&hidden; 3]);
    let place = place(&server, 3_600.0);
    let running = start(&place);
    wait_for("every org to be asked in vain", || {
        server.stats().orgs.iter().all(|org| org.n_status(404) > 0).then_some(())
    });
    later(&server);
    check_books(&server, &place, &running.end());
}

#[test]
fn b13_more_than_a_sub_batch_takes_is_split_and_a_giant_goes_alone_and_fails_alone_by_name() {
    let server = server(DONE);
    let place = place(&server, 3_600.0);
    let mut input: String = (0..30).map(|no| request(&format!("r-{no}"), &format!("case {no}"))).collect();
    // The API takes 32 MB in a request.
    input.push_str(&request("the giant", &"x".repeat(33_000_000)));
    let input = place.write("in.jsonl", input);
    let ended = start_with(&place, &input, &["--sub-batch-size", "10"]).end();
    let line = finished(&ended);
    assert_eq!((ended.code, &line["n_succeeded"], &line["n_invalid"]), (3, &30.into(), &1.into()), "{line}");
    let sizes: Vec<u64> = server.batches().iter().map(|batch| batch.counts.succeeded).collect();
    assert!(sizes.iter().all(|n| *n <= 10) && sizes.len() == 3, "{sizes:?}");
    assert!(events(&place).contains("line 31 of "), "it is named");
    let export = place.export(&place.text("run"), &[]);
    let giant = export.iter().find(|line| line["custom_id"] == "the giant").unwrap();
    assert_eq!(giant["result"]["type"], "errored", "{giant}");
}

#[test]
fn b14_a_file_whose_answers_are_all_cached_creates_nothing_and_says_so() {
    let server = server(DONE);
    let place = place(&server, 3_600.0);
    let input = place.requests(26);
    let run = |dir: &str, more: &[&str]| {
        let dir = place.text(dir);
        place.run(
            &[&["run", &input, "--path", "batch", "--yes", "--run-dir", &dir, "--poll-every", "1s"], more].concat(),
        )
    };
    assert_eq!(run("first", &["--json"]).code, 0);
    assert_eq!(created(&server), 1);
    let requests = server.stats().n_messages;
    let again = run("again", &["--json"]);
    let line = finished(&again);
    assert_eq!((again.code, &line["n_cached"], &line["sub_batches"]["created"]), (0, &26.into(), &0.into()), "{line}");
    assert_eq!((created(&server), server.stats().n_messages), (1, requests));
    let words = run("in-words", &["--headless"]).stdout;
    assert!(words.contains("0 to send"), "{words}");
}

#[test]
fn b15_creates_that_meet_a_full_queue_wait_and_never_more_are_open_than_was_allowed() {
    let full = "[[orgs.faults]]\nkind = \"rate-limited\"\non = \"batch-create\"\nto-call = 1\nretry-after = 1\n";
    let server = server([full, "", ""]);
    let place = place(&server, 3_600.0);
    let input = place.requests(401);
    let more = ["--sub-batch-size", "10", "--max-open-sub-batches", "4"];
    let ended = start_with(&place, &input, &more).end();
    assert_eq!(finished(&ended)["n_succeeded"], 401, "{}", ended.stderr);
    assert_eq!(created(&server), 40);
    assert!(events(&place).contains("takes no new sub-batch"));
    let batches = server.batches();
    for batch in &batches {
        let beside = batches.iter().filter(|other| {
            other.org == batch.org && other.created_s <= batch.created_s && batch.created_s < other.ends_s
        });
        let n = beside.count();
        assert!(n <= 4, "{n} open at {}", batch.org);
    }
}

#[test]
fn b16_one_create_that_fails_holds_no_other_and_is_made_once_in_the_end() {
    let failing = "[[orgs.faults]]\nkind = \"server-error\"\non = \"batch-create\"\nto-call = 1\n";
    let server = server([failing, "", ""]);
    let place = place(&server, 3_600.0);
    check_books(&server, &place, &start(&place).end());
    assert!(events(&place).contains("it was not created"));
}

#[test]
fn b16_one_that_the_api_calls_wrong_is_judged_request_by_request_and_the_others_go_on() {
    let wrong = "[[orgs.faults]]\nkind = \"invalid\"\non = \"batch-create\"\nfrom-call = 2\nto-call = 2\n";
    let server = server([wrong; 3]);
    let place = place(&server, 3_600.0);
    let ended = start(&place).end();
    let line = finished(&ended);
    assert_eq!((ended.code, &line["n_succeeded"]), (0, &REQUESTS.into()), "{line}");
    let n_wrong = events(&place).matches("each is judged by itself").count() as u64;
    assert!(n_wrong > 0);
    assert_eq!((created(&server), server.stats().bodies_accepted_twice), (SUB_BATCHES - n_wrong, 0));
}

#[test]
fn b4_a_create_that_answers_500_after_the_deed_is_adopted_and_not_made_again() {
    let late = "[[orgs.faults]]\nkind = \"server-error\"\nprocessed = true\non = \"batch-create\"\n";
    let server = server([late; 3]);
    let place = place(&server, 3_600.0);
    check_books(&server, &place, &start(&place).end());
}

#[test]
fn what_is_asked_before_a_batch_run_is_half_the_price() {
    let server = server(DONE);
    let place = place(&server, 3_600.0);
    place.config("confirm-above-usd = 0.001\n");
    let input = place.requests(1_000);
    let figure = |path: &str| {
        let dir = place.text("never");
        let refused = place.run(&["run", &input, "--path", path, "--headless", "--run-dir", &dir]).stderr;
        let figure = refused.split("projected cost $").nth(1).unwrap_or_else(|| panic!("{refused}"));
        figure.split(' ').next().unwrap().parse::<f64>().unwrap()
    };
    let (sync, batch) = (figure("sync"), figure("batch"));
    assert!((sync / batch - 2.0).abs() < 0.01, "{sync} and {batch}");
    assert_eq!(server.stats().n_requests, 0);
}
