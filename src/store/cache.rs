//! The cache of answers: SQLite, shared by all runs of a user, and by processes at the same time.
//!
//! It is advice. A damaged row, a damaged file or a busy one is a miss and a warning; only a file that is not ours is
//! refused, because writing to it would damage what is somebody else's.
//!
//! Rows are appended, and found by an index over the first eight bytes of their key; the whole key stands in the row. Two
//! other layouts were rejected: a table sorted by random keys (`WITHOUT ROWID`) touches a page per answer of a kilobyte, and
//! an index over whole keys is three times as large, so that every transaction rewrites three times as many pages. Keys
//! that are equal in eight bytes and no further (one pair in a cache of six billion) displace each other: a miss.

use std::fs::{DirBuilder, OpenOptions};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use rusqlite::{Connection, ErrorCode, OptionalExtension};

use super::{shared_file, stamp};
use crate::requests::Fingerprint;

/// "fdck": marks the file as ours.
const APPLICATION_ID: i32 = 0x6664_636b;

/// Counts up with changes of the tables.
const SCHEMA: i32 = 1;

/// How long one process waits for another that writes.
const BUSY: Duration = Duration::from_secs(10);

/// An answer to keep.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CacheEntry {
    /// The request's fingerprint.
    pub key: Fingerprint,
    /// The raw JSON of the Message.
    pub body: Bytes,
}

/// Why there is no cache.
#[derive(Debug, thiserror::Error)]
pub enum CacheError {
    /// It is not a cache of fandeck.
    #[error("{} is not a cache of fandeck; name another directory by --cache-dir, or run with --no-cache", .0.display())]
    Foreign(PathBuf),
    /// It is damaged.
    #[error("{} is damaged ({what}); remove it (answers in it are lost), or run with --no-cache", .path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What SQLite said.
        what: String,
    },
    /// A later version made it.
    #[error("{} was made by a newer fandeck (schema {schema}); name another directory by --cache-dir, or run with --no-cache", .path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its schema.
        schema: i32,
    },
    /// Something else.
    #[error("failed to {doing} the cache {}: {source}; name another directory by --cache-dir, or run with --no-cache", .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The verb.
        doing: &'static str,
        /// What was said.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

/// A connection to the cache. One thread at a time may use it; open another for another thread.
#[derive(Debug)]
pub struct Cache {
    path: PathBuf,
    connection: Connection,
    /// The one warning about damage was given.
    warned: AtomicBool,
}

impl Cache {
    /// The file's name in the cache directory.
    pub const NAME: &'static str = "answers.sqlite";

    /// Opens the cache of a directory, making both if need be.
    ///
    /// # Errors
    /// A foreign, damaged or newer file is refused, with the path and the remedy.
    pub fn open(dir: &Path) -> Result<Cache, CacheError> {
        let path = dir.join(Cache::NAME);
        let create =
            |err: std::io::Error| CacheError::Io { path: path.clone(), doing: "create", source: Box::new(err) };
        // Answers are nobody else's business; SQLite gives its other files the mode of this one.
        DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(create)?;
        OpenOptions::new().create(true).append(true).mode(0o600).open(&path).map_err(create)?;
        Cache::open_file(&path)
    }

