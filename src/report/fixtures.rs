//! Pictures of runs in every state, for the tests of the frontends. All times are fixed.

use std::sync::Arc;

use crate::model::limits::Limiter;
use crate::model::series::{Course, Latencies, OrgStep, RunStep};
use crate::model::snapshot::{
    BatchesView, Binding, BudgetView, Condition, LimiterView, OrgTotals, OrgView, ParkReason, RunView, Snapshot,
    StoreView, SubBatchView, WindowView,
};
use crate::model::{
    AccountTrouble, Counts, Family, Level, Money, Notice, OrgId, Route, RunSlot, RunStatus, SubBatchStatus, Wall,
};

/// 2026-01-15T10:00:00Z.
const AT: Wall = Wall(1_768_471_200_000);

fn window(in_flight: u32, window: u32, ceiling: u32) -> WindowView {
    WindowView { family: Family::Haiku, in_flight, window, ceiling, cap: ceiling, polite_cap: ceiling }
}

fn limiter(limiter: Limiter, limit: u64, remaining: u64) -> LimiterView {
    LimiterView {
        limiter,
        limit,
        remaining,
        headroom: remaining as f64 / limit as f64,
        full_in_ms: (limit - remaining) * 60_000 / limit,
        foreign: 0.0,
    }
}

/// A rate that waves around `level`, so that a sparkline has something to show.
fn wave(level: u32, seconds: u32) -> Vec<u32> {
    (0..seconds).map(|s| level * (80 + (s * 7 % 23) + (s * 3 % 11)) / 100).collect()
}

/// A session of an org that ramps up, is cut once, and recovers.
fn org_course(seconds: u32) -> Course<OrgStep> {
    let mut window = 20;
    let step = |second: u32| {
        let cut = second == 60;
        window = if cut { window / 2 } else { (window + 2).min(100) };
        let answered = window * (80 + second * 7 % 23) / 300;
        OrgStep { answered, limited: if cut { 25 } else { 0 }, failed: 0, cuts: u32::from(cut), window }
    };
    Course { step_s: 1, steps: (0..seconds).map(step).collect() }
}

/// A session of a run whose answers cost `usd` in all.
fn run_course(seconds: u32, usd: f64) -> Course<RunStep> {
    let cost = |second: u32| Money::from_usd(usd * f64::from(second + 1) / f64::from(seconds));
    Course { step_s: 1, steps: (0..seconds).map(|second| RunStep { done: 95, cost: cost(second) }).collect() }
}

/// Answers that take a second and a half, with a tail.
fn latencies() -> Latencies {
    let mut counts = vec![0; Latencies::BUCKETS];
    let first = Latencies::bucket_of(450);
    for (bucket, n) in [14, 90, 320, 690, 1_010, 960, 570, 290, 110, 31, 9, 3, 0, 2, 0, 1].into_iter().enumerate() {
        counts[first + bucket] = n;
    }
    Latencies { counts: counts.into(), p99_ms: 3_400 }
}

/// An org in steady work.
pub(crate) fn org(id: u16, label: &str) -> OrgView {
    OrgView {
        id: OrgId(id),
        label: label.to_owned(),
        key_env: "ANTHROPIC_API_KEY".to_owned(),
        host: "api.anthropic.com".to_owned(),
        organization: Some(format!("org-{id}")),
        condition: Condition::Steady,
        windows: vec![window(98, 100, 100)],
        limiters: vec![
            limiter(Limiter::OutputTokens, 800_000, 496_000),
            limiter(Limiter::InputTokens, 4_000_000, 3_100_000),
            limiter(Limiter::Requests, 4_000, 3_640),
        ],
        binding: Some(Binding::Cap),
        headroom: Some(0.62),
        totals: OrgTotals {
            n_sent: 4_210,
            n_ok: 4_100,
            n_refused: 12,
            in_flight_peak: 100,
            tokens_in: 4_231_000,
            tokens_out: 388_000,
            cost: Money::from_usd(6.17),
            ..OrgTotals::default()
        },
        rate: 33.4,
        rate_history: wave(33, 120),
        window_history: vec![100; 120],
        course: org_course(125),
        latencies: latencies(),
        latency_p50_ms: 1_480,
        latency_mean_ms: 1_640,
        latency_p95_ms: 3_020,
        last_decision: Some((AT, "steady: the window is at its ceiling".to_owned())),
    }
}

