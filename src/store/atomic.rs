//! Small JSON files, replaced whole or not at all.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use serde::Serialize;
use serde::de::{DeserializeOwned, Error as _};

use super::error::StoreError;
use super::run_file::FORMAT;

/// End of the names of files that a crash may leave behind; they are nobody's.
pub(super) const TEMP_SUFFIX: &str = ".fandeck-tmp";

/// Reads a file of ours, which says its format; `None` when there is none.
///
/// # Errors
/// [`StoreError::NewerVersion`], [`StoreError::Corrupt`], [`StoreError::Io`].
pub fn load<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, StoreError> {
    #[derive(serde::Deserialize)]
    struct Format {
        format: u32,
    }
    let text = match read_regular(path) {
        Ok(text) => text,
        Err(err) if err.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(err) => return Err(StoreError::io("read", path)(err)),
    };
    let corrupt = |err: serde_json::Error| StoreError::Corrupt { path: path.to_owned(), what: err.to_string() };
    // The format first: the rest of a newer file may well be of other types.
    let Format { format } = serde_json::from_slice(&text).map_err(corrupt)?;
    if format > FORMAT {
        return Err(StoreError::NewerVersion { path: path.to_owned(), format, known: FORMAT });
    }
    if format == 0 {
        return Err(corrupt(serde_json::Error::custom("format 0")));
    }
    serde_json::from_slice(&text).map(Some).map_err(corrupt)
}

/// Reads a file, and nothing else: a pipe that somebody left there would never end.
fn read_regular(path: &Path) -> io::Result<Vec<u8>> {
    // Opening a pipe would wait for who writes into it.
    let mut file = OpenOptions::new().read(true).custom_flags(rustix::fs::OFlags::NONBLOCK.bits() as i32).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is no regular file"));
    }
    let mut text = Vec::new();
    file.read_to_end(&mut text)?;
    Ok(text)
}

/// Replaces a file: a new one beside it, fsync, rename, fsync of the directory. Whatever fails, the old one stays.
///
/// # Errors
/// [`StoreError::Io`].
pub fn save<T: Serialize>(path: &Path, value: &T) -> Result<(), StoreError> {
    let mut text = serde_json::to_vec_pretty(value).map_err(|err| StoreError::io("write", path)(err.into()))?;
    text.push(b'\n');
    save_bytes(path, &text)
}

/// As [`save`], of any bytes.
pub(super) fn save_bytes(path: &Path, text: &[u8]) -> Result<(), StoreError> {
    let wrap = |err| StoreError::io("write", path)(err);
    let temp = temp_beside(path);
    let result = write_new(&temp, text).and_then(|()| std::fs::rename(&temp, path));
    if let Err(err) = result {
        // It may not even exist; and the first error is the one to tell.
        let _ = std::fs::remove_file(&temp);
        return Err(wrap(err));
    }
    sync_parent(path).map_err(wrap)
}

fn write_new(path: &Path, text: &[u8]) -> io::Result<()> {
    // Not `create_new`: a crashed process of the same pid (as in a container) may have left one, and no live one can.
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    file.write_all(text)?;
    file.sync_all()
}

/// A new file for a while: when its owner dies, it is removed with the next opening of the run.
///
/// # Errors
/// It cannot be made.
pub fn scratch_file(dir: &Path, name: &str) -> io::Result<(PathBuf, File)> {
    let path = temp_beside(&dir.join(name));
    let file = OpenOptions::new().read(true).write(true).create(true).truncate(true).mode(0o600).open(&path)?;
    Ok((path, file))
}

/// A name that no other process and no other call uses.
pub(super) fn temp_beside(path: &Path) -> PathBuf {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let n = COUNT.fetch_add(1, Ordering::Relaxed);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{}-{n}{TEMP_SUFFIX}", std::process::id()))
}

/// Makes the names in the directory of a file durable.
pub(super) fn sync_parent(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(dir) if !dir.as_os_str().is_empty() => File::open(dir)?.sync_all(),
        _ => File::open(".")?.sync_all(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn a_file_is_replaced_whole_and_leaves_nothing_beside_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("state.json");
        assert!(load::<Value>(&path).unwrap().is_none());
        for n in 1..3 {
            save(&path, &json!({"format": 1, "n": n})).unwrap();
            assert_eq!(load::<Value>(&path).unwrap().unwrap()["n"], n);
        }
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn d5_a_pipe_in_the_place_of_a_file_is_refused_and_not_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("run.json");
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        let refused = load::<Value>(&path).unwrap_err().to_string();
        assert!(refused.contains("run.json") && refused.contains("no regular file"), "{refused}");
        assert!(load::<Value>(dir.path()).is_err());
    }

    #[test]
    fn a_temp_file_that_a_crash_left_behind_is_no_obstacle() {
        let dir = tempfile::tempdir().unwrap();
        let left = dir.path().join("left");
        std::fs::write(&left, "more text than comes now").unwrap();
        write_new(&left, b"new").unwrap();
        assert_eq!(std::fs::read(&left).unwrap(), b"new");
    }

    #[test]
    fn d5_a_corrupt_file_is_refused_by_path_and_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("state.json");
        for text in ["", "{", "[]", "{\"format\":\"x\"}", "\0\0\0\0", "{\"format\":0}"] {
            std::fs::write(&path, text).unwrap();
            let err = load::<Value>(&path).unwrap_err();
            assert!(matches!(err, StoreError::Corrupt { .. }), "{text:?}: {err}");
            assert!(err.to_string().contains("state.json"));
            assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
        }
    }

    #[test]
    fn a_newer_format_is_refused_even_when_the_rest_is_strange() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("run.json");
        std::fs::write(&path, r#"{"format": 2, "run_id": ["other", "types"]}"#).unwrap();
        assert!(matches!(load::<super::super::RunFile>(&path), Err(StoreError::NewerVersion { format: 2, .. })));
    }
}
