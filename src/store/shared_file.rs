//! A small SQLite file that all runs of a user share: made for that user alone, marked as ours, of a version that is known.

use std::fs::{DirBuilder, OpenOptions};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode, Transaction, TransactionBehavior};

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
    /// The statements that bring an older schema up to this one, in a transaction; `None` for a schema that is not known.
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

/// Switches a file to a write-ahead log, in which it stays. SQLite does not wait for another process that is about to do the
/// same, or that reads: it fails at once, whatever its patience, because two of them could wait for each other.
///
/// # Errors
/// What SQLite said; that it is busy only after this time.
pub(super) fn use_wal(connection: &Connection, patience: Duration) -> rusqlite::Result<()> {
    let until = Instant::now() + patience;
    loop {
        match connection.execute_batch("PRAGMA journal_mode = WAL;") {
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) && Instant::now() < until => {
                std::thread::sleep(Duration::from_millis(fastrand::u64(1..20)));
            }
            done => return done,
        }
    }
}

fn check(connection: &Connection, contents: &Contents) -> Result<(), String> {
    let Contents { what, application_id, schema, busy, tables, upgrade } = *contents;
    let said = |error: rusqlite::Error| error.to_string();
    connection.busy_timeout(busy).map_err(said)?;
    // In one look: another process may be making it.
    let seen = connection.unchecked_transaction().map_err(said)?;
    let pragma = |name: &str| seen.pragma_query_value(None, name, |row| row.get::<_, i32>(0)).map_err(said);
    let n_tables: i64 = seen.query_row("SELECT count(*) FROM sqlite_master", [], |row| row.get(0)).map_err(said)?;
    let marks = (pragma("application_id")?, pragma("user_version")?);
    seen.finish().map_err(said)?;
    let statements = match marks {
        (id, known) if (id, known) == (application_id, schema) => return Ok(()),
        (id, other) if id == application_id => {
            let statements = upgrade(other).ok_or_else(|| format!("a newer fandeck made it (schema {other})"))?;
            return bring_up(connection, other, &statements).map_err(said);
        }
        (0, 0) if n_tables == 0 => {
            use_wal(connection, busy).map_err(said)?;
            format!(
                "BEGIN IMMEDIATE;
                 {tables}
                 PRAGMA application_id = {application_id}; PRAGMA user_version = {schema};
                 COMMIT;"
            )
        }
        _ => return Err(format!("it is not {what} of fandeck")),
    };
    connection.execute_batch(&statements).map_err(said)
}

/// Brings the tables of an older schema up, unless another process has done so since.
fn bring_up(connection: &Connection, from: i32, statements: &str) -> rusqlite::Result<()> {
    let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
    if transaction.pragma_query_value(None, "user_version", |row| row.get::<_, i32>(0))? == from {
        transaction.execute_batch(statements)?;
    }
    transaction.commit()
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use crate::store::{Cache, History, Spend};

    #[test]
    fn processes_that_make_a_file_at_the_same_moment_all_get_it() {
        let openings: [fn(&std::path::Path) -> Option<String>; 3] = [
            |dir| Spend::open(dir).err().map(|error| error.to_string()),
            |dir| History::open(dir).err().map(|error| error.to_string()),
            |dir| Cache::open(dir).err().map(|error| error.to_string()),
        ];
        for open in openings.into_iter().cycle().take(24) {
            let temp = tempfile::tempdir().unwrap();
            let start = Barrier::new(4);
            let errors: Vec<String> = std::thread::scope(|scope| {
                let opened: Vec<_> = (0..4)
                    .map(|_| {
                        scope.spawn(|| {
                            start.wait();
                            open(temp.path())
                        })
                    })
                    .collect();
                opened.into_iter().filter_map(|opened| opened.join().unwrap()).collect()
            });
            assert!(errors.is_empty(), "{errors:?}");
        }
    }
}
