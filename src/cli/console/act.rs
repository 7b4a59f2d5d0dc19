//! What is done to a run at the operator's word: resume, re-drive, export, report, delete; and the demo.

use std::path::{Path, PathBuf};

use crate::cli::books::{books, tariff};
use crate::cli::demo::DemoArgs;
use crate::cli::export::{ExportArgs, ExportFormat};
use crate::cli::failure::Failure;
use crate::cli::front::Front;
use crate::cli::launch::{Indexed, Ready};
use crate::cli::options::{DriveArgs, PathArg};
use crate::cli::price::Price;
use crate::cli::resume::ResumeArgs;
use crate::cli::setup::{Setup, runs_dir};
use crate::cli::simulated::Simulated;
use crate::cli::{demo as demo_command, export as export_command, report as report_command, resume as resume_command};
use crate::model::books::Limits;
use crate::report::format;
use crate::report::words::limit_to_raise;
use crate::store::{RunFile, delete_run, forget_run};
use crate::tui::backstage::{Assessment, Attached, RunLimit};

use super::{Console, blocking};

fn words(failure: Failure) -> String {
    failure.message
}

fn resume_args(dir: &Path, re_drive: bool, config: Option<PathBuf>) -> ResumeArgs {
    ResumeArgs {
        dir: dir.to_owned(),
        re_drive,
        path: PathArg::default(),
        accept_changed_input: false,
        accept_lost_results: false,
        drive: DriveArgs::of_config(config),
    }
}

/// Takes the directory, reads back what is durable, and lets go of it again: what would be sent, and for how much.
pub(super) fn assess(dir: PathBuf, re_drive: bool, config: Option<PathBuf>) -> Result<Assessment, String> {
    let args = resume_args(&dir, re_drive, config);
    let run = RunFile::load(&dir).map_err(|error| error.to_string())?;
    let simulated = Simulated::of_run(&run).transpose().map_err(words)?;
    let setup = match &simulated {
        Some(simulated) => simulated.setup_at_nowhere(),
        None => Setup::for_a_run(&args.drive, Front::Screen),
    };
    let setup = setup.map_err(words)?;
    let (ready, indexed) = resume_command::open(&args, &setup).map_err(words)?;
    // The path that a pilot's rest was planned for is that of the run as it was opened, not as it was kept.
    let price = Price::of(&indexed.input, &ready.last, &setup, ready.run.path);
    let cost = if simulated.is_some() { "nothing: the API is simulated".to_owned() } else { price.in_words() };
    let orgs = setup.orgs.iter().map(|org| org.label.clone()).collect();
    let state = &ready.state;
    let tariff = tariff(&indexed.input, &setup.catalog);
    let books = books(&indexed.input, &ready.last, state, ready.recovered.as_ref(), &tariff);
    Ok(Assessment {
        re_drive,
        input: crate::cli::launch::input_name(&run),
        n_left: price.cost.n,
        in_batches: state.n_in_batches().min(price.cost.n),
        cost,
        expected: (simulated.is_none() && price.cost.n_unpriced == 0).then_some(price.cost.expected),
        spent: books.spent() + books.doubt().1,
        max_cost: setup.limits.clone().or(&state.limits).max_cost,
        orgs,
        ended_at: still_blocked(state.reason.as_deref(), &state.limits, &setup.limits),
        dir,
    })
}

/// The limit that ended a run and would end it again at once, because it has not been raised since.
fn still_blocked(reason: Option<&str>, kept: &Limits, given: &Limits) -> Option<RunLimit> {
    let option = limit_to_raise(reason)?;
    let now = given.clone().or(kept);
    if (now.max_cost, now.max_requests) != (kept.max_cost, kept.max_requests) {
        return None;
    }
    match option {
        "--max-cost" => now.max_cost.map(RunLimit::Cost),
        _ => now.max_requests.map(RunLimit::Attempts),
    }
}

/// What the operator agreed to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Agreed {
    /// How many requests may be sent.
    pub n: u64,
    /// The limit that was raised, and up to where.
    pub raised: Option<RunLimit>,
}

