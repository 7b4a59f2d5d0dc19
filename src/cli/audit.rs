//! `fandeck audit INPUT`: what the API will refuse, what a prompt cache would save, what is sent twice.

use std::io;
use std::path::{Path, PathBuf};

use clap::Args;

use crate::catalog::Catalog;
use crate::config::{Overrides, Settings};
use crate::model::{Family, Severity};
use crate::report::{format, text};
use crate::requests::{AuditFacts, AuditReport, audit as audit_stream, audit_file};

use super::failure::{Failure, Outcome};
use super::observed::observed;
use super::out;
use super::planned::today;
use super::setup::{catalog, settings};

/// `fandeck audit`.
#[derive(Debug, Args)]
pub(crate) struct AuditArgs {
    /// The file of requests; - reads standard input
    #[arg(value_name = "INPUT")]
    pub input: PathBuf,
    /// As one JSON object
    #[arg(long)]
    pub json: bool,
    /// Only these orgs
    #[arg(long, value_name = "LABEL,…", value_delimiter = ',')]
    pub orgs: Option<Vec<String>>,
    /// Configuration file
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
}

/// Columns of the printed text.
const WIDTH: usize = 100;

/// Audits a file. Gives 3 when the API will refuse some of the requests, as a run of the file would.
pub(crate) fn audit(args: &AuditArgs) -> Outcome {
    let orgs = args.orgs.clone().unwrap_or_default();
    let settings = settings(args.config.as_deref(), &Overrides { orgs, ..Overrides::default() })?;
    let catalog = catalog(settings.catalog_file.as_deref())?;
    let facts = facts(&settings, &catalog);
    let report = match args.input == Path::new("-") {
        true => audit_stream(&args.input, io::stdin().lock(), &facts, &mut |_| {})
            .map_err(|error| Failure::usage(format!("failed to read standard input: {error}")))?,
        false => audit_file(&args.input, &facts, &mut |_| {}).map_err(Failure::usage)?,
    };
    let printed = match args.json {
        true => serde_json::to_string(&report)
            .map_err(|error| Failure::internal(format!("failed to write the audit: {error}")))?,
        false => in_words(&report, &facts),
    };
    let refused = report.findings.iter().any(|finding| finding.severity == Severity::Error);
    out::print(&format!("{printed}\n")).map(|_| if refused { 3 } else { 0 })
}

/// What the audit has to know of the orgs that the requests would go to, one org with the polite caps when there is none;
/// and of the answers of earlier runs.
pub(crate) fn facts<'c>(settings: &Settings, catalog: &'c Catalog) -> AuditFacts<'c> {
    let n = settings.orgs.len() as u32;
    let mut facts = AuditFacts::assumed(catalog, today(), n);
    let cap = |family: Family| match (settings.dispatch.cap, n) {
        (Some(cap), _) => cap,
        (None, 0) => family.default_cap(),
        (None, n) => settings.orgs.iter().map(|org| org.caps[family.ix()]).sum::<u32>() / n,
    };
    facts.in_flight = Family::ALL.map(|family| cap(family).saturating_mul(settings.dispatch.procs));
    facts.sub_batch_size = settings.batch.size;
    facts.observed = observed(&settings.runs_dir, catalog);
    facts
}

fn in_words(report: &AuditReport, facts: &AuditFacts<'_>) -> String {
    let models: Vec<String> =
        report.models.iter().map(|(model, n)| format!("{} ({})", text::harmless(model), format::count(*n))).collect();
    let mut lines = vec![format!(
        "{} requests in {} lines, {}; {}; over {} {}",
        format::count(report.n_requests),
        format::count(report.n_lines),
        format::bytes(report.bytes),
        if models.is_empty() { "no model".to_owned() } else { models.join(", ") },
        facts.orgs,
        if facts.orgs == 1 { "org" } else { "orgs" }
    )];
    for finding in &report.findings {
        lines.push(String::new());
        lines.push(format!(
            "{:<8} {}  {}  {}",
            finding.severity.as_str(),
            finding.kind,
            finding.figure,
            finding.where_at()
        ));
        let indented = |words: &str| text::wrap(words, WIDTH - 9).into_iter().map(|line| format!("         {line}"));
        lines.extend(indented(&text::harmless(&finding.text)));
        lines.extend(indented(&format!("-> {}", text::harmless(&finding.remedy))));
    }
    if report.findings.is_empty() {
        lines.push("nothing to say".to_owned());
    } else {
        lines.push("\nmoney and tokens are estimates from sizes in bytes; nothing was sent".to_owned());
    }
    lines.join("\n")
}
