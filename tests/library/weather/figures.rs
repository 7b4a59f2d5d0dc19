//! The experiments: each gives its figures with the floors that must hold. The tests assert the floors; the benchmark
//! prints the figures.

use std::time::Duration;

use fandeck::model::DispatchSettings;

use super::beyond;
use super::world::{World, secs};

/// A figure, and what it must be.
pub(crate) struct Figure {
    pub(crate) what: &'static str,
    pub(crate) is: f64,
    pub(crate) must: Must,
}

/// The bound of a figure.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Must {
    AtLeast(f64),
    AtMost(f64),
}

impl Figure {
    pub(super) fn at_least(what: &'static str, is: f64, floor: f64) -> Figure {
        Figure { what, is, must: Must::AtLeast(floor) }
    }

    pub(super) fn at_most(what: &'static str, is: f64, ceiling: f64) -> Figure {
        Figure { what, is, must: Must::AtMost(ceiling) }
    }

    pub(crate) fn holds(&self) -> bool {
        match self.must {
            Must::AtLeast(floor) => self.is >= floor,
            Must::AtMost(ceiling) => self.is <= ceiling,
        }
    }
}

/// An experiment: what happens, and its figures at a share of the usual load (1 is the load that is promised for).
pub(crate) struct Experiment {
    pub(crate) what: &'static str,
    pub(crate) run: fn(f64) -> Vec<Figure>,
}

/// All experiments.
pub(crate) fn all() -> Vec<Experiment> {
    vec![
        Experiment { what: "limit of 100 requests/s, caps that would allow 3×, 10 min", run: request_limit },
        Experiment { what: "output tokens bind, answers vary 1–16×, 10 min", run: output_limit },
        Experiment { what: "a colleague takes 70 % of a key, then stops", run: colleague },
        Experiment { what: "two fandecks on one key", run: two_on_one_key },
        Experiment { what: "5 min of total 429s, then recovery", run: storm },
        Experiment { what: "one org of three at 50 % errors", run: half_broken },
        Experiment { what: "three more runs start on a busy org", run: burst },
        Experiment { what: "one org dies, then all", run: deaths },
        Experiment { what: "output tokens bind, answers take 30 s", run: beyond::long_answers },
        Experiment { what: "input tokens bind", run: beyond::input_limit },
        Experiment { what: "no rate-limit headers at all: AIMD alone", run: beyond::without_headers },
        Experiment { what: "a limit of 50 requests a minute", run: beyond::small_limit },
        Experiment { what: "four fandecks on one key", run: beyond::four_on_one_key },
        Experiment { what: "a colleague takes 70 % of the output tokens", run: beyond::colleague_of_tokens },
    ]
}

pub(super) fn settings() -> DispatchSettings {
    DispatchSettings { outage_limit: Some(secs(900)), ..DispatchSettings::default() }
}

pub(super) fn org(label: &str, rpm: f64, otpm: f64, more: &str) -> String {
    format!(
        "[[orgs]]\nlabel = \"{label}\"\nkey = \"key-{label}\"\nlimits = {{ rpm = {}, itpm = 100_000_000, otpm = {} }}\n{more}\n",
        rpm as u64, otpm as u64
    )
}

pub(super) fn scenario(orgs: &[String]) -> String {
    format!("summary = \"an experiment\"\nlatency = {{ p50-ms = 1500, p95-ms = 3000 }}\n{}", orgs.concat())
}

/// Calls that a window has to hold for a rate: the mean of the latency above is 1.64 s.
pub(super) fn cap_for(rate: f64) -> u32 {
    (rate * 1.7).ceil().max(4.0) as u32
}

pub(super) fn short(_: u32) -> u32 {
    16
}

pub(super) fn share(part: u64, whole: u64) -> f64 {
    part as f64 / (whole as f64).max(1.0)
}

fn request_limit(load: f64) -> Vec<Figure> {
    let rate = 100.0 * load;
    let mut world = World::new(&scenario(&[org("a", rate * 60.0, 1e8, "")]));
    let client = world.client(cap_for(3.0 * rate), settings());
    world.run(client, (rate * 800.0) as u32, short);
    world.until(secs(600));
    let client = &world.clients[client];
    // The bucket is full at the start: what is above the limit then is not counted.
    let after_ramp = client.sum(90, 600);
    let all = client.sum(0, 600);
    vec![
        Figure::at_least("goodput after the ramp ÷ limit", after_ramp.ok as f64 / (510.0 * rate), 0.95),
        Figure::at_most("429s ÷ calls", share(all.limited, all.sent), 0.005),
    ]
}

