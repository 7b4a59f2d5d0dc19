//! What keys, clicks, pictures, answers and time do, as tables of state × input → reactions.

mod aim;
mod batches;
mod commands;
mod fuzz;
mod gate;
mod leaving;
mod scenes;
mod states;
mod sweep;
mod update;

use super::TuiExit;
use super::action::{Action, registry};
use super::backstage::{RunFacts, RunRow, RunsFound};
use super::msg::{Msg, Reaction};
use super::screens::Screen;
use super::screens::live::LiveUi;
use super::screens::runs::RunsUi;
use super::state::{Overlay, UiState};
use super::update::update;
use crate::model::{Command, Counts, Money, Mono, OrgId, Route, RunSlot, RunStatus, Snapshot, Wall};
use crate::report::fixtures;

pub(super) const RUN: RunSlot = RunSlot(0);
pub(super) const NOW: Mono = Mono(5_000_000);

pub(super) fn ui() -> UiState {
    UiState { size: (120, 40), ..UiState::default() }
}

pub(super) fn on_org(id: u16) -> LiveUi {
    LiveUi { selected: Some(OrgId(id)), ..LiveUi::default() }
}

pub(super) fn press(ui: &mut UiState, snapshot: &Snapshot, action: Action) -> Vec<Reaction> {
    update(ui, Msg::Act(action), snapshot, NOW)
}

pub(super) fn commands(reactions: &[Reaction]) -> Vec<Command> {
    reactions
        .iter()
        .filter_map(|reaction| match reaction {
            Reaction::Send { command, .. } => Some(*command),
            _ => None,
        })
        .collect()
}

pub(super) fn exits(reactions: &[Reaction]) -> Vec<TuiExit> {
    let exit = |reaction: &Reaction| match reaction {
        Reaction::Exit(exit) => Some(*exit),
        _ => None,
    };
    reactions.iter().filter_map(exit).collect()
}

/// What the keys lead to, one after the other, on a running job.
pub(super) fn after(snapshot: &Snapshot, actions: &[Action]) -> (UiState, Vec<Reaction>) {
    let mut ui = ui();
    let mut last = Vec::new();
    for action in actions {
        last = press(&mut ui, snapshot, *action);
    }
    (ui, last)
}

/// A run that another process drives, one that was cut off, one that has finished, and one that cannot be read.
pub(crate) fn runs_found() -> RunsFound {
    let at = 1_768_471_200_000;
    let counts = |done: u64| Counts { total: 20_000, succeeded: done, unsent: 20_000 - done, ..Counts::default() };
    let row = |name: &str, standing: &str, status: RunStatus, done: u64| RunRow {
        dir: format!("/home/me/.local/share/fandeck/runs/{name}").into(),
        facts: Ok(RunFacts {
            run_id: format!("run-{name}"),
            input: format!("{name}.jsonl"),
            created_at: Wall(at - 3_600_000),
            standing: standing.to_owned(),
            status,
            owner: (name == "live").then(|| "process 4711 on build-7 since 2026-01-15T09:00:00Z".to_owned()),
            here: false,
            heartbeat_ms: 400,
            path: if name == "live" { Route::Batch } else { Route::Sync },
            counts: counts(done),
            in_batches: if name == "live" { 1_000 } else { 0 },
            cost: Money::from_usd(done as f64 / 1_000.0),
            reason: None,
            resumable: name == "cut-off",
            simulated: false,
        }),
    };
    RunsFound {
        rows: vec![
            row("cut-off", "cut off while running", RunStatus::Running, 12_345),
            row("live", "running", RunStatus::Running, 4_000),
            row("labels", "finished", RunStatus::Finished, 20_000),
            RunRow { dir: "/mnt/old".into(), facts: Err("run.json has format 9".to_owned()) },
        ],
        at: Wall(at),
        place: "/home/me/.local/share/fandeck/runs".into(),
        orgs: vec!["high-prio".to_owned()],
    }
}

/// The list of these runs.
pub(crate) fn runs() -> RunsUi {
    RunsUi { found: Some(runs_found()), ..RunsUi::default() }
}
