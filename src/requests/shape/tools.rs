//! The tools of a request, folded into how many searches the API may make for it.

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::super::extras::SEARCHES_WITHOUT_MAX_USES;
use super::{Any, Key, any_json};

/// The searches that a request may make at the most. What is no array of objects has none; the API will say so.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Searches(pub(super) u64);

/// Those of one tool.
struct OfTool(u64);

struct ToolsVisitor;
from_any!(Searches, ToolsVisitor);
impl<'de> Visitor<'de> for ToolsVisitor {
    type Value = Searches;
    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        any_json(f)
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut tools: A) -> Result<Searches, A::Error> {
        let mut sum = 0_u64;
        while let Some(OfTool(searches)) = tools.next_element()? {
            sum = sum.saturating_add(searches);
        }
        Ok(Searches(sum))
    }
    other!(|_| Searches(0); null bool unsigned number text object);
}

struct ToolVisitor;
from_any!(OfTool, ToolVisitor);
impl<'de> Visitor<'de> for ToolVisitor {
    type Value = OfTool;
    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        any_json(f)
    }
    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<OfTool, A::Error> {
        let (mut is_search, mut max_uses) = (false, None);
        while let Some(key) = fields.next_key()? {
            match key {
                Key::Type => {
                    is_search = fields.next_value::<Any<'de>>()?.is_text(|kind| kind.starts_with("web_search_"));
                }
                Key::MaxUses => max_uses = Some(fields.next_value::<Any<'de>>()?),
                _ => drop(fields.next_value::<IgnoredAny>()?),
            }
        }
        Ok(OfTool(match (is_search, max_uses) {
            (false, _) => 0,
            (true, Some(Any::Whole(most))) => most,
            (true, _) => SEARCHES_WITHOUT_MAX_USES,
        }))
    }
    other!(|_| OfTool(0); null bool unsigned number text array);
}
