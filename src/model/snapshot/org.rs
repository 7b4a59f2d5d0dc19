//! An organisation in the picture: its windows, its limits, and what it did.

use serde::{Deserialize, Serialize};

use crate::model::ids::{Family, OrgId};
use crate::model::limits::Limiter;
use crate::model::money::Money;
use crate::model::outcome::AccountTrouble;
use crate::model::series::{Course, Latencies, OrgStep};
use crate::model::time::Wall;

/// An org as the operator sees it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OrgView {
    /// Its id.
    pub id: OrgId,
    /// Its name.
    pub label: String,
    /// The variable that held its key.
    pub key_env: String,
    /// The host that it is sent to.
    pub host: String,
    /// `anthropic-organization-id`, once seen.
    pub organization: Option<String>,
    /// What it does now.
    pub condition: Condition,
    /// A window per family in use.
    pub windows: Vec<WindowView>,
    /// What headers said last, tightest first; empty until an answer carried some.
    pub limiters: Vec<LimiterView>,
    /// What keeps it from taking more; `None` when nothing does, or there is no work.
    #[serde(default)]
    pub binding: Option<Binding>,
    /// Smallest `remaining / limit`, aged since; `None` until an answer carried headers.
    pub headroom: Option<f64>,
    /// Attempts and tokens so far.
    pub totals: OrgTotals,
    /// Answers a second over the last ten seconds.
    pub rate: f64,
    /// Answers in each of the last seconds, oldest first, at most 120.
    pub rate_history: Vec<u32>,
    /// Sum of the windows at the end of each of the last seconds, as `rate_history`.
    pub window_history: Vec<u32>,
    /// Answers, trouble and window over the whole session.
    #[serde(default)]
    pub course: Course<OrgStep>,
    /// How long answers took.
    #[serde(default)]
    pub latencies: Latencies,
    /// Latency of answers in milliseconds: median. Zero until there is one.
    pub latency_p50_ms: u32,
    /// Mean.
    #[serde(default)]
    pub latency_mean_ms: u32,
    /// 95th percentile.
    pub latency_p95_ms: u32,
    /// The last decision about this org, in words, and when.
    pub last_decision: Option<(Wall, String)>,
}

impl OrgView {
    /// Requests being answered, over the families.
    pub fn in_flight(&self) -> u32 {
        self.windows.iter().map(|w| w.in_flight).sum()
    }

    /// Sum of the windows.
    pub fn window(&self) -> u32 {
        self.windows.iter().map(|w| w.window).sum()
    }

    /// Sum of the ceilings.
    pub fn ceiling(&self) -> u32 {
        self.windows.iter().map(|w| w.ceiling).sum()
    }
}

/// What an org does now, in the words of the screen. Spans are milliseconds from the moment of the snapshot.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "is")]
pub enum Condition {
    /// Nothing in flight and nothing to do.
    Idle,
    /// Its window grows from its start or from a cut.
    Ramping,
    /// Its window is at its ceiling, or as large as the work needs.
    Steady,
    /// Headroom is low because a colleague is active: our share gives way.
    Easing {
        /// The headroom seen, 0..=1.
        headroom: f64,
    },
    /// Our own use has reached a limit: calls go out as fast as it refills.
    AtLimit {
        /// The limit.
        limiter: Limiter,
        /// Its headroom, 0..=1.
        headroom: f64,
    },
    /// Closed by `retry-after`, a reset or the dispatcher's own backoff.
    BackingOff {
        /// Time to go.
        for_ms: u64,
        /// Why, in a word: `rate-limited`, `overloaded`.
        why: String,
    },
    /// Takes no work until a time or an operator's action.
    Parked {
        /// Why.
        why: ParkReason,
        /// Time to go; `None` waits for the operator.
        for_ms: Option<u64>,
    },
    /// Left alone by its circuit breaker after a run of failures.
    BreakerOpen {
        /// Time until the next probe.
        for_ms: u64,
    },
    /// One request at a time after a park or a run of failures, to see whether it works again.
    Probing,
    /// So many of its calls fail that its retry budget is used up: first attempts go out, re-drives wait.
    SparingRetries,
    /// Paused by the operator, and what is in flight finishes.
    Draining {
        /// Requests still being answered.
        in_flight: u32,
    },
    /// Paused by the operator, and nothing is in flight.
    Paused,
}

