//! The outcomes of a journal, one after the other, for reports: a pass over the file with no memory of its lines.

use std::borrow::Cow;
use std::path::Path;

use super::error::StoreError;
use super::resolve::walk;
use super::{journal, stamp};
use crate::model::{Money, Outcome, RequestNo, Route, Usage, Wall};

/// What a line says of an outcome. The answer itself is passed over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutcomeLine<'a> {
    /// The request's position in the input; `None` in lines of another origin.
    pub no: Option<RequestNo>,
    /// The user's id.
    pub custom_id: Cow<'a, str>,
    /// The outcome.
    pub outcome: Outcome,
    /// Label of the org; empty for the cache.
    pub org: Cow<'a, str>,
    /// The path that carried it.
    pub path: Route,
    /// How long the call took, in milliseconds; from the creation of its batch on the batch path.
    pub latency_ms: u64,
    /// What it was billed by.
    pub usage: Usage,
    /// What it cost.
    pub cost: Money,
    /// When the answer was there.
    pub at: Option<Wall>,
}

/// Shows every outcome of a run's journal in the order of completion. A journal that is being written may be read; lines that
/// are none are passed over, and there may be no journal at all.
///
/// # Errors
/// The journal cannot be read.
pub fn for_each_outcome(dir: &Path, show: &mut dyn FnMut(&OutcomeLine<'_>)) -> Result<(), StoreError> {
    walk(&dir.join(journal::NAME), &mut |_| {}, &mut |_, parsed| {
        let Some(line) = parsed else { return Ok(()) };
        show(&OutcomeLine {
            no: line.fandeck.no.map(RequestNo),
            outcome: line.outcome(),
            org: line.fandeck.org.clone(),
            path: line.fandeck.path.unwrap_or(Route::Sync),
            latency_ms: line.fandeck.latency_ms,
            usage: line.usage(),
            cost: line.fandeck.cost,
            at: line.at().and_then(stamp::parse),
            custom_id: line.custom_id,
        });
        Ok(())
    })
}
