//! The body of an answer: at once, event by event, row by row, or broken off.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use tokio::time::{Instant, Sleep};

use super::super::batch::ResultRows;
use super::super::shared::SharedSim;
use super::super::ticket::{Delivery, SimResponse};
use super::Dropped;

/// The body of an answer.
pub(super) enum Outgoing {
    Whole(Option<Bytes>),
    /// Promises `length` bytes, sends a part of them, and breaks.
    Cut {
        length: u64,
        part: Option<Bytes>,
        breaking: Breaking,
    },
    /// Events, each at its time.
    Paced(Paced),
    /// Rows, made when the connection takes them. Broken off after some bytes, if so many are `left`.
    Rows {
        rows: ResultRows,
        left: Option<usize>,
        breaking: Breaking,
    },
}

/// Breaks a body off, after what was sent of it has been flushed.
#[derive(Default)]
pub(super) struct Breaking {
    flushed: bool,
}

/// A body in parts.
pub(super) struct Paced {
    body: Bytes,
    ends: std::vec::IntoIter<usize>,
    sent: usize,
    gap: Duration,
    timer: Pin<Box<Sleep>>,
}

/// The response of an answer, broken off after so many bytes if `cut_at` says so.
pub(super) fn response(answer: SimResponse, cut_at: Option<usize>, sim: &SharedSim) -> http::Response<Outgoing> {
    let length = answer.body.len();
    let body = match (answer.delivery, cut_at) {
        (Delivery::Rows(rows), left) => Outgoing::Rows { rows, left, breaking: Breaking::default() },
        (_, Some(at)) => {
            let part = Some(answer.body.slice(..at.min(length)));
            Outgoing::Cut { length: length as u64, part, breaking: Breaking::default() }
        }
        (Delivery::Paced { ends, over }, None) => {
            let gaps = u32::try_from(ends.len()).unwrap_or(u32::MAX).saturating_sub(1).max(1);
            Outgoing::Paced(Paced {
                body: answer.body,
                ends: ends.into_iter(),
                sent: 0,
                gap: sim.real(over) / gaps,
                timer: Box::pin(tokio::time::sleep(Duration::ZERO)),
            })
        }
        (Delivery::AtOnce, None) => Outgoing::Whole(Some(answer.body)),
    };
    let mut response = http::Response::new(body);
    *response.status_mut() = answer.status;
    *response.headers_mut() = answer.headers;
    response
}

impl Body for Outgoing {
    type Data = Bytes;
    type Error = Dropped;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Dropped>>> {
        let data = |data: Option<Bytes>| Poll::Ready(data.map(|data| Ok(Frame::data(data))));
        match self.get_mut() {
            Outgoing::Whole(body) => data(body.take().filter(|body| !body.is_empty())),
            Outgoing::Cut { part: part @ Some(_), .. } => data(part.take()),
            Outgoing::Cut { breaking, .. } => breaking.poll(context),
            Outgoing::Paced(paced) => paced.poll(context).map(|next| next.map(|data| Ok(Frame::data(data)))),
            Outgoing::Rows { rows, left: None, .. } => data(rows.next()),
            Outgoing::Rows { left: Some(0), breaking, .. } => breaking.poll(context),
            Outgoing::Rows { rows, left: Some(left), breaking } => match rows.next() {
                Some(mut chunk) => {
                    chunk.truncate(*left);
                    *left -= chunk.len();
                    data(Some(chunk))
                }
                None => breaking.poll(context),
            },
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Outgoing::Whole(None))
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Outgoing::Whole(body) => SizeHint::with_exact(body.as_ref().map_or(0, Bytes::len) as u64),
            Outgoing::Cut { length, .. } => SizeHint::with_exact(*length),
            Outgoing::Paced(_) | Outgoing::Rows { .. } => SizeHint::default(),
        }
    }
}

impl Breaking {
    /// The connection flushes what it has while its body is not ready, and forgets it when the body fails.
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Dropped>>> {
        if !self.flushed {
            self.flushed = true;
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        Poll::Ready(Some(Err(Dropped)))
    }
}

impl Paced {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if self.sent > 0 && self.gap > Duration::ZERO {
            ready!(self.timer.as_mut().poll(context));
        }
        let Some(end) = self.ends.next() else { return Poll::Ready(None) };
        let part = self.body.slice(self.sent.min(end)..end.min(self.body.len()));
        self.sent = end;
        self.timer.as_mut().reset(Instant::now() + self.gap);
        Poll::Ready(Some(part))
    }
}
