//! Bodies made fit for the journal: valid JSON, on one line, free of key material.
//!
//! Both changes are made in the text, token by token, not through a parsed value: numbers keep their digits and keys
//! their order, and a body that needs neither change is passed on without a copy.

use bytes::Bytes;

use crate::model::Scrubber;

/// The body as one line without key material. It must be valid JSON.
pub(super) fn fit(body: Bytes, scrubber: &Scrubber) -> Bytes {
    let many_lines = memchr::memchr2(b'\n', b'\r', &body).is_some();
    if !many_lines && !scrubber.finds(&body) {
        return body;
    }
    Bytes::from(rewrite(&String::from_utf8_lossy(&body), scrubber))
}

/// JSON text without white space between tokens, and with every string scrubbed.
fn rewrite(text: &str, scrubber: &Scrubber) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = memchr::memchr(b'"', rest.as_bytes()) {
        let (between, from_quote) = rest.split_at(at);
        push_without_white_space(&mut out, between);
        let (string, after) = from_quote.split_at(string_len(from_quote));
        push_scrubbed(&mut out, string, scrubber);
        rest = after;
    }
    push_without_white_space(&mut out, rest);
    out
}

fn push_without_white_space(out: &mut String, between: &str) {
    out.extend(between.chars().filter(|c| !c.is_ascii_whitespace()));
}

/// Length of the JSON string that starts this text, both quotes included; all of the text when it does not end.
fn string_len(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut at = 1;
    while let Some(found) = bytes.get(at..).and_then(|tail| memchr::memchr2(b'"', b'\\', tail)) {
        at += found;
        if bytes.get(at) == Some(&b'"') {
            return at + 1;
        }
        at += 2;
    }
    bytes.len()
}

/// Scrubs the decoded string, so that the mask can break no escape. What cannot be decoded is scrubbed as it stands.
fn push_scrubbed(out: &mut String, string: &str, scrubber: &Scrubber) {
    if !scrubber.finds(string.as_bytes()) {
        out.push_str(string);
        return;
    }
    let clean = serde_json::from_str::<String>(string)
        .and_then(|decoded| serde_json::to_string(&*scrubber.scrub(&decoded)))
        .unwrap_or_else(|_| scrubber.scrub(string).into_owned());
    out.push_str(&clean);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;
    use crate::model::Secret;

    fn fitted(text: &str, scrubber: &Scrubber) -> String {
        String::from_utf8(fit(Bytes::copy_from_slice(text.as_bytes()), scrubber).to_vec()).unwrap()
    }

    #[test]
    fn white_space_between_tokens_goes_and_everything_else_stays() {
        let pretty =
            "{\r\n  \"b\": 1.50e+3,\n\t\"a\" : [ true , \"two  words \\\" \\\\\" ],\n \"c\":18446744073709551616}\n";
        assert_eq!(
            fitted(pretty, &Scrubber::default()),
            r#"{"b":1.50e+3,"a":[true,"two  words \" \\"],"c":18446744073709551616}"#
        );
    }

    #[test]
    fn a_body_on_one_line_without_keys_is_passed_on_as_it_is() {
        let body = Bytes::from_static(br#"{"a": 1}"#);
        let fitted = fit(body.clone(), &Scrubber::default());
        assert_eq!(fitted.as_ptr(), body.as_ptr());
    }

    #[test]
    fn keys_are_masked_in_strings_only_and_the_json_stays_valid() {
        let key = Secret::new("123456").unwrap();
        let scrubber = Scrubber::new([&key]);
        let line = fitted(r#"{"n":123456,"t":"is 123456 \u0041 and sk-ant-api03-zz\n","123456":null}"#, &scrubber);
        assert_eq!(line, r#"{"n":123456,"t":"is [key] A and [key]\n","[key]":null}"#);
        let odd = fitted(r#"{"t":"\ud83d sk-ant-zz"}"#, &scrubber);
        assert_eq!(odd, r#"{"t":"\ud83d [key]"}"#);
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            ".*".prop_map(Value::from)
        ];
        leaf.prop_recursive(3, 24, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::btree_map(".*", inner, 0..6).prop_map(|map| map.into_iter().collect::<Value>()),
            ]
        })
    }

    proptest! {
        #[test]
        fn any_document_keeps_its_value_on_one_line(document in any_json()) {
            let line = fitted(&format!("{document:#}\n"), &Scrubber::default());
            prop_assert!(!line.contains('\n'));
            prop_assert_eq!(serde_json::from_str::<Value>(&line).unwrap(), document);
        }
    }
}
