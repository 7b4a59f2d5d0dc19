//! Key to paint: from the moment at which a key is sent into a pseudo-terminal to the moment at which the screen that it asks for
//! is drawn there, while thousands of outcomes a second come in, and while the API hangs.
//!
//! `cargo bench --bench figures -- paint [N]`. The figures include the pseudo-terminal and its emulator.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use termlens::{Key, Terminal};

use crate::support::{FANDECK, Server, write_input};

/// Keys in each case.
const KEYS: usize = 60;

/// From the paint to the next key: about fifteen keys a second, which is faster than anybody types for long, and no beat of
/// the pictures, of which there are ten a second.
const PAUSE: Duration = Duration::from_millis(61);

/// No limits that bind, three orgs; latencies in milliseconds.
fn scenario(dir: &Path, latency_ms: u32) -> String {
    let orgs = ["high-prio", "batch", "low-prio"];
    let orgs = orgs.map(|org| format!("[[orgs]]\nlabel = \"{org}\"\nkey = \"sim-{org}\"\n")).concat();
    let path = dir.join(format!("scenario-{latency_ms}.toml"));
    let latency = format!("latency = {{ p50-ms = {latency_ms}, p95-ms = {latency_ms} }}");
    let limits = "any-key = true\nlimits = { rpm = 1_000_000, itpm = 1_000_000_000, otpm = 1_000_000_000 }";
    std::fs::write(&path, format!("summary = \"fast\"\n{limits}\n{latency}\n{orgs}")).unwrap();
    path.to_str().unwrap().to_owned()
}

pub(crate) fn print(args: &[String]) {
    let n: u32 = args.first().and_then(|arg| arg.parse().ok()).unwrap_or(200_000);
    let dir = tempfile::tempdir().unwrap();
    let input = dir.path().join("input.jsonl");
    write_input(&input, n).unwrap();
    println!("{KEYS} keys in each case, milliseconds from key to paint, 120×40; load average {}", load());
    for (case, latency_ms) in [("busy", 20), ("the API hangs", 600_000)] {
        let scenario = scenario(dir.path(), latency_ms);
        let server =
            Server::start(Command::new(FANDECK).args(["simulate", "--listen", "127.0.0.1:0", "--scenario", &scenario]));
        let run = dir.path().join(format!("run-{latency_ms}"));
        measure(case, &input, &run, &server.url);
    }
}

fn measure(case: &str, input: &Path, run: &Path, url: &str) {
    let home = run.with_extension("home");
    std::fs::create_dir_all(home.join(".config/fandeck")).unwrap();
    let config = "[dispatch]\nstart-share = 1.0\nramp = \"1s\"\n";
    std::fs::write(home.join(".config/fandeck/config.toml"), config).unwrap();
    let mut terminal = Terminal::builder()
        .size(120, 40)
        .timeout(Duration::from_secs(60))
        .env_clear()
        .env("HOME", &home)
        .env("LANG", "C.UTF-8")
        .env("ANTHROPIC_API_KEY", "sim-high-prio")
        .env("ANTHROPIC_BATCH_KEY", "sim-batch")
        .env("ANTHROPIC_API_KEY_LOW_PRIO", "sim-low-prio")
        .env("ANTHROPIC_BASE_URL", url)
        .args(["run", "--yes", "--no-cache", "--cap", "200", "--run-dir"])
        .arg(run)
        .arg(input)
        .spawn(FANDECK)
        .unwrap();
    terminal.wait_until(|screen| screen.contains("in flight") && screen.contains("quit")).unwrap();
    std::thread::sleep(Duration::from_secs(3));
    let (started, before) = (Instant::now(), answers(run));
    let mut spans = Vec::with_capacity(KEYS);
    for no in 0..KEYS {
        let (key, shown) = if no % 2 == 0 { (Key::Char('?'), true) } else { (Key::Esc, false) };
        let at = Instant::now();
        terminal.send(key).unwrap();
        terminal.wait_until(|screen| screen.contains("pause-run") == shown).unwrap();
        spans.push(at.elapsed().as_secs_f64() * 1e3);
        std::thread::sleep(PAUSE);
    }
    let rate = (answers(run) - before) as f64 / started.elapsed().as_secs_f64();
    let frames = terminal.frame_timings().last().map_or(0, |frame| frame.index());
    spans.sort_by(f64::total_cmp);
    let at = |share: f64| spans[((spans.len() - 1) as f64 * share) as usize];
    println!(
        "{case:<14} {rate:>7.0} outcomes/s   p50 {:>5.1}   p95 {:>5.1}   longest {:>5.1}   {frames} frames in all",
        at(0.5),
        at(0.95),
        at(1.0)
    );
    terminal.send(Key::Ctrl('c')).unwrap();
    terminal.wait_exit().unwrap();
}

/// What else the machine has to do: figures of a busy one say little. Empty where there is no such file.
fn load() -> String {
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    load.split_whitespace().take(2).collect::<Vec<_>>().join(" ")
}

/// Lines of the journal.
fn answers(run: &Path) -> usize {
    let journal = std::fs::read(run.join("results.jsonl")).unwrap_or_default();
    journal.iter().filter(|byte| **byte == b'\n').count()
}
