//! Where things are kept when nobody says otherwise: the platform's directories of the user.

use std::path::PathBuf;

use directories::ProjectDirs;

use super::error::ConfigError;

/// The user's directories.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Paths {
    /// The config file that is read when no other is named; it need not exist.
    pub config_file: PathBuf,
    /// Directory of what is kept beside the run directories.
    pub data_dir: PathBuf,
    /// Parent of the run directories.
    pub runs_dir: PathBuf,
    /// Directory of the answer cache.
    pub cache_dir: PathBuf,
    /// Directory of the log files.
    pub log_dir: PathBuf,
    /// Home, for `~` in the config file.
    pub home: PathBuf,
}

impl Paths {
    /// Those of the user of this process: on Linux `$XDG_CONFIG_HOME/fandeck`, `$XDG_DATA_HOME/fandeck`,
    /// `$XDG_CACHE_HOME/fandeck` and `$XDG_STATE_HOME/fandeck`, with their usual defaults.
    ///
    /// # Errors
    /// There is no home directory.
    pub fn of_user() -> Result<Paths, ConfigError> {
        let dirs = ProjectDirs::from("", "", "fandeck").ok_or(ConfigError::NoHome)?;
        let home = directories::BaseDirs::new().ok_or(ConfigError::NoHome)?.home_dir().to_owned();
        Ok(Paths {
            config_file: dirs.config_dir().join("config.toml"),
            data_dir: dirs.data_dir().to_owned(),
            runs_dir: dirs.data_dir().join("runs"),
            cache_dir: dirs.cache_dir().to_owned(),
            // Only Linux has a directory for state; elsewhere logs go with the data.
            log_dir: dirs.state_dir().unwrap_or(dirs.data_dir()).join("logs"),
            home,
        })
    }

    /// All of them under one directory.
    #[cfg(test)]
    pub(super) fn under(root: &str) -> Paths {
        let at = |name: &str| PathBuf::from(root).join(name);
        Paths {
            config_file: at("config.toml"),
            data_dir: at("data"),
            runs_dir: at("runs"),
            cache_dir: at("cache"),
            log_dir: at("logs"),
            home: at("home"),
        }
    }
}
