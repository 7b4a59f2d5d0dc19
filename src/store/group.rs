//! Group commit into one append-only file.
//!
//! What is pushed waits in memory until it is written and synced as a whole. When either fails, all of it stays in memory,
//! and the file is cut back to what was synced before anything is written again: a half-written group must not
//! become a torn line in the middle, and after a failed fsync the system may have dropped the pages, so that syncing
//! again would succeed without them.

use std::io;
use std::path::{Path, PathBuf};

use super::disk::{AppendFile, Disk};

/// Room for what waits, kept from group to group; more is given back.
const KEPT_ROOM: usize = 8 << 20;

/// Why what waits could not be made durable. All but [`CommitError::Io`] are somebody else's doing.
#[derive(Debug, thiserror::Error)]
pub(super) enum CommitError {
    /// The system refused.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The path leads elsewhere or nowhere.
    #[error("it was moved, deleted or replaced under the run")]
    Astray,
    /// Bytes that were durable are not in the file any more.
    #[error(
        "it was cut to {len} bytes under the run, and {synced} bytes of it were durable: outcomes that were paid for are \
         gone from it. Nothing is written behind the gap and nothing more is sent; copy those {synced} bytes back into \
         it, or stop the run"
    )]
    Shortened {
        /// Its length.
        len: u64,
        /// The length that it had.
        synced: u64,
    },
    /// There are bytes behind ours.
    #[error(
        "another process appended {} bytes to it under the run; make sure that nothing else writes there, and cut them off \
         by `truncate -s {synced}`", len - synced
    )]
    Lengthened {
        /// Its length.
        len: u64,
        /// The length that it had.
        synced: u64,
    },
}

impl From<CommitError> for io::Error {
    fn from(error: CommitError) -> io::Error {
        match error {
            CommitError::Io(error) => error,
            error => io::Error::other(error),
        }
    }
}

/// What to do about a file whose length is not what was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Foreign {
    /// Write nothing: whatever it is, more would make it worse.
    Refuse,
    /// Go on at the end of it. For records that nothing is derived from.
    GoOn,
}

/// An append-only file and what waits to be appended.
pub(super) struct Appender {
    path: PathBuf,
    file: Option<Box<dyn AppendFile>>,
    /// Length that is durable.
    synced: u64,
    waiting: Vec<u8>,
    /// A write was begun and not synced: bytes of ours may reach up to here.
    dirty: Option<u64>,
    foreign: Foreign,
    /// The path was seen to lead elsewhere; the next try puts the file back.
    astray: bool,
}

impl Appender {
    /// Nothing is opened before the first commit.
    pub(super) fn new(path: PathBuf, foreign: Foreign) -> Appender {
        Appender { path, file: None, synced: 0, waiting: Vec::new(), dirty: None, foreign, astray: false }
    }

    /// The file.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Gives up: what waits is taken out. Half-written bytes are cut off, if the file still is what was left of it, so that
    /// what was taken can be appended later.
    pub(super) fn give_up(&mut self) -> Vec<u8> {
        if let (Some(file), Some(end)) = (&mut self.file, self.dirty) {
            let ours = |len: &u64| (self.synced..=end).contains(len);
            if file.is_at(&self.path).unwrap_or(false) && file.len().is_ok_and(|len| ours(&len)) {
                // A failure leaves an ordinary torn line.
                let _ = file.cut(self.synced);
            }
        }
        std::mem::take(&mut self.waiting)
    }

    /// The bytes that wait, to append to.
    pub(super) fn waiting(&mut self) -> &mut Vec<u8> {
        &mut self.waiting
    }

    /// Writes and syncs all that waits. On an error all of it still waits.
    pub(super) fn commit(&mut self, disk: &dyn Disk) -> Result<(), CommitError> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        let file = match &mut self.file {
            Some(file) => file,
            None => {
                let mut file = disk.open(&self.path)?;
                self.synced = end_of_lines(file.as_mut())?;
                self.file.insert(file)
            }
        };
        if !file.is_at(&self.path)? {
            if !self.astray {
                self.astray = true;
                return Err(CommitError::Astray);
            }
            file.put_back(&self.path, self.synced)?;
            self.dirty = None;
        }
        self.astray = false;
        let (len, synced) = (file.len()?, self.synced);
        if len < synced || len > self.dirty.unwrap_or(synced) {
            match self.foreign {
                Foreign::Refuse if len < synced => return Err(CommitError::Shortened { len, synced }),
                Foreign::Refuse => return Err(CommitError::Lengthened { len, synced }),
                Foreign::GoOn => self.synced = end_of_lines(file.as_mut())?,
            }
        } else if self.dirty.is_some() {
            file.cut(synced)?;
        }
        let end = self.synced + self.waiting.len() as u64;
        self.dirty = Some(end);
        file.write_at(self.synced, &self.waiting)?;
        file.sync()?;
        self.dirty = None;
        self.synced = end;
        self.waiting.clear();
        self.waiting.shrink_to(KEPT_ROOM);
        Ok(())
    }
}

/// The length of a file, once its last line has an end: recovery gives the journal one, this the audit trail.
fn end_of_lines(file: &mut dyn AppendFile) -> io::Result<u64> {
    let len = file.len()?;
    if len == 0 || file.ends_line(len)? {
        return Ok(len);
    }
    file.write_at(len, b"\n")?;
    Ok(len + 1)
}
