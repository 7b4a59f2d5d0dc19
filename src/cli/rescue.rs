//! Answers that the run directory does not take when a run is left: kept as journal lines in another place.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

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
    let mut n = 1;
    let (path, mut file) = loop {
        let number = if n == 1 { String::new() } else { format!("-{n}") };
        let path = dir.join(format!("fandeck-rescued-{run_id}{number}.jsonl"));
        match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path) {
            Ok(file) => break (path, file),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => n += 1,
            Err(error) => return Err(error),
        }
    };
    if let Err(error) = file.write_all(lines).and_then(|()| file.sync_all()) {
        // Half of them would be taken for all of them.
        let _ = std::fs::remove_file(&path);
        return Err(error);
    }
    Ok(path)
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
}
