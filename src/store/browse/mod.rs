//! The requests of a run, a page at a time: of a run that goes on, in this process or another, and of one that is over.
//!
//! The journal is read once and then followed; what stays in memory of a request is an entry of 24 bytes and its id
//! (`index`). A page is filtered and ordered in memory and its rows are read back from the journal. The journal is only
//! read: whoever browses never stands in the way of the owner.
//!
//! All of it takes its time with a million requests. Callers keep it off the thread of a screen.

mod detail;
mod index;
mod input;
mod pretty;
mod words;

#[cfg(test)]
mod tests;

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use super::error::StoreError;
use super::journal;
use super::run_file::RunFile;
use crate::model::RequestNo;
use crate::model::browse::{Class, Order, Page, Query, RequestDetail, RequestRow};
use crate::requests::lines::Lines;

use index::Index;
use input::InputLines;
use words::Words;

/// Most bytes of the journal that are read before a page is given: a first page of a large one comes soon.
const READ_AT_ONCE: u64 = 64 << 20;

/// Browses the requests of one run directory.
#[derive(Debug)]
pub struct Browser {
    dir: PathBuf,
    journal: PathBuf,
    open: Option<Open>,
    index: Index,
    input: InputLines,
    matched: Matched,
}

/// The journal, as far as it is read.
#[derive(Debug)]
struct Open {
    file: File,
    inode: u64,
    /// Everything before this is in the index; the start of a line.
    read: u64,
    size: u64,
}

/// The requests that match, as they were found last.
#[derive(Debug, Default)]
struct Matched {
    query: Query,
    /// The index as it was.
    version: u64,
    nos: Vec<u32>,
}

impl Browser {
    /// For a run directory. Nothing is read yet.
    pub fn new(dir: &Path) -> Browser {
        Browser {
            dir: dir.to_owned(),
            journal: dir.join(journal::NAME),
            open: None,
            index: Index::default(),
            input: InputLines::default(),
            matched: Matched::default(),
        }
    }

    /// The directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Reads what has been added to the journal, and gives a page.
    ///
    /// # Errors
    /// [`StoreError::Io`] about the journal. A journal that does not exist yet is an empty one.
    pub fn page(&mut self, query: &Query) -> Result<Page, StoreError> {
        self.follow().map_err(StoreError::io("read", &self.journal))?;
        self.find(query);
        let nos = &self.matched.nos;
        let selected_at = query.selected.and_then(|no| self.position(no));
        let from = match (selected_at, query.around) {
            (Some(at), Some(above)) => at.saturating_sub(above),
            _ => query.from,
        };
        let from = from.min(nos.len().saturating_sub(query.rows));
        let rows = nos.iter().skip(from).take(query.rows).filter_map(|no| self.row(RequestNo(*no))).collect();
        Ok(Page {
            from,
            rows,
            n_matched: nos.len(),
            counts: self.index.counts(),
            selected_at,
            read: self.open.as_ref().map_or(0, |open| open.read),
            size: self.open.as_ref().map_or(0, |open| open.size),
            n_passed_over: self.index.n_passed_over(),
        })
    }

    /// A request in full.
    ///
    /// # Errors
    /// When the journal has no outcome of it, in words.
    pub fn detail(&mut self, no: RequestNo) -> Result<RequestDetail, String> {
        let line = self.line(no).ok_or_else(|| format!("the journal has no outcome of request {}", no.0))?;
        let row = detail::row(no, self.class(no), &line).ok_or("the line of the journal cannot be read")?;
        let request = self.input.read(&self.dir, no, &row.custom_id);
        let answer = pretty::lines(detail::body(&line));
        Ok(RequestDetail { row, request: request.map(|line| pretty::lines(&line)), answer })
    }

    /// Reads on in the journal. A journal that was replaced or cut is read anew.
    fn follow(&mut self) -> io::Result<()> {
        let meta = match std::fs::metadata(&self.journal) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            meta => meta?,
        };
        if self.open.as_ref().is_none_or(|open| open.inode != meta.ino() || meta.len() < open.read) {
            let n_requests = RunFile::load(&self.dir).map_or(0, |run| run.input.count);
            self.index = Index::new(n_requests);
            self.matched = Matched::default();
            self.open = Some(Open { file: File::open(&self.journal)?, inode: meta.ino(), read: 0, size: 0 });
        }
        let Some(open) = &mut self.open else { return Ok(()) };
        open.size = meta.len();
        if open.read >= open.size {
            return Ok(());
        }
        open.file.seek(SeekFrom::Start(open.read))?;
        let start = open.read;
        let mut lines = Lines::new((&open.file).take(open.size - start), journal::MAX_LINE);
        while let Some(line) = lines.next(&mut |_| {})? {
            // The writer may be in the middle of the last line: it is read when it is whole.
            if !line.ended {
                open.size = open.read;
                break;
            }
            if let Some(bytes) = line.bytes {
                self.index.take(start + line.offset, bytes);
            }
            open.read = start + line.offset + line.len + 1;
            if open.read - start > READ_AT_ONCE {
                break;
            }
        }
        Ok(())
    }

    /// Finds the requests that match, unless they are known.
    fn find(&mut self, query: &Query) {
        let known = &self.matched;
        let same = (known.query.class, &known.query.text, known.query.order) == (query.class, &query.text, query.order);
        if same && known.version == self.index.version() {
            return;
        }
        let words = Words::new(&query.text, &self.index);
        let mut nos = std::mem::take(&mut self.matched.nos);
        nos.clear();
        nos.extend(
            self.index
                .entries()
                .filter(|(_, entry)| {
                    query.class.is_none_or(|class| class == entry.class()) && words.match_all(entry, &self.index)
                })
                .map(|(no, _)| no),
        );
        if query.order == Order::Newest {
            nos.sort_unstable_by_key(|no| std::cmp::Reverse(self.index.offset(*no)));
        }
        self.matched = Matched { query: query.clone(), version: self.index.version(), nos };
    }

    fn position(&self, no: RequestNo) -> Option<usize> {
        match self.matched.query.order {
            Order::Input => self.matched.nos.binary_search(&no.0).ok(),
            Order::Newest => {
                let offset = self.index.offset(no.0);
                let at = self.matched.nos.partition_point(|other| self.index.offset(*other) > offset);
                (self.matched.nos.get(at) == Some(&no.0)).then_some(at)
            }
        }
    }

    fn class(&self, no: RequestNo) -> Class {
        self.index.entry(no.0).map_or(Class::ReDrivable, index::Entry::class)
    }

    fn row(&self, no: RequestNo) -> Option<RequestRow> {
        detail::row(no, self.class(no), &self.line(no)?)
    }

    fn line(&self, no: RequestNo) -> Option<Vec<u8>> {
        let entry = self.index.entry(no.0)?;
        let mut line = vec![0; entry.len()];
        self.open.as_ref()?.file.read_exact_at(&mut line, entry.offset()).ok()?;
        Some(line)
    }
}
