//! Resolved settings that the engine, the client and the store work by. Where each value came from is the business of
//! `config`; here are the values, their units, their ranges and their defaults.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::ids::Family;
use super::money::Money;
use super::secret::Secret;

/// One API organisation to send to.
#[derive(Debug, Clone)]
pub struct OrgSpec {
    /// Its name everywhere: 1..=32 characters of `[a-z0-9-]`, unique.
    pub label: String,
    /// The environment variable that held the key.
    pub key_env: String,
    /// The key.
    pub key: Secret,
    /// Where its requests go, without a trailing slash: `https://api.anthropic.com`.
    pub base_url: String,
    /// Polite caps by family, one lane; in the order of [`Family::ix`].
    pub caps: [u32; Family::COUNT],
}

/// How the screens look and behave.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct ScreenSettings {
    /// A built-in theme, or the path of a file.
    pub theme: String,
    /// A built-in keymap, or the path of a file.
    pub keymap: String,
    /// The screen takes the mouse; without, the terminal selects text.
    pub mouse: bool,
    /// ASCII only.
    pub ascii: bool,
    /// How it calls when a run is over, stuck or parked.
    pub attention: Attention,
}

impl Default for ScreenSettings {
    fn default() -> ScreenSettings {
        ScreenSettings {
            theme: "dark".to_owned(),
            keymap: "default".to_owned(),
            mouse: true,
            ascii: false,
            attention: Attention::Bell,
        }
    }
}

/// How the screen calls an operator who looks elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Attention {
    /// Not at all.
    None,
    /// By the terminal's bell.
    #[default]
    Bell,
    /// By a notification of the desktop (OSC 9), where the terminal knows that.
    Notification,
}

impl Attention {
    /// All of them.
    pub const ALL: [Attention; 3] = [Attention::None, Attention::Bell, Attention::Notification];

    /// The name that users type.
    pub fn as_str(self) -> &'static str {
        match self {
            Attention::None => "none",
            Attention::Bell => "bell",
            Attention::Notification => "notification",
        }
    }
}

/// How the dispatcher behaves.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct DispatchSettings {
    /// Lanes per key, 1..=64: multiplies every cap.
    pub procs: u32,
    /// Caps of every family and org, when the operator gave one figure for all; 1..=10,000.
    pub cap: Option<u32>,
    /// Start of a window as a share of its ceiling, 0..=1. The start is never below [`DispatchSettings::floor`].
    pub start_share: f64,
    /// How long a full window takes from its start share to its ceiling. Growth per second is the same at any size.
    pub ramp: Duration,
    /// The smallest window, when the ceiling allows it.
    pub floor: u32,
    /// Factor of a cut, 0..1.
    pub cut: f64,
    /// Headroom below which the window gives way to colleagues, 0..=1.
    pub easing_headroom: f64,
    /// First wait of the dispatcher's own backoff; doubles up to `backoff_max`, with full jitter above the floor.
    pub backoff_min: Duration,
    /// Longest wait of the dispatcher's own backoff.
    pub backoff_max: Duration,
    /// A `retry-after` longer than this parks the org instead of closing it.
    pub park_after: Duration,
    /// How long a headless run waits out an outage of every org; `None` waits for ever.
    pub outage_limit: Option<Duration>,
    /// How many requests must fail alike, with none answered, to blow the fuse; 0 turns the fuse off.
    pub fuse: u32,
}

impl Default for DispatchSettings {
    fn default() -> DispatchSettings {
        DispatchSettings {
            procs: 1,
            cap: None,
            start_share: 0.25,
            ramp: Duration::from_secs(30),
            floor: 4,
            cut: 0.5,
            easing_headroom: 0.15,
            backoff_min: Duration::from_secs(1),
            backoff_max: Duration::from_secs(60),
            park_after: Duration::from_secs(3_600),
            outage_limit: None,
            fuse: 5,
        }
    }
}

