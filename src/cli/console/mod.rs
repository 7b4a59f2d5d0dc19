//! The console: the screens, what they ask of the product, and the runs that are driven from them.

mod act;
mod driven;
mod look;
mod looking;
mod plan;
mod requests;
mod runs;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::runtime::Handle;

use crate::config::Overrides;
use crate::report::summary;
use crate::tui::backstage::{Answer, Attached, Backstage, Driver, Errand};
use crate::tui::keymap::Keymap;
use crate::tui::theme::Theme;
use crate::tui::{self, TuiExit};

use super::drive::{Driving, Ending, RUN, Shown};
use super::failure::{Failure, Outcome};
use super::launch::Specs;
use super::logging::Logging;
use super::out;
use super::planner::Planned;
use super::sabotage;
use super::setup;
use super::signals::{Ended, Signals};

pub(crate) use plan::PlannedRun;

/// What the screens ask of the product, done on its runtime, off their thread.
#[derive(Clone)]
pub(crate) struct Console(Arc<Inner>);

struct Inner {
    runtime: Handle,
    /// The configuration file that was named.
    config: Option<PathBuf>,
    requests: Arc<requests::Requests>,
    looking: looking::Looking,
    /// The run that is planned.
    planned: Option<Arc<PlannedRun>>,
    /// Where the log goes; rescued answers go beside it.
    log_file: PathBuf,
    driven: driven::Driven<Driving>,
    /// Runs that were driven and have come to rest, oldest first.
    endings: Mutex<Vec<(Arc<crate::model::Snapshot>, u8)>>,
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Console {
    /// For the runtime that it is called in.
    fn new(config: Option<&Path>, log_file: &Path, planned: Option<PlannedRun>) -> Console {
        Console(Arc::new(Inner {
            runtime: Handle::current(),
            config: config.map(Path::to_owned),
            requests: Arc::default(),
            looking: looking::Looking::default(),
            log_file: log_file.to_owned(),
            planned: planned.map(Arc::new),
            driven: driven::Driven::default(),
            endings: Mutex::default(),
        }))
    }

    /// Drives a run from now on. One that was driven before has to have come to rest.
    fn drive(&self, specs: Specs) -> Result<Attached, Failure> {
        let mut driven = self.0.driven.current();
        if let Some(before) = &*driven {
            return Err(Failure::usage(format!("{} is driven here already; end it first", before.dir.display())));
        }
        let driving = Driving::start(specs)?;
        let attached = Attached { handle: driving.handle.clone(), driver: Driver::Here };
        *driven = Some(driving);
        Ok(attached)
    }

    /// Lets go of the directory of a run that was driven here and has come to rest, so that it can be taken again.
    async fn settle(&self) {
        let rest = |driving: Driving| async {
            let is_pilot = self.is_pilot(&driving);
            if let Ok(ending) = driving.rest(&self.0.log_file).await {
                self.note(&ending, &Ended::default(), is_pilot);
            }
        };
        self.0.driven.settle(|driving| driving.is_over(), rest).await;
    }

    /// The directory of the run that is driven here.
    fn driven_dir(&self) -> Option<PathBuf> {
        self.0.driven.current().as_ref().map(|driving| driving.dir.clone())
    }

    /// Whether it is the pilot of what is planned.
    fn is_pilot(&self, driving: &Driving) -> bool {
        self.0.planned.as_ref().and_then(|planned| planned.begun()).is_some_and(|dir| dir == driving.dir)
    }

    fn note(&self, ending: &Ending, by_signal: &Ended, is_pilot: bool) {
        let exit_code = match ending.close(by_signal) {
            // Incomplete is what a pilot leaves by design.
            4 if is_pilot => 0,
            other => other,
        };
        lock(&self.0.endings).push((Arc::clone(&ending.snapshot), exit_code));
    }

    /// Does an errand on the runtime. One that panics has failed.
    fn spawn(&self, errand: impl Future<Output = Answer> + Send + 'static) -> BoxFuture<'static, Answer> {
        let done = self.0.runtime.spawn(errand);
        Box::pin(async move {
            let broken = |error| Answer::Said(Err(format!("internal error: the errand was broken off: {error}")));
            done.await.unwrap_or_else(broken)
        })
    }
}

/// Computes or reads on a thread where that may take its time.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T, String> + Send + 'static) -> Result<T, String> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(format!("internal error: the errand was broken off: {error}")))
}

/// The answer to errands about an input when there is none.
fn nothing_planned() -> BoxFuture<'static, Answer> {
    Box::pin(std::future::ready(Answer::Said(Err("no input is planned: fandeck run FILE".to_owned()))))
}

