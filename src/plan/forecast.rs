//! A plan: the two routes side by side, the verdict, and what an operator needs to doubt it.

use serde::{Deserialize, Serialize};

use crate::catalog::Catalog;
use crate::model::{Crossover, Money, Route};

use super::assumption::{self, Assumption};
use super::batches;
use super::chart::{self, Chart};
use super::cost::{Cost, cost, groups_of};
use super::deadline::{self, DeadlineView};
use super::figure::End;
use super::flow::{Binding, Flow};
use super::knobs::Knobs;
use super::risk;
use super::route::{Decision, Question, Rule, RuleVerdict, decide};
use super::table::{self, TableRow};

/// See the module. `fandeck plan --json` prints it, and without table and chart it is written to `run.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Requests of the input.
    pub n_total: u64,
    /// Of them: answered already.
    pub n_cached: u64,
    /// Of them: left to send.
    pub n_to_send: u64,
    /// The model, as requests name it.
    pub model: String,
    /// What matters: `latency`, `balanced`, `cost`.
    pub cost_pref: crate::model::CostPref,
    /// The verdict.
    pub route: Route,
    /// Why, in words.
    pub route_reason: String,
    /// The rule that decided.
    pub rule: Rule,
    /// What every rule said.
    pub rules: Vec<RuleVerdict>,
    /// The figures of the verdict's route.
    #[serde(flatten)]
    pub chosen: RouteView,
    /// The figures of the sync path.
    pub sync: RouteView,
    /// The figures of the batch path.
    pub batch: RouteView,
    /// For 10 to 1,000,000 requests, in both preferences.
    #[serde(default)]
    pub table: Vec<TableRow>,
    /// Wall-clock and cost against the number of requests.
    #[serde(default)]
    pub chart: Chart,
    /// Whether the deadline can be kept, and what would keep it; `None` without a deadline.
    pub deadline: Option<DeadlineView>,
    /// Every figure behind the plan, with where it is from.
    pub assumptions: Vec<Assumption>,
    /// What an operator has to know besides: a model that retires, limits that nobody knows.
    pub notes: Vec<String>,
}

/// What a route takes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RouteView {
    /// What keeps it from being faster.
    pub binding: Binding,
    /// Sub-batches that the requests make; of both routes, since the rules look at it.
    pub batch_passes: u64,
    /// How often sub-batches wait for others to end.
    pub batch_waves: u64,
    /// Expected seconds; `null` in JSON when it would never end.
    #[serde(with = "secs")]
    pub wall_s: f64,
    /// If all goes well.
    #[serde(with = "secs")]
    pub wall_s_low: f64,
    /// If all goes badly.
    #[serde(with = "secs")]
    pub wall_s_high: f64,
    /// Expected cost; `null` in JSON when no request has a price.
    pub cost_usd: Option<Money>,
    /// If few tokens are used.
    pub cost_usd_low: Option<Money>,
    /// If many are.
    pub cost_usd_high: Option<Money>,
    /// Requests whose model has no price; they are in no sum.
    pub n_unpriced: u64,
    /// What can go wrong, in words.
    pub risks: Vec<String>,
}

impl RouteView {
    /// The expected cost and its interval, for a gate or a budget.
    pub fn cost(&self, n: u64) -> Cost {
        Cost {
            n,
            n_unpriced: self.n_unpriced,
            low: self.cost_usd_low.unwrap_or_default(),
            expected: self.cost_usd.unwrap_or_default(),
            high: self.cost_usd_high.unwrap_or_default(),
        }
    }
}

impl Plan {
    /// Makes the plan of these knobs. Pure, and fast enough for every key that an operator presses.
    pub fn of(knobs: &Knobs, catalog: &Catalog) -> Plan {
        let n = knobs.n_to_send();
        let question = question(knobs, catalog, n);
        let Decision { route, rule, reason, rules } = decide(&question);
        let flows = Flows::of(knobs);
        let (sync, batch) = views(knobs, catalog, &flows, n);
        let mut notes = assumption::notes(knobs, catalog);
        if [&sync, &batch].iter().any(|view| view.cost_usd_high == Some(Money(u64::MAX))) {
            notes.push(format!("the cost is more than can be counted, which is {}", Money(u64::MAX)));
        }
        let chosen = if route == Route::Batch { batch.clone() } else { sync.clone() };
        Plan {
            n_total: knobs.n_total,
            n_cached: knobs.n_cached,
            n_to_send: n,
            model: knobs.model.clone(),
            cost_pref: knobs.policy.cost_pref,
            route,
            route_reason: reason,
            rule,
            rules,
            table: table::rows(knobs, catalog, &flows),
            chart: chart::of(knobs, catalog, &flows, question.crossover),
            deadline: knobs.deadline.map(|by| deadline::view(knobs, &flows, route, by)),
            assumptions: assumption::of(knobs),
            notes,
            chosen,
            sync,
            batch,
        }
    }

