//! The ledger of a run: what is reserved, what is settled, and what may have been paid without an answer.
//!
//! Before a call goes out, the most that it can cost is reserved; when its answer is there, what the API billed is settled
//! and the reservation ends. An attempt that may have been billed without an answer moves its reservation into the column
//! of doubt. So `spent + in doubt + reserved` is at any moment the most that the run can have cost, and a budget is held
//! against that. All sums are integers.
//!
//! It is written to once a request, so that its cells are found by small keys; texts are made when somebody looks.

use std::collections::{BTreeMap, HashMap};

use crate::catalog::Card;
use crate::model::books::{Books, Doubtful, ReDriven, Settled};
use crate::model::{Money, OrgId, Outcome, RequestNo, Route, Terms, Usage, Wall};
use crate::store::stamp;

use super::load::Sizes;

/// Tokens that a prompt may have besides its text, when it is not of plain text alone: the API's prompts for tool use, for the form
/// of an answer and the like. The frame of a conversation needs none: its turns have more bytes in the line than tokens.
const FRAME_TOKENS: u64 = 1_024;

/// Milliseconds of a day.
const DAY_MS: i64 = 86_400_000;

/// The models of an input by their index, with their prices.
pub type Tariff = Vec<(String, Option<Card>)>;

/// Where answers are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    org: u16,
    model: u16,
    path: Route,
    outcome: Outcome,
    terms: Terms,
}

#[derive(Debug, Clone, Copy, Default)]
struct Cell {
    n: u64,
    tokens: Usage,
    cost: Money,
}

/// An answer, and what the API billed for it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Answer {
    pub(crate) org: OrgId,
    pub(crate) path: Route,
    pub(crate) model: u16,
    pub(crate) outcome: Outcome,
    pub(crate) usage: Usage,
    pub(crate) cost: Money,
}

/// What an org was paid and may have been paid, and what of it is out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct OrgSums {
    pub(crate) spent: Money,
    pub(crate) doubt: Money,
    pub(crate) n_doubt: u64,
    pub(crate) reserved: Money,
    pub(crate) tokens_in: u64,
    pub(crate) tokens_out: u64,
}

#[derive(Debug, Clone, Copy, Default)]
struct Again {
    attempts: u64,
    answered: u64,
    cost: Money,
}

/// The ledger of one run.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    /// Labels by index: the session's orgs, then those of earlier sessions.
    labels: Vec<String>,
    models: Tariff,
    cells: HashMap<Key, Cell>,
    /// By org, path, model and cause.
    doubtful: HashMap<(u16, Route, u16, String), (u64, Money)>,
    again: BTreeMap<String, Again>,
    by_day: BTreeMap<String, Money>,
    /// What came into doubt on each day; there are few.
    doubt_by_day: BTreeMap<String, Money>,
    /// The day of the last answer, and what its answers cost.
    today: (i64, Money),
    orgs: Vec<OrgSums>,
    spent: Money,
    n_doubt: u64,
    doubt: Money,
    /// Of that, what no org is known of.
    doubt_of_nobody: Money,
    /// Of calls that are being answered.
    flying: Money,
    /// Of sub-batches that are at the API or on their way there or back, by org.
    batched: Vec<Money>,
    n_sent: u64,
    /// Attempts of the sync path that were answered, over all sessions.
    n_answered_on_sync: u64,
}

