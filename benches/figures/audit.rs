//! The audit of a million-line input: seconds a gigabyte, and memory.
//!
//! `cargo bench --bench figures -- audit [LINES]`. Two files: judge-like requests that differ in their first words, and
//! the same with a rubric of 2,000 tokens as the system prompt and a transcript that every ten requests share.

use std::io::Write;
use std::path::Path;
use std::time::Instant;

use fandeck::catalog::Catalog;
use fandeck::requests::{AuditFacts, AuditReport, audit_file};

use crate::input::{peak_mb, resident_mb};
use crate::support::write_input;

pub(crate) fn print(args: &[String]) {
    let n: u32 = args.first().and_then(|arg| arg.parse().ok()).unwrap_or(1_000_000);
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("input.jsonl");
    write_input(&path, n).unwrap();
    measure("judge-like", &path, n);
    // A tenth of the lines, as they are ten times as long.
    write_shared(&path, n / 10).unwrap();
    measure("shared prefixes", &path, n / 10);
}

fn measure(what: &str, path: &Path, n: u32) -> AuditReport {
    let gigabytes = std::fs::metadata(path).unwrap().len() as f64 / 1e9;
    let catalog = Catalog::builtin();
    let facts = AuditFacts::assumed(&catalog, jiff::civil::date(2026, 11, 29), 3);
    let before = resident_mb();
    let started = Instant::now();
    let report = audit_file(path, &facts, &mut |_| {}).unwrap();
    let took = started.elapsed().as_secs_f64();
    assert_eq!(report.n_requests, u64::from(n));
    println!("{what}: lines {n}, {gigabytes:.2} GB");
    println!("audit                      {:>8.2} s a GB   ({took:.2} s)", took / gigabytes);
    println!("resident before, at peak   {before:>8.0} MB, {:.0} MB", peak_mb());
    for finding in &report.findings {
        println!("  {:<28} {:>14}  {}", finding.kind, finding.figure.to_string(), finding.where_at());
    }
    report
}

fn write_shared(path: &Path, n: u32) -> std::io::Result<()> {
    let mut out = std::io::BufWriter::with_capacity(1 << 20, std::fs::File::create(path)?);
    let rubric = "Grade the answer from 1 to 5, and give the reason in one sentence. ".repeat(120);
    for no in 0..n {
        let transcript =
            format!("Transcript {}. {}", no / 10, "The user asked, and the assistant answered. ".repeat(100));
        let request = serde_json::json!({
            "custom_id": format!("judge-{no:07}"),
            "params": {
                "model": "claude-sonnet-4-6",
                "max_tokens": 128,
                "system": rubric,
                "messages": [{"role": "user", "content": [
                    {"type": "text", "text": transcript},
                    {"type": "text", "text": format!("Criterion {}: is it right?", no % 10)},
                ]}],
            },
        });
        writeln!(out, "{request}")?;
    }
    out.flush()
}
