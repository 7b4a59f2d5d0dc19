//! The facts of a run at its end, as one value: the last NDJSON line of a run, and what its report begins with.

use std::collections::BTreeMap;

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use crate::model::snapshot::{BatchesView, OrgTotals, OrgView, RunView};
use crate::model::{Counts, RunStatus, Snapshot};

/// The facts of a run at its end: the last line of `--json`, and what `fandeck report --json` prints.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunFinished {
    /// Always `run-finished`.
    pub event: String,
    /// Id of the run.
    pub run_id: String,
    /// Its directory.
    pub run_dir: String,
    /// Its input, as the operator named it.
    pub input: String,
    /// `finished` or `incomplete`, or where it was when its process left.
    pub status: RunStatus,
    /// Where its requests are, as [`count_fields`].
    #[serde(flatten, serialize_with = "count_fields")]
    pub counts: Counts,
    /// Attempts that may have been billed although no answer arrived.
    pub n_possibly_charged: u64,
    /// Attempts that failed and had to be made again, by reason, over all sessions.
    pub re_driven: BTreeMap<String, u64>,
    /// Requests answered by the number of attempts that it took: 1, 2, 3, 4, 5 or more.
    pub attempts: [u64; 5],
    /// Seconds in which the run was running, over all sessions.
    pub wall_s: f64,
    /// Seconds in this session.
    pub session_wall_s: f64,
    /// Dollars, over all sessions.
    pub cost_usd: f64,
    /// `sync` or `batch`.
    pub path: String,
    /// The rule that chose the path.
    pub route_reason: String,
    /// Per org, in the order of the configuration.
    pub orgs: Vec<OrgFinished>,
    /// Sub-batches over the whole run.
    pub sub_batches: SubBatches,
    /// Exit code of the process; `null` in a report of a run that goes on.
    pub exit_code: Option<u8>,
}

/// What an org did.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OrgFinished {
    /// Its name.
    pub label: String,
    /// Usable answers.
    pub n_ok: u64,
    /// 429s, both kinds.
    pub n_429: u64,
    /// 5xx, overload included.
    pub n_5xx: u64,
    /// Highest number in flight at once.
    pub in_flight_peak: u32,
    /// Sum of its windows at the end.
    pub window: u32,
    /// Billed input tokens.
    pub tokens_in: u64,
    /// Billed output tokens.
    pub tokens_out: u64,
    /// Dollars.
    pub cost_usd: f64,
}

/// Sub-batches of a run; all zero on the sync path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct SubBatches {
    /// Created.
    pub created: u64,
    /// Ended.
    pub ended: u64,
    /// Canceled because they were stuck.
    pub stuck_canceled: u64,
}

impl SubBatches {
    /// Those of a run, by its picture.
    pub fn of(batches: &BatchesView) -> SubBatches {
        SubBatches {
            created: u64::from(batches.created),
            ended: u64::from(batches.ended),
            stuck_canceled: u64::from(batches.stuck_canceled),
        }
    }
}

impl From<(&Snapshot, &RunView, u8)> for RunFinished {
    fn from((snapshot, run, exit_code): (&Snapshot, &RunView, u8)) -> RunFinished {
        RunFinished {
            event: "run-finished".to_owned(),
            run_id: run.run_id.clone(),
            run_dir: run.dir.clone(),
            input: run.input.clone(),
            status: run.status,
            counts: run.counts,
            n_possibly_charged: run.n_possibly_charged,
            re_driven: run.re_driven.iter().cloned().collect(),
            attempts: run.attempts,
            wall_s: seconds(run.wall_ms),
            session_wall_s: seconds(run.session_wall_ms),
            cost_usd: run.cost.usd(),
            path: run.path.as_str().to_owned(),
            route_reason: run.route_reason.clone(),
            orgs: snapshot
                .orgs
                .iter()
                .map(OrgFinished::from)
                .chain(run.absent_orgs.iter().map(|(label, totals)| OrgFinished::new(label, totals, 0)))
                .collect(),
            sub_batches: run.batches.as_ref().map(|batches| SubBatches::of(batches)).unwrap_or_default(),
            exit_code: Some(exit_code),
        }
    }
}

impl From<&OrgView> for OrgFinished {
    fn from(org: &OrgView) -> OrgFinished {
        OrgFinished::new(&org.label, &org.totals, org.window())
    }
}

impl OrgFinished {
    /// From what an org did, and the sum of its windows.
    pub fn new(label: &str, totals: &OrgTotals, window: u32) -> OrgFinished {
        OrgFinished {
            label: label.to_owned(),
            n_ok: totals.n_ok,
            n_429: totals.n_429(),
            n_5xx: totals.n_5xx + totals.n_overloaded,
            in_flight_peak: totals.in_flight_peak,
            window,
            tokens_in: totals.tokens_in,
            tokens_out: totals.tokens_out,
            cost_usd: totals.cost.usd(),
        }
    }
}

/// The counts as every JSON line of a run names them: the total, and the six that add up to it.
///
/// # Errors
/// Those of the serializer.
pub fn count_fields<S: Serializer>(counts: &Counts, serializer: S) -> Result<S::Ok, S::Error> {
    let Counts { total, cached, succeeded, refused, invalid, re_drivable, unsent, in_flight: _, unsynced: _ } = counts;
    let mut map = serializer.serialize_map(Some(7))?;
    map.serialize_entry("n_total", total)?;
    map.serialize_entry("n_cached", cached)?;
    map.serialize_entry("n_succeeded", succeeded)?;
    map.serialize_entry("n_refused", refused)?;
    map.serialize_entry("n_invalid", invalid)?;
    map.serialize_entry("n_re_drivable", re_drivable)?;
    map.serialize_entry("n_unsent", unsent)?;
    map.end()
}

fn seconds(ms: u64) -> f64 {
    ms as f64 / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fixtures;

    #[test]
    fn the_counts_of_the_final_line_add_up_to_the_total() {
        for (name, snapshot) in fixtures::all() {
            for run in &snapshot.runs {
                let end = RunFinished::from((&snapshot, run, run.counts.exit_code()));
                let line = serde_json::to_value(&end).unwrap();
                let parts = ["n_cached", "n_succeeded", "n_refused", "n_invalid", "n_re_drivable", "n_unsent"];
                let sum: u64 = parts.iter().map(|part| line[part].as_u64().unwrap()).sum();
                assert_eq!(line["n_total"], sum, "{name}");
            }
        }
    }

    #[test]
    fn the_final_line_has_the_documented_fields() {
        let snapshot = fixtures::finished();
        let end = RunFinished::from((&snapshot, &snapshot.runs[0], 3));
        insta::assert_snapshot!(serde_json::to_string_pretty(&end).unwrap());
    }
}
