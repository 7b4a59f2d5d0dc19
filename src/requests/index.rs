//! The index of an input, and how its requests are read again.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use bytes::Bytes;

use super::error::{InputError, ReadError};
use super::extras::Extras;
use super::ids::{IdMap, id_hash};
use super::numbering::Numbering;
use super::{indexer, scan};
use crate::model::{Family, RequestNo};

/// What is kept of a request: where it is, and what planning and sending ask for without reading it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry {
    /// Where its line starts in the file.
    pub(super) offset: u64,
    /// Bytes of its line, without the line end.
    pub(super) len: u32,
    pub(super) max_tokens: u32,
    /// CRC-32 of those bytes: an edit under the run is noticed before anything is sent.
    pub(super) crc: u32,
    /// Which of the models.
    pub(super) model: u16,
    pub(super) extras: Extras,
}

/// A model, and how many requests name it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelUse {
    /// Its id, as written.
    pub model: String,
    /// Its family.
    pub family: Family,
    /// Requests.
    pub count: u32,
}

/// A request, as it is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestLine {
    /// The user's id: any text, also an empty one.
    pub custom_id: String,
    /// The bytes of `params`, as they stand in the file.
    pub body: Bytes,
}

/// An input that was read once and found right. It does not change; reads go to the open file, so that replacing or
/// removing the path under a run changes nothing, and editing it in place is noticed.
#[derive(Debug)]
pub struct Input {
    pub(super) path: PathBuf,
    pub(super) file: File,
    pub(super) bytes: u64,
    pub(super) sha256: String,
    pub(super) entries: Vec<Entry>,
    pub(super) ids: IdMap,
    pub(super) models: Vec<ModelUse>,
    pub(super) numbering: Numbering,
}

impl Input {
    /// Reads and checks a whole file. `progress` is told the bytes read so far, about twice a megabyte.
    ///
    /// # Errors
    /// All that is wrong with the lines, in one report; or why the file cannot be read at all.
    pub fn index(path: &Path, progress: &mut dyn FnMut(u64)) -> Result<Input, InputError> {
        indexer::index(path, progress)
    }

    /// How many requests there are; at least 1.
    pub fn len(&self) -> u32 {
        self.entries.len() as u32
    }

    /// Never true: an input without a request is an error.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The file, as it was named.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Size of the file in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// SHA-256 of the whole file, 64 hexadecimal digits.
    pub fn sha256(&self) -> &str {
        &self.sha256
    }

    /// The models in use, in the order in which the file names them.
    pub fn models(&self) -> &[ModelUse] {
        &self.models
    }

    /// The model of a request.
    ///
    /// # Panics
    /// Like all look-ups by number here, when the request is not of this input.
    pub fn model_of(&self, no: RequestNo) -> &str {
        &self.model_use(no).model
    }

    /// The model of a request, by its place in [`Input::models`].
    ///
    /// # Panics
    /// As [`Input::model_of`].
    pub fn model_ix(&self, no: RequestNo) -> u16 {
        self.entry(no).model
    }

    /// The family of a request's model.
    pub fn family_of(&self, no: RequestNo) -> Family {
        self.model_use(no).family
    }

    /// `max_tokens` of a request.
    pub fn max_tokens_of(&self, no: RequestNo) -> u32 {
        self.entry(no).max_tokens
    }

    /// What a request asks for besides tokens at the usual prices.
    pub fn extras_of(&self, no: RequestNo) -> Extras {
        self.entry(no).extras
    }

    /// Bytes of a request's line.
    pub fn len_of(&self, no: RequestNo) -> u32 {
        self.entry(no).len
    }

    /// CRC-32 of a request's line; journal lines carry it, so that an outcome is known to be of this very text.
    pub fn crc_of(&self, no: RequestNo) -> u32 {
        self.entry(no).crc
    }

    /// Line of the file that holds a request, 1-based.
    pub fn line_of(&self, no: RequestNo) -> u64 {
        self.numbering.line_of(no.0)
    }

    /// The map from ids to requests.
    pub fn ids(&self) -> &IdMap {
        &self.ids
    }

