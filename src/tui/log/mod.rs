//! Where log records go: to a file, and to the screens; never to the terminal.
//!
//! One layer takes every record, makes one line of it, removes key material and control characters, and hands it to
//! both. The pane that follows is `tui-logger`'s (`tail`). The screen that searches has the records themselves
//! ([`records`]): the layer puts a record into an inbox, and the screen takes all of it out before it draws, so that nobody
//! who logs waits for a picture.

pub mod records;
mod tail;

use std::collections::VecDeque;
use std::fmt::{self, Write as _};
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::{Mutex, PoisonError};

use tokio::sync::Notify;
use tracing::field::{Field, Visit};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;

use crate::model::{Scrubber, Wall};
use crate::report::text;

pub use records::{LogView, Record, Records};

/// What to keep, and where.
#[derive(Debug, Clone, Default)]
pub struct LogSettings {
    /// Which records: `info`, or directives such as `info,fandeck::engine=debug`.
    pub filter: String,
    /// The file to append to.
    pub file: Option<PathBuf>,
    /// Keep records for the log pane.
    pub screen: bool,
    /// Takes key material out of every record.
    pub scrubber: Scrubber,
}

/// Why there is no log.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// The filter is no filter.
    #[error(
        "failed to read the log filter {filter:?}: {source}; write a level (info) or directives (info,fandeck=debug)"
    )]
    Filter {
        /// The filter.
        filter: String,
        /// What is wrong with it.
        source: tracing_subscriber::filter::ParseError,
    },
    /// The file cannot be written.
    #[error("failed to open the log file {}: {source}; make it writable, or set XDG_STATE_HOME", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// Somebody else has installed a log before.
    #[error("failed to install the log: one is installed already")]
    Installed,
}

/// Hands records to the screen, and tells it that some came, without polling.
#[derive(Debug, Clone, Default)]
pub struct LogFeed(Arc<Feed>);

#[derive(Debug, Default)]
struct Feed {
    inbox: Mutex<Inbox>,
    news: Notify,
}

#[derive(Debug, Default)]
struct Inbox {
    records: VecDeque<Record>,
    /// Records so far.
    n: u64,
}

/// Most records that wait for the screen: it takes them out twenty times a second, unless its terminal is blocked.
const INBOX: usize = 4_000;

impl LogFeed {
    /// Waits for a record that came after the last wait.
    pub async fn news(&self) {
        self.0.news.notified().await;
    }

    /// The records that came since the last call, oldest first.
    pub fn take(&self) -> VecDeque<Record> {
        std::mem::take(&mut self.0.inbox.lock().unwrap_or_else(PoisonError::into_inner).records)
    }

    fn add(&self, level: tracing::Level, target: &str, text: &str) {
        let at = Wall(jiff::Timestamp::now().as_millisecond());
        let mut inbox = self.0.inbox.lock().unwrap_or_else(PoisonError::into_inner);
        inbox.n += 1;
        if inbox.records.len() == INBOX {
            inbox.records.pop_front();
        }
        let record = Record { seq: inbox.n, at, level, target: target.to_owned(), text: text.to_owned() };
        inbox.records.push_back(record);
        drop(inbox);
        self.0.news.notify_one();
    }
}

/// Installs the log for the whole process. Call it once, before anything logs.
///
/// # Errors
/// When the filter is no filter, the file cannot be opened, or a log is installed already.
pub fn init(settings: &LogSettings) -> Result<LogFeed, LogError> {
    let filter = tracing_subscriber::EnvFilter::builder()
        .parse(&settings.filter)
        .map_err(|source| LogError::Filter { filter: settings.filter.clone(), source })?;
    let (layer, feed) = layer(settings)?;
    tracing_subscriber::registry().with(filter).with(layer).try_init().map_err(|_| LogError::Installed)?;
    Ok(feed)
}

/// The layer that [`init`] installs.
///
/// # Errors
/// When the file cannot be opened.
pub fn layer(settings: &LogSettings) -> Result<(RecordLayer, LogFeed), LogError> {
    let file = settings.file.as_deref().map(open).transpose()?;
    let feed = LogFeed::default();
    if settings.screen {
        tail::open();
    }
    let layer = RecordLayer {
        file: file.map(Mutex::new),
        screen: settings.screen,
        scrubber: settings.scrubber.clone(),
        feed: feed.clone(),
    };
    Ok((layer, feed))
}

fn open(path: &Path) -> Result<File, LogError> {
    File::options()
        .create(true)
        .append(true)
        .mode(0o600)
        .open(path)
        .map_err(|source| LogError::File { path: path.to_owned(), source })
}