    /// Another connection to the same file.
    ///
    /// # Errors
    /// As for [`Cache::open`].
    pub fn again(&self) -> Result<Cache, CacheError> {
        Cache::open_file(&self.path)
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn open_file(path: &Path) -> Result<Cache, CacheError> {
        let wrap = |err: rusqlite::Error| classify(path, "open", err);
        let connection = Connection::open(path).map_err(wrap)?;
        connection.busy_timeout(BUSY).map_err(wrap)?;
        check_owner(&connection, path)?;
        // Losing the newest answers to a power failure costs money, not truth: the journal has them.
        shared_file::use_wal(&connection, BUSY).map_err(wrap)?;
        connection
            .execute_batch(
                "PRAGMA synchronous = NORMAL; PRAGMA temp_store = MEMORY;
                 PRAGMA wal_autocheckpoint = 8000; PRAGMA cache_size = -16000;",
            )
            .map_err(wrap)?;
        make_tables(&connection, path)?;
        connection.set_prepared_statement_cache_capacity(8);
        Ok(Cache { path: path.to_owned(), connection, warned: AtomicBool::new(false) })
    }

    /// Which of these keys have an answer, in the order given; [`Cache::get`] has the last word on each. Trouble makes misses
    /// of the rest.
    pub fn lookup(&self, keys: &[Fingerprint]) -> Vec<bool> {
        let mut hits = vec![false; keys.len()];
        let mut order: Vec<u32> = (0..keys.len() as u32).collect();
        // In the order of the index, so that each of its pages is read once.
        order.sort_unstable_by_key(|&at| short(&keys[at as usize]));
        let look = || -> rusqlite::Result<()> {
            let mut statement = self.connection.prepare_cached("SELECT 1 FROM answers WHERE short = ?1")?;
            for at in order {
                hits[at as usize] = statement.exists([short(&keys[at as usize])])?;
            }
            Ok(())
        };
        if let Err(err) = look() {
            self.warn("look up answers in", &err);
        }
        hits
    }

    /// The raw JSON of the Message under a key. A row whose checksum is wrong is a miss; so is all trouble.
    pub fn get(&self, key: &Fingerprint) -> Option<Vec<u8>> {
        let read = || -> rusqlite::Result<Option<(u32, Vec<u8>)>> {
            let mut statement =
                self.connection.prepare_cached("SELECT crc, message FROM answers WHERE short = ?1 AND key = ?2")?;
            statement.query_row((short(key), &key[..]), |row| Ok((row.get(0)?, row.get(1)?))).optional()
        };
        match read() {
            Ok(Some((crc, message))) if crc32fast::hash(&message) == crc => Some(message),
            Ok(None) => None,
            Ok(Some(_)) => {
                self.warn("read an answer from", &"its checksum is wrong");
                None
            }
            Err(err) => {
                self.warn("read an answer from", &err);
                None
            }
        }
    }

    /// Puts answers in, all or none; a key that is there already takes the new answer. Best in thousands.
    ///
    /// # Errors
    /// What SQLite said; nothing was put in.
    pub fn insert_many(&mut self, entries: &mut [CacheEntry]) -> Result<(), CacheError> {
        entries.sort_unstable_by_key(|entry| short(&entry.key));
        let at = stamp::now().0;
        let mut insert = || -> rusqlite::Result<()> {
            let transaction = self.connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
            {
                let mut statement = transaction.prepare_cached(
                    "INSERT INTO answers (short, key, created_at, crc, message) VALUES (?1, ?2, ?3, ?4, ?5)
                     ON CONFLICT (short) DO UPDATE SET key = ?2, created_at = ?3, crc = ?4, message = ?5",
                )?;
                for entry in entries.iter() {
                    let (short, crc) = (short(&entry.key), crc32fast::hash(&entry.body));
                    statement.execute((short, &entry.key[..], at, crc, &entry.body[..]))?;
                }
            }
            transaction.commit()
        };
        insert().map_err(|err| classify(&self.path, "write to", err))
    }

    /// How many answers there are.
    ///
    /// # Errors
    /// What SQLite said.
    pub fn count(&self) -> Result<u64, CacheError> {
        let count = self.connection.query_row("SELECT count(*) FROM answers", [], |row| row.get::<_, i64>(0));
        count.map(i64::unsigned_abs).map_err(|err| classify(&self.path, "read", err))
    }

    /// Says once that there is trouble; the run goes on without.
    fn warn(&self, doing: &str, err: &dyn std::fmt::Display) {
        if !self.warned.swap(true, Ordering::Relaxed) {
            tracing::warn!("failed to {doing} the cache {}: {err}; taken as not cached", self.path.display());
        }
    }
}

/// The first eight bytes of a key, as SQLite's integers have them.
fn short(key: &Fingerprint) -> i64 {
    let [a, b, c, d, e, f, g, h, ..] = *key;
    i64::from_be_bytes([a, b, c, d, e, f, g, h])
}

/// Refuses a database that is somebody else's, before anything is written to it.
fn check_owner(connection: &Connection, path: &Path) -> Result<(), CacheError> {
    let wrap = |err: rusqlite::Error| classify(path, "open", err);
    // In one look: another process may be making it.
    let seen = connection.unchecked_transaction().map_err(wrap)?;
    let tables: i64 = seen.query_row("SELECT count(*) FROM sqlite_master", [], |row| row.get(0)).map_err(wrap)?;
    let pragma = |name: &str| seen.pragma_query_value(None, name, |row| row.get::<_, i32>(0)).map_err(wrap);
    let marks = (pragma("application_id")?, pragma("user_version")?);
    seen.finish().map_err(wrap)?;
    match marks {
        (APPLICATION_ID, schema) if schema > SCHEMA => Err(CacheError::Newer { path: path.to_owned(), schema }),
        (APPLICATION_ID, _) => Ok(()),
        (0, 0) if tables == 0 => Ok(()),
        _ => Err(CacheError::Foreign(path.to_owned())),
    }
}

/// Makes the tables of a new file; two processes may do so at the same moment.
fn make_tables(connection: &Connection, path: &Path) -> Result<(), CacheError> {
    connection
        .execute_batch(&format!(
            "BEGIN IMMEDIATE;
             CREATE TABLE IF NOT EXISTS answers (
                 short INTEGER NOT NULL UNIQUE, key BLOB NOT NULL, created_at INTEGER NOT NULL,
                 crc INTEGER NOT NULL, message BLOB NOT NULL
             );
             PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {SCHEMA};
             COMMIT;"
        ))
        .map_err(|err| classify(path, "open", err))
}

fn classify(path: &Path, doing: &'static str, err: rusqlite::Error) -> CacheError {
    match err.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => CacheError::Foreign(path.to_owned()),
        Some(ErrorCode::DatabaseCorrupt) => CacheError::Damaged { path: path.to_owned(), what: err.to_string() },
        _ => CacheError::Io { path: path.to_owned(), doing, source: Box::new(err) },
    }
}
