//! A run directory through its life: made, taken, torn, recovered, exported.

mod directory;
mod recovery;
mod rows;

use std::path::{Path, PathBuf};

use super::recovery::Last;
use super::*;
use crate::model::snapshot::OrgTotals;
use crate::model::{ApiError, Money, Outcome, RequestNo, Route, RunStatus, Terms, Usage, Wall};
use crate::requests::Input;

pub(super) fn request(id: &str, text: &str) -> String {
    serde_json::json!({"custom_id": id, "params": {"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": text}]}}).to_string()
}

pub(super) fn input_of(path: &Path, requests: &[(&str, &str)]) -> Input {
    std::fs::write(path, requests.iter().map(|(id, text)| request(id, text) + "\n").collect::<String>()).unwrap();
    Input::index(path, &mut |_| {}).unwrap()
}

pub(super) fn run_file(input: &Input) -> RunFile {
    RunFile {
        format: run_file::FORMAT,
        fandeck: "0.1.0".to_owned(),
        run_id: "run-1".to_owned(),
        nonce: "n1".to_owned(),
        created_at: Wall(1_796_000_709_042),
        input: InputFile {
            path: input.path().to_owned(),
            named: "in.jsonl".to_owned(),
            sha256: input.sha256().to_owned(),
            count: u64::from(input.len()),
            bytes: input.bytes(),
            spooled: false,
        },
        path: Route::Sync,
        route_reason: "small".to_owned(),
        models: vec!["m".to_owned()],
        orgs: vec!["high-prio".to_owned()],
        plan: None,
        pilot: None,
        prices: None,
        settings: [("procs".to_owned(), "1".to_owned())].into(),
    }
}

pub(super) fn line_of(input: &Input, no: u32, outcome: Outcome) -> Vec<u8> {
    let no = RequestNo(no);
    let id = input.read(no).unwrap().custom_id;
    let body: &[u8] = match outcome {
        Outcome::Succeeded | Outcome::Refused => MESSAGE,
        Outcome::Invalid | Outcome::ReDrivable => br#"{"type":"error","error":{"type":"api_error","message":"no"}}"#,
    };
    journal::line(&id, body, &meta(input, no, outcome))
}

pub(super) const MESSAGE: &[u8] = br#"{"model":"m-1","type":"message","content":[{"type":"thinking","thinking":""},{"type":"text","text":"a\u00e9,"},{"type":"tool_use","input":{"x":1,"fandeck":{"y":"\"}"}}},{"type":"text","text":"b"}],"stop_reason":"end_turn","usage":{"input_tokens":3,"cache_read_input_tokens":10,"cache_creation_input_tokens":null,"output_tokens":44}}"#;

pub(super) fn meta(input: &Input, no: RequestNo, outcome: Outcome) -> LineMeta<'static> {
    LineMeta {
        no,
        outcome,
        org: Some("high-prio"),
        path: Route::Sync,
        attempt: 1,
        request_id: Some("req_1"),
        latency_ms: 1_234,
        usage: Usage { input_tokens: 3, cache_read: 10, output_tokens: 44, ..Usage::default() },
        cost: if outcome == Outcome::Succeeded { Money(123_000_000) } else { Money::ZERO },
        crc: input.crc_of(no),
        at: Wall(1_796_000_709_042),
    }
}

/// An input of four requests and a run over it, in a place of its own.
struct Place {
    _temp: tempfile::TempDir,
    dir: PathBuf,
    input: Input,
}

impl Place {
    fn new() -> Place {
        let temp = tempfile::tempdir().unwrap();
        let input = input_of(&temp.path().join("in.jsonl"), &[("a", "1"), ("b \"é\"", "2"), ("", "3"), ("d", "4")]);
        let dir = temp.path().join("run");
        drop(RunDir::create(&dir, &run_file(&input)).unwrap());
        Place { _temp: temp, dir, input }
    }

    fn journal(&self) -> PathBuf {
        self.dir.join(journal::NAME)
    }

    fn lines(&self, outcomes: &[(u32, Outcome)]) -> Vec<Vec<u8>> {
        outcomes.iter().map(|&(no, outcome)| line_of(&self.input, no, outcome)).collect()
    }

    fn write(&self, bytes: impl AsRef<[u8]>) {
        std::fs::write(self.journal(), bytes).unwrap();
    }

    fn recover(&self) -> Recovered {
        let (dir, ..) = RunDir::open(&self.dir).unwrap();
        recover(&dir, &self.input, &mut |_| {}).unwrap()
    }

    fn exported(&self) -> Vec<Option<String>> {
        let mut out = Vec::new();
        let last = LastLines::scan(&self.dir, &self.input, &mut |_| {}).unwrap();
        last.for_each::<StoreError>(|line| {
            out.push(line.map(|line| String::from_utf8(line.to_vec()).unwrap()));
            Ok(())
        })
        .unwrap();
        out
    }
}
