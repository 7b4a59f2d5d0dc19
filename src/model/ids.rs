//! Names of things: which org, which run, which request, which model family, which path.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Position of an org in the configuration, 0-based. Stable for the life of a process; the label is the name on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct OrgId(pub u16);

impl OrgId {
    /// As an index into a slice of orgs.
    pub fn ix(self) -> usize {
        usize::from(self.0)
    }
}

/// Which of the runs that this process owns. Several runs may share the windows of an org.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RunSlot(pub u16);

impl RunSlot {
    /// As an index into a slice of runs.
    pub fn ix(self) -> usize {
        usize::from(self.0)
    }
}

/// Position of a request in its input, 0-based; blank lines are not counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RequestNo(pub u32);

impl RequestNo {
    /// As an index into the entries of an input.
    pub fn ix(self) -> usize {
        self.0 as usize
    }
}

/// Model family: caps and windows are kept per (org, family).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Family {
    /// `sonnet` in the model id.
    Sonnet,
    /// `haiku` in the model id.
    Haiku,
    /// `opus` in the model id.
    Opus,
    /// `fable` or `mythos` in the model id: the API counts them against one limit.
    Fable,
    /// Anything else.
    Other,
}

impl Family {
    /// How many families there are; the length of per-family arrays.
    pub const COUNT: usize = 5;

    /// All of them, in the order of [`Family::ix`].
    pub const ALL: [Family; Family::COUNT] =
        [Family::Sonnet, Family::Haiku, Family::Opus, Family::Fable, Family::Other];

    /// The family of a model id, by substring, whatever the case.
    pub fn of_model(model: &str) -> Family {
        let lower = model.to_ascii_lowercase();
        let has = |word: &str| lower.contains(word);
        if has("sonnet") {
            Family::Sonnet
        } else if has("haiku") {
            Family::Haiku
        } else if has("opus") {
            Family::Opus
        } else if has("fable") || has("mythos") {
            Family::Fable
        } else {
            Family::Other
        }
    }

    /// As an index into per-family arrays.
    pub fn ix(self) -> usize {
        self as usize
    }

    /// The name that users see and type.
    pub fn as_str(self) -> &'static str {
        match self {
            Family::Sonnet => "sonnet",
            Family::Haiku => "haiku",
            Family::Opus => "opus",
            Family::Fable => "fable",
            Family::Other => "other",
        }
    }

    /// The polite cap of one lane: what an org that is shared with colleagues bears.
    pub fn default_cap(self) -> u32 {
        match self {
            Family::Sonnet => 100,
            Family::Haiku => 120,
            Family::Opus | Family::Fable | Family::Other => 40,
        }
    }
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// The path that carried a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Route {
    /// Messages API fan-out.
    Sync,
    /// Message Batches.
    Batch,
    /// The content-hash cache: nothing was sent.
    Cache,
}

impl Route {
    /// The name that users see and type.
    pub fn as_str(self) -> &'static str {
        match self {
            Route::Sync => "sync",
            Route::Batch => "batch",
            Route::Cache => "cache",
        }
    }
}

impl fmt::Display for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_family_is_found_by_substring_in_any_case() {
        for (model, family) in [
            ("claude-sonnet-4-5-20250929", Family::Sonnet),
            ("Claude-HAIKU-5-5", Family::Haiku),
            ("eu.anthropic.claude-opus-4-8", Family::Opus),
            ("claude-fable-5-1", Family::Fable),
            ("claude-mythos-5", Family::Fable),
            ("gpt-9", Family::Other),
            ("", Family::Other),
        ] {
            assert_eq!(Family::of_model(model), family, "{model}");
        }
    }

    #[test]
    fn families_are_listed_in_the_order_of_their_index() {
        for (at, family) in Family::ALL.iter().enumerate() {
            assert_eq!(family.ix(), at);
        }
    }
}
