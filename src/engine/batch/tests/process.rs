//! The process of a run: it starts from what is on the disk, and is killed.

use std::cmp::Reverse;
use std::collections::HashSet;
use std::sync::Arc;

use super::world::{Disk, Due, RUN, SECOND, World, org};
use crate::catalog::Catalog;
use crate::engine::batch::pilot::Shape;
use crate::engine::batch::plan::{self, BatchPlan};
use crate::engine::batch::split::{self, split};
use crate::engine::facts::RunFacts;
use crate::engine::queue::{Place, Queue};
use crate::engine::state::State;
use crate::engine::testing::{Requests, first_session};
use crate::model::books::Limits;
use crate::model::{DispatchSettings, Family, Mono, RequestNo, Route, SubBatchStatus};
use crate::store::SubBatchEntry;

const MODEL: &str = "claude-haiku-4-5";

impl World {
    pub(super) fn state(disk: &Disk, n: u32, unattended: bool, limits: Limits) -> State {
        let facts = RunFacts {
            path: Route::Batch,
            model: MODEL.to_owned(),
            tariff: vec![(MODEL.to_owned(), Catalog::builtin().card(MODEL))],
            unattended,
            limits,
            ..first_session()
        };
        let orgs = [org("a"), org("b"), org("c")];
        let mut state = State::new(&orgs, DispatchSettings::default(), 7);
        let place = |no| match disk.journal.get(&RequestNo(no)) {
            Some(outcome) if outcome.is_terminal() => Place::Done(*outcome),
            Some(_) => Place::Again,
            None => Place::Waiting,
        };
        let queue = Queue::new((0..n).map(place).collect(), |_| Family::Haiku);
        let sizes = Requests(vec![(1_000, 100); n as usize]);
        state.add_run(facts, queue, Arc::new(sizes), Mono::ZERO);
        state
    }

    /// As `plan` does it from the files.
    pub(super) fn boot(&mut self, re_drive: bool) {
        self.state = World::state(&self.disk, self.n, self.unattended, self.limits.clone());
        let mut taken = HashSet::new();
        let mut kept = Vec::new();
        let given_up = |entry: &&SubBatchEntry| entry.left && entry.status == SubBatchStatus::Unavailable;
        let re_driven = self.disk.entries.iter().filter(|entry| re_drive && given_up(entry));
        let re_driven = re_driven.map(|entry| entry.index).collect();
        for entry in &self.disk.entries {
            let members = self.disk.members[&entry.index].clone();
            taken.extend(members.iter().copied());
            let mut entry = entry.clone();
            entry.left &= !re_drive;
            kept.push((entry, members));
        }
        let piloted = kept.iter().any(|(entry, _)| entry.batch_id.is_some());
        let pilots = if piloted { Vec::new() } else { self.pilots.clone() };
        let out: HashSet<RequestNo> = pilots.iter().map(|shape: &Shape| shape.first[0]).collect();
        let open = (0..self.n)
            .map(RequestNo)
            .filter(|no| !taken.contains(no) && !out.contains(no))
            .filter(|no| !self.disk.journal.get(no).is_some_and(|outcome| outcome.is_terminal()));
        let rows = open.map(|no| (no, 1_000));
        let fresh = split(rows, split::Limits::of_size(self.settings.size)).sub_batches;
        let plan = BatchPlan {
            settings: self.settings.clone(),
            nonce: "n".to_owned(),
            kept,
            re_driven,
            fresh: if self.disk.finish_on_sync { Vec::new() } else { fresh },
            first_index: self.disk.members.keys().max().map_or(0, |index| index + 1),
            pilots,
            unfit: Vec::new(),
            finish_on_sync: self.disk.finish_on_sync,
            remarks: Vec::new(),
        };
        let mut effects = Vec::new();
        let now = self.clock();
        plan::begin(&mut self.state, RUN, plan, now, &mut effects);
        self.perform(effects);
    }

    /// Kill -9: what was not on the disk is gone, what was at the API is not.
    pub(super) fn kill(&mut self) {
        self.n_kills += 1;
        self.restart(false);
    }

    /// Another process goes on with what is on the disk.
    pub(super) fn restart(&mut self, re_drive: bool) {
        let mut left = Vec::new();
        for (seq, what) in self.what.drain() {
            if matches!(what, Due::Create { .. }) {
                left.push((seq, what));
            }
        }
        for no in self.on_sync.drain() {
            *self.forgiven.entry(no).or_default() += 1;
        }
        self.what.extend(left);
        let what = &self.what;
        self.due.retain(|Reverse((_, seq))| what.contains_key(seq));
        self.rested = None;
        self.now = self.now + SECOND;
        self.boot(re_drive);
    }
}
