//! Results in the order of the input, with 12 bytes of memory a request.

use std::collections::HashMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::error::StoreError;
use super::journal;
use super::resolve::{Subject, subject, walk};
use crate::model::RequestNo;
use crate::requests::{Input, id_hash, member, skip_value};

/// Where the last line of each request stands in a journal.
#[derive(Debug)]
pub struct LastLines {
    offsets: Vec<u64>,
    /// Length without the line end; 0 means that there is no line.
    lens: Vec<u32>,
    file: Option<File>,
    path: std::path::PathBuf,
    /// Lines of requests that are not in the input, or are other ones there now.
    pub n_passed_over: u64,
}

impl LastLines {
    /// Reads the journal of a run directory, which may be growing: what is whole is taken. Lines whose request is not in the
    /// input as it stands are passed over.
    ///
    /// # Errors
    /// [`StoreError::Io`] about the journal, [`StoreError::Input`] about the input.
    pub fn scan(dir: &Path, input: &Input, progress: &mut dyn FnMut(u64)) -> Result<LastLines, StoreError> {
        let path = dir.join(journal::NAME);
        let n = input.len() as usize;
        let mut last =
            LastLines { offsets: vec![0; n], lens: vec![0; n], file: None, path: path.clone(), n_passed_over: 0 };
        walk(&path, progress, &mut |line, parsed| {
            let Some(parsed) = parsed else { return Ok(()) };
            let Subject::Request(no) = subject(input, &parsed)? else {
                last.n_passed_over += 1;
                return Ok(());
            };
            if let (Some(offset), Some(len)) = (last.offsets.get_mut(no.ix()), last.lens.get_mut(no.ix())) {
                *offset = line.offset;
                *len = line.len as u32;
            }
            Ok(())
        })?;
        last.open()?;
        Ok(last)
    }

    /// As [`LastLines::scan`], when the input is gone: ids are told apart by their hash, and stand in the order of the numbers
    /// that the lines note. A run has `count` requests; those without a line stand behind those with one. 50 bytes a request.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn noted(dir: &Path, count: u64) -> Result<LastLines, StoreError> {
        let path = dir.join(journal::NAME);
        let mut lines: HashMap<u64, (u32, u64, u32)> = HashMap::new();
        walk(&path, &mut |_| {}, &mut |line, parsed| {
            let Some(parsed) = parsed else { return Ok(()) };
            // An input that was changed on purpose has two ids of one number: neither replaces the other.
            let no = parsed.fandeck.no.unwrap_or(u32::MAX);
            lines.insert(id_hash(&parsed.custom_id), (no, line.offset, line.len as u32));
            Ok(())
        })?;
        let mut lines: Vec<_> = lines.into_values().collect();
        lines.sort_unstable();
        lines.resize(lines.len().max(usize::try_from(count).unwrap_or(usize::MAX)), (u32::MAX, 0, 0));
        let (offsets, lens) = lines.into_iter().map(|(_, offset, len)| (offset, len)).unzip();
        let mut last = LastLines { offsets, lens, file: None, path, n_passed_over: 0 };
        last.open()?;
        Ok(last)
    }

    /// A run without a line has no journal to be opened.
    fn open(&mut self) -> Result<(), StoreError> {
        if self.lens.iter().any(|&len| len > 0) {
            self.file = Some(File::open(&self.path).map_err(StoreError::io("open", &self.path))?);
        }
        Ok(())
    }

    /// Reads the line of a request into a buffer, without its line end; `None` when it has none.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn read<'b>(&self, no: RequestNo, buffer: &'b mut Vec<u8>) -> Result<Option<&'b [u8]>, StoreError> {
        let (Some(&offset), Some(&len), Some(file)) = (self.offsets.get(no.ix()), self.lens.get(no.ix()), &self.file)
        else {
            return Ok(None);
        };
        if len == 0 {
            return Ok(None);
        }
        buffer.resize(len as usize, 0);
        file.read_exact_at(buffer, offset).map_err(StoreError::io("read", &self.path))?;
        Ok(Some(buffer))
    }

    /// Shows every request in its order, with the last line that the journal has of it. The line has the block of ours;
    /// [`without_meta`] takes it off, and [`super::Row`] reads it. What `show` fails with ends the walk.
    ///
    /// # Errors
    /// Those of [`LastLines::read`], and what `show` returns.
    pub fn for_each<E: From<StoreError>>(&self, mut show: impl FnMut(Option<&[u8]>) -> Result<(), E>) -> Result<(), E> {
        let mut buffer = Vec::new();
        for no in 0..self.lens.len() {
            show(self.read(RequestNo(no as u32), &mut buffer)?)?;
        }
        Ok(())
    }
}

/// What a line is without the block of ours, in two pieces to be written one after the other: a row in the API's shape.
///
/// The block is the last member of the lines that we write, so it is found from the end. A line that is not so is returned
/// whole: a member of that name deep in an answer does not end where the line does.
pub fn without_meta(line: &[u8]) -> (&[u8], &[u8]) {
    const MARK: &[u8] = b",\"fandeck\":";
    let whole = (line, &line[line.len()..]);
    let Some(at) = memchr::memmem::rfind(line, MARK) else { return whole };
    let Some(end) = skip_value(line, at + MARK.len()) else { return whole };
    let is_last = line.get(end..).is_some_and(|rest| rest.trim_ascii() == b"}");
    if is_last && member(line, "fandeck").is_some() { (&line[..at], &line[end..]) } else { whole }
}
