//! What a run begins with on the batch path: the sub-batches of earlier sessions, and new ones of what is left.

use std::path::Path;

use crate::model::{BatchSettings, Level, Now, OrgId, RequestNo, Route, RunSlot, RunStatus, SubBatchStatus, Trouble};
use crate::requests::{Input, ReadError, shapes};
use crate::store::{Last, Members, StateFile, StoreError, SubBatchEntry};

use super::part::BatchRun;
use super::pilot::{Pilots, Shape};
use super::search::begin_search;
use super::split::{Limits, split};
use super::sub::Sub;
use crate::engine::event::Effect;
use crate::engine::queue::Place;
use crate::engine::state::State;

/// Shapes that are piloted, the most used ones: each costs a request at the full price.
const PILOTS: usize = 32;

/// Why there is no plan.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// The input cannot be read.
    #[error(transparent)]
    Input(#[from] ReadError),
    /// The run directory cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A sub-batch of an earlier session has no file of members.
    #[error(
        "failed to go on with sub-batch {index}: members/{index:04} is gone, so that its results cannot be told apart; put it back"
    )]
    NoMembers {
        /// Which.
        index: u32,
    },
}

/// What a run begins with.
#[derive(Debug, Clone)]
pub struct BatchPlan {
    /// How batches are driven.
    pub settings: BatchSettings,
    /// The run's nonce.
    pub nonce: String,
    /// Sub-batches of earlier sessions, with the members whose text is still the same.
    pub kept: Vec<(SubBatchEntry, Vec<RequestNo>)>,
    /// Of these, those that were given up, whose requests the operator has sent again from here on.
    pub re_driven: Vec<u32>,
    /// Members of new sub-batches, and the index of the first.
    pub fresh: Vec<Vec<RequestNo>>,
    /// As `fresh`.
    pub first_index: u32,
    /// Shapes whose first request goes out as a pilot.
    pub pilots: Vec<Shape>,
    /// Requests that are too long for a batch, or have fields that no batch takes: they go on the sync path.
    pub unfit: Vec<RequestNo>,
    /// What is not in a sub-batch goes to the sync path.
    pub finish_on_sync: bool,
    /// What the operator should know of it.
    pub remarks: Vec<String>,
}

/// Makes the plan of a run. `re_drive` sends again what a policy left.
///
/// # Errors
/// The input or the run directory cannot be read.
pub fn plan(
    input: &Input,
    last: &[Last],
    state: &StateFile,
    dir: &Path,
    nonce: &str,
    settings: BatchSettings,
    re_drive: bool,
) -> Result<BatchPlan, PlanError> {
    let mut taken = vec![false; input.len() as usize];
    let mut kept = Vec::new();
    let mut re_driven = Vec::new();
    for entry in &state.sub_batches {
        let index = entry.index;
        let members = Members::load(dir, index)?.ok_or(PlanError::NoMembers { index })?.still_in(input);
        for no in &members {
            taken[no.ix()] = true;
        }
        let mut entry = entry.clone();
        if re_drive && entry.left && entry.status == SubBatchStatus::Unavailable {
            re_driven.push(index);
        }
        entry.left &= !re_drive;
        kept.push((entry, members));
    }
    let is_open = |no: RequestNo| matches!(last.get(no.ix()), Some(Last::Unsent | Last::ReDrivable));
    let first_index = Members::last_index(dir)?.max(state.sub_batches.iter().map(|entry| entry.index).max());
    let mut plan = BatchPlan {
        nonce: nonce.to_owned(),
        kept,
        re_driven,
        fresh: Vec::new(),
        first_index: first_index.map_or(0, |index| index + 1),
        pilots: Vec::new(),
        unfit: Vec::new(),
        finish_on_sync: state.finish_on_sync,
        remarks: Vec::new(),
        settings,
    };
    if !plan.finish_on_sync {
        let first = (f64::from(input.len()) * (1.0 - plan.settings.share)).round() as u32;
        plan.add_fresh(input, |no| no.0 >= first && is_open(no) && !taken[no.ix()])?;
    }
    Ok(plan)
}

