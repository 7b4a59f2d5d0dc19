//! The zone of the times on the screen: the operator's own, who sees the clock on his wall at 3 a.m., or UTC, as in the files
//! of a run and in the log file, to find a line again.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::model::Wall;

/// See the module. UTC, and no other, by default.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Zone {
    /// The operator's own; `None` where it is UTC, or unknown.
    own: Option<TimeZone>,
    /// UTC all the same.
    in_utc: bool,
}

impl Zone {
    /// The zone of this machine or of the variable `TZ`.
    pub fn of_process() -> Zone {
        Zone::of(TimeZone::try_system().unwrap_or(TimeZone::UTC))
    }

    /// This one; UTC where it is unknown.
    pub fn of(own: TimeZone) -> Zone {
        Zone { own: Some(own).filter(|own| *own != TimeZone::UTC && !own.is_unknown()), in_utc: false }
    }

    /// Whether there is another one than UTC.
    pub fn has_own(&self) -> bool {
        self.own.is_some()
    }

    /// Changes to the other one. Gives its name.
    pub fn change(&mut self, now: Wall) -> String {
        self.in_utc = !self.in_utc;
        self.name(now)
    }

    /// As it is called at a time: `UTC`, `CET`, `-03`.
    pub fn name(&self, at: Wall) -> String {
        self.told(at, "%Z")
    }

    /// The heading of a column of times.
    pub fn heading(&self) -> &'static str {
        if self.shown().is_some() { "time" } else { "UTC" }
    }

    /// The time of day: `05:03:59`.
    pub fn clock(&self, at: Wall) -> String {
        self.told(at, "%H:%M:%S")
    }

    /// Day and time: `2026-11-30 05:03:59.042 CET`.
    pub fn moment(&self, at: Wall) -> String {
        self.told(at, "%Y-%m-%d %H:%M:%S.%3f %Z")
    }

    fn shown(&self) -> Option<&TimeZone> {
        self.own.as_ref().filter(|_| !self.in_utc)
    }

    /// A time in this zone. One that no calendar has is drawn to the first or last that one has.
    fn told(&self, at: Wall, form: &str) -> String {
        let end = if at.0 < 0 { Timestamp::MIN } else { Timestamp::MAX };
        let moment = Timestamp::from_millisecond(at.0).unwrap_or(end);
        let zoned = moment.to_zoned_datetime(self.shown().cloned().unwrap_or(TimeZone::UTC));
        jiff::fmt::strtime::format(form, &zoned).unwrap_or_default()
    }
}

/// A time of a file of the run.
pub fn read(text: &str) -> Option<Wall> {
    text.parse::<Timestamp>().ok().map(|at| Wall(at.as_millisecond()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Five past five in the afternoon of 29 November 2026, and a bit.
    const AT: Wall = Wall(1_795_971_909_042);

    #[test]
    fn without_a_zone_of_ones_own_times_are_utc() {
        for zone in [Zone::default(), Zone::of(TimeZone::UTC), Zone::of(TimeZone::unknown())] {
            assert!(!zone.has_own());
            assert_eq!(
                (zone.clock(AT), zone.moment(AT)),
                ("17:05:09".to_owned(), "2026-11-29 17:05:09.042 UTC".to_owned())
            );
            assert_eq!((zone.heading(), zone.name(AT)), ("UTC", "UTC".to_owned()));
        }
    }

    #[test]
    fn ones_own_zone_is_shown_and_changed_to_utc_and_back() {
        let mut zone = Zone::of(TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap());
        assert_eq!(
            (zone.clock(AT), zone.moment(AT)),
            ("18:05:09".to_owned(), "2026-11-29 18:05:09.042 CET".to_owned())
        );
        let summer = Wall(AT.0 - 150 * 86_400_000);
        assert_eq!((zone.clock(summer), zone.name(summer)), ("19:05:09".to_owned(), "CEST".to_owned()));
        assert_eq!((zone.change(AT), zone.clock(AT), zone.heading()), ("UTC".to_owned(), "17:05:09".to_owned(), "UTC"));
        assert_eq!((zone.change(AT), zone.heading()), ("CET".to_owned(), "time"));
    }

    #[test]
    fn a_time_that_no_calendar_has_is_shown_all_the_same() {
        let zone = Zone::of(TimeZone::posix("<-03>3").unwrap());
        for at in [Wall(i64::MIN), Wall(i64::MAX)] {
            assert_eq!(zone.clock(at).len(), 8);
            assert!(zone.moment(at).ends_with(" -03"), "{}", zone.moment(at));
        }
        assert_eq!((read("2026-11-29T17:05:09.042Z"), read("yesterday")), (Some(AT), None));
    }
}