/// A run in the middle of its work.
pub(crate) fn run() -> RunView {
    RunView {
        slot: RunSlot(0),
        run_id: "20260115-100000-judge-k3f9".to_owned(),
        dir: "/data/fandeck/runs/20260115-100000-judge-k3f9".to_owned(),
        input: "judge-input.jsonl".to_owned(),
        status: RunStatus::Running,
        exit_code: None,
        absent_orgs: Vec::new(),
        reason: None,
        counts: Counts {
            total: 20_000,
            cached: 1_000,
            succeeded: 11_300,
            refused: 40,
            invalid: 5,
            re_drivable: 12,
            unsent: 7_643,
            in_flight: 296,
            unsynced: 14,
        },
        path: Route::Sync,
        route_reason: "7,655 requests need 1m18s at cap 300, a batch takes 1h".to_owned(),
        embedded_api: false,
        model: "claude-haiku-5-5".to_owned(),
        rate: 98.2,
        rate_history: wave(98, 120),
        course: run_course(125, 18.53),
        eta_ms: Some(78_000),
        sync_eta_ms: None,
        cut_short: None,
        cost: Money::from_usd(18.53),
        n_possibly_charged: 0,
        budget: None,
        wall_ms: 125_000,
        session_wall_ms: 125_000,
        re_drives: vec![("rate-limited".to_owned(), 12)],
        re_driven: vec![("rate-limited".to_owned(), 31), ("overloaded".to_owned(), 4)],
        attempts: [11_310, 30, 5, 0, 0],
        batches: None,
    }
}

fn notice(seq: u64, level: Level, org: Option<u16>, kind: &str, text: &str) -> Notice {
    Notice {
        seq,
        at: Wall(AT.0 + i64::try_from(seq).unwrap_or(0) * 1_000),
        level,
        kind: kind.to_owned(),
        org: org.map(OrgId),
        text: text.to_owned(),
    }
}

fn with(orgs: Vec<OrgView>, run: RunView) -> Snapshot {
    Snapshot {
        seq: 7,
        at: AT,
        uptime_ms: run.session_wall_ms,
        orgs,
        runs: vec![run],
        notices: Arc::from(vec![
            notice(1, Level::Info, None, "run-started", "run started: 20,000 requests, 1,000 from the cache"),
            notice(2, Level::Debug, Some(0), "window-grown", "high-prio: window 90 → 100"),
        ]),
        store: StoreView { unsynced: 14, trouble: None },
    }
}

fn three() -> Vec<OrgView> {
    vec![org(0, "high-prio"), org(1, "batch"), org(2, "low-prio")]
}

/// A budget of which 83 % are used.
pub(crate) fn budget() -> BudgetView {
    BudgetView {
        max_cost: Some(Money::from_usd(50.0)),
        spent: Money::from_usd(40.5),
        in_doubt: Money::from_usd(1.25),
        reserved: Money::from_usd(4.2),
        n_sent: 12_000,
        offers_batch: true,
        ..BudgetView::default()
    }
}

/// Nothing sent yet.
pub(crate) fn starting() -> Snapshot {
    let mut run = run();
    run.status = RunStatus::Planned;
    run.counts = Counts { total: 20_000, cached: 1_000, unsent: 19_000, ..Counts::default() };
    (run.rate, run.eta_ms, run.wall_ms, run.session_wall_ms) = (0.0, None, 0, 0);
    (run.rate_history, run.cost, run.re_drives) = (Vec::new(), Money::ZERO, Vec::new());
    run.course = Course::default();
    (run.re_driven, run.attempts) = (Vec::new(), [0; 5]);
    let mut orgs = three();
    for org in &mut orgs {
        org.condition = Condition::Idle;
        org.windows = vec![window(0, 25, 100)];
        (org.limiters, org.headroom, org.totals, org.rate) = (Vec::new(), None, OrgTotals::default(), 0.0);
        (org.rate_history, org.window_history) = (Vec::new(), Vec::new());
        (org.latency_p50_ms, org.latency_p95_ms, org.last_decision) = (0, 0, None);
        (org.course, org.latencies) = (Course::default(), Latencies::default());
    }
    with(orgs, run)
}

