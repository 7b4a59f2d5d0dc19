//! Texts that begin or end alike but are not the same: how far they go together.
//!
//! A breakpoint can stand only at the end of a block. So a constant text with something that varies in the same block, a
//! rubric with the case to grade behind it or a date before it, cannot be cached until it is a block of its own. The first
//! text of each kind is kept, and every later one is compared with it.

use super::blocks::{Head, Section};
use super::tally::Tally;

/// Texts that are kept to compare with. Files have few kinds; one met only once gives way to a new one.
const KEPT: usize = 16;

/// Bytes that two texts have to have in common, at their beginning or at their end, to be of one kind.
const ALIKE: usize = 256;

/// Longest text that is compared. What is behind it is not looked at.
const MAX_TEXT: usize = 1 << 20;

/// Texts of one kind.
#[derive(Debug)]
pub(super) struct Kind {
    pub(super) model: u8,
    pub(super) section: Section,
    before_hash: u64,
    /// Bytes before the text, the same for all.
    pub(super) before_bytes: u64,
    text: Vec<u8>,
    /// Bytes at the beginning that all have in common.
    pub(super) head: usize,
    /// Bytes at the end that all have in common and that are not in `head`.
    pub(super) tail: usize,
    /// Requests.
    pub(super) lines: Tally,
    /// Those that differ from the first.
    pub(super) differ: Tally,
    pub(super) first: u64,
    pub(super) last: u64,
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Heads {
    pub(super) kinds: Vec<Kind>,
}

impl Heads {
    /// Takes a text in.
    pub(super) fn take(&mut self, line: u64, model: u8, head: &Head<'_>) {
        let text = head.text.get(..MAX_TEXT).unwrap_or(head.text);
        if text.len() < ALIKE {
            return;
        }
        let same_place = |kind: &&mut Kind| {
            kind.before_hash == head.before_hash && kind.section == head.section && kind.model == model
        };
        match self.kinds.iter_mut().filter(same_place).find(|kind| kind.is_like(text)) {
            Some(kind) => kind.add(line, text),
            None => self.keep(Kind::new(line, model, head, text)),
        }
    }

    fn keep(&mut self, kind: Kind) {
        if self.kinds.len() < KEPT {
            return self.kinds.push(kind);
        }
        let lonely = self.kinds.iter_mut().filter(|kept| kept.lines.n == 1).min_by_key(|kept| kept.last);
        if let Some(lonely) = lonely {
            *lonely = kind;
        }
    }
}

impl Kind {
    fn new(line: u64, model: u8, head: &Head<'_>, text: &[u8]) -> Kind {
        let mut lines = Tally::default();
        lines.add(line);
        Kind {
            model,
            section: head.section,
            before_hash: head.before_hash,
            before_bytes: head.before_bytes,
            text: text.to_vec(),
            head: text.len(),
            tail: 0,
            lines,
            differ: Tally::default(),
            first: line,
            last: line,
        }
    }

    fn is_like(&self, text: &[u8]) -> bool {
        let begins = self.text.get(..ALIKE) == text.get(..ALIKE);
        begins || self.text.last_chunk::<ALIKE>() == text.last_chunk::<ALIKE>()
    }

    fn add(&mut self, line: u64, text: &[u8]) {
        self.lines.add(line);
        self.last = line;
        if self.text == text {
            return;
        }
        let first_difference = self.differ.n == 0;
        self.differ.add(line);
        let shorter = text.len().min(self.text.len());
        let head = common(self.text.iter(), text.iter(), self.head.min(shorter));
        // Before the first difference the whole text is head; what they end with alike is looked at from then on.
        let most = if first_difference { shorter } else { self.tail.min(shorter) };
        let tail = common(self.text.iter().rev(), text.iter().rev(), most.min(shorter - head));
        (self.head, self.tail) = (head, tail);
    }

    /// Lines from one request of the kind to the next, in the mean.
    pub(super) fn gap(&self) -> f64 {
        let again = self.lines.n.saturating_sub(1).max(1);
        (self.last - self.first) as f64 / again as f64
    }
}

/// Bytes in common, at most so many.
fn common<'a>(a: impl Iterator<Item = &'a u8>, b: impl Iterator<Item = &'a u8>, most: usize) -> usize {
    a.zip(b).take(most).take_while(|(a, b)| a == b).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heads(texts: &[String]) -> Heads {
        let mut heads = Heads::default();
        for (at, text) in texts.iter().enumerate() {
            let head = Head { section: Section::System, before_hash: 7, before_bytes: 0, text: text.as_bytes() };
            heads.take(at as u64 + 1, 0, &head);
        }
        heads
    }

    #[test]
    fn what_texts_begin_and_end_with_alike_is_measured_without_overlap() {
        let (begin, end) = ("b".repeat(300), "e".repeat(500));
        let texts = [format!("{begin} 17 {end}"), format!("{begin} 4 {end}"), format!("{begin} 17 {end}")];
        let heads = heads(&texts);
        let [kind] = &heads.kinds[..] else { panic!("{heads:?}") };
        assert_eq!((kind.head, kind.tail, kind.lines.n, kind.differ.n), (301, 501, 3, 1));
        let same = "aba".repeat(100);
        let shorter = &same[..297];
        let heads = self::heads(&[same.clone(), shorter.to_owned()]);
        assert_eq!((heads.kinds[0].head, heads.kinds[0].tail), (297, 0));
    }

    #[test]
    fn texts_of_different_kinds_are_kept_apart_and_lonely_ones_give_way() {
        let usual = "u".repeat(300);
        let mut texts = vec![usual.clone(), usual.clone()];
        texts.extend((0..100).map(|at| format!("{at:03}").repeat(100)));
        texts.push(usual);
        let heads = heads(&texts);
        assert_eq!(heads.kinds.len(), KEPT);
        let usual = heads.kinds.iter().find(|kind| kind.lines.n > 1).unwrap();
        assert_eq!((usual.lines.n, usual.first, usual.last), (3, 1, 103));
    }
}
