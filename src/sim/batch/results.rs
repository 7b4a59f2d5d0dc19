//! The results of a batch, line by line, made while they are sent: at no time is there more of them than one chunk.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::Value;

use super::super::answer;
use super::super::ids;
use super::ended::{Ended, Fate, Outcome};
use super::fault::BatchStrike;

/// Bytes of a chunk, or a line more.
const CHUNK: usize = 64 * 1024;

/// The lines of an ended batch that are still to come, in chunks.
#[derive(Debug, Clone)]
pub struct ResultRows {
    ended: Arc<Ended>,
    rank: usize,
}

impl Iterator for ResultRows {
    type Item = Bytes;

    fn next(&mut self) -> Option<Bytes> {
        let mut chunk = String::with_capacity(CHUNK + 2_048);
        while chunk.len() < CHUNK {
            let Some(fate) = self.ended.at(self.rank) else { break };
            self.rank += 1;
            write(fate, &self.ended.strikes, &mut chunk);
        }
        (!chunk.is_empty()).then(|| Bytes::from(chunk))
    }
}

impl ResultRows {
    pub(super) fn new(ended: Arc<Ended>) -> ResultRows {
        ResultRows { ended, rank: 0 }
    }

    /// About half of all bytes: where a download is broken off that shall break.
    pub(in crate::sim) fn half(&self) -> usize {
        let mut first = self.clone();
        let sample = first.next().map_or(0, |chunk| chunk.len());
        sample * self.ended.rows.len() / first.rank.max(1) / 2
    }
}

/// The line of a row, or what a fault makes of it.
fn write(mut fate: Fate<'_>, strikes: &[BatchStrike], out: &mut String) {
    let start = out.len();
    let mut rng = fate.rng.fork();
    line(fate.custom_id, &fate.outcome, &mut fate.rng, out);
    let end = out.len();
    for strike in strikes {
        match strike {
            BatchStrike::LineMissing { share } if rng.f64() < *share => {
                out.truncate(start);
                return;
            }
            BatchStrike::LineDuplicate { share } if rng.f64() < *share => out.extend_from_within_text(start..end),
            BatchStrike::LineAlien { share } if rng.f64() < *share => {
                let alien = format!("alien-{:016x}", rng.u64(..));
                line(&alien, &fate.outcome, &mut rng, out);
            }
            BatchStrike::LineCut { share } if rng.f64() < *share => {
                // Ids and texts are ASCII but for instances of schemas.
                let half = out.floor_char_boundary(start + (end - start) / 2);
                out.truncate(half);
                out.push('\n');
                return;
            }
            _ => {}
        }
    }
}

/// Repeating a part of a text.
trait Repeat {
    fn extend_from_within_text(&mut self, part: std::ops::Range<usize>);
}

impl Repeat for String {
    fn extend_from_within_text(&mut self, part: std::ops::Range<usize>) {
        let again = self.get(part).unwrap_or_default().to_owned();
        self.push_str(&again);
    }
}

fn line(custom_id: &str, outcome: &Outcome<'_>, rng: &mut fastrand::Rng, out: &mut String) {
    for part in ["{\"custom_id\":\"", custom_id, "\",\"result\":{\"type\":\""] {
        out.push_str(part);
    }
    match outcome {
        Outcome::Succeeded { valid, hit } => {
            out.push_str("succeeded\",\"message\":");
            out.push_str(&answer::message(&valid.answer(), &valid.usage(*hit), &ids::message(rng)));
        }
        Outcome::Errored { kind, message } => {
            let message = Value::from(*message).to_string();
            for part in [
                "errored\",\"error\":{\"type\":\"error\",\"error\":{\"details\":{\"error_visibility\":\"user_facing\"},\"type\":\"",
                kind,
                "\",\"message\":",
                &message,
                "},\"request_id\":null}",
            ] {
                out.push_str(part);
            }
        }
        Outcome::Canceled => out.push_str("canceled\""),
        Outcome::Expired => out.push_str("expired\""),
    }
    out.push_str("}}\n");
}
