//! `fandeck export DIR`: results in input order.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use crate::report::format;
use crate::store::{LastLines, Row, RunDir, RunFile, StoreError, without_meta};

use super::failure::{Failure, Outcome};
use super::launch::index;
use super::out;
use super::resume::{input_path, refuse_changed_input};

/// Forms of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum ExportFormat {
    /// The API's batch-result lines
    #[default]
    Jsonl,
    /// A table with a header line
    Csv,
}

/// `fandeck export`.
#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// The run directory
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
    /// Form of the output
    #[arg(long, value_enum, default_value_t)]
    pub format: ExportFormat,
    /// Where to write; without it, standard output
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Keep the fandeck block of each line
    #[arg(long)]
    pub with_meta: bool,
    /// Export although the input has changed, what still matches
    #[arg(long)]
    pub accept_changed_input: bool,
}

/// Columns of the table, a contract.
const COLUMNS: [&str; 13] = [
    "custom_id",
    "outcome",
    "text",
    "stop_reason",
    "error_type",
    "error_message",
    "model",
    "org",
    "path",
    "input_tokens",
    "output_tokens",
    "cost_usd",
    "latency_ms",
];

/// Buffer in front of the output.
const BUFFER: usize = 256 << 10;

/// Requests that an export says nothing good of.
#[derive(Default)]
struct Left {
    /// Without any outcome.
    without: u64,
    /// With a line that a resume replaces.
    re_drivable: u64,
    /// With an answer that a table cannot show.
    unknown_shape: u64,
    /// With a line that is none of ours.
    unreadable: u64,
}

impl Left {
    /// Counts a line; our own block tells its outcome.
    fn count(&mut self, line: Option<&[u8]>) {
        const RE_DRIVABLE: &[u8] = br#""outcome":"re-drivable""#;
        match line {
            None => self.without += 1,
            Some(line) => {
                let (head, _) = without_meta(line);
                let block = line.get(head.len()..).unwrap_or_default();
                self.re_drivable += u64::from(memchr::memmem::find(block, RE_DRIVABLE).is_some());
            }
        }
    }
}

/// Why the export ended early.
enum Stop {
    /// The run cannot be read.
    Store(StoreError),
    /// The output does not take it.
    Out(io::Error),
}

impl From<StoreError> for Stop {
    fn from(error: StoreError) -> Stop {
        Stop::Store(error)
    }
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Stop {
        Stop::Out(error)
    }
}

impl From<csv::Error> for Stop {
    fn from(error: csv::Error) -> Stop {
        match error.into_kind() {
            // Its kind tells a reader that has had enough from a disk that is full.
            csv::ErrorKind::Io(error) => Stop::Out(error),
            other => Stop::Out(io::Error::other(format!("{other:?}"))),
        }
    }
}

/// Writes one line per request that has an outcome; those without are counted on standard error. The run may be going on.
pub(crate) fn export(args: &ExportArgs) -> Outcome {
    let peek = RunDir::peek(&args.dir)?;
    if let Some(path) = args.out.as_deref().filter(|path| RunDir::owns(&args.dir, path)) {
        return Err(Failure::usage(format!(
            "--out {}: is a file of the run itself, and a resume would pay again for what it no longer holds; name another file",
            path.display()
        )));
    }
    let last = last_lines(args, &peek.run)?;
    let written = match &args.out {
        None => write_to(io::stdout().lock(), args, &last),
        Some(path) => write_file(path, args, &last),
    };
    let left = match written {
        Ok(left) => left,
        Err(Stop::Store(error)) => return Err(error.into()),
        // The reader has had enough.
        Err(Stop::Out(error)) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(0),
        Err(Stop::Out(error)) => {
            let to = args.out.as_deref().map_or("standard output".to_owned(), |path| path.display().to_string());
            return Err(Failure::usage(format!("failed to write to {to}: {error}")));
        }
    };
    if left.without > 0 {
        out::say(&format!("fandeck: {} requests have no outcome yet", format::count(left.without)));
    }
    if left.re_drivable > 0 {
        let dir = args.dir.display();
        let n = format::count(left.re_drivable);
        out::say(&format!(
            "fandeck: {n} requests are re-drivable, as errors in the output; `fandeck resume {dir}` sends them"
        ));
    }
    if left.unknown_shape > 0 {
        let n = format::count(left.unknown_shape);
        out::say(&format!(
            "fandeck: {n} answers are of an unknown shape, their columns empty; --format jsonl has them"
        ));
    }
    if left.unreadable > 0 {
        let n = format::count(left.unreadable);
        out::say(&format!("fandeck: {n} lines of the journal fit no table and are left out; --format jsonl has them"));
    }
    Ok(0)
}

