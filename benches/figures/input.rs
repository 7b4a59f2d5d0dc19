//! A million-line input: index and validation per second, and resident memory before anything is sent.
//!
//! `cargo bench --bench figures -- input [LINES]`.

use std::time::Instant;

use fandeck::requests::{Input, fingerprints};

use crate::support::write_input;

pub(crate) fn print(args: &[String]) {
    let n: u32 = args.first().and_then(|arg| arg.parse().ok()).unwrap_or(1_000_000);
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("input.jsonl");
    write_input(&path, n).unwrap();
    let megabytes = std::fs::metadata(&path).unwrap().len() as f64 / 1e6;
    let started = Instant::now();
    let input = Input::index(&path, &mut |_| {}).unwrap();
    let indexed = started.elapsed().as_secs_f64();
    assert_eq!(input.len(), n);
    println!("lines {n}, {megabytes:.0} MB");
    println!("index and validation       {:>8.0} MB/s   ({indexed:.2} s)", megabytes / indexed);
    println!("resident after it          {:>8.0} MB", resident_mb());
    let started = Instant::now();
    let keys = fingerprints(&input, &mut |_| {}).unwrap();
    let hashed = started.elapsed().as_secs_f64();
    println!("cache keys                 {:>8.2} µs each, all cores", hashed * 1e6 / f64::from(n));
    println!("resident with {} keys {:>8.0} MB, at its peak {:.0} MB", keys.len(), resident_mb(), peak_mb());
}

fn status_mb(field: &str) -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(field)).unwrap_or("0");
    line.split_whitespace().next().and_then(|kb| kb.parse::<f64>().ok()).unwrap_or(0.0) / 1e3
}

pub(crate) fn resident_mb() -> f64 {
    status_mb("VmRSS:")
}

pub(crate) fn peak_mb() -> f64 {
    status_mb("VmHWM:")
}
