//! The run directory and the cache: what is durable, and how it is found again.
//!
//! A run directory has one owner at a time, by a lock that the system takes back when its owner dies ([`lock`]). Outcomes go to the
//! [`journal`] through the one thread of the [`writer`], which reports them as done after their fsync and never before.
//! What the journal holds is read back by [`recovery`] and by [`export`]. The [`cache`] is advice: its trouble is a warning.
//!
//! `input.jsonl` is a spooled standard input; the other files are as the crate's documentation has them.

pub mod audit;
pub mod backfill;
mod batches_view;
pub mod browse;
pub mod cache;
pub mod change;
mod delete;
pub mod dir;
pub mod error;
pub mod export;
pub mod history;
pub mod hits;
pub mod journal;
pub mod listing;
pub mod lock;
pub mod members;
pub mod orders;
pub mod outcomes;
pub mod recovery;
pub mod row;
pub mod run_file;
mod shared_file;
mod spend;
pub mod stamp;
pub mod state_file;
pub mod sub_batch;
pub mod writer;

mod atomic;
mod cache_writer;
mod copies;
mod disk;
mod group;
mod mailbox;
mod resolve;

pub use atomic::{load as load_file, save as save_file, scratch_file};
pub use audit::AuditEvent;
pub use backfill::backfill;
pub use batches_view::{batches_view, sub_batch_view};
pub use browse::Browser;
pub use cache::{Cache, CacheEntry, CacheError};
pub use change::{InputChange, compare_input};
pub use delete::delete_run;
pub use dir::{Claim, RunDir, RunPeek};
pub use error::StoreError;
pub use export::{LastLines, without_meta};
pub use history::{History, HistoryError, OrgRun, SubBatchRun};
pub use hits::take_hits;
pub use journal::LineMeta;
pub use listing::{Listed, forget_run, list_runs, list_runs_by, remember_run};
pub use lock::Owner;
pub use members::Members;
pub use outcomes::{OutcomeLine, for_each_outcome};
pub use recovery::{Last, Recovered, Torn, recover};
pub use row::Row;
pub use run_file::{InputFile, RunFile};
pub use spend::{Spend, SpendError};
pub use state_file::{OrgState, StateFile};
pub use sub_batch::{SubBatchEntry, Tally};
pub use writer::{Closed, Job, Record, StoreEvent, Writer, WriterSettings, spawn};

#[cfg(test)]
mod cache_tests;
#[cfg(test)]
mod tests;
