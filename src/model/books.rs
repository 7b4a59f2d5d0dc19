//! The books of a run: what was paid, for what, over which org and path, and what may have been paid besides.
//!
//! They are kept by the engine's ledger, written into `state.json`, and read by reports. All sums are exact.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::ids::Route;
use super::money::Money;
use super::outcome::{Outcome, Usage};

/// The books of a run, over all of its sessions.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Books {
    /// Answers, by org, path, model and outcome.
    pub settled: Vec<Settled>,
    /// Attempts that may have been billed although no answer arrived, by org, path, model and cause.
    pub doubtful: Vec<Doubtful>,
    /// Attempts that had to be made again, by cause.
    pub re_driven: Vec<ReDriven>,
    /// What the answers of each day (UTC, `2026-11-29`) cost.
    #[serde(rename = "by_day_usd")]
    pub by_day: BTreeMap<String, Money>,
    /// What was added to `doubtful` on each day, at most.
    #[serde(rename = "doubt_by_day_usd", skip_serializing_if = "BTreeMap::is_empty")]
    pub doubt_by_day: BTreeMap<String, Money>,
    /// What was out when these books were written may cost at most.
    #[serde(rename = "out_at_most_usd")]
    pub out: Money,
    /// Attempts made: calls on the sync path, and requests in sub-batches.
    pub n_sent: u64,
    /// The highest ratio of what an answer cost to what was reserved for it, in thousandths; 0 while none was above 1.
    #[serde(rename = "dearer_thousandths", skip_serializing_if = "is_zero")]
    pub dearer: u64,
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

/// Answers of one kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settled {
    /// Label of the org.
    pub org: String,
    /// `sync` or `batch`.
    pub path: Route,
    /// The model that was asked for.
    pub model: String,
    /// What the answers were.
    pub outcome: Outcome,
    /// How many.
    pub n: u64,
    /// What they were billed by: uncached input, output, cache writes, cache reads, web searches; and on which terms.
    #[serde(flatten)]
    pub tokens: Usage,
    /// What they cost.
    #[serde(rename = "cost_usd")]
    pub cost: Money,
}

/// Attempts of one kind that may have been billed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Doubtful {
    /// Label of the org; empty when the process that knew it was killed.
    pub org: String,
    /// `sync` or `batch`.
    pub path: Route,
    /// The model that was asked for; empty as `org`.
    pub model: String,
    /// What went wrong: `timeout`, `broken-answer`, `no-result`, `stopped`, `killed`.
    pub cause: String,
    /// How many, at most.
    pub n: u64,
    /// What they cost at most: the whole prompt uncached and an answer as long as `max_tokens` allows.
    #[serde(rename = "at_most_usd")]
    pub at_most: Money,
}

/// Attempts that had to be made again for one cause.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReDriven {
    /// Why: `rate-limited`, `timeout`, `expired`, …
    pub cause: String,
    /// Attempts that failed so.
    pub attempts: u64,
    /// Requests that were answered by the attempt after such a failure.
    pub answered: u64,
    /// What those answers cost.
    #[serde(rename = "cost_usd")]
    pub cost: Money,
}

impl Books {
    /// What the answers cost.
    pub fn spent(&self) -> Money {
        self.settled.iter().map(|line| line.cost).sum()
    }

    /// Usable answers of an org.
    pub fn n_succeeded(&self, org: &str) -> u64 {
        let of = |line: &&Settled| line.org == org && line.outcome == Outcome::Succeeded;
        self.settled.iter().filter(of).map(|line| line.n).sum()
    }

    /// Attempts that may have been billed without an answer, and what they cost at most.
    pub fn doubt(&self) -> (u64, Money) {
        (self.doubtful.iter().map(|line| line.n).sum(), self.doubtful.iter().map(|line| line.at_most).sum())
    }

