//! Which requests are the same, seen from the keys.

use std::collections::HashSet;

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::canonical::Canonicaliser;
use super::*;

fn keys_of(params: &[&str]) -> Vec<Fingerprint> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("input.jsonl");
    let line = |(no, params): (usize, &&str)| format!("{{\"custom_id\":\"{no}\",\"params\":{params}}}\n");
    std::fs::write(&path, params.iter().enumerate().map(line).collect::<String>()).unwrap();
    let input = Input::index(&path, &mut |_| {}).unwrap();
    fingerprints(&input, &mut |_| {}).unwrap()
}

const BASE: &str = r#"{"model":"m","max_tokens":5,"system":"s","tools":[{"name":"a"},{"name":"b"}],"messages":[{"role":"user","content":"é"}]}"#;

#[test]
fn d6_equal_requests_are_draws_of_their_own_and_a_second_reading_finds_the_same_keys() {
    let file = [BASE; 8];
    let keys = keys_of(&file);
    assert_eq!(keys.iter().collect::<HashSet<_>>().len(), 8);
    assert_eq!(keys_of(&file), keys);
    // A draw is numbered among its equals only: what stands between them does not matter.
    let other = BASE.replace("é", "e");
    let mixed = keys_of(&[BASE, &other, BASE]);
    assert_eq!([mixed[0], mixed[2]], [keys[0], keys[1]]);
}

#[test]
fn answers_of_an_api_on_this_machine_are_apart_from_those_of_the_others() {
    let keys = keys_of(&[BASE; 8]);
    let mut local = keys.clone();
    keep_local(&mut local);
    assert_eq!(keys.iter().chain(&local).collect::<HashSet<_>>().len(), 16);
    let mut again = keys_of(&[BASE; 8]);
    keep_local(&mut again);
    assert_eq!(again, local);
}

#[test]
fn d7_anything_that_changes_in_params_is_another_key() {
    let changed = [
        BASE.to_owned(),
        BASE.replace("\"max_tokens\":5", "\"max_tokens\":6"),
        BASE.replace("\"system\":\"s\"", "\"system\":\"t\""),
        BASE.replace("\"system\":\"s\",", ""),
        BASE.replace(r#"{"name":"a"},{"name":"b"}"#, r#"{"name":"b"},{"name":"a"}"#),
        BASE.replace(r#"{"name":"a"},{"name":"b"}"#, r#"{"name":"a","name2":"b"}"#),
        BASE.replace("\"m\"", "\"m2\""),
        BASE.replace("{\"model\"", "{\"x\":null,\"model\""),
        BASE.replace("{\"model\"", "{\"x\":\"null\",\"model\""),
        BASE.replace("é", "é "),
        BASE.replace("é", "e\u{301}"),
    ];
    let keys = keys_of(&changed.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(keys.iter().collect::<HashSet<_>>().len(), changed.len());
}

#[test]
fn d7_spelling_is_no_change() {
    let spelled = r#" { "messages" : [ { "content" : "\u00e9" , "role":"\u0075ser" } ] , "tools":[ {"name":"a"} ,{"name":"b"}],"system":"s",
        "max_tokens": 5,"model":"m" } "#
        .replace('\n', " ");
    assert_eq!(keys_of(&[&spelled]), keys_of(&[BASE]));
}

#[test]
fn no_digit_of_a_number_is_lost() {
    let with = |number: &str| keys_of(&[&BASE.replace("{\"model\"", &format!("{{\"n\":{number},\"model\""))])[0];
    assert_ne!(with("0.10000000000000000001"), with("0.1"));
    assert_ne!(with("12345678901234567890123"), with("12345678901234567890124"));
}

#[test]
fn progress_ends_with_every_request() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("input.jsonl");
    let lines = (0..5_000).map(|no| format!("{{\"custom_id\":\"{no}\",\"params\":{BASE}}}\n"));
    std::fs::write(&path, lines.collect::<String>()).unwrap();
    let input = Input::index(&path, &mut |_| {}).unwrap();
    let mut seen = 0;
    let keys = fingerprints(&input, &mut |n| seen = n).unwrap();
    assert_eq!((seen, keys.iter().collect::<HashSet<_>>().len()), (5_000, 5_000));
}

/// JSON without numbers whose value has several spellings.
fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        texts().prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 40, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec((texts(), inner), 0..5).prop_map(|members| Value::Object(Map::from_iter(members))),
        ]
    })
}

