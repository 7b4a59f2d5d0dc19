//! What the budget's state means for a run: the words at 60, 80 and 95 %, the move of the rest to batches, and the end.

use crate::model::{CommandOutcome, Family, Level, Money, Now, OrgId, RunSlot, RunStatus};

use super::event::Effect;
use super::state::{RunState, State};

/// What is said at a step.
pub(super) struct Said {
    pub(super) level: Level,
    pub(super) text: String,
    /// The rest could be moved to batches.
    pub(super) offers: bool,
}

/// The words for a share of the budget. `pilots` tells that shapes of requests are still being tried.
pub(super) fn step(run: &RunState, percent: u8, pilots: bool) -> Said {
    let (n_doubt, doubt) = run.ledger.in_doubt();
    let limit = run.budget.limits().max_cost.unwrap_or_default();
    let mut text = format!("{percent} % of the budget of {limit} is used: {} spent", run.ledger.spent());
    if n_doubt > 0 {
        text.push_str(&format!(", up to {doubt} for {n_doubt} attempts that may have been billed"));
    }
    text.push_str(&format!("; what is out costs {} more at the worst", run.ledger.reserved()));
    let offers = run.facts.can_move && run.queue.counts().open() > u64::from(run.queue.in_flight());
    match percent {
        95.. if run.facts.pilot.is_some() => text.push_str("; the pilot stops, the run can do without it"),
        95.. if pilots => text.push_str("; a pilot that is refused is not replaced, the run can do without it"),
        95.. => text.push_str("; all that it still sends is needed"),
        80.. if offers => text.push_str("; the rest can be moved to batches at half the price"),
        _ => {}
    }
    let level = if percent >= 80 { Level::Warn } else { Level::Info };
    Said { level, text, offers }
}

/// Takes note of what an answer cost beside what was reserved for it.
pub(super) fn compare(
    state: &mut State,
    slot: RunSlot,
    (cost, at_most): (Money, Money),
    now: Now,
    effects: &mut Vec<Effect>,
) {
    let Some(times) = state.runs[slot.ix()].budget.learn(cost, at_most) else { return };
    let text = format!(
        "an answer cost {cost}, and no more than {at_most} was reserved for it, by the text of its request: something that is \
         not in it was billed, such as a document by its URL or a server tool. From here on {times:.1} times as much is \
         reserved; what is out may pass the budget by that"
    );
    state.note(Level::Warn, "budget", None, text, now, effects);
}

/// Whether no org takes the next request of any family, as far as budgets go: those that cannot take any now may later.
pub(super) fn nobody_takes(state: &mut State, slot: RunSlot, now: Now) -> bool {
    for family in Family::ALL {
        let run = &mut state.runs[slot.ix()];
        let Some(no) = run.queue.peek(family, true, now.mono) else { continue };
        let at_most = run.at_most(no);
        let run = &state.runs[slot.ix()];
        // What waits for a claim to the day is not refused yet.
        let admits = |org: OrgId| match run.budget.admits(&run.ledger, org, 1, at_most, now.wall) {
            Ok(()) => true,
            Err(blocked) => blocked.needs.is_some(),
        };
        let takes = |org: OrgId| state.serves(org, family) && admits(org);
        if state.orgs.iter().any(|org| takes(org.id)) {
            return false;
        }
    }
    true
}

/// Why the run ends with its budget.
pub(super) fn used_up(run: &RunState) -> String {
    let (n_doubt, doubt) = run.ledger.in_doubt();
    let limit = run.budget.blocked.as_ref().map_or("", |blocked| blocked.limit.as_str());
    let mut text =
        format!("resume with a higher limit: the next request would pass {limit}: {} spent", run.ledger.spent());
    if n_doubt > 0 {
        text.push_str(&format!(", up to {doubt} possibly charged"));
    }
    text.push_str(&format!("; {} attempts were sent", run.ledger.n_sent()));
    text
}

/// Moves what waits to batches: has sub-batches planned for it.
pub(super) fn move_to_batch(
    state: &mut State,
    slot: RunSlot,
    who: &str,
    now: Now,
    effects: &mut Vec<Effect>,
) -> CommandOutcome {
    let Some(run) = state.runs.get_mut(slot.ix()) else {
        return CommandOutcome::Refused("there is no such run".to_owned());
    };
    if run.status.is_over() {
        return CommandOutcome::AlreadySo(format!("the run is over already: {}", run.status));
    }
    if run.moving || state.batches[slot.ix()].is_some() {
        return CommandOutcome::AlreadySo("the run has sub-batches already".to_owned());
    }
    if !run.facts.can_move {
        return CommandOutcome::Refused("this run cannot make batches".to_owned());
    }
    if run.status == RunStatus::Draining {
        return CommandOutcome::Refused("the run is draining: it sends nothing more".to_owned());
    }
    let open: Vec<_> = run.queue.waiting_nos().collect();
    if open.is_empty() {
        return CommandOutcome::AlreadySo("nothing waits: all of it is out or answered".to_owned());
    }
    run.moving = true;
    run.budget.offers_batch = false;
    let text = format!("{} requests that wait move to batches; they are being planned", open.len());
    effects.push(Effect::PlanBatches { run: slot, open });
    state.note(Level::Info, "move-to-batch", None, format!("{who}: {text}"), now, effects);
    CommandOutcome::Done(text)
}
