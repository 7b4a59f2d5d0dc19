//! The batch part of the dispatcher: sub-batches from their plan to their harvest, and the escape from one that is stuck.
//!
//! ```text
//!   planned ─► creating ─► in-progress ─► cancel-requested ─► canceling ─┐
//!                 │  ▲          └───────────────┬────────────────────────┴► ended ─► harvesting ─► harvested
//!                 ▼  └ planned, when the list does not have it                            │
//!               adrift ─► in-progress · canceling · ended                                 └► what was not processed: sync path
//! ```
//!
//! It stands beside the sync path and has its own reducer, `part`: events in, wishes out, the time as an argument. What it
//! wishes of the rest (requests to the sync path, an org parked, a notice) is carried out by `apply`, which is the only
//! file that knows both sides; `orders` are the operator's commands. Intents are durable before the call that they announce, its answer after; so that whatever
//! dies, the next session knows what may have happened at the API.
//!
//! | file | decides |
//! |---|---|
//! | `split` | which requests make a sub-batch |
//! | `pilot` | whether the shapes of the requests are right, before a batch is made of them |
//! | `open` | when and where a sub-batch is created, and what the answer means |
//! | `fit` | what becomes of a planned one that the budget does not hold |
//! | `search`, `adopt` | what becomes of a create without an answer: which batch of the org's list is ours |
//! | `watch`, `poll` | when it is asked for, and what the answers mean |
//! | `api_clock` | what time it is at the API |
//! | `stuck` | whether it is stuck |
//! | `gather` | what a harvest means; `harvest` reads the results, on a thread of its own |

mod act;
mod adopt;
mod api_clock;
mod apply;
mod body;
mod fit;
mod gather;
mod harvest;
mod measure;
mod open;
mod orders;
mod part;
mod pilot;
mod plan;
mod poll;
mod search;
mod shell;
mod split;
mod stuck;
mod sub;
#[cfg(test)]
mod tests;
mod view;
mod watch;

pub(crate) use act::{BatchEffect, BatchEvent, Happened, Step, ToDo};
pub(crate) use apply::{event, fit, is_at_work, is_quiet, tick, wants};
pub use measure::harvest_file;
pub(crate) use orders::{cancel_sub_batch, finish_on_sync, leave_sub_batch, re_drive_sub_batch};
pub(crate) use part::BatchRun;
pub use pilot::Shape;
pub use plan::{BatchPlan, PlanError, plan};
pub(crate) use plan::{begin, move_over};
pub(crate) use shell::Shell;
pub(crate) use view::picture;