    /// The request with this id. Reads the file when, and only when, there is a candidate.
    ///
    /// # Errors
    /// When a candidate cannot be read.
    pub fn find(&self, custom_id: &str) -> Result<Option<RequestNo>, ReadError> {
        for no in self.ids.candidates(id_hash(custom_id)) {
            if self.read(no)?.custom_id == custom_id {
                return Ok(Some(no));
            }
        }
        Ok(None)
    }

    /// Reads a request. The body is a slice of the one buffer that the line was read into.
    ///
    /// # Errors
    /// [`ReadError::Changed`] when the line is not what was indexed, [`ReadError::Io`] when it cannot be read.
    pub fn read(&self, no: RequestNo) -> Result<RequestLine, ReadError> {
        let entry = self.entry(no);
        let mut line = vec![0; entry.len as usize];
        self.read_at(&mut line, entry.offset, no)?;
        self.verify(no, &line)?;
        let changed = || self.changed(no);
        let id = scan::member(&line, "custom_id").ok_or_else(changed)?;
        let custom_id = unquote(&line[id]).ok_or_else(changed)?;
        let params = scan::member(&line, "params").ok_or_else(changed)?;
        Ok(RequestLine { custom_id, body: Bytes::from(line).slice(params) })
    }

    /// Only the id of a request, which need not have params.
    pub(super) fn custom_id(&self, no: RequestNo) -> Result<String, ReadError> {
        let entry = self.entry(no);
        let mut line = vec![0; entry.len as usize];
        self.read_at(&mut line, entry.offset, no)?;
        self.verify(no, &line)?;
        let span = scan::member(&line, "custom_id").ok_or_else(|| self.changed(no))?;
        unquote(&line[span]).ok_or_else(|| self.changed(no))
    }

    /// Shows the lines of some requests in a row, with few large reads.
    pub(super) fn each_line(
        &self,
        mut from: u32,
        until: u32,
        buffer: &mut Vec<u8>,
        show: &mut dyn FnMut(RequestNo, &[u8]),
    ) -> Result<(), ReadError> {
        const BLOCK: u64 = 1 << 20;
        let until = until.min(self.len());
        while from < until {
            let start = self.entry(RequestNo(from)).offset;
            let end_of = |no: u32| {
                let entry = self.entry(RequestNo(no));
                entry.offset + u64::from(entry.len)
            };
            let mut next = from + 1;
            while next < until && end_of(next) - start <= BLOCK {
                next += 1;
            }
            buffer.resize((end_of(next - 1) - start) as usize, 0);
            self.read_at(buffer, start, RequestNo(from))?;
            for no in (from..next).map(RequestNo) {
                let entry = self.entry(no);
                let at = (entry.offset - start) as usize;
                let line = &buffer[at..at + entry.len as usize];
                self.verify(no, line)?;
                show(no, line);
            }
            from = next;
        }
        Ok(())
    }

    pub(super) fn changed(&self, no: RequestNo) -> ReadError {
        ReadError::Changed { path: self.path.clone(), line: self.line_of(no) }
    }

    fn verify(&self, no: RequestNo, line: &[u8]) -> Result<(), ReadError> {
        if crc32fast::hash(line) == self.entry(no).crc { Ok(()) } else { Err(self.changed(no)) }
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64, no: RequestNo) -> Result<(), ReadError> {
        self.file.read_exact_at(buffer, offset).map_err(|source| match source.kind() {
            std::io::ErrorKind::UnexpectedEof => self.changed(no),
            _ => ReadError::Io { path: self.path.clone(), line: self.line_of(no), source },
        })
    }

    fn entry(&self, no: RequestNo) -> &Entry {
        &self.entries[no.ix()]
    }

    fn model_use(&self, no: RequestNo) -> &ModelUse {
        &self.models[usize::from(self.entry(no).model)]
    }
}

/// The text of a JSON string, quotes and all.
fn unquote(quoted: &[u8]) -> Option<String> {
    if memchr::memchr(b'\\', quoted).is_some() {
        return serde_json::from_slice(quoted).ok();
    }
    let inner = quoted.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    std::str::from_utf8(inner).ok().map(str::to_owned)
}
