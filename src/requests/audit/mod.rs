//! The audit of an input: what the API will refuse, what money a prompt cache would save, what is sent twice.
//!
//! One pass over the lines, in memory that does not grow with their number: counts, a few texts to compare with, and
//! two tables of a fixed size. Nothing is sent. A line that is no request is named and passed over; the rest is audited.
//!
//! Token counts are made from bytes, so that every figure is an estimate and says so by its words. What is exact: line
//! numbers, counts of lines, and which parameters a model of the catalog accepts.

mod blocks;
mod caching;
mod duplicates;
mod facts;
mod heads;
mod limits;
mod prefixes;
mod reads;
mod refusals;
mod row;
mod splits;
mod tally;
#[cfg(test)]
mod tests;

use std::io::{self, Read};
use std::path::Path;

use serde::Serialize;

use super::error::{InputError, ProblemKind, ProblemReport};
use super::indexer;
use super::lines::{Lines, MAX_LINE, request_text};
use super::shape;
use crate::model::{Figure, Finding, Severity};

use blocks::{Boundary, Walker};
use duplicates::Duplicates;
use facts::Models;
pub use facts::{AuditFacts, Observed};
use heads::Heads;
use prefixes::Prefixes;
use refusals::Refusals;
use row::Row;
use tally::Tally;

/// Bytes of JSON to a token, for English text. Models since 4.7 make about a third more tokens of the same text.
const BYTES_PER_TOKEN: u64 = 4;

/// Tokens of so many bytes, about.
fn tokens(bytes: u64) -> u64 {
    bytes / BYTES_PER_TOKEN
}

/// What an audit came to.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AuditReport {
    /// Lines of the file, blank and bad ones too.
    pub n_lines: u64,
    /// Requests that were audited.
    pub n_requests: u64,
    /// Bytes of the file.
    pub bytes: u64,
    /// The models and how many requests name each, in the order of the file. At most 64; the rest is not audited.
    pub models: Vec<(String, u64)>,
    /// The worst first.
    pub findings: Vec<Finding>,
}

/// Audits a file.
///
/// # Errors
/// It cannot be read. What is wrong with its lines is a finding and no error.
pub fn audit_file(
    path: &Path,
    facts: &AuditFacts<'_>,
    progress: &mut dyn FnMut(u64),
) -> Result<AuditReport, InputError> {
    let file = indexer::open(path)?;
    audit(path, file, facts, progress).map_err(|error| InputError::from_io(path, error))
}

/// Audits a stream of lines. `progress` is told the bytes read so far.
///
/// # Errors
/// The stream cannot be read.
pub fn audit(
    path: &Path,
    reader: impl Read,
    facts: &AuditFacts<'_>,
    progress: &mut dyn FnMut(u64),
) -> io::Result<AuditReport> {
    let mut lines = Lines::new(reader, MAX_LINE);
    let mut auditor = Auditor::new(path, facts);
    let mut bytes = 0_u64;
    let mut seen = |chunk: &[u8]| {
        bytes += chunk.len() as u64;
        progress(bytes);
    };
    while let Some(line) = lines.next(&mut seen)? {
        auditor.take(line.offset, line.len, line.bytes);
    }
    Ok(auditor.finish(bytes))
}

/// The audit in the making.
struct Auditor<'f> {
    facts: &'f AuditFacts<'f>,
    models: Models<'f>,
    problems: ProblemReport,
    bad: Tally,
    refusals: Refusals,
    walker: Walker,
    boundaries: Vec<Boundary>,
    prefixes: Prefixes,
    heads: Heads,
    duplicates: Duplicates,
    sizes: limits::Sizes,
    n_lines: u64,
    n_requests: u64,
}

impl<'f> Auditor<'f> {
    fn new(path: &Path, facts: &'f AuditFacts<'f>) -> Auditor<'f> {
        Auditor {
            facts,
            models: Models::new(facts),
            problems: ProblemReport::new(path),
            bad: Tally::default(),
            refusals: Refusals::default(),
            walker: Walker::default(),
            boundaries: Vec::new(),
            prefixes: Prefixes::default(),
            heads: Heads::default(),
            duplicates: Duplicates::default(),
            sizes: limits::Sizes::default(),
            n_lines: 0,
            n_requests: 0,
        }
    }

    fn take(&mut self, offset: u64, len: u64, bytes: Option<&[u8]>) {
        self.n_lines += 1;
        let no = self.n_lines;
        let Some(bytes) = bytes else {
            self.problems.add(no, ProblemKind::TooLong(len));
            return self.bad.add(no);
        };
        let (_, text) = request_text(offset, bytes);
        if text.trim_ascii().is_empty() {
            return;
        }
        let before = self.problems.total;
        let problems = &mut self.problems;
        let usable = shape::check(text, &mut |kind| problems.add(no, kind));
        let sound = self.problems.total == before;
        match usable.filter(|_| sound).and_then(|usable| Row::of(no, text, usable)) {
            Some(row) => self.audit(&row),
            None => self.bad.add(no),
        }
    }

    fn audit(&mut self, row: &Row<'_>) {
        self.n_requests += 1;
        let Some(model) = self.models.count(&row.model, row.line) else { return };
        let walked = self.walker.walk(row, model, &mut self.boundaries);
        self.refusals.take(row, model, &self.models, &walked, self.facts);
        self.prefixes.take(row.line, model, &self.boundaries, &self.models);
        for head in walked.heads.into_iter().flatten() {
            self.heads.take(row.line, model, &head);
        }
        self.duplicates.take(row);
        self.sizes.take(row);
    }

    fn finish(mut self, bytes: u64) -> AuditReport {
        let mut findings = Vec::new();
        findings.extend(self.bad_lines());
        findings.extend(self.models.beyond());
        findings.extend(self.refusals.findings(&self.models, self.facts));
        let sums = self.prefixes.finish(&self.models);
        findings.extend(caching::findings(&sums, &self.models));
        findings.extend(splits::findings(&self.heads, &self.models));
        findings.extend(self.duplicates.finding());
        findings.extend(self.sizes.findings(self.facts, self.n_requests));
        findings.sort_by(|a, b| b.severity.cmp(&a.severity).then(worth(b).total_cmp(&worth(a))));
        AuditReport {
            n_lines: self.n_lines,
            n_requests: self.n_requests,
            bytes,
            models: self.models.counts(),
            findings,
        }
    }

    fn bad_lines(&self) -> Option<Finding> {
        let first: Vec<String> =
            self.problems.problems.iter().take(3).map(|bad| format!("line {}: {}", bad.line, bad.kind)).collect();
        self.bad.finding(Severity::Error, "bad-lines", Figure::Requests(self.bad.n), |_| {
            (
                format!("lines that are no request, passed over by this audit ({})", first.join("; ")),
                "mend or drop them: a run refuses the file as a whole, and `fandeck run` names up to twenty".to_owned(),
            )
        })
    }
}

/// To put the dear ones first among equals.
fn worth(finding: &Finding) -> f64 {
    match finding.figure {
        Figure::Usd(amount) => amount.usd(),
        _ => 0.0,
    }
}
