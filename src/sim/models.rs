//! The models that the simulation knows, as the API's models endpoint and limits describe them.
//!
//! A table of its own: the catalog that planning uses may be edited by the operator, and a simulation that followed it
//! could not prove it wrong. Figures: the published model table of November 2026.

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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Model {
    pub(super) id: &'static str,
    pub(super) alias: Option<&'static str>,
    pub(super) display_name: &'static str,
    /// Its date of release.
    pub(super) created: &'static str,
    pub(super) class: Class,
    pub(super) generation: Generation,
    pub(super) context: u64,
    pub(super) max_output: u64,
    pub(super) deprecated: bool,
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

/// Every model, newest first.
static MODELS: [Model; 19] = [
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

/// All of them, newest first.
pub(super) fn all() -> &'static [Model] {
    &MODELS
}

impl Model {
    /// Which types of `thinking` it accepts: adaptive, between tools, disabled, enabled.
    pub(super) fn thinking(&self) -> [bool; 4] {
        match (self.class, self.generation) {
            (_, Generation::V45) => [false, false, true, true],
            (_, Generation::V46) => [true, false, true, true],
            (Class::Sonnet55, _) => [true, true, false, false],
            (Class::Opus55 | Class::Fable, _) => [true, false, false, false],
            (_, Generation::V47) => [true, false, true, false],
        }
    }

    /// Whether it thinks when a request says nothing about it: the 5 series does, adaptively.
    pub(super) fn thinks_by_default(&self) -> bool {
        !matches!(self.class, Class::Opus4 | Class::Sonnet4 | Class::Haiku45)
    }

    /// Whether `tool_choice` may force a tool. The newest models of each line refuse that.
    pub(super) fn takes_forced_tools(&self) -> bool {
        let newest = self.class == Class::Fable && !matches!(self.id, "claude-fable-5" | "claude-mythos-5");
        !newest && !matches!(self.class, Class::Opus55 | Class::Sonnet55)
    }

    /// The shortest prefix that can be cached, in tokens.
    pub(super) fn min_cacheable(&self) -> u32 {
        match self.id {
            "claude-haiku-4-5-20251001" | "claude-opus-4-5-20251101" | "claude-opus-4-6" => 4_096,
            "claude-opus-4-7" => 2_048,
            "claude-opus-4-8" | "claude-sonnet-5" | "claude-sonnet-4-6" | "claude-sonnet-4-5-20250929" => 1_024,
            _ => 512,
        }
    }

    /// Largest `max_tokens` in a batch that asked for long output by its beta header.
    pub(super) fn max_batch_output(&self) -> u64 {
        let longer = self.generation != Generation::V45 && self.class != Class::Fable;
        if longer { 300_000 } else { self.max_output }
    }

    /// `usage.inference_geo` of its answers, where none is asked for.
    pub(super) fn geo(&self) -> &'static str {
        if self.takes_geo() { "global" } else { "not_available" }
    }

    /// Whether a request can say where it is answered.
    pub(super) fn takes_geo(&self) -> bool {
        self.generation != Generation::V45
    }

    /// The word by which the API names its line.
    pub(super) fn line(&self) -> &'static str {
        match self.class {
            Class::Fable if self.id.contains("mythos") => "mythos",
            Class::Fable => "fable",
            Class::Opus55 | Class::Opus5 | Class::Opus4 => "opus",
            Class::Sonnet55 | Class::Sonnet5 | Class::Sonnet4 => "sonnet",
            Class::Haiku55 | Class::Haiku45 => "haiku",
        }
    }
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
    fn each_id_stands_once() {
        let ids: std::collections::HashSet<&str> = MODELS.iter().map(|model| model.id).collect();
        assert_eq!(ids.len(), MODELS.len());
    }
}
