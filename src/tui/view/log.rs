//! The log: a pane on the live screen, and a screen of its own with the parts of the program beside it.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::report::format;
use crate::report::text::{fit, fit_right, harmless, width};
use crate::tui::action::Action;
use crate::tui::backstage::Driver;
use crate::tui::log::records::{LogStatus, short_target};
use crate::tui::screens::live::Page;
use crate::tui::valid::valid;

use super::layout::Layout;
use super::pictures::board::{Board, strip};
use super::{Scene, put, put_right, rule, styled};

/// Columns from which the parts of the program stand beside the records.
const BESIDE: u16 = 100;
/// Columns from which each record names its part too.
const NAMED: u16 = 150;
/// Columns that the parts take.
const PARTS: u16 = 34;

/// Draws the pane: a rule with its title, then the newest records. Where pictures can take its place, the title names them.
pub(super) fn pane(buf: &mut Buffer, scene: &Scene<'_>, layout: &Layout) {
    let area = layout.log;
    if area.height < 2 {
        return;
    }
    let title = |buf: &mut Buffer, says: &str| {
        if layout.board == Board::Nothing && valid(Action::NextPicture, scene.ui, scene.snapshot).is_ok() {
            let names = Page::ALL.map(|page| (page.as_str(), false));
            strip(buf, scene, area, [("log", true)].iter().chain(&names), says);
        } else {
            let text = format!("── log {says}");
            put(buf, area, 0, [styled(rule(&text, usize::from(area.width)), scene.theme.frame)]);
        }
    };
    let elsewhere = match scene.ui.driver {
        Driver::Elsewhere => "another process drives the run, and keeps its log",
        Driver::Nobody => "nobody drives the run: its log is with the process that drove it",
        Driver::Here | Driver::Nothing => "",
    };
    if !elsewhere.is_empty() {
        title(buf, "");
        let key = scene.ui.keymap.hint(Action::ShowLog);
        let text = format!(" {elsewhere}; {key} shows that of this console");
        put(buf, Rect { y: area.y + 1, height: 1, ..area }, 0, [styled(text, scene.theme.dim)]);
        return;
    }
    let view = scene.ui.log.view(false, &scene.ui.zone);
    title(buf, &says(scene, &scene.log.status(&view)));
    scene.log.pane(Rect { y: area.y + 1, height: area.height - 1, ..area }, buf, scene.theme, &view);
}

/// Draws the screen.
///
/// ```text
/// ── log · 318 of 1,204 records · scrolled up, 12 new below, End follows · times in CET ────── …/logs/run.log ──
///  / 429                                        │
///    all parts                      1,204       │ 10:00:03 INFO  engine::reduce       batch: 429: window of haiku …
///  › engine::reduce                   318 debug │ 10:00:04 INFO  engine::reduce       …
///    api::http                        886 off   │
/// ```
pub(super) fn screen(buf: &mut Buffer, scene: &Scene<'_>, area: Rect) {
    let theme = scene.theme;
    let beside = area.width >= BESIDE;
    let view = scene.ui.log.view(area.width >= NAMED, &scene.ui.zone);
    let status = scene.log.status(&view);
    title(buf, scene, area, &status);
    let row = filter(scene);
    put(buf, area, 1, row);
    let above = 2.min(area.height);
    let body = Rect { y: area.y + above, height: area.height - above, ..area };
    if !beside {
        scene.log.render(body, buf, theme, &view);
        return;
    }
    parts(buf, scene, Rect { width: PARTS, ..body });
    let records = Rect { x: body.x + PARTS, width: body.width - PARTS, ..body };
    scene.log.render(records, buf, theme, &view);
    if status.n_shown == 0 {
        let text = if status.n_kept == 0 { " nothing was logged yet" } else { " no record matches" };
        put(buf, records, 0, [styled(text, theme.dim)]);
    }
}

