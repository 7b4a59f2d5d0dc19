//! Which requests are alike as far as the API's checks of `params` go.
//!
//! A shape is the model, the names of the fields, and the values of those few fields whose values decide whether a request
//! is accepted at all. Texts do not count.

use std::collections::HashMap;

use super::error::ReadError;
use super::index::Input;
use super::scan;
use crate::model::RequestNo;

/// Fields whose values are part of the shape.
const TELLING: [&str; 9] = [
    "cache_control",
    "inference_geo",
    "output_config",
    "service_tier",
    "speed",
    "stream",
    "temperature",
    "thinking",
    "tool_choice",
];

/// Longest value that is taken into a shape.
const VALUE: usize = 200;

/// Requests of one shape.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShapeUse {
    /// Model and fields, for people.
    pub name: String,
    /// How many there are.
    pub n: u32,
    /// The first ones of them, at most three.
    pub first: Vec<RequestNo>,
    /// Whether a batch takes it at all: some fields are for single calls only.
    pub batchable: bool,
}

/// How many requests of a shape are kept by number.
const FIRST: usize = 3;

/// The shapes of these requests, those that come first first; and the requests that no batch takes.
///
/// # Errors
/// The input cannot be read as it was indexed.
pub fn shapes(input: &Input, wanted: impl Fn(RequestNo) -> bool) -> Result<(Vec<ShapeUse>, Vec<RequestNo>), ReadError> {
    let mut by_name: HashMap<String, usize> = HashMap::new();
    let mut shapes: Vec<ShapeUse> = Vec::new();
    let mut unfit = Vec::new();
    let mut name = String::new();
    let mut buffer = Vec::new();
    input.each_line(0, input.len(), &mut buffer, &mut |no, line| {
        if !wanted(no) {
            return;
        }
        name.clear();
        let batchable = describe(input.model_of(no), line, &mut name) && input.max_tokens_of(no) > 0;
        if !batchable {
            unfit.push(no);
        }
        let at = match by_name.get(&name) {
            Some(at) => *at,
            None => {
                by_name.insert(name.clone(), shapes.len());
                shapes.push(ShapeUse { name: name.clone(), n: 0, first: Vec::new(), batchable });
                shapes.len() - 1
            }
        };
        if let Some(shape) = shapes.get_mut(at) {
            shape.n += 1;
            if shape.first.len() < FIRST {
                shape.first.push(no);
            }
        }
    })?;
    Ok((shapes, unfit))
}

/// Writes the shape of a line; gives whether a batch takes it.
fn describe(model: &str, line: &[u8], name: &mut String) -> bool {
    name.push_str(model);
    let Some(params) = scan::member(line, "params").and_then(|span| line.get(span)) else { return true };
    let mut fields: Vec<(&[u8], &[u8])> = scan::members(params).collect();
    fields.sort_unstable();
    let mut batchable = true;
    for (key, value) in fields {
        let key = String::from_utf8_lossy(key);
        if matches!(&*key, "model" | "max_tokens" | "messages" | "metadata") {
            continue;
        }
        name.push(' ');
        name.push_str(&key);
        if TELLING.contains(&&*key) {
            name.push('=');
            push_value(name, value);
        }
        batchable &= match &*key {
            "stream" => value != b"true",
            "speed" => value != b"\"fast\"",
            _ => true,
        };
    }
    batchable
}

/// A value without its digits, so that a thousand budgets are one shape.
fn push_value(name: &mut String, value: &[u8]) {
    let mut in_number = false;
    for c in String::from_utf8_lossy(value).chars().take(VALUE).filter(|c| !c.is_whitespace()) {
        let digit = c.is_ascii_digit() || (in_number && c == '.');
        if !digit {
            name.push(c);
        } else if !in_number {
            name.push('#');
        }
        in_number = digit;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input(params: &[&str]) -> (tempfile::TempDir, Input) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("input.jsonl");
        let line = |(at, more): (usize, &&str)| {
            format!(
                r#"{{"custom_id":"{at}","params":{{"model":"claude-haiku-4-5","max_tokens":{},"messages":[{{"role":"user","content":"text {at}"}}]{more}}}}}"#,
                at + 1
            )
        };
        let lines: Vec<String> = params.iter().enumerate().map(line).collect();
        std::fs::write(&path, lines.join("\n")).unwrap();
        let input = Input::index(&path, &mut |_| {}).unwrap();
        (dir, input)
    }

    #[test]
    fn texts_numbers_and_the_order_of_fields_make_no_shape_and_fields_do() {
        let (_dir, input) = input(&[
            "",
            r#","temperature":0.5,"system":"a""#,
            r#","system":"b","temperature":0.75"#,
            r#","thinking":{"type":"enabled","budget_tokens":2048}"#,
            r#","thinking":{"type":"disabled"}"#,
            "",
        ]);
        let (shapes, unfit) = shapes(&input, |_| true).unwrap();
        let names: Vec<(&str, u32)> = shapes.iter().map(|shape| (shape.name.as_str(), shape.n)).collect();
        assert_eq!(
            names,
            [
                ("claude-haiku-4-5", 2),
                ("claude-haiku-4-5 system temperature=#", 2),
                (r#"claude-haiku-4-5 thinking={"type":"enabled","budget_tokens":#}"#, 1),
                (r#"claude-haiku-4-5 thinking={"type":"disabled"}"#, 1),
            ]
        );
        assert_eq!(shapes[0].first, [RequestNo(0), RequestNo(5)]);
        assert!(unfit.is_empty());
    }

    #[test]
    fn what_no_batch_takes_is_told_apart_and_what_is_not_wanted_is_passed_over() {
        let (_dir, input) = input(&["", r#","speed":"fast""#, r#","speed":"standard""#, ""]);
        let (shapes, unfit) = shapes(&input, |no| no.0 != 3).unwrap();
        assert_eq!(unfit, [RequestNo(1)]);
        assert_eq!(shapes.iter().map(|shape| shape.n).sum::<u32>(), 3);
        assert_eq!(shapes.iter().filter(|shape| !shape.batchable).count(), 1);
    }
}
