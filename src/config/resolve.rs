//! From file, environment and flags to [`Settings`].

use std::path::Path;

use crate::model::Money;

use super::env::Env;
use super::error::{ConfigError, Origin};
use super::file::ConfigText;
use super::orgs;
use super::overrides::Overrides;
use super::paths::Paths;
use super::rules;
use super::setting::{Base, Resolver, Setting};
use super::settings::Settings;
use super::tree::{self, Table};

/// A cost that a person wants to have seen before.
const CONFIRM_ABOVE_USD: Money = Money(50 * Money::DOLLAR.0);

impl Settings {
    /// Resolves everything.
    ///
    /// # Errors
    /// Anything that was given is not what is allowed.
    pub fn resolve(
        file: Option<&ConfigText>,
        env: &Env,
        paths: &Paths,
        flags: &Overrides,
    ) -> Result<Settings, ConfigError> {
        let mut root = match file {
            Some(file) => tree::parse(&file.path, &file.text)?,
            None => Table::empty(""),
        };
        let (mut dispatch, mut wire, mut store) =
            (root.take_table("dispatch")?, root.take_table("wire")?, root.take_table("store")?);
        let (mut batch, mut plan, mut budget) =
            (root.take_table("batch")?, root.take_table("plan")?, root.take_table("budget")?);
        let mut screen = root.take_table("screen")?;
        let org_tables = root.take_tables("orgs")?;
        let base_dir = file.and_then(|file| file.path.parent()).unwrap_or(Path::new(""));
        let base = Base { dir: base_dir, home: &paths.home };
        let mut to = Resolver { lines: Vec::new(), base };

        let confirm = Setting::of(&mut root, "confirm-above-usd");
        let confirm_above_usd = to.value(confirm, CONFIRM_ABOVE_USD, rules::usd, |usd| usd.usd().to_string())?;
        root.finish()?;
        let dispatch = to.dispatch(&mut dispatch, flags)?;
        let wire = to.wire(&mut wire)?;
        let (cache_dir, use_cache, runs_dir, group_commit) = to.store(&mut store, paths, flags)?;
        let batch = to.batch(&mut batch, env, flags)?;
        let (policy, catalog_file) = to.plan(&mut plan, flags)?;
        let screen = to.screen(&mut screen)?;
        let mut limits = to.limits(&mut budget, flags)?;
        to.line("log-dir", paths.log_dir.display().to_string(), Origin::Default);
        let found = orgs::resolve(org_tables, env, &mut to.lines)?;
        limits.of_orgs = found.max_costs;
        let (orgs, wanted_but_absent) = orgs::chosen(found.orgs, &found.absent, &flags.orgs)?;
        Ok(Settings {
            orgs,
            dispatch,
            wire,
            cache_dir,
            use_cache,
            runs_dir,
            group_commit,
            confirm_above_usd,
            batch,
            policy,
            catalog_file,
            screen,
            limits,
            log_dir: paths.log_dir.clone(),
            absent: found.absent,
            wanted_but_absent,
            lines: to.lines,
        })
    }
}