/// Windows grow.
pub(crate) fn ramping() -> Snapshot {
    let mut run = run();
    run.counts =
        Counts { total: 20_000, cached: 1_000, succeeded: 310, unsent: 18_690, in_flight: 147, ..Counts::default() };
    (run.eta_ms, run.wall_ms, run.session_wall_ms) = (Some(305_000), 9_000, 9_000);
    run.rate_history = wave(30, 9);
    run.course = run_course(9, 0.61);
    run.re_drives = Vec::new();
    let mut orgs = three();
    for org in &mut orgs {
        org.condition = Condition::Ramping;
        org.windows = vec![window(49, 49, 100)];
        org.rate_history = (1..10).map(|s| s * 3).collect();
        org.course = org_course(9);
        org.rate = 15.5;
    }
    with(orgs, run)
}

/// Everything works.
pub(crate) fn busy() -> Snapshot {
    with(three(), run())
}

/// One org backs off from a storm of 429s, one gives way to a colleague.
pub(crate) fn storm() -> Snapshot {
    let mut run = run();
    run.counts.re_drivable = 212;
    run.counts.unsent = 7_443;
    run.counts.in_flight = 141;
    run.re_drives = vec![("rate-limited".to_owned(), 180), ("ramp-limited".to_owned(), 32)];
    run.n_possibly_charged = 3;
    run.rate = 47.9;
    run.eta_ms = Some(160_000);
    let mut orgs = three();
    orgs[1].condition = Condition::BackingOff { for_ms: 41_500, why: "rate-limited".to_owned() };
    orgs[1].windows = vec![window(0, 50, 100)];
    orgs[1].limiters = vec![limiter(Limiter::OutputTokens, 800_000, 0), limiter(Limiter::Requests, 4_000, 2_500)];
    orgs[1].headroom = Some(0.0);
    orgs[1].rate = 0.0;
    orgs[1].rate_history.truncate(112);
    orgs[1].rate_history.extend([21, 9, 3, 0, 0, 0, 0, 0]);
    orgs[1].totals.n_429_steady = 180;
    orgs[1].totals.n_429_ramp = 32;
    orgs[1].totals.n_overloaded = 4;
    orgs[2].condition = Condition::Easing { headroom: 0.09 };
    orgs[2].windows = vec![window(43, 44, 100)];
    orgs[2].limiters = vec![LimiterView { foreign: 0.62, ..limiter(Limiter::InputTokens, 4_000_000, 360_000) }];
    orgs[2].headroom = Some(0.09);
    orgs[2].binding = Some(Binding::Limiter(Limiter::InputTokens));
    orgs[2].rate = 14.5;
    let mut snapshot = with(orgs, run);
    snapshot.notices = Arc::from(vec![
        notice(3, Level::Warn, Some(1), "window-cut", "batch: 25 answers 429, window 100 → 50, closed for 42s"),
        notice(4, Level::Warn, Some(2), "easing", "low-prio: headroom 9 % of input-tokens, a colleague is active"),
    ]);
    snapshot
}

/// One org's key was revoked.
pub(crate) fn parked_auth() -> Snapshot {
    let mut orgs = three();
    orgs[1].condition = Condition::Parked { why: ParkReason::Account(AccountTrouble::Auth), for_ms: None };
    orgs[1].windows = vec![window(0, 50, 100)];
    orgs[1].rate = 0.0;
    orgs[1].totals.n_account = 98;
    orgs[1].key_env = "ANTHROPIC_BATCH_KEY".to_owned();
    with(orgs, run())
}

