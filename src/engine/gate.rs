//! The gate of an organisation: closed until a time, by `retry-after`, by a bucket's reset, or by own backoff.
//!
//! After it has opened again a few calls go through until one of them is answered: whether the storm is over is known
//! from a handful of calls as well as from a window full of them. When those meet a 429 too, it is one call at a time.

use std::time::Duration;

use crate::model::{DispatchSettings, Mono, RateLimits, RetryAfter};

/// Closed until when, and why.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Gate {
    until: Option<(Mono, &'static str)>,
    /// Own backoffs in a row; sets the next one's length.
    streak: u32,
    /// Episodes of 429s since a call that started after the last of them was answered.
    unproved: u32,
    /// When the last of them began.
    since: Mono,
    /// Calls in flight that started after it.
    probes: u32,
}

/// What a 429 asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wait {
    /// So long, because of this.
    For(Duration, &'static str),
    /// Longer than a gate is meant for: park.
    Park(Duration),
    /// The org is closed already and this answer adds nothing.
    Nothing,
}

impl Gate {
    /// Time to go; `None` when open.
    pub(crate) fn closed_for(&self, now: Mono) -> Option<(Duration, &'static str)> {
        let (until, why) = self.until?;
        (until > now).then(|| (until.until(now), why))
    }

    /// When it opens.
    pub(crate) fn opens_at(&self) -> Option<Mono> {
        self.until.map(|(until, _)| until)
    }

    /// Closes it for at least `wait`. The longest wins: nobody shortens it. Gives by how much longer it is closed now.
    pub(crate) fn close(&mut self, wait: Duration, why: &'static str, now: Mono) -> Duration {
        let until = now + wait;
        let standing = self.until.map_or(now, |(standing, _)| standing.max(now));
        if until > standing {
            self.until = Some((until, why));
        }
        until.since(standing)
    }

    /// A call that started then was answered, by anything but a 429: own backoff starts from the floor again.
    pub(crate) fn answered(&mut self, started: Mono) {
        self.streak = 0;
        if started > self.since {
            self.unproved = 0;
        }
    }

    /// A new episode of 429s began: until a later call is answered, only probes go through.
    pub(crate) fn limited(&mut self, now: Mono) {
        self.unproved = self.unproved.saturating_add(1);
        self.since = now;
        self.probes = 0;
    }

    /// How many more calls may start until one is answered; `None` when it is not asking.
    pub(crate) fn probes_left(&self, floor: u32) -> Option<u32> {
        match self.unproved {
            0 => None,
            1 => Some(floor.saturating_sub(self.probes)),
            _ => Some(1u32.saturating_sub(self.probes)),
        }
    }

    /// A call starts.
    pub(crate) fn started(&mut self) {
        self.probes += 1;
    }

    /// A call that started then has ended.
    pub(crate) fn ended(&mut self, started: Mono) {
        if started > self.since {
            self.probes = self.probes.saturating_sub(1);
        }
    }

    /// How long a 429 closes the organisation. `new_episode` is false for a call that started before the last cut.
    pub(crate) fn wait(
        &mut self,
        retry_after: RetryAfter,
        limits: &RateLimits,
        new_episode: bool,
        settings: &DispatchSettings,
        rng: &mut fastrand::Rng,
    ) -> Wait {
        match retry_after {
            RetryAfter::After(span) if span > settings.park_after => Wait::Park(span),
            // A wait of milliseconds would be answered by a storm of calls; the floor holds for it, too.
            RetryAfter::After(span) => Wait::For(span.max(settings.backoff_min), "retry-after"),
            // The other 429s of an episode carry no news: a backoff of each would only add up.
            _ if !new_episode => Wait::Nothing,
            RetryAfter::Now => Wait::For(jitter(settings.backoff_min, settings.backoff_min * 2, rng), "retry-after 0"),
            RetryAfter::Absent | RetryAfter::Junk => match limits.exhausted_reset() {
                Some(reset) => {
                    let wait = reset.clamp(settings.backoff_min, settings.backoff_max.max(settings.backoff_min));
                    Wait::For(wait, "reset of the exhausted limit")
                }
                None => {
                    let wait = backoff(self.streak, settings, rng);
                    self.streak = self.streak.saturating_add(1);
                    Wait::For(wait, "own backoff")
                }
            },
        }
    }
}

