//! The runs under a data directory.

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};

use super::dir::{RunDir, RunPeek};
use super::error::StoreError;

/// How the links begin that lead to run directories elsewhere.
const ELSEWHERE: &str = "elsewhere-";

/// Makes a run directory that is not right below the data directory findable there, by a link. Does nothing when it is, or
/// when the link is there.
///
/// # Errors
/// [`StoreError::Io`].
pub fn remember_run(data_dir: &Path, run_dir: &Path) -> Result<(), StoreError> {
    let target = std::fs::canonicalize(run_dir).map_err(StoreError::io("find", run_dir))?;
    std::fs::create_dir_all(data_dir).map_err(StoreError::io("create", data_dir))?;
    let parent = std::fs::canonicalize(data_dir).map_err(StoreError::io("find", data_dir))?;
    if target.parent() == Some(&*parent) {
        return Ok(());
    }
    let link = link_to(data_dir, &target);
    match std::os::unix::fs::symlink(&target, &link) {
        Err(err) if err.kind() != io::ErrorKind::AlreadyExists => Err(StoreError::io("create", &link)(err)),
        _ => Ok(()),
    }
}

/// Takes the link to a run directory away, if there is one.
pub fn forget_run(data_dir: &Path, run_dir: &Path) {
    // A link that leads nowhere is passed over by the list.
    let _ = std::fs::remove_file(link_to(data_dir, run_dir));
}

/// The link's name follows from the place, so that there is one a place.
fn link_to(data_dir: &Path, target: &Path) -> PathBuf {
    data_dir.join(format!("{ELSEWHERE}{:08x}", crc32fast::hash(target.as_os_str().as_encoded_bytes())))
}

/// A directory that holds a run, or was one.
#[derive(Debug)]
pub struct Listed {
    /// The directory.
    pub dir: PathBuf,
    /// The run, or why it cannot be read.
    pub run: Result<RunPeek, StoreError>,
}

/// The run directories right below a directory, newest first; those that cannot be read come last. Other files and
/// directories are passed over, links to run directories elsewhere are followed, and a data directory that does not exist yet has no runs.
///
/// # Errors
/// When the data directory cannot be read.
pub fn list_runs(data_dir: &Path) -> Result<Vec<Listed>, StoreError> {
    list_runs_by(data_dir, &mut |_| true)
}

/// As [`list_runs`], with a word to say before each directory is looked into, which may be on a disk that does not answer: one
/// for which `look` is false is passed over. A link is named by its own path, as to follow it is to look.
///
/// # Errors
/// When the data directory cannot be read.
pub fn list_runs_by(data_dir: &Path, look: &mut dyn FnMut(&Path) -> bool) -> Result<Vec<Listed>, StoreError> {
    let entries = match std::fs::read_dir(data_dir) {
        Ok(entries) => entries,
        Err(err) if err.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(err) => return Err(StoreError::io("read", data_dir)(err)),
    };
    let mut listed = Vec::new();
    let mut seen = HashSet::new();
    for entry in entries {
        let entry = entry.map_err(StoreError::io("read", data_dir))?;
        let mut dir = entry.path();
        if !look(&dir) {
            continue;
        }
        if entry.file_type().is_ok_and(|kind| kind.is_symlink()) {
            // One that leads nowhere: the run was deleted or its disk is not there.
            let Ok(target) = std::fs::canonicalize(&dir) else { continue };
            dir = target;
        }
        if !seen.insert(dir.clone()) {
            continue;
        }
        match RunDir::peek(&dir) {
            Err(StoreError::NotARun(_)) => {}
            // A plain file beside the run directories.
            Err(StoreError::Io { source, .. }) if source.kind() == io::ErrorKind::NotADirectory => {}
            run => listed.push(Listed { dir, run }),
        }
    }
    listed.sort_by_key(|listed| {
        let made = listed.run.as_ref().ok().map(|peek| peek.run.created_at);
        (std::cmp::Reverse(made), listed.dir.clone())
    });
    Ok(listed)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{input_of, run_file};
    use super::*;

    #[test]
    fn a_run_elsewhere_is_found_once_by_its_own_path_and_forgotten_with_it() {
        let temp = tempfile::tempdir().unwrap();
        let root = std::fs::canonicalize(temp.path()).unwrap();
        let (data, elsewhere, below) = (root.join("runs"), root.join("mine"), root.join("runs/below"));
        let input = input_of(&root.join("in.jsonl"), &[("a", "1")]);
        for dir in [&elsewhere, &below] {
            drop(RunDir::create(dir, &run_file(&input)).unwrap());
            remember_run(&data, dir).unwrap();
            remember_run(&data, dir).unwrap();
        }
        let dirs = || list_runs(&data).unwrap().into_iter().map(|listed| listed.dir).collect::<HashSet<_>>();
        assert_eq!(dirs(), HashSet::from([elsewhere.clone(), below.clone()]));
        std::fs::remove_dir_all(&elsewhere).unwrap();
        assert_eq!(dirs(), HashSet::from([below]), "a link that leads nowhere is no run");
        forget_run(&data, &elsewhere);
        assert_eq!(std::fs::read_dir(&data).unwrap().count(), 1);
    }
}
