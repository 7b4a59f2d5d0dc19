//! The line of a request in the input, found without an index of it: the n-th line that is not blank.
//!
//! An index takes a dozen bytes a request and the time to check every line, for the sake of the few lines that somebody
//! looks at. Places that were passed are kept, so that going back and on is quick.

use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::path::{Path, PathBuf};

use crate::model::RequestNo;
use crate::requests::lines::{Lines, MAX_LINE};
use crate::requests::member;
use crate::store::run_file::RunFile;

/// A place is kept for every so many requests.
const EVERY: u32 = 4_096;

/// A byte order mark, which the first line may start with.
const BOM: &[u8] = b"\xef\xbb\xbf";

/// Finds lines of the input of one run.
#[derive(Debug, Default)]
pub(super) struct InputLines {
    file: Option<(File, PathBuf)>,
    /// Offsets of the requests 0, [`EVERY`], 2 × [`EVERY`], …
    places: Vec<u64>,
}

impl InputLines {
    /// The line of a request, which must have this id.
    ///
    /// # Errors
    /// Why it cannot be shown, in words.
    pub(super) fn read(&mut self, dir: &Path, no: RequestNo, custom_id: &str) -> Result<Vec<u8>, String> {
        if self.file.is_none() {
            let path = path_of(dir)?;
            let file = File::open(&path).map_err(|error| format!("the input {}: {error}", path.display()))?;
            self.file = Some((file, path));
            self.places = vec![0];
        }
        let Some((file, path)) = &mut self.file else { return Err("the input is not open".to_owned()) };
        let line = find(file, &mut self.places, no.0)
            .map_err(|error| format!("failed to read {}: {error}", path.display()))?
            .ok_or_else(|| format!("{} has no request {} any more", path.display(), no.0))?;
        let line = line.strip_prefix(BOM).map(<[u8]>::to_vec).unwrap_or(line);
        let id = member(&line, "custom_id").and_then(|span| serde_json::from_slice::<String>(&line[span]).ok());
        if id.as_deref() == Some(custom_id) {
            Ok(line)
        } else {
            Err(format!("{} has changed since the run was made: request {} has another id there", path.display(), no.0))
        }
    }
}

fn path_of(dir: &Path) -> Result<PathBuf, String> {
    let run = RunFile::load(dir).map_err(|error| error.to_string())?;
    Ok(if run.input.spooled { dir.join("input.jsonl") } else { run.input.path })
}

/// Reads on from the nearest place before a request.
fn find(file: &mut File, places: &mut Vec<u64>, no: u32) -> std::io::Result<Option<Vec<u8>>> {
    let nearest = ((no / EVERY) as usize).min(places.len().saturating_sub(1));
    let start = places.get(nearest).copied().unwrap_or(0);
    file.seek(SeekFrom::Start(start))?;
    let mut lines = Lines::new(file, MAX_LINE);
    let mut at = nearest as u32 * EVERY;
    while let Some(line) = lines.next(&mut |_| {})? {
        if line.bytes.is_some_and(|bytes| bytes.trim_ascii().is_empty()) {
            continue;
        }
        if at.is_multiple_of(EVERY) && (at / EVERY) as usize == places.len() {
            places.push(start + line.offset);
        }
        if at == no {
            return Ok(line.bytes.map(<[u8]>::to_vec));
        }
        at += 1;
    }
    Ok(None)
}
