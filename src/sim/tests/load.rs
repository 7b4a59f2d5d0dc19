//! Scenarios under the load of a simple dispatcher, on virtual time: what a scenario promises holds at the rates for
//! which it was written.

use std::collections::VecDeque;

use super::*;

/// An org as the simple dispatcher sees it.
struct Lane {
    key: &'static str,
    flying: Vec<(Duration, usize, Ticket)>,
    closed_until: Duration,
    headroom: f64,
    lowest: f64,
}

/// A dispatcher that ramps up, obeys `retry-after` and, if polite, gives way when headroom is low.
struct Load {
    sim: Sim,
    lanes: Vec<Lane>,
    waiting: VecDeque<usize>,
    cap: usize,
    polite: bool,
    now: Duration,
}

/// The time step: far below any latency.
const STEP: Duration = Duration::from_millis(20);

impl Load {
    fn new(scenario: &str, keys: &[&'static str], requests: usize, cap: usize, polite: bool) -> Load {
        let lane = |key| Lane { key, flying: Vec::new(), closed_until: Duration::ZERO, headroom: 1.0, lowest: 1.0 };
        Load {
            sim: Sim::new(Scenario::load(scenario).unwrap(), 1, EPOCH, 1.0),
            lanes: keys.iter().copied().map(lane).collect(),
            waiting: (0..requests).collect(),
            cap,
            polite,
            now: Duration::ZERO,
        }
    }

    /// Goes on until nothing is left to do or the time is over.
    fn run(&mut self, until: Duration) {
        while self.now < until && (!self.waiting.is_empty() || self.lanes.iter().any(|lane| !lane.flying.is_empty())) {
            self.now += STEP;
            for lane in &mut self.lanes {
                let (due, flying) = std::mem::take(&mut lane.flying).into_iter().partition(|(at, ..)| *at <= self.now);
                lane.flying = flying;
                let due: Vec<(Duration, usize, Ticket)> = due;
                for (_, request, ticket) in due {
                    let response = self.sim.answer(self.now, ticket);
                    lane.see(self.now, &response);
                    if response.status != 200 {
                        self.waiting.push_back(request);
                    }
                }
                let slots = lane.slots(self.now, self.cap, self.polite);
                while lane.flying.len() < slots {
                    let Some(request) = self.waiting.pop_front() else { break };
                    let text = format!("Judge answer {request}. {}", "It has some length. ".repeat(60));
                    let fate = send_as(&mut self.sim, self.now, &head(lane.key), &body(&text));
                    let Ending::Answer { after } = fate.ending else { panic!("{:?}", fate.ending) };
                    lane.flying.push((self.now + after, request, fate.ticket));
                }
            }
        }
    }
}

impl Lane {
    fn see(&mut self, now: Duration, response: &SimResponse) {
        let figure = |name: &str| response.headers.get(name)?.to_str().ok()?.parse::<f64>().ok();
        if let Some(wait) = figure("retry-after") {
            self.closed_until = self.closed_until.max(now + Duration::from_secs_f64(wait));
        }
        let left = figure("anthropic-ratelimit-output-tokens-remaining");
        if let (Some(left), Some(limit)) = (left, figure("anthropic-ratelimit-output-tokens-limit")) {
            self.headroom = left / limit;
            self.lowest = self.lowest.min(self.headroom);
        }
    }

    fn slots(&self, now: Duration, cap: usize, polite: bool) -> usize {
        if now < self.closed_until {
            return 0;
        }
        let ramp = (0.25 + 0.75 * now.as_secs_f64() / 30.0).min(1.0);
        let ease = if polite { (self.headroom / 0.15).min(1.0) } else { 1.0 };
        ((cap as f64 * ramp * ease) as usize).max(4)
    }
}

#[test]
fn the_demo_ends_in_about_a_minute_and_a_half_with_everything_answered() {
    let hints = Scenario::load("demo").unwrap().demo;
    // A quarter goes into sub-batches; the rest is the load here.
    assert_eq!((hints.requests, hints.cap, hints.batch_share), (4_000, 20, 0.25));
    let mut load = Load::new("demo", &["sim-high-prio", "sim-batch", "sim-low-prio"], 3_000, 20, true);
    load.run(SECOND * 200);
    let stats = load.sim.stats(load.now);
    assert!((SECOND * 75..SECOND * 110).contains(&load.now), "{:?}", load.now);
    assert_eq!((stats.bodies_accepted, stats.bodies_accepted_twice), (3_000, 0));
    assert!(stats.org("batch").unwrap().n_status(429) > 0);
    assert_eq!(stats.org("high-prio").unwrap().n_status(429) + stats.org("low-prio").unwrap().n_status(429), 0);
    let sprinkled: u64 = [500, 503, 529].iter().filter_map(|status| stats.answered.get(status)).sum();
    assert!((1..30).contains(&sprinkled), "{:?}", stats.answered);
}

#[test]
fn l12_the_demos_colleague_pushes_headroom_below_the_easing_mark_and_is_not_refused_when_we_give_way() {
    let mut load = Load::new("demo", &["sim-low-prio"], 100_000, 20, true);
    load.run(SECOND * 60);
    let stats = load.sim.stats(load.now);
    let org = stats.org("low-prio").unwrap();
    assert!(load.lanes[0].lowest < 0.15, "{}", load.lanes[0].lowest);
    assert_eq!((org.colleague.n_429, org.n_status(429)), (0, 0), "{org:?}");
    assert!(org.colleague.n_wanted > 300);
}

#[test]
fn l12_colleagues_are_spared_when_we_give_way_and_refused_when_we_do_not() {
    for (polite, refused) in [(true, false), (false, true)] {
        let mut load = Load::new("colleague", &["sim-high-prio", "sim-batch", "sim-low-prio"], 100_000, 40, polite);
        load.run(SECOND * 110);
        let stats = load.sim.stats(load.now);
        let sins: u64 = stats.orgs.iter().map(|org| org.colleague.n_429).sum();
        assert_eq!(sins > 0, refused, "polite: {polite}: {:#?}", stats.orgs);
    }
}

#[test]
fn l1_a_storm_of_a_minute_ends_with_every_request_answered() {
    let mut load = Load::new("storm", &["sim-high-prio", "sim-batch", "sim-low-prio"], 1_500, 20, true);
    load.run(SECOND * 300);
    let stats = load.sim.stats(load.now);
    assert_eq!((stats.bodies_accepted, stats.bodies_accepted_twice), (1_500, 0));
    assert!(load.now > SECOND * 70);
}
