//! What the arms came to: outcomes as sets of ids, time, money, and the speed-up against its target.

use std::sync::Arc;

use serde::Serialize;

use crate::model::{Counts, Money, Route, RunStatus};
use crate::report::format;
use crate::requests::Input;
use crate::store::{RunDir, for_each_outcome};

use crate::cli::failure::Failure;

use super::arm::Arm;

/// Ids that are named one by one.
const NAMED: usize = 20;

/// One arm's figures.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct ArmResult {
    pub(super) name: String,
    pub(super) run_dir: String,
    pub(super) run_id: String,
    pub(super) orgs: Vec<String>,
    /// `sync` or `batch`.
    pub(super) path: Route,
    /// Requests in flight at the most that it was given, 0 in batches; and the sum of what its orgs had.
    pub(super) slots: u32,
    pub(super) in_flight_peak: u32,
    /// 429s of both kinds.
    pub(super) n_429: u64,
    /// How often it was started or gone on with.
    pub(super) sessions: u32,
    pub(super) status: RunStatus,
    pub(super) exit_code: u8,
    /// Seconds in which it was running, over all sessions.
    pub(super) wall_s: f64,
    pub(super) requests_per_min: f64,
    #[serde(rename = "cost_usd")]
    pub(super) cost: Money,
    /// Attempts that may have been billed although no answer arrived, and what they cost at the most.
    pub(super) n_in_doubt: u64,
    #[serde(rename = "in_doubt_usd")]
    pub(super) in_doubt: Money,
    /// Prompt tokens read from the API's prompt cache: an arm that reads what the other wrote is cheaper for it.
    pub(super) tokens_cache_read: u64,
    pub(super) counts: Counts,
    /// Ids of the input without a terminal outcome in the journal.
    pub(super) n_lost: u64,
    /// The first of them.
    pub(super) lost: Vec<String>,
    /// Ids of the journal that are not in the input.
    pub(super) n_alien: u64,
    /// Ids with more than one terminal outcome.
    pub(super) n_twice: u64,
    /// Requests without a terminal outcome by the run's own count.
    pub(super) n_undone: u64,
    /// Which requests have one, in the order of the input.
    #[serde(skip)]
    has: Vec<bool>,
}

impl ArmResult {
    /// Reads an arm's directory. Ids are compared, not counted.
    pub(super) fn read(arm: &Arm, slots: u32, input: &Arc<Input>) -> Result<ArmResult, Failure> {
        let peek = RunDir::peek(&arm.dir)?;
        let mut has = vec![false; input.len() as usize];
        let (mut n_alien, mut n_twice) = (0, 0);
        let mut unreadable = None;
        for_each_outcome(&arm.dir, &mut |line| {
            if !line.outcome.is_terminal() {
                return;
            }
            match input.find(&line.custom_id) {
                Ok(Some(no)) => n_twice += u64::from(std::mem::replace(&mut has[no.ix()], true)),
                Ok(None) => n_alien += 1,
                Err(error) => unreadable = Some(error),
            }
        })?;
        if let Some(error) = unreadable {
            return Err(Failure::usage(error));
        }
        let without = || (0..input.len()).map(crate::model::RequestNo).filter(|no| !has[no.ix()]);
        let lost = without().take(NAMED).filter_map(|no| input.read(no).ok()).map(|line| line.custom_id);
        let state = &peek.state;
        let wall_s = state.wall_ms as f64 / 1e3;
        let done = state.counts.done();
        let (n_in_doubt, in_doubt) = state.books.doubt();
        Ok(ArmResult {
            name: arm.name.to_owned(),
            run_dir: peek.dir.display().to_string(),
            run_id: peek.run.run_id.clone(),
            orgs: arm.orgs.clone(),
            path: peek.run.path,
            slots,
            in_flight_peak: state.orgs.iter().map(|org| org.totals.in_flight_peak).sum(),
            n_429: state.orgs.iter().map(|org| org.totals.n_429()).sum(),
            sessions: state.sessions,
            status: state.status,
            exit_code: state.exit_code.unwrap_or_else(|| state.counts.exit_code()),
            wall_s,
            requests_per_min: if wall_s > 0.0 { done as f64 * 60.0 / wall_s } else { 0.0 },
            cost: state.books.spent(),
            n_in_doubt,
            in_doubt,
            tokens_cache_read: state.books.settled.iter().map(|line| line.tokens.cache_read).sum(),
            counts: state.counts,
            n_lost: without().count() as u64,
            lost: lost.collect(),
            n_alien,
            n_twice,
            n_undone: state.counts.open(),
            has,
        })
    }

    /// Whether nothing is left to do.
    pub(super) fn is_finished(&self) -> bool {
        self.status == RunStatus::Finished
    }
}

