//! NDJSON: one object a line, the last one of a run being `run-finished`.
//!
//! Events are `run-started`, `progress` (every [`JsonOptions::every`]), `notice` (as they come) and `run-finished`;
//! `dropped` says how many lines a blocked reader did not take.

use std::collections::BTreeSet;
use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use tokio::time::Instant;

use super::finished::{RunFinished, count_fields};
use super::sink::Sink;
use crate::engine::EngineHandle;
use crate::model::snapshot::{Condition, OrgView, RunView};
use crate::model::{Counts, Level, Notice, RunStatus, Snapshot};

/// How much is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JsonOptions {
    /// Time between two `progress` events.
    pub every: Duration,
    /// Quietest notices that are written.
    pub level: Level,
}

impl Default for JsonOptions {
    fn default() -> JsonOptions {
        JsonOptions { every: Duration::from_secs(2), level: Level::Info }
    }
}

/// One line.
#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case", tag = "event")]
enum Event<'s> {
    RunStarted(Started<'s>),
    Progress(Progress<'s>),
    Notice(&'s Notice),
    Dropped { n_lines: u64 },
}

#[derive(Debug, Serialize)]
struct Started<'s> {
    run_id: &'s str,
    run_dir: &'s str,
    input: &'s str,
    model: &'s str,
    n_total: u64,
    n_cached: u64,
    path: &'s str,
    route_reason: &'s str,
    orgs: Vec<&'s str>,
}

#[derive(Debug, Serialize)]
struct Progress<'s> {
    run_id: &'s str,
    at_ms: i64,
    status: RunStatus,
    reason: Option<&'s str>,
    #[serde(flatten, serialize_with = "count_fields")]
    counts: Counts,
    n_in_flight: u64,
    n_possibly_charged: u64,
    rate_per_s: f64,
    eta_s: Option<f64>,
    wall_s: f64,
    session_wall_s: f64,
    cost_usd: f64,
    store_trouble: Option<&'s str>,
    orgs: Vec<OrgProgress<'s>>,
}

#[derive(Debug, Serialize)]
struct OrgProgress<'s> {
    label: &'s str,
    condition: &'s Condition,
    in_flight: u32,
    window: u32,
    ceiling: u32,
    headroom: Option<f64>,
    rate_per_s: f64,
    n_ok: u64,
    n_429_steady: u64,
    n_429_ramp: u64,
    n_overloaded: u64,
    n_5xx: u64,
    n_transport: u64,
    latency_p50_ms: u32,
    latency_p95_ms: u32,
    cost_usd: f64,
}

impl<'s> From<&'s OrgView> for OrgProgress<'s> {
    fn from(org: &'s OrgView) -> OrgProgress<'s> {
        OrgProgress {
            label: &org.label,
            condition: &org.condition,
            in_flight: org.in_flight(),
            window: org.window(),
            ceiling: org.ceiling(),
            headroom: org.headroom,
            rate_per_s: org.rate,
            n_ok: org.totals.n_ok,
            n_429_steady: org.totals.n_429_steady,
            n_429_ramp: org.totals.n_429_ramp,
            n_overloaded: org.totals.n_overloaded,
            n_5xx: org.totals.n_5xx,
            n_transport: org.totals.n_transport,
            latency_p50_ms: org.latency_p50_ms,
            latency_p95_ms: org.latency_p95_ms,
            cost_usd: org.totals.cost.usd(),
        }
    }
}

fn started<'s>(snapshot: &'s Snapshot, run: &'s RunView) -> Event<'s> {
    Event::RunStarted(Started {
        run_id: &run.run_id,
        run_dir: &run.dir,
        input: &run.input,
        model: &run.model,
        n_total: run.counts.total,
        n_cached: run.counts.cached,
        path: run.path.as_str(),
        route_reason: &run.route_reason,
        orgs: snapshot.orgs.iter().map(|org| org.label.as_str()).collect(),
    })
}

fn progress<'s>(snapshot: &'s Snapshot, run: &'s RunView) -> Event<'s> {
    Event::Progress(Progress {
        run_id: &run.run_id,
        at_ms: snapshot.at.0,
        status: run.status,
        reason: run.reason.as_deref(),
        counts: run.counts,
        n_in_flight: run.counts.in_flight,
        n_possibly_charged: run.n_possibly_charged,
        rate_per_s: run.rate,
        eta_s: run.eta_ms.map(|ms| ms as f64 / 1e3),
        wall_s: run.wall_ms as f64 / 1e3,
        session_wall_s: run.session_wall_ms as f64 / 1e3,
        cost_usd: run.cost.usd(),
        store_trouble: snapshot.store.trouble.as_deref(),
        orgs: snapshot.orgs.iter().map(OrgProgress::from).collect(),
    })
}

/// Values of these types always serialise; one that did not would be left out rather than end the run.
fn encode(value: &impl Serialize) -> Option<String> {
    serde_json::to_string(value).ok()
}

/// What has been written so far.
#[derive(Debug, Default)]
struct Reader {
    started: BTreeSet<String>,
    notice_seq: u64,
}

