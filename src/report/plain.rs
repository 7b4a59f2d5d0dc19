//! Plain lines: what a person reads in a log, without a terminal. Never an escape sequence.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::sink::Sink;
use super::text::harmless;
use super::{format, summary};
use crate::engine::EngineHandle;
use crate::model::snapshot::{Condition, OrgView, RunView};
use crate::model::{Level, Notice, Snapshot, SubBatchStatus};

/// How much is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlainOptions {
    /// Longest time between two progress lines while something moves; every tenth of the run has a line too.
    pub every: Duration,
    /// Quietest notices that are written.
    pub level: Level,
    /// ASCII only.
    pub ascii: bool,
}

impl Default for PlainOptions {
    fn default() -> PlainOptions {
        PlainOptions { every: Duration::from_secs(10), level: Level::Info, ascii: false }
    }
}

/// What an org does, short, with its name: `batch backing off 12s (rate-limited)`.
pub fn org_phrase(org: &OrgView) -> String {
    let label = harmless(&org.label);
    let at_work = format!("{label} {}/{}", org.in_flight(), org.window());
    match &org.condition {
        Condition::Idle => format!("{label} idle"),
        Condition::Ramping => format!("{at_work} ramping"),
        Condition::Steady => format!("{at_work} steady"),
        Condition::Easing { headroom } => format!("{at_work} easing (headroom {})", format::percent(*headroom)),
        Condition::BackingOff { for_ms, why } => {
            format!("{label} backing off {} ({})", wait(*for_ms), harmless(why))
        }
        Condition::Parked { why, for_ms: None } => format!("{label} parked: {}", why.as_str()),
        Condition::Parked { why, for_ms: Some(ms) } => {
            format!("{label} parked: {} for {}", why.as_str(), wait(*ms))
        }
        Condition::AtLimit { limiter, .. } => format!("{at_work} at the limit of its {}", limiter.as_str()),
        Condition::BreakerOpen { for_ms } => format!("{label} breaker open for {}", wait(*for_ms)),
        Condition::Probing => format!("{label} probing"),
        Condition::SparingRetries => format!("{at_work} sparing re-drives"),
        Condition::Draining { in_flight } => format!("{label} draining, {in_flight} in flight"),
        Condition::Paused => format!("{label} paused"),
    }
}

/// A wait, rounded up so that it reads zero only when it is over.
fn wait(ms: u64) -> String {
    format::span(ms.div_ceil(1_000).saturating_mul(1_000))
}

fn start_line(snapshot: &Snapshot, run: &RunView) -> String {
    let orgs: Vec<_> = snapshot.orgs.iter().map(|org| harmless(&org.label)).collect();
    let orgs = if orgs.is_empty() { "none".to_owned() } else { orgs.join(", ") };
    format!(
        "run {} · {} requests from {}, {} cached · model {} · orgs {orgs} · path {} ({}) · directory {}",
        harmless(&run.run_id),
        format::count(run.counts.total),
        harmless(&run.input),
        format::count(run.counts.cached),
        harmless(&run.model),
        run.path,
        harmless(&run.route_reason),
        harmless(&run.dir),
    )
}

/// How everything stands, a line for each thing: what is read out to who asks for it.
pub fn standing(snapshot: &Snapshot) -> Vec<String> {
    let mut lines = Vec::new();
    for run in &snapshot.runs {
        lines.push(status_line(run));
        lines.push(progress(run));
        for status in SubBatchStatus::ALL {
            let of_status =
                run.batches.iter().flat_map(|batches| &batches.sub_batches).filter(|sub| sub.status == status);
            let (n, oldest) = of_status.fold((0, None), |(n, oldest), sub| (n + 1, oldest.max(sub.age_ms)));
            match (n, oldest.filter(|_| status.is_open())) {
                (0, _) => {}
                (n, Some(age)) => {
                    lines.push(format!("sub-batches {status}: {n}, the oldest {} old", format::span(age)));
                }
                (n, None) => lines.push(format!("sub-batches {status}: {n}")),
            }
        }
    }
    lines.extend(snapshot.orgs.iter().map(org_phrase));
    if let Some(trouble) = &snapshot.store.trouble {
        lines.push(format!("answers cannot be saved: {}", harmless(trouble)));
    }
    lines
}

