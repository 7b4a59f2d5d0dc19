//! What pictures look like, that no size breaks one, and that they keep to their rectangle.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::*;
use crate::model::Money;
use crate::report::fixtures;
use crate::tui::theme::ThemeName;
use crate::tui::view::frames::text_of;

type Picture = fn(&mut Buffer, Rect, &Theme);

fn rate_window_busy(buf: &mut Buffer, area: Rect, theme: &Theme) {
    rate_window::render(buf, area, &fixtures::busy().orgs[0], true, theme);
}

fn latency_busy(buf: &mut Buffer, area: Rect, theme: &Theme) {
    latency::render(buf, area, &fixtures::busy().orgs[0], theme);
}

fn headroom_storm(buf: &mut Buffer, area: Rect, theme: &Theme) {
    headroom::render(buf, area, &fixtures::storm().orgs, 1_000, theme);
}

fn outcomes_storm(buf: &mut Buffer, area: Rect, theme: &Theme) {
    outcomes::render(buf, area, &fixtures::storm().orgs, theme);
}

fn cost_busy(buf: &mut Buffer, area: Rect, theme: &Theme) {
    cost::render(buf, area, &fixtures::busy().runs[0], None, theme);
}

fn cost_over_budget(buf: &mut Buffer, area: Rect, theme: &Theme) {
    cost::render(buf, area, &fixtures::busy().runs[0], Some(Money::from_usd(25.0)), theme);
}

fn gantt_batches(buf: &mut Buffer, area: Rect, theme: &Theme) {
    let snapshot = fixtures::batches();
    gantt::render(buf, area, snapshot.runs[0].batches.as_ref().unwrap(), snapshot.at, 0, theme);
}

const ALL: [(&str, Picture); 7] = [
    ("rate_window", rate_window_busy),
    ("latency", latency_busy),
    ("headroom", headroom_storm),
    ("outcomes", outcomes_storm),
    ("cost", cost_busy),
    ("cost_over_budget", cost_over_budget),
    ("gantt", gantt_batches),
];

fn drawn(picture: Picture, columns: u16, rows: u16, theme: ThemeName) -> Buffer {
    let mut buf = Buffer::empty(Rect::new(0, 0, columns, rows));
    picture(&mut buf, Rect::new(0, 0, columns, rows), &Theme::of(theme));
    buf
}

#[test]
fn each_picture_wide_and_narrow() {
    for (name, picture) in ALL {
        for (columns, rows) in [(98, 12), (60, 8)] {
            let shown = text_of(&drawn(picture, columns, rows, ThemeName::Dark));
            insta::assert_snapshot!(format!("{name}_{columns}x{rows}"), shown);
        }
    }
}

#[test]
fn t2_no_size_from_nothing_to_60_by_24_breaks_a_picture() {
    for (_, picture) in ALL {
        for (columns, rows) in (0..=60).flat_map(|c| (0..=24).map(move |r| (c, r))) {
            drawn(picture, columns, rows, ThemeName::Mono);
        }
    }
}

#[test]
fn a_picture_keeps_to_its_rectangle_and_to_characters_of_one_column() {
    let inner = Rect::new(7, 3, 50, 9);
    for (name, picture) in ALL {
        let mut buf = Buffer::empty(Rect::new(0, 0, 80, 20));
        picture(&mut buf, inner, &Theme::of(ThemeName::Dark));
        for position in buf.area.positions() {
            let symbol = buf.cell(position).unwrap().symbol();
            assert!(inner.contains(position) || symbol == " ", "{name} {position:?} {symbol}");
            assert_eq!(text::width(symbol), 1, "{name} {symbol}");
        }
    }
}

#[test]
fn every_picture_has_an_ascii_form_without_question_marks_where_there_were_none() {
    for (name, picture) in ALL {
        let buf = drawn(picture, 98, 12, ThemeName::Mono);
        let before = text_of(&buf).matches('?').count();
        let mut ascii = buf;
        crate::tui::view::to_ascii(&mut ascii);
        let shown = text_of(&ascii);
        assert!(shown.is_ascii());
        assert_eq!(shown.matches('?').count(), before, "{name}\n{shown}");
    }
}

#[test]
fn a_run_without_anything_yet_is_drawn_as_nothing_and_says_so() {
    let snapshot = fixtures::starting();
    let theme = Theme::of(ThemeName::Dark);
    let mut buf = Buffer::empty(Rect::new(0, 0, 90, 12));
    latency::render(&mut buf, Rect::new(0, 0, 90, 12), &snapshot.orgs[0], &theme);
    assert!(text_of(&buf).contains("no answer yet"));
    let mut buf = Buffer::empty(Rect::new(0, 0, 90, 12));
    rate_window::render(&mut buf, Rect::new(0, 0, 90, 12), &snapshot.orgs[0], true, &theme);
    cost::render(&mut buf, Rect::new(0, 0, 90, 12), &snapshot.runs[0], None, &theme);
    headroom::render(&mut buf, Rect::new(0, 0, 90, 12), &snapshot.orgs, 0, &theme);
    assert!(text_of(&buf).contains("not told yet"));
    assert_eq!(cost::projected(&snapshot.runs[0]), None);
}

#[test]
fn the_pace_of_a_run_that_is_over_is_not_called_that_of_now() {
    let (snapshot, theme) = (fixtures::busy(), Theme::of(ThemeName::Dark));
    let title = |goes_on: bool| {
        let mut buf = Buffer::empty(Rect::new(0, 0, 90, 12));
        rate_window::render(&mut buf, Rect::new(0, 0, 90, 12), &snapshot.orgs[0], goes_on, &theme);
        text_of(&buf).lines().next().unwrap_or_default().to_owned()
    };
    assert!(title(true).contains("now "), "{}", title(true));
    assert!(!title(false).contains("now ") && title(false).contains("cuts"), "{}", title(false));
}

#[test]
fn the_projection_prices_what_is_open_like_what_was_done() {
    let mut run = fixtures::busy().runs.remove(0);
    (run.counts.succeeded, run.counts.refused, run.counts.unsent, run.counts.re_drivable) = (90, 10, 290, 10);
    run.cost = Money::from_usd(2.0);
    assert_eq!(cost::projected(&run), Some(Money::from_usd(8.0)));
    run.cost = Money(u64::MAX);
    assert_eq!(cost::projected(&run), Some(Money(u64::MAX)));
}

#[test]
fn a_sub_batch_over_the_threshold_is_marked_where_it_became_stuck() {
    let shown = text_of(&drawn(gantt_batches, 98, 12, ThemeName::Dark));
    let row = shown.lines().find(|line| line.contains(" 2 batch")).unwrap();
    assert!(row.contains('│') && row.trim_end().ends_with("4h01m"), "{shown}");
}

#[test]
fn a_threshold_that_is_far_away_does_not_press_the_bars_together() {
    let snapshot = fixtures::batches();
    let mut view = (**snapshot.runs[0].batches.as_ref().unwrap()).clone();
    view.threshold_ms = Some(400 * 3_600_000);
    let mut buf = Buffer::empty(Rect::new(0, 0, 98, 12));
    gantt::render(&mut buf, Rect::new(0, 0, 98, 12), &view, snapshot.at, 0, &Theme::of(ThemeName::Dark));
    let shown = text_of(&buf);
    assert!(shown.lines().skip(1).all(|line| !line.contains('│')), "{shown}");
    assert!(shown.matches('▒').count() > 60, "{shown}");
}
