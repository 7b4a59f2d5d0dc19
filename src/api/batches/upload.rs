//! A request body that is made while it is sent: what is in memory is a few blocks of it, however long it is.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use bytes::Bytes;
use tokio::sync::mpsc;

/// Blocks that may wait to be sent.
const BLOCKS: usize = 4;

/// The end that is sent: a known length, and blocks that come.
#[derive(Debug)]
pub struct Upload {
    len: u64,
    blocks: mpsc::Receiver<Bytes>,
    whole: Arc<AtomicBool>,
    /// Bytes that were taken to be sent.
    taken: Arc<AtomicU64>,
}

/// The end that makes the blocks, on a thread that may block. Dropped before [`Feeder::finish`], it breaks the upload off:
/// the length that was promised is never reached, so that the API cannot take the body for whole.
#[derive(Debug)]
pub struct Feeder {
    blocks: mpsc::Sender<Bytes>,
    whole: Arc<AtomicBool>,
}

/// A body of `len` bytes, and its feeder.
pub fn upload(len: u64) -> (Feeder, Upload) {
    let (sender, receiver) = mpsc::channel(BLOCKS);
    let whole = Arc::new(AtomicBool::new(false));
    (
        Feeder { blocks: sender, whole: Arc::clone(&whole) },
        Upload { len, blocks: receiver, whole, taken: Arc::default() },
    )
}

impl Feeder {
    /// Hands on a block; waits while enough of them wait. False when nobody sends any more.
    ///
    /// # Panics
    /// On a thread of the runtime.
    pub fn push(&self, block: Bytes) -> bool {
        self.blocks.blocking_send(block).is_ok()
    }

    /// All blocks were handed on.
    pub fn finish(self) {
        self.whole.store(true, Ordering::Release);
    }
}

impl Upload {
    /// Length of the body in bytes.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether there is nothing to send.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Says, after the sending, how many bytes were taken at the most.
    pub(super) fn taken(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.taken)
    }

    /// The next block; `None` at the end.
    ///
    /// # Errors
    /// The feeder broke off.
    pub async fn next(&mut self) -> io::Result<Option<Bytes>> {
        match self.blocks.recv().await {
            Some(block) => {
                self.taken.fetch_add(block.len() as u64, Ordering::AcqRel);
                Ok(Some(block))
            }
            None if self.whole.load(Ordering::Acquire) => Ok(None),
            None => Err(io::Error::other("the body could not be made")),
        }
    }

    /// All of it, for a transport that keeps bodies in memory.
    ///
    /// # Errors
    /// The feeder broke off.
    pub async fn collect(mut self) -> io::Result<Bytes> {
        let mut all = bytes::BytesMut::new();
        while let Some(block) = self.next().await? {
            all.extend_from_slice(&block);
        }
        Ok(all.freeze())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn blocks_arrive_in_order_and_a_feeder_that_breaks_off_is_an_error() {
        let (feeder, body) = upload(6);
        let feeding = std::thread::spawn(move || {
            assert!(feeder.push(Bytes::from_static(b"abc")) && feeder.push(Bytes::from_static(b"def")));
            feeder.finish();
        });
        assert_eq!(&body.collect().await.unwrap()[..], b"abcdef");
        feeding.join().unwrap();

        let (feeder, mut body) = upload(6);
        std::thread::spawn(move || feeder.push(Bytes::from_static(b"abc")));
        assert_eq!(body.next().await.unwrap().unwrap(), "abc");
        assert!(body.next().await.is_err());
    }
}
