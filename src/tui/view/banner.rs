//! Lines across the screen: what stands in the way, what it means, and which key helps. The worst comes first.

use crate::model::snapshot::{Condition, OrgView, RunView, SubBatchView};
use crate::model::{Mono, RunStatus, Snapshot};
use crate::report::format;
use crate::report::text::harmless;
use crate::tui::TuiExit;
use crate::tui::action::Action;
use crate::tui::backstage::Driver;
use crate::tui::screens::Screen;
use crate::tui::screens::batches::selected;
use crate::tui::state::{UiState, shown_run};
use crate::tui::valid::valid;

use super::words::{self, Weight};

/// A line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Banner {
    /// How it looks.
    pub weight: Weight,
    /// What it says.
    pub text: String,
}

/// A picture older than this, while a run goes on, is said to be old.
const STALE_MS: u64 = 5_000;

fn banner(weight: Weight, text: String) -> Banner {
    Banner { weight, text }
}

/// How many lines there are, whatever the time: staleness is told in the header, so that the layout does not depend on
/// the clock.
pub fn wanted(ui: &UiState, snapshot: &Snapshot) -> usize {
    banners(ui, snapshot, Mono::ZERO).len()
}

/// The lines, worst first.
pub fn banners(ui: &UiState, snapshot: &Snapshot, now: Mono) -> Vec<Banner> {
    let mut lines = Vec::new();
    if let Some(since) = ui.frozen {
        let age = u64::try_from(now.since(since).as_millis()).unwrap_or(u64::MAX);
        let key = ui.keymap.hint(Action::Freeze);
        let below = match ui.is_over(snapshot) {
            true => format!("nothing runs · {key} lets go"),
            false => format!("the run goes on · {key} shows it"),
        };
        let text = format!("FROZEN: this picture is {} old; {below}", format::span(age));
        lines.push(banner(Weight::Waiting, text));
    }
    if let Some(trouble) = &snapshot.store.trouble {
        let waiting = format::count(snapshot.store.unsynced);
        lines.push(banner(
            Weight::Needy,
            format!("DISK: {waiting} answers wait in memory, nothing new is sent: {}", harmless(trouble)),
        ));
    }
    lines.extend(leaving(ui, snapshot));
    // Elsewhere than at the run, only what needs the operator is said of it.
    if ui.screen.is_of_a_run() || !ui.may_leave(snapshot) {
        lines.extend(run(ui, snapshot));
    }
    lines.extend(parked(ui, snapshot));
    lines.extend(nothing_gets_through(ui, snapshot));
    lines
}

fn leaving(ui: &UiState, snapshot: &Snapshot) -> Option<Banner> {
    if ui.is_over(snapshot) {
        return None;
    }
    let in_flight: u64 = snapshot.runs.iter().map(|run| run.counts.in_flight).sum();
    let text = match ui.leaving? {
        TuiExit::Drained => {
            let (n, key) = (format::count(in_flight), ui.keymap.hint(Action::Quit));
            format!("DRAINING: {n} in flight finish, then this screen closes · {key} to stop now")
        }
        _ if snapshot.store.trouble.is_some() && snapshot.store.unsynced > 0 => {
            let n = format::count(snapshot.store.unsynced);
            format!("STOPPING: waiting for the disk, {n} answers are not on it · Ctrl-C again leaves without them")
        }
        _ => "STOPPING: saving what is known · Ctrl-C again leaves at once".to_owned(),
    };
    Some(banner(Weight::Waiting, text))
}

