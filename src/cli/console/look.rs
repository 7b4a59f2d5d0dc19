//! A run that this process does not drive, as pictures: made from its directory, once a second while another process
//! drives it.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::{mpsc, watch};

use super::blocking;
use crate::cli::launch::input_name;
use crate::cli::orders;
use crate::cli::simulated::Simulated;
use crate::engine::EngineHandle;
use crate::engine::handle::CommandRequest;
use crate::model::series::{Course, Latencies};
use crate::model::snapshot::{BatchesView, Condition, OrgView, RunView, StoreView, SubBatchView};
use crate::model::{Command, CommandOutcome, OrgId, RunSlot, Snapshot, SubBatchStatus, Wall};
use crate::store::{OrgState, RunDir, RunPeek, StateFile, SubBatchEntry, batches_view, stamp, sub_batch_view};
use crate::tui::backstage::{Attached, Driver};

/// Between two looks at a directory that another process writes.
const EVERY: Duration = Duration::from_secs(1);

/// The pictures of a run directory. They end when nobody drives the run any more.
pub(super) fn attach(dir: &Path, runtime: &Handle) -> Result<Attached, String> {
    let peek = RunDir::peek(dir).map_err(|error| error.to_string())?;
    // What is driven here is shown by its engine: an owner that is this process reads back what is durable, for a moment.
    let driver = match &peek.owner {
        Some(owner) if !owner.is_this_process() => Driver::Elsewhere,
        _ => Driver::Nobody,
    };
    let (pictures, watched) = watch::channel(Arc::new(picture(&peek, 1)));
    let (commands, asked) = mpsc::channel(1);
    if driver == Driver::Elsewhere {
        runtime.spawn(keep_looking(dir.to_owned(), pictures));
        runtime.spawn(hand_on(dir.to_owned(), asked));
    }
    Ok(Attached { handle: EngineHandle::new(watched, commands), driver })
}

async fn keep_looking(dir: PathBuf, pictures: watch::Sender<Arc<Snapshot>>) {
    let mut seq = 1;
    let mut pace = Pace::default();
    while !pictures.is_closed() {
        tokio::time::sleep(EVERY).await;
        let look_at = dir.clone();
        let Ok(Ok(peek)) = tokio::task::spawn_blocking(move || RunDir::peek(&look_at)).await else { return };
        seq += 1;
        let mut seen = picture(&peek, seq);
        if let Some(run) = seen.runs.first_mut() {
            pace.see(run, tokio::time::Instant::now());
        }
        pictures.send_replace(Arc::new(seen));
        if peek.owner.is_none() {
            return;
        }
    }
}

/// How fast a run goes that another process drives, by the states that it writes every few seconds.
#[derive(Debug, Default)]
struct Pace {
    /// When a state was seen first, and how many requests were done by it.
    states: VecDeque<(tokio::time::Instant, u64)>,
}

impl Pace {
    /// How far back it looks: a few states, so that their rhythm is not seen in the rate.
    const BACK: Duration = Duration::from_secs(30);
    /// The owner writes more often than that while anything becomes done.
    const SILENCE: Duration = Duration::from_secs(10);

    /// Takes a picture in, and gives it its rate and the time that is left.
    fn see(&mut self, run: &mut RunView, now: tokio::time::Instant) {
        // What sub-batches bring comes in bursts, and says nothing of the pace.
        let subs = run.batches.iter().flat_map(|batches| &batches.sub_batches);
        let harvested: u64 = subs.map(|sub| u64::from(sub.n_succeeded) + u64::from(sub.n_refused_invalid)).sum();
        let done = run.counts.done().saturating_sub(harvested);
        if self.states.back().is_none_or(|(_, before)| *before != done) {
            self.states.push_back((now, done));
        }
        while self.states.len() > 2 && self.states.front().is_some_and(|(at, _)| now - *at > Pace::BACK) {
            self.states.pop_front();
        }
        let (Some((from, first)), Some((last, _))) = (self.states.front(), self.states.back()) else { return };
        // What has not moved for long is measured up to now.
        let to = if now - *last > Pace::SILENCE { now } else { *last };
        let seconds = (to - *from).as_secs_f64();
        if seconds > 0.0 {
            run.rate = done.saturating_sub(*first) as f64 / seconds;
        }
        let in_batches = run.batches.as_ref().map_or(0, |batches| batches.n_open + batches.n_planned);
        let on_sync = run.counts.open().saturating_sub(in_batches);
        let eta = (run.rate > 0.0 && on_sync > 0).then(|| (on_sync as f64 / run.rate * 1_000.0) as u64);
        (run.eta_ms, run.sync_eta_ms) = if in_batches > 0 { (None, eta) } else { (eta, None) };
    }
}