fn title(buf: &mut Buffer, scene: &Scene<'_>, area: Rect, status: &LogStatus) {
    let columns = usize::from(area.width);
    let mut text = "── log · ".to_owned();
    if status.n_shown != status.n_kept {
        text.push_str(&format!("{} of ", format::count(status.n_shown as u64)));
    }
    let records = if status.n_kept == 1 { "record" } else { "records" };
    text.push_str(&format!("{} {records} ", format::count(status.n_kept as u64)));
    if status.n_lost > 0 {
        text.push_str(&format!("· {} passed the screen by ", format::count(status.n_lost)));
    }
    text.push_str(&says(scene, status));
    text.push_str(&zone(scene, status, columns.saturating_sub(width(&text))));
    put(buf, area, 0, [styled(rule(&text, columns), scene.theme.frame)]);
    if let Some(file) = &scene.ui.log_file {
        let file = harmless(file);
        // The end of a path tells more than its beginning.
        let room = columns.saturating_sub(width(&text) + 5);
        let tail: String =
            file.chars().rev().take(room.saturating_sub(1)).collect::<Vec<_>>().into_iter().rev().collect();
        let shown = if width(&file) <= room { file.into_owned() } else { format!("…{tail}") };
        if room >= 12 {
            put_right(buf, area, 0, [styled(format!(" {shown} "), scene.theme.text), styled("──", scene.theme.frame)]);
        }
    }
}

/// The zone of the times, in so many columns. It is called as at the newest record: a zone changes its name twice a year.
fn zone(scene: &Scene<'_>, status: &LogStatus, columns: usize) -> String {
    let Some(newest) = status.newest else { return String::new() };
    let name = scene.ui.zone.name(newest);
    let forms = [format!("· times in {name} "), format!("· {name} ")];
    forms.into_iter().find(|form| width(form) <= columns).unwrap_or_default()
}

fn says(scene: &Scene<'_>, status: &LogStatus) -> String {
    if !status.scrolled {
        return String::new();
    }
    let new =
        if status.n_new > 0 { format!(", {} new below", format::count(status.n_new as u64)) } else { String::new() };
    format!("· scrolled up{new}, {} follows ", scene.ui.keymap.hint(Action::LogFollow))
}

/// The filter, and what the level keys mean.
fn filter<'s>(scene: &Scene<'s>) -> Vec<ratatui::text::Span<'s>> {
    let theme = scene.theme;
    let log = &scene.ui.log;
    let field = &log.filter;
    let text = match (field.editing, field.text.is_empty()) {
        (true, _) => styled(format!(" / {}▏", harmless(&field.text)), theme.selected),
        (false, false) => styled(format!(" / {}", harmless(&field.text)), theme.strong),
        (false, true) => styled(format!(" {} filters", scene.ui.keymap.hint(Action::Filter)), theme.dim),
    };
    let part = match &log.selected {
        Some(target) => format!("   {}: {}", harmless(short_target(target)), shown(log.level(target))),
        None => String::new(),
    };
    vec![text, styled(part, theme.dim)]
}

fn shown(level: tracing::level_filters::LevelFilter) -> String {
    level.to_string()
}

