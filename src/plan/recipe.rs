//! The recipe table of the dispatcher that fandeck succeeds: what its operators did for a number of requests.
//!
//! It is shown beside what the rules say, and where the two differ, both are, and the operator chooses.

use crate::model::{CostPref, Family, Route};

/// A row: what was done for so many requests.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Recipe {
    /// Requests.
    pub n: u64,
    /// What was done when time mattered.
    pub latency: Route,
    /// What was done when money mattered.
    pub cost: Route,
    /// Orgs, cap and procs of the sync path.
    pub orgs: usize,
    /// See `orgs`.
    pub cap: u32,
    /// See `orgs`: the fewest and the most.
    pub procs: (u32, u32),
    /// Wall-clock of the sync path, seconds, as was estimated for that client; `None` where none was.
    pub wall_s: Option<(f64, f64)>,
}

const fn row(n: u64, cost: Route, orgs: usize, cap: u32, procs: (u32, u32), wall_s: (f64, f64)) -> Recipe {
    Recipe { n, latency: Route::Sync, cost, orgs, cap, procs, wall_s: Some(wall_s) }
}

use Route::{Batch, Sync};

const SONNET: [Recipe; 6] = [
    row(10, Sync, 1, 10, (1, 1), (0.0, 5.0)),
    row(100, Sync, 1, 100, (1, 1), (5.0, 10.0)),
    row(1_000, Sync, 3, 100, (1, 1), (15.0, 25.0)),
    row(10_000, Sync, 3, 100, (2, 2), (90.0, 120.0)),
    row(100_000, Sync, 3, 100, (4, 4), (360.0, 480.0)),
    row(1_000_000, Batch, 3, 100, (6, 8), (3_600.0, 5_400.0)),
];

const HAIKU: [Recipe; 6] = [
    row(10, Sync, 1, 10, (1, 1), (0.0, 3.0)),
    row(100, Sync, 1, 100, (1, 1), (3.0, 5.0)),
    row(1_000, Sync, 3, 120, (1, 1), (10.0, 15.0)),
    row(10_000, Sync, 3, 120, (1, 2), (45.0, 90.0)),
    row(100_000, Sync, 3, 120, (3, 4), (180.0, 300.0)),
    row(1_000_000, Batch, 3, 120, (8, 8), (1_800.0, 3_000.0)),
];

const OPUS: [Recipe; 6] = [
    row(10, Sync, 1, 10, (1, 1), (5.0, 10.0)),
    row(100, Sync, 1, 40, (1, 1), (10.0, 15.0)),
    row(1_000, Sync, 3, 40, (1, 1), (30.0, 60.0)),
    row(10_000, Sync, 3, 40, (2, 2), (300.0, 600.0)),
    row(100_000, Batch, 3, 40, (4, 4), (2_700.0, 5_400.0)),
    Recipe { n: 1_000_000, latency: Batch, cost: Batch, orgs: 3, cap: 40, procs: (4, 4), wall_s: None },
];

/// The rows of a family; none for a family that nobody ran.
pub fn of(family: Family) -> &'static [Recipe] {
    match family {
        Family::Sonnet => &SONNET,
        Family::Haiku => &HAIKU,
        Family::Opus => &OPUS,
        Family::Fable | Family::Other => &[],
    }
}

impl Recipe {
    /// What was done for a preference; balanced was not asked for at the time.
    pub fn route(&self, pref: CostPref) -> Option<Route> {
        match pref {
            CostPref::Latency => Some(self.latency),
            CostPref::Cost => Some(self.cost),
            CostPref::Balanced => None,
        }
    }
}