impl Ledger {
    /// A ledger over the session's orgs that goes on with the books of earlier sessions.
    pub(crate) fn new(labels: Vec<String>, models: Tariff, prior: Books) -> Ledger {
        let n = labels.len();
        let mut ledger = Ledger {
            labels,
            models,
            orgs: vec![OrgSums::default(); n],
            batched: vec![Money::ZERO; n],
            by_day: prior.by_day,
            doubt_by_day: prior.doubt_by_day,
            n_sent: prior.n_sent,
            ..Ledger::default()
        };
        for line in prior.settled {
            let key = Key {
                org: ledger.org_of(&line.org),
                model: ledger.model_of(&line.model),
                path: line.path,
                outcome: line.outcome,
                terms: line.tokens.terms,
            };
            ledger.add(key, line.n, &line.tokens, line.cost);
        }
        for line in prior.doubtful {
            let (org, model) = (ledger.org_of(&line.org), ledger.model_of(&line.model));
            ledger.add_doubt((org, line.path, model, line.cause), line.n, line.at_most);
        }
        for line in prior.re_driven {
            let again = Again { attempts: line.attempts, answered: line.answered, cost: line.cost };
            ledger.again.insert(line.cause, again);
        }
        ledger
    }

    fn org_of(&mut self, label: &str) -> u16 {
        let at = self.labels.iter().position(|known| known == label).unwrap_or_else(|| {
            self.labels.push(label.to_owned());
            self.orgs.push(OrgSums::default());
            self.batched.push(Money::ZERO);
            self.labels.len() - 1
        });
        at as u16
    }

    fn model_of(&mut self, model: &str) -> u16 {
        let at = self.models.iter().position(|(known, _)| known == model).unwrap_or_else(|| {
            self.models.push((model.to_owned(), None));
            self.models.len() - 1
        });
        at as u16
    }

    /// The most that a request can cost; see [`at_most`].
    pub(crate) fn at_most(&self, sizes: &dyn Sizes, no: RequestNo, batch: bool) -> Money {
        at_most(&self.models, sizes, no, batch)
    }

    /// A call goes out.
    pub(crate) fn reserve(&mut self, org: OrgId, at_most: Money) {
        self.n_sent += 1;
        self.flying += at_most;
        if let Some(sums) = self.orgs.get_mut(org.ix()) {
            sums.reserved += at_most;
        }
    }

    /// A call has ended, however.
    pub(crate) fn release(&mut self, org: OrgId, at_most: Money) {
        self.flying = self.flying - at_most;
        if let Some(sums) = self.orgs.get_mut(org.ix()) {
            sums.reserved = sums.reserved - at_most;
        }
    }

    /// What the open sub-batches of each org may cost, in the order of the orgs.
    pub(crate) fn reserve_batches(&mut self, by_org: impl Iterator<Item = Money>) {
        for (slot, at_most) in self.batched.iter_mut().zip(by_org) {
            *slot = at_most;
        }
    }

    /// Requests of a sub-batch go out.
    pub(crate) fn sent_in_batch(&mut self, n: u64) {
        self.n_sent += n;
    }

    /// An answer, and what the API billed for it.
    pub(crate) fn settle(&mut self, answer: Answer, now: Wall) {
        let Answer { org, path, model, outcome, usage, cost } = answer;
        self.add(Key { org: org.0, model, path, outcome, terms: usage.terms }, 1, &usage, cost);
        let day = day_of(now);
        if self.today.0 != day {
            self.close_day();
            self.today = (day, Money::ZERO);
        }
        self.today.1 += cost;
    }

    fn add(&mut self, key: Key, n: u64, usage: &Usage, cost: Money) {
        let cell = self.cells.entry(key).or_default();
        cell.n += n;
        if key.path == Route::Sync {
            self.n_answered_on_sync += n;
        }
        cell.tokens += *usage;
        cell.cost += cost;
        self.spent += cost;
        if let Some(sums) = self.orgs.get_mut(usize::from(key.org)) {
            sums.spent += cost;
            sums.tokens_in += usage.prompt_tokens();
            sums.tokens_out += usage.output_tokens;
        }
    }

    /// An attempt that may have been billed without an answer.
    pub(crate) fn doubt(&mut self, org: OrgId, path: Route, model: u16, cause: &str, at_most: Money, now: Wall) {
        self.add_doubt((org.0, path, model, cause.to_owned()), 1, at_most);
        *self.doubt_by_day.entry(date(day_of(now))).or_default() += at_most;
    }

