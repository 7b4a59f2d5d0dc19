//! The cache keys of requests.
//!
//! `key = sha256(tag ‖ sha256(canonical params) ‖ draw)`: the k-th identical request of a file is a draw of its own, so
//! eight equal prompts are eight calls, and a second run of the same file finds eight answers. The keys of answers of an API
//! on this machine are apart from those of the others.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;

use sha2::{Digest, Sha256};

use super::canonical::Canonicaliser;
use super::error::ReadError;
use super::index::Input;
use super::scan;

/// A cache key.
pub type Fingerprint = [u8; 32];

/// Changes with every change of how a key is made.
const TAG: &[u8] = b"fandeck request, schema 1\0";

/// Tells the answers of an API on this machine apart.
const LOCAL: &[u8] = b"fandeck request to an API on this machine\0";

/// Requests that a thread takes at a time.
const SHARE: usize = 2_048;

/// The keys of all requests, in the order of the file, made on all cores. `progress` is told how many requests are
/// through.
///
/// # Errors
/// When a request cannot be read again as it was indexed.
pub fn fingerprints(input: &Input, progress: &mut dyn FnMut(u32)) -> Result<Vec<Fingerprint>, ReadError> {
    let mut keys = vec![[0; 32]; input.len() as usize];
    hash_params(input, &mut keys, progress)?;
    number_draws(&mut keys);
    Ok(keys)
}

/// Makes keys those of answers of an API on this machine. Such an API is mostly a simulated one, whose answers must never be
/// taken for real ones, and real ones answer nothing there.
pub fn keep_local(keys: &mut [Fingerprint]) {
    for key in keys {
        let mut hash = Sha256::new();
        hash.update(LOCAL);
        hash.update(*key);
        *key = hash.finalize().into();
    }
}

/// First step: the hash of every request's canonical params.
fn hash_params(input: &Input, keys: &mut [Fingerprint], progress: &mut dyn FnMut(u32)) -> Result<(), ReadError> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(keys.len().div_ceil(SHARE));
    let shares = Mutex::new(keys.chunks_mut(SHARE).enumerate());
    let stop = AtomicBool::new(false);
    let (done, through) = mpsc::channel();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            let (shares, stop, done) = (&shares, &stop, done.clone());
            scope.spawn(move || {
                let mut worker = Worker::default();
                while !stop.load(Ordering::Relaxed) {
                    let Some((at, share)) = shares.lock().ok().and_then(|mut shares| shares.next()) else { break };
                    let result = worker.hash(input, at * SHARE, share);
                    stop.fetch_or(result.is_err(), Ordering::Relaxed);
                    if done.send(result.map(|()| share.len() as u32)).is_err() {
                        break;
                    }
                }
            });
        }
        drop(done);
        let mut n = 0;
        for result in through {
            n += result?;
            progress(n);
        }
        Ok(())
    })
}

/// The buffers of a thread.
#[derive(Default)]
struct Worker {
    buffer: Vec<u8>,
    canonicaliser: Canonicaliser,
}

impl Worker {
    fn hash(&mut self, input: &Input, from: usize, share: &mut [Fingerprint]) -> Result<(), ReadError> {
        let canonicaliser = &mut self.canonicaliser;
        let mut keys = share.iter_mut();
        let mut unreadable = None;
        let until = (from + keys.len()) as u32;
        input.each_line(from as u32, until, &mut self.buffer, &mut |no, line| {
            let params = scan::member(line, "params").and_then(|span| line.get(span));
            match (params, keys.next()) {
                (Some(params), Some(key)) => *key = Sha256::digest(canonicaliser.canonical(params)).into(),
                _ => unreadable = Some(no),
            }
        })?;
        unreadable.map_or(Ok(()), |no| Err(input.changed(no)))
    }
}

/// Second step: numbers the draws of equal requests in the order of the file, and makes the keys.
fn number_draws(keys: &mut [Fingerprint]) {
    let mut order: Vec<u32> = (0..keys.len() as u32).collect();
    order.sort_unstable_by(|&a, &b| keys[a as usize].cmp(&keys[b as usize]).then(a.cmp(&b)));
    let mut last = None;
    let mut draw = 0_u32;
    for no in order {
        let Some(key) = keys.get_mut(no as usize) else { continue };
        draw = if last == Some(*key) { draw + 1 } else { 0 };
        last = Some(*key);
        *key = Sha256::new().chain_update(TAG).chain_update(*key).chain_update(draw.to_le_bytes()).finalize().into();
    }
}
