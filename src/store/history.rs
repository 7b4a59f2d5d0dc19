//! What finished runs measured, for the plans of later ones: SQLite, beside the cache and shared by all runs of a user.
//!
//! A row a run and org, and a row a sub-batch; nothing of what requests or answers say. It is advice like the cache: a
//! plan without it works with assumptions and says so, so trouble with the file is an error that its caller may pass over.
//! A run that goes on replaces its rows. Figures are kept by the org's label *and* its host: what a test server measured
//! under a label is not what the API does under it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::Connection;

use super::shared_file::{self, Contents};
use crate::model::Wall;

const CONTENTS: Contents = Contents {
    what: "a history",
    // "fdhs".
    application_id: 0x6664_6873,
    schema: SCHEMA,
    busy: Duration::from_secs(2),
    tables: "CREATE TABLE IF NOT EXISTS org_runs (
                 run_id TEXT NOT NULL, org TEXT NOT NULL, input TEXT NOT NULL, is_pilot INTEGER NOT NULL,
                 host TEXT NOT NULL, model TEXT NOT NULL, at INTEGER NOT NULL, n INTEGER NOT NULL,
                 p50_ms INTEGER NOT NULL, p95_ms INTEGER NOT NULL, bytes_in INTEGER NOT NULL,
                 tokens_in INTEGER NOT NULL, tokens_out INTEGER NOT NULL,
                 rpm INTEGER NOT NULL, itpm INTEGER NOT NULL, otpm INTEGER NOT NULL,
                 mean_ms INTEGER NOT NULL, cache_write_5m INTEGER NOT NULL, cache_write_1h INTEGER NOT NULL,
                 cache_read INTEGER NOT NULL, PRIMARY KEY (run_id, org)
             );
             CREATE TABLE IF NOT EXISTS sub_batches (
                 run_id TEXT NOT NULL, ix INTEGER NOT NULL, org TEXT NOT NULL, model TEXT NOT NULL, at INTEGER NOT NULL,
                 n_requests INTEGER NOT NULL, secs REAL NOT NULL, PRIMARY KEY (run_id, ix)
             );",
    upgrade: |schema| (schema == 1).then(from_1),
};
/// Counts up with changes of the tables.
const SCHEMA: i32 = 2;
/// Runs that are looked at, newest first. Older ones say little of today's API.
const RUNS: i64 = 10;
/// Sub-batches that are looked at.
const SUB_BATCHES: i64 = 200;

/// Why there is no history.
#[derive(Debug, thiserror::Error)]
#[error("failed to {doing} the history {}: {what}", .path.display())]
pub struct HistoryError {
    /// The file.
    pub path: PathBuf,
    /// The verb.
    pub doing: &'static str,
    /// What was said.
    pub what: String,
}

/// What one run measured on one org.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct OrgRun {
    /// The run.
    pub run_id: String,
    /// SHA-256 of its input, hexadecimal.
    pub input: String,
    /// Whether it was a pilot.
    pub is_pilot: bool,
    /// The org's label.
    pub org: String,
    /// The host that it was sent to.
    pub host: String,
    /// The model, by its full id.
    pub model: String,
    /// When it came to rest.
    pub at: Wall,
    /// Answers.
    pub n: u64,
    /// Median latency of an answer, milliseconds; 0 when there was none on the sync path.
    pub p50_ms: u32,
    /// 95th percentile.
    pub p95_ms: u32,
    /// Mean; 0 when there was none, or when an earlier version wrote it down.
    pub mean_ms: u32,
    /// Bytes of the requests that were answered.
    pub bytes_in: u64,
    /// Billed input tokens, cached ones included.
    pub tokens_in: u64,
    /// Of them: written to the prompt cache for five minutes, for an hour, and read from it.
    pub cached: [u64; 3],
    /// Billed output tokens.
    pub tokens_out: u64,
    /// Limits a minute as the headers told them: requests, input tokens, output tokens. 0 is one that was not told.
    pub limits: [u64; 3],
}

/// How long one sub-batch took.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SubBatchRun {
    /// The run.
    pub run_id: String,
    /// Its index there.
    pub index: u32,
    /// The org's label.
    pub org: String,
    /// The model, by its full id.
    pub model: String,
    /// When it was written down.
    pub at: Wall,
    /// Its requests.
    pub n_requests: u32,
    /// From its create to its end, seconds.
    pub secs: f64,
}

