//! The records that the screen keeps: a ring, which part of it is looked at, and how it is drawn.

use std::cell::Cell;
use std::collections::{BTreeMap, VecDeque};

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use tracing::Level;
use tracing::level_filters::LevelFilter;

use crate::model::Wall;
use crate::report::text;
use crate::tui::msg::LogMove;
use crate::tui::theme::Theme;
use crate::tui::zone::Zone;

/// Records kept; the file has all of them.
const KEPT: usize = 10_000;

/// Columns of the time and the level, with the blanks around them.
const STAMP: usize = 16;

/// Columns of a target, where targets are shown.
const TARGET: usize = 20;

/// One record, harmless and without key material.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Counts up from 1.
    pub seq: u64,
    /// When.
    pub at: Wall,
    /// How loud.
    pub level: Level,
    /// The part of the program that it is from.
    pub target: String,
    /// What it says, in one line.
    pub text: String,
}

/// Which records are looked at.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LogView {
    /// Only those that contain this, whatever the case of ASCII letters.
    pub filter: String,
    /// How much is shown of a target; what is not named here is shown whole.
    pub levels: BTreeMap<String, LevelFilter>,
    /// The target of each record is shown.
    pub targets: bool,
    /// The zone of their times.
    pub zone: Zone,
}

impl LogView {
    /// How much is shown of a target.
    pub fn level(&self, target: &str) -> LevelFilter {
        self.levels.get(target).copied().unwrap_or(LevelFilter::TRACE)
    }

    /// Whether something is left out.
    fn narrows(&self) -> bool {
        !self.filter.is_empty() || !self.levels.is_empty()
    }

    fn shows(&self, record: &Record) -> bool {
        self.level(&record.target) >= record.level
            && (contains(&record.text, &self.filter) || contains(&record.target, &self.filter))
    }
}

/// Whether a text contains another, whatever the case of ASCII letters. All records are looked at for every frame.
fn contains(text: &str, wanted: &str) -> bool {
    let (text, wanted) = (text.as_bytes(), wanted.as_bytes());
    wanted.is_empty() || text.windows(wanted.len()).any(|part| part.eq_ignore_ascii_case(wanted))
}

/// The records, and where the eye is.
#[derive(Debug, Clone, Default)]
pub struct Records {
    ring: VecDeque<Record>,
    /// Records by target.
    targets: BTreeMap<String, u64>,
    /// The newest record that is in view, while it is scrolled up; it stays there whatever follows.
    anchor: Option<u64>,
    /// How many records were drawn last.
    page: Cell<usize>,
    /// Records that came and never reached the ring.
    n_lost: u64,
    /// `tui-logger` is fed with the same records.
    tailed: bool,
}

/// What a title says of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LogStatus {
    /// It is scrolled up.
    pub scrolled: bool,
    /// Records that came below what is in view.
    pub n_new: usize,
    /// Records that are looked at.
    pub n_shown: usize,
    /// Records kept.
    pub n_kept: usize,
    /// Records that were lost on the way to the screen.
    pub n_lost: u64,
    /// When the newest record was made.
    pub newest: Option<Wall>,
}

impl Records {
    /// Those of this process, which `tui-logger` has too.
    pub fn of_process() -> Records {
        Records { tailed: true, ..Records::default() }
    }

    /// These records as they are now, whatever is logged from here on. `tui-logger` knows no standing still.
    pub fn held(&self) -> Records {
        Records { tailed: false, ..self.clone() }
    }

    /// Draws a pane: by `tui-logger` while it follows and nothing is left out.
    pub fn pane(&self, area: Rect, buf: &mut Buffer, theme: &Theme, view: &LogView) {
        if !self.tailed || self.is_scrolled() || view.narrows() {
            return self.render(area, buf, theme, view);
        }
        // What a step of half a page means when the operator scrolls up.
        self.page.set(usize::from(area.height));
        super::tail::render(area, buf, theme, &view.zone);
    }

    /// Takes records in, oldest first.
    pub fn take_in(&mut self, records: impl IntoIterator<Item = Record>) {
        for record in records {
            let expected = self.ring.back().map_or(record.seq, |last| last.seq + 1);
            self.n_lost += record.seq.saturating_sub(expected);
            match self.targets.get_mut(&record.target) {
                Some(n) => *n += 1,
                None => {
                    self.targets.insert(record.target.clone(), 1);
                }
            }
            if self.ring.len() == KEPT {
                self.ring.pop_front();
            }
            self.ring.push_back(record);
        }
    }

    /// The targets that have logged, with the number of their records.
    pub fn targets(&self) -> &BTreeMap<String, u64> {
        &self.targets
    }

