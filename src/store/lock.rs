//! Who owns a run directory: a lock that the system takes back when its owner dies, and a name for the message.

use std::fmt;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use super::error::StoreError;
use super::stamp;
use crate::model::Wall;

/// The owner of a run directory, as the lock file names it. The lock itself is the system's: a name without a lock is
/// that of a former owner and means nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    /// Its process id; 0 when it is not known (the owner is just writing it).
    pub pid: u32,
    /// The machine that it runs on.
    pub host: String,
    /// When it took the directory.
    #[serde(with = "stamp")]
    pub since: Wall,
}

impl Owner {
    fn this_process() -> Owner {
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        Owner { pid: std::process::id(), host, since: stamp::now() }
    }

    /// Whether it is the process that asks.
    pub fn is_this_process(&self) -> bool {
        let this = Owner::this_process();
        (self.pid, &self.host) == (this.pid, &this.host)
    }

    fn unknown() -> Owner {
        Owner { pid: 0, host: String::new(), since: Wall(0) }
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.pid == 0 {
            return f.write_str("another process");
        }
        write!(f, "process {} on {} since {}", self.pid, self.host, stamp::to_string(self.since))
    }
}

/// The lock's file name in a run directory.
pub(super) const NAME: &str = "lock";

/// A held lock. It ends with this value, and with the process in any case.
#[derive(Debug)]
pub(super) struct Lock {
    /// Replaced by [`Tenure::check`] when the file had to be put back.
    file: Arc<Mutex<File>>,
}

/// A look at a held lock from the thread that writes: a lock is on a file, and whoever takes the file's name away lets
/// another process take a lock of its own. Useless once the [`Lock`] is gone.
#[derive(Debug)]
pub(super) struct Tenure {
    dir: PathBuf,
    file: Arc<Mutex<File>>,
}

/// What has become of a held lock.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Held {
    /// It is ours.
    Still,
    /// Its file had been taken away or replaced; it is ours again, and nobody else had it at that moment.
    Again,
    /// Another process has it.
    Lost(Owner),
    /// There is no such directory any more.
    NoDirectory {
        /// It was deleted, and not moved elsewhere.
        deleted: bool,
    },
}

/// Closing the file is not enough: a child that another thread is just starting has a copy of the handle until it executes
/// its program, and the lock lives as long as the last copy. Taking it back by name ends it for all copies.
impl Drop for Lock {
    fn drop(&mut self) {
        // A failure leaves what closing does.
        let _ = self.file.lock().unwrap_or_else(PoisonError::into_inner).unlock();
    }
}

impl Tenure {
    /// Whether the directory is still ours; puts a lock file that was taken away back. Two `stat` when all is well.
    pub(super) fn check(&self) -> Result<Held, StoreError> {
        let path = self.dir.join(NAME);
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        if is_at(&file, &path) {
            return Ok(Held::Still);
        }
        if !self.dir.try_exists().map_err(StoreError::io("find", &self.dir))? {
            let meta = file.metadata().map_err(StoreError::io("find", &path))?;
            return Ok(Held::NoDirectory { deleted: meta.nlink() == 0 });
        }
        match acquire(&self.dir) {
            Ok(new) => {
                // The old one stays locked until here: there is no moment without a lock of ours.
                *file = new;
                Ok(Held::Again)
            }
            Err(StoreError::Owned { by, .. }) => Ok(Held::Lost(by)),
            Err(err) => Err(err),
        }
    }
}

impl Lock {
    /// Takes the lock of a directory and names this process in it.
    pub(super) fn take(dir: &Path) -> Result<Lock, StoreError> {
        acquire(dir).map(|file| Lock { file: Arc::new(Mutex::new(file)) })
    }

    /// To see from another thread whether it is still held in `dir`, where it was taken.
    pub(super) fn tenure(&self, dir: &Path) -> Tenure {
        Tenure { dir: dir.to_owned(), file: Arc::clone(&self.file) }
    }

    /// Who holds the lock of a directory, if anybody does. Never waits.
    pub(super) fn owner(dir: &Path) -> Result<Option<Owner>, StoreError> {
        let path = dir.join(NAME);
        let mut file = match File::open(&path) {
            Ok(file) => file,
            Err(err) if err.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(err) => return Err(StoreError::io("open", &path)(err)),
        };
        match file.try_lock_shared() {
            // Taken back by name, as in `Drop`.
            Ok(()) => file.unlock().map(|()| None).map_err(StoreError::io("lock", &path)),
            Err(TryLockError::WouldBlock) => Ok(Some(named(&mut file))),
            Err(TryLockError::Error(err)) => Err(StoreError::io("lock", &path)(err)),
        }
    }
}

