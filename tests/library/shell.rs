//! The whole engine, shell and store included, against the simulated API in the same process, on tokio's paused time:
//! hours of waiting pass in a moment, while the journal is written and synced for real.

use std::io::Write;
use std::path::Path;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::task::{Context, Wake};

use fandeck::api::transport::{ReplyFuture, SightFuture};
use fandeck::api::{Call, Transport};
use fandeck::catalog::Catalog;
use fandeck::engine::testing::first_session;
use fandeck::engine::{DayClaim, DayGrant, EngineHandle, EngineSpec, RunEnd, RunFacts, RunSpec, Started, start};
use fandeck::model::{
    Command, DispatchSettings, Family, Money, OrgId, OrgSpec, Route, RunSlot, RunStatus, Snapshot, Wall, WireSettings,
};
use fandeck::requests::Input;
use fandeck::sim::{InProcess, Scenario, SharedSim, Stats};
use fandeck::store::run_file::{FORMAT, InputFile};
use fandeck::store::{Last, RunDir, RunFile, StateFile, WriterSettings};

const LABELS: [&str; 2] = ["high-prio", "batch"];

/// A run of these lines over two orgs with these settings of the scenario; its end, the last picture, what the API saw
/// and what the journal holds.
async fn run(lines: &[String], scenario: &str) -> (RunEnd, Arc<Snapshot>, Stats, Vec<serde_json::Value>) {
    let world = World::new(lines, scenario);
    let started = world.start(|inner| inner, |_| {});
    let end = started.ended.await.unwrap().remove(0);
    (end, started.handle.snapshot(), world.sim.stats(), world.journal())
}

/// A run directory to be, and the API.
struct World {
    dir: tempfile::TempDir,
    input: Arc<Input>,
    run: RunFile,
    orgs: Vec<OrgSpec>,
    sim: Arc<SharedSim>,
}

impl World {
    fn new(lines: &[String], scenario: &str) -> World {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("input.jsonl");
        writeln!(std::fs::File::create(&path).unwrap(), "{}", lines.join("\n")).unwrap();
        let input = Arc::new(Input::index(&path, &mut |_| {}).unwrap());
        let orgs = LABELS.map(|label| format!("[[orgs]]\nlabel = \"{label}\"\nkey = \"key-{label}\"\n")).concat();
        let scenario = Scenario::parse("the test", &format!("summary = \"a test\"\n{scenario}\n{orgs}")).unwrap();
        let orgs = scenario
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
        let run = run_file(&input, &path);
        World { dir, input, run, orgs, sim: SharedSim::new(scenario, 3, 1.0) }
    }

    fn start(
        &self,
        around: impl FnOnce(Arc<dyn Transport>) -> Arc<dyn Transport>,
        change: impl FnOnce(&mut RunSpec),
    ) -> Started {
        let transport = InProcess::new(Arc::clone(&self.sim), &self.orgs, WireSettings::default());
        let engine = EngineSpec {
            transport: around(Arc::new(transport)),
            orgs: self.orgs.clone(),
            settings: DispatchSettings::default(),
            catalog: Arc::new(Catalog::builtin()),
            prior: Vec::new(),
            batches: None,
            most_in_flight: u32::MAX,
            seed: 5,
        };
        let mut spec = RunSpec {
            facts: facts(&self.run),
            last: vec![Last::Unsent; self.input.len() as usize],
            input: Arc::clone(&self.input),
            keys: None,
            dir: RunDir::claim(&self.run_dir()).unwrap().start(&self.run).unwrap(),
            cache: None,
            writer: WriterSettings::default(),
            state: StateFile::fresh(&self.run),
            batch: None,
            only: None,
            may_batch: None,
            day: None,
        };
        change(&mut spec);
        start(engine, vec![spec]).unwrap()
    }

    fn run_dir(&self) -> std::path::PathBuf {
        self.dir.path().join("run")
    }

