//! What a journal says of a run: read from its start, its torn end cut off and kept aside.

use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use serde::de::IgnoredAny;

use super::atomic::sync_parent;
use super::dir::RunDir;
use super::error::StoreError;
use super::journal::JournalLine;
use super::resolve::{Subject, subject, walk};
use crate::model::{Books, Counts, Money, Outcome, RequestNo, Route};
use crate::requests::Input;

/// The last outcome of a request, one byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Last {
    /// None yet.
    Unsent,
    /// An answer from the cache.
    Cached,
    /// As the outcome.
    Succeeded,
    /// As the outcome.
    Refused,
    /// As the outcome.
    Invalid,
    /// As the outcome.
    ReDrivable,
}

impl Last {
    /// The outcome; an answer from the cache succeeded.
    pub fn outcome(self) -> Option<Outcome> {
        match self {
            Last::Unsent => None,
            Last::Cached | Last::Succeeded => Some(Outcome::Succeeded),
            Last::Refused => Some(Outcome::Refused),
            Last::Invalid => Some(Outcome::Invalid),
            Last::ReDrivable => Some(Outcome::ReDrivable),
        }
    }

    /// From a line's outcome.
    pub(super) fn new(outcome: Outcome, cached: bool) -> Last {
        match outcome {
            Outcome::Succeeded if cached => Last::Cached,
            Outcome::Succeeded => Last::Succeeded,
            Outcome::Refused => Last::Refused,
            Outcome::Invalid => Last::Invalid,
            Outcome::ReDrivable => Last::ReDrivable,
        }
    }
}

/// The torn end of a journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Torn {
    /// Where it began.
    pub offset: u64,
    /// How long it was, in bytes.
    pub bytes: u64,
    /// The file that keeps it.
    pub kept: PathBuf,
}

/// A journal, read back. All of it is durable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recovered {
    /// The last outcome of each request, in the order of the input.
    pub last: Vec<Last>,
    /// What was paid, as far as the journal knows. Every line counts, also one that a later line of the same id replaces:
    /// it was paid.
    pub books: Books,
    /// Lines that say an outcome of a request of the input.
    pub n_lines: u64,
    /// Lines in the middle that are not journal lines: kept, and passed over.
    pub n_bad: u64,
    /// Where the first of them start, at most [`Recovered::BAD_KEPT`].
    pub bad_offsets: Vec<u64>,
    /// Lines whose id is not in the input.
    pub n_alien: u64,
    /// Lines of requests whose text is another one now; they say nothing of it.
    pub n_changed: u64,
    /// The end that was cut off.
    pub torn: Option<Torn>,
    /// Length of the journal now, in bytes.
    pub len: u64,
}

impl Recovered {
    /// How many offsets of bad lines are kept.
    pub const BAD_KEPT: usize = 20;

    /// The last outcome of a request; unsent when it is not of the input.
    pub fn last_of(&self, no: RequestNo) -> Last {
        self.last.get(no.ix()).copied().unwrap_or(Last::Unsent)
    }

    /// The counters of a run in this state.
    pub fn counts(&self) -> Counts {
        let mut counts = Counts { total: self.last.len() as u64, ..Counts::default() };
        for last in &self.last {
            *match last {
                Last::Unsent => &mut counts.unsent,
                Last::Cached => &mut counts.cached,
                Last::Succeeded => &mut counts.succeeded,
                Last::Refused => &mut counts.refused,
                Last::Invalid => &mut counts.invalid,
                Last::ReDrivable => &mut counts.re_drivable,
            } += 1;
        }
        counts
    }
}

/// Reads the journal of a run that this process owns, and repairs its end: a line that is whole but for its line end gets
/// one; anything else after the last whole line is moved to `results.torn-<n>`. Then it is synced, so that what is
/// returned is durable although its writer may have died before its own fsync. `progress` is told the bytes read.
///
/// # Errors
/// [`StoreError::Io`] about the journal, [`StoreError::Input`] when an id must be compared and the input cannot be read.
pub fn recover(dir: &RunDir, input: &Input, progress: &mut dyn FnMut(u64)) -> Result<Recovered, StoreError> {
    let path = dir.journal_path();
    let mut reading = Reading::new(input);
    walk(&path, progress, &mut |line, parsed| {
        let is_json = || line.bytes.is_some_and(|bytes| serde_json::from_slice::<IgnoredAny>(bytes).is_ok());
        let end = line.offset + line.len + u64::from(line.ended);
        match parsed {
            Some(parsed) => {
                reading.accept_pending();
                reading.take(&parsed)?;
                reading.end = End { whole: end, needs_newline: !line.ended };
            }
            None if line.ended && is_json() => {
                reading.accept_pending();
                reading.bad(line.offset);
                reading.end = End { whole: end, needs_newline: false };
            }
            None => reading.pending.push(line.offset),
        }
        Ok(())
    })?;
    reading.finish(&path)
}

