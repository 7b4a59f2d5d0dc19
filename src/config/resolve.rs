//! From file, environment and flags to [`Settings`].

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::model::books::Limits;
use crate::model::{
    BatchSettings, CostPref, Crossover, DispatchSettings, Money, RoutePolicy, ScreenSettings, WedgeGuard, WireSettings,
};

use super::env::Env;
use super::error::{ConfigError, Origin};
use super::orgs;
use super::paths::Paths;
use super::rules::{self, Checked};
use super::settings::{SettingLine, Settings};
use super::tree::{self, Given, Raw, Table};

/// Outages of every org are waited out so long by a run that nobody watches.
const HEADLESS_OUTAGE_LIMIT: Duration = Duration::from_secs(15 * 60);
/// What an answer waits for others to be synced with is what a crash may make us pay twice, on top of what is in flight: at
/// 200 answers a second, two of them. A hundred syncs a second are not seen in the throughput.
const GROUP_COMMIT: Duration = Duration::from_millis(10);
/// A cost that a person wants to have seen before.
const CONFIRM_ABOVE_USD: Money = Money(50 * Money::DOLLAR.0);
/// Hours until a sub-batch is stuck.
const STUCK_HOURS_ENV: &str = "EPS_BATCH_STUCK_HOURS";

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

/// What the flags of the command line say about settings; the command line fills it in.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Overrides {
    /// `--procs`.
    pub procs: Option<u32>,
    /// `--cap`.
    pub cap: Option<u32>,
    /// `--sub-batch-size`.
    pub sub_batch_size: Option<u32>,
    /// `--max-open-sub-batches`.
    pub max_open_sub_batches: Option<u32>,
    /// `--poll-every`.
    pub poll_every: Option<String>,
    /// `--cost-pref`.
    pub cost_pref: Option<String>,
    /// `--max-cost`, in USD.
    pub max_cost: Option<f64>,
    /// `--max-requests`.
    pub max_requests: Option<u32>,
    /// `--orgs`: labels; empty takes all.
    pub orgs: Vec<String>,
    /// `--cache-dir`.
    pub cache_dir: Option<PathBuf>,
    /// `--no-cache`.
    pub no_cache: bool,
    /// The run has no screen, by flag or by itself: nobody watches an outage.
    pub headless: bool,
}

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
        let mut to = Resolver { lines: Vec::new(), base_dir, home: &paths.home };

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

/// A variable as a given value; `None` when it is not set or blank.
pub(super) fn given_env(env: &Env, name: &str) -> Option<Given> {
    let value = env.get(name)?;
    Some(Given::new(Raw::Text(value.to_owned()), &format!("{value:?}"), Origin::Env(name.to_owned())))
}

/// A setting and the values given for it, the one that counts last.
struct Setting {
    name: String,
    given: Vec<Given>,
}

impl Setting {
    fn of(table: &mut Table, key: &'static str) -> Setting {
        Setting { name: table.name(key), given: table.take(key).into_iter().collect() }
    }

