//! Promises that hold for any order of events.

use proptest::prelude::*;

use super::*;

fn verdict(kind: u8) -> (Verdict, RetryAfter) {
    match kind {
        0..=5 => (ok(), RetryAfter::Absent),
        6 => (limited(), RetryAfter::Absent),
        7 => (limited(), RetryAfter::After(Duration::from_secs(3))),
        8 => (overloaded(), RetryAfter::Absent),
        9 => (Verdict::Trouble(Trouble::Timeout, ApiError::default()), RetryAfter::Absent),
        10 => (no_model(), RetryAfter::Absent),
        11 => (unauthorised(), RetryAfter::Absent),
        12 => (Verdict::Trouble(Trouble::RateLimited(LimitKind::Ramp), ApiError::default()), RetryAfter::Absent),
        13 => (overloaded(), RetryAfter::After(Duration::from_secs(9))),
        _ => (Verdict::Answered { refused: true, usage: Usage::default() }, RetryAfter::Absent),
    }
}

/// Headers that may be true, rounded, or lies.
fn limits(kind: u8, remaining: usize) -> RateLimits {
    let bucket = |limit: u64, remaining: u64| Some(Bucket { limit, remaining, reset_in: None });
    let n = remaining as u64;
    match kind % 6 {
        0 => RateLimits { requests: bucket(600, n * 9), ..RateLimits::default() },
        1 => RateLimits { requests: bucket(50, 0), output_tokens: bucket(8_000, 1_000), ..RateLimits::default() },
        2 => {
            RateLimits { output_tokens: bucket(80_000, n * 1_000), input_tokens: bucket(1, 0), ..RateLimits::default() }
        }
        3 => RateLimits { tokens: bucket(u64::MAX, n), requests: bucket(u64::MAX, u64::MAX), ..RateLimits::default() },
        _ => RateLimits::default(),
    }
}

fn order(step: u8, ix: usize, orgs: usize, runs: usize, cap: u32) -> Command {
    let (org, run) = (OrgId((ix % orgs) as u16), RunSlot((ix % runs) as u16));
    match step % 7 {
        0 => Command::ReviveOrg { org },
        1 => Command::PauseRun { run },
        2 => Command::ResumeRun { run },
        3 if ix == 0 => Command::StopRun { run },
        4 if ix == 1 => Command::DrainRun { run },
        5 => Command::SetCap { org, family: Family::Haiku, seen: cap, cap: 1 + ix as u32, above_polite: true },
        _ => Command::PauseOrg { org },
    }
}

/// What controllers have decided: nothing of it may change without a word.
#[derive(Debug, Clone, PartialEq)]
struct Decided {
    runs: Vec<RunStatus>,
    parked: Vec<bool>,
    paused: Vec<bool>,
    broken: Vec<bool>,
    caps: Vec<u32>,
    /// Smaller is a cut; growth needs no words.
    windows: Vec<u32>,
    opens: Vec<Mono>,
}

impl Decided {
    fn of(desk: &Desk) -> Decided {
        let State { orgs, pools, runs, .. } = &desk.state;
        let window = |pool: &crate::engine::state::Pool| pool.windows[Family::Haiku.ix()].clone();
        Decided {
            runs: runs.iter().map(|run| run.status).collect(),
            parked: orgs.iter().map(|org| org.parked.is_some()).collect(),
            paused: orgs.iter().map(|org| org.paused).collect(),
            broken: orgs.iter().map(|org| org.breaker.open_for(desk.now.mono).is_some()).collect(),
            caps: pools.iter().map(|pool| window(pool).map_or(0, |window| window.cap)).collect(),
            windows: pools.iter().map(|pool| window(pool).map_or(0, |window| window.limit())).collect(),
            opens: pools.iter().map(|pool| pool.gate.opens_at().unwrap_or_default()).collect(),
        }
    }

