//! Settings, and what is made of them before a run: keys, client, catalog, scrubber.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::api::batches::BatchTransport;
use crate::api::{HttpTransport, Transport};
use crate::catalog::Catalog;
use crate::config::{ConfigText, Env, Overrides, Paths, Settings};
use crate::engine::{DayClaim, DayGrant, DayLedger};
use crate::model::books::Limits;
use crate::model::{BatchSettings, DispatchSettings, Money, OrgSpec, RoutePolicy, Scrubber, WireSettings};
use crate::store::{Spend, stamp};

use super::deadline;
use super::failure::Failure;
use super::front::Front;
use super::launch::CacheAt;
use super::options::DriveArgs;
use super::sabotage;

/// What a run is made with.
pub(crate) struct Setup {
    /// The orgs, with their keys.
    pub orgs: Vec<OrgSpec>,
    /// How the dispatcher behaves.
    pub dispatch: DispatchSettings,
    /// What carries calls.
    pub transport: Arc<dyn Transport>,
    /// How batches are driven.
    pub batch: BatchSettings,
    /// What carries the calls of batches.
    pub batches: Arc<dyn BatchTransport>,
    /// Prices.
    pub catalog: Arc<Catalog>,
    /// What the rules of the route work by.
    pub policy: RoutePolicy,
    /// What earlier runs measured; `None` where none is kept.
    pub history_dir: Option<PathBuf>,
    /// Takes key material out of texts.
    pub scrubber: Scrubber,
    /// Directory of the cache; `None` when it is off.
    pub cache_dir: Option<PathBuf>,
    /// Where the ledger of the day is; `None` for runs that cost nothing.
    pub data_dir: Option<PathBuf>,
    /// Parent of new run directories.
    pub runs_dir: PathBuf,
    /// Directory of log files.
    pub log_dir: PathBuf,
    /// Group commit of the journal.
    pub group_commit: Duration,
    /// Cost above which a run has to be confirmed.
    pub confirm_above: Money,
    /// What a run may cost and do at most.
    pub limits: Limits,
    /// The cost that was authorised.
    pub authorized: Option<Money>,
}

/// Resolves the settings: file, environment, flags.
pub(crate) fn settings(config: Option<&Path>, flags: &Overrides) -> Result<Settings, Failure> {
    let paths = Paths::of_user().map_err(Failure::usage)?;
    let file = ConfigText::load(config, &paths).map_err(Failure::usage)?;
    Settings::resolve(file.as_ref(), &Env::of_process(), &paths, flags).map_err(Failure::usage)
}

/// The built-in catalog, and what a file adds to it.
pub(crate) fn catalog(file: Option<&Path>) -> Result<Catalog, Failure> {
    let Some(path) = file else { return Ok(Catalog::builtin()) };
    let text = std::fs::read_to_string(path)
        .map_err(|error| Failure::usage(format!("failed to read the catalog {}: {error}", path.display())))?;
    Catalog::builtin().with_overrides(&text).map_err(|error| Failure::usage(format!("{}: {error}", path.display())))
}

/// Where run directories are looked for.
pub(crate) fn runs_dir(config: Option<&Path>) -> Result<PathBuf, Failure> {
    settings(config, &Overrides::default()).map(|settings| settings.runs_dir)
}

impl Setup {
    /// For a run over the orgs of the configuration; fails when there is no key.
    pub(crate) fn for_a_run(args: &DriveArgs, front: Front) -> Result<Setup, Failure> {
        let flags = Overrides {
            poll_every: args.poll_every.clone(),
            max_cost: args.max_cost,
            max_requests: args.max_requests,
            headless: !front.is_attended(),
            ..args.planning.overrides()
        };
        let settings = settings(args.planning.config.as_deref(), &flags)?;
        let orgs = settings.require_orgs().map_err(Failure::usage)?.to_vec();
        let cache_dir = settings.use_cache.then(|| settings.cache_dir.clone());
        let mut setup = Setup::over(orgs, settings.dispatch, &settings.wire)?;
        setup.batch = settings.batch;
        setup.policy = settings.policy;
        setup.catalog = Arc::new(catalog(settings.catalog_file.as_deref())?);
        setup.history_dir = Some(settings.cache_dir);
        setup.cache_dir = cache_dir;
        setup.data_dir = Some(Paths::of_user().map_err(Failure::usage)?.data_dir);
        setup.runs_dir = settings.runs_dir;
        setup.log_dir = settings.log_dir;
        setup.group_commit = settings.group_commit;
        setup.confirm_above = settings.confirm_above_usd;
        setup.limits = settings.limits;
        if let Some(text) = &args.deadline {
            setup.limits.deadline = Some(deadline::parse(text, stamp::now())?.0);
        }
        setup.authorized = authorized(args.authorized_cost)?;
        Ok(setup)
    }