/// The last line of each request. The results are the operator's also when the input is not there any more.
fn last_lines(args: &ExportArgs, run: &RunFile) -> Result<LastLines, Failure> {
    let path = input_path(run, &args.dir);
    let last = if let Ok(false) = path.try_exists() {
        out::say(&format!("fandeck: the input {} is gone; the order is as the journal noted it", path.display()));
        LastLines::noted(&args.dir, run.input.count)
    } else {
        let input = index(&path)?;
        refuse_changed_input(&args.dir, run, &input, args.accept_changed_input)?;
        LastLines::scan(&args.dir, &input, &mut |_| {})
    };
    last.map_err(Failure::from)
}

/// A file appears whole or not at all: what was there before stays until then.
fn write_file(path: &Path, args: &ExportArgs, last: &LastLines) -> Result<Left, Stop> {
    let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // A device or a pipe cannot be replaced by a file.
    if path.exists() && !path.is_file() {
        return write_to(File::create(path)?, args, last);
    }
    let mut temp = tempfile::NamedTempFile::new_in(dir)?;
    let left = write_to(temp.as_file_mut(), args, last)?;
    temp.as_file().sync_all()?;
    temp.persist(path).map_err(|error| error.error)?;
    Ok(left)
}

fn write_to(out: impl Write, args: &ExportArgs, last: &LastLines) -> Result<Left, Stop> {
    let mut out = BufWriter::with_capacity(BUFFER, out);
    let left = match args.format {
        ExportFormat::Jsonl => jsonl(&mut out, args, last)?,
        ExportFormat::Csv => table(&mut out, last)?,
    };
    out.flush()?;
    Ok(left)
}

fn jsonl(out: &mut impl Write, args: &ExportArgs, last: &LastLines) -> Result<Left, Stop> {
    let mut left = Left::default();
    last.for_each(|line| -> Result<(), Stop> {
        left.count(line);
        let Some(line) = line else { return Ok(()) };
        let (head, tail) = if args.with_meta { (line, &line[line.len()..]) } else { without_meta(line) };
        out.write_all(head)?;
        out.write_all(tail)?;
        out.write_all(b"\n")?;
        Ok(())
    })?;
    Ok(left)
}

fn table(out: &mut impl Write, last: &LastLines) -> Result<Left, Stop> {
    let mut left = Left::default();
    let mut table = csv::Writer::from_writer(out);
    table.write_record(COLUMNS)?;
    last.for_each(|line| -> Result<(), Stop> {
        left.count(line);
        let Some(line) = line else { return Ok(()) };
        let Some(row) = Row::parse(line) else {
            left.unreadable += 1;
            return Ok(());
        };
        left.unknown_shape += u64::from(row.unknown_shape);
        table.write_record([
            &*row.custom_id,
            row.outcome.map_or("", crate::model::Outcome::as_str),
            &row.text,
            &row.stop_reason,
            &row.error_type,
            &row.error_message,
            &row.model,
            &row.org,
            &row.path,
            &row.input_tokens.to_string(),
            &row.output_tokens.to_string(),
            &row.cost.usd().to_string(),
            &row.latency_ms.to_string(),
        ])?;
        Ok(())
    })?;
    table.flush()?;
    Ok(left)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_that_has_had_enough_of_a_table_is_known_by_the_kind_of_the_error() {
        let ended = Stop::from(csv::Error::from(io::Error::from(io::ErrorKind::BrokenPipe)));
        assert!(matches!(ended, Stop::Out(error) if error.kind() == io::ErrorKind::BrokenPipe));
    }
}
