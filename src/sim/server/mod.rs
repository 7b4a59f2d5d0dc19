//! The simulated API over HTTP/1.1: connections, bodies, and breaking both on purpose.

mod incoming;
mod line;
mod outgoing;

use std::convert::Infallible;
use std::future::Future;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use super::request::SimRequest;
use super::shared::{Flight, SharedSim};
use super::ticket::Ending;
use line::Line;
use outgoing::Outgoing;

/// Answers API requests on `listener` until `shutdown` is ready; then drops what is in flight.
pub async fn serve(listener: TcpListener, sim: Arc<SharedSim>, shutdown: impl Future<Output = ()>) {
    accept(listener, shutdown, move |stream| connection(stream, Arc::clone(&sim))).await;
}

/// Takes connections until `shutdown` is ready; each lives as long as its future, and none outlives this call.
pub(super) async fn accept<F>(
    listener: TcpListener,
    shutdown: impl Future<Output = ()>,
    mut handle: impl FnMut(TcpStream) -> F,
) where
    F: Future<Output = ()> + Send + 'static,
{
    let mut shutdown = pin!(shutdown);
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            () = &mut shutdown => return,
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    // Small answers must not wait for the acknowledgement of the one before.
                    let _ = stream.set_nodelay(true);
                    connections.spawn(handle(stream));
                }
                // Out of file descriptors, or a caller that left before it was taken: others will come.
                Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn connection(stream: TcpStream, sim: Arc<SharedSim>) {
    let abort = Arc::new(AtomicBool::new(false));
    let io = TokioIo::new(Line { stream, abort: Arc::clone(&abort) });
    let service = service_fn(move |request| answer(request, Arc::clone(&sim), Arc::clone(&abort)));
    // Callers keep idle connections as long as they like: closing them would race with their next request.
    let mut http = hyper::server::conn::http1::Builder::new();
    http.header_read_timeout(None);
    // An error is a connection that broke, by the caller's doing or by ours: nobody is left to be told.
    let _ = http.serve_connection(io, service).await;
}

/// Bodies above this, bytes, are read on a thread of their own.
const LARGE: usize = 512 * 1024;

/// Ends a connection without an answer.
#[derive(Debug, thiserror::Error)]
#[error("dropped on purpose")]
struct Dropped;

async fn answer(
    request: http::Request<Incoming>,
    sim: Arc<SharedSim>,
    abort: Arc<AtomicBool>,
) -> Result<http::Response<Outgoing>, Dropped> {
    let (head, body) = request.into_parts();
    let most = SimRequest::max_body(head.uri.path());
    // A body that breaks off has no caller any more.
    let body = incoming::read(body, most).await.map_err(|_| Dropped)?;
    let length = body.len();
    let oversized = length > most;
    let arrive = {
        let sim = Arc::clone(&sim);
        move || {
            let target = head.uri.path_and_query().map_or("/", |target| target.as_str());
            sim.arrive(&SimRequest { method: &head.method, target, headers: &head.headers, body: &body })
        }
    };
    let flight = if length > LARGE {
        // A batch takes up to a second to be read, in which its thread could answer thousands of others.
        tokio::task::spawn_blocking(arrive).await.map_err(|_| Dropped)?
    } else {
        arrive()
    };
    let mut response = follow(flight, &sim, &abort).await?;
    if oversized {
        // The rest of the body is not read, so the connection cannot be used again.
        response.headers_mut().insert(http::header::CONNECTION, http::HeaderValue::from_static("close"));
    }
    Ok(response)
}

/// Waits as long as the request takes, and answers it or drops it.
async fn follow(flight: Flight, sim: &SharedSim, abort: &AtomicBool) -> Result<http::Response<Outgoing>, Dropped> {
    match flight.ending() {
        Ending::Answer { after } => {
            flight.due(after).await;
            flight.answer().map(|answer| outgoing::response(answer, None, sim)).ok_or(Dropped)
        }
        Ending::CutBody { after, at_bytes } => {
            flight.due(after).await;
            flight.answer().map(|answer| outgoing::response(answer, Some(at_bytes), sim)).ok_or(Dropped)
        }
        Ending::Reset { after, .. } => {
            flight.due(after).await;
            abort.store(true, Ordering::Relaxed);
            Err(Dropped)
        }
        Ending::Hang => match std::future::pending::<Infallible>().await {},
    }
}

/// What to tell the operator, loudly, when others can reach this address; `None` for a loopback address.
pub fn exposure_warning(address: SocketAddr) -> Option<String> {
    (!address.ip().to_canonical().is_loopback()).then(|| {
        format!(
            "WARNING: the simulated API listens on {address}, which other machines may reach, and takes any load they \
             send. Use 127.0.0.1 to keep it to this machine."
        )
    })
}

#[cfg(test)]
mod tests;
