//! Text from elsewhere (ids, labels, error messages, model output) made safe to show: it can neither command the
//! terminal nor move a column.

use std::borrow::Cow;

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// Stands where a character stood that is not to be shown.
const REPLACEMENT: char = '\u{FFFD}';

/// Most combining marks that one character keeps: enough for any script, too few to paint over the lines above.
const MARKS_KEPT: usize = 3;

/// What becomes of a character.
enum Fate {
    Keep,
    Drop,
    Become(char),
}

/// Control characters (escape among them) and the characters that reorder text become a replacement mark, white space
/// of any kind a blank. Joiners and variation selectors go: terminals do not agree on the width of what they join.
fn fate(c: char) -> Fate {
    match c {
        ' '..='~' => Fate::Keep,
        '\t' | '\n' | '\r' | '\u{0B}' | '\u{0C}' | '\u{85}' | '\u{2028}' | '\u{2029}' => Fate::Become(' '),
        '\u{061C}' | '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}' => {
            Fate::Become(REPLACEMENT)
        }
        '\u{00AD}' | '\u{200B}'..='\u{200D}' | '\u{2060}'..='\u{2065}' | '\u{206A}'..='\u{206F}' => Fate::Drop,
        '\u{FE00}'..='\u{FE0F}' | '\u{FEFF}' | '\u{FFF9}'..='\u{FFFB}' | '\u{E0000}'..='\u{E0FFF}' => Fate::Drop,
        c if c.is_control() => Fate::Become(REPLACEMENT),
        _ => Fate::Keep,
    }
}

/// The text on one line, without anything that a terminal obeys. Borrowed when it was harmless already.
pub fn harmless(text: &str) -> Cow<'_, str> {
    if text.bytes().all(|b| (b' '..=b'~').contains(&b)) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut marks = 0;
    for c in text.chars() {
        let kept = match fate(c) {
            Fate::Keep => c,
            Fate::Become(other) => other,
            Fate::Drop => continue,
        };
        marks = if unicode_width::UnicodeWidthChar::width(kept) == Some(0) { marks + 1 } else { 0 };
        if marks <= MARKS_KEPT {
            out.push(kept);
        }
    }
    Cow::Owned(out)
}

/// Columns that the text takes on a terminal.
pub fn width(text: &str) -> usize {
    text.width()
}

/// The text in at most `columns` columns: cut between characters as people see them, with `…` where it was cut.
/// The text is expected to be harmless already.
pub fn cut(text: &str, columns: usize) -> Cow<'_, str> {
    if width(text) <= columns {
        return Cow::Borrowed(text);
    }
    if columns == 0 {
        return Cow::Borrowed("");
    }
    let mut out = String::new();
    let mut used = 0;
    for grapheme in text.graphemes(true) {
        let wide = width(grapheme);
        if used + wide > columns - 1 {
            break;
        }
        used += wide;
        out.push_str(grapheme);
    }
    out.push('…');
    Cow::Owned(out)
}

/// The text broken at blanks into lines of at most `columns` columns; a word that is longer than a line is cut. At least
/// one line.
pub fn wrap(text: &str, columns: usize) -> Vec<String> {
    let (mut lines, mut last) = (Vec::new(), String::new());
    let mut used = 0;
    // A sign belongs to its word; only what has no blanks for a whole line is broken elsewhere.
    let words = text.split_inclusive(' ').flat_map(|word| {
        let long = width(word.trim_end()) > columns;
        let (parts, whole) = if long { (Some(word.split_word_bounds()), None) } else { (None, Some(word)) };
        parts.into_iter().flatten().chain(whole)
    });
    for word in words {
        let wide = width(word.trim_end());
        if used + wide > columns && !last.is_empty() {
            lines.push(last.trim_end().to_owned());
            last.clear();
            used = 0;
        }
        if used > 0 || !word.trim().is_empty() || lines.is_empty() {
            let bare = word.trim_end();
            last.push_str(&cut(bare, columns));
            last.push_str(&word[bare.len()..]);
            used = width(&last);
        }
    }
    lines.push(last.trim_end().to_owned());
    lines
}

