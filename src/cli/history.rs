//! What runs measured: written down when a run has come to rest, and read when the next one is planned.

use std::path::Path;

use crate::catalog::Catalog;
use crate::model::Snapshot;
use crate::model::books::Books;
use crate::model::limits::Limiter;
use crate::plan::{Figure, Knobs, Latency, Limits, Origin};
use crate::store::{History, OrgRun, RunFile, SubBatchRun, stamp};

/// What figures are measured by that only pilots stand behind.
const PILOT: &str = "pilot";
/// Fewer answers than this say nothing of a distribution.
pub(crate) const FEWEST: u64 = 20;
/// What a limit may have changed by since it was seen.
const LIMIT_INTERVAL: (f64, f64) = (0.9, 1.1);

/// What of a plan's figures was measured before.
#[derive(Debug, Default)]
pub(crate) struct Measured {
    /// Newest first.
    runs: Vec<OrgRun>,
    /// Seconds, in order.
    sub_batches: Vec<f64>,
    sub_batches_at: String,
}

/// Writes down what a run of one model measured. A run of several is not: which model took what is not known.
pub(crate) fn keep(dir: Option<&Path>, run: &RunFile, books: &Books, snapshot: &Snapshot, catalog: &Catalog) {
    let (Some(dir), [model], Some(view)) = (dir, run.models.as_slice(), snapshot.runs.first()) else { return };
    let model = full_id(catalog, model);
    let at = stamp::now();
    let bytes_each = run.input.bytes.checked_div(run.input.count).unwrap_or_default();
    let ended = || view.batches.iter().flat_map(|batches| &batches.sub_batches).filter(|sub| sub.n_succeeded > 0);
    let orgs: Vec<OrgRun> = snapshot
        .orgs
        .iter()
        .filter(|org| org.totals.n_ok > 0 || ended().any(|sub| sub.org == org.label))
        .map(|org| {
            let limit = |limiter| org.limiters.iter().find(|view| view.limiter == limiter).map_or(0, |view| view.limit);
            OrgRun {
                run_id: run.run_id.clone(),
                input: run.input.sha256.clone(),
                is_pilot: run.pilot.is_some(),
                org: org.label.clone(),
                host: org.host.clone(),
                model: model.clone(),
                at,
                n: org.totals.n_ok + org.totals.n_refused,
                p50_ms: org.latency_p50_ms,
                p95_ms: org.latency_p95_ms,
                mean_ms: org.latency_mean_ms,
                bytes_in: (org.totals.n_ok + org.totals.n_refused).saturating_mul(bytes_each),
                tokens_in: org.totals.tokens_in,
                cached: cached(books, &org.label),
                tokens_out: org.totals.tokens_out,
                limits: [Limiter::Requests, Limiter::InputTokens, Limiter::OutputTokens].map(limit),
            }
        })
        .collect();
    let sub_batches: Vec<SubBatchRun> = ended()
        .filter(|sub| !sub.stuck)
        .filter_map(|sub| {
            Some(SubBatchRun {
                run_id: run.run_id.clone(),
                index: sub.index,
                org: sub.org.clone(),
                model: model.clone(),
                at,
                n_requests: sub.n_requests,
                secs: sub.age_ms? as f64 / 1e3,
            })
        })
        .collect();
    if orgs.is_empty() && sub_batches.is_empty() {
        return;
    }
    let kept = History::open(dir).and_then(|mut history| history.record(&orgs, &sub_batches));
    if let Err(error) = kept {
        tracing::warn!("{error}; later plans will assume what this run has measured");
    }
}

/// Prompt tokens of an org that were written to the prompt cache for five minutes and for an hour, and read from it.
fn cached(books: &Books, org: &str) -> [u64; 3] {
    let lines = books.settled.iter().filter(|line| line.org == org);
    lines.fold([0; 3], |[short, long, read], line| {
        [short + line.tokens.cache_write_5m, long + line.tokens.cache_write_1h, read + line.tokens.cache_read]
    })
}

/// Reads what earlier runs of a model measured at these hosts: what a test server did says nothing of the API. Trouble is
/// said, and leaves assumptions.
pub(crate) fn look_up(dir: &Path, model: &str, hosts: &[String], catalog: &Catalog) -> Measured {
    let model = full_id(catalog, model);
    let read = || {
        let Some(history) = History::open_existing(dir)? else { return Ok(Measured::default()) };
        let ended = history.sub_batches(&model, hosts)?;
        let mut secs: Vec<f64> = ended.iter().map(|sub| sub.secs).collect();
        secs.sort_by(f64::total_cmp);
        let at = ended.first().map(|sub| stamp::to_string(sub.at)).unwrap_or_default();
        Ok(Measured { runs: history.org_runs(&model, hosts)?, sub_batches: secs, sub_batches_at: at })
    };
    read().unwrap_or_else(|error: crate::store::HistoryError| {
        super::out::say(&format!("fandeck: {error}; the plan works with assumptions"));
        Measured::default()
    })
}