/// Where the last whole line ends.
#[derive(Default)]
struct End {
    whole: u64,
    needs_newline: bool,
}

/// The recovery in the making.
struct Reading<'i> {
    input: &'i Input,
    found: Recovered,
    end: End,
    /// Lines that are not JSON, after the last one that is: torn if nothing good follows, else bad.
    pending: Vec<u64>,
}

impl<'i> Reading<'i> {
    fn new(input: &'i Input) -> Reading<'i> {
        let found = Recovered {
            last: vec![Last::Unsent; input.len() as usize],
            books: Books::default(),
            n_lines: 0,
            n_bad: 0,
            bad_offsets: Vec::new(),
            n_alien: 0,
            n_changed: 0,
            torn: None,
            len: 0,
        };
        Reading { input, found, end: End::default(), pending: Vec::new() }
    }

    fn bad(&mut self, offset: u64) {
        self.found.n_bad += 1;
        if self.found.bad_offsets.len() < Recovered::BAD_KEPT {
            self.found.bad_offsets.push(offset);
        }
    }

    /// A good line follows: what was not JSON before it is in the middle.
    fn accept_pending(&mut self) {
        for offset in std::mem::take(&mut self.pending) {
            self.bad(offset);
        }
    }

    fn take(&mut self, line: &JournalLine<'_>) -> Result<(), StoreError> {
        let outcome = line.outcome();
        let subject = subject(self.input, line)?;
        let model = match subject {
            Subject::Request(no) | Subject::Changed(no) => self.input.model_of(no),
            Subject::Alien => "",
        };
        self.settle(line, outcome, model);
        match subject {
            Subject::Alien => self.found.n_alien += 1,
            Subject::Changed(_) => self.found.n_changed += 1,
            Subject::Request(no) => {
                self.found.n_lines += 1;
                if let Some(last) = self.found.last.get_mut(no.ix()) {
                    *last = Last::new(outcome, line.cached());
                }
            }
        }
        Ok(())
    }

    fn settle(&mut self, line: &JournalLine<'_>, outcome: Outcome, model: &str) {
        let meta = &line.fandeck;
        if line.cached() || !outcome.is_terminal() {
            return;
        }
        let path = meta.path.unwrap_or(Route::Sync);
        self.found.books.settle(&meta.org, path, model, outcome, &line.usage(), meta.cost);
        if let (Some(day), true) = (line.day(), meta.cost > Money::ZERO) {
            match self.found.books.by_day.get_mut(day) {
                Some(cost) => *cost += meta.cost,
                None => {
                    self.found.books.by_day.insert(day.to_owned(), meta.cost);
                }
            }
        }
    }

    /// Repairs the end of the file and makes all of it durable.
    fn finish(mut self, path: &Path) -> Result<Recovered, StoreError> {
        let file = match OpenOptions::new().read(true).write(true).open(path) {
            Ok(file) => file,
            Err(err) if err.kind() == io::ErrorKind::NotFound => return Ok(self.found),
            Err(err) => return Err(StoreError::io("open", path)(err)),
        };
        let mut repair = || -> io::Result<()> {
            if let Some(&offset) = self.pending.first() {
                self.found.torn = Some(keep_aside(&file, path, offset)?);
                file.set_len(self.end.whole)?;
            }
            if self.end.needs_newline {
                file.write_all_at(b"\n", self.end.whole)?;
            }
            self.found.len = file.metadata()?.len();
            file.sync_all()
        };
        repair().map_err(StoreError::io("repair", path))?;
        Ok(self.found)
    }
}

/// Copies the end of a journal from `offset` on to a new file beside it; durable when this returns.
fn keep_aside(mut file: &File, path: &Path, offset: u64) -> io::Result<Torn> {
    let (kept, mut copy) = (0_u32..)
        .find_map(|n| {
            let kept = path.with_file_name(format!("results.torn-{n}"));
            match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&kept) {
                Err(err) if err.kind() == io::ErrorKind::AlreadyExists => None,
                other => Some(other.map(|file| (kept, file))),
            }
        })
        .unwrap_or_else(|| Err(io::Error::from(io::ErrorKind::AlreadyExists)))?;
    file.seek(SeekFrom::Start(offset))?;
    let bytes = io::copy(&mut file, &mut copy)?;
    copy.sync_all()?;
    sync_parent(path)?;
    Ok(Torn { offset, bytes, kept })
}
