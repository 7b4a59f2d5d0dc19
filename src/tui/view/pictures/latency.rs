//! How long answers took: a histogram over buckets that grow by a fixed factor, with the percentiles marked.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::model::series::Latencies;
use crate::model::snapshot::OrgView;
use crate::report::format;
use crate::report::text::harmless;
use crate::tui::theme::Theme;
use crate::tui::view::{put, styled};

use super::axis::{self, Bar, LABELS, Scale};
use super::{titled, unseen};

/// Fewest rows that it needs.
pub const ROWS_MIN: u16 = 6;

/// Draws it.
///
/// ```text
/// ── latency of high-prio · p50 1.5s · p95 3.0s · p99 3.4s · 4,101 answers ────────
///  1,100 ┤          ██▆▆
///        │        ▅▅██████▄▄
///      0 ┤    ▂▂▆▆██████████▆▆▂▂▁▁▁▁        yellow: beyond the 95th percentile
///        │              50    95 99         where the percentiles are
///         350ms     990ms     2.8s    8.0s
/// ```
pub fn render(buf: &mut Buffer, area: Rect, org: &OrgView, theme: &Theme) {
    let n = org.latencies.n();
    let percentiles = [("p50", org.latency_p50_ms), ("p95", org.latency_p95_ms), ("p99", org.latencies.p99_ms)];
    let mut says: Vec<String> =
        percentiles.iter().map(|(name, ms)| format!("{name} {}", format::latency(*ms))).collect();
    says.push(format!("{} answers", format::count(n)));
    let says = match (n, org.totals.n_ok) {
        (0, 0) => "no answer yet".to_owned(),
        (0, _) => "of the sync path".to_owned(),
        _ => says.join(" · "),
    };
    let body = titled(buf, area, &format!("latency of {}", harmless(&org.label)), &says, theme);
    let columns = usize::from(body.width.saturating_sub(LABELS));
    let Some(drawn) = Drawn::of(&org.latencies, columns) else {
        // Those of sub-batches are ages, and those of a run that is only looked at are not here.
        let what = if n == 0 && org.totals.n_ok > 0 { "none seen here" } else { "" };
        return unseen(buf, body, what, theme);
    };
    if body.height < ROWS_MIN - 1 {
        return;
    }
    let bars = drawn.bars(org.latency_p95_ms, theme);
    let most = drawn.counts.iter().copied().max().unwrap_or(0);
    let chart = Rect { height: body.height - 2, ..body };
    let labels = [format::short_count(most), format::short_count(most / 2), "0".to_owned()];
    axis::bars(buf, chart, &bars, &Scale { top: most as f64, labels, line: None }, theme);
    marks(buf, body, &drawn, &percentiles.map(|(name, ms)| (&name[1..], ms)), theme);
    bounds(buf, body, &drawn, theme);
}

/// The buckets that are drawn.
struct Drawn {
    first: usize,
    /// Buckets that share a bar.
    each: usize,
    /// Columns of a bar.
    wide: usize,
    counts: Vec<u64>,
    /// Columns of the chart; the bars stand at its left.
    columns: usize,
}

impl Drawn {
    /// The buckets from the shortest answer to the longest, as wide as there is room; `None` when there is nothing to draw.
    fn of(latencies: &Latencies, columns: usize) -> Option<Drawn> {
        let first = latencies.counts.iter().position(|n| *n > 0)?;
        let last = latencies.counts.iter().rposition(|n| *n > 0)?;
        if columns < 8 {
            return None;
        }
        let (first, last) = (first.saturating_sub(1), (last + 1).min(latencies.counts.len() - 1));
        let each = axis::steps_a_column(last + 1 - first, columns);
        let counts: Vec<u64> =
            latencies.counts[first..=last].chunks(each).map(|chunk| chunk.iter().sum::<u64>()).collect();
        let wide = (columns / counts.len()).clamp(1, 4);
        Some(Drawn { first, each, wide, counts, columns })
    }

    fn bars(&self, p95_ms: u32, theme: &Theme) -> Vec<Bar> {
        let tail = self.column_of(p95_ms);
        let mut bars = Vec::with_capacity(self.columns);
        for n in &self.counts {
            let style = if bars.len() > tail { theme.warn } else { theme.info };
            bars.extend(std::iter::repeat_n(Bar { value: *n as f64, style, to_come: false }, self.wide));
        }
        bars.resize(self.columns, Bar::NOTHING);
        bars
    }

    /// The column of a latency.
    fn column_of(&self, ms: u32) -> usize {
        let at = (f64::from(ms.max(1)).log2() * 4.0 - self.first as f64).max(0.0);
        ((at / self.each as f64 * self.wide as f64) as usize).min(self.columns.saturating_sub(1))
    }

    /// The latency at which a column starts.
    fn start_ms(&self, column: usize) -> u32 {
        Latencies::start_ms(self.first + column / self.wide * self.each) as u32
    }
}

fn marks(buf: &mut Buffer, body: Rect, drawn: &Drawn, percentiles: &[(&str, u32)], theme: &Theme) {
    let mut line = String::new();
    for (name, ms) in percentiles {
        // Two that are closer than their names stand side by side.
        let at = drawn.column_of(*ms).max(line.len() + usize::from(!line.is_empty()));
        if at + name.len() <= drawn.columns {
            line.push_str(&" ".repeat(at - line.len()));
            line.push_str(name);
        }
    }
    put(buf, body, body.height - 2, [styled("      p│", theme.dim), styled(line, theme.strong)]);
}

fn bounds(buf: &mut Buffer, body: Rect, drawn: &Drawn, theme: &Theme) {
    let used = drawn.counts.len() * drawn.wide;
    let mut line = String::new();
    for bar in 0.. {
        // A bound every ten columns, at the start of a bar.
        let column = (bar * 10usize).div_ceil(drawn.wide) * drawn.wide;
        let text = format::latency(drawn.start_ms(column));
        if column >= used || column + text.len() > drawn.columns {
            break;
        }
        line.push_str(&" ".repeat(column.saturating_sub(line.chars().count())));
        line.push_str(&text);
    }
    put(buf, body, body.height - 1, [styled(" ".repeat(usize::from(LABELS)), theme.dim), styled(line, theme.dim)]);
}
