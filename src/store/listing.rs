//! The runs under a data directory.

use std::io;
use std::path::{Path, PathBuf};

use super::dir::{RunDir, RunPeek};
use super::error::StoreError;

/// A directory that holds a run, or was one.
#[derive(Debug)]
pub struct Listed {
    /// The directory.
    pub dir: PathBuf,
    /// The run, or why it cannot be read.
    pub run: Result<RunPeek, StoreError>,
}

/// The run directories right below a directory, newest first; those that cannot be read come last. Other files and
/// directories are passed over, and a data directory that does not exist yet has no runs.
///
/// # Errors
/// When the data directory cannot be read.
pub fn list_runs(data_dir: &Path) -> Result<Vec<Listed>, StoreError> {
    let entries = match std::fs::read_dir(data_dir) {
        Ok(entries) => entries,
        Err(err) if err.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(err) => return Err(StoreError::io("read", data_dir)(err)),
    };
    let mut listed = Vec::new();
    for entry in entries {
        let dir = entry.map_err(StoreError::io("read", data_dir))?.path();
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
