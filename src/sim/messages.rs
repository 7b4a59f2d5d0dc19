//! `POST /v1/messages`: faults, limits and the answer.

use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::StatusCode;

use super::answer::{self, Answer, BilledUsage, Tier};
use super::bodies;
use super::core::Sim;
use super::failure::Failure;
use super::fault::{self, RetryAfterSetting, Strike};
use super::ids;
use super::limits::{Calendar, refusal_message};
use super::models::Model;
use super::other::server_failure;
use super::prepare::Ready;
use super::prices;
use super::request::Place;
use super::ticket::{Charge, Delivery, Ending, ShownLimits, Ticket};

/// What an error takes, as a share of the median latency: nothing is generated for it.
const ERROR_SHARE: f64 = 0.05;

/// Bytes of a prompt that the estimate at the arrival counts as one token. Deliberately few: the estimate is high, and
/// the answer corrects it.
const ESTIMATE_BYTES: usize = 3;

/// How much of the latency of a streamed answer passes before its first event.
const FIRST_EVENT: f64 = 0.2;

/// A request on its way through this file.
struct Passage {
    identity: u64,
    rng: fastrand::Rng,
    /// When its answer would be ready.
    ready: Duration,
    model: &'static Model,
    organization: String,
    org: usize,
    pool: usize,
}

/// Whether a fault has settled what a request gets.
#[derive(PartialEq, Eq)]
enum Course {
    Open,
    Decided,
}

impl Sim {
    /// Decides what a Messages request gets.
    ///
    /// # Errors
    /// The API's refusal, when it gets no answer.
    pub(super) fn messages(
        &mut self,
        now: Duration,
        org_ix: usize,
        digest: &[u8; 16],
        valid: Result<Ready, Failure>,
        body_len: usize,
        ticket: &mut Ticket,
    ) -> Result<(), Failure> {
        let identity = bodies::identity(digest);
        let draw = self.bodies.arrive(identity);
        let mut rng = ids::rng(self.seed, identity, u64::from(draw));
        let Some(org) = self.orgs.get_mut(org_ix) else { return Ok(()) };
        org.calls.note(Place::Messages);
        let latency = org.behaviour.latency;
        ticket.ending = Ending::Answer { after: latency.share(ERROR_SHARE) };
        let (slowness, strike) = fault::draw(&org.behaviour.faults, Place::Messages, now, &org.calls, &mut rng);
        // Drawn for every request, so that a fault does not shift the ids and latencies of the others.
        let ready = latency.draw(&mut rng).mul_f64(slowness);
        let strike = strike.cloned();
        if let Some(failure) = strike.as_ref().and_then(account_failure) {
            return Err(failure);
        }
        let request = valid?;
        let (organization, pool) = (org.organization.clone(), org.pool);
        let model = request.model;
        self.check_spend(org_ix)?;
        let mut passage = Passage { identity, rng, ready, model, organization, org: org_ix, pool };
        ticket.limits = Some(ShownLimits::Class { class: model.class, claimed_empty: None });
        if let Some(strike) = &strike {
            let limit = self.limit_of(&passage, now, strike);
            if before_the_limits(strike, &mut passage, &self.calendar, limit, now, ticket)? == Course::Decided {
                return Ok(());
            }
        }
        let estimate = body_len.div_ceil(ESTIMATE_BYTES) as u64;
        self.admit(now, &passage, estimate)?;
        let input = request.answer.input_tokens;
        ticket.charge = Some(Charge { class: model.class, estimated_input: estimate, limited_input: input, output: 0 });
        if let Some(failure) = strike.as_ref().and_then(|strike| server_failure(strike, false)) {
            if !matches!(strike, Some(Strike::Overloaded { .. })) {
                ticket.ending = Ending::Answer { after: ready };
            }
            return Err(failure);
        }
        self.process(now, strike.as_ref(), &mut passage, &request, ticket)
    }

