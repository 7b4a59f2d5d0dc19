//! A sub-batch as `state.json` keeps it: what was intended, what the API answered, and when.
//!
//! A moment that has not come is not written at all, so that `grep -rl stuck_cancel_intent_at` over run directories finds
//! the runs in which the escape was used, and no others.

use serde::{Deserialize, Serialize};

use super::stamp;
use crate::model::{Money, SubBatchStatus, Trouble, Wall};

/// One sub-batch. Intents are durable before the call that they announce, answers after it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubBatchEntry {
    /// Its number in the run, from 0; never given twice. The name of its file of members.
    pub index: u32,
    /// Label of the org whose key created it, and is the only one that sees it.
    pub org: String,
    /// The API's name for it, once known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch_id: Option<String>,
    /// Requests in it.
    pub n_requests: u32,
    /// Where it is.
    pub status: SubBatchStatus,
    /// When the last create was about to be sent, by the local clock.
    #[serde(default, with = "stamp::option", skip_serializing_if = "Option::is_none")]
    pub create_intent_at: Option<Wall>,
    /// The same by the API's clock, when that was known. A list of batches is searched by it, should the local clock be set
    /// right in between.
    #[serde(default, with = "stamp::option", skip_serializing_if = "Option::is_none")]
    pub create_intent_at_api: Option<Wall>,
    /// When the API said that it created it, by the local clock.
    #[serde(default, with = "stamp::option", skip_serializing_if = "Option::is_none")]
    pub submitted_at: Option<Wall>,
    /// When it was created, by the API's clock.
    #[serde(default, with = "stamp::option", skip_serializing_if = "Option::is_none")]
    pub created_at: Option<Wall>,
    /// When the API gives it up, by the API's clock.
    #[serde(default, with = "stamp::option", skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Wall>,
    /// From when on it is not waited for any more.
    #[serde(default, with = "stamp::option", skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Wall>,
    /// When the escape was decided.
    #[serde(default, with = "stamp::option", skip_serializing_if = "Option::is_none")]
    pub stuck_cancel_intent_at: Option<Wall>,
    /// When the API took our cancel.
    #[serde(default, with = "stamp::option", skip_serializing_if = "Option::is_none")]
    pub stuck_canceled_at: Option<Wall>,
    /// When somebody else was seen to have canceled it.
    #[serde(default, with = "stamp::option", skip_serializing_if = "Option::is_none")]
    pub canceled_elsewhere_at: Option<Wall>,
    /// When it ended, by the API's clock where it says so.
    #[serde(default, with = "stamp::option", skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Wall>,
    /// When all of its results were durable.
    #[serde(default, with = "stamp::option", skip_serializing_if = "Option::is_none")]
    pub harvested_at: Option<Wall>,
    /// It was found in the list after a create whose answer was lost. A guess by time and count until its results are there:
    /// it is never canceled without the operator.
    #[serde(default, skip_serializing_if = "is_false")]
    pub adopted: bool,
    /// Requests without an outcome stay re-drivable until the operator says otherwise.
    #[serde(default, skip_serializing_if = "is_false")]
    pub left: bool,
    /// What became of its requests; nothing before the harvest.
    #[serde(default)]
    pub tally: Tally,
}

/// What became of the requests of a sub-batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Tally {
    /// Usable answers.
    pub n_succeeded: u32,
    /// Answers that cannot be used.
    pub n_refused: u32,
    /// Requests that the API called wrong.
    pub n_invalid: u32,
    /// Failed by no fault of their own: sent again.
    pub n_errored: u32,
    /// Not processed in time: sent again.
    pub n_expired: u32,
    /// Canceled before they were processed: sent again.
    pub n_canceled: u32,
    /// Without a result that could be read: sent again.
    pub n_missing: u32,
    /// With a result of a type that is not known: left to the operator.
    pub n_unknown: u32,
    /// What its answers cost.
    #[serde(rename = "cost_usd")]
    pub cost: Money,
}

impl Tally {
    /// The counter of results that have to be made again for this reason.
    pub fn of(&mut self, trouble: Trouble) -> &mut u32 {
        match trouble {
            Trouble::Expired => &mut self.n_expired,
            Trouble::Canceled => &mut self.n_canceled,
            Trouble::UnknownResult => &mut self.n_unknown,
            _ => &mut self.n_errored,
        }
    }

    /// Requests that came to no outcome.
    pub fn n_open(&self) -> u32 {
        self.n_errored + self.n_expired + self.n_canceled + self.n_missing + self.n_unknown
    }

    /// Requests that were answered or called wrong.
    pub fn n_done(&self) -> u32 {
        self.n_succeeded + self.n_refused + self.n_invalid
    }
}

