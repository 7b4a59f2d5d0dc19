//! The dispatcher: decides which request goes out when, and over which org.
//!
//! ```text
//!   workers ──Attempted──┐                                   ┌──Send──► worker: read the line, call, classify
//!   store ────Synced─────┼─► dispatcher ─ reduce ─ Effects ──┼──Record─► store: journal, fsync, cache
//!   operator ─Command────┘        │                          └──Audit──► store: events.jsonl
//!                                 └─ watch: Arc<Snapshot>, at most ten a second ─► frontends
//! ```
//!
//! The dispatcher is the one owner of all state. What it decides is decided in `reduce`, a pure function of
//! (state, events, now); the async shell around it only carries events in and effects out. Each controller is a file of
//! its own and knows nothing of the others:
//!
//! | file | decides |
//! |---|---|
//! | `window` | how many calls an (organisation, family) bears at once: AIMD |
//! | `pace` | at what rate calls start, by what the headers say is left: never to a 429, never at a colleague's cost |
//! | `growth` | at what rate calls start after the API has said that use grew too sharply |
//! | `ahead` | how far the end of a run is, and which limit comes before it |
//! | `level` | how full a bucket of the API is now, and how much of it others use |
//! | `load` | what a request is likely to take from the token limits |
//! | `squeeze` | whether a colleague or our own use presses on an organisation, in words |
//! | `gate` | how long a 429 closes an organisation |
//! | `breaker` | when an org that fails is left alone, and how it is tried again |
//! | `retry_budget` | how many re-drives an org's successes pay for |
//! | `park` | when an org takes no work until a time or the operator's word |
//! | `organisation` | which keys draw from the same limits |
//! | `preflight` | what is known of each org before the first wave |
//! | `queue` | which request is next, and when a failed one is due again |
//! | `admit` | which org takes it |
//! | `ledger` | nothing: it counts what is reserved, paid, and perhaps paid |
//! | `budget` | whether one more request may be paid for |
//! | `day` | how much of a day's limit this run has claimed, and when it claims more |
//! | `money` | what is said at a share of the budget, and whether the rest moves to batches |
//! | `waits` | nothing: it adds up what a run waits for |
//! | `promise` | how much a death of this process may leave in doubt |
//! | `batch` | all about sub-batches; a part with a reducer of its own |
//! | `rest` | when a run holds, or has come to rest |
//! | `stop` | what ends a run early: its fuse, a reason, the operator |
//! | `command` | what an operator's command does |
//!
//! What has been is kept by `history` (the last two minutes) and `course` (the whole session), in bounded memory.
//!
//! Time is always an argument. Every decision is a notice that says what was seen, what was decided, and why.

mod admit;
mod ahead;
mod alarm;
mod batch;
mod breaker;
mod budget;
mod clock;
mod command;
mod course;
mod day;
mod dispatcher;
mod event;
mod facts;
mod gate;
mod growth;
pub mod handle;
mod hands;
mod history;
mod keep;
mod ledger;
mod level;
mod load;
mod money;
mod organisation;
mod pace;
mod park;
mod preflight;
mod promise;
mod publish;
mod queue;
mod reduce;
mod rest;
mod retry_budget;
mod spec;
mod squeeze;
mod state;
mod stop;
mod suspicion;
#[doc(hidden)]
pub mod testing;
#[cfg(test)]
mod tests;
mod waits;
mod window;
mod worker;

pub use batch::{BatchPlan, PlanError, Shape, harvest_file, plan as plan_batches};
pub use day::{DayClaim, DayGrant, DayLedger};
pub use dispatcher::start;
pub use facts::RunFacts;
pub use handle::EngineHandle;
pub use ledger::Tariff;
pub(crate) use ledger::{at_most, date, day_of};
pub use spec::{EngineSpec, RunEnd, RunSpec, Started};
