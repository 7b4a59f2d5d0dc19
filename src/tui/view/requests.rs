//! The requests of the run that is shown, drawn.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::report::format;
use crate::report::text::fit_right;
use crate::tui::state::shown_run;

use super::{Scene, bars, put, styled};

/// Draws how many requests there are of each outcome.
pub(super) fn render(buf: &mut Buffer, scene: &Scene<'_>, area: Rect) {
    let theme = scene.theme;
    let Some(run) = shown_run(scene.snapshot) else {
        return put(buf, area, 0, [styled(" no run is shown", theme.dim)]);
    };
    let parts = bars::parts(&run.counts).into_iter().zip(theme.outcomes);
    for (row, ((glyph, name, n), style)) in (0..).zip(parts) {
        let figure = fit_right(&format::count(n), 12);
        put(buf, area, row, [styled(format!(" {glyph} {name:<12}"), style), styled(figure, theme.text)]);
    }
}
