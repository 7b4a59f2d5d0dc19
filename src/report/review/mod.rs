//! The review of a run: what happened, where the time and the money went, and what each segment cost. One value, made from
//! what is on the disk, and shown as text, as JSON and as a page of its own.
//!
//! | file | answers for |
//! |---|---|
//! | `tally` | what is gathered from the journal in one pass, in memory that does not grow with it |
//! | `heavy` | which segments are told apart when there are as many as requests |
//! | `economy` | the sums of money: amplification, savings, price classes |
//! | `text` | the review as lines |
//! | `page` | the review as one HTML page |

mod economy;
mod heavy;
mod page;
mod tally;
mod text;

pub use economy::{ByClass, Economy, Prices};
pub use page::page;
pub use tally::{Latency, Seen, Segment, Tally, Throughput};
pub use text::text;

use std::collections::BTreeMap;

use serde::Serialize;

use super::finished::RunFinished;
use super::format;
use super::words::exit_meaning;
use crate::model::books::Books;
use crate::model::{Money, Wall};

/// Everything that a review says.
#[derive(Debug, Clone, Serialize)]
pub struct Review {
    /// Always `run-report`.
    pub event: String,
    /// The facts of the run.
    pub run: RunFinished,
    /// How often it was started or resumed.
    pub sessions: u32,
    /// Its process is at work.
    pub live: bool,
    /// What it does, in words: `finished`, `running (process 7 on here)`, `cut off while running`.
    pub standing: String,
    /// The moment of which all figures are, for a run that is not over: its last word.
    pub as_of: Option<Wall>,
    /// Outcomes in the journal that end a request.
    pub n_in_journal: u64,
    /// Of them: those that came after the moment of the figures, which leave them out.
    pub n_later: u64,
    /// Where its time went, by what it waited for, in milliseconds.
    pub time_ms: BTreeMap<String, u64>,
    /// Outcomes over time.
    pub throughput: Throughput,
    /// Latencies by org and path.
    pub latencies: Vec<Latency>,
    /// Orgs with their 429s by kind and other failures.
    pub orgs: Vec<OrgTrouble>,
    /// The books.
    pub books: Books,
    /// What follows from them.
    pub economy: Economy,
    /// Decisions of the controllers, by kind.
    pub decisions: BTreeMap<String, u64>,
    /// The last decisions, oldest first.
    pub decided: Vec<Decision>,
    /// Sub-batches.
    pub sub_batches: Vec<SubBatchSpan>,
    /// How often the escape from a stuck sub-batch was used.
    pub stuck_fires: u64,
    /// The plan, and what came of it; `None` when there was none.
    pub plan: Option<PlanAgainstActual>,
    /// Unit economics; empty unless they were asked for.
    pub segments: Vec<Segment>,
    /// What the segments are made by.
    pub by: Option<String>,
}

impl Review {
    /// What there is to know before the figures are read; nothing for a run that is over and whole.
    pub fn note(&self) -> Option<String> {
        let Some(as_of) = self.as_of else { return self.missing() };
        let (at, later) = (format!("{} UTC", clock(as_of)), format::count(self.n_later));
        Some(match (self.live, self.n_later) {
            (true, _) => format!("the run goes on: every figure is of {at}"),
            (false, 0) => format!("the run was cut off: every figure is of its last word at {at}"),
            (false, _) => format!(
                "the run was cut off: every figure is of its last word at {at}; the journal holds {later} outcomes more, \
                 which a resume counts"
            ),
        })
    }

    /// What there is to say when the journal holds fewer outcomes than the state counts.
    fn missing(&self) -> Option<String> {
        let counted = self.run.counts.done();
        (self.n_in_journal < counted).then(|| {
            format!(
                "the journal holds {} outcomes of the {} that state.json counts: it was cut or is damaged, and a \
                 resume with --accept-lost-results pays for the rest again",
                format::count(self.n_in_journal),
                format::count(counted)
            )
        })
    }

    /// How long the sub-batches took that have ended, in words; `None` when none has.
    fn ended(&self) -> Option<String> {
        let mut took: Vec<u64> = self.sub_batches.iter().filter_map(|sub| sub.took_ms).collect();
        took.sort_unstable();
        let (longest, median) = (took.last()?, took.get((took.len() - 1) / 2)?);
        Some(format!(
            "{} ended, half of them within {}, the longest after {}, by the API's own times; {} canceled as stuck",
            took.len(),
            format::took(*median),
            format::took(*longest),
            self.stuck_fires
        ))
    }