impl BatchPlan {
    fn add_fresh(&mut self, input: &Input, wanted: impl Fn(RequestNo) -> bool) -> Result<(), ReadError> {
        let (mut shapes, unfit) = shapes(input, &wanted)?;
        if !unfit.is_empty() {
            self.remarks
                .push(format!("{} requests have fields that no batch takes: they go on the sync path", unfit.len()));
        }
        shapes.retain(|shape| shape.batchable);
        // Whatever was created once had its pilots.
        let piloted = self.kept.iter().any(|(entry, _)| entry.batch_id.is_some());
        if !piloted {
            shapes.sort_by_key(|shape| std::cmp::Reverse(shape.n));
            if shapes.len() > PILOTS {
                self.remarks.push(format!("{} rare shapes of requests go without a pilot", shapes.len() - PILOTS));
            }
            let shape = |used: crate::requests::ShapeUse| Shape { name: used.name, n: used.n, first: used.first };
            self.pilots = shapes.into_iter().take(PILOTS).map(shape).collect();
        }
        let mut out: Vec<RequestNo> = self.pilots.iter().filter_map(|shape| shape.first.first().copied()).collect();
        out.extend(&unfit);
        out.sort_unstable();
        let requests = (0..input.len()).map(RequestNo).filter(|no| wanted(*no) && out.binary_search(no).is_err());
        let split = split(requests.map(|no| (no, u64::from(input.len_of(no)))), Limits::of_size(self.settings.size));
        for no in &split.giants {
            self.remarks.push(format!(
                "line {} of {} is {:.1} MB long, more than the API takes in a request: it goes alone on the sync path",
                input.line_of(*no),
                input.path().display(),
                f64::from(input.len_of(*no)) / 1e6
            ));
        }
        self.fresh = split.sub_batches;
        self.unfit = unfit;
        self.unfit.extend(split.giants);
        Ok(())
    }

    /// Requests that go into new sub-batches.
    pub fn n_fresh(&self) -> usize {
        self.fresh.iter().map(Vec::len).sum()
    }
}

/// Moves what still waits of a run on the sync path into sub-batches. What is being answered, or was answered while the
/// plan was made, stays where it is. There are no pilots: requests of the run have been answered.
pub(crate) fn move_over(
    state: &mut State,
    slot: RunSlot,
    plan: Result<BatchPlan, String>,
    now: Now,
    effects: &mut Vec<Effect>,
) {
    let run = &mut state.runs[slot.ix()];
    run.moving = false;
    let mut plan = match plan {
        Ok(plan) => plan,
        Err(why) => {
            return state.note(Level::Warn, "not-moved", None, format!("the rest stays on sync: {why}"), now, effects);
        }
    };
    if run.status.is_over() || run.status == RunStatus::Draining || state.batches[slot.ix()].is_some() {
        return;
    }
    plan.pilots.clear();
    let waits = |no: &RequestNo| matches!(run.queue.place(*no), Some(Place::Waiting | Place::Again));
    for members in &mut plan.fresh {
        members.retain(waits);
    }
    plan.fresh.retain(|members| !members.is_empty());
    let n = plan.n_fresh();
    run.budget.offers_batch = false;
    let text = format!("{n} requests that wait move to {} sub-batches, at half the price", plan.fresh.len());
    state.note(Level::Info, "moved-to-batch", None, text, now, effects);
    begin(state, slot, plan, now, effects);
}

