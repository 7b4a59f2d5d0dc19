//! Settings, with the origin of every value: default < config file < environment < flags.
//!
//! Everything is resolved at once, before anything else happens, by a pure function of the file's text, the environment
//! and the flags. Every value that is given is checked, also one that another overrides. There is one function per rule,
//! and an error names file and line (or variable, or flag), the value, and what is allowed.
//!
//! The file is walked as a tree instead of being deserialized into a struct: so every error, of a type as of a range,
//! has the same form, and an unknown key can be answered with the known one that is meant.

mod env;
mod error;
mod file;
mod orgs;
mod overrides;
mod paths;
mod resolve;
mod rules;
mod sections;
mod setting;
mod settings;
mod tree;

pub use env::Env;
pub use error::{ConfigError, Origin};
pub use file::ConfigText;
pub use overrides::Overrides;
pub use paths::Paths;
pub use settings::{AbsentOrg, SettingLine, Settings};

/// The sample configuration: every setting with its default and what it does.
pub const SAMPLE: &str = include_str!("../../assets/default-config.toml");

#[cfg(test)]
mod tests;