    /// The exit code with what it means; a run that goes on has none, whatever its counts would come to now.
    pub fn exit(&self) -> String {
        match self.run.exit_code {
            Some(code) => format!("{code}, {}", exit_meaning(code, self.run.counts.all_cached())),
            None => "none yet: it goes on".to_owned(),
        }
    }
}

/// A moment as `2026-11-29 17:05:09`, in UTC.
fn clock(at: Wall) -> String {
    let time = jiff::Timestamp::from_millisecond(at.0);
    time.map(|at| at.strftime("%Y-%m-%d %H:%M:%S").to_string()).unwrap_or_default()
}

/// An amount that may be below nothing: what a cache that did not pay has saved.
fn dollars(usd: f64) -> String {
    let sign = if usd < 0.0 { "-" } else { "" };
    format!("{sign}{}", format::money(Money::from_usd(usd.abs())))
}

/// `1 answer`, `1,200 answers`.
fn plural(n: u64, what: &str) -> String {
    format!("{} {what}{}", format::count(n), if n == 1 { "" } else { "s" })
}

/// The name of a segment; one of blanks, or of nothing, can be told from a gap.
fn shown(name: &str) -> String {
    if name.trim().is_empty() { format!("{name:?}") } else { name.to_owned() }
}

/// What went wrong at an org.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OrgTrouble {
    /// Its name.
    pub label: String,
    /// 429 of an empty bucket.
    pub n_429_steady: u64,
    /// 429 of growth that was too sharp.
    pub n_429_ramp: u64,
    /// 529 and other overload.
    pub n_overloaded: u64,
    /// Other 5xx, 408, 409.
    pub n_5xx: u64,
    /// No connection, timeouts, broken answers.
    pub n_transport: u64,
    /// Account trouble.
    pub n_account: u64,
}

/// A decision of a controller.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Decision {
    /// When, in milliseconds since 1970 (UTC).
    pub at: Wall,
    /// What kind.
    pub kind: String,
    /// Label of the org that it is about.
    pub org: Option<String>,
    /// In words.
    pub text: String,
}

/// A sub-batch and how long it took.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SubBatchSpan {
    /// Its index.
    pub index: u32,
    /// Label of its org.
    pub org: String,
    /// Its requests.
    pub n_requests: u32,
    /// Where it is.
    pub status: String,
    /// From its creation to its end, in milliseconds; `None` when it has not ended.
    pub took_ms: Option<u64>,
    /// The escape was used.
    pub stuck: bool,
}

/// What was planned, and what came of it. A plan that was made after a pilot is one of the rest.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PlanAgainstActual {
    /// Planned seconds.
    pub wall_s: Option<f64>,
    /// Planned cost in USD.
    pub cost_usd: Option<f64>,
    /// Seconds since the plan was made in which the run was running.
    pub actual_wall_s: f64,
    /// What it has cost since then, in USD.
    pub actual_cost_usd: f64,
    /// Actual seconds over planned ones.
    pub wall_ratio: Option<f64>,
    /// Actual cost over planned one.
    pub cost_ratio: Option<f64>,
}

impl PlanAgainstActual {
    /// Holds what came of a plan against it, seconds and USD each; `None` when nothing was planned.
    pub fn new(planned: (Option<f64>, Option<f64>), actual: (f64, f64)) -> Option<PlanAgainstActual> {
        let ratio = |actual: f64, planned: Option<f64>| planned.filter(|planned| *planned > 0.0).map(|p| actual / p);
        let ((wall_s, cost_usd), (actual_wall_s, actual_cost_usd)) = (planned, actual);
        (wall_s.is_some() || cost_usd.is_some()).then(|| PlanAgainstActual {
            wall_s,
            cost_usd,
            actual_wall_s,
            actual_cost_usd,
            wall_ratio: ratio(actual_wall_s, wall_s),
            cost_ratio: ratio(actual_cost_usd, cost_usd),
        })
    }
}

/// What a run waits for, in the order of the stacked bar; the names of [`Review::time_ms`].
pub const WAITS: [(&str, &str); 6] = [
    ("queue", "requests wait for a free slot"),
    ("rate-limited", "limits of the API keep requests back"),
    ("in-flight", "only answers are waited for, or that they are on the disk"),
    ("batch-wait", "only sub-batches are waited for"),
    ("retry", "only re-drives that are not due yet are left"),
    ("held", "paused, parked, draining, out of budget, or no room on the disk"),
];
