//! What can be wrong with an input, in words that name the place and the remedy.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use super::lines::MAX_LINE;

/// Why an input cannot be used. Nothing has been sent.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    /// There is no such file.
    #[error("failed to open {}: there is no such file; check the path, or use `-` to read standard input", .0.display())]
    NotFound(PathBuf),
    /// The file may not be read.
    #[error("failed to open {}: permission denied; make it readable for this user", .0.display())]
    Denied(PathBuf),
    /// It is not a file that can be read twice: a directory, a pipe, a device.
    #[error("failed to read {}: it is {what}; give a regular file with one request a line, or `-` to read standard input", .path.display())]
    NotAFile {
        /// The path as given.
        path: PathBuf,
        /// What it is, with its article.
        what: &'static str,
    },
    /// Reading failed.
    #[error("failed to read {}: {source}", .path.display())]
    Io {
        /// The path as given.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// No request in it.
    #[error("{} holds no request: it is empty or has only blank lines; write one request a line, as for Message Batches", .0.display())]
    Empty(PathBuf),
    /// More requests than a run can hold.
    #[error("{} holds more than {max} requests; split it", .path.display(), max = u32::MAX)]
    TooMany {
        /// The path as given.
        path: PathBuf,
    },
    /// Lines that are wrong, all of them found in one pass.
    #[error("{0}")]
    Problems(Box<ProblemReport>),
}

impl InputError {
    /// From an error of the system about this path.
    pub(super) fn from_io(path: &Path, source: io::Error) -> InputError {
        match source.kind() {
            io::ErrorKind::NotFound => InputError::NotFound(path.to_owned()),
            io::ErrorKind::PermissionDenied => InputError::Denied(path.to_owned()),
            _ => InputError::Io { path: path.to_owned(), source },
        }
    }
}

/// Why a request of an indexed input cannot be read any more.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file was edited, cut or replaced in place after it was indexed.
    #[error(
        "line {line} of {} was changed after the run read it; put the file back as it was, or end the run and resume it with --accept-changed-input",
        .path.display()
    )]
    Changed {
        /// The input.
        path: PathBuf,
        /// Line of the file, 1-based.
        line: u64,
    },
    /// Reading failed.
    #[error("failed to read line {line} of {}: {source}", .path.display())]
    Io {
        /// The input.
        path: PathBuf,
        /// Line of the file, 1-based.
        line: u64,
        /// What the system said.
        source: io::Error,
    },
}

/// One thing that is wrong with one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Line of the file, 1-based; blank lines are counted.
    pub line: u64,
    /// What is wrong.
    pub kind: ProblemKind,
}

