//! What matters of a Message: that it is whole, whether it can be used, and what it is billed by.
//!
//! The parse is typed and borrows: it looks at a handful of fields and skips the rest, because it runs once per answer.
//! The text of an answer is looked at raw. Decoding it would cost an allocation, and would refuse what a model may well
//! write (half of a surrogate pair) and what the API has already billed.

use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::model::{Terms, Usage};

/// Counts above this are cut to it, so that no sum of counts overflows: a trillion tokens.
const MAX_COUNT: u64 = 1_000_000_000_000;

/// What one answer says about itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Facts {
    /// Stop reason `refusal`, or nothing in it that can be used.
    pub(super) refused: bool,
    /// What it is billed by.
    pub(super) usage: Usage,
}

/// Reads an answer.
///
/// # Errors
/// The text is not one whole Message.
pub(super) fn facts(text: &str) -> Result<Facts, serde_json::Error> {
    let message: Message<'_> = serde_json::from_str(text)?;
    if !message.id.get().starts_with('"') {
        return Err(Error::custom("the id is not a string"));
    }
    let MessageType::Message = message.kind;
    Ok(Facts {
        refused: matches!(message.stop_reason, StopReason::Refusal) || !message.content.usable,
        usage: message.usage.into(),
    })
}

#[derive(Deserialize)]
#[serde(expecting = "a Message")]
struct Message<'a> {
    #[serde(rename = "type")]
    kind: MessageType,
    #[serde(borrow)]
    id: &'a RawValue,
    content: Content,
    stop_reason: StopReason,
    usage: WireUsage,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum MessageType {
    Message,
}

/// New stop reasons may appear at any time; only this one means that the answer is no answer.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum StopReason {
    Refusal,
    #[serde(other)]
    Other,
}

/// The content blocks, folded into what is asked of them.
struct Content {
    usable: bool,
}

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Content, D::Error> {
        struct Blocks;
        impl<'de> Visitor<'de> for Blocks {
            type Value = Content;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an array of content blocks")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut blocks: A) -> Result<Content, A::Error> {
                let mut usable = false;
                while !usable {
                    match blocks.next_element::<Block<'de>>()? {
                        Some(block) => usable = block.is_usable(),
                        None => return Ok(Content { usable }),
                    }
                }
                while blocks.next_element::<IgnoredAny>()?.is_some() {}
                Ok(Content { usable })
            }
        }
        deserializer.deserialize_seq(Blocks)
    }
}

#[derive(Deserialize)]
#[serde(expecting = "a content block")]
struct Block<'a> {
    #[serde(rename = "type")]
    kind: BlockType,
    #[serde(borrow, default)]
    text: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum BlockType {
    Text,
    Thinking,
    RedactedThinking,
    #[serde(other)]
    Other,
}

impl Block<'_> {
    /// A tool call, or anything that the API may add, is content; thinking is not, and neither is blank text.
    fn is_usable(&self) -> bool {
        match self.kind {
            BlockType::Text => self.text.is_some_and(|raw| !is_blank(raw.get())),
            BlockType::Thinking | BlockType::RedactedThinking => false,
            BlockType::Other => true,
        }
    }
}

/// Whether a raw JSON string holds nothing but white space. What is not a string counts as blank.
fn is_blank(raw: &str) -> bool {
    let Some(inside) = raw.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) else { return true };
    match inside.bytes().next() {
        None => true,
        Some(first) if first.is_ascii_graphic() && first != b'\\' => false,
        // Escapes and non-ASCII white space are rare at the start of an answer: decode. A string that cannot be decoded
        // holds half of a surrogate pair, which is not white space.
        Some(_) => serde_json::from_str::<String>(raw).is_ok_and(|text| text.trim().is_empty()),
    }
}

/// `usage` as the wire has it: everything but input and output may be absent, null, or of a shape of its own.
#[derive(Deserialize)]
#[serde(expecting = "the usage of a Message")]
struct WireUsage {
    input_tokens: u64,
    output_tokens: u64,
    #[serde(default)]
    cache_creation_input_tokens: Lenient,
    #[serde(default)]
    cache_read_input_tokens: Lenient,
    #[serde(default)]
    cache_creation: Lax<CacheCreation>,
    #[serde(default)]
    server_tool_use: Lax<ServerToolUse>,
    #[serde(default)]
    speed: Lax<Speed>,
    #[serde(default)]
    inference_geo: Lax<Geo>,
}

#[derive(Deserialize, Default)]
struct CacheCreation {
    #[serde(default)]
    ephemeral_5m_input_tokens: Lenient,
    #[serde(default)]
    ephemeral_1h_input_tokens: Lenient,
}

#[derive(Deserialize, Default)]
struct ServerToolUse {
    #[serde(default)]
    web_search_requests: Lenient,
}

/// A speed that is not known costs as usual.
#[derive(Deserialize, Default)]
#[serde(rename_all = "snake_case")]
enum Speed {
    Fast,
    #[default]
    #[serde(other)]
    Other,
}

