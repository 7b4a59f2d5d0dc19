//! Inputs as people write them, good and bad, through the public interface.

use std::io::Write;
use std::path::PathBuf;

use super::*;
use crate::model::{Family, RequestNo};

/// A file with this content; gone with the first value.
fn file(content: impl AsRef<[u8]>) -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("input.jsonl");
    std::fs::write(&path, content).unwrap();
    (dir, path)
}

fn request(id: &str) -> String {
    format!(
        r#"{{"custom_id":{},"params":{{"model":"claude-haiku-4-5","max_tokens":16,"messages":[{{"role":"user","content":"hi"}}]}}}}"#,
        serde_json::to_string(id).unwrap()
    )
}

fn index(content: impl AsRef<[u8]>) -> Result<Input, InputError> {
    let (_dir, path) = file(content);
    Input::index(&path, &mut |_| {})
}

fn problems(content: impl AsRef<[u8]>) -> ProblemReport {
    match index(content).unwrap_err() {
        InputError::Problems(report) => *report,
        other => panic!("{other}"),
    }
}

/// What is said of one line, without the place.
fn said_of(line: &str) -> Vec<String> {
    problems(line).problems.iter().map(|problem| problem.kind.to_string()).collect()
}

#[test]
fn what_is_billed_besides_tokens_is_known_of_each_request() {
    let search = r#"{"type":"web_search_20250305","name":"web_search","max_uses":3}"#;
    let endless = r#"{"name":"web_search","type":"web_search_20260209"}"#;
    let own = r#"{"name":"web_search_of_ours","input_schema":{"type":"web_search_x","max_uses":7}}"#;
    let cases = [
        (String::new(), (false, false, 0)),
        (r#","speed":"fast""#.to_owned(), (true, false, 0)),
        (r#","speed":"standard","inference_geo":"us""#.to_owned(), (false, true, 0)),
        (r#","inference_geo":"global""#.to_owned(), (false, false, 0)),
        (r#","speed":null,"inference_geo":7,"tools":"none""#.to_owned(), (false, false, 0)),
        (format!(r#","tools":[{own},{search}],"speed":"fast","inference_geo":"us""#), (true, true, 3)),
        (format!(r#","tools":[{search},{endless},7,null,[{search}]]"#), (false, false, 13)),
        (format!(r#","tools":[{}]"#, search.replace('3', "99999999999")), (false, false, 4_095)),
        (format!(r#","tools":[{}]"#, search.replace('3', "null")), (false, false, 10)),
    ];
    for (more, wanted) in cases {
        let line = request("a").replace(r#""max_tokens":16"#, &format!(r#""max_tokens":16{more}"#));
        let extras = index(&line).unwrap().extras_of(RequestNo(0));
        let terms = extras.terms();
        assert_eq!((terms.fast, terms.us_inference, extras.searches()), wanted, "{line}");
    }
}

#[test]
fn a_prompt_of_plain_text_is_told_from_one_that_the_api_adds_to_or_caches() {
    let image = r#"[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AA=="}}]"#;
    let cached = r#"[{"type":"text","text":"x","cache_control":{"type":"ephemeral","ttl":"1h"}}]"#;
    let hidden = cached.replace("cache_", r"cach\u0065_");
    let fields = r#""system":"s","metadata":{"user_id":"u"},"temperature":0.5,"stop_sequences":["."],"speed":"fast""#;
    let cases = [
        (r#""stream":false"#.to_owned(), (false, false)),
        (fields.to_owned(), (false, false)),
        (r#""system":"caf\u00e9 \u003cb\u003e, a \"source\"""#.to_owned(), (false, false)),
        (r#""tools":[]"#.to_owned(), (true, false)),
        (r#""thinking":{"type":"adaptive"}"#.to_owned(), (true, false)),
        (r#""output_config":{"format":{}}"#.to_owned(), (true, false)),
        (r#""a_field_to_come":1"#.to_owned(), (true, false)),
        (format!(r#""system":{image}"#), (true, false)),
        (format!(r#""system":{cached}"#), (false, true)),
        (format!(r#""system":{hidden}"#), (true, true)),
        (r#""cache_control":{"type":"ephemeral"}"#.to_owned(), (true, true)),
    ];
    for (more, wanted) in cases {
        let line = request("a").replace(r#""max_tokens":16"#, &format!(r#""max_tokens":16,{more}"#));
        let extras = index(&line).unwrap().extras_of(RequestNo(0));
        assert_eq!((extras.adds_to_prompt(), extras.writes_cache()), wanted, "{line}");
    }
}

#[test]
fn requests_are_read_back_byte_for_byte_with_what_planning_asks_for() {
    let odd = r#" {"params" : {"model":"claude-opus-4-8","max_tokens":0, "messages":[ {"content":"é\u00e9 } ] \"","role":"user"} ],"x":1.0} , "custom_id":"b \"ü\" \u0041","note":1} "#;
    let content = format!("{}\n{odd}\n{}", request("a"), request(""));
    let (_dir, path) = file(&content);
    let input = Input::index(&path, &mut |_| {}).unwrap();
    assert_eq!((input.len(), input.bytes()), (3, content.len() as u64));
    let second = input.read(RequestNo(1)).unwrap();
    assert_eq!(second.custom_id, "b \"ü\" A");
    let from = odd.find(r#"{"model""#).unwrap();
    let until = odd.find(r#" , "custom_id""#).unwrap();
    assert_eq!(second.body, odd.as_bytes()[from..until]);
    assert_eq!(input.read(RequestNo(2)).unwrap().custom_id, "");
    assert_eq!(input.max_tokens_of(RequestNo(0)), 16);
    assert_eq!(input.family_of(RequestNo(1)), Family::Opus);
    assert_eq!(input.model_of(RequestNo(2)), "claude-haiku-4-5");
    assert_eq!(input.len_of(RequestNo(1)) as usize, odd.len());
    let models: Vec<_> = input.models().iter().map(|used| (used.model.as_str(), used.count)).collect();
    assert_eq!(models, [("claude-haiku-4-5", 2), ("claude-opus-4-8", 1)]);
}

#[test]
fn the_checksum_is_that_of_the_whole_file() {
    let content = format!("{}\n\n", request("a"));
    let input = index(&content).unwrap();
    use sha2::Digest;
    let expected = sha2::Sha256::digest(&content).iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    assert_eq!(input.sha256(), expected);
}

#[test]
fn blank_lines_crlf_a_byte_order_mark_and_a_missing_last_line_end_are_fine() {
    let content = format!("\u{feff}{}\r\n\r\n   \t\n{}\r\n{}", request("a"), request("b"), request("c"));
    let input = index(content).unwrap();
    let ids: Vec<_> = (0..3).map(|no| input.read(RequestNo(no)).unwrap().custom_id).collect();
    assert_eq!(ids, ["a", "b", "c"]);
    assert_eq!([0, 1, 2].map(|no| input.line_of(RequestNo(no))), [1, 4, 5]);
}

#[test]
fn b1_ids_may_be_anything_that_is_text() {
    let ids = ["", " ", "x y", "日本語 🙂", &"long".repeat(40), "a\"b\\c\nd", "\u{0}"];
    let content = ids.iter().map(|id| request(id) + "\n").collect::<String>();
    let input = index(content).unwrap();
    for (no, id) in ids.iter().enumerate() {
        assert_eq!(input.read(RequestNo(no as u32)).unwrap().custom_id, *id);
        assert_eq!(input.find(id).unwrap(), Some(RequestNo(no as u32)));
    }
    assert_eq!(input.find("absent").unwrap(), None);
}

#[test]
fn b2_a_duplicate_id_names_both_lines_however_it_is_spelled() {
    let again = request("dup").replace("dup", r"d\u0075p");
    let report = problems(format!("{}\n\n{}\n{}\n{again}\n", request("dup"), request("x"), request("dup")));
    let duplicate = |line| Problem { line, kind: ProblemKind::DuplicateId { id: "dup".to_owned(), first: 1 } };
    assert_eq!(report.problems, [duplicate(4), duplicate(5)]);
    assert!(report.to_string().contains("line 4: custom_id \"dup\" is that of line 1"), "{report}");
}

#[test]
fn b2_a_duplicate_is_found_even_when_other_lines_are_wrong_too() {
    let report = problems(format!("{}\n{{\"custom_id\":\"a\"}}\n{}\n", request("b"), request("a")));
    let lines: Vec<_> = report.problems.iter().map(|problem| problem.line).collect();
    assert_eq!(lines, [2, 3]);
}

#[test]
fn d11_a_system_message_is_refused_by_line_and_index() {
    let line = r#"{"custom_id":"a","params":{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"x"},{"content":"y","role":"s\u0079stem"}]}}"#;
    let report = problems(format!("{}\n{line}\n", request("z")));
    assert_eq!(report.problems, [Problem { line: 2, kind: ProblemKind::SystemRole { index: 1 } }]);
    assert!(report.to_string().contains("move its text to `params.system`"));
}

#[test]
fn d12_every_kind_of_wrong_says_what_is_there_and_what_belongs_there() {
    let params = |rest: &str| format!(r#"{{"custom_id":"a","params":{{{rest}}}}}"#);
    let good = r#""messages":[{"role":"user","content":"x"}]"#;
    let cases = [
        ("nonsense", "not JSON: expected ident at column 2"),
        (r#"{"custom_id":"a""#, "not JSON: EOF while parsing an object at column 16"),
        (r#"{"custom_id":"a"} x"#, "not JSON: trailing characters at column 19"),
        ("[1]", "an array, not an object; write {\"custom_id\": …, \"params\": {…}}"),
        ("3", "a number, not an object; write {\"custom_id\": …, \"params\": {…}}"),
        (&params(&format!(r#""max_tokens":1,{good}"#)), "`params.model` is missing"),
        (
            &params(&format!(r#""model":"","max_tokens":1,{good}"#)),
            "`params.model` is an empty string, and must be the id of a model",
        ),
        (&params(&format!(r#""model":"m",{good}"#)), "`params.max_tokens` is missing"),
        (
            &params(&format!(r#""model":"m","max_tokens":-1,{good}"#)),
            "`params.max_tokens` is a negative number, and must be a whole number from 0 to 4294967295",
        ),
        (
            &params(&format!(r#""model":"m","max_tokens":1.5,{good}"#)),
            "`params.max_tokens` is a number with a fraction or an exponent, and must be a whole number from 0 to 4294967295",
        ),
        (
            &params(&format!(r#""model":"m","max_tokens":4294967296,{good}"#)),
            "`params.max_tokens` is 4294967296, and must be a whole number from 0 to 4294967295",
        ),
        (&params(r#""model":"m","max_tokens":1"#), "`params.messages` is missing"),
        (
            &params(r#""model":"m","max_tokens":1,"messages":[]"#),
            "`params.messages` is an empty array, and must be an array with at least one message",
        ),
        (
            &params(r#""model":"m","max_tokens":1,"messages":"hi""#),
            "`params.messages` is a string, and must be an array with at least one message",
        ),
        (
            &params(r#""model":"m","max_tokens":1,"messages":["hi"]"#),
            "`params.messages[0]` is a string, and must be an object with `role` and `content`",
        ),
        (
            &params(&format!(r#""model":"m","max_tokens":1,"stream":true,{good}"#)),
            "`params.stream` is true; answers are taken whole: leave it out",
        ),
        (
            &params(&format!(r#""model":"m","model":"m","max_tokens":1,{good}"#)),
            "`params.model` stands twice; drop one of them",
        ),
        (r#"{"custom_id":"a","params":[]}"#, "`params` is an array, and must be an object"),
    ];
    for (line, words) in cases {
        assert_eq!(said_of(line), [words], "{line}");
    }
    assert_eq!(said_of("{}"), ["`custom_id` is missing", "`params` is missing"]);
    assert_eq!(said_of(r#"{"custom_id":7}"#), ["`custom_id` is 7, and must be a string", "`params` is missing"]);
    assert_eq!(said_of(r#"{"custom_id":null,"params":true}"#).len(), 2);
}

#[test]
fn what_is_not_ours_to_judge_is_left_to_the_api() {
    let line = r#"{"custom_id":"a","params":{"model":"m","max_tokens":1,"stream":false,"temperature":1e999,"messages":[{"content":[{"type":"new"}]}],"future":{"role":"system"}},"metadata":null}"#;
    assert_eq!(index(line).unwrap().len(), 1);
}

#[test]
fn d12_the_first_twenty_problems_are_listed_and_the_rest_counted() {
    let content = format!("{}\n{}", request("a"), "{}\n".repeat(30));
    let report = problems(content);
    assert_eq!((report.problems.len(), report.total), (20, 60));
    let text = report.to_string();
    assert!(text.contains("has 60 problems, nothing was sent:\n  line 2: `custom_id` is missing"), "{text}");
    assert!(text.ends_with("\n  and 40 more"), "{text}");
}

#[test]
fn bytes_that_are_not_utf8_are_named_by_line_and_column() {
    let mut content = (request("a") + "\n{\"custom_id\":\"").into_bytes();
    content.extend_from_slice(b"\xff\"}\n");
    assert_eq!(problems(content).problems, [Problem { line: 2, kind: ProblemKind::NotUtf8 { column: 15 } }]);
}

#[test]
fn d12_a_file_that_is_packed_or_in_another_encoding_is_called_so() {
    for (bytes, what) in [
        (&b"\x1f\x8b\x08\x00rest\n"[..], "line 1: compressed by gzip; unpack the file first"),
        (b"\x28\xb5\x2f\xfdrest\n", "line 1: compressed by zstd; unpack the file first"),
        (b"\xff\xfe{\x00\"\x00\n\x00", "line 1: UTF-16; save the file as UTF-8"),
        (b"\xfe\xff\x00{\x00\"\x00\n", "line 1: UTF-16; save the file as UTF-8"),
    ] {
        let text = problems(bytes).to_string();
        assert!(text.contains(what), "{text}");
    }
}

#[test]
fn d10_a_line_over_the_limit_is_named_and_the_lines_after_it_are_read() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("input.jsonl");
    let mut out = std::fs::File::create(&path).unwrap();
    writeln!(out, "{}", request("a")).unwrap();
    let block = vec![b'x'; 1 << 20];
    for _ in 0..33 {
        out.write_all(&block).unwrap();
    }
    writeln!(out, "\n{{}}").unwrap();
    drop(out);
    let InputError::Problems(report) = Input::index(&path, &mut |_| {}).unwrap_err() else { panic!("not a report") };
    assert_eq!(report.problems[0], Problem { line: 2, kind: ProblemKind::TooLong(33 << 20) });
    assert_eq!(report.problems[1].line, 3);
}

#[test]
fn nesting_of_any_depth_is_no_danger() {
    let deep = "[".repeat(100_000) + &"]".repeat(100_000);
    let line = request("a").replace("\"hi\"", &deep);
    let (_dir, path) = file(line);
    let input = Input::index(&path, &mut |_| {}).unwrap();
    assert_eq!(fingerprints(&input, &mut |_| {}).unwrap().len(), 1);
    assert!(input.read(RequestNo(0)).unwrap().body.len() > 200_000);
}

#[test]
fn files_that_cannot_be_an_input_are_refused_with_path_and_remedy() {
    let dir = tempfile::tempdir().unwrap();
    let said = |path: &std::path::Path| Input::index(path, &mut |_| {}).unwrap_err().to_string();
    assert!(said(dir.path()).contains("it is a directory; give a regular file"));
    assert!(said(&dir.path().join("none")).contains("there is no such file; check the path"));
    assert!(said("/dev/null".as_ref()).contains("it is a device"));
    for content in ["", "\n \r\n", "\u{feff}"] {
        assert!(index(content).unwrap_err().to_string().contains("holds no request"), "{content:?}");
    }
}

#[test]
fn d2_an_edit_under_the_run_is_noticed_and_named_by_line() {
    let (_dir, path) = file(format!("\n{}\n{}\n", request("a"), request("b")));
    let input = Input::index(&path, &mut |_| {}).unwrap();
    let edited = std::fs::read_to_string(&path).unwrap().replacen("hi", "ho", 1);
    std::fs::write(&path, edited).unwrap();
    let err = input.read(RequestNo(0)).unwrap_err();
    assert!(matches!(err, ReadError::Changed { line: 2, .. }), "{err}");
    assert!(err.to_string().contains("input.jsonl was changed after the run read it"));
    assert!(input.read(RequestNo(1)).is_ok());
    assert!(matches!(fingerprints(&input, &mut |_| {}), Err(ReadError::Changed { line: 2, .. })));
    std::fs::write(&path, "short").unwrap();
    assert!(matches!(input.read(RequestNo(1)), Err(ReadError::Changed { line: 3, .. })));
}

#[test]
fn a_file_that_is_replaced_or_removed_under_the_run_is_still_read() {
    let (_dir, path) = file(request("a"));
    let input = Input::index(&path, &mut |_| {}).unwrap();
    std::fs::remove_file(&path).unwrap();
    std::fs::write(&path, "other").unwrap();
    assert_eq!(input.read(RequestNo(0)).unwrap().custom_id, "a");
}

#[test]
fn an_input_is_shared_between_threads_and_small() {
    fn shared<T: Send + Sync>() {}
    shared::<Input>();
    assert!(size_of::<index::Entry>() <= 24);
}
