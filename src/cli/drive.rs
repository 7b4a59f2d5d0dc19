//! A run that this process drives: started, shown, and waited for until it has come to rest.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::task::JoinHandle;

use crate::engine::{EngineHandle, RunEnd, Started, start};
use crate::model::snapshot::RunView;
use crate::model::{Command, RunSlot, Snapshot};
use crate::report::{format, json, plain, text};
use crate::store::{RunDir, StateFile};
use crate::tui::choices::shell;

use super::console;
use super::failure::{Failure, Outcome};
use super::front::Front;
use super::launch::Specs;
use super::logging::Logging;
use super::options::ShowArgs;
use super::realised::Memory;
use super::rescue;
use super::signals::{Ended, Signals};
use super::{orders, out};

/// The one run of an engine.
pub(crate) const RUN: RunSlot = RunSlot(0);

/// How the run is shown.
pub(crate) struct Shown {
    /// The frontend.
    pub front: Front,
    /// Options of the frontends.
    pub show: ShowArgs,
    /// Configuration file, as named.
    pub config: Option<PathBuf>,
}

/// Drives a run to its rest under a frontend. Gives the exit code.
pub(crate) async fn drive(specs: Specs, shown: &Shown, logging: &Logging) -> Outcome {
    if shown.front == Front::Screen {
        return console::show(console::Opening::Run(Box::new(specs)), shown, logging).await;
    }
    let by_signal = Ended::default();
    let signals = Signals::listen()?;
    let driving = Driving::start(specs)?;
    let watcher = tokio::spawn(signals.stop(driving.handle.clone(), RUN, by_signal.clone()));
    let choices = (shown.front == Front::Choices).then(|| tokio::spawn(choices(driving.handle.clone(), &shown.show)));
    let shown_to_the_end = as_lines(&driving.handle, shown, &by_signal).await;
    choices.inspect(JoinHandle::abort);
    let ending = driving.rest(&logging.file).await?;
    watcher.abort();
    shown_to_the_end?;
    Ok(ending.close(&by_signal))
}

async fn as_lines(handle: &EngineHandle, shown: &Shown, by_signal: &Ended) -> Result<(), Failure> {
    let failed = |error: io::Error| Failure::internal(format!("failed to show the run: {error}"));
    if shown.front == Front::Json {
        let code = |run: &RunView| exit_code(code_of(run), by_signal);
        json::run(handle.clone(), io::stdout(), json::JsonOptions::default(), code).await.map_err(failed)?;
        return Ok(());
    }
    let options = plain::PlainOptions { ascii: shown.show.ascii, ..plain::PlainOptions::default() };
    let code = |snapshot: &Snapshot| snapshot.runs.first().map_or(0, |run| exit_code(code_of(run), by_signal));
    plain::run(handle.clone(), io::stdout(), options, code).await.map_err(failed)?;
    Ok(())
}

/// Reads the choices of an operator, and tells what comes of them.
fn choices(handle: EngineHandle, show: &ShowArgs) -> impl Future<Output = ()> + use<> {
    let (ascii, read_only) = (show.ascii, show.read_only);
    let (sender, typed) = tokio::sync::mpsc::unbounded_channel();
    // Not a task of the runtime, which would wait for the next line before the process may end.
    std::thread::spawn(move || {
        for line in io::stdin().lines() {
            let Ok(line) = line else { return };
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    shell::run(handle, read_only, typed, move |lines| {
        let text: String = lines.into_iter().map(|line| line + "\n").collect();
        let text = if ascii { text::ascii(&text).into_owned() } else { text };
        // Nobody hears it when standard output is closed.
        let _ = out::print(&text);
    })
}

/// A run and the engine that drives it.
pub(crate) struct Driving {
    /// For the frontend.
    pub handle: EngineHandle,
    /// The run directory.
    pub dir: PathBuf,
    ended: JoinHandle<Vec<RunEnd>>,
    orders: JoinHandle<()>,
    memory: Memory,
}

impl Driving {
    /// Starts it; call it inside the runtime.
    pub(crate) fn start(specs: Specs) -> Result<Driving, Failure> {
        let Specs { engine, run, memory } = specs;
        let dir = run.dir.path().to_owned();
        let Started { handle, ended } = start(engine, vec![run])?;
        let orders = tokio::spawn(orders::obey(handle.clone(), RUN, dir.clone()));
        Ok(Driving { handle, dir, ended, orders, memory })
    }

    /// Whether it has come to rest: [`Driving::rest`] gives its ending without waiting then.
    pub(crate) fn is_at_rest(&self) -> bool {
        self.ended.is_finished()
    }

    /// Whether the last picture says that it is over: [`Driving::rest`] waits for the disk at the most.
    pub(crate) fn is_over(&self) -> bool {
        self.is_at_rest() || self.handle.snapshot().runs.iter().all(|run| run.status.is_over())
    }

    /// Tells it to stop.
    pub(crate) fn stop(&self) {
        // A command queue that is full, or an engine that has ended: there is nothing to tell it.
        let _ = self.handle.send(Command::StopRun { run: RUN });
    }

    /// Waits until it has come to rest. Answers that its directory did not take are kept beside the log.
    pub(crate) async fn rest(self, log_file: &Path) -> Result<Ending, Failure> {
        let ends = self.ended.await;
        self.orders.abort();
        let ends = ends.map_err(|_| {
            Failure::internal(format!(
                "the engine broke down; its report is above. What was answered before is in {dir}, and what was under way \
                 may have been charged. Go on with: fandeck resume {dir}",
                dir = self.dir.display()
            ))
        })?;
        let Some(end) = ends.into_iter().next() else { return Err(Failure::internal("the run has no end")) };
        warn_of_losses(&end, &self.handle, log_file);
        let snapshot = self.handle.snapshot();
        // Another process may own the directory by now.
        if end.closed.dir.is_still_ours() {
            self.memory.keep(&snapshot, &end.closed.dir);
        }
        Ok(Ending { end, snapshot })
    }
}

/// A run that has come to rest; its directory is still owned.
pub(crate) struct Ending {
    end: RunEnd,
    /// The last picture.
    pub snapshot: Arc<Snapshot>,
}

impl Ending {
    /// Lets go of the directory; gives the exit code, which it keeps.
    pub(crate) fn close(&self, by_signal: &Ended) -> u8 {
        let end = &self.end;
        let exit_code = exit_code(end.exit_code, by_signal);
        // Another process may own the directory by now, and writes what is so.
        if exit_code != end.exit_code && end.closed.dir.is_still_ours() {
            keep_exit_code(&end.closed.dir, exit_code);
        }
        exit_code
    }
}

/// A signal that came when everything was done already changes nothing.
fn exit_code(own: u8, by_signal: &Ended) -> u8 {
    match by_signal.exit_code() {
        Some(code) if own == 4 || code == 1 => code,
        _ => own,
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
fn warn_of_losses(end: &RunEnd, handle: &EngineHandle, log_file: &Path) {
    let closed = &end.closed;
    if closed.n_unsynced == 0 {
        return;
    }
    let n = format::count(closed.n_unsynced);
    let why = closed.trouble.as_deref().unwrap_or("unknown trouble");
    let run_id = handle.snapshot().runs.first().map(|run| run.run_id.clone()).unwrap_or_default();
    match rescue::keep(rescue::places(log_file.parent()), &run_id, &closed.unwritten) {
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
