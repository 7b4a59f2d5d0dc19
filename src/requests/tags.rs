//! What the requests of an input are tagged with: one pass over the file, two bytes of memory a request.

use std::borrow::Cow;
use std::collections::HashMap;

use crate::model::RequestNo;

use super::error::ReadError;
use super::index::Input;
use super::scan;

/// Values that are told apart; requests with others are counted as [`Tags::OTHERS`].
const VALUES: usize = 2_000;

/// A tag of every request.
#[derive(Debug)]
pub struct Tags {
    /// The value of each request, as an index into `values`.
    of: Vec<u16>,
    values: Vec<String>,
}

impl Tags {
    /// The value of requests without the tag.
    pub const NONE: &'static str = "(none)";
    /// The value of requests whose own comes after the first 2,000.
    pub const OTHERS: &'static str = "(others)";

    /// Reads the tag `metadata.NAME` of every request: a member `metadata` of its line, else of its params.
    ///
    /// # Errors
    /// The input cannot be read as it was indexed.
    pub fn read(input: &Input, name: &str) -> Result<Tags, ReadError> {
        let mut tags = Tags { of: vec![0; input.len() as usize], values: vec![Tags::NONE.to_owned()] };
        // By the text and not as it is written, which may be in several ways; and only of those that are told apart, since
        // there may be as many values as requests.
        let mut known: HashMap<String, u16> = HashMap::new();
        let mut buffer = Vec::new();
        input.each_line(0, input.len(), &mut buffer, &mut |no, line| {
            let Some(raw) = value_of(line, name) else { return };
            let text = text_of(raw);
            let at = known.get(text.as_ref()).copied().unwrap_or_else(|| {
                let is_other = tags.values.len() >= VALUES;
                let text = if is_other { Tags::OTHERS.to_owned() } else { text.into_owned() };
                tags.add(text, &mut known)
            });
            if let Some(slot) = tags.of.get_mut(no.ix()) {
                *slot = at;
            }
        })?;
        Ok(tags)
    }

    fn add(&mut self, text: String, known: &mut HashMap<String, u16>) -> u16 {
        if let Some(at) = known.get(&text) {
            return *at;
        }
        let at = self.values.len() as u16;
        self.values.push(text.clone());
        known.insert(text, at);
        at
    }

    /// The value of a request.
    pub fn of(&self, no: RequestNo) -> &str {
        let at = self.of.get(no.ix()).copied().unwrap_or(0);
        self.values.get(usize::from(at)).map_or(Tags::NONE, String::as_str)
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
        let values: Vec<&str> = (0..4).map(|no| tags.of(RequestNo(no))).collect();
        assert_eq!(values, ["u1", "u1", Tags::NONE, "7"]);
    }
    #[test]
    fn as_many_values_as_requests_are_counted_together_from_some_number_on() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("in.jsonl");
        let n = VALUES + 50;
        let line = |no: usize| {
            format!(
                r#"{{"custom_id":"r-{no}","metadata":{{"tag":"v-{no}"}},"params":{{"model":"claude-haiku-4-5","max_tokens":5,"messages":[{{"role":"user","content":"x"}}]}}}}"#
            )
        };
        std::fs::write(&path, (0..n).map(line).collect::<Vec<_>>().join("\n")).unwrap();
        let tags = Tags::read(&Input::index(&path, &mut |_| {}).unwrap(), "tag").unwrap();
        assert_eq!(tags.values.len(), VALUES + 1);
        assert_eq!((tags.of(RequestNo(7)), tags.of(RequestNo(n as u32 - 1))), ("v-7", Tags::OTHERS));
    }
}
