//! Reads the results of a sub-batch: every id is checked, every row becomes a journal line, and what is in memory is a few
//! blocks of them, however long the file is.
//!
//! Rows may come in any order and are joined by id only. One that is no row is named by its offset and passed over; it costs
//! its request a second try, and no other anything.

use std::fs::File;
use std::path::Path;
use std::sync::mpsc::{Receiver, sync_channel};

use crate::api::batches::{BadRow, ResultRow, read_row};
use crate::engine::worker::RunWork;
use crate::model::{ApiError, Outcome, RequestNo, Route, Scrubber, Trouble, Usage, Verdict, Wall};
use crate::requests::lines::{Line, Lines};
use crate::store::{CacheEntry, LineMeta, Record, journal};

use super::act::{Harvest, HarvestedRow, Token};
use super::body::request_of;

/// The longest row that is taken: several times the largest answer.
const MAX_ROW: usize = 256 << 20;
/// Bytes of journal lines that are handed on at once.
const BLOCK: usize = 4 << 20;
/// Blocks that may be on their way to the disk.
const BLOCKS: usize = 2;
/// Bad lines and invalid requests that are told one by one.
const TOLD: usize = 20;

/// What a harvest works with.
pub(super) struct Harvester<'h> {
    pub(super) work: &'h RunWork,
    pub(super) scrubber: &'h Scrubber,
    pub(super) nonce: &'h str,
    /// Label of the org.
    pub(super) org: &'h str,
    /// Sorted.
    pub(super) members: &'h [RequestNo],
    pub(super) began_at: Option<Wall>,
    pub(super) now: Wall,
}

/// Where rows are handed on to; false when nobody takes them any more.
pub(super) type HandOn<'h> = dyn FnMut(Vec<HarvestedRow>, Token) -> bool + 'h;

/// The state of one pass over a file.
struct Pass<'h> {
    by: &'h Harvester<'h>,
    /// Which members have a result.
    seen: Vec<bool>,
    found: Harvest,
    block: Vec<HarvestedRow>,
    bytes: usize,
}

/// Reads a file of results; ends when all of its rows are durable.
///
/// # Errors
/// The file or the input cannot be read.
pub(super) fn read(by: &Harvester<'_>, path: &Path, hand_on: &mut HandOn<'_>) -> Result<Harvest, String> {
    let file = File::open(path).map_err(|error| format!("failed to open {}: {error}", path.display()))?;
    let mut lines = Lines::new(file, MAX_ROW);
    let (permits, permitted) = sync_channel(BLOCKS);
    for _ in 0..BLOCKS {
        let _ = permits.try_send(());
    }
    let token = Token(permits);
    let mut pass =
        Pass { by, seen: vec![false; by.members.len()], found: Harvest::default(), block: Vec::new(), bytes: 0 };
    loop {
        let line = lines.next(&mut |_| {}).map_err(|error| format!("failed to read {}: {error}", path.display()))?;
        let Some(line) = line else { break };
        pass.take(&line)?;
        if pass.bytes >= BLOCK {
            pass.flush(&permitted, &token, hand_on)?;
        }
    }
    pass.flush(&permitted, &token, hand_on)?;
    // Both permits back: everything that was handed on is durable.
    for _ in 0..BLOCKS {
        wait(&permitted)?;
    }
    Ok(pass.finish())
}

fn wait(permitted: &Receiver<()>) -> Result<(), String> {
    permitted.recv().map_err(|_| "the run has ended".to_owned())
}

