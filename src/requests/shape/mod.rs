//! What a line must look like, checked in one pass over its text: nothing is built but a few borrowed words.
//!
//! The visitors take any JSON and note what they found, instead of failing on the first thing that is wrong, so that
//! one pass over a file reports all of its problems. A `serde_json::Value` would do the same at ten times the cost.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::error::ProblemKind;
use super::extras::Extras;
use crate::model::Terms;

/// What a usable line says of its request.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Usable<'a> {
    /// The user's id.
    pub(super) custom_id: Cow<'a, str>,
    /// `params.model`; empty when it is among the problems.
    pub(super) model: Cow<'a, str>,
    /// `params.max_tokens`; zero when it is among the problems.
    pub(super) max_tokens: u32,
    /// What it asks for besides tokens at the usual prices.
    pub(super) extras: Extras,
}

impl Usable<'_> {
    /// With what the text of its line says about its prompt.
    fn with_text(mut self, line: &[u8]) -> Self {
        self.extras = self.extras.of_prompt(prompt::has_more_than_text(line), prompt::may_write_cache(line));
        self
    }
}

/// Checks a line. Every problem is handed to `add`; what is returned is as much of the line as can be used, which is
/// its id at the least.
pub(super) fn check<'a>(line: &'a [u8], add: &mut dyn FnMut(ProblemKind)) -> Option<Usable<'a>> {
    let text = match std::str::from_utf8(line) {
        Ok(text) => text,
        Err(err) => {
            let column = err.valid_up_to() + 1;
            add(not_text(line).map_or(ProblemKind::NotUtf8 { column }, ProblemKind::NotText));
            return None;
        }
    };
    match serde_json::from_str::<Top<'a>>(text) {
        Ok(Top::Object(shape)) => shape.check(add).map(|usable| usable.with_text(line)),
        Ok(Top::Other(found)) => {
            add(ProblemKind::NotAnObject(found));
            None
        }
        Err(err) => {
            let words = err.to_string();
            let what = words.split(" at line ").next().unwrap_or_default().to_owned();
            add(ProblemKind::NotJson { column: err.column(), what });
            None
        }
    }
}

/// What a line that is no UTF-8 is the beginning of, by the bytes that such files begin with.
fn not_text(line: &[u8]) -> Option<&'static str> {
    let begins = |with: &[u8]| line.starts_with(with);
    if begins(b"\x1f\x8b") {
        Some("compressed by gzip; unpack the file first")
    } else if begins(b"\x28\xb5\x2f\xfd") {
        Some("compressed by zstd; unpack the file first")
    } else if begins(b"\xff\xfe") || begins(b"\xfe\xff") {
        Some("UTF-16; save the file as UTF-8")
    } else {
        None
    }
}

/// Any JSON value, as far as it is of interest.
#[derive(Debug)]
enum Any<'a> {
    Whole(u64),
    Text(Cow<'a, str>),
    Bool(bool),
    /// Anything else; what it is, with its article.
    Other(&'static str),
}

impl Any<'_> {
    /// Whether it is a text of which this holds.
    fn is_text(&self, holds: impl Fn(&str) -> bool) -> bool {
        matches!(self, Any::Text(text) if holds(text))
    }

    /// What it is, in words.
    fn found(&self) -> String {
        match self {
            Any::Whole(number) => number.to_string(),
            Any::Text(text) if text.is_empty() => "an empty string".to_owned(),
            Any::Text(_) => "a string".to_owned(),
            Any::Bool(value) => value.to_string(),
            Any::Other(what) => (*what).to_owned(),
        }
    }
}

/// A field of an object.
#[derive(Debug)]
struct Field<T> {
    value: Option<T>,
    twice: bool,
}

impl<T> Default for Field<T> {
    fn default() -> Field<T> {
        Field { value: None, twice: false }
    }
}

impl<T> Field<T> {
    fn put(&mut self, value: T) {
        self.twice |= self.value.is_some();
        self.value = Some(value);
    }

    /// The value, with what is wrong about its number handed to `add`.
    fn once(self, name: &'static str, add: &mut dyn FnMut(ProblemKind)) -> Option<T> {
        if self.twice {
            add(ProblemKind::Twice(name));
        } else if self.value.is_none() {
            add(ProblemKind::Missing(name));
        }
        self.value
    }
}

enum Top<'a> {
    Object(Line<'a>),
    Other(&'static str),
}

#[derive(Default)]
struct Line<'a> {
    custom_id: Field<Any<'a>>,
    params: Field<ParamsOr<'a>>,
}

