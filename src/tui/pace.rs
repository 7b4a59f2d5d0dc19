//! When the next frame may be drawn: twenty a second at the most, and what a key asks for almost at once.
//!
//! A key frame that waited for its turn among the others would come up to 50 ms late; one that never waited would let a
//! key that is held draw as fast as it repeats. So a few frames that keys ask for may be drawn ahead of their time, and are
//! made up for: pictures wait until they are, and come with the next key in any case.

use std::time::Duration;

use tokio::time::Instant;

/// Time between two frames, in the long run and while nobody does anything.
const FRAME: Duration = Duration::from_millis(50);

/// Shortest time to a frame that a key asks for: nobody types faster, and whoever does waits for the answer.
const KEY_FRAME: Duration = Duration::from_millis(10);

/// Frames that keys may have drawn ahead of their time.
const AHEAD: u32 = 3;

/// What is to be drawn, and what was.
#[derive(Debug)]
pub(super) struct Pace {
    dirty: bool,
    /// The operator did something since the last frame.
    by_hand: bool,
    last: Instant,
    /// When the frames that were shown are made up for.
    even: Instant,
}

impl Pace {
    /// The first frame is due at once.
    pub(super) fn new(now: Instant) -> Pace {
        Pace { dirty: true, by_hand: false, last: now.checked_sub(FRAME).unwrap_or(now), even: now }
    }

    /// Something may look different.
    pub(super) fn touch(&mut self) {
        self.dirty = true;
    }

    /// The operator did something, and waits.
    pub(super) fn hurry(&mut self) {
        self.by_hand = true;
    }

    /// When the next frame is due; `None` when nothing has changed.
    pub(super) fn due(&self) -> Option<Instant> {
        let (gap, ahead) = if self.by_hand { (KEY_FRAME, AHEAD) } else { (FRAME, 0) };
        let earliest = self.even.checked_sub(FRAME * ahead).unwrap_or(self.last);
        self.dirty.then(|| earliest.max(self.last + gap))
    }

    /// A frame was drawn; `shown` when it differed from the one before, so that the terminal was written to.
    pub(super) fn drawn(&mut self, now: Instant, shown: bool) {
        (self.dirty, self.by_hand, self.last) = (false, false, now);
        if shown {
            self.even = self.even.max(now) + FRAME;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Frames drawn in some seconds of `every` so many milliseconds a change, and the longest that one waited for.
    fn frames(every: u64, by_hand: bool, seconds: u64) -> (u32, Duration) {
        let start = Instant::now();
        let mut pace = Pace::new(start);
        pace.drawn(start, true);
        let (mut n, mut longest, mut since) = (0, Duration::ZERO, None);
        for ms in 1..=seconds * 1_000 {
            let now = start + Duration::from_millis(ms);
            if ms % every == 0 {
                pace.touch();
                if by_hand {
                    pace.hurry();
                }
                since.get_or_insert(now);
            }
            if pace.due().is_some_and(|due| due <= now) {
                longest = longest.max(now - since.take().unwrap_or(now));
                pace.drawn(now, true);
                n += 1;
            }
        }
        (n, longest)
    }

    #[test]
    fn a_key_that_is_held_draws_twenty_frames_a_second_and_none_late() {
        for every in [5, 15, 33] {
            let (n, longest) = frames(every, true, 10);
            assert!((190..=200 + AHEAD + 1).contains(&n), "every {every} ms: {n} frames");
            assert!(longest <= FRAME, "every {every} ms: {longest:?}");
        }
    }

    #[test]
    fn single_keys_are_answered_at_once_and_pictures_in_their_time() {
        let (n, longest) = frames(120, true, 10);
        assert_eq!((n, longest), (83, Duration::ZERO));
        let (n, longest) = frames(7, false, 10);
        assert!((190..=200).contains(&n) && longest <= FRAME, "{n} {longest:?}");
    }

    #[test]
    fn pictures_leave_the_frames_ahead_of_their_time_to_the_keys() {
        // Faster than anybody types, while ten pictures a second come.
        for (key, picture) in [(61, 100), (67, 10), (83, 33)] {
            let start = Instant::now();
            let mut pace = Pace::new(start);
            let (mut n, mut longest, mut since) = (0, Duration::ZERO, None);
            for ms in 1..=20_000 {
                let now = start + Duration::from_millis(ms);
                if ms % picture == 0 {
                    pace.touch();
                }
                if ms % key == 0 {
                    pace.touch();
                    pace.hurry();
                    since = Some(now);
                }
                if pace.due().is_some_and(|due| due <= now) {
                    longest = longest.max(since.take().map_or(Duration::ZERO, |since| now - since));
                    pace.drawn(now, true);
                    n += 1;
                }
            }
            assert!(longest <= KEY_FRAME, "a key every {key} ms: {longest:?}");
            assert!(n <= 400 + AHEAD + 1, "a key every {key} ms: {n} frames in 20 s");
        }
    }

    #[test]
    fn a_frame_that_equals_the_last_one_costs_nothing_of_the_twenty() {
        let start = Instant::now();
        let mut pace = Pace::new(start);
        for n in 0..100 {
            pace.drawn(start + KEY_FRAME * n, false);
        }
        let now = start + KEY_FRAME * 100;
        assert_eq!(pace.due(), None);
        pace.touch();
        pace.hurry();
        assert!(pace.due().is_some_and(|due| due <= now));
    }
}
