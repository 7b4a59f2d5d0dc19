//! The batch part of one run: its sub-batches, and what is due next. Pure; time and the rest of the dispatcher are arguments.

use std::time::Duration;

use crate::model::{ApiError, BatchSettings, Level, Money, Mono, Now, OrgId, RequestNo, SubBatchStatus};
use crate::store::SubBatchEntry;

use super::act::{BatchEvent, Happened, HarvestedRow, Out, Step, ToDo};
use super::api_clock::ApiClock;
use super::pilot::Pilots;
use super::stuck::Peers;
use super::sub::Sub;
use super::view::Kept;
use super::{gather, open, search, watch};
use crate::engine::budget::{Blocked, Budget};
use crate::engine::ledger::Ledger;
use crate::engine::load::Sizes;
use crate::engine::queue::{Place, Queue};

/// Downloads at once: each takes a thread and a few megabytes.
pub(crate) const HARVESTS: usize = 2;

/// What the batch part sees of the rest.
pub(crate) struct Ctx<'c> {
    pub(crate) now: Now,
    pub(crate) rng: &'c mut fastrand::Rng,
    pub(crate) queue: &'c Queue,
    pub(crate) sizes: &'c dyn Sizes,
    pub(crate) ledger: &'c mut Ledger,
    pub(crate) budget: &'c Budget,
    /// Which orgs take work, in their order.
    pub(crate) usable: &'c [bool],
    /// To which organisation each belongs: keys of one see each other's batches, and share what may be open.
    pub(crate) pools: &'c [usize],
    /// Whether the run admits anything now.
    pub(crate) admits: bool,
    /// Whether nobody watches the run.
    pub(crate) unattended: bool,
    pub(crate) out: &'c mut Vec<Out>,
}

impl Ctx<'_> {
    pub(crate) fn todo(&mut self, index: u32, what: ToDo) {
        self.out.push(Out::Do(index, what));
    }

    /// The most that a request can cost in a batch.
    pub(crate) fn at_most_in_batch(&self, no: RequestNo) -> Money {
        self.ledger.at_most(self.sizes, no, true)
    }

    pub(crate) fn say(&mut self, level: Level, kind: &'static str, org: Option<OrgId>, text: String) {
        self.out.push(Out::Note(level, kind, org, text));
    }
}

/// An org as far as creates go.
#[derive(Debug)]
pub(crate) struct Desk {
    pub(crate) label: String,
    /// No create before this.
    pub(crate) closed_until: Mono,
    /// Creates that were refused since one was taken.
    pub(crate) n_refused: u32,
    /// Creates that had no answer and left nothing in the list, since one was taken.
    pub(crate) n_vanished: u32,
}

/// The batch part of one run.
#[derive(Debug)]
pub(crate) struct BatchRun {
    pub(crate) settings: BatchSettings,
    /// In the order of their indexes.
    pub(crate) subs: Vec<Sub>,
    pub(crate) desks: Vec<Desk>,
    pub(crate) pilots: Pilots,
    /// What is not in a sub-batch yet goes to the sync path.
    pub(crate) finish_on_sync: bool,
    /// Counts up with every change that a picture shows.
    pub(crate) version: u64,
    /// The last picture.
    pub(crate) kept: Kept,
    /// It was said that the pilots are answered.
    pub(crate) piloted: bool,
    /// Sub-batches that the API called wrong, and which went to the sync path.
    pub(crate) n_wrong: u32,
    /// The time at the API.
    pub(crate) clock: ApiClock,
    /// The limit that keeps the next sub-batch from being created.
    pub(crate) blocked: Option<Blocked>,
    /// The index of the next sub-batch that is planned in addition.
    next_index: u32,
    /// Nothing is due before this.
    wake: Mono,
}

impl BatchRun {
    /// A part over these sub-batches, none of which has `next_index` or a higher one.
    pub(crate) fn new(
        settings: BatchSettings,
        labels: &[String],
        mut subs: Vec<Sub>,
        pilots: Pilots,
        finish_on_sync: bool,
        next_index: u32,
    ) -> BatchRun {
        subs.sort_by_key(|sub| sub.entry.index);
        let desk =
            |label: &String| Desk { label: label.clone(), closed_until: Mono::ZERO, n_refused: 0, n_vanished: 0 };
        BatchRun {
            settings,
            subs,
            desks: labels.iter().map(desk).collect(),
            pilots,
            finish_on_sync,
            version: 0,
            kept: Kept::default(),
            piloted: false,
            n_wrong: 0,
            clock: ApiClock::default(),
            blocked: None,
            next_index,
            wake: Mono::ZERO,
        }
    }

    /// An index that no sub-batch has had.
    pub(crate) fn new_index(&mut self) -> u32 {
        self.next_index += 1;
        self.next_index - 1
    }

    /// It has changed, and is to be looked at at once.
    pub(crate) fn soon(&mut self) {
        self.wake = Mono::ZERO;
        self.version += 1;
    }

