//! The core of the simulation: who asks, what it asks for, and what is counted.

use std::collections::HashMap;
use std::time::Duration;

use bytes::Bytes;
use http::StatusCode;
use http::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};

use super::bodies::Bodies;
use super::failure::Failure;
use super::ids;
use super::limits::Calendar;
use super::model_list;
use super::models::Class;
use super::org::{Org, Pool};
use super::request::{Endpoint, MAX_BODY, SimRequest};
use super::scenario::{OrgSettings, Scenario};
use super::stats::Stats;
use crate::model::limits::Limiter;
use crate::model::{Secret, Wall};

/// What will happen to a request.
#[derive(Debug)]
pub struct Fate {
    /// How it ends, and when.
    pub ending: Ending,
    /// To be handed back once: to [`Sim::answer`] or to [`Sim::gone`].
    pub ticket: Ticket,
}

/// How a request ends. Spans are on the simulation's clock, from the arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// An answer.
    Answer {
        /// When.
        after: Duration,
    },
    /// The connection is dropped without an answer.
    Reset {
        /// When.
        after: Duration,
        /// Whether the request was processed and billed all the same.
        billed: bool,
    },
    /// Nothing ever comes.
    Hang,
    /// An answer whose connection breaks in the middle of the body.
    CutBody {
        /// When the answer begins.
        after: Duration,
        /// How much of its body is sent.
        at_bytes: usize,
    },
}

/// A request in flight, with the answer that it will get.
#[derive(Debug)]
pub struct Ticket {
    /// Whose request it is: an index of orgs. `None` when no org was recognised.
    pub(super) org: Option<usize>,
    pub(super) request_id: String,
    pub(super) ending: Ending,
    pub(super) status: StatusCode,
    pub(super) content_type: &'static str,
    pub(super) retry_after: Option<String>,
    pub(super) should_retry: Option<bool>,
    pub(super) body: Bytes,
    /// The limits that its headers show.
    pub(super) limits: Option<ShownLimits>,
    /// What it takes from the token buckets at its end.
    pub(super) charge: Option<Charge>,
}

/// Which limits the headers of an answer show.
#[derive(Debug, Clone, Copy)]
pub(super) struct ShownLimits {
    pub(super) class: Class,
    pub(super) claimed_empty: Option<Limiter>,
}

/// Tokens of a request that was let in.
#[derive(Debug, Clone, Copy)]
pub(super) struct Charge {
    pub(super) class: Class,
    pub(super) estimated_input: u64,
    pub(super) input: u64,
    pub(super) output: u64,
}

/// An answer.
#[derive(Debug, Clone)]
pub struct SimResponse {
    /// Its status.
    pub status: StatusCode,
    /// Its headers, without those that belong to HTTP's framing.
    pub headers: HeaderMap,
    /// Its body.
    pub body: Bytes,
}

/// The simulated API.
#[derive(Debug)]
pub struct Sim {
    pub(super) scenario: Scenario,
    pub(super) seed: u64,
    pub(super) calendar: Calendar,
    pub(super) orgs: Vec<Org>,
    pub(super) pools: Vec<Pool>,
    pub(super) bodies: Bodies,
    totals: Stats,
    keys: Keys,
}

/// Which org a key belongs to.
#[derive(Default)]
struct Keys(HashMap<String, usize>);

impl std::fmt::Debug for Keys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Keys({})", self.0.len())
    }
}

/// Most keys that are accepted where any is: who makes up more is not simulating anything.
const MAX_KEYS: usize = 10_000;

