//! `POST /v1/messages`: faults, limits and the answer.

use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::StatusCode;

use super::answer::{self, Answer};
use super::bodies;
use super::core::{Charge, Ending, ShownLimits, Sim, Ticket};
use super::failure::Failure;
use super::fault::{self, RetryAfterSetting, Strike};
use super::ids;
use super::latency::Latency;
use super::limits::{Calendar, refusal_message};
use super::models::Model;
use super::validate::{self, ApiVersion};

/// What an error takes, as a share of the median latency: nothing is generated for it.
const ERROR_SHARE: f64 = 0.05;

/// Bytes of a prompt that the estimate at the arrival counts as one token. Deliberately few: the estimate is high, and
/// the answer corrects it.
const ESTIMATE_BYTES: usize = 3;

/// A request on its way through this file.
struct Passage {
    identity: u64,
    rng: fastrand::Rng,
    latency: Latency,
    /// When its answer would be ready.
    ready: Duration,
    model: &'static Model,
    organization: String,
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
        version: ApiVersion,
        body: &[u8],
        ticket: &mut Ticket,
    ) -> Result<(), Failure> {
        let digest = answer::digest(body);
        let identity = bodies::identity(&digest);
        let draw = self.bodies.arrive(identity);
        let mut rng = ids::rng(self.seed, identity, u64::from(draw));
        let Some(org) = self.orgs.get_mut(org_ix) else { return Ok(()) };
        org.calls += 1;
        let latency = org.behaviour.latency;
        ticket.ending = Ending::Answer { after: latency.share(ERROR_SHARE) };
        let (slowness, strike) = fault::draw(&org.behaviour.faults, now, org.calls, &mut rng);
        // Drawn for every request, so that a fault does not shift the ids and latencies of the others.
        let ready = latency.draw(&mut rng).mul_f64(slowness);
        let strike = strike.cloned();
        if let Some(failure) = strike.as_ref().and_then(account_failure) {
            return Err(failure);
        }
        let (request, model) = validate::messages(body, version)?;
        let (organization, pool) = (org.organization.clone(), org.pool);
        let mut passage = Passage { identity, rng, latency, ready, model, organization, pool };
        ticket.limits = Some(ShownLimits { class: model.class, claimed_empty: None });
        if let Some(strike) = &strike {
            let limit = self.limit_of(&passage, now, strike);
            if before_the_limits(strike, &mut passage, &self.calendar, limit, now, ticket)? == Course::Decided {
                return Ok(());
            }
        }
        let estimate = body.len().div_ceil(ESTIMATE_BYTES) as u64;
        self.admit(now, &passage, estimate)?;
        let answer = answer::answer(&request, &digest);
        ticket.charge =
            Some(Charge { class: model.class, estimated_input: estimate, input: answer.input_tokens, output: 0 });
        self.process(strike.as_ref(), &mut passage, &answer, org_ix, ticket)
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
        strike: Option<&Strike>,
        passage: &mut Passage,
        answer: &Answer,
        org: usize,
        ticket: &mut Ticket,
    ) -> Result<(), Failure> {
        let ready = passage.ready;
        let message = |passage: &mut Passage, refused| answer.message(&ids::message(&mut passage.rng), refused);
        ticket.ending = Ending::Answer { after: ready };
        let mut output = answer.output_tokens;
        match strike {
            Some(Strike::Overloaded { status }) => {
                ticket.ending = Ending::Answer { after: passage.latency.share(ERROR_SHARE) };
                return Err(Failure::overloaded(*status));
            }
            Some(Strike::ServerError { status }) => return Err(Failure::server_error(*status)),
            Some(Strike::GatewayTimeout) => return Err(Failure::timed_out()),
            Some(Strike::ResetDuring) => {
                ticket.ending = Ending::Reset { after: ready / 2, billed: false };
                return Ok(());
            }
            Some(Strike::ResetAfter) => ticket.ending = Ending::Reset { after: ready, billed: true },
            Some(Strike::MalformedBody) => {
                let mut body = message(passage, false);
                body.truncate(body.len() / 2);
                ticket.succeed(body);
            }
            Some(Strike::EmptyBody) => {}
            Some(Strike::CutBody) => {
                let body = message(passage, false);
                ticket.ending = Ending::CutBody { after: ready, at_bytes: body.len() / 2 };
                ticket.succeed(body);
            }
            Some(Strike::Refusal) => {
                output = 1;
                ticket.succeed(
                    Answer { output_tokens: 1, ..answer.clone() }.message(&ids::message(&mut passage.rng), true),
                );
            }
            Some(Strike::EmptyAnswer) => {
                output = 1;
                let empty = Answer { output_tokens: 1, text: String::new(), ..answer.clone() };
                ticket.succeed(empty.message(&ids::message(&mut passage.rng), false));
            }
            _ => ticket.succeed(message(passage, false)),
        }
        if let Some(charge) = &mut ticket.charge {
            charge.output = output;
        }
        self.bodies.accept(passage.identity);
        if let Some(org) = self.orgs.get_mut(org) {
            org.stats.n_accepted += 1;
        }
        Ok(())
    }
}

/// Faults of the account, which are found out before the body is read.
fn account_failure(strike: &Strike) -> Option<Failure> {
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
                headers.then_some(ShownLimits { class: passage.model.class, claimed_empty: Some(*limiter) });
            let message = refusal_message(*limiter, limit, &passage.organization, passage.model.id);
            Err(Failure::rate_limited(message, retry_after_text(retry_after, passage, calendar, now)))
        }
        Strike::RampLimited { retry_after } => {
            Err(Failure::ramp_limited(retry_after_text(retry_after, passage, calendar, now)))
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

fn html(status: StatusCode) -> Bytes {
    let reason = status.canonical_reason().unwrap_or("Error");
    let code = status.as_u16();
    Bytes::from(format!(
        "<html>\r\n<head><title>{code} {reason}</title></head>\r\n<body>\r\n<center><h1>{code} {reason}</h1></center>\r\n\
         <hr><center>cloudflare</center>\r\n</body>\r\n</html>\r\n"
    ))
}

fn retry_after_text(
    setting: &RetryAfterSetting,
    passage: &mut Passage,
    calendar: &Calendar,
    now: Duration,
) -> Option<String> {
    match setting {
        RetryAfterSetting::Absent => None,
        RetryAfterSetting::Seconds(least, most) => {
            Some(calendar.retry_after(Duration::from_secs(passage.rng.u64(*least..=*most))))
        }
        RetryAfterSetting::Date(seconds) => {
            let millis = calendar.wall(now.saturating_add(Duration::from_secs(*seconds))).0;
            let since_1970 = Duration::from_millis(u64::try_from(millis).unwrap_or(0));
            SystemTime::UNIX_EPOCH.checked_add(since_1970).map(httpdate::fmt_http_date)
        }
        RetryAfterSetting::Verbatim(text) => Some(text.clone()),
    }
}
