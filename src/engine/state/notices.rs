//! What the operator was told last.

use std::collections::VecDeque;

use crate::model::{Level, Notice, OrgId, Wall};

/// Notices kept for frontends that come late.
const KEPT: usize = 200;

/// The newest notices, a ring.
#[derive(Debug, Default)]
pub(crate) struct Notices {
    pub(crate) ring: VecDeque<Notice>,
    pub(crate) seq: u64,
}

impl Notices {
    /// Adds one; the oldest goes when there are too many.
    pub(super) fn push(&mut self, level: Level, kind: &str, org: Option<OrgId>, text: String, at: Wall) {
        self.seq += 1;
        if self.ring.len() == KEPT {
            self.ring.pop_front();
        }
        self.ring.push_back(Notice { seq: self.seq, at, level, kind: kind.to_owned(), org, text });
    }
}
