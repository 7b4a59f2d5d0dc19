//! Faults: what goes wrong with a request, where, how often and when.

use std::time::Duration;

use http::StatusCode;

use super::request::Place;
use crate::model::limits::Limiter;

mod file;

pub(super) use file::FaultFile;

/// A fault of an org.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Fault {
    /// Which kinds of requests it strikes.
    places: Places,
    /// Share of the requests that it strikes, 0..=1.
    share: f64,
    /// When it is about.
    from: Duration,
    to: Duration,
    /// Which of the org's calls to these places it strikes, counted from 1; both ends included.
    from_call: u64,
    to_call: u64,
    pub(super) what: Strike,
}

/// A set of places.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Places(u16);

impl Places {
    pub(super) fn of(places: &[Place]) -> Places {
        Places(places.iter().fold(0, |set, place| set | 1 << place.ix()))
    }

    fn has(self, place: Place) -> bool {
        self.0 & 1 << place.ix() != 0
    }
}

/// How many calls of each kind an org has made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Calls([u64; Place::ALL.len()]);

impl Calls {
    /// Notes a call; says the how many-th of its kind it is.
    pub(super) fn note(&mut self, place: Place) -> u64 {
        let Some(count) = self.0.get_mut(place.ix()) else { return 0 };
        *count += 1;
        *count
    }

    /// Calls of a kind.
    pub(super) fn of(&self, place: Place) -> u64 {
        self.0.get(place.ix()).copied().unwrap_or(0)
    }

    fn within(&self, places: Places) -> u64 {
        Place::ALL.iter().filter(|place| places.has(**place)).map(|place| self.of(*place)).sum()
    }
}

/// What a fault does to a request.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Strike {
    RateLimited {
        retry_after: RetryAfterSetting,
        limiter: Limiter,
        headers: bool,
    },
    RampLimited {
        retry_after: RetryAfterSetting,
    },
    SpendLimit,
    LowCredit,
    Unauthorized,
    Forbidden,
    Billing,
    Overloaded {
        status: StatusCode,
        processed: bool,
    },
    ServerError {
        status: StatusCode,
        processed: bool,
    },
    Html {
        status: StatusCode,
    },
    GatewayTimeout {
        processed: bool,
    },
    Invalid,
    ResetBefore,
    ResetDuring,
    ResetAfter,
    Hang,
    MalformedBody,
    EmptyBody,
    CutBody,
    /// A stream that breaks off with an error event; without a stream, an overload.
    ErrorInStream,
    Refusal,
    EmptyAnswer,
    Slow {
        factor: f64,
    },
}

/// The `retry-after` of a fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RetryAfterSetting {
    /// No such header.
    Absent,
    /// A draw from this range of seconds of the simulation's clock, both ends included.
    Seconds(u64, u64),
    /// An HTTP date so many seconds ahead.
    Date(u64),
    /// This text.
    Verbatim(String),
}

impl Fault {
    /// The same trouble for every request of an org, at any place.
    pub(super) fn always(what: Strike) -> Fault {
        let places = Places::of(&Place::ALL);
        Fault { places, share: 1.0, from: Duration::ZERO, to: Duration::MAX, from_call: 1, to_call: u64::MAX, what }
    }

    /// Whether it strikes this call, one of those to its places.
    fn strikes(&self, now: Duration, calls: &Calls, rng: &mut fastrand::Rng) -> bool {
        // The draw is made in any case, so that a fault that is not about leaves the later draws where they are.
        let drawn = rng.f64() < self.share;
        drawn
            && (self.from..self.to).contains(&now)
            && (self.from_call..=self.to_call).contains(&calls.within(self.places))
    }
}

/// What strikes a call: a factor on its latency, and the first fault of the list that is more than slowness.
pub(super) fn draw<'f>(
    faults: &'f [Fault],
    place: Place,
    now: Duration,
    calls: &Calls,
    rng: &mut fastrand::Rng,
) -> (f64, Option<&'f Strike>) {
    let mut slowness = 1.0;
    let mut first = None;
    for fault in faults.iter().filter(|fault| fault.places.has(place)) {
        if fault.strikes(now, calls, rng) {
            match &fault.what {
                Strike::Slow { factor } => slowness *= factor,
                other => first = first.or(Some(other)),
            }
        }
    }
    (slowness, first)
}

/// A span of the simulation's clock from two numbers of seconds; open ends are the start and for ever.
pub(super) fn window(from_s: Option<f64>, to_s: Option<f64>) -> Result<(Duration, Duration), String> {
    let span = |key: &str, seconds: f64| {
        Duration::try_from_secs_f64(seconds)
            .map_err(|_| format!("{key} = {seconds}: write a number of seconds that is not negative"))
    };
    let from = from_s.map_or(Ok(Duration::ZERO), |seconds| span("from-s", seconds))?;
    let to = to_s.map_or(Ok(Duration::MAX), |seconds| span("to-s", seconds))?;
    if to <= from {
        return Err("to-s must be after from-s".to_owned());
    }
    Ok((from, to))
}

#[cfg(test)]
mod tests;