    /// What a day (UTC, `2026-11-29`) cost, surely or perhaps; `out` is not in it.
    pub fn on_day(&self, day: &str) -> Money {
        let of = |days: &BTreeMap<String, Money>| days.get(day).copied().unwrap_or_default();
        of(&self.by_day) + of(&self.doubt_by_day)
    }

    /// Attempts that had to be made again, by cause.
    pub fn re_driven_counts(&self) -> BTreeMap<String, u64> {
        self.re_driven.iter().map(|line| (line.cause.clone(), line.attempts)).collect()
    }

    /// Adds an answer.
    pub fn settle(&mut self, org: &str, path: Route, model: &str, outcome: Outcome, tokens: &Usage, cost: Money) {
        let same = |line: &&mut Settled| {
            line.outcome == outcome
                && line.path == path
                && line.tokens.terms == tokens.terms
                && line.org == org
                && line.model == model
        };
        if let Some(line) = self.settled.iter_mut().find(same) {
            line.n += 1;
            line.tokens += *tokens;
            line.cost += cost;
        } else {
            let (org, model) = (org.to_owned(), model.to_owned());
            self.settled.push(Settled { org, path, model, outcome, n: 1, tokens: *tokens, cost });
        }
    }
}

/// What a run may cost and do at most. Everything is over all of its sessions.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Limits {
    /// What it may cost.
    #[serde(rename = "max_cost_usd", skip_serializing_if = "Option::is_none")]
    pub max_cost: Option<Money>,
    /// What it may cost over an org, by label.
    #[serde(rename = "org_max_cost_usd", skip_serializing_if = "BTreeMap::is_empty")]
    pub of_orgs: BTreeMap<String, Money>,
    /// What all runs together may cost in a day (UTC).
    #[serde(rename = "per_day_usd", skip_serializing_if = "Option::is_none")]
    pub per_day: Option<Money>,
    /// Attempts that it may make.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_requests: Option<u64>,
    /// When it admits nothing more, in milliseconds since 1970 (UTC).
    #[serde(rename = "deadline_ms", skip_serializing_if = "Option::is_none")]
    pub deadline: Option<i64>,
    /// What is done at 80 % of `max_cost` when nobody watches: whether the rest moves to batches.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub to_batch: bool,
}

impl Limits {
    /// How these differ from those of the session before, in words.
    pub fn changes(&self, before: &Limits) -> Vec<String> {
        let said = |limit: Option<String>| limit.unwrap_or_else(|| "none".to_owned());
        let money = |limit: Option<&Money>| limit.map(Money::to_string);
        let number = |limit: Option<u64>| limit.map(|n| n.to_string());
        let mut limits = vec![
            ("max-cost".to_owned(), money(before.max_cost.as_ref()), money(self.max_cost.as_ref())),
            ("max-requests".to_owned(), number(before.max_requests), number(self.max_requests)),
            ("per-day-usd".to_owned(), money(before.per_day.as_ref()), money(self.per_day.as_ref())),
        ];
        let labels: BTreeSet<&String> = before.of_orgs.keys().chain(self.of_orgs.keys()).collect();
        limits.extend(labels.into_iter().map(|label| {
            (format!("max-cost-usd of {label}"), money(before.of_orgs.get(label)), money(self.of_orgs.get(label)))
        }));
        let changed = limits.into_iter().filter(|(_, before, now)| before != now);
        changed.map(|(name, before, now)| format!("{name} from {} to {}", said(before), said(now))).collect()
    }

    /// These, and those of an earlier session where none are given now. A deadline was one of its session, and what is done at
    /// 80 % one of its settings.
    pub fn or(mut self, before: &Limits) -> Limits {
        self.max_cost = self.max_cost.or(before.max_cost);
        self.max_requests = self.max_requests.or(before.max_requests);
        self.per_day = self.per_day.or(before.per_day);
        for (label, max_cost) in &before.of_orgs {
            self.of_orgs.entry(label.clone()).or_insert(*max_cost);
        }
        self
    }
}
