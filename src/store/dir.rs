//! A run directory: who may make one, who may take one, and what can be seen of one from outside.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::atomic::TEMP_SUFFIX;
use super::audit::AuditEvent;
use super::copies::Copies;
use super::error::StoreError;
use super::lock::{Held, Lock, Owner, Tenure};
use super::members::{self, Members};
use super::run_file::RunFile;
use super::state_file::StateFile;
use super::{journal, lock, orders, stamp};

/// A run directory that this process owns, until the value is dropped.
#[derive(Debug)]
pub struct RunDir {
    path: PathBuf,
    /// See [`RunDir::exclude_copies`]. Before the lock, so that it is let go of before it: whoever gets the lock gets this, too.
    _copies: Option<Copies>,
    lock: Lock,
}

/// A directory that is ours and holds no run yet: the place to spool standard input to before the run is known.
///
/// Dropped without a run having been started, it leaves nothing behind: a file that was refused is no run.
#[derive(Debug)]
pub struct Claim {
    path: PathBuf,
    /// `None` when a run has been started.
    lock: Option<Lock>,
    /// The directory was not there before.
    made: bool,
}

/// A run as seen from outside, at one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct RunPeek {
    /// Its directory.
    pub dir: PathBuf,
    /// What it is.
    pub run: RunFile,
    /// Where it was when its state was written last.
    pub state: StateFile,
    /// Who owns it now; `None` when nobody does.
    pub owner: Option<Owner>,
    /// Time since the last heartbeat; zero when the clock went back.
    pub heartbeat_age: Duration,
}

/// The spooled standard input.
const SPOOLED: &str = "input.jsonl";

impl RunDir {
    /// Makes a run: the directory (mode 0700), the lock, `run.json` and a fresh `state.json`.
    ///
    /// # Errors
    /// As for [`RunDir::claim`]; [`StoreError::Io`].
    pub fn create(dir: &Path, run: &RunFile) -> Result<RunDir, StoreError> {
        RunDir::claim(dir)?.start(run)
    }

    /// Takes a directory for a new run, making it if need be. An empty one is taken, and one whose run sent nothing.
    ///
    /// # Errors
    /// [`StoreError::HoldsRun`], [`StoreError::ForeignFile`], [`StoreError::Owned`], [`StoreError::Io`].
    pub fn claim(dir: &Path) -> Result<Claim, StoreError> {
        let dir = &*absolute(dir)?;
        let made = !dir.exists();
        DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(StoreError::io("create", dir))?;
        // Before the lock, which is a file too: nothing is left in a directory of somebody else's.
        refuse_foreign(dir)?;
        let lock = Lock::take(dir)?;
        if sent_something(dir)? {
            return Err(StoreError::HoldsRun(dir.to_owned()));
        }
        Ok(Claim { path: dir.to_owned(), lock: Some(lock), made })
    }

    /// Takes a run to go on with it. A missing `state.json` is the moment right after the run was made: a fresh one is
    /// returned, and the journal says the rest. Follow with [`super::recover`] before anything is written.
    ///
    /// # Errors
    /// [`StoreError::NotARun`], [`StoreError::Owned`], [`StoreError::Corrupt`], [`StoreError::NewerVersion`],
    /// [`StoreError::Io`].
    pub fn open(dir: &Path) -> Result<(RunDir, RunFile, StateFile), StoreError> {
        let dir = &*absolute(dir)?;
        // Before the lock: no lock file is left in a directory that holds no run.
        RunFile::load(dir)?;
        let lock = Lock::take(dir)?;
        let run = RunFile::load(dir)?;
        let state = StateFile::load(dir)?.unwrap_or_else(|| StateFile::fresh(&run));
        remove_leftovers(dir)?;
        Ok((RunDir { path: dir.to_owned(), lock, _copies: None }, run, state))
    }

    /// Whether a path names one of a run's own files, which nobody else may write: by the directory that it leads to, however
    /// it is spelt.
    pub fn owns(dir: &Path, path: &Path) -> bool {
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let same = matches!((dir.canonicalize(), parent.canonicalize()), (Ok(run), Ok(other)) if run == other);
        same && path.file_name().and_then(|name| name.to_str()).is_some_and(is_ours)
    }

