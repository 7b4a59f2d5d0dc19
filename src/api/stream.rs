//! Long answers: asked for as a stream, so that no network between takes the connection for a dead one, and put together
//! into the Message that a plain answer would have been.
//!
//! A request with a `max_tokens` above [`STREAM_ABOVE`] gets the member `"stream":true` at the head of its body, in place
//! of a `stream` of its own. That is the only byte that differs from the input, and it depends on nothing else, so a retry
//! sends the same bytes again.

use std::borrow::Cow;
use std::fmt;

use bytes::Bytes;
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// Above this `max_tokens` an answer may take more than ten minutes, at the 128,000 tokens an hour that the official SDKs
/// reckon with; they refuse to send such a request without a stream.
pub(crate) const STREAM_ABOVE: u32 = 21_333;

/// The body to send for a request: its own, or one that asks for a stream.
pub(crate) fn body(body: Bytes, max_tokens: u32) -> Bytes {
    if max_tokens <= STREAM_ABOVE { body } else { streaming(&body).unwrap_or(body) }
}

/// `None` for a body that is no object, which the API will say better than we could.
fn streaming(body: &Bytes) -> Option<Bytes> {
    let text = std::str::from_utf8(body).ok()?;
    let members = serde_json::from_str::<Members<'_>>(text).ok()?;
    let mut out = String::with_capacity(text.len() + 16);
    out.push_str(r#"{"stream":true"#);
    for (name, value) in members.0.iter().filter(|(name, _)| name != "stream") {
        out.push(',');
        out.push_str(&serde_json::to_string(name).ok()?);
        out.push(':');
        out.push_str(value.get());
    }
    out.push('}');
    Some(Bytes::from(out))
}

/// The members of an object, in their order, their values as they stand.
struct Members<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Members<'de>, D::Error> {
        struct Object;
        impl<'de> Visitor<'de> for Object {
            type Value = Members<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry::<Cow<'de, str>, &'de RawValue>()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Object)
    }
}

/// Why a stream did not become a Message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Unfinished {
    /// An error event came: its body, in the API's shape.
    Error(Bytes),
    /// It ended before its end, or was no stream of a Message; what was wrong, to follow "the answer is not a whole
    /// Message:".
    Broken(String),
}

/// Puts a Message together as its events come in.
#[derive(Debug, Default)]
pub(crate) struct Assembler {
    /// The line that has not ended yet.
    line: Vec<u8>,
    /// The `data` of the event that has not ended yet.
    data: Vec<u8>,
    message: Option<Map<String, Value>>,
    content: Vec<Block>,
    end: Option<Result<(), Unfinished>>,
}

/// A content block, with the text of its tool input until that is whole.
#[derive(Debug, Default)]
struct Block {
    value: Map<String, Value>,
    input: String,
}

impl Assembler {
    /// Takes more of the stream. True when nothing more is needed.
    pub(crate) fn feed(&mut self, chunk: &[u8]) -> bool {
        let mut rest = chunk;
        while self.end.is_none()
            && let Some(at) = memchr::memchr(b'\n', rest)
        {
            let (line, after) = rest.split_at(at);
            self.line.extend_from_slice(line);
            rest = after.get(1..).unwrap_or_default();
            let line = std::mem::take(&mut self.line);
            self.line(line.strip_suffix(b"\r").unwrap_or(&line));
        }
        self.line.extend_from_slice(rest);
        self.end.is_some()
    }

    /// Bytes of memory that it holds besides the Message.
    pub(crate) fn pending(&self) -> usize {
        self.line.len() + self.data.len()
    }

    /// The Message, as one line of JSON.
    pub(crate) fn finish(self) -> Result<Bytes, Unfinished> {
        let (message, content) = match (self.end, self.message) {
            (Some(Ok(())), Some(message)) => (message, self.content),
            (Some(Err(unfinished)), _) => return Err(unfinished),
            _ => return Err(Unfinished::Broken("the stream ended before its last event".to_owned())),
        };
        let mut message = message;
        let content = content.into_iter().map(Block::whole).collect::<Result<Vec<Value>, Unfinished>>()?;
        message.insert("content".to_owned(), Value::Array(content));
        serde_json::to_vec(&message).map(Bytes::from).map_err(|error| Unfinished::Broken(error.to_string()))
    }

