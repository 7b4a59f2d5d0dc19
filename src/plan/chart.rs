//! Wall-clock and cost against the number of requests, for a chart on a logarithmic axis.

use serde::{Deserialize, Serialize};

use crate::catalog::Catalog;
use crate::model::Money;

use super::cost::{cost, groups_of};
use super::forecast::{Flows, batch_walls, secs};
use super::knobs::Knobs;

/// Points of a decade.
const PER_DECADE: i32 = 8;

/// See the module.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Chart {
    /// In the order of their numbers of requests, from 10 to 1,000,000.
    pub points: Vec<ChartPoint>,
    /// The number of requests by which the rules decide.
    pub crossover_n: u64,
    /// The number from which batches were found to be worth their wait for this model; `None` when nobody measured it.
    pub cost_balance_n: Option<u64>,
}

/// A point.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ChartPoint {
    /// Requests.
    pub n: u64,
    /// Expected seconds of the sync path.
    #[serde(with = "secs")]
    pub sync_wall_s: f64,
    /// Seconds of the batch path: if all goes well.
    #[serde(with = "secs")]
    pub batch_wall_s_low: f64,
    /// As expected.
    #[serde(with = "secs")]
    pub batch_wall_s: f64,
    /// If all goes badly.
    #[serde(with = "secs")]
    pub batch_wall_s_high: f64,
    /// Expected cost of the sync path.
    pub sync_cost_usd: Option<Money>,
    /// Expected cost of the batch path.
    pub batch_cost_usd: Option<Money>,
}

pub(super) fn of(knobs: &Knobs, catalog: &Catalog, flows: &Flows, crossover_n: u64) -> Chart {
    let point = |n: u64| {
        let groups = groups_of(knobs, n);
        let (sync, batch) = (cost(&groups, false, catalog), cost(&groups, true, catalog));
        let (batch_wall_s_low, batch_wall_s, batch_wall_s_high) = batch_walls(knobs, flows, n);
        ChartPoint {
            n,
            sync_wall_s: flows.mid.time(n).secs,
            batch_wall_s_low,
            batch_wall_s,
            batch_wall_s_high,
            sync_cost_usd: sync.priced(sync.expected),
            batch_cost_usd: batch.priced(batch.expected),
        }
    };
    let sizes = (PER_DECADE..=6 * PER_DECADE).map(|step| 10_f64.powf(f64::from(step) / f64::from(PER_DECADE)));
    Chart {
        points: sizes.map(|n| point(n.round() as u64)).collect(),
        crossover_n,
        cost_balance_n: catalog.lookup(&knobs.model).and_then(|info| info.cost_balance_n),
    }
}
