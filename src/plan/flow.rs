//! The sync path as a flow: how many requests have started at each moment, by the laws that the dispatcher itself follows.
//!
//! Little's law alone (slots ÷ latency) is right for a long run that no limit binds. It leaves out what matters for the
//! rest: windows that start at a quarter and grow for half a minute; an org that is sent four calls until it has answered;
//! token buckets that are full at first, and of which 85 % are used up before the refill binds; the last answers. So the
//! first minutes are stepped through, org by org, with the windows of `engine::window` and the pacing law of
//! `engine::pace` (rate = refill × headroom ÷ threshold below half of a bucket), until nothing changes any more; from there
//! on the rate is constant. One flow serves every number of requests.

use super::figure::End;
use super::knobs::{ClientCeiling, Knobs};
use super::lognormal::LogNormal;

/// Length of a step, seconds: fine at first, while windows grow, and coarser later.
const STEPS: [(f64, f64); 3] = [(40.0, 0.1), (180.0, 0.5), (f64::INFINITY, 2.0)];
/// After so long everything is taken as steady.
const HORIZON: f64 = 900.0;
/// Rates that differ less than this over ten seconds are steady.
const STEADY: f64 = 0.000_5;
/// A bucket that loses a smaller share of itself in ten seconds is steady.
const DRAINED: f64 = 0.003;
/// Headroom from which on nothing but the window limits the rate; as in `engine::pace`.
const FREE_FROM: f64 = 0.5;
/// A share of the refill that is always allowed; as in `engine::pace`.
const ALWAYS: f64 = 0.02;

/// What keeps the sync path from being faster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Binding {
    /// Nothing: it is over with the first answers.
    Latency,
    /// Windows that still grow, and orgs that have not answered yet.
    Ramp,
    /// The polite caps.
    Slots,
    /// The client.
    Client,
    /// A limit of requests a minute.
    Requests,
    /// A limit of input tokens a minute.
    InputTokens,
    /// A limit of output tokens a minute.
    OutputTokens,
    /// Batches: sub-batches wait for others to end.
    SubBatches,
    /// Batches: how long one takes.
    Queue,
    /// No org.
    NoOrgs,
}

impl Binding {
    const FLOW: [Binding; 6] = [
        Binding::Ramp,
        Binding::Slots,
        Binding::Client,
        Binding::Requests,
        Binding::InputTokens,
        Binding::OutputTokens,
    ];

    /// The name that users see.
    pub fn as_str(self) -> &'static str {
        match self {
            Binding::Latency => "latency",
            Binding::Ramp => "ramp",
            Binding::Slots => "slots",
            Binding::Client => "client",
            Binding::Requests => "requests",
            Binding::InputTokens => "input-tokens",
            Binding::OutputTokens => "output-tokens",
            Binding::SubBatches => "sub-batches",
            Binding::Queue => "queue",
            Binding::NoOrgs => "no-orgs",
        }
    }
}

/// A bucket of an org.
struct Bucket {
    binding: Binding,
    limit: f64,
    level: f64,
    /// Units of one request.
    units: f64,
}

/// An org under way.
struct Org {
    ceiling: f64,
    window: f64,
    in_flight: f64,
    full: bool,
    buckets: Vec<Bucket>,
}

/// A moment of the flow.
#[derive(Debug, Clone, Copy)]
struct Moment {
    t: f64,
    started: f64,
    in_flight: f64,
    /// Org-seconds that each of [`Binding::FLOW`] bound.
    bound: [f64; Binding::FLOW.len()],
}

/// See the module.
#[derive(Debug)]
pub(super) struct Flow {
    moments: Vec<Moment>,
    /// Requests a second, from the last moment on.
    rate: f64,
    /// What binds from there on.
    steady: [f64; Binding::FLOW.len()],
    latency: LogNormal,
    /// Calls at once in the end.
    slots: f64,
}

/// How long a number of requests takes, and why.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Time {
    /// Seconds.
    pub(super) secs: f64,
    /// What bound for the longest time.
    pub(super) binding: Binding,
}

