//! What the facts of a run are in words: the same in the summary, in `status`, in the report and on the screen of runs.

use std::fmt::Write as _;

use super::format;
use super::text::harmless;
use crate::model::Counts;

/// The counts in words, those that are zero left out except for `succeeded`. Those of the open ones that are in batches at the
/// API were sent, and are told apart.
pub fn outcomes(counts: &Counts, in_batches: u64) -> String {
    let named = [
        (counts.cached, "cached", false),
        (counts.succeeded, "succeeded", counts.cached == 0),
        (counts.refused, "refused", false),
        (counts.invalid, "invalid", false),
        (counts.re_drivable, "re-drivable", false),
        (in_batches, "in batches at the API", false),
        (counts.unsent.saturating_sub(in_batches), "unsent", false),
    ];
    let shown = named.iter().filter(|(n, _, always)| *n > 0 || *always);
    shown.map(|(n, name, _)| format!("{} {name}", format::count(*n))).collect::<Vec<_>>().join(" · ")
}

/// Attempts that were made again, by reason, and how many attempts requests took, in words.
pub fn re_driven<'r>(reasons: impl Iterator<Item = (&'r str, u64)>, attempts: &[u64; 5]) -> String {
    let mut text =
        reasons.map(|(why, n)| format!("{} {}", format::count(n), harmless(why))).collect::<Vec<_>>().join(" · ");
    let again: Vec<String> = ["second", "third", "fourth", "fifth or later"]
        .iter()
        .zip(attempts.iter().skip(1))
        .filter(|(_, n)| **n > 0)
        .map(|(which, n)| format!("{} at the {which}", format::count(*n)))
        .collect();
    if !again.is_empty() {
        let _ = write!(text, "; answered {} attempt", again.join(", "));
    }
    text
}

/// What an exit code says, in words; `all_cached` when every answer came from the cache.
pub fn exit_meaning(exit_code: u8, all_cached: bool) -> &'static str {
    match exit_code {
        0 if all_cached => "every request was answered from the cache",
        0 => "every request succeeded",
        2 => "nothing was sent",
        3 => "finished, some requests are invalid or refused",
        4 => "incomplete, can be resumed",
        5 => "the run directory is owned by another process",
        129 => "ended by SIGHUP, can be resumed",
        130 => "ended by Ctrl-C, can be resumed",
        143 => "ended by SIGTERM, can be resumed",
        _ => "internal error",
    }
}

/// The option that raises the limit which ended a run, by the reason that the run has kept; without it a resume would end at
/// once.
pub fn limit_to_raise(reason: Option<&str>) -> Option<&'static str> {
    let reason = reason?;
    let of = |limit: &str| reason.contains(&format!("would pass {limit} of "));
    [("max-cost", "--max-cost"), ("max-requests", "--max-requests")]
        .into_iter()
        .find_map(|(limit, option)| of(limit).then_some(option))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_limit_that_an_option_sets_can_be_raised() {
        assert_eq!(limit_to_raise(Some("would pass max-cost of $1.00: …")), Some("--max-cost"));
        assert_eq!(limit_to_raise(Some("would pass max-requests of 7: …")), Some("--max-requests"));
        assert_eq!(limit_to_raise(Some("would pass per-day-usd of $7.00: …")), None);
        assert_eq!(limit_to_raise(Some("stopped by the operator")), None);
    }
}