    /// What the verdict's route costs.
    pub fn cost(&self) -> Cost {
        self.chosen.cost(self.n_to_send)
    }
}

/// What the rules are asked for `n` requests.
pub(super) fn question(knobs: &Knobs, catalog: &Catalog, n: u64) -> Question {
    Question {
        n,
        path: knobs.path,
        policy: knobs.policy,
        crossover: crossover(knobs, catalog),
        deadline: knobs.deadline,
        sub_batch_size: knobs.batch.size,
    }
}

/// The crossover in requests.
pub(super) fn crossover(knobs: &Knobs, catalog: &Catalog) -> u64 {
    match knobs.policy.crossover {
        Crossover::Requests(n) => n,
        Crossover::PerModel => {
            catalog.lookup(&knobs.model).and_then(|info| info.cost_balance_n).unwrap_or(Crossover::DEFAULT)
        }
    }
}

/// The sync path's flow with each end of the figures.
pub(super) struct Flows {
    /// If all goes well.
    pub(super) low: Flow,
    /// As expected.
    pub(super) mid: Flow,
    /// If all goes badly.
    pub(super) high: Flow,
}

impl Flows {
    fn of(knobs: &Knobs) -> Flows {
        let flow = |end| Flow::of(knobs, knobs.dispatch.procs, end);
        Flows { low: flow(End::Low), mid: flow(End::Mid), high: flow(End::High) }
    }
}

/// What `n` requests of the knobs cost on a route. It is the cost of a plan, and what gates go by.
pub fn cost_of(knobs: &Knobs, route: Route, n: u64, catalog: &Catalog) -> Cost {
    let groups = groups_of(knobs, n);
    let alone = cost(&groups, false, catalog);
    if route != Route::Batch {
        return alone;
    }
    let mut halved = cost(&groups, true, catalog);
    if risk::may_be_driven_again(knobs) {
        // What the escape cancels is sent again at full price.
        halved.high = alone.high;
    }
    halved
}

/// Both routes for `n` requests.
fn views(knobs: &Knobs, catalog: &Catalog, flows: &Flows, n: u64) -> (RouteView, RouteView) {
    let waves = batches::waves(knobs, n);
    let mid = flows.mid.time(n);
    let view = |binding, (low, mid, high), cost: Cost, risks| RouteView {
        binding,
        batch_passes: waves.passes,
        batch_waves: waves.waves,
        wall_s: mid,
        wall_s_low: low,
        wall_s_high: high,
        cost_usd: cost.priced(cost.expected),
        cost_usd_low: cost.priced(cost.low),
        cost_usd_high: cost.priced(cost.high),
        n_unpriced: cost.n_unpriced,
        risks,
    };
    let walls = (flows.low.time(n).secs, mid.secs, flows.high.time(n).secs);
    let sync = view(mid.binding, walls, cost_of(knobs, Route::Sync, n, catalog), risk::of_sync(knobs, flows, n));
    let walls = batch_walls(knobs, flows, n);
    let batch = view(waves.binding, walls, cost_of(knobs, Route::Batch, n, catalog), risk::of_batch(knobs, &waves));
    (sync, batch)
}

/// Seconds of the batch path: low, expected, high.
pub(super) fn batch_walls(knobs: &Knobs, flows: &Flows, n: u64) -> (f64, f64, f64) {
    let waves = batches::waves(knobs, n);
    let wall = |end| batches::wall_s(knobs, &waves, end);
    let again = if n > 0 && risk::may_be_driven_again(knobs) { flows.high.time(n).secs } else { 0.0 };
    (wall(End::Low), wall(End::Mid), wall(End::High) + again)
}

/// Seconds in JSON, where there is no infinity.
pub(super) mod secs {
    use serde::{Deserialize, Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(secs: &f64, to: S) -> Result<S::Ok, S::Error> {
        // A thousandth is more than any of these figures knows.
        if secs.is_finite() { to.serialize_f64((secs * 1e3).round() / 1e3) } else { to.serialize_none() }
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
        Ok(Option::<f64>::deserialize(from)?.unwrap_or(f64::INFINITY))
    }
}
