//! A run directory through its life: made, taken, torn, recovered, exported.

use std::path::{Path, PathBuf};

use proptest::prelude::*;

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

#[test]
fn a_new_run_is_private_and_can_be_opened_and_seen() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    assert_eq!(std::fs::metadata(&place.dir).unwrap().permissions().mode() & 0o777, 0o700);
    let (owned, run, state) = RunDir::open(&place.dir).unwrap();
    assert_eq!(run, run_file(&place.input));
    assert_eq!((state.status, state.counts.unsent), (RunStatus::Planned, 4));
    let peek = RunDir::peek(&place.dir).unwrap();
    assert_eq!(peek.owner.map(|owner| owner.pid), Some(std::process::id()));
    drop(owned);
    assert_eq!(RunDir::peek(&place.dir).unwrap().owner, None);
}

#[test]
fn d3_a_second_console_is_told_who_owns_the_run() {
    let place = Place::new();
    let _owned = RunDir::open(&place.dir).unwrap();
    let err = RunDir::open(&place.dir).unwrap_err();
    assert!(err.to_string().contains(&format!("is owned by process {}", std::process::id())), "{err}");
    assert!(matches!(RunDir::claim(&place.dir), Err(StoreError::Owned { .. })));
}

#[test]
fn a_directory_is_taken_when_its_run_sent_nothing_and_refused_when_it_did() {
    let place = Place::new();
    std::fs::write(place.dir.join("events.jsonl"), "{}\n").unwrap();
    drop(RunDir::create(&place.dir, &run_file(&place.input)).unwrap());
    assert!(!place.dir.join("events.jsonl").exists());
    place.write("x");
    let err = RunDir::create(&place.dir, &run_file(&place.input)).unwrap_err();
    assert!(err.to_string().contains("go on with it by `fandeck resume "), "{err}");
}

#[test]
fn a_directory_of_somebody_else_is_refused_and_left_as_it_was() {
    let temp = tempfile::tempdir().unwrap();
    std::fs::write(temp.path().join("thesis.tex"), "").unwrap();
    let err = RunDir::claim(temp.path()).unwrap_err();
    assert!(err.to_string().contains("holds thesis.tex"), "{err}");
    assert!(matches!(RunDir::open(temp.path()), Err(StoreError::NotARun(_))));
    assert!(matches!(RunDir::peek(&temp.path().join("none")), Err(StoreError::NotARun(_))));
    assert_eq!(std::fs::read_dir(temp.path()).unwrap().count(), 1);
}

#[test]
fn a_spooled_input_survives_the_start_of_its_run() {
    let temp = tempfile::tempdir().unwrap();
    let claim = RunDir::claim(&temp.path().join("run")).unwrap();
    crate::requests::spool(request("a", "1").as_bytes(), &claim.spool_path()).unwrap();
    let input = Input::index(&claim.spool_path(), &mut |_| {}).unwrap();
    let mut run = run_file(&input);
    run.input.spooled = true;
    let dir = claim.start(&run).unwrap();
    assert_eq!(input.path(), dir.path().join("input.jsonl"));
    assert!(input.path().exists());
}