/// Where an answer was made. Older models say `not_available`.
#[derive(Deserialize, Default)]
#[serde(rename_all = "snake_case")]
enum Geo {
    Us,
    #[default]
    #[serde(other)]
    Other,
}

/// A value that is its default when it is null or of another type.
#[derive(Default)]
struct Lax<T>(T);

impl<'de, T: DeserializeOwned + Default> Deserialize<'de> for Lax<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Lax<T>, D::Error> {
        let raw = <&'de RawValue>::deserialize(deserializer)?;
        Ok(Lax(serde_json::from_str(raw.get()).unwrap_or_default()))
    }
}

/// A count that may be null. Negative and broken numbers are nothing, and so is what is none: no field of a bill but input
/// and output is worth losing a billed answer for.
#[derive(Default, Clone, Copy)]
struct Lenient(u64);

impl<'de> Deserialize<'de> for Lenient {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Lenient, D::Error> {
        struct Count;
        impl<'de> Visitor<'de> for Count {
            type Value = Lenient;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a count of tokens")
            }
            fn visit_u64<E>(self, n: u64) -> Result<Lenient, E> {
                Ok(Lenient(n))
            }
            fn visit_i64<E>(self, n: i64) -> Result<Lenient, E> {
                Ok(Lenient(u64::try_from(n).unwrap_or(0)))
            }
            fn visit_f64<E>(self, n: f64) -> Result<Lenient, E> {
                // The cast saturates, and takes what is not a number for zero.
                Ok(Lenient(n as u64))
            }
            fn visit_unit<E>(self) -> Result<Lenient, E> {
                Ok(Lenient(0))
            }
            fn visit_bool<E>(self, _: bool) -> Result<Lenient, E> {
                Ok(Lenient(0))
            }
            fn visit_str<E>(self, _: &str) -> Result<Lenient, E> {
                Ok(Lenient(0))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<Lenient, A::Error> {
                IgnoredAny.visit_seq(items).map(|_| Lenient(0))
            }
            fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<Lenient, A::Error> {
                IgnoredAny.visit_map(fields).map(|_| Lenient(0))
            }
        }
        deserializer.deserialize_any(Count)
    }
}

