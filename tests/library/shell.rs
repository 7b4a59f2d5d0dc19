//! The whole engine, shell and store included, against the simulated API in the same process, on tokio's paused time:
//! hours of waiting pass in a moment, while the journal is written and synced for real.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use fandeck::catalog::Catalog;
use fandeck::engine::{EngineSpec, RunEnd, RunFacts, RunSpec, start};
use fandeck::model::{DispatchSettings, Family, Money, OrgSpec, Route, Snapshot, Wall, WireSettings};
use fandeck::requests::Input;
use fandeck::sim::{InProcess, Scenario, SharedSim, Stats};
use fandeck::store::run_file::{FORMAT, InputFile};
use fandeck::store::{Last, RunDir, RunFile, StateFile, WriterSettings};

const LABELS: [&str; 2] = ["high-prio", "batch"];

/// A run of these lines over two orgs with these settings of the scenario; its end, the last picture, what the API saw
/// and what the journal holds.
async fn run(lines: &[String], scenario: &str) -> (RunEnd, Arc<Snapshot>, Stats, Vec<serde_json::Value>) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("input.jsonl");
    writeln!(std::fs::File::create(&path).unwrap(), "{}", lines.join("\n")).unwrap();
    let input = Arc::new(Input::index(&path, &mut |_| {}).unwrap());
    let orgs = LABELS.map(|label| format!("[[orgs]]\nlabel = \"{label}\"\nkey = \"key-{label}\"\n")).concat();
    let scenario = Scenario::parse("the test", &format!("summary = \"a test\"\n{scenario}\n{orgs}")).unwrap();
    let orgs: Vec<OrgSpec> = scenario
        .orgs
        .iter()
        .map(|org| OrgSpec {
            label: org.label.clone(),
            key_env: "KEY".to_owned(),
            key: org.key.clone(),
            base_url: "http://127.0.0.1".to_owned(),
            caps: [10; Family::COUNT],
        })
        .collect();
    let sim = SharedSim::new(scenario, 3, 1.0);
    let run = run_file(&input, &path);
    let run_dir = dir.path().join("run");
    let engine = EngineSpec {
        transport: Arc::new(InProcess::new(Arc::clone(&sim), &orgs, WireSettings::default())),
        orgs,
        settings: DispatchSettings::default(),
        catalog: Arc::new(Catalog::builtin()),
        prior: Vec::new(),
        batches: None,
        seed: 5,
    };
    let spec = RunSpec {
        facts: facts(&run),
        last: vec![Last::Unsent; input.len() as usize],
        input,
        keys: None,
        dir: RunDir::claim(&run_dir).unwrap().start(&run).unwrap(),
        cache: None,
        writer: WriterSettings::default(),
        state: StateFile::fresh(&run),
        batch: None,
        only: None,
        may_batch: None,
        others_today: None,
    };
    let started = start(engine, vec![spec]).unwrap();
    let end = started.ended.await.unwrap().remove(0);
    // There is none before the first outcome.
    let journal = std::fs::read_to_string(run_dir.join("results.jsonl")).unwrap_or_default();
    let journal = journal.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    (end, started.handle.snapshot(), sim.stats(), journal)
}

fn run_file(input: &Input, path: &Path) -> RunFile {
    RunFile {
        format: FORMAT,
        fandeck: "0".to_owned(),
        run_id: "run-1".to_owned(),
        nonce: "n".to_owned(),
        created_at: Wall(1_780_000_000_000),
        input: InputFile {
            path: path.to_owned(),
            named: "input.jsonl".to_owned(),
            sha256: input.sha256().to_owned(),
            count: u64::from(input.len()),
            bytes: input.bytes(),
            spooled: false,
        },
        path: Route::Sync,
        route_reason: "forced".to_owned(),
        models: Vec::new(),
        orgs: LABELS.map(str::to_owned).to_vec(),
        plan: None,
        pilot: None,
        settings: Default::default(),
    }
}

fn facts(run: &RunFile) -> RunFacts {
    RunFacts {
        run_id: run.run_id.clone(),
        dir: String::new(),
        input: run.input.named.clone(),
        path: Route::Sync,
        route_reason: run.route_reason.clone(),
        model: "claude-haiku-4-5".to_owned(),
        can_move: false,
        unattended: true,
        prior: Default::default(),
        prior_waits: Default::default(),
        tariff: Vec::new(),
        limits: Default::default(),
        others_today: Money::ZERO,
        prior_wall: Duration::ZERO,
        absent_orgs: Vec::new(),
        prior_attempts: [0; 5],
    }
}

fn lines(n: u32, model: &str, max_tokens: u32) -> Vec<String> {
    let line = |no: u32| {
        serde_json::json!({"custom_id": format!("r-{no}"), "params": {"model": model, "max_tokens": max_tokens,
            "messages": [{"role": "user", "content": format!("Case {no}.")}]}})
        .to_string()
    };
    (0..n).map(line).collect()
}

#[tokio::test(start_paused = true)]
async fn l1_a_storm_of_an_hour_is_waited_out_and_every_result_is_in_the_journal_once() {
    let storm = "latency = { p50-ms = 1500, p95-ms = 3000 }\n[[faults]]\nkind = \"rate-limited\"\nfrom-s = 4\nto-s = 3604\nretry-after = [20, 60]";
    let (end, last, seen, journal) = run(&lines(120, "claude-haiku-4-5", 64), storm).await;
    assert_eq!((end.exit_code, end.counts.succeeded, end.closed.n_unsynced), (0, 120, 0));
    assert_eq!(seen.bodies_accepted_twice, 0);
    let mut ids: Vec<&str> = journal.iter().map(|line| line["custom_id"].as_str().unwrap()).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!((ids.len(), journal.len()), (120, 120));
    assert!(last.runs[0].session_wall_ms > 3_600_000);
    let re_driven: u64 = last.runs[0].re_driven.iter().map(|(_, n)| n).sum();
    assert!((10..400).contains(&re_driven), "{re_driven}");
}

#[tokio::test(start_paused = true)]
async fn long_answers_are_streamed_and_stored_whole() {
    let (end, _, seen, journal) = run(&lines(6, "claude-haiku-4-5", 64_000), "").await;
    assert_eq!((end.exit_code, end.counts.succeeded), (0, 6));
    assert_eq!(seen.bodies_accepted, 6);
    for line in &journal {
        let message = &line["result"]["message"];
        assert_eq!((&message["type"], &message["stop_reason"]), (&"message".into(), &"end_turn".into()), "{line}");
        assert!(message["content"][0]["text"].as_str().is_some_and(|text| text.ends_with("\"}")), "{line}");
        assert!(message["usage"]["output_tokens"].as_u64().is_some_and(|n| n > 30));
    }
}

#[tokio::test(start_paused = true)]
async fn l11_a_model_that_no_org_has_ends_the_run_before_anything_was_sent() {
    let (end, last, seen, journal) = run(&lines(50, "claude-haiku-9", 64), "").await;
    assert_eq!((end.exit_code, end.counts.unsent, seen.n_messages, journal.len()), (2, 50, 0, 0));
    assert_eq!(last.runs[0].reason.as_deref(), Some("no org has the model claude-haiku-9"));
}

#[tokio::test(start_paused = true)]
async fn more_tokens_than_a_model_gives_end_the_run_before_anything_was_sent() {
    let (end, last, seen, _) = run(&lines(50, "claude-haiku-4-5", 90_000), "").await;
    assert_eq!((end.exit_code, seen.n_messages), (2, 0));
    assert!(last.runs[0].reason.as_deref().is_some_and(|reason| reason.contains("64000")), "{:?}", last.runs[0].reason);
}
