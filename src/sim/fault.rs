//! Faults: what goes wrong, how often and when.

use std::time::Duration;

use http::StatusCode;
use serde::Deserialize;

use crate::model::limits::Limiter;

/// A fault of an org.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Fault {
    /// Share of the requests that it strikes, 0..=1.
    share: f64,
    /// When it is about.
    from: Duration,
    to: Duration,
    /// Which calls of the org it strikes, counted from 1; both ends included.
    from_call: u64,
    to_call: u64,
    pub(super) what: Strike,
}

/// What a fault does to a request.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Strike {
    RateLimited { retry_after: RetryAfterSetting, limiter: Limiter, headers: bool },
    RampLimited { retry_after: RetryAfterSetting },
    SpendLimit,
    LowCredit,
    Unauthorized,
    Forbidden,
    Billing,
    Overloaded { status: StatusCode },
    ServerError { status: StatusCode },
    Html { status: StatusCode },
    GatewayTimeout,
    Invalid,
    ResetBefore,
    ResetDuring,
    ResetAfter,
    Hang,
    MalformedBody,
    EmptyBody,
    CutBody,
    Refusal,
    EmptyAnswer,
    Slow { factor: f64 },
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

/// A fault as written in a scenario.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct FaultFile {
    kind: FaultName,
    share: Option<f64>,
    from_s: Option<f64>,
    to_s: Option<f64>,
    from_call: Option<u64>,
    to_call: Option<u64>,
    status: Option<u16>,
    retry_after: Option<RetryAfterFile>,
    limiter: Option<Limiter>,
    headers: Option<bool>,
    factor: Option<f64>,
}

/// Names of the faults.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum FaultName {
    RateLimited,
    RampLimited,
    SpendLimit,
    LowCredit,
    Unauthorized,
    Forbidden,
    Billing,
    Overloaded,
    ServerError,
    Html,
    GatewayTimeout,
    Invalid,
    ResetBefore,
    ResetDuring,
    ResetAfter,
    Hang,
    MalformedBody,
    EmptyBody,
    CutBody,
    Refusal,
    EmptyAnswer,
    Slow,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(untagged, expecting = "retry-after: seconds, [least, most], \"date+SECONDS\" or any other text, sent as it is")]
enum RetryAfterFile {
    Seconds(u64),
    Range([u64; 2]),
    Text(String),
}

/// Seconds ahead of a date, at most: HTTP dates end with the year 9999.
const MAX_DATE_AHEAD: u64 = 1_000_000_000;

impl Fault {
    /// Whether it strikes this call.
    fn strikes(&self, now: Duration, call: u64, rng: &mut fastrand::Rng) -> bool {
        // The draw is made in any case, so that a fault that is not about leaves the later draws where they are.
        let drawn = rng.f64() < self.share;
        drawn && (self.from..self.to).contains(&now) && (self.from_call..=self.to_call).contains(&call)
    }
}

/// What strikes a call: a factor on its latency, and the first fault of the list that is more than slowness.
pub(super) fn draw<'f>(
    faults: &'f [Fault],
    now: Duration,
    call: u64,
    rng: &mut fastrand::Rng,
) -> (f64, Option<&'f Strike>) {
    let mut slowness = 1.0;
    let mut first = None;
    for fault in faults {
        if fault.strikes(now, call, rng) {
            match &fault.what {
                Strike::Slow { factor } => slowness *= factor,
                other => first = first.or(Some(other)),
            }
        }
    }
    (slowness, first)
}

impl FaultFile {
    /// The fault, or what is wrong with it and what to write instead.
    pub(super) fn resolve(self) -> Result<Fault, String> {
        self.refuse_what_does_not_belong()?;
        let share = self.share.unwrap_or(1.0);
        if !(0.0..=1.0).contains(&share) {
            return Err(format!("share = {share}: write a share of the requests between 0 and 1"));
        }
        let (from, to) = window(self.from_s, self.to_s)?;
        let from_call = self.from_call.unwrap_or(1);
        let to_call = self.to_call.unwrap_or(u64::MAX);
        if from_call == 0 || to_call < from_call {
            return Err(
                "from-call and to-call: calls are counted from 1, and the first is not after the last".to_owned()
            );
        }
        Ok(Fault { share, from, to, from_call, to_call, what: self.strike()? })
    }