/// No org is left: the run holds.
pub(crate) fn holding() -> Snapshot {
    let mut run = run();
    run.status = RunStatus::Holding;
    run.reason = Some("every org is parked: 2 auth, 1 retry-after; revive one, or stop and resume later".to_owned());
    run.counts.in_flight = 0;
    run.counts.unsynced = 0;
    (run.rate, run.eta_ms) = (0.0, None);
    let mut orgs = three();
    for org in &mut orgs {
        org.condition = Condition::Parked { why: ParkReason::Account(AccountTrouble::Auth), for_ms: None };
        org.windows = vec![window(0, 25, 100)];
        org.rate = 0.0;
    }
    orgs[2].condition = Condition::Parked { why: ParkReason::RetryAfter, for_ms: Some(302_539_000) };
    with(orgs, run)
}

/// The disk is full.
pub(crate) fn store_blocked() -> Snapshot {
    let mut snapshot = busy();
    snapshot.store = StoreView {
        unsynced: 311,
        trouble: Some("no space left on /data: free some, writing goes on by itself; nothing is lost".to_owned()),
    };
    snapshot.runs[0].status = RunStatus::Holding;
    snapshot.runs[0].reason = Some("answers cannot be saved".to_owned());
    snapshot
}

/// The operator paused it.
pub(crate) fn paused() -> Snapshot {
    let mut snapshot = busy();
    snapshot.runs[0].status = RunStatus::Paused;
    snapshot.runs[0].reason = Some("paused by the operator".to_owned());
    snapshot.runs[0].counts.in_flight = 12;
    for org in &mut snapshot.orgs {
        org.windows = vec![window(4, 100, 100)];
    }
    snapshot.orgs[1].condition = Condition::Paused;
    snapshot
}

/// No more is admitted.
pub(crate) fn draining() -> Snapshot {
    let mut snapshot = busy();
    snapshot.runs[0].status = RunStatus::Draining;
    snapshot.runs[0].reason = Some("drained by the operator".to_owned());
    snapshot.runs[0].counts.in_flight = 31;
    snapshot.orgs[2].condition = Condition::Probing;
    snapshot
}

/// Every request has a terminal outcome.
pub(crate) fn finished() -> Snapshot {
    let mut snapshot = busy();
    let run = &mut snapshot.runs[0];
    run.status = RunStatus::Finished;
    run.counts =
        Counts { total: 20_000, cached: 1_000, succeeded: 18_955, refused: 40, invalid: 5, ..Counts::default() };
    (run.rate, run.eta_ms, run.wall_ms, run.session_wall_ms) = (0.0, None, 205_000, 80_000);
    run.cost = Money::from_usd(28.41);
    run.n_possibly_charged = 3;
    run.re_drives = Vec::new();
    for org in &mut snapshot.orgs {
        org.condition = Condition::Idle;
        org.windows = vec![window(0, 100, 100)];
        org.rate = 0.0;
    }
    snapshot.store.unsynced = 0;
    snapshot
}

/// Stopped with requests left.
pub(crate) fn incomplete() -> Snapshot {
    let mut snapshot = finished();
    let run = &mut snapshot.runs[0];
    run.status = RunStatus::Incomplete;
    run.reason = Some("stopped by the operator".to_owned());
    run.counts = Counts {
        total: 20_000,
        cached: 1_000,
        succeeded: 11_300,
        refused: 40,
        invalid: 5,
        re_drivable: 212,
        unsent: 7_443,
        ..Counts::default()
    };
    snapshot
}

/// No org and a run.
pub(crate) fn zero_orgs() -> Snapshot {
    let mut snapshot = holding();
    snapshot.orgs.clear();
    snapshot.runs[0].reason = Some("no org is configured".to_owned());
    snapshot
}

/// One org.
pub(crate) fn one_org() -> Snapshot {
    let mut snapshot = busy();
    snapshot.orgs.truncate(1);
    snapshot
}

