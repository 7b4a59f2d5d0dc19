//! `fandeck audit`: without keys, without a network, from a file or from standard input.

use serde_json::Value;

use crate::support::{Place, request};

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
