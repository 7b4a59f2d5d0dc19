//! The rules of the route. The first one that applies decides; what every other would have said is told with it.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::model::format::count;
use crate::model::planning::BATCH_SLA_S;
use crate::model::{CostPref, PathChoice, Route, RoutePolicy, WedgeGuard};

/// Share of the crossover from which the cost preference takes batches.
const COST_SHARE: u64 = 10;

/// What the rules look at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Question {
    /// Requests that are left to send.
    pub n: u64,
    /// Which path is asked for.
    pub path: PathChoice,
    /// The preferences.
    pub policy: RoutePolicy,
    /// The crossover in requests, resolved for the model.
    pub crossover: u64,
    /// From now.
    pub deadline: Option<Duration>,
    /// Requests of a sub-batch.
    pub sub_batch_size: u32,
}

impl Question {
    /// Sub-batches that the requests make.
    pub fn passes(&self) -> u64 {
        self.n.div_ceil(u64::from(self.sub_batch_size.max(1)))
    }

    fn guard_trips(&self) -> bool {
        self.passes() > self.policy.max_batch_passes
    }

    /// From where on the cost preference takes batches. Below ten requests of crossover, from the first one.
    fn cost_from(&self) -> u64 {
        self.crossover / COST_SHARE
    }
}

/// A rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// The path was asked for.
    Forced,
    /// The deadline is sooner than the day that a batch may take.
    DeadlineBeforeSla,
    /// Time is what matters.
    Latency,
    /// Money is what matters.
    Cost,
    /// Too few for batches to be worth their wait.
    BelowCrossover,
    /// So many sub-batches that one of them is likely to be wedged.
    WedgeGuard,
    /// Enough for batches.
    AboveCrossover,
}

impl Rule {
    /// All of them, in their order.
    pub const ALL: [Rule; 7] = [
        Rule::Forced,
        Rule::DeadlineBeforeSla,
        Rule::Latency,
        Rule::Cost,
        Rule::BelowCrossover,
        Rule::WedgeGuard,
        Rule::AboveCrossover,
    ];

    /// The name that users see.
    pub fn as_str(self) -> &'static str {
        match self {
            Rule::Forced => "forced",
            Rule::DeadlineBeforeSla => "deadline-before-sla",
            Rule::Latency => "latency",
            Rule::Cost => "cost",
            Rule::BelowCrossover => "below-crossover",
            Rule::WedgeGuard => "wedge-guard",
            Rule::AboveCrossover => "above-crossover",
        }
    }

    /// What this rule says, and why. `None` is a rule that does not apply.
    fn verdict(self, q: &Question) -> (Option<Route>, String) {
        use Route::{Batch, Sync};
        let [n, crossover, passes, cost_from] = [q.n, q.crossover, q.passes(), q.cost_from()].map(count);
        let balanced = q.policy.cost_pref == CostPref::Balanced;
        let guards_cost = q.policy.wedge_guard == WedgeGuard::Always && q.guard_trips();
        let unless = |pref: CostPref| format!("cost-pref is {}, not {pref}", q.policy.cost_pref);
        match self {
            Rule::Forced => match q.path {
                PathChoice::Auto => (None, "path is auto".to_owned()),
                PathChoice::Sync => (Some(Sync), "forced by --path sync".to_owned()),
                PathChoice::Batch => (Some(Batch), "forced by --path batch".to_owned()),
            },
            Rule::DeadlineBeforeSla => match q.deadline {
                None => (None, "there is no deadline".to_owned()),
                Some(by) if by < Duration::from_secs(BATCH_SLA_S) => (
                    Some(Sync),
                    format!("the deadline, {} from now, is sooner than the 24 h that a batch may take", span(by)),
                ),
                Some(by) => {
                    (None, format!("the deadline, {} from now, leaves the 24 h that a batch may take", span(by)))
                }
            },
            Rule::Latency if q.policy.cost_pref == CostPref::Latency => (Some(Sync), "cost-pref is latency".to_owned()),
            Rule::Latency => (None, unless(CostPref::Latency)),
            Rule::Cost if q.policy.cost_pref != CostPref::Cost => (None, unless(CostPref::Cost)),
            Rule::Cost if q.n < q.cost_from() => (
                Some(Sync),
                format!("{n} requests are fewer than a tenth of the crossover ({cost_from}): batches save too little"),
            ),
            Rule::Cost if guards_cost => (
                None,
                format!(
                    "{passes} sub-batches are more than {}: left to the wedge guard, which is always on",
                    count(q.policy.max_batch_passes)
                ),
            ),
            Rule::Cost => {
                (Some(Batch), format!("{n} requests are at least a tenth of the crossover ({cost_from}): half price"))
            }
            Rule::BelowCrossover if !balanced => (None, unless(CostPref::Balanced)),
            Rule::BelowCrossover if q.n < q.crossover => {
                (Some(Sync), format!("{n} requests are fewer than the crossover of {crossover}"))
            }
            Rule::BelowCrossover => (None, format!("{n} requests are not fewer than the crossover of {crossover}")),
            Rule::WedgeGuard => self.guard(q, balanced),
            Rule::AboveCrossover if !balanced => (None, unless(CostPref::Balanced)),
            Rule::AboveCrossover if q.n < q.crossover => {
                (None, format!("{n} requests are fewer than the crossover of {crossover}"))
            }
            Rule::AboveCrossover => (
                Some(Batch),
                format!("{n} requests are at least the crossover of {crossover}, in {passes} sub-batches"),
            ),
        }
    }

    fn guard(self, q: &Question, balanced: bool) -> (Option<Route>, String) {
        let (passes, most) = (q.passes(), q.policy.max_batch_passes);
        let applies = match (q.policy.wedge_guard, q.policy.cost_pref) {
            (WedgeGuard::Off, _) => return (None, "the wedge guard is off".to_owned()),
            (_, CostPref::Latency) | (WedgeGuard::Balanced, CostPref::Cost) => {
                return (None, format!("the wedge guard does not apply to cost-pref {}", q.policy.cost_pref));
            }
            (_, CostPref::Balanced) => q.n >= q.crossover,
            (_, CostPref::Cost) => q.n >= q.cost_from(),
        };
        if !applies {
            let from = if balanced { q.crossover } else { q.cost_from() };
            let (n, from) = (count(q.n), count(from));
            return (None, format!("{n} requests are fewer than {from}: no batch to guard against"));
        }
        let (guards, few) = (q.guard_trips(), u64::from(q.sub_batch_size) * most < q.crossover);
        let (passes, most) = (count(passes), count(most));
        if !guards {
            return (None, format!("{passes} sub-batches are not more than {most}"));
        }
        let mut why = format!(
            "{passes} sub-batches are more than {most}: each is a draw of its own from the tail of the queue, and one wedged \
             one can park the rest"
        );
        // Said once and for all: the operator would else look for an N that passes.
        if balanced && few {
            why.push_str(&format!(
                "; with sub-batches of {} and a crossover of {}, balanced is always sync",
                count(u64::from(q.sub_batch_size)),
                count(q.crossover)
            ));
        }
        (Some(Route::Sync), why)
    }
}