impl Condition {
    /// The state's name, kebab-case.
    pub fn word(&self) -> &'static str {
        match self {
            Condition::Idle => "idle",
            Condition::Ramping => "ramping",
            Condition::Steady => "steady",
            Condition::Easing { .. } => "easing",
            Condition::AtLimit { .. } => "at-limit",
            Condition::BackingOff { .. } => "backing-off",
            Condition::Parked { .. } => "parked",
            Condition::BreakerOpen { .. } => "breaker-open",
            Condition::Probing => "probing",
            Condition::SparingRetries => "sparing-retries",
            Condition::Draining { .. } => "draining",
            Condition::Paused => "paused",
        }
    }

    /// Whether the operator keeps it from taking work.
    pub fn is_paused(&self) -> bool {
        matches!(self, Condition::Draining { .. } | Condition::Paused)
    }
}

/// What keeps an org from taking more than it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Binding {
    /// A limit of the API, of which calls are admitted at the pace at which it refills.
    Limiter(Limiter),
    /// The window, which may still grow.
    Window,
    /// The polite cap.
    Cap,
}

/// Why an org is parked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ParkReason {
    /// Trouble of its account.
    Account(AccountTrouble),
    /// A `retry-after` of hours.
    RetryAfter,
}

impl ParkReason {
    /// The reason in a word.
    pub fn as_str(self) -> &'static str {
        match self {
            ParkReason::Account(account) => account.as_str(),
            ParkReason::RetryAfter => "retry-after",
        }
    }
}

/// A window.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WindowView {
    /// Its family.
    pub family: Family,
    /// Being answered.
    pub in_flight: u32,
    /// The controller's limit now.
    pub window: u32,
    /// Cap × procs: what the window never passes.
    pub ceiling: u32,
    /// The cap of one lane.
    pub cap: u32,
    /// The polite cap of one lane, as configured.
    pub polite_cap: u32,
}

/// A bucket as headers showed it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LimiterView {
    /// Which.
    pub limiter: Limiter,
    /// Units a minute.
    pub limit: u64,
    /// Units left when it was seen.
    pub remaining: u64,
    /// `remaining / limit`, aged by the refill since and by our own use, 0..=1.
    pub headroom: f64,
    /// Milliseconds until the bucket is full again if nobody takes from it; zero when it is.
    #[serde(default)]
    pub full_in_ms: u64,
    /// Share of the refill that others use, 0..=1, as far as headers let it be told.
    #[serde(default)]
    pub foreign: f64,
}

/// What an org has done so far, earlier sessions of the run included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct OrgTotals {
    /// Attempts made.
    pub n_sent: u64,
    /// Usable answers.
    pub n_ok: u64,
    /// Refused answers.
    pub n_refused: u64,
    /// Requests that the API called wrong.
    pub n_invalid: u64,
    /// 429 of an empty bucket.
    pub n_429_steady: u64,
    /// 429 of growth that was too sharp.
    pub n_429_ramp: u64,
    /// 529 and other overload.
    pub n_overloaded: u64,
    /// Other 5xx, 408, 409.
    pub n_5xx: u64,
    /// No connection, timeouts, broken answers.
    pub n_transport: u64,
    /// Account trouble.
    pub n_account: u64,
    /// Attempts that may have been billed although no answer arrived.
    pub n_possibly_charged: u64,
    /// Highest number in flight at once.
    pub in_flight_peak: u32,
    /// Billed input tokens, cached ones included.
    pub tokens_in: u64,
    /// Billed output tokens.
    pub tokens_out: u64,
    /// What the answers cost.
    #[serde(rename = "cost_usd")]
    pub cost: Money,
}

impl OrgTotals {
    /// 429 of either kind.
    pub fn n_429(&self) -> u64 {
        self.n_429_steady + self.n_429_ramp
    }
}
