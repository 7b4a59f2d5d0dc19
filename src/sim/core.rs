//! The core of the simulation: every request is judged here.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode};

use super::scenario::Scenario;
use super::stats::Stats;
use crate::model::Wall;

/// A request as it arrived.
#[derive(Debug, Clone, Copy)]
pub struct SimRequest<'a> {
    /// Its method.
    pub method: &'a Method,
    /// Its path, with the query if there is one.
    pub target: &'a str,
    /// Its headers.
    pub headers: &'a HeaderMap,
    /// Its whole body.
    pub body: &'a [u8],
}

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

/// A request in flight.
#[derive(Debug)]
pub struct Ticket(());

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
    scenario: Scenario,
    stats: Stats,
}

impl Sim {
    /// A simulation at its start.
    pub fn new(scenario: Scenario, _seed: u64, _epoch: Wall) -> Sim {
        Sim { scenario, stats: Stats::default() }
    }

    /// What it simulates.
    pub fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// A request arrives: decides at once what will happen to it, and when.
    pub fn arrive(&mut self, _now: Duration, _request: &SimRequest<'_>) -> Fate {
        Fate { ending: Ending::Answer { after: Duration::ZERO }, ticket: Ticket(()) }
    }

    /// The answer of a request whose time has come.
    pub fn answer(&mut self, _now: Duration, _ticket: Ticket) -> SimResponse {
        SimResponse { status: StatusCode::OK, headers: HeaderMap::new(), body: Bytes::new() }
    }

    /// A request ended without an answer: it was reset, or its caller left.
    pub fn gone(&mut self, _now: Duration, _ticket: Ticket) {}

    /// The counters.
    pub fn stats(&mut self, _now: Duration) -> Stats {
        self.stats.clone()
    }
}
