//! Reading the body of a request.

use std::future::poll_fn;
use std::pin::Pin;

use bytes::Bytes;
use hyper::body::{Body, Incoming};

/// The whole body; of one above `most` bytes, enough to show that it is.
pub(super) async fn read(mut body: Incoming, most: usize) -> Result<Bytes, hyper::Error> {
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
            // Reserved at once: growing by doubling would hold the largest batches twice.
            let expected = usize::try_from(body.size_hint().lower()).unwrap_or(most).min(most);
            gathered.reserve_exact(whole.len() + data.len() + expected);
            gathered.extend_from_slice(&whole);
        }
        gathered.extend_from_slice(&data);
        if gathered.len() > most {
            break;
        }
    }
    Ok(if gathered.is_empty() { whole } else { Bytes::from(gathered) })
}