/// Gives a run its batch part.
pub(crate) fn begin(state: &mut State, slot: RunSlot, plan: BatchPlan, now: Now, effects: &mut Vec<Effect>) {
    let labels: Vec<String> = state.orgs.iter().map(|org| org.label.clone()).collect();
    let mut subs = Vec::new();
    let mut held = Vec::new();
    let mut remarks = plan.remarks;
    for (mut entry, members) in plan.kept {
        let org = state.orgs.iter().find(|org| org.label == entry.org).map(|org| org.id);
        let was = entry.status;
        entry.status = match was {
            // Its process died between the intent and the answer.
            SubBatchStatus::Creating => SubBatchStatus::Adrift,
            SubBatchStatus::Harvesting => SubBatchStatus::Ended,
            // It may be visible again, and its results were paid for: one look, before anybody pays twice.
            SubBatchStatus::Unavailable if entry.left && entry.batch_id.is_some() && org.is_some() => {
                entry.left = false;
                SubBatchStatus::InProgress
            }
            other => other,
        };
        let is_open =
            |no: &RequestNo| matches!(state.runs[slot.ix()].queue.place(*no), Some(Place::Waiting | Place::Again));
        let open: Vec<RequestNo> = members.iter().copied().filter(is_open).collect();
        let left = entry.left && entry.status.is_over();
        let mut sub = Sub::resumed(entry, org, members, now);
        let run = &mut state.runs[slot.ix()];
        if plan.re_driven.contains(&sub.entry.index) {
            for no in &open {
                let (model, at_most) = (run.sizes.model(*no), run.at_most_in_batch(*no));
                let org = org.unwrap_or(OrgId(0));
                run.ledger.doubt(org, Route::Batch, model, Trouble::NoResult.as_str(), at_most, now.wall);
            }
        }
        // One that was given up and decided about is in doubt, and out no more.
        if sub.entry.left || sub.status() != SubBatchStatus::Unavailable {
            sub.at_most = open.iter().map(|no| run.at_most_in_batch(*no)).sum();
        }
        if was == SubBatchStatus::Unavailable {
            sub.one_look();
        }
        if sub.status() == SubBatchStatus::Adrift {
            begin_search(&mut sub, plan.settings.search_for, now.mono);
        }
        if left {
            let trouble = match sub.status() {
                SubBatchStatus::Unavailable => Trouble::NoResult,
                _ if sub.entry.tally.n_unknown > 0 => Trouble::UnknownResult,
                _ => Trouble::Canceled,
            };
            sub.again = open.iter().map(|no| (*no, trouble)).collect();
            remarks.push(format!(
                "{} requests of {} are left re-drivable: --re-drive sends them",
                open.len(),
                sub.name()
            ));
        } else if org.is_none() {
            remarks.push(format!("{} is of org {}, which is not configured: it waits", sub.name(), sub.entry.org));
        }
        if !sub.status().is_over() || left {
            held.extend(open);
        }
        subs.push(sub);
    }
    let next_index = plan.first_index + plan.fresh.len() as u32;
    for (at, members) in plan.fresh.into_iter().enumerate() {
        held.extend(members.iter().copied());
        subs.push(Sub::planned(plan.first_index + at as u32, members));
    }
    let n_planned = subs.iter().filter(|sub| sub.status() == SubBatchStatus::Planned).count();
    let n_live = subs.iter().filter(|sub| sub.status() != SubBatchStatus::Planned && !sub.status().is_over()).count();
    // Pilots go before everything else that takes the sync path: creates wait for them.
    let firsts: Vec<RequestNo> = plan.pilots.iter().filter_map(|shape| shape.first.first().copied()).collect();
    held.extend(&firsts);
    let queue = &mut state.runs[slot.ix()].queue;
    queue.hold(held);
    firsts.into_iter().for_each(|no| queue.let_go(no, now.mono));
    let pilots = Pilots::new(plan.pilots);
    let n_pilots = pilots.len();
    let part = BatchRun::new(plan.settings, &labels, subs, pilots, plan.finish_on_sync, next_index);
    state.runs[slot.ix()].ledger.reserve_batches(part.reserved());
    state.batches[slot.ix()] = Some(Box::new(part));
    let text = if n_planned + n_live + n_pilots == 0 && state.runs[slot.ix()].queue.is_empty() {
        "batch path: 0 to send: every request has its answer already, and nothing is created".to_owned()
    } else {
        format!(
            "batch path: {n_planned} sub-batch{} planned, {n_live} of earlier sessions to go on with, {n_pilots} pilot{}",
            if n_planned == 1 { "" } else { "es" },
            if n_pilots == 1 { "" } else { "s" }
        )
    };
    state.note(Level::Info, "batch-plan", None, text, now, effects);
    for remark in remarks {
        state.note(Level::Warn, "batch-plan", None, remark, now, effects);
    }
}
