//! What the core hands out for a request: its fate, the ticket of its flight, and its answer.

use std::time::Duration;

use bytes::Bytes;
use http::StatusCode;
use http::header::HeaderMap;

use super::batch::ResultRows;
use super::failure::Failure;
use super::fault::Strike;
use super::models::Class;
use crate::model::limits::Limiter;

/// What will happen to a request.
#[derive(Debug)]
pub struct Fate {
    /// How it ends, and when.
    pub ending: Ending,
    /// To be handed back once: to [`super::Sim::answer`] or to [`super::Sim::gone`].
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
    pub(super) delivery: Delivery,
    /// The limits that its headers show.
    pub(super) limits: Option<ShownLimits>,
    /// What it takes from the token buckets at its end.
    pub(super) charge: Option<Charge>,
}

/// Which limits the headers of an answer show.
#[derive(Debug, Clone, Copy)]
pub(super) enum ShownLimits {
    /// Those of a class of models.
    Class { class: Class, claimed_empty: Option<Limiter> },
    /// Requests to the batch endpoints.
    Batches { claimed_empty: bool },
    /// Counts of tokens.
    Counts { claimed_empty: bool },
}

/// Tokens of a request that was let in.
#[derive(Debug, Clone, Copy)]
pub(super) struct Charge {
    pub(super) class: Class,
    pub(super) estimated_input: u64,
    /// Input that counts against the limit: what was read from the cache does not.
    pub(super) limited_input: u64,
    pub(super) output: u64,
}

/// How the body of an answer comes.
#[derive(Debug, Clone, Default)]
pub enum Delivery {
    /// As soon as it is there.
    #[default]
    AtOnce,
    /// Event by event.
    Paced {
        /// Where each event ends in the body.
        ends: Vec<usize>,
        /// From the first event to the last one, on the simulation's clock.
        over: Duration,
    },
    /// The body is empty; these rows, made while they are sent, take its place.
    Rows(ResultRows),
}

/// An answer.
#[derive(Debug, Clone)]
pub struct SimResponse {
    /// Its status.
    pub status: StatusCode,
    /// Its headers, without those that belong to HTTP's framing.
    pub headers: HeaderMap,
    /// Its body; see [`Delivery::Rows`].
    pub body: Bytes,
    /// How the body comes.
    pub delivery: Delivery,
}

impl SimResponse {
    /// The whole body at once, for callers without a connection to stream it over.
    pub fn whole(self) -> Bytes {
        match self.delivery {
            Delivery::Rows(rows) => rows.flatten().collect::<Vec<u8>>().into(),
            Delivery::AtOnce | Delivery::Paced { .. } => self.body,
        }
    }
}

impl Ticket {
    pub(super) fn new(request_id: String) -> Ticket {
        Ticket {
            org: None,
            request_id,
            ending: Ending::Answer { after: Duration::ZERO },
            status: StatusCode::OK,
            content_type: "application/json",
            retry_after: None,
            should_retry: None,
            body: Bytes::new(),
            delivery: Delivery::AtOnce,
            limits: None,
            charge: None,
        }
    }

    /// Plans an answer of 200.
    pub(super) fn succeed(&mut self, body: impl Into<Bytes>) {
        self.body = body.into();
    }

    /// Takes the answer that is planned, or the end of it, from who waits for it, if this is such a fault: the work was done.
    pub(super) fn spoil(&mut self, strike: &Strike, after: Duration) {
        match strike {
            Strike::ResetAfter => self.ending = Ending::Reset { after, billed: true },
            Strike::CutBody => {
                let at_bytes = match &self.delivery {
                    Delivery::Rows(rows) => rows.half(),
                    Delivery::AtOnce | Delivery::Paced { .. } => {
                        self.delivery = Delivery::AtOnce;
                        self.body.len() / 2
                    }
                };
                self.ending = Ending::CutBody { after, at_bytes };
            }
            Strike::MalformedBody => {
                self.body.truncate(self.body.len() / 2);
                self.delivery = Delivery::AtOnce;
            }
            Strike::EmptyBody => {
                self.body.clear();
                self.delivery = Delivery::AtOnce;
            }
            _ => {}
        }
    }

    /// Plans an error; its time stays as it is.
    pub(super) fn fail(&mut self, failure: &Failure) {
        self.status = failure.status;
        self.retry_after.clone_from(&failure.retry_after);
        self.should_retry = failure.should_retry;
        self.body = failure.body(&self.request_id);
        self.content_type = "application/json";
        self.delivery = Delivery::AtOnce;
    }
}
