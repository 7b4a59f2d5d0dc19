//! The help overlay: every action that works on the screen below it, with its keys; those of no use now are greyed. A search
//! also finds what works on other screens, and says where.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Span;

use crate::report::text;
use crate::tui::action::{ActionInfo, Context, in_context, registry};
use crate::tui::keymap::Keymap;
use crate::tui::state::{Overlay, UiState};
use crate::tui::valid::valid;

use super::footer::key_label;
use super::{Scene, clear, frame, put, styled};

/// Whether a search, in small letters, finds an entry: in its name, its keys or its text.
fn finds(search: &str, info: &ActionInfo, keymap: &Keymap) -> bool {
    search.is_empty()
        || info.name.contains(search)
        || info.help.to_lowercase().contains(search)
        || keymap.keys(info.action).iter().any(|key| key.to_string().to_lowercase() == search)
        || info.keys.iter().any(|key| key.to_lowercase() == search)
}

/// The entries of the screen below that a search leaves.
fn here<'k>(search: &str, below: Context, keymap: &'k Keymap) -> impl Iterator<Item = &'static ActionInfo> + use<'k> {
    let wanted = search.to_lowercase();
    in_context(below).filter(move |info| finds(&wanted, info, keymap))
}

/// What a search finds on other screens; nothing while nothing is searched for.
fn elsewhere<'k>(
    search: &str,
    below: Context,
    keymap: &'k Keymap,
) -> impl Iterator<Item = &'static ActionInfo> + use<'k> {
    let wanted = search.to_lowercase();
    registry()
        .filter(move |info| !info.contexts.contains(&below))
        .filter(|info| info.contexts.iter().any(|context| Context::SCREENS.contains(context)))
        .filter(move |info| !wanted.is_empty() && finds(&wanted, info, keymap))
}

/// How far the overlay can be scrolled, and by how much a page goes.
pub(in crate::tui) fn reach(ui: &UiState, search: &str, frame: Rect) -> (usize, usize) {
    let (below, keymap) = (ui.screen.context(), &ui.keymap);
    let others = elsewhere(search, below, keymap).count();
    let lines = here(search, below, keymap).count() + if others > 0 { others + 1 } else { 0 };
    let rows = rows(area(frame).height.saturating_sub(2), ui);
    (lines.saturating_sub(rows), rows.saturating_sub(1).max(1))
}

/// Rows of the entries, of all rows inside of the frame.
fn rows(inner: u16, ui: &UiState) -> usize {
    usize::from(inner).saturating_sub(2 + tail(ui).len())
}

/// A line of the overlay.
enum Entry {
    /// An action that works on the screen below.
    Here(&'static ActionInfo),
    /// What follows is about other screens.
    Elsewhere,
    /// An action that works on other screens.
    There(&'static ActionInfo),
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
/// ┃ ── not here, but on other screens ────────────────────────────── ┃
/// ┃ c            batches        cancel the sub-batch, finish it on … ┃
/// ┗━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━┛
/// ```
pub fn render(buf: &mut Buffer, scene: &Scene<'_>, frame_area: Rect) {
    let Some(Overlay::Help { search, scroll }) = &scene.ui.overlay else { return };
    let theme = scene.theme;
    let area = area(frame_area);
    clear(buf, area);
    let below = scene.ui.screen.context();
    let (search, editing) = (&search.text, search.editing);
    let keymap = &scene.ui.keymap;
    let mut found: Vec<Entry> = here(search, below, keymap).map(Entry::Here).collect();
    let (n_here, n_there) = (found.len(), elsewhere(search, below, keymap).count());
    if n_there > 0 {
        found.push(Entry::Elsewhere);
        found.extend(elsewhere(search, below, keymap).map(Entry::There));
    }
    let title = if search.is_empty() {
        format!(" help · {} ", below.as_str())
    } else {
        format!(" help · {} · {n_here} of {}, {n_there} elsewhere ", below.as_str(), in_context(below).count())
    };
    let inner = frame(buf, area, Span::styled(title, theme.selected), true, theme.selected);
    let inner = Rect { x: inner.x + inner.width.min(1), width: inner.width.saturating_sub(2), ..inner };
    let hint = match (editing, search.is_empty()) {
        (true, _) => vec![styled("search: ", theme.dim), styled(format!("{search}▏"), theme.strong)],
        (false, false) => vec![styled("search: ", theme.dim), styled(search.clone(), theme.strong)],
        (false, true) => {
            vec![styled(
                key_label("/ searches, on all screens · ↓ ↑ scroll · Esc closes".to_owned(), scene.ascii),
                theme.dim,
            )]
        }
    };
    put(buf, inner, 0, hint);
    let tail = tail(scene.ui);
    let rows = rows(inner.height, scene.ui);
    if found.is_empty() {
        put(buf, inner, 2, [styled("nothing matches; Esc gives up the search", theme.warn)]);
    }
    let first = (*scroll).min(found.len().saturating_sub(rows));
    let columns = usize::from(inner.width);
    for (row, line) in (2..).zip(found.iter().skip(first).take(rows)) {
        put(
            buf,
            inner,
            row,
            match line {
                Entry::Here(info) => entry(scene, info, columns),
                Entry::Elsewhere => {
                    vec![styled(super::rule("── not here, but on other screens ", columns), theme.frame)]
                }
                Entry::There(info) => entry_there(scene, info, columns),
            },
        );
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
fn tail(ui: &UiState) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(file) = &ui.log_file {
        lines.push(format!("log file: {}", text::harmless(file)));
    }
    if ui.read_only {
        lines.push("read-only: what would change something is greyed".to_owned());
    }
    if !lines.is_empty() {
        lines.insert(0, String::new());
    }
    lines
}

/// Columns from which the names have room beside the texts, which are never cut for them.
const WITH_NAMES: usize = 86;

/// Columns of the names: those of the longest.
pub(super) const NAMES: usize = 20;

/// The keys of an action as the help shows them.
fn keys(keymap: &Keymap, info: &ActionInfo) -> String {
    let keys: Vec<String> = keymap.keys(info.action).iter().map(ToString::to_string).collect();
    keys.join(" ")
}

/// An action of other screens: in place of its name, the screens that it works on.
fn entry_there(scene: &Scene<'_>, info: &ActionInfo, columns: usize) -> Vec<Span<'static>> {
    let theme = scene.theme;
    let places: Vec<&str> =
        info.contexts.iter().filter(|context| Context::SCREENS.contains(context)).map(|c| c.as_str()).collect();
    let key = key_label(keys(&scene.ui.keymap, info), scene.ascii);
    let (key_columns, place_columns) =
        if columns < 60 { (9, 9) } else { (13, if columns < WITH_NAMES { 10 } else { NAMES }) };
    let mut line = vec![
        styled(format!("{}  ", text::fit(&key, key_columns)), theme.dim),
        styled(format!("{}  ", text::fit(&places.join(", "), place_columns)), theme.text),
    ];
    let used: usize = line.iter().map(Span::width).sum();
    line.push(styled(text::cut(info.help, columns.saturating_sub(used)).into_owned(), theme.dim));
    line
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
    if columns >= WITH_NAMES {
        line.push(styled(column(info.name, NAMES), theme.dim));
    }
    let used: usize = line.iter().map(Span::width).sum();
    let mark = if usable { "" } else { " (not now)" };
    line.push(styled(text::cut(&format!("{}{mark}", info.help), columns.saturating_sub(used)).into_owned(), word));
    line
}
