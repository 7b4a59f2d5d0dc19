//! Copying by OSC 52: the terminal puts a text into its clipboard, also over SSH. Whether it did, nobody is told; so the message
//! says what was asked, and shows the text.

/// The sequence that asks a terminal to put a text into its clipboard.
pub(super) fn sequence(text: &str) -> String {
    format!("\x1b]52;c;{}\x07", base64(text.as_bytes()))
}

/// Whether a terminal is known to take no such sequence: the console of Linux prints nothing and does nothing.
pub(super) fn is_hopeless(term: &str) -> bool {
    term.is_empty() || ["linux", "dumb", "vt100", "vt220"].contains(&term)
}

/// RFC 4648, with padding.
fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let bits = chunk.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for at in 0..4 {
            let six = (bits >> (18 - 6 * at)) & 63;
            let letter = ALPHABET.get(six as usize).copied().unwrap_or(b'=');
            out.push(if at <= chunk.len() { char::from(letter) } else { '=' });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_that_of_the_rfc() {
        for (text, wanted) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("ü", "w7w=")]
        {
            assert_eq!(base64(text.as_bytes()), wanted);
        }
        assert_eq!(sequence("f"), "\x1b]52;c;Zg==\x07");
    }
}