fn output_limit(load: f64) -> Vec<Figure> {
    let per_second = 6_800.0 * load;
    let mut world = World::new(&scenario(&[org("a", 1e7, per_second * 60.0, "")]));
    // Answers are cut at max_tokens: 8 to 128 tokens, 68 on average.
    let rate = per_second / 68.0;
    let client = world.client(cap_for(3.0 * rate), settings());
    world.run(client, (rate * 800.0) as u32, |no| 8 + (no.wrapping_mul(2_654_435_761) >> 7) % 121);
    world.until(secs(600));
    let client = &world.clients[client];
    let after_ramp = client.sum(90, 600);
    let all = client.sum(0, 600);
    vec![
        Figure::at_least("output tokens after the ramp ÷ limit", after_ramp.tokens as f64 / (510.0 * per_second), 0.90),
        Figure::at_most("429s ÷ calls", share(all.limited, all.sent), 0.01),
    ]
}

fn colleague(load: f64) -> Vec<Figure> {
    let rate = 100.0 * load;
    let works = format!(
        "[[orgs.colleagues]]\nfrom-s = 120\nto-s = 360\nrps = {}\ntokens-in = 100\ntokens-out = 10",
        rate * 0.7
    );
    let mut world = World::new(&scenario(&[org("a", rate * 60.0, 1e8, &works)]));
    let client = world.client(cap_for(3.0 * rate), settings());
    world.run(client, (rate * 800.0) as u32, short);
    world.until(secs(340));
    let easing = world.snapshot(client).orgs[0].condition.word() == "easing";
    world.until(secs(480));
    let stats = world.sim.stats(world.now.span());
    let theirs = stats.orgs[0].colleague;
    let client = &world.clients[client];
    let beside = client.sum(150, 360).ok as f64 / (210.0 * rate * 0.3);
    let after = client.sum(420, 440).ok as f64 / (20.0 * rate);
    vec![
        Figure::at_most("the colleague's 429s ÷ calls", share(theirs.n_429, theirs.n_wanted), 0.001),
        Figure::at_least("our use ÷ what is left", beside, 0.8),
        Figure::at_least("our use ÷ limit, a minute after", after, 0.95),
        Figure::at_least("the screen names the colleague", f64::from(u8::from(easing)), 1.0),
    ]
}

fn two_on_one_key(load: f64) -> Vec<Figure> {
    let rate = 100.0 * load;
    let mut world = World::new(&scenario(&[org("a", rate * 60.0, 1e8, "")]));
    let first = world.client(cap_for(3.0 * rate), settings());
    world.run(first, (rate * 700.0) as u32, short);
    world.until(secs(60));
    let second = world.client(cap_for(3.0 * rate), settings());
    world.run(second, (rate * 700.0) as u32, short);
    world.until(secs(420));
    let [a, b] = [first, second].map(|client| world.clients[client].sum(120, 420).ok as f64);
    let limited: u64 = world.clients.iter().map(|client| client.sum(0, 420).limited).sum();
    let sent: u64 = world.clients.iter().map(|client| client.sum(0, 420).sent).sum();
    vec![
        Figure::at_least("Jain's index", (a + b).powi(2) / (2.0 * (a * a + b * b)), 0.95),
        Figure::at_least("together ÷ limit", (a + b) / (300.0 * rate), 0.9),
        Figure::at_most("429s ÷ calls", share(limited, sent), 0.005),
    ]
}

fn storm(load: f64) -> Vec<Figure> {
    let rate = 100.0 * load;
    let fault = "[[orgs.faults]]\nkind = \"rate-limited\"\nfrom-s = 120\nto-s = 420\nretry-after = [2, 6]";
    let mut world = World::new(&scenario(&[org("a", rate * 180.0, 1e8, fault)]));
    let client = world.client(cap_for(rate), settings());
    let n = (rate * 500.0) as u32;
    world.run(client, n, short);
    world.until_rest(client, secs(2_000));
    let client = &world.clients[client];
    let before = client.sum(60, 120).ok as f64 / 60.0;
    let during = client.sum(121, 420).sent as f64 / 299.0;
    let after = client.sum(475, 485).ok as f64 / 10.0;
    let lost = f64::from(n) - client.answers.values().sum::<u64>() as f64;
    vec![
        Figure::at_most("calls during the storm ÷ normal", during / before, 0.02),
        Figure::at_least("rate 60 s after ÷ before", after / before, 0.9),
        Figure::at_most("requests lost", lost.abs(), 0.0),
        Figure::at_least("came to rest with 0", exit(client, 0), 1.0),
    ]
}

