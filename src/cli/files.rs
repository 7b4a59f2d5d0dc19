//! How many files this process may have open, and so how many calls can be out at once.
//!
//! Each call that is out has a connection of its own, and each connection is an open file. Shells commonly allow 256 (macOS)
//! or 1,024 (Linux) of them, while the system would allow many more: the process takes what it may. Where that is still less
//! than the caps need, fewer calls go out. The alternative, to find out when a connection cannot be opened, takes the files
//! of the journal away as well, and then answers that were paid for are in memory only.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// What is asked for: more than any caps need, and not so many that a child that closes all it could have open takes long.
/// The second is the most that macOS gives (`OPEN_MAX`).
const WANTED: [u64; 2] = [65_536, 10_240];

/// Kept for all that is no call: the journal and the other files of a run, the databases, the log, the terminal, polls and
/// downloads of sub-batches, look-ups of names.
const KEPT: u64 = 64;

/// Takes as many as the system gives. Where it gives no more, it stays as it was.
pub(crate) fn raise_limit() {
    let limit = getrlimit(Resource::Nofile);
    let Some(current) = limit.current else { return };
    for wanted in WANTED {
        let within = limit.maximum.map_or(wanted, |maximum| wanted.min(maximum));
        let raised = Rlimit { current: Some(within), maximum: limit.maximum };
        if within <= current || setrlimit(Resource::Nofile, raised).is_ok() {
            return;
        }
    }
}

/// How many calls can be out at once. An API in this process needs a file for the other end of each.
pub(crate) fn most_in_flight(embedded_api: bool) -> u32 {
    within(getrlimit(Resource::Nofile).current, embedded_api)
}

/// As [`most_in_flight`], where so many files may be open; `None` is any number. A connection that has become idle stays open
/// for a while, and may be another org's than the one that needs it: half of them may be such.
fn within(limit: Option<u64>, embedded_api: bool) -> u32 {
    let Some(limit) = limit else { return u32::MAX };
    let per_call = if embedded_api { 4 } else { 2 };
    u32::try_from((limit.saturating_sub(KEPT) / per_call).max(1)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_kept_for_the_journal_and_one_call_is_always_possible() {
        assert_eq!(within(None, false), u32::MAX);
        assert_eq!(within(Some(u64::MAX), false), u32::MAX);
        assert_eq!(within(Some(1_024), false), 480);
        assert_eq!(within(Some(1_024), true), 240);
        assert_eq!(within(Some(256), false), 96);
        assert_eq!((within(Some(64), false), within(Some(0), true)), (1, 1));
    }

    #[test]
    fn the_limit_is_raised_and_never_lowered() {
        let before = getrlimit(Resource::Nofile);
        raise_limit();
        let after = getrlimit(Resource::Nofile);
        assert_eq!(after.maximum, before.maximum);
        assert!(after.current.unwrap_or(u64::MAX) >= before.current.unwrap_or(u64::MAX));
        let enough = WANTED[1].min(before.maximum.unwrap_or(u64::MAX));
        assert!(after.current.unwrap_or(u64::MAX) >= enough, "{after:?}");
    }
}
