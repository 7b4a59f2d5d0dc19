//! The simulated API: a stand-in for the Anthropic API, for demos, dry runs, load tests and this crate's own tests.
//!
//! [`Sim`] is the core: one owner of all state behind `&mut self` methods that take the time from their caller. It has
//! no clock, no tasks and no IO; every decision about a request (refused by which limiter, struck by which fault, when
//! and how answered) is made when it [arrives](Sim::arrive), as a pure function of the seed, the request's bytes and
//! how often these bytes were seen before, so a run repeats itself whatever the order of arrival.
//!
//! Around it stand three shells: [`serve`] answers over HTTP, [`serve_control`] shows the counters on a port of its
//! own, and [`InProcess`] is a [`crate::api::Transport`] without sockets, for tests on paused time. All of them hold a
//! [`SharedSim`]: the core, a mutex and a clock that may run faster than real time.
//!
//! What happens in a simulation is written in a [`Scenario`], a TOML file of `assets/scenarios` or the user's own.

mod answer;
mod batch;
mod bodies;
mod bucket;
mod colleague;
mod control;
mod core;
mod failure;
mod fault;
mod ids;
mod in_process;
mod keys;
mod latency;
mod limits;
mod messages;
mod model_list;
mod models;
mod org;
mod other;
mod page;
mod prepare;
mod prices;
mod prompt_cache;
mod ramp;
mod request;
mod scenario;
mod server;
mod shared;
mod stats;
mod ticket;
mod validate;

#[cfg(test)]
mod tests;

pub use self::core::Sim;
pub use answer::{Answer, Thinking, ToolCall, answer_for};
pub use batch::{BatchView, Counts, ResultRows};
pub use control::serve_control;
pub use in_process::InProcess;
pub use request::{MAX_BATCH_BODY, MAX_BODY, Place, SimRequest};
pub use scenario::{DemoHints, OrgSettings, Scenario, ScenarioError};
pub use server::{exposure_warning, serve};
pub use shared::{Flight, SharedSim};
pub use stats::{BatchStats, ColleagueStats, OrgStats, Stats};
pub use ticket::{Delivery, Ending, Fate, SimResponse, Ticket};