    fn add_doubt(&mut self, key: (u16, Route, u16, String), n: u64, at_most: Money) {
        if let Some(sums) = self.orgs.get_mut(usize::from(key.0)) {
            sums.doubt += at_most;
            sums.n_doubt += n;
        }
        if self.labels.get(usize::from(key.0)).is_some_and(String::is_empty) {
            self.doubt_of_nobody += at_most;
        }
        let (count, cost) = self.doubtful.entry(key).or_default();
        *count += n;
        *cost += at_most;
        self.n_doubt += n;
        self.doubt += at_most;
    }

    /// An attempt has to be made again.
    pub(crate) fn failed(&mut self, cause: &str) {
        match self.again.get_mut(cause) {
            Some(again) => again.attempts += 1,
            None => {
                self.again.insert(cause.to_owned(), Again { attempts: 1, ..Again::default() });
            }
        }
    }

    /// A request was answered by the attempt after a failure of this cause.
    pub(crate) fn answered_again(&mut self, cause: &str, cost: Money) {
        if let Some(again) = self.again.get_mut(cause) {
            again.answered += 1;
            again.cost += cost;
        }
    }

    /// What the answers cost.
    pub(crate) fn spent(&self) -> Money {
        self.spent
    }

    /// Attempts of the sync path that were answered, over all sessions.
    pub(crate) fn n_answered_on_sync(&self) -> u64 {
        self.n_answered_on_sync
    }

    /// Attempts that may have been billed without an answer, and what they cost at most.
    pub(crate) fn in_doubt(&self) -> (u64, Money) {
        (self.n_doubt, self.doubt)
    }

    /// What is out may cost at most: calls that are being answered, and open sub-batches.
    pub(crate) fn reserved(&self) -> Money {
        self.flying + self.reserved_in_batches()
    }

    /// As [`Ledger::reserved`], of open sub-batches only.
    pub(crate) fn reserved_in_batches(&self) -> Money {
        self.batched.iter().copied().sum()
    }

    /// What the run has cost already, surely or perhaps.
    pub(crate) fn committed(&self) -> Money {
        self.spent + self.doubt
    }

    /// What may have been paid over any org: a process that was killed did not say over which.
    pub(crate) fn doubt_of_nobody(&self) -> Money {
        self.doubt_of_nobody
    }

    /// The sums of an org; reservations of its sub-batches included.
    pub(crate) fn org(&self, org: OrgId) -> OrgSums {
        let mut sums = self.orgs.get(org.ix()).copied().unwrap_or_default();
        sums.reserved += self.batched.get(org.ix()).copied().unwrap_or_default();
        sums
    }

    /// What the day of `now` cost, surely or perhaps.
    pub(crate) fn committed_on_day_of(&self, now: Wall) -> Money {
        let day = day_of(now);
        let of = |days: &BTreeMap<String, Money>| days.get(&date(day)).copied().unwrap_or_default();
        let today = if self.today.0 == day { self.today.1 } else { Money::ZERO };
        of(&self.by_day) + of(&self.doubt_by_day) + today
    }

    /// Whether a request for this model was ever answered.
    pub(crate) fn has_answered(&self, model: u16) -> bool {
        let is_answer = |outcome| matches!(outcome, Outcome::Succeeded | Outcome::Refused);
        self.cells.iter().any(|(key, cell)| key.model == model && is_answer(key.outcome) && cell.n > 0)
    }

    /// Attempts made over all sessions.
    pub(crate) fn n_sent(&self) -> u64 {
        self.n_sent
    }

    /// Attempts that had to be made again, by cause.
    pub(crate) fn re_driven(&self) -> impl Iterator<Item = (&str, u64)> {
        self.again.iter().map(|(cause, again)| (cause.as_str(), again.attempts))
    }

