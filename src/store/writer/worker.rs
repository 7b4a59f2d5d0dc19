//! The thread itself: takes jobs into memory, commits them in groups, and when nothing can be written keeps all of it and tries
//! again.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::Instant;

use super::{Ack, Job, MAX_GROUP, StoreEvent, WriterSettings};
use crate::model::{Outcome, RequestNo, RunSlot};
use crate::store::audit::AuditEvent;
use crate::store::cache::{Cache, CacheEntry};
use crate::store::cache_writer::CacheWriter;
use crate::store::dir::RunDir;
use crate::store::disk::Disk;
use crate::store::error::remedy;
use crate::store::group::{Appender, CommitError, Foreign};
use crate::store::journal;
use crate::store::lock::{Held, Tenure};
use crate::store::mailbox::{Receiver, Woken};
use crate::store::state_file::StateFile;

/// What was not written when it ended.
#[derive(Default)]
pub(super) struct Left {
    pub(super) n_unsynced: u64,
    pub(super) unwritten: Vec<u8>,
    pub(super) trouble: Option<String>,
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

/// What the thread holds.
pub(super) struct Worker {
    disk: Box<dyn Disk>,
    dir: PathBuf,
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
    /// One that has written nothing yet.
    pub(super) fn new(
        disk: Box<dyn Disk>,
        dir: &RunDir,
        run: RunSlot,
        cache: Option<Cache>,
        settings: WriterSettings,
        on_event: Box<dyn Fn(StoreEvent) + Send>,
    ) -> Worker {
        Worker {
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
            on_event,
        }
    }

    /// Writes until there will be no more. Once this thread has panicked nothing is written any more: what comes is kept in
    /// memory, and handed back with what was not written.
    pub(super) fn run(mut self, receiver: &Receiver<Job>) -> Left {
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

fn obstacle(path: &Path, err: &CommitError) -> Obstacle {
    let path = path.display();
    match err {
        CommitError::Io(err) => Obstacle::passing(format!("failed to write {path}: {err}{}", remedy(err))),
        CommitError::Astray => Obstacle::passing(format!("failed to write {path}: {err}")),
        CommitError::Shortened { .. } | CommitError::Lengthened { .. } => {
            Obstacle { what: format!("failed to write {path}: {err}"), grade: Grade::Tampered }
        }
    }
}
