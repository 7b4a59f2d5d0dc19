//! What is gathered from the journal in one pass: latencies as histograms, outcomes by the second, and segments.

use std::collections::{BTreeMap, HashMap, HashSet};

use hdrhistogram::Histogram;
use serde::Serialize;

use super::heavy::Heavy;
use crate::model::{Money, Outcome, Route, Usage, Wall};
use crate::report::format;

/// Segments that are told apart, the dearest; requests of others are counted together.
const SEGMENTS: usize = 500;
/// What these are called.
const OTHERS: &str = "(others)";
/// Bars of the chart of throughput, at the most.
const BARS: usize = 120;

/// One outcome, as the journal has it.
#[derive(Debug, Clone, Copy)]
pub struct Seen<'a> {
    /// The outcome.
    pub outcome: Outcome,
    /// Label of the org.
    pub org: &'a str,
    /// The path that carried it.
    pub path: Route,
    /// How long the call took, in milliseconds.
    pub latency_ms: u64,
    /// What it was billed by.
    pub usage: Usage,
    /// What it cost.
    pub cost: Money,
    /// When the answer was there.
    pub at: Option<Wall>,
    /// The key and the name of its segment; `None` when segments were not asked for.
    pub segment: Option<(u64, &'a str)>,
}

/// Percentiles of latencies, in milliseconds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Latency {
    /// Label of the org.
    pub org: String,
    /// The path.
    pub path: Route,
    /// Answers.
    pub n: u64,
    /// Median.
    pub p50_ms: u64,
    /// 90th percentile.
    pub p90_ms: u64,
    /// 95th percentile.
    pub p95_ms: u64,
    /// 99th percentile.
    pub p99_ms: u64,
    /// The longest.
    pub max_ms: u64,
}

/// Outcomes over time.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Throughput {
    /// When the run began, in milliseconds since 1970: the chart shows how long the first outcome took.
    pub from_ms: i64,
    /// Width of a bar, in seconds.
    pub step_s: u64,
    /// Outcomes in each bar, gaps between sessions included.
    pub done: Vec<u64>,
    /// When later sessions began, in milliseconds since 1970, as far as the trail tells.
    pub resumed_ms: Vec<i64>,
}

impl Throughput {
    /// The gaps before later sessions, in bars: from the end of the last bar with an outcome to where the session began.
    pub(super) fn gaps(&self) -> Vec<(f64, f64)> {
        let of = |at_ms: &i64| {
            let until = (at_ms - self.from_ms) as f64 / 1e3 / self.step_s.max(1) as f64;
            let before = self.done.iter().take((until.max(0.0)) as usize);
            let from = before.enumerate().rfind(|(_, n)| **n > 0).map_or(0, |(ix, _)| ix + 1);
            (from as f64, until.min(self.done.len() as f64))
        };
        self.resumed_ms.iter().map(of).filter(|(from, until)| from < until).collect()
    }
}

/// Unit economics of a segment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Segment {
    /// What it is told apart by; that of the others is nobody's.
    #[serde(skip)]
    pub key: Option<u64>,
    /// Its name.
    pub name: String,
    /// Requests with an outcome.
    pub n: u64,
    /// Usable answers.
    pub n_succeeded: u64,
    /// Refused answers.
    pub n_refused: u64,
    /// Requests that the API called wrong.
    pub n_invalid: u64,
    /// Answers from the cache: free.
    pub n_cached: u64,
    /// Input tokens of an answer: median.
    pub tokens_in_p50: u64,
    /// 95th percentile.
    pub tokens_in_p95: u64,
    /// Output tokens of an answer: median.
    pub tokens_out_p50: u64,
    /// 95th percentile.
    pub tokens_out_p95: u64,
    /// What all of its answers cost.
    #[serde(rename = "cost_usd")]
    pub cost: Money,
    /// What a usable answer cost that was not free, all that was paid for others included.
    #[serde(rename = "cost_per_success_usd")]
    pub per_success: Money,
}

