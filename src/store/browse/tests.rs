//! Browsing a run directory while it grows, and when it is over.

use std::io::Write;

use proptest::prelude::*;

use super::*;
use crate::model::Outcome;
use crate::model::browse::Class;
use crate::requests::Input;
use crate::store::tests::{input_of, line_of, run_file};

struct Place {
    _temp: tempfile::TempDir,
    dir: PathBuf,
    input: Input,
}

impl Place {
    fn new(ids: &[&str]) -> Place {
        let temp = tempfile::tempdir().unwrap();
        let requests: Vec<(&str, &str)> = ids.iter().map(|id| (*id, "what?")).collect();
        let input = input_of(&temp.path().join("in.jsonl"), &requests);
        let dir = temp.path().join("run");
        drop(crate::store::RunDir::create(&dir, &run_file(&input)).unwrap());
        Place { _temp: temp, dir, input }
    }

    fn append(&self, bytes: &[u8]) {
        let path = self.dir.join(journal::NAME);
        std::fs::OpenOptions::new().create(true).append(true).open(path).unwrap().write_all(bytes).unwrap();
    }

    fn add(&self, no: u32, outcome: Outcome) {
        self.append(&line_of(&self.input, no, outcome));
    }
}

fn query(text: &str) -> Query {
    Query { text: text.to_owned(), rows: 100, ..Query::default() }
}

fn nos(page: &Page) -> Vec<u32> {
    page.rows.iter().map(|row| row.no.0).collect()
}

const IDS: [&str; 5] = ["judge-0", "judge-1", "label-2", "judge-3", "日本-4"];

#[test]
fn a_run_without_a_journal_has_no_rows_and_one_that_grows_is_followed() {
    let place = Place::new(&IDS);
    let mut browser = Browser::new(&place.dir);
    assert_eq!(browser.page(&query("")).unwrap(), Page::default());
    place.add(3, Outcome::Succeeded);
    place.add(0, Outcome::Invalid);
    let page = browser.page(&query("")).unwrap();
    assert_eq!((nos(&page), page.counts), (vec![0, 3], [0, 1, 0, 1, 0]));
    assert!(page.is_complete());
    place.add(1, Outcome::Refused);
    assert_eq!(nos(&browser.page(&query("")).unwrap()), [0, 1, 3]);
}

#[test]
fn d5_the_last_line_of_a_request_is_the_one_that_is_shown() {
    let place = Place::new(&IDS);
    let mut browser = Browser::new(&place.dir);
    place.add(2, Outcome::ReDrivable);
    assert_eq!(browser.page(&query("class:re-drivable")).unwrap().n_matched, 1);
    place.add(2, Outcome::Succeeded);
    let page = browser.page(&query("")).unwrap();
    assert_eq!((page.rows[0].class, page.counts), (Class::Succeeded, [0, 1, 0, 0, 0]));
    assert_eq!(page.rows[0].excerpt, "aé,b");
}

#[test]
fn a_line_that_is_being_written_is_read_when_it_is_whole() {
    let place = Place::new(&IDS);
    let mut browser = Browser::new(&place.dir);
    let line = line_of(&place.input, 1, Outcome::Succeeded);
    let (first, rest) = line.split_at(line.len() / 2);
    place.add(0, Outcome::Succeeded);
    place.append(first);
    let page = browser.page(&query("")).unwrap();
    assert!(page.is_complete(), "there is nothing more to be read now");
    assert_eq!(nos(&page), [0]);
    place.append(rest);
    assert_eq!(nos(&browser.page(&query("")).unwrap()), [0, 1]);
}

#[test]
fn a_journal_that_was_cut_or_replaced_is_read_anew() {
    let place = Place::new(&IDS);
    let mut browser = Browser::new(&place.dir);
    place.add(0, Outcome::Succeeded);
    place.add(1, Outcome::Succeeded);
    assert_eq!(browser.page(&query("")).unwrap().n_matched, 2);
    std::fs::remove_file(place.dir.join(journal::NAME)).unwrap();
    place.add(4, Outcome::Succeeded);
    place.add(2, Outcome::Succeeded);
    assert_eq!(nos(&browser.page(&query("")).unwrap()), [2, 4]);
}

#[test]
fn lines_about_nothing_in_the_run_are_counted_and_break_nothing() {
    let place = Place::new(&IDS);
    place.append(
        b"not json\n{}\n\n{\"custom_id\":\"x\",\"result\":{\"type\":\"succeeded\"},\"fandeck\":{\"no\":4294967295}}\n",
    );
    place.add(0, Outcome::Succeeded);
    let page = Browser::new(&place.dir).page(&query("")).unwrap();
    assert_eq!((page.n_passed_over, page.n_matched), (3, 1));
}

#[test]
fn words_filter_by_class_org_error_type_and_id_and_all_of_them_have_to_match() {
    let place = Place::new(&IDS);
    for (no, outcome) in (0..).zip([Outcome::Succeeded, Outcome::Invalid, Outcome::Refused, Outcome::ReDrivable]) {
        place.add(no, outcome);
    }
    place.add(4, Outcome::Succeeded);
    let mut browser = Browser::new(&place.dir);
    for (text, found) in [
        ("judge", vec![0, 1, 3]),
        ("id:judge", vec![0, 1, 3]),
        ("Judge", vec![]),
        ("error:API_err", vec![1, 3]),
        ("api_error class:invalid", vec![1]),
        ("refused", vec![2]),
        ("org:high", vec![0, 1, 2, 3, 4]),
        ("org:judge", vec![]),
        ("日本", vec![4]),
        ("class:succeeded id:-0", vec![0]),
    ] {
        assert_eq!(nos(&browser.page(&query(text)).unwrap()), found, "{text}");
    }
    let only = Query { class: Some(Class::Refused), ..query("") };
    assert_eq!(nos(&browser.page(&only).unwrap()), [2]);
}