/// More orgs than a small screen shows, the last one in trouble.
pub(crate) fn eight_orgs() -> Snapshot {
    let names = ["high-prio", "batch", "low-prio", "team-evals", "team-search", "labelling", "spare", "partner"];
    let mut orgs: Vec<OrgView> = (0..).zip(names).map(|(id, name)| org(id, name)).collect();
    orgs[3].windows.push(WindowView { family: Family::Opus, cap: 50, ..window(12, 20, 50) });
    orgs[3].windows[1].polite_cap = 40;
    orgs[4].condition = Condition::Ramping;
    orgs[7].condition = Condition::Parked { why: ParkReason::Account(AccountTrouble::Credit), for_ms: None };
    with(orgs, run())
}

/// Names that want to break the columns or command the terminal.
pub(crate) fn strange_names() -> Snapshot {
    let mut snapshot = storm();
    snapshot.orgs[0].label = "日本語の組織ラベル".to_owned();
    snapshot.orgs[1].label = "👩\u{200D}🚀 \x1b[31mred\x07\u{202E}bidi".to_owned();
    snapshot.orgs[2].label = "שלום e\u{301}\u{301}\u{301}\u{301}\u{301} a-very-long-label-that-does-not-fit".to_owned();
    snapshot.runs[0].input = "入力\x1b]0;owned\x07データ👨\u{200D}👩\u{200D}👧.jsonl".to_owned();
    snapshot.runs[0].reason = Some("line one\nline two \x1b[2J".to_owned());
    snapshot
}

/// Every number at its largest.
pub(crate) fn huge_numbers() -> Snapshot {
    let mut snapshot = storm();
    let big = u64::MAX / 16;
    let run = &mut snapshot.runs[0];
    run.counts = Counts {
        total: big * 6,
        cached: big,
        succeeded: big,
        refused: big,
        invalid: big,
        re_drivable: big,
        unsent: big,
        in_flight: big,
        unsynced: big,
    };
    (run.rate, run.eta_ms, run.cost, run.n_possibly_charged) = (1e18, Some(u64::MAX), Money(u64::MAX), u64::MAX);
    (run.wall_ms, run.session_wall_ms) = (u64::MAX, u64::MAX);
    run.rate_history = vec![u32::MAX; 120];
    for org in &mut snapshot.orgs {
        org.windows = vec![WindowView {
            family: Family::Other,
            in_flight: u32::MAX / 8,
            window: u32::MAX / 8,
            ceiling: u32::MAX / 8,
            cap: u32::MAX / 8,
            polite_cap: 1,
        }];
        org.rate = f64::INFINITY;
        org.rate_history = vec![u32::MAX; 120];
        (org.latency_p50_ms, org.latency_p95_ms) = (u32::MAX, u32::MAX);
        org.headroom = Some(f64::NAN);
        org.totals.n_ok = u64::MAX;
        org.totals.n_429_steady = u64::MAX / 2;
        org.totals.n_429_ramp = u64::MAX / 2;
        org.totals.tokens_in = u64::MAX;
        org.totals.tokens_out = u64::MAX;
        org.totals.n_refused = 0;
        org.totals.n_overloaded = u64::MAX / 2;
        org.totals.n_5xx = u64::MAX / 2;
    }
    snapshot
}

/// All of them, by name.
pub(crate) fn all() -> Vec<(&'static str, Snapshot)> {
    vec![
        ("empty", Snapshot::default()),
        ("starting", starting()),
        ("ramping", ramping()),
        ("busy", busy()),
        ("storm", storm()),
        ("parked-auth", parked_auth()),
        ("holding", holding()),
        ("store-blocked", store_blocked()),
        ("paused", paused()),
        ("draining", draining()),
        ("finished", finished()),
        ("incomplete", incomplete()),
        ("zero-orgs", zero_orgs()),
        ("one-org", one_org()),
        ("eight-orgs", eight_orgs()),
        ("strange-names", strange_names()),
        ("huge-numbers", huge_numbers()),
    ]
}