impl Segment {
    /// Its figures in words, in the order of the columns that the text and the page have.
    pub(super) fn figures(&self) -> [String; 8] {
        [
            format::count(self.n),
            format::count(self.n_succeeded),
            format::count(self.tokens_in_p50),
            format::count(self.tokens_in_p95),
            format::count(self.tokens_out_p50),
            format::count(self.tokens_out_p95),
            format::money(self.cost),
            format::money(self.per_success),
        ]
    }
}

/// A histogram of two digits.
#[derive(Debug)]
struct Spread(Histogram<u64>);

impl Spread {
    fn new() -> Spread {
        Spread(Histogram::new(2).unwrap_or_else(|_| unreachable!("two digits are a valid precision")))
    }

    fn add(&mut self, value: u64) {
        // It grows with its values; to saturate would cut them at its first size. What no histogram holds is left out.
        let _ = self.0.record(value);
    }

    fn at(&self, quantile: f64) -> u64 {
        if self.0.is_empty() { 0 } else { self.0.value_at_quantile(quantile) }
    }
}

#[derive(Debug)]
struct Part {
    name: String,
    counts: [u64; 4],
    tokens_in: Spread,
    tokens_out: Spread,
    cost: Money,
}

/// What is gathered.
#[derive(Debug, Default)]
pub struct Tally {
    n: u64,
    latencies: BTreeMap<(String, &'static str), (Route, Spread)>,
    seconds: BTreeMap<i64, u32>,
    /// Segments by their keys.
    parts: HashMap<u64, Part>,
    others: Option<Part>,
    heavy: Heavy,
    /// Segments that are told apart; `None` takes the first.
    chosen: Option<HashSet<u64>>,
}

impl Tally {
    /// Takes an outcome.
    pub fn see(&mut self, seen: &Seen<'_>) {
        if !seen.outcome.is_terminal() {
            return;
        }
        self.n += 1;
        if let Some(at) = seen.at {
            *self.seconds.entry(at.0.div_euclid(1_000)).or_default() += 1;
        }
        if seen.path != Route::Cache && !seen.org.is_empty() {
            let key = (seen.org.to_owned(), seen.path.as_str());
            let (_, spread) = self.latencies.entry(key).or_insert_with(|| (seen.path, Spread::new()));
            spread.add(seen.latency_ms);
        }
        if let Some((key, name)) = seen.segment {
            // What is free has a weight, too.
            self.heavy.add(key, seen.cost.0.saturating_add(1));
            self.part(key, name).add(seen);
        }
    }

    fn part(&mut self, key: u64, name: &str) -> &mut Part {
        let is_told_apart = match &self.chosen {
            Some(chosen) => chosen.contains(&key),
            None => self.parts.contains_key(&key) || self.parts.len() < SEGMENTS,
        };
        if is_told_apart {
            self.parts.entry(key).or_insert_with(|| Part::new(name))
        } else {
            self.others.get_or_insert_with(|| Part::new(OTHERS))
        }
    }

    /// When there were more segments than are told apart: a tally that tells the dearest apart, and is to be shown everything
    /// once more.
    pub fn second_look(&self) -> Option<Tally> {
        let chosen = Some(self.heavy.heaviest(SEGMENTS)?);
        Some(Tally { chosen, ..Tally::default() })
    }

    /// Outcomes that end a request.
    pub fn n(&self) -> u64 {
        self.n
    }

