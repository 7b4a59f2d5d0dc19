//! Every endpoint but Messages: their limits and faults, around what they do.

use std::time::Duration;

use super::batch::ResultRows;
use super::core::Sim;
use super::failure::Failure;
use super::fault::{self, Strike};
use super::ids;
use super::limits::requests_message;
use super::messages::{account_failure, html, retry_after_text};
use super::model_list;
use super::prepare::Work;
use super::request::{Endpoint, Place, SimRequest};
use super::ticket::{Delivery, Ending, ShownLimits, Ticket};
use crate::sim::batch::Asker;

/// What these endpoints take, as a share of the median latency of messages: nothing is generated for them.
const SHARE_OF_LATENCY: f64 = 0.05;

/// Names of generators, so that the draws of two places never are the same.
const PLACE_DRAWS: u64 = 16;

/// What an endpoint answers.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) body: String,
    pub(super) retry_after: Option<String>,
    /// Instead of the body.
    pub(super) rows: Option<ResultRows>,
}

impl Reply {
    pub(super) fn json(body: String) -> Reply {
        Reply { body, retry_after: None, rows: None }
    }
}

impl Sim {
    /// Decides what a request to any other endpoint gets.
    ///
    /// # Errors
    /// The API's refusal, when it gets no answer.
    pub(super) fn other(
        &mut self,
        now: Duration,
        org_ix: usize,
        endpoint: Endpoint<'_>,
        request: &SimRequest<'_>,
        work: Work,
        ticket: &mut Ticket,
    ) -> Result<(), Failure> {
        let place = endpoint.place();
        let Some(org) = self.orgs.get_mut(org_ix) else { return Ok(()) };
        let call = org.calls.note(place);
        let mut rng = ids::rng(self.seed, PLACE_DRAWS + place.ix() as u64 + ((org_ix as u64) << 32), call);
        let (slowness, strike) = fault::draw(&org.behaviour.faults, place, now, &org.calls, &mut rng);
        let strike = strike.cloned();
        let after = org.behaviour.latency.share(SHARE_OF_LATENCY).mul_f64(slowness);
        let pool = org.pool;
        ticket.ending = Ending::Answer { after };
        if let Some(failure) = strike.as_ref().and_then(account_failure) {
            return Err(failure);
        }
        ticket.limits = shown(place, matches!(strike, Some(Strike::RateLimited { .. })));
        if let Some(strike) = &strike
            && self.instead(now, strike, &mut rng, after, ticket)?
        {
            return Ok(());
        }
        self.admit_request(now, pool, place)?;
        let asker = Asker { now, org: org_ix, pool, host: request.header("host") };
        let reply = self.act(asker, endpoint, work)?;
        finish(reply, strike.as_ref(), after, ticket)
    }

    /// A fault that keeps the work from being done; whether it was one.
    fn instead(
        &self,
        now: Duration,
        strike: &Strike,
        rng: &mut fastrand::Rng,
        after: Duration,
        ticket: &mut Ticket,
    ) -> Result<bool, Failure> {
        let retry_after = |setting| retry_after_text(setting, rng, &self.calendar, now);
        match strike {
            Strike::RateLimited { retry_after: setting, headers, .. } => {
                ticket.limits = ticket.limits.filter(|_| *headers);
                Err(Failure::rate_limited(requests_message(0), { retry_after }(setting)))
            }
            Strike::RampLimited { retry_after: setting } => Err(Failure::ramp_limited({ retry_after }(setting))),
            Strike::Invalid => Err(Failure::invalid("the simulated API was asked to refuse this request")),
            Strike::Html { status } => {
                ticket.status = *status;
                ticket.content_type = "text/html";
                ticket.limits = None;
                ticket.body = html(*status);
                Ok(true)
            }
            Strike::ResetBefore => {
                ticket.ending = Ending::Reset { after: Duration::ZERO, billed: false };
                Ok(true)
            }
            Strike::ResetDuring => {
                ticket.ending = Ending::Reset { after, billed: false };
                Ok(true)
            }
            Strike::Hang => {
                ticket.ending = Ending::Hang;
                Ok(true)
            }
            other => server_failure(other, false).map_or(Ok(false), Err),
        }
    }

    /// The limit of requests a minute that an endpoint has of its own.
    fn admit_request(&mut self, now: Duration, pool: usize, place: Place) -> Result<(), Failure> {
        let bucket = self.pools.get_mut(pool).and_then(|pool| pool.requests_to(place, now));
        match bucket {
            Some(bucket) if !bucket.has(1) => {
                let wait = self.calendar.retry_after(bucket.until_has(1));
                Err(Failure::rate_limited(requests_message(bucket.limit()), Some(wait)))
            }
            Some(bucket) => {
                bucket.take(1);
                Ok(())
            }
            None => Ok(()),
        }
    }

    fn act(&mut self, asker: Asker<'_>, endpoint: Endpoint<'_>, work: Work) -> Result<Reply, Failure> {
        match (endpoint, work) {
            (Endpoint::CountTokens, Work::Count(count)) => {
                count.map(|count| Reply::json(format!("{{\"input_tokens\":{count}}}")))
            }
            (Endpoint::BatchCreate, Work::Create(draft)) => self.batch_create(asker, draft?),
            (Endpoint::Models { query }, _) => model_list::list(query).map(Reply::json),
            (Endpoint::Model { id }, _) => model_list::one(id).map(Reply::json),
            (Endpoint::BatchList { query }, _) => self.batch_list(asker, query),
            (Endpoint::BatchRetrieve { id }, _) => self.batch_retrieve(asker, id),
            (Endpoint::BatchCancel { id }, _) => self.batch_cancel(asker, id),
            (Endpoint::BatchDelete { id }, _) => self.batch_delete(asker, id),
            (Endpoint::BatchResults { id }, _) => self.batch_results(asker, id),
            (Endpoint::Messages | Endpoint::CountTokens | Endpoint::BatchCreate, _) => {
                Err(Failure::server_error(http::StatusCode::INTERNAL_SERVER_ERROR))
            }
        }
    }
}

/// The answer of an endpoint that did its work, unless a fault takes it away.
fn finish(reply: Reply, strike: Option<&Strike>, after: Duration, ticket: &mut Ticket) -> Result<(), Failure> {
    if let Some(failure) = strike.and_then(|strike| server_failure(strike, true)) {
        return Err(failure);
    }
    ticket.retry_after = reply.retry_after;
    ticket.succeed(reply.body);
    if let Some(rows) = reply.rows {
        ticket.content_type = "application/x-jsonl";
        ticket.delivery = Delivery::Rows(rows);
    }
    if let Some(strike) = strike {
        ticket.spoil(strike, after);
    }
    Ok(())
}

/// The error of a fault that comes before the work, or after it.
pub(super) fn server_failure(strike: &Strike, after_the_work: bool) -> Option<Failure> {
    match strike {
        Strike::Overloaded { status, processed } if *processed == after_the_work => Some(Failure::overloaded(*status)),
        Strike::ServerError { status, processed } if *processed == after_the_work => {
            Some(Failure::server_error(*status))
        }
        Strike::GatewayTimeout { processed } if *processed == after_the_work => Some(Failure::timed_out()),
        _ => None,
    }
}

fn shown(place: Place, claimed_empty: bool) -> Option<ShownLimits> {
    match place {
        Place::Messages | Place::Models => None,
        Place::CountTokens => Some(ShownLimits::Counts { claimed_empty }),
        _ => Some(ShownLimits::Batches { claimed_empty }),
    }
}