/// The parts of the program that have logged, with how much of each is shown.
fn parts(buf: &mut Buffer, scene: &Scene<'_>, area: Rect) {
    let theme = scene.theme;
    let log = &scene.ui.log;
    let targets = scene.log.targets();
    let all: u64 = targets.values().sum();
    let name = usize::from(PARTS) - 3 - 8 - 1 - 5 - 2;
    let line = |selected: bool, label: &str, n: u64, level: &str| {
        let base = if selected { theme.strong } else { theme.text };
        let quiet = if level == "off" { theme.dim } else { base };
        vec![
            styled(if selected { " › " } else { "   " }, theme.selected),
            styled(fit(&harmless(label), name), quiet),
            styled(format!("{} {} ", fit_right(&format::count(n), 8), fit(level, 5)), theme.dim),
            styled("│", theme.frame),
        ]
    };
    put(buf, area, 0, line(log.selected.is_none(), "all parts", all, ""));
    let at = log.selected.as_ref().and_then(|selected| targets.keys().position(|target| target == selected));
    let rows = usize::from(area.height.saturating_sub(1));
    let first = at.map_or(0, |at| (at + 1).saturating_sub(rows));
    for (row, (target, n)) in (1..area.height).zip(targets.iter().skip(first)) {
        let level = shown(log.level(target));
        put(buf, area, row, line(log.selected.as_ref() == Some(target), short_target(target), *n, &level));
    }
    for row in (targets.len() - first.min(targets.len())) as u16 + 1..area.height {
        put(buf, area, row, [styled(" ".repeat(usize::from(PARTS) - 1), theme.text), styled("│", theme.frame)]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Mono, Wall};
    use crate::report::fixtures;
    use crate::tui::log::{Record, Records};
    use crate::tui::msg::LogMove;
    use crate::tui::screens::Screen;
    use crate::tui::state::UiState;
    use crate::tui::theme::{Theme, ThemeName};
    use crate::tui::view::frames::{frame, text_of};
    use tracing::Level;

    fn records() -> Records {
        let targets = ["fandeck::engine::reduce", "fandeck::api::http", "hyper_util::client"];
        let mut records = Records::default();
        records.take_in((1..=80).map(|seq| Record {
            seq,
            at: Wall(36_000_000 + i64::try_from(seq).unwrap() * 1_000),
            level: [Level::INFO, Level::WARN, Level::DEBUG][seq as usize % 3],
            target: targets[seq as usize % 3].to_owned(),
            text: format!("record {seq}: 日本語 window of haiku cut from 50 to 25, closed for 6.0 s (retry-after)"),
        }));
        records
    }

    fn drawn(ui: &UiState, log: &Records, size: (u16, u16), theme: ThemeName) -> Buffer {
        let (ui, snapshot, theme) = (UiState { size, ..ui.clone() }, fixtures::busy(), Theme::of(theme));
        frame(&Scene { ui: &ui, snapshot: &snapshot, theme: &theme, log, ascii: false, now: Mono::ZERO })
    }

    fn ui() -> UiState {
        let mut ui = UiState { screen: Screen::Log, ..UiState::default() };
        ui.log_file = Some("/home/me/.local/state/fandeck/logs/20261129-judge.log".to_owned());
        ui.log.targets = records().targets().keys().cloned().collect();
        ui
    }

    #[test]
    fn the_screen_of_the_log_at_every_size() {
        let mut ui = ui();
        ui.log.selected = Some("fandeck::api::http".to_owned());
        ui.log.levels.insert("hyper_util::client".to_owned(), tracing::level_filters::LevelFilter::OFF);
        for size in [(200, 60), (120, 40), (80, 24), (40, 10)] {
            let shown = text_of(&drawn(&ui, &records(), size, ThemeName::Dark));
            insta::assert_snapshot!(format!("log_{}x{}", size.0, size.1), shown);
        }
    }

    #[test]
    fn scrolled_up_it_counts_what_is_new_and_names_the_key_that_follows() {
        let (ui, mut log) = (ui(), records());
        drawn(&ui, &log, (120, 40), ThemeName::Dark);
        log.scroll(LogMove::Up, &ui.log.view(true, &ui.zone));
        let shown = text_of(&drawn(&ui, &log, (120, 40), ThemeName::Dark));
        assert!(shown.contains("scrolled up, ") && shown.contains(" new below, End follows"), "{shown}");
    }

    #[test]
    fn the_title_names_the_zone_of_the_times_also_in_80_columns_beside_all_else_that_it_says() {
        let (mut ui, mut log) = (ui(), records());
        ui.zone = crate::tui::zone::Zone::of(jiff::tz::TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap());
        let title = |ui: &UiState, log: &Records| {
            let shown = text_of(&drawn(ui, log, (80, 24), ThemeName::Dark));
            shown.lines().find(|line| line.contains("── log")).unwrap().to_owned()
        };
        assert!(title(&ui, &log).contains("80 records · times in CET "), "{}", title(&ui, &log));
        ui.zone.change(Wall(0));
        assert!(title(&ui, &log).contains("80 records · times in UTC "), "{}", title(&ui, &log));
        ui.log.filter.text = "record".to_owned();
        ui.log.levels.insert("hyper_util::client".to_owned(), tracing::level_filters::LevelFilter::OFF);
        log.scroll(LogMove::Up, &ui.log.view(false, &ui.zone));
        let crowded = title(&ui, &log);
        assert!(crowded.contains("End follows · UTC "), "{crowded}");
        assert!(!title(&ui, &Records::default()).contains("UTC"), "there is no time");
    }

    #[test]
    fn an_empty_log_and_one_in_which_nothing_matches_say_so() {
        let mut ui = ui();
        let shown = text_of(&drawn(&ui, &Records::default(), (120, 40), ThemeName::Dark));
        assert!(shown.contains("nothing was logged yet"), "{shown}");
        ui.log.filter.text = "no such thing".to_owned();
        let shown = text_of(&drawn(&ui, &records(), (120, 40), ThemeName::Dark));
        assert!(shown.contains("no record matches") && shown.contains("0 of 80 records"), "{shown}");
    }

    #[test]
    fn t2_no_size_from_nothing_to_60_by_24_breaks_it() {
        for size in (0..=60).flat_map(|columns| (0..=24).map(move |rows| (columns, rows))) {
            drawn(&ui(), &records(), size, ThemeName::Mono);
        }
    }
}
