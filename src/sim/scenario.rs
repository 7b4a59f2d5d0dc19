//! Scenario files: what orgs there are, and what happens to them.

use std::path::Path;

use serde::Deserialize;

/// A scenario.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Scenario {
    /// What should happen, in a line.
    pub summary: String,
    /// What `fandeck demo` does with it.
    pub demo: DemoHints,
}

/// What a demo of a scenario should use where the operator gave nothing.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct DemoHints {
    /// Number of requests.
    pub requests: u32,
    /// Cap of every org.
    pub cap: u32,
    /// Speed of the simulation's clock.
    pub time_scale: f64,
}

impl Default for DemoHints {
    fn default() -> DemoHints {
        DemoHints { requests: 1_000, cap: 20, time_scale: 1.0 }
    }
}

/// Why a scenario cannot be used; the text names file, line and remedy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ScenarioError(String);

impl Scenario {
    /// Names of the scenarios that are built in.
    pub fn names() -> impl Iterator<Item = &'static str> {
        ["calm"].into_iter()
    }

    /// A built-in scenario by name, else the file at that path.
    ///
    /// # Errors
    /// No such name or file, or a file that does not hold a scenario.
    pub fn load(name_or_path: &str) -> Result<Scenario, ScenarioError> {
        let text = std::fs::read_to_string(Path::new(name_or_path))
            .map_err(|error| ScenarioError(format!("failed to read scenario {name_or_path}: {error}")))?;
        Scenario::parse(name_or_path, &text)
    }

    /// A scenario from the text of a file; `file` is its name for errors.
    ///
    /// # Errors
    /// Text that is not TOML, unknown keys, values out of range.
    pub fn parse(file: &str, text: &str) -> Result<Scenario, ScenarioError> {
        toml::from_str(text).map_err(|error| ScenarioError(format!("failed to read scenario {file}: {error}")))
    }
}
