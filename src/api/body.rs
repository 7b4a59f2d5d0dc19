//! Reading a body chunk by chunk, with a limit on its length, on silence, and on its time in all.
//!
//! The source of chunks is a trait, so that the composition of the limits is tested on paused time without sockets.

use std::future::Future;
use std::time::Duration;

use bytes::{Bytes, BytesMut};

use super::patience::{Span, within};

/// Limits of one body.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// Longest body in bytes; what comes after is not read.
    pub(super) len: usize,
    /// Longest silence between two chunks.
    pub(super) idle: Duration,
    /// Longest time from the first chunk to the last: a trickle is never silent and never ends.
    pub(super) whole: Duration,
}

/// How a body ended.
#[derive(Debug)]
pub(super) enum End<E> {
    /// With its end.
    Whole,
    /// With more than its limit.
    TooLong,
    /// With silence.
    Silence,
    /// With time.
    TooSlow,
    /// With an error.
    Failed(E),
}

/// Where chunks come from.
pub(super) trait Chunks: Send {
    /// Why there are no more.
    type Error: Send;

    /// The next chunk; `None` at the end.
    fn next(&mut self) -> impl Future<Output = Result<Option<Bytes>, Self::Error>> + Send;
}

impl Chunks for reqwest::Response {
    type Error = reqwest::Error;

    fn next(&mut self) -> impl Future<Output = Result<Option<Bytes>, reqwest::Error>> + Send {
        self.chunk()
    }
}

/// Reads to the end or to a limit; returns what was read in either case. A body of one chunk is returned without a copy.
pub(super) async fn collect<C: Chunks>(chunks: &mut C, limits: Limits) -> (Bytes, End<C::Error>) {
    let first = match next(chunks, limits.idle).await {
        Ok(Some(chunk)) if chunk.len() <= limits.len => chunk,
        Ok(Some(chunk)) => return (chunk.slice(..limits.len), End::TooLong),
        Ok(None) => return (Bytes::new(), End::Whole),
        Err(end) => return (Bytes::new(), end),
    };
    match next(chunks, limits.idle).await {
        Ok(Some(second)) => collect_more(first, second, chunks, limits).await,
        Ok(None) => (first, End::Whole),
        Err(end) => (first, end),
    }
}

/// Hands chunk after chunk to `take` until it says that it has enough, within the same limits.
pub(super) async fn each<C: Chunks>(
    chunks: &mut C,
    limits: Limits,
    mut take: impl FnMut(&[u8]) -> bool + Send,
) -> End<C::Error> {
    let mut whole = Span::new(limits.whole);
    let mut len = 0;
    loop {
        let Some(left) = whole.left() else { return End::TooSlow };
        match next(chunks, limits.idle.min(left)).await {
            Ok(Some(chunk)) => {
                len += chunk.len();
                if take(&chunk) {
                    return End::Whole;
                }
                if len > limits.len {
                    return End::TooLong;
                }
            }
            Ok(None) => return End::Whole,
            Err(End::Silence) if left < limits.idle => return End::TooSlow,
            Err(end) => return end,
        }
    }
}

/// The slow path: a body of several chunks, put together.
async fn collect_more<C: Chunks>(
    first: Bytes,
    second: Bytes,
    chunks: &mut C,
    limits: Limits,
) -> (Bytes, End<C::Error>) {
    let mut whole = Span::new(limits.whole);
    let mut body = BytesMut::from(&*first);
    let mut chunk = second;
    loop {
        if chunk.len() > limits.len - body.len() {
            let room = limits.len - body.len();
            body.extend_from_slice(chunk.get(..room).unwrap_or_default());
            return (body.freeze(), End::TooLong);
        }
        body.extend_from_slice(&chunk);
        let Some(left) = whole.left() else { return (body.freeze(), End::TooSlow) };
        chunk = match next(chunks, limits.idle.min(left)).await {
            Ok(Some(chunk)) => chunk,
            Ok(None) => return (body.freeze(), End::Whole),
            Err(End::Silence) if left < limits.idle => return (body.freeze(), End::TooSlow),
            Err(end) => return (body.freeze(), end),
        };
    }
}

