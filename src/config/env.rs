//! The environment as a value, so that nothing but `main` reads the process's own.

use std::collections::BTreeMap;

use super::error::Origin;
use super::tree::{Given, Raw};

/// Environment variables. Its `Debug` shows names only: values may be keys.
#[derive(Clone, Default)]
pub struct Env(BTreeMap<String, String>);

impl Env {
    /// The process's environment. Variables that are not Unicode are left out: none of ours can be one.
    pub fn of_process() -> Env {
        std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect()
    }

    /// The value of a variable without surrounding white space; `None` when it is not set or blank.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(|value| value.trim()).filter(|value| !value.is_empty())
    }

    /// A variable as a given value; `None` when it is not set or blank.
    pub(super) fn given(&self, name: &str) -> Option<Given> {
        let value = self.get(name)?;
        Some(Given::new(Raw::Text(value.to_owned()), &format!("{value:?}"), Origin::Env(name.to_owned())))
    }

    /// The variables that begin so and are not blank, with their names' ends.
    pub(super) fn with_prefix<'e>(&'e self, prefix: &'e str) -> impl Iterator<Item = (&'e str, &'e str)> {
        self.0.keys().filter_map(move |name| Some((name.strip_prefix(prefix)?, self.get(name)?)))
    }
}

impl<N: Into<String>, V: Into<String>> FromIterator<(N, V)> for Env {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(pairs: I) -> Env {
        Env(pairs.into_iter().map(|(name, value)| (name.into(), value.into())).collect())
    }
}

impl std::fmt::Debug for Env {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}
