//! An index that is used again while the file is the one that was indexed: a file of a gigabyte takes seconds to read.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;

use crate::requests::Input;

use super::failure::Failure;
use super::launch::index;

/// What tells a file from another one, and from itself after a change. An edit that leaves all of this as it was is noticed
/// when a line is read to be sent, by its checksum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Seen {
    device: u64,
    inode: u64,
    bytes: u64,
    /// Seconds and nanoseconds.
    modified: (i64, i64),
}

impl Seen {
    /// `None` for what cannot be looked at, and for a pipe, which cannot be read twice.
    fn of(path: &Path) -> Option<Seen> {
        let about = std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file)?;
        Some(Seen {
            device: about.dev(),
            inode: about.ino(),
            bytes: about.size(),
            modified: (about.mtime(), about.mtime_nsec()),
        })
    }
}

/// See the module.
#[derive(Debug, Clone)]
pub(crate) struct KeptIndex {
    input: Arc<Input>,
    seen: Option<Seen>,
}

impl KeptIndex {
    /// Indexes a file.
    ///
    /// # Errors
    /// As for [`index`].
    pub(crate) fn of(path: &Path) -> Result<KeptIndex, Failure> {
        // Looked at before it is read, so that what changes meanwhile counts as a change.
        let seen = Seen::of(path);
        Ok(KeptIndex { input: index(path)?, seen })
    }

    /// The index.
    pub(crate) fn input(&self) -> &Arc<Input> {
        &self.input
    }

    /// Whether the file of this name is the one that was indexed, unchanged.
    fn is_of(&self, path: &Path) -> bool {
        self.input.path() == path && self.seen.is_some() && self.seen == Seen::of(path)
    }

    /// The index of a file: the kept one, else a new one, which is kept from then on.
    ///
    /// # Errors
    /// As for [`index`].
    pub(crate) fn renew(kept: &mut Option<KeptIndex>, path: &Path) -> Result<Arc<Input>, Failure> {
        if let Some(kept) = kept.as_ref().filter(|kept| kept.is_of(path)) {
            return Ok(Arc::clone(&kept.input));
        }
        Ok(Arc::clone(kept.insert(KeptIndex::of(path)?).input()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(id: &str, words: &str) -> String {
        format!(
            "{{\"custom_id\":\"{id}\",\"params\":{{\"model\":\"claude-haiku-4-5\",\"max_tokens\":9,\"messages\":[{{\"role\":\"user\",\"content\":\"{words}\"}}]}}}}\n"
        )
    }

    #[test]
    fn a_file_is_indexed_again_only_when_it_is_another_one_or_has_changed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("in.jsonl");
        std::fs::write(&path, line("a", "one")).unwrap();
        let mut kept = None;
        let first = KeptIndex::renew(&mut kept, &path).unwrap();
        assert!(Arc::ptr_eq(&first, &KeptIndex::renew(&mut kept, &path).unwrap()));
        // Of the same size, and of another time.
        std::fs::write(&path, line("b", "two")).unwrap();
        let later = std::time::SystemTime::now() + std::time::Duration::from_secs(5);
        std::fs::File::options().write(true).open(&path).unwrap().set_modified(later).unwrap();
        let second = KeptIndex::renew(&mut kept, &path).unwrap();
        assert!(!Arc::ptr_eq(&first, &second) && first.sha256() != second.sha256());
        // Put in its place, with the same size and time.
        let other = dir.path().join("other.jsonl");
        std::fs::write(&other, line("c", "six")).unwrap();
        std::fs::File::options().write(true).open(&other).unwrap().set_modified(later).unwrap();
        std::fs::rename(&other, &path).unwrap();
        assert_ne!(KeptIndex::renew(&mut kept, &path).unwrap().sha256(), second.sha256());
        std::fs::remove_file(&path).unwrap();
        assert!(KeptIndex::renew(&mut kept, &path).is_err());
    }
}
