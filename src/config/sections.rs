//! The sections of the configuration: which settings each has, with the default, the rule and the flag of each.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::model::books::Limits;
use crate::model::{
    BatchSettings, CostPref, Crossover, DispatchSettings, Money, RoutePolicy, ScreenSettings, WedgeGuard, WireSettings,
};

use super::env::Env;
use super::error::{ConfigError, Origin};
use super::overrides::Overrides;
use super::paths::Paths;
use super::rules;
use super::setting::{Resolver, Setting, show_limit, show_span};
use super::tree::{Given, Raw, Table};

/// Outages of every org are waited out so long by a run that nobody watches.
const HEADLESS_OUTAGE_LIMIT: Duration = Duration::from_secs(15 * 60);
/// What an answer waits for others to be synced with is what a crash may make us pay twice, on top of what is in flight: at
/// 200 answers a second, two of them. A hundred syncs a second are not seen in the throughput.
const GROUP_COMMIT: Duration = Duration::from_millis(10);
/// Hours until a sub-batch is stuck.
const STUCK_HOURS_ENV: &str = "EPS_BATCH_STUCK_HOURS";

impl Resolver<'_> {
    /// `[dispatch]`.
    pub(super) fn dispatch(&mut self, table: &mut Table, flags: &Overrides) -> Result<DispatchSettings, ConfigError> {
        let default = DispatchSettings::default();
        let outage_limit = if flags.headless { Some(HEADLESS_OUTAGE_LIMIT) } else { default.outage_limit };
        let procs = Setting::of(table, "procs").or_flag("--procs", flags.procs);
        let cap = Setting::of(table, "cap").or_flag("--cap", flags.cap);
        let mut of = |key| Setting::of(table, key);
        let settings = DispatchSettings {
            procs: self.value(procs, default.procs, rules::procs, u32::to_string)?,
            cap: self.value(cap, default.cap, rules::cap_of_all, |cap| {
                cap.map_or("by family".to_owned(), |cap| cap.to_string())
            })?,
            start_share: self.value(of("start-share"), default.start_share, rules::share, f64::to_string)?,
            ramp: self.value(of("ramp"), default.ramp, rules::ramp, show_span)?,
            floor: self.value(of("floor"), default.floor, rules::floor, u32::to_string)?,
            cut: self.value(of("cut"), default.cut, rules::cut, f64::to_string)?,
            easing_headroom: self.value(
                of("easing-headroom"),
                default.easing_headroom,
                rules::share,
                f64::to_string,
            )?,
            backoff_min: self.value(of("backoff-min"), default.backoff_min, rules::backoff, show_span)?,
            backoff_max: self.value(of("backoff-max"), default.backoff_max, rules::backoff, show_span)?,
            park_after: self.value(of("park-after"), default.park_after, rules::park_after, show_span)?,
            outage_limit: self.value(of("outage-limit"), outage_limit, rules::outage_limit, show_limit)?,
            fuse: self.value(of("fuse"), default.fuse, rules::fuse, u32::to_string)?,
        };
        table.finish()?;
        self.ordered("dispatch.backoff-min", settings.backoff_min, "dispatch.backoff-max", settings.backoff_max)?;
        Ok(settings)
    }

    /// `[batch]`, and the threshold that only the environment sets.
    pub(super) fn batch(
        &mut self,
        table: &mut Table,
        env: &Env,
        flags: &Overrides,
    ) -> Result<BatchSettings, ConfigError> {
        let default = BatchSettings::default();
        let size = Setting::of(table, "sub-batch-size").or_flag("--sub-batch-size", flags.sub_batch_size);
        let max_open =
            Setting::of(table, "max-open-sub-batches").or_flag("--max-open-sub-batches", flags.max_open_sub_batches);
        let poll_every = Setting::of(table, "poll-every").or_flag("--poll-every", flags.poll_every.clone());
        let search_for = Setting::of(table, "lost-create-search");
        let stuck = Setting { name: "stuck-after".to_owned(), given: env.given(STUCK_HOURS_ENV).into_iter().collect() };
        let escape = Setting::of(table, "stuck-escape");
        let elsewhere = Setting::of(table, "canceled-elsewhere");
        let settings = BatchSettings {
            size: self.value(size, default.size, rules::sub_batch_size, u32::to_string)?,
            max_open: self.value(max_open, default.max_open, rules::max_open_sub_batches, u32::to_string)?,
            poll_every: self.value(poll_every, default.poll_every, rules::poll_every, show_span)?,
            share: default.share,
            search_for: self.value(search_for, default.search_for, rules::lost_create_search, show_span)?,
            stuck_after: self.value(stuck, default.stuck_after, rules::stuck_hours, show_limit)?,
            escape: self.value(
                escape,
                default.escape,
                |raw| rules::one_of(raw, "auto", "ask"),
                |auto| if *auto { "auto" } else { "ask" }.to_owned(),
            )?,
            re_drive_elsewhere: self.value(
                elsewhere,
                default.re_drive_elsewhere,
                |raw| rules::one_of(raw, "re-drive", "leave"),
                |again| if *again { "re-drive" } else { "leave" }.to_owned(),
            )?,
        };
        table.finish()?;
        Ok(settings)
    }

    /// `[plan]`: the policy of the route, and the file that adds to the catalog.
    pub(super) fn plan(
        &mut self,
        table: &mut Table,
        flags: &Overrides,
    ) -> Result<(RoutePolicy, Option<PathBuf>), ConfigError> {
        let default = RoutePolicy::default();
        let pref = Setting::of(table, "cost-pref").or_flag("--cost-pref", flags.cost_pref.clone());
        let mut of = |key| Setting::of(table, key);
        let base = self.base;
        let catalog = |raw: &Raw| rules::path(raw).map(|path| Some(base.absolute(&path)));
        let policy = RoutePolicy {
            cost_pref: self.value(pref, default.cost_pref, rules::cost_pref, CostPref::to_string)?,
            crossover: self.value(of("crossover"), default.crossover, rules::crossover, Crossover::to_string)?,
            wedge_guard: self.value(
                of("wedge-guard"),
                default.wedge_guard,
                rules::wedge_guard,
                WedgeGuard::to_string,
            )?,
            max_batch_passes: self.value(
                of("max-batch-passes"),
                default.max_batch_passes,
                rules::max_batch_passes,
                u64::to_string,
            )?,
        };
        let catalog = self.value(of("catalog"), None, catalog, |path| {
            path.as_ref().map_or("built in".to_owned(), |path| path.display().to_string())
        })?;
        table.finish()?;
        Ok((policy, catalog))
    }

    /// `[screen]`.
    pub(super) fn screen(&mut self, table: &mut Table) -> Result<ScreenSettings, ConfigError> {
        let default = ScreenSettings::default();
        let base = self.base;
        // A file is found from where the config file is.
        let found = |name: String| match name.ends_with(".toml") {
            true => base.absolute(Path::new(&name)).display().to_string(),
            false => name,
        };
        let theme = |raw: &Raw| rules::name_or_file(raw, &["dark", "light", "high-contrast", "mono"]).map(found);
        let keymap = |raw: &Raw| rules::name_or_file(raw, &["default", "vim"]).map(found);
        let mut of = |key| Setting::of(table, key);
        let settings = ScreenSettings {
            theme: self.value(of("theme"), default.theme, theme, String::clone)?,
            keymap: self.value(of("keymap"), default.keymap, keymap, String::clone)?,
            mouse: self.value(of("mouse"), default.mouse, rules::yes_or_no, bool::to_string)?,
            ascii: self.value(of("ascii"), default.ascii, rules::yes_or_no, bool::to_string)?,
            attention: self.value(of("attention"), default.attention, rules::attention, |attention| {
                attention.as_str().to_owned()
            })?,
        };
        table.finish()?;
        Ok(settings)
    }

    /// `[budget]`: limits of what a run may cost; those of orgs and the deadline stand elsewhere.
    pub(super) fn limits(&mut self, table: &mut Table, flags: &Overrides) -> Result<Limits, ConfigError> {
        let max_cost = Setting::of(table, "max-cost-usd").or_flag("--max-cost", flags.max_cost);
        let max_requests = Setting::of(table, "max-requests").or_flag("--max-requests", flags.max_requests);
        let per_day = Setting::of(table, "per-day-usd");
        let at_80 = Setting::of(table, "at-80-percent");
        let some_usd = |raw: &Raw| rules::usd(raw).map(Some);
        let show_usd = |usd: &Option<Money>| usd.map_or("none".to_owned(), |usd| usd.usd().to_string());
        let limits = Limits {
            max_cost: self.value(max_cost, None, some_usd, show_usd)?,
            per_day: self.value(per_day, None, some_usd, show_usd)?,
            max_requests: self
                .value(max_requests, None, rules::max_requests, |n| n.map_or("none".to_owned(), |n| n.to_string()))?,
            to_batch: self.value(
                at_80,
                false,
                |raw| rules::one_of(raw, "batch", "go-on"),
                |to_batch| if *to_batch { "batch" } else { "go-on" }.to_owned(),
            )?,
            ..Limits::default()
        };
        table.finish()?;
        Ok(limits)
    }

    /// `[wire]`.
    pub(super) fn wire(&mut self, table: &mut Table) -> Result<WireSettings, ConfigError> {
        let default = WireSettings::default();
        let mut of = |key| Setting::of(table, key);
        let base = self.base;
        let ca_file = |raw: &Raw| rules::path(raw).map(|path| Some(base.absolute(&path)));
        let settings = WireSettings {
            version: self.value(of("version"), default.version, rules::api_version, String::clone)?,
            bearer: self.value(of("bearer"), default.bearer, rules::yes_or_no, bool::to_string)?,
            betas: self.value(of("betas"), default.betas, rules::betas, |betas| format!("{betas:?}"))?,
            connect_timeout: self.value(
                of("connect-timeout"),
                default.connect_timeout,
                rules::connect_timeout,
                show_span,
            )?,
            first_byte_timeout: self.value(
                of("first-byte-timeout"),
                default.first_byte_timeout,
                rules::answer_timeout,
                show_span,
            )?,
            first_byte_per_1k_tokens: self.value(
                of("first-byte-per-1k-tokens"),
                default.first_byte_per_1k_tokens,
                rules::per_1k_tokens,
                show_span,
            )?,
            idle_timeout: self.value(of("idle-timeout"), default.idle_timeout, rules::answer_timeout, show_span)?,
            ca_file: self.value(of("ca-file"), default.ca_file, ca_file, |path| {
                path.as_ref().map_or("none".to_owned(), |path| path.display().to_string())
            })?,
        };
        table.finish()?;
        let (connect, first) = (settings.connect_timeout, settings.first_byte_timeout);
        self.ordered("wire.connect-timeout", connect, "wire.first-byte-timeout", first)?;
        Ok(settings)
    }

    /// `[store]`: the directory of the cache, whether there is one, the parent of run directories, and the group commit.
    pub(super) fn store(
        &mut self,
        table: &mut Table,
        paths: &Paths,
        flags: &Overrides,
    ) -> Result<(PathBuf, bool, PathBuf, Duration), ConfigError> {
        let base = self.base;
        let dir = |raw: &Raw| rules::path(raw).map(|path| base.absolute(&path));
        let show_path = |path: &PathBuf| path.display().to_string();
        let mut cache_dir = self.value(Setting::of(table, "cache-dir"), paths.cache_dir.clone(), dir, show_path)?;
        if let Some(by_flag) = &flags.cache_dir {
            if by_flag.as_os_str().is_empty() {
                let given = Given::new(Raw::Text(String::new()), "\"\"", Origin::Flag("--cache-dir"));
                return Err(given.refuse("store.cache-dir", "a path"));
            }
            // A flag's path is the shell's business: relative to the working directory, and `~` long expanded.
            cache_dir.clone_from(by_flag);
            self.lines.pop();
            self.line("store.cache-dir", show_path(&cache_dir), Origin::Flag("--cache-dir"));
        }
        let cache = Setting::of(table, "cache").or_flag("--no-cache", flags.no_cache.then_some(false));
        let use_cache = self.value(cache, true, rules::yes_or_no, bool::to_string)?;
        let runs_dir = self.value(Setting::of(table, "runs-dir"), paths.runs_dir.clone(), dir, show_path)?;
        let group_commit =
            self.value(Setting::of(table, "group-commit"), GROUP_COMMIT, rules::group_commit, show_span)?;
        table.finish()?;
        Ok((cache_dir, use_cache, runs_dir, group_commit))
    }
}
