//! The config file: where it is, and what is in it.

use std::io;
use std::path::{Path, PathBuf};

use super::error::ConfigError;
use super::paths::Paths;

/// A config file's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigText {
    /// The file.
    pub path: PathBuf,
    /// What is in it.
    pub text: String,
}

impl ConfigText {
    /// Reads the file that a flag named, else the user's. The user's may be missing; the named one may not.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn load(named: Option<&Path>, paths: &Paths) -> Result<Option<ConfigText>, ConfigError> {
        let path = named.unwrap_or(&paths.config_file);
        match std::fs::read_to_string(path) {
            Ok(text) => Ok(Some(ConfigText { path: path.to_owned(), text })),
            Err(error) if named.is_none() && error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(ConfigError::Read { path: path.to_owned(), reason: error.to_string() }),
        }
    }
}