impl From<WireUsage> for Usage {
    /// Writes that the split does not account for are taken for five-minute ones, the API's default lifetime.
    fn from(wire: WireUsage) -> Usage {
        let capped = |count: u64| count.min(MAX_COUNT);
        let split = wire.cache_creation.0;
        let one_hour = capped(split.ephemeral_1h_input_tokens.0);
        let five_minutes = capped(split.ephemeral_5m_input_tokens.0);
        let unaccounted = capped(wire.cache_creation_input_tokens.0).saturating_sub(one_hour + five_minutes);
        Usage {
            input_tokens: capped(wire.input_tokens),
            output_tokens: capped(wire.output_tokens),
            cache_write_5m: five_minutes + unaccounted,
            cache_write_1h: one_hour,
            cache_read: capped(wire.cache_read_input_tokens.0),
            web_searches: capped(wire.server_tool_use.0.web_search_requests.0),
            terms: Terms {
                fast: matches!(wire.speed.0, Speed::Fast),
                us_inference: matches!(wire.inference_geo.0, Geo::Us),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(content: &str, stop: &str, usage: &str) -> String {
        format!(
            r#"{{"model":"m","id":"msg_1","type":"message","role":"assistant","content":{content},"stop_reason":{stop},"stop_sequence":null,"usage":{usage}}}"#
        )
    }

    fn refused(content: &str, stop: &str) -> bool {
        facts(&message(content, stop, r#"{"input_tokens":1,"output_tokens":2}"#)).unwrap().refused
    }

    fn usage(usage: &str) -> Usage {
        facts(&message(r#"[{"type":"text","text":"x"}]"#, r#""end_turn""#, usage)).unwrap().usage
    }

    #[test]
    fn l19_an_answer_without_usable_content_is_refused() {
        for (content, expected) in [
            (r#"[{"type":"text","text":"Yes."}]"#, false),
            (r#"[{"text":"Yes.","type":"text","citations":null}]"#, false),
            (r#"[{"type":"thinking","thinking":"","signature":"s"},{"type":"text","text":"A"}]"#, false),
            (r#"[{"type":"text","text":"\n\n yes"}]"#, false),
            (r#"[{"type":"text","text":"\ud83d"}]"#, false),
            (r#"[{"type":"text","text":"é"}]"#, false),
            (r#"[{"type":"text","text":""},{"type":"tool_use","id":"t","name":"n","input":{}}]"#, false),
            (r#"[{"type":"a_block_of_next_year","x":[1]}]"#, false),
            (r"[]", true),
            (r#"[{"type":"text","text":""}]"#, true),
            (r#"[{"type":"text"}]"#, true),
            (r#"[{"type":"text","text":null}]"#, true),
            (r#"[{"type":"text","text":" \n\t\u00a0\u2003 "}]"#, true),
            (r#"[{"type":"thinking","thinking":"long thoughts"},{"type":"redacted_thinking","data":"x"}]"#, true),
        ] {
            assert_eq!(refused(content, r#""end_turn""#), expected, "{content}");
            assert_eq!(refused(content, r#""a_new_reason""#), expected, "{content}");
        }
    }

    #[test]
    fn l19_stop_reason_refusal_is_refused_whatever_the_content() {
        assert!(refused(r#"[{"type":"text","text":"I cannot"}]"#, r#""refusal""#));
        assert!(refused("[]", r#""refusal""#));
    }

    #[test]
    fn usage_is_read_with_every_optional_field_absent_null_or_present() {
        let plain = Usage { input_tokens: 13, output_tokens: 44, ..Usage::default() };
        assert_eq!(usage(r#"{"input_tokens":13,"output_tokens":44}"#), plain);
        assert_eq!(
            usage(
                r#"{"input_tokens":13,"output_tokens":44,"cache_creation_input_tokens":null,"cache_read_input_tokens":null,"cache_creation":null,"server_tool_use":null,"service_tier":"standard","inference_geo":"global"}"#
            ),
            plain
        );
        assert_eq!(
            usage(
                r#"{"input_tokens":1,"output_tokens":2,"cache_creation_input_tokens":30,"cache_read_input_tokens":40,"cache_creation":{"ephemeral_5m_input_tokens":10,"ephemeral_1h_input_tokens":20}}"#
            ),
            Usage {
                input_tokens: 1,
                output_tokens: 2,
                cache_write_5m: 10,
                cache_write_1h: 20,
                cache_read: 40,
                ..Usage::default()
            }
        );
    }

    #[test]
    fn searches_speed_and_geo_are_read_and_of_any_other_type_cost_no_answer() {
        let of = |more: &str| {
            let usage = usage(&format!(r#"{{"input_tokens":1,"output_tokens":2,{more}}}"#));
            (usage.web_searches, usage.terms.fast, usage.terms.us_inference)
        };
        assert_eq!(
            of(
                r#""server_tool_use":{"web_search_requests":3,"web_fetch_requests":1},"speed":"fast","inference_geo":"us""#
            ),
            (3, true, true)
        );
        for odd in
            ["null", "7", "-7", "true", r#""standard""#, r#""global""#, "[]", "{}", r#"{"web_search_requests":null}"#]
        {
            for name in ["server_tool_use", "speed", "inference_geo", "cache_creation", "cache_read_input_tokens"] {
                assert_eq!(of(&format!(r#""{name}":{odd}"#)), (0, false, false), "{name}: {odd}");
            }
            let (searches, ..) = of(&format!(r#""server_tool_use":{{"web_search_requests":{odd}}}"#));
            assert_eq!(searches, if odd == "7" { 7 } else { 0 }, "{odd}");
        }
    }

    #[test]
    fn cache_writes_without_a_split_are_five_minute_ones() {
        assert_eq!(
            usage(r#"{"input_tokens":1,"output_tokens":2,"cache_creation_input_tokens":30}"#).cache_write_5m,
            30
        );
        let part = usage(
            r#"{"input_tokens":1,"output_tokens":2,"cache_creation_input_tokens":30,"cache_creation":{"ephemeral_1h_input_tokens":20,"ephemeral_5m_input_tokens":null}}"#,
        );
        assert_eq!((part.cache_write_5m, part.cache_write_1h), (10, 20));
    }

    #[test]
    fn senseless_counts_lose_no_answer_and_overflow_no_sum() {
        let odd = usage(
            r#"{"input_tokens":18446744073709551615,"output_tokens":2,"cache_creation_input_tokens":18446744073709551615,"cache_read_input_tokens":-3,"cache_creation":{"ephemeral_5m_input_tokens":1e300,"ephemeral_1h_input_tokens":2.5}}"#,
        );
        assert_eq!(odd.cache_read, 0);
        assert!(odd.prompt_tokens() <= 4 * MAX_COUNT);
    }

    #[test]
    fn what_is_not_a_whole_message_is_an_error() {
        let whole =
            message(r#"[{"type":"text","text":"x"}]"#, r#""end_turn""#, r#"{"input_tokens":1,"output_tokens":2}"#);
        assert!(facts(&whole).is_ok());
        for cut in 0..whole.len() {
            assert!(facts(&whole[..cut]).is_err(), "cut at {cut}");
        }
        for (from, to) in [
            (r#""id":"msg_1","#, ""),
            (r#""id":"msg_1""#, r#""id":7"#),
            (r#""type":"message""#, r#""type":"completion""#),
            (r#""stop_reason":"end_turn""#, r#""stop_reason":null"#),
            (r#""input_tokens":1,"#, ""),
            (r#""output_tokens":2"#, r#""output_tokens":null"#),
            (r#"[{"type":"text","text":"x"}]"#, r#""x""#),
        ] {
            assert!(whole.contains(from), "{from}");
            assert!(facts(&whole.replace(from, to)).is_err(), "{from} became {to}");
        }
        assert!(facts(&format!("{whole}{whole}")).is_err());
    }
}
