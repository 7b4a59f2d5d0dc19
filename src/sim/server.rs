//! The simulated API over HTTP/1.1: connections, bodies, and breaking both on purpose.

use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::io;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use super::core::{Ending, SimResponse};
use super::request::{MAX_BODY, SimRequest};
use super::shared::{Flight, SharedSim};

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
    // A body that breaks off has no caller any more.
    let body = read(body).await.map_err(|_| Dropped)?;
    let target = head.uri.path_and_query().map_or("/", |target| target.as_str());
    let flight = sim.arrive(&SimRequest { method: &head.method, target, headers: &head.headers, body: &body });
    let oversized = body.len() > MAX_BODY;
    drop(body);
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
            sim.sleep(after).await;
            flight.answer().map(|answer| response(answer, None)).ok_or(Dropped)
        }
        Ending::CutBody { after, at_bytes } => {
            sim.sleep(after).await;
            flight.answer().map(|answer| response(answer, Some(at_bytes))).ok_or(Dropped)
        }
        Ending::Reset { after, .. } => {
            sim.sleep(after).await;
            abort.store(true, Ordering::Relaxed);
            Err(Dropped)
        }
        Ending::Hang => match std::future::pending::<Infallible>().await {},
    }
}

fn response(answer: SimResponse, cut_at: Option<usize>) -> http::Response<Outgoing> {
    let length = answer.body.len() as u64;
    let body = match cut_at {
        None => Outgoing::Whole(Some(answer.body)),
        Some(at) => {
            Outgoing::Cut { length, part: Some(answer.body.slice(..at.min(answer.body.len()))), flushed: false }
        }
    };
    let mut response = http::Response::new(body);
    *response.status_mut() = answer.status;
    *response.headers_mut() = answer.headers;
    response
}

/// The whole body; of one that is too large, enough to show that it is.
async fn read(mut body: Incoming) -> Result<Bytes, hyper::Error> {
    let mut whole = Bytes::new();
    let mut gathered: Vec<u8> = Vec::new();
    while let Some(frame) = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
        let Ok(data) = frame?.into_data() else { continue };
        if whole.is_empty() && gathered.is_empty() {
            // Most bodies come in one piece, which needs no copy.
            whole = data;
            continue;
        }
        if gathered.is_empty() {
            let expected = usize::try_from(body.size_hint().lower()).unwrap_or(MAX_BODY).min(MAX_BODY);
            gathered.reserve(whole.len() + data.len() + expected);
            gathered.extend_from_slice(&whole);
        }
        gathered.extend_from_slice(&data);
        if gathered.len() > MAX_BODY {
            break;
        }
    }
    Ok(if gathered.is_empty() { whole } else { Bytes::from(gathered) })
}

/// The body of an answer.
enum Outgoing {
    Whole(Option<Bytes>),
    /// Promises `length` bytes, sends a part of them, and breaks.
    Cut {
        length: u64,
        part: Option<Bytes>,
        flushed: bool,
    },
}

impl Body for Outgoing {
    type Data = Bytes;
    type Error = Dropped;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Dropped>>> {
        match self.get_mut() {
            Outgoing::Whole(body) => {
                Poll::Ready(body.take().filter(|body| !body.is_empty()).map(|body| Ok(Frame::data(body))))
            }
            Outgoing::Cut { part: part @ Some(_), .. } => Poll::Ready(part.take().map(|part| Ok(Frame::data(part)))),
            Outgoing::Cut { flushed, .. } if !*flushed => {
                // The connection flushes what it has while its body is not ready, and forgets it when the body fails.
                *flushed = true;
                context.waker().wake_by_ref();
                Poll::Pending
            }
            Outgoing::Cut { .. } => Poll::Ready(Some(Err(Dropped))),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Outgoing::Whole(None))
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(match self {
            Outgoing::Whole(body) => body.as_ref().map_or(0, Bytes::len) as u64,
            Outgoing::Cut { length, .. } => *length,
        })
    }
}

/// A connection that can be torn down: with `abort` set, its end is a reset (RST) instead of a farewell (FIN).
struct Line {
    stream: TcpStream,
    abort: Arc<AtomicBool>,
}

impl Drop for Line {
    fn drop(&mut self) {
        if self.abort.load(Ordering::Relaxed) {
            let _ = self.stream.set_zero_linger();
        }
    }
}

impl AsyncRead for Line {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_read(context, into)
    }
}

impl AsyncWrite for Line {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, from: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write(context, from)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        from: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write_vectored(context, from)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let line = self.get_mut();
        if line.abort.load(Ordering::Relaxed) {
            // A shutdown would send the farewell that the reset replaces.
            return Poll::Ready(Ok(()));
        }
        ready!(Pin::new(&mut line.stream).poll_shutdown(context))?;
        Poll::Ready(Ok(()))
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
