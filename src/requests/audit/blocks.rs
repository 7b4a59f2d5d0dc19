//! A request as the prompt cache sees it: blocks in the order tools, system, messages, and after each the hash of all
//! that stands before.
//!
//! Two requests share a cached prefix up to a breakpoint when, and only when, all before it is the same. `tool_choice` and
//! `thinking` count as standing between system and messages: changing them keeps the first two and loses the last.
//! `cache_control` itself is not content.

use std::hash::{DefaultHasher, Hasher};

use super::super::scan;
use super::row::{Row, field, unquoted, word};

/// Blocks of `system` after each of which a prefix is looked at.
const SYSTEM_BLOCKS: u8 = 8;

/// Blocks of `messages`, over all messages, after each of which a prefix is looked at.
const MESSAGE_BLOCKS: u8 = 64;

/// Most ends of blocks that a walk gives.
pub(super) const MAX_BOUNDARIES: usize = 1 + SYSTEM_BLOCKS as usize + MESSAGE_BLOCKS as usize;

/// Where in the order of caching a prefix ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Level(pub(super) u8);

impl Level {
    /// After all tools.
    pub(super) const TOOLS: Level = Level(0);

    fn system(block: u8) -> Level {
        Level(1 + block)
    }

    fn message(block: u8) -> Level {
        Level(1 + SYSTEM_BLOCKS + block)
    }

    /// Where the breakpoint goes, in words.
    pub(super) fn name(self) -> String {
        match self.0 {
            0 => "the last of the tools".to_owned(),
            1 => "the system prompt (its first block)".to_owned(),
            at if at <= SYSTEM_BLOCKS => format!("block {at} of system"),
            at => format!("content block {} of the messages", at - SYSTEM_BLOCKS),
        }
    }
}

/// The end of a block.
#[derive(Debug, Clone, Copy)]
pub(super) struct Boundary {
    pub(super) level: Level,
    /// Of all before it.
    pub(super) hash: u64,
    /// Bytes of all before it.
    pub(super) bytes: u64,
    /// Whether a `cache_control` stands on the block.
    pub(super) marked: bool,
}

/// A text that a request begins with, or that follows on what was the same so far.
#[derive(Debug, Clone, Copy)]
pub(super) struct Head<'a> {
    pub(super) section: Section,
    /// Of all before it.
    pub(super) before_hash: u64,
    /// Bytes of all before it.
    pub(super) before_bytes: u64,
    /// The text, as it is escaped.
    pub(super) text: &'a [u8],
}

/// Which text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Section {
    /// The first block of `system`.
    System,
    /// The first block of `messages`.
    Message,
}

impl Section {
    pub(super) fn name(self) -> &'static str {
        match self {
            Section::System => "the system prompt",
            Section::Message => "the first message",
        }
    }
}

/// What a walk over the blocks found besides their ends.
#[derive(Debug)]
pub(super) struct Walked<'a> {
    pub(super) heads: [Option<Head<'a>>; 2],
    /// `cache_control`s of the request.
    pub(super) n_marks: usize,
    /// Whether the last message is the assistant's.
    pub(super) prefilled: bool,
    /// Bytes of the whole prompt.
    pub(super) bytes: u64,
}

/// Walks over requests.
#[derive(Debug, Default)]
pub(super) struct Walker {
    hasher: DefaultHasher,
    bytes: u64,
    n_marks: usize,
}

