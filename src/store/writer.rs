//! The one thread that writes into a run directory: journal, audit trail and state, in groups.
//!
//! An outcome is reported by [`StoreEvent::Synced`] after its fsync, and never before. When the disk is full or gone, all
//! that was received stays in memory, [`StoreEvent::Blocked`] says so once, and the thread tries again until it works.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::audit::AuditEvent;
use super::cache::{Cache, CacheEntry};
use super::cache_writer::CacheWriter;
use super::dir::RunDir;
use super::disk::{Disk, RealDisk};
use super::error::{StoreError, remedy};
use super::group::{Appender, CommitError, Foreign};
use super::journal;
use super::lock::{Held, Tenure};
use super::mailbox::{Receiver, Sender, Woken, mailbox};
use super::state_file::StateFile;
use crate::model::{Outcome, RequestNo, RunSlot};

/// An outcome on its way to the disk.
#[derive(Debug)]
pub struct Record {
    /// The run that it belongs to.
    pub run: RunSlot,
    /// The request.
    pub no: RequestNo,
    /// Its outcome.
    pub outcome: Outcome,
    /// The journal line, from [`journal::line`].
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

#[derive(Default)]
struct Left {
    n_unsynced: u64,
    unwritten: Vec<u8>,
    trouble: Option<String>,
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
    let worker = Worker {
        disk,
        run,
        settings,
        journal: Appender::new(dir.path().join(journal::NAME), Foreign::Refuse),
        audit: Appender::new(dir.path().join(AuditEvent::NAME), Foreign::GoOn),
        dir: dir.path().to_owned(),
        tenure: dir.tenure(),
        cache: cache.map(CacheWriter::spawn),
        state: None,
        done: Vec::new(),
        entries: Vec::new(),
        acks: Vec::new(),
        trouble: None,
        on_event: Box::new(on_event),
    };
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

/// Why nothing can be written.
struct Obstacle {
    /// The file, the reason, the remedy.
    what: String,
    grade: Grade,
}

/// How bad it is; an obstacle that is worse than the one before is reported, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Grade {
    /// Nothing is lost, and the next try may work.
    Passing,
    /// Somebody has changed the journal, and has to change it back.
    Tampered,
    /// Another process owns the directory: nothing is written there any more, whatever becomes of its lock.
    Lost,
}

impl Obstacle {
    fn passing(what: impl std::fmt::Display) -> Obstacle {
        Obstacle { what: what.to_string(), grade: Grade::Passing }
    }

    /// What is said while the writer waits.
    fn message(&self) -> String {
        match self.grade {
            Grade::Passing => format!("{}; nothing is lost, and it is tried again", self.what),
            Grade::Tampered | Grade::Lost => self.what.clone(),
        }
    }
}

struct Worker {
    disk: Box<dyn Disk>,
    dir: std::path::PathBuf,
    tenure: Tenure,
    run: RunSlot,
    settings: WriterSettings,
    journal: Appender,
    audit: Appender,
    state: Option<Box<StateFile>>,
    /// Outcomes that wait in `journal`.
    done: Vec<(RequestNo, Outcome)>,
    entries: Vec<CacheEntry>,
    acks: Vec<Ack>,
    cache: Option<CacheWriter>,
    /// Why nothing can be written.
    trouble: Option<Obstacle>,
    on_event: Box<dyn Fn(StoreEvent) + Send>,
}

impl Worker {
    /// Writes until there will be no more. Once this thread has panicked nothing is written any more: what comes is kept in
    /// memory, and handed back with what was not written.
    fn run(mut self, receiver: &Receiver<Job>) -> Left {
        if catch_unwind(AssertUnwindSafe(|| self.work(receiver))).is_err() {
            let what =
                format!("internal error: the writer of {} broke; stop the run, and resume it", self.dir.display());
            (self.on_event)(StoreEvent::Blocked { message: what.clone(), for_good: true });
            self.trouble = Some(Obstacle { what, grade: Grade::Lost });
            self.heal(receiver);
        }
        let n_unsynced = self.done.iter().filter(|(_, outcome)| outcome.is_terminal()).count() as u64;
        // Drops the cache's thread, which waits for its last transaction.
        Left { n_unsynced, unwritten: self.journal.give_up(), trouble: self.trouble.map(|obstacle| obstacle.what) }
    }

    fn work(&mut self, receiver: &Receiver<Job>) {
        let mut jobs = Vec::new();
        loop {
            let mut woken = receiver.first(&mut jobs);
            let urgent = self.take_all(&mut jobs);
            if woken != Woken::Closed && !urgent {
                woken = receiver.until(Instant::now() + self.settings.group, &mut jobs);
                self.take_all(&mut jobs);
            }
            self.commit();
            if woken == Woken::Closed || !self.heal(receiver) {
                break;
            }
        }
        if self.trouble.is_some() {
            self.commit();
        }
    }