    /// There is none before the first outcome.
    fn journal(&self) -> Vec<serde_json::Value> {
        let journal = std::fs::read_to_string(self.run_dir().join("results.jsonl")).unwrap_or_default();
        journal.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

/// Panics at some calls, counted from 0, after they have been made: the answer is lost.
struct Panics<F>(Arc<dyn Transport>, AtomicUsize, F);

impl<F: Fn(usize, &Call) -> bool + Send + Sync + 'static> Transport for Panics<F> {
    fn call(&self, call: Call) -> ReplyFuture {
        let panics = (self.2)(self.1.fetch_add(1, Ordering::Relaxed), &call);
        let reply = self.0.call(call);
        Box::pin(async move {
            let reply = reply.await;
            assert!(!panics, "a panic was asked for");
            reply
        })
    }

    fn look(&self, org: OrgId, model: &str) -> SightFuture {
        self.0.look(org, model)
    }
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
        prices: None,
        settings: Default::default(),
    }
}

fn facts(run: &RunFile) -> RunFacts {
    RunFacts {
        run_id: run.run_id.clone(),
        input: run.input.named.clone(),
        route_reason: run.route_reason.clone(),
        ..first_session()
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
    // So many calls of each org, and no span of time: while the disk is slow, the paused clock runs away.
    let storm = "latency = { p50-ms = 1500, p95-ms = 3000 }\n[[faults]]\nkind = \"rate-limited\"\nfrom-call = 5\nto-call = 130\nretry-after = [20, 60]";
    let (end, last, seen, journal) = run(&lines(120, "claude-haiku-4-5", 64), storm).await;
    assert_eq!((end.exit_code, end.counts.succeeded, end.closed.n_unsynced), (0, 120, 0));
    assert_eq!(seen.bodies_accepted_twice, 0);
    let mut ids: Vec<&str> = journal.iter().map(|line| line["custom_id"].as_str().unwrap()).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!((ids.len(), journal.len()), (120, 120));
    assert!(last.runs[0].session_wall_ms > 3_600_000);
    let re_driven: u64 = last.runs[0].re_driven.iter().map(|(_, n)| n).sum();
    // One org, or both, had to get through it.
    assert!((126..=252).contains(&re_driven), "{re_driven}");
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

/// Looks at the newest picture in the very moment in which it is woken.
struct Look(EngineHandle, Mutex<Option<RunStatus>>);

impl Wake for Look {
    fn wake(self: Arc<Self>) {
        *self.1.lock().unwrap() = Some(self.0.snapshot().runs[0].status);
    }
}

#[tokio::test(start_paused = true)]
async fn a_command_is_answered_when_its_picture_is_out_so_that_the_next_one_is_about_what_is() {
    let world = World::new(&lines(60, "claude-haiku-4-5", 64), "");
    let started = world.start(|inner| inner, |_| {});
    let run = RunSlot(0);
    let orders = [(Command::PauseRun { run }, RunStatus::Paused), (Command::ResumeRun { run }, RunStatus::Running)];
    for (command, status) in orders {
        let look = Arc::new(Look(started.handle.clone(), Mutex::default()));
        let mut answer = started.handle.send(command).unwrap();
        assert!(Pin::new(&mut answer).poll(&mut Context::from_waker(&Arc::clone(&look).into())).is_pending());
        while answer.try_recv().is_err() {
            tokio::task::yield_now().await;
        }
        assert_eq!(*look.1.lock().unwrap(), Some(status), "{command:?}");
    }
    started.ended.await.unwrap();
}

/// Has the run stopped in the moment in which an answer comes, counted from 1, before the engine can have taken it; counts
/// the answers that it gave.
struct StopsAt(Arc<dyn Transport>, usize, Arc<(AtomicUsize, OnceLock<EngineHandle>)>);

impl Transport for StopsAt {
    fn call(&self, call: Call) -> ReplyFuture {
        let (reply, last, shared) = (self.0.call(call), self.1, Arc::clone(&self.2));
        Box::pin(async move {
            let reply = reply.await;
            let (given, handle) = &*shared;
            if given.fetch_add(1, Ordering::Relaxed) + 1 == last {
                handle.get().unwrap().send(Command::StopRun { run: RunSlot(0) }).unwrap();
            }
            reply
        })
    }

    fn look(&self, org: OrgId, model: &str) -> SightFuture {
        self.0.look(org, model)
    }
}

#[tokio::test(start_paused = true)]
async fn a_stop_abandons_no_answer_that_has_come_before_it() {
    let world = World::new(&lines(60, "claude-haiku-4-5", 64), "");
    let shared: Arc<(AtomicUsize, OnceLock<EngineHandle>)> = Arc::default();
    let stops = Arc::clone(&shared);
    let started = world.start(|inner| Arc::new(StopsAt(inner, 7, stops)), |_| {});
    assert!(shared.1.set(started.handle.clone()).is_ok());
    let end = started.ended.await.unwrap().remove(0);
    let given = shared.0.load(Ordering::Relaxed);
    let kept = world.journal().iter().filter(|line| line["result"]["type"] == "succeeded").count();
    assert_eq!((end.exit_code, end.counts.succeeded, kept), (4, given as u64, given));
}

#[tokio::test(start_paused = true)]
async fn t1_an_attempt_that_panics_has_ended_without_an_answer_and_its_request_is_sent_again() {
    let world = World::new(&lines(60, "claude-haiku-4-5", 64), "");
    let started = world.start(|inner| Arc::new(Panics(inner, 0.into(), |n, _: &Call| n == 7 || n == 20)), |_| {});
    let end = started.ended.await.unwrap().remove(0);
    assert_eq!((end.exit_code, end.counts.succeeded, world.journal().len()), (0, 60, 60));
    let run = &started.handle.snapshot().runs[0];
    // The API took both, and may have billed them.
    assert_eq!((run.n_possibly_charged, world.sim.stats().bodies_accepted_twice), (2, 2));
}

#[tokio::test(start_paused = true)]
async fn t1_a_request_whose_attempts_always_panic_is_set_aside_after_four() {
    let world = World::new(&lines(60, "claude-haiku-4-5", 64), "");
    let always = |_, call: &Call| call.body.windows(8).any(|part| part == b"Case 33.");
    let started = world.start(|inner| Arc::new(Panics(inner, 0.into(), always)), |_| {});
    let end = started.ended.await.unwrap().remove(0);
    assert_eq!((end.exit_code, end.counts.succeeded, end.counts.open()), (4, 59, 1));
    let run = &started.handle.snapshot().runs[0];
    assert_eq!(run.n_possibly_charged, 4);
    let last = &world.journal()[59];
    assert!(last.to_string().contains("internal-error"), "{last}");
}

#[tokio::test(start_paused = true)]
async fn t1_a_task_of_the_engine_that_panics_ends_it_and_every_answer_that_came_is_durable() {
    let world = World::new(&lines(4_000, "claude-haiku-4-5", 64), "latency = { p50-ms = 1500, p95-ms = 3000 }");
    let sim = Arc::clone(&world.sim);
    // It is asked for now and then.
    let day = move |claim: &DayClaim| {
        assert!(sim.stats().bodies_accepted <= 200, "wanted");
        Ok(DayGrant { others: Money::ZERO, granted: claim.wanted })
    };
    let started = world.start(|inner| inner, |spec| spec.day = Some(Arc::new(day)));
    let pictures = started.handle.watch();
    assert!(started.ended.await.err().is_some_and(|error| error.is_panic()));
    // The frontends see that it is over, and the directory can be taken by the next session.
    assert!(pictures.has_changed().is_err());
    let (dir, _, state) = RunDir::open(&world.run_dir()).unwrap();
    let (answers, taken) = (world.journal().len() as u64, world.sim.stats().bodies_accepted);
    assert!(answers > 50, "{answers}");
    // What was under way was promised before as perhaps charged.
    assert!(taken <= state.n_begun_at_most, "{taken} {answers} {state:?}");
    drop(dir);
}
