//! Charts as inline SVG: bars, stacked bars and ranges. Colours are classes of the page, so that they follow its theme.

use std::fmt::Write as _;

use crate::report::format;

/// Width of every chart in its own units.
const WIDTH: f64 = 720.0;
/// Units for the names on the left.
const NAMES: f64 = 180.0;
/// Height of a row.
const ROW: f64 = 24.0;

/// A text for HTML: nothing in it is markup.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            // Neither control characters nor what turns the direction of text round belongs into a page.
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => out.push('\u{fffd}'),
            c if c.is_control() && c != '\n' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

fn open(height: f64, title: &str) -> String {
    format!(
        "<svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{title}\"><title>{title}</title>",
        title = escaped(title)
    )
}

/// Bars over time. `ends` are the texts at the left and the right end of the axis.
pub(super) fn columns(title: &str, values: &[u64], ends: [&str; 2]) -> String {
    let (height, floor) = (160.0, 136.0);
    let most = values.iter().copied().max().unwrap_or(0).max(1) as f64;
    let step = WIDTH / values.len().max(1) as f64;
    let mut out = open(height, title);
    for (at, value) in values.iter().enumerate().filter(|(_, value)| **value > 0) {
        let tall = (*value as f64 / most * (floor - 16.0)).max(1.0);
        let _ = write!(
            out,
            "<rect class=\"c0\" x=\"{:.2}\" y=\"{:.2}\" width=\"{:.2}\" height=\"{tall:.2}\"><title>{value}</title></rect>",
            at as f64 * step,
            floor - tall,
            (step - 1.0).max(step * 0.7)
        );
    }
    let _ = write!(
        out,
        "<line class=\"axis\" x1=\"0\" x2=\"{WIDTH}\" y1=\"{floor}\" y2=\"{floor}\"/>\
         <text x=\"0\" y=\"12\">{}</text><text x=\"0\" y=\"154\">{}</text>\
         <text x=\"{WIDTH}\" y=\"154\" text-anchor=\"end\">{}</text></svg>",
        format::count(most as u64),
        escaped(ends[0]),
        escaped(ends[1])
    );
    out
}

/// A bar for each row, with its value in words.
pub(super) fn bars(title: &str, rows: &[(String, f64, String)]) -> String {
    let most = rows.iter().map(|(_, value, _)| *value).fold(0.0, f64::max).max(f64::MIN_POSITIVE);
    let mut out = open(rows.len() as f64 * ROW + 4.0, title);
    let room = WIDTH - NAMES - 120.0;
    for (at, (name, value, words)) in rows.iter().enumerate() {
        let y = at as f64 * ROW;
        let wide = (value / most * room).clamp(0.0, room);
        let _ = write!(
            out,
            "<text x=\"0\" y=\"{:.1}\">{}</text><rect class=\"c0\" x=\"{NAMES}\" y=\"{:.1}\" width=\"{wide:.2}\" height=\"16\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            y + 16.0,
            escaped(&short(name)),
            y + 4.0,
            NAMES + wide + 6.0,
            y + 16.0,
            escaped(words)
        );
    }
    out.push_str("</svg>");
    out
}

/// One bar of parts, with a legend.
pub(super) fn stacked(title: &str, parts: &[(&str, u64, String)]) -> String {
    let total = parts.iter().map(|(_, value, _)| *value).sum::<u64>().max(1) as f64;
    let mut out = open(40.0 + parts.len() as f64 * 18.0, title);
    let mut x = 0.0;
    for (at, (name, value, words)) in parts.iter().enumerate() {
        let wide = *value as f64 / total * WIDTH;
        let y = 44.0 + at as f64 * 18.0;
        let _ = write!(
            out,
            "<rect class=\"c{colour}\" x=\"{x:.2}\" y=\"4\" width=\"{wide:.2}\" height=\"24\"><title>{name}</title></rect>\
             <rect class=\"c{colour}\" x=\"0\" y=\"{:.1}\" width=\"12\" height=\"12\"/><text x=\"20\" y=\"{y:.1}\">{}: {}</text>",
            y - 10.0,
            escaped(name),
            escaped(words),
            name = escaped(name),
            colour = at % 6
        );
        x += wide;
    }
    out.push_str("</svg>");
    out
}

/// Percentiles of each row on one scale: a bar from the first to the last, a mark at each.
pub(super) fn ranges(title: &str, rows: &[(String, Vec<u64>, String)]) -> String {
    let most = rows.iter().flat_map(|(_, marks, _)| marks).copied().max().unwrap_or(0).max(1) as f64;
    let mut out = open(rows.len() as f64 * ROW * 1.6 + 4.0, title);
    let room = WIDTH - NAMES;
    let at_x = |value: u64| NAMES + value as f64 / most * (room - 4.0);
    for (at, (name, marks, words)) in rows.iter().enumerate() {
        let y = at as f64 * ROW * 1.6;
        let (from, until) = (marks.first().copied().unwrap_or(0), marks.last().copied().unwrap_or(0));
        let _ = write!(
            out,
            "<text x=\"0\" y=\"{:.1}\">{}</text><rect class=\"c1\" x=\"{:.2}\" y=\"{:.1}\" width=\"{:.2}\" height=\"6\"/>\
             <text class=\"small\" x=\"{NAMES}\" y=\"{:.1}\">{}</text>",
            y + 14.0,
            escaped(&short(name)),
            at_x(from),
            y + 6.0,
            (at_x(until) - at_x(from)).max(1.0),
            y + 28.0,
            escaped(words)
        );
        for mark in marks {
            let _ = write!(
                out,
                "<rect class=\"c0\" x=\"{:.2}\" y=\"{:.1}\" width=\"3\" height=\"14\"><title>{mark} ms</title></rect>",
                at_x(*mark),
                y + 2.0
            );
        }
    }
    out.push_str("</svg>");
    out
}

/// A name that fits beside a bar, also in letters that are wide.
fn short(name: &str) -> String {
    match name.char_indices().nth(21) {
        Some((at, _)) => format!("{}…", &name[..at]),
        None => name.to_owned(),
    }
}
