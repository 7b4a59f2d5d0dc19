//! The core of the simulation: who asks, what it asks for, and what is counted.

use std::time::Duration;

use http::StatusCode;
use http::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};

use super::bodies::Bodies;
use super::failure::Failure;
use super::ids;
use super::keys::Keys;
use super::limits::Calendar;
use super::org::{Org, Pool};
use super::prepare::{Prepared, Work, prepare};
use super::prices;
use super::request::{Endpoint, SimRequest};
use super::scenario::{OrgSettings, Scenario};
use super::stats::Stats;
use super::ticket::{Ending, Fate, SimResponse, Ticket};
use crate::model::Wall;

/// The simulated API.
#[derive(Debug)]
pub struct Sim {
    pub(super) scenario: Scenario,
    pub(super) seed: u64,
    pub(super) calendar: Calendar,
    pub(super) orgs: Vec<Org>,
    pub(super) pools: Vec<Pool>,
    pub(super) bodies: Bodies,
    pub(super) keys: Keys,
    /// When the next batch ends.
    pub(super) next_end: Duration,
    totals: Stats,
}

/// A name of generators, apart from those of other things.
const REQUEST_DRAWS: u64 = 2;

impl Sim {
    /// A simulation at its start, at `epoch` on the calendar of its clients. Its clock, which callers hand in, runs
    /// `time_scale` times as fast as theirs, so that dates and `retry-after` are told in their time.
    pub fn new(scenario: Scenario, seed: u64, epoch: Wall, time_scale: f64) -> Sim {
        let orgs = scenario.orgs.clone();
        let mut sim = Sim {
            scenario,
            seed,
            calendar: Calendar { epoch, scale: time_scale },
            orgs: Vec::new(),
            pools: Vec::new(),
            bodies: Bodies::default(),
            keys: Keys::default(),
            next_end: Duration::MAX,
            totals: Stats::default(),
        };
        for org in orgs {
            sim.add_org(org);
        }
        sim
    }

    /// What it simulates.
    pub fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// Messages requests that arrived.
    pub(super) fn n_messages(&self) -> u64 {
        self.totals.n_messages
    }

    /// A request arrives: decides at once what will happen to it, and when.
    pub fn arrive(&mut self, now: Duration, request: &SimRequest<'_>) -> Fate {
        self.arrive_prepared(now, request, prepare(request))
    }

    /// The same for a request that was thought through before.
    pub(super) fn arrive_prepared(&mut self, now: Duration, request: &SimRequest<'_>, prepared: Prepared<'_>) -> Fate {
        self.advance(now);
        self.totals.n_requests += 1;
        self.totals.n_messages += u64::from(matches!(request.endpoint(), Ok(Endpoint::Messages)));
        self.totals.in_flight += 1;
        self.totals.in_flight_peak = self.totals.in_flight_peak.max(self.totals.in_flight);
        let mut ticket = Ticket::new(ids::request(&mut ids::rng(self.seed, REQUEST_DRAWS, self.totals.n_requests)));
        if let Err(failure) = self.judge(now, request, prepared, &mut ticket) {
            ticket.fail(&failure);
        }
        match ticket.ending {
            Ending::Reset { .. } => self.totals.n_reset += 1,
            Ending::Hang => self.totals.n_hung += 1,
            Ending::CutBody { .. } => self.totals.n_cut += 1,
            Ending::Answer { .. } => {}
        }
        Fate { ending: ticket.ending, ticket }
    }

    /// What the edge, the authentication and the router say, in this order, and then the endpoint.
    fn judge(
        &mut self,
        now: Duration,
        request: &SimRequest<'_>,
        prepared: Prepared<'_>,
        ticket: &mut Ticket,
    ) -> Result<(), Failure> {
        if request.body.len() > SimRequest::max_body(request.target) {
            return Err(Failure::too_large());
        }
        let org = self.org_of(request.key()?)?;
        self.enter(org, ticket);
        prepared.version?;
        let endpoint = prepared.endpoint?;
        if let Some(org) = self.orgs.get_mut(org) {
            *org.stats.calls.entry(endpoint.place()).or_default() += 1;
        }
        if endpoint.has_body() {
            request.check_content()?;
        }
        match prepared.work {
            Work::Message { digest, valid } => self.messages(now, org, &digest, valid, request.body.len(), ticket),
            work => self.other(now, org, endpoint, request, work, ticket),
        }
    }

    fn enter(&mut self, org: usize, ticket: &mut Ticket) {
        if let Some(entered) = self.orgs.get_mut(org) {
            ticket.org = Some(org);
            let stats = &mut entered.stats;
            stats.n_requests += 1;
            stats.in_flight += 1;
            stats.in_flight_peak = stats.in_flight_peak.max(stats.in_flight);
        }
    }

