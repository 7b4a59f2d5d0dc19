//! One run, one process, however many copies of its directory there are: what is open in one copy is open in the others, and
//! would be sent and paid for twice.
//!
//! Copies know each other by the run's id: it names a directory in the user's data directory, with a lock in it that the system
//! takes back when its owner dies. The lock of the run directory itself cannot tell, as a copy has a lock file of its own.
//! Copies on other machines, and those of another user, are not seen.

use std::fs::DirBuilder;
use std::io::ErrorKind;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use super::error::StoreError;
use super::lock::{self, Lock};

/// How often the directory of a lock may be taken away by the one before, while it is made anew.
const TRIES: usize = 10;

/// The lock of a run's id. It ends with this value, and with the process in any case.
#[derive(Debug)]
pub(super) struct Copies {
    place: PathBuf,
    _lock: Lock,
}

impl Copies {
    /// Takes the lock of a run's id in `locks`, for the directory `dir`; `None` where there is no place for one, which is no
    /// reason not to run.
    ///
    /// # Errors
    /// [`StoreError::Copied`].
    pub(super) fn exclude(dir: &Path, locks: &Path, run_id: &str) -> Result<Option<Copies>, StoreError> {
        // The id is a line of a file that anybody may have written to, and is to be a name here.
        let is_name = !run_id.is_empty() && run_id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        if !is_name || locks.as_os_str().is_empty() {
            return Ok(None);
        }
        let place = locks.join(run_id);
        let take = || {
            let made = DirBuilder::new().recursive(true).mode(0o700).create(&place);
            made.map_err(StoreError::io("create", &place)).and_then(|()| Lock::take(&place))
        };
        // The one before may take its directory away in the moment between the two.
        let again = (0..TRIES).map(|_| take()).find(|taken| !taken.as_ref().is_err_and(is_gone));
        let taken = again.unwrap_or_else(take);
        match taken {
            Ok(lock) => Ok(Some(Copies { place, _lock: lock })),
            Err(StoreError::Owned { by, .. }) => Err(StoreError::Copied { path: dir.to_owned(), by }),
            Err(error) => {
                tracing::warn!("a copy of this run that is worked on at the same time is not seen: {error}");
                Ok(None)
            }
        }
    }
}

fn is_gone(error: &StoreError) -> bool {
    // There when it was to be made, and not there when it was looked at.
    let passing = [ErrorKind::NotFound, ErrorKind::AlreadyExists];
    matches!(error, StoreError::Io { source, .. } if passing.contains(&source.kind()))
}

impl Drop for Copies {
    fn drop(&mut self) {
        // The lock is held until its file is gone; what stays behind is an empty directory at worst.
        let _ = std::fs::remove_file(self.place.join(lock::NAME));
        let _ = std::fs::remove_dir(&self.place);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn d3_a_copy_of_a_run_is_refused_while_the_run_is_worked_on_and_taken_afterwards() {
        let temp = tempfile::tempdir().unwrap();
        let take = |dir: &str, id: &str| Copies::exclude(Path::new(dir), temp.path(), id);
        let first = take("/runs/a", "run-1").unwrap();
        assert!(first.is_some() && take("/runs/b", "run-2").unwrap().is_some());
        let refused = take("/copies/a", "run-1").unwrap_err();
        assert!(matches!(refused, StoreError::Copied { .. }), "{refused}");
        let text = refused.to_string();
        assert!(
            text.contains("/copies/a is a copy of a run") && text.contains(&std::process::id().to_string()),
            "{text}"
        );
        drop(first);
        assert!(take("/copies/a", "run-1").unwrap().is_some());
        assert_eq!(std::fs::read_dir(temp.path()).unwrap().count(), 0);
    }

    #[test]
    fn one_that_ends_while_the_next_begins_does_not_leave_that_without_a_lock() {
        let temp = tempfile::tempdir().unwrap();
        let come_and_go = || {
            for _ in 0..500 {
                match Copies::exclude(Path::new("/runs/a"), temp.path(), "run-1") {
                    Ok(taken) => assert!(taken.is_some()),
                    Err(error) => assert!(matches!(error, StoreError::Copied { .. }), "{error}"),
                }
            }
        };
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(come_and_go);
            }
        });
    }

    #[test]
    fn where_there_is_no_place_for_the_lock_the_run_goes_on_without() {
        let temp = tempfile::tempdir().unwrap();
        let file = temp.path().join("file");
        std::fs::write(&file, "").unwrap();
        for (locks, id) in [(&*file, "run-1"), (Path::new(""), "run-1"), (temp.path(), "../run"), (temp.path(), "")] {
            assert!(Copies::exclude(Path::new("/runs/a"), locks, id).unwrap().is_none(), "{id}");
        }
    }
}