/// Opens and locks the lock file of a directory, making it if need be, and names this process in it.
fn acquire(dir: &Path) -> Result<File, StoreError> {
    let path = dir.join(NAME);
    let mut file = open(&path)?;
    loop {
        match file.try_lock() {
            // A claim that was given up takes its file away; whoever waited for that one locked nothing.
            Ok(()) if is_at(&file, &path) => break,
            Ok(()) => {
                file = open(&path)?;
                continue;
            }
            Err(TryLockError::Error(err)) => return Err(StoreError::io("lock", &path)(err)),
            Err(TryLockError::WouldBlock) => {}
        }
        // Either an owner, or somebody who looks for one and holds a shared lock for an instant.
        match file.try_lock_shared() {
            Ok(()) => {
                file.unlock().map_err(StoreError::io("lock", &path))?;
                std::thread::yield_now();
            }
            Err(TryLockError::Error(err)) => return Err(StoreError::io("lock", &path)(err)),
            Err(TryLockError::WouldBlock) => {
                return Err(StoreError::Owned { path: dir.to_owned(), by: named(&mut file) });
            }
        }
    }
    let text = serde_json::to_vec(&Owner::this_process()).map_err(io::Error::from);
    if let Err(err) = text.and_then(|text| replace(&mut file, &text)) {
        // Ours until it is unlocked, and worth nothing without a name: a full disk leaves no file behind.
        let _ = std::fs::remove_file(&path);
        return Err(StoreError::io("write", &path)(err));
    }
    Ok(file)
}

fn open(path: &Path) -> Result<File, StoreError> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600);
    options.open(path).map_err(StoreError::io("open", path))
}

/// Whether a path leads to this file.
fn is_at(file: &File, path: &Path) -> bool {
    let identity = |meta: std::fs::Metadata| (meta.dev(), meta.ino());
    match (file.metadata(), std::fs::metadata(path)) {
        (Ok(ours), Ok(there)) => identity(ours) == identity(there),
        _ => false,
    }
}

/// Replaces the content of a small file in place: the lock is on the file, so it cannot be renamed over.
fn replace(file: &mut File, text: &[u8]) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    file.write_all(text)?;
    file.sync_all()
}

/// The owner that a lock file names.
fn named(file: &mut File) -> Owner {
    let mut text = Vec::new();
    let read = file.rewind().and_then(|()| file.take(4_096).read_to_end(&mut text));
    read.ok().and_then(|_| serde_json::from_slice(&text).ok()).unwrap_or_else(Owner::unknown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn d3_a_second_owner_is_told_who_the_first_is_and_the_lock_ends_with_it() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(Lock::owner(dir.path()).unwrap(), None);
        let first = Lock::take(dir.path()).unwrap();
        let Err(StoreError::Owned { by, .. }) = Lock::take(dir.path()) else { panic!("taken twice") };
        assert_eq!(by.pid, std::process::id());
        assert_eq!(Lock::owner(dir.path()).unwrap(), Some(by.clone()));
        assert!(by.to_string().contains(&format!("process {} on ", std::process::id())), "{by}");
        drop(first);
        assert_eq!(Lock::owner(dir.path()).unwrap(), None);
        drop(Lock::take(dir.path()).unwrap());
    }

    #[test]
    fn somebody_who_only_looks_does_not_keep_an_owner_out() {
        let dir = tempfile::tempdir().unwrap();
        drop(Lock::take(dir.path()).unwrap());
        let stop = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                    Lock::owner(dir.path()).unwrap();
                }
            });
            for _ in 0..200 {
                drop(Lock::take(dir.path()).unwrap());
            }
            stop.store(true, std::sync::atomic::Ordering::Relaxed);
        });
    }

    #[test]
    fn a_lock_ends_with_its_owner_although_a_child_that_is_being_started_has_a_copy_of_the_handle() {
        let dir = tempfile::tempdir().unwrap();
        let lock = Lock::take(dir.path()).unwrap();
        let copy_of_the_child = lock.file.lock().unwrap().try_clone().unwrap();
        drop(lock);
        assert_eq!(Lock::owner(dir.path()).unwrap(), None);
        drop(Lock::take(dir.path()).unwrap());
        drop(copy_of_the_child);
    }

    #[test]
    fn a_lock_on_a_file_that_was_taken_away_is_no_lock() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(NAME);
        let file = open(&path).unwrap();
        assert!(is_at(&file, &path));
        std::fs::remove_file(&path).unwrap();
        assert!(!is_at(&file, &path));
        let _again = Lock::take(dir.path()).unwrap();
        assert!(!is_at(&file, &path) && path.exists());
    }

    #[test]
    fn a_lock_file_that_was_taken_away_is_put_back_and_locked_unless_another_process_has_taken_one() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(NAME);
        let first = Lock::take(dir.path()).unwrap();
        let tenure = first.tenure(dir.path());
        assert_eq!(tenure.check().unwrap(), Held::Still);
        std::fs::remove_file(&path).unwrap();
        assert_eq!(tenure.check().unwrap(), Held::Again);
        assert!(matches!(Lock::take(dir.path()), Err(StoreError::Owned { .. })));
        assert_eq!(tenure.check().unwrap(), Held::Still);
        std::fs::remove_file(&path).unwrap();
        let second = Lock::take(dir.path()).unwrap();
        assert!(matches!(tenure.check().unwrap(), Held::Lost(_)));
        assert_eq!(second.tenure(dir.path()).check().unwrap(), Held::Still);
        drop(first);
        assert!(Lock::owner(dir.path()).unwrap().is_some());
    }

    #[test]
    fn an_owner_whose_name_cannot_be_read_is_another_process() {
        assert_eq!(Owner::unknown().to_string(), "another process");
    }
}
