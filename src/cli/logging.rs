//! The log of a session: a file beside the other logs, and the pane on the screen.

use std::path::{Path, PathBuf};

use crate::model::Scrubber;
use crate::tui::log::{LogFeed, LogSettings, init};

use super::failure::Failure;
use super::front::Front;

/// Where the log goes.
pub(crate) struct Logging {
    /// Tells the screen that records came.
    pub feed: LogFeed,
    /// The file.
    pub file: PathBuf,
}

impl Logging {
    /// Starts the log of a run: one file a run directory, in `log_dir`.
    pub(crate) fn start(front: Front, log_dir: &Path, run_dir: &Path, scrubber: Scrubber) -> Result<Logging, Failure> {
        std::fs::create_dir_all(log_dir).map_err(|error| {
            let dir = log_dir.display();
            Failure::usage(format!(
                "failed to create the log directory {dir}: {error}; make it writable, or set XDG_STATE_HOME"
            ))
        })?;
        let name = run_dir.file_name().unwrap_or_default().to_string_lossy();
        let file = log_dir.join(format!("{name}.log"));
        let settings = LogSettings {
            filter: std::env::var("FANDECK_LOG").unwrap_or_else(|_| "info,fandeck=debug".to_owned()),
            file: Some(file.clone()),
            screen: front == Front::Screen,
            scrubber,
        };
        let feed = init(&settings).map_err(Failure::usage)?;
        Ok(Logging { feed, file })
    }
}
