//! What is kept of every request that has an outcome: where its last line is, and what it is filtered by.

use std::borrow::Cow;

use crate::model::Outcome;
use crate::model::browse::Class;
use crate::store::journal::JournalLine;
use crate::store::row::Row;

/// Longest id that is kept, in bytes; a longer one is found by its beginning.
const LONGEST_ID: usize = 512;

/// A request. 24 bytes.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Entry {
    offset: u64,
    /// Length of the line; 0 when the request has none.
    len: u32,
    /// Where its id starts among the ids.
    id: u32,
    id_len: u16,
    error: u16,
    org: u16,
    class: u8,
}

impl Entry {
    pub(super) fn class(&self) -> Class {
        Class::ALL.get(usize::from(self.class)).copied().unwrap_or(Class::ReDrivable)
    }

    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    pub(super) fn len(&self) -> usize {
        self.len as usize
    }

    /// Which of the orgs.
    pub(super) fn org(&self) -> usize {
        usize::from(self.org)
    }

    /// Which of the error types.
    pub(super) fn error(&self) -> usize {
        usize::from(self.error)
    }
}

/// The requests by their number, and the few texts that many of them share.
#[derive(Debug, Default)]
pub(super) struct Index {
    /// Requests of the run: a damaged line must not make the index as large as it says.
    n_requests: u64,
    entries: Vec<Entry>,
    ids: Vec<u8>,
    orgs: Names,
    errors: Names,
    counts: [u64; 5],
    n_passed_over: u64,
    version: u64,
}

impl Index {
    /// For a run of so many requests.
    pub(super) fn new(n_requests: u64) -> Index {
        Index { n_requests, ..Index::default() }
    }

    /// Takes a line of the journal; the last one of a request wins.
    pub(super) fn take(&mut self, offset: u64, line: &[u8]) {
        if line.trim_ascii().is_empty() {
            return;
        }
        self.version += 1;
        let parsed = JournalLine::parse(line);
        let Some((parsed, no)) = parsed.and_then(|parsed| parsed.fandeck.no.map(|no| (parsed, no))) else {
            self.n_passed_over += 1;
            return;
        };
        let Ok(len) = u32::try_from(line.len()) else { return };
        if u64::from(no) >= self.n_requests {
            self.n_passed_over += 1;
            return;
        }
        let at = no as usize;
        if self.entries.len() <= at {
            self.entries.resize(at + 1, Entry::default());
        }
        let before = self.entries[at];
        if before.len > 0 {
            self.counts[usize::from(before.class)] -= 1;
        }
        let class = class_of(&parsed);
        let (id, id_len) = if before.len > 0 { (before.id, before.id_len) } else { self.keep_id(&parsed.custom_id) };
        let error = match class {
            Class::Invalid | Class::ReDrivable => self.errors.intern(&error_of(line)),
            Class::Cached | Class::Succeeded | Class::Refused => 0,
        };
        let org = self.orgs.intern(&parsed.fandeck.org);
        self.counts[class as usize] += 1;
        self.entries[at] = Entry { offset, len, id, id_len, error, org, class: class as u8 };
    }

    fn keep_id(&mut self, id: &str) -> (u32, u16) {
        let mut end = id.len().min(LONGEST_ID);
        while !id.is_char_boundary(end) {
            end -= 1;
        }
        // Ids that are together longer than 4 GiB are not kept beyond that: those requests are not found by their id.
        let Ok(start) = u32::try_from(self.ids.len()) else { return (0, 0) };
        self.ids.extend_from_slice(&id.as_bytes()[..end]);
        (start, end as u16)
    }

    /// Counts up with every line.
    pub(super) fn version(&self) -> u64 {
        self.version
    }

    /// How many requests there are of each class.
    pub(super) fn counts(&self) -> [u64; 5] {
        self.counts
    }

    /// Lines that name no request.
    pub(super) fn n_passed_over(&self) -> u64 {
        self.n_passed_over
    }

    /// The requests that have an outcome, in the order of the input.
    pub(super) fn entries(&self) -> impl Iterator<Item = (u32, &Entry)> {
        (0..).zip(&self.entries).filter(|(_, entry)| entry.len > 0)
    }

    /// A request that has an outcome.
    pub(super) fn entry(&self, no: u32) -> Option<&Entry> {
        self.entries.get(no as usize).filter(|entry| entry.len > 0)
    }

    /// Where its last line is.
    pub(super) fn offset(&self, no: u32) -> u64 {
        self.entries.get(no as usize).map_or(0, |entry| entry.offset)
    }

    /// The beginning of its id.
    pub(super) fn id(&self, entry: &Entry) -> &[u8] {
        let start = entry.id as usize;
        self.ids.get(start..start + usize::from(entry.id_len)).unwrap_or_default()
    }

    /// Labels of orgs, by number.
    pub(super) fn orgs(&self) -> &[String] {
        &self.orgs.0
    }

    /// Error types, by number.
    pub(super) fn errors(&self) -> &[String] {
        &self.errors.0
    }
}

/// Texts by number; the first is the empty one.
#[derive(Debug)]
struct Names(Vec<String>);

impl Default for Names {
    fn default() -> Names {
        Names(vec![String::new()])
    }
}

impl Names {
    /// Most texts kept apart; the ones after that count as the last.
    const MOST: usize = 1_000;

    fn intern(&mut self, name: &str) -> u16 {
        let at = self.0.iter().position(|known| known == name);
        let at = at.unwrap_or_else(|| {
            if self.0.len() < Names::MOST {
                self.0.push(name.to_owned());
            }
            self.0.len() - 1
        });
        at as u16
    }
}

fn class_of(line: &JournalLine<'_>) -> Class {
    match line.outcome() {
        Outcome::Succeeded if line.cached() => Class::Cached,
        Outcome::Succeeded => Class::Succeeded,
        Outcome::Refused => Class::Refused,
        Outcome::Invalid => Class::Invalid,
        Outcome::ReDrivable => Class::ReDrivable,
    }
}

fn error_of(line: &[u8]) -> Cow<'_, str> {
    Row::parse(line).map(|row| row.error_type).unwrap_or_default()
}
