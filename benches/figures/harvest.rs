//! Harvest of a large results file: megabytes a second apart from the network, and resident memory.
//!
//! `cargo bench --bench figures -- harvest [ROWS]`. Every row is read, checked, joined to its request, priced, and written as a
//! journal line to a file that is synced at the end.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use fandeck::engine::harvest_file;
use fandeck::requests::Input;

use crate::input::{peak_mb, resident_mb};
use crate::support::write_input;

const NONCE: &str = "k3x9";

pub(crate) fn print(args: &[String]) {
    let n: u32 = args.first().and_then(|arg| arg.parse().ok()).unwrap_or(100_000);
    let dir = tempfile::tempdir().unwrap();
    let (input, results) = (dir.path().join("input.jsonl"), dir.path().join("results.jsonl"));
    write_input(&input, n).unwrap();
    write_results(&results, n).unwrap();
    let input = Arc::new(Input::index(&input, &mut |_| {}).unwrap());
    let megabytes = std::fs::metadata(&results).unwrap().len() as f64 / 1e6;
    let before = resident_mb();
    let mut journal =
        std::io::BufWriter::with_capacity(1 << 20, std::fs::File::create(dir.path().join("journal")).unwrap());
    let started = Instant::now();
    let answered = harvest_file(input, &results, NONCE, &mut |line| journal.write_all(line).unwrap()).unwrap();
    journal.flush().unwrap();
    journal.get_ref().sync_all().unwrap();
    let took = started.elapsed().as_secs_f64();
    assert_eq!(answered, n);
    println!("rows {n}, {megabytes:.0} MB of results");
    println!("harvest, journal synced    {:>8.0} MB/s   ({took:.2} s)", megabytes / took);
    println!("resident before, at peak   {before:>8.0} MB, {:.0} MB", peak_mb());
}

/// Results of about a kilobyte each, in another order than the requests.
fn write_results(path: &Path, n: u32) -> std::io::Result<()> {
    let mut out = std::io::BufWriter::with_capacity(1 << 20, std::fs::File::create(path)?);
    let text = "The answer names the figures, keeps their order and adds nothing of its own. ".repeat(9);
    for at in 0..n {
        let no = n - 1 - at;
        writeln!(
            out,
            r#"{{"custom_id":"{NONCE}-{no}","result":{{"type":"succeeded","message":{{"model":"claude-haiku-4-5","id":"msg_{no:024}","type":"message","role":"assistant","content":[{{"type":"text","text":"{no}: {text}"}}],"stop_reason":"end_turn","stop_sequence":null,"usage":{{"input_tokens":320,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":180,"service_tier":"batch"}}}}}}}}"#
        )?;
    }
    out.flush()
}
