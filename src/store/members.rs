//! `members/NNNN`: which requests a sub-batch holds. Written once, and durable before the sub-batch is created.
//!
//! A line a request: its position in the input and the CRC-32 of its line there, so that after an edit of the input the
//! results of a sub-batch are taken only for the texts that it was paid for.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use super::atomic;
use super::error::StoreError;
use crate::model::RequestNo;
use crate::requests::Input;

/// The directory's name in a run directory.
pub const NAME: &str = "members";

/// The requests of a sub-batch, in the order of the input.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Members {
    /// Position and checksum of each.
    entries: Vec<(RequestNo, u32)>,
}

impl Members {
    /// These requests of an input, as they stand in it.
    pub fn of(input: &Input, nos: &[RequestNo]) -> Members {
        let mut entries: Vec<_> = nos.iter().map(|no| (*no, input.crc_of(*no))).collect();
        entries.sort_unstable();
        Members { entries }
    }

    /// Those whose text is still the same in this input.
    pub fn still_in(&self, input: &Input) -> Vec<RequestNo> {
        let same = |(no, crc): &&(RequestNo, u32)| no.0 < input.len() && input.crc_of(*no) == *crc;
        self.entries.iter().filter(same).map(|(no, _)| *no).collect()
    }

    /// How many there were when it was written.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Writes them as the members of a sub-batch; durable when this returns. Again with the same members does nothing.
    ///
    /// # Errors
    /// [`StoreError::Io`]; also when the sub-batch has other members already.
    pub fn save(&self, dir: &Path, index: u32) -> Result<(), StoreError> {
        let path = path(dir, index);
        match Members::load(dir, index)? {
            Some(there) if there == *self => return Ok(()),
            Some(_) => return Err(StoreError::io("write", &path)(io::Error::from(io::ErrorKind::AlreadyExists))),
            None => {}
        }
        let folder = dir.join(NAME);
        DirBuilder::new().recursive(true).mode(0o700).create(&folder).map_err(StoreError::io("create", &folder))?;
        atomic::sync_parent(&folder).map_err(StoreError::io("sync", dir))?;
        let mut text = String::with_capacity(self.entries.len() * 18);
        for (no, crc) in &self.entries {
            text.push_str(&format!("{} {crc:08x}\n", no.0));
        }
        atomic::save_bytes(&path, text.as_bytes())
    }

    /// Reads the members of a sub-batch; `None` when it has no file.
    ///
    /// # Errors
    /// [`StoreError::Io`], [`StoreError::Corrupt`].
    pub fn load(dir: &Path, index: u32) -> Result<Option<Members>, StoreError> {
        let path = path(dir, index);
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(err) if err.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(err) => return Err(StoreError::io("read", &path)(err)),
        };
        let entry = |line: &str| {
            let (no, crc) = line.split_once(' ')?;
            Some((RequestNo(no.parse().ok()?), u32::from_str_radix(crc, 16).ok()?))
        };
        let entries = text
            .lines()
            .enumerate()
            .map(|(at, line)| {
                let what = || format!("line {}: {line:?} is not a request's number and checksum", at + 1);
                entry(line).ok_or_else(|| StoreError::Corrupt { path: path.clone(), what: what() })
            })
            .collect::<Result<Vec<_>, _>>()?;
        Ok(Some(Members { entries }))
    }

    /// The highest index that has a file; `None` when none has.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn last_index(dir: &Path) -> Result<Option<u32>, StoreError> {
        let folder = dir.join(NAME);
        let read = || -> io::Result<Option<u32>> {
            let mut last = None;
            for entry in std::fs::read_dir(&folder)? {
                last = last.max(entry?.file_name().to_str().and_then(|name| name.parse().ok()));
            }
            Ok(last)
        };
        match read() {
            Err(err) if err.kind() == io::ErrorKind::NotFound => Ok(None),
            other => other.map_err(StoreError::io("read", &folder)),
        }
    }

    /// Removes all files of members, of a run that sent nothing.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub(super) fn remove_all(dir: &Path) -> Result<(), StoreError> {
        let folder = dir.join(NAME);
        match std::fs::remove_dir_all(&folder) {
            Err(err) if err.kind() != io::ErrorKind::NotFound => Err(StoreError::io("remove", &folder)(err)),
            _ => Ok(()),
        }
    }
}

fn path(dir: &Path, index: u32) -> PathBuf {
    dir.join(NAME).join(format!("{index:04}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input(dir: &Path, name: &str, texts: &[&str]) -> Input {
        let path = dir.join(name);
        let line = |(at, text): (usize, &&str)| {
            format!(
                r#"{{"custom_id":"{at}","params":{{"model":"m","max_tokens":1,"messages":[{{"role":"user","content":"{text}"}}]}}}}"#
            )
        };
        let lines: Vec<String> = texts.iter().enumerate().map(line).collect();
        std::fs::write(&path, lines.join("\n")).unwrap();
        Input::index(&path, &mut |_| {}).unwrap()
    }

    #[test]
    fn members_are_read_back_and_written_once() {
        let dir = tempfile::tempdir().unwrap();
        let input = input(dir.path(), "i", &["a", "b", "c"]);
        let members = Members::of(&input, &[RequestNo(2), RequestNo(0)]);
        assert_eq!(Members::load(dir.path(), 7).unwrap(), None);
        members.save(dir.path(), 7).unwrap();
        members.save(dir.path(), 7).unwrap();
        assert_eq!(Members::load(dir.path(), 7).unwrap(), Some(members));
        assert!(Members::of(&input, &[RequestNo(1)]).save(dir.path(), 7).is_err());
        assert_eq!(Members::last_index(dir.path()).unwrap(), Some(7));
        assert_eq!(std::fs::read_dir(dir.path().join(NAME)).unwrap().count(), 1);
    }

    #[test]
    fn after_an_edit_only_the_same_texts_are_members() {
        let dir = tempfile::tempdir().unwrap();
        let before = input(dir.path(), "before", &["a", "b", "c"]);
        let members = Members::of(&before, &[RequestNo(0), RequestNo(1), RequestNo(2)]);
        let after = input(dir.path(), "after", &["a", "B"]);
        assert_eq!(members.still_in(&after), [RequestNo(0)]);
    }

    #[test]
    fn a_line_that_is_no_member_is_named() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join(NAME)).unwrap();
        std::fs::write(dir.path().join(NAME).join("0003"), "0 0000000a\n1 zz\n").unwrap();
        let err = Members::load(dir.path(), 3).unwrap_err().to_string();
        assert!(err.contains("0003") && err.contains("line 2"), "{err}");
        assert_eq!(Members::last_index(&dir.path().join("nowhere")).unwrap(), None);
    }
}
