//! The config file as a tree of values that know their lines, and the bookkeeping of which keys were asked for.

use std::path::{Path, PathBuf};

use toml::de::{DeTable, DeValue};

use crate::model::{Scrubber, suggest};

use super::error::{ConfigError, Origin};

/// A value as it was written, whatever its source.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Raw {
    /// An integer; one that does not fit saturates.
    Int(i64),
    /// A number with a fraction; may be infinite or not a number.
    Float(f64),
    /// `true` or `false`.
    Bool(bool),
    /// Text.
    Text(String),
    /// A list.
    List(Vec<Raw>),
    /// A date, which no setting is.
    Date,
    /// A table, which no value of a setting is.
    Table(Table),
}

impl From<u32> for Raw {
    fn from(n: u32) -> Raw {
        Raw::Int(i64::from(n))
    }
}

impl From<f64> for Raw {
    fn from(x: f64) -> Raw {
        Raw::Float(x)
    }
}

impl From<bool> for Raw {
    fn from(yes: bool) -> Raw {
        Raw::Bool(yes)
    }
}

impl From<String> for Raw {
    fn from(text: String) -> Raw {
        Raw::Text(text)
    }
}

/// A value with what an error needs.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Given {
    /// The value.
    pub(super) raw: Raw,
    /// As written, short, without key material.
    pub(super) shown: String,
    /// Where it was written.
    pub(super) origin: Origin,
}

impl Given {
    /// A value that is not from the file.
    pub(super) fn new(raw: Raw, shown: &str, origin: Origin) -> Given {
        Given { raw, shown: short(shown), origin }
    }

    /// The error that this value is not what is allowed.
    pub(super) fn refuse(&self, name: &str, allowed: impl Into<String>) -> ConfigError {
        ConfigError::Value {
            origin: self.origin.clone(),
            name: name.to_owned(),
            value: self.shown.clone(),
            allowed: allowed.into(),
        }
    }
}

/// A table of the file.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Table {
    /// Its name as a prefix of its keys: `dispatch.`, empty at the top.
    prefix: String,
    origin: Origin,
    entries: Vec<(String, Given)>,
    known: Vec<&'static str>,
}

impl Table {
    /// A table without entries, as when there is no file.
    pub(super) fn empty(prefix: &str) -> Table {
        Table { prefix: prefix.to_owned(), origin: Origin::Default, entries: Vec::new(), known: Vec::new() }
    }

    /// The place where the table begins.
    pub(super) fn origin(&self) -> &Origin {
        &self.origin
    }

    /// A key's name with its section.
    pub(super) fn name(&self, key: &str) -> String {
        format!("{}{key}", self.prefix)
    }

    /// Takes the value of a key out of the table.
    pub(super) fn take(&mut self, key: &'static str) -> Option<Given> {
        self.known.push(key);
        let at = self.entries.iter().position(|(name, _)| name == key)?;
        Some(self.entries.remove(at).1)
    }

    /// Takes a table out of this table; an empty one when it is not there.
    pub(super) fn take_table(&mut self, key: &'static str) -> Result<Table, ConfigError> {
        let prefix = format!("{}{key}.", self.prefix);
        match self.take(key) {
            None => Ok(Table::empty(&prefix)),
            Some(Given { raw: Raw::Table(table), .. }) => Ok(Table { prefix, ..table }),
            Some(other) => Err(other.refuse(&self.name(key), format!("a table: [{}{key}]", self.prefix))),
        }
    }

    /// Takes an array of tables out of this table.
    pub(super) fn take_tables(&mut self, key: &'static str) -> Result<Vec<Table>, ConfigError> {
        let Some(given) = self.take(key) else { return Ok(Vec::new()) };
        let refused = given.refuse(&self.name(key), format!("tables, each under [[{key}]]"));
        let Raw::List(items) = given.raw else { return Err(refused) };
        let prefix = format!("{}{key}.", self.prefix);
        items
            .into_iter()
            .map(|item| match item {
                Raw::Table(table) => Ok(Table { prefix: prefix.clone(), ..table }),
                _ => Err(refused.clone()),
            })
            .collect()
    }

    /// To be called when every known key was taken.
    ///
    /// # Errors
    /// A key is left that nobody asked for.
    pub(super) fn finish(&self) -> Result<(), ConfigError> {
        let first = self.entries.iter().min_by_key(|(_, given)| match &given.origin {
            Origin::File { line, .. } => *line,
            _ => 0,
        });
        match first {
            None => Ok(()),
            Some((key, given)) => Err(ConfigError::UnknownKey {
                origin: given.origin.clone(),
                name: short(&self.name(key)),
                hint: suggest::hint(key, &self.known),
            }),
        }
    }
}

/// Reads a config file's text.
///
/// # Errors
/// It is not TOML.
pub(super) fn parse(path: &Path, text: &str) -> Result<Table, ConfigError> {
    let source = Source { path: path.to_owned(), text };
    let root = DeTable::parse(text).map_err(|error| ConfigError::Syntax {
        origin: source.origin(error.span().map_or(0, |span| span.start)),
        what: short_to(error.message(), 200),
    })?;
    Ok(source.table(root.get_ref(), Origin::File { path: path.to_owned(), line: 1 }))
}

struct Source<'t> {
    path: PathBuf,
    text: &'t str,
}

impl Source<'_> {
    fn origin(&self, at: usize) -> Origin {
        let before = self.text.as_bytes().get(..at).unwrap_or(self.text.as_bytes());
        Origin::File { path: self.path.clone(), line: 1 + memchr::memchr_iter(b'\n', before).count() }
    }

    fn table(&self, table: &DeTable<'_>, origin: Origin) -> Table {
        let entries = table.iter().map(|(key, value)| {
            let given = Given {
                raw: self.raw(value.get_ref(), self.origin(key.span().start)),
                shown: short(self.text.get(value.span()).unwrap_or_default()),
                origin: self.origin(key.span().start),
            };
            (key.get_ref().clone().into_owned(), given)
        });
        Table { prefix: String::new(), origin, entries: entries.collect(), known: Vec::new() }
    }

    fn raw(&self, value: &DeValue<'_>, origin: Origin) -> Raw {
        match value {
            DeValue::String(text) => Raw::Text(text.clone().into_owned()),
            DeValue::Integer(n) => Raw::Int(
                i64::from_str_radix(n.as_str(), n.radix())
                    .unwrap_or_else(|_| if n.as_str().starts_with('-') { i64::MIN } else { i64::MAX }),
            ),
            DeValue::Float(x) => Raw::Float(x.as_str().parse().unwrap_or(f64::NAN)),
            DeValue::Boolean(yes) => Raw::Bool(*yes),
            DeValue::Datetime(_) => Raw::Date,
            DeValue::Array(items) => {
                Raw::List(items.iter().map(|item| self.raw(item.get_ref(), self.origin(item.span().start))).collect())
            }
            DeValue::Table(table) => Raw::Table(self.table(table, origin)),
        }
    }
}

/// What an error shows of a value: one line of at most 60 characters, without keys.
fn short(text: &str) -> String {
    short_to(text, 60)
}

fn short_to(text: &str, max: usize) -> String {
    let clean = Scrubber::default().scrub(text).into_owned();
    let line = clean.split_whitespace().collect::<Vec<&str>>().join(" ");
    match line.char_indices().nth(max) {
        Some((at, _)) => format!("{}…", line.get(..at).unwrap_or_default()),
        None => line,
    }
}