    /// While blocked: takes jobs into memory and tries again from time to time. False when there will be no more.
    fn heal(&mut self, receiver: &Receiver<Job>) -> bool {
        let mut jobs = Vec::new();
        while self.trouble.is_some() {
            let until = Instant::now() + self.settings.retry;
            loop {
                let woken = receiver.until(until, &mut jobs);
                self.take_all(&mut jobs);
                match woken {
                    Woken::Posts => {}
                    Woken::InTime => break,
                    Woken::Closed => return false,
                }
            }
            self.commit();
        }
        true
    }

    /// Takes jobs in; true when they should not wait for others.
    fn take_all(&mut self, jobs: &mut Vec<Job>) -> bool {
        let mut urgent = false;
        for job in jobs.drain(..) {
            urgent |= self.take(job);
        }
        urgent
    }

    /// Takes a job in; true when it should not wait for others.
    fn take(&mut self, job: Job) -> bool {
        match job {
            Job::Record(record) => {
                self.journal.waiting().extend_from_slice(&record.line);
                self.done.push((record.no, record.outcome));
                if record.outcome == Outcome::Succeeded && self.cache.is_some() {
                    self.entries.extend(record.cache);
                }
                self.journal.waiting().len() >= MAX_GROUP
            }
            Job::Audit(event) => {
                event.write_to(self.audit.waiting());
                false
            }
            Job::State(state) => {
                self.state = Some(state);
                false
            }
            Job::Flush(ack) => {
                self.acks.push(ack);
                true
            }
        }
    }

    /// Writes and syncs all that waits, and reports it.
    fn commit(&mut self) {
        match self.write() {
            Ok(()) => {
                if self.trouble.take().is_some() {
                    (self.on_event)(StoreEvent::Healed);
                }
                self.acks.drain(..).for_each(|ack| ack());
            }
            Err(obstacle) => {
                if self.trouble.as_ref().is_none_or(|before| before.grade < obstacle.grade) {
                    let for_good = obstacle.grade == Grade::Lost;
                    (self.on_event)(StoreEvent::Blocked { message: obstacle.message(), for_good });
                }
                self.trouble = Some(obstacle);
            }
        }
    }

    /// The journal first, and reported at once: it is what money was paid for.
    fn write(&mut self) -> Result<(), Obstacle> {
        self.check_owner()?;
        self.journal.commit(&*self.disk).map_err(|err| obstacle(self.journal.path(), &err))?;
        if !self.done.is_empty() {
            let done = std::mem::take(&mut self.done);
            (self.on_event)(StoreEvent::Synced { run: self.run, done });
        }
        if let Some(cache) = &mut self.cache {
            cache.send(std::mem::take(&mut self.entries));
        }
        self.audit.commit(&*self.disk).map_err(|err| obstacle(self.audit.path(), &err))?;
        if let Some(state) = &self.state {
            state.save(&self.dir).map_err(Obstacle::passing)?;
            self.state = None;
        }
        Ok(())
    }

    /// A process that has lost its directory once never writes there again: the new owner has read the journal, and goes on
    /// from what it read.
    fn check_owner(&self) -> Result<(), Obstacle> {
        if let Some(Obstacle { what, grade: Grade::Lost }) = &self.trouble {
            return Err(Obstacle { what: what.clone(), grade: Grade::Lost });
        }
        let what = match self.tenure.check().map_err(Obstacle::passing)? {
            Held::Still | Held::Again => return Ok(()),
            Held::Lost(by) => format!(
                "another process took the directory {}: {by} owns it now, because the lock file was removed under the run; \
                 nothing is written there any more: stop this run, the other one goes on",
                self.dir.display()
            ),
            Held::NoDirectory { .. } => {
                let dir = self.dir.display();
                return Err(Obstacle::passing(format!(
                    "failed to write into {dir}: it was moved or deleted under the run; move it back"
                )));
            }
        };
        Err(Obstacle { what, grade: Grade::Lost })
    }
}

fn obstacle(path: &std::path::Path, err: &CommitError) -> Obstacle {
    let path = path.display();
    match err {
        CommitError::Io(err) => Obstacle::passing(format!("failed to write {path}: {err}{}", remedy(err))),
        CommitError::Astray => Obstacle::passing(format!("failed to write {path}: {err}")),
        CommitError::Shortened { .. } | CommitError::Lengthened { .. } => {
            Obstacle { what: format!("failed to write {path}: {err}"), grade: Grade::Tampered }
        }
    }
}

#[cfg(test)]
#[path = "writer_tests.rs"]
mod tests;