    /// Whether what is now was decided since.
    fn needs_words(&self, now: &Decided) -> bool {
        let over = |status: RunStatus| status.is_over();
        // That a run has come to rest is told by its end; that a breaker's time is over, by its probe.
        let status =
            self.runs.iter().zip(&now.runs).any(|(was, is)| was != is && !over(*is) && *was != RunStatus::Holding);
        let broke = self.broken.iter().zip(&now.broken).any(|(was, is)| *is && !was);
        let cap = self.caps.iter().zip(&now.caps).any(|(was, is)| was != is && *was != 0);
        let cut = self.windows.iter().zip(&now.windows).any(|(was, is)| is < was);
        let closed = self.opens.iter().zip(&now.opens).any(|(was, is)| is.since(*was) >= Duration::from_secs(1));
        status || broke || cap || cut || closed || self.parked != now.parked || self.paused != now.paused
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// Whatever happens in whatever order: no request is lost or in two places, nothing is sent past a window or to an
    /// org that takes no work, and what the counters say adds up.
    #[test]
    fn any_order_of_events_keeps_the_promises(
        caps in prop::collection::vec(1u32..30, 1..4),
        runs in prop::collection::vec(1usize..60, 1..3),
        unattended in any::<bool>(),
        procs in 1u32..3,
        steps in prop::collection::vec((0u8..20, 0usize..64, 0u8..15, 0u64..4_000), 1..250),
    ) {
        let settings = DispatchSettings { procs, ..DispatchSettings::default() };
        let mut desk = Desk::new(&caps, &runs, settings, unattended);
        for (step, ix, kind, millis) in steps {
            let sent = desk.sent;
            let (before, told) = (Decided::of(&desk), desk.state.notices.seq);
            match step {
                0..=9 if !desk.flying.is_empty() => {
                    let (verdict, retry_after) = verdict(kind);
                    let ix = ix % desk.flying.len();
                    desk.end(ix, verdict, limits(kind.wrapping_add(step), ix), retry_after);
                }
                10..=12 => desk.sync(),
                13..=16 => {
                    let cap = before.caps[desk.state.orgs[ix % caps.len()].pool];
                    let order = order(step + kind, ix, caps.len(), runs.len(), cap);
                    let first = desk.command(order);
                    let (once, told) = (Decided::of(&desk), desk.state.notices.seq);
                    let again = desk.command(order);
                    // A command that was done is so already; one that was refused is refused again.
                    let same = match first {
                        CommandOutcome::Refused(_) => matches!(again, CommandOutcome::Refused(_)),
                        _ => !matches!(again, CommandOutcome::Done(_)),
                    };
                    prop_assert!(same, "{:?}: {:?}, then {:?}", order, first, again);
                    prop_assert_eq!((&once, told), (&Decided::of(&desk), desk.state.notices.seq), "{:?} twice", order);
                }
                _ => desk.wait(Duration::from_millis(millis)),
            }
            let after = Decided::of(&desk);
            prop_assert!(
                !before.needs_words(&after) || desk.state.notices.seq > told,
                "nothing was said of {:?} becoming {:?}", before, after
            );
            for (was, is) in before.runs.iter().zip(&after.runs) {
                prop_assert!(!was.is_over() || is == was, "{was} was the end");
                prop_assert!(*was != RunStatus::Draining || *is == *was || is.is_over(), "{was} became {is}");
            }
            for run in &desk.state.runs {
                let counts = run.queue.counts();
                prop_assert_eq!(counts.done() + counts.open(), counts.total);
                prop_assert_eq!(counts.in_flight, desk.flying.iter().filter(|(r, ..)| *r == run.slot).count() as u64);
                prop_assert!(!run.status.is_over() || counts.in_flight + counts.unsynced == 0);
            }
            let mut unique: Vec<_> = desk.flying.iter().map(|(run, no, ..)| (*run, *no)).collect();
            unique.sort();
            unique.dedup();
            prop_assert_eq!(unique.len(), desk.flying.len(), "a request is in flight twice");
            for (org, cap) in desk.state.orgs.iter().zip(&caps) {
                let window = desk.state.pools[org.pool].windows[Family::Haiku.ix()].as_ref();
                let in_flight = desk.flying_on(org.id) as u32;
                prop_assert_eq!(in_flight, org.in_flight());
                let ceiling = window.map_or(u32::MAX, |w| w.ceiling());
                prop_assert!(in_flight <= procs * (*cap).max(64) && window.is_none_or(|w| w.limit() <= ceiling));
                let sent_now = desk.sent > sent && desk.flying.last().is_some_and(|(.., last, _)| *last == org.id);
                if sent_now {
                    prop_assert!(in_flight <= window.map_or(0, |w| w.limit()), "sent past the window");
                    prop_assert!(org.parked.is_none() && !org.paused, "sent to an org that takes no work");
                }
            }
        }
    }
}
