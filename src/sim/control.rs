//! The statistics over HTTP, on a listener of their own: no path of the API may change what the API is asked.

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

/// Answers `GET /_sim/stats` on `listener` with [`super::Stats`] as JSON, until `shutdown` is ready.
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
    let (status, body) = if request.method() != Method::GET || request.uri().path() != STATS {
        (StatusCode::NOT_FOUND, format!("{{\"error\":\"only GET {STATS} is here\"}}"))
    } else {
        match serde_json::to_string(&sim.stats()) {
            Ok(body) => (StatusCode::OK, body),
            Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, format!("{{\"error\":\"{error}\"}}")),
        }
    };
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
