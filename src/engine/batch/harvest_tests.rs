use std::io::Write;
use std::sync::Arc;

use super::*;
use crate::catalog::Catalog;
use crate::model::{AccountTrouble, Money, RunSlot};
use crate::requests::Input;

const MESSAGE: &str = r#"{"id":"msg_1","type":"message","content":[{"type":"text","text":"Yes."}],"stop_reason":"end_turn","usage":{"input_tokens":1000,"output_tokens":200}}"#;

struct Bench {
    dir: tempfile::TempDir,
    work: RunWork,
    members: Vec<RequestNo>,
}

fn bench(n: u32) -> Bench {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("input.jsonl");
    let line = |no: u32| {
        format!(
            r#"{{"custom_id":"user id {no}","params":{{"model":"claude-haiku-4-5","max_tokens":9,"messages":[{{"role":"user","content":"q"}}]}}}}"#
        )
    };
    std::fs::write(&path, (0..n).map(line).collect::<Vec<_>>().join("\n")).unwrap();
    let input = Arc::new(Input::index(&path, &mut |_| {}).unwrap());
    let keys: Arc<[[u8; 32]]> = (0..n).map(|no| [no as u8; 32]).collect();
    let work = RunWork::new(RunSlot(0), input, Some(keys), &Catalog::builtin());
    Bench { dir, work, members: (0..n).map(RequestNo).collect() }
}

impl Bench {
    /// Harvests these results; gives what was found, and the rows that were handed on.
    fn harvest(&self, results: &[u8]) -> (Harvest, Vec<HarvestedRow>) {
        let path = self.dir.path().join("results");
        std::fs::write(&path, results).unwrap();
        let mut all = Vec::new();
        let found = self.read(&path, &mut |rows, token| {
            all.extend(rows);
            token.give_back();
            true
        });
        (found.unwrap(), all)
    }

    fn read(&self, path: &std::path::Path, hand_on: &mut HandOn<'_>) -> Result<Harvest, String> {
        let by = Harvester {
            work: &self.work,
            scrubber: &Scrubber::default(),
            nonce: "k3x9",
            org: "batch",
            members: &self.members,
            began_at: Some(Wall(1_000)),
            now: Wall(61_000),
        };
        read(&by, path, hand_on)
    }
}