/// Exponential backoff with full jitter above the floor: between `backoff_min` and `backoff_min × 2^(failures + 1)`, at
/// most `backoff_max`.
pub(crate) fn backoff(failures: u32, settings: &DispatchSettings, rng: &mut fastrand::Rng) -> Duration {
    let ceiling = settings
        .backoff_min
        .saturating_mul(1u32.checked_shl(failures.saturating_add(1)).unwrap_or(u32::MAX))
        .min(settings.backoff_max);
    jitter(settings.backoff_min, ceiling, rng)
}

fn jitter(low: Duration, high: Duration, rng: &mut fastrand::Rng) -> Duration {
    low + high.saturating_sub(low).mul_f64(rng.f64())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Bucket;

    fn rng() -> fastrand::Rng {
        fastrand::Rng::with_seed(7)
    }

    fn secs(n: u64) -> Duration {
        Duration::from_secs(n)
    }

    #[test]
    fn l4_a_later_and_shorter_retry_after_shortens_nothing() {
        let mut gate = Gate::default();
        gate.close(secs(171), "retry-after", Mono::ZERO);
        let later = Mono::from_span(secs(3));
        gate.close(secs(1), "retry-after", later);
        assert_eq!(gate.closed_for(later), Some((secs(168), "retry-after")));
        assert_eq!(gate.closed_for(Mono::from_span(secs(171))), None);
    }

    #[test]
    fn l5_a_retry_after_of_days_parks() {
        let settings = DispatchSettings::default();
        let wait =
            Gate::default().wait(RetryAfter::After(secs(302_539)), &RateLimits::default(), true, &settings, &mut rng());
        assert_eq!(wait, Wait::Park(secs(302_539)));
    }

    #[test]
    fn l3_without_any_header_the_wait_has_a_floor_and_grows_with_full_jitter() {
        let settings = DispatchSettings::default();
        let (mut gate, mut rng) = (Gate::default(), rng());
        let mut longest = Duration::ZERO;
        for _ in 0..200 {
            let Wait::For(wait, "own backoff") =
                gate.wait(RetryAfter::Junk, &RateLimits::default(), true, &settings, &mut rng)
            else {
                panic!("own backoff expected");
            };
            assert!(wait >= settings.backoff_min && wait <= settings.backoff_max);
            longest = longest.max(wait);
        }
        assert!(longest > settings.backoff_max / 2);
        gate.answered(Mono::from_span(secs(1)));
        let Wait::For(first, _) = gate.wait(RetryAfter::Absent, &RateLimits::default(), true, &settings, &mut rng)
        else {
            panic!("own backoff expected");
        };
        assert!(first <= settings.backoff_min * 2);
    }

    #[test]
    fn without_retry_after_the_reset_of_the_exhausted_bucket_counts() {
        let settings = DispatchSettings::default();
        let limits = RateLimits {
            output_tokens: Some(Bucket { limit: 10, remaining: 0, reset_in: Some(secs(7)) }),
            ..RateLimits::default()
        };
        let wait = Gate::default().wait(RetryAfter::Absent, &limits, true, &settings, &mut rng());
        assert_eq!(wait, Wait::For(secs(7), "reset of the exhausted limit"));
    }

    #[test]
    fn after_a_storm_a_few_calls_go_first_and_in_a_longer_one_a_single_one() {
        let mut gate = Gate::default();
        assert_eq!(gate.probes_left(4), None);
        gate.limited(Mono::from_span(secs(1)));
        assert_eq!(gate.probes_left(4), Some(4));
        gate.started();
        assert_eq!(gate.probes_left(4), Some(3));
        gate.answered(Mono::from_span(secs(0)));
        assert_eq!(gate.probes_left(4), Some(3), "a straggler from before says nothing");
        gate.limited(Mono::from_span(secs(3)));
        assert_eq!(gate.probes_left(4), Some(1));
        gate.started();
        assert_eq!(gate.probes_left(4), Some(0));
        gate.ended(Mono::from_span(secs(4)));
        assert_eq!(gate.probes_left(4), Some(1));
        gate.answered(Mono::from_span(secs(4)));
        assert_eq!(gate.probes_left(4), None);
    }

    #[test]
    fn the_other_429s_of_an_episode_add_nothing_unless_they_carry_a_retry_after() {
        let settings = DispatchSettings::default();
        let mut gate = Gate::default();
        let none = RateLimits::default();
        assert_eq!(gate.wait(RetryAfter::Absent, &none, false, &settings, &mut rng()), Wait::Nothing);
        assert_eq!(
            gate.wait(RetryAfter::After(secs(2)), &none, false, &settings, &mut rng()),
            Wait::For(secs(2), "retry-after")
        );
    }
}