/// Cut or filled up with blanks to exactly `columns` columns.
pub fn fit(text: &str, columns: usize) -> String {
    let mut out = cut(text, columns).into_owned();
    let used = width(&out);
    out.extend(std::iter::repeat_n(' ', columns.saturating_sub(used)));
    out
}

/// As [`fit`], with the blanks before the text: for figures.
pub fn fit_right(text: &str, columns: usize) -> String {
    let shown = cut(text, columns);
    let mut out = " ".repeat(columns.saturating_sub(width(&shown)));
    out.push_str(&shown);
    out
}

/// The text with the few non-ASCII characters of our own writing replaced, and every other one by `?`; for terminals
/// and locales without Unicode. Columns stay as they were.
pub fn ascii(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    for grapheme in text.graphemes(true) {
        match grapheme {
            g if g.is_ascii() => out.push_str(g),
            "·" => out.push('|'),
            "…" => out.push('~'),
            "–" | "—" => out.push('-'),
            "×" => out.push('x'),
            "→" => out.push('>'),
            "±" => out.push('+'),
            g => out.extend(std::iter::repeat_n('?', width(g))),
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn escape_sequences_and_bidi_marks_lose_their_power() {
        assert_eq!(harmless("a\x1b[31mb\u{9b}2Jc"), "a\u{FFFD}[31mb\u{FFFD}2Jc");
        assert_eq!(harmless("x\u{202E}gpj.exe"), "x\u{FFFD}gpj.exe");
        assert_eq!(harmless("two\r\nlines\tand a tab"), "two  lines and a tab");
        assert!(matches!(harmless("plain-id_1"), Cow::Borrowed(_)));
    }

    #[test]
    fn joined_emoji_fall_apart_into_characters_of_an_agreed_width() {
        assert_eq!(harmless("👨\u{200D}👩\u{200D}👧"), "👨👩👧");
        assert_eq!(width(&harmless("👨\u{200D}👩\u{200D}👧")), 6);
    }

    #[test]
    fn a_tower_of_marks_is_cut_down() {
        let tower: String = std::iter::once('a').chain(std::iter::repeat_n('\u{0301}', 50)).collect();
        assert_eq!(harmless(&tower).chars().count(), 1 + MARKS_KEPT);
    }

    #[test]
    fn t6_text_is_cut_between_characters_as_people_see_them() {
        assert_eq!(cut("日本語ラベル", 7), "日本語…");
        assert_eq!(cut("日本語ラベル", 6), "日本…");
        assert_eq!(cut("e\u{0301}e\u{0301}e\u{0301}", 2), "e\u{0301}…");
        assert_eq!(cut("abc", 3), "abc");
        assert_eq!(cut("abc", 0), "");
        assert_eq!(fit("日本語", 8), "日本語  ");
        assert_eq!(fit_right("12", 4), "  12");
        assert_eq!(ascii("a · b… 日"), "a | b~ ??");
    }

    #[test]
    fn lines_are_broken_at_blanks() {
        assert_eq!(wrap("one two three", 8), ["one two", "three"]);
        assert_eq!(wrap("costs $0.06. Now", 12), ["costs $0.06.", "Now"]);
        assert_eq!(wrap("", 8), [""]);
        assert_eq!(wrap("unbreakable", 5), ["unbr…"]);
    }

    proptest! {
        #[test]
        fn any_text_fits_the_columns_that_it_was_cut_to(text in "\\PC{0,40}|.{0,40}", columns in 0usize..30) {
            let safe = harmless(&text);
            prop_assert!(safe.chars().all(|c| !c.is_control()));
            prop_assert_eq!(harmless(&safe).into_owned(), safe.clone().into_owned());
            prop_assert!(width(&cut(&safe, columns)) <= columns);
            prop_assert_eq!(width(&fit(&safe, columns)), columns);
            prop_assert!(ascii(&safe).is_ascii());
            prop_assert!(wrap(&safe, columns).iter().all(|line| width(line) <= columns));
        }
    }
}
