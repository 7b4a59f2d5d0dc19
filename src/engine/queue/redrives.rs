//! The failed attempts of requests that have no terminal outcome yet. Only these requests have an entry.

use std::collections::HashMap;

use crate::model::{ApiError, OrgId, RequestNo, Trouble};

use crate::engine::worker::BROKE_OFF;

/// The failed attempts of one request.
#[derive(Debug, Clone)]
pub(crate) struct Redrive {
    pub(crate) attempts: u16,
    pub(crate) org: OrgId,
    pub(crate) trouble: Trouble,
    pub(crate) error: ApiError,
    /// Answers of a success status that were no answers, one after the other: each was probably paid for.
    n_broken: u8,
    /// The journal has it: no attempt was made since.
    pub(crate) journaled: bool,
}

/// Whether an answer came with a success status, and was none; or could not be dealt with. It is likely to be so each time.
pub(crate) fn is_broken_answer(trouble: Trouble, error: &ApiError) -> bool {
    let success = error.status.is_some_and(|status| (200..300).contains(&status));
    trouble == Trouble::Broken && (success || error.kind == BROKE_OFF)
}

/// The requests of a run that failed and have no terminal outcome.
#[derive(Debug, Default)]
pub(crate) struct Redrives(HashMap<u32, Redrive>);

impl Redrives {
    /// Takes over one as an earlier session left it; the journal knows the rest.
    pub(super) fn inherit(&mut self, no: RequestNo) {
        let redrive = Redrive {
            attempts: 0,
            org: OrgId(0),
            trouble: Trouble::EarlierSession,
            error: ApiError::default(),
            n_broken: 0,
            journaled: true,
        };
        self.0.insert(no.0, redrive);
    }

    /// Notes a failed attempt; whether there was none before.
    pub(super) fn failed(&mut self, no: RequestNo, org: OrgId, trouble: Trouble, error: ApiError) -> bool {
        let attempts = self.failed_attempts(no).saturating_add(1);
        let n_broken = if is_broken_answer(trouble, &error) { self.n_broken(no).saturating_add(1) } else { 0 };
        self.0.insert(no.0, Redrive { attempts, org, trouble, error, n_broken, journaled: false }).is_none()
    }

    /// The journal has what is known of a request.
    pub(super) fn journaled(&mut self, no: RequestNo) {
        if let Some(redrive) = self.0.get_mut(&no.0) {
            redrive.journaled = true;
        }
    }

    /// Forgets a request that has a terminal outcome; whether it had failed before.
    pub(super) fn forget(&mut self, no: RequestNo) -> bool {
        self.0.remove(&no.0).is_some()
    }

    /// Attempts of a request that failed so far in this session.
    pub(crate) fn failed_attempts(&self, no: RequestNo) -> u16 {
        self.0.get(&no.0).map_or(0, |redrive| redrive.attempts)
    }

    /// Whether the last attempt of a request failed for trouble of the org's account.
    pub(crate) fn failed_by_account(&self, no: RequestNo) -> bool {
        self.0.get(&no.0).is_some_and(|redrive| matches!(redrive.trouble, Trouble::Account(_)))
    }

    /// How many broken answers in a row a request has had.
    pub(crate) fn n_broken(&self, no: RequestNo) -> u8 {
        self.0.get(&no.0).map_or(0, |redrive| redrive.n_broken)
    }

    /// Why the last attempt of a request failed in this session.
    pub(crate) fn last_trouble(&self, no: RequestNo) -> Option<Trouble> {
        self.0.get(&no.0).filter(|redrive| redrive.attempts > 0).map(|redrive| redrive.trouble)
    }

    /// All of them.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (RequestNo, &Redrive)> {
        self.0.iter().map(|(no, redrive)| (RequestNo(*no), redrive))
    }
}