    /// Looks at a run without taking it; never waits.
    ///
    /// # Errors
    /// As for [`RunDir::open`], but for [`StoreError::Owned`].
    pub fn peek(dir: &Path) -> Result<RunPeek, StoreError> {
        let dir = &*absolute(dir)?;
        let run = RunFile::load(dir)?;
        let state = || Ok(StateFile::load(dir)?.unwrap_or_else(|| StateFile::fresh(&run)));
        let (state, owner) = with_owner(state, || Lock::owner(dir))?;
        let age_ms = stamp::now().0.saturating_sub(state.heartbeat_at.0);
        let heartbeat_age = Duration::from_millis(u64::try_from(age_ms).unwrap_or(0));
        Ok(RunPeek { dir: dir.to_owned(), run, state, owner, heartbeat_age })
    }

    /// Makes sure that nobody works on a copy of the run while this one is held; copies meet in `locks`.
    ///
    /// # Errors
    /// [`StoreError::Copied`].
    pub fn exclude_copies(&mut self, locks: &Path, run_id: &str) -> Result<(), StoreError> {
        self._copies = Copies::exclude(&self.path, locks, run_id)?;
        Ok(())
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether this process still owns it: somebody may have taken the lock file away, and another process the directory.
    pub fn is_still_ours(&self) -> bool {
        matches!(self.tenure().check(), Ok(Held::Still | Held::Again))
    }

    /// To see that from another thread.
    pub(super) fn tenure(&self) -> Tenure {
        self.lock.tenure(&self.path)
    }

    /// The journal's file.
    pub fn journal_path(&self) -> PathBuf {
        self.path.join(journal::NAME)
    }
}

/// Looks until the state was read between two looks at the owner that say the same: a run that ends, or begins, between one
/// look at each would be taken for one that was killed.
fn with_owner<S, O, E>(
    mut state: impl FnMut() -> Result<S, E>,
    mut owner: impl FnMut() -> Result<Option<O>, E>,
) -> Result<(S, Option<O>), E> {
    let mut before = owner()?;
    loop {
        let (state, after) = (state()?, owner()?);
        if before.is_some() == after.is_some() {
            return Ok((state, after));
        }
        before = after;
    }
}

impl Claim {
    /// The directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where to spool standard input to, with [`crate::requests::spool`].
    pub fn spool_path(&self) -> PathBuf {
        self.path.join(SPOOLED)
    }

    /// Makes the run. Whatever a run that sent nothing left behind is gone afterwards; the spooled input stays.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn start(mut self, run: &RunFile) -> Result<RunDir, StoreError> {
        // run.json last: until it is there, the directory holds no run.
        for name in [RunFile::NAME, StateFile::NAME, AuditEvent::NAME, journal::NAME] {
            remove(&self.path.join(name))?;
        }
        if !run.input.spooled {
            remove(&self.path.join(SPOOLED))?;
        }
        Members::remove_all(&self.path)?;
        remove_leftovers(&self.path)?;
        super::atomic::save(&self.path.join(RunFile::NAME), run)?;
        StateFile::fresh(run).save(&self.path)?;
        let lock = match self.lock.take() {
            Some(lock) => lock,
            None => Lock::take(&self.path)?,
        };
        Ok(RunDir { path: self.path.clone(), lock, _copies: None })
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        // A run that is there (it sent nothing, or was being made) stays as it is.
        if self.lock.is_none() || self.path.join(RunFile::NAME).exists() {
            return;
        }
        // Failures leave an empty directory at worst. The lock goes last, and is held until its file is gone.
        let _ = remove(&self.path.join(SPOOLED));
        let _ = remove_leftovers(&self.path);
        let _ = remove(&self.path.join(lock::NAME));
        if self.made {
            // Not the directories above it: others may be about to use them.
            let _ = std::fs::remove_dir(&self.path);
        }
    }
}

/// The directory by a path that holds wherever it is read: in a report, in a script, in another terminal.
fn absolute(dir: &Path) -> Result<PathBuf, StoreError> {
    std::path::absolute(dir).map_err(StoreError::io("find", dir))
}

/// Whether a name in a run directory is one that we give.
pub(super) fn is_ours(name: &str) -> bool {
    [RunFile::NAME, StateFile::NAME, AuditEvent::NAME, journal::NAME, lock::NAME, SPOOLED, members::NAME, orders::NAME]
        .contains(&name)
        || name.starts_with("results.torn-")
        || name.ends_with(TEMP_SUFFIX)
}

fn refuse_foreign(dir: &Path) -> Result<(), StoreError> {
    match names(dir)?.into_iter().find(|name| !is_ours(name)) {
        Some(file) => Err(StoreError::ForeignFile { path: dir.to_owned(), file }),
        None => Ok(()),
    }
}