impl Reader {
    /// The lines that a picture adds; `due` asks for progress too.
    fn lines(&mut self, snapshot: &Snapshot, due: bool, level: Level) -> Vec<String> {
        let mut events = Vec::new();
        for run in &snapshot.runs {
            if self.started.insert(run.run_id.clone()) {
                events.push(started(snapshot, run));
            }
        }
        let seen = self.notice_seq;
        for notice in snapshot.notices.iter().filter(|notice| notice.seq > seen) {
            self.notice_seq = self.notice_seq.max(notice.seq);
            if notice.level >= level {
                events.push(Event::Notice(notice));
            }
        }
        if due {
            events.extend(snapshot.runs.iter().map(|run| progress(snapshot, run)));
        }
        events.iter().filter_map(encode).collect()
    }
}

/// Writes events until the engine has ended, and returns the last picture. `exit_code` is asked
/// once for each run, when its last line is made. Dropping the future leaves the run alone.
///
/// # Errors
/// When the thread that writes cannot be started. A closed pipe is no error: the run goes on without a reader.
pub async fn run(
    handle: EngineHandle,
    out: impl Write + Send + 'static,
    options: JsonOptions,
    exit_code: impl Fn(&RunView) -> u8,
) -> std::io::Result<Arc<Snapshot>> {
    let mut sink = Sink::new(out)?;
    let mut pictures = handle.watch();
    let mut reader = Reader::default();
    let mut next_progress = Instant::now();
    loop {
        let snapshot = pictures.borrow_and_update().clone();
        let over = super::all_over(&snapshot);
        let due = Instant::now() >= next_progress || over;
        if due {
            next_progress = Instant::now() + options.every;
        }
        reader.lines(&snapshot, due, options.level).into_iter().for_each(|line| sink.line(line));
        if over || !super::another(&mut pictures, next_progress).await {
            break;
        }
    }
    super::ended(&mut pictures).await;
    let snapshot = pictures.borrow().clone();
    let mut last = reader.lines(&snapshot, false, options.level);
    if sink.dropped() > 0 {
        last.extend(encode(&Event::Dropped { n_lines: sink.dropped() }));
    }
    last.extend(snapshot.runs.iter().filter_map(|run| encode(&RunFinished::from((&*snapshot, run, exit_code(run))))));
    sink.close(last).await;
    Ok(snapshot)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fixtures::{self, Engine};
    use crate::report::sink::tests::{Gone, Kept};

    fn events(text: &str) -> Vec<serde_json::Value> {
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn every_line_is_an_object_and_the_last_one_is_the_end_of_the_run() {
        let engine = Engine::showing(fixtures::starting());
        let kept = Kept::default();
        let reader =
            tokio::spawn(run(engine.handle(), kept.clone(), JsonOptions::default(), |run| run.counts.exit_code()));
        tokio::time::sleep(Duration::from_secs(1)).await;
        engine.show(fixtures::storm());
        tokio::time::sleep(Duration::from_secs(5)).await;
        engine.show(fixtures::finished());
        tokio::time::sleep(Duration::from_secs(1)).await;
        drop(engine);
        let last = reader.await.unwrap().unwrap();
        assert_eq!(last.runs[0].status, RunStatus::Finished);
        let events = events(&kept.text());
        let names: Vec<&str> = events.iter().map(|event| event["event"].as_str().unwrap()).collect();
        assert_eq!(
            names,
            [
                "run-started",
                "notice",
                "progress",
                "notice",
                "notice",
                "progress",
                "progress",
                "progress",
                "run-finished"
            ]
        );
        let end = events.last().unwrap();
        assert_eq!(end["exit_code"], 3);
        assert_eq!(end["n_total"], 20_000);
        assert_eq!(end["orgs"][1]["label"], "batch");
        assert_eq!(events[5]["orgs"][1]["condition"]["is"], "backing-off");
    }

    #[tokio::test(start_paused = true)]
    async fn a_notice_is_written_once_however_often_it_is_in_the_picture() {
        let engine = Engine::showing(fixtures::storm());
        let kept = Kept::default();
        let reader = tokio::spawn(run(engine.handle(), kept.clone(), JsonOptions::default(), |_| 0));
        for _ in 0..5 {
            tokio::time::sleep(Duration::from_millis(100)).await;
            engine.show(fixtures::storm());
        }
        drop(engine);
        reader.await.unwrap().unwrap();
        assert_eq!(kept.text().matches("\"window-cut\"").count(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_closed_pipe_neither_ends_nor_fails_the_run() {
        let engine = Engine::showing(fixtures::busy());
        let reader = tokio::spawn(run(engine.handle(), Gone, JsonOptions::default(), |_| 0));
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert!(!reader.is_finished(), "it waits for the run");
        engine.show(fixtures::finished());
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert!(!reader.is_finished(), "it waits until the run directory is whole");
        drop(engine);
        assert!(reader.await.unwrap().is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn an_engine_that_ends_without_a_word_still_gives_a_last_line() {
        let engine = Engine::showing(fixtures::busy());
        let kept = Kept::default();
        let reader = tokio::spawn(run(engine.handle(), kept.clone(), JsonOptions::default(), |_| 130));
        drop(engine);
        reader.await.unwrap().unwrap();
        let events = events(&kept.text());
        assert_eq!(events.last().unwrap()["event"], "run-finished");
        assert_eq!(events.last().unwrap()["exit_code"], 130);
    }
}
