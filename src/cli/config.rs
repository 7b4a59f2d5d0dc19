//! `fandeck config`: every setting with its origin.

use std::path::PathBuf;

use clap::Args;

use crate::api::HttpTransport;
use crate::config::{Overrides, SAMPLE};
use crate::model::Scrubber;
use crate::report::text;
use crate::tui::keymap::Keymap;
use crate::tui::theme::Theme;

use super::failure::{Failure, Outcome};
use super::out;
use super::setup::{catalog, settings};

/// `fandeck config`.
#[derive(Debug, Args)]
pub(crate) struct ConfigArgs {
    /// Say whether the configuration is sound, and nothing else
    #[arg(long)]
    pub check: bool,
    /// Print the sample configuration, which equals the defaults
    #[arg(long)]
    pub default: bool,
    /// Configuration file
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// As JSON, one setting a line
    #[arg(long)]
    pub json: bool,
}

/// Shows, checks, or prints the sample.
pub(crate) fn config(args: &ConfigArgs) -> Outcome {
    if args.default {
        return out::print(SAMPLE);
    }
    let settings = settings(args.config.as_deref(), &Overrides::default())?;
    if args.check {
        Theme::load(&settings.screen.theme).map_err(Failure::usage)?;
        Keymap::load(&settings.screen.keymap).map_err(Failure::usage)?;
        // The certificates and the catalog are files of their own, which a run would miss only when it begins.
        HttpTransport::new(&[], &settings.wire, Scrubber::default()).map_err(Failure::usage)?;
        catalog(settings.catalog_file.as_deref())?;
        return out::print("the configuration is sound\n");
    }
    if args.json {
        let mut lines = String::new();
        for line in settings.explain() {
            let json = serde_json::to_string(line)
                .map_err(|error| Failure::internal(format!("failed to write a setting: {error}")))?;
            lines.push_str(&json);
            lines.push('\n');
        }
        return out::print(&lines);
    }
    let lines = settings.explain();
    let names = lines.iter().map(|line| text::width(&line.name)).max().unwrap_or(0);
    let values = lines.iter().map(|line| text::width(&line.value)).max().unwrap_or(0).min(40);
    let table: Vec<String> = lines
        .iter()
        .map(|line| {
            format!("{}  {}  {}\n", text::fit(&line.name, names), fit_or_longer(&line.value, values), line.origin)
        })
        .collect();
    out::print(&table.concat())
}

/// A long value is shown whole: a path that is cut is no use.
fn fit_or_longer(value: &str, columns: usize) -> String {
    if text::width(value) > columns { value.to_owned() } else { text::fit(value, columns) }
}
