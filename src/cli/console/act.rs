//! What is done to a run at the operator's word: resume, re-drive, export, report, delete; and the demo.

use std::path::{Path, PathBuf};

use crate::cli::args::{DemoArgs, DriveArgs, ExportArgs, ExportFormat, PathArg, ResumeArgs};
use crate::cli::failure::Failure;
use crate::cli::front::Front;
use crate::cli::launch::{Indexed, Ready, store_failure};
use crate::cli::price::Price;
use crate::cli::setup::{Setup, runs_dir};
use crate::cli::simulated::Simulated;
use crate::cli::{demo as demo_command, export as export_command, report as report_command, resume as resume_command};
use crate::model::Money;
use crate::model::books::Limits;
use crate::report::format;
use crate::report::summary::limit_to_raise;
use crate::store::{RunFile, delete_run, forget_run};
use crate::tui::backstage::{Assessment, Attached};

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
        drive: DriveArgs { config, ..DriveArgs::default() },
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
    let limit = still_blocked(state.reason.as_deref(), &state.limits, &setup.limits, state.books.spent(), &dir);
    let input = crate::cli::launch::input_name(&run);
    Ok(Assessment { dir, re_drive, input, n_left: price.cost.n, cost, orgs, limit })
}

/// The limit that ended a run and would end it again at once, because it has not been raised since, with what raises it.
fn still_blocked(reason: Option<&str>, kept: &Limits, given: &Limits, spent: Money, dir: &Path) -> Option<String> {
    let option = limit_to_raise(reason)?;
    let now = given.clone().or(kept);
    if (now.max_cost, now.max_requests) != (kept.max_cost, kept.max_requests) {
        return None;
    }
    let limit = match (option, now.max_cost, now.max_requests) {
        ("--max-cost", Some(most), _) => {
            format!("{} ({} spent)", format::money(most), format::money(spent))
        }
        (_, _, Some(most)) => format!("{} attempts", format::count(most)),
        _ => return None,
    };
    let dir = dir.display();
    Some(format!(
        "It ended at its limit of {limit} and would stop at once. Leave, and raise it: fandeck resume {dir} {option} N"
    ))
}

/// Goes on with a run, when no more is left than was agreed to.
pub(super) async fn resume(
    console: Console,
    dir: PathBuf,
    re_drive: bool,
    agreed: u64,
    config: Option<PathBuf>,
) -> Result<Attached, String> {
    let args = resume_args(&dir, re_drive, config);
    let run = RunFile::load(&dir).map_err(|error| error.to_string())?;
    let (ready, indexed, setup) = match Simulated::of_run(&run) {
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
    if left > agreed {
        return Err(format!(
            "{} has {} requests left, and {} were agreed to; look again",
            dir.display(),
            format::count(left),
            format::count(agreed)
        ));
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
    let kept = delete_run(dir, run_id, done).map_err(|error| words(store_failure(&error)))?;
    if let Some(file) = kept {
        return Err(format!(
            "the run in {} is deleted; the directory stays, because it holds {file}, which is not the run's",
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

    #[test]
    fn a_resume_that_would_stop_at_once_says_the_limit_and_what_raises_it() {
        let limits = |usd: f64| Limits { max_cost: Some(Money::from_usd(usd)), ..Limits::default() };
        let asked = |reason, given: &Limits| {
            still_blocked(reason, &limits(2.0), given, Money::from_usd(1.9), Path::new("/runs/a"))
        };
        let reason = Some("resume with a higher limit: the next request would pass max-cost of $2.00: …");
        assert_eq!(asked(None, &Limits::default()), None);
        let told = asked(reason, &Limits::default()).unwrap();
        assert!(told.contains("limit of $2.00") && told.contains("would stop at once"), "{told}");
        assert!(told.ends_with("fandeck resume /runs/a --max-cost N"), "{told}");
        assert_eq!(asked(reason, &limits(3.0)), None, "the configuration has raised it");
    }
}
