//! Sizes: what a sub-batch of the usual number of requests would weigh.

use super::facts::AuditFacts;
use super::row::Row;
use super::tally::Tally;
use crate::model::format::{bytes, count};
use crate::model::{Figure, Finding, Severity};

/// Largest body of a create, in bytes.
const MAX_BATCH: u64 = 256_000_000;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Sizes {
    total: u64,
    largest: u64,
    /// Requests so large that few of them fill a sub-batch.
    large: Tally,
}

/// A request of which fewer than sixteen fit into a batch.
const LARGE: u64 = MAX_BATCH / 16;

impl Sizes {
    /// Takes a request in.
    pub(super) fn take(&mut self, row: &Row<'_>) {
        self.total += row.bytes;
        self.largest = self.largest.max(row.bytes);
        if row.bytes > LARGE {
            self.large.add(row.line);
        }
    }

    /// What there is to say.
    pub(super) fn findings(&self, facts: &AuditFacts<'_>, n: u64) -> Vec<Finding> {
        let mean = self.total / n.max(1);
        let mut findings = Vec::new();
        findings.extend(self.large.finding(
            Severity::Warning,
            "large-for-a-batch",
            Figure::Bytes(self.largest),
            |_| {
                (
                    format!(
                        "requests of more than {}, of which a batch takes fewer than 16: the API takes {} a batch",
                        bytes(LARGE),
                        bytes(MAX_BATCH)
                    ),
                    "send these over the sync path (--path sync), or refer to files instead of sending them along"
                        .to_owned(),
                )
            },
        ));
        let fit = MAX_BATCH / mean.max(1);
        if n >= u64::from(facts.sub_batch_size) && fit < u64::from(facts.sub_batch_size) {
            let mut all = Tally::default();
            all.add_many(1, n);
            let weight = Figure::Bytes(mean.saturating_mul(u64::from(facts.sub_batch_size)));
            findings.extend(all.finding(Severity::Note, "sub-batches-cut-by-size", weight, |_| {
                (
                    format!(
                        "{} requests of about {} each are more than the {} that a batch takes: sub-batches will hold about \
                         {} instead",
                        count(u64::from(facts.sub_batch_size)),
                        bytes(mean),
                        bytes(MAX_BATCH),
                        count(fit)
                    ),
                    "nothing, or set --sub-batch-size so that all are alike".to_owned(),
                )
            }));
        }
        findings
    }
}