/// The kinds of wrong. Each says what is there, what belongs there, and the remedy where that is not the same thing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProblemKind {
    /// Not JSON, with the parser's words and the 1-based byte column.
    NotJson {
        /// Column of the line, in bytes.
        column: usize,
        /// What the parser said.
        what: String,
    },
    /// JSON, but not an object; what it is.
    NotAnObject(&'static str),
    /// Not text at all, by the bytes that it begins with; what it is, with what to do about it.
    NotText(&'static str),
    /// Bytes that are not UTF-8, with the 1-based byte column of the first.
    NotUtf8 {
        /// Column of the line, in bytes.
        column: usize,
    },
    /// Longer than [`MAX_LINE`]; its length in bytes.
    TooLong(u64),
    /// A field that must be there is not.
    Missing(&'static str),
    /// A field is of another type or out of range.
    Wrong {
        /// Its path: `params.max_tokens`.
        field: &'static str,
        /// What belongs there.
        wanted: &'static str,
        /// What is there.
        found: String,
    },
    /// A field stands twice in its object.
    Twice(&'static str),
    /// A message is not an object.
    NotAMessage {
        /// Position in `messages`, 0-based.
        index: usize,
        /// What it is.
        found: &'static str,
    },
    /// A message has the role `system`.
    SystemRole {
        /// Position in `messages`, 0-based.
        index: usize,
    },
    /// `stream` is on.
    Stream,
    /// The `custom_id` of an earlier line.
    DuplicateId {
        /// The id.
        id: String,
        /// The earlier line.
        first: u64,
    },
    /// One model too many.
    TooManyModels,
}

impl fmt::Display for ProblemKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ProblemKind::NotJson { column, what } => write!(f, "not JSON: {what} at column {column}"),
            ProblemKind::NotAnObject(found) => {
                write!(f, "{found}, not an object; write {{\"custom_id\": …, \"params\": {{…}}}}")
            }
            ProblemKind::NotText(what) => f.write_str(what),
            ProblemKind::NotUtf8 { column } => write!(f, "not UTF-8 at column {column}; save the file as UTF-8"),
            ProblemKind::TooLong(len) => {
                write!(f, "{len} bytes long; the API takes at most {MAX_LINE} bytes a request; shorten or drop it")
            }
            ProblemKind::Missing(field) => write!(f, "`{field}` is missing"),
            ProblemKind::Wrong { field, wanted, found } => write!(f, "`{field}` is {found}, and must be {wanted}"),
            ProblemKind::Twice(field) => write!(f, "`{field}` stands twice; drop one of them"),
            ProblemKind::NotAMessage { index, found } => {
                write!(f, "`params.messages[{index}]` is {found}, and must be an object with `role` and `content`")
            }
            ProblemKind::SystemRole { index } => {
                write!(f, "`params.messages[{index}]` has the role `system`; move its text to `params.system`")
            }
            ProblemKind::Stream => f.write_str("`params.stream` is true; answers are taken whole: leave it out"),
            ProblemKind::DuplicateId { id, first } => {
                write!(f, "custom_id {} is that of line {first}; ids must be unique in a file", Quoted(id))
            }
            ProblemKind::TooManyModels => write!(f, "more than {} models in one file; split it", u16::MAX),
        }
    }
}

/// A text in quotes, escaped, cut to what a terminal line bears.
struct Quoted<'a>(&'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 80;
        let mut chars = self.0.chars();
        let head: String = chars.by_ref().take(SHOWN).collect();
        write!(f, "{head:?}")?;
        if chars.next().is_some() { f.write_str("…") } else { Ok(()) }
    }
}

/// All that is wrong with an input: the first ones in full, the rest counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProblemReport {
    /// The input.
    pub path: PathBuf,
    /// The first problems, by line; at most [`ProblemReport::KEPT`].
    pub problems: Vec<Problem>,
    /// How many there are in all.
    pub total: u64,
}

impl ProblemReport {
    /// How many problems are kept in full.
    pub const KEPT: usize = 20;

    /// Nothing wrong so far.
    pub(super) fn new(path: &Path) -> ProblemReport {
        ProblemReport { path: path.to_owned(), problems: Vec::new(), total: 0 }
    }

    /// Takes a problem in. Problems of the pass come in the order of their lines; those found after it (duplicates)
    /// find their place among them, and push the last ones out.
    pub(super) fn add(&mut self, line: u64, kind: ProblemKind) {
        self.total += 1;
        let at = self.problems.partition_point(|problem| problem.line <= line);
        if at < ProblemReport::KEPT {
            self.problems.insert(at, Problem { line, kind });
            self.problems.truncate(ProblemReport::KEPT);
        }
    }
}

impl fmt::Display for ProblemReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let noun = if self.total == 1 { "problem" } else { "problems" };
        write!(f, "{} has {} {noun}, nothing was sent:", self.path.display(), self.total)?;
        for problem in &self.problems {
            write!(f, "\n  line {}: {}", problem.line, problem.kind)?;
        }
        let more = self.total.saturating_sub(self.problems.len() as u64);
        if more > 0 {
            write!(f, "\n  and {more} more")?;
        }
        Ok(())
    }
}
