//! The picture of the engine that every frontend reads: the screens, the plain lines, the NDJSON and the tests.
//!
//! It is immutable and made at most ten times a second. Spans are relative to the moment it was made, so a reader that
//! shows an old one can age it honestly.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::ids::{Family, OrgId, Route, RunSlot};
use super::limits::Limiter;
use super::money::Money;
use super::notice::Notice;
use super::outcome::AccountTrouble;
use super::run::{Counts, RunStatus};
use super::series::{Course, Latencies, OrgStep, RunStep};
use super::sub_batch::SubBatchStatus;
use super::time::Wall;

/// One picture.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Snapshot {
    /// Counts up with every picture.
    pub seq: u64,
    /// When it was made.
    pub at: Wall,
    /// Milliseconds since the engine started.
    pub uptime_ms: u64,
    /// In the order of the configuration.
    pub orgs: Vec<OrgView>,
    /// In the order of their slots.
    pub runs: Vec<RunView>,
    /// The newest notices, oldest first; a ring.
    pub notices: Arc<[Notice]>,
    /// The disk.
    pub store: StoreView,
}

/// Whether outcomes reach the disk.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct StoreView {
    /// Answers that wait for their fsync.
    pub unsynced: u64,
    /// The error that keeps them waiting, with what to do about it. `None` when all is well.
    pub trouble: Option<String>,
}

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

/// The Message Batches of a run.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct BatchesView {
    /// In the order of their indexes.
    pub sub_batches: Vec<SubBatchView>,
    /// Requests whose results are durable.
    pub n_harvested: u64,
    /// Requests in sub-batches that are at the API, or on their way there or back.
    pub n_open: u64,
    /// Requests in sub-batches that are only planned.
    pub n_planned: u64,
    /// Sub-batches that were created, over all sessions.
    pub created: u32,
    /// Of them: those that have ended.
    pub ended: u32,
    /// Of them: those that the escape canceled.
    pub stuck_canceled: u32,
    /// Whether `threshold_ms` says how it is; a run that another process drives may be of a version that does not tell.
    #[serde(default)]
    pub threshold_known: bool,
    /// Age from which a sub-batch is stuck; `None` turns the escape off.
    pub threshold_ms: Option<u64>,
    /// Whether the escape is made without asking.
    pub escape: bool,
    /// How long those took that ended without a cancel, in the middle and at the longest.
    pub took_median_ms: Option<u64>,
    /// As `took_median_ms`.
    pub took_longest_ms: Option<u64>,
    /// What is not in a sub-batch yet goes to the sync path.
    pub finish_on_sync: bool,
    /// What the answers of sub-batches cost, over all sessions.
    #[serde(rename = "cost_usd")]
    pub cost: Money,
}

impl BatchesView {
    /// Sub-batches that ended without a cancel: those by which others are measured.
    pub fn n_ended_by_themselves(&self) -> usize {
        let ended =
            |sub: &&SubBatchView| sub.status != SubBatchStatus::Planned && !sub.status.is_open() && !sub.canceled;
        self.sub_batches.iter().filter(ended).count()
    }
}

/// A sub-batch as the operator sees it. Its progress cannot be seen while it is open: the API's counts stay at zero until its
/// end, so that they are not here.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SubBatchView {
    /// Its index.
    pub index: u32,
    /// Label of its org; empty while planned.
    pub org: String,
    /// The API's name for it.
    pub batch_id: Option<String>,
    /// Its requests.
    pub n_requests: u32,
    /// Where it is.
    pub status: SubBatchStatus,
    /// The API's own word for its status, when it is one that is not known.
    pub api_status: Option<String>,
    /// Milliseconds since it was created, to its end once it has ended; `None` while planned.
    pub age_ms: Option<u64>,
    /// Milliseconds until it is stuck; zero when it is; `None` when there is no threshold, and once it was canceled or has
    /// ended.
    pub stuck_in_ms: Option<u64>,
    /// Milliseconds until it expires; `None` when it has ended.
    pub expires_in_ms: Option<u64>,
    /// Milliseconds until it is asked for next; `None` when it is not asked for.
    pub next_poll_ms: Option<u64>,
    /// Calls about it that failed since one was answered.
    pub n_failed: u32,
    /// A cancel was taken, ours or somebody else's.
    #[serde(default)]
    pub canceled: bool,
    /// The escape was used, or the operator is asked about it.
    pub stuck: bool,
    /// It was adopted by a guess.
    pub adopted: bool,
    /// What the operator is asked.
    pub question: Option<String>,
    /// Usable answers; these counts are known once it was harvested.
    pub n_succeeded: u32,
    /// Answers that cannot be used, and requests that the API called wrong.
    pub n_refused_invalid: u32,
    /// Requests that were not processed in time.
    pub n_expired: u32,
    /// Requests that a cancel kept from being processed.
    pub n_canceled: u32,
    /// Requests that failed by no fault of their own, or have no result.
    pub n_errored: u32,
    /// What its answers cost.
    #[serde(rename = "cost_usd")]
    pub cost: Money,
    /// What happened to it, and when, oldest first.
    pub timeline: Vec<(Wall, String)>,
}