    /// How much the limiter that a storm claims to have used up gives a minute.
    fn limit_of(&mut self, passage: &Passage, now: Duration, strike: &Strike) -> u64 {
        match (strike, self.pools.get_mut(passage.pool)) {
            (Strike::RateLimited { limiter, .. }, Some(pool)) => pool.class(passage.model.class, now).limit(*limiter),
            _ => 0,
        }
    }

    /// The acceleration limit, then the buckets.
    fn admit(&mut self, now: Duration, passage: &Passage, estimate: u64) -> Result<(), Failure> {
        let Some(pool) = self.pools.get_mut(passage.pool) else { return Ok(()) };
        if let Some(Err(wait)) = pool.ramp.as_mut().map(|ramp| ramp.admit(now)) {
            return Err(Failure::ramp_limited(Some(self.calendar.retry_after(wait))));
        }
        pool.class(passage.model.class, now).admit(estimate).map_err(|short| {
            let message = refusal_message(short.limiter, short.limit, &passage.organization, passage.model.id);
            Failure::rate_limited(message, Some(self.calendar.retry_after(short.until)))
        })
    }

    /// A request that was let in: the faults of processing, and the answer.
    fn process(
        &mut self,
        now: Duration,
        strike: Option<&Strike>,
        passage: &mut Passage,
        request: &Ready,
        ticket: &mut Ticket,
    ) -> Result<(), Failure> {
        let ready = passage.ready;
        if strike == Some(&Strike::ResetDuring) {
            ticket.ending = Ending::Reset { after: ready / 2, billed: false };
            return Ok(());
        }
        if strike == Some(&Strike::ErrorInStream) && !request.streamed {
            ticket.ending = Ending::Answer { after: ready };
            return Err(Failure::overloaded(overloaded_status()));
        }
        let changed = match strike {
            Some(Strike::Refusal) => Some(request.answer.refused()),
            Some(Strike::EmptyAnswer) => Some(request.answer.emptied()),
            _ => None,
        };
        let answer = changed.as_ref().unwrap_or(&request.answer);
        let usage = self.usage(now, passage, request, answer);
        let id = ids::message(&mut passage.rng);
        ticket.ending = Ending::Answer { after: ready };
        if request.streamed {
            stream(answer, &usage, &id, strike, ready, ticket);
        } else {
            ticket.succeed(answer::message(answer, &usage, &id));
        }
        if let Some(strike) = strike {
            ticket.spoil(strike, ready);
        }
        if let Some(charge) = &mut ticket.charge {
            charge.limited_input = usage.tokens.prompt_tokens() - usage.tokens.cache_read;
            charge.output = usage.tokens.output_tokens;
        }
        self.bodies.accept(passage.identity);
        if let Some(org) = self.orgs.get_mut(passage.org) {
            org.bill(prices::cost(passage.model, &usage.tokens, false), &usage.tokens);
        }
        strike.and_then(|strike| server_failure(strike, true)).map_or(Ok(()), Err)
    }

    /// What the answer is billed as, with what its prompt finds in the cache and leaves there.
    fn usage(&mut self, now: Duration, passage: &Passage, request: &Ready, answer: &Answer) -> BilledUsage {
        match (&request.prefixes, self.pools.get_mut(passage.pool)) {
            (Some(prefixes), Some(pool)) => {
                let readable = now.saturating_add(passage.ready.mul_f64(FIRST_EVENT));
                pool.prompt_cache.usage(now, readable, prefixes, passage.model, answer)
            }
            _ => BilledUsage::plain(answer, Tier::Standard),
        }
    }
}

/// Plans an answer event by event.
fn stream(
    answer: &Answer,
    usage: &BilledUsage,
    id: &str,
    strike: Option<&Strike>,
    ready: Duration,
    ticket: &mut Ticket,
) {
    let mut events = answer::events(answer, usage, id);
    if strike == Some(&Strike::ErrorInStream) {
        events.fail_in_the_middle(&ticket.request_id);
    }
    let first = ready.mul_f64(FIRST_EVENT);
    ticket.ending = Ending::Answer { after: first };
    ticket.content_type = "text/event-stream; charset=utf-8";
    ticket.delivery = Delivery::Paced { ends: events.ends, over: ready.saturating_sub(first) };
    ticket.succeed(events.text);
}

