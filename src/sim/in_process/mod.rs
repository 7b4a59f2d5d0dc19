//! The simulated API as a transport without sockets.

use std::sync::Arc;

use http::Method;
use http::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};

use super::request::SimRequest;
use super::shared::{Flight, SharedSim};
use super::ticket::{Ending, SimResponse};
use crate::api::look::{list_target, model_target, of_list, of_model};
use crate::api::transport::{ReplyFuture, SightFuture};
use crate::api::{Call, Reply, Sight, Transport, reply, stream};
use crate::model::{ApiError, OrgId, OrgSpec, Scrubber, Trouble, WireSettings};

/// Carries calls to a simulation in the same process, on tokio's clock: on paused time hours pass in an instant.
///
/// Headers and timeouts are those of the HTTP client, and answers are read by the same code.
#[derive(Debug, Clone)]
pub struct InProcess {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    sim: Arc<SharedSim>,
    wire: WireSettings,
    /// What each org's requests carry, in the order of their ids.
    heads: Vec<HeaderMap>,
    scrubber: Scrubber,
}

impl InProcess {
    /// A transport for these orgs, in the order of their ids.
    pub fn new(sim: Arc<SharedSim>, orgs: &[OrgSpec], wire: WireSettings) -> InProcess {
        let scrubber = Scrubber::new(orgs.iter().map(|org| &org.key));
        let heads = orgs.iter().map(|org| head(org, &wire)).collect();
        InProcess { inner: Arc::new(Inner { sim, wire, heads, scrubber }) }
    }
}

/// The headers that matter to the API.
fn head(org: &OrgSpec, wire: &WireSettings) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    let mut set = |name: HeaderName, value: &str| {
        if let Ok(mut value) = HeaderValue::from_str(value) {
            value.set_sensitive(true);
            headers.insert(name, value);
        }
    };
    set(HeaderName::from_static("anthropic-version"), &wire.version);
    if wire.bearer {
        set(AUTHORIZATION, &format!("Bearer {}", org.key.expose()));
    } else {
        set(HeaderName::from_static("x-api-key"), org.key.expose());
    }
    headers
}

impl Transport for InProcess {
    fn call(&self, call: Call) -> ReplyFuture {
        let inner = Arc::clone(&self.inner);
        Box::pin(async move { inner.call(call).await })
    }

    fn look(&self, org: OrgId, model: &str) -> SightFuture {
        let sight = self.inner.look(org, model).unwrap_or_else(Sight::nothing);
        Box::pin(std::future::ready(sight))
    }
}

impl Inner {
    async fn call(&self, call: Call) -> Reply {
        let Some(headers) = self.heads.get(call.org.ix()) else {
            return trouble(Trouble::Connect, "connection", "there is no such org");
        };
        let body = stream::body(call.body, call.max_tokens);
        let request = SimRequest { method: &Method::POST, target: "/v1/messages", headers, body: &body };
        let flight = self.sim.arrive(&request);
        match tokio::time::timeout(self.wire.first_byte(call.max_tokens), self.follow(flight)).await {
            Ok(reply) => reply,
            Err(_) => trouble(Trouble::Timeout, "timeout", "no answer in time"),
        }
    }

    async fn follow(&self, flight: Flight) -> Reply {
        match flight.ending() {
            Ending::Answer { after } => {
                flight.due(after).await;
                match flight.answer() {
                    Some(answer) => self.read(answer),
                    None => trouble(Trouble::Broken, "connection", "the answer was lost"),
                }
            }
            Ending::CutBody { after, at_bytes } => {
                flight.due(after).await;
                match flight.answer() {
                    Some(answer) => self.read(SimResponse { body: answer.body.slice(..at_bytes), ..answer }),
                    None => trouble(Trouble::Broken, "connection", "the answer was lost"),
                }
            }
            Ending::Reset { after, .. } => {
                flight.due(after).await;
                trouble(Trouble::Broken, "connection", "the connection was reset")
            }
            Ending::Hang => std::future::pending().await,
        }
    }

    /// Questions about models are answered at once.
    fn look(&self, org: OrgId, model: &str) -> Option<Sight> {
        let headers = self.heads.get(org.ix())?;
        let get =
            |target: &str| self.sim.arrive(&SimRequest { method: &Method::GET, target, headers, body: b"" }).answer();
        let first = get(&model_target(model))?;
        let organization = reply::organization(&first.headers, &self.scrubber, self.sim.wall());
        let finding = match of_model(first.status, &first.body, &self.scrubber) {
            Some(finding) => finding,
            None => {
                let list = get(&list_target())?;
                of_list(list.status, &list.body, model)
            }
        };
        Some(Sight { organization, at: None, finding })
    }

    fn read(&self, answer: SimResponse) -> Reply {
        reply::read(answer.status, &answer.headers, answer.body, &self.scrubber, self.sim.wall())
    }
}

/// A reply without an answer.
fn trouble(trouble: Trouble, kind: &str, message: &str) -> Reply {
    let error = ApiError { kind: kind.to_owned(), message: message.to_owned(), ..ApiError::default() };
    Reply::unanswered(trouble, error)
}

#[cfg(test)]
mod tests;