    pub(super) fn add_org(&mut self, settings: OrgSettings) -> usize {
        let shared = self.orgs.iter().find(|org| org.organization == settings.organization).map(|org| org.pool);
        let pool = shared.unwrap_or_else(|| {
            self.pools.push(Pool::new(&settings.behaviour));
            self.pools.len() - 1
        });
        let org = self.orgs.len();
        self.keys.insert(&settings.key, org);
        self.orgs.push(Org::new(settings, pool));
        org
    }

    /// The answer of a request whose time has come. Its headers show the limits as they are now.
    pub fn answer(&mut self, now: Duration, ticket: Ticket) -> SimResponse {
        self.advance(now);
        self.leave(now, &ticket);
        *self.totals.answered.entry(ticket.status.as_u16()).or_default() += 1;
        let mut headers = HeaderMap::with_capacity(20);
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(ticket.content_type));
        let mut write = |name: HeaderName, value: &str| {
            if let Ok(value) = HeaderValue::from_str(value) {
                headers.insert(name, value);
            }
        };
        write(HeaderName::from_static("request-id"), &ticket.request_id);
        if let Some(retry_after) = &ticket.retry_after {
            write(RETRY_AFTER, retry_after);
        }
        if let Some(should_retry) = ticket.should_retry {
            write(HeaderName::from_static("x-should-retry"), if should_retry { "true" } else { "false" });
        }
        if let Some(org) = ticket.org.and_then(|org| self.orgs.get_mut(org)) {
            *org.stats.answered.entry(ticket.status.as_u16()).or_default() += 1;
            if ticket.status != StatusCode::UNAUTHORIZED {
                write(HeaderName::from_static("anthropic-organization-id"), &org.organization);
                write(HeaderName::from_static("anthropic-workspace-id"), &org.workspace);
            }
            if let (Some(shown), Some(pool)) = (ticket.limits, self.pools.get_mut(org.pool)) {
                pool.write_headers(shown, now, &self.calendar, &mut headers);
            }
        }
        SimResponse { status: ticket.status, headers, body: ticket.body, delivery: ticket.delivery }
    }

    /// A request ended without an answer: its connection was dropped, or its caller left. What was being generated is
    /// generated and billed all the same.
    #[expect(clippy::needless_pass_by_value, reason = "a ticket is handed back once")]
    pub fn gone(&mut self, now: Duration, ticket: Ticket) {
        self.advance(now);
        self.leave(now, &ticket);
        if matches!(ticket.ending, Ending::Answer { .. } | Ending::CutBody { .. }) {
            self.totals.n_abandoned += 1;
        }
    }

    /// Takes a request out of the counts of those in flight, and its tokens out of the buckets.
    fn leave(&mut self, now: Duration, ticket: &Ticket) {
        self.totals.in_flight = self.totals.in_flight.saturating_sub(1);
        let Some(org) = ticket.org.and_then(|org| self.orgs.get_mut(org)) else { return };
        org.stats.in_flight = org.stats.in_flight.saturating_sub(1);
        if let (Some(charge), Some(pool)) = (ticket.charge, self.pools.get_mut(org.pool)) {
            pool.class(charge.class, now).settle(charge.estimated_input, charge.limited_input, charge.output);
        }
    }

    /// Refuses whoever has spent what the scenario lets an org spend.
    pub(super) fn check_spend(&self, org: usize) -> Result<(), Failure> {
        let spent = self.orgs.get(org).is_some_and(super::org::Org::has_spent_its_limit);
        if spent { Err(Failure::spend_limit()) } else { Ok(()) }
    }

    /// Brings the batches and the colleagues up to this moment.
    pub(super) fn advance(&mut self, now: Duration) {
        self.end_batches(now);
        for org in &mut self.orgs[..self.scenario.orgs.len()] {
            if let Some(pool) = self.pools.get_mut(org.pool) {
                org.advance_colleagues(now, pool);
            }
        }
    }

    /// The counters at this moment.
    pub fn stats(&mut self, now: Duration) -> Stats {
        self.advance(now);
        Stats {
            at_s: now.as_secs_f64(),
            distinct_bodies: self.bodies.distinct(),
            bodies_seen_twice: self.bodies.seen_twice,
            bodies_accepted: self.bodies.accepted,
            bodies_accepted_twice: self.bodies.accepted_twice,
            cost_micro_usd: prices::micro_usd(self.orgs.iter().map(|org| org.cost).sum()),
            orgs: self.orgs.iter().map(super::org::Org::stats).collect(),
            ..self.totals.clone()
        }
    }
}
