//! The runs found: a table, and what there is to say of the selected one.

use std::path::Path;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use ratatui::text::Span;

use crate::model::RunStatus;
use crate::report::text::{cut, fit, fit_right, harmless, wrap};
use crate::report::{format, words};
use crate::tui::action::Action;
use crate::tui::backstage::{RunFacts, RunRow, RunsFound};
use crate::tui::screens::runs::is_shown;
use crate::tui::state::UiState;

use super::hit::Target;
use super::words::{Weight, status};
use super::{Scene, bars, put, styled};

/// Rows above the table: the sum, the heading.
const ABOVE: u16 = 2;
/// Rows of the detail, where there is room.
const DETAIL: u16 = 7;
/// Columns of a row's bar, where there is room.
const BAR: usize = 16;

/// The table, and the detail below it.
fn split(area: Rect) -> (Rect, Rect) {
    let below = area.height.saturating_sub(ABOVE);
    let detail = if below >= 2 * DETAIL { DETAIL } else { 0 };
    let table = Rect { y: area.y + ABOVE.min(area.height), height: below - detail, ..area };
    (table, Rect { y: table.y + table.height, height: detail, ..area })
}

/// The first row that is shown, so that the selected one is among them.
fn scrolled(selected: usize, rows: u16) -> usize {
    selected.saturating_sub(usize::from(rows).saturating_sub(1))
}

/// What is under the pointer.
pub(super) fn hit(ui: &UiState, area: Rect, here: Position) -> Option<Target> {
    let (table, _) = split(area);
    let shown = ui.runs.shown();
    let first = scrolled(ui.runs.selected_ix(&shown).unwrap_or(0), table.height);
    let ix = first + usize::from(here.y.checked_sub(table.y)?);
    (table.contains(here) && ix < shown.len()).then_some(Target::Run(ix))
}

/// Draws the screen.
///
/// ```text
///  runs 3 of 12 · filter: judge · sorted by newest · showing all
///    state                   done                      of   path       cost     made  input
///  › ■ cut off while running  61.2 % ██████████······ 100,000  sync     $18.53   3h ago  judge-input.jsonl
///    ✓ finished                100 % ████████████████  20,000  batch     $4.10   2d ago  labels.jsonl
/// ── judge-input.jsonl ──────────────────────────────────────────────────────────────────────────
///  directory  /home/me/.local/share/fandeck/runs/20261129-101500-judge-input-x4k2
///  outcomes   61,200 succeeded · 12 refused · 38,788 unsent
/// ```
pub(super) fn render(buf: &mut Buffer, scene: &Scene<'_>, area: Rect) {
    let theme = scene.theme;
    let ui = &scene.ui.runs;
    let Some(found) = &ui.found else {
        return match &ui.trouble {
            Some(why) => no_list(buf, scene, why, area),
            None => put(buf, area, 0, [styled(" looking for runs", theme.dim)]),
        };
    };
    if found.rows.is_empty() {
        return welcome(buf, scene, found, area);
    }
    let shown = ui.shown();
    head(buf, scene, shown.len(), area);
    let (table, detail) = split(area);
    if shown.is_empty() {
        let back = scene.ui.keymap.hint(Action::Back);
        put(buf, table, 0, [styled(format!(" no run matches; {back} drops the filter"), theme.warn)]);
        return;
    }
    let columns = Columns::of(area.width);
    put(buf, area, 1, [styled(columns.heading(), theme.dim)]);
    let at = ui.selected_ix(&shown);
    let first = scrolled(at.unwrap_or(0), table.height);
    for (row, (ix, run)) in (0..table.height).zip(shown.iter().enumerate().skip(first)) {
        put(buf, table, row, columns.line(scene, run, at == Some(ix)));
    }
    if let Some(run) = at.and_then(|at| shown.get(at)) {
        details(buf, scene, run, detail);
    }
}

