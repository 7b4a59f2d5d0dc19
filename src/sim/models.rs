//! The models that the simulation knows, as the API's models endpoint and limits describe them.
//!
//! A table of its own: the catalog that planning uses may be edited by the operator, and a simulation that followed it
//! could not prove it wrong. Figures: the published model table of November 2026.

use serde::Serialize;

/// A group of models that share one set of rate-limit buckets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Class {
    Fable,
    Opus55,
    Opus5,
    Opus4,
    Sonnet55,
    Sonnet5,
    Sonnet4,
    Haiku55,
    Haiku45,
}

impl Class {
    /// How many classes there are.
    pub(super) const COUNT: usize = 9;

    /// As an index into per-class arrays.
    pub(super) fn ix(self) -> usize {
        self as usize
    }
}

/// What a model accepts besides the fields that all take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Generation {
    /// 4.5: one of `temperature` and `top_p`, and a prefilled answer.
    V45,
    /// 4.6: both, no prefilled answer.
    V46,
    /// 4.7 and later: neither, and no prefilled answer.
    V47,
}

/// A model.
#[derive(Debug, Clone, Copy)]
pub(super) struct Model {
    pub(super) id: &'static str,
    pub(super) alias: Option<&'static str>,
    pub(super) display_name: &'static str,
    created: &'static str,
    pub(super) class: Class,
    pub(super) generation: Generation,
    pub(super) context: u64,
    pub(super) max_output: u64,
    deprecated: bool,
}

const fn model(
    id: &'static str,
    display_name: &'static str,
    created: &'static str,
    class: Class,
    generation: Generation,
) -> Model {
    Model {
        id,
        alias: None,
        display_name,
        created,
        class,
        generation,
        context: 1_000_000,
        max_output: 128_000,
        deprecated: false,
    }
}

/// A dated snapshot of the 4.5 models: 200,000 tokens of context and 64,000 of output.
const fn dated(
    id: &'static str,
    alias: &'static str,
    display_name: &'static str,
    created: &'static str,
    class: Class,
    deprecated: bool,
) -> Model {
    Model {
        alias: Some(alias),
        context: 200_000,
        max_output: 64_000,
        deprecated,
        ..model(id, display_name, created, class, Generation::V45)
    }
}

/// All of them, newest first.
const MODELS: [Model; 19] = [
    model("claude-fable-5-2", "Claude Fable 5.2", "2026-11-12", Class::Fable, Generation::V47),
    model("claude-mythos-5-2", "Claude Mythos 5.2", "2026-11-12", Class::Fable, Generation::V47),
    model("claude-haiku-5-5", "Claude Haiku 5.5", "2026-10-07", Class::Haiku55, Generation::V47),
    model("claude-sonnet-5-5", "Claude Sonnet 5.5", "2026-09-22", Class::Sonnet55, Generation::V47),
    model("claude-opus-5-5", "Claude Opus 5.5", "2026-09-03", Class::Opus55, Generation::V47),
    model("claude-fable-5-1", "Claude Fable 5.1", "2026-08-20", Class::Fable, Generation::V47),
    model("claude-mythos-5-1", "Claude Mythos 5.1", "2026-08-20", Class::Fable, Generation::V47),
    model("claude-sonnet-5", "Claude Sonnet 5", "2026-07-02", Class::Sonnet5, Generation::V47),
    model("claude-fable-5", "Claude Fable 5", "2026-06-18", Class::Fable, Generation::V47),
    model("claude-mythos-5", "Claude Mythos 5", "2026-06-18", Class::Fable, Generation::V47),
    model("claude-opus-5", "Claude Opus 5", "2026-06-04", Class::Opus5, Generation::V47),
    model("claude-opus-4-8", "Claude Opus 4.8", "2026-04-28", Class::Opus4, Generation::V47),
    model("claude-opus-4-7", "Claude Opus 4.7", "2026-03-24", Class::Opus4, Generation::V47),
    model("claude-sonnet-4-6", "Claude Sonnet 4.6", "2026-02-17", Class::Sonnet4, Generation::V46),
    model("claude-opus-4-6", "Claude Opus 4.6", "2026-02-04", Class::Opus4, Generation::V46),
    dated("claude-opus-4-5-20251101", "claude-opus-4-5", "Claude Opus 4.5", "2025-11-24", Class::Opus4, true),
    dated("claude-haiku-4-5-20251001", "claude-haiku-4-5", "Claude Haiku 4.5", "2025-10-15", Class::Haiku45, false),
    dated("claude-sonnet-4-5-20250929", "claude-sonnet-4-5", "Claude Sonnet 4.5", "2025-09-29", Class::Sonnet4, true),
    model("claude-mythos-preview", "Claude Mythos Preview", "2026-04-07", Class::Fable, Generation::V47),
];

