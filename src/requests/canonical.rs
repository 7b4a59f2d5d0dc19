//! One text for all spellings of the same JSON: no white space, members sorted by key, one way to escape.
//!
//! What is a difference and what is not: the order of keys, white space and the spelling of characters (`é` or
//! `\u00e9`, as Python's `ensure_ascii` has it) are not; anything else is, the order of arrays and the spelling of
//! numbers included (`1` and `1.0` may differ; no digit is ever lost). The result is made to be hashed: members are led by a
//! comma, not separated by one, so it is not JSON.

use super::scan::{scalar_end, skip_space, skip_value, string_end};

/// Nesting beyond which text is taken as it stands. Equal texts still have equal fingerprints there; spellings that
/// differ are a cache miss, which is safe. The API refuses such depths anyway.
const MAX_DEPTH: usize = 128;

/// A member of an object in the output.
#[derive(Debug, Clone, Copy)]
struct Member {
    /// Start of its comma.
    start: usize,
    /// End of its key.
    key_end: usize,
    /// End of its value.
    end: usize,
}

/// Makes canonical text; its buffers are used again and again.
#[derive(Debug, Default)]
pub(super) struct Canonicaliser {
    out: Vec<u8>,
    spare: Vec<u8>,
    members: Vec<Member>,
}

impl Canonicaliser {
    /// The canonical text of a JSON value. On text that is not JSON the result is a function of the text all the same.
    pub(super) fn canonical(&mut self, text: &[u8]) -> &[u8] {
        self.out.clear();
        self.members.clear();
        let start = skip_space(text, 0);
        if self.value(text, start, 0).is_none() {
            self.out.clear();
            self.out.extend_from_slice(text);
        }
        &self.out
    }

    /// Writes the value at `at` and returns its end.
    fn value(&mut self, text: &[u8], at: usize, depth: usize) -> Option<usize> {
        match text.get(at)? {
            b'"' => self.string(text, at),
            b'{' if depth < MAX_DEPTH => self.object(text, at, depth),
            b'[' if depth < MAX_DEPTH => self.array(text, at, depth),
            b'{' | b'[' => self.verbatim(text, at, skip_value(text, at)?),
            // A scalar of nothing is no JSON, and taking it for one would never get past it.
            _ => match scalar_end(text, at) {
                end if end > at => self.verbatim(text, at, end),
                _ => None,
            },
        }
    }

    fn verbatim(&mut self, text: &[u8], at: usize, end: usize) -> Option<usize> {
        self.out.extend_from_slice(text.get(at..end)?);
        Some(end)
    }

    fn array(&mut self, text: &[u8], at: usize, depth: usize) -> Option<usize> {
        self.out.push(b'[');
        let mut at = skip_space(text, at + 1);
        while *text.get(at)? != b']' {
            self.out.push(b',');
            at = skip_space(text, self.value(text, at, depth + 1)?);
            at = next_item(text, at)?;
        }
        self.out.push(b']');
        Some(at + 1)
    }

    fn object(&mut self, text: &[u8], at: usize, depth: usize) -> Option<usize> {
        self.out.push(b'{');
        let base = self.members.len();
        let mut sorted = true;
        let mut at = skip_space(text, at + 1);
        while *text.get(at)? != b'}' {
            let start = self.out.len();
            self.out.push(b',');
            let colon = skip_space(text, self.string(text, at)?);
            let key_end = self.out.len();
            sorted &= self
                .members
                .get(base..)?
                .last()
                .is_none_or(|last| self.out[last.start..last.key_end] <= self.out[start..key_end]);
            // The member stands on the stack before its value does, so the value's own members come after it.
            let slot = self.members.len();
            self.members.push(Member { start, key_end, end: key_end });
            self.out.push(b':');
            let from = skip_space(text, colon + 1);
            at = skip_space(text, self.value(text, from, depth + 1)?);
            self.members.get_mut(slot)?.end = self.out.len();
            at = next_item(text, at)?;
        }
        if !sorted {
            self.sort_members(base);
        }
        self.members.truncate(base);
        self.out.push(b'}');
        Some(at + 1)
    }

    /// Puts the members from `base` on in the order of their keys; equal keys stay in theirs.
    fn sort_members(&mut self, base: usize) {
        let Some(members) = self.members.get_mut(base..) else { return };
        let Some(start) = members.first().map(|member| member.start) else { return };
        let out = &mut self.out;
        members.sort_by(|a, b| out[a.start..a.key_end].cmp(&out[b.start..b.key_end]));
        self.spare.clear();
        for member in members.iter() {
            self.spare.extend_from_slice(&out[member.start..member.end]);
        }
        out[start..].copy_from_slice(&self.spare);
    }

    /// Writes the string at `at`.
    fn string(&mut self, text: &[u8], at: usize) -> Option<usize> {
        if *text.get(at)? != b'"' {
            return None;
        }
        let (end, escaped) = string_end(text, at)?;
        if !escaped {
            return self.verbatim(text, at, end);
        }
        let mut rest = text.get(at..end)?;
        while let Some(found) = memchr::memchr(b'\\', rest) {
            self.out.extend_from_slice(rest.get(..found)?);
            let used = self.escape(rest.get(found..)?)?;
            rest = rest.get(found + used..)?;
        }
        self.out.extend_from_slice(rest);
        Some(end)
    }

    /// Writes the escape that `text` starts with in its one spelling, and returns how long it was.
    fn escape(&mut self, text: &[u8]) -> Option<usize> {
        match text.get(1)? {
            b'/' => self.out.push(b'/'),
            b'u' => {
                let high = hex4(text.get(2..6)?)?;
                if (0xd800..0xdc00).contains(&high) && text.get(6..8) == Some(b"\\u") {
                    let low = text.get(8..12).and_then(hex4).filter(|low| (0xdc00..0xe000).contains(low));
                    if let Some(low) = low {
                        self.char(0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00));
                        return Some(12);
                    }
                }
                self.char(high);
                return Some(6);
            }
            short => self.out.extend_from_slice(&[b'\\', *short]),
        }
        Some(2)
    }

    /// Writes a character that came as a `\u` escape.
    fn char(&mut self, code: u32) {
        let short = match code {
            0x08 => Some(b'b'),
            0x09 => Some(b't'),
            0x0a => Some(b'n'),
            0x0c => Some(b'f'),
            0x0d => Some(b'r'),
            0x22 => Some(b'"'),
            0x5c => Some(b'\\'),
            _ => None,
        };
        match (short, char::from_u32(code)) {
            (Some(short), _) => self.out.extend_from_slice(&[b'\\', short]),
            (None, Some(char)) if code >= 0x20 => {
                self.out.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes());
            }
            // Control characters, and half surrogates, which no UTF-8 can hold.
            _ => self.out.extend_from_slice(format!("\\u{code:04x}").as_bytes()),
        }
    }
}

/// After an item: the start of the next one, or the closing bracket.
fn next_item(text: &[u8], at: usize) -> Option<usize> {
    match text.get(at)? {
        b',' => Some(skip_space(text, at + 1)),
        b']' | b'}' => Some(at),
        _ => None,
    }
}

fn hex4(digits: &[u8]) -> Option<u32> {
    digits.iter().try_fold(0, |code, &digit| Some(code << 4 | char::from(digit).to_digit(16)?))
}
