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

/// An append-only file and what waits to be appended.
pub(super) struct Appender {
    path: PathBuf,
    file: Option<Box<dyn AppendFile>>,
    /// Length that is durable.
    synced: u64,
    waiting: Vec<u8>,
    /// A write was begun and not synced.
    dirty: bool,
    /// The path was seen to lead elsewhere; the next try puts the file back.
    astray: bool,
}

impl Appender {
    /// Nothing is opened before the first commit.
    pub(super) fn new(path: PathBuf) -> Appender {
        Appender { path, file: None, synced: 0, waiting: Vec::new(), dirty: false, astray: false }
    }

    /// The file.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The bytes that wait, to append to.
    pub(super) fn waiting(&mut self) -> &mut Vec<u8> {
        &mut self.waiting
    }

    /// Writes and syncs all that waits. On an error all of it still waits.
    pub(super) fn commit(&mut self, disk: &dyn Disk) -> io::Result<()> {
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
                return Err(io::Error::other("it was moved, deleted or replaced under the run"));
            }
            file.put_back(&self.path, self.synced)?;
            self.dirty = false;
        }
        self.astray = false;
        if self.dirty {
            file.cut(self.synced)?;
        }
        self.dirty = true;
        file.write_at(self.synced, &self.waiting)?;
        file.sync()?;
        self.dirty = false;
        self.synced += self.waiting.len() as u64;
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