impl Backstage for Console {
    fn ask(&self, errand: Errand) -> BoxFuture<'static, Answer> {
        let console = self.clone();
        let config = self.0.config.clone();
        match errand {
            Errand::ListRuns => {
                sabotage::screen();
                self.spawn(async move {
                    console.settle().await;
                    let place = runs::place(config.as_deref());
                    let looks = console.clone();
                    let list = move |look: &mut dyn FnMut(&Path) -> bool| {
                        runs::list(config.as_deref(), &|| looks.driven_dir(), look)
                    };
                    Answer::Runs(match place {
                        Ok(place) => console.0.looking.list(&place, list).await,
                        Err(why) => Err(why),
                    })
                })
            }
            Errand::Open { dir } => self.spawn(async move {
                console.settle().await;
                let runtime = Handle::current();
                Answer::Attached(blocking(move || look::attach(&dir, &runtime)).await)
            }),
            Errand::Assess { dir, re_drive } => self.spawn(async move {
                console.settle().await;
                Answer::Assessed(blocking(move || act::assess(dir, re_drive, config)).await)
            }),
            Errand::Resume { dir, re_drive, agreed, raised } => self.spawn(async move {
                console.settle().await;
                let agreed = act::Agreed { n: agreed, raised };
                Answer::Attached(act::resume(console, dir, re_drive, agreed, config).await)
            }),
            Errand::Demo => self.spawn(async move {
                console.settle().await;
                Answer::Attached(act::demo(console).await)
            }),
            Errand::Export { dir, csv } => {
                self.spawn(async move { Answer::Said(blocking(move || act::export(dir, csv)).await) })
            }
            Errand::Report { dir } => {
                self.spawn(async move { Answer::Report(blocking(move || act::report(&dir)).await) })
            }
            Errand::Requests { dir, query } => {
                let requests = Arc::clone(&self.0.requests);
                self.spawn(async move { Answer::Requests(blocking(move || requests.page(&dir, &query)).await) })
            }
            Errand::Request { dir, no } => {
                let requests = Arc::clone(&self.0.requests);
                self.spawn(async move {
                    let detail = blocking(move || requests.detail(&dir, no)).await;
                    Answer::Request(no, detail.map(Box::new))
                })
            }
            Errand::AuditInput => {
                let Some(planned) = self.0.planned.clone() else { return nothing_planned() };
                self.spawn(async move { Answer::Audited(blocking(move || plan::audit(&planned)).await) })
            }
            Errand::Launch(order) => {
                let Some(planned) = self.0.planned.clone() else { return nothing_planned() };
                self.spawn(async move {
                    console.settle().await;
                    Answer::Attached(plan::launch(console, planned, order).await)
                })
            }
            Errand::AssessPilot(order) => {
                let Some(planned) = self.0.planned.clone() else { return nothing_planned() };
                self.spawn(async move {
                    console.settle().await;
                    let seen = order.clone();
                    let terms = blocking(move || plan::assess_pilot(&planned, &seen)).await;
                    Answer::PilotAssessed(order, terms)
                })
            }
            Errand::Pilot { order, agreed } => {
                let Some(planned) = self.0.planned.clone() else { return nothing_planned() };
                self.spawn(async move {
                    console.settle().await;
                    Answer::Piloting(plan::pilot(console, planned, order, agreed).await)
                })
            }
            Errand::Measure => {
                let Some(planned) = self.0.planned.clone() else { return nothing_planned() };
                self.spawn(async move {
                    console.settle().await;
                    let ending = lock(&console.0.endings).last().map(|(snapshot, _)| Arc::clone(snapshot));
                    let Some(ending) = ending else {
                        return Answer::Measured(Err("internal error: the pilot has no end".to_owned()));
                    };
                    Answer::Measured(blocking(move || plan::measure(&planned, &ending)).await)
                })
            }
            Errand::Delete { dir, run_id, done } => self.spawn(async move {
                console.settle().await;
                let deleted = blocking(move || act::delete(&dir, &run_id, done)).await;
                Answer::Deleted(deleted)
            }),
        }
    }
}

/// How long a terminal may take for the summary of a run that a signal ended.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// What is shown first.
pub(crate) enum Opening {
    /// The list of runs.
    Runs,
    /// A run, live.
    Run(Box<Specs>),
    /// The planner.
    Plan(Box<Planned>),
}

