//! A small SQLite file that all runs of a user share: made for that user alone, marked as ours, of a version that is known.

use std::fs::{DirBuilder, OpenOptions};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;
use std::time::Duration;

use rusqlite::Connection;

/// What is in such a file.
pub(super) struct Contents {
    /// In words, with its article.
    pub(super) what: &'static str,
    /// Marks the file as ours.
    pub(super) application_id: i32,
    /// Counts up with changes of the tables.
    pub(super) schema: i32,
    /// How long one process waits for another that writes.
    pub(super) busy: Duration,
    /// The statements that make its tables.
    pub(super) tables: &'static str,
    /// The statements that bring an older schema up to this one; `None` for a schema that is not known.
    pub(super) upgrade: fn(i32) -> Option<String>,
}

/// Opens the file, making it and its directory if need be.
///
/// # Errors
/// What is wrong, in words: it cannot be opened, is damaged, is not ours, or is of a later version.
pub(super) fn open(path: &Path, contents: &Contents) -> Result<Connection, String> {
    if let Some(dir) = path.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(|error| error.to_string())?;
    }
    let file = OpenOptions::new().create(true).append(true).mode(0o600).open(path);
    file.map_err(|error| error.to_string())?;
    let connection = Connection::open(path).map_err(|error| error.to_string())?;
    check(&connection, contents)?;
    Ok(connection)
}

fn check(connection: &Connection, contents: &Contents) -> Result<(), String> {
    let Contents { what, application_id, schema, busy, tables, upgrade } = *contents;
    let said = |error: rusqlite::Error| error.to_string();
    connection.busy_timeout(busy).map_err(said)?;
    let pragma = |name: &str| connection.pragma_query_value(None, name, |row| row.get::<_, i32>(0)).map_err(said);
    let n_tables: i64 =
        connection.query_row("SELECT count(*) FROM sqlite_master", [], |row| row.get(0)).map_err(said)?;
    let statements = match (pragma("application_id")?, pragma("user_version")?) {
        (id, known) if (id, known) == (application_id, schema) => return Ok(()),
        (id, other) if id == application_id => {
            upgrade(other).ok_or_else(|| format!("a newer fandeck made it (schema {other})"))?
        }
        (0, 0) if n_tables == 0 => format!(
            "PRAGMA journal_mode = WAL;
             BEGIN IMMEDIATE;
             {tables}
             PRAGMA application_id = {application_id}; PRAGMA user_version = {schema};
             COMMIT;"
        ),
        _ => return Err(format!("it is not {what} of fandeck")),
    };
    connection.execute_batch(&statements).map_err(said)
}
