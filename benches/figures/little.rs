//! 20,000 requests over three simulated orgs at cap 100 and a latency of 1.5 s (p95 3 s): wall-clock against Little's law.
//!
//! `cargo bench --bench figures -- little [N]`. It runs in real time: about two minutes for the default.

use std::process::Command;

use crate::support::{FANDECK, Server, run_product, write_input};

/// Median and 95th percentile of the simulated latency, seconds, as in `assets/scenarios/calm.toml`.
const P50: f64 = 1.5;
const P95: f64 = 3.0;
const ORGS: f64 = 3.0;
const CAP: f64 = 100.0;
/// Defaults of the window: start share, and seconds from there to the ceiling.
const START_SHARE: f64 = 0.25;
const RAMP: f64 = 30.0;
/// What an org is sent before it has answered at all: the window's floor.
const FIRST_CALLS: f64 = 4.0;

pub(crate) fn print(args: &[String]) {
    let n: u32 = args.first().and_then(|arg| arg.parse().ok()).unwrap_or(20_000);
    let dir = tempfile::tempdir().unwrap();
    let input = dir.path().join("input.jsonl");
    write_input(&input, n).unwrap();
    let server =
        Server::start(Command::new(FANDECK).args(["simulate", "--listen", "127.0.0.1:0", "--scenario", "calm"]));
    let env = [
        ("ANTHROPIC_API_KEY", "sim-high-prio"),
        ("ANTHROPIC_BATCH_KEY", "sim-batch"),
        ("ANTHROPIC_API_KEY_LOW_PRIO", "sim-low-prio"),
        ("ANTHROPIC_BASE_URL", server.url.as_str()),
    ];
    let outcome = run_product(&input, &dir.path().join("run"), &env, &["--no-cache", "--cap", "100"]);
    assert_eq!(outcome.finished["n_succeeded"], n);
    let wall = outcome.finished["session_wall_s"].as_f64().unwrap();
    // Log-normal: mean = median × exp(σ²/2), with σ from the 95th percentile.
    let sigma = (P95 / P50).ln() / 1.645;
    let mean = P50 * (sigma * sigma / 2.0).exp();
    let ideal = f64::from(n) * mean / (ORGS * CAP);
    // While the windows grow evenly from their start share, half of the missing share is missed on average.
    let ramp = RAMP * (1.0 - START_SHARE) / 2.0;
    // Until its first answer an org is sent four calls only. The smallest of four normal draws lies 1.03 σ below the mean.
    let first_answer = P50 * (-1.03 * sigma).exp();
    let first = first_answer * (1.0 - FIRST_CALLS / CAP);
    println!("requests {n}, orgs {ORGS}, cap {CAP}, mean latency {mean:.3} s");
    println!("N × mean / slots           {ideal:>8.1} s");
    println!("lost until first answers   {first:>8.1} s");
    println!("lost while ramping         {ramp:>8.1} s");
    println!(
        "wall-clock                 {wall:>8.1} s   over all three: {:+.1} %",
        (wall / (ideal + first + ramp) - 1.0) * 100.0
    );
}
