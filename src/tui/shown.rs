//! What is on the screen: the newest picture and log, or those that the operator holds.
//!
//! A key means what was seen when it was pressed, also when that is held. Leaving is the exception: whether something goes
//! on is a question about what is, so a run that came to rest behind a held picture is left without one.

use std::sync::Arc;

use super::action::Action;
use super::log::{LogView, Records};
use super::msg::{LogMove, Msg};
use crate::model::Snapshot;

/// See the module.
#[derive(Debug)]
pub(super) struct Shown {
    newest: Arc<Snapshot>,
    records: Records,
    held: Option<Held>,
}

/// The picture and the log as they were when the operator took hold of them.
#[derive(Debug)]
struct Held {
    picture: Arc<Snapshot>,
    records: Records,
}

impl Shown {
    /// No picture yet, and this log.
    pub(super) fn new(records: Records) -> Shown {
        Shown { newest: Arc::default(), records, held: None }
    }

    /// A newer picture.
    pub(super) fn renew(&mut self, picture: Arc<Snapshot>) {
        self.newest = picture;
    }

    /// The newest log, to take records in.
    pub(super) fn records(&mut self) -> &mut Records {
        &mut self.records
    }

    /// Takes hold of picture and log as they are, or lets go of them.
    pub(super) fn hold(&mut self, wanted: bool) {
        if !wanted {
            self.held = None;
        } else if self.held.is_none() {
            self.held = Some(Held { picture: Arc::clone(&self.newest), records: self.records.held() });
        }
    }

    /// The newest picture, held or not.
    pub(super) fn newest(&self) -> &Arc<Snapshot> {
        &self.newest
    }

    /// What is to be drawn.
    pub(super) fn drawn(&self) -> (&Arc<Snapshot>, &Records) {
        self.held.as_ref().map_or((&self.newest, &self.records), |held| (&held.picture, &held.records))
    }

    /// The picture that a message is about.
    pub(super) fn meant(&self, msg: &Msg) -> Arc<Snapshot> {
        let by_hand = match msg {
            Msg::Act(action) => !matches!(action, Action::Quit | Action::Interrupt),
            Msg::Click(..) | Msg::Wheel { .. } => true,
            _ => false,
        };
        Arc::clone(if by_hand { self.drawn().0 } else { &self.newest })
    }

    /// Scrolls the log that is drawn.
    pub(super) fn scroll(&mut self, to: LogMove, view: &LogView) {
        let records = self.held.as_mut().map_or(&mut self.records, |held| &mut held.records);
        records.scroll(to, view);
    }
}

#[cfg(test)]
mod tests {
    use ratatui::buffer::Buffer;
    use ratatui::layout::Rect;

    use super::*;
    use crate::model::Wall;
    use crate::report::fixtures;
    use crate::tui::log::Record;
    use crate::tui::theme::{Theme, ThemeName};

    fn record(seq: u64, text: &str) -> Record {
        let (level, target) = (tracing::Level::INFO, "fandeck::engine".to_owned());
        Record { seq, at: Wall(36_003_000), level, target, text: text.to_owned() }
    }

    /// The log pane of the live screen.
    fn pane(shown: &Shown) -> String {
        let area = Rect::new(0, 0, 60, 4);
        let mut buf = Buffer::empty(area);
        shown.drawn().1.pane(area, &mut buf, &Theme::of(ThemeName::Mono), &LogView::default());
        buf.content.iter().map(|cell| cell.symbol()).collect()
    }

    #[test]
    fn a_held_picture_holds_the_log_too_and_lets_go_of_both() {
        let mut shown = Shown::new(Records::of_process());
        shown.renew(Arc::new(fixtures::busy()));
        shown.records().take_in([record(1, "before the hold")]);
        shown.hold(true);
        shown.renew(Arc::new(fixtures::storm()));
        shown.records().take_in([record(2, "after the hold")]);
        shown.hold(true);
        let held = pane(&shown);
        assert!(held.contains("before the hold") && !held.contains("after the hold"), "{held}");
        assert_eq!(**shown.drawn().0, fixtures::busy());
        assert_eq!(shown.drawn().1.status(&LogView::default()).n_kept, 1);
        shown.hold(false);
        assert_eq!(**shown.drawn().0, fixtures::storm());
        assert_eq!(shown.drawn().1.status(&LogView::default()).n_kept, 2);
    }

    #[test]
    fn the_held_log_is_scrolled_and_the_newest_one_follows_as_before() {
        let mut shown = Shown::new(Records::of_process());
        shown.records().take_in((1..=50).map(|seq| record(seq, &format!("line {seq}"))));
        shown.hold(true);
        pane(&shown);
        shown.scroll(LogMove::Up, &LogView::default());
        assert!(shown.drawn().1.is_scrolled());
        shown.hold(false);
        assert!(!shown.drawn().1.is_scrolled());
    }

    #[test]
    fn a_key_means_what_is_seen_and_leaving_what_is() {
        let mut shown = Shown::new(Records::default());
        shown.renew(Arc::new(fixtures::busy()));
        shown.hold(true);
        shown.renew(Arc::new(fixtures::finished()));
        let seen = [Msg::Act(Action::PauseOrg), Msg::Click(1, 1), Msg::Wheel { column: 1, row: 1, down: true }];
        for msg in seen {
            assert_eq!(*shown.meant(&msg), fixtures::busy(), "{msg:?}");
        }
        let is = [Msg::Act(Action::Quit), Msg::Act(Action::Interrupt), Msg::Tick, Msg::Picture, Msg::EngineGone];
        for msg in is {
            assert_eq!(*shown.meant(&msg), fixtures::finished(), "{msg:?}");
        }
    }
}
