//! What the runs of a user cost by day, claimed beforehand: SQLite, beside the run directories and shared by all runs,
//! wherever their directories are.
//!
//! A row a run and day. A claim is taken in one transaction with a look at all others, so that claims under a limit never
//! come to more than it; it is durable when it is granted, and stays when its run dies. A run that goes on replaces its own.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, TransactionBehavior};

use super::shared_file::{self, Contents};
use crate::model::Money;

const CONTENTS: Contents = Contents {
    what: "a ledger",
    // "fdsp".
    application_id: 0x6664_7370,
    schema: 1,
    busy: Duration::from_secs(5),
    tables: "CREATE TABLE IF NOT EXISTS claims (
                 run_id TEXT NOT NULL, day TEXT NOT NULL, claim INTEGER NOT NULL, PRIMARY KEY (run_id, day)
             );",
    upgrade: |_| None,
};
/// Days that are kept, of which there are claims.
const DAYS: i64 = 40;

/// Why there is no ledger of the day.
#[derive(Debug, thiserror::Error)]
#[error("failed to {doing} the ledger of the day {}: {what}", .path.display())]
pub struct SpendError {
    /// The file.
    pub path: PathBuf,
    /// The verb.
    pub doing: &'static str,
    /// What was said.
    pub what: String,
}

/// An open ledger.
#[derive(Debug)]
pub struct Spend {
    path: PathBuf,
    connection: Connection,
}

impl Spend {
    /// The file's name.
    pub const NAME: &'static str = "spend.sqlite";

    /// Opens the ledger of a directory, making both if need be.
    ///
    /// # Errors
    /// The file cannot be opened, is damaged, is not ours, or is of a later version.
    pub fn open(dir: &Path) -> Result<Spend, SpendError> {
        let path = dir.join(Spend::NAME);
        let fail = |what: String| SpendError { path: path.clone(), doing: "open", what };
        let connection = shared_file::open(&path, &CONTENTS).map_err(fail)?;
        // A setting of the connection: a claim must outlive the power, too.
        connection.execute_batch("PRAGMA synchronous = FULL;").map_err(|error| fail(error.to_string()))?;
        Ok(Spend { path, connection })
    }

    /// Replaces the claim of a run to a day (UTC, `2026-11-29`) by one of `wanted`, or of as much as the claims of the others
    /// leave of the limit, and never by less than `spent`. Gives the claims of the others, and its own. Durable when this
    /// returns.
    ///
    /// # Errors
    /// What SQLite said; the claim is as it was.
    pub fn claim(
        &mut self,
        run_id: &str,
        day: &str,
        spent: Money,
        wanted: Money,
        limit: Option<Money>,
    ) -> Result<(Money, Money), SpendError> {
        let mut write = || -> rusqlite::Result<(Money, Money)> {
            let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let others: i64 = transaction.query_row(
                "SELECT coalesce(sum(claim), 0) FROM claims WHERE day = ?1 AND run_id <> ?2",
                rusqlite::params![day, run_id],
                |row| row.get(0),
            )?;
            let others = Money(others.unsigned_abs());
            let left = limit.map_or(Money(u64::MAX), |limit| limit - others);
            let granted = wanted.min(left).max(spent);
            transaction.execute(
                "INSERT OR REPLACE INTO claims VALUES (?1, ?2, ?3)",
                rusqlite::params![run_id, day, i64::try_from(granted.0).unwrap_or(i64::MAX)],
            )?;
            transaction.execute(
                "DELETE FROM claims WHERE day NOT IN (SELECT DISTINCT day FROM claims ORDER BY day DESC LIMIT ?1)",
                [DAYS],
            )?;
            transaction.commit()?;
            Ok((others, granted))
        };
        let written = write();
        written.map_err(|error| SpendError { path: self.path.clone(), doing: "write to", what: error.to_string() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: &str = "2026-11-29";

    #[test]
    fn claims_of_runs_that_know_nothing_of_each_other_never_come_to_more_than_the_limit() {
        let dir = tempfile::tempdir().unwrap();
        let claim = |run: &str, spent, wanted| {
            let mut ledger = Spend::open(dir.path()).unwrap();
            ledger.claim(run, DAY, Money(spent), Money(wanted), Some(Money(100))).unwrap()
        };
        assert_eq!(claim("a", 0, 60), (Money(0), Money(60)));
        assert_eq!(claim("b", 0, 60), (Money(60), Money(40)));
        // What is spent is spent; a claim that was given back is there for the others.
        assert_eq!(claim("b", 41, 60), (Money(60), Money(41)));
        assert_eq!(claim("a", 20, 20), (Money(41), Money(20)));
        assert_eq!(claim("b", 41, 100), (Money(20), Money(80)));
    }

    #[test]
    fn a_new_day_begins_with_nothing_and_old_days_go() {
        let dir = tempfile::tempdir().unwrap();
        let mut ledger = Spend::open(dir.path()).unwrap();
        let limit = Some(Money(100));
        ledger.claim("a", DAY, Money(90), Money(90), limit).unwrap();
        assert_eq!(ledger.claim("b", DAY, Money(0), Money(50), limit).unwrap(), (Money(90), Money(10)));
        assert_eq!(ledger.claim("b", "2026-11-30", Money(0), Money(50), limit).unwrap(), (Money(0), Money(50)));
        for day in 0..60 {
            ledger.claim("a", &format!("2027-01-{day:02}"), Money(1), Money(1), None).unwrap();
        }
        let n: i64 = ledger.connection.query_row("SELECT count(*) FROM claims", [], |row| row.get(0)).unwrap();
        assert_eq!(n, DAYS);
    }

    #[test]
    fn d8_a_foreign_file_is_refused_and_left_as_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(Spend::NAME);
        std::fs::write(&path, "somebody else's notes, which are longer than a header of SQLite would be").unwrap();
        let error = Spend::open(dir.path()).unwrap_err().to_string();
        assert!(error.starts_with("failed to open the ledger of the day") && error.contains("spend.sqlite"), "{error}");
        assert!(std::fs::read_to_string(&path).unwrap().starts_with("somebody"));
    }
}