/// What a rule said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleVerdict {
    /// Which.
    pub rule: Rule,
    /// Its verdict; `None` when it does not apply.
    pub verdict: Option<Route>,
    /// Whether it is the one that decided.
    pub fired: bool,
    /// Why, in words.
    pub why: String,
}

/// The route, and how it came about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    /// The route.
    pub route: Route,
    /// The rule that decided.
    pub rule: Rule,
    /// Its reason, in words.
    pub reason: String,
    /// What every rule said, in their order.
    pub rules: Vec<RuleVerdict>,
}

/// Asks the rules.
pub fn decide(question: &Question) -> Decision {
    let mut fired: Option<(Rule, Route, String)> = None;
    let mut rules = Vec::with_capacity(Rule::ALL.len());
    for rule in Rule::ALL {
        let (verdict, why) = rule.verdict(question);
        let first = match (verdict, &fired) {
            (Some(route), None) => {
                fired = Some((rule, route, why.clone()));
                true
            }
            _ => false,
        };
        rules.push(RuleVerdict { rule, verdict, fired: first, why });
    }
    // The last rule of each preference has no condition of its own left, so that one always fires. A change that broke
    // that would send a run the way that is over soonest.
    let (rule, route, reason) = fired.unwrap_or((Rule::BelowCrossover, Route::Sync, "no rule applies".to_owned()));
    Decision { route, rule, reason, rules }
}