/// Hands on the one order that an owner takes from another process. A run is commanded otherwise where it is driven.
async fn hand_on(dir: PathBuf, mut asked: mpsc::Receiver<CommandRequest>) {
    while let Some(CommandRequest { command, reply }) = asked.recv().await {
        let outcome = match command {
            Command::CancelSubBatch { sub_batch, seen, .. } => {
                let dir = dir.clone();
                let done = blocking(move || orders::cancel(&dir, sub_batch, seen)).await;
                done.unwrap_or_else(CommandOutcome::Refused)
            }
            _ => CommandOutcome::Refused("another process drives the run: do that there".to_owned()),
        };
        // Whoever asked may have left.
        let _ = reply.send(outcome);
    }
}

/// What the disk says of a run. Rates, windows and headroom are only known where it is driven.
fn picture(peek: &RunPeek, seq: u64) -> Snapshot {
    let RunPeek { dir, run, state, .. } = peek;
    let at = stamp::now();
    let run_view = RunView {
        slot: RunSlot(0),
        run_id: run.run_id.clone(),
        dir: dir.display().to_string(),
        input: input_name(run),
        status: state.status,
        reason: state.reason.clone(),
        exit_code: state.exit_code,
        counts: state.counts,
        absent_orgs: Vec::new(),
        path: run.path,
        route_reason: run.route_reason.clone(),
        model: match run.models.as_slice() {
            [one] => one.clone(),
            _ => "mixed".to_owned(),
        },
        embedded_api: Simulated::is_of_run(run),
        rate: 0.0,
        rate_history: Vec::new(),
        course: Course::default(),
        eta_ms: None,
        sync_eta_ms: None,
        cut_short: None,
        cost: state.cost,
        n_possibly_charged: state.n_possibly_charged,
        wall_ms: state.wall_ms,
        session_wall_ms: state.session_wall_ms,
        re_drives: Vec::new(),
        re_driven: state.re_driven.iter().map(|(why, n)| (why.clone(), *n)).collect(),
        attempts: state.attempts,
        budget: None,
        batches: (!state.sub_batches.is_empty()).then(|| Arc::new(batches(state, peek.owner.is_some(), at))),
    };
    Snapshot {
        seq,
        at,
        uptime_ms: state.session_wall_ms,
        orgs: (0..).zip(&state.orgs).map(|(id, org)| org_view(OrgId(id), org)).collect(),
        runs: vec![run_view],
        notices: Arc::default(),
        store: StoreView::default(),
    }
}

fn org_view(id: OrgId, org: &OrgState) -> OrgView {
    OrgView {
        id,
        label: org.label.clone(),
        key_env: String::new(),
        host: String::new(),
        organization: None,
        condition: Condition::Idle,
        windows: Vec::new(),
        limiters: Vec::new(),
        binding: None,
        headroom: None,
        totals: org.totals,
        rate: 0.0,
        rate_history: Vec::new(),
        window_history: Vec::new(),
        course: Course::default(),
        latencies: Latencies::default(),
        latency_p50_ms: 0,
        latency_mean_ms: 0,
        latency_p95_ms: 0,
        last_decision: None,
    }
}

/// The sub-batches. The threshold is that of whoever drives the run, or drove it last; what nobody drives does not become
/// stuck.
fn batches(state: &StateFile, driven: bool, now: Wall) -> BatchesView {
    let entries = &state.sub_batches;
    let mut took: Vec<u64> = entries.iter().filter_map(SubBatchEntry::took_ms).collect();
    took.sort_unstable();
    let threshold = state.stuck_after_ms.filter(|ms| *ms > 0);
    BatchesView {
        took_median_ms: took.get(took.len() / 2).copied(),
        took_longest_ms: took.last().copied(),
        threshold_known: state.stuck_after_ms.is_some(),
        threshold_ms: threshold,
        // Whether the escape is made without asking is only known where it is driven.
        escape: false,
        finish_on_sync: state.finish_on_sync,
        sub_batches: entries.iter().map(|entry| sub_batch(entry, threshold.filter(|_| driven), now)).collect(),
        ..batches_view(entries.iter())
    }
}