impl Flow {
    /// Steps through the first minutes.
    pub(super) fn of(knobs: &Knobs, procs: u32, end: End) -> Flow {
        let p50 = knobs.latency.p50.at(end);
        let ratio = knobs.latency.p95 / knobs.latency.p50.mid.max(1e-6);
        let latency = match &knobs.latency.mean {
            Some(mean) => LogNormal::of_mean(mean.at(end), ratio),
            None => LogNormal::new(p50, p50 * ratio),
        };
        let mut orgs = orgs_of(knobs, procs, end);
        let slots = orgs.iter().map(|org| org.ceiling).sum();
        let sim = Sim { knobs, procs: f64::from(procs), mean: latency.mean(), proven: latency.first_of_four() };
        let mut now = Moment { t: 0.0, started: 0.0, in_flight: 0.0, bound: [0.0; 6] };
        let mut moments = vec![now];
        let (mut before, mut levels) = ((0.0, 0.0), Vec::new());
        let (mut rate, mut steady) = (0.0, [0.0; 6]);
        while now.t < HORIZON && !orgs.is_empty() {
            let dt = STEPS.iter().find(|(until, _)| now.t < *until).map_or(2.0, |(_, dt)| *dt);
            let (began, bound) = sim.step(&mut orgs, now.t, dt);
            now.t += dt;
            now.started += began;
            now.in_flight = orgs.iter().map(|org| org.in_flight).sum();
            now.bound.iter_mut().zip(bound).for_each(|(sum, more)| *sum += more * dt);
            moments.push(now);
            (rate, steady) = (began / dt, bound);
            if now.t - before.0 >= 10.0 {
                let drains = drains(&orgs, &mut levels);
                let has_ramped = now.t > knobs.dispatch.ramp.as_secs_f64() + 20.0;
                let is_steady = has_ramped && !drains && (rate - before.1).abs() <= STEADY * rate;
                before = (now.t, rate);
                if is_steady {
                    break;
                }
            }
        }
        Flow { moments, rate, steady, latency, slots }
    }

    /// How long `n` requests take, from the first call to the last answer.
    pub(super) fn time(&self, n: u64) -> Time {
        let n = n as f64;
        let Some(last) = self.moments.last().filter(|last| last.started > 0.0) else {
            return Time { secs: if n > 0.0 { f64::INFINITY } else { 0.0 }, binding: Binding::NoOrgs };
        };
        if n <= 0.0 {
            return Time { secs: 0.0, binding: Binding::Latency };
        }
        let (at, in_flight, bound) = if n <= last.started {
            let ix = self.moments.partition_point(|moment| moment.started < n).max(1);
            match (self.moments.get(ix - 1), self.moments.get(ix)) {
                (Some(a), Some(b)) => {
                    let share = (n - a.started) / (b.started - a.started).max(1e-9);
                    (a.t + (b.t - a.t) * share, a.in_flight + (b.in_flight - a.in_flight) * share, b.bound)
                }
                _ => (last.t, last.in_flight, last.bound),
            }
        } else {
            let more = (n - last.started) / self.rate.max(1e-9);
            let mut bound = last.bound;
            bound.iter_mut().zip(self.steady).for_each(|(sum, share)| *sum += share * more);
            (last.t + more, last.in_flight, bound)
        };
        let in_flight = in_flight.min(n);
        // While most of what is under way has just started, it has all of its latency before it.
        let tail = if at < self.latency.mean() {
            self.latency.last_of_fresh(in_flight)
        } else {
            self.latency.last_of_under_way(in_flight)
        };
        let most = Binding::FLOW.into_iter().zip(bound).max_by(|a, b| a.1.total_cmp(&b.1));
        let binding = if n <= self.slots.min(16.0) || at <= self.latency.mean() {
            Binding::Latency
        } else {
            most.map_or(Binding::Slots, |(binding, _)| binding)
        };
        Time { secs: at + tail, binding }
    }

    /// Requests a second once all is steady.
    pub(super) fn rate(&self) -> f64 {
        self.rate
    }

    /// Most requests that are over within this many seconds.
    pub(super) fn most_within(&self, secs: f64) -> u64 {
        let (mut low, mut high) = (0_u64, 1_000_000_000_u64);
        while low < high {
            let mid = low + (high - low).div_ceil(2);
            if self.time(mid).secs <= secs { low = mid } else { high = mid - 1 }
        }
        low
    }
}

/// Whether a bucket is still being used up; notes the levels for the next look. A rate can be the same for minutes until
/// the fullness of the first minutes is gone.
fn drains(orgs: &[Org], levels: &mut Vec<f64>) -> bool {
    let shares: Vec<f64> = orgs.iter().flat_map(|org| &org.buckets).map(|bucket| bucket.level / bucket.limit).collect();
    let drains = shares.iter().zip(levels.iter()).any(|(now, before)| before - now > DRAINED);
    *levels = shares;
    drains
}

