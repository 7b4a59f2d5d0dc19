//! `fandeck audit`: without keys, without a network, from a file or from standard input.

use serde_json::Value;

use crate::support::{Place, Server, request};

#[test]
fn an_audit_names_what_will_be_refused_and_ends_with_three() {
    let place = Place::new();
    let refused = request("a", "q").replace("\"max_tokens\":64", "\"max_tokens\":64001");
    let input = place.write("in.jsonl", format!("{}{refused}", request("b", "q")));
    let ended = place.run(&["audit", &input, "--json"]);
    assert_eq!(ended.code, 3, "{}", ended.stderr);
    let report: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!((&report["n_requests"], &report["findings"][0]["severity"]), (&2.into(), &"error".into()), "{report}");
    assert_eq!(report["findings"][0]["lines"][0], 2);
    let ended = place.run(&["audit", &input]);
    assert!(ended.stdout.contains("max-tokens-above-limit") && ended.stdout.contains("line 2"), "{}", ended.stdout);
    assert!(place.runs().is_empty());
}

#[test]
fn an_audit_of_a_sound_file_ends_with_zero_and_one_of_no_file_with_two() {
    let place = Place::new();
    let input = place.write("in.jsonl", request("a", "q"));
    assert_eq!(place.run(&["audit", &input]).code, 0);
    place.run(&["audit", "nowhere.jsonl"]).refused(2, &["nowhere.jsonl: there is no such file"]);
}

#[test]
fn max_tokens_below_what_earlier_answers_were_long_is_said_and_the_catalog_file_is_honoured() {
    let server = Server::calm();
    let place = Place::at(&server);
    let input = place.requests(120);
    let before = place.run(&["audit", &input]);
    assert!(!before.stdout.contains("observed"), "{}", before.stdout);
    assert_eq!(place.run(&["run", &input, "--yes", "--json"]).code, 0);
    let short = place.write("short.jsonl", request("a", "q").replace("\"max_tokens\":64", "\"max_tokens\":1"));
    let after = place.run(&["audit", &short]);
    assert!(after.stdout.contains("max-tokens-below-observed"), "{}", after.stdout);
    let model = "[[models]]\nid = \"our-judge\"\nfamily = \"haiku\"\nmax-output-tokens = 8\ncontext-tokens = 1000\n\
        min-cacheable-tokens = 512\n\
        price = { input = 1.0, output = 5.0, cache-write-5m = 1.25, cache-write-1h = 2.0, cache-read = 0.10 }\n";
    let catalog = place.write("models.toml", model);
    place.more_config(&format!("\n[plan]\ncatalog = \"{catalog}\"\n"));
    let ours = place.write("ours.jsonl", request("a", "q").replace("claude-haiku-4-5", "our-judge"));
    let ended = place.run(&["audit", &ours]);
    assert!(ended.code == 3 && ended.stdout.contains("max-tokens-above-limit"), "{} {}", ended.stdout, ended.stderr);
}