    fn strike(&self) -> Result<Strike, String> {
        Ok(match self.kind {
            FaultName::RateLimited => Strike::RateLimited {
                retry_after: self.retry_after()?,
                limiter: self.limiter.unwrap_or(Limiter::OutputTokens),
                headers: self.headers.unwrap_or(true),
            },
            FaultName::RampLimited => Strike::RampLimited { retry_after: self.retry_after()? },
            FaultName::SpendLimit => Strike::SpendLimit,
            FaultName::LowCredit => Strike::LowCredit,
            FaultName::Unauthorized => Strike::Unauthorized,
            FaultName::Forbidden => Strike::Forbidden,
            FaultName::Billing => Strike::Billing,
            FaultName::Overloaded => Strike::Overloaded { status: self.status(529, &[529, 500, 503])? },
            FaultName::ServerError => Strike::ServerError { status: self.status(500, &[500, 502, 503])? },
            FaultName::Html => Strike::Html { status: self.status(502, &[502, 503, 403, 404, 200])? },
            FaultName::GatewayTimeout => Strike::GatewayTimeout,
            FaultName::Invalid => Strike::Invalid,
            FaultName::ResetBefore => Strike::ResetBefore,
            FaultName::ResetDuring => Strike::ResetDuring,
            FaultName::ResetAfter => Strike::ResetAfter,
            FaultName::Hang => Strike::Hang,
            FaultName::MalformedBody => Strike::MalformedBody,
            FaultName::EmptyBody => Strike::EmptyBody,
            FaultName::CutBody => Strike::CutBody,
            FaultName::Refusal => Strike::Refusal,
            FaultName::EmptyAnswer => Strike::EmptyAnswer,
            FaultName::Slow => match self.factor {
                Some(factor) if factor.is_finite() && (0.0..=1e4).contains(&factor) => Strike::Slow { factor },
                _ => return Err("kind = \"slow\" needs factor, between 0 and 10000".to_owned()),
            },
        })
    }

    /// A key that its kind ignores is a mistake that would go unseen.
    fn refuse_what_does_not_belong(&self) -> Result<(), String> {
        use FaultName::{Html, Overloaded, RampLimited, RateLimited, ServerError, Slow};
        let belongs = |given: bool, key: &str, kinds: &[FaultName], named: &str| {
            if given && !kinds.contains(&self.kind) {
                return Err(format!("{key} does not belong to this kind of fault; it is for {named}"));
            }
            Ok(())
        };
        belongs(
            self.status.is_some(),
            "status",
            &[Overloaded, ServerError, Html],
            "overloaded, server-error and html",
        )?;
        belongs(
            self.retry_after.is_some(),
            "retry-after",
            &[RateLimited, RampLimited],
            "rate-limited and ramp-limited",
        )?;
        belongs(self.limiter.is_some(), "limiter", &[RateLimited], "rate-limited")?;
        belongs(self.headers.is_some(), "headers", &[RateLimited], "rate-limited")?;
        belongs(self.factor.is_some(), "factor", &[Slow], "slow")
    }

    fn status(&self, default: u16, possible: &[u16]) -> Result<StatusCode, String> {
        let status = self.status.unwrap_or(default);
        match StatusCode::from_u16(status) {
            Ok(code) if possible.contains(&status) => Ok(code),
            _ => Err(format!("status = {status}: this kind of fault has one of {possible:?}")),
        }
    }

