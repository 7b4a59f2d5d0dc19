//! The statistics over HTTP, on a listener of their own: no path of the API may change what the API is asked.
//!
//! `GET /_sim/stats` is one object: requests, answers by status, peak concurrency, bodies that came or were billed twice,
//! and the same by org with calls by kind, tokens, cost in millionths of a dollar, batches and their rows. 429s of a key
//! are `orgs[i].answered["429"]`. `GET /_sim/batches` lists the batches as they truly are, whatever the API shows. Both
//! bring the simulation up to the moment before they answer; neither changes anything.

use std::convert::Infallible;
use std::future::Future;
use std::sync::Arc;

use http::header::{CONTENT_TYPE, HeaderValue};
use http::{Method, Request, Response, StatusCode};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};

use super::server;
use super::shared::SharedSim;

/// Where the counters are.
const STATS: &str = "/_sim/stats";

/// Where the batches are.
const BATCHES: &str = "/_sim/batches";

/// Answers on `listener` until `shutdown` is ready: `GET /_sim/stats` with [`super::Stats`] as JSON, and
/// `GET /_sim/batches` with a list of [`super::BatchView`].
pub async fn serve_control(listener: TcpListener, sim: Arc<SharedSim>, shutdown: impl Future<Output = ()>) {
    server::accept(listener, shutdown, move |stream| connection(stream, Arc::clone(&sim))).await;
}

async fn connection(stream: TcpStream, sim: Arc<SharedSim>) {
    let service = service_fn(|request| {
        let response = respond(&request, &sim);
        async { Ok::<_, Infallible>(response) }
    });
    let serving = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service);
    // A caller that leaves early is no trouble of ours.
    let _ = serving.await;
}

fn respond(request: &Request<Incoming>, sim: &SharedSim) -> Response<String> {
    let json = |value: serde_json::Result<String>| match value {
        Ok(body) => (StatusCode::OK, body),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, format!("{{\"error\":\"{error}\"}}")),
    };
    let (status, body) = match (request.method(), request.uri().path()) {
        (&Method::GET, STATS) => json(serde_json::to_string(&sim.stats())),
        (&Method::GET, BATCHES) => json(serde_json::to_string(&sim.batches())),
        _ => (StatusCode::NOT_FOUND, format!("{{\"error\":\"only GET {STATS} and GET {BATCHES} are here\"}}")),
    };
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
