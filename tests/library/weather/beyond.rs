//! Experiments beyond those that are promised: other limiters, long answers, small limits, an API without headers.

use super::figures::{Figure, cap_for, org, scenario, settings, share, short};
use super::world::{World, secs};

/// Long answers leave the bucket long after they were sent: without looking ahead, a full bucket would invite three
/// times what it bears.
pub(super) fn long_answers(load: f64) -> Vec<Figure> {
    let per_second = 3_400.0 * load;
    let rate = per_second / 68.0;
    let text = scenario(&[org("a", 1e7, per_second * 60.0, "latency = { p50-ms = 30000, p95-ms = 60000 }")]);
    let mut world = World::new(&text);
    let client = world.client(cap_for(rate * 33.0 * 3.0 / 1.7), settings());
    world.run(client, (rate * 1_500.0) as u32, |no| 8 + (no.wrapping_mul(2_654_435_761) >> 7) % 121);
    world.until(secs(900));
    let client = &world.clients[client];
    let (after_ramp, all) = (client.sum(180, 900), client.sum(0, 900));
    vec![
        Figure::at_least("output tokens after the ramp ÷ limit", after_ramp.tokens as f64 / (720.0 * per_second), 0.9),
        Figure::at_most("429s ÷ calls", share(all.limited, all.sent), 0.01),
    ]
}

pub(super) fn input_limit(load: f64) -> Vec<Figure> {
    let rate = 100.0 * load;
    // A request of this file has 30 tokens, and 60 by the estimate that is held while it is answered.
    let itpm = rate * 60.0 * 30.0;
    let text = scenario(&[org("a", 1e7, 1e8, "")]).replace("itpm = 100_000_000", &format!("itpm = {}", itpm as u64));
    let mut world = World::new(&text);
    let client = world.client(cap_for(3.0 * rate), settings());
    world.run(client, (rate * 800.0) as u32, short);
    world.until(secs(600));
    let stats = world.sim.stats(world.now.span());
    let client = &world.clients[client];
    let all = client.sum(0, 600);
    let per_answer = stats.orgs[0].tokens_in as f64 / all.ok as f64;
    let used = client.sum(90, 600).ok as f64 * per_answer / (510.0 * itpm / 60.0);
    vec![
        Figure::at_least("input tokens after the ramp ÷ limit", used, 0.9),
        Figure::at_most("429s ÷ calls", share(all.limited, all.sent), 0.01),
    ]
}

pub(super) fn without_headers(load: f64) -> Vec<Figure> {
    let rate = 100.0 * load;
    let mut world = World::new(&scenario(&[org("a", rate * 60.0, 1e8, "")]));
    world.headers = false;
    let client = world.client(cap_for(3.0 * rate), settings());
    world.run(client, (rate * 800.0) as u32, short);
    world.until(secs(600));
    let client = &world.clients[client];
    let (after_ramp, all) = (client.sum(90, 600), client.sum(0, 600));
    vec![
        Figure::at_least("goodput after the ramp ÷ limit", after_ramp.ok as f64 / (510.0 * rate), 0.9),
        Figure::at_most("429s ÷ calls", share(all.limited, all.sent), 0.02),
    ]
}

pub(super) fn small_limit(_: f64) -> Vec<Figure> {
    let mut world = World::new(&scenario(&[org("a", 50.0, 1e8, "")]));
    let client = world.client(20, settings());
    world.run(client, 1_000, short);
    world.until(secs(900));
    let client = &world.clients[client];
    let (after_ramp, all) = (client.sum(120, 900), client.sum(0, 900));
    vec![
        Figure::at_least("goodput after the ramp ÷ limit", after_ramp.ok as f64 / 650.0, 0.95),
        Figure::at_most("429s ÷ calls", share(all.limited, all.sent), 0.005),
    ]
}

pub(super) fn four_on_one_key(load: f64) -> Vec<Figure> {
    let rate = 100.0 * load;
    let mut world = World::new(&scenario(&[org("a", rate * 60.0, 1e8, "")]));
    for n in 0..4 {
        // Caps of different sizes: what counts is the key's limit.
        let client = world.client(cap_for((1.0 + f64::from(n)) * rate), settings());
        world.run(client, (rate * 500.0) as u32, short);
        world.until(secs(15 * (u64::from(n as u32) + 1)));
    }
    world.until(secs(420));
    let got: Vec<f64> = world.clients.iter().map(|client| client.sum(120, 420).ok as f64).collect();
    let (sum, squares): (f64, f64) = (got.iter().sum(), got.iter().map(|n| n * n).sum());
    let limited: u64 = world.clients.iter().map(|client| client.sum(0, 420).limited).sum();
    let sent: u64 = world.clients.iter().map(|client| client.sum(0, 420).sent).sum();
    vec![
        Figure::at_least("Jain's index", sum * sum / (4.0 * squares), 0.95),
        Figure::at_least("together ÷ limit", sum / (300.0 * rate), 0.9),
        Figure::at_most("429s ÷ calls", share(limited, sent), 0.005),
    ]
}

pub(super) fn colleague_of_tokens(load: f64) -> Vec<Figure> {
    let per_second = 6_800.0 * load;
    let rate = per_second / 68.0;
    let works = format!(
        "[[orgs.colleagues]]\nfrom-s = 120\nto-s = 360\nrps = {}\ntokens-in = 100\ntokens-out = 1_000",
        per_second * 0.7 / 1_000.0
    );
    let mut world = World::new(&scenario(&[org("a", 1e7, per_second * 60.0, &works)]));
    let client = world.client(cap_for(3.0 * rate), settings());
    world.run(client, (rate * 800.0) as u32, |no| 8 + (no.wrapping_mul(2_654_435_761) >> 7) % 121);
    world.until(secs(480));
    let theirs = world.sim.stats(world.now.span()).orgs[0].colleague;
    let client = &world.clients[client];
    let beside = client.sum(150, 360).tokens as f64 / (210.0 * per_second * 0.3);
    let after = client.sum(420, 440).tokens as f64 / (20.0 * per_second);
    vec![
        Figure::at_most("the colleague's 429s ÷ calls", share(theirs.n_429, theirs.n_wanted), 0.001),
        Figure::at_least("our use ÷ what is left", beside, 0.8),
        Figure::at_least("our use ÷ limit, a minute after", after, 0.95),
    ]
}
