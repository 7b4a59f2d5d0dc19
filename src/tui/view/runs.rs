//! The runs found, as a table.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::Span;

use crate::report::format;
use crate::report::text::{fit, fit_right, harmless};
use crate::tui::backstage::RunRow;
use crate::tui::state::UiState;

use super::hit::Target;
use super::{Scene, put, styled};

/// Rows above the table.
const ABOVE: u16 = 2;

fn table(area: Rect) -> Rect {
    Rect { y: area.y + ABOVE.min(area.height), height: area.height.saturating_sub(ABOVE), ..area }
}

/// The first row that is shown, so that the selected one is among them.
fn scrolled(selected: usize, rows: u16) -> usize {
    selected.saturating_sub(usize::from(rows).saturating_sub(1))
}

/// What is under the pointer.
pub(super) fn hit(ui: &UiState, area: Rect, here: Position) -> Option<Target> {
    let table = table(area);
    let shown = ui.runs.shown();
    let first = scrolled(ui.runs.selected_ix(&shown), table.height);
    let ix = first + usize::from(here.y.checked_sub(table.y)?);
    (table.contains(here) && ix < shown.len()).then_some(Target::Run(ix))
}

/// Draws the screen.
///
/// ```text
///  runs 3 of 12
///    status                done        of             cost  directory
///  › cut off while running  61,234   100,000   61.2 %  $18.53  /home/me/.local/share/fandeck/runs/20261129-…
/// ```
pub(super) fn render(buf: &mut Buffer, scene: &Scene<'_>, area: Rect) {
    let theme = scene.theme;
    let ui = &scene.ui.runs;
    let Some(rows) = &ui.rows else {
        return put(buf, area, 0, [styled(" looking for runs", theme.dim)]);
    };
    let shown = ui.shown();
    let of = if shown.len() == rows.len() { String::new() } else { format!(" of {}", rows.len()) };
    put(buf, area, 0, [styled(format!(" runs {}{of}", shown.len()), theme.strong)]);
    if rows.is_empty() {
        return put(buf, area, ABOVE, [styled(" none yet: fandeck demo, or fandeck run FILE", theme.text)]);
    }
    let heading = format!(
        "   {} {} {} {} {}  directory",
        fit("status", 22),
        fit_right("done", 9),
        fit_right("of", 9),
        fit_right("", 7),
        fit_right("cost", 9)
    );
    put(buf, area, 1, [styled(heading, theme.dim)]);
    let at = ui.selected_ix(&shown);
    let table = table(area);
    let first = scrolled(at, table.height);
    for (row, (ix, run)) in (0..table.height).zip(shown.iter().enumerate().skip(first)) {
        put(buf, table, row, line(scene, run, ix == at));
    }
}

fn line(scene: &Scene<'_>, run: &RunRow, selected: bool) -> Vec<Span<'static>> {
    let theme = scene.theme;
    let base = if selected { theme.strong } else { theme.text };
    let mut spans = vec![styled(if selected { " › " } else { "   " }, theme.selected)];
    match &run.facts {
        Ok(facts) => {
            let state = if facts.owner.is_some() { theme.good } else { base };
            let counts = &facts.counts;
            spans.extend([
                styled(format!("{} ", fit(&harmless(&facts.standing), 22)), state),
                styled(format!("{} ", fit_right(&format::count(counts.done()), 9)), base),
                styled(format!("{} ", fit_right(&format::count(counts.total), 9)), base),
                styled(format!("{} ", fit_right(&format::share(counts.done(), counts.total), 7)), base),
                styled(format!("{}  ", fit_right(&format::money(facts.cost), 9)), base),
            ]);
        }
        Err(why) => spans.push(styled(format!("{}  ", fit(&harmless(&format!("unreadable: {why}")), 60)), theme.warn)),
    }
    spans.push(styled(harmless(&run.dir.display().to_string()).into_owned(), theme.dim));
    spans
}
