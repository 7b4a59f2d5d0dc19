//! A run under a frontend: starts the engine, shows it on the screen or as lines, and waits until it has come to rest.

use std::io;

use crate::engine::{EngineHandle, EngineSpec, RunEnd, RunSpec, Started, start};
use crate::model::snapshot::RunView;
use crate::model::{Command, RunSlot, Snapshot};
use crate::report::{format, json, plain, summary};
use crate::store::{RunDir, StateFile};
use crate::tui;
use crate::tui::backstage::{Attached, Driver};

use super::args::ShowArgs;
use super::console::Console;
use super::failure::{Failure, Outcome};
use super::front::Front;
use super::launch::store_failure;
use super::logging::Logging;
use super::rescue;
use super::signals::{Ended, Signals};
use super::{orders, out};

/// The one run of this process.
const RUN: RunSlot = RunSlot(0);

/// How the run is shown.
pub(crate) struct Shown {
    /// The frontend.
    pub front: Front,
    /// Options of the frontends.
    pub show: ShowArgs,
    /// Leave the screen by itself when the run has come to rest.
    pub leave_when_done: bool,
}

/// A runtime of one worker a core.
pub(crate) fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::internal(format!("failed to start the runtime: {error}")))
}

/// Drives a run to its rest. Gives the exit code.
pub(crate) async fn drive(engine: EngineSpec, run: RunSpec, shown: &Shown, logging: &Logging) -> Outcome {
    let by_signal = Ended::default();
    let signals = Signals::listen()?;
    let run_dir = run.dir.path().to_owned();
    let Started { handle, ended } = start(engine, vec![run]).map_err(|error| store_failure(&error))?;
    // The screen minds signals itself: it has a terminal to give back.
    let mut watcher = match shown.front {
        Front::Screen => tokio::spawn(std::future::pending()),
        _ => tokio::spawn(signals.stop(handle.clone(), RUN, by_signal.clone())),
    };
    let orders = tokio::spawn(orders::obey(handle.clone(), RUN, run_dir));
    let shown_to_the_end = show(&handle, shown, logging, &by_signal).await;
    if shown.front == Front::Screen && !ended.is_finished() {
        if shown_to_the_end.is_err() || by_signal.exit_code().is_some() {
            // Whoever left the screen before the run was over has told it to stop already; it may wait for the disk.
            let _ = handle.send(Command::StopRun { run: RUN });
        }
        watcher = tokio::spawn(Signals::listen()?.stop(handle.clone(), RUN, by_signal.clone()));
    }
    let ends = ended.await.map_err(|error| Failure::internal(format!("the engine failed: {error}")))?;
    watcher.abort();
    orders.abort();
    shown_to_the_end?;
    let Some(end) = ends.into_iter().next() else { return Err(Failure::internal("the run has no end")) };
    warn_of_losses(&end, &handle, logging);
    let exit_code = exit_code(end.exit_code, &by_signal);
    // Another process may own the directory by now, and writes what is so.
    if exit_code != end.exit_code && end.closed.dir.is_still_ours() {
        keep_exit_code(&end.closed.dir, exit_code);
    }
    if shown.front == Front::Screen {
        out::print(&summary::text(&handle.snapshot(), exit_code))?;
    }
    Ok(exit_code)
}

/// A signal that came when everything was done already changes nothing.
fn exit_code(own: u8, by_signal: &Ended) -> u8 {
    match by_signal.exit_code() {
        Some(code) if own == 4 || code == 1 => code,
        _ => own,
    }
}

async fn show(handle: &EngineHandle, shown: &Shown, logging: &Logging, by_signal: &Ended) -> Result<(), Failure> {
    let failed = |error: io::Error| Failure::internal(format!("failed to show the run: {error}"));
    match shown.front {
        Front::Json => {
            let code = |run: &RunView| exit_code(code_of(run), by_signal);
            json::run(handle.clone(), io::stdout(), json::JsonOptions::default(), code).await.map_err(failed)?;
        }
        Front::Plain => {
            let options = plain::PlainOptions { ascii: shown.show.ascii, ..plain::PlainOptions::default() };
            let code = |snapshot: &Snapshot| snapshot.runs.first().map_or(0, |run| exit_code(code_of(run), by_signal));
            plain::run(handle.clone(), io::stdout(), options, code).await.map_err(failed)?;
        }
        Front::Screen => {
            let exit = {
                let attached = Attached { handle: handle.clone(), driver: Driver::Here };
                tui::run(Some(attached), Console::new(None), options(shown, logging), Some(logging.feed.clone())).await
            };
            match &exit {
                Ok(tui::TuiExit::Interrupted) => by_signal.note(130),
                Ok(tui::TuiExit::Terminated) => by_signal.note(143),
                Ok(tui::TuiExit::HungUp) => by_signal.note(129),
                Ok(tui::TuiExit::Finished | tui::TuiExit::Drained | tui::TuiExit::Stopped) => {}
                // Nobody sees the run any more: it is stopped, so that it can be resumed.
                Ok(tui::TuiExit::Broken) | Err(_) => by_signal.note(1),
            }
            exit.map_err(failed)?;
        }
    }
    Ok(())
}

fn options(shown: &Shown, logging: &Logging) -> tui::TuiOptions {
    let show = &shown.show;
    let utf8 =
        ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(|name| std::env::var(name).ok().filter(|v| !v.is_empty()));
    let utf8 = utf8.is_none_or(|locale| locale.to_ascii_lowercase().contains("utf"));
    tui::TuiOptions {
        read_only: show.read_only,
        no_color: show.no_color || tui::no_color_wanted(),
        ascii: show.ascii || !utf8,
        mouse: !show.no_mouse,
        title: "fandeck".to_owned(),
        log_file: Some(logging.file.clone()),
        leave_when_done: shown.leave_when_done,
        ..tui::TuiOptions::default()
    }
}

fn code_of(run: &RunView) -> u8 {
    run.exit_code.unwrap_or_else(|| run.counts.exit_code())
}

/// The engine does not know of signals: what `state.json` says of the end is put right, so that a report tells what the last
/// line told. A disk that does not take it leaves 4, which is as true.
fn keep_exit_code(dir: &RunDir, exit_code: u8) {
    if let Ok(Some(mut state)) = StateFile::load(dir.path()) {
        state.exit_code = Some(exit_code);
        let _ = state.save(dir.path());
    }
}

/// Answers that the run directory did not take are kept elsewhere.
fn warn_of_losses(end: &RunEnd, handle: &EngineHandle, logging: &Logging) {
    let closed = &end.closed;
    if closed.n_unsynced == 0 {
        return;
    }
    let n = format::count(closed.n_unsynced);
    let why = closed.trouble.as_deref().unwrap_or("unknown trouble");
    let run_id = handle.snapshot().runs.first().map(|run| run.run_id.clone()).unwrap_or_default();
    match rescue::keep(rescue::places(logging.file.parent()), &run_id, &closed.unwritten) {
        Ok(kept) => out::say(&format!(
            "fandeck: {n} answers are not in the run directory: {why}\n\
             fandeck: they are kept in {kept}, and `fandeck resume` puts them into the journal. A resume that cannot see that \
             file, on another machine, pays for them again: there, first cat {kept} >> {journal}",
            kept = kept.display(),
            journal = closed.dir.journal_path().display()
        )),
        Err(error) => out::say(&format!(
            "fandeck: {n} answers could not be written and are lost; they may have been billed: {why}; and no other place \
             takes them: {error}"
        )),
    }
}