#[test]
fn the_position_of_the_selected_request_follows_it_in_either_order() {
    let place = Place::new(&IDS);
    for no in [4, 1, 3] {
        place.add(no, Outcome::Succeeded);
    }
    let mut browser = Browser::new(&place.dir);
    let ask = |order| Query { order, selected: Some(RequestNo(3)), ..query("") };
    assert_eq!(browser.page(&ask(Order::Input)).unwrap().selected_at, Some(1));
    let newest = browser.page(&ask(Order::Newest)).unwrap();
    assert_eq!((nos(&newest), newest.selected_at), (vec![3, 1, 4], Some(0)));
    place.add(2, Outcome::Succeeded);
    place.add(0, Outcome::Succeeded);
    assert_eq!(browser.page(&ask(Order::Input)).unwrap().selected_at, Some(3));
    let around = Query { around: Some(1), rows: 2, ..ask(Order::Input) };
    let page = browser.page(&around).unwrap();
    assert_eq!((page.from, nos(&page)), (2, vec![2, 3]));
    let gone = Query { class: Some(Class::Refused), ..ask(Order::Newest) };
    assert_eq!(browser.page(&gone).unwrap().selected_at, None);
}

#[test]
fn a_request_in_full_shows_its_line_its_answer_and_what_the_call_was() {
    let place = Place::new(&IDS);
    place.add(2, Outcome::Succeeded);
    let mut browser = Browser::new(&place.dir);
    browser.page(&query("")).unwrap();
    let detail = browser.detail(RequestNo(2)).unwrap();
    assert_eq!((detail.row.request_id.as_str(), detail.row.attempt, detail.row.latency_ms), ("req_1", 1, 1_234));
    assert_eq!(detail.row.at, "2026-11-30T01:05:09.042Z");
    let request = detail.request.unwrap().join("\n");
    assert!(request.contains("\"custom_id\": \"label-2\"") && request.contains("what?"), "{request}");
    assert!(detail.answer.iter().any(|line| line.contains("\"stop_reason\": \"end_turn\"")), "{:?}", detail.answer);
    assert!(!detail.answer.join("").contains("high-prio"), "the block of ours is no part of the answer");
    assert!(browser.detail(RequestNo(0)).unwrap_err().contains("no outcome"));
}

#[test]
fn a_request_whose_input_is_gone_or_another_one_says_so_and_still_shows_its_answer() {
    let place = Place::new(&IDS);
    place.add(2, Outcome::Invalid);
    input_of(place.input.path(), &[("a", ""), ("b", ""), ("c", "")]);
    let mut browser = Browser::new(&place.dir);
    browser.page(&query("")).unwrap();
    let detail = browser.detail(RequestNo(2)).unwrap();
    assert!(detail.request.unwrap_err().contains("has another id there"));
    assert!(detail.answer.join("").contains("api_error"));
    std::fs::remove_file(place.input.path()).unwrap();
    let mut browser = Browser::new(&place.dir);
    browser.page(&query("")).unwrap();
    assert!(browser.detail(RequestNo(2)).unwrap().request.unwrap_err().contains("in.jsonl"));
}

#[test]
fn lines_of_an_input_are_found_in_any_order_over_blank_lines() {
    let temp = tempfile::tempdir().unwrap();
    let ids: Vec<String> = (0..9_000).map(|n| format!("id-{n}")).collect();
    let text: String = ids.iter().map(|id| crate::store::tests::request(id, "") + "\n \n").collect();
    let path = temp.path().join("in.jsonl");
    std::fs::write(&path, format!("\u{feff}{text}")).unwrap();
    let input = Input::index(&path, &mut |_| {}).unwrap();
    let dir = temp.path().join("run");
    drop(crate::store::RunDir::create(&dir, &run_file(&input)).unwrap());
    let mut lines = InputLines::default();
    for no in [8_999, 0, 4_096, 4_095, 8_192, 5] {
        let line = lines.read(&dir, RequestNo(no), &ids[no as usize]);
        assert!(line.is_ok(), "{no}: {line:?}");
    }
    assert!(lines.read(&dir, RequestNo(9_000), "id-9000").unwrap_err().contains("no request 9000"));
}

proptest! {
    #[test]
    fn t10_pages_are_slices_of_the_same_list_whatever_came_in_between(
        outcomes in proptest::collection::vec((0u32..5, 0usize..4), 0..40),
        from in 0usize..6,
        rows in 0usize..4,
    ) {
        let kinds = [Outcome::Succeeded, Outcome::Refused, Outcome::Invalid, Outcome::ReDrivable];
        let place = Place::new(&IDS);
        let mut browser = Browser::new(&place.dir);
        let mut last = std::collections::BTreeMap::new();
        for (no, kind) in outcomes {
            place.add(no, kinds[kind]);
            last.insert(no, kind);
            browser.page(&Query::default()).unwrap();
        }
        let all: Vec<u32> = last.keys().copied().collect();
        let page = browser.page(&Query { from, rows, ..Query::default() }).unwrap();
        let wanted: Vec<u32> = all.iter().copied().skip(page.from).take(rows).collect();
        prop_assert_eq!(nos(&page), wanted);
        prop_assert_eq!(page.n_matched, all.len());
        prop_assert_eq!(page.counts.iter().sum::<u64>(), all.len() as u64);
    }
}
