//! Charts of the page. Bars are rows of a table with their figures beside them, so that they can be read without seeing them,
//! wrap on a small screen, and print; columns over time are the one drawing, with its axes and its figures as text.
//! Colours are classes of the page, so that they follow its theme.

use std::fmt::Write as _;

use crate::report::format;

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

/// A text from outside, which may be written from right to left, or be a whole novel.
pub(super) fn outside(text: &str) -> String {
    cut(text, 160)
}

/// As much of a text from outside as is shown, at most `most` characters.
fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((at, _)) => format!("<bdi>{}…</bdi>", escaped(&text[..at])),
        None => format!("<bdi>{}</bdi>", escaped(text)),
    }
}

/// A cell of a table.
pub(super) enum Cell {
    /// A text from outside.
    Text(String),
    /// A word of ours that is not broken.
    Word(String),
    /// A figure.
    Figure(String),
}

impl Cell {
    fn class(&self) -> &'static str {
        match self {
            Cell::Text(_) => "text",
            Cell::Word(_) => "word",
            Cell::Figure(_) => "n",
        }
    }

    fn html(&self) -> String {
        match self {
            Cell::Text(text) => outside(text),
            Cell::Word(text) | Cell::Figure(text) => escaped(text),
        }
    }
}

/// A table; `class` is one of the page. A column is aligned as its first cell is.
pub(super) fn table(out: &mut String, class: &str, heads: &[&str], rows: impl Iterator<Item = Vec<Cell>>) {
    let mut rows = rows.peekable();
    let _ = write!(out, "<div class=\"wide\"><table class=\"{class}\"><thead><tr>");
    for (at, head) in heads.iter().enumerate() {
        let class = rows.peek().and_then(|row| row.get(at)).map_or("text", Cell::class);
        let _ = write!(out, "<th scope=\"col\" class=\"{class}\">{head}</th>");
    }
    out.push_str("</tr></thead><tbody>\n");
    for row in rows {
        out.push_str("<tr>");
        for cell in row {
            let _ = write!(out, "<td class=\"{}\">{}</td>", cell.class(), cell.html());
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody></table></div>\n");
}

/// A bar for each row, with its value in words.
pub(super) fn bars(out: &mut String, title: &str, rows: &[(String, f64, String)]) {
    let most = rows.iter().map(|(_, value, _)| *value).fold(0.0, f64::max).max(f64::MIN_POSITIVE);
    begin(out, title);
    for (name, value, words) in rows {
        let wide = (value / most * 100.0).clamp(0.0, 100.0);
        // Nothing has no bar, and the least of something has one.
        let bar = if *value > 0.0 { format!("<i class=\"c0\" style=\"width:{wide:.2}%\"></i>") } else { String::new() };
        row(out, name, &format!("<span class=\"bar\" aria-hidden=\"true\">{bar}</span>"), words);
    }
    out.push_str("</tbody></table>\n");
}

/// Percentiles of each row on one scale: a bar from the first to the last, a mark at each.
pub(super) fn ranges(out: &mut String, title: &str, rows: &[(String, Vec<u64>, String)], scale: [&str; 2]) {
    let most = rows.iter().flat_map(|(_, marks, _)| marks).copied().max().unwrap_or(0).max(1) as f64;
    let at = |value: u64| value as f64 / most * 100.0;
    begin(out, title);
    for (name, marks, words) in rows {
        let (from, until) = (marks.first().copied().unwrap_or(0), marks.last().copied().unwrap_or(0));
        let mut track = format!(
            "<i class=\"span c1\" style=\"left:{:.2}%;width:{:.2}%\"></i>",
            at(from),
            (at(until) - at(from)).max(0.3)
        );
        for mark in marks {
            let _ = write!(track, "<i class=\"c0\" style=\"left:{:.2}%\"></i>", at(*mark));
        }
        row(out, name, &format!("<span class=\"track\" aria-hidden=\"true\">{track}</span>"), words);
    }
    let [low, high] = scale.map(escaped);
    row(out, "", &format!("<span class=\"scale\"><span>{low}</span><span>{high}</span></span>"), "");
    out.push_str("</tbody></table>\n");
}

fn begin(out: &mut String, title: &str) {
    let _ = writeln!(out, "<table class=\"bars\"><caption>{}</caption><tbody>", escaped(title));
}

fn row(out: &mut String, name: &str, drawn: &str, words: &str) {
    // Beside a bar there is less room than in a table.
    let (name, words) = (cut(name, 60), escaped(words));
    let _ = writeln!(out, "<tr><th scope=\"row\">{name}</th><td>{drawn}</td><td class=\"n\">{words}</td></tr>");
}

/// One bar of parts, above the table that is its legend. A part is a name, its weight, its colour, and the cells of its row
/// after the name.
pub(super) fn stacked(out: &mut String, heads: &[&str], parts: &[(&str, u64, usize, Vec<Cell>)]) {
    let total = parts.iter().map(|(_, value, ..)| *value).sum::<u64>().max(1) as f64;
    out.push_str("<div class=\"stack\" aria-hidden=\"true\">");
    for (_, value, colour, _) in parts {
        let _ = write!(out, "<i class=\"c{}\" style=\"flex:{:.4}\"></i>", colour % 6, *value as f64 / total);
    }
    out.push_str("</div>\n<div class=\"wide\"><table><thead><tr>");
    for (at, head) in heads.iter().enumerate() {
        // The name comes first.
        let class = at.checked_sub(1).and_then(|at| parts.first()?.3.get(at)).map_or("word", Cell::class);
        let _ = write!(out, "<th scope=\"col\" class=\"{class}\">{head}</th>");
    }
    out.push_str("</tr></thead><tbody>\n");
    for (name, _, colour, cells) in parts {
        let _ = write!(out, "<tr><td class=\"word\"><i class=\"key c{}\"></i>{}</td>", colour % 6, escaped(name));
        for cell in cells {
            let _ = write!(out, "<td class=\"{}\">{}</td>", cell.class(), cell.html());
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody></table></div>\n");
}

/// What columns over time show.
pub(super) struct Plot<'p> {
    /// What is counted.
    pub(super) name: &'p str,
    /// How much, column by column.
    pub(super) values: &'p [u64],
    /// Where the axis begins and ends.
    pub(super) ends: [&'p str; 2],
    /// What is shaded, in columns: nothing was done there.
    pub(super) gaps: &'p [(f64, f64)],
}

/// Columns over time; `at` is the moment of a column.
pub(super) fn columns(out: &mut String, plot: &Plot<'_>, at: &dyn Fn(usize) -> String) {
    const HIGH: f64 = 100.0;
    let Plot { name, values, ends, gaps } = *plot;
    let most = values.iter().copied().max().unwrap_or(0).max(1);
    let (n, name) = (values.len().max(1), escaped(name));
    let _ = write!(
        out,
        "<p class=\"dim\">{name}</p>\n<div class=\"plot\"><div class=\"up\" aria-hidden=\"true\"><span>{}</span><span>0</span></div>\
         <svg viewBox=\"0 0 {n} {HIGH}\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"{name}, {} at the most\">\
         <line class=\"grid\" x1=\"0\" x2=\"{n}\" y1=\"0\" y2=\"0\"/><line class=\"grid\" x1=\"0\" x2=\"{n}\" y1=\"50\" y2=\"50\"/>",
        format::count(most),
        format::count(most)
    );
    for (from, until) in gaps {
        let _ = write!(
            out,
            "<rect class=\"gap\" x=\"{from:.2}\" y=\"0\" width=\"{:.2}\" height=\"{HIGH}\"><title>between sessions</title></rect>",
            until - from
        );
    }
    for (ix, value) in values.iter().enumerate().filter(|(_, value)| **value > 0) {
        let tall = (*value as f64 / most as f64 * HIGH).max(0.7);
        let (y, moment, count) = (HIGH - tall, escaped(&at(ix)), format::count(*value));
        let _ = write!(
            out,
            "<rect class=\"c0\" x=\"{:.2}\" y=\"{y:.2}\" width=\"0.84\" height=\"{tall:.2}\"><title>{moment}: {count}</title></rect>",
            ix as f64 + 0.08
        );
    }
    let [from, until] = ends.map(escaped);
    let _ = writeln!(out, "</svg><div class=\"scale\"><span>{from}</span><span>{until}</span></div></div>");
    out.push_str("<details><summary>The figures of the chart</summary>");
    let row = |(ix, value): (usize, &u64)| vec![Cell::Word(at(ix)), Cell::Figure(format::count(*value))];
    table(out, "", &["from (UTC)", &name], values.iter().enumerate().map(row));
    out.push_str("</details>\n");
}