    /// Latencies by org and path.
    pub fn latencies(&self) -> Vec<Latency> {
        let of = |((org, _), (path, spread)): (&(String, &'static str), &(Route, Spread))| Latency {
            org: org.clone(),
            path: *path,
            n: spread.0.len(),
            p50_ms: spread.at(0.5),
            p90_ms: spread.at(0.9),
            p95_ms: spread.at(0.95),
            p99_ms: spread.at(0.99),
            max_ms: spread.0.max(),
        };
        self.latencies.iter().map(of).collect()
    }

    /// Outcomes over time, in at most 120 bars, from when the run began. `sessions` are the moments at which its sessions began,
    /// oldest first.
    pub fn throughput(&self, began: Wall, sessions: &[Wall]) -> Throughput {
        let (Some((&first, _)), Some((&last, _))) = (self.seconds.first_key_value(), self.seconds.last_key_value())
        else {
            return Throughput::default();
        };
        let first = first.min(began.0.div_euclid(1_000));
        let span = u64::try_from(last - first).unwrap_or(0) + 1;
        let step_s = span.div_ceil(BARS as u64).max(1);
        let mut done = vec![0; span.div_ceil(step_s) as usize];
        for (second, n) in &self.seconds {
            let at = u64::try_from(second - first).unwrap_or(0) / step_s;
            if let Some(bar) = done.get_mut(at as usize) {
                *bar += u64::from(*n);
            }
        }
        let resumed_ms = sessions.iter().skip(1).map(|at| at.0).collect();
        Throughput { from_ms: first.saturating_mul(1_000), step_s, done, resumed_ms }
    }

    /// Segments, the dearest first and the others last.
    pub fn segments(&self) -> Vec<Segment> {
        let mut segments: Vec<Segment> = self.parts.iter().map(|(key, part)| part.segment(Some(*key))).collect();
        segments.sort_by(|a, b| b.cost.cmp(&a.cost).then_with(|| b.n.cmp(&a.n)).then_with(|| a.name.cmp(&b.name)));
        segments.extend(self.others.as_ref().map(|part| part.segment(None)));
        segments
    }
}

impl Part {
    fn new(name: &str) -> Part {
        let (tokens_in, tokens_out) = (Spread::new(), Spread::new());
        Part { name: name.to_owned(), counts: [0; 4], tokens_in, tokens_out, cost: Money::ZERO }
    }

    fn add(&mut self, seen: &Seen<'_>) {
        let [succeeded, refused, invalid, cached] = &mut self.counts;
        match (seen.outcome, seen.path) {
            (Outcome::Succeeded, Route::Cache) => *cached += 1,
            (Outcome::Succeeded, _) => *succeeded += 1,
            (Outcome::Refused, _) => *refused += 1,
            (Outcome::Invalid | Outcome::ReDrivable, _) => *invalid += 1,
        }
        if seen.usage.output_tokens > 0 {
            self.tokens_in.add(seen.usage.prompt_tokens());
            self.tokens_out.add(seen.usage.output_tokens);
        }
        self.cost += seen.cost;
    }

