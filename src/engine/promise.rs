//! What a death of this process may leave in doubt at the most: a figure that is durable before it is used up.
//!
//! Calls that were out when a process is killed may have been billed, and nobody knows how many they were: the heartbeat in
//! `state.json` is seconds old. So the state carries a ceiling, and no call goes out that would pass the ceiling that is
//! *durable*. The ceiling is raised well before it is reached, at the price of a write of the state now and then, so that
//! calls practically never wait for it; after a kill it is an upper bound, and not far from the truth.

/// The least room for calls between what is out and the ceiling, where caps allow more.
const ROOM: u64 = 128;

/// Room for answers that wait for their fsync.
const UNSYNCED_ROOM: u64 = 32;

/// Room that is so small that the ceiling is raised.
const NEAR: u64 = 16;

/// What is open to doubt now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Open {
    /// Attempts that are in doubt already.
    pub(crate) doubt: u64,
    /// Calls that are being answered.
    pub(crate) in_flight: u64,
    /// Answers that are not durable.
    pub(crate) unsynced: u64,
    /// Calls that can be out at once, as the caps are.
    pub(crate) capacity: u64,
}

impl Open {
    /// All of it.
    fn sum(self) -> u64 {
        self.doubt + self.in_flight + self.unsynced
    }

    /// A ceiling with room above it.
    fn ceiling(self) -> u64 {
        let calls = (self.in_flight + ROOM.max(self.in_flight / 2)).min(self.capacity.max(self.in_flight));
        self.doubt + calls + self.unsynced + UNSYNCED_ROOM
    }
}

/// The ceiling of one run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Promise {
    durable: u64,
    /// As the last state says that was handed to the store.
    asked: u64,
}

impl Promise {
    /// The ceiling that a session begins with. It must be durable when the first call goes out.
    pub(crate) fn first(open: Open) -> Promise {
        Promise { durable: open.ceiling(), asked: open.ceiling() }
    }

    /// The ceiling that a state is to say.
    pub(crate) fn ceiling(self) -> u64 {
        self.asked
    }

    /// Whether one more call may go out.
    pub(crate) fn admits(self, open: Open) -> bool {
        open.sum() < self.durable.min(self.asked)
    }

    /// Whether the ceiling should be raised now.
    pub(crate) fn is_near(self, open: Open) -> bool {
        self.asked.saturating_sub(open.sum()) <= NEAR && open.ceiling() > self.asked
    }

    /// Sets the ceiling for the next state. One that is lower holds at once, one that is higher when it is durable.
    pub(crate) fn renew(&mut self, open: Open) -> u64 {
        self.asked = open.ceiling();
        self.asked
    }

    /// A state with this ceiling is durable.
    pub(crate) fn kept(&mut self, ceiling: u64) {
        self.durable = ceiling;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(in_flight: u64) -> Open {
        Open { in_flight, capacity: 1_000, ..Open::default() }
    }

    #[test]
    fn no_call_passes_a_ceiling_that_is_not_durable() {
        let mut promise = Promise::first(open(0));
        let first = promise.ceiling();
        assert!(promise.admits(open(first - 1)) && !promise.admits(open(first)));
        let raised = promise.renew(open(first - 1));
        assert!(raised > first && !promise.admits(open(first)), "the higher one is not durable");
        promise.kept(raised);
        assert!(promise.admits(open(raised - 1)) && !promise.admits(open(raised)));
    }

    #[test]
    fn a_lower_ceiling_holds_from_the_moment_that_it_is_written() {
        let mut promise = Promise::first(open(400));
        let lower = promise.renew(open(3));
        assert!(!promise.admits(open(lower)));
    }

    #[test]
    fn the_ceiling_is_raised_before_it_is_reached() {
        let mut promise = Promise::first(open(0));
        let ceiling = promise.renew(open(10));
        promise.kept(ceiling);
        let near = (10..ceiling).find(|out| promise.is_near(open(*out))).unwrap();
        assert!(near < ceiling, "{near} of {ceiling}");
    }

    #[test]
    fn caps_bound_it_and_calls_at_the_caps_do_not_raise_it_for_ever() {
        let full = Open { in_flight: 30, capacity: 30, doubt: 5, unsynced: 2 };
        let promise = Promise::first(full);
        assert_eq!(promise.ceiling(), 5 + 30 + 2 + UNSYNCED_ROOM);
        assert!(!promise.is_near(full));
    }
}