/// Goes on with a run, when no more is left than was agreed to.
pub(super) async fn resume(
    console: Console,
    dir: PathBuf,
    re_drive: bool,
    agreed: Agreed,
    config: Option<PathBuf>,
) -> Result<Attached, String> {
    let args = resume_args(&dir, re_drive, config);
    let run = RunFile::load(&dir).map_err(|error| error.to_string())?;
    let (ready, indexed, mut setup) = match Simulated::of_run(&run) {
        Some(simulated) => {
            let simulated = simulated.map_err(words)?;
            simulated.serve(&dir, move |setup| resume_command::open(&args, setup)).await.map_err(words)?
        }
        None => {
            blocking(move || {
                let setup = Setup::for_a_run(&args.drive, Front::Screen).map_err(words)?;
                let (mut ready, indexed) = resume_command::open(&args, &setup).map_err(words)?;
                ready.take_hits(&indexed).map_err(words)?;
                Ok((ready, indexed, setup))
            })
            .await?
        }
    };
    let left = Price::of(&indexed.input, &ready.last, &setup, ready.run.path).cost.n;
    if left > agreed.n {
        return Err(format!(
            "{} has {} requests left, and {} were agreed to; look again",
            dir.display(),
            format::count(left),
            format::count(agreed.n)
        ));
    }
    match agreed.raised {
        Some(RunLimit::Cost(most)) => setup.limits.max_cost = Some(most),
        Some(RunLimit::Attempts(most)) => setup.limits.max_requests = Some(most),
        None => {}
    }
    hand_over(&console, ready, indexed, &setup)
}

/// Starts the demo, in a directory of its own.
pub(super) async fn demo(console: Console) -> Result<Attached, String> {
    let made = blocking(|| demo_command::make(&DemoArgs::usual()).map_err(words)).await?;
    let (ready, indexed, setup) =
        made.simulated.serve(&made.run_dir, |setup| made.seed.ready(setup)).await.map_err(words)?;
    if let Ok(runs) = runs_dir(console.0.config.as_deref()) {
        crate::cli::run::remember(&runs, ready.dir.path());
    }
    hand_over(&console, ready, indexed, &setup)
}

pub(super) fn hand_over(console: &Console, ready: Ready, indexed: Indexed, setup: &Setup) -> Result<Attached, String> {
    let specs = ready.specs(indexed, setup, false).map_err(words)?;
    console.drive(specs).map_err(words)
}

/// Writes the results beside where fandeck was started; a file that is there already is left alone.
pub(super) fn export(dir: PathBuf, csv: bool) -> Result<String, String> {
    let (format, extension) = if csv { (ExportFormat::Csv, "csv") } else { (ExportFormat::Jsonl, "jsonl") };
    let name = dir.file_name().map_or("run".to_owned(), |name| name.to_string_lossy().into_owned());
    let here = std::env::current_dir().map_err(|error| format!("failed to find the working directory: {error}"))?;
    let mut out = here.join(format!("{name}.{extension}"));
    let mut n = 1;
    while out.exists() {
        n += 1;
        out = here.join(format!("{name}-{n}.{extension}"));
    }
    let args = ExportArgs { dir, format, out: Some(out.clone()), with_meta: false, accept_changed_input: false };
    export_command::export(&args).map_err(words)?;
    Ok(format!("written: {}", out.display()))
}

/// What happened in a run, in words.
pub(super) fn report(dir: &Path) -> Result<String, String> {
    report_command::text(dir).map_err(words)
}

/// Deletes a run that is still what the operator saw.
pub(super) fn delete(dir: &Path, run_id: &str, done: u64) -> Result<PathBuf, String> {
    let kept = delete_run(dir, run_id, done).map_err(|error| format!("not deleted: {}", words(error.into())))?;
    if let Some(file) = kept {
        return Err(format!(
            "the run is deleted; its directory stays, because it holds {file}, which is not the run's: {}",
            dir.display()
        ));
    }
    if let Ok(runs) = runs_dir(None) {
        forget_run(&runs, dir);
    }
    Ok(dir.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Money;

    #[test]
    fn a_limit_that_ended_a_run_is_told_until_it_is_raised() {
        let limits = |usd: f64| Limits { max_cost: Some(Money::from_usd(usd)), ..Limits::default() };
        let reason = Some("resume with a higher limit: the next request would pass max-cost of $2.00: …");
        let none = Limits::default();
        assert_eq!(still_blocked(None, &limits(2.0), &none), None);
        assert_eq!(still_blocked(reason, &limits(2.0), &none), Some(RunLimit::Cost(Money::from_usd(2.0))));
        assert_eq!(still_blocked(reason, &limits(2.0), &limits(3.0)), None, "the configuration has raised it");
        let attempts = Limits { max_requests: Some(7), ..Limits::default() };
        let reason = Some("would pass max-requests of 7: …");
        assert_eq!(still_blocked(reason, &attempts, &none), Some(RunLimit::Attempts(7)));
    }
}