    fn segment(&self, key: Option<u64>) -> Segment {
        let [succeeded, refused, invalid, cached] = self.counts;
        Segment {
            key,
            name: self.name.clone(),
            n: succeeded + refused + invalid + cached,
            n_succeeded: succeeded + cached,
            n_refused: refused,
            n_invalid: invalid,
            n_cached: cached,
            tokens_in_p50: self.tokens_in.at(0.5),
            tokens_in_p95: self.tokens_in.at(0.95),
            tokens_out_p50: self.tokens_out.at(0.5),
            tokens_out_p95: self.tokens_out.at(0.95),
            cost: self.cost,
            per_success: Money(self.cost.0.checked_div(succeeded).unwrap_or(0)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(outcome: Outcome, at_s: i64, segment: u64) -> Seen<'static> {
        let usage = Usage { input_tokens: 100, output_tokens: 10, ..Usage::default() };
        let (path, cost) = (Route::Sync, Money(1_000));
        let at = Some(Wall(at_s * 1_000 + 7));
        Seen { outcome, org: "a", path, latency_ms: 40, usage, cost, at, segment: Some((segment, "s")) }
    }

    #[test]
    fn a_usable_answer_carries_what_was_paid_for_the_others_and_free_ones_carry_nothing() {
        let mut tally = Tally::default();
        for outcome in [Outcome::Succeeded, Outcome::Succeeded, Outcome::Refused] {
            tally.see(&seen(outcome, 0, 1));
        }
        tally.see(&Seen { path: Route::Cache, cost: Money::ZERO, ..seen(Outcome::Succeeded, 0, 1) });
        tally.see(&Seen { cost: Money::ZERO, usage: Usage::default(), ..seen(Outcome::Invalid, 0, 1) });
        tally.see(&seen(Outcome::ReDrivable, 0, 1));
        let segment = tally.segments().remove(0);
        assert_eq!((segment.n, segment.n_succeeded, segment.n_cached), (5, 3, 1));
        assert_eq!((segment.cost, segment.per_success), (Money(3_000), Money(1_500)));
        assert_eq!((segment.tokens_in_p50, segment.tokens_out_p95), (100, 10));
    }

    #[test]
    fn outcomes_of_a_week_fit_into_the_bars_and_none_is_lost() {
        let mut tally = Tally::default();
        for hour in 0..168 {
            tally.see(&seen(Outcome::Succeeded, hour * 3_600, 1));
        }
        let throughput = tally.throughput(Wall(0), &[]);
        assert!(throughput.done.len() <= BARS, "{}", throughput.done.len());
        assert_eq!(throughput.done.iter().sum::<u64>(), 168);
        assert_eq!(Tally::default().throughput(Wall(0), &[]), Throughput::default());
    }

    #[test]
    fn the_chart_begins_where_the_run_began_and_knows_the_gap_between_sessions() {
        let mut tally = Tally::default();
        for second in [60, 61, 100] {
            tally.see(&seen(Outcome::Succeeded, second, 1));
        }
        let throughput = tally.throughput(Wall(10_400), &[Wall(10_400), Wall(95_000)]);
        assert_eq!((throughput.from_ms, throughput.step_s, throughput.done.len()), (10_000, 1, 91));
        assert_eq!((throughput.done[50], throughput.done[90]), (1, 1));
        assert_eq!(throughput.gaps(), [(52.0, 85.0)]);
        // A clock that was put back does not hide an outcome.
        assert_eq!(tally.throughput(Wall(70_000), &[]).done.iter().sum::<u64>(), 3);
        // A session that began with the clock before the run has no gap.
        assert_eq!(tally.throughput(Wall(10_400), &[Wall(0), Wall(5)]).gaps(), []);
    }

    #[test]
    fn a_latency_of_hours_is_not_cut() {
        let mut tally = Tally::default();
        for ms in [5, 20_000, 7_200_000] {
            tally.see(&Seen { latency_ms: ms, ..seen(Outcome::Succeeded, 0, 1) });
        }
        let latency = tally.latencies().remove(0);
        let near = |is: u64, wanted: u64| is.abs_diff(wanted) * 50 <= wanted;
        assert!(near(latency.p50_ms, 20_000) && near(latency.max_ms, 7_200_000), "{latency:?}");
    }

    #[test]
    fn of_segments_without_end_the_dearest_are_told_apart_and_the_others_counted_together_at_the_end() {
        let n = SEGMENTS as u64 + 50;
        // The dearest come last.
        let show = |tally: &mut Tally| {
            (0..n).for_each(|no| tally.see(&Seen { cost: Money(1_000 + no), ..seen(Outcome::Succeeded, 0, no) }));
        };
        let mut tally = Tally::default();
        show(&mut tally);
        let mut tally = tally.second_look().unwrap();
        show(&mut tally);
        let segments = tally.segments();
        assert_eq!(segments.len(), SEGMENTS + 1);
        assert_eq!((segments[0].key, segments[SEGMENTS - 1].key), (Some(n - 1), Some(50)));
        assert_eq!(
            (segments[SEGMENTS].name.as_str(), segments[SEGMENTS].n, segments[SEGMENTS].key),
            (OTHERS, 50, None)
        );
        assert_eq!(segments.iter().map(|segment| segment.n).sum::<u64>(), n);
    }

    #[test]
    fn few_segments_need_no_second_look() {
        let mut tally = Tally::default();
        (0..SEGMENTS as u64).for_each(|no| tally.see(&seen(Outcome::Succeeded, 0, no)));
        assert!(tally.second_look().is_none());
        assert_eq!(tally.segments().len(), SEGMENTS);
    }
}