fn exit(client: &super::world::Client, code: u8) -> f64 {
    f64::from(u8::from(!client.rested.is_empty() && client.rested.values().all(|(_, exit)| *exit == code)))
}

fn half_broken(load: f64) -> Vec<Figure> {
    let rate = 60.0 * load;
    let fault = "[[orgs.faults]]\nkind = \"overloaded\"\nshare = 0.5";
    let orgs = [org("a", 1e7, 1e8, fault), org("b", 1e7, 1e8, ""), org("c", 1e7, 1e8, "")];
    let mut world = World::new(&scenario(&orgs));
    let client = world.client(cap_for(rate), settings());
    let n = (rate * 400.0) as u32;
    world.run(client, n, short);
    world.until_rest(client, secs(2_000));
    let client = &world.clients[client];
    let sent = client.sum(0, 2_000).sent;
    vec![
        Figure::at_most("its share of the traffic", share(client.sum_of(0, 0, 2_000).sent, sent), 0.1),
        Figure::at_most("attempts ÷ requests", share(sent, u64::from(n)), 1.2),
        Figure::at_least("came to rest with 0", exit(client, 0), 1.0),
    ]
}

fn burst(load: f64) -> Vec<Figure> {
    let rate = 100.0 * load;
    let mut world = World::new(&scenario(&[org("a", rate * 60.0, 1e8, "")]));
    let cap = cap_for(2.0 * rate);
    let client = world.client(cap, settings());
    world.run(client, (rate * 200.0) as u32, short);
    world.until(secs(60));
    for _ in 0..3 {
        world.run(client, (rate * 200.0) as u32, short);
    }
    // What was in flight when they came is not theirs to share.
    world.until(secs(70));
    let before = world.clients[client].answers.clone();
    world.until(secs(160));
    let client = &world.clients[client];
    let got: Vec<u64> = client.answers.iter().map(|(run, n)| n - before.get(run).copied().unwrap_or(0)).collect();
    let (least, most) = (got.iter().min().copied().unwrap_or(0), got.iter().max().copied().unwrap_or(0));
    let all = client.sum(60, 150);
    vec![
        Figure::at_most("most in flight ÷ cap", f64::from(client.peak[0]) / f64::from(cap), 1.0),
        Figure::at_least("least served run ÷ most served", share(least, most), 0.9),
        Figure::at_least("runs served", got.len() as f64, 4.0),
        Figure::at_most("429s ÷ calls", share(all.limited, all.sent), 0.005),
    ]
}

fn deaths(load: f64) -> Vec<Figure> {
    let rate = 30.0 * load;
    let dies = |call: f64| format!("[[orgs.faults]]\nkind = \"unauthorized\"\nfrom-call = {}", call as u64);
    let orgs = |b: &str| scenario(&[org("a", 1e7, 1e8, &dies(1_000.0 * load)), org("b", 1e7, 1e8, b)]);
    let mut world = World::new(&orgs(""));
    let client = world.client(cap_for(rate), settings());
    world.run(client, (rate * 200.0) as u32, short);
    world.until_rest(client, secs(2_000));
    let one = exit(&world.clients[client], 0);
    let mut world = World::new(&orgs(&dies(1_500.0 * load)));
    let client = world.client(cap_for(rate), settings());
    world.run(client, (rate * 200.0) as u32, short);
    world.until_rest(client, secs(2_000));
    let client = &world.clients[client];
    let last_answer = client.seconds.iter().rev().find(|(_, orgs)| orgs.iter().any(|org| org.ok > 0));
    let last_answer = Duration::from_secs(last_answer.map_or(0, |(second, _)| *second));
    let rest = client.rested.values().map(|(at, _)| at.span()).max().unwrap_or(secs(2_000));
    vec![
        Figure::at_least("with one dead, the run came to rest with 0", one, 1.0),
        Figure::at_least("with all dead, it came to rest with 4", exit(client, 4), 1.0),
        Figure::at_most("seconds from the last answer to rest", rest.saturating_sub(last_answer).as_secs_f64(), 5.0),
    ]
}
