//! What the text of a line says about its prompt, by words that are looked for in the whole of it: a request that merely quotes one
//! of them is taken for one that has it, which reserves too much for it, and never too little.

use memchr::memmem;

/// Whether it has content that is not text, such as an image: its tokens do not follow from its bytes.
pub(super) fn has_more_than_text(line: &[u8]) -> bool {
    has_name(line, b"\"source\"")
}

/// Whether some of it may be written to the prompt cache: nothing is without a `cache_control`.
pub(super) fn may_write_cache(line: &[u8]) -> bool {
    has_name(line, b"cache_control")
}

/// Whether the name of a field is there, or may be.
fn has_name(line: &[u8], name: &[u8]) -> bool {
    memmem::find(line, name).is_some() || hides_letters(line)
}

/// Whether letters or `_` are written as escapes, as no JSON writer does: names cannot be looked for then.
fn hides_letters(line: &[u8]) -> bool {
    memmem::find_iter(line, b"\\u00").any(|at| matches!(line.get(at + 4), Some(b'4'..=b'7')))
}