fn run(ui: &UiState, snapshot: &Snapshot) -> Option<Banner> {
    let run = shown_run(snapshot)?;
    let reason = run.reason.as_deref().map(harmless);
    let because = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
    let left = format::count(run.counts.open());
    let counts = &run.counts;
    let quit = format!("press {} to leave", ui.keymap.hint(Action::Quit));
    match run.status {
        RunStatus::Finished if counts.refused + counts.invalid == 0 => {
            let from_cache = counts.cached > 0 && counts.cached == counts.total;
            let how = if from_cache { "was answered from the cache" } else { "succeeded" };
            Some(banner(Weight::Well, format!("FINISHED: every request {how} · {quit}")))
        }
        RunStatus::Finished => Some(banner(
            Weight::Well,
            format!(
                "FINISHED: {} refused, {} invalid, all others succeeded · {} shows them · {quit}",
                format::count(counts.refused),
                format::count(counts.invalid),
                ui.keymap.hint(Action::ShowRequests),
            ),
        )),
        RunStatus::Incomplete => {
            let resume = resumed_by(ui);
            // What to press comes before the reason, which may be longer than the line.
            Some(banner(Weight::Waiting, format!("INCOMPLETE, {left} requests left: {resume}{because} · {quit}")))
        }
        _ if ui.is_cut_off(snapshot) => {
            let flying = match counts.in_flight {
                0 => String::new(),
                n => format!("; {} were in flight and may be charged", format::count(n)),
            };
            let resume = resumed_by(ui);
            let text = format!("CUT OFF with {left} requests left: {resume}; nobody drives it{flying} · {quit}");
            Some(banner(Weight::Waiting, text))
        }
        _ if ui.engine_gone => Some(banner(
            Weight::Needy,
            format!("THE ENGINE HAS ENDED: what was saved is safe, the run can be resumed · {quit}"),
        )),
        RunStatus::Holding => Some(banner(Weight::Needy, format!("HOLDING{because}"))),
        RunStatus::Paused => {
            let key = ui.keymap.hint(Action::PauseRun);
            Some(banner(Weight::Waiting, format!("PAUSED{because} · {key} to go on")))
        }
        RunStatus::Draining if ui.leaving.is_none() => Some(banner(Weight::Waiting, format!("DRAINING{because}"))),
        RunStatus::Running => budget(ui, run).or_else(|| batches(ui, snapshot, run)),
        RunStatus::Planned | RunStatus::Draining => None,
    }
}

/// Where a run that came to rest is resumed, in keys.
fn resumed_by(ui: &UiState) -> String {
    let (runs, resume) = (ui.keymap.hint(Action::ShowRuns), ui.keymap.hint(Action::ResumeRun));
    match ui.screen {
        Screen::Runs => format!("{resume} resumes it"),
        _ => format!("{runs} and {resume} resume it"),
    }
}

/// A sub-batch that asks or is left behind, or all that is waited for.
fn batches(ui: &UiState, snapshot: &Snapshot, run: &RunView) -> Option<Banner> {
    let view = run.batches.as_ref()?;
    let key = ui.keymap.hint(Action::ShowBatches);
    let is_shown = ui.screen == Screen::Batches;
    // The screen of the sub-batches shows questions and ages by itself.
    let asked = view.sub_batches.iter().find_map(|sub| Some((sub, sub.question.as_deref()?))).filter(|_| !is_shown);
    if let Some((sub, question)) = asked {
        let text = format!("SUB-BATCH {} ASKS ({key} shows it): {}", sub.index, harmless(question));
        return Some(banner(Weight::Needy, text));
    }
    if let Some((sub, longest)) = view.left_behind() {
        let help = match is_shown {
            true if cancels(ui, snapshot, sub) => format!(" ({} cancels it)", ui.keymap.hint(Action::CancelSubBatch)),
            true => String::new(),
            false => format!(" ({key} shows it)"),
        };
        let then = match sub.stuck_in_ms {
            Some(left) if view.escape => format!(" · is canceled by itself in {}", format::countdown(left)),
            _ => String::new(),
        };
        let (age, longest) = (format::span(sub.age_ms.unwrap_or(0)), format::span(longest));
        let index = sub.index;
        let text =
            format!("SUB-BATCH {index} IS LEFT BEHIND{help}: {age} old, no other took more than {longest}{then}");
        return Some(banner(Weight::Needy, text));
    }
    if is_shown || run.counts.in_flight > 0 || run.n_in_batches() != run.counts.open() {
        return None;
    }
    let open = || view.sub_batches.iter().filter(|sub| sub.status.is_open());
    let age = format::span(open().map(|sub| sub.age_ms).max()?.unwrap_or(0));
    let requests = format::count(run.n_in_batches());
    let text = match open().count() {
        1 => format!("WAITING FOR A SUB-BATCH: {requests} requests, {age} old · {key} shows it"),
        n => format!("WAITING FOR {n} SUB-BATCHES: {requests} requests, the oldest {age} old · {key} shows them"),
    };
    Some(banner(Weight::Waiting, text))
}

