//! What can be wrong with a run directory.

use std::io;
use std::path::{Path, PathBuf};

use super::lock::Owner;
use crate::requests::ReadError;

/// Why a run directory cannot be used as asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// No run in it.
    #[error("{} is not a run directory: it has no run.json; `fandeck runs` lists the runs", .0.display())]
    NotARun(PathBuf),
    /// Another process owns it.
    #[error("{} is owned by {by}; end that process, or watch the run with `fandeck status`", .path.display())]
    Owned {
        /// The directory.
        path: PathBuf,
        /// Who.
        by: Owner,
    },
    /// Another process works on a copy of it.
    #[error(
        "{} is a copy of a run that {by} works on from another directory; let that one come to its end, or what both send is paid twice",
        .path.display()
    )]
    Copied {
        /// The directory.
        path: PathBuf,
        /// Who.
        by: Owner,
    },
    /// It holds a run that has sent something.
    #[error("{dir} holds a run; go on with it by `fandeck resume {dir}`, or name another directory", dir = .0.display())]
    HoldsRun(PathBuf),
    /// It holds files that are no run's.
    #[error("{} holds {file}, which is not a run's; name an empty or a new directory", .path.display())]
    ForeignFile {
        /// The directory.
        path: PathBuf,
        /// One of the files.
        file: String,
    },
    /// It is not what the operator saw.
    #[error("{} is not what was shown: {what}; look again", .path.display())]
    Moved {
        /// The directory.
        path: PathBuf,
        /// The difference.
        what: String,
    },
    /// A file of the run is not what it must be.
    #[error(
        "{} is corrupt ({what}); it is left as it is: put back a good copy, or start a new run of the same input (answers in the cache are not paid again)",
        .path.display()
    )]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// What is wrong, with the place.
        what: String,
    },
    /// A later version wrote it.
    #[error("{} has format {format}, and this version reads up to {known}; use the newer fandeck", .path.display())]
    NewerVersion {
        /// The file.
        path: PathBuf,
        /// Its format.
        format: u32,
        /// The newest format that is known here.
        known: u32,
    },
    /// The input cannot be compared with the journal.
    #[error(transparent)]
    Input(#[from] ReadError),
    /// The system refused.
    #[error("failed to {doing} {}: {source}{}", .path.display(), remedy(.source))]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// The verb: `create`, `write`, `lock`.
        doing: &'static str,
        /// What the system said.
        source: io::Error,
    },
}

impl StoreError {
    /// Wraps what the system said about a path; for `map_err`.
    pub(super) fn io(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> StoreError {
        let path = path.to_owned();
        move |source| StoreError::Io { path, doing, source }
    }
}

/// What to do about an error of the system, led by a semicolon; empty when there is no telling.
pub(super) fn remedy(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "; free some space",
        io::ErrorKind::PermissionDenied => "; make it writable for this user, or name another directory",
        io::ErrorKind::ReadOnlyFilesystem => "; name a directory on a writable file system",
        io::ErrorKind::NotADirectory => "; name a directory",
        _ => "",
    }
}
