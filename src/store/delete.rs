//! Deleting a run: only what is a run's, and only the run that the operator saw.

use std::path::Path;

use super::dir::{RunDir, is_ours, names, remove};
use super::error::StoreError;
use super::run_file::RunFile;
use super::{lock, members, orders};

/// Deletes a run: the one of this id, with no more outcomes than the operator saw. Files that are not a run's stay, and so
/// does the directory then; the name of one of them is returned.
///
/// `run.json` goes last: a deletion that is cut off leaves a run that can be deleted again, and that no resume takes for a
/// whole one, because its journal has lost outcomes.
///
/// # Errors
/// [`StoreError::NotARun`], [`StoreError::Owned`], [`StoreError::Moved`], [`StoreError::Io`].
pub fn delete_run(dir: &Path, run_id: &str, done: u64) -> Result<Option<String>, StoreError> {
    let (run_dir, run, state) = RunDir::open(dir)?;
    let now_done = state.counts.done();
    if run.run_id != run_id {
        let what = format!("it holds {}, not {run_id}", run.run_id);
        return Err(StoreError::Moved { path: dir.to_owned(), what });
    }
    if now_done > done {
        let what = format!("{now_done} requests are done, not {done}");
        return Err(StoreError::Moved { path: dir.to_owned(), what });
    }
    for folder in [members::NAME, orders::NAME] {
        let folder = dir.join(folder);
        if folder.is_dir() {
            std::fs::remove_dir_all(&folder).map_err(StoreError::io("remove", &folder))?;
        }
    }
    let last = |name: &String| name == RunFile::NAME || name == lock::NAME;
    let (own, foreign): (Vec<String>, Vec<String>) = names(dir)?.into_iter().partition(|name| is_ours(name));
    for name in own.iter().filter(|name| !last(name)) {
        remove(&dir.join(name))?;
    }
    remove(&dir.join(RunFile::NAME))?;
    remove(&dir.join(lock::NAME))?;
    drop(run_dir);
    match foreign.into_iter().next() {
        Some(file) => Ok(Some(file)),
        None => std::fs::remove_dir(dir).map(|()| None).map_err(StoreError::io("remove", dir)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{input_of, run_file};
    use super::*;

    #[test]
    fn a_run_is_deleted_whole_when_it_is_the_one_that_was_seen_and_nobody_owns_it() {
        let temp = tempfile::tempdir().unwrap();
        let dir = temp.path().join("run");
        let input = input_of(&temp.path().join("in.jsonl"), &[("a", "1")]);
        let run = run_file(&input);
        let owner = RunDir::create(&dir, &run).unwrap();
        assert!(matches!(delete_run(&dir, &run.run_id, 0), Err(StoreError::Owned { .. })));
        drop(owner);
        assert!(matches!(delete_run(&dir, "another", 0), Err(StoreError::Moved { .. })));
        std::fs::create_dir(dir.join("members")).unwrap();
        assert_eq!(delete_run(&dir, &run.run_id, 0).unwrap(), None);
        assert!(!dir.exists());
    }

    #[test]
    fn a_run_in_which_more_is_done_than_was_seen_is_left_alone() {
        let temp = tempfile::tempdir().unwrap();
        let dir = temp.path().join("run");
        let input = input_of(&temp.path().join("in.jsonl"), &[("a", "1")]);
        let run = run_file(&input);
        drop(RunDir::create(&dir, &run).unwrap());
        let mut state = super::super::StateFile::fresh(&run);
        (state.counts.unsent, state.counts.succeeded) = (0, 1);
        state.save(&dir).unwrap();
        let error = delete_run(&dir, &run.run_id, 0).unwrap_err().to_string();
        assert!(error.contains("1 requests are done, not 0") && error.contains("look again"), "{error}");
        assert!(RunDir::peek(&dir).is_ok());
    }

    #[test]
    fn files_of_others_stay_and_are_named() {
        let temp = tempfile::tempdir().unwrap();
        let dir = temp.path().join("run");
        let input = input_of(&temp.path().join("in.jsonl"), &[("a", "1")]);
        let run = run_file(&input);
        drop(RunDir::create(&dir, &run).unwrap());
        std::fs::write(dir.join("thesis.txt"), "mine").unwrap();
        assert_eq!(delete_run(&dir, &run.run_id, 0).unwrap().as_deref(), Some("thesis.txt"));
        assert_eq!(names(&dir).unwrap(), ["thesis.txt"]);
    }
}
