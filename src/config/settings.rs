//! The resolved settings, and how they are told.

use std::path::PathBuf;
use std::time::Duration;

use serde::Serialize;

use crate::model::books::Limits;
use crate::model::{BatchSettings, DispatchSettings, Money, OrgSpec, RoutePolicy, ScreenSettings, WireSettings};

use super::error::{ConfigError, Origin};

/// Everything that can be set, resolved.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The orgs that have a key, in the order of the configuration; those that flags chose, when they did.
    pub orgs: Vec<OrgSpec>,
    /// How the dispatcher behaves.
    pub dispatch: DispatchSettings,
    /// How the client speaks to the API.
    pub wire: WireSettings,
    /// Directory of the answer cache.
    pub cache_dir: PathBuf,
    /// Whether answers are looked up and kept there.
    pub use_cache: bool,
    /// Parent of the run directories.
    pub runs_dir: PathBuf,
    /// Longest time between two fsyncs of the journal, at most 200 ms.
    pub group_commit: Duration,
    /// A run that is projected to cost more has to be confirmed.
    pub confirm_above_usd: Money,
    /// How batches are driven.
    pub batch: BatchSettings,
    /// What the rules of the route work by.
    pub policy: RoutePolicy,
    /// A file that adds to the catalog of models; `None` is the built-in one alone.
    pub catalog_file: Option<PathBuf>,
    /// How the screens look and behave.
    pub screen: ScreenSettings,
    /// What a run may cost and do at most.
    pub limits: Limits,
    /// Directory of the log files.
    pub log_dir: PathBuf,
    /// Orgs without a key: label and variable.
    pub(super) absent: Vec<AbsentOrg>,
    /// An org that flags chose and that has no key.
    pub(super) wanted_but_absent: Option<AbsentOrg>,
    pub(super) lines: Vec<SettingLine>,
}

/// A setting as `fandeck config` tells it. Keys are never in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct SettingLine {
    /// Its name with its section: `dispatch.procs`.
    pub name: String,
    /// Its value, as it would be written.
    pub value: String,
    /// Where the value came from.
    pub origin: Origin,
}

/// An org of the configuration without a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AbsentOrg {
    /// Its label.
    pub label: String,
    /// The variable that would hold its key.
    pub key_env: String,
    /// Where it would be called.
    pub base_url: String,
}

impl Settings {
    /// The orgs, for work that needs keys.
    ///
    /// # Errors
    /// There is no org with a key, or one that was asked for by label has none.
    pub fn require_orgs(&self) -> Result<&[OrgSpec], ConfigError> {
        if let Some(AbsentOrg { label, key_env, .. }) = &self.wanted_but_absent {
            return Err(ConfigError::AbsentOrg { label: label.clone(), key_env: key_env.clone() });
        }
        if self.orgs.is_empty() {
            let looked_at = self.absent.iter().map(|org| org.key_env.clone()).collect();
            return Err(ConfigError::NoOrgs { looked_at });
        }
        Ok(&self.orgs)
    }

    /// The orgs of the configuration that have no key.
    pub fn absent_orgs(&self) -> &[AbsentOrg] {
        &self.absent
    }

    /// Every setting with its value and its origin.
    pub fn explain(&self) -> &[SettingLine] {
        &self.lines
    }
}
