//! Lines that have something in common: the first of them by number, all of them counted.

use crate::model::{Figure, Finding, Severity};

/// How many lines are kept by number.
const KEPT: usize = 5;

/// See the module.
#[derive(Debug, Clone, Default)]
pub(super) struct Tally {
    /// How many lines.
    pub(super) n: u64,
    first: Vec<u64>,
}

impl Tally {
    /// Counts a line.
    pub(super) fn add(&mut self, line: u64) {
        self.add_many(line, 1);
    }

    /// Counts `n` lines, of which this is the first.
    pub(super) fn add_many(&mut self, line: u64, n: u64) {
        self.n += n;
        let at = self.first.partition_point(|kept| *kept <= line);
        if at < KEPT {
            self.first.insert(at, line);
            self.first.truncate(KEPT);
        }
    }

    /// The finding about these lines, `None` when there are none. `words` is given the number of lines and tells text and
    /// remedy.
    pub(super) fn finding(
        &self,
        severity: Severity,
        kind: &str,
        figure: Figure,
        words: impl FnOnce(u64) -> (String, String),
    ) -> Option<Finding> {
        if self.n == 0 {
            return None;
        }
        let (text, remedy) = words(self.n);
        let (kind, lines) = (kind.to_owned(), self.first.clone());
        Some(Finding { severity, kind, text, n_lines: self.n, lines, figure, remedy })
    }
}
