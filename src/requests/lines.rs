//! Splits a stream into lines with a bounded buffer: a line that is too long is measured, not held, and the lines after
//! it are found all the same.

use std::io::{self, Read};

/// Longest line of an input, in bytes: the Messages API's own limit on a request body (32 MiB).
pub const MAX_LINE: usize = 32 << 20;

/// How much is read at once. Larger brings nothing, smaller costs system calls.
const CHUNK: usize = 512 << 10;

/// One line, without its `\n`.
#[derive(Debug)]
pub(crate) struct Line<'a> {
    /// Where it starts in the stream.
    pub(crate) offset: u64,
    /// Its length in bytes.
    pub(crate) len: u64,
    /// Its bytes; `None` for a line longer than the limit.
    pub(crate) bytes: Option<&'a [u8]>,
    /// Whether a `\n` followed; only the last line may lack it.
    pub(crate) ended: bool,
}

/// The text of a line that may hold a request, and where it starts: without the byte order mark at the start of the
/// stream and the `\r` at the end.
pub(crate) fn request_text(offset: u64, line: &[u8]) -> (u64, &[u8]) {
    const BOM: &[u8] = b"\xef\xbb\xbf";
    let (offset, line) = match line.strip_prefix(BOM) {
        Some(rest) if offset == 0 => (BOM.len() as u64, rest),
        _ => (offset, line),
    };
    (offset, line.strip_suffix(b"\r").unwrap_or(line))
}

/// A reader of lines.
pub(crate) struct Lines<R> {
    reader: R,
    limit: usize,
    /// `buf[start..end]` is read and not yet handed out; `buf[start..scanned]` holds no `\n`.
    buf: Vec<u8>,
    start: usize,
    scanned: usize,
    end: usize,
    /// Offset of `buf[start]` in the stream.
    offset: u64,
    eof: bool,
}

impl<R: Read> Lines<R> {
    /// Reads lines of at most `limit` bytes.
    pub(crate) fn new(reader: R, limit: usize) -> Lines<R> {
        Lines { reader, limit, buf: vec![0; CHUNK * 2], start: 0, scanned: 0, end: 0, offset: 0, eof: false }
    }

    /// The next line, or `None` at the end. `seen` is shown every chunk once, as it is read.
    pub(crate) fn next(&mut self, seen: &mut dyn FnMut(&[u8])) -> io::Result<Option<Line<'_>>> {
        loop {
            if let Some(at) = memchr::memchr(b'\n', &self.buf[self.scanned..self.end]) {
                let until = self.scanned + at;
                let ended = true;
                return Ok(Some(self.take(until, until + 1, ended)));
            }
            self.scanned = self.end;
            if self.eof {
                let left = self.end > self.start;
                return Ok(left.then(|| self.take(self.end, self.end, false)));
            }
            if self.end - self.start > self.limit {
                return self.pass_over(seen).map(Some);
            }
            self.fill(seen)?;
        }
    }

    /// Hands out `buf[start..until]` and goes on at `next`.
    fn take(&mut self, until: usize, next: usize, ended: bool) -> Line<'_> {
        let (start, offset) = (self.start, self.offset);
        self.offset += (next - start) as u64;
        self.start = next;
        self.scanned = next;
        let bytes = &self.buf[start..until];
        Line { offset, len: bytes.len() as u64, bytes: (bytes.len() <= self.limit).then_some(bytes), ended }
    }

    /// Reads on to the end of a line that is too long, dropping it.
    fn pass_over(&mut self, seen: &mut dyn FnMut(&[u8])) -> io::Result<Line<'static>> {
        let offset = self.offset;
        let mut len = (self.end - self.start) as u64;
        loop {
            self.start = 0;
            self.end = 0;
            self.scanned = 0;
            self.fill(seen)?;
            let newline = memchr::memchr(b'\n', &self.buf[..self.end]);
            let (in_line, next) = newline.map_or((self.end, self.end), |at| (at, at + 1));
            len += in_line as u64;
            self.start = next;
            self.scanned = next;
            if newline.is_some() || self.eof {
                let ended = newline.is_some();
                self.offset = offset + len + u64::from(ended);
                return Ok(Line { offset, len, bytes: None, ended });
            }
        }
    }

    /// Reads one chunk to the end of the buffer, making room first.
    fn fill(&mut self, seen: &mut dyn FnMut(&[u8])) -> io::Result<()> {
        if self.buf.len() - self.end < CHUNK {
            self.buf.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.scanned -= self.start;
            self.start = 0;
            if self.buf.len() - self.end < CHUNK {
                // Doubling keeps the copying linear in the length of a long line.
                let wanted = (self.buf.len() * 2).max(self.end + CHUNK);
                self.buf.resize(wanted, 0);
            }
        }
        let room = self.end + CHUNK;
        let n = loop {
            match self.reader.read(&mut self.buf[self.end..room]) {
                Err(err) if err.kind() == io::ErrorKind::Interrupted => {}
                other => break other?,
            }
        };
        seen(&self.buf[self.end..self.end + n]);
        self.end += n;
        self.eof = n == 0;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A reader that hands out a few bytes at a time, with interruptions.
    struct Dripping<'a>(&'a [u8], usize);

    impl Read for Dripping<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            self.1 += 1;
            if self.1.is_multiple_of(3) {
                return Err(io::ErrorKind::Interrupted.into());
            }
            let n = self.0.len().min(self.1 % 7 + 1).min(into.len());
            into[..n].copy_from_slice(&self.0[..n]);
            self.0 = &self.0[n..];
            Ok(n)
        }
    }

    proptest! {
        #[test]
        fn lines_are_where_a_naive_split_finds_them(text in "[ab\n]{0,60}", limit in 1_usize..12) {
            let text = text.as_bytes();
            let mut lines = Lines::new(Dripping(text, 0), limit);
            let mut seen = Vec::new();
            let mut rest = text;
            let mut offset = 0;
            while !rest.is_empty() {
                let len = rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len());
                let ended = len < rest.len();
                let line = lines.next(&mut |chunk| seen.extend_from_slice(chunk)).unwrap().unwrap();
                prop_assert_eq!((line.offset, line.len, line.ended), (offset as u64, len as u64, ended));
                prop_assert_eq!(line.bytes, (len <= limit).then_some(&rest[..len]));
                offset += len + usize::from(ended);
                rest = &text[offset..];
            }
            prop_assert!(lines.next(&mut |chunk| seen.extend_from_slice(chunk)).unwrap().is_none());
            prop_assert_eq!(seen, text);
        }
    }

    #[test]
    fn d10_lines_longer_than_the_buffer_are_held_up_to_the_limit_and_measured_beyond_it() {
        let long = vec![b'x'; CHUNK * 5];
        let mut text = long.clone();
        text.extend_from_slice(b"\nshort\n");
        for (limit, held) in [(CHUNK * 5, true), (CHUNK * 5 - 1, false), (10, false)] {
            let mut lines = Lines::new(&text[..], limit);
            let line = lines.next(&mut |_| {}).unwrap().unwrap();
            assert_eq!((line.offset, line.len, line.bytes.is_some()), (0, long.len() as u64, held));
            let line = lines.next(&mut |_| {}).unwrap().unwrap();
            assert_eq!((line.offset, line.bytes), (long.len() as u64 + 1, Some(&b"short"[..])));
            assert!(lines.buf.len() <= CHUNK * 10);
        }
    }
}
