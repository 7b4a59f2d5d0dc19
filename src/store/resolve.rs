//! Which request of the input a journal line is about, and a walk over the journal's lines.

use std::fs::File;
use std::io;
use std::path::Path;

use super::error::StoreError;
use super::journal::{self, JournalLine};
use crate::model::RequestNo;
use crate::requests::lines::{Line, Lines};
use crate::requests::{Input, ReadError, id_hash};

/// What a line is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Subject {
    /// A request, as it stands in the input now.
    Request(RequestNo),
    /// A request whose text is another one now.
    Changed(RequestNo),
    /// No request of the input.
    Alien,
}

/// Finds the request of a line. The number in the line is right as long as the input is the same; it is believed when
/// the id there has the same hash. Else the id is looked up and compared.
pub(super) fn subject(input: &Input, line: &JournalLine<'_>) -> Result<Subject, ReadError> {
    let candidates = input.ids().candidates(id_hash(&line.custom_id));
    let noted = line.fandeck.no.map(RequestNo);
    let no = match noted.filter(|&no| candidates.clone().any(|candidate| candidate == no)) {
        Some(no) => Some(no),
        None => input.find(&line.custom_id)?,
    };
    Ok(match no {
        None => Subject::Alien,
        Some(no) if line.fandeck.crc.is_some_and(|crc| crc != input.crc_of(no)) => Subject::Changed(no),
        Some(no) => Subject::Request(no),
    })
}

/// What is done with a line, and with what it says if it is one of ours.
pub(super) type Visit<'v> = dyn FnMut(&Line<'_>, Option<JournalLine<'_>>) -> Result<(), StoreError> + 'v;

/// Walks over the lines of a journal from its start; a missing journal has none. Blank lines are passed over.
pub(super) fn walk(path: &Path, progress: &mut dyn FnMut(u64), visit: &mut Visit<'_>) -> Result<(), StoreError> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(err) if err.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(err) => return Err(StoreError::io("open", path)(err)),
    };
    let mut lines = Lines::new(file, journal::MAX_LINE);
    let mut bytes = 0;
    let mut seen = |chunk: &[u8]| {
        bytes += chunk.len() as u64;
        progress(bytes);
    };
    while let Some(line) = lines.next(&mut seen).map_err(StoreError::io("read", path))? {
        if line.ended && line.bytes.is_some_and(|bytes| bytes.trim_ascii().is_empty()) {
            continue;
        }
        visit(&line, line.bytes.and_then(JournalLine::parse))?;
    }
    Ok(())
}
