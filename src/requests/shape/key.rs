//! The names of fields, as far as they matter.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Visitor};

/// The keys that matter in any of the objects.
pub(super) enum Key {
    CustomId,
    Params,
    Model,
    MaxTokens,
    Messages,
    Stream,
    Role,
    Speed,
    InferenceGeo,
    Tools,
    Type,
    MaxUses,
    /// A field of `params` for which the API adds nothing to the prompt.
    Plain,
    Other,
}

struct KeyVisitor;
impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Key, D::Error> {
        deserializer.deserialize_identifier(KeyVisitor)
    }
}
impl Visitor<'_> for KeyVisitor {
    type Value = Key;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }
    fn visit_str<E>(self, key: &str) -> Result<Key, E> {
        Ok(match key {
            "custom_id" => Key::CustomId,
            "params" => Key::Params,
            "model" => Key::Model,
            "max_tokens" => Key::MaxTokens,
            "messages" => Key::Messages,
            "stream" => Key::Stream,
            "role" => Key::Role,
            "speed" => Key::Speed,
            "inference_geo" => Key::InferenceGeo,
            "tools" => Key::Tools,
            "type" => Key::Type,
            "max_uses" => Key::MaxUses,
            "system" | "metadata" | "service_tier" | "stop_sequences" | "temperature" | "top_k" | "top_p" => Key::Plain,
            _ => Key::Other,
        })
    }
}