/// The verdict.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Verdict {
    event: String,
    /// The version that ran it.
    fandeck: String,
    n: u64,
    models: Vec<String>,
    input_sha256: String,
    arms: Vec<ArmResult>,
    /// Wall-clock of the baseline over that of the fan-out.
    speed_up: f64,
    target: f64,
    target_met: bool,
    /// Cost of the fan-out over that of the baseline.
    cost_ratio: Option<f64>,
    /// Both arms have an outcome for the same ids.
    same_ids: bool,
    n_lost: u64,
    n_undone: u64,
    pub(super) exit_code: u8,
}

impl Verdict {
    /// From the results of both arms, the baseline first.
    pub(super) fn new(input: &Input, target: f64, arms: Vec<ArmResult>) -> Verdict {
        let wall = |at: usize| arms.get(at).map_or(0.0, |arm: &ArmResult| arm.wall_s);
        let cost = |at: usize| arms.get(at).map_or(Money::ZERO, |arm: &ArmResult| arm.cost);
        let speed_up = if wall(1) > 0.0 { wall(0) / wall(1) } else { 0.0 };
        let same_ids = arms.windows(2).all(|pair| pair[0].has == pair[1].has);
        let n_lost = arms.iter().map(|arm| arm.n_lost).sum();
        let n_undone = arms.iter().map(|arm| arm.n_undone).sum();
        let whole =
            same_ids && n_lost == 0 && n_undone == 0 && arms.iter().all(|arm| arm.n_alien == 0 && arm.n_twice == 0);
        let target_met = speed_up >= target;
        Verdict {
            event: "ab-finished".to_owned(),
            fandeck: env!("CARGO_PKG_VERSION").to_owned(),
            n: u64::from(input.len()),
            models: input.models().iter().map(|used| used.model.clone()).collect(),
            input_sha256: input.sha256().to_owned(),
            speed_up,
            target,
            target_met,
            cost_ratio: (cost(0) > Money::ZERO).then(|| cost(1).0 as f64 / cost(0).0 as f64),
            same_ids,
            n_lost,
            n_undone,
            exit_code: if whole && target_met { 0 } else { 3 },
            arms,
        }
    }

    /// In words. Ends with a line end.
    pub(super) fn in_words(&self) -> String {
        let mut text = format!("\n{} requests of {}\n\n", format::count(self.n), self.models.join(", "));
        text.push_str(
            "arm            wall-clock  requests/min        cost   lost  undone  alien  twice  refused  invalid\n",
        );
        for arm in &self.arms {
            text.push_str(&format!(
                "{:<12} {:>12} {:>13} {:>11} {:>6} {:>7} {:>6} {:>6} {:>8} {:>8}\n",
                arm.name,
                format!("{:.1} s", arm.wall_s),
                format::count(arm.requests_per_min as u64),
                format::money(arm.cost),
                format::count(arm.n_lost),
                format::count(arm.n_undone),
                format::count(arm.n_alien),
                format::count(arm.n_twice),
                format::count(arm.counts.refused),
                format::count(arm.counts.invalid),
            ));
        }
        let met = if self.target_met { "met" } else { "missed" };
        text.push_str(&format!("\nspeed-up     {:.2} times; the target of {} is {met}\n", self.speed_up, self.target));
        if let Some(ratio) = self.cost_ratio {
            text.push_str(&format!("cost         {ratio:.3} of the baseline's\n"));
        }
        let ids = if self.same_ids { "the same ids in both arms" } else { "DIFFERENT ids in the arms" };
        text.push_str(&format!("data loss    {} ids lost, {ids}\n", format::count(self.n_lost)));
        for arm in self.arms.iter().filter(|arm| !arm.lost.is_empty()) {
            text.push_str(&format!("             {}: {}\n", arm.name, arm.lost.join(", ")));
        }
        for arm in self.arms.iter().filter(|arm| arm.n_in_doubt > 0) {
            text.push_str(&format!(
                "in doubt     {}: {} attempts without an answer, billed {} at the most besides\n",
                arm.name,
                format::count(arm.n_in_doubt),
                format::money(arm.in_doubt)
            ));
        }
        for arm in self.arms.iter().filter(|arm| arm.sessions > 1) {
            text.push_str(&format!(
                "wall-clock   {}: ran in {} sessions; what a killed one did after its last sign of life is not in its time\n",
                arm.name, arm.sessions
            ));
        }
        if self.arms.last().is_some_and(|arm| arm.tokens_cache_read > 0) {
            text.push_str("             the API's prompt cache is the organisation's: the later arm may have read what the first wrote\n");
        }
        text
    }
}
