//! `events.jsonl`: intents, decisions and operator actions, one JSON object a line.

use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;

use serde::{Deserialize, Serialize};

use super::stamp;
use crate::model::Wall;

/// One entry of the audit trail.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AuditEvent {
    /// When.
    #[serde(with = "stamp")]
    pub at: Wall,
    /// What kind, kebab-case: `session-started`, `window-cut`.
    pub kind: String,
    /// Label of the org that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub org: Option<String>,
    /// In words.
    pub text: String,
    /// The figures behind the words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<serde_json::Value>,
}

impl AuditEvent {
    /// The file's name in a run directory.
    pub const NAME: &'static str = "events.jsonl";

    /// The kind of the entry with which each session begins.
    pub const SESSION_STARTED: &'static str = "session-started";

    /// Appends its line to the trail of a run that this process owns and does not drive.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn append(&self, run_dir: &std::path::Path) -> std::io::Result<()> {
        let mut line = Vec::new();
        self.write_to(&mut line);
        let path = run_dir.join(AuditEvent::NAME);
        let mut file = std::fs::OpenOptions::new().append(true).create(true).mode(0o600).open(path)?;
        file.write_all(&line)?;
        file.sync_all()
    }

    /// Appends its line.
    pub(super) fn write_to(&self, out: &mut Vec<u8>) {
        let start = out.len();
        match serde_json::to_writer(&mut *out, self) {
            Ok(()) => out.push(b'\n'),
            // Strings and JSON values always serialise; half a line must not stay in any case.
            Err(_) => out.truncate(start),
        }
    }
}
