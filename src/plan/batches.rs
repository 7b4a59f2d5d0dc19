//! The batch path as a range: waves of sub-batches, each as long as one takes.

use std::time::Duration;

use crate::model::planning::BATCH_SLA_S;

use super::figure::End;
use super::flow::Binding;
use super::knobs::Knobs;

/// How long the batch path takes, and of what it is made.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Waves {
    /// Sub-batches.
    pub(super) passes: u64,
    /// How often an org waits for one to end before it may open the next.
    pub(super) waves: u64,
    /// What takes the time.
    pub(super) binding: Binding,
}

/// Sub-batches and waves of `n` requests.
pub(super) fn waves(knobs: &Knobs, n: u64) -> Waves {
    let passes = n.div_ceil(u64::from(knobs.batch.size.max(1)));
    let open = u64::from(knobs.batch.max_open.max(1)) * knobs.orgs.len() as u64;
    let waves = if open == 0 { 0 } else { passes.div_ceil(open) };
    let binding = match (open, waves) {
        (0, _) => Binding::NoOrgs,
        (_, 0 | 1) => Binding::Queue,
        _ => Binding::SubBatches,
    };
    Waves { passes, waves, binding }
}

/// Seconds from the first create to the end of the last sub-batch.
pub(super) fn wall_s(knobs: &Knobs, waves: &Waves, end: End) -> f64 {
    if waves.passes > 0 && waves.waves == 0 {
        return f64::INFINITY;
    }
    waves.waves as f64 * knobs.sub_batch_s.at(end).clamp(0.0, longest(knobs).as_secs_f64())
}

/// The longest that a sub-batch can take: until the API expires it, or until the escape cancels it.
pub(super) fn longest(knobs: &Knobs) -> Duration {
    let sla = Duration::from_secs(BATCH_SLA_S);
    match knobs.batch.stuck_after {
        Some(stuck) if knobs.batch.escape => stuck.min(sla),
        _ => sla,
    }
}

#[cfg(test)]
mod tests {
    use crate::catalog::Catalog;
    use crate::model::Family;

    use super::super::knobs::OrgKnobs;
    use super::*;

    fn knobs(n: u64, orgs: usize) -> Knobs {
        let org = OrgKnobs::unknown("one", Family::Sonnet);
        Knobs::assumed(n, "claude-sonnet-4-5", vec![org; orgs], &Catalog::builtin())
    }

    #[test]
    fn b15_142_sub_batches_over_three_orgs_of_four_are_twelve_waves() {
        let waves = waves(&knobs(141_600, 3), 141_600);
        assert_eq!((waves.passes, waves.waves, waves.binding), (142, 12, Binding::SubBatches));
    }

    #[test]
    fn what_fits_into_the_open_ones_is_one_wave() {
        let of = |n, orgs| {
            let waves = waves(&knobs(n, orgs), n);
            (waves.passes, waves.waves)
        };
        assert_eq!(of(0, 3), (0, 0));
        assert_eq!(of(1, 3), (1, 1));
        assert_eq!(of(12_000, 3), (12, 1));
        assert_eq!(of(12_001, 3), (13, 2));
        assert_eq!(of(12_000, 1), (12, 3));
    }

    #[test]
    fn the_escape_bounds_a_wave_and_without_it_the_day_does() {
        let mut knobs = knobs(1_000, 1);
        let waves = waves(&knobs, 1_000);
        assert!((wall_s(&knobs, &waves, End::Mid) - 3_600.0).abs() < 1e-9);
        assert!((wall_s(&knobs, &waves, End::High) - 4.0 * 3_600.0).abs() < 1e-9);
        knobs.batch.escape = false;
        assert!((wall_s(&knobs, &waves, End::High) - 86_400.0).abs() < 1e-9);
    }

    #[test]
    fn without_an_org_nothing_ends() {
        let knobs = knobs(1_000, 0);
        let waves = waves(&knobs, 1_000);
        assert_eq!(waves.binding, Binding::NoOrgs);
        assert!(wall_s(&knobs, &waves, End::Mid).is_infinite());
    }
}
