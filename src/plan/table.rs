//! The decision table: for 10 to 1,000,000 requests what the rules say in both preferences, and where the recipe of old
//! disagrees.

use serde::{Deserialize, Serialize};

use crate::catalog::Catalog;
use crate::model::{CostPref, Family, Money, PathChoice, Route, RoutePolicy};

use super::cost::{cost, groups_of};
use super::forecast::{Flows, batch_walls, question, secs};
use super::knobs::Knobs;
use super::recipe::{self, Recipe};
use super::route::{Rule, decide};

/// The numbers of requests of its rows.
pub const SIZES: [u64; 6] = [10, 100, 1_000, 10_000, 100_000, 1_000_000];

/// A row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TableRow {
    /// Requests.
    pub n: u64,
    /// Whether the plan's own number of requests is nearest to this one.
    pub is_current: bool,
    /// When time matters.
    pub latency: TableCell,
    /// When money matters.
    pub cost: TableCell,
    /// Expected seconds of the sync path.
    #[serde(with = "secs")]
    pub sync_wall_s: f64,
    /// Expected seconds of the batch path.
    #[serde(with = "secs")]
    pub batch_wall_s: f64,
    /// Expected cost of the sync path.
    pub sync_cost_usd: Option<Money>,
    /// Expected cost of the batch path.
    pub batch_cost_usd: Option<Money>,
}

/// What is said of a number of requests in one preference.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TableCell {
    /// What the rules say.
    pub route: Route,
    /// The rule that decided.
    pub rule: Rule,
    /// What the recipe table says; `None` for a family that nobody ran.
    pub recipe: Option<Route>,
    /// Whether the two differ.
    pub disagrees: bool,
    /// How they come to differ, in words; empty when they do not.
    pub why: String,
}

pub(super) fn rows(knobs: &Knobs, catalog: &Catalog, flows: &Flows) -> Vec<TableRow> {
    let recipes = recipe::of(catalog.family(&knobs.model));
    let current = nearest(knobs.n_to_send());
    let row = |n: u64| {
        let recipe = recipes.iter().find(|recipe| recipe.n == n);
        let groups = groups_of(knobs, n);
        let (sync, batch) = (cost(&groups, false, catalog), cost(&groups, true, catalog));
        TableRow {
            n,
            is_current: current == Some(n),
            latency: cell(knobs, catalog, n, CostPref::Latency, recipe),
            cost: cell(knobs, catalog, n, CostPref::Cost, recipe),
            sync_wall_s: flows.mid.time(n).secs,
            batch_wall_s: batch_walls(knobs, flows, n).1,
            sync_cost_usd: sync.priced(sync.expected),
            batch_cost_usd: batch.priced(batch.expected),
        }
    };
    SIZES.into_iter().map(row).collect()
}

/// The row that a number of requests belongs to: the nearest by its logarithm.
fn nearest(n: u64) -> Option<u64> {
    let distance = |size: u64| ((n.max(1) as f64).ln() - (size as f64).ln()).abs();
    SIZES.into_iter().min_by(|a, b| distance(*a).total_cmp(&distance(*b)))
}

/// The rules as they are set, but for this preference, with neither a path asked for nor a deadline: the table is about
/// numbers of requests.
fn cell(knobs: &Knobs, catalog: &Catalog, n: u64, pref: CostPref, recipe: Option<&Recipe>) -> TableCell {
    let mut question = question(knobs, catalog, n);
    question.path = PathChoice::Auto;
    question.deadline = None;
    question.policy = RoutePolicy { cost_pref: pref, ..question.policy };
    let decision = decide(&question);
    let recipe = recipe.and_then(|recipe| recipe.route(pref));
    let disagrees = recipe.is_some_and(|route| route != decision.route);
    let why = match recipe {
        Some(route) if disagrees => disagreement(catalog.family(&knobs.model), route, pref, &decision.reason),
        _ => String::new(),
    };
    TableCell { route: decision.route, rule: decision.rule, recipe, disagrees, why }
}

fn disagreement(family: Family, recipe: Route, pref: CostPref, reason: &str) -> String {
    let practice = match (recipe, pref) {
        (Route::Batch, CostPref::Latency) => {
            format!("so many {family} calls were found too dear and too slow on the sync path, also when time mattered")
        }
        (Route::Batch, _) => "batches were taken for so many".to_owned(),
        _ => format!("the sync path took minutes for so many {family} calls, and batches up to a day"),
    };
    format!("the recipe table says {recipe} ({practice}); the rules: {reason}")
}