fn sub_batch(entry: &SubBatchEntry, threshold: Option<u64>, now: Wall) -> SubBatchView {
    let span = |from: Wall, to: Wall| u64::try_from(to.0.saturating_sub(from.0)).unwrap_or(0);
    let open = entry.status.is_open();
    let waits = open && !matches!(entry.status, SubBatchStatus::CancelRequested | SubBatchStatus::Canceling);
    let age = entry.began_at().map(|began| span(began, entry.ended_at.unwrap_or(now)));
    SubBatchView {
        age_ms: age,
        stuck_in_ms: threshold.filter(|_| waits).zip(age).map(|(threshold, age)| threshold.saturating_sub(age)),
        expires_in_ms: entry.expires_at.filter(|_| open).map(|at| span(now, at)),
        timeline: entry.moments(),
        ..sub_batch_view(entry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_is_only_watched_has_a_rate_and_an_end_once_two_of_its_states_were_seen() {
        let mut run = crate::report::fixtures::run();
        let (start, mut pace) = (tokio::time::Instant::now(), Pace::default());
        let mut at = |seconds: u64, done: u64| {
            (run.rate, run.eta_ms) = (0.0, None);
            run.counts =
                crate::model::Counts { total: 10_000, succeeded: done, unsent: 10_000 - done, ..Default::default() };
            pace.see(&mut run, start + Duration::from_secs(seconds));
            (run.rate.round() as u64, run.eta_ms.map(|ms| ms / 1_000))
        };
        assert_eq!(at(0, 1_000), (0, None));
        assert_eq!(at(1, 1_000), (0, None));
        assert_eq!(at(5, 1_500), (100, Some(85)));
        assert_eq!(at(8, 1_500), (100, Some(85)), "between two states it goes on as it went");
        assert_eq!(at(10, 2_000), (100, Some(80)));
        // A run that stands still comes to rest on the screen, too.
        assert_eq!(at(25, 2_000).0, 40);
        assert_eq!(at(60, 2_000).0, 9);
    }

    fn state() -> StateFile {
        let at = "1970-01-01T00:00:01.000Z";
        let counts = serde_json::to_value(crate::model::Counts::default()).unwrap();
        let text = serde_json::json!({
            "format": 1, "status": "running", "counts": counts, "cost_usd": 0.0, "updated_at": at, "heartbeat_at": at
        });
        serde_json::from_value(text).unwrap()
    }

    #[test]
    fn an_open_sub_batch_of_another_process_is_held_against_its_siblings_that_have_ended() {
        let entry = |index, took: Option<i64>| {
            let mut entry = SubBatchEntry::planned(index, 100);
            (entry.status, entry.submitted_at) = (SubBatchStatus::InProgress, Some(Wall(1_000)));
            if let Some(took) = took {
                (entry.status, entry.ended_at) = (SubBatchStatus::Harvested, Some(Wall(1_000 + took)));
            }
            entry
        };
        let mut state = state();
        state.sub_batches = vec![entry(0, Some(9_000)), entry(1, None), entry(2, Some(3_000)), entry(3, Some(5_000))];
        state.sub_batches.push(SubBatchEntry { stuck_canceled_at: Some(Wall(15_000)), ..entry(4, Some(15_000)) });
        let view = batches(&state, true, Wall(21_000));
        assert_eq!((view.ended, view.n_ended_by_themselves()), (4, 3));
        assert_eq!((view.took_median_ms, view.took_longest_ms), (Some(5_000), Some(9_000)));
        assert_eq!(view.sub_batches[1].age_ms, Some(20_000));
        state.sub_batches = vec![entry(1, None)];
        let none = batches(&state, true, Wall(21_000));
        assert_eq!((none.ended, none.took_median_ms), (0, None));
    }

    #[test]
    fn the_threshold_is_that_of_the_process_that_drives_the_run() {
        let mut state = state();
        let entry = SubBatchEntry::planned(0, 100);
        let entry = SubBatchEntry { status: SubBatchStatus::InProgress, submitted_at: Some(Wall(1_000)), ..entry };
        state.sub_batches = vec![entry];
        let seen = |state: &StateFile, driven: bool| {
            let view = batches(state, driven, Wall(21_000));
            (view.threshold_known, view.threshold_ms, view.sub_batches[0].stuck_in_ms)
        };
        assert_eq!(seen(&state, true), (false, None, None));
        state.stuck_after_ms = Some(60_000);
        assert_eq!(seen(&state, true), (true, Some(60_000), Some(40_000)));
        assert_eq!(seen(&state, false), (true, Some(60_000), None), "nobody cancels it");
        state.sub_batches[0].status = SubBatchStatus::Canceling;
        assert_eq!(seen(&state, true).2, None);
        state.stuck_after_ms = Some(0);
        assert_eq!(seen(&state, true), (true, None, None));
    }
}
