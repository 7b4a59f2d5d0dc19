//! What `run`, `resume` and `demo` share: an input is indexed, its cache keys are made, answers that are there already are
//! taken, and what is left is handed to the engine.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crate::api::base_url;
use crate::engine::{EngineSpec, RunFacts, RunSpec, plan_batches};
use crate::model::snapshot::OrgTotals;
use crate::model::{OrgSpec, RequestNo, Route};
use crate::report::format;
use crate::requests::{Fingerprint, Input, InputError, fingerprints, keep_local};
use crate::store::{Cache, Last, Recovered, RunDir, RunFile, StateFile, WriterSettings, take_hits};

use super::books::{books, tariff};
use super::failure::Failure;
use super::files;
use super::realised::Memory;
use super::setup::Setup;
use super::simulated::Simulated;

/// An input, ready to be looked up and sent.
pub(crate) struct Indexed {
    /// The requests.
    pub input: Arc<Input>,
    /// Their cache keys, and the cache; `None` when it is off.
    pub cached: Option<(Arc<[Fingerprint]>, Cache)>,
}

/// Indexes and validates an input; nothing has been sent when this fails.
pub(crate) fn index(path: &Path) -> Result<Arc<Input>, Failure> {
    Input::index(path, &mut |_| {}).map(Arc::new).map_err(|error: InputError| Failure::usage(error))
}

/// The cache of a run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CacheAt<'p> {
    /// Its directory.
    pub dir: &'p Path,
    /// Answers of an API on this machine, which are apart from the others.
    pub local: bool,
}

impl<'p> CacheAt<'p> {
    /// For a run over these orgs. One of them is enough to keep its answers from the others.
    pub(crate) fn of(dir: &'p Path, orgs: &[OrgSpec]) -> CacheAt<'p> {
        CacheAt { dir, local: orgs.iter().any(|org| base_url::is_local(&org.base_url)) }
    }
}

/// Makes the cache keys and opens the cache, unless it is off.
pub(crate) fn with_cache(input: Arc<Input>, cache: Option<CacheAt<'_>>) -> Result<Indexed, Failure> {
    let Some(CacheAt { dir, local }) = cache else { return Ok(Indexed { input, cached: None }) };
    let cache = Cache::open(dir).map_err(Failure::usage)?;
    let mut keys = fingerprints(&input, &mut |_| {}).map_err(Failure::usage)?;
    if local {
        keep_local(&mut keys);
    }
    Ok(Indexed { input, cached: Some((keys.into(), cache)) })
}

/// The model of an input, or `mixed`.
pub(crate) fn model_name(input: &Input) -> String {
    match input.models() {
        [one] => one.model.clone(),
        _ => "mixed".to_owned(),
    }
}

/// What the audit trail of a run is to say of a session that is not its first.
fn opening(session: u32, n_left: u64, changes: &[String]) -> Option<String> {
    let left = format::count(n_left);
    (session > 1).then(|| match changes {
        [] => format!("session {session} begins: {left} requests are left"),
        changes => {
            format!("session {session} begins: {left} requests are left; the operator changed {}", changes.join(", "))
        }
    })
}

/// All that a run is driven with.
pub(crate) struct Specs {
    /// The engine.
    pub engine: EngineSpec,
    /// The run.
    pub run: RunSpec,
    /// What is done with its figures when it has come to rest.
    pub memory: Memory,
}

/// A run directory with what is durable in it.
pub(crate) struct Ready {
    /// The directory, owned.
    pub dir: RunDir,
    /// What the run is.
    pub run: RunFile,
    /// Where it was.
    pub state: StateFile,
    /// Where each request is.
    pub last: Vec<Last>,
    /// What the journal says of orgs and cost; nothing for a new run.
    pub recovered: Option<Recovered>,
    /// Also send what a policy left re-drivable.
    pub re_drive: bool,
    /// Send these only: a pilot.
    pub only: Option<Vec<RequestNo>>,
}

impl Ready {
    /// Takes the answers that the cache has into the journal. Gives how many they were.
    pub(crate) fn take_hits(&mut self, indexed: &Indexed) -> Result<u64, Failure> {
        let Some((keys, cache)) = &indexed.cached else { return Ok(0) };
        take_hits(&self.dir, &indexed.input, keys, cache, &mut self.last).map_err(Failure::from)
    }