/// A span as people say it, to the minute.
pub(crate) fn span(span: Duration) -> String {
    let minutes = span.as_secs() / 60;
    match (minutes / 60, minutes % 60) {
        (0, 0) => format!("{} s", span.as_secs()),
        (0, m) => format!("{m} min"),
        (h, 0) => format!("{h} h"),
        (h, m) => format!("{h} h {m} min"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(n: u64, pref: CostPref) -> Question {
        Question {
            n,
            path: PathChoice::Auto,
            policy: RoutePolicy { cost_pref: pref, ..RoutePolicy::default() },
            crossover: 20_000,
            deadline: None,
            sub_batch_size: 1_000,
        }
    }

    fn fires(question: Question, rule: Rule, route: Route) {
        let decision = decide(&question);
        assert_eq!((decision.rule, decision.route), (rule, route), "{question:?}: {}", decision.reason);
        assert_eq!(decision.rules.iter().filter(|verdict| verdict.fired).count(), 1);
        assert_eq!(decision.rules.len(), Rule::ALL.len());
        assert!(decision.rules.iter().all(|verdict| !verdict.why.is_empty()));
    }

    #[test]
    fn numbers_in_reasons_have_their_thousands_apart() {
        for pref in [CostPref::Balanced, CostPref::Cost] {
            for n in [1_500, 2_000, 141_600, 1_000_000] {
                for verdict in decide(&ask(n, pref)).rules {
                    let digits = |text: &str| text.chars().take_while(char::is_ascii_digit).count();
                    let run = (0..verdict.why.len()).filter_map(|at| verdict.why.get(at..)).map(digits).max();
                    assert!(run <= Some(3), "{}", verdict.why);
                }
            }
        }
        assert_eq!(
            decide(&ask(4_000, CostPref::Balanced)).reason,
            "4,000 requests are fewer than the crossover of 20,000"
        );
    }

    #[test]
    fn a_path_that_is_asked_for_is_taken_whatever_else_holds() {
        let soon = Some(Duration::from_secs(60));
        fires(
            Question { path: PathChoice::Batch, deadline: soon, ..ask(1, CostPref::Latency) },
            Rule::Forced,
            Route::Batch,
        );
        fires(Question { path: PathChoice::Sync, ..ask(1_000_000, CostPref::Cost) }, Rule::Forced, Route::Sync);
    }

    #[test]
    fn a_deadline_is_too_soon_for_batches_below_a_day_and_not_at_it() {
        let by = |secs| Question { deadline: Some(Duration::from_secs(secs)), ..ask(1_000_000, CostPref::Cost) };
        fires(by(BATCH_SLA_S - 1), Rule::DeadlineBeforeSla, Route::Sync);
        fires(by(BATCH_SLA_S), Rule::Cost, Route::Batch);
        fires(by(0), Rule::DeadlineBeforeSla, Route::Sync);
    }

    #[test]
    fn latency_is_sync_at_any_size() {
        fires(ask(0, CostPref::Latency), Rule::Latency, Route::Sync);
        fires(ask(1_000_000, CostPref::Latency), Rule::Latency, Route::Sync);
    }

    #[test]
    fn cost_takes_batches_from_a_tenth_of_the_crossover_on() {
        fires(ask(1_999, CostPref::Cost), Rule::Cost, Route::Sync);
        fires(ask(2_000, CostPref::Cost), Rule::Cost, Route::Batch);
        fires(ask(1_000_000, CostPref::Cost), Rule::Cost, Route::Batch);
    }

    #[test]
    fn balanced_is_sync_below_the_crossover_and_guarded_from_it_on() {
        fires(ask(19_999, CostPref::Balanced), Rule::BelowCrossover, Route::Sync);
        fires(ask(20_000, CostPref::Balanced), Rule::WedgeGuard, Route::Sync);
        let large = |n, size| Question { sub_batch_size: size, ..ask(n, CostPref::Balanced) };
        fires(large(20_000, 6_667), Rule::AboveCrossover, Route::Batch);
        fires(large(20_001, 6_667), Rule::AboveCrossover, Route::Batch);
        fires(large(20_002, 6_667), Rule::WedgeGuard, Route::Sync);
    }

    #[test]
    fn the_guard_says_when_no_number_of_requests_can_pass_it() {
        assert!(decide(&ask(20_000, CostPref::Balanced)).reason.contains("balanced is always sync"));
        let large = Question { sub_batch_size: 10_000, ..ask(40_000, CostPref::Balanced) };
        assert!(!decide(&large).reason.contains("always"));
    }

    #[test]
    fn the_guard_can_be_off_and_can_be_always_on() {
        let guard = |wedge_guard, pref, n| {
            let question = ask(n, pref);
            Question { policy: RoutePolicy { wedge_guard, ..question.policy }, ..question }
        };
        fires(guard(WedgeGuard::Off, CostPref::Balanced, 20_000), Rule::AboveCrossover, Route::Batch);
        fires(guard(WedgeGuard::Always, CostPref::Cost, 3_000), Rule::Cost, Route::Batch);
        fires(guard(WedgeGuard::Always, CostPref::Cost, 3_001), Rule::WedgeGuard, Route::Sync);
        fires(guard(WedgeGuard::Always, CostPref::Cost, 1_999), Rule::Cost, Route::Sync);
        fires(guard(WedgeGuard::Balanced, CostPref::Cost, 3_001), Rule::Cost, Route::Batch);
        fires(guard(WedgeGuard::Always, CostPref::Latency, 1_000_000), Rule::Latency, Route::Sync);
    }

    #[test]
    fn some_rule_decides_whatever_is_asked() {
        for pref in CostPref::ALL {
            for wedge_guard in WedgeGuard::ALL {
                for n in [0, 1, 1_999, 2_000, 3_000, 3_001, 19_999, 20_000, 1_000_000] {
                    for (size, crossover) in [(1, 0), (1_000, 20_000), (100_000, 5)] {
                        let mut question = Question { sub_batch_size: size, crossover, ..ask(n, *pref) };
                        question.policy.wedge_guard = *wedge_guard;
                        assert_ne!(decide(&question).reason, "no rule applies", "{question:?}");
                    }
                }
            }
        }
    }
}