/// A limit that ends a run before all of its requests are answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CutShort {
    /// Which: `budget`, `max-requests` or `deadline`.
    pub by: String,
    /// Milliseconds until then.
    pub in_ms: u64,
}

/// The budget of a run as the operator sees it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct BudgetView {
    /// What the run may cost.
    #[serde(rename = "max_cost_usd")]
    pub max_cost: Option<Money>,
    /// What all runs of a day may cost.
    #[serde(rename = "per_day_usd")]
    pub per_day: Option<Money>,
    /// What all runs of today have cost, as far as it is known.
    #[serde(rename = "spent_today_usd")]
    pub spent_today: Money,
    /// Attempts that the run may make.
    pub max_requests: Option<u64>,
    /// Attempts that it has made.
    pub n_sent: u64,
    /// Milliseconds until it admits nothing more.
    pub ms_left: Option<u64>,
    /// What the answers cost.
    #[serde(rename = "spent_usd")]
    pub spent: Money,
    /// What attempts without an answer cost at the most.
    #[serde(rename = "in_doubt_usd")]
    pub in_doubt: Money,
    /// What is out costs at the most: the worst that can still come on top.
    #[serde(rename = "reserved_usd")]
    pub reserved: Money,
    /// The rest can be moved to batches at half the price.
    pub offers_batch: bool,
    /// The limit that keeps the next request from going out.
    pub blocked: Option<String>,
}

impl BudgetView {
    /// The share of `max_cost` that is used, surely or perhaps, in percent.
    pub fn percent(&self) -> Option<u64> {
        let limit = self.max_cost.filter(|limit| *limit > Money::ZERO)?;
        u64::try_from(u128::from((self.spent + self.in_doubt).0) * 100 / u128::from(limit.0)).ok()
    }
}

/// A run as the operator sees it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunView {
    /// Its slot.
    pub slot: RunSlot,
    /// Its id, as in `run.json`.
    pub run_id: String,
    /// Its directory.
    pub dir: String,
    /// Its input, as the operator named it.
    pub input: String,
    /// Its state.
    pub status: RunStatus,
    /// Why it holds or was stopped, in words, with what to do.
    pub reason: Option<String>,
    /// How it ended, as in the contract of exit codes; `None` while it runs.
    #[serde(default)]
    pub exit_code: Option<u8>,
    /// Where its requests are.
    pub counts: Counts,
    /// What orgs of earlier sessions did that this one does not use, by label.
    #[serde(default)]
    pub absent_orgs: Vec<(String, OrgTotals)>,
    /// Its path.
    pub path: Route,
    /// The rule that chose the path.
    pub route_reason: String,
    /// The model of its requests; `mixed` when there are several.
    pub model: String,
    /// The API is a simulated one of this process: what is in batches there ends with it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub embedded_api: bool,
    /// Answers of the sync path a second over the last ten seconds. What sub-batches bring comes in bursts, and says nothing
    /// of the pace.
    pub rate: f64,
    /// Such answers in each of the last seconds, oldest first, at most 120.
    pub rate_history: Vec<u32>,
    /// Outcomes and cost over the whole session.
    #[serde(default)]
    pub course: Course<RunStep>,
    /// Milliseconds to go at this rate; `None` while there is no telling, and when a limit ends the run before that.
    pub eta_ms: Option<u64>,
    /// Milliseconds until the sync path has answered what is on it, while sub-batches are open, whose end nobody knows.
    #[serde(default)]
    pub sync_eta_ms: Option<u64>,
    /// What ends the run before all is answered, at the pace and the price of its answers so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut_short: Option<CutShort>,
    /// What its answers cost, over all sessions.
    pub cost: Money,
    /// Attempts that may have been billed without an answer, over all sessions.
    pub n_possibly_charged: u64,
    /// Milliseconds in which it was running, over all sessions.
    pub wall_ms: u64,
    /// Milliseconds in this session.
    pub session_wall_ms: u64,
    /// Requests whose last attempt failed, by reason, most first.
    pub re_drives: Vec<(String, u64)>,
    /// Attempts that failed and had to be made again, by reason, over all sessions, most first.
    #[serde(default)]
    pub re_driven: Vec<(String, u64)>,
    /// Requests answered by the number of attempts that it took in its session, over all sessions: 1, 2, 3, 4, 5 or more.
    #[serde(default)]
    pub attempts: [u64; 5],
    /// What it may cost and do at most; `None` when nothing is limited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<BudgetView>,
    /// Its Message Batches; `None` when the run has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batches: Option<Arc<BatchesView>>,
}
