//! The newest records, kept and drawn by `tui-logger`: what the pane of the live screen shows while it follows.
//!
//! Its widget is fed line by line from the layer above, not by its own layer, which cannot be scrubbed. Its mover thread is
//! not started, because it wakes a hundred times a second for ever: records are moved when they are drawn, and before the
//! ring that holds them meanwhile runs full. To search, to count what is new, or to stay at one record, the records
//! themselves are needed, which it does not give out: that is [`super::records`].

use std::sync::atomic::{AtomicU64, Ordering};

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::widgets::Widget;
use tui_logger::{ExtLogRecord, LogFormatter, TuiLoggerWidget};

use super::records::{Record, of_record};
use crate::model::Wall;
use crate::tui::theme::Theme;
use crate::tui::zone::Zone;

/// A quarter of the ring of `tui-logger` that holds records until they are moved.
const MOVE_EVERY: u64 = 250;

/// Lets every record through: the filter of the log has chosen already.
pub(super) fn open() {
    tui_logger::set_default_level(tui_logger::LevelFilter::Trace);
}

/// Keeps a record.
pub(super) fn keep(level: tracing::Level, target: &str, text: &str) {
    static KEPT: AtomicU64 = AtomicU64::new(0);
    let mut record = log::Record::builder();
    record.level(to_log(level)).target(target);
    tui_logger::Drain::new().log(&record.args(format_args!("{text}")).build());
    if KEPT.fetch_add(1, Ordering::Relaxed) % MOVE_EVERY == MOVE_EVERY - 1 {
        tui_logger::move_events();
    }
}

/// Draws the newest records.
pub(super) fn render(area: Rect, buf: &mut Buffer, theme: &Theme, zone: &Zone) {
    tui_logger::move_events();
    let formatter = Formatter(*theme, zone.clone());
    TuiLoggerWidget::default().formatter(Box::new(formatter)).render(area.intersection(buf.area), buf);
}

/// Draws a record as [`super::records`] does.
struct Formatter(Theme, Zone);

impl LogFormatter for Formatter {
    fn min_width(&self) -> u16 {
        10
    }

    fn format(&self, width: usize, record: &ExtLogRecord) -> Vec<Line<'_>> {
        let record = Record {
            seq: 0,
            at: Wall(record.timestamp.timestamp().as_millisecond()),
            level: of_log(record.level),
            target: record.target().to_owned(),
            text: record.msg().to_owned(),
        };
        of_record(&self.0, &record, &self.1.clock(record.at), width, false)
    }
}

fn to_log(level: tracing::Level) -> log::Level {
    match level {
        tracing::Level::ERROR => log::Level::Error,
        tracing::Level::WARN => log::Level::Warn,
        tracing::Level::INFO => log::Level::Info,
        tracing::Level::DEBUG => log::Level::Debug,
        tracing::Level::TRACE => log::Level::Trace,
    }
}

fn of_log(level: log::Level) -> tracing::Level {
    match level {
        log::Level::Error => tracing::Level::ERROR,
        log::Level::Warn => tracing::Level::WARN,
        log::Level::Info => tracing::Level::INFO,
        log::Level::Debug => tracing::Level::DEBUG,
        log::Level::Trace => tracing::Level::TRACE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::theme::ThemeName;

    #[test]
    fn the_newest_records_are_drawn_at_the_bottom_and_the_older_ones_give_way() {
        open();
        for n in 1..=MOVE_EVERY + 5 {
            keep(tracing::Level::WARN, "fandeck::engine", &format!("line {n}"));
        }
        let area = Rect::new(0, 0, 40, 3);
        let mut buf = Buffer::empty(area);
        render(area, &mut buf, &Theme::of(ThemeName::Mono), &Zone::default());
        let rows: Vec<String> =
            (0..3).map(|y| (0..40).map(|x| buf[(x, y)].symbol()).collect::<String>().trim_end().to_owned()).collect();
        let wanted = ["WARN  line 253", "WARN  line 254", "WARN  line 255"];
        assert!(rows.iter().zip(wanted).all(|(row, wanted)| row.ends_with(wanted)), "{rows:#?}");
    }

    #[test]
    fn levels_survive_the_way_there_and_back() {
        use tracing::Level;
        for level in [Level::ERROR, Level::WARN, Level::INFO, Level::DEBUG, Level::TRACE] {
            assert_eq!(of_log(to_log(level)), level);
        }
    }
}
