//! The MessageBatch object, read with as few assumptions as the work allows.
//!
//! Only the id and the status are insisted on. A status that is not known is kept as it is: it is shown, and it is not an
//! end. Times are RFC 3339 with either offset and any fraction; one that cannot be read is as good as absent.

use serde::de::Error;
use serde::{Deserialize, Deserializer};

use crate::model::Wall;

/// The longest id that is taken: several times as long as those of the API.
const MAX_ID: usize = 200;

/// `processing_status`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProcessingStatus {
    /// Being processed.
    InProgress,
    /// A cancel was taken; rows that run are finished.
    Canceling,
    /// Nothing more will happen; the results can be had.
    Ended,
    /// Something that this version does not know, as the API wrote it.
    Other(String),
}

impl ProcessingStatus {
    /// As the API writes it.
    pub fn as_str(&self) -> &str {
        match self {
            ProcessingStatus::InProgress => "in_progress",
            ProcessingStatus::Canceling => "canceling",
            ProcessingStatus::Ended => "ended",
            ProcessingStatus::Other(other) => other,
        }
    }
}

impl<'de> Deserialize<'de> for ProcessingStatus {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<ProcessingStatus, D::Error> {
        let text = String::deserialize(deserializer)?;
        Ok(match text.as_str() {
            "in_progress" => ProcessingStatus::InProgress,
            "canceling" => ProcessingStatus::Canceling,
            "ended" => ProcessingStatus::Ended,
            // Texts of the API end on a screen: no control characters, no novel.
            _ => ProcessingStatus::Other(text.chars().filter(|c| !c.is_control()).take(40).collect()),
        })
    }
}

/// `request_counts`: they add up to the size of the batch. All but `processing` stay at zero until it has ended, so they say
/// nothing of its progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub struct BatchCounts {
    /// Without a result.
    pub processing: u64,
    /// Answered.
    pub succeeded: u64,
    /// Failed.
    pub errored: u64,
    /// Canceled before they were processed.
    pub canceled: u64,
    /// Not processed in time.
    pub expired: u64,
}

impl BatchCounts {
    /// Requests in the batch. Saturates: the counts are somebody else's.
    pub fn total(&self) -> u64 {
        [self.processing, self.succeeded, self.errored, self.canceled, self.expired]
            .into_iter()
            .fold(0, u64::saturating_add)
    }
}

/// A Message Batch as the API shows it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct MessageBatch {
    /// Its id.
    #[serde(deserialize_with = "id")]
    pub id: String,
    /// Where it is.
    pub processing_status: ProcessingStatus,
    /// What became of its rows, once it has ended.
    #[serde(default, deserialize_with = "counts")]
    pub request_counts: BatchCounts,
    /// When it was created, by the API's clock.
    #[serde(default, deserialize_with = "time")]
    pub created_at: Option<Wall>,
    /// When it gives up, by the API's clock.
    #[serde(default, deserialize_with = "time")]
    pub expires_at: Option<Wall>,
    /// When it ended.
    #[serde(default, deserialize_with = "time")]
    pub ended_at: Option<Wall>,
    /// When its results went away.
    #[serde(default, deserialize_with = "time")]
    pub archived_at: Option<Wall>,
    /// When a cancel was taken, whoever sent it.
    #[serde(default, deserialize_with = "time")]
    pub cancel_initiated_at: Option<Wall>,
}

/// A page of the list.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct BatchPage {
    /// Newest first.
    pub data: Vec<MessageBatch>,
    /// Whether there are older ones.
    #[serde(default)]
    pub has_more: bool,
    /// Where the next page starts.
    #[serde(default)]
    pub last_id: Option<String>,
}

/// Counts of which one makes no sense are as good as absent, all of them: a batch whose results are there is not to be
/// polled for ever for the sake of a number.
fn counts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BatchCounts, D::Error> {
    let value = serde_json::Value::deserialize(deserializer)?;
    Ok(serde_json::from_value(value).unwrap_or_default())
}

/// An id is a part of URLs, of messages and of the state: one that is empty, or holds what no id of the API does, is none.
fn id<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let id = String::deserialize(deserializer)?;
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    if id.is_empty() || id.len() > MAX_ID || !id.bytes().all(fits) {
        return Err(D::Error::custom("the id is none"));
    }
    Ok(id)
}

