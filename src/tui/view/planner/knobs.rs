//! The knobs: name, value, and arrows on the one that keys turn.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use crate::report::text::{cut, fit, harmless, width};
use crate::tui::screens::planner::{Draft, Knob, KnobPart};

use super::super::{Scene, put, styled};
use super::words;

/// Columns of a name, the mark before it included.
const NAME: u16 = 16;
/// Columns of an arrow.
const ARROW: u16 = 2;

/// The first knob that is shown, so that the one in focus is among them.
fn scrolled(draft: &Draft, rows: u16) -> usize {
    let at = Knob::all(draft.orgs.len()).position(|knob| knob == draft.focus).unwrap_or(0);
    at.saturating_sub(usize::from(rows).saturating_sub(1))
}

/// What is under the pointer.
pub(super) fn hit(draft: &Draft, area: Rect, here: Position) -> Option<(Knob, KnobPart)> {
    let row = usize::from(here.y.checked_sub(area.y)?);
    let knob = Knob::all(draft.orgs.len()).nth(scrolled(draft, area.height) + row)?;
    let column = here.x.checked_sub(area.x)?;
    let part = match column {
        column if column < NAME => KnobPart::Name,
        // Only the knob in focus has arrows.
        _ if knob != draft.focus => KnobPart::Value,
        column if column < NAME + ARROW => KnobPart::Down,
        column if column >= arrow_up(draft, knob, area) => KnobPart::Up,
        _ => KnobPart::Value,
    };
    Some((knob, part))
}

/// The column, within the area, of the arrow behind the value.
fn arrow_up(draft: &Draft, knob: Knob, area: Rect) -> u16 {
    let room = area.width.saturating_sub(NAME + 2 * ARROW);
    let value = u16::try_from(width(&words::value(draft, knob))).unwrap_or(u16::MAX);
    NAME + ARROW + value.min(room)
}

/// Draws them.
pub(super) fn render(buf: &mut Buffer, scene: &Scene<'_>, draft: &Draft, area: Rect) {
    let theme = scene.theme;
    let room = usize::from(area.width.saturating_sub(NAME + 2 * ARROW));
    let knobs = Knob::all(draft.orgs.len()).skip(scrolled(draft, area.height));
    for (row, knob) in (0..area.height).zip(knobs) {
        let focused = knob == draft.focus;
        let name = match knob {
            Knob::Org(ix) => draft.orgs.get(ix).map_or(String::new(), |org| {
                format!("{} {}", if org.chosen { "[x]" } else { "[ ]" }, harmless(&org.label))
            }),
            _ => knob.name().to_owned(),
        };
        let mark = if focused { "›" } else { " " };
        let name_style = if focused { theme.selected } else { theme.dim };
        let mut spans = vec![styled(format!("{mark}{}", fit(&name, usize::from(NAME) - 2)), name_style), " ".into()];
        let field = &scene.ui.planner.field;
        if focused && field.editing && scene.ui.planner.asks.is_none() {
            let typed = harmless(&field.text).into_owned();
            spans.extend([styled("> ", theme.info), styled(format!("{typed}█"), theme.strong)]);
        } else {
            let value = words::value(draft, knob);
            // What all models have in common goes first where there is no room.
            let value = match value.strip_prefix("claude-") {
                Some(short) if width(&value) > room => short.to_owned(),
                _ => value,
            };
            // Limits that have no room are among the figures.
            let value = match value.split_once(" · ") {
                Some((cap, _)) if matches!(knob, Knob::Org(_)) && width(&value) > room => cap.to_owned(),
                _ => value,
            };
            let value = cut(&value, room).into_owned();
            let off = matches!(knob, Knob::Org(ix) if draft.orgs.get(ix).is_some_and(|org| !org.chosen));
            let style = if off { theme.dim } else { theme.text };
            let may = focused && draft.may_change().is_ok();
            spans.push(styled(if may { "‹ " } else { "  " }, theme.selected));
            spans.push(styled(value, if focused { theme.strong } else { style }));
            spans.push(styled(if may { " ›" } else { "" }, theme.selected));
        }
        put(buf, area, row, spans);
    }
}
