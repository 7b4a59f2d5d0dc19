//! What a run would take, cost and risk on each route, and which route the rules choose. Pure: nothing here reads a clock,
//! a file or the network, and a whole [`Plan`] is made in well under a millisecond, so that a screen can make one for
//! every key that is pressed.
//!
//! ```text
//!   Knobs ─┬─ route::decide ─────────── verdict, and what every rule said
//!          ├─ flow: windows, pacing, limits, client ─ wall-clock of the sync path, and what binds
//!          ├─ batches: waves × duration ── wall-clock of the batch path, as a range
//!          ├─ cost: tokens × card ─────── in exact money, half of it in batches
//!          └─ recipe ─────────────────── what operators did before, and where the rules disagree
//! ```
//!
//! Every figure that goes in is a [`Figure`]: a middle, an interval, and whether it is measured or assumed. The ends of all
//! intervals together make the interval of the result.

mod assumption;
mod batches;
mod chart;
mod cost;
mod deadline;
mod figure;
mod flow;
mod forecast;
mod knobs;
mod lognormal;
pub mod recipe;
mod risk;
mod route;
mod table;

pub use assumption::Assumption;
pub use chart::{Chart, ChartPoint};
pub use cost::Cost;
pub use deadline::DeadlineView;
pub use figure::{End, Figure, Origin};
pub use flow::Binding;
pub use forecast::{Plan, RouteView, cost_of};
pub use knobs::{ClientCeiling, Group, Knobs, Latency, Limits, OrgKnobs, Tokens, assumed_sub_batch};
pub use route::{Decision, Question, Rule, RuleVerdict, decide};
pub use table::{SIZES, TableCell, TableRow};

#[cfg(test)]
mod recipe_tests;
#[cfg(test)]
mod tests;
