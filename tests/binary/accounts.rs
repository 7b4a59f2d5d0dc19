//! Trouble of an org's account, of the model, and of the way to the API: what is said once, what goes on, and what ends.

use serde_json::Value;

use crate::support::{Ended, Place, Server, finished, json_lines, request};

/// The notices of a run that hold a text.
fn notices(ended: &Ended, text: &str) -> Vec<String> {
    let events = json_lines(&ended.stdout);
    let notices = events.iter().filter(|event| event["event"] == "notice");
    notices.filter_map(|event| event["text"].as_str()).filter(|said| said.contains(text)).map(str::to_owned).collect()
}

/// A key that is revoked from this message on. The look at the org before the first wave is a call, too.
fn revoked_from(message: u32) -> String {
    format!("[[orgs.faults]]\nkind = \"unauthorized\"\nfrom-call = {}", message + 1)
}

#[test]
fn l8_one_key_revoked_in_the_middle_is_said_once_by_label_and_the_others_finish() {
    let server = Server::with("", ["", &revoked_from(4), ""]);
    let place = Place::at(&server);
    let (input, dir) = (place.requests(90), place.text("run"));
    // Every org has as much out as it may before one of them is answered: none does the work of another.
    server.hold_from(1);
    let running = place.start(&["run", &input, "--run-dir", &dir, "--json", "--cap", "4"]);
    server.wait_for_messages(3 * 4);
    server.release();
    let ended = running.end();
    let line = finished(&ended);
    assert_eq!((ended.code, &line["n_succeeded"]), (0, &90.into()), "{line}");
    let said = notices(&ended, "batch");
    let parked: Vec<_> = said.iter().filter(|text| text.contains("parked")).collect();
    assert_eq!(parked.len(), 1, "{said:?}");
    assert_eq!(server.stats().org("batch").unwrap().n_accepted, 3);
    assert_eq!(place.export(&dir, &[]).len(), 90);
}

#[test]
fn l9_all_keys_revoked_in_the_middle_end_the_run_incomplete_and_resumable() {
    let revoked = revoked_from(8);
    let server = Server::with("", [&revoked; 3]);
    let place = Place::at(&server);
    let (input, dir) = (place.requests(60), place.text("run"));
    let ended = place.run(&["run", &input, "--run-dir", &dir, "--json", "--cap", "4"]);
    let line = finished(&ended);
    assert_eq!((ended.code, &line["status"], &line["n_succeeded"]), (4, &"incomplete".into(), &21.into()), "{line}");
    let stats = server.stats();
    assert!(stats.n_messages < 21 + 3 * 4 + 3, "no spinning: {stats:?}");
    let status = place.run(&["status", &dir]).stdout;
    assert!(status.contains("every org is parked (high-prio: auth, batch: auth, low-prio: auth)"), "{status}");

    // With keys that work, the rest is sent, and only the rest.
    let good = Server::calm();
    let mut place = place;
    place.set("ANTHROPIC_BASE_URL", &good.url);
    let resumed = place.run(&["resume", &dir, "--json"]);
    assert_eq!((resumed.code, good.stats().n_messages), (0, 39));
    assert_eq!(place.export(&dir, &[]).len(), 60);
}

#[test]
fn l9_keys_that_never_worked_are_a_setup_problem_and_nothing_was_sent() {
    let server = Server::faulty("kind = \"unauthorized\"");
    let place = Place::at(&server);
    let ended = place.run(&["run", &place.requests(20), "--json"]);
    let line = finished(&ended);
    assert_eq!((ended.code, &line["n_succeeded"], &line["cost_usd"]), (2, &0.into(), &Value::from(0.0)), "{line}");
    assert_eq!(server.stats().bodies_accepted, 0);
}

#[test]
fn l10_money_trouble_parks_the_org_and_burns_no_request() {
    let server = Server::with(
        "",
        [
            "[[orgs.faults]]\nkind = \"low-credit\"\nfrom-call = 5",
            "[[orgs.faults]]\nkind = \"spend-limit\"\nfrom-call = 5",
            "",
        ],
    );
    let place = Place::at(&server);
    // The fourth of the first four calls is refused, whatever the other orgs do meanwhile.
    server.hold_from(1);
    let running = place.start(&["run", &place.requests(60), "--json", "--cap", "4"]);
    server.wait_for_messages(3 * 4);
    server.release();
    let ended = running.end();
    let line = finished(&ended);
    assert_eq!((ended.code, &line["n_succeeded"], &line["n_invalid"]), (0, &60.into(), &0.into()), "{line}");
    assert_eq!((notices(&ended, "high-prio").len(), notices(&ended, "batch").len()), (1, 1), "{}", ended.stdout);
}