/// Shows the screens until the operator leaves. What is driven here then is waited for. Prints how every run that was driven ended; gives the exit code of the last one.
pub(crate) async fn show(opening: Opening, shown: &Shown, logging: &Logging) -> Outcome {
    let mut options = options(shown, logging)?;
    let (first, planned) = match opening {
        Opening::Runs => {
            options.draft = Some(Box::new(super::plan::what_if(shown.config.as_deref(), None, None)?));
            (None, None)
        }
        Opening::Run(specs) => {
            let input = &specs.run.input;
            let model = input.models().first().map(|used| used.model.as_str());
            let n = Some(u64::from(input.len()));
            options.draft = Some(Box::new(super::plan::what_if(shown.config.as_deref(), model, n)?));
            (Some(*specs), None)
        }
        Opening::Plan(planned) => {
            (options.draft, options.plans_first) = (Some(Box::new(planned.draft)), true);
            (None, planned.run)
        }
    };
    let by_signal = Ended::default();
    let console = Console::new(shown.config.as_deref(), &logging.file, planned);
    let attached = first.map(|specs| console.drive(specs)).transpose()?;
    let exit = tui::run(attached, Arc::new(console.clone()), options, Some(logging.feed.clone())).await;
    match &exit {
        Ok(TuiExit::Interrupted) => by_signal.note(130),
        Ok(TuiExit::Terminated) => by_signal.note(143),
        Ok(TuiExit::HungUp) => by_signal.note(129),
        Ok(TuiExit::Finished | TuiExit::Drained | TuiExit::Stopped) => {}
        // Nobody sees the run any more: it is stopped, so that it can be resumed.
        Ok(TuiExit::Broken) | Err(_) => by_signal.note(1),
    }
    let mut leaving = Signals::listen()?;
    let driving = tokio::select! {
        biased;
        driving = console.0.driven.take() => driving,
        // A disk that takes nothing holds up the end of a run, and not that of who left it.
        code = leaving.wait() => {
            by_signal.note(code);
            None
        }
    };
    if let Some(driving) = driving {
        let mut watcher = None;
        if !driving.is_at_rest() {
            if exit.is_err() || by_signal.exit_code().is_some() {
                // Whoever left the screen before the run was over has told it to stop already; it may wait for the disk.
                driving.stop();
            }
            let stop = Signals::listen()?.stop(driving.handle.clone(), RUN, by_signal.clone());
            watcher = Some(tokio::spawn(stop));
        }
        let is_pilot = console.is_pilot(&driving);
        let ending = driving.rest(&logging.file).await?;
        if let Some(watcher) = watcher {
            watcher.abort();
        }
        console.note(&ending, &by_signal, is_pilot);
    }
    exit.map_err(|error| Failure::internal(format!("failed to show the run: {error}")))?;
    let endings = std::mem::take(&mut *lock(&console.0.endings));
    if tui::is_stuck() {
        tui::give_back_stuck();
    } else {
        let texts: Vec<String> = endings.iter().map(|(snapshot, code)| summary::text(snapshot, *code)).collect();
        // On a thread that no runtime waits for.
        let (done, told) = tokio::sync::oneshot::channel();
        std::thread::spawn(move || {
            tell(&texts);
            // Nobody waits any more for what came too late.
            let _ = done.send(());
        });
        last_words(told, leaving.wait(), by_signal.exit_code().is_some()).await;
    }
    let nothing_driven = by_signal.exit_code().unwrap_or(0);
    Ok(endings.last().map_or(nothing_driven, |(_, exit_code)| *exit_code))
}

fn tell(summaries: &[String]) {
    for text in summaries {
        // A terminal that is gone shows no summary; that does not change how the run ended.
        if let Err(failure) = out::print(text) {
            tracing::warn!("{}", failure.message);
        }
    }
}

/// Waits for what is told last. A terminal that takes nothing (Ctrl-S came between the screen and the summary) holds up nobody
/// who gives a signal, and for a moment only whom a signal has ended.
async fn last_words(told: impl Future, signal: impl Future, was_ended_by_one: bool) {
    tokio::select! {
        biased;
        _ = told => {}
        _ = signal => {}
        () = tokio::time::sleep(LAST_WORDS), if was_ended_by_one => {}
    }
}

/// How the screens look and behave: flags over settings.
fn options(shown: &Shown, logging: &Logging) -> Result<tui::TuiOptions, Failure> {
    let show = &shown.show;
    let screen = setup::settings(shown.config.as_deref(), &Overrides::default())?.screen;
    let utf8 =
        ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(|name| std::env::var(name).ok().filter(|v| !v.is_empty()));
    let utf8 = utf8.is_none_or(|locale| locale.to_ascii_lowercase().contains("utf"));
    Ok(tui::TuiOptions {
        read_only: show.read_only,
        no_color: show.no_color || tui::no_color_wanted(),
        ascii: show.ascii || screen.ascii || !utf8,
        mouse: screen.mouse && !show.no_mouse,
        theme: Theme::load(&screen.theme).map_err(Failure::usage)?,
        keymap: Arc::new(Keymap::load(&screen.keymap).map_err(Failure::usage)?),
        attention: screen.attention,
        title: "fandeck".to_owned(),
        log_file: Some(logging.file.clone()),
        draft: None,
        plans_first: false,
    })
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_terminal_that_takes_no_summary_holds_up_nobody_who_gives_a_signal_or_gave_one() {
        last_words(ready(()), pending::<()>(), false).await;
        last_words(pending::<()>(), ready(()), false).await;
        last_words(pending::<()>(), pending::<()>(), true).await;
        // Whoever left by a key is waited for: the terminal may go on.
        let left_by_a_key = last_words(pending::<()>(), pending::<()>(), false);
        assert!(tokio::time::timeout(LAST_WORDS * 100, left_by_a_key).await.is_err());
    }
}