/// The engine's end of a handle: shows pictures and takes commands.
#[derive(Debug)]
pub(crate) struct Engine {
    pictures: tokio::sync::watch::Sender<Arc<Snapshot>>,
    handle: crate::engine::EngineHandle,
    /// The commands that came.
    pub(crate) commands: tokio::sync::mpsc::Receiver<crate::engine::handle::CommandRequest>,
}

impl Engine {
    /// An engine that shows this picture.
    pub(crate) fn showing(snapshot: Snapshot) -> Engine {
        let (pictures, seen) = tokio::sync::watch::channel(Arc::new(snapshot));
        let (sender, commands) = tokio::sync::mpsc::channel(64);
        Engine { pictures, handle: crate::engine::EngineHandle::new(seen, sender), commands }
    }

    /// A frontend's end of it.
    pub(crate) fn handle(&self) -> crate::engine::EngineHandle {
        self.handle.clone()
    }

    /// Shows the next picture.
    pub(crate) fn show(&self, snapshot: Snapshot) {
        self.pictures.send_replace(Arc::new(snapshot));
    }
}

fn sub_batch(index: u32, org: &str, status: SubBatchStatus, age_ms: Option<u64>) -> SubBatchView {
    let (open, over) = (status.is_open(), status.is_over());
    SubBatchView {
        index,
        org: org.to_owned(),
        batch_id: age_ms.map(|_| format!("msgbatch_01Fixture{index:02}")),
        n_requests: 1_000,
        status,
        api_status: None,
        age_ms,
        stuck_in_ms: age_ms
            .filter(|_| open && status != SubBatchStatus::Canceling)
            .map(|age| 14_400_000_u64.saturating_sub(age)),
        expires_in_ms: age_ms.filter(|_| open).map(|age| 86_400_000 - age),
        next_poll_ms: status.is_polled().then_some(12_000),
        n_failed: 0,
        canceled: status == SubBatchStatus::Canceling,
        stuck: false,
        adopted: false,
        question: None,
        n_succeeded: if over { 990 } else { 0 },
        n_refused_invalid: if over { 4 } else { 0 },
        n_expired: 0,
        n_canceled: 0,
        n_errored: if over { 6 } else { 0 },
        cost: if over { Money::from_usd(0.42) } else { Money::ZERO },
        timeline: age_ms
            .map(|_| vec![(AT, format!("intent to create at {org}")), (Wall(AT.0 + 2_000), "created".to_owned())])
            .unwrap_or_default(),
    }
}

/// A run on the batch path: one sub-batch is long over the age at which the others ended.
pub(crate) fn batches() -> Snapshot {
    let mut old = sub_batch(2, "batch", SubBatchStatus::InProgress, Some(14_460_000));
    old.stuck = true;
    old.question = Some("STUCK BATCH: sub-batch 2: 4h 1m old; the threshold is 4h. Cancel it, or wait on".to_owned());
    let sub_batches = vec![
        sub_batch(0, "high-prio", SubBatchStatus::Harvested, Some(720_000)),
        sub_batch(1, "low-prio", SubBatchStatus::Harvested, Some(1_860_000)),
        old,
        sub_batch(3, "high-prio", SubBatchStatus::InProgress, Some(600_000)),
        sub_batch(4, "low-prio", SubBatchStatus::Canceling, Some(14_500_000)),
        sub_batch(5, "", SubBatchStatus::Planned, None),
    ];
    let view = BatchesView {
        n_harvested: 2_000,
        n_open: 3_000,
        n_planned: 1_000,
        created: 5,
        ended: 2,
        stuck_canceled: 1,
        threshold_known: true,
        threshold_ms: Some(14_400_000),
        escape: false,
        took_median_ms: Some(1_860_000),
        took_longest_ms: Some(1_860_000),
        finish_on_sync: false,
        cost: Money::from_usd(0.84),
        sub_batches,
    };
    let mut snapshot = busy();
    let mut run = run();
    run.path = Route::Batch;
    run.route_reason = "forced by --path batch".to_owned();
    run.batches = Some(Arc::new(view));
    snapshot.runs = vec![run];
    snapshot
}