fn texts() -> impl Strategy<Value = String> {
    prop_oneof!["[a-c]{0,3}", r#"[a"\\/\n\t\u{8}\u{1}\u{7f}é🙂]{0,5}"#, any::<String>()]
}

/// A spelling of a value, chosen by the bits of a seed.
struct Speller(u64);

impl Speller {
    fn pick(&mut self, of: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % of
    }

    fn space(&mut self, out: &mut String) {
        out.push_str(["", "", "", " ", "\t ", "\r"][self.pick(6) as usize]);
    }

    fn text(&mut self, text: &str, out: &mut String) {
        out.push('"');
        for char in text.chars() {
            let escape = self.pick(4) == 0;
            match char {
                _ if escape => {
                    for unit in char.encode_utf16(&mut [0; 2]) {
                        let hex = format!("{unit:04x}");
                        out.push_str("\\u");
                        out.push_str(&if self.pick(2) == 0 { hex.to_uppercase() } else { hex });
                    }
                }
                '/' if self.pick(2) == 0 => out.push_str("\\/"),
                char => {
                    let quoted = serde_json::to_string(&char).unwrap();
                    out.push_str(&quoted[1..quoted.len() - 1]);
                }
            }
        }
        out.push('"');
    }

    fn value(&mut self, value: &Value, out: &mut String) {
        self.space(out);
        match value {
            Value::String(text) => self.text(text, out),
            Value::Array(items) => {
                out.push('[');
                for (at, item) in items.iter().enumerate() {
                    out.push_str(if at > 0 { "," } else { "" });
                    self.value(item, out);
                }
                self.space(out);
                out.push(']');
            }
            Value::Object(members) => {
                let mut members: Vec<_> = members.iter().collect();
                for at in (1..members.len()).rev() {
                    members.swap(at, self.pick(at as u64 + 1) as usize);
                }
                out.push('{');
                for (at, (key, value)) in members.into_iter().enumerate() {
                    out.push_str(if at > 0 { "," } else { "" });
                    self.space(out);
                    self.text(key, out);
                    self.space(out);
                    out.push(':');
                    self.value(value, out);
                }
                self.space(out);
                out.push('}');
            }
            scalar => out.push_str(&scalar.to_string()),
        }
        self.space(out);
    }
}

fn spell(value: &Value, seed: u64) -> String {
    let mut out = String::new();
    Speller(seed).value(value, &mut out);
    out
}

fn canonical(text: &str) -> Vec<u8> {
    Canonicaliser::default().canonical(text.as_bytes()).to_vec()
}

proptest! {
    #[test]
    fn all_spellings_of_a_value_have_one_canonical_text(value in values(), seeds in any::<[u64; 2]>()) {
        let [a, b] = seeds.map(|seed| spell(&value, seed));
        prop_assert!(serde_json::from_str::<Value>(&a).unwrap() == value, "{}", a);
        prop_assert_eq!(canonical(&a), canonical(&b), "{} | {}", a, b);
        prop_assert_eq!(canonical(&a), canonical(&serde_json::to_string(&value).unwrap()));
    }

    #[test]
    fn different_values_have_different_canonical_texts(a in values(), b in values(), seed in any::<u64>()) {
        prop_assert_eq!(a == b, canonical(&spell(&a, seed)) == canonical(&spell(&b, !seed)));
    }

    #[test]
    fn nested_containers_are_told_apart_by_their_borders(a in values(), b in values()) {
        let texts = [json!([[a, b]]), json!([[a], b]), json!([a, [b]]), json!([[a], [b]]), json!({"a": a, "b": b}), json!([{"a": a}, {"b": b}])];
        let distinct: HashSet<_> = texts.iter().map(|value| canonical(&value.to_string())).collect();
        let expected: HashSet<_> = texts.iter().map(Value::to_string).collect();
        prop_assert_eq!(distinct.len(), expected.len());
    }

    #[test]
    fn brackets_and_commas_out_of_place_come_to_an_end(text in "[\\[\\]{},:\" 1]{0,12}") {
        Canonicaliser::default().canonical(text.as_bytes());
    }

    #[test]
    fn text_that_is_not_json_is_no_danger(text in any::<Vec<u8>>()) {
        Canonicaliser::default().canonical(&text);
        let _ = member(&text, "params");
    }
}