    fn retry_after(&self) -> Result<RetryAfterSetting, String> {
        Ok(match &self.retry_after {
            None => RetryAfterSetting::Absent,
            Some(RetryAfterFile::Seconds(seconds)) => RetryAfterSetting::Seconds(*seconds, *seconds),
            Some(RetryAfterFile::Range([least, most])) if least <= most => RetryAfterSetting::Seconds(*least, *most),
            Some(RetryAfterFile::Range(_)) => return Err("retry-after: write [least, most]".to_owned()),
            Some(RetryAfterFile::Text(text)) => match text.strip_prefix("date+").map(str::parse) {
                Some(Ok(seconds)) if seconds <= MAX_DATE_AHEAD => RetryAfterSetting::Date(seconds),
                Some(_) => return Err(format!("retry-after: write \"date+SECONDS\", at most {MAX_DATE_AHEAD}")),
                None if http::HeaderValue::from_str(text).is_ok() => RetryAfterSetting::Verbatim(text.clone()),
                None => return Err("retry-after: a header holds printable ASCII only".to_owned()),
            },
        })
    }
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
mod tests {
    use super::*;

    fn fault(text: &str) -> Result<Fault, String> {
        toml::from_str::<FaultFile>(text).map_err(|error| error.to_string())?.resolve()
    }

    #[test]
    fn a_fault_strikes_inside_its_window_and_its_calls_only() {
        let fault = fault("kind = \"unauthorized\"\nfrom-s = 10\nto-s = 20\nfrom-call = 5\nto-call = 6").unwrap();
        let mut rng = fastrand::Rng::with_seed(1);
        let mut hit = |s, call| fault.strikes(Duration::from_secs(s), call, &mut rng);
        assert!(hit(10, 5) && hit(19, 6));
        assert!(!hit(9, 5) && !hit(20, 5) && !hit(10, 4) && !hit(10, 7));
    }

    #[test]
    fn a_share_strikes_about_so_many() {
        let faults = [fault("kind = \"overloaded\"\nshare = 0.1").unwrap()];
        let mut rng = fastrand::Rng::with_seed(7);
        let hits = (1..=10_000).filter(|call| draw(&faults, Duration::ZERO, *call, &mut rng).1.is_some()).count();
        assert!((900..1_100).contains(&hits), "{hits}");
    }

    #[test]
    fn slowness_multiplies_and_the_first_other_fault_wins() {
        let faults =
            ["kind = \"slow\"\nfactor = 2", "kind = \"hang\"", "kind = \"slow\"\nfactor = 3", "kind = \"invalid\""]
                .map(|text| fault(text).unwrap());
        let drawn = draw(&faults, Duration::ZERO, 1, &mut fastrand::Rng::with_seed(1));
        assert_eq!(drawn, (6.0, Some(&Strike::Hang)));
    }

    #[test]
    fn every_form_of_retry_after_is_understood() {
        for (text, wanted) in [
            ("5", RetryAfterSetting::Seconds(5, 5)),
            ("[3, 8]", RetryAfterSetting::Seconds(3, 8)),
            ("\"date+30\"", RetryAfterSetting::Date(30)),
            ("\"NaN\"", RetryAfterSetting::Verbatim("NaN".to_owned())),
            ("\"-1\"", RetryAfterSetting::Verbatim("-1".to_owned())),
        ] {
            let fault = fault(&format!("kind = \"ramp-limited\"\nretry-after = {text}")).unwrap();
            assert_eq!(fault.what, Strike::RampLimited { retry_after: wanted });
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_the_remedy() {
        for (text, remedy) in [
            ("kind = \"slow\"", "needs factor"),
            ("kind = \"hang\"\nfactor = 2", "it is for slow"),
            ("kind = \"hang\"\nshare = 2", "between 0 and 1"),
            ("kind = \"hang\"\nshare = nan", "between 0 and 1"),
            ("kind = \"hang\"\nfrom-s = 5\nto-s = 5", "after from-s"),
            ("kind = \"hang\"\nfrom-s = -1", "not negative"),
            ("kind = \"hang\"\nfrom-call = 0", "counted from 1"),
            ("kind = \"html\"\nstatus = 429", "one of [502"),
            ("kind = \"rate-limited\"\nretry-after = [8, 3]", "[least, most]"),
            ("kind = \"rate-limited\"\nretry-after = true", "seconds, [least, most]"),
            ("kind = \"explode\"", "expected one of"),
        ] {
            let problem = fault(text).unwrap_err();
            assert!(problem.contains(remedy), "{text}: {problem}");
        }
    }
}