impl SubBatchEntry {
    /// One that is only planned.
    pub fn planned(index: u32, n_requests: u32) -> SubBatchEntry {
        SubBatchEntry {
            index,
            org: String::new(),
            batch_id: None,
            n_requests,
            status: SubBatchStatus::Planned,
            create_intent_at: None,
            create_intent_at_api: None,
            submitted_at: None,
            created_at: None,
            expires_at: None,
            deadline: None,
            stuck_cancel_intent_at: None,
            stuck_canceled_at: None,
            canceled_elsewhere_at: None,
            ended_at: None,
            harvested_at: None,
            adopted: false,
            left: false,
            tally: Tally::default(),
        }
    }

    /// When it began to be waited for, by the local clock where that is known.
    pub fn began_at(&self) -> Option<Wall> {
        self.submitted_at.or(self.created_at).or(self.create_intent_at)
    }

    /// Whether a cancel ended it, ours or somebody else's.
    pub fn was_canceled(&self) -> bool {
        self.stuck_canceled_at.is_some() || self.canceled_elsewhere_at.is_some()
    }

    /// How long it took, in milliseconds. `None` before its end, and of one that was canceled: its age is no measure of how
    /// long batches take.
    pub fn took_ms(&self) -> Option<u64> {
        let (began, ended) = (self.began_at()?, self.ended_at?);
        let span = u64::try_from(ended.0.saturating_sub(began.0)).unwrap_or(0);
        (!self.was_canceled()).then_some(span)
    }

    /// What is known to have happened to it, oldest first, in the words in which a session notes it as it happens.
    pub fn moments(&self) -> Vec<(Wall, String)> {
        let id = self.batch_id.as_deref().unwrap_or("(no id)");
        let came = if self.adopted { "adopted" } else { "created" };
        let org = if self.org.is_empty() { String::new() } else { format!(" at {}", self.org) };
        let moments = [
            (self.create_intent_at, format!("intent to create{org}")),
            (self.submitted_at.or(self.created_at), format!("{came} as {id}")),
            (self.stuck_cancel_intent_at, "intent to cancel".to_owned()),
            (self.stuck_canceled_at, "cancel taken".to_owned()),
            (self.canceled_elsewhere_at, "seen canceled elsewhere".to_owned()),
            (self.ended_at, "ended".to_owned()),
            (self.harvested_at, "harvested".to_owned()),
        ];
        let mut moments: Vec<_> = moments.into_iter().filter_map(|(at, what)| Some((at?, what))).collect();
        moments.sort_by_key(|(at, _)| *at);
        moments
    }
}

fn is_false(flag: &bool) -> bool {
    !flag
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_escape_is_named_in_the_text_only_when_it_was_used() {
        let mut entry = SubBatchEntry::planned(7, 1_000);
        assert!(!serde_json::to_string(&entry).unwrap().contains("stuck_cancel_intent_at"));
        entry.stuck_cancel_intent_at = Some(Wall(1_000));
        let text = serde_json::to_string(&entry).unwrap();
        assert!(text.contains(r#""stuck_cancel_intent_at":"1970-01-01T00:00:01.000Z""#), "{text}");
        assert_eq!(serde_json::from_str::<SubBatchEntry>(&text).unwrap(), entry);
    }

    #[test]
    fn what_happened_to_it_is_told_with_its_org_and_its_id() {
        let mut entry = SubBatchEntry::planned(7, 1_000);
        assert_eq!(entry.moments(), []);
        (entry.org, entry.batch_id) = ("batch".to_owned(), Some("msgbatch_1".to_owned()));
        (entry.create_intent_at, entry.submitted_at) = (Some(Wall(1)), Some(Wall(2)));
        (entry.stuck_cancel_intent_at, entry.ended_at) = (Some(Wall(5)), Some(Wall(4)));
        let told: Vec<String> = entry.moments().into_iter().map(|(_, what)| what).collect();
        assert_eq!(told, ["intent to create at batch", "created as msgbatch_1", "ended", "intent to cancel"]);
        entry.adopted = true;
        assert_eq!(entry.moments()[1].1, "adopted as msgbatch_1");
    }

    #[test]
    fn one_that_was_canceled_is_no_measure_of_how_long_batches_take() {
        let mut entry = SubBatchEntry::planned(7, 1_000);
        (entry.submitted_at, entry.ended_at) = (Some(Wall(1_000)), Some(Wall(6_000)));
        assert_eq!(entry.took_ms(), Some(5_000));
        entry.stuck_canceled_at = Some(Wall(5_000));
        assert_eq!((entry.took_ms(), entry.was_canceled()), (None, true));
        (entry.stuck_canceled_at, entry.canceled_elsewhere_at) = (None, Some(Wall(5_000)));
        assert_eq!((entry.took_ms(), entry.was_canceled()), (None, true));
    }

    #[test]
    fn an_entry_with_the_least_that_is_needed_is_read() {
        let text = r#"{"index":0,"org":"batch","n_requests":2,"status":"in-progress","a_field_of_next_year":1}"#;
        let entry: SubBatchEntry = serde_json::from_str(text).unwrap();
        assert_eq!((entry.status, entry.batch_id, entry.tally), (SubBatchStatus::InProgress, None, Tally::default()));
    }
}