/// How batches are driven.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct BatchSettings {
    /// Requests of a sub-batch, 1..=100,000.
    pub size: u32,
    /// Sub-batches that an org may have open, at least 1.
    pub max_open: u32,
    /// The least time between two polls of a sub-batch.
    pub poll_every: Duration,
    /// Share of a run's requests that go into sub-batches, the last ones of its input; the others take the sync path at the
    /// same time. 1 but in a demo.
    pub share: f64,
    /// How long a create without an answer is looked for in the org's list before it counts as not made.
    pub search_for: Duration,
    /// Age from which a sub-batch is stuck; `None` turns the escape off.
    pub stuck_after: Option<Duration>,
    /// Whether the escape is made without asking.
    pub escape: bool,
    /// Whether the requests of a sub-batch that somebody else canceled are sent again without asking.
    pub re_drive_elsewhere: bool,
}

impl Default for BatchSettings {
    fn default() -> BatchSettings {
        BatchSettings {
            size: 1_000,
            max_open: 4,
            poll_every: Duration::from_secs(15),
            share: 1.0,
            search_for: Duration::from_secs(60),
            stuck_after: Some(Duration::from_secs(4 * 3_600)),
            escape: true,
            re_drive_elsewhere: false,
        }
    }
}

/// How the client speaks to the API.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct WireSettings {
    /// `anthropic-version`; `2023-06-01` accepts what users' files hold (`temperature`, for one).
    pub version: String,
    /// Send `authorization: Bearer` instead of `x-api-key`.
    pub bearer: bool,
    /// `anthropic-beta`, sent when not empty.
    pub betas: Vec<String>,
    /// Longest time to make a connection.
    pub connect_timeout: Duration,
    /// Longest wait for the first byte of an answer, for a request with `max_tokens` of zero.
    pub first_byte_timeout: Duration,
    /// Added to it for each thousand of `max_tokens`.
    pub first_byte_per_1k_tokens: Duration,
    /// Longest silence in the middle of a body.
    pub idle_timeout: Duration,
    /// A file of PEM certificates to trust besides the system's.
    pub ca_file: Option<PathBuf>,
}

impl Default for WireSettings {
    fn default() -> WireSettings {
        WireSettings {
            version: "2023-06-01".to_owned(),
            bearer: false,
            betas: Vec::new(),
            connect_timeout: Duration::from_secs(10),
            first_byte_timeout: Duration::from_secs(60),
            first_byte_per_1k_tokens: Duration::from_secs(30),
            idle_timeout: Duration::from_secs(60),
            ca_file: None,
        }
    }
}

impl WireSettings {
    /// The wait for the first byte of an answer to a request with this `max_tokens`: 600 s at the most, as the official
    /// SDKs wait.
    pub fn first_byte(&self, max_tokens: u32) -> Duration {
        let scaled = self.first_byte_per_1k_tokens.mul_f64(f64::from(max_tokens) / 1_000.0);
        (self.first_byte_timeout + scaled).min(Duration::from_secs(600).max(self.first_byte_timeout))
    }
}

/// Price card of a model, in USD per million tokens or searches, as resolved from the catalog.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct PriceCard {
    /// Uncached input.
    pub input: Money,
    /// Output, thinking included.
    pub output: Money,
    /// Prompt-cache write with a lifetime of five minutes.
    pub cache_write_5m: Money,
    /// Prompt-cache write with a lifetime of one hour.
    pub cache_write_1h: Money,
    /// Prompt-cache read.
    pub cache_read: Money,
    /// Web searches; nothing in runs that were made before they were priced.
    #[serde(default)]
    pub web_search: Money,
}

impl PriceCard {
    /// With the price of every token multiplied by so many thousandths. Searches cost what they cost.
    pub fn scaled(self, thousandths: u32) -> PriceCard {
        let scaled = |price: Money| {
            let pico = u128::from(price.0) * u128::from(thousandths) / 1_000;
            Money(u64::try_from(pico).unwrap_or(u64::MAX))
        };
        PriceCard {
            input: scaled(self.input),
            output: scaled(self.output),
            cache_write_5m: scaled(self.cache_write_5m),
            cache_write_1h: scaled(self.cache_write_1h),
            cache_read: scaled(self.cache_read),
            web_search: self.web_search,
        }
    }
}