fn progress_line(snapshot: &Snapshot, run: &RunView) -> String {
    let mut line = progress(run);
    for org in &snapshot.orgs {
        let _ = write!(line, " · {}", org_phrase(org));
    }
    line
}

fn progress(run: &RunView) -> String {
    let counts = &run.counts;
    let mut line = format!(
        "{}/{} done ({}) · {}",
        format::count(counts.done()),
        format::count(counts.total),
        format::share(counts.done(), counts.total),
        format::rate(run.rate),
    );
    if let Some(eta) = run.eta_ms {
        let _ = write!(line, " · eta {}", format::span(eta));
    }
    if let Some(eta) = run.sync_eta_ms {
        let _ = write!(line, " · eta of the sync part {}", format::span(eta));
    }
    if let Some(cut) = &run.cut_short {
        let _ = write!(line, " · {} ends it first, in {}", cut.by, format::span(cut.in_ms));
    }
    let _ = write!(line, " · {}", format::money(run.cost));
    for (n, name) in [
        (run.n_in_batches(), "in batches"),
        (counts.refused, "refused"),
        (counts.invalid, "invalid"),
        (counts.re_drivable, "re-driving"),
        (run.n_possibly_charged, "possibly charged"),
    ] {
        if n > 0 {
            let _ = write!(line, " · {} {name}", format::count(n));
        }
    }
    line
}

fn status_line(run: &RunView) -> String {
    match &run.reason {
        Some(reason) => format!("run {} is {}: {}", harmless(&run.run_id), run.status, harmless(reason)),
        None => format!("run {} is {}", harmless(&run.run_id), run.status),
    }
}

fn notice_line(notice: &Notice) -> String {
    let level = match notice.level {
        Level::Debug => "debug",
        Level::Info => "info",
        Level::Warn => "warn",
        Level::Error => "error",
    };
    format!("{level}: {}", harmless(&notice.text))
}

/// What has been written so far.
#[derive(Debug, Default)]
struct Reader {
    started: BTreeSet<String>,
    statuses: Vec<String>,
    tenths: Vec<u64>,
    trouble: Option<String>,
    behind: BTreeSet<u32>,
    notice_seq: u64,
}

impl Reader {
    /// The lines that a picture adds; `due` asks for progress too. Says whether there was progress among them.
    fn lines(&mut self, snapshot: &Snapshot, due: bool, level: Level) -> (Vec<String>, bool) {
        let mut lines = Vec::new();
        for run in &snapshot.runs {
            if self.started.insert(run.run_id.clone()) {
                lines.push(start_line(snapshot, run));
            }
        }
        let seen = self.notice_seq;
        for notice in snapshot.notices.iter().filter(|notice| notice.seq > seen) {
            self.notice_seq = self.notice_seq.max(notice.seq);
            if notice.level >= level {
                lines.push(notice_line(notice));
            }
        }
        lines.extend(self.changes(snapshot));
        let tenths: Vec<u64> = snapshot.runs.iter().map(tenth).collect();
        let passed = !self.tenths.is_empty() && tenths != self.tenths;
        self.tenths = tenths;
        if due || passed {
            lines.extend(snapshot.runs.iter().map(|run| progress_line(snapshot, run)));
        }
        (lines, due || passed)
    }