/// Takes every record; see the module.
#[derive(Debug)]
pub struct RecordLayer {
    file: Option<Mutex<File>>,
    screen: bool,
    scrubber: Scrubber,
    feed: LogFeed,
}

impl<S: tracing::Subscriber> Layer<S> for RecordLayer {
    fn on_event(&self, event: &tracing::Event<'_>, _: Context<'_, S>) {
        let meta = event.metadata();
        let mut fields = Fields::default();
        event.record(&mut fields);
        let target = fields.target.as_deref().unwrap_or(meta.target());
        let line = fields.line();
        let line = self.scrubber.scrub(&line);
        let line = text::harmless(&line);
        if let Some(file) = &self.file {
            let at = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S.%3fZ");
            let record = format!("{at} {:<5} {target}: {line}\n", meta.level());
            // A log that cannot be written is no reason to stop or to say so on every line.
            let _ = file.lock().unwrap_or_else(PoisonError::into_inner).write_all(record.as_bytes());
        }
        if self.screen {
            tail::keep(*meta.level(), target, &line);
            self.feed.add(*meta.level(), target, &line);
        }
    }
}

/// The fields of a record: the message first, then the others as `name=value`.
#[derive(Debug, Default)]
struct Fields {
    message: String,
    others: String,
    /// The target of a record that came from the `log` crate.
    target: Option<String>,
}

impl Fields {
    fn line(&self) -> String {
        match (self.message.is_empty(), self.others.is_empty()) {
            (false, false) => format!("{} {}", self.message, self.others),
            (false, true) => self.message.clone(),
            (true, _) => self.others.clone(),
        }
    }

    fn add(&mut self, field: &Field, value: fmt::Arguments<'_>) {
        // Writing to a String cannot fail.
        let _ = match field.name() {
            "message" => write!(self.message, "{value}"),
            "log.target" => {
                self.target = Some(value.to_string());
                Ok(())
            }
            name if name.starts_with("log.") => Ok(()),
            name => {
                let gap = if self.others.is_empty() { "" } else { " " };
                write!(self.others, "{gap}{name}={value}")
            }
        };
    }
}

impl Visit for Fields {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.add(field, format_args!("{value}"));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.add(field, format_args!("{value:?}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Secret;

    fn logged(record: impl FnOnce()) -> (String, LogFeed) {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("log");
        let key = Secret::new("not-so-secret-key-1").unwrap();
        let settings = LogSettings {
            file: Some(file.clone()),
            screen: false,
            scrubber: Scrubber::new([&key]),
            ..LogSettings::default()
        };
        let (layer, feed) = layer(&settings).unwrap();
        tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), record);
        (std::fs::read_to_string(file).unwrap(), feed)
    }

    #[test]
    fn a_record_is_one_line_without_keys_and_without_escapes() {
        let (text, _) = logged(|| {
            tracing::warn!(org = "batch", status = 401, "refused:\n\x1b[31m not-so-secret-key-1 and sk-ant-api03-abc");
        });
        assert_eq!(text.lines().count(), 1, "{text:?}");
        assert!(text.contains("WARN  fandeck::tui::log::tests: refused: \u{FFFD}[31m [key] and [key]"), "{text:?}");
        assert!(text.contains("org=batch status=401"), "{text:?}");
        assert!(!text.contains('\x1b') && !text.contains("secret-key"), "{text:?}");
    }

    #[test]
    fn a_file_that_cannot_be_opened_is_named_with_the_remedy() {
        let settings = LogSettings { file: Some("/nonexistent/dir/log".into()), ..LogSettings::default() };
        let error = layer(&settings).unwrap_err().to_string();
        assert!(error.contains("/nonexistent/dir/log") && error.contains("XDG_STATE_HOME"), "{error}");
        let settings = LogSettings { filter: "fandeck=loud".into(), ..LogSettings::default() };
        let error = init(&settings).unwrap_err().to_string();
        assert!(error.contains("fandeck=loud"), "{error}");
    }

    #[test]
    fn a_terminal_that_is_blocked_costs_the_oldest_records_and_no_memory() {
        let feed = LogFeed::default();
        for n in 0..=INBOX {
            feed.add(tracing::Level::INFO, "t", &n.to_string());
        }
        let taken = feed.take();
        assert_eq!((taken.len(), taken[0].seq, taken[0].text.as_str()), (INBOX, 2, "1"));
        assert!(feed.take().is_empty());
    }
}