fn time<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Wall>, D::Error> {
    let value = Option::<serde_json::Value>::deserialize(deserializer)?;
    let text = value.as_ref().and_then(serde_json::Value::as_str);
    Ok(text.and_then(|text| text.parse::<jiff::Timestamp>().ok()).map(|at| Wall(at.as_millisecond())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> MessageBatch {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn an_object_as_captured_is_read() {
        let batch = read(
            r#"{"id":"msgbatch_01","type":"message_batch","processing_status":"in_progress","request_counts":{"processing":100,"succeeded":0,"errored":0,"canceled":0,"expired":0},"ended_at":null,"created_at":"2025-01-29T14:25:40.140385+00:00","expires_at":"2025-01-30T14:25:40.140385+00:00","archived_at":null,"cancel_initiated_at":null,"results_url":null}"#,
        );
        assert_eq!(batch.processing_status, ProcessingStatus::InProgress);
        assert_eq!(batch.request_counts.total(), 100);
        assert_eq!(batch.created_at, Some(Wall(1_738_160_740_140)));
        assert_eq!(batch.expires_at.unwrap().0 - batch.created_at.unwrap().0, 86_400_000);
        assert_eq!(batch.ended_at, None);
    }

    #[test]
    fn either_form_of_a_time_is_read_and_a_senseless_one_is_absent() {
        for (text, expected) in [
            (r#""2025-01-29T14:25:40Z""#, Some(Wall(1_738_160_740_000))),
            (r#""2025-01-29T15:25:40.5+01:00""#, Some(Wall(1_738_160_740_500))),
            (r#""soon""#, None),
            ("7", None),
            ("null", None),
        ] {
            let batch = read(&format!(r#"{{"id":"b","processing_status":"ended","ended_at":{text}}}"#));
            assert_eq!(batch.ended_at, expected, "{text}");
        }
    }

    #[test]
    fn b8_a_status_that_is_not_known_is_kept_as_it_is() {
        let batch = read(r#"{"id":"b","processing_status":"paused_by\u0007_moon","request_counts":null}"#);
        assert_eq!(batch.processing_status.as_str(), "paused_by_moon");
        assert_eq!(batch.request_counts, BatchCounts::default());
    }

    #[test]
    fn an_object_without_an_id_or_a_status_is_none() {
        assert!(serde_json::from_str::<MessageBatch>(r#"{"processing_status":"ended"}"#).is_err());
        assert!(serde_json::from_str::<MessageBatch>(r#"{"id":"b"}"#).is_err());
    }

    #[test]
    fn an_id_that_could_be_no_part_of_a_url_is_none() {
        for id in ["", ".", "..", "a/b", "a?b", "a b", "a\u{1b}[2J", "\u{e4}", &"x".repeat(201)] {
            let text = serde_json::json!({"id": id, "processing_status": "ended"}).to_string();
            assert!(serde_json::from_str::<MessageBatch>(&text).is_err(), "{id:?}");
        }
        assert_eq!(read(r#"{"id":"msgbatch_01-aZ","processing_status":"ended"}"#).id, "msgbatch_01-aZ");
    }

    #[test]
    fn counts_that_make_no_sense_are_absent_and_hide_no_end() {
        for counts in [
            r#"{"processing":-1,"succeeded":3}"#,
            r#"{"processing":null,"succeeded":3}"#,
            r#"{"processing":"3"}"#,
            r#"{"processing":99999999999999999999}"#,
            r#"{"succeeded":1.5}"#,
            "[]",
            "7",
            r#""none""#,
        ] {
            let batch = read(&format!(r#"{{"id":"b","processing_status":"ended","request_counts":{counts}}}"#));
            assert_eq!(batch.request_counts, BatchCounts::default(), "{counts}");
            assert_eq!(batch.processing_status, ProcessingStatus::Ended, "{counts}");
        }
        let batch = read(r#"{"id":"b","processing_status":"ended","request_counts":{"succeeded":3,"new":"x"}}"#);
        assert_eq!(batch.request_counts.total(), 3);
    }

    #[test]
    fn counts_of_the_moon_overflow_nothing() {
        let counts = BatchCounts { processing: u64::MAX, succeeded: 5, ..BatchCounts::default() };
        assert_eq!(counts.total(), u64::MAX);
    }
}