    fn close_day(&mut self) {
        if self.today.1 > Money::ZERO {
            *self.by_day.entry(date(self.today.0)).or_default() += self.today.1;
        }
    }

    /// The books, in a settled order.
    pub(crate) fn books(&self) -> Books {
        let label = |org: u16| self.labels.get(usize::from(org)).cloned().unwrap_or_default();
        let model = |model: u16| self.models.get(usize::from(model)).map(|(name, _)| name.clone()).unwrap_or_default();
        let mut settled: Vec<Settled> = self
            .cells
            .iter()
            .map(|(key, cell)| Settled {
                org: label(key.org),
                path: key.path,
                model: model(key.model),
                outcome: key.outcome,
                n: cell.n,
                tokens: Usage { terms: key.terms, ..cell.tokens },
                cost: cell.cost,
            })
            .collect();
        settled.sort_by(|a, b| {
            let key = |line: &Settled| {
                (line.org.clone(), line.path.as_str(), line.model.clone(), line.outcome, line.tokens.terms)
            };
            key(a).cmp(&key(b))
        });
        let mut doubtful: Vec<Doubtful> = self
            .doubtful
            .iter()
            .map(|((org, path, of, cause), (n, at_most))| Doubtful {
                org: label(*org),
                path: *path,
                model: model(*of),
                cause: cause.clone(),
                n: *n,
                at_most: *at_most,
            })
            .collect();
        doubtful.sort_by(|a, b| {
            let key = |line: &Doubtful| (line.org.clone(), line.path.as_str(), line.model.clone(), line.cause.clone());
            key(a).cmp(&key(b))
        });
        let re_driven = |(cause, again): (&String, &Again)| ReDriven {
            cause: cause.clone(),
            attempts: again.attempts,
            answered: again.answered,
            cost: again.cost,
        };
        let mut by_day = self.by_day.clone();
        if self.today.1 > Money::ZERO {
            *by_day.entry(date(self.today.0)).or_default() += self.today.1;
        }
        Books {
            settled,
            doubtful,
            re_driven: self.again.iter().map(re_driven).collect(),
            by_day,
            doubt_by_day: self.doubt_by_day.clone(),
            out: self.reserved(),
            n_sent: self.n_sent,
            dearer: 0,
        }
    }
}

/// The most that a request can cost: its text has no more tokens than bytes, each of them written to the prompt cache at the
/// dearest where it asks for the cache, its answer is as long as it may be, and its tools search as often as they may; all at the
/// prices of the speed and place that it asks for. Nothing for a model without a price.
pub(crate) fn at_most(models: &Tariff, sizes: &dyn Sizes, no: RequestNo, batch: bool) -> Money {
    let Some((_, Some(card))) = models.get(usize::from(sizes.model(no))) else { return Money::ZERO };
    let extras = sizes.extras(no);
    let prompt = u64::from(sizes.bytes(no)) + if extras.adds_to_prompt() { FRAME_TOKENS } else { 0 };
    let price = card.for_prompt(prompt, extras.terms());
    let dearest = match extras.writes_cache() {
        true => price.input.max(price.cache_write_5m).max(price.cache_write_1h),
        false => price.input,
    };
    let tokens = Money::for_tokens(prompt, dearest) + Money::for_tokens(sizes.max_tokens(no).into(), price.output);
    let searches = Money::for_tokens(extras.searches(), price.web_search);
    searches + if batch { tokens.half() } else { tokens }
}

/// The day of a moment (UTC), by its number since 1970.
pub(crate) fn day_of(at: Wall) -> i64 {
    at.0.div_euclid(DAY_MS)
}

/// A day by its number since 1970, as `2026-11-29`.
pub(crate) fn date(day: i64) -> String {
    let mut text = stamp::to_string(Wall(day.saturating_mul(DAY_MS)));
    text.truncate("2026-11-29".len());
    text
}

#[cfg(test)]
#[path = "ledger_tests.rs"]
mod tests;