fn succeeded(no: u32) -> String {
    format!(r#"{{"custom_id":"k3x9-{no}","result":{{"type":"succeeded","message":{MESSAGE}}}}}"#)
}

fn plain(no: u32, kind: &str) -> String {
    format!(r#"{{"custom_id":"k3x9-{no}","result":{{"type":"{kind}"}}}}"#)
}

fn errored(no: u32, kind: &str, message: &str) -> String {
    format!(
        r#"{{"custom_id":"k3x9-{no}","result":{{"type":"errored","error":{{"type":"error","error":{{"type":"{kind}","message":"{message}"}},"request_id":null}}}}}}"#
    )
}

fn numbers(rows: &[HarvestedRow]) -> Vec<u32> {
    rows.iter().map(|row| row.no.0).collect()
}

#[test]
fn b6_three_answers_are_kept_and_two_expired_rows_are_sent_again() {
    let lines = [succeeded(4), plain(1, "expired"), succeeded(0), plain(3, "expired"), succeeded(2)];
    let (found, rows) = bench(5).harvest(lines.join("\n").as_bytes());
    assert_eq!(numbers(&rows), [4, 0, 2]);
    assert_eq!(found.again, [(RequestNo(1), Trouble::Expired), (RequestNo(3), Trouble::Expired)]);
    assert_eq!((found.tally.n_succeeded, found.tally.n_expired, found.tally.n_errored), (3, 2, 0));
    assert!(found.missing.is_empty());
}

#[test]
fn b12_rows_are_joined_by_id_only_and_carry_the_users_id_and_half_the_price() {
    let bench = bench(3);
    let lines = [succeeded(2), succeeded(0), succeeded(1)].join("\n");
    let (found, rows) = bench.harvest(lines.as_bytes());
    for row in &rows {
        let line: serde_json::Value = serde_json::from_slice(&row.record.line).unwrap();
        assert_eq!(line["custom_id"], format!("user id {}", row.no.0));
        assert_eq!(line["fandeck"]["no"], row.no.0);
        assert_eq!(line["fandeck"]["path"], "batch");
        assert_eq!(line["fandeck"]["org"], "batch");
        assert_eq!(line["fandeck"]["latency_ms"], 60_000);
        assert_eq!(line["result"]["message"]["id"], "msg_1");
        // 1,000 in at $1 and 200 out at $5 a million, halved.
        assert_eq!(row.cost, Money::from_usd(0.001));
        assert_eq!(row.record.cache.as_ref().unwrap().key, [row.no.0 as u8; 32]);
    }
    assert_eq!(found.tally.cost, Money::from_usd(0.003));
}

#[test]
fn b7_credit_errors_are_the_orgs_and_their_rows_go_again() {
    let credit = errored(0, "invalid_request_error", "Your credit balance is too low to access the Anthropic API.");
    let (found, rows) = bench(2).harvest([credit, succeeded(1)].join("\n").as_bytes());
    assert_eq!(numbers(&rows), [1]);
    assert_eq!(found.account.unwrap().0, AccountTrouble::Credit);
    assert_eq!(found.again, [(RequestNo(0), Trouble::Account(AccountTrouble::Credit))]);
}

#[test]
fn b19_rows_that_are_called_invalid_are_terminal_and_listed() {
    let lines = [errored(0, "invalid_request_error", "bad"), errored(1, "api_error", "worse"), succeeded(2)];
    let (found, rows) = bench(3).harvest(lines.join("\n").as_bytes());
    assert_eq!(rows[0].outcome, Outcome::Invalid);
    assert_eq!(numbers(&rows), [0, 2]);
    assert_eq!(found.invalid[0].0, RequestNo(0));
    assert_eq!(found.again, [(RequestNo(1), Trouble::Server)]);
}

#[test]
fn b20_a_cut_line_a_blank_line_and_crlf_cost_their_own_request_at_the_most() {
    let whole = succeeded(2);
    let text = format!("{}\r\n\r\n   \n{}\r\n{}", succeeded(0), succeeded(1), &whole[..whole.len() - 9]);
    let (found, rows) = bench(4).harvest(text.as_bytes());
    assert_eq!(numbers(&rows), [0, 1]);
    assert_eq!(found.n_bad, 1);
    assert_eq!(found.bad[0].0 as usize, text.len() - (whole.len() - 9));
    assert_eq!(found.missing, [RequestNo(2), RequestNo(3)]);
}

#[test]
fn every_id_is_taken_once_and_foreign_ones_never() {
    let lines = [succeeded(0), plain(0, "expired"), succeeded(9), succeeded(1).replace("k3x9", "other")];
    let (found, rows) = bench(2).harvest(lines.join("\n").as_bytes());
    assert_eq!(numbers(&rows), [0]);
    assert_eq!((found.n_twice, found.n_alien), (1, 2));
    assert_eq!(found.missing, [RequestNo(1)]);
}

#[test]
fn no_more_than_two_blocks_are_ever_on_their_way_however_long_the_file_is() {
    let bench = bench(64);
    let path = bench.dir.path().join("results");
    let mut file = std::fs::File::create(&path).unwrap();
    for no in 0..64 {
        let long = succeeded(no).replace("Yes.", &"y".repeat(400_000));
        writeln!(file, "{long}").unwrap();
    }
    let mut waiting: std::collections::VecDeque<Token> = Default::default();
    let (mut most, mut rows_seen) = (0, 0);
    let found = bench.read(&path, &mut |rows, token| {
        let bytes: usize = rows.iter().map(|row| row.record.line.len()).sum();
        assert!(bytes < BLOCK + 500_000, "{bytes}");
        rows_seen += rows.len();
        waiting.push_back(token);
        most = most.max(waiting.len());
        // The disk is one block behind.
        if waiting.len() == BLOCKS || rows_seen == 64 {
            waiting.drain(..).for_each(Token::give_back);
        }
        true
    });
    assert_eq!(found.unwrap().tally.n_succeeded, 64);
    assert_eq!((most, rows_seen), (BLOCKS, 64));
}

#[test]
fn a_run_that_has_ended_ends_its_harvest() {
    let bench = bench(1);
    let path = bench.dir.path().join("results");
    std::fs::write(&path, succeeded(0)).unwrap();
    assert!(bench.read(&path, &mut |_, _| false).is_err());
}

#[test]
fn b20_an_answer_counts_although_another_row_says_that_there_is_none() {
    let bench = bench(2);
    let results = [plain(0, "expired"), succeeded(0), succeeded(1), plain(1, "expired")].join("\n");
    let (found, rows) = bench.harvest(results.as_bytes());
    assert_eq!((found.tally.n_succeeded, found.tally.n_expired, found.n_twice), (2, 0, 2));
    assert_eq!((found.again, rows.len()), (Vec::new(), 2));
}
