//! One arm: what it is made of, and the process that runs it.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Arc;

use crate::model::{Family, OrgSpec, RequestNo, Route};
use crate::requests::Input;
use crate::store::{Last, RunFile, for_each_outcome};

use super::AbArgs;
use crate::cli::failure::Failure;
use crate::cli::signals::Signals;

/// How batches were made before: few and large, over one org.
const LEGACY_SUB_BATCH: u32 = 8_000;

/// The variable that tells an arm which process it is an arm of.
const ARM_OF: &str = "FANDECK_ARM_OF";

/// Whether this process is an arm.
pub(crate) fn is_arm() -> bool {
    std::env::var_os(ARM_OF).is_some()
}

/// Has this process ended when the validation that it is an arm of is killed, so that nobody's money is spent behind their
/// back; nothing in other processes. Only Linux can do that: elsewhere the arm runs to its end.
pub(crate) fn end_with_validation() {
    #[cfg(target_os = "linux")]
    if let Some(of) = std::env::var_os(ARM_OF) {
        use rustix::process::{Signal, getpid, getppid, kill_process, set_parent_process_death_signal};
        // It may be gone already, and then nobody would send the signal.
        let is_set = set_parent_process_death_signal(Some(Signal::TERM)).is_ok();
        let parent = getppid().map(|pid| pid.as_raw_nonzero().to_string());
        if is_set && parent.is_none_or(|parent| of != *parent) {
            let _ = kill_process(getpid(), Signal::TERM);
        }
    }
}

/// How an arm sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// Over the Messages API, with these caps and lanes; `None` takes those of the configuration.
    Sync { cap: Option<u32>, procs: Option<u32> },
    /// In large Message Batches.
    Batch,
}

/// An arm.
#[derive(Debug, Clone)]
pub(super) struct Arm {
    pub(super) name: &'static str,
    pub(super) dir: PathBuf,
    /// Labels of its orgs.
    pub(super) orgs: Vec<String>,
    pub(super) shape: Shape,
}

impl Arm {
    /// Its path.
    pub(super) fn path(&self) -> Route {
        if self.shape == Shape::Batch { Route::Batch } else { Route::Sync }
    }

    /// How a run that stands in its directory differs from it, in words.
    pub(super) fn differs(&self, run: &RunFile, input: &Input) -> Option<String> {
        if run.input.sha256 != input.sha256() {
            return Some("over another input".to_owned());
        }
        if run.path != self.path() {
            return Some(format!("on the {} path, not {}", run.path, self.path()));
        }
        let set = |labels: &[String]| labels.iter().cloned().collect::<BTreeSet<_>>();
        (set(&run.orgs) != set(&self.orgs))
            .then(|| format!("over the orgs {}, not {}", run.orgs.join(", "), self.orgs.join(", ")))
    }

    /// Requests that it has in flight at the most.
    pub(super) fn slots(&self, orgs: &[OrgSpec], family: Family, configured_procs: u32) -> u32 {
        let Shape::Sync { cap, procs } = self.shape else { return 0 };
        let mine = orgs.iter().filter(|org| self.orgs.contains(&org.label));
        let caps: u32 = mine.map(|org| cap.unwrap_or(org.caps[family.ix()])).sum();
        caps * procs.unwrap_or(configured_procs)
    }

    /// The last outcome of each request, as the journal says.
    pub(super) fn outcomes(&self, input: &Arc<Input>) -> Result<Vec<Last>, Failure> {
        let mut last = vec![Last::Unsent; input.len() as usize];
        for_each_outcome(&self.dir, &mut |line| {
            let slot = line.no.and_then(|no: RequestNo| last.get_mut(no.ix()));
            if let (Some(slot), true) = (slot, line.outcome.is_terminal()) {
                *slot = Last::Succeeded;
            }
        })?;
        Ok(last)
    }

    /// Runs it to its end, or goes on with it. Gives its exit code. A signal stops it as it stops any run, and the next
    /// command goes on with it.
    pub(super) async fn run(&self, args: &AbArgs, signals: &mut Signals) -> Result<u8, Failure> {
        let failed =
            |error: std::io::Error| Failure::internal(format!("failed to start the arm {}: {error}", self.name));
        let program = std::env::current_exe().map_err(failed)?;
        let mut command = Command::new(program);
        command.args(self.arguments(args)).env(ARM_OF, std::process::id().to_string()).stdin(Stdio::null());
        let mut child = command.spawn().map_err(failed)?;
        let pid = rustix::process::Pid::from_child(&child);
        let mut ended = tokio::task::spawn_blocking(move || child.wait());
        tokio::select! {
            status = &mut ended => return code_of(status).map_err(failed),
            _ = signals.wait() => {}
        }
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        code_of(ended.await).map_err(failed)
    }

    fn arguments(&self, args: &AbArgs) -> Vec<OsString> {
        let mut all: Vec<OsString> = Vec::new();
        let begun = self.dir.join("run.json").exists();
        if begun {
            all.push("resume".into());
            all.push(self.dir.clone().into());
        } else {
            all.extend(["run".into(), args.input.clone().into(), "--run-dir".into(), self.dir.clone().into()]);
            all.push("--path".into());
            all.push(self.path().as_str().into());
        }
        all.extend(["--yes", "--no-cache", "--orgs"].map(OsString::from));
        all.push(self.orgs.join(",").into());
        all.push(if args.json { "--json" } else { "--headless" }.into());
        let mut option = |name: &str, value: Option<OsString>| {
            if let Some(value) = value {
                all.extend([name.into(), value]);
            }
        };
        let text = |n: Option<u32>| n.map(|n| OsString::from(n.to_string()));
        match self.shape {
            Shape::Sync { cap, procs } => {
                option("--cap", text(cap));
                option("--procs", text(procs));
            }
            Shape::Batch => option("--sub-batch-size", text(Some(LEGACY_SUB_BATCH))),
        }
        option("--config", args.config.clone().map(OsString::from));
        all
    }
}

/// The exit code of a child; 143 when a signal ended it.
fn code_of(status: Result<std::io::Result<ExitStatus>, tokio::task::JoinError>) -> std::io::Result<u8> {
    let status = status.map_err(std::io::Error::other)??;
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(143))
}
