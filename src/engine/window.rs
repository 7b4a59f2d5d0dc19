//! AIMD: how many calls of one family one organisation bears at once.
//!
//! A window starts at a share of its ceiling, grows with *time* while it is actually full, and is cut by a factor when
//! the API says 429. Growth per answer, the textbook's way, was rejected: it makes the ramp steeper the faster the
//! answers come, and the API's acceleration limits punish just that.
//!
//! A 429 that says that use grew too sharply is another matter: the load as it was is fine, its growth was not. Such a one
//! takes back a little of the window; `growth` answers for the rest.

use crate::model::{DispatchSettings, LimitKind, Mono};

/// Factor of a cut after growth that was too sharp.
const RAMP_CUT: f64 = 0.9;

/// The controller of one (organisation, family).
#[derive(Debug, Clone)]
pub(crate) struct Window {
    /// Cap of one lane, as it is now.
    pub(crate) cap: u32,
    /// Cap of one lane, as configured.
    pub(crate) polite_cap: u32,
    procs: u32,
    /// The limit, with the fraction that has grown so far.
    size: f64,
    /// Being answered.
    pub(crate) in_flight: u32,
    /// When the limit was cut last. A 429 of a call that started before it belongs to the same episode.
    last_cut: Option<Mono>,
    /// Until when growth has been credited.
    credited: Mono,
    /// Whether the window was full since `credited`.
    full: bool,
    floor: u32,
    factor: f64,
    growth_share: f64,
}

/// What a 429 did to a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cut {
    /// Cut, from and to.
    Cut {
        /// The limit before.
        from: u32,
        /// The limit after.
        to: u32,
    },
    /// The call had started before the last cut: one cut an episode.
    SameEpisode,
}

impl Window {
    pub(crate) fn new(cap: u32, settings: &DispatchSettings, now: Mono) -> Window {
        let cap = cap.max(1);
        let procs = settings.procs.max(1);
        let ceiling = f64::from(cap.saturating_mul(procs));
        let start = (ceiling * settings.start_share).max(f64::from(settings.floor)).min(ceiling).max(1.0);
        Window {
            cap,
            polite_cap: cap,
            procs,
            size: start,
            in_flight: 0,
            last_cut: None,
            credited: now,
            full: false,
            floor: settings.floor.max(1),
            factor: settings.cut,
            growth_share: growth_share(settings),
        }
    }

    /// What the window never passes.
    pub(crate) fn ceiling(&self) -> u32 {
        self.cap.saturating_mul(self.procs)
    }

    /// The limit now, at least 1.
    pub(crate) fn limit(&self) -> u32 {
        (self.size as u32).clamp(1, self.ceiling())
    }

    /// The limit while headroom is low: `share` of the ceiling, where that is less. Not of the limit: a window that is
    /// still small, as that of a dispatcher that came later, would give way twice and never come to its share.
    pub(crate) fn eased(&self, share: f64) -> u32 {
        self.limit().min((f64::from(self.ceiling()) * share) as u32).max(1)
    }

    /// Whether it still has to grow to its ceiling.
    pub(crate) fn below_ceiling(&self) -> bool {
        self.limit() < self.ceiling()
    }

    /// Whether it was full when it was looked at last.
    pub(crate) fn is_full(&self) -> bool {
        self.full
    }

    /// Credits growth for the time in which the window was full. Called before `in_flight` changes and on every tick.
    /// `limit` is what admission allows now: easing may keep it below the window's own, and a closed gate at zero. A
    /// window that a cut has left overfull does not grow either.
    pub(crate) fn touch(&mut self, now: Mono, limit: u32) {
        if self.full {
            let grown = f64::from(self.ceiling()) * self.growth_share * now.since(self.credited).as_secs_f64();
            self.size = (self.size + grown).min(f64::from(self.ceiling()));
        }
        self.credited = self.credited.max(now);
        self.full = self.in_flight == limit && limit == self.limit();
    }

    /// A call starts.
    pub(crate) fn started(&mut self) {
        self.in_flight += 1;
        self.full = self.in_flight >= self.limit();
    }

    /// A call has ended, whatever it came to.
    pub(crate) fn ended(&mut self) {
        self.in_flight = self.in_flight.saturating_sub(1);
    }

    /// A 429 came for a call that had started at `started`.
    pub(crate) fn cut(&mut self, kind: LimitKind, started: Mono, now: Mono) -> Cut {
        if self.last_cut.is_some_and(|cut| started <= cut) {
            return Cut::SameEpisode;
        }
        let from = self.limit();
        let floor = f64::from(self.floor.min(self.ceiling()));
        let factor = match kind {
            LimitKind::Steady => self.factor,
            LimitKind::Ramp => RAMP_CUT,
        };
        self.size = (self.size * factor).max(floor);
        self.last_cut = Some(now);
        self.credited = now;
        self.full = false;
        Cut::Cut { from, to: self.limit() }
    }