/// Names of generators, so that ids of different kinds never share one.
const ORGANIZATION_DRAWS: u64 = 1;
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
            totals: Stats::default(),
            keys: Keys::default(),
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

    /// A request arrives: decides at once what will happen to it, and when.
    pub fn arrive(&mut self, now: Duration, request: &SimRequest<'_>) -> Fate {
        self.advance(now);
        self.totals.n_requests += 1;
        self.totals.in_flight += 1;
        self.totals.in_flight_peak = self.totals.in_flight_peak.max(self.totals.in_flight);
        let mut ticket = Ticket::new(ids::request(&mut ids::rng(self.seed, REQUEST_DRAWS, self.totals.n_requests)));
        if let Err(failure) = self.judge(now, request, &mut ticket) {
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
    fn judge(&mut self, now: Duration, request: &SimRequest<'_>, ticket: &mut Ticket) -> Result<(), Failure> {
        if request.body.len() > MAX_BODY {
            return Err(Failure::too_large());
        }
        let org = self.org_of(request.key()?)?;
        self.enter(org, ticket);
        let version = request.version()?;
        match request.endpoint()? {
            Endpoint::Messages => {
                request.check_content()?;
                self.messages(now, org, version, request.body, ticket)
            }
            Endpoint::Models { query } => model_list::list(query).map(|body| ticket.succeed(body)),
            Endpoint::Model { id } => model_list::one(id).map(|body| ticket.succeed(body)),
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

    fn org_of(&mut self, key: &str) -> Result<usize, Failure> {
        if let Some(org) = self.keys.0.get(key) {
            return Ok(*org);
        }
        let behaviour = self.scenario.any_key.clone().filter(|_| self.keys.0.len() < MAX_KEYS);
        let (Some(behaviour), Some(key)) = (behaviour, Secret::new(key)) else {
            return Err(Failure::unauthorized("API key is invalid."));
        };
        let number = self.orgs.len() - self.scenario.orgs.len() + 1;
        let organization = ids::organization(&mut ids::rng(self.seed, ORGANIZATION_DRAWS, number as u64));
        let label = format!("key-{number}");
        Ok(self.add_org(OrgSettings { label, key, organization, behaviour, colleagues: Vec::new() }))
    }

    fn add_org(&mut self, settings: OrgSettings) -> usize {
        let shared = self.orgs.iter().find(|org| org.organization == settings.organization).map(|org| org.pool);
        let pool = shared.unwrap_or_else(|| {
            self.pools.push(Pool::new(&settings.behaviour));
            self.pools.len() - 1
        });
        let org = self.orgs.len();
        self.keys.0.insert(settings.key.expose().to_owned(), org);
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
            }
            if let (Some(shown), Some(pool)) = (ticket.limits, self.pools.get_mut(org.pool)) {
                let limits = pool.class(shown.class, now);
                limits.write_headers(now, &self.calendar, shown.claimed_empty, &mut headers);
            }
        }
        SimResponse { status: ticket.status, headers, body: ticket.body }
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
            org.stats.tokens_in += charge.input;
            org.stats.tokens_out += charge.output;
            pool.class(charge.class, now).settle(charge.estimated_input, charge.input, charge.output);
        }
    }

    /// Brings the colleagues up to this moment.
    fn advance(&mut self, now: Duration) {
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
            orgs: self.orgs.iter().map(|org| org.stats.clone()).collect(),
            ..self.totals.clone()
        }
    }
}

impl Ticket {
    fn new(request_id: String) -> Ticket {
        Ticket {
            org: None,
            request_id,
            ending: Ending::Answer { after: Duration::ZERO },
            status: StatusCode::OK,
            content_type: "application/json",
            retry_after: None,
            should_retry: None,
            body: Bytes::new(),
            limits: None,
            charge: None,
        }
    }

    /// Plans an answer of 200.
    pub(super) fn succeed(&mut self, body: String) {
        self.body = Bytes::from(body);
    }

    /// Plans an error; its time stays as it is.
    pub(super) fn fail(&mut self, failure: &Failure) {
        self.status = failure.status;
        self.retry_after.clone_from(&failure.retry_after);
        self.should_retry = failure.should_retry;
        self.body = failure.body(&self.request_id);
    }
}