    fn or_flag(mut self, flag: &'static str, value: Option<Raw>) -> Setting {
        self.given.extend(value.map(|raw| {
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

struct Resolver<'r> {
    lines: Vec<SettingLine>,
    /// What relative paths in the file are relative to: its directory.
    base_dir: &'r Path,
    home: &'r Path,
}

impl Resolver<'_> {
    fn line(&mut self, name: &str, value: String, origin: Origin) {
        self.lines.push(SettingLine { name: name.to_owned(), value, origin });
    }

    /// Checks every value that is given for a setting, and returns the one that counts.
    fn value<T>(
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

    fn dispatch(&mut self, table: &mut Table, flags: &Overrides) -> Result<DispatchSettings, ConfigError> {
        let default = DispatchSettings::default();
        let outage_limit = if flags.headless { Some(HEADLESS_OUTAGE_LIMIT) } else { default.outage_limit };
        let int = |n: u32| Raw::Int(i64::from(n));
        let procs = Setting::of(table, "procs").or_flag("--procs", flags.procs.map(int));
        let cap = Setting::of(table, "cap").or_flag("--cap", flags.cap.map(int));
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

    fn batch(&mut self, table: &mut Table, env: &Env, flags: &Overrides) -> Result<BatchSettings, ConfigError> {
        let default = BatchSettings::default();
        let int = |n: u32| Raw::Int(i64::from(n));
        let size = Setting::of(table, "sub-batch-size").or_flag("--sub-batch-size", flags.sub_batch_size.map(int));
        let max_open = Setting::of(table, "max-open-sub-batches")
            .or_flag("--max-open-sub-batches", flags.max_open_sub_batches.map(int));
        let poll_every =
            Setting::of(table, "poll-every").or_flag("--poll-every", flags.poll_every.clone().map(Raw::Text));
        let search_for = Setting::of(table, "lost-create-search");
        let stuck =
            Setting { name: "stuck-after".to_owned(), given: given_env(env, STUCK_HOURS_ENV).into_iter().collect() };
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

    fn plan(&mut self, table: &mut Table, flags: &Overrides) -> Result<(RoutePolicy, Option<PathBuf>), ConfigError> {
        let default = RoutePolicy::default();
        let pref = Setting::of(table, "cost-pref").or_flag("--cost-pref", flags.cost_pref.clone().map(Raw::Text));
        let mut of = |key| Setting::of(table, key);
        let at = (self.base_dir, self.home);
        let catalog = |raw: &Raw| rules::path(raw).map(|path| Some(absolute(&path, at)));
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

    fn screen(&mut self, table: &mut Table) -> Result<ScreenSettings, ConfigError> {
        let default = ScreenSettings::default();
        let at = (self.base_dir, self.home);
        // A file is found from where the config file is.
        let found = |name: String| match name.ends_with(".toml") {
            true => absolute(Path::new(&name), at).display().to_string(),
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

    /// Limits of what a run may cost; those of orgs and the deadline stand elsewhere.
    fn limits(&mut self, table: &mut Table, flags: &Overrides) -> Result<Limits, ConfigError> {
        let max_cost = Setting::of(table, "max-cost-usd").or_flag("--max-cost", flags.max_cost.map(Raw::Float));
        let int = |n: u32| Raw::Int(i64::from(n));
        let max_requests = Setting::of(table, "max-requests").or_flag("--max-requests", flags.max_requests.map(int));
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

    fn wire(&mut self, table: &mut Table) -> Result<WireSettings, ConfigError> {
        let default = WireSettings::default();
        let mut of = |key| Setting::of(table, key);
        let at = (self.base_dir, self.home);
        let ca_file = |raw: &Raw| rules::path(raw).map(|path| Some(absolute(&path, at)));
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

    fn store(
        &mut self,
        table: &mut Table,
        paths: &Paths,
        flags: &Overrides,
    ) -> Result<(PathBuf, bool, PathBuf, Duration), ConfigError> {
        let at = (self.base_dir, self.home);
        let dir = |raw: &Raw| rules::path(raw).map(|path| absolute(&path, at));
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
        let cache = Setting::of(table, "cache").or_flag("--no-cache", flags.no_cache.then_some(Raw::Bool(false)));
        let use_cache = self.value(cache, true, rules::yes_or_no, bool::to_string)?;
        let runs_dir = self.value(Setting::of(table, "runs-dir"), paths.runs_dir.clone(), dir, show_path)?;
        let group_commit =
            self.value(Setting::of(table, "group-commit"), GROUP_COMMIT, rules::group_commit, show_span)?;
        table.finish()?;
        Ok((cache_dir, use_cache, runs_dir, group_commit))
    }

    /// Refuses a span that is longer than another; the blame is on the one that was written, the shorter's first.
    fn ordered(&self, less: &str, low: Duration, more: &str, high: Duration) -> Result<(), ConfigError> {
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

fn show_span(span: &Duration) -> String {
    humantime::format_duration(*span).to_string().replace(' ', "")
}

fn show_limit(limit: &Option<Duration>) -> String {
    limit.as_ref().map_or("none".to_owned(), show_span)
}

/// A path of the config file: `~/` is home, and what is relative is relative to the file.
fn absolute(path: &Path, (base_dir, home): (&Path, &Path)) -> PathBuf {
    match path.strip_prefix("~") {
        Ok(rest) => home.join(rest),
        Err(_) => base_dir.join(path),
    }
}