    /// Whether the eye does not follow the newest.
    pub fn is_scrolled(&self) -> bool {
        self.anchor.is_some()
    }

    /// What the title says.
    pub fn status(&self, view: &LogView) -> LogStatus {
        let (mut n_shown, mut n_new) = (0, 0);
        for record in self.ring.iter().filter(|record| view.shows(record)) {
            n_shown += 1;
            n_new += usize::from(self.anchor.is_some_and(|anchor| record.seq > anchor));
        }
        LogStatus {
            scrolled: self.anchor.is_some(),
            n_new,
            n_shown,
            n_kept: self.ring.len(),
            n_lost: self.n_lost,
            newest: self.ring.back().map(|record| record.at),
        }
    }

    /// Moves the eye. Going down past the newest record follows again.
    pub fn scroll(&mut self, to: LogMove, view: &LogView) {
        let half = (self.page.get() / 2).max(1);
        let step = match to {
            LogMove::Follow => return self.anchor = None,
            LogMove::Up | LogMove::Down => half,
            LogMove::LineUp | LogMove::LineDown => 1,
        };
        let seqs: Vec<u64> = self.ring.iter().filter(|record| view.shows(record)).map(|record| record.seq).collect();
        let Some(last) = seqs.len().checked_sub(1) else { return };
        let at = self.anchor.map_or(last, |anchor| seqs.partition_point(|seq| *seq <= anchor).saturating_sub(1));
        let next = match to {
            // The oldest page stays whole.
            LogMove::Up | LogMove::LineUp => at.saturating_sub(step).max(self.page.get().saturating_sub(1).min(at)),
            _ => at + step,
        };
        self.anchor = seqs.get(next).copied().filter(|_| next < last);
    }

    /// Draws the newest records that are looked at, or those around the eye.
    pub fn render(&self, area: Rect, buf: &mut Buffer, theme: &Theme, view: &LogView) {
        let area = area.intersection(buf.area);
        let mut lines: VecDeque<Line<'static>> = VecDeque::new();
        let mut n = 0;
        let in_view = |record: &&Record| self.anchor.is_none_or(|anchor| record.seq <= anchor);
        for record in self.ring.iter().rev().filter(in_view).filter(|record| view.shows(record)) {
            if lines.len() >= usize::from(area.height) {
                break;
            }
            n += 1;
            let clock = view.zone.clock(record.at);
            for line in of_record(theme, record, &clock, usize::from(area.width), view.targets).into_iter().rev() {
                lines.push_front(line);
            }
        }
        self.page.set(n);
        let above = lines.len().saturating_sub(usize::from(area.height));
        for (row, line) in (area.y..area.bottom()).zip(lines.iter().skip(above)) {
            buf.set_line(area.x, row, line, area.width);
        }
    }
}

/// The name of a target, without what all of ours have in common.
pub fn short_target(target: &str) -> &str {
    target.strip_prefix("fandeck::").unwrap_or(target)
}

