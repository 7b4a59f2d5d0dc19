//! The one pass over an input: lines in, index or a report of all problems out.

use std::collections::HashMap;
use std::fs::File;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use sha2::{Digest, Sha256};

use super::error::{InputError, ProblemKind, ProblemReport, ReadError};
use super::ids::{IdMap, id_hash};
use super::index::{Entry, Input, ModelUse};
use super::lines::{Lines, MAX_LINE, request_text};
use super::numbering::Numbering;
use super::shape;
use crate::model::{Family, RequestNo};

/// See [`Input::index`].
pub(super) fn index(path: &Path, progress: &mut dyn FnMut(u64)) -> Result<Input, InputError> {
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

/// Opens a file that can be read more than once.
pub(super) fn open(path: &Path) -> Result<File, InputError> {
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
    fn take(&mut self, offset: u64, len: u64, bytes: Option<&[u8]>) -> Result<(), InputError> {
        self.n_lines += 1;
        let Some(line) = bytes else {
            self.n_requests += 1;
            self.report.add(self.n_lines, ProblemKind::TooLong(len));
            return Ok(());
        };
        let (offset, line) = request_text(offset, line);
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
            extras: usable.extras,
        });
        Ok(())
    }

    /// The number of a model, counted as used once more.
    fn model_no(&mut self, model: &str) -> u16 {
        let known = match self.models.first() {
            // Nearly every file has one model: no hashing for it.
            Some(first) if first.model == model => Some(0),
            _ => self.model_numbers.get(model).copied(),
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
