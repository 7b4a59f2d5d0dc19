//! Where log records go: to a file, and to the log pane; never to the terminal.
//!
//! One layer takes every record, makes one line of it, removes key material and control characters, and hands it to
//! both. `tui-logger` keeps the lines for the pane. Its own layer is not used because it cannot be scrubbed, and its
//! mover thread is not started because it wakes a hundred times a second for ever: records are moved when the pane is
//! drawn, and before the ring that holds them meanwhile runs full.

use std::fmt::{self, Write as _};
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;
use tokio::sync::Notify;
use tracing::field::{Field, Visit};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;
use tui_logger::{ExtLogRecord, LogFormatter, TuiLoggerWidget, TuiWidgetEvent, TuiWidgetState};

use super::theme::Theme;
use super::update::LogMove;
use crate::model::Scrubber;
use crate::report::text;

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
    #[error("failed to open the log file {}: {source}; name another with --log-file", path.display())]
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

/// Tells the screen that records came, without polling.
#[derive(Debug, Clone, Default)]
pub struct LogFeed(Arc<Feed>);

#[derive(Debug, Default)]
struct Feed {
    records: AtomicU64,
    news: Notify,
}

impl LogFeed {
    /// Records so far.
    pub fn count(&self) -> u64 {
        self.0.records.load(Ordering::Relaxed)
    }

    /// Waits for a record that came after the last wait.
    pub async fn news(&self) {
        self.0.news.notified().await;
    }

    fn add(&self) -> u64 {
        let before = self.0.records.fetch_add(1, Ordering::Relaxed);
        self.0.news.notify_one();
        before + 1
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
    tui_logger::set_default_level(tui_logger::LevelFilter::Trace);
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

/// A quarter of the ring of `tui-logger` that holds records until they are moved.
const MOVE_EVERY: u64 = 250;

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
            let mut record = log::Record::builder();
            record.level(level(*meta.level())).target(target);
            tui_logger::Drain::new().log(&record.args(format_args!("{line}")).build());
            if self.feed.add().is_multiple_of(MOVE_EVERY) {
                tui_logger::move_events();
            }
        }
    }
}

fn level(level: tracing::Level) -> log::Level {
    match level {
        tracing::Level::ERROR => log::Level::Error,
        tracing::Level::WARN => log::Level::Warn,
        tracing::Level::INFO => log::Level::Info,
        tracing::Level::DEBUG => log::Level::Debug,
        tracing::Level::TRACE => log::Level::Trace,
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

/// Something that shows records. Drawing goes through this seam so that the views stay pure in tests.
pub trait LogPane {
    /// Draws the newest records into `area`.
    fn render(&self, area: Rect, buf: &mut Buffer, theme: &Theme);
}

/// The records that `tui-logger` keeps.
#[derive(Default)]
pub struct Records {
    state: TuiWidgetState,
}

impl fmt::Debug for Records {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Records")
    }
}

impl Records {
    /// Scrolls by half a page, or follows again.
    pub fn scroll(&self, to: LogMove) {
        self.state.transition(match to {
            LogMove::Up => TuiWidgetEvent::PrevPageKey,
            LogMove::Down => TuiWidgetEvent::NextPageKey,
            LogMove::Follow => TuiWidgetEvent::EscapeKey,
        });
    }
}

impl LogPane for Records {
    fn render(&self, area: Rect, buf: &mut Buffer, theme: &Theme) {
        tui_logger::move_events();
        TuiLoggerWidget::default().formatter(Box::new(Formatter(*theme))).state(&self.state).render(area, buf);
    }
}

/// `10:00:03 WARN  text`, broken into as many lines as it takes.
struct Formatter(Theme);

/// Columns of the time and the level, with the blanks around them.
const STAMP: usize = 16;

impl LogFormatter for Formatter {
    fn min_width(&self) -> u16 {
        10
    }

    fn format(&self, width: usize, record: &ExtLogRecord) -> Vec<Line<'_>> {
        let at = record.timestamp.strftime("%H:%M:%S").to_string();
        lines(&self.0, &at, record.level, record.msg(), width)
    }
}

/// The lines of a record at a width.
fn lines(theme: &Theme, at: &str, level: log::Level, message: &str, width: usize) -> Vec<Line<'static>> {
    let style = match level {
        log::Level::Error => theme.bad,
        log::Level::Warn => theme.warn,
        log::Level::Info => theme.text,
        log::Level::Debug | log::Level::Trace => theme.dim,
    };
    let stamp = format!(" {at} {level:<5} ");
    text::wrap(message, width.saturating_sub(STAMP + 1))
        .into_iter()
        .enumerate()
        .map(|(n, part)| {
            let first = if n == 0 { Span::styled(stamp.clone(), theme.dim) } else { Span::raw(" ".repeat(STAMP)) };
            Line::from(vec![first, Span::styled(part, style)])
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Secret;
    use crate::tui::theme::ThemeName;

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
        assert!(error.contains("/nonexistent/dir/log") && error.contains("--log-file"), "{error}");
        let settings = LogSettings { filter: "fandeck=loud".into(), ..LogSettings::default() };
        let error = init(&settings).unwrap_err().to_string();
        assert!(error.contains("fandeck=loud"), "{error}");
    }

    #[test]
    fn a_long_record_is_broken_under_its_text_and_never_wider_than_the_pane() {
        let theme = Theme::of(ThemeName::Mono);
        let shown = lines(&theme, "10:00:03", log::Level::Warn, "batch: 25 answers 429, window 100 → 50", 40);
        assert_eq!(shown.len(), 2);
        assert!(shown.iter().all(|line| line.width() <= 40), "{shown:?}");
        assert!(shown[1].to_string().starts_with("                w"), "{shown:?}");
    }
}
