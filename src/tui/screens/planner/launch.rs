//! From a plan to a run: what has to hold, what is asked, and what is ordered.

use crate::model::Snapshot;
use crate::report::format;
use crate::tui::backstage::{Driver, Errand, LaunchOrder};
use crate::tui::state::{Ask, Deed, Gate, UiState};

use super::{Draft, Piloting};

/// Whether the plan can be launched as it is.
///
/// # Errors
/// Why not.
pub(super) fn may_launch(draft: &Draft, ui: &UiState, snapshot: &Snapshot) -> Result<(), String> {
    if draft.input.is_none() {
        return Err("there is no input to send: fandeck run FILE opens a plan that can be launched".to_owned());
    }
    if draft.knobs.model != draft.model_of_input {
        return Err(format!(
            "the requests name {}: with {} this is a what-if; write the file anew to send it so",
            draft.model_of_input, draft.knobs.model
        ));
    }
    if draft.knobs.orgs.is_empty() {
        return Err("no org is chosen".to_owned());
    }
    let without_key = draft.without_key();
    if !without_key.is_empty() {
        return Err(format!("there is no key for {}: switch it off, or set its key", without_key.join(", ")));
    }
    if matches!(ui.planner.pilot, Piloting::Asked | Piloting::Measuring) {
        return Err("a pilot is on its way".to_owned());
    }
    if ui.driver == Driver::Here && !ui.is_over(snapshot) {
        return Err("a run goes on here; end it first".to_owned());
    }
    Ok(())
}

/// What is asked before anything is sent: route, cost and orgs, as they are on the screen.
pub(super) fn question(draft: &Draft) -> Ask {
    let (plan, orgs) = (&draft.plan, draft.chosen_orgs());
    let input = draft.input.clone().unwrap_or_default();
    let cost = match (plan.chosen.cost_usd, plan.chosen.cost_usd_low, plan.chosen.cost_usd_high) {
        (Some(mid), Some(low), Some(high)) => {
            format!("{} expected ({} to {})", format::money(mid), format::money(low), format::money(high))
        }
        _ => "not known: the model has no price".to_owned(),
    };
    let errors = draft.refusals();
    let mut models: Vec<&str> = draft.knobs.groups.iter().map(|group| group.model.as_str()).collect();
    models.push(&plan.model);
    models.sort_unstable();
    models.dedup();
    let mut lines = vec![
        format!("{}: {} requests to {}", input, format::count(plan.n_to_send), models.join(", ")),
        format!("route  {}, by the rule {}", plan.route, plan.rule.as_str()),
        format!("cost   {cost}"),
        format!("orgs   {}", orgs.join(", ")),
    ];
    if let Some(limit) = draft.max_cost {
        let is_below = plan.chosen.cost_usd.is_some_and(|cost| limit < cost);
        let then = if is_below { ": probably used up before the end, and the run then ends incomplete" } else { "" };
        lines.push(format!("budget {}{then}", format::money(limit)));
    }
    lines.extend(plan.notes.iter().map(|note| format!("! {note}")));
    if errors > 0 {
        lines.push(format!("! The audit says that the API will refuse {} of them.", format::count(errors)));
    }
    lines.extend([String::new(), "y  launch    Esc  keep planning".to_owned()]);
    let deed = Deed::Errand { errand: Errand::Launch(order(draft)), what: format!("launch {input}") };
    Ask { gate: Gate::Launch, lines, deed }
}

/// What was agreed to.
pub(super) fn order(draft: &Draft) -> LaunchOrder {
    let knobs = &draft.knobs;
    LaunchOrder {
        path: knobs.path,
        cost_pref: knobs.policy.cost_pref,
        deadline: (knobs.deadline != draft.given_deadline).then_some(knobs.deadline),
        procs: knobs.dispatch.procs,
        sub_batch_size: knobs.batch.size,
        orgs: draft.chosen_orgs(),
        route: draft.plan.route,
        agreed: draft.plan.n_to_send,
    }
}