    /// Starts over from the floor, as after an outage: what the other side bears is unknown.
    pub(crate) fn restart(&mut self, now: Mono) {
        self.size = self.size.min(f64::from(self.floor.min(self.ceiling())));
        self.credited = now;
        self.full = false;
    }

    /// Sets the cap of one lane; the limit never stays above the new ceiling.
    pub(crate) fn set_cap(&mut self, cap: u32) {
        self.cap = cap.max(1);
        self.size = self.size.min(f64::from(self.ceiling()));
    }
}

/// Share of the ceiling that a full window gains in a second.
fn growth_share(settings: &DispatchSettings) -> f64 {
    let span = settings.ramp.as_secs_f64().max(0.001);
    // A start share of 1 would leave nothing to grow by after a cut: then the whole ceiling takes one ramp.
    let share = if settings.start_share < 1.0 { 1.0 - settings.start_share } else { 1.0 };
    share / span
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;

    fn settings() -> DispatchSettings {
        DispatchSettings::default()
    }

    fn at(secs: f64) -> Mono {
        Mono::from_span(Duration::from_secs_f64(secs))
    }

    fn fill(window: &mut Window, now: Mono) {
        let limit = window.limit();
        window.touch(now, limit);
        while window.in_flight < window.limit() {
            window.started();
        }
    }

    #[test]
    fn it_starts_at_a_quarter_of_the_cap_and_never_below_four() {
        assert_eq!(Window::new(100, &settings(), Mono::ZERO).limit(), 25);
        assert_eq!(Window::new(10, &settings(), Mono::ZERO).limit(), 4);
        assert_eq!(Window::new(2, &settings(), Mono::ZERO).limit(), 2);
    }

    #[test]
    fn a_full_window_reaches_its_ceiling_in_one_ramp_and_stays_there() {
        let mut window = Window::new(100, &settings(), Mono::ZERO);
        for tenth in 0..=300 {
            fill(&mut window, at(f64::from(tenth) / 10.0));
        }
        assert!(window.limit() >= 99, "{}", window.limit());
        fill(&mut window, at(90.0));
        assert_eq!(window.limit(), 100);
    }

    #[test]
    fn a_window_that_is_not_full_does_not_grow() {
        let mut window = Window::new(100, &settings(), Mono::ZERO);
        for second in 0..60 {
            window.touch(at(f64::from(second)), 25);
        }
        assert_eq!(window.limit(), 25);
    }

    #[test]
    fn l2_a_burst_of_429s_in_one_episode_cuts_once() {
        let mut window = Window::new(100, &settings(), Mono::ZERO);
        fill(&mut window, at(1.0));
        let before = window.limit();
        let cuts: Vec<Cut> =
            (0..25).map(|n| window.cut(LimitKind::Steady, at(0.9), at(2.0 + 0.002 * f64::from(n)))).collect();
        assert_eq!(cuts[0], Cut::Cut { from: before, to: before / 2 });
        assert!(cuts[1..].iter().all(|cut| *cut == Cut::SameEpisode));
        assert_eq!(window.limit(), before / 2);
    }

    #[test]
    fn a_429_of_a_call_that_started_after_the_cut_cuts_again_down_to_the_floor() {
        let mut window = Window::new(100, &settings(), Mono::ZERO);
        for second in 1..10 {
            window.cut(LimitKind::Steady, at(f64::from(second) - 0.5), at(f64::from(second)));
        }
        assert_eq!(window.limit(), 4);
    }

    #[test]
    fn a_429_for_growth_takes_back_a_little_only() {
        let mut window = Window::new(100, &settings(), Mono::ZERO);
        fill(&mut window, at(1.0));
        let before = window.limit();
        assert_eq!(window.cut(LimitKind::Ramp, at(0.9), at(1.0)), Cut::Cut { from: before, to: before * 9 / 10 });
    }

    proptest! {
        #[test]
        fn the_limit_stays_between_one_and_the_ceiling(
            cap in 1u32..200,
            procs in 1u32..4,
            steps in prop::collection::vec((0u8..6, 0u32..3_000), 0..200),
        ) {
            let settings = DispatchSettings { procs, ..settings() };
            let mut window = Window::new(cap, &settings, Mono::ZERO);
            let mut now = Mono::ZERO;
            for (step, millis) in steps {
                let before = now;
                now = now + Duration::from_millis(u64::from(millis));
                match step {
                    0 => fill(&mut window, now),
                    1 => { window.cut(LimitKind::Steady, before, now); }
                    5 => { window.cut(LimitKind::Ramp, before, now); }
                    2 => window.ended(),
                    3 => window.set_cap(millis % 300),
                    _ => window.restart(now),
                }
                prop_assert!(window.limit() >= 1 && window.limit() <= window.ceiling());
            }
        }
    }
}
