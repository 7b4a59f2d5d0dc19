//! Small TOML files of the screens, themes and keymaps: tables of texts and lists of texts, with the line of each, so that what
//! is wrong is said with file, line and hint.

use std::fmt;
use std::path::{Path, PathBuf};

use toml::de::{DeTable, DeValue};

/// What is wrong with a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileError {
    /// The file, or the name of a built-in one.
    pub path: PathBuf,
    /// The line, from 1; 0 when it is the whole file.
    pub line: usize,
    /// What is wrong, and what to do.
    pub what: String,
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.path.display(), self.what),
            line => write!(f, "{}:{line}: {}", self.path.display(), self.what),
        }
    }
}

impl std::error::Error for FileError {}

/// A key with its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    /// The table that it is in; empty at the top.
    pub table: String,
    /// The key.
    pub key: String,
    /// One text, or a list of them.
    pub values: Vec<String>,
    /// It was written as a list.
    pub is_list: bool,
    /// Its line, from 1.
    pub line: usize,
}

/// A file's text.
pub(super) struct File<'t> {
    /// The file.
    pub path: &'t Path,
    /// What is in it.
    pub text: &'t str,
}

impl File<'_> {
    /// An error at a line.
    pub(super) fn error(&self, line: usize, what: impl Into<String>) -> FileError {
        FileError { path: self.path.to_owned(), line, what: what.into() }
    }

    fn line(&self, at: usize) -> usize {
        let before = self.text.as_bytes().get(..at).unwrap_or(self.text.as_bytes());
        1 + memchr::memchr_iter(b'\n', before).count()
    }

    /// Its entries, in the order of the file.
    ///
    /// # Errors
    /// It is not TOML, or a value is neither a text nor a list of texts.
    pub(super) fn entries(&self) -> Result<Vec<Entry>, FileError> {
        let root = DeTable::parse(self.text).map_err(|error| {
            let line = self.line(error.span().map_or(0, |span| span.start));
            self.error(line, format!("not valid TOML: {}", error.message()))
        })?;
        let mut entries = Vec::new();
        self.take("", root.get_ref(), &mut entries)?;
        entries.sort_by_key(|entry: &Entry| entry.line);
        Ok(entries)
    }

    fn take(&self, name: &str, table: &DeTable<'_>, entries: &mut Vec<Entry>) -> Result<(), FileError> {
        for (key, value) in table {
            let line = self.line(key.span().start);
            let key = key.get_ref().clone().into_owned();
            let refuse = || self.error(line, format!("{key} has to be a text or a list of texts"));
            let text = |value: &DeValue<'_>| match value {
                DeValue::String(text) => Some(text.clone().into_owned()),
                _ => None,
            };
            let (values, is_list) = match value.get_ref() {
                DeValue::Table(inner) if name.is_empty() => {
                    self.take(&key, inner, entries)?;
                    continue;
                }
                DeValue::Array(items) => (items.iter().map(|item| text(item.get_ref())).collect(), true),
                one => (text(one).map(|text| vec![text]), false),
            };
            let values = values.ok_or_else(refuse)?;
            entries.push(Entry { table: name.to_owned(), key, values, is_list, line });
        }
        Ok(())
    }
}

/// Reads a file.
///
/// # Errors
/// It cannot be read.
pub(super) fn read(path: &Path) -> Result<String, FileError> {
    std::fs::read_to_string(path).map_err(|error| FileError {
        path: path.to_owned(),
        line: 0,
        what: format!("failed to read it: {error}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_come_with_their_lines_and_nonsense_is_refused_with_its_place() {
        let file = |text| File { path: Path::new("x.toml"), text };
        let entries = file("a = \"1\"\n\n[t]\nb = [\"2\", \"3\"]\n").entries().unwrap();
        let of: Vec<_> = entries.iter().map(|e| (e.table.as_str(), e.key.as_str(), e.values.len(), e.line)).collect();
        assert_eq!(of, [("", "a", 1, 1), ("t", "b", 2, 4)]);
        for (text, said) in [
            ("a = \"1\"\nb = 2\n", "x.toml:2: b has to be a text or a list of texts"),
            ("a = \n", "x.toml:1: not valid TOML"),
            ("a = [1]\n", "x.toml:1: a has to be"),
        ] {
            let error = file(text).entries().unwrap_err().to_string();
            assert!(error.starts_with(said), "{error}");
        }
        assert!(
            read(Path::new("/nonexistent/x.toml")).unwrap_err().to_string().starts_with("/nonexistent/x.toml: failed")
        );
    }
}
