//! What the budget's state means for a run: the words at 60, 80 and 95 %, the move of the rest to batches, and the end.

use crate::model::{CommandOutcome, Family, Level, Money, Now, OrgId, RunSlot, RunStatus};

use super::batch::BatchRun;
use super::event::Effect;
use super::state::{RunState, State};

/// What is said at a step.
pub(super) struct Said {
    pub(super) level: Level,
    pub(super) text: String,
    /// The rest could be moved to batches.
    pub(super) offers: bool,
}

/// The words for a share of the budget, of a run with or without sub-batches.
pub(super) fn step(run: &RunState, part: Option<&BatchRun>, percent: u8) -> Said {
    let (n_doubt, doubt) = run.ledger.in_doubt();
    let limit = run.budget.limits().max_cost.unwrap_or_default();
    let mut text = format!("{percent} % of the budget of {limit} is used: {} spent", run.ledger.spent());
    if n_doubt > 0 {
        text.push_str(&format!(", up to {doubt} for {n_doubt} attempts that may have been billed"));
    }
    text.push_str(&format!("; what is out costs {} more at the worst", run.ledger.reserved()));
    let offers = movable(run, part.is_some()).is_ok();
    // Shapes of requests are still being tried.
    let pilots = part.is_some_and(|part| !part.piloted);
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

/// Whether what waits of a run can be moved to batches now. The offer and the order are held to the same, so that nothing is offered
/// which is then refused.
///
/// # Errors
/// What the order is answered with instead.
pub(super) fn movable(run: &RunState, has_sub_batches: bool) -> Result<(), CommandOutcome> {
    let already_so = |text: &str| Err(CommandOutcome::AlreadySo(text.to_owned()));
    let refused = |text: &str| Err(CommandOutcome::Refused(text.to_owned()));
    match run.status {
        status if status.is_over() => already_so(&format!("the run is over already: {status}")),
        _ if run.moving || has_sub_batches => already_so("the run has sub-batches already"),
        _ if !run.facts.can_move => refused("this run cannot make batches"),
        RunStatus::Draining => refused("the run is draining: it sends nothing more"),
        _ if run.queue.is_empty() => already_so("nothing waits: all of it is out or answered"),
        _ => Ok(()),
    }
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
    if let Err(outcome) = movable(run, state.batches[slot.ix()].is_some()) {
        return outcome;
    }
    let open: Vec<_> = run.queue.waiting_nos().collect();
    run.moving = true;
    run.budget.offers_batch = false;
    let text = format!("{} requests that wait move to batches; they are being planned", open.len());
    effects.push(Effect::PlanBatches { run: slot, open });
    state.note(Level::Info, "move-to-batch", None, format!("{who}: {text}"), now, effects);
    CommandOutcome::Done(text)
}
