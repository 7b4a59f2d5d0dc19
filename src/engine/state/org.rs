//! One key: whether it takes work, and what it did.

use hdrhistogram::Histogram;

use crate::engine::breaker::Breaker;
use crate::engine::course::CourseState;
use crate::engine::history::PerSecond;
use crate::engine::retry_budget::RetryBudget;
use crate::model::series::{Latencies, OrgStep};
use crate::model::snapshot::{OrgTotals, ParkReason};
use crate::model::{DispatchSettings, Family, Mono, OrgId, OrgSpec, Wall};

/// Longest latency that is told from longer ones, milliseconds: an hour.
const LONGEST_MS: u64 = 3_600_000;

/// One key.
#[derive(Debug)]
pub(crate) struct OrgState {
    pub(crate) id: OrgId,
    pub(crate) label: String,
    pub(crate) key_env: String,
    pub(crate) host: String,
    pub(crate) caps: [u32; Family::COUNT],
    /// Index of its pool.
    pub(crate) pool: usize,
    pub(crate) parked: Option<Parked>,
    pub(crate) paused: bool,
    /// Families of which it has none of the models that are asked for.
    pub(crate) barred: [bool; Family::COUNT],
    pub(crate) breaker: Breaker,
    pub(crate) budget: RetryBudget,
    /// When re-drives last waited for its budget.
    pub(crate) spared: Option<Mono>,
    /// Whether it has answered at all. Until then it is sent a few calls only: a wrong key shows at once.
    pub(crate) proven: bool,
    /// Refusals in a row, with no answer between them, that may be about a request as well as about the key.
    pub(crate) strikes: u32,
    pub(crate) in_flight: [u32; Family::COUNT],
    pub(crate) totals: OrgTotals,
    pub(crate) answers: PerSecond,
    pub(crate) window_levels: PerSecond,
    /// The whole session.
    pub(crate) course: CourseState<OrgStep>,
    /// Latency of answers in milliseconds.
    pub(crate) latency: Histogram<u32>,
    /// As it was shown last.
    pub(crate) latencies: Latencies,
    pub(crate) last_decision: Option<(Wall, String)>,
}

/// Takes no work.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Parked {
    pub(crate) why: ParkReason,
    /// `None`: until the operator revives it.
    pub(crate) until: Option<Mono>,
}

impl OrgState {
    /// One that nothing was sent to yet, with a pool of its own.
    pub(super) fn new(ix: usize, spec: &OrgSpec, settings: &DispatchSettings) -> OrgState {
        let host = spec.base_url.split("://").nth(1).unwrap_or(&spec.base_url).to_owned();
        OrgState {
            id: OrgId(ix as u16),
            label: spec.label.clone(),
            key_env: spec.key_env.clone(),
            host,
            caps: settings.cap.map_or(spec.caps, |cap| [cap; Family::COUNT]),
            pool: ix,
            parked: None,
            paused: false,
            barred: [false; Family::COUNT],
            breaker: Breaker::default(),
            budget: RetryBudget::default(),
            spared: None,
            proven: false,
            strikes: 0,
            in_flight: [0; Family::COUNT],
            totals: OrgTotals::default(),
            answers: PerSecond::default(),
            window_levels: PerSecond::default(),
            course: CourseState::new(Mono::ZERO),
            // Bounded, so that it never grows; what is longer counts as the longest.
            latency: Histogram::new_with_bounds(1, LONGEST_MS, 2)
                .unwrap_or_else(|_| unreachable!("two digits are a valid precision")),
            latencies: Latencies::default(),
            last_decision: None,
        }
    }

    /// Requests of every family being answered.
    pub(crate) fn in_flight(&self) -> u32 {
        self.in_flight.iter().sum()
    }
}