fn head(buf: &mut Buffer, scene: &Scene<'_>, n: usize, area: Rect) {
    let theme = scene.theme;
    let ui = &scene.ui.runs;
    let of = if n == ui.total() { String::new() } else { format!(" of {}", format::count(ui.total() as u64)) };
    let mut spans = vec![styled(format!(" runs {}{of}", format::count(n as u64)), theme.strong)];
    spans.extend(super::filter_spans(&ui.filter, theme));
    let marks = format!(" · sorted by {} · showing {}", ui.sort.as_str(), ui.kind.as_str());
    spans.push(styled(marks, theme.dim));
    if let Some(why) = &ui.trouble {
        spans.push(styled(format!(" · not up to date: {}", harmless(why)), theme.warn));
    }
    put(buf, area, 0, spans);
}

/// Why there is no list, and what can be done without it.
fn no_list(buf: &mut Buffer, scene: &Scene<'_>, why: &str, area: Rect) {
    let theme = scene.theme;
    let (quit, demo) = (scene.ui.keymap.hint(Action::Quit), scene.ui.keymap.hint(Action::StartDemo));
    let after = [
        (String::new(), theme.text),
        ("It is looked for again every few seconds; the list comes when it answers.".to_owned(), theme.text),
        (format!("{quit} leaves · {demo} starts the demo · fandeck resume DIR needs no list"), theme.text),
        ("Other directory: runs-dir in the configuration (fandeck config).".to_owned(), theme.dim),
    ];
    let wide = usize::from(area.width).saturating_sub(3).max(1);
    let why = wrap(&format!("No list of runs: {}", harmless(why)), wide);
    let lines = why.into_iter().map(|line| (line, theme.warn));
    let after =
        after.into_iter().flat_map(|(text, style)| wrap(&text, wide).into_iter().map(move |line| (line, style)));
    for (row, (line, style)) in (0..area.height).zip(lines.chain(after)) {
        put(buf, area, row, [styled(format!(" {line}"), style)]);
    }
}

/// What somebody sees who has no run yet.
fn welcome(buf: &mut Buffer, scene: &Scene<'_>, found: &RunsFound, area: Rect) {
    let theme = scene.theme;
    let key = |action| scene.ui.keymap.hint(action);
    let mut lines = vec![
        (String::new(), "No runs yet.".to_owned(), theme.strong),
        (String::new(), String::new(), theme.text),
        (
            key(Action::StartDemo),
            "the demo: everything, simulated; no key, no network, nothing to pay".to_owned(),
            theme.key,
        ),
        (key(Action::Help), "the keys of this screen".to_owned(), theme.text),
        (key(Action::Quit), "leave, and run a file of your own: fandeck run FILE".to_owned(), theme.text),
        (String::new(), String::new(), theme.text),
    ];
    if found.orgs.is_empty() {
        let text = "No key is set. Real runs need one: export ANTHROPIC_API_KEY=…".to_owned();
        lines.push((String::new(), text, theme.warn));
    } else {
        let orgs = found.orgs.iter().map(|label| harmless(label).into_owned()).collect::<Vec<_>>().join(", ");
        lines.push((String::new(), format!("Orgs with a key: {orgs}."), theme.text));
    }
    lines.push((String::new(), format!("Looked in {}.", harmless(&found.place.display().to_string())), theme.dim));
    for (row, (key, text, style)) in (1..).zip(lines) {
        let gap = if key.is_empty() { "" } else { "   " };
        let text = cut(&text, usize::from(area.width).saturating_sub(8)).into_owned();
        put(buf, area, row, [styled(format!("  {key}{gap}"), theme.key), styled(text, style)]);
    }
}

/// Which columns there is room for.
struct Columns {
    state: usize,
    bar: bool,
    money: bool,
    made: bool,
    rest: usize,
}