    /// The entries for the state file: from the intent to create on. What is only planned is planned again next time; so is
    /// what has no durable members yet, of which nothing has been sent.
    pub(crate) fn entries(&self) -> Vec<SubBatchEntry> {
        let begun = self.subs.iter().filter(|sub| sub.status() != SubBatchStatus::Planned && sub.members_kept);
        begun.map(|sub| sub.entry.clone()).collect()
    }

    /// The place of a sub-batch.
    pub(crate) fn find(&self, index: u32) -> Option<usize> {
        self.subs.binary_search_by_key(&index, |sub| sub.entry.index).ok()
    }

    /// The label of an org.
    pub(crate) fn label(&self, org: OrgId) -> String {
        self.desks.get(org.ix()).map(|desk| desk.label.clone()).unwrap_or_default()
    }

    /// The age in milliseconds from which a sub-batch is stuck, as `state.json` keeps it: zero turns the escape off.
    pub(crate) fn stuck_after_ms(&self) -> u64 {
        self.settings.stuck_after.map_or(0, |after| u64::try_from(after.as_millis()).unwrap_or(u64::MAX))
    }

    /// How long those took that have ended.
    pub(crate) fn peers(&self) -> Peers {
        // One that was canceled is no measure of how long batches take.
        Peers::new(self.subs.iter().filter(|sub| !sub.entry.was_canceled()).filter_map(|sub| sub.took).collect())
    }

    /// What the sub-batches of each org may still be billed at the most. One whose results cannot be had counts until
    /// somebody has decided about it.
    pub(crate) fn reserved(&self) -> impl Iterator<Item = Money> {
        let mut by_org = vec![Money::ZERO; self.desks.len()];
        let out = |status| !matches!(status, SubBatchStatus::Planned | SubBatchStatus::Harvested);
        for sub in self.subs.iter().filter(|sub| out(sub.status())) {
            if let Some(sum) = sub.org.and_then(|org| by_org.get_mut(org.ix())) {
                *sum += sub.at_most;
            }
        }
        by_org.into_iter()
    }

    /// Cancels a sub-batch as soon as no call about it is under way.
    pub(crate) fn want_cancel(&mut self, at: usize, why: &str, ctx: &mut Ctx<'_>) {
        self.subs[at].cancel_wanted = Some(why.to_owned());
        self.soon();
        watch::look_for_stuck(self, at, ctx);
    }

    /// Takes an event.
    pub(crate) fn on(&mut self, event: BatchEvent, ctx: &mut Ctx<'_>) {
        let Some(at) = self.find(event.index) else { return };
        self.soon();
        match event.what {
            Happened::MembersKept(kept) => open::members_kept(self, at, kept, ctx),
            Happened::StateKept(Step::CreateIntent) => open::intent_kept(self, at, ctx),
            Happened::Created(reply) => open::created(self, at, *reply, ctx),
            Happened::Listed(reply) => search::listed(self, at, *reply, ctx),
            Happened::Peeked { batch, ours } => search::peeked(self, at, *batch, ours, ctx),
            Happened::Polled(reply) => watch::polled(self, at, *reply, ctx),
            Happened::StateKept(Step::CancelIntent) => {
                self.subs[at].busy = false;
                self.subs[at].next = ctx.now.mono;
            }
            Happened::CancelAnswered(reply) => watch::cancel_answered(self, at, *reply, ctx),
            Happened::Rows { rows, token } => {
                // What is answered is paid, and not out any more.
                let waits = |row: &&HarvestedRow| ctx.queue.place(row.no) == Some(Place::Batched);
                let paid: Money = rows.iter().filter(waits).map(|row| ctx.at_most_in_batch(row.no)).sum();
                self.subs[at].at_most = self.subs[at].at_most - paid;
                if let Some(org) = self.subs[at].org {
                    ctx.out.push(Out::Rows(org, rows));
                }
                ctx.todo(event.index, ToDo::Permit(token));
            }
            Happened::HarvestEnded(result) => gather::ended(self, at, *result, ctx),
            Happened::StateKept(Step::Harvested) => gather::kept(self, at, ctx),
            Happened::StateKept(Step::Other) => {}
        }
    }

    /// Begins whatever is due.
    pub(crate) fn tick(&mut self, ctx: &mut Ctx<'_>) {
        // While a limit keeps the next create back, every call that ends may make room for it.
        if ctx.now.mono < self.wake && ctx.out.is_empty() && self.blocked.is_none() {
            return;
        }
        for at in 0..self.subs.len() {
            watch::look_for_stuck(self, at, ctx);
            let sub = &self.subs[at];
            if sub.busy || sub.next > ctx.now.mono || sub.org.is_none() {
                continue;
            }
            match sub.status() {
                SubBatchStatus::InProgress | SubBatchStatus::Canceling => watch::poll(self, at, ctx),
                SubBatchStatus::CancelRequested => watch::cancel(self, at, ctx),
                SubBatchStatus::Adrift => search::look_in_list(self, at, ctx),
                SubBatchStatus::Ended if sub.look_first => watch::poll(self, at, ctx),
                SubBatchStatus::Ended => gather::begin(self, at, ctx),
                SubBatchStatus::Planned
                | SubBatchStatus::Creating
                | SubBatchStatus::Harvesting
                | SubBatchStatus::Harvested
                | SubBatchStatus::Unavailable => {}
            }
        }
        self.pilot(ctx);
        if self.finish_on_sync {
            // One that was under way when the operator decided, and was not made.
            self.release_planned(ctx);
        }
        open::open(self, ctx);
        self.wake = self.next_wake(ctx.now.mono);
    }