/// A connection to the history.
#[derive(Debug)]
pub struct History {
    path: PathBuf,
    connection: Connection,
}

impl History {
    /// The file's name in the cache directory.
    pub const NAME: &'static str = "history.sqlite";

    /// Opens the history of a directory, making both if need be.
    ///
    /// # Errors
    /// The file cannot be opened, is damaged, is not ours, or is of a later version.
    pub fn open(dir: &Path) -> Result<History, HistoryError> {
        let path = dir.join(History::NAME);
        let fail = |what: String| HistoryError { path: path.clone(), doing: "open", what };
        let connection = shared_file::open(&path, &CONTENTS).map_err(fail)?;
        Ok(History { path, connection })
    }

    /// Opens it only when it is there: a plan that nobody launches leaves nothing behind.
    ///
    /// # Errors
    /// As for [`History::open`].
    pub fn open_existing(dir: &Path) -> Result<Option<History>, HistoryError> {
        if dir.join(History::NAME).exists() { History::open(dir).map(Some) } else { Ok(None) }
    }

    fn fail(&self, doing: &'static str) -> impl Fn(rusqlite::Error) -> HistoryError + '_ {
        move |error| HistoryError { path: self.path.clone(), doing, what: error.to_string() }
    }

    /// Writes down what a run measured, instead of what it measured before.
    ///
    /// # Errors
    /// What SQLite said; nothing was written.
    pub fn record(&mut self, orgs: &[OrgRun], sub_batches: &[SubBatchRun]) -> Result<(), HistoryError> {
        let mut write = || -> rusqlite::Result<()> {
            let transaction = self.connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
            for run in orgs {
                transaction.execute(
                    "INSERT OR REPLACE INTO org_runs VALUES
                         (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15,?16,?17,?18,?19,?20)",
                    rusqlite::params![
                        run.run_id,
                        run.org,
                        run.input,
                        run.is_pilot,
                        run.host,
                        run.model,
                        run.at.0,
                        int(run.n),
                        run.p50_ms,
                        run.p95_ms,
                        int(run.bytes_in),
                        int(run.tokens_in),
                        int(run.tokens_out),
                        int(run.limits[0]),
                        int(run.limits[1]),
                        int(run.limits[2]),
                        run.mean_ms,
                        int(run.cached[0]),
                        int(run.cached[1]),
                        int(run.cached[2]),
                    ],
                )?;
            }
            for sub in sub_batches {
                transaction.execute(
                    "INSERT OR REPLACE INTO sub_batches VALUES (?1,?2,?3,?4,?5,?6,?7)",
                    rusqlite::params![sub.run_id, sub.index, sub.org, sub.model, sub.at.0, sub.n_requests, sub.secs],
                )?;
            }
            transaction.commit()
        };
        let written = write();
        written.map_err(self.fail("write to"))
    }

    /// The newest runs of a model at these hosts, newest first.
    ///
    /// # Errors
    /// What SQLite said.
    pub fn org_runs(&self, model: &str, hosts: &[String]) -> Result<Vec<OrgRun>, HistoryError> {
        let read = || -> rusqlite::Result<Vec<OrgRun>> {
            let mut statement = self.connection.prepare(
                "SELECT run_id, org, input, is_pilot, host, model, at, n, p50_ms, p95_ms, bytes_in, tokens_in, tokens_out,
                        rpm, itpm, otpm, mean_ms, cache_write_5m, cache_write_1h, cache_read
                 FROM org_runs WHERE model = ?1 AND host IN (SELECT value FROM json_each(?3)) AND run_id IN
                     (SELECT run_id FROM org_runs WHERE model = ?1 AND host IN (SELECT value FROM json_each(?3))
                      GROUP BY run_id ORDER BY max(at) DESC LIMIT ?2)
                 ORDER BY at DESC",
            )?;
            let rows = statement.query_map(rusqlite::params![model, RUNS, json(hosts)], |row| {
                Ok(OrgRun {
                    run_id: row.get(0)?,
                    org: row.get(1)?,
                    input: row.get(2)?,
                    is_pilot: row.get(3)?,
                    host: row.get(4)?,
                    model: row.get(5)?,
                    at: Wall(row.get(6)?),
                    n: count(row.get(7)?),
                    p50_ms: row.get(8)?,
                    p95_ms: row.get(9)?,
                    bytes_in: count(row.get(10)?),
                    tokens_in: count(row.get(11)?),
                    tokens_out: count(row.get(12)?),
                    limits: [count(row.get(13)?), count(row.get(14)?), count(row.get(15)?)],
                    mean_ms: row.get(16)?,
                    cached: [count(row.get(17)?), count(row.get(18)?), count(row.get(19)?)],
                })
            })?;
            rows.collect()
        };
        read().map_err(self.fail("read"))
    }

    /// The newest sub-batches of a model at these hosts, newest first.
    ///
    /// # Errors
    /// What SQLite said.
    pub fn sub_batches(&self, model: &str, hosts: &[String]) -> Result<Vec<SubBatchRun>, HistoryError> {
        let read = || -> rusqlite::Result<Vec<SubBatchRun>> {
            let mut statement = self.connection.prepare(
                "SELECT run_id, ix, org, model, at, n_requests, secs FROM sub_batches
                 WHERE model = ?1 AND EXISTS
                     (SELECT 1 FROM org_runs WHERE org_runs.run_id = sub_batches.run_id AND org_runs.org = sub_batches.org
                      AND host IN (SELECT value FROM json_each(?3)))
                 ORDER BY at DESC LIMIT ?2",
            )?;
            let rows = statement.query_map(rusqlite::params![model, SUB_BATCHES, json(hosts)], |row| {
                Ok(SubBatchRun {
                    run_id: row.get(0)?,
                    index: row.get(1)?,
                    org: row.get(2)?,
                    model: row.get(3)?,
                    at: Wall(row.get(4)?),
                    n_requests: row.get(5)?,
                    secs: row.get(6)?,
                })
            })?;
            rows.collect()
        };
        read().map_err(self.fail("read"))
    }
}

/// A list as SQLite takes one in a parameter.
fn json(list: &[String]) -> String {
    serde_json::Value::from(list).to_string()
}

/// SQLite's integers are signed.
fn int(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

fn count(n: i64) -> u64 {
    n.unsigned_abs()
}

/// From the first tables to these. The check of the version is part of the transaction's writes: of two processes that
/// both saw the old one, the second finds the column there, and fails.
fn from_1() -> String {
    let column = |name| format!("ALTER TABLE org_runs ADD COLUMN {name} INTEGER NOT NULL DEFAULT 0;");
    let columns = ["mean_ms", "cache_write_5m", "cache_write_1h", "cache_read"].map(column).concat();
    format!("{columns} PRAGMA user_version = {SCHEMA};")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(id: &str, org: &str, at: i64, n: u64) -> OrgRun {
        OrgRun {
            run_id: id.to_owned(),
            org: org.to_owned(),
            model: "m".to_owned(),
            host: "h".to_owned(),
            at: Wall(at),
            n,
            limits: [1, 0, u64::from(u32::MAX)],
            ..OrgRun::default()
        }
    }

    fn here() -> [String; 1] {
        ["h".to_owned()]
    }

    #[test]
    fn what_was_measured_at_another_host_is_not_given_and_hides_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let mut history = History::open(dir.path()).unwrap();
        let sub = |run: &str| SubBatchRun {
            run_id: run.to_owned(),
            org: "one".to_owned(),
            model: "m".to_owned(),
            secs: 1.0,
            ..SubBatchRun::default()
        };
        history.record(&[run("real", "one", 1, 10)], &[sub("real")]).unwrap();
        for at in 2..300 {
            let test = OrgRun { host: "127.0.0.1:8080".to_owned(), ..run(&format!("test-{at}"), "one", at, 10) };
            history.record(std::slice::from_ref(&test), &[sub(&test.run_id)]).unwrap();
        }
        let runs = history.org_runs("m", &here()).unwrap();
        assert_eq!(runs.iter().map(|run| run.run_id.as_str()).collect::<Vec<_>>(), ["real"]);
        let subs = history.sub_batches("m", &here()).unwrap();
        assert_eq!(subs.iter().map(|sub| sub.run_id.as_str()).collect::<Vec<_>>(), ["real"]);
        assert_eq!(history.org_runs("m", &[]).unwrap(), []);
    }

    #[test]
    fn a_run_that_went_on_replaces_what_it_measured_before() {
        let dir = tempfile::tempdir().unwrap();
        let mut history = History::open(dir.path()).unwrap();
        history.record(&[run("a", "one", 1, 10), run("a", "two", 1, 5)], &[]).unwrap();
        history.record(&[run("b", "one", 2, 7), run("a", "one", 3, 100)], &[]).unwrap();
        drop(history);
        let runs = History::open_existing(dir.path()).unwrap().unwrap().org_runs("m", &here()).unwrap();
        let seen: Vec<(&str, &str, u64)> = runs.iter().map(|run| (&*run.run_id, &*run.org, run.n)).collect();
        assert_eq!(seen, [("a", "one", 100), ("b", "one", 7), ("a", "two", 5)]);
        assert_eq!(runs[0], run("a", "one", 3, 100));
    }

    #[test]
    fn a_history_of_the_first_version_is_taken_on_with_what_it_did_not_know() {
        let dir = tempfile::tempdir().unwrap();
        let mut history = History::open(dir.path()).unwrap();
        history.record(&[OrgRun { mean_ms: 1_640, cached: [1, 2, 3], ..run("a", "one", 1, 10) }], &[]).unwrap();
        assert_eq!(history.org_runs("m", &here()).unwrap()[0].cached, [1, 2, 3]);
        let drop_column = |name| format!("ALTER TABLE org_runs DROP COLUMN {name};");
        let columns = ["mean_ms", "cache_write_5m", "cache_write_1h", "cache_read"].map(drop_column).concat();
        history.connection.execute_batch(&format!("{columns} PRAGMA user_version = 1;")).unwrap();
        drop(history);
        let mut history = History::open(dir.path()).unwrap();
        assert_eq!(history.org_runs("m", &here()).unwrap(), [run("a", "one", 1, 10)]);
        history.record(&[OrgRun { mean_ms: 1_500, ..run("b", "one", 2, 10) }], &[]).unwrap();
        drop(history);
        assert_eq!(History::open(dir.path()).unwrap().org_runs("m", &here()).unwrap()[0].mean_ms, 1_500);
    }

    #[test]
    fn only_the_newest_runs_of_the_model_are_given() {
        let dir = tempfile::tempdir().unwrap();
        let mut history = History::open(dir.path()).unwrap();
        for at in 0..15 {
            history.record(&[run(&format!("run-{at}"), "one", at, 1)], &[]).unwrap();
        }
        let runs = history.org_runs("m", &here()).unwrap();
        assert_eq!((runs.len(), runs[0].run_id.as_str(), runs[9].run_id.as_str()), (10, "run-14", "run-5"));
        assert_eq!(history.org_runs("other", &here()).unwrap(), []);
    }

    #[test]
    fn sub_batches_are_kept_with_their_durations() {
        let dir = tempfile::tempdir().unwrap();
        let mut history = History::open(dir.path()).unwrap();
        let sub = SubBatchRun {
            run_id: "a".to_owned(),
            index: 3,
            model: "m".to_owned(),
            secs: 311.5,
            org: "one".to_owned(),
            ..Default::default()
        };
        history.record(&[run("a", "one", 1, 10)], std::slice::from_ref(&sub)).unwrap();
        assert_eq!(history.sub_batches("m", &here()).unwrap(), [sub]);
    }

    #[test]
    fn d8_a_foreign_file_is_refused_and_left_as_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(History::NAME);
        std::fs::write(&path, "somebody else's notes, which are longer than a header of SQLite would be").unwrap();
        let error = History::open(dir.path()).unwrap_err().to_string();
        assert!(error.starts_with("failed to open the history") && error.contains("history.sqlite"), "{error}");
        assert!(std::fs::read_to_string(&path).unwrap().starts_with("somebody"));
    }

    #[test]
    fn a_look_at_a_history_that_is_not_there_makes_none() {
        let dir = tempfile::tempdir().unwrap();
        assert!(History::open_existing(dir.path()).unwrap().is_none());
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}