    /// A line of the stream, without its end. An empty one ends an event.
    fn line(&mut self, line: &[u8]) {
        if line.is_empty() {
            let data = std::mem::take(&mut self.data);
            if !data.is_empty()
                && let Err(unfinished) = self.event(&data)
            {
                self.end = Some(Err(unfinished));
            }
        } else if let Some(data) = line.strip_prefix(b"data:") {
            if !self.data.is_empty() {
                self.data.push(b'\n');
            }
            self.data.extend_from_slice(data.strip_prefix(b" ").unwrap_or(data));
        }
        // `event` repeats the type that is in the data; `id`, `retry` and comments are of no use here.
    }

    fn event(&mut self, data: &[u8]) -> Result<(), Unfinished> {
        let broken = |what: &str| Unfinished::Broken(what.to_owned());
        let mut event: Map<String, Value> =
            serde_json::from_slice(data).map_err(|error| Unfinished::Broken(format!("an event: {error}")))?;
        let object = |event: &mut Map<String, Value>, name: &str| match event.remove(name) {
            Some(Value::Object(object)) => Ok(object),
            _ => Err(Unfinished::Broken(format!("an event without {name}"))),
        };
        let index = event.get("index").and_then(Value::as_u64).and_then(|n| usize::try_from(n).ok());
        match event.get("type").and_then(Value::as_str).unwrap_or_default() {
            "message_start" => self.message = Some(object(&mut event, "message")?),
            "content_block_start" => {
                if index != Some(self.content.len()) {
                    return Err(broken("a content block out of order"));
                }
                self.content.push(Block { value: object(&mut event, "content_block")?, input: String::new() });
            }
            "content_block_delta" => {
                let block = index.and_then(|index| self.content.get_mut(index));
                block.ok_or_else(|| broken("a delta without its block"))?.add(object(&mut event, "delta")?);
            }
            "message_delta" => {
                let message = self.message.as_mut().ok_or_else(|| broken("a delta without a message"))?;
                message.extend(object(&mut event, "delta")?);
                if let Some(Value::Object(usage)) = event.remove("usage") {
                    match message.get_mut("usage") {
                        // Counts are cumulative; those that are not repeated stand.
                        Some(Value::Object(standing)) => standing.extend(usage),
                        _ => drop(message.insert("usage".to_owned(), Value::Object(usage))),
                    }
                }
            }
            "message_stop" => self.end = Some(Ok(())),
            "error" => return Err(Unfinished::Error(Bytes::copy_from_slice(data))),
            // `ping`, `content_block_stop`, and what the API may add.
            _ => {}
        }
        Ok(())
    }
}

impl Block {
    fn add(&mut self, delta: Map<String, Value>) {
        let kind = delta.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
        for (name, value) in delta {
            match (kind.as_str(), name.as_str(), value) {
                (_, "type", _) => {}
                ("input_json_delta", "partial_json", Value::String(more)) => self.input.push_str(&more),
                ("citations_delta", "citation", citation) => match self.value.get_mut("citations") {
                    Some(Value::Array(citations)) => citations.push(citation),
                    _ => drop(self.value.insert("citations".to_owned(), Value::Array(vec![citation]))),
                },
                // Text, thinking, signatures, and kinds that the API may add: strings grow, anything else replaces.
                (_, name, value) => match (self.value.get_mut(name), value) {
                    (Some(Value::String(standing)), Value::String(more)) => standing.push_str(&more),
                    (_, value) => drop(self.value.insert(name.to_owned(), value)),
                },
            }
        }
    }

    fn whole(mut self) -> Result<Value, Unfinished> {
        if !self.input.is_empty() {
            let input = serde_json::from_str(&self.input)
                .map_err(|error| Unfinished::Broken(format!("the input of a tool: {error}")))?;
            self.value.insert("input".to_owned(), input);
        }
        Ok(Value::Object(self.value))
    }
}

/// Puts a whole stream together.
pub(crate) fn assemble(stream: &[u8]) -> Result<Bytes, Unfinished> {
    let mut assembler = Assembler::default();
    assembler.feed(stream);
    assembler.finish()
}

#[cfg(test)]
#[path = "stream_tests.rs"]
mod tests;
