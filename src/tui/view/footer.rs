//! The message line, and the keys that work now: most important first, never more than fit.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Span;

use crate::model::snapshot::Condition;
use crate::model::{RunStatus, Snapshot};
use crate::report::text::{self, harmless};
use crate::tui::action::{Action, in_context};
use crate::tui::state::{Tone, UiState, shown_run};
use crate::tui::valid::valid;

use super::layout::Layout;
use super::{Scene, clear, put, put_right, styled};

/// Draws both. Where the message has no line of its own, it takes the place of the keys.
pub fn render(buf: &mut Buffer, scene: &Scene<'_>, layout: &Layout) {
    let theme = scene.theme;
    let own_line = layout.status.height > 0;
    if let Some(toast) = &scene.ui.toast {
        let style = match toast.tone {
            Tone::Asked => theme.info,
            Tone::Good => theme.good,
            Tone::Bad => theme.bad,
        };
        let mark = if toast.tone == Tone::Bad { "! " } else { "" };
        let said = format!("{mark}{}", harmless(&toast.text));
        if own_line {
            message(buf, layout, &said, style);
        } else {
            let line = text::cut(&format!(" {said}"), usize::from(layout.footer.width)).into_owned();
            put(buf, layout.footer, 0, [styled(line, style)]);
            return;
        }
    }
    let mut spans = Vec::new();
    for (key, word) in hints(scene.ui, scene.snapshot, usize::from(layout.footer.width), scene.ascii) {
        spans.extend([Span::raw(" "), styled(key, theme.key), styled(format!(" {word} "), theme.dim)]);
    }
    put(buf, layout.footer, 0, spans);
    if scene.ui.read_only {
        put_right(buf, layout.footer, 0, [styled(" read-only ", theme.banner_warn)]);
    }
}

/// Most rows of a message; those above its own are lent by the screen while it is there.
const MESSAGE_ROWS: usize = 3;

/// Draws a message whole, upwards from its row, as what is refused says its remedy at the end.
fn message(buf: &mut Buffer, layout: &Layout, said: &str, style: Style) {
    let area = layout.status;
    let columns = usize::from(area.width.saturating_sub(2)).max(1);
    let mut lines = text::wrap(said, columns);
    if lines.len() > MESSAGE_ROWS {
        let rest = lines.split_off(MESSAGE_ROWS - 1).join(" ");
        lines.push(text::cut(&rest, columns).into_owned());
    }
    let above = u16::try_from(lines.len().saturating_sub(1)).unwrap_or(0).min(layout.middle().height);
    let rows = Rect { y: area.y - above, height: area.height + above, ..area };
    clear(buf, rows);
    for (row, line) in (0..rows.height).zip(lines) {
        put(buf, rows, row, [styled(format!(" {line}"), style)]);
    }
}

/// Arrows by their names, where they cannot be drawn: `v` would be read as the key.
pub fn key_label(key: String, ascii: bool) -> String {
    let names = [("↑", "up"), ("↓", "down"), ("←", "left"), ("→", "right")];
    if ascii { names.iter().fold(key, |key, (arrow, name)| key.replace(arrow, name)) } else { key }
}

/// The hints that fit `columns`: key and word.
pub fn hints(ui: &UiState, snapshot: &Snapshot, columns: usize, ascii: bool) -> Vec<(String, String)> {
    let mut room = columns.saturating_sub(if ui.read_only { 11 } else { 0 });
    let mut out = Vec::new();
    let mut entries: Vec<_> = in_context(ui.context()).filter(|info| info.bar.is_some()).collect();
    // What heals the selected org comes before what is always there.
    let resting = ui
        .selected_org(snapshot)
        .is_some_and(|org| matches!(org.condition, Condition::Parked { .. }) || org.condition.is_paused());
    entries.sort_by_key(|info| match info.action {
        Action::Help | Action::Quit => 0,
        Action::ReviveOrg if resting => 1,
        _ => 2,
    });
    for info in entries {
        let Some(word) = info.bar else { continue };
        if valid(info.action, ui, snapshot).is_err() {
            continue;
        }
        let paused = shown_run(snapshot).is_some_and(|run| run.status == RunStatus::Paused);
        let word = if info.action == Action::PauseRun && paused { "go on" } else { word };
        let key = key_label(ui.keymap.hint(info.action), ascii);
        let width = text::width(&key) + text::width(word) + 3;
        if key.is_empty() || width > room {
            continue;
        }
        room -= width;
        out.push((key, word.to_owned()));
    }
    out
}