    /// Where the runs that are worked on are known by their ids; empty for runs that cost nothing.
    pub(crate) fn at_work(&self) -> PathBuf {
        self.data_dir.as_ref().map_or_else(PathBuf::new, |dir| dir.join("at-work"))
    }

    /// Takes a run's claims to what all runs of this user may cost in a day. Without a limit a ledger that cannot be opened is
    /// said in the log, and nothing more.
    pub(crate) fn day_ledger(&self, run_id: &str) -> Result<Option<DayLedger>, Failure> {
        let Some(dir) = &self.data_dir else { return Ok(None) };
        let spend = match Spend::open(dir) {
            Ok(spend) => Mutex::new(spend),
            Err(error) if self.limits.per_day.is_some() => {
                return Err(Failure::usage(format!("per-day-usd cannot be kept: {error}")));
            }
            Err(error) => {
                tracing::warn!("what this run costs will not count for a day's limit: {error}");
                return Ok(None);
            }
        };
        let run_id = run_id.to_owned();
        Ok(Some(Arc::new(move |claim: &DayClaim| {
            let mut spend = spend.lock().unwrap_or_else(PoisonError::into_inner);
            let taken = spend.claim(&run_id, &claim.day, claim.spent, claim.wanted, claim.limit);
            taken.map(|(others, granted)| DayGrant { others, granted }).map_err(|error| error.to_string())
        })))
    }

    /// The cache; `None` when it is off.
    pub(crate) fn cache(&self) -> Option<CacheAt<'_>> {
        self.cache_dir.as_deref().map(|dir| CacheAt::of(dir, &self.orgs))
    }

    /// As for a run without any option, to speak to the orgs.
    pub(crate) fn of_config(config: Option<&Path>, front: Front) -> Result<Setup, Failure> {
        let args = DriveArgs::of_config(config.map(Path::to_owned));
        Setup::for_a_run(&args, front)
    }

    /// Over these orgs, with no cache, and nothing that is kept outside the run directory.
    pub(crate) fn over(orgs: Vec<OrgSpec>, dispatch: DispatchSettings, wire: &WireSettings) -> Result<Setup, Failure> {
        let scrubber = Scrubber::new(orgs.iter().map(|org| &org.key));
        let transport = Arc::new(HttpTransport::new(&orgs, wire, scrubber.clone()).map_err(Failure::usage)?);
        Ok(Setup {
            orgs,
            dispatch,
            transport: sabotage::transport(Arc::<HttpTransport>::clone(&transport)),
            batch: BatchSettings::default(),
            batches: transport,
            catalog: Arc::new(Catalog::builtin()),
            policy: RoutePolicy::default(),
            history_dir: None,
            scrubber,
            cache_dir: None,
            data_dir: None,
            runs_dir: PathBuf::new(),
            log_dir: PathBuf::new(),
            group_commit: Duration::from_millis(10),
            confirm_above: Money::ZERO,
            limits: Limits::default(),
            authorized: None,
        })
    }
}

/// The authorised cost, as it was given.
fn authorized(usd: Option<f64>) -> Result<Option<Money>, Failure> {
    match usd {
        None => Ok(None),
        Some(usd) if usd.is_finite() && (0.0..=1e6).contains(&usd) => Ok(Some(Money::from_usd(usd))),
        Some(usd) => {
            // An amount of three hundred digits is not repeated to whoever typed an exponent.
            let usd = if usd.abs() < 1e15 { usd.to_string() } else { format!("{usd:e}") };
            Err(Failure::usage(format!("--authorized-cost {usd}: must be an amount in USD from 0 to 1000000")))
        }
    }
}