impl Columns {
    fn of(width: u16) -> Columns {
        let width = usize::from(width);
        let (bar, money, made) = (width >= 110, width >= 64, width >= 78);
        let state = if width >= 100 { 26 } else { 16 };
        // Marks, state, share; then total, path and money; then age.
        let used = 3 + state + 9 + usize::from(bar) * (BAR + 1) + usize::from(money) * 27 + usize::from(made) * 10;
        Columns { state, bar, money, made, rest: width.saturating_sub(used) }
    }

    fn heading(&self) -> String {
        let mut text = format!("   {} {}", fit("state", self.state), fit_right("done", 7));
        if self.bar {
            text.push_str(&" ".repeat(BAR + 1));
        }
        if self.money {
            text.push_str(&format!(" {} {} {}", fit_right("of", 10), fit("path", 5), fit_right("cost", 9)));
        }
        if self.made {
            text.push_str(&format!(" {}", fit_right("made", 9)));
        }
        text.push_str("  input");
        text
    }

    fn line(&self, scene: &Scene<'_>, run: &RunRow, selected: bool) -> Vec<Span<'static>> {
        let theme = scene.theme;
        let base = if selected { theme.strong } else { theme.text };
        let mut spans = vec![styled(if selected { " › " } else { "   " }, theme.selected)];
        let facts = match &run.facts {
            Ok(facts) => facts,
            Err(why) => {
                let text = format!("× {}: {}", run.dir.display(), without_dir(why, &run.dir));
                spans.push(styled(harmless(&text).into_owned(), theme.warn));
                return spans;
            }
        };
        let counts = &facts.counts;
        let (glyph, style) = state(facts, theme);
        spans.push(styled(format!("{} ", fit(&format!("{glyph} {}", facts.standing), self.state)), style));
        spans.push(styled(fit_right(&format::share(counts.done(), counts.total), 7), base));
        if self.bar {
            spans.push(Span::raw(" "));
            spans.extend(bars::outcomes(counts, BAR, theme));
        }
        if self.money {
            spans.push(styled(format!(" {} ", fit_right(&format::count(counts.total), 10)), base));
            spans.push(styled(format!("{} ", fit(facts.path.as_str(), 5)), base));
            spans.push(styled(fit_right(&format::money(facts.cost), 9), base));
        }
        if self.made {
            spans.push(styled(format!(" {}", fit_right(&made(scene, facts), 9)), theme.dim));
        }
        let input = cut(&harmless(&facts.input), self.rest.saturating_sub(2)).into_owned();
        spans.push(styled(format!("  {input}"), base));
        spans
    }
}

/// The glyph and the look of a run's state.
fn state(facts: &RunFacts, theme: &crate::tui::theme::Theme) -> (char, Style) {
    let word = status(facts.status);
    match (&facts.owner, facts.status.is_over()) {
        (Some(_), _) => (word.glyph, word.style(theme)),
        (None, false) if facts.status != RunStatus::Planned => ('!', theme.warn),
        (None, _) if word.weight == Weight::Well => (word.glyph, theme.good),
        (None, _) => (word.glyph, theme.warn),
    }
}

/// What is wrong with a directory that is named already.
fn without_dir(why: &str, dir: &Path) -> String {
    let dir = dir.display().to_string();
    why.replace(&format!("{dir}/"), "").replace(&format!("{dir} "), "").replace(&dir, "it")
}

/// How long ago it was made, by the moment at which it was found.
fn made(scene: &Scene<'_>, facts: &RunFacts) -> String {
    let at = scene.ui.runs.found.as_ref().map_or(0, |found| found.at.0);
    let ms = u64::try_from(at.saturating_sub(facts.created_at.0)).unwrap_or(0);
    format!("{} ago", format::age(ms))
}

/// What there is to say of the selected run.
fn details(buf: &mut Buffer, scene: &Scene<'_>, run: &RunRow, area: Rect) {
    let theme = scene.theme;
    let width = usize::from(area.width);
    let facts = match &run.facts {
        Ok(facts) => facts,
        Err(why) => return unreadable(buf, scene, run, why, area),
    };
    let title = format!("── {} ", harmless(&facts.input));
    put(buf, area, 0, [styled(super::rule(&title, width), theme.frame)]);
    let mut lines = vec![
        ("run", facts.run_id.clone()),
        ("directory", run.dir.display().to_string()),
        ("outcomes", words::outcomes(&facts.counts, facts.in_batches)),
    ];
    if let Some(owner) = &facts.owner {
        let who = if facts.here { "this console, " } else { "" };
        lines.push(("owner", format!("heartbeat {} ago · {who}{owner}", format::age(facts.heartbeat_ms))));
    }
    if let Some(reason) = &facts.reason {
        lines.push(("reason", reason.clone()));
    }
    lines.push(("next", next(scene, run, facts)));
    for (row, (name, value)) in (1..area.height).zip(lines) {
        let value = cut(&harmless(&value), width.saturating_sub(13)).into_owned();
        put(buf, area, row, [styled(format!(" {name:<10} "), theme.dim), styled(value, theme.text)]);
    }
}

/// A run that cannot be read: the whole reason.
fn unreadable(buf: &mut Buffer, scene: &Scene<'_>, run: &RunRow, why: &str, area: Rect) {
    let theme = scene.theme;
    let width = usize::from(area.width);
    put(buf, area, 0, [styled(super::rule("── it cannot be read ", width), theme.frame)]);
    let dir = run.dir.display().to_string();
    let wide = width.saturating_sub(13).max(1);
    let lines = std::iter::once(("directory", cut(&harmless(&dir), wide).into_owned()));
    let why = wrap(&harmless(&without_dir(why, &run.dir)), wide).into_iter().enumerate();
    let lines = lines.chain(why.map(|(at, line)| (if at == 0 { "reason" } else { "" }, line)));
    for (row, (name, value)) in (1..area.height).zip(lines) {
        put(buf, area, row, [styled(format!(" {name:<10} "), theme.dim), styled(value, theme.warn)]);
    }
}

/// What can be done with it now, with the keys.
fn next(scene: &Scene<'_>, run: &RunRow, facts: &RunFacts) -> String {
    let key = |action| scene.ui.keymap.hint(action);
    let watch = key(Action::OpenRun);
    let export = key(Action::ExportRun);
    if is_shown(scene.ui, scene.snapshot, run) {
        format!("{watch} shows it: it is driven here")
    } else if facts.here {
        "this console drove it, and is closing it".to_owned()
    } else if facts.owner.is_some() {
        format!("{watch} watches it: another process drives it")
    } else if facts.resumable {
        let resume = key(Action::ResumeRun);
        let left = format::count(facts.counts.open().saturating_sub(facts.in_batches));
        let left = match facts.in_batches {
            0 => format!("the {left} that are left"),
            n => format!("the {} in batches and the {left} unsent", format::count(n)),
        };
        if words::limit_to_raise(facts.reason.as_deref()).is_some() {
            return format!("{resume} asks for a higher limit and goes on with {left} · {export} exports");
        }
        format!("{resume} goes on with {left} · {export} exports what is there")
    } else {
        format!("{export} exports the results · {} reports", key(Action::ReportRun))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Mono, Snapshot};
    use crate::tui::backstage::{Answer, Driver};
    use crate::tui::msg::Msg;
    use crate::tui::screens::Screen;
    use crate::tui::screens::runs::RunsUi;
    use crate::tui::tests::{runs, runs_found};
    use crate::tui::update::update;
    use crate::tui::view::tests::screen;

    fn on_runs(runs: RunsUi) -> UiState {
        UiState { screen: Screen::Runs, driver: Driver::Nothing, runs, size: (80, 24), ..UiState::default() }
    }

    #[test]
    fn a_place_that_does_not_answer_is_named_with_what_can_be_done_without_it_and_is_no_empty_list() {
        let mut ui = on_runs(RunsUi { looking: true, ..RunsUi::default() });
        assert!(screen(&Snapshot::default(), ui.clone(), (80, 24)).contains(" looking for runs"));
        let why = "/mnt/nfs/runs does not answer since 8s: is it on a network disk that is gone?".to_owned();
        update(&mut ui, Msg::Told { ticket: 0, answer: Answer::Runs(Err(why)) }, &Snapshot::default(), Mono::ZERO);
        let shown = screen(&Snapshot::default(), ui, (80, 24));
        for said in ["No list of runs: /mnt/nfs/runs does not answer since 8s", "q leaves", "d starts the demo"] {
            assert!(shown.contains(said), "{said}\n{shown}");
        }
        assert!(!shown.contains("No runs yet"), "{shown}");
    }

    #[test]
    fn a_list_that_could_not_be_renewed_stays_and_says_so() {
        let mut ui = on_runs(runs());
        let answer = Answer::Runs(Err("/mnt/nfs/runs does not answer since 8s".to_owned()));
        update(&mut ui, Msg::Told { ticket: 0, answer }, &Snapshot::default(), Mono::ZERO);
        let shown = screen(&Snapshot::default(), ui.clone(), (120, 40));
        assert!(shown.contains("not up to date: /mnt/nfs/runs") && shown.contains("labels.jsonl"), "{shown}");
        let answer = Answer::Runs(Ok(runs_found()));
        update(&mut ui, Msg::Told { ticket: 0, answer }, &Snapshot::default(), Mono::ZERO);
        assert!(!screen(&Snapshot::default(), ui, (120, 40)).contains("not up to date"));
    }

    #[test]
    fn a_run_that_cannot_be_read_names_its_directory_once_and_its_reason_whole() {
        let mut found = runs_found();
        let dir = "/home/me/.local/share/fandeck/runs/20260115-100000-judge-k3f9";
        let why =
            format!("failed to read {dir}/run.json: it has format 9, this fandeck knows 1 to 3: use a later fandeck");
        found.rows = vec![RunRow { dir: dir.into(), facts: Err(why) }];
        let ui = on_runs(RunsUi { found: Some(found), ..RunsUi::default() });
        let shown = screen(&Snapshot::default(), ui, (80, 24));
        let row = shown.lines().find(|line| line.contains("× ")).unwrap();
        assert_eq!(row.matches("/home/me").count(), 1, "{row}");
        assert!(shown.contains("failed to read run.json: it has format 9, this fandeck knows 1 to"), "{shown}");
        assert!(shown.contains("use a later fandeck"), "{shown}");
    }

    #[test]
    fn the_process_that_drives_a_run_is_called_this_console_where_it_is() {
        let mut found = runs_found();
        found.rows.rotate_left(1);
        for (here, says) in [(false, "0s ago · process 4711"), (true, "0s ago · this console, process 4711")] {
            found.rows[0].facts.as_mut().unwrap().here = here;
            let ui = on_runs(RunsUi { found: Some(found.clone()), ..RunsUi::default() });
            let shown = screen(&Snapshot::default(), ui, (80, 24));
            assert!(shown.contains(says), "{shown}");
        }
    }

    #[test]
    fn a_run_that_ended_at_its_budget_says_that_a_higher_limit_is_asked_for() {
        let mut found = runs_found();
        found.rows.truncate(1);
        let facts = found.rows[0].facts.as_mut().unwrap();
        facts.status = RunStatus::Incomplete;
        facts.reason = Some("resume with a higher limit: the next request would pass max-cost of $2.00".to_owned());
        let ui = on_runs(RunsUi { found: Some(found), ..RunsUi::default() });
        let shown = screen(&Snapshot::default(), ui, (120, 40));
        assert!(shown.contains("r asks for a higher limit and goes on"), "{shown}");
    }
}