impl Walker {
    /// Puts the ends of the blocks into `ends`, in order, and gives the rest.
    pub(super) fn walk<'a>(&mut self, row: &Row<'a>, model: u8, ends: &mut Vec<Boundary>) -> Walked<'a> {
        *self = Walker::default();
        self.hasher.write_u8(model);
        ends.clear();
        self.tools(row, ends);
        let system = self.system(row, ends);
        for decisive in [row.tool_choice, row.thinking] {
            self.hasher.write(decisive.unwrap_or_default());
        }
        let (message, prefilled, n_blocks) = self.messages(row, ends);
        if row.cache_control.is_some() {
            self.n_marks += 1;
            if let Some(last) = ends.last_mut().filter(|_| n_blocks <= MESSAGE_BLOCKS) {
                last.marked = true;
            }
        }
        Walked { heads: [system, message], n_marks: self.n_marks, prefilled, bytes: self.bytes }
    }

    fn end(&self, level: Level, marked: bool) -> Boundary {
        Boundary { level, hash: self.hasher.clone().finish(), bytes: self.bytes, marked }
    }

    fn tools(&mut self, row: &Row<'_>, ends: &mut Vec<Boundary>) {
        let (mut any, mut marked) = (false, false);
        for tool in row.tools.into_iter().flat_map(scan::items) {
            marked |= self.block(tool).0;
            any = true;
        }
        if any {
            ends.push(self.end(Level::TOOLS, marked));
        }
    }

    fn system<'a>(&mut self, row: &Row<'a>, ends: &mut Vec<Boundary>) -> Option<Head<'a>> {
        let mut head = None;
        self.hasher.write_u8(1);
        for (at, block) in row.system.into_iter().flat_map(contents).enumerate() {
            let (before_hash, before_bytes) = (self.hasher.clone().finish(), self.bytes);
            let (marked, text) = self.block(block);
            if let (0, Some(text)) = (at, text) {
                head = Some(Head { section: Section::System, before_hash, before_bytes, text });
            }
            if at < usize::from(SYSTEM_BLOCKS) {
                ends.push(self.end(Level::system(at as u8), marked));
            }
        }
        head
    }

    /// Gives the first text, whether the last message is the assistant's, and how many blocks there are.
    fn messages<'a>(&mut self, row: &Row<'a>, ends: &mut Vec<Boundary>) -> (Option<Head<'a>>, bool, u8) {
        let (mut head, mut prefilled, mut at) = (None, false, 0_u8);
        for message in scan::items(row.messages) {
            let role = word(message, "role").unwrap_or_default();
            prefilled = role == b"assistant";
            self.hasher.write_u8(2);
            self.hasher.write(role);
            for block in field(message, "content").into_iter().flat_map(contents) {
                let (before_hash, before_bytes) = (self.hasher.clone().finish(), self.bytes);
                let (marked, text) = self.block(block);
                if let (0, Some(text)) = (at, text) {
                    head = Some(Head { section: Section::Message, before_hash, before_bytes, text });
                }
                if at < MESSAGE_BLOCKS {
                    ends.push(self.end(Level::message(at), marked));
                }
                at = at.saturating_add(1);
            }
        }
        (head, prefilled, at)
    }

    /// Takes a block in: gives whether it is marked, and its text when it is one of text. A plain string is the same
    /// content as a block of text.
    fn block<'a>(&mut self, block: &'a [u8]) -> (bool, Option<&'a [u8]>) {
        self.hasher.write_u8(3);
        if let Some(text) = unquoted(block) {
            self.content(b"text", text);
            return (false, Some(text));
        }
        let (mut marked, mut text) = (false, None);
        for (name, value) in scan::members(block) {
            match name {
                b"cache_control" if value == b"null" => {}
                b"cache_control" => marked = true,
                b"type" if value == b"\"text\"" => {}
                b"text" => {
                    let inner = unquoted(value).unwrap_or(value);
                    self.content(name, inner);
                    text = Some(inner);
                }
                _ => self.content(name, value),
            }
        }
        self.n_marks += usize::from(marked);
        (marked, text)
    }

    fn content(&mut self, name: &[u8], value: &[u8]) {
        self.hasher.write(name);
        self.hasher.write_u8(b':');
        self.hasher.write(value);
        self.bytes += value.len() as u64;
    }
}

/// The blocks of a `content` or a `system`: the string, or the items of the array.
fn contents(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    let (one, list) = if value.first() == Some(&b'"') { (Some(value), None) } else { (None, Some(value)) };
    one.into_iter().chain(list.into_iter().flat_map(scan::items))
}

#[cfg(test)]
mod tests {
    use super::super::super::shape;
    use super::*;

    fn walk(params: &str) -> (Vec<Boundary>, usize, bool) {
        let line = format!(r#"{{"custom_id":"a","params":{{"model":"m","max_tokens":9,{params}}}}}"#);
        let usable = shape::check(line.as_bytes(), &mut |problem| panic!("{problem}")).unwrap();
        let row = Row::of(1, line.as_bytes(), usable).unwrap();
        let mut ends = Vec::new();
        let walked = Walker::default().walk(&row, 0, &mut ends);
        (ends, walked.n_marks, walked.prefilled)
    }

    fn levels(params: &str) -> Vec<u8> {
        walk(params).0.iter().map(|end| end.level.0).collect()
    }

    const ASK: &str = r#""messages":[{"role":"user","content":"q"}]"#;

    #[test]
    fn blocks_come_in_the_order_tools_system_messages_whatever_the_order_of_the_fields() {
        let params = format!(
            r#"{ASK},"system":[{{"type":"text","text":"a"}},{{"type":"text","text":"b"}}],"tools":[{{"name":"t"}},{{"name":"u"}}]"#
        );
        assert_eq!(levels(&params), [0, 1, 2, 9]);
        assert_eq!(levels(ASK), [9]);
    }

    #[test]
    fn a_string_and_a_block_of_text_are_the_same_content_and_a_mark_is_no_content() {
        let plain = walk(&format!(r#""system":"rules",{ASK}"#)).0;
        let marked = walk(&format!(
            r#""system":[{{"type":"text","text":"rules","cache_control":{{"type":"ephemeral"}}}}],{ASK}"#
        ));
        assert_eq!(plain[0].hash, marked.0[0].hash);
        assert_eq!((plain[0].marked, marked.0[0].marked, marked.1), (false, true, 1));
        assert_eq!(plain[0].bytes, 5);
        assert_ne!(plain[0].hash, walk(&format!(r#""system":"rulez",{ASK}"#)).0[0].hash);
    }

    #[test]
    fn thinking_and_tool_choice_keep_the_system_prompt_and_lose_the_messages() {
        let ends = |more: &str| walk(&format!(r#""system":"rules",{ASK}{more}"#)).0;
        let (plain, choosing) = (ends(""), ends(r#","thinking":{"type":"disabled"}"#));
        assert_eq!(plain[0].hash, choosing[0].hash);
        assert_ne!(plain[1].hash, choosing[1].hash);
    }

    #[test]
    fn an_automatic_breakpoint_stands_on_the_last_block_and_a_prefilled_answer_is_seen() {
        let (ends, n_marks, prefilled) = walk(
            r#""cache_control":{"type":"ephemeral"},"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]},{"role":"assistant","content":"{"}]"#,
        );
        assert_eq!(ends.iter().map(|end| end.marked).collect::<Vec<_>>(), [false, false, true]);
        assert_eq!((n_marks, prefilled), (1, true));
    }
}