/// Whether the key that cancels would cancel this one now.
fn cancels(ui: &UiState, snapshot: &Snapshot, sub: &SubBatchView) -> bool {
    selected(ui, snapshot).is_some_and(|(_, selected)| selected.index == sub.index)
        && valid(Action::CancelSubBatch, ui, snapshot).is_ok()
}

/// The budget, when it wants a decision, or keeps the next request back.
fn budget(ui: &UiState, run: &RunView) -> Option<Banner> {
    let budget = run.budget.as_ref()?;
    let used = budget.percent().map_or(String::new(), |percent| format!("{percent} % of "));
    let limit = budget.max_cost.map_or(String::new(), format::money);
    if budget.offers_batch {
        let out = format::money(budget.reserved);
        let key = key_on_live(ui, Action::MoveToBatch);
        let text = format!(
            "BUDGET: {used}{limit} used · {key} moves the rest to batches, half price · {out} more is out at the worst"
        );
        return Some(banner(Weight::Waiting, text));
    }
    let blocked = budget.blocked.as_deref().map(harmless)?;
    // What is waited for comes first, since a narrow line ends early; what it may cost changes with every answer and would
    // flicker.
    let open =
        run.batches.as_ref().map_or(0, |view| view.sub_batches.iter().filter(|sub| sub.status.is_open()).count());
    let out = match open {
        0 => "what is out".to_owned(),
        1 => "a sub-batch".to_owned(),
        n => format!("{n} sub-batches"),
    };
    Some(banner(Weight::Waiting, format!("BUDGET: waits for {out} · held by {blocked}")))
}

/// A key of the live screen, after the key that leads there from another.
fn key_on_live(ui: &UiState, action: Action) -> String {
    let key = ui.keymap.hint(action);
    match ui.screen {
        Screen::Live => key,
        _ => format!("{} and {key}", ui.keymap.hint(Action::ShowLive)),
    }
}

/// What the operator presses to bring a parked org back, from the screen that is shown.
fn revival(ui: &UiState, selected: bool) -> String {
    let here = words::revival(ui, selected);
    match (ui.driver, ui.screen) {
        (Driver::Here, screen) if screen != Screen::Live && !ui.read_only => {
            format!("{} shows it: {here} there", ui.keymap.hint(Action::ShowLive))
        }
        _ => here,
    }
}

/// Orgs that wait for the operator, by name; one line for all of them.
fn parked(ui: &UiState, snapshot: &Snapshot) -> Option<Banner> {
    if ui.is_over(snapshot) {
        return None;
    }
    let waiting: Vec<_> = snapshot
        .orgs
        .iter()
        .filter_map(|org| match org.condition {
            Condition::Parked { why, for_ms: None } => Some((org, why)),
            _ => None,
        })
        .collect();
    let text = match waiting.as_slice() {
        [] => return None,
        [(org, why)] => {
            let label = harmless(&org.label);
            let others = snapshot.orgs.len() > 1 && open_elsewhere(snapshot);
            let rest = if others { " · its work goes to the others" } else { "" };
            let key = harmless(&org.key_env);
            let selected = ui.selected_org(snapshot).is_some_and(|selected| selected.id == org.id);
            // The simulated API has keys that no variable holds.
            let is_variable = !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
            let parts = [revival(ui, selected), if is_variable { format!("its key: {key}") } else { String::new() }];
            let parts: String = parts.iter().filter(|part| !part.is_empty()).map(|part| format!(" · {part}")).collect();
            format!("{label} IS PARKED: {}{parts}{rest}", why.as_str())
        }
        many => {
            let names: Vec<String> =
                many.iter().map(|(org, why)| format!("{} ({})", harmless(&org.label), why.as_str())).collect();
            let revival = revival(ui, false);
            let revival = if revival.is_empty() { revival } else { format!(" ({revival})") };
            format!("{} ORGS ARE PARKED{revival}: {}", many.len(), names.join(", "))
        }
    };
    Some(banner(Weight::Needy, text))
}