enum ParamsOr<'a> {
    Params(Params<'a>),
    Other(&'static str),
}

#[derive(Default)]
struct Params<'a> {
    model: Field<Any<'a>>,
    max_tokens: Field<Any<'a>>,
    messages: Field<MessagesOr>,
    stream: Field<Any<'a>>,
    terms: Terms,
    searches: u64,
    /// It has a field that may have the API add to the prompt.
    adds: bool,
}

enum MessagesOr {
    /// Their number, and what is wrong with some of them.
    Messages(usize, Vec<ProblemKind>),
    Other(&'static str),
}

enum Message {
    Object { system: bool },
    Other(&'static str),
}

impl<'a> Line<'a> {
    fn check(self, add: &mut dyn FnMut(ProblemKind)) -> Option<Usable<'a>> {
        let custom_id = match self.custom_id.once("custom_id", add) {
            Some(Any::Text(id)) => Some(id),
            Some(other) => {
                add(ProblemKind::Wrong { field: "custom_id", wanted: "a string", found: other.found() });
                None
            }
            None => None,
        };
        let (model, max_tokens, extras) = match self.params.once("params", add) {
            Some(ParamsOr::Params(params)) => params.check(add),
            Some(ParamsOr::Other(found)) => {
                add(ProblemKind::Wrong { field: "params", wanted: "an object", found: found.to_owned() });
                (Cow::Borrowed(""), 0, Extras::default())
            }
            None => (Cow::Borrowed(""), 0, Extras::default()),
        };
        custom_id.map(|custom_id| Usable { custom_id, model, max_tokens, extras })
    }
}

impl<'a> Params<'a> {
    fn check(self, add: &mut dyn FnMut(ProblemKind)) -> (Cow<'a, str>, u32, Extras) {
        let model = match self.model.once("params.model", add) {
            Some(Any::Text(model)) if !model.is_empty() => model,
            Some(other) => {
                let found = other.found();
                add(ProblemKind::Wrong { field: "params.model", wanted: "the id of a model", found });
                Cow::Borrowed("")
            }
            None => Cow::Borrowed(""),
        };
        let max_tokens = match self.max_tokens.once("params.max_tokens", add) {
            Some(Any::Whole(number)) if number <= u64::from(u32::MAX) => number as u32,
            Some(other) => {
                let wanted = "a whole number from 0 to 4294967295";
                add(ProblemKind::Wrong { field: "params.max_tokens", wanted, found: other.found() });
                0
            }
            None => 0,
        };
        let wanted = "an array with at least one message";
        match self.messages.once("params.messages", add) {
            Some(MessagesOr::Messages(0, _)) => {
                add(ProblemKind::Wrong { field: "params.messages", wanted, found: "an empty array".to_owned() });
            }
            Some(MessagesOr::Messages(_, problems)) => problems.into_iter().for_each(&mut *add),
            Some(MessagesOr::Other(found)) => {
                add(ProblemKind::Wrong { field: "params.messages", wanted, found: found.to_owned() });
            }
            None => {}
        }
        if matches!(self.stream.value, Some(Any::Bool(true))) {
            add(ProblemKind::Stream);
        }
        (model, max_tokens, Extras::new(self.terms, self.searches).of_prompt(self.adds, false))
    }
}

/// The visits that come to "something else", which are all but those that a visitor handles itself.
macro_rules! other {
    ($make:expr; $($visit:ident)*) => { $(other!(@ $visit, $make);)* };
    (@ null, $make:expr) => {
        fn visit_unit<E>(self) -> Result<Self::Value, E> { Ok($make("null")) }
    };
    (@ bool, $make:expr) => {
        fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> { Ok($make("a boolean")) }
    };
    (@ unsigned, $make:expr) => {
        fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> { Ok($make("a number")) }
    };
    (@ number, $make:expr) => {
        fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> { Ok($make("a negative number")) }
        fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> { Ok($make("a number with a fraction or an exponent")) }
    };
    (@ text, $make:expr) => {
        fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> { Ok($make("a string")) }
    };
    (@ array, $make:expr) => {
        fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
            while items.next_element::<IgnoredAny>()?.is_some() {}
            Ok($make("an array"))
        }
    };
    (@ object, $make:expr) => {
        fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Self::Value, A::Error> {
            while fields.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            Ok($make("an object"))
        }
    };
}

/// A type that is read from whatever is there, by its visitor.
macro_rules! from_any {
    ($type:ty, $visitor:ident) => {
        impl<'de: 'a, 'a> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_any($visitor)
            }
        }
    };
}

