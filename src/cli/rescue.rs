//! Answers that the run directory does not take when a run is left: kept as journal lines in another place, and put into
//! the journal when the run is resumed. Both sides name the file in one way.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Where answers are kept, and looked for: the directory of the logs, then that of temporary files.
pub(crate) fn places(log_dir: Option<&Path>) -> impl Iterator<Item = PathBuf> {
    [log_dir.map(Path::to_owned), Some(std::env::temp_dir())].into_iter().flatten()
}

/// The names of the files of a run, first to last.
fn names(run_id: &str) -> impl Iterator<Item = String> {
    (1..).map(move |n| match n {
        1 => format!("fandeck-rescued-{run_id}.jsonl"),
        n => format!("fandeck-rescued-{run_id}-{n}.jsonl"),
    })
}

/// Writes journal lines to `fandeck-rescued-<run>.jsonl` in the first of these directories that takes them, durably. A file
/// that is there already is left alone, and the new one has a number.
///
/// # Errors
/// What the last directory failed with.
pub(crate) fn keep(dirs: impl Iterator<Item = PathBuf>, run_id: &str, lines: &[u8]) -> io::Result<PathBuf> {
    let mut failed = io::Error::from(io::ErrorKind::NotFound);
    for dir in dirs {
        match keep_in(&dir, run_id, lines) {
            Ok(path) => return Ok(path),
            Err(error) => failed = error,
        }
    }
    Err(failed)
}

fn keep_in(dir: &Path, run_id: &str, lines: &[u8]) -> io::Result<PathBuf> {
    let (path, mut file) = names(run_id)
        .find_map(|name| {
            let path = dir.join(name);
            match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => None,
                other => Some(other.map(|file| (path, file))),
            }
        })
        .unwrap_or_else(|| Err(io::Error::from(io::ErrorKind::AlreadyExists)))?;
    if let Err(error) = file.write_all(lines).and_then(|()| file.sync_all()) {
        // Half of them would be taken for all of them.
        let _ = std::fs::remove_file(&path);
        return Err(error);
    }
    Ok(path)
}

/// Puts what was kept of a run at the end of its journal, durably, and removes the files that had it; returns them. The
/// journal must be ours and end with a whole line. A file of another user is left alone: anybody may write a temporary file.
///
/// # Errors
/// The file that could not be read or removed, or the journal that does not take it. What is in the journal stays in it.
pub(crate) fn take_in(
    dirs: impl Iterator<Item = PathBuf>,
    run_id: &str,
    journal: &Path,
) -> Result<Vec<PathBuf>, (PathBuf, io::Error)> {
    let me = rustix::process::geteuid().as_raw();
    let mut taken = Vec::new();
    for dir in dirs {
        let kept = names(run_id).map(|name| dir.join(name)).map_while(|path| {
            let meta = fs::symlink_metadata(&path).ok()?;
            Some((path, meta.is_file() && meta.uid() == me))
        });
        for (path, _) in kept.filter(|&(_, ours)| ours) {
            let lines = fs::read(&path).map_err(|error| (path.clone(), error))?;
            append(journal, &lines).map_err(|error| (journal.to_owned(), error))?;
            fs::remove_file(&path).map_err(|error| (path.clone(), error))?;
            taken.push(path);
        }
    }
    Ok(taken)
}

/// Appends lines once: a process that died before it removed the file of the lines has them at the end of the journal.
fn append(journal: &Path, lines: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(journal)?;
    if let Some(start) = file.metadata()?.len().checked_sub(lines.len() as u64) {
        let mut end = vec![0; lines.len()];
        file.read_exact_at(&mut end, start)?;
        if end == lines {
            return file.sync_all();
        }
    }
    file.write_all(lines)?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_place_that_takes_them_keeps_them_and_nothing_is_replaced() {
        let temp = tempfile::tempdir().unwrap();
        let keep = |lines: &[u8]| {
            let dirs = [temp.path().join("none"), temp.path().to_owned()];
            keep(dirs.into_iter(), "run-1", lines).unwrap()
        };
        let (first, second) = (keep(b"1\n"), keep(b"2\n"));
        assert_eq!(first, temp.path().join("fandeck-rescued-run-1.jsonl"));
        assert_eq!((std::fs::read(&first).unwrap(), std::fs::read(&second).unwrap()), (b"1\n".into(), b"2\n".into()));
        assert!(super::keep([temp.path().join("none")].into_iter(), "run-1", b"").is_err());
    }

    #[test]
    fn what_was_kept_goes_into_the_journal_once_and_its_files_go() {
        let temp = tempfile::tempdir().unwrap();
        let dirs = || [temp.path().to_owned()].into_iter();
        let journal = temp.path().join("results.jsonl");
        fs::write(&journal, "0\n").unwrap();
        let kept = [keep(dirs(), "run-1", b"1\n2\n").unwrap(), keep(dirs(), "run-1", b"3\n").unwrap()];
        let other = keep(dirs(), "run-2", b"other\n").unwrap();
        assert_eq!(take_in(dirs(), "run-1", &journal).unwrap(), kept);
        assert_eq!(fs::read(&journal).unwrap(), b"0\n1\n2\n3\n");
        assert!(kept.iter().all(|path| !path.exists()) && other.exists());
        // As if the process had died before the file was removed.
        fs::write(&kept[0], "2\n3\n").unwrap();
        assert_eq!(take_in(dirs(), "run-1", &journal).unwrap(), kept[..1]);
        assert_eq!(fs::read(&journal).unwrap(), b"0\n1\n2\n3\n");
    }

    #[test]
    fn a_link_is_not_followed() {
        let temp = tempfile::tempdir().unwrap();
        let (journal, secret) = (temp.path().join("results.jsonl"), temp.path().join("secret"));
        fs::write(&secret, "another's\n").unwrap();
        std::os::unix::fs::symlink(&secret, temp.path().join("fandeck-rescued-run-1.jsonl")).unwrap();
        assert_eq!(take_in([temp.path().to_owned()].into_iter(), "run-1", &journal).unwrap(), Vec::<PathBuf>::new());
        assert!(!journal.exists());
    }
}