/// The model of an id or an alias.
pub(super) fn find(name: &str) -> Option<&'static Model> {
    MODELS.iter().find(|model| model.id == name || model.alias == Some(name))
}

/// A model as the API describes it, in its field order.
#[derive(Debug, Serialize)]
pub(super) struct ModelView {
    id: &'static str,
    r#type: &'static str,
    display_name: &'static str,
    created_at: String,
    deprecated_at: Option<String>,
    retires_at: Option<String>,
    lifecycle: &'static str,
    max_input_tokens: u64,
    max_tokens: u64,
    capabilities: Capabilities,
}

#[derive(Debug, Serialize)]
struct Capabilities {
    batch: Supported,
    structured_outputs: Supported,
    thinking: Thinking,
}

#[derive(Debug, Serialize)]
struct Thinking {
    supported: bool,
    types: ThinkingTypes,
}

#[derive(Debug, Serialize)]
struct ThinkingTypes {
    adaptive: Supported,
    enabled: Supported,
}

#[derive(Debug, Serialize)]
struct Supported {
    supported: bool,
}

/// A page of models.
#[derive(Debug, Serialize)]
pub(super) struct ModelPage {
    data: Vec<ModelView>,
    has_more: bool,
    first_id: Option<&'static str>,
    last_id: Option<&'static str>,
}

impl Model {
    /// The object of the models endpoint.
    pub(super) fn describe(&self) -> ModelView {
        let supported = |supported| Supported { supported };
        ModelView {
            id: self.id,
            r#type: "model",
            display_name: self.display_name,
            created_at: format!("{}T00:00:00Z", self.created),
            deprecated_at: None,
            retires_at: None,
            lifecycle: if self.deprecated { "deprecated" } else { "active" },
            max_input_tokens: self.context,
            max_tokens: self.max_output,
            capabilities: Capabilities {
                batch: supported(true),
                structured_outputs: supported(true),
                thinking: Thinking {
                    supported: true,
                    types: ThinkingTypes {
                        adaptive: supported(self.generation != Generation::V45),
                        enabled: supported(self.generation != Generation::V47),
                    },
                },
            },
        }
    }
}

/// A page of the list: `limit` models after the one named `after`, or before the one named `before`.
///
/// # Errors
/// The name of the cursor that is no model.
pub(super) fn page(limit: usize, after: Option<&str>, before: Option<&str>) -> Result<ModelPage, String> {
    let place = |id: &str| MODELS.iter().position(|model| model.id == id).ok_or_else(|| id.to_owned());
    let (shown, has_more) = if let Some(before) = before {
        let end = place(before)?;
        let start = end.saturating_sub(limit);
        (MODELS.get(start..end), start > 0)
    } else {
        let start = after.map_or(Ok(0), |after| place(after).map(|at| at + 1))?;
        let end = start.saturating_add(limit).min(MODELS.len());
        (MODELS.get(start..end), end < MODELS.len())
    };
    let shown = shown.unwrap_or_default();
    Ok(ModelPage {
        data: shown.iter().map(Model::describe).collect(),
        has_more,
        first_id: shown.first().map(|model| model.id),
        last_id: shown.last().map(|model| model.id),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alias_names_its_dated_snapshot() {
        assert_eq!(find("claude-haiku-4-5").map(|model| model.id), Some("claude-haiku-4-5-20251001"));
        assert!(find("claude-does-not-exist").is_none());
    }

    #[test]
    fn following_the_last_id_visits_every_model_once() {
        let mut seen = Vec::new();
        let mut after = None;
        loop {
            let page = page(4, after, None).unwrap();
            seen.extend(page.data.iter().map(|model| model.id));
            after = page.last_id;
            if !page.has_more {
                break;
            }
        }
        assert_eq!(seen, MODELS.map(|model| model.id));
    }

    #[test]
    fn the_page_before_a_model_ends_right_before_it() {
        let page = page(2, None, Some(MODELS[3].id)).unwrap();
        assert_eq!((page.first_id, page.last_id), (Some(MODELS[1].id), Some(MODELS[2].id)));
        assert!(page.has_more);
        assert_eq!(super::page(2, Some("nothing"), None).unwrap_err(), "nothing");
    }
}
