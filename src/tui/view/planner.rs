//! The planner, drawn.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::report::format;
use crate::report::text::harmless;
use crate::tui::state::shown_run;

use super::{Scene, put, styled};

/// Draws the path of the run that is shown, and the rule that chose it.
pub(super) fn render(buf: &mut Buffer, scene: &Scene<'_>, area: Rect) {
    let theme = scene.theme;
    let Some(run) = shown_run(scene.snapshot) else {
        return put(buf, area, 0, [styled(" no run is shown; fandeck run FILE plans one", theme.dim)]);
    };
    let lines = [
        ("input", format!("{}, {} requests", harmless(&run.input), format::count(run.counts.total))),
        ("model", harmless(&run.model).into_owned()),
        ("path", run.path.to_string()),
        ("because", harmless(&run.route_reason).into_owned()),
    ];
    for (row, (name, value)) in (0..).zip(lines) {
        put(buf, area, row, [styled(format!(" {name:<9}"), theme.dim), styled(value, theme.text)]);
    }
}