    /// Changes of the runs' states and of the disk.
    fn changes(&mut self, snapshot: &Snapshot) -> Vec<String> {
        let mut lines = Vec::new();
        let mut statuses = Vec::with_capacity(snapshot.runs.len());
        for (at, run) in snapshot.runs.iter().enumerate() {
            let status = status_line(run);
            // A countdown within the reason is no news.
            let news: String = status.chars().filter(|c| !c.is_ascii_digit()).collect();
            let before = self.statuses.get(at);
            let first_and_ordinary = before.is_none() && run.reason.is_none();
            if before != Some(&news) && !first_and_ordinary {
                lines.push(status);
            }
            statuses.push(news);
        }
        self.statuses = statuses;
        let behind = snapshot.runs.iter().filter_map(|run| run.batches.as_ref()?.left_behind());
        for (sub, longest) in behind.filter(|(sub, _)| self.behind.insert(sub.index)) {
            lines.push(format!(
                "warn: sub-batch {} at {} is left behind: {} old, no other took more than {}",
                sub.index,
                harmless(&sub.org),
                format::span(sub.age_ms.unwrap_or(0)),
                format::span(longest)
            ));
        }
        if snapshot.store.trouble != self.trouble {
            lines.push(match &snapshot.store.trouble {
                Some(trouble) => format!("error: answers cannot be saved: {}", harmless(trouble)),
                None => "info: answers are saved again".to_owned(),
            });
            self.trouble.clone_from(&snapshot.store.trouble);
        }
        lines
    }
}

/// How many tenths of a run are done.
fn tenth(run: &RunView) -> u64 {
    (u128::from(run.counts.done()) * 10).checked_div(u128::from(run.counts.total)).map_or(10, |tenths| tenths as u64)
}