/// 529.
fn overloaded_status() -> StatusCode {
    StatusCode::from_u16(529).unwrap_or(StatusCode::SERVICE_UNAVAILABLE)
}

/// Faults of the account, which are found out before the body is read.
pub(super) fn account_failure(strike: &Strike) -> Option<Failure> {
    match strike {
        Strike::Unauthorized => Some(Failure::unauthorized("API key is invalid.")),
        Strike::Forbidden => Some(Failure::new(
            StatusCode::FORBIDDEN,
            "permission_error",
            "Your API key does not have permission to use the specified resource.",
        )),
        Strike::Billing => Some(Failure::new(
            StatusCode::PAYMENT_REQUIRED,
            "billing_error",
            "There is a problem with your billing or payment information.",
        )),
        Strike::LowCredit => Some(Failure::low_credit()),
        Strike::SpendLimit => Some(Failure::spend_limit()),
        _ => None,
    }
}

/// Faults that strike a valid request before it takes anything from a bucket.
fn before_the_limits(
    strike: &Strike,
    passage: &mut Passage,
    calendar: &Calendar,
    limit: u64,
    now: Duration,
    ticket: &mut Ticket,
) -> Result<Course, Failure> {
    match strike {
        Strike::RateLimited { retry_after, limiter, headers } => {
            ticket.limits =
                headers.then_some(ShownLimits::Class { class: passage.model.class, claimed_empty: Some(*limiter) });
            let message = refusal_message(*limiter, limit, &passage.organization, passage.model.id);
            Err(Failure::rate_limited(message, retry_after_text(retry_after, &mut passage.rng, calendar, now)))
        }
        Strike::RampLimited { retry_after } => {
            Err(Failure::ramp_limited(retry_after_text(retry_after, &mut passage.rng, calendar, now)))
        }
        Strike::Invalid => Err(Failure::invalid("messages: the simulated API was asked to refuse this request")),
        Strike::Html { status } => {
            ticket.status = *status;
            ticket.content_type = "text/html";
            ticket.limits = None;
            ticket.body = html(*status);
            Ok(Course::Decided)
        }
        Strike::ResetBefore => {
            ticket.ending = Ending::Reset { after: Duration::ZERO, billed: false };
            Ok(Course::Decided)
        }
        Strike::Hang => {
            ticket.ending = Ending::Hang;
            Ok(Course::Decided)
        }
        _ => Ok(Course::Open),
    }
}

/// A page of the edge.
pub(super) fn html(status: StatusCode) -> Bytes {
    let reason = status.canonical_reason().unwrap_or("Error");
    let code = status.as_u16();
    Bytes::from(format!(
        "<html>\r\n<head><title>{code} {reason}</title></head>\r\n<body>\r\n<center><h1>{code} {reason}</h1></center>\r\n\
         <hr><center>cloudflare</center>\r\n</body>\r\n</html>\r\n"
    ))
}

/// The header of a fault.
pub(super) fn retry_after_text(
    setting: &RetryAfterSetting,
    rng: &mut fastrand::Rng,
    calendar: &Calendar,
    now: Duration,
) -> Option<String> {
    match setting {
        RetryAfterSetting::Absent => None,
        RetryAfterSetting::Seconds(least, most) => {
            Some(calendar.retry_after(Duration::from_secs(rng.u64(*least..=*most))))
        }
        RetryAfterSetting::Date(seconds) => {
            let millis = calendar.wall(now.saturating_add(Duration::from_secs(*seconds))).0;
            let since_1970 = Duration::from_millis(u64::try_from(millis).unwrap_or(0));
            SystemTime::UNIX_EPOCH.checked_add(since_1970).map(httpdate::fmt_http_date)
        }
        RetryAfterSetting::Verbatim(text) => Some(text.clone()),
    }
}