fn full_id(catalog: &Catalog, model: &str) -> String {
    catalog.lookup(model).map_or_else(|| model.to_owned(), |info| info.id.clone())
}

/// What one input, or all of them, measured.
#[derive(Default)]
struct Sums {
    n: u64,
    bytes: u64,
    tokens_in: u64,
    /// Of the prompt cache: written for five minutes, for an hour, read.
    cached: [u64; 3],
    tokens_out: u64,
    /// Whether all of it is of the input that is planned.
    is_own: bool,
    /// Answers with a latency, and their latencies' sums weighted by them.
    timed: u64,
    p50: f64,
    p95: f64,
    /// Answers whose mean latency is known, and the sum of their latencies, seconds.
    averaged: u64,
    secs: f64,
    by: &'static str,
    at: String,
}

impl Sums {
    /// Tokens of the prompt cache of a request in the mean, when `n` are sent: written for five minutes, for an hour, read.
    /// Only what this very input did counts: another one may have no prefix in common, and is then dearer.
    fn cached_each(&self, n: u64) -> [f64; 3] {
        let [short, long, read] = self.cached.map(|tokens| tokens as f64);
        if !self.is_own {
            return [0.0; 3];
        }
        let answers = self.n as f64;
        let is_warm = read >= short + long;
        if self.by != PILOT || !is_warm {
            return [short, long, read].map(|tokens| tokens / answers);
        }
        // What a pilot writes is what is written once, by the calls that start before the first answer. More requests read
        // it, and write it no more often.
        let share = (answers / n.max(1) as f64).min(1.0);
        let (short_each, long_each) = (short / answers * share, long / answers * share);
        [short_each, long_each, (short + long + read) / answers - short_each - long_each]
    }
}

impl Measured {
    /// The runs of this very input when there are any, since tokens are its own; else all of them.
    fn sums(&self, input: Option<&str>) -> Option<Sums> {
        let own: Vec<&OrgRun> = self.runs.iter().filter(|run| Some(run.input.as_str()) == input).collect();
        let own_n: u64 = own.iter().map(|run| run.n).sum();
        let is_own = own_n >= FEWEST;
        let taken: Vec<&OrgRun> = if is_own { own } else { self.runs.iter().collect() };
        let newest = taken.first()?;
        let by = if taken.iter().all(|run| run.is_pilot) { PILOT } else { "history" };
        let mut sums = Sums { is_own, by, at: stamp::to_string(newest.at), ..Sums::default() };
        for run in taken {
            sums.n += run.n;
            sums.bytes += run.bytes_in;
            sums.tokens_in += run.tokens_in;
            sums.tokens_out += run.tokens_out;
            sums.cached.iter_mut().zip(run.cached).for_each(|(sum, more)| *sum += more);
            if run.p50_ms > 0 {
                sums.timed += run.n;
                sums.p50 += run.n as f64 * f64::from(run.p50_ms) / 1e3;
                sums.p95 += run.n as f64 * f64::from(run.p95_ms) / 1e3;
            }
            if run.mean_ms > 0 {
                sums.averaged += run.n;
                sums.secs += run.n as f64 * f64::from(run.mean_ms) / 1e3;
            }
        }
        (sums.n >= FEWEST).then_some(sums)
    }

    /// Puts what was measured in the place of what is assumed; what was given stays. `hosts` are the orgs' hosts, in their
    /// order; `bytes` those of a request of this input, in the mean.
    pub(crate) fn apply(&self, knobs: &mut Knobs, hosts: &[String], input: Option<&str>, bytes: Option<f64>) {
        self.limits(knobs, hosts);
        self.durations(knobs);
        let Some(sums) = self.sums(input) else { return };
        let origin = |n| Origin::Measured { by: sums.by.to_owned(), n, at: sums.at.clone() };
        let n = sums.n as f64;
        // Twice the standard error of a mean whose draws vary by half of it.
        let spread = |n: f64| (1.0 / n.sqrt()).clamp(0.01, 0.3);
        let around = |mid: f64| Figure::around(mid, (1.0 - spread(n), 1.0 + spread(n)), origin(sums.n));
        if knobs.tokens.input.origin != Origin::Given {
            // By bytes, so that requests that are longer than those that were measured are not taken for as short.
            let scale = match bytes {
                Some(bytes) if sums.bytes > 0 => bytes * n / sums.bytes as f64,
                _ => 1.0,
            };
            let cached = sums.cached_each(knobs.n_to_send()).map(|tokens| tokens * scale);
            let mean = (sums.tokens_in as f64 / n * scale - cached.iter().sum::<f64>()).max(0.0);
            scale_groups(knobs, |tokens| &mut tokens.input, mean, &around(mean));
            let groups = knobs.groups.iter_mut().map(|group| &mut group.tokens);
            for tokens in groups.chain([&mut knobs.tokens]) {
                // A group of longer prompts has more of everything.
                let share = if mean > 0.0 { tokens.input.mid / mean } else { 1.0 };
                let [write_5m, write_1h, read] = cached.map(|tokens| tokens * share);
                (tokens.cache_write_5m, tokens.cache_write_1h, tokens.cache_read) = (write_5m, write_1h, read);
            }
        }
        if knobs.tokens.output.origin != Origin::Given {
            let mean = sums.tokens_out as f64 / n;
            scale_groups(knobs, |tokens| &mut tokens.output, mean, &around(mean));
        }
        if sums.timed >= FEWEST && knobs.latency.p50.origin != Origin::Given {
            let timed = sums.timed as f64;
            let spread = spread(timed).max(0.05);
            let p50 = Figure::around(sums.p50 / timed, (1.0 - spread, 1.0 + spread), origin(sums.timed));
            let mean = (sums.averaged == sums.timed)
                .then(|| Figure::around(sums.secs / timed, (1.0 - spread, 1.0 + spread), origin(sums.timed)));
            knobs.latency = Latency { p50, p95: sums.p95 / timed, mean };
        }
    }

