//! `run.json`: what a run is. Written once.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::atomic;
use super::error::StoreError;
use super::stamp;
use crate::model::{Route, Wall};

/// The newest format of run.json and state.json that is known.
pub const FORMAT: u32 = 1;

/// `run.json`. Fields that are not known here are passed over, so that later versions may add some.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunFile {
    /// Counts up with changes that an older version must not work on; [`FORMAT`].
    pub format: u32,
    /// The version that made it.
    pub fandeck: String,
    /// The run's name, unique for the user: what `fandeck runs` shows.
    pub run_id: String,
    /// Goes into wire ids of batches: `[a-z0-9]`, at most 16 characters.
    pub nonce: String,
    /// When.
    #[serde(with = "stamp")]
    pub created_at: Wall,
    /// What it reads.
    pub input: InputFile,
    /// How it was routed.
    pub path: Route,
    /// The rule that chose the path.
    pub route_reason: String,
    /// The models of its requests.
    #[serde(default)]
    pub models: Vec<String>,
    /// Labels of the orgs that it was planned for.
    #[serde(default)]
    pub orgs: Vec<String>,
    /// What was planned before anything was sent, as `fandeck plan --json` prints it, without table and chart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<serde_json::Value>,
    /// So many of its requests were sent to measure before the rest was planned; `None` once the rest was launched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pilot: Option<u64>,
    /// The prices that it is billed by, per model: what a report splits its cost with, also when the catalog is another one by
    /// then. `None` in files of versions that did not keep them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prices: Option<serde_json::Value>,
    /// Settings that a resume keeps, by their name.
    #[serde(default)]
    pub settings: std::collections::BTreeMap<String, String>,
}

/// The input of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputFile {
    /// Absolute path; for a spooled input the file in the run directory.
    pub path: PathBuf,
    /// As the operator named it; empty in files of versions that did not keep it.
    #[serde(default)]
    pub named: String,
    /// SHA-256 of the whole file, hexadecimal.
    pub sha256: String,
    /// Requests.
    pub count: u64,
    /// Size in bytes.
    pub bytes: u64,
    /// It came by standard input and is kept in the run directory.
    #[serde(default)]
    pub spooled: bool,
}

impl RunFile {
    /// The setting of a run whose answers are all asked for anew.
    pub fn without_cache() -> (String, String) {
        ("cache".to_owned(), "off".to_owned())
    }

    /// Whether answers of other runs may be taken for its requests.
    pub fn may_use_cache(&self) -> bool {
        let (name, off) = RunFile::without_cache();
        self.settings.get(&name) != Some(&off)
    }

    /// Its name in a run directory.
    pub const NAME: &'static str = "run.json";

    /// Writes it anew: when a pilot becomes the run that it was a pilot of.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn save(&self, dir: &Path) -> Result<(), StoreError> {
        atomic::save(&dir.join(RunFile::NAME), self)
    }

    /// Reads it from a run directory.
    ///
    /// # Errors
    /// [`StoreError::NotARun`] without one, [`StoreError::NewerVersion`], [`StoreError::Corrupt`], [`StoreError::Io`].
    pub fn load(dir: &Path) -> Result<RunFile, StoreError> {
        atomic::load(&dir.join(RunFile::NAME))?.ok_or_else(|| StoreError::NotARun(dir.to_owned()))
    }
}
