//! The index of an input, and how its requests are read again.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fs::File;
use std::os::unix::fs::{FileExt, FileTypeExt};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use sha2::{Digest, Sha256};

use super::error::{InputError, ProblemKind, ProblemReport, ReadError};
use super::ids::{IdMap, id_hash};
use super::lines::{Lines, MAX_LINE};
use super::numbering::Numbering;
use super::{scan, shape};
use crate::model::{Family, RequestNo};

/// What is kept of a request: where it is, and what planning and sending ask for without reading it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry {
    /// Where its line starts in the file.
    pub(super) offset: u64,
    /// Bytes of its line, without the line end.
    pub(super) len: u32,
    max_tokens: u32,
    /// CRC-32 of those bytes: an edit under the run is noticed before anything is sent.
    pub(super) crc: u32,
    /// Which of the models.
    model: u16,
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
    path: PathBuf,
    file: File,
    bytes: u64,
    sha256: String,
    entries: Vec<Entry>,
    ids: IdMap,
    models: Vec<ModelUse>,
    numbering: Numbering,
}

impl Input {
    /// Reads and checks a whole file. `progress` is told the bytes read so far, about twice a megabyte.
    ///
    /// # Errors
    /// All that is wrong with the lines, in one report; or why the file cannot be read at all.
    pub fn index(path: &Path, progress: &mut dyn FnMut(u64)) -> Result<Input, InputError> {
        let file = open(path)?;
        let mut hasher = Sha256::new();
        let mut bytes = 0_u64;
        let mut indexer = Indexer::new(path);
        let mut lines = Lines::new(&file, MAX_LINE);
        let mut seen = |chunk: &[u8]| {
            hasher.update(chunk);
            bytes += chunk.len() as u64;
            progress(bytes);
        };
        while let Some(line) = lines.next(&mut seen).map_err(|err| InputError::from_io(path, err))? {
            indexer.take(line.offset, line.len, line.bytes)?;
        }
        drop(lines);
        let sha256 = hex(&hasher.finalize());
        indexer.finish(file, bytes, sha256)
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

    /// The family of a request's model.
    pub fn family_of(&self, no: RequestNo) -> Family {
        self.model_use(no).family
    }

    /// `max_tokens` of a request.
    pub fn max_tokens_of(&self, no: RequestNo) -> u32 {
        self.entry(no).max_tokens
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

/// Opens a file that can be read more than once.
fn open(path: &Path) -> Result<File, InputError> {
    // Looked at before it is opened: opening a pipe would wait for its writer.
    let kind = std::fs::metadata(path).map_err(|err| InputError::from_io(path, err))?.file_type();
    let what = match kind {
        kind if kind.is_file() => None,
        kind if kind.is_dir() => Some("a directory"),
        kind if kind.is_fifo() => Some("a pipe"),
        _ => Some("a device or a socket"),
    };
    match what {
        Some(what) => Err(InputError::NotAFile { path: path.to_owned(), what }),
        None => File::open(path).map_err(|err| InputError::from_io(path, err)),
    }
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The index in the making.
struct Indexer {
    report: ProblemReport,
    entries: Vec<Entry>,
    ids: IdMap,
    models: Vec<ModelUse>,
    model_numbers: HashMap<String, u16>,
    numbering: Numbering,
    /// Lines seen, blank ones too.
    n_lines: u64,
    /// Lines seen that are not blank.
    n_requests: u64,
}

impl Indexer {
    fn new(path: &Path) -> Indexer {
        Indexer {
            report: ProblemReport::new(path),
            entries: Vec::new(),
            ids: IdMap::default(),
            models: Vec::new(),
            model_numbers: HashMap::new(),
            numbering: Numbering::default(),
            n_lines: 0,
            n_requests: 0,
        }
    }

    /// Takes the next line in. Lines with problems are kept too as long as they have an id, so that duplicates among
    /// them are found in the same pass; the index is thrown away in the end if there was any problem.
    fn take(&mut self, mut offset: u64, len: u64, bytes: Option<&[u8]>) -> Result<(), InputError> {
        self.n_lines += 1;
        let Some(mut line) = bytes else {
            self.n_requests += 1;
            self.report.add(self.n_lines, ProblemKind::TooLong(len));
            return Ok(());
        };
        if offset == 0 {
            if let Some(rest) = line.strip_prefix(b"\xef\xbb\xbf") {
                line = rest;
                offset = 3;
            }
        }
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.trim_ascii().is_empty() {
            return Ok(());
        }
        self.n_requests += 1;
        let Ok(no) = u32::try_from(self.entries.len()) else {
            return Err(InputError::TooMany { path: self.report.path.clone() });
        };
        let (report, n_lines) = (&mut self.report, self.n_lines);
        let Some(usable) = shape::check(line, &mut |kind| report.add(n_lines, kind)) else { return Ok(()) };
        let model = self.model_no(&usable.model);
        self.ids.push(id_hash(&usable.custom_id), RequestNo(no));
        self.numbering.note(no, self.n_lines);
        self.entries.push(Entry {
            offset,
            len: line.len() as u32,
            max_tokens: usable.max_tokens,
            crc: crc32fast::hash(line),
            model,
        });
        Ok(())
    }

    /// The number of a model, counted as used once more.
    fn model_no(&mut self, model: &Cow<'_, str>) -> u16 {
        let known = match self.models.first() {
            // Nearly every file has one model: no hashing for it.
            Some(first) if first.model == **model => Some(0),
            _ => self.model_numbers.get(&**model).copied(),
        };
        if let Some(no) = known {
            self.models[usize::from(no)].count += 1;
            return no;
        }
        let Ok(no) = u16::try_from(self.models.len()) else {
            self.report.add(self.n_lines, ProblemKind::TooManyModels);
            return 0;
        };
        let family = Family::of_model(model);
        self.models.push(ModelUse { model: model.to_string(), family, count: 1 });
        self.model_numbers.insert(model.to_string(), no);
        no
    }

    fn finish(mut self, file: File, bytes: u64, sha256: String) -> Result<Input, InputError> {
        if self.n_requests == 0 {
            return Err(InputError::Empty(self.report.path));
        }
        self.ids.sort();
        self.entries.shrink_to_fit();
        let mut report = self.report;
        let input = Input {
            path: report.path.clone(),
            file,
            bytes,
            sha256,
            entries: self.entries,
            ids: self.ids,
            models: self.models,
            numbering: self.numbering,
        };
        for group in input.ids.collisions() {
            report_duplicates(&input, &group, &mut report)?;
        }
        if report.total > 0 { Err(InputError::Problems(Box::new(report))) } else { Ok(input) }
    }
}

/// Tells ids that are equal from ids that only have equal hashes, by reading them.
fn report_duplicates(input: &Input, group: &[RequestNo], report: &mut ProblemReport) -> Result<(), InputError> {
    let mut first_lines: HashMap<String, u64> = HashMap::new();
    for &no in group {
        let line = input.line_of(no);
        let id = match input.custom_id(no) {
            Ok(id) => id,
            Err(ReadError::Io { source, .. }) => return Err(InputError::from_io(input.path(), source)),
            Err(ReadError::Changed { .. }) => {
                let source = std::io::Error::other("the file changed while it was read");
                return Err(InputError::from_io(input.path(), source));
            }
        };
        match first_lines.get(&id) {
            Some(&first) => report.add(line, ProblemKind::DuplicateId { id, first }),
            None => drop(first_lines.insert(id, line)),
        }
    }
    Ok(())
}

impl Input {
    /// Only the id of a request, which need not have params.
    pub(super) fn custom_id(&self, no: RequestNo) -> Result<String, ReadError> {
        let entry = self.entry(no);
        let mut line = vec![0; entry.len as usize];
        self.read_at(&mut line, entry.offset, no)?;
        self.verify(no, &line)?;
        let span = scan::member(&line, "custom_id").ok_or_else(|| self.changed(no))?;
        unquote(&line[span]).ok_or_else(|| self.changed(no))
    }
}
