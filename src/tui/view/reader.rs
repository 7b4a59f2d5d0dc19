//! A text to be read, over the screen: a report, or what could not be copied.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Span;

use crate::report::text;

use super::{Scene, clear, frame, help, put, styled};

/// What is inside of the frame.
fn inside(frame_area: Rect) -> Rect {
    let area = help::area(frame_area);
    Rect {
        x: area.x + 2.min(area.width),
        y: area.y + 1.min(area.height),
        width: area.width.saturating_sub(4),
        height: area.height.saturating_sub(2),
    }
}

/// The lines as they stand in the frame: tables as narrow as they have to be, everything else wrapped below its text.
fn wrapped(lines: &[String], inner: Rect) -> Vec<String> {
    let columns = usize::from(inner.width).max(1);
    let mut out = Vec::new();
    for block in lines.split(|line| line.trim().is_empty()) {
        if !out.is_empty() {
            out.push(String::new());
        }
        let block: Vec<String> = block.iter().map(|line| text::harmless(line).into_owned()).collect();
        out.extend(narrowed(&block, columns).iter().flat_map(|line| hung(line, columns)));
    }
    out
}

/// A line broken at the width, what follows indented to where its text begins: behind a name and a gap, or behind a mark.
fn hung(line: &str, columns: usize) -> Vec<String> {
    let lead = line.len() - line.trim_start().len();
    let (indented, words) = line.split_at(lead);
    let marked = ["· ", "! ", "› "].iter().find_map(|mark| words.strip_prefix(mark).map(|text| (*mark, text)));
    let (head, tail) = match (marked, words.find("  ")) {
        (_, Some(at)) => {
            let (name, rest) = words.split_at(at);
            let text = rest.trim_start();
            (format!("{indented}{name}{}", " ".repeat(rest.len() - text.len())), text)
        }
        (Some((mark, text)), None) => (format!("{indented}{mark}"), text),
        (None, None) => (indented.to_owned(), words),
    };
    let indent = text::width(&head);
    if indent > columns / 3 {
        return text::wrap(line, columns);
    }
    let parts = text::wrap(tail, columns - indent);
    parts
        .into_iter()
        .enumerate()
        .map(|(at, part)| if at == 0 { format!("{head}{part}") } else { format!("{}{part}", " ".repeat(indent)) })
        .collect()
}

/// Lines that stand below one another as a table, without the columns that are blank in all of them, as far as that is needed
/// for the width and one blank is left between two columns.
fn narrowed(block: &[String], columns: usize) -> Vec<String> {
    let is_table = block.len() > 1 && block.iter().all(|line| line.matches("   ").count() >= 3 && line.is_ascii());
    let widest = block.iter().map(|line| line.len()).max().unwrap_or(0);
    if !is_table || widest <= columns {
        return block.to_vec();
    }
    let blank = |at: usize| block.iter().all(|line| line.as_bytes().get(at).is_none_or(|byte| *byte == b' '));
    let spare: Vec<usize> = (1..widest).filter(|at| blank(*at) && blank(*at - 1)).collect();
    let goes = &spare[..spare.len().min(widest - columns)];
    let keep = |line: &String| line.chars().enumerate().filter(|(at, _)| !goes.contains(at)).map(|(_, c)| c).collect();
    block.iter().map(keep).collect()
}

/// How far it can be scrolled, and by how much a page goes.
pub(in crate::tui) fn reach(lines: &[String], frame_area: Rect) -> (usize, usize) {
    let inner = inside(frame_area);
    let rows = usize::from(inner.height);
    (wrapped(lines, inner).len().saturating_sub(rows), rows.saturating_sub(1).max(1))
}

/// Draws it: its title, its lines from `scroll` on.
pub(super) fn render(buf: &mut Buffer, scene: &Scene<'_>, frame_area: Rect, read: (&str, &[String], usize)) {
    let (title, lines, scroll) = read;
    let theme = scene.theme;
    let area = help::area(frame_area);
    clear(buf, area);
    frame(buf, area, Span::styled(format!(" {title} "), theme.selected), true, theme.selected);
    let inner = inside(frame_area);
    let wrapped = wrapped(lines, inner);
    let first = scroll.min(wrapped.len().saturating_sub(usize::from(inner.height)));
    for (row, line) in (0..inner.height).zip(wrapped.iter().skip(first)) {
        put(buf, inner, row, [styled(line.clone(), theme.text)]);
    }
    let hidden = wrapped.len().saturating_sub(first + usize::from(inner.height));
    if hidden > 0 {
        let row = area.height.saturating_sub(1);
        let more = Rect { x: area.x + 2.min(area.width), width: area.width.saturating_sub(4), ..area };
        put(buf, more, row, [styled(format!(" {hidden} more below "), theme.selected)]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, columns: u16) -> Vec<String> {
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        wrapped(&lines, Rect::new(0, 0, columns, 20))
    }

    #[test]
    fn what_follows_of_a_line_stands_below_its_text() {
        let shown = read("latency    batch sync: 267 answers, p50 1.6s\n· a risk that is long", 36);
        assert_eq!(shown, ["latency    batch sync: 267 answers,", "           p50 1.6s", "· a risk that is long"]);
        assert_eq!(read("· a risk that is longer", 14), ["· a risk that", "  is longer"]);
        assert_eq!(read("a\n\nb", 14), ["a", "", "b"]);
    }

    #[test]
    fn a_table_gives_up_blanks_before_it_is_broken() {
        let table = "org                 answers      429       cost\n\
                     high-prio               832        0    $0.4106\n\
                     low-prio                749        0    $0.3561";
        let shown = read(table, 36);
        assert_eq!(shown.len(), 3, "{shown:?}");
        assert!(shown.iter().all(|line| line.len() <= 36), "{shown:?}");
        let at = |line: &str, what: &str| line.find(what).map(|at| at + what.len());
        assert_eq!(at(&shown[0], "cost"), at(&shown[1], "$0.4106"), "{shown:?}");
        assert_eq!(at(&shown[0], "answers"), at(&shown[2], "749"), "{shown:?}");
        // One that has room stays as it is.
        assert_eq!(read(table, 80).join("\n"), table);
    }

    #[test]
    fn no_text_and_no_width_breaks_it() {
        for text in
            ["", "   ", "日本語  日本語日本語 日本語", "a  ", "·  · x", "\u{301}  x", "a   b   c   d\na   b   c   é"]
        {
            for columns in 0..30 {
                read(text, columns);
            }
        }
    }
}
