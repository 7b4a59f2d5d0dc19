//! How a setting comes to its value: every value that is given for it is checked, the one of the source that counts most
//! is taken, and its origin is noted.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::error::{ConfigError, Origin};
use super::rules::Checked;
use super::settings::SettingLine;
use super::tree::{Given, Raw, Table};

/// A setting and the values given for it, the one that counts last.
pub(super) struct Setting {
    /// Its name with its section.
    pub(super) name: String,
    /// Those of sources that count more come later.
    pub(super) given: Vec<Given>,
}

impl Setting {
    /// A setting of the config file.
    pub(super) fn of(table: &mut Table, key: &'static str) -> Setting {
        Setting { name: table.name(key), given: table.take(key).into_iter().collect() }
    }

    /// The same, unless a flag says otherwise.
    pub(super) fn or_flag(mut self, flag: &'static str, value: Option<impl Into<Raw>>) -> Setting {
        self.given.extend(value.map(|value| {
            let raw = value.into();
            let shown = match &raw {
                Raw::Int(n) => n.to_string(),
                Raw::Float(x) => x.to_string(),
                Raw::Text(text) => format!("{text:?}"),
                _ => String::new(),
            };
            Given::new(raw, &shown, Origin::Flag(flag))
        }));
        self
    }
}

/// What the paths in the config file are relative to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Base<'r> {
    /// Directory of the file.
    pub(super) dir: &'r Path,
    /// What `~` is.
    pub(super) home: &'r Path,
}

impl Base<'_> {
    /// A path of the config file: `~/` is home, and what is relative is relative to the file.
    pub(super) fn absolute(self, path: &Path) -> PathBuf {
        match path.strip_prefix("~") {
            Ok(rest) => self.home.join(rest),
            Err(_) => self.dir.join(path),
        }
    }
}

/// Settles one setting after the other, and keeps account of where each value came from.
pub(super) struct Resolver<'r> {
    /// What was settled.
    pub(super) lines: Vec<SettingLine>,
    /// What paths in the file are relative to.
    pub(super) base: Base<'r>,
}

impl Resolver<'_> {
    /// Notes a setting.
    pub(super) fn line(&mut self, name: &str, value: String, origin: Origin) {
        self.lines.push(SettingLine { name: name.to_owned(), value, origin });
    }

    /// Checks every value that is given for a setting, and returns the one that counts.
    pub(super) fn value<T>(
        &mut self,
        setting: Setting,
        default: T,
        rule: impl Fn(&Raw) -> Checked<T>,
        show: impl Fn(&T) -> String,
    ) -> Result<T, ConfigError> {
        let mut value = default;
        let mut origin = Origin::Default;
        for given in setting.given {
            value = rule(&given.raw).map_err(|allowed| given.refuse(&setting.name, allowed))?;
            origin = given.origin;
        }
        self.line(&setting.name, show(&value), origin);
        Ok(value)
    }

    /// Refuses a span that is longer than another; the blame is on the one that was written, the shorter's first.
    pub(super) fn ordered(&self, less: &str, low: Duration, more: &str, high: Duration) -> Result<(), ConfigError> {
        if low <= high {
            return Ok(());
        }
        let origin_of = |name: &str| {
            let line = self.lines.iter().find(|line| line.name == name);
            line.map_or(Origin::Default, |line| line.origin.clone())
        };
        let refuse = |origin, name: &str, value: &Duration, allowed: String| {
            Err(ConfigError::Value { origin, name: name.to_owned(), value: show_span(value), allowed })
        };
        match origin_of(less) {
            Origin::Default => {
                refuse(origin_of(more), more, &high, format!("at least {less}, which is {}", show_span(&low)))
            }
            origin => refuse(origin, less, &low, format!("at most {more}, which is {}", show_span(&high))),
        }
    }
}

/// A span as it would be written.
pub(super) fn show_span(span: &Duration) -> String {
    humantime::format_duration(*span).to_string().replace(' ', "")
}

/// The same, or `none`.
pub(super) fn show_limit(limit: &Option<Duration>) -> String {
    limit.as_ref().map_or("none".to_owned(), show_span)
}