#[test]
fn l11_a_wrong_model_stops_the_run_before_anything_was_sent_and_is_named() {
    let server = Server::calm();
    let place = Place::at(&server);
    let lines: String = (0..200).map(|no| request(&format!("r-{no}"), &format!("{no}"))).collect();
    let input = place.write("in.jsonl", lines.replace("claude-haiku-4-5", "claude-haiku-44"));
    let ended = place.run(&["run", &input, "--json", "--yes"]);
    let line = finished(&ended);
    assert_eq!((ended.code, &line["n_unsent"]), (2, &200.into()), "{line}");
    assert!(!notices(&ended, "claude-haiku-44").is_empty(), "{}", ended.stdout);
    assert_eq!(server.stats().n_messages, 0);
    // Without a price the cost cannot be projected, so nobody launches it unasked.
    let unasked = place.run(&["run", &input, "--json"]);
    unasked.refused(2, &["--yes", "no price is known for the model of 200 requests (claude-haiku-44"]);
}

#[test]
fn l11_requests_that_stay_invalid_do_not_stop_a_file_that_has_answers_already() {
    let server = Server::calm();
    let place = Place::at(&server);
    let good: String = (0..6).map(|no| request(&format!("g-{no}"), &format!("{no}"))).collect();
    // The simulated API refuses a temperature of 9.
    let bad = good.replace("\"g-", "\"b-").replace("\"max_tokens\"", "\"temperature\":9,\"max_tokens\"");
    let (input, dir) = (place.write("in.jsonl", format!("{good}{bad}")), place.text("run"));
    let args = ["run", &*input, "--json", "--orgs", "batch", "--cap", "1"];
    let first = place.run(&[&args[..], &["--run-dir", &dir]].concat());
    assert_eq!((first.code, &finished(&first)["n_invalid"]), (3, &6.into()), "{}", first.stdout);
    let again = place.run(&args);
    assert_eq!((again.code, &finished(&again)["n_cached"]), (3, &6.into()), "{}", again.stdout);
    assert_eq!(finished(&again)["n_invalid"], 6);
}

#[test]
fn an_api_that_cannot_be_reached_ends_the_run_with_2_and_the_reason() {
    // A port that is taken, so that no other test gets it, and where nobody listens.
    let taken = tokio::net::TcpSocket::new_v4().unwrap();
    taken.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let port = taken.local_addr().unwrap().port();
    let server = Server::calm();
    let mut place = Place::at(&server);
    place.set("ANTHROPIC_BASE_URL", &format!("http://127.0.0.1:{port}"));
    place.more_config("outage-limit = \"1s\"\n");
    let dir = place.text("run");
    let ended = place.run(&["run", &place.requests(20), "--run-dir", &dir, "--json"]);
    let line = finished(&ended);
    assert_eq!((ended.code, &line["n_total"], &line["n_possibly_charged"]), (2, &20.into(), &0.into()), "{line}");
    let said = notices(&ended, "no org has answered for");
    assert!(said.len() == 1 && said[0].contains("connection"), "{said:?}");
    // It is resumable all the same.
    place.set("ANTHROPIC_BASE_URL", &server.url);
    assert_eq!(finished(&place.run(&["resume", &dir, "--json"]))["n_succeeded"], 20);
}

#[test]
fn an_outage_in_the_middle_is_waited_out_up_to_its_limit_and_ends_with_4() {
    let server = Server::faulty("kind = \"reset-before\"\nfrom-call = 4");
    let place = Place::at(&server);
    place.more_config("outage-limit = \"1s\"\n");
    // The three good calls of each org are out when the outage begins: what is out is waited for to the end.
    server.hold_from(1);
    let running = place.start(&["run", &place.requests(40), "--json", "--cap", "4"]);
    server.wait_for_messages(3 * 4);
    server.release();
    let ended = running.end();
    let line = finished(&ended);
    assert_eq!((ended.code, &line["n_succeeded"]), (4, &9.into()), "{line}");
}

#[test]
fn l6_l1_a_storm_over_every_org_is_waited_out_and_nothing_fails() {
    let storm = "[[orgs.faults]]\nkind = \"rate-limited\"\nfrom-call = 4\nto-call = 9\nretry-after = 1";
    let server = Server::with("", [storm; 3]);
    let place = Place::at(&server);
    let ended = place.run(&["run", &place.requests(45), "--json", "--cap", "4"]);
    let line = finished(&ended);
    assert_eq!((ended.code, &line["n_succeeded"]), (0, &45.into()), "{line}");
    let refused: u64 = server.stats().orgs.iter().map(|org| org.n_status(429)).sum();
    let counted: u64 = line["orgs"].as_array().unwrap().iter().map(|org| org["n_429"].as_u64().unwrap()).sum();
    assert_eq!(counted, refused);
    assert_eq!(server.stats().bodies_accepted_twice, 0);
}
