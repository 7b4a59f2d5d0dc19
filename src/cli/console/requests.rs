//! The requests of a run, for their screen: one browser is kept, so that a journal is read once and then followed.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use crate::model::RequestNo;
use crate::model::browse::{Page, Query, RequestDetail};
use crate::store::Browser;

/// The browser of the run that was asked about last.
#[derive(Debug, Default)]
pub(super) struct Requests(Mutex<Option<Browser>>);

impl Requests {
    /// A page of the requests of a run.
    pub(super) fn page(&self, dir: &Path, query: &Query) -> Result<Page, String> {
        self.with(dir, |browser| browser.page(query).map_err(|error| error.to_string()))
    }

    /// A request in full.
    pub(super) fn detail(&self, dir: &Path, no: RequestNo) -> Result<RequestDetail, String> {
        self.with(dir, |browser| browser.detail(no))
    }

    fn with<T>(&self, dir: &Path, ask: impl FnOnce(&mut Browser) -> Result<T, String>) -> Result<T, String> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.as_ref().is_some_and(|browser| browser.dir() != dir) {
            *kept = None;
        }
        ask(kept.get_or_insert_with(|| Browser::new(dir)))
    }
}
