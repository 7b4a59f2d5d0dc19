//! The help overlay: every action that works on the screen below it, with its keys; those of no use now are greyed.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Span;

use crate::report::text;
use crate::tui::action::{ActionInfo, Context, in_context};
use crate::tui::keymap::Keymap;
use crate::tui::state::Overlay;
use crate::tui::valid::valid;

use super::footer::key_label;
use super::{Scene, clear, frame, put, styled};

/// The entries of the screen below that a search leaves: it looks in names, keys and texts.
pub fn entries(search: &str, below: Context) -> impl Iterator<Item = &'static ActionInfo> + use<> {
    let wanted = search.to_lowercase();
    in_context(below).filter(move |info| {
        wanted.is_empty()
            || info.name.contains(&wanted)
            || info.help.to_lowercase().contains(&wanted)
            || info.keys.iter().any(|key| key.to_lowercase() == wanted)
    })
}

/// The place of the overlay.
pub fn area(frame: Rect) -> Rect {
    let (width, height) = (frame.width.min(100), frame.height.saturating_sub(2).min(48));
    Rect { x: frame.x + (frame.width - width) / 2, y: frame.y + (frame.height - height) / 2, width, height }
        .intersection(frame)
}

/// Draws it.
///
/// ```text
/// ┏ help · 3 of 21 ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━┓
/// ┃ search: cap▏                                                     ┃
/// ┃                                                                  ┃
/// ┃ + =          cap-up         raise the cap of the selected org; … ┃
/// ┃ - _          cap-down       lower the cap of the selected org    ┃
/// ┃ f            next-family    select the next model family of the… ┃
/// ┗━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━┛
/// ```
pub fn render(buf: &mut Buffer, scene: &Scene<'_>, frame_area: Rect) {
    let Some(Overlay::Help { search, scroll }) = &scene.ui.overlay else { return };
    let theme = scene.theme;
    let area = area(frame_area);
    clear(buf, area);
    let below = scene.ui.screen.context();
    let (search, editing) = (&search.text, search.editing);
    let found: Vec<_> = entries(search, below).collect();
    let title = if search.is_empty() {
        format!(" help · {} ", below.as_str())
    } else {
        format!(" help · {} · {} of {} ", below.as_str(), found.len(), entries("", below).count())
    };
    let inner = frame(buf, area, Span::styled(title, theme.selected), true, theme.selected);
    let inner = Rect { x: inner.x + inner.width.min(1), width: inner.width.saturating_sub(2), ..inner };
    let hint = match (editing, search.is_empty()) {
        (true, _) => vec![styled("search: ", theme.dim), styled(format!("{search}▏"), theme.strong)],
        (false, false) => vec![styled("search: ", theme.dim), styled(search.clone(), theme.strong)],
        (false, true) => {
            vec![styled(key_label("/ searches · ↓ ↑ scroll · Esc closes".to_owned(), scene.ascii), theme.dim)]
        }
    };
    put(buf, inner, 0, hint);
    let tail = tail(scene);
    let rows = usize::from(inner.height).saturating_sub(2 + tail.len());
    if found.is_empty() {
        put(buf, inner, 2, [styled("nothing matches; Esc gives up the search", theme.warn)]);
    }
    let first = (*scroll).min(found.len().saturating_sub(rows));
    for (row, info) in (2..).zip(found.iter().skip(first).take(rows)) {
        put(buf, inner, row, entry(scene, info, usize::from(inner.width)));
    }
    let hidden = found.len().saturating_sub(first + rows);
    if hidden > 0 {
        let more = Rect {
            y: area.y + area.height.saturating_sub(1),
            x: area.x + 2,
            height: 1,
            width: area.width.saturating_sub(4),
        };
        put(buf, more, 0, [styled(format!(" {hidden} more below "), theme.selected)]);
    }
    let below = inner.height.saturating_sub(u16::try_from(tail.len()).unwrap_or(0));
    for (row, line) in (below..).zip(tail) {
        put(buf, inner, row, [styled(text::cut(&line, usize::from(inner.width)).into_owned(), theme.dim)]);
    }
}

/// What is good to know besides the keys.
fn tail(scene: &Scene<'_>) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(file) = &scene.ui.log_file {
        lines.push(format!("log file: {}", text::harmless(file)));
    }
    if scene.ui.read_only {
        lines.push("read-only: what would change something is greyed".to_owned());
    }
    if !lines.is_empty() {
        lines.insert(0, String::new());
    }
    lines
}

/// Columns of the names: those of the longest.
pub(super) const NAMES: usize = 20;

/// The keys of an action as the help shows them.
fn keys(keymap: &Keymap, info: &ActionInfo) -> String {
    let keys: Vec<String> = keymap.keys(info.action).iter().map(ToString::to_string).collect();
    keys.join(" ")
}

fn entry(scene: &Scene<'_>, info: &ActionInfo, columns: usize) -> Vec<Span<'static>> {
    let theme = scene.theme;
    let usable = valid(info.action, scene.ui, scene.snapshot).is_ok();
    let (key, word) = if usable { (theme.key, theme.text) } else { (theme.dim, theme.dim) };
    let narrow = columns < 60;
    // A gap at the end of each column, also where its text is cut.
    let column = |text: &str, columns: usize| format!("{}  ", text::fit(text, columns));
    let mut line =
        vec![styled(column(&key_label(keys(&scene.ui.keymap, info), scene.ascii), if narrow { 9 } else { 13 }), key)];
    if !narrow {
        line.push(styled(column(info.name, NAMES), theme.dim));
    }
    let used: usize = line.iter().map(Span::width).sum();
    let mark = if usable { "" } else { " (not now)" };
    line.push(styled(text::cut(&format!("{}{mark}", info.help), columns.saturating_sub(used)).into_owned(), word));
    line
}