    /// Limits are of an org at a host: the newest that its headers told.
    fn limits(&self, knobs: &mut Knobs, hosts: &[String]) {
        for (org, host) in knobs.orgs.iter_mut().zip(hosts) {
            let told =
                |run: &&OrgRun| run.org == org.label && run.host == *host && run.limits.iter().any(|limit| *limit > 0);
            let Some(run) = self.runs.iter().find(told) else { continue };
            let figure = |limit: u64| {
                let origin = Origin::Measured { by: "headers".to_owned(), n: run.n, at: stamp::to_string(run.at) };
                (limit > 0).then(|| Figure::around(limit as f64, LIMIT_INTERVAL, origin))
            };
            let [requests, input, output] = run.limits;
            org.limits =
                Limits { requests: figure(requests), input_tokens: figure(input), output_tokens: figure(output) };
        }
    }

    fn durations(&self, knobs: &mut Knobs) {
        let n = self.sub_batches.len();
        let at = |share: f64| self.sub_batches.get(((n.max(1) - 1) as f64 * share).round() as usize).copied();
        let (Some(low), Some(mid), Some(high)) = (at(0.1), at(0.5), at(0.9)) else { return };
        let origin = Origin::Measured { by: "sub-batches".to_owned(), n: n as u64, at: self.sub_batches_at.clone() };
        // Of a few the slowest tenth has not been seen: what is assumed at the worst stays.
        let high = if n >= 10 { high } else { knobs.sub_batch_s.high.max(high) };
        knobs.sub_batch_s = Figure { low, mid, high, origin };
    }
}

/// Sets a figure of the request's shape, and those of all groups of an input in proportion: what was measured is the mean
/// over all of them.
fn scale_groups(knobs: &mut Knobs, of: impl Fn(&mut crate::plan::Tokens) -> &mut Figure, mean: f64, figure: &Figure) {
    let before = of(&mut knobs.tokens).mid;
    for group in &mut knobs.groups {
        let share = if before > 0.0 { of(&mut group.tokens).mid / before } else { 1.0 };
        let scaled = Figure {
            low: figure.low * share,
            mid: mean * share,
            high: figure.high * share,
            origin: figure.origin.clone(),
        };
        *of(&mut group.tokens) = scaled;
    }
    *of(&mut knobs.tokens) = figure.clone();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sums(by: &'static str, n: u64, cached: [u64; 3]) -> Sums {
        Sums { n, cached, is_own: true, by, ..Sums::default() }
    }

    #[test]
    fn what_a_pilot_wrote_once_is_read_by_all_and_not_written_in_proportion() {
        // 10 of 100 wrote a prefix of 1,000 tokens, 90 read it.
        let [write_5m, write_1h, read] = sums(PILOT, 100, [10_000, 0, 90_000]).cached_each(1_000);
        assert!((write_5m - 10.0).abs() < 1e-9 && write_1h == 0.0, "{write_5m} {write_1h}");
        assert!((read - 990.0).abs() < 1e-9, "{read}");
    }

    #[test]
    fn prefixes_that_nobody_reads_again_are_written_by_every_request() {
        assert_eq!(sums(PILOT, 100, [0, 100_000, 5_000]).cached_each(1_000), [0.0, 1_000.0, 50.0]);
    }

    #[test]
    fn a_whole_run_cached_what_the_next_one_will_and_another_input_nothing() {
        let run = sums("history", 100, [10_000, 0, 90_000]);
        assert_eq!(run.cached_each(1_000), [100.0, 0.0, 900.0]);
        assert_eq!(Sums { is_own: false, ..run }.cached_each(1_000), [0.0; 3]);
    }
}