    /// What is only planned goes to the sync path. Gives how many requests that is.
    pub(crate) fn release_planned(&mut self, ctx: &mut Ctx<'_>) -> usize {
        let planned = |sub: &Sub| sub.status() == SubBatchStatus::Planned && !sub.busy;
        let released = self.subs.iter().filter(|sub| planned(sub));
        let nos: Vec<RequestNo> = released.flat_map(|sub| sub.members.iter().copied()).collect();
        self.subs.retain(|sub| !planned(sub));
        let n = nos.len();
        if n > 0 {
            self.version += 1;
            ctx.out.push(Out::ToSync(nos));
        }
        n
    }

    /// Looks at the pilots: a wrong shape shows now, not when a batch has ended.
    fn pilot(&mut self, ctx: &mut Ctx<'_>) {
        if self.piloted || self.finish_on_sync {
            return;
        }
        let subs = &mut self.subs;
        // The next pilot of a shape is taken out of the sub-batch that it was planned for.
        let mut take = |no: RequestNo| {
            let home = subs
                .iter_mut()
                .find(|sub| sub.status() == SubBatchStatus::Planned && sub.members.binary_search(&no).is_ok())?;
            std::sync::Arc::make_mut(&mut home.members).retain(|member| *member != no);
            home.entry.n_requests = home.members.len() as u32;
            Some(no)
        };
        // A pilot in place of one that was refused is work that a run at the end of its budget can do without.
        let news = match ctx.budget.affords_optional() {
            true => self.pilots.look(ctx.queue, Some(&mut take)),
            false => self.pilots.look(ctx.queue, None),
        };
        if !news.next.is_empty() {
            self.version += 1;
            ctx.out.push(Out::ToSync(news.next));
        }
        if news.n_without > 0 {
            let text = format!(
                "95 % of the budget is used: {} shapes of requests whose pilot was refused go into sub-batches without another one",
                news.n_without
            );
            ctx.say(Level::Warn, "no-pilot", None, text);
        }
        if let Some(wrong) = news.wrong {
            self.piloted = true;
            ctx.out.push(Out::Stop("pilot", wrong));
        } else if self.pilots.all_answered() {
            self.piloted = true;
            let n = self.pilots.len();
            if n > 0 {
                let answered =
                    if n == 1 { "1 pilot was answered".to_owned() } else { format!("{n} pilots were answered") };
                let text = format!("{answered}, one of each shape of request: creating sub-batches");
                ctx.say(Level::Info, "pilots-answered", None, text);
            }
        }
    }

    /// When something is due, and a second from now at the latest: the rest of the dispatcher changes too.
    fn next_wake(&self, now: Mono) -> Mono {
        let due = self.subs.iter().filter(|sub| !sub.busy && sub.is_waited_for() && sub.next > now).map(|sub| sub.next);
        due.min().unwrap_or(now + Duration::from_secs(1)).min(now + Duration::from_secs(1))
    }

    /// When it wants to be called again.
    pub(crate) fn wants(&self, now: Mono) -> Option<Mono> {
        (!self.is_over()).then(|| self.wake.max(now + Duration::from_millis(10)))
    }

    /// Whether nothing more will happen by itself.
    pub(crate) fn is_over(&self) -> bool {
        !self.subs.iter().any(|sub| sub.busy || sub.is_waited_for())
    }

    /// Whether the operator is asked something.
    pub(crate) fn asks(&self) -> bool {
        self.subs.iter().any(|sub| sub.question.is_some())
    }

    /// Whether a run that admits nothing more may come to rest: a call that creates or cancels, a harvest and a write are
    /// waited for; what lives at the API is not, it is found again by the next session.
    pub(crate) fn may_rest(&self) -> bool {
        !self.subs.iter().any(|sub| {
            sub.busy
                && matches!(
                    sub.status(),
                    SubBatchStatus::Creating | SubBatchStatus::CancelRequested | SubBatchStatus::Harvesting
                )
        })
    }

    /// Writes the state, and begins nothing else about a sub-batch until that step is durable.
    pub(crate) fn keep(&mut self, at: usize, step: Step, ctx: &mut Ctx<'_>) {
        self.version += 1;
        let sub = &mut self.subs[at];
        sub.busy |= step != Step::Other;
        ctx.todo(sub.entry.index, ToDo::KeepState(step));
    }

    /// The account of an org is in trouble: it is parked, and its sub-batches wait.
    pub(crate) fn park(
        &mut self,
        at: usize,
        account: crate::model::AccountTrouble,
        error: ApiError,
        ctx: &mut Ctx<'_>,
    ) {
        let sub = &mut self.subs[at];
        sub.next = ctx.now.mono + Duration::from_secs(60);
        sub.refused = true;
        if let Some(org) = sub.org {
            ctx.out.push(Out::Park(org, account, error));
        }
    }
}
