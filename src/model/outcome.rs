//! What became of a request, and of a single attempt at it.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::limits::LimitKind;

/// Outcome of a request. The first three are terminal; the last never is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// An answer that can be used.
    Succeeded,
    /// A billed answer that is not an error and not usable: stop reason `refusal`, or no content. Never cached.
    Refused,
    /// The API says that this request is wrong.
    Invalid,
    /// Not the request's own fault: to be sent again.
    ReDrivable,
}

impl Outcome {
    /// The name that users see; also the value in the journal.
    pub fn as_str(self) -> &'static str {
        match self {
            Outcome::Succeeded => "succeeded",
            Outcome::Refused => "refused",
            Outcome::Invalid => "invalid",
            Outcome::ReDrivable => "re-drivable",
        }
    }

    /// Whether the request needs nothing more.
    pub fn is_terminal(self) -> bool {
        self != Outcome::ReDrivable
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// What the API billed for an answer. Every field but input and output is optional on the wire and zero when absent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Usage {
    /// Input tokens that were neither read from nor written to the prompt cache.
    pub input_tokens: u64,
    /// Output tokens, thinking included.
    pub output_tokens: u64,
    /// Tokens written to the prompt cache with a lifetime of five minutes.
    pub cache_write_5m: u64,
    /// Tokens written to the prompt cache with a lifetime of one hour.
    pub cache_write_1h: u64,
    /// Tokens read from the prompt cache.
    pub cache_read: u64,
    /// Searches that the API made for the answer.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub web_searches: u64,
    /// What its tokens are billed by besides their number.
    #[serde(flatten)]
    pub terms: Terms,
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

/// The terms of an answer, each of which has prices of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Terms {
    /// `speed: "fast"`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub fast: bool,
    /// `inference_geo: "us"`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub us_inference: bool,
}

impl Usage {
    /// Length of the whole prompt in tokens, cached or not.
    pub fn prompt_tokens(&self) -> u64 {
        self.input_tokens + self.cache_write_5m + self.cache_write_1h + self.cache_read
    }
}

/// The terms stand: only what was billed on the same terms is added up.
impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Usage) {
        self.input_tokens += other.input_tokens;
        self.output_tokens += other.output_tokens;
        self.cache_write_5m += other.cache_write_5m;
        self.cache_write_1h += other.cache_write_1h;
        self.cache_read += other.cache_read;
        self.web_searches += other.web_searches;
    }
}

/// An error as the API words it, scrubbed of key material and cut to a readable length.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ApiError {
    /// HTTP status; `None` when no answer came.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// `error.type`, or a name of our own (`timeout`, `connection`) when the API gave none.
    pub kind: String,
    /// `error.message`, for people. Never matched on, but for the two account messages that carry no code.
    pub message: String,
    /// `error.details.error_code`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
}

impl fmt::Display for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(status) = self.status {
            write!(f, "{status} ")?;
        }
        f.write_str(&self.kind)?;
        if let Some(code) = &self.code {
            write!(f, " ({code})")?;
        }
        if !self.message.is_empty() {
            write!(f, ": {}", self.message)?;
        }
        Ok(())
    }
}

/// Trouble of the org's account: the request is unharmed and goes to another org.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AccountTrouble {
    /// 401: the key is wrong or was revoked.
    Auth,
    /// 403: the key may not do this.
    Permission,
    /// 402: a payment problem.
    Billing,
    /// 400 "credit balance is too low".
    Credit,
    /// A spend limit, of the tier or self-set: waiting does not heal it.
    SpendLimit,
    /// The organisation is on hold, or a code of that kind.
    OnHold,
    /// The answer is not this API's: a wrong base URL, a proxy's login page.
    Endpoint,
}

impl AccountTrouble {
    /// The reason as the screen states it after `parked:`.
    pub fn as_str(self) -> &'static str {
        match self {
            AccountTrouble::Auth => "auth",
            AccountTrouble::Permission => "permission",
            AccountTrouble::Billing => "billing",
            AccountTrouble::Credit => "credit",
            AccountTrouble::SpendLimit => "spend-limit",
            AccountTrouble::OnHold => "on-hold",
            AccountTrouble::Endpoint => "endpoint",
        }
    }
}

/// Why an attempt has to be made again. None of these burns a terminal budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Trouble {
    /// 429 that heals by waiting.
    RateLimited(LimitKind),
    /// 529, or `overloaded_error` under any status.
    Overloaded,
    /// Another 5xx, 408 or 409.
    Server,
    /// No connection could be made: surely not charged.
    Connect,
    /// A timeout after the request was sent: possibly charged.
    Timeout,
    /// The connection broke, or the answer was cut off or unreadable: possibly charged.
    Broken,
    /// We left it when the run was stopped or cut off: possibly charged.
    Abandoned,
    /// An earlier session left it open; the journal says why: possibly charged.
    EarlierSession,
    /// The org's account.
    Account(AccountTrouble),
    /// Its sub-batch ran out of time before it was processed: not charged.
    Expired,
    /// Its sub-batch was canceled before it was processed: not charged.
    Canceled,
    /// The results of its sub-batch say nothing of it, or nothing that can be read.
    NoResult,
    /// The result of its sub-batch is of a type that is not known: possibly charged.
    UnknownResult,
}

impl Trouble {
    /// The name that users see in counters, logs and the journal.
    pub fn as_str(self) -> &'static str {
        match self {
            Trouble::RateLimited(LimitKind::Steady) => "rate-limited",
            Trouble::RateLimited(LimitKind::Ramp) => "ramp-limited",
            Trouble::Overloaded => "overloaded",
            Trouble::Server => "server-error",
            Trouble::Connect => "no-connection",
            Trouble::Timeout => "timeout",
            Trouble::Broken => "broken-answer",
            Trouble::Abandoned => "abandoned",
            Trouble::EarlierSession => "left-by-earlier-session",
            Trouble::Account(account) => account.as_str(),
            Trouble::Expired => "expired",
            Trouble::Canceled => "canceled",
            Trouble::NoResult => "no-result",
            Trouble::UnknownResult => "unknown-result",
        }
    }

    /// Whether the API may have billed the attempt although no usable answer arrived.
    pub fn possibly_charged(self) -> bool {
        matches!(
            self,
            Trouble::Timeout
                | Trouble::Broken
                | Trouble::Abandoned
                | Trouble::EarlierSession
                | Trouble::NoResult
                | Trouble::UnknownResult
        )
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// What one attempt came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// A billed answer.
    Answered {
        /// It is `refused` rather than `succeeded`.
        refused: bool,
        /// What it is billed by.
        usage: Usage,
    },
    /// The request itself is wrong.
    Invalid(ApiError),
    /// Something else was; the request goes back to the queue.
    Trouble(Trouble, ApiError),
}

impl Verdict {
    /// The outcome that this attempt gives its request.
    pub fn outcome(&self) -> Outcome {
        match self {
            Verdict::Answered { refused: false, .. } => Outcome::Succeeded,
            Verdict::Answered { refused: true, .. } => Outcome::Refused,
            Verdict::Invalid(_) => Outcome::Invalid,
            Verdict::Trouble(..) => Outcome::ReDrivable,
        }
    }
}
