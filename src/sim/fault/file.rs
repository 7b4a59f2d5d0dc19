//! Faults as they are written in scenarios.

use http::StatusCode;
use serde::Deserialize;

use super::super::request::Place;
use super::{Fault, Places, RetryAfterSetting, Strike, window};
use crate::model::limits::Limiter;

/// A fault as written in a scenario.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(in crate::sim) struct FaultFile {
    kind: FaultName,
    /// Which kinds of requests.
    on: Option<OneOrMany>,
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
    /// Whether the work was done, and billed, before the error came.
    processed: Option<bool>,
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
    ErrorInStream,
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

/// A place or several.
#[derive(Debug, Clone, Deserialize)]
#[serde(
    untagged,
    expecting = "on: a kind of request or a list of them: messages, count-tokens, models, batches (all of \
                               batch-create, batch-list, batch-retrieve, batch-cancel, batch-delete and batch-results) or all"
)]
enum OneOrMany {
    One(PlaceName),
    Many(Vec<PlaceName>),
}

/// A place or a group of places.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(untagged)]
enum PlaceName {
    Place(Place),
    Group(Group),
}

/// Groups of places.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Group {
    Batches,
    All,
}

impl OneOrMany {
    fn places(&self) -> Places {
        let names = match self {
            OneOrMany::One(name) => std::slice::from_ref(name),
            OneOrMany::Many(names) => names.as_slice(),
        };
        let mut places = Vec::new();
        for name in names {
            match name {
                PlaceName::Place(place) => places.push(*place),
                PlaceName::Group(Group::Batches) => places.extend(Place::BATCHES),
                PlaceName::Group(Group::All) => places.extend(Place::ALL),
            }
        }
        Places::of(&places)
    }
}

/// Seconds ahead of a date, at most: HTTP dates end with the year 9999.
const MAX_DATE_AHEAD: u64 = 1_000_000_000;

impl FaultFile {
    /// The fault, or what is wrong with it and what to write instead.
    pub(in crate::sim) fn resolve(self) -> Result<Fault, String> {
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
        Ok(Fault { places: self.places(), share, from, to, from_call, to_call, what: self.strike()? })
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
            FaultName::Overloaded => {
                Strike::Overloaded { status: self.status(529, &[529, 500, 503])?, processed: self.processed() }
            }
            FaultName::ServerError => {
                Strike::ServerError { status: self.status(500, &[500, 502, 503])?, processed: self.processed() }
            }
            FaultName::Html => Strike::Html { status: self.status(502, &[502, 503, 403, 404, 200])? },
            FaultName::GatewayTimeout => Strike::GatewayTimeout { processed: self.processed() },
            FaultName::Invalid => Strike::Invalid,
            FaultName::ResetBefore => Strike::ResetBefore,
            FaultName::ResetDuring => Strike::ResetDuring,
            FaultName::ResetAfter => Strike::ResetAfter,
            FaultName::Hang => Strike::Hang,
            FaultName::MalformedBody => Strike::MalformedBody,
            FaultName::EmptyBody => Strike::EmptyBody,
            FaultName::CutBody => Strike::CutBody,
            FaultName::ErrorInStream => Strike::ErrorInStream,
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
        use FaultName::{GatewayTimeout, Html, Overloaded, RampLimited, RateLimited, ServerError, Slow};
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
        belongs(
            self.processed.is_some(),
            "processed",
            &[Overloaded, ServerError, GatewayTimeout],
            "overloaded, server-error and gateway-timeout",
        )?;
        belongs(self.factor.is_some(), "factor", &[Slow], "slow")
    }

    /// Where it strikes. Trouble of the account is found out everywhere; the rest is about messages unless it says more.
    fn places(&self) -> Places {
        use FaultName::{Billing, Forbidden, LowCredit, SpendLimit, Unauthorized};
        match &self.on {
            Some(on) => on.places(),
            None if [Unauthorized, Forbidden, Billing, LowCredit, SpendLimit].contains(&self.kind) => {
                Places::of(&Place::ALL)
            }
            None => Places::of(&[Place::Messages]),
        }
    }

    fn processed(&self) -> bool {
        self.processed.unwrap_or(false)
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