/// Whether the run in a directory, if there is one, has anything to show for itself.
fn sent_something(dir: &Path) -> Result<bool, StoreError> {
    let journal = dir.join(journal::NAME);
    let journaled = match std::fs::metadata(&journal) {
        Ok(meta) => meta.len() > 0,
        Err(err) if err.kind() == io::ErrorKind::NotFound => false,
        Err(err) => return Err(StoreError::io("read", &journal)(err)),
    };
    // A journal that was deleted is no proof that nothing was paid for.
    let has_done = |state: StateFile| state.counts.done() > 0 || !state.sub_batches.is_empty();
    let recorded = || StateFile::load(dir).map(|state| state.is_some_and(has_done));
    let torn = || names(dir).map(|names| names.iter().any(|name| name.starts_with("results.torn-")));
    Ok(journaled || torn()? || recorded()?)
}

pub(super) fn names(dir: &Path) -> Result<Vec<String>, StoreError> {
    let read = || -> io::Result<Vec<String>> {
        std::fs::read_dir(dir)?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
    };
    read().map_err(StoreError::io("read", dir))
}

/// Removes temporary files of owners that died.
fn remove_leftovers(dir: &Path) -> Result<(), StoreError> {
    let members = dir.join(super::members::NAME);
    for dir in [dir, &members].into_iter().filter(|dir| dir.is_dir()) {
        for name in names(dir)?.iter().filter(|name| name.ends_with(TEMP_SUFFIX)) {
            remove(&dir.join(name))?;
        }
    }
    Ok(())
}

pub(super) fn remove(path: &Path) -> Result<(), StoreError> {
    match std::fs::remove_file(path) {
        Err(err) if err.kind() != io::ErrorKind::NotFound => Err(StoreError::io("remove", path)(err)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{input_of, run_file};
    use super::*;

    #[test]
    fn a_claim_that_is_given_up_leaves_nothing_of_its_own_behind() {
        let temp = tempfile::tempdir().unwrap();
        let (new, empty, planned) = (temp.path().join("new"), temp.path().join("empty"), temp.path().join("planned"));
        std::fs::create_dir(&empty).unwrap();
        for dir in [&new, &empty] {
            let claim = RunDir::claim(dir).unwrap();
            crate::requests::spool(&b"{"[..], &claim.spool_path()).unwrap();
        }
        assert!(!new.exists());
        assert!(names(&empty).unwrap().is_empty());
        // A run that sent nothing is still a run.
        let input = input_of(&temp.path().join("in.jsonl"), &[("a", "1")]);
        drop(RunDir::create(&planned, &run_file(&input)).unwrap());
        let before = names(&planned).unwrap();
        drop(RunDir::claim(&planned).unwrap());
        assert_eq!(names(&planned).unwrap(), before);
    }

    #[test]
    fn a_run_that_ends_or_begins_while_it_is_looked_at_is_not_taken_for_one_that_was_killed() {
        let look = |states: [&'static str; 2], owners: [Option<u32>; 3]| {
            let (mut states, mut owners) = (states.into_iter(), owners.into_iter());
            with_owner(|| states.next().ok_or(()), || owners.next().ok_or(()))
        };
        assert_eq!(look(["running", "finished"], [Some(7), None, None]), Ok(("finished", None)));
        assert_eq!(look(["incomplete", "running"], [None, Some(7), Some(7)]), Ok(("running", Some(7))));
        assert_eq!(look(["running", "-"], [Some(7), Some(7), None]), Ok(("running", Some(7))));
    }

    #[test]
    fn d3_who_gets_the_directory_after_another_is_not_taken_for_a_copy() {
        let temp = tempfile::tempdir().unwrap();
        let input = input_of(&temp.path().join("in.jsonl"), &[("a", "1")]);
        let (dir, locks) = (temp.path().join("run"), temp.path().join("locks"));
        drop(RunDir::create(&dir, &run_file(&input)).unwrap());
        let take_it_often = || {
            let mut n_left = 50;
            while n_left > 0 {
                match RunDir::open(&dir) {
                    Ok((mut run_dir, run, _)) => {
                        run_dir.exclude_copies(&locks, &run.run_id).unwrap();
                        assert!(run_dir._copies.is_some());
                        n_left -= 1;
                    }
                    Err(error) => assert!(matches!(error, StoreError::Owned { .. }), "{error}"),
                }
            }
        };
        std::thread::scope(|scope| {
            scope.spawn(take_it_often);
            scope.spawn(take_it_often);
        });
    }
}
