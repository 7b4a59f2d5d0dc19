//! A batch as the API shows it, in its field order.

use std::time::Duration;

use serde_json::Value;

use super::super::limits::Calendar;
use super::fault::BatchStrike;
use super::settings::CountsShown;
use super::{ARCHIVED_AFTER, Batch, BatchView, Counts};
use crate::sim::batch::ended::Ended;

impl Batch {
    /// The MessageBatch object. `host` is where its results will be asked for; without one their URL is relative.
    pub(super) fn object(&self, now: Duration, calendar: &Calendar, host: Option<&str>, shown: CountsShown) -> String {
        let date = |at: Duration| Value::from(calendar.micros(at));
        let given = |at: Option<Duration>| at.map_or(Value::Null, date);
        let ended = self.ended.as_ref();
        let archived = ended.and(self.course.created.checked_add(ARCHIVED_AFTER)).filter(|at| *at <= now);
        let url = match (ended, archived, host) {
            (Some(_), None, Some(host)) => Value::from(format!("http://{host}{}", self.results_path())),
            (Some(_), None, None) => Value::from(self.results_path()),
            _ => Value::Null,
        };
        let Counts { processing, succeeded, errored, canceled, expired } = match shown {
            CountsShown::Live => self.true_counts(now),
            CountsShown::AtEnd => ended.map_or_else(|| self.all_processing(), |(_, counts)| *counts),
        };
        format!(
            "{{\"id\":\"{}\",\"type\":\"message_batch\",\"processing_status\":\"{}\",\"request_counts\":{{\
             \"processing\":{processing},\"succeeded\":{succeeded},\"errored\":{errored},\"canceled\":{canceled},\
             \"expired\":{expired}}},\"ended_at\":{},\"created_at\":{},\"expires_at\":{},\"archived_at\":{},\
             \"cancel_initiated_at\":{},\"results_url\":{url}}}",
            self.id,
            self.status_shown(now),
            given(ended.map(|_| self.course.ends_at())),
            date(self.course.created),
            date(self.course.expires_at()),
            given(archived),
            given(self.course.canceled),
        )
    }

    /// For the statistics.
    pub(super) fn view(&self, now: Duration, org: &str) -> BatchView {
        BatchView {
            id: self.id.clone(),
            org: org.to_owned(),
            number: self.number,
            status: self.status(now).to_owned(),
            counts: self.true_counts(now),
            created_s: self.course.created.as_secs_f64(),
            ends_s: self.course.ends_at().as_secs_f64(),
            faults: self.strikes.iter().map(|strike| strike.name().to_owned()).collect(),
        }
    }

    fn results_path(&self) -> String {
        format!("/v1/messages/batches/{}/results", self.id)
    }

    fn status(&self, now: Duration) -> &'static str {
        if self.ended.is_some() {
            "ended"
        } else if self.course.is_canceling(now) {
            "canceling"
        } else {
            "in_progress"
        }
    }

    fn status_shown(&self, now: Duration) -> &'static str {
        let strange = |strike: &BatchStrike| match strike {
            BatchStrike::UnknownStatus { after, until } => self.is_within(now, *after, *until),
            _ => false,
        };
        if self.strikes.iter().any(strange) { "finalizing" } else { self.status(now) }
    }

    /// Whether a moment lies in a span after the creation.
    pub(super) fn is_within(&self, now: Duration, after: Duration, until: Duration) -> bool {
        (after..until).contains(&now.saturating_sub(self.course.created))
    }

    fn all_processing(&self) -> Counts {
        Counts { processing: self.rows.len() as u64, ..Counts::default() }
    }

    /// What has become of its rows by now.
    fn true_counts(&self, now: Duration) -> Counts {
        if let Some((_, counts)) = &self.ended {
            return *counts;
        }
        let done = self.course.done_at(now);
        let counts = self.as_ended(done).counts(0..done);
        Counts { processing: (self.rows.len() - done) as u64, ..counts }
    }

    /// It as it stands with so many rows processed.
    pub(super) fn as_ended(&self, done: usize) -> Ended {
        Ended {
            rows: self.rows.clone(),
            strikes: self.strikes.clone(),
            seed: self.seed,
            batch: self.number ^ (self.org as u64) << 32,
            done,
            tail: self.course.tail(),
        }
    }
}
