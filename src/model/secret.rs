//! Keys, and how to keep them out of everything.

use std::borrow::Cow;
use std::fmt;

/// An API key. It has no `Display` and no `Serialize`; `Debug` shows nothing of it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Takes a key; surrounding white space is not part of it. `None` when nothing is left.
    pub fn new(text: &str) -> Option<Secret> {
        let text = text.trim();
        (!text.is_empty()).then(|| Secret(text.to_owned()))
    }

    /// The key itself, for the one header that carries it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// What stands where a key stood.
pub const MASK: &str = "[key]";

/// Removes key material from text of any origin: the keys of this process, and whatever looks like an Anthropic key.
#[derive(Clone, Default)]
pub struct Scrubber {
    keys: Vec<String>,
}

/// Keys of the API begin so, whatever their kind.
const KEY_PREFIX: &[u8] = b"sk-ant-";

impl Scrubber {
    /// Keys shorter than this are not searched for: they would mask ordinary words.
    pub const MIN_KEY_LEN: usize = 6;

    /// A scrubber for these keys.
    pub fn new<'a>(keys: impl IntoIterator<Item = &'a Secret>) -> Scrubber {
        let mut keys: Vec<String> = keys
            .into_iter()
            .map(|key| key.expose().to_owned())
            .filter(|key| key.len() >= Scrubber::MIN_KEY_LEN)
            .collect();
        // Longest first, so that a key that contains another is masked whole.
        keys.sort_by_key(|key| std::cmp::Reverse(key.len()));
        keys.dedup();
        Scrubber { keys }
    }

    /// Whether these bytes hold key material. Costs one scan a key.
    pub fn finds(&self, bytes: &[u8]) -> bool {
        memchr::memmem::find(bytes, KEY_PREFIX).is_some()
            || self.keys.iter().any(|key| memchr::memmem::find(bytes, key.as_bytes()).is_some())
    }

    /// The text without key material; borrowed when there was none.
    pub fn scrub<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if !self.finds(text.as_bytes()) {
            return Cow::Borrowed(text);
        }
        let mut out = text.to_owned();
        for key in &self.keys {
            if out.contains(key.as_str()) {
                out = out.replace(key.as_str(), MASK);
            }
        }
        Cow::Owned(mask_lookalikes(&out))
    }
}

/// Masks every run of key characters that starts with the prefix of Anthropic keys.
fn mask_lookalikes(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = memchr::memmem::find(rest.as_bytes(), KEY_PREFIX) {
        out.push_str(&rest[..at]);
        out.push_str(MASK);
        let tail = &rest[at..];
        let end = tail.find(|c: char| !(c.is_ascii_alphanumeric() || c == '-' || c == '_')).unwrap_or(tail.len());
        rest = &tail[end..];
    }
    out.push_str(rest);
    out
}

impl fmt::Debug for Scrubber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Scrubber({} keys)", self.keys.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_keys_and_lookalikes_are_masked_wherever_they_stand() {
        let key = Secret::new("  own-key-123\n").unwrap();
        let scrubber = Scrubber::new([&key]);
        assert_eq!(
            scrubber.scrub("bad own-key-123, and sk-ant-api03-AbC_d-9; é sk-ant-x"),
            "bad [key], and [key]; é [key]"
        );
        assert!(matches!(scrubber.scrub("nothing here"), Cow::Borrowed(_)));
    }

    #[test]
    fn debug_shows_nothing_of_a_key() {
        let key = Secret::new("own-key-123").unwrap();
        assert!(!format!("{key:?} {:?}", Scrubber::new([&key])).contains("own-key"));
    }

    #[test]
    fn a_blank_key_is_no_key() {
        assert_eq!(Secret::new(" \t\n"), None);
    }
}
