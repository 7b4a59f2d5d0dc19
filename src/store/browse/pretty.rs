//! JSON as lines for a person: members in their order, two blanks a level, and a long text broken where it breaks its own
//! lines. What is longer than a screen is ever read to is cut, and says so.

/// Most bytes that are laid out.
const MOST: usize = 256 << 10;

/// Lays out JSON. What is not JSON comes out as it is, on one line.
pub(super) fn lines(json: &[u8]) -> Vec<String> {
    let cut = json.len().saturating_sub(MOST);
    let mut text = String::from_utf8_lossy(&json[..json.len() - cut]).into_owned();
    // A character that was cut in the middle.
    if cut > 0 && text.ends_with('\u{FFFD}') {
        text.pop();
    }
    let mut layout = Layout::default();
    for c in text.chars() {
        layout.take(c);
    }
    layout.end_line();
    if cut > 0 {
        layout.lines.push(format!("… and {cut} bytes more"));
    }
    layout.lines
}

#[derive(Default)]
struct Layout {
    lines: Vec<String>,
    line: String,
    level: usize,
    in_string: bool,
    escaped: bool,
    /// A bracket was opened and nothing followed yet.
    opened: bool,
}

impl Layout {
    fn take(&mut self, c: char) {
        if self.in_string {
            return self.in_string(c);
        }
        match c {
            ' ' | '\t' | '\n' | '\r' => {}
            '}' | ']' => {
                self.level = self.level.saturating_sub(1);
                if !std::mem::take(&mut self.opened) {
                    self.new_line();
                }
                self.line.push(c);
            }
            _ => {
                if std::mem::take(&mut self.opened) {
                    self.new_line();
                }
                self.line.push(c);
                match c {
                    '{' | '[' => {
                        self.level += 1;
                        self.opened = true;
                    }
                    ',' => self.new_line(),
                    ':' => self.line.push(' '),
                    '"' => self.in_string = true,
                    _ => {}
                }
            }
        }
    }

    fn in_string(&mut self, c: char) {
        self.line.push(c);
        match (self.escaped, c) {
            (false, '"') => self.in_string = false,
            (false, '\\') => {
                self.escaped = true;
                return;
            }
            // The line end stays in sight, and the text goes on below it.
            (true, 'n') => {
                self.level += 1;
                self.new_line();
                self.level -= 1;
            }
            _ => {}
        }
        self.escaped = false;
    }

    fn new_line(&mut self) {
        self.end_line();
        self.line.extend(std::iter::repeat_n("  ", self.level.min(40)));
    }

    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        if !line.trim().is_empty() {
            self.lines.push(line);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_keep_their_order_and_empty_ones_stay_on_one_line() {
        let shown = lines(br#"{"b":1,"a":{"x":[1,2],"e":{},"l":[]}, "t":"say \"hi\", {you}"}"#);
        let wanted = [
            "{",
            r#"  "b": 1,"#,
            r#"  "a": {"#,
            r#"    "x": ["#,
            "      1,",
            "      2",
            "    ],",
            r#"    "e": {},"#,
            r#"    "l": []"#,
            "  },",
            r#"  "t": "say \"hi\", {you}""#,
            "}",
        ];
        assert_eq!(shown, wanted);
    }

    #[test]
    fn a_text_goes_on_below_its_line_ends_and_an_escaped_backslash_is_none() {
        assert_eq!(lines(br#"{"t":"one\ntwo \\no"}"#), ["{", r#"  "t": "one\n"#, r#"    two \\no""#, "}"]);
    }

    #[test]
    fn what_is_too_long_is_cut_between_characters_and_says_so() {
        let json = format!("\"{}\"", "é".repeat(MOST));
        let shown = lines(json.as_bytes());
        assert!(shown.last().unwrap().starts_with("… and "), "{:?}", shown.last());
        assert!(!shown[0].contains('\u{FFFD}'));
    }

    #[test]
    fn what_is_not_json_breaks_nothing() {
        assert_eq!(lines(b"}}]] not json"), ["}", "}", "]", "]notjson"]);
        assert!(lines(&[0xFF, 0xFE, b'"']).len() <= 2);
        assert!(lines(b"").is_empty());
    }
}