#[test]
fn d5_a_corrupt_state_is_refused_and_a_missing_one_is_made_anew() {
    let place = Place::new();
    let path = place.dir.join("state.json");
    std::fs::write(&path, "{\"format\":1,").unwrap();
    let err = RunDir::open(&place.dir).unwrap_err();
    assert!(matches!(&err, StoreError::Corrupt { path: named, .. } if *named == path), "{err}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "{\"format\":1,");
    std::fs::remove_file(&path).unwrap();
    assert_eq!(RunDir::open(&place.dir).unwrap().2, StateFile::fresh(&run_file(&place.input)));
}

#[test]
fn the_state_survives_being_written_and_tolerates_fields_of_later_versions() {
    let place = Place::new();
    let mut state = StateFile::fresh(&run_file(&place.input));
    state.cost = Money(1_234_567_890_123);
    state.reason = Some("all orgs parked".to_owned());
    state.exit_code = Some(4);
    let totals = OrgTotals { n_ok: 3, cost: Money(7), ..OrgTotals::default() };
    state.orgs = vec![OrgState { label: "high-prio".to_owned(), window: 5, totals }];
    state.save(&place.dir).unwrap();
    assert_eq!(StateFile::load(&place.dir).unwrap(), Some(state.clone()));
    let text = std::fs::read_to_string(place.dir.join("state.json")).unwrap();
    std::fs::write(place.dir.join("state.json"), text.replacen('{', "{\"later\":[1],", 1)).unwrap();
    assert_eq!(StateFile::load(&place.dir).unwrap(), Some(state));
}

#[test]
fn runs_are_listed_newest_first_and_broken_ones_last() {
    let temp = tempfile::tempdir().unwrap();
    let input = input_of(&temp.path().join("in.jsonl"), &[("a", "1")]);
    let data = temp.path().join("runs");
    assert!(list_runs(&data).unwrap().is_empty());
    for (name, at) in [("x", 1), ("y", 3), ("z", 2)] {
        drop(RunDir::create(&data.join(name), &RunFile { created_at: Wall(at), ..run_file(&input) }).unwrap());
    }
    std::fs::write(data.join("x/run.json"), "?").unwrap();
    std::fs::write(data.join("note.txt"), "").unwrap();
    std::fs::create_dir(data.join("other")).unwrap();
    let listed = list_runs(&data).unwrap();
    let names: Vec<_> = listed.iter().map(|run| run.dir.file_name().unwrap().to_str().unwrap()).collect();
    assert_eq!(names, ["y", "z", "x"]);
    assert!(matches!(listed[2].run, Err(StoreError::Corrupt { .. })));
}

#[test]
fn the_last_line_of_an_id_wins_and_the_sums_count_every_line() {
    let place = Place::new();
    let lines = place.lines(&[
        (3, Outcome::ReDrivable),
        (0, Outcome::Succeeded),
        (1, Outcome::Refused),
        (3, Outcome::Succeeded),
        (2, Outcome::Invalid),
    ]);
    place.write(lines.concat());
    let found = place.recover();
    assert_eq!(found.last, [Last::Succeeded, Last::Refused, Last::Invalid, Last::Succeeded]);
    assert_eq!((found.n_lines, found.books.spent()), (5, Money(246_000_000)));
    // The line that is to be sent again was not billed.
    let lines: Vec<_> = found.books.settled.iter().map(|line| (line.outcome, line.n, line.cost)).collect();
    let paid = (Outcome::Succeeded, 2, Money(246_000_000));
    assert_eq!(lines, [paid, (Outcome::Refused, 1, Money::ZERO), (Outcome::Invalid, 1, Money::ZERO)]);
    assert_eq!(found.books.n_succeeded("high-prio"), 2);
    assert_eq!(found.books.settled[0].tokens.cache_read, 20);
    assert_eq!(
        found.books.by_day.clone().into_iter().collect::<Vec<_>>(),
        [("2026-11-30".to_owned(), Money(246_000_000))]
    );
    let counts = found.counts();
    assert_eq!((counts.succeeded, counts.refused, counts.invalid, counts.unsent, counts.total), (2, 1, 1, 0, 4));
}

#[test]
fn d1_a_journal_cut_at_any_byte_keeps_what_was_whole_and_can_be_appended_to() {
    let place = Place::new();
    // Short lines: every cut costs some fsyncs.
    let order = [1, 3];
    let lines = order.map(|no| {
        let id = place.input.read(RequestNo(no)).unwrap().custom_id;
        journal::line(&id, "{\"é\":[1]}".as_bytes(), &meta(&place.input, RequestNo(no), Outcome::Succeeded))
    });
    let whole = lines.concat();
    for cut in 0..=whole.len() {
        place.write(&whole[..cut]);
        // A line that lacks nothing but its line end is whole: its answer was paid.
        let mut ends = 0;
        let n_whole = lines
            .iter()
            .take_while(|line| {
                ends += line.len();
                ends <= cut + 1
            })
            .count();
        let found = place.recover();
        for (at, &no) in order.iter().enumerate() {
            assert_eq!(found.last_of(RequestNo(no)) != Last::Unsent, at < n_whole, "cut at {cut}");
        }
        let kept = lines[..n_whole].concat();
        assert_eq!(std::fs::read(place.journal()).unwrap(), kept, "cut at {cut}");
        let tail = &whole[kept.len().min(cut)..cut];
        match &found.torn {
            None => assert!(tail.is_empty(), "cut at {cut}"),
            Some(torn) => {
                assert_eq!((torn.offset, torn.bytes), (kept.len() as u64, tail.len() as u64));
                assert_eq!(std::fs::read(&torn.kept).unwrap(), tail, "cut at {cut}");
                std::fs::remove_file(&torn.kept).unwrap();
            }
        }
        // Appending works, and nothing is torn the second time.
        place.write([kept, line_of(&place.input, 0, Outcome::Succeeded)].concat());
        let again = place.recover();
        assert_eq!((again.last_of(RequestNo(0)), again.n_bad, again.torn), (Last::Succeeded, 0, None));
    }
}

#[test]
fn d1_a_tail_of_zeros_or_noise_is_cut_even_with_line_ends_in_it() {
    let place = Place::new();
    let good = line_of(&place.input, 0, Outcome::Succeeded);
    for tail in [&b"\0\0\0\0"[..], b"\0\n\0\0\n", b"{\"custom_id\":\"a\"\nxx", b"\xff\xfe\n", b"   "] {
        place.write([&good, tail].concat());
        let found = place.recover();
        let torn = found.torn.unwrap();
        assert_eq!(std::fs::read(torn.kept).unwrap(), tail);
        assert_eq!((found.len, found.n_bad), (good.len() as u64, 0));
        assert_eq!(std::fs::read(place.journal()).unwrap(), good);
    }
    let kept = std::fs::read_dir(&place.dir)
        .unwrap()
        .filter(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().starts_with("results.torn-"));
    assert_eq!(kept.count(), 5);
}

#[test]
fn a_bad_line_in_the_middle_is_reported_by_offset_and_kept() {
    let place = Place::new();
    let good = place.lines(&[(0, Outcome::Succeeded), (1, Outcome::Succeeded)]);
    let content = [&good[0], &b"{\"half\n"[..], b"\r\n", b"{\"json\":\"but no line\"}\n", &good[1]].concat();
    place.write(&content);
    let found = place.recover();
    assert_eq!((found.n_bad, found.n_lines, found.torn), (2, 2, None));
    assert_eq!(found.bad_offsets, [good[0].len() as u64, good[0].len() as u64 + 9]);
    assert_eq!(std::fs::read(place.journal()).unwrap(), content);
}

#[test]
fn rows_of_another_origin_are_joined_by_id() {
    let place = Place::new();
    place.write(concat!(
        r#"{"custom_id":"d","result":{"type":"succeeded","message":{}}}"#, "\r\n",
        r#"{"custom_id":"a","result":{"type":"expired"}}"#, "\n",
        r#"{"custom_id":"b \"\u00e9\"","result":{"type":"errored","error":{}},"fandeck":{"no":3,"outcome":"invalid","new":[1]}}"#, "\n",
        r#"{"custom_id":"stranger","result":{"type":"succeeded","message":{}},"fandeck":{"no":0}}"#, "\n",
    ));
    let found = place.recover();
    assert_eq!(found.last, [Last::ReDrivable, Last::Invalid, Last::Unsent, Last::Succeeded]);
    assert_eq!((found.n_alien, found.n_bad), (1, 0));
}

#[test]
fn a_run_without_a_journal_has_sent_nothing() {
    let place = Place::new();
    let found = place.recover();
    assert_eq!((found.counts().unsent, found.len, found.torn), (4, 0, None));
}

#[test]
fn d2_after_an_edit_an_outcome_holds_only_for_the_text_that_it_was_paid_for() {
    let place = Place::new();
    let outcomes = [0, 1, 2, 3].map(|no| (no, Outcome::Succeeded));
    place.write(place.lines(&outcomes).concat());
    assert_eq!(compare_input(&place.dir, &run_file(&place.input), &place.input).unwrap(), None);
    // One is the same but stands elsewhere, one was edited, two are gone, two are new.
    let path = place.input.path().to_owned();
    let before = run_file(&place.input);
    let edited = input_of(&path, &[("new", "9"), ("d", "4"), ("a", "1 edited"), ("newer", "9")]);
    let change = compare_input(&place.dir, &before, &edited).unwrap().unwrap();
    let expected = InputChange { n_before: 4, n_now: 4, n_same: 1, n_changed: 1, n_gone: 2 };
    assert_eq!((change, change.n_new()), (expected, 2));
    let (dir, ..) = RunDir::open(&place.dir).unwrap();
    let found = recover(&dir, &edited, &mut |_| {}).unwrap();
    assert_eq!(found.last, [Last::Unsent, Last::Succeeded, Last::Unsent, Last::Unsent]);
    assert_eq!((found.n_changed, found.n_alien), (1, 2));
}

#[test]
fn export_is_in_the_order_of_the_input_and_each_id_stands_once() {
    let place = Place::new();
    let lines = place.lines(&[
        (3, Outcome::ReDrivable),
        (2, Outcome::Succeeded),
        (0, Outcome::Refused),
        (3, Outcome::Succeeded),
    ]);
    // The last line is still being written: it is not taken.
    let torn = &line_of(&place.input, 1, Outcome::Succeeded)[..30];
    place.write([lines.concat(), torn.to_vec()].concat());
    let text = |at: usize| Some(String::from_utf8(lines[at].clone()).unwrap().trim_end().to_owned());
    assert_eq!(place.exported(), [text(2), None, text(1), text(3)]);
}

#[test]
fn without_the_block_a_line_is_a_row_of_the_api() {
    let place = Place::new();
    let line = line_of(&place.input, 1, Outcome::Succeeded);
    let (head, tail) = without_meta(line.trim_ascii_end());
    let message = std::str::from_utf8(MESSAGE).unwrap();
    let expected = format!(r#"{{"custom_id":"b \"é\"","result":{{"type":"succeeded","message":{message}}}}}"#);
    assert_eq!(String::from_utf8([head, tail].concat()).unwrap(), expected);
}

#[test]
fn a_line_without_a_block_of_ours_is_left_whole() {
    for line in [
        r#"{"custom_id":"a","result":{"message":{"x":1,"fandeck":{"y":1}}}}"#,
        r#"{"custom_id":"a","result":{"x":",\"fandeck\":{}"}}"#,
        "",
        ",\"fandeck\":",
    ] {
        assert_eq!(without_meta(line.as_bytes()), (line.as_bytes(), &b""[..]));
    }
}

#[test]
fn a_row_has_what_a_table_wants() {
    let place = Place::new();
    let line = line_of(&place.input, 1, Outcome::Succeeded);
    let row = Row::parse(&line).unwrap();
    assert_eq!((&*row.custom_id, &*row.text, &*row.stop_reason), ("b \"é\"", "aé,b", "end_turn"));
    assert_eq!((row.input_tokens, row.output_tokens, row.latency_ms), (13, 44, 1_234));
    assert_eq!((&*row.model, &*row.org, &*row.path), ("m-1", "high-prio", "sync"));
    assert_eq!((row.outcome, row.cost), (Some(Outcome::Succeeded), Money(123_000_000)));
    let line = line_of(&place.input, 0, Outcome::Invalid);
    let row = Row::parse(&line).unwrap();
    assert_eq!((&*row.error_type, &*row.error_message, &*row.text), ("api_error", "no", ""));
    let expired = Row::parse(br#"{"custom_id":"a","result":{"type":"expired"}}"#).unwrap();
    assert_eq!(expired.outcome, Some(Outcome::ReDrivable));
    assert_eq!(Row::parse(b"{}"), None);
}

#[test]
fn an_error_without_words_of_the_api_has_its_shape_all_the_same() {
    let place = Place::new();
    let error =
        ApiError { kind: "timeout".to_owned(), message: "no \"byte\"\nin 60 s".to_owned(), ..ApiError::default() };
    let meta = meta(&place.input, RequestNo(0), Outcome::ReDrivable);
    for (body, kind) in [(journal::error_body(&error), "timeout"), (Vec::new(), "unknown")] {
        let line = journal::line("a", &body, &meta);
        assert_eq!(Row::parse(&line).unwrap().error_type, kind);
    }
}

proptest! {
    #[test]
    fn any_line_is_one_line_of_json_that_reads_back(
        id in any::<String>(), text in any::<String>(), org in "[a-z0-9-]{1,9}", request_id in any::<Option<String>>(),
        extras in (any::<u32>(), any::<bool>(), any::<bool>()), numbers in (any::<u32>(), any::<u32>(), any::<u64>(), 0..u64::MAX / 2, any::<u32>()), pico in 0..1_000_000_000_000_000_u64, pretty in any::<bool>(),
    ) {
        let body = serde_json::json!({"content": [{"type": "text", "text": text}]});
        let body = if pretty { serde_json::to_vec_pretty(&body) } else { serde_json::to_vec(&body) }.unwrap();
        let (no, attempt, latency_ms, tokens_in, crc) = numbers;
        let cache_read = u64::from(crc);
        let terms = Terms { fast: extras.1, us_inference: extras.2 };
        let usage =
            Usage { input_tokens: tokens_in, cache_read, web_searches: extras.0.into(), terms, ..Usage::default() };
        let meta = LineMeta {
            no: RequestNo(no), outcome: Outcome::Refused, org: Some(&org), path: Route::Batch, attempt,
            request_id: request_id.as_deref(), latency_ms, usage, cost: Money(pico), crc, at: Wall(0),
        };
        let line = journal::line(&id, &body, &meta);
        prop_assert_eq!(memchr::memchr(b'\n', &line), Some(line.len() - 1));
        let value: serde_json::Value = serde_json::from_slice(&line).unwrap();
        prop_assert_eq!(&value["custom_id"], &id);
        prop_assert_eq!(&value["result"]["message"]["content"][0]["text"], &text);
        let block = &value["fandeck"];
        prop_assert_eq!((&block["no"], &block["crc"]), (&no.into(), &crc.into()));
        prop_assert_eq!((&block["latency_ms"], &block["tokens_in"]), (&latency_ms.into(), &(tokens_in + cache_read).into()));
        prop_assert_eq!(&block["request_id"], &serde_json::json!(request_id));
        prop_assert_eq!(journal::JournalLine::parse(&line).unwrap().usage(), usage);
        let row = Row::parse(&line).unwrap();
        prop_assert_eq!((row.text.into_owned(), row.cost), (text, Money(pico)));
        let (head, tail) = without_meta(&line);
        let bare: serde_json::Value = serde_json::from_slice(&[head, tail].concat()).unwrap();
        prop_assert_eq!(bare.as_object().unwrap().len(), 2);
    }
}