/// `10:00:03 WARN  text`, broken into as many lines as it takes.
pub(super) fn of_record(
    theme: &Theme,
    record: &Record,
    clock: &str,
    columns: usize,
    targets: bool,
) -> Vec<Line<'static>> {
    let style = match record.level {
        Level::ERROR => theme.bad,
        Level::WARN => theme.warn,
        Level::INFO => theme.text,
        Level::DEBUG | Level::TRACE => theme.dim,
    };
    let mut stamp = format!(" {clock} {:<5} ", record.level);
    if targets {
        stamp.push_str(&text::fit(short_target(&record.target), TARGET));
        stamp.push(' ');
    }
    let used = STAMP + if targets { TARGET + 1 } else { 0 };
    text::wrap(&record.text, columns.saturating_sub(used + 1))
        .into_iter()
        .enumerate()
        .map(|(n, part)| {
            let first = if n == 0 { Span::styled(stamp.clone(), theme.dim) } else { Span::raw(" ".repeat(used)) };
            Line::from(vec![first, Span::styled(part, style)])
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::theme::ThemeName;

    fn record(seq: u64, level: Level, target: &str, text: &str) -> Record {
        Record { seq, at: Wall(36_003_000), level, target: target.to_owned(), text: text.to_owned() }
    }

    fn numbered(seqs: impl IntoIterator<Item = u64>) -> Records {
        let mut records = Records::default();
        records
            .take_in(seqs.into_iter().map(|seq| record(seq, Level::INFO, "fandeck::engine", &format!("line {seq}"))));
        records
    }

    fn drawn(records: &Records, view: &LogView, rows: u16) -> Vec<String> {
        let area = Rect::new(0, 0, 60, rows);
        let mut buf = Buffer::empty(area);
        records.render(area, &mut buf, &Theme::of(ThemeName::Mono), view);
        let rows = buf.content.chunks(60).map(|row| row.iter().map(|cell| cell.symbol()).collect::<String>());
        rows.map(|row| row.trim_end().to_owned()).collect()
    }

    #[test]
    fn the_newest_records_are_followed() {
        let mut records = numbered(1..=100);
        assert_eq!(drawn(&records, &LogView::default(), 2), [" 10:00:03 INFO  line 99", " 10:00:03 INFO  line 100"]);
        records.take_in([record(101, Level::WARN, "x", "new")]);
        assert_eq!(drawn(&records, &LogView::default(), 1), [" 10:00:03 WARN  new"]);
    }

    #[test]
    fn scrolled_up_the_picture_stands_still_and_what_came_below_is_counted() {
        let mut records = numbered(1..=100);
        let view = LogView::default();
        drawn(&records, &view, 10);
        records.scroll(LogMove::Up, &view);
        let before = drawn(&records, &view, 10);
        assert_eq!(before[9], " 10:00:03 INFO  line 95");
        records.take_in((101..=107).map(|seq| record(seq, Level::INFO, "t", "more")));
        assert_eq!(drawn(&records, &view, 10), before);
        let status = records.status(&view);
        assert_eq!((status.scrolled, status.n_new), (true, 12));
        records.scroll(LogMove::LineDown, &view);
        assert_eq!(drawn(&records, &view, 10)[9], " 10:00:03 INFO  line 96");
        records.scroll(LogMove::Follow, &view);
        assert_eq!(records.status(&view).n_new, 0);
        assert_eq!(drawn(&records, &view, 10)[9], " 10:00:03 INFO  more");
    }

    #[test]
    fn scrolling_ends_at_the_oldest_page_and_at_the_newest_follows_again() {
        let mut records = numbered(1..=30);
        let view = LogView::default();
        for _ in 0..50 {
            drawn(&records, &view, 10);
            records.scroll(LogMove::Up, &view);
        }
        assert_eq!(drawn(&records, &view, 10)[0], " 10:00:03 INFO  line 1");
        for _ in 0..50 {
            records.scroll(LogMove::Down, &view);
        }
        assert!(!records.status(&view).scrolled);
        Records::default().scroll(LogMove::Up, &view);
    }

    #[test]
    fn a_filter_and_levels_by_target_choose_what_is_looked_at() {
        let mut records = numbered(1..=3);
        records.take_in([
            record(4, Level::DEBUG, "fandeck::api", "answer of batch"),
            record(5, Level::WARN, "fandeck::api", "answer of low-prio"),
        ]);
        let mut view = LogView { filter: "ANSWER".to_owned(), ..LogView::default() };
        assert_eq!(records.status(&view).n_shown, 2);
        view.levels.insert("fandeck::api".to_owned(), LevelFilter::INFO);
        assert_eq!(drawn(&records, &view, 2), [" 10:00:03 WARN  answer of low-prio", ""]);
        view = LogView { filter: "engine".to_owned(), ..LogView::default() };
        assert_eq!(records.status(&view).n_shown, 3, "a target is found, too");
        view = LogView { levels: [("fandeck::engine".to_owned(), LevelFilter::OFF)].into(), ..LogView::default() };
        assert_eq!(records.status(&view).n_shown, 2);
    }

    #[test]
    fn the_ring_is_bounded_and_what_was_lost_before_it_is_told() {
        let mut records = numbered(1..=KEPT as u64 + 5);
        records.take_in([record(KEPT as u64 + 16, Level::INFO, "t", "after a gap")]);
        let status = records.status(&LogView::default());
        assert_eq!((status.n_kept, status.n_lost), (KEPT, 10));
    }

    #[test]
    fn a_long_record_is_broken_under_its_text_and_never_wider_than_the_pane() {
        let theme = Theme::of(ThemeName::Mono);
        let long = record(1, Level::WARN, "t", "batch: 25 answers 429, window 100 → 50");
        let shown = of_record(&theme, &long, "10:00:03", 40, false);
        assert_eq!(shown.len(), 2);
        assert!(shown.iter().all(|line| line.width() <= 40), "{shown:?}");
        assert!(shown[1].to_string().starts_with("                w"), "{shown:?}");
    }

    #[test]
    fn t2_no_size_breaks_it() {
        let records = numbered(1..=30);
        for (columns, rows) in (0..=60).flat_map(|c| (0..=12).map(move |r| (c, r))) {
            for targets in [false, true] {
                let mut buf = Buffer::empty(Rect::new(0, 0, columns, rows));
                let view = LogView { targets, ..LogView::default() };
                records.render(Rect::new(0, 0, 80, 12), &mut buf, &Theme::of(ThemeName::Mono), &view);
            }
        }
    }
}
