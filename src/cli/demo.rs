//! `fandeck demo`: the whole product against the embedded simulated API, over real HTTP on a loopback port.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::net::TcpListener;

use crate::model::{DispatchSettings, Family, OrgSpec, WireSettings};
use crate::sim::{Scenario, SharedSim, serve};
use crate::store::{Last, RunDir, StateFile};

use super::args::DemoArgs;
use super::demo_input;
use super::drive::{Shown, drive, runtime};
use super::failure::{Failure, Outcome};
use super::front::Front;
use super::launch::{Indexed, Ready, index, store_failure};
use super::logging::Logging;
use super::out;
use super::run::{Named, run_file};
use super::setup::Setup;
use super::simulate::time_scale;

/// Runs the demo.
pub(crate) fn demo(args: &DemoArgs) -> Outcome {
    let scenario = Scenario::load(&args.scenario).map_err(Failure::usage)?;
    let scale = time_scale(args.time_scale.unwrap_or(scenario.demo.time_scale))?;
    let n = args.requests.unwrap_or(scenario.demo.requests);
    if n == 0 {
        return Err(Failure::usage("--requests 0: at least 1 is allowed"));
    }
    let front = Front::choose(&args.show);
    let place = Place::make(args.run_dir.as_deref())?;
    let made = demo_input::write(&place.input, n);
    made.map_err(|error| Failure::usage(format!("failed to write {}: {error}", place.input.display())))?;
    let input = index(&place.input)?;
    let cap = scenario.demo.cap;
    let exit_code = runtime()?.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0")
            .await
            .map_err(|error| Failure::internal(format!("failed to open a loopback port: {error}")))?;
        let address =
            listener.local_addr().map_err(|error| Failure::internal(format!("failed to tell the port: {error}")))?;
        let setup = setup(&scenario, &format!("http://{address}"), cap, scale)?;
        let claim = RunDir::claim(&place.run_dir).map_err(|error| store_failure(&error))?;
        let named = format!("demo, scenario {}", args.scenario);
        let reason = "the demo shows the sync path".to_owned();
        let run = run_file(&input, Named { named, spooled: false }, reason, &setup)?;
        let dir = claim.start(&run).map_err(|error| store_failure(&error))?;
        let state = StateFile::fresh(&run);
        let last = vec![Last::Unsent; input.len() as usize];
        let ready = Ready { dir, run, state, last, recovered: None };
        let logging = Logging::start(front, &place.log_dir, &place.run_dir, setup.scrubber.clone())?;
        let shown = Shown { front, show: args.show.clone(), leave_when_done: true };
        let (engine, run) = ready.specs(Indexed { input, cached: None }, &setup, front != Front::Screen);
        // The scenario's clock starts with the run.
        let sim = SharedSim::new(scenario, args.seed, scale);
        tokio::spawn(serve(listener, sim, std::future::pending()));
        drive(engine, run, &shown, &logging).await
    })?;
    if let (Some(kept), true) = (&place.temporary, front != Front::Json) {
        out::say(&format!("fandeck: the files of the demo stay in {} until you delete them", kept.display()));
    }
    Ok(exit_code)
}

/// The files of the demo.
struct Place {
    run_dir: PathBuf,
    input: PathBuf,
    log_dir: PathBuf,
    /// The directory of them all, when nobody named one. It stays: results of the demo can be exported like any other's.
    temporary: Option<PathBuf>,
}

impl Place {
    fn make(run_dir: Option<&Path>) -> Result<Place, Failure> {
        let temporary = |error| Failure::usage(format!("failed to make a temporary directory: {error}; set TMPDIR"));
        match run_dir {
            None => {
                let temp = tempfile::Builder::new().prefix("fandeck-demo-").tempdir().map_err(temporary)?.keep();
                let at = |name: &str| temp.join(name);
                Ok(Place { run_dir: at("run"), input: at("input.jsonl"), log_dir: at("logs"), temporary: Some(temp) })
            }
            Some(dir) => {
                let beside = |what: &str| {
                    let mut name = dir.file_name().unwrap_or_default().to_os_string();
                    name.push(what);
                    dir.with_file_name(name)
                };
                let parent = dir.parent().unwrap_or(Path::new(""));
                std::fs::create_dir_all(parent)
                    .map_err(|error| Failure::usage(format!("failed to create {}: {error}", parent.display())))?;
                Ok(Place {
                    run_dir: dir.to_owned(),
                    input: beside(".input.jsonl"),
                    log_dir: beside(".logs"),
                    temporary: None,
                })
            }
        }
    }
}

/// The orgs of the scenario, at the port of its server. Spans of the dispatcher shrink with the simulation's clock.
fn setup(scenario: &Scenario, url: &str, cap: u32, scale: f64) -> Result<Setup, Failure> {
    let orgs: Vec<OrgSpec> = scenario
        .orgs
        .iter()
        .map(|org| OrgSpec {
            label: org.label.clone(),
            key_env: "the scenario".to_owned(),
            key: org.key.clone(),
            base_url: url.to_owned(),
            caps: [cap; Family::COUNT],
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
    Setup::over(orgs, dispatch, &WireSettings::default())
}
