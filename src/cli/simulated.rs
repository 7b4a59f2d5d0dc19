//! A run against the embedded simulated API: what `demo` starts and `resume` goes on with, over real HTTP on a loopback port.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use tokio::net::TcpListener;

use crate::model::{BatchSettings, DispatchSettings, Family, OrgSpec, WireSettings};
use crate::sim::{Scenario, SharedSim, serve};
use crate::store::RunFile;

use super::drive::{Shown, drive};
use super::failure::{Failure, Outcome};
use super::front::Front;
use super::launch::{Indexed, Ready};
use super::logging::Logging;
use super::options::ShowArgs;
use super::runtime::runtime;
use super::setup::Setup;
use super::simulate::time_scale;

/// What `run.json` calls the scenario of such a run.
const SCENARIO: &str = "simulated-scenario";
const SEED: &str = "simulated-seed";
const TIME_SCALE: &str = "simulated-time-scale";
const BATCH_SHARE: &str = "simulated-batch-share";

/// No span of the batch path is shorter: a poll costs something even on a loopback port.
const SHORTEST: Duration = Duration::from_millis(250);

/// Which simulation.
pub(crate) struct Simulated {
    name: String,
    /// What happens in it.
    pub scenario: Scenario,
    seed: u64,
    scale: f64,
    /// Share of the requests that go into sub-batches.
    pub batch_share: f64,
}

impl Simulated {
    /// A scenario, by name or by file. Without a time scale, the scenario's own.
    pub(crate) fn load(name: &str, seed: u64, scale: Option<f64>) -> Result<Simulated, Failure> {
        let scenario = Scenario::load(name).map_err(Failure::usage)?;
        let scale = time_scale(scale.unwrap_or(scenario.demo.time_scale))?;
        let batch_share = scenario.demo.batch_share;
        Ok(Simulated { name: name.to_owned(), scenario, seed, scale, batch_share })
    }

    /// Whether a run was made against a simulation.
    pub(crate) fn is_of_run(run: &RunFile) -> bool {
        run.settings.contains_key(SCENARIO)
    }

    /// The simulation that a run was made against; `None` for a run against an API.
    pub(crate) fn of_run(run: &RunFile) -> Option<Result<Simulated, Failure>> {
        let name = run.settings.get(SCENARIO)?;
        let number = |key: &str| run.settings.get(key).and_then(|text| text.parse::<f64>().ok());
        let seed = run.settings.get(SEED).and_then(|text| text.parse().ok()).unwrap_or(1);
        Some(Simulated::load(name, seed, number(TIME_SCALE)).map(|mut simulated| {
            simulated.batch_share = number(BATCH_SHARE).filter(|share| (0.0..=1.0).contains(share)).unwrap_or(0.0);
            simulated
        }))
    }

    /// For `run.json`, so that a resume goes on against the same simulation and never against an API.
    pub(crate) fn settings(&self) -> BTreeMap<String, String> {
        BTreeMap::from([
            (SCENARIO.to_owned(), self.name.clone()),
            (SEED.to_owned(), self.seed.to_string()),
            (TIME_SCALE.to_owned(), self.scale.to_string()),
            (BATCH_SHARE.to_owned(), self.batch_share.to_string()),
        ])
    }

    /// Serves the simulation and drives the run that `make` makes ready for it.
    pub(crate) fn drive(
        self,
        front: Front,
        show: &ShowArgs,
        run_dir: &Path,
        make: impl FnOnce(&Setup) -> Result<(Ready, Indexed), Failure>,
    ) -> Outcome {
        runtime()?.block_on(async {
            let (ready, indexed, setup) = self.serve(run_dir, make).await?;
            let logging = Logging::start(front, &setup.log_dir, run_dir, setup.scrubber.clone())?;
            let shown = Shown { front, show: show.clone(), config: None };
            let specs = ready.specs(indexed, &setup, !front.is_attended())?;
            drive(specs, &shown, &logging).await
        })
    }

    /// Serves the simulation for as long as the runtime lives, to the run that `make` makes ready for it.
    pub(crate) async fn serve(
        self,
        run_dir: &Path,
        make: impl FnOnce(&Setup) -> Result<(Ready, Indexed), Failure>,
    ) -> Result<(Ready, Indexed, Setup), Failure> {
        let listener = TcpListener::bind("127.0.0.1:0")
            .await
            .map_err(|error| Failure::internal(format!("failed to open a loopback port: {error}")))?;
        let address =
            listener.local_addr().map_err(|error| Failure::internal(format!("failed to tell the port: {error}")))?;
        let mut setup = setup(&self.scenario, &format!("http://{address}"), self.scale)?;
        setup.log_dir = beside(run_dir, ".logs");
        setup.batch.share = self.batch_share;
        let (ready, indexed) = make(&setup)?;
        let sim = SharedSim::new(self.scenario, self.seed, self.scale);
        tokio::spawn(serve(listener, sim, std::future::pending()));
        Ok((ready, indexed, setup))
    }

    /// What a run would be made with, to look at it only: nothing is served.
    pub(crate) fn setup_at_nowhere(&self) -> Result<Setup, Failure> {
        setup(&self.scenario, "http://127.0.0.1:1", self.scale)
    }
}

/// A path beside a run directory, of the same name with something added.
pub(crate) fn beside(run_dir: &Path, what: &str) -> std::path::PathBuf {
    let mut name = run_dir.file_name().unwrap_or_default().to_os_string();
    name.push(what);
    run_dir.with_file_name(name)
}

/// The orgs of the scenario, at the port of its server. Spans of the dispatcher shrink with the simulation's clock.
fn setup(scenario: &Scenario, url: &str, scale: f64) -> Result<Setup, Failure> {
    let orgs: Vec<OrgSpec> = scenario
        .orgs
        .iter()
        .map(|org| OrgSpec {
            label: org.label.clone(),
            key_env: "the scenario".to_owned(),
            key: org.key.clone(),
            base_url: url.to_owned(),
            caps: [scenario.demo.cap; Family::COUNT],
        })
        .collect();
    if orgs.is_empty() {
        return Err(Failure::usage("the scenario names no orgs; give one with [[orgs]]"));
    }
    let faster = |span: Duration| span.div_f64(scale.max(1.0));
    let usual = DispatchSettings::default();
    let dispatch = DispatchSettings {
        ramp: faster(usual.ramp),
        backoff_min: faster(usual.backoff_min),
        backoff_max: faster(usual.backoff_max),
        ..usual
    };
    let batches = scenario.demo;
    let sooner = |span: Duration| span.div_f64((scale * batches.batch_speed).max(1.0)).max(SHORTEST);
    let usual = BatchSettings::default();
    let poll_every = sooner(usual.poll_every);
    let batch = BatchSettings {
        size: batches.sub_batch_size,
        poll_every,
        search_for: sooner(usual.search_for),
        // One that is seldom looked at must not be called stuck for that.
        stuck_after: usual.stuck_after.map(|after| sooner(after).max(8 * poll_every)),
        ..usual
    };
    Setup::over(orgs, dispatch, &WireSettings::default()).map(|setup| Setup { batch, ..setup })
}
