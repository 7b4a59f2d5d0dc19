//! What can be wrong with a configuration, in words that name place, value and remedy. Values are scrubbed: a key that
//! was pasted into the wrong place is not repeated.

use std::fmt;
use std::path::PathBuf;

use serde::{Serialize, Serializer};

/// Where a value came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// The program.
    Default,
    /// A line of the config file.
    File {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
    },
    /// An environment variable.
    Env(String),
    /// A flag of the command line.
    Flag(&'static str),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Default => f.write_str("default"),
            Origin::File { path, line } => write!(f, "{}:{line}", path.display()),
            Origin::Env(name) => write!(f, "environment variable {name}"),
            Origin::Flag(flag) => f.write_str(flag),
        }
    }
}

impl Serialize for Origin {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Why there are no settings.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("failed to read the config file {}: {reason}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// The file is not TOML.
    #[error("{origin}: not valid TOML: {what}")]
    Syntax {
        /// The place.
        origin: Origin,
        /// What is wrong.
        what: String,
    },
    /// A key that is none.
    #[error("{origin}: unknown key {name}: {hint}")]
    UnknownKey {
        /// The place.
        origin: Origin,
        /// The key with its section.
        name: String,
        /// The key that was meant, or all there are.
        hint: String,
    },
    /// A key that has to be there.
    #[error("{origin}: {name} is missing: {hint}")]
    Missing {
        /// Where it should be.
        origin: Origin,
        /// The key with its section.
        name: String,
        /// What it is for.
        hint: &'static str,
    },
    /// A value that is not allowed.
    #[error("{}: must be {allowed}", ValueAt { origin, name, value })]
    Value {
        /// The place.
        origin: Origin,
        /// The setting.
        name: String,
        /// The value as written, without key material.
        value: String,
        /// What is allowed; completes "must be".
        allowed: String,
    },
    /// A key that no header can carry.
    #[error(
        "environment variable {key_env}: the key holds a character that an HTTP header cannot carry: copy it again"
    )]
    BadKey {
        /// The variable.
        key_env: String,
    },
    /// A key with its quotes, as `--env-file` of docker and the like leave them.
    #[error("environment variable {key_env}: the key stands in quotes, and they would be sent with it: take them off")]
    QuotedKey {
        /// The variable.
        key_env: String,
    },
    /// No org has a key.
    #[error(
        "no API key found: looked at {}; set one of them, or name another variable as key-env of an [[orgs]] in the config file",
        looked_at.join(", ")
    )]
    NoOrgs {
        /// The variables.
        looked_at: Vec<String>,
    },
    /// An org was asked for by label, and has no key.
    #[error("org {label} was asked for, and its key is absent: set {key_env}")]
    AbsentOrg {
        /// The org.
        label: String,
        /// The variable.
        key_env: String,
    },
    /// There is no home directory to put things under.
    #[error("failed to find a home directory: set HOME")]
    NoHome,
}

/// `place: name = value`; the name is the place for variables and flags.
struct ValueAt<'e> {
    origin: &'e Origin,
    name: &'e str,
    value: &'e str,
}

impl fmt::Display for ValueAt<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ValueAt { origin, name, value } = self;
        match origin {
            Origin::Default => write!(f, "{name} = {value}"),
            Origin::File { .. } => write!(f, "{origin}: {name} = {value}"),
            Origin::Env(_) => write!(f, "{origin} = {value}"),
            Origin::Flag(flag) => write!(f, "{flag} {value}"),
        }
    }
}
