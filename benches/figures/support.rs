//! What the benchmarks share: a canned server in a process of its own, generated input, and the product run headless.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

/// The binary under test.
pub(crate) const FANDECK: &str = env!("CARGO_BIN_EXE_fandeck");

/// A judge-like request of about 300 input tokens.
pub(crate) fn judge_line(no: u32) -> String {
    let transcript =
        "The assistant was asked to summarise a quarterly report and to keep all figures as they are. ".repeat(12);
    let request = serde_json::json!({
        "custom_id": format!("judge-{no:07}"),
        "params": {
            "model": "claude-haiku-4-5",
            "max_tokens": 128,
            "messages": [{"role": "user", "content": format!("Case {no}. Grade the answer from 1 to 5. {transcript}")}],
        },
    });
    request.to_string()
}

/// Writes an input of `n` requests.
pub(crate) fn write_input(path: &Path, n: u32) -> std::io::Result<()> {
    let mut out = std::io::BufWriter::with_capacity(1 << 20, std::fs::File::create(path)?);
    for no in 0..n {
        writeln!(out, "{}", judge_line(no))?;
    }
    out.flush()
}

/// A server in a process of its own; ends with this value.
pub(crate) struct Server {
    child: Child,
    /// `http://127.0.0.1:PORT`.
    pub url: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    /// Starts a command that prints its URL as the first line.
    pub(crate) fn start(command: &mut Command) -> Server {
        let mut child = command.stdout(Stdio::piped()).spawn().expect("failed to start the server");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("piped")).read_line(&mut line).expect("failed to read its address");
        let url = line.split_whitespace().find(|word| word.starts_with("http://")).expect("no URL in its first line");
        Server { url: url.to_owned(), child }
    }
}

/// What the product said at the end, and how long its process took in all.
pub(crate) struct Outcome {
    /// The last NDJSON line.
    pub finished: Value,
    /// From start to end of the process.
    pub process_wall: Duration,
}

/// Runs the product headless over an input, with these variables and further arguments.
pub(crate) fn run_product(input: &Path, run_dir: &Path, env: &[(&str, &str)], args: &[&str]) -> Outcome {
    let started = Instant::now();
    let output = Command::new(FANDECK)
        .args(["run", "--json", "--yes", "--run-dir"])
        .arg(run_dir)
        .args(args)
        .arg(input)
        .env_clear()
        .env("HOME", run_dir.with_extension("home"))
        .envs(env.iter().copied())
        .stderr(Stdio::inherit())
        .output()
        .expect("failed to start the product");
    let process_wall = started.elapsed();
    let text = String::from_utf8_lossy(&output.stdout);
    let last = text.lines().last().unwrap_or_default();
    let finished: Value = serde_json::from_str(last).unwrap_or_else(|_| panic!("no last line: {text}"));
    assert_eq!(finished["event"], "run-finished", "{last}");
    Outcome { finished, process_wall }
}

/// The middle one.
pub(crate) fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}