/// Writes lines until the engine has ended, then the summary, and returns the last picture.
/// `exit_code` is asked once, when the summary is made. Dropping the future leaves the run alone.
///
/// # Errors
/// When the thread that writes cannot be started. A closed pipe is no error: the run goes on without a reader.
pub async fn run(
    handle: EngineHandle,
    out: impl Write + Send + 'static,
    options: PlainOptions,
    exit_code: impl Fn(&Snapshot) -> u8,
) -> std::io::Result<Arc<Snapshot>> {
    let shown = |line: String| if options.ascii { super::text::ascii(&line).into_owned() } else { line };
    let mut sink = Sink::new(out)?;
    let mut pictures = handle.watch();
    let mut reader = Reader::default();
    let mut next_progress = Instant::now() + options.every;
    loop {
        let snapshot = pictures.borrow_and_update().clone();
        let over = super::all_over(&snapshot);
        let due = Instant::now() >= next_progress && !over;
        let (lines, progressed) = reader.lines(&snapshot, due, options.level);
        lines.into_iter().for_each(|line| sink.line(shown(line)));
        if progressed {
            next_progress = Instant::now() + options.every;
        }
        if over || !super::another(&mut pictures, next_progress).await {
            break;
        }
    }
    super::ended(&mut pictures).await;
    let snapshot = pictures.borrow().clone();
    let (mut last, _) = reader.lines(&snapshot, false, options.level);
    if sink.dropped() > 0 {
        last.push(format!("{} lines were dropped: the reader was blocked", format::count(sink.dropped())));
    }
    last.push(String::new());
    last.extend(summary::text(&snapshot, exit_code(&snapshot)).lines().map(str::to_owned));
    sink.close(last.into_iter().map(shown).collect()).await;
    Ok(snapshot)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fixtures::{self, Engine};
    use crate::report::sink::tests::{Gone, Kept};

    async fn written(pictures: Vec<(u64, Snapshot)>, options: PlainOptions) -> String {
        let engine = Engine::showing(pictures[0].1.clone());
        let kept = Kept::default();
        let reader = tokio::spawn(run(engine.handle(), kept.clone(), options, |snapshot| {
            snapshot.runs.first().map_or(0, |run| run.counts.exit_code())
        }));
        for (seconds, picture) in pictures {
            engine.show(picture);
            tokio::time::sleep(Duration::from_secs(seconds)).await;
        }
        drop(engine);
        reader.await.unwrap().unwrap();
        kept.text()
    }

    #[tokio::test(start_paused = true)]
    async fn a_run_is_told_in_lines_from_its_start_to_its_summary() {
        let story = vec![
            (11, fixtures::starting()),
            (11, fixtures::storm()),
            (1, fixtures::store_blocked()),
            (1, fixtures::busy()),
            (1, fixtures::finished()),
        ];
        insta::assert_snapshot!(written(story, PlainOptions::default()).await);
    }

    #[tokio::test(start_paused = true)]
    async fn a_sub_batch_that_is_left_behind_is_told_once() {
        let mut picture = fixtures::batches();
        let mut view = (**picture.runs[0].batches.as_ref().unwrap()).clone();
        view.sub_batches[..4].iter_mut().for_each(|sub| sub.status = SubBatchStatus::Harvested);
        view.sub_batches[4].status = SubBatchStatus::InProgress;
        (view.took_longest_ms, view.sub_batches[4].age_ms) = (Some(60_000), Some(999_000_000));
        picture.runs[0].batches = Some(Arc::new(view));
        let text = written(vec![(5, picture.clone()), (5, picture)], PlainOptions::default()).await;
        assert_eq!(text.matches("warn: sub-batch 4 at ").count(), 1, "{text}");
        assert!(text.contains("is left behind: ") && text.contains("no other took more than 1m00s"), "{text}");
    }

    #[tokio::test(start_paused = true)]
    async fn progress_is_written_every_ten_seconds_and_at_every_tenth() {
        let text = written(vec![(35, fixtures::busy())], PlainOptions::default()).await;
        assert_eq!(text.matches(" done (").count(), 3, "{text}");
        let mut later = fixtures::busy();
        later.runs[0].counts.succeeded += 2_000;
        let text = written(vec![(1, fixtures::busy()), (1, later)], PlainOptions::default()).await;
        assert_eq!(text.matches(" done (").count(), 1, "{text}");
    }

    #[tokio::test(start_paused = true)]
    async fn t3_nothing_that_a_terminal_obeys_is_written_whatever_the_names() {
        let text = written(vec![(11, fixtures::strange_names())], PlainOptions::default()).await;
        assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "{text:?}");
        let options = PlainOptions { ascii: true, ..PlainOptions::default() };
        assert!(written(vec![(11, fixtures::strange_names())], options).await.is_ascii());
    }

    #[tokio::test(start_paused = true)]
    async fn a_closed_pipe_neither_ends_nor_fails_the_run() {
        let engine = Engine::showing(fixtures::busy());
        let reader = tokio::spawn(run(engine.handle(), Gone, PlainOptions::default(), |_| 0));
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert!(!reader.is_finished(), "it waits for the run");
        engine.show(fixtures::finished());
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert!(!reader.is_finished(), "it waits until the run directory is whole");
        drop(engine);
        assert!(reader.await.unwrap().is_ok());
    }

    #[test]
    fn every_condition_has_its_words() {
        let mut org = fixtures::org(0, "batch");
        let mut phrase = |condition| {
            org.condition = condition;
            org_phrase(&org)
        };
        assert_eq!(phrase(Condition::Steady), "batch 98/100 steady");
        assert_eq!(phrase(Condition::Easing { headroom: 0.09 }), "batch 98/100 easing (headroom 9 %)");
        let backing_off = Condition::BackingOff { for_ms: 11_200, why: "rate-limited".into() };
        assert_eq!(phrase(backing_off), "batch backing off 12s (rate-limited)");
        let parked = Condition::Parked { why: crate::model::snapshot::ParkReason::RetryAfter, for_ms: Some(7_200_000) };
        assert_eq!(phrase(parked), "batch parked: retry-after for 2h00m");
        assert_eq!(phrase(Condition::Probing), "batch probing");
    }

    #[test]
    fn huge_numbers_do_not_overflow() {
        let snapshot = fixtures::huge_numbers();
        assert!(progress_line(&snapshot, &snapshot.runs[0]).contains("re-driving"));
    }
}
