//! Standard input, kept in the run directory so that it can be read again.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Copies a stream to a file, which it replaces, and returns the number of bytes once they are durable.
///
/// # Errors
/// Whatever reading or writing failed with.
pub fn spool(mut reader: impl Read, to: &Path) -> io::Result<u64> {
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(to)?;
    let bytes = io::copy(&mut reader, &mut file)?;
    file.sync_all()?;
    if let Some(dir) = to.parent() {
        let dir = if dir.as_os_str().is_empty() { Path::new(".") } else { dir };
        File::open(dir)?.sync_all()?;
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_kept_byte_for_byte_and_replaces_what_was_there() {
        let dir = tempfile::tempdir().unwrap();
        let to = dir.path().join("input.jsonl");
        std::fs::write(&to, "a longer text from before").unwrap();
        assert_eq!(spool(&b"{}\r\n\xff"[..], &to).unwrap(), 5);
        assert_eq!(std::fs::read(&to).unwrap(), b"{}\r\n\xff");
    }
}
