//! What the requests of an input are tagged with: passes over the file, eight bytes of memory a request.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::model::RequestNo;

use super::error::ReadError;
use super::index::Input;
use super::scan;

/// The tag `metadata.NAME` of every request, as a key. There may be as many values as requests: their texts are read again
/// for the few that are shown.
#[derive(Debug)]
pub struct Tags {
    name: String,
    /// The key of each request's value.
    keys: Vec<u64>,
}

/// The key of a text. Of a million texts, two have the same one in one run of thirty million.
pub fn key_of(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

impl Tags {
    /// The value of requests without the tag.
    pub const NONE: &'static str = "(none)";

    /// Reads the tag `metadata.NAME` of every request: a member `metadata` of its line, else of its params.
    ///
    /// # Errors
    /// The input cannot be read as it was indexed.
    pub fn read(input: &Input, name: &str) -> Result<Tags, ReadError> {
        let none = key_of(Tags::NONE);
        let mut keys = vec![none; input.len() as usize];
        input.each_line(0, input.len(), &mut Vec::new(), &mut |no, line| {
            // By the text and not as it is written, which may be in several ways.
            if let (Some(raw), Some(slot)) = (value_of(line, name), keys.get_mut(no.ix())) {
                *slot = key_of(&text_of(raw));
            }
        })?;
        Ok(Tags { name: name.to_owned(), keys })
    }

    /// The key of a request's value; that of [`Tags::NONE`] for a request that is not of the input.
    pub fn of(&self, no: RequestNo) -> u64 {
        self.keys.get(no.ix()).copied().unwrap_or_else(|| key_of(Tags::NONE))
    }

    /// The texts of these keys.
    ///
    /// # Errors
    /// As for [`Tags::read`].
    pub fn texts(&self, input: &Input, wanted: &HashSet<u64>) -> Result<HashMap<u64, String>, ReadError> {
        let mut texts = HashMap::from([(key_of(Tags::NONE), Tags::NONE.to_owned())]);
        input.each_line(0, input.len(), &mut Vec::new(), &mut |no, line| {
            let key = self.of(no);
            if wanted.contains(&key) && !texts.contains_key(&key) {
                texts.extend(value_of(line, &self.name).map(|raw| (key, text_of(raw).into_owned())));
            }
        })?;
        Ok(texts)
    }
}

/// The text of a value: what a string says, and anything else as it is written.
fn text_of(raw: &[u8]) -> Cow<'_, str> {
    serde_json::from_slice::<String>(raw).map_or_else(|_| String::from_utf8_lossy(raw), Cow::Owned)
}

/// The value of a tag as it is written in a line.
fn value_of<'l>(line: &'l [u8], name: &str) -> Option<&'l [u8]> {
    let inside = |text: &'l [u8], name: &str| Some(&text[scan::member(text, name)?]);
    let own = inside(line, "metadata").and_then(|metadata| inside(metadata, name));
    own.or_else(|| inside(inside(inside(line, "params")?, "metadata")?, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_is_read_from_the_line_or_from_the_params_and_missing_ones_are_said() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("in.jsonl");
        let line = |id: &str, own: &str, metadata: &str| {
            format!(
                r#"{{"custom_id":"{id}"{own},"params":{{"model":"claude-haiku-4-5","max_tokens":5,"messages":[{{"role":"user","content":"x"}}]{metadata}}}}}"#
            )
        };
        let lines = [
            line("a", "", r#","metadata":{"user_id":"u\u0031"}"#),
            line("b", r#","metadata":{"user_id":"u1"}"#, r#","metadata":{"user_id":"u9"}"#),
            line("c", "", ""),
            line("d", "", r#","metadata":{"user_id":7}"#),
        ];
        std::fs::write(&path, lines.join("\n")).unwrap();
        let input = Input::index(&path, &mut |_| {}).unwrap();
        let tags = Tags::read(&input, "user_id").unwrap();
        let keys: Vec<u64> = (0..4).map(|no| tags.of(RequestNo(no))).collect();
        let wanted = keys.iter().copied().collect();
        let texts = tags.texts(&input, &wanted).unwrap();
        let values: Vec<&str> = keys.iter().map(|key| texts[key].as_str()).collect();
        assert_eq!(values, ["u1", "u1", Tags::NONE, "7"]);
        assert_eq!(tags.of(RequestNo(4)), key_of(Tags::NONE));
        assert_eq!(tags.texts(&input, &HashSet::from([key_of("7")])).unwrap().len(), 2);
    }
}