impl Pass<'_> {
    fn take(&mut self, line: &Line<'_>) -> Result<(), String> {
        let Some(bytes) = line.bytes else {
            self.bad(line.offset, format!("a line of {} bytes", line.len));
            return Ok(());
        };
        let bytes = bytes.trim_ascii();
        if bytes.is_empty() {
            return Ok(());
        }
        match read_row(bytes, self.by.scrubber) {
            Ok(row) => self.row(row),
            Err(BadRow { custom_id, why }) => {
                let id = custom_id.map(|id| format!("{id}: ")).unwrap_or_default();
                self.bad(line.offset, format!("{id}{why}"));
                Ok(())
            }
        }
    }

    fn bad(&mut self, offset: u64, why: String) {
        self.found.n_bad += 1;
        if self.found.bad.len() < TOLD {
            self.found.bad.push((offset, why));
        }
    }

    fn row(&mut self, row: ResultRow<'_>) -> Result<(), String> {
        let no = request_of(self.by.nonce, &row.custom_id);
        let member = no.and_then(|no| Some((no, self.by.members.binary_search(&no).ok()?)));
        let Some((no, at)) = member else {
            self.found.n_alien += 1;
            return Ok(());
        };
        if std::mem::replace(&mut self.seen[at], true) {
            self.found.n_twice += 1;
            // An answer was paid for, whatever another row says.
            if !matches!(row.verdict, Verdict::Answered { .. }) || !self.take_back(no) {
                return Ok(());
            }
        }
        self.member(no, row)
    }

    /// Forgets that a result has to be made again; false when it has not.
    fn take_back(&mut self, no: RequestNo) -> bool {
        let Some(at) = self.found.again.iter().rposition(|(again, _)| *again == no) else { return false };
        let (_, trouble) = self.found.again.swap_remove(at);
        *self.found.tally.of(trouble) -= 1;
        true
    }

    fn member(&mut self, no: RequestNo, row: ResultRow<'_>) -> Result<(), String> {
        let tally = &mut self.found.tally;
        let usage = match &row.verdict {
            Verdict::Answered { refused, usage } => {
                *(if *refused { &mut tally.n_refused } else { &mut tally.n_succeeded }) += 1;
                *usage
            }
            Verdict::Invalid(error) => {
                tally.n_invalid += 1;
                if self.found.invalid.len() < TOLD {
                    self.found.invalid.push((no, error.clone()));
                }
                Usage::default()
            }
            Verdict::Trouble(trouble, error) => {
                *tally.of(*trouble) += 1;
                self.again(no, *trouble, error);
                return Ok(());
            }
        };
        let outcome = row.verdict.outcome();
        let cost = self.by.work.batch_cost(no, &usage);
        self.found.tally.cost += cost;
        let record = self.record(no, outcome, &usage, cost, row.body)?;
        self.bytes += record.line.len();
        self.block.push(HarvestedRow { no, outcome, usage, cost, record });
        Ok(())
    }

    fn again(&mut self, no: RequestNo, trouble: Trouble, error: &ApiError) {
        self.found.again.push((no, trouble));
        if let (Trouble::Account(account), None) = (trouble, &self.found.account) {
            self.found.account = Some((account, error.clone()));
        }
        if trouble == Trouble::UnknownResult {
            self.found.unknown.get_or_insert_with(|| error.message.clone());
        }
    }

    fn record(
        &self,
        no: RequestNo,
        outcome: Outcome,
        usage: &Usage,
        cost: crate::model::Money,
        body: bytes::Bytes,
    ) -> Result<Record, String> {
        let work = self.by.work;
        let custom_id = work.input.read(no).map_err(|error| error.to_string())?.custom_id;
        let took = self.by.began_at.map_or(0, |began| self.by.now.0.saturating_sub(began.0));
        let meta = LineMeta {
            no,
            outcome,
            org: Some(self.by.org),
            path: Route::Batch,
            attempt: 1,
            request_id: None,
            latency_ms: u64::try_from(took).unwrap_or(0),
            usage: *usage,
            cost,
            crc: work.input.crc_of(no),
            at: self.by.now,
        };
        let line = journal::line(&custom_id, &body, &meta);
        let key = work.keys.as_ref().and_then(|keys| keys.get(no.ix()));
        let cache = match (outcome, key) {
            (Outcome::Succeeded, Some(key)) => Some(CacheEntry { key: *key, body }),
            _ => None,
        };
        Ok(Record { run: work.slot, no, outcome, line, cache })
    }

    fn flush(&mut self, permitted: &Receiver<()>, token: &Token, hand_on: &mut HandOn<'_>) -> Result<(), String> {
        if self.block.is_empty() {
            return Ok(());
        }
        wait(permitted)?;
        self.bytes = 0;
        if hand_on(std::mem::take(&mut self.block), token.clone()) {
            Ok(())
        } else {
            Err("the run has ended".to_owned())
        }
    }

    fn finish(self) -> Harvest {
        let mut found = self.found;
        let unseen = self.by.members.iter().zip(&self.seen).filter(|(_, seen)| !**seen).map(|(no, _)| *no);
        found.missing = unseen.collect();
        found.tally.n_missing = found.missing.len() as u32;
        found
    }
}

#[cfg(test)]
#[path = "harvest_tests.rs"]
mod tests;