fn orgs_of(knobs: &Knobs, procs: u32, end: End) -> Vec<Org> {
    let settings = &knobs.dispatch;
    let output = knobs.tokens.output.at(end).max(0.0);
    let input = knobs.tokens.limited_input(end).max(0.0);
    knobs
        .orgs
        .iter()
        .map(|org| {
            let ceiling = f64::from(org.cap.max(1)) * f64::from(procs.max(1));
            let start = (ceiling * settings.start_share).max(f64::from(settings.floor)).min(ceiling).max(1.0);
            let limits = [
                (Binding::Requests, &org.limits.requests, 1.0),
                (Binding::InputTokens, &org.limits.input_tokens, input),
                (Binding::OutputTokens, &org.limits.output_tokens, output),
            ];
            let buckets = limits.into_iter().filter_map(|(binding, figure, units)| {
                // The low end of a limit is what makes a run slow.
                let end = match end {
                    End::Low => End::High,
                    End::Mid => End::Mid,
                    End::High => End::Low,
                };
                let limit = figure.as_ref()?.at(end);
                (limit > 0.0 && units > 0.0).then_some(Bucket { binding, limit, level: limit, units })
            });
            Org { ceiling, window: start, in_flight: 0.0, full: false, buckets: buckets.collect() }
        })
        .collect()
}

struct Sim<'k> {
    knobs: &'k Knobs,
    procs: f64,
    mean: f64,
    /// When an org has answered for the first time.
    proven: f64,
}

impl Sim<'_> {
    /// One step. Gives how many requests started, and how many orgs each binding bound.
    fn step(&self, orgs: &mut [Org], t: f64, dt: f64) -> (f64, [f64; 6]) {
        let settings = &self.knobs.dispatch;
        let share = if settings.start_share < 1.0 { 1.0 - settings.start_share } else { 1.0 };
        let growth = share / settings.ramp.as_secs_f64().max(0.001);
        let mut wanted = Vec::with_capacity(orgs.len());
        for org in orgs.iter_mut() {
            if org.full {
                org.window = (org.window + org.ceiling * growth * dt).min(org.ceiling);
            }
            wanted.push(self.wanted(org, t, dt));
        }
        let sum: f64 = wanted.iter().map(|(n, _)| n).sum();
        let most = match self.knobs.client {
            ClientCeiling::Total(per_s) => per_s * dt,
            ClientCeiling::PerLane(per_min) => per_min / 60.0 * self.procs * orgs.len() as f64 * dt,
        };
        let held = if sum > most { most / sum } else { 1.0 };
        let mut bound = [0.0; 6];
        for (org, (n, binding)) in orgs.iter_mut().zip(&wanted) {
            let binding = if held < 1.0 { Binding::Client } else { *binding };
            if let Some(at) = Binding::FLOW.iter().position(|known| *known == binding) {
                bound[at] += 1.0;
            }
            self.advance(org, n * held, t, dt);
        }
        (sum * held, bound)
    }

    /// Starts that an org allows in this step, and what allows no more.
    fn wanted(&self, org: &Org, t: f64, dt: f64) -> (f64, Binding) {
        let limit =
            if t < self.proven { org.window.min(f64::from(self.knobs.dispatch.floor.max(1))) } else { org.window };
        let (stays, factor) = self.decay(t, dt);
        let mut n = ((limit - org.in_flight * stays) / factor).max(0.0);
        let mut binding = if org.window < org.ceiling { Binding::Ramp } else { Binding::Slots };
        let threshold = self.knobs.dispatch.easing_headroom;
        for bucket in &org.buckets {
            let refill = bucket.limit / 60.0;
            let ahead = match bucket.binding {
                Binding::OutputTokens => refill * self.mean - org.in_flight * bucket.units,
                _ => 0.0,
            };
            let headroom = ((bucket.level + ahead) / bucket.limit).min(1.0);
            if threshold <= 0.0 || headroom >= FREE_FROM {
                continue;
            }
            let most = refill * (headroom / threshold).max(ALWAYS) / bucket.units * dt;
            if most < n {
                (n, binding) = (most, bucket.binding);
            }
        }
        (n, binding)
    }

    /// Of the calls under way the share that still is after a step, and of those that start evenly within it. Of the first
    /// calls none ends before an answer takes.
    fn decay(&self, t: f64, dt: f64) -> (f64, f64) {
        if t < self.proven {
            return (1.0, 1.0);
        }
        let a = dt / self.mean;
        ((-a).exp(), (1.0 - (-a).exp()) / a)
    }

    fn advance(&self, org: &mut Org, started: f64, t: f64, dt: f64) {
        let (stays, factor) = self.decay(t, dt);
        let under_way = org.in_flight * stays + started * factor;
        let left = (org.in_flight + started - under_way).max(0.0);
        org.in_flight = under_way;
        org.full = t >= self.proven && org.in_flight >= org.window - 0.5;
        for bucket in &mut org.buckets {
            let used = match bucket.binding {
                Binding::OutputTokens => left * bucket.units,
                _ => started * bucket.units,
            };
            bucket.level = (bucket.level + bucket.limit / 60.0 * dt - used).clamp(0.0, bucket.limit);
        }
    }
}