/// A run that goes on while no org takes anything: what is waited for, and how long.
fn nothing_gets_through(ui: &UiState, snapshot: &Snapshot) -> Option<Banner> {
    let run = shown_run(snapshot)?;
    if ui.is_over(snapshot) || run.status != RunStatus::Running || run.counts.in_flight > 0 || run.counts.open() == 0 {
        return None;
    }
    let waits = |org: &OrgView| match &org.condition {
        Condition::BackingOff { for_ms, .. }
        | Condition::BreakerOpen { for_ms }
        | Condition::Parked { for_ms: Some(for_ms), .. } => Some(*for_ms),
        _ => None,
    };
    let idle = |org: &OrgView| waits(org).is_some() || closed(&org.condition);
    if snapshot.orgs.is_empty() || !snapshot.orgs.iter().all(idle) {
        return None;
    }
    let (for_ms, next) = snapshot.orgs.iter().filter_map(|org| Some((waits(org)?, org))).min_by_key(|(ms, _)| *ms)?;
    let label = harmless(&next.label);
    Some(banner(
        Weight::Needy,
        format!("NOTHING GETS THROUGH: every org waits; {label} is tried next, in {}", format::countdown(for_ms)),
    ))
}

/// Whether an org takes no work until somebody acts.
fn closed(condition: &Condition) -> bool {
    matches!(condition, Condition::Parked { .. }) || condition.is_paused()
}

/// Whether some org takes work.
fn open_elsewhere(snapshot: &Snapshot) -> bool {
    snapshot.orgs.iter().any(|org| !closed(&org.condition))
}

