//! The one thread that writes into a run directory: journal, audit trail and state, in groups.
//!
//! An outcome is reported by [`StoreEvent::Synced`] after its fsync, and never before. When the disk is full or gone, all
//! that was received stays in memory, [`StoreEvent::Blocked`] says so once, and the thread tries again until it works.

mod worker;

use std::thread::JoinHandle;
use std::time::Duration;

use super::audit::AuditEvent;
use super::cache::{Cache, CacheEntry};
use super::dir::RunDir;
use super::disk::{Disk, RealDisk};
use super::error::StoreError;
use super::mailbox::{Sender, mailbox};
use super::state_file::StateFile;
use crate::model::{Outcome, RequestNo, RunSlot};
use worker::{Left, Worker};

/// An outcome on its way to the disk.
#[derive(Debug)]
pub struct Record {
    /// The run that it belongs to.
    pub run: RunSlot,
    /// The request.
    pub no: RequestNo,
    /// Its outcome.
    pub outcome: Outcome,
    /// The journal line, from [`super::journal::line`].
    pub line: Vec<u8>,
    /// The answer for the cache; only that of `succeeded` is put in.
    pub cache: Option<CacheEntry>,
}

/// Something to do once all that was handed in before it is durable.
pub type Ack = Box<dyn FnOnce() + Send>;

/// Work for the writer.
pub enum Job {
    /// Journal an outcome.
    Record(Record),
    /// Append to the audit trail.
    Audit(AuditEvent),
    /// Rewrite the state; of several in a group only the last is written.
    State(Box<StateFile>),
    /// Sync now, then call back, on the writer's thread.
    Flush(Ack),
}

/// What the writer reports, on its own thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreEvent {
    /// These are durable.
    Synced {
        /// The run.
        run: RunSlot,
        /// The requests and their outcomes, in the order in which they were handed in.
        done: Vec<(RequestNo, Outcome)>,
    },
    /// Nothing can be written; all that is received is kept in memory, and tried again. Admit no more.
    Blocked {
        /// The file, the reason, the remedy.
        message: String,
        /// It will never work again: the directory is another process's.
        for_good: bool,
    },
    /// It works again.
    Healed,
}

/// How the writer behaves.
#[derive(Debug, Clone, Copy)]
pub struct WriterSettings {
    /// Longest time that an outcome waits for others to be synced with; 0..=200 ms.
    pub group: Duration,
    /// Time between tries while blocked.
    pub retry: Duration,
}

impl Default for WriterSettings {
    fn default() -> WriterSettings {
        WriterSettings { group: Duration::from_millis(50), retry: Duration::from_secs(1) }
    }
}

/// Bytes that are not kept waiting for the group's time to pass.
const MAX_GROUP: usize = 4 << 20;

/// Longest time of a group, whatever the settings say: outcomes are synced at most this far apart.
const MAX_SPAN: Duration = Duration::from_millis(200);

/// The writer's end that stays with the engine. Dropping it is as closing it: what waits is written first, and the directory
/// is let go of last.
#[derive(Debug)]
pub struct Writer {
    thread: Thread,
    dir: RunDir,
}

/// The thread, which ends when its sender does.
#[derive(Debug)]
struct Thread {
    sender: Option<Sender<Job>>,
    handle: Option<JoinHandle<Left>>,
}

/// What is left when a writer has been closed.
#[derive(Debug)]
pub struct Closed {
    /// The directory, still owned.
    pub dir: RunDir,
    /// Terminal outcomes that could not be made durable, and are lost with the process: zero when all is well.
    pub n_unsynced: u64,
    /// The journal lines of all outcomes that could not be made durable, to be kept elsewhere.
    pub unwritten: Vec<u8>,
    /// Why.
    pub trouble: Option<String>,
}

/// Starts the writer of a run. The journal must have been recovered, unless the run is new.
///
/// # Errors
/// [`StoreError::Io`] when the system has no thread to give; the directory is let go of.
pub fn spawn(
    dir: RunDir,
    run: RunSlot,
    cache: Option<Cache>,
    settings: WriterSettings,
    on_event: impl Fn(StoreEvent) + Send + 'static,
) -> Result<Writer, StoreError> {
    let settings = WriterSettings { group: settings.group.min(MAX_SPAN), ..settings };
    spawn_on(Box::new(RealDisk), dir, run, cache, settings, on_event)
}

/// As [`spawn`], on a disk of the caller's, and with any time of a group.
fn spawn_on(
    disk: Box<dyn Disk>,
    dir: RunDir,
    run: RunSlot,
    cache: Option<Cache>,
    settings: WriterSettings,
    on_event: impl Fn(StoreEvent) + Send + 'static,
) -> Result<Writer, StoreError> {
    let (sender, receiver) = mailbox(MAX_GROUP);
    let worker = Worker::new(disk, &dir, run, cache, settings, Box::new(on_event));
    let handle = std::thread::Builder::new()
        .name("store".to_owned())
        .spawn(move || worker.run(&receiver))
        .map_err(StoreError::io("start the writer of", dir.path()))?;
    Ok(Writer { thread: Thread { sender: Some(sender), handle: Some(handle) }, dir })
}

impl Writer {
    /// Hands in work; never waits.
    pub fn send(&self, job: Job) {
        if let Some(sender) = &self.thread.sender {
            let weight = match &job {
                Job::Record(record) => record.line.len(),
                Job::Flush(_) => usize::MAX,
                Job::Audit(_) | Job::State(_) => 0,
            };
            sender.post(job, weight);
        }
    }

    /// The run directory.
    pub fn dir(&self) -> &std::path::Path {
        self.dir.path()
    }

    /// Writes all that was handed in, waits for it, and gives the directory back. While the disk is full it tries once
    /// more and then says what is lost: wait for [`StoreEvent::Healed`] first if that must not be.
    ///
    /// Blocks for as long as an fsync and the last transaction of the cache take.
    pub fn close(self) -> Closed {
        let Writer { mut thread, dir } = self;
        let Left { n_unsynced, unwritten, trouble } = thread.join();
        Closed { dir, n_unsynced, unwritten, trouble }
    }
}

impl Thread {
    fn join(&mut self) -> Left {
        drop(self.sender.take());
        match self.handle.take().map(JoinHandle::join) {
            Some(Ok(left)) => left,
            Some(Err(_)) => Left { trouble: Some("the store's thread broke".to_owned()), ..Left::default() },
            None => Left::default(),
        }
    }
}

impl Drop for Thread {
    fn drop(&mut self) {
        self.join();
    }
}

#[cfg(test)]
mod tests;
