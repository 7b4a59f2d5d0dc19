//! The list of runs, for its screen.

use std::path::{Path, PathBuf};

use crate::cli::launch::input_name;
use crate::cli::setup;
use crate::cli::simulated::Simulated;
use crate::cli::status::{in_batches, standing};
use crate::config::Overrides;
use crate::store::{Listed, Owner, RunDir, RunPeek, list_runs_by, stamp};
use crate::tui::backstage::{RunFacts, RunRow, RunsFound};

/// Where runs are looked for.
pub(super) fn place(config: Option<&Path>) -> Result<PathBuf, String> {
    setup::runs_dir(config).map_err(|failure| failure.message)
}

/// The runs found, with the one that is driven here wherever it is, and the orgs that have a key. `look` is told of each
/// directory before it is looked into, and may have it passed over. `driven` tells which run is driven here at the moment.
pub(super) fn list(
    config: Option<&Path>,
    driven: &dyn Fn() -> Option<PathBuf>,
    look: &mut dyn FnMut(&Path) -> bool,
) -> Result<RunsFound, String> {
    let settings = setup::settings(config, &Overrides::default()).map_err(|failure| failure.message)?;
    let mut listed = list_runs_by(&settings.runs_dir, look).map_err(|error| error.to_string())?;
    let driven = || driven().map(|dir| dir.canonicalize().unwrap_or(dir));
    let is = |dir: &Path, other: &Path| dir == other || dir.canonicalize().is_ok_and(|dir| dir == other);
    for Listed { dir, run } in &mut listed {
        let Ok(peek) = run else { continue };
        // Owned for a moment, by an errand that reads back what is durable: nobody drives it.
        if peek.owner.as_ref().is_some_and(Owner::is_this_process) && !driven().is_some_and(|driven| is(dir, &driven)) {
            peek.owner = None;
        }
    }
    if let Some(driven) = driven()
        && !listed.iter().any(|listed| is(&listed.dir, &driven))
    {
        // A demo's, whose directory is a temporary one.
        listed.insert(0, Listed { run: RunDir::peek(&driven), dir: driven });
    }
    Ok(RunsFound {
        at: stamp::now(),
        rows: listed.into_iter().map(row).collect(),
        orgs: settings.orgs.iter().map(|org| org.label.clone()).collect(),
        place: settings.runs_dir,
    })
}

fn row(listed: Listed) -> RunRow {
    let Listed { dir, run } = listed;
    RunRow { dir, facts: run.map(|peek| facts(&peek)).map_err(|error| error.to_string()) }
}

fn facts(peek: &RunPeek) -> RunFacts {
    let RunPeek { run, state, owner, heartbeat_age, .. } = peek;
    RunFacts {
        run_id: run.run_id.clone(),
        input: input_name(run),
        created_at: run.created_at,
        standing: standing(peek),
        status: state.status,
        owner: owner.as_ref().map(ToString::to_string),
        here: owner.as_ref().is_some_and(Owner::is_this_process),
        heartbeat_ms: u64::try_from(heartbeat_age.as_millis()).unwrap_or(u64::MAX),
        path: run.path,
        counts: state.counts,
        in_batches: in_batches(peek),
        cost: state.cost,
        reason: state.reason.clone(),
        resumable: owner.is_none() && state.counts.open() > 0,
        simulated: Simulated::is_of_run(run),
    }
}
