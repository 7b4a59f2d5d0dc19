//! `fandeck runs`: the runs found under the user's data directory.

use std::path::PathBuf;

use clap::Args;

use crate::report::{format, text};
use crate::store::{Listed, list_runs};

use super::failure::Outcome;
use super::out;
use super::setup;
use super::status::{as_json, standing};

/// `fandeck runs`.
#[derive(Debug, Args)]
pub(crate) struct RunsArgs {
    /// As JSON, one object a line
    #[arg(long)]
    pub json: bool,
    /// Configuration file
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
}

/// Lists the runs, newest first.
pub(crate) fn runs(args: &RunsArgs) -> Outcome {
    let dir = setup::runs_dir(args.config.as_deref())?;
    let listed = list_runs(&dir)?;
    if args.json {
        let lines: Vec<String> = listed.iter().map(json_line).collect();
        return out::print(&lines.concat());
    }
    if listed.is_empty() {
        return out::print(&format!(
            "no runs in {}\n\n  fandeck demo        the whole product against the simulated API: no key, no network\n  \
             fandeck run FILE    run a file of requests\n",
            dir.display()
        ));
    }
    out::print(&table(&listed))
}

fn json_line(listed: &Listed) -> String {
    let value = match &listed.run {
        Ok(peek) => as_json(peek),
        Err(error) => serde_json::json!({"dir": listed.dir, "error": error.to_string()}),
    };
    format!("{value}\n")
}

/// The runs as a table.
pub(crate) fn table(listed: &[Listed]) -> String {
    let mut out = format!("{:<28} {:>9} {:>9} {:>6} {:>10}  {}\n", "status", "done", "of", "", "cost", "directory");
    for one in listed {
        let dir = text::harmless(&one.dir.display().to_string()).into_owned();
        match &one.run {
            Ok(peek) => {
                let counts = &peek.state.counts;
                out.push_str(&format!(
                    "{} {:>9} {:>9} {:>6} {:>10}  {dir}\n",
                    text::fit(&standing(peek), 28),
                    format::count(counts.done()),
                    format::count(counts.total),
                    format::share(counts.done(), counts.total),
                    format::money(peek.state.cost),
                ));
            }
            Err(error) => out.push_str(&format!("{:<28} {}\n", "unreadable", text::harmless(&error.to_string()))),
        }
    }
    out
}