fn any_json(f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_str("any JSON")
}

mod key;
mod prompt;
mod tools;
use key::Key;
use tools::Searches;

struct AnyVisitor;
from_any!(Any<'a>, AnyVisitor);
impl<'de> Visitor<'de> for AnyVisitor {
    type Value = Any<'de>;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        any_json(f)
    }
    fn visit_u64<E>(self, number: u64) -> Result<Any<'de>, E> {
        Ok(Any::Whole(number))
    }
    fn visit_bool<E>(self, value: bool) -> Result<Any<'de>, E> {
        Ok(Any::Bool(value))
    }
    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Any<'de>, E> {
        Ok(Any::Text(Cow::Borrowed(text)))
    }
    fn visit_str<E>(self, text: &str) -> Result<Any<'de>, E> {
        Ok(Any::Text(Cow::Owned(text.to_owned())))
    }
    other!(Any::Other; null number array object);
}

struct TopVisitor;
from_any!(Top<'a>, TopVisitor);
impl<'de> Visitor<'de> for TopVisitor {
    type Value = Top<'de>;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        any_json(f)
    }
    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Top<'de>, A::Error> {
        let mut line = Line::default();
        while let Some(key) = fields.next_key()? {
            match key {
                Key::CustomId => line.custom_id.put(fields.next_value()?),
                Key::Params => line.params.put(fields.next_value()?),
                _ => drop(fields.next_value::<IgnoredAny>()?),
            }
        }
        Ok(Top::Object(line))
    }
    other!(Top::Other; null bool unsigned number text array);
}

struct ParamsVisitor;
from_any!(ParamsOr<'a>, ParamsVisitor);
impl<'de> Visitor<'de> for ParamsVisitor {
    type Value = ParamsOr<'de>;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        any_json(f)
    }
    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<ParamsOr<'de>, A::Error> {
        let mut params = Params::default();
        while let Some(key) = fields.next_key()? {
            match key {
                Key::Model => params.model.put(fields.next_value()?),
                Key::MaxTokens => params.max_tokens.put(fields.next_value()?),
                Key::Messages => params.messages.put(fields.next_value()?),
                Key::Stream => params.stream.put(fields.next_value()?),
                // Where one is there twice, the dearer is taken.
                Key::Speed => params.terms.fast |= fields.next_value::<Any<'de>>()?.is_text(|speed| speed == "fast"),
                Key::InferenceGeo => {
                    params.terms.us_inference |= fields.next_value::<Any<'de>>()?.is_text(|geo| geo == "us");
                }
                Key::Tools => {
                    params.adds = true;
                    params.searches = params.searches.max(fields.next_value::<Searches>()?.0);
                }
                other => {
                    params.adds |= !matches!(other, Key::Plain);
                    let IgnoredAny = fields.next_value()?;
                }
            }
        }
        Ok(ParamsOr::Params(params))
    }
    other!(ParamsOr::Other; null bool unsigned number text array);
}

struct MessagesVisitor;
impl<'de> Deserialize<'de> for MessagesOr {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<MessagesOr, D::Error> {
        deserializer.deserialize_any(MessagesVisitor)
    }
}
impl<'de> Visitor<'de> for MessagesVisitor {
    type Value = MessagesOr;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        any_json(f)
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<MessagesOr, A::Error> {
        let mut problems = Vec::new();
        let mut index = 0;
        while let Some(message) = items.next_element()? {
            match message {
                Message::Object { system: false } => {}
                Message::Object { system: true } => problems.push(ProblemKind::SystemRole { index }),
                Message::Other(found) => problems.push(ProblemKind::NotAMessage { index, found }),
            }
            index += 1;
        }
        Ok(MessagesOr::Messages(index, problems))
    }
    other!(MessagesOr::Other; null bool unsigned number text object);
}

struct MessageVisitor;
impl<'de> Deserialize<'de> for Message {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Message, D::Error> {
        deserializer.deserialize_any(MessageVisitor)
    }
}
impl<'de> Visitor<'de> for MessageVisitor {
    type Value = Message;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        any_json(f)
    }
    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Message, A::Error> {
        let mut system = false;
        while let Some(key) = fields.next_key()? {
            match key {
                Key::Role => system |= matches!(fields.next_value()?, Any::Text(role) if role == "system"),
                _ => drop(fields.next_value::<IgnoredAny>()?),
            }
        }
        Ok(Message::Object { system })
    }
    other!(Message::Other; null bool unsigned number text array);
}