async fn next<C: Chunks>(chunks: &mut C, idle: Duration) -> Result<Option<Bytes>, End<C::Error>> {
    // A timeout touches the timer only when the chunk is not there yet.
    match within(idle, chunks.next()).await {
        Ok(Ok(chunk)) => Ok(chunk),
        Ok(Err(error)) => Err(End::Failed(error)),
        Err(_) => Err(End::Silence),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use tokio::time::Instant;

    use super::*;
    use crate::api::patience::GRACE;

    const LIMITS: Limits = Limits { len: 10, idle: Duration::from_secs(60), whole: Duration::from_secs(600) };

    /// Chunks that come after a pause each; then the end, an error, or nothing for ever.
    struct Script {
        chunks: VecDeque<(u64, Bytes)>,
        end: Option<Result<(), &'static str>>,
    }

    fn script<const N: usize>(chunks: [(u64, &'static str); N], end: Option<Result<(), &'static str>>) -> Script {
        let chunks = chunks.into_iter().map(|(secs, text)| (secs, Bytes::from_static(text.as_bytes()))).collect();
        Script { chunks, end }
    }

    impl Chunks for Script {
        type Error = &'static str;

        async fn next(&mut self) -> Result<Option<Bytes>, &'static str> {
            if let Some((secs, chunk)) = self.chunks.pop_front() {
                tokio::time::sleep(Duration::from_secs(secs)).await;
                return Ok(Some(chunk));
            }
            match self.end {
                Some(end) => end.map(|()| None),
                None => std::future::pending().await,
            }
        }
    }

    async fn read(mut script: Script) -> (String, String) {
        let (body, end) = collect(&mut script, LIMITS).await;
        (String::from_utf8(body.to_vec()).unwrap(), format!("{end:?}"))
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_of_any_number_of_chunks_is_read_whole() {
        for (chunks, body) in [
            (script([], Some(Ok(()))), ""),
            (script([(0, "one")], Some(Ok(()))), "one"),
            (script([(59, "one"), (59, " two"), (59, "end")], Some(Ok(()))), "one twoend"),
        ] {
            assert_eq!(read(chunks).await, (body.to_owned(), "Whole".to_owned()));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_of_one_chunk_is_not_copied() {
        let chunk = Bytes::from_static(b"one");
        let mut chunks = Script { chunks: VecDeque::from([(0, chunk.clone())]), end: Some(Ok(())) };
        assert_eq!(collect(&mut chunks, LIMITS).await.0.as_ptr(), chunk.as_ptr());
    }

    #[tokio::test(start_paused = true)]
    async fn l17_what_is_over_the_limit_is_not_read() {
        let over = ("0123456789".to_owned(), "TooLong".to_owned());
        assert_eq!(read(script([(0, "0123456789a")], None)).await, over);
        assert_eq!(read(script([(0, "01234"), (0, "56789"), (0, "a")], None)).await, over);
        assert_eq!(read(script([(0, "01234"), (0, "56789a")], None)).await, over);
    }

    #[tokio::test(start_paused = true)]
    async fn l16_silence_ends_a_body_wherever_it_falls() {
        assert_eq!(read(script([], None)).await, (String::new(), "Silence".to_owned()));
        assert_eq!(read(script([(0, "a")], None)).await, ("a".to_owned(), "Silence".to_owned()));
        assert_eq!(read(script([(0, "a"), (1, "b")], None)).await, ("ab".to_owned(), "Silence".to_owned()));
        assert_eq!(read(script([(62, "a")], None)).await, (String::new(), "Silence".to_owned()));
    }

    #[tokio::test(start_paused = true)]
    async fn l16_an_error_keeps_what_was_read() {
        assert_eq!(
            read(script([(0, "a"), (0, "b")], Some(Err("reset")))).await,
            ("ab".to_owned(), "Failed(\"reset\")".to_owned())
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_trickle_ends_although_it_is_never_silent() {
        let mut trickle = Script { chunks: (0..1_000).map(|_| (55, Bytes::from_static(b"."))).collect(), end: None };
        let started = Instant::now();
        let (body, end) = collect(&mut trickle, Limits { len: 10_000, ..LIMITS }).await;
        assert!(matches!(end, End::TooSlow), "{end:?}");
        assert_eq!(body.len(), 12);
        assert_eq!(started.elapsed(), Duration::from_secs(710) + GRACE);
    }

    #[tokio::test(start_paused = true)]
    async fn a_trickle_ends_although_it_is_faster_than_what_a_stopped_process_is_granted() {
        let mut trickle = Script { chunks: (0..1_000).map(|_| (1, Bytes::from_static(b"."))).collect(), end: None };
        let started = Instant::now();
        let (_, end) = collect(&mut trickle, Limits { len: 10_000, ..LIMITS }).await;
        assert!(matches!(end, End::TooSlow), "{end:?}");
        assert!(started.elapsed() <= Duration::from_secs(605), "{:?}", started.elapsed());
    }
}
