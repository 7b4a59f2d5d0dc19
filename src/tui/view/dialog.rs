//! Questions: they name the object, the numbers and what follows. The button that changes nothing has the focus first.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Span;

use crate::model::Snapshot;
use crate::report::format;
use crate::report::text::{self, harmless};
use crate::tui::screens::raise::Raise;
use crate::tui::state::{Choice, Overlay};

use super::{Scene, clear, frame, put, styled};

/// Columns of a dialog, where there is room.
const COLUMNS: u16 = 64;

/// What a dialog says.
fn words(overlay: &Overlay, snapshot: &Snapshot) -> (&'static str, Vec<String>) {
    match overlay {
        Overlay::Quit { .. } => ("leave?", quit_words(snapshot)),
        Overlay::Confirm { ask, .. } => {
            (ask.gate.title(), ask.lines.iter().map(|line| harmless(line).into_owned()).collect())
        }
        Overlay::Raise(raise) => ("a higher limit?", raise_words(raise)),
        Overlay::Help { .. } | Overlay::Reader { .. } => ("", Vec::new()),
    }
}

/// The last lines are the field, with the cursor, and what is said of what was typed.
fn raise_words(raise: &Raise) -> Vec<String> {
    let mut lines: Vec<String> = raise.lines().iter().map(|line| harmless(line).into_owned()).collect();
    lines.extend([String::new(), format!("{}{}▏", raise.prompt(), harmless(&raise.field.text))]);
    lines.push(match &raise.refused {
        Some(why) => format!("! {}", harmless(why)),
        None => String::new(),
    });
    lines.push("Enter  go on to the question    Esc  not now".to_owned());
    lines
}

fn quit_words(snapshot: &Snapshot) -> Vec<String> {
    let mut lines = Vec::new();
    for run in snapshot.runs.iter().filter(|run| !run.status.is_over()) {
        lines.push(format!(
            "{} is {}: {} in flight, {} left.",
            harmless(&run.input),
            run.status,
            format::count(run.counts.in_flight),
            format::count(run.counts.open()),
        ));
        let in_batches = format::count(run.n_in_batches());
        match (run.n_in_batches(), run.embedded_api) {
            (0, _) => {}
            (_, false) => lines.push(format!(
                "{in_batches} of them are in batches at the API. These go on there and are paid for whatever you choose; a \
                 resume harvests them and sends none again."
            )),
            (_, true) => lines.push(format!(
                "{in_batches} of them are in batches of the simulated API, which ends with fandeck: a resume sends them again. \
                 The batches of an API go on, and are harvested."
            )),
        }
    }
    let in_flight: u64 = snapshot.runs.iter().map(|run| run.counts.in_flight).sum();
    if snapshot.store.trouble.is_some() && snapshot.store.unsynced > 0 {
        lines.push(format!(
            "{} answers are not on the disk. Drain and stop wait for it; stopping a second time leaves without them.",
            format::count(snapshot.store.unsynced)
        ));
    }
    let ways = match in_flight {
        0 => [
            "d  drain     nothing new is sent".to_owned(),
            "s  stop now  nothing is in flight, so that nothing is".to_owned(),
            "             abandoned or charged twice".to_owned(),
        ],
        n => [
            format!("d  drain     the {} in flight finish, nothing new is sent", format::count(n)),
            format!("s  stop now  the {} in flight are abandoned: they may be", format::count(n)),
            "             charged, and are sent again by a resume".to_owned(),
        ],
    };
    lines.push(String::new());
    lines.extend(ways);
    lines.extend([
        "Esc stay     nothing changes".to_owned(),
        String::new(),
        "Either way the run can be resumed where it is.".to_owned(),
    ]);
    lines
}

/// The place of a dialog, and of its buttons.
pub fn places(overlay: &Overlay, snapshot: &Snapshot, frame: Rect) -> (Rect, Vec<(Choice, Rect)>) {
    let width = COLUMNS.min(frame.width);
    let (_, lines) = words(overlay, snapshot);
    let inner = usize::from(width.saturating_sub(4)).max(1);
    let wrapped = lines.iter().map(|line| text::wrap(line, inner).len()).sum::<usize>();
    let height = u16::try_from(wrapped + 4).unwrap_or(u16::MAX).min(frame.height);
    let area = Rect { x: frame.x + (frame.width - width) / 2, y: frame.y + (frame.height - height) / 2, width, height }
        .intersection(frame);
    let row = area.y + area.height.saturating_sub(2);
    let mut x = area.x.saturating_add(2);
    let mut buttons = Vec::new();
    for choice in overlay.choices() {
        let width = u16::try_from(choice.label.len() + 4).unwrap_or(0);
        buttons.push((choice, Rect { x, y: row, width, height: 1 }.intersection(area)));
        x = x.saturating_add(width + 2);
    }
    (area, buttons)
}

/// Draws it.
///
/// ```text
/// ┏ leave? ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━┓
/// ┃ judge-input.jsonl is running: 296 in flight, 7,655 left.     ┃
/// ┃                                                              ┃
/// ┃ d  drain     the 296 in flight finish, nothing new is sent   ┃
/// ┃ s  stop now  the 296 in flight are abandoned: they may be    ┃
/// ┃              charged, and are sent again by a resume         ┃
/// ┃ Esc stay     nothing changes                                 ┃
/// ┃                                                              ┃
/// ┃ [ Stay ]  [ Drain ]  [ Stop now ]                            ┃
/// ┗━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━┛
/// ```
pub fn render(buf: &mut Buffer, scene: &Scene<'_>, overlay: &Overlay, frame_area: Rect) {
    let theme = scene.theme;
    let (area, buttons) = places(overlay, scene.snapshot, frame_area);
    clear(buf, area);
    let (title, lines) = words(overlay, scene.snapshot);
    let inner = frame(buf, area, Span::styled(format!(" {title} "), theme.selected), true, theme.selected);
    let body = Rect {
        x: inner.x + inner.width.min(1),
        width: inner.width.saturating_sub(2),
        height: inner.height.saturating_sub(1),
        ..inner
    };
    let wrapped = lines.iter().flat_map(|line| {
        let style = match line {
            line if line.starts_with("! ") => theme.bad,
            line if line.ends_with('▏') => theme.selected,
            _ => theme.text,
        };
        text::wrap(line, usize::from(body.width).max(1)).into_iter().map(move |line| (line, style))
    });
    let wrapped: Vec<_> = wrapped.collect();
    // What is typed stands at the end: on a small screen, that is what is shown.
    let first = match overlay {
        Overlay::Raise(_) => wrapped.len().saturating_sub(usize::from(body.height)),
        _ => 0,
    };
    let hidden = wrapped.len().saturating_sub(first + usize::from(body.height));
    for (row, (line, style)) in (0..body.height).zip(wrapped.into_iter().skip(first)) {
        put(buf, body, row, [styled(line, style)]);
    }
    if hidden > 0 {
        let row = Rect { y: body.y + body.height.saturating_sub(1), height: body.height.min(1), ..body };
        let text = text::fit(&format!("… {} more lines: enlarge", hidden + 1), usize::from(body.width));
        put(buf, row, 0, [styled(text, theme.warn)]);
    }
    for (at, (choice, place)) in buttons.into_iter().enumerate() {
        let style = if at == overlay.focus() { theme.focus } else { theme.text };
        put(buf, place, 0, [styled(format!("[ {} ]", choice.label), style)]);
    }
}
