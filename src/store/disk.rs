//! The few things that the writer asks of a file, so that tests can let them fail.

use std::fs::{File, OpenOptions};
use std::io::{self, Seek};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

use super::atomic::{TEMP_SUFFIX, sync_parent};

/// Where append-only files come from.
pub(super) trait Disk: Send {
    /// Opens a file to append to, making it if need be; its name is durable when this returns.
    fn open(&self, path: &Path) -> io::Result<Box<dyn AppendFile>>;
}

/// An open append-only file.
pub(super) trait AppendFile: Send {
    /// Its length.
    fn len(&self) -> io::Result<u64>;
    /// Whether its first `len` bytes, which are not none, end with a line end.
    fn ends_line(&self, len: u64) -> io::Result<bool>;
    /// Writes at an offset, which is the end. On an error any part of it may have been written.
    fn write_at(&mut self, at: u64, bytes: &[u8]) -> io::Result<()>;
    /// Makes what was written durable.
    fn sync(&mut self) -> io::Result<()>;
    /// Shortens it.
    fn cut(&mut self, len: u64) -> io::Result<()>;
    /// Whether this path still leads to it.
    fn is_at(&self, path: &Path) -> io::Result<bool>;
    /// Puts its first `len` bytes, which are reachable by nothing but this handle, at a path that leads nowhere, and goes
    /// on with the new file.
    fn put_back(&mut self, path: &Path, len: u64) -> io::Result<()>;
}

/// The file system.
pub(super) struct RealDisk;

struct RealFile(File);

fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true).mode(0o600);
    options
}

impl Disk for RealDisk {
    fn open(&self, path: &Path) -> io::Result<Box<dyn AppendFile>> {
        let file = options().create(true).truncate(false).open(path)?;
        sync_parent(path)?;
        Ok(Box::new(RealFile(file)))
    }
}

impl AppendFile for RealFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    fn ends_line(&self, len: u64) -> io::Result<bool> {
        let mut last = [0];
        self.0.read_exact_at(&mut last, len.saturating_sub(1))?;
        Ok(last == *b"\n")
    }

    fn write_at(&mut self, at: u64, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all_at(bytes, at)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.0.sync_data()
    }

    fn cut(&mut self, len: u64) -> io::Result<()> {
        self.0.set_len(len)
    }

    fn is_at(&self, path: &Path) -> io::Result<bool> {
        let ours = self.0.metadata()?;
        match std::fs::metadata(path) {
            Ok(there) => Ok((there.dev(), there.ino()) == (ours.dev(), ours.ino())),
            Err(err) if err.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(err) => Err(err),
        }
    }

    fn put_back(&mut self, path: &Path, len: u64) -> io::Result<()> {
        let mut temp = path.as_os_str().to_owned();
        temp.push(TEMP_SUFFIX);
        let mut copy = options().create(true).truncate(true).open(&temp)?;
        self.0.rewind()?;
        let copied = io::copy(&mut io::Read::take(&self.0, len), &mut copy)?;
        if copied != len {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the file was cut short by somebody else"));
        }
        copy.sync_all()?;
        // A hard link and not a rename: it fails when somebody has put a file there meanwhile.
        let linked = std::fs::hard_link(&temp, path);
        std::fs::remove_file(&temp)?;
        linked?;
        sync_parent(path)?;
        self.0 = copy;
        Ok(())
    }
}
