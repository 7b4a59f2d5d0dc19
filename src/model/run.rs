//! The states of a run and the counters that always add up.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::outcome::Outcome;

/// Where every request of a run is. The first six always add up to `total`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Counts {
    /// Requests in the input.
    pub total: u64,
    /// Answered from the cache, and durable.
    pub cached: u64,
    /// Durable.
    pub succeeded: u64,
    /// Durable.
    pub refused: u64,
    /// Durable.
    pub invalid: u64,
    /// Tried, and to be sent again (in flight or waiting).
    pub re_drivable: u64,
    /// Never tried to the end.
    pub unsent: u64,
    /// Of the open ones: being answered right now.
    pub in_flight: u64,
    /// Of the open ones: answered, not yet durable.
    pub unsynced: u64,
}

impl Counts {
    /// Requests that need nothing more.
    pub fn done(&self) -> u64 {
        self.cached + self.succeeded + self.refused + self.invalid
    }

    /// Requests that need something more.
    pub fn open(&self) -> u64 {
        self.re_drivable + self.unsent
    }

    /// Whether every request was answered from the cache, and there was one.
    pub fn all_cached(&self) -> bool {
        self.cached > 0 && self.cached == self.total
    }

    /// The counter of an outcome.
    pub fn of(&self, outcome: Outcome) -> u64 {
        match outcome {
            Outcome::Succeeded => self.succeeded,
            Outcome::Refused => self.refused,
            Outcome::Invalid => self.invalid,
            Outcome::ReDrivable => self.re_drivable,
        }
    }

    /// The exit code of a run that has come to rest with these counts: 0 all succeeded, 3 some invalid or refused,
    /// 4 incomplete.
    pub fn exit_code(&self) -> u8 {
        if self.open() > 0 {
            4
        } else if self.invalid + self.refused > 0 {
            3
        } else {
            0
        }
    }
}

/// State of a run, in `state.json`, on the screen and in JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunStatus {
    /// Made, nothing sent yet.
    Planned,
    /// Sending.
    Running,
    /// The operator paused admission; what is in flight finishes.
    Paused,
    /// Nothing can be sent: every org is parked, or the network is away. Waits.
    Holding,
    /// No more is admitted; ends when what is in flight has finished.
    Draining,
    /// Came to rest with requests left: can be resumed.
    Incomplete,
    /// Every request has a terminal outcome.
    Finished,
}

impl RunStatus {
    /// The name that users see.
    pub fn as_str(self) -> &'static str {
        match self {
            RunStatus::Planned => "planned",
            RunStatus::Running => "running",
            RunStatus::Paused => "paused",
            RunStatus::Holding => "holding",
            RunStatus::Draining => "draining",
            RunStatus::Incomplete => "incomplete",
            RunStatus::Finished => "finished",
        }
    }

    /// Whether the engine has let go of it.
    pub fn is_over(self) -> bool {
        matches!(self, RunStatus::Incomplete | RunStatus::Finished)
    }
}

impl fmt::Display for RunStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exit_code_follows_the_worst_that_is_left() {
        let all = Counts { total: 3, cached: 1, succeeded: 2, ..Counts::default() };
        assert_eq!(all.exit_code(), 0);
        assert_eq!(Counts { refused: 1, succeeded: 1, ..all }.exit_code(), 3);
        assert_eq!(Counts { invalid: 1, unsent: 1, ..all }.exit_code(), 4);
        assert_eq!(Counts { re_drivable: 1, ..all }.exit_code(), 4);
    }
}