/// The age of the picture, when it is old although a run goes on.
pub fn stale(ui: &UiState, snapshot: &Snapshot, now: Mono) -> Option<String> {
    let age = ui.age_ms(now);
    (age >= STALE_MS && !ui.is_over(snapshot)).then(|| format!("no news for {}", format::span(age)))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::model::Money;
    use crate::model::SubBatchStatus;
    use crate::model::snapshot::BatchesView;
    use crate::model::snapshot::BudgetView;
    use crate::report::fixtures;

    fn with(change: impl FnOnce(&mut RunView, &mut BatchesView)) -> Vec<String> {
        let mut snapshot = fixtures::batches();
        let run = &mut snapshot.runs[0];
        let mut view = BatchesView::clone(run.batches.as_ref().unwrap());
        view.sub_batches.iter_mut().for_each(|sub| sub.question = None);
        change(run, &mut view);
        run.batches = Some(Arc::new(view));
        let ui = UiState { screen: Screen::Live, ..UiState::default() };
        banners(&ui, &snapshot, Mono::ZERO).into_iter().map(|banner| banner.text).collect()
    }

    fn ends(view: &mut BatchesView, indexes: std::ops::Range<usize>) {
        view.sub_batches[indexes].iter_mut().for_each(|sub| sub.status = SubBatchStatus::Harvested);
    }

    #[test]
    fn a_sub_batch_that_outlives_all_others_is_told_on_the_live_screen_with_the_key_that_shows_it() {
        let said = with(|_, view| {
            ends(view, 0..4);
            (view.took_longest_ms, view.escape) = (Some(60_000), true);
            let sub = &mut view.sub_batches[4];
            (sub.status, sub.age_ms, sub.stuck_in_ms) = (SubBatchStatus::InProgress, Some(91_000), Some(30_000));
        });
        let wanted = "SUB-BATCH 4 IS LEFT BEHIND (4 shows it): 1m31s old, no other took more than 1m00s · is canceled by itself in 0:30";
        assert!(said.iter().any(|text| text.starts_with(wanted)), "{said:?}");
        let said = with(|_, view| {
            ends(view, 0..4);
            view.took_longest_ms = Some(61_000);
            let sub = &mut view.sub_batches[4];
            (sub.status, sub.age_ms) = (SubBatchStatus::InProgress, Some(91_000));
        });
        assert!(!said.iter().any(|text| text.contains("LEFT BEHIND")), "{said:?}");
    }

    #[test]
    fn the_screen_of_the_sub_batches_says_which_one_is_left_behind_and_the_key_that_cancels_the_selected_one() {
        let mut snapshot = fixtures::batches();
        let mut view = (**snapshot.runs[0].batches.as_ref().unwrap()).clone();
        ends(&mut view, 0..4);
        view.sub_batches.iter_mut().for_each(|sub| sub.question = None);
        view.took_longest_ms = Some(60_000);
        for at in 4..view.sub_batches.len() {
            let sub = &mut view.sub_batches[at];
            sub.status = SubBatchStatus::InProgress;
            sub.age_ms = Some(if at == 4 { 91_000 } else { 80_000 });
        }
        snapshot.runs[0].batches = Some(Arc::new(view));
        let said = |ui: UiState| -> Vec<String> {
            banners(&ui, &snapshot, Mono::ZERO).into_iter().map(|banner| banner.text).collect()
        };
        let here = || UiState { screen: Screen::Batches, driver: Driver::Here, size: (120, 40), ..UiState::default() };
        assert!(
            said(here())[0].starts_with("SUB-BATCH 4 IS LEFT BEHIND (c cancels it): 1m31s old"),
            "{:?}",
            said(here())
        );
        let said = said(UiState { read_only: true, ..here() });
        assert!(said[0].starts_with("SUB-BATCH 4 IS LEFT BEHIND: 1m31s old"), "{said:?}");
    }

    #[test]
    fn a_question_comes_first_and_a_run_that_only_waits_says_for_what() {
        let said = with(|_, view| view.sub_batches[2].question = Some("canceled elsewhere?".to_owned()));
        assert!(
            said.iter().any(|text| text.starts_with("SUB-BATCH 2 ASKS (4 shows it): canceled elsewhere?")),
            "{said:?}"
        );
        let said = with(|run, view| {
            ends(view, 0..4);
            view.sub_batches[4].age_ms = Some(1_000);
            view.took_longest_ms = Some(61_000);
            run.counts.in_flight = 0;
            view.n_open = run.counts.open();
        });
        assert!(said.iter().any(|text| text.starts_with("WAITING FOR A SUB-BATCH: ")), "{said:?}");
    }

    #[test]
    fn a_run_that_waits_for_its_budget_says_for_what_in_80_columns_and_the_same_with_every_answer() {
        let said = |open: usize, reserved: f64| {
            let texts = with(|run, view| {
                view.sub_batches.iter_mut().for_each(|sub| sub.status = SubBatchStatus::Harvested);
                view.sub_batches[..open].iter_mut().for_each(|sub| sub.status = SubBatchStatus::InProgress);
                run.budget = Some(BudgetView {
                    reserved: Money::from_usd(reserved),
                    blocked: Some("the org's max-cost-usd of $1,000.00".to_owned()),
                    ..BudgetView::default()
                });
            });
            texts.into_iter().find(|text| text.starts_with("BUDGET")).unwrap()
        };
        assert_eq!(said(0, 1.5), "BUDGET: waits for what is out · held by the org's max-cost-usd of $1,000.00");
        assert!(said(1, 1.5).starts_with("BUDGET: waits for a sub-batch · "));
        assert!(said(3, 1.5).starts_with("BUDGET: waits for 3 sub-batches · "));
        assert!((0..4).all(|open| said(open, 1.5).chars().count() < 80 && said(open, 1.5) == said(open, 0.25)));
    }

    #[test]
    fn a_parked_org_is_told_with_the_keys_that_are_right_on_the_screen_that_is_shown() {
        let snapshot = fixtures::parked_auth();
        let parked = snapshot.orgs.iter().find(|org| matches!(org.condition, Condition::Parked { .. })).unwrap().id;
        let said = |screen, selected, driver, read_only| {
            let mut ui = UiState { screen, driver, read_only, ..UiState::default() };
            ui.live.selected = selected;
            let all = banners(&ui, &snapshot, Mono::ZERO).into_iter().map(|banner| banner.text);
            all.filter(|text| text.contains("PARKED")).collect::<Vec<_>>().concat()
        };
        let live = said(Screen::Live, Some(parked), Driver::Here, false);
        assert!(live.contains("auth · r revives it · its key: "), "{live}");
        let live = said(Screen::Live, None, Driver::Here, false);
        assert!(live.contains(" · select it, r revives it · "), "{live}");
        for screen in [Screen::Runs, Screen::Planner, Screen::Batches, Screen::Requests, Screen::Log] {
            let other = said(screen, None, Driver::Here, false);
            assert!(other.contains(" · 3 shows it: select it, r revives it there · "), "{other}");
        }
        let elsewhere = said(Screen::Runs, None, Driver::Elsewhere, false);
        assert!(elsewhere.contains("revive it where it is driven"), "{elsewhere}");
        let read_only = said(Screen::Live, Some(parked), Driver::Here, true);
        assert!(read_only.contains("read-only here") && !read_only.contains(" r "), "{read_only}");
    }
}