    /// What the engine needs.
    ///
    /// # Errors
    /// The sub-batches of an earlier session cannot be told apart any more.
    pub(crate) fn specs(self, indexed: Indexed, setup: &Setup, unattended: bool) -> Result<Specs, Failure> {
        let Ready { dir, mut run, mut state, last, recovered, re_drive, only } = self;
        if only.is_none() && run.pilot.take().is_some() {
            // From here on it is the run that the pilot was one of, on the route that was planned with its measurements.
            run.save(dir.path())?;
        }
        let memory = Memory::of(&run, state.sessions + 1, setup);
        let batch = match run.path == Route::Batch || !state.sub_batches.is_empty() {
            true => Some(
                plan_batches(&indexed.input, &last, &state, dir.path(), &run.nonce, setup.batch.clone(), re_drive)
                    .map_err(Failure::usage)?,
            ),
            false => None,
        };
        let prior = prior(&setup.orgs, &state, recovered.as_ref());
        let tariff = tariff(&indexed.input, &setup.catalog);
        let books = books(&indexed.input, &last, &state, recovered.as_ref(), &tariff);
        state.sessions += 1;
        // A run that goes on has the limits that it had, unless others are given.
        let limits = setup.limits.clone().or(&state.limits);
        let opening = opening(state.sessions, state.counts.open(), &limits.changes(&state.limits));
        state.limits = limits.clone();
        let embedded_api = Simulated::is_of_run(&run);
        let facts = RunFacts {
            run_id: run.run_id.clone(),
            dir: dir.path().display().to_string(),
            input: input_name(&run),
            path: run.path,
            route_reason: run.route_reason,
            model: model_name(&indexed.input),
            unattended,
            prior: books,
            prior_waits: state.time_ms.clone(),
            tariff,
            limits,
            embedded_api,
            opening,
            can_move: true,
            pilot: only.as_ref().map(|only| only.len() as u64),
            prior_attempts: state.attempts,
            prior_wall: Duration::from_millis(state.wall_ms),
            absent_orgs: absent(&setup.orgs, &state),
        };
        let (keys, cache) = indexed.cached.unzip();
        let engine = EngineSpec {
            orgs: setup.orgs.clone(),
            settings: setup.dispatch.clone(),
            transport: Arc::clone(&setup.transport),
            catalog: Arc::clone(&setup.catalog),
            prior,
            batches: Some((Arc::clone(&setup.batches), setup.scrubber.clone())),
            most_in_flight: files::most_in_flight(embedded_api),
            seed: fastrand::u64(..),
        };
        let writer = WriterSettings { group: setup.group_commit, ..WriterSettings::default() };
        let day = setup.day_ledger(&run.run_id)?;
        let may_batch = Some((run.nonce, setup.batch.clone()));
        let run =
            RunSpec { facts, input: indexed.input, last, keys, dir, cache, writer, state, batch, may_batch, day, only };
        Ok(Specs { engine, run, memory })
    }
}

/// The input as the operator named it.
pub(crate) fn input_name(run: &RunFile) -> String {
    let input = &run.input;
    if !input.named.is_empty() { input.named.clone() } else { input.path.display().to_string() }
}

/// The orgs of earlier sessions that this one has no key for.
fn absent(orgs: &[OrgSpec], state: &StateFile) -> Vec<(String, OrgTotals)> {
    let gone = state.orgs.iter().filter(|kept| orgs.iter().all(|org| org.label != kept.label));
    gone.map(|kept| (kept.label.clone(), kept.totals)).collect()
}

/// What the orgs did in earlier sessions: attempts as the state file says, answers and money as the journal says.
fn prior(orgs: &[OrgSpec], state: &StateFile, recovered: Option<&Recovered>) -> Vec<OrgTotals> {
    let totals = |org: &OrgSpec| {
        let kept = state.orgs.iter().find(|kept| kept.label == org.label);
        let mut totals = kept.map(|kept| kept.totals).unwrap_or_default();
        if let Some(sums) = recovered.map(|recovered| recovered.books.n_succeeded(&org.label)) {
            totals.n_ok = sums;
        }
        totals
    };
    orgs.iter().map(totals).collect()
}
