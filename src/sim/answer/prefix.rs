//! The prefixes of a request that `cache_control` marks for the prompt cache.

use serde_json::Value;
use sha2::{Digest, Sha256};

use super::super::models::Model;
use super::CHARS_PER_TOKEN;
use super::essence::text_len;

/// The blocks of a prompt, in the order in which they are cached: tools, system, messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::sim) struct Prefixes {
    /// Identity and tokens of the prompt up to and including each block.
    pub(in crate::sim) blocks: Vec<(u64, u32)>,
    /// The marked blocks, and whether they are kept for an hour. In ascending order, at least one.
    pub(in crate::sim) marks: Vec<(usize, bool)>,
}

impl Prefixes {
    /// The prefixes of a request that has passed validation; `None` when nothing is marked.
    pub(in crate::sim) fn of(request: &Value, model: &Model) -> Option<Prefixes> {
        let mut walk =
            Walk { hash: Sha256::new(), chars: 0, found: Prefixes { blocks: Vec::new(), marks: Vec::new() } };
        walk.hash.update(model.id);
        walk.hash.update(request["tool_choice"].to_string());
        for tool in request["tools"].as_array().into_iter().flatten() {
            walk.block("tool", tool);
        }
        walk.content("system", &request["system"]);
        for message in request["messages"].as_array().into_iter().flatten() {
            walk.content(message["role"].as_str().unwrap_or_default(), &message["content"]);
        }
        let mut found = walk.found;
        if let (Some(hour), Some(last)) = (ttl(&request["cache_control"]), found.blocks.len().checked_sub(1))
            && found.marks.last().is_none_or(|(at, _)| *at < last)
        {
            found.marks.push((last, hour));
        }
        (!found.marks.is_empty()).then_some(found)
    }
}

/// Whether a `cache_control` asks for an hour; `None` when it is not one.
fn ttl(control: &Value) -> Option<bool> {
    control.is_object().then(|| control["ttl"] == "1h")
}

struct Walk {
    hash: Sha256,
    chars: usize,
    found: Prefixes,
}

impl Walk {
    fn content(&mut self, role: &str, content: &Value) {
        match content {
            Value::String(_) => self.block(role, content),
            Value::Array(blocks) => blocks.iter().for_each(|block| self.block(role, block)),
            _ => {}
        }
    }

    fn block(&mut self, role: &str, block: &Value) {
        self.hash.update(role);
        match block.as_object() {
            // The mark is not a part of what is cached.
            Some(fields) => {
                for (name, value) in fields.iter().filter(|(name, _)| *name != "cache_control") {
                    self.hash.update(name);
                    self.hash.update(value.to_string());
                }
            }
            None => self.hash.update(block.to_string()),
        }
        self.chars += text_len(block);
        let whole: [u8; 32] = self.hash.clone().finalize().into();
        let [a, b, c, d, e, f, g, h, ..] = whole;
        let tokens = u32::try_from(self.chars.div_ceil(CHARS_PER_TOKEN)).unwrap_or(u32::MAX);
        if let Some(hour) = ttl(&block["cache_control"]) {
            self.found.marks.push((self.found.blocks.len(), hour));
        }
        self.found.blocks.push((u64::from_be_bytes([a, b, c, d, e, f, g, h]), tokens));
    }
}
