//! What each setting may be: one function per rule, used for the file, the environment and the flags alike.
//!
//! A rule takes a value as written and returns it typed, or the words that complete "must be".

use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use crate::api::base_url::{self, BaseUrlError};
use crate::model::{Attention, CostPref, Crossover, Money, WedgeGuard};

use super::tree::Raw;

/// The typed value, or what is allowed.
pub(super) type Checked<T> = Result<T, String>;

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3_600);

/// Lanes per key.
pub(super) fn procs(raw: &Raw) -> Checked<u32> {
    integer(raw, 1..=64)
}

/// A cap of in-flight requests.
pub(super) fn cap(raw: &Raw) -> Checked<u32> {
    integer(raw, 1..=10_000)
}

/// One cap for every family, or the families' own.
pub(super) fn cap_of_all(raw: &Raw) -> Checked<Option<u32>> {
    cap(raw).map(Some)
}

/// The smallest window.
pub(super) fn floor(raw: &Raw) -> Checked<u32> {
    integer(raw, 1..=1_000)
}

/// Requests that fail alike before the fuse blows.
pub(super) fn fuse(raw: &Raw) -> Checked<u32> {
    integer(raw, 0..=1_000).map_err(|allowed| format!("{allowed}; 0 turns the fuse off"))
}

/// A share of something.
pub(super) fn share(raw: &Raw) -> Checked<f64> {
    number(raw).filter(|x| (0.0..=1.0).contains(x)).ok_or_else(|| "a number from 0 to 1".to_owned())
}

/// The factor of a cut.
pub(super) fn cut(raw: &Raw) -> Checked<f64> {
    number(raw).filter(|x| *x > 0.0 && *x < 1.0).ok_or_else(|| "a number above 0 and below 1".to_owned())
}

/// An amount of money.
pub(super) fn usd(raw: &Raw) -> Checked<Money> {
    number(raw)
        .filter(|x| (0.0..=1e6).contains(x))
        .map(Money::from_usd)
        .ok_or_else(|| "an amount in USD from 0 to 1000000".to_owned())
}

/// Attempts that a run may make.
pub(super) fn max_requests(raw: &Raw) -> Checked<Option<u64>> {
    integer(raw, 1..=1_000_000_000).map(|n| Some(u64::from(n)))
}

/// How long a window ramps.
pub(super) fn ramp(raw: &Raw) -> Checked<Duration> {
    duration(raw, Duration::from_secs(1)..=HOUR)
}

/// A wait of the dispatcher's own backoff.
pub(super) fn backoff(raw: &Raw) -> Checked<Duration> {
    duration(raw, Duration::from_millis(100)..=HOUR)
}

/// A `retry-after` from which an org is parked.
pub(super) fn park_after(raw: &Raw) -> Checked<Duration> {
    duration(raw, MINUTE..=24 * HOUR)
}

/// How long an outage is waited out; `none` waits for ever.
pub(super) fn outage_limit(raw: &Raw) -> Checked<Option<Duration>> {
    match raw {
        Raw::Text(text) if text == "none" => Ok(None),
        _ => duration(raw, Duration::from_secs(1)..=7 * 24 * HOUR)
            .map(Some)
            .map_err(|allowed| format!("{allowed}; or none, to wait for ever")),
    }
}

/// Time to make a connection.
pub(super) fn connect_timeout(raw: &Raw) -> Checked<Duration> {
    duration(raw, Duration::from_millis(100)..=10 * MINUTE)
}

/// Time to the first byte, or between two.
pub(super) fn answer_timeout(raw: &Raw) -> Checked<Duration> {
    duration(raw, Duration::from_secs(1)..=HOUR)
}

/// What a thousand of `max_tokens` adds to a timeout.
pub(super) fn per_1k_tokens(raw: &Raw) -> Checked<Duration> {
    duration(raw, Duration::ZERO..=10 * MINUTE)
}

/// Time between two fsyncs of the journal.
pub(super) fn group_commit(raw: &Raw) -> Checked<Duration> {
    duration(raw, Duration::from_millis(1)..=Duration::from_millis(200))
}

/// Hours until a sub-batch is stuck, as text; not above zero turns it off.
pub(super) fn stuck_hours(raw: &Raw) -> Checked<Option<Duration>> {
    let refused = || "a number of hours such as 4.0; 0 or less turns the escape off".to_owned();
    let Raw::Text(text) = raw else { return Err(refused()) };
    match text.parse::<f64>() {
        Ok(hours) if hours.is_finite() && hours <= 0.0 => Ok(None),
        // A year is more than any batch lives.
        Ok(hours) if hours.is_finite() => Ok(Some(HOUR.mul_f64(hours.min(366.0 * 24.0)))),
        _ => Err(refused()),
    }
}

/// Requests of a sub-batch: the API takes 100,000.
pub(super) fn sub_batch_size(raw: &Raw) -> Checked<u32> {
    integer(raw, 1..=100_000)
}

/// Sub-batches that an org may have open.
pub(super) fn max_open_sub_batches(raw: &Raw) -> Checked<u32> {
    integer(raw, 1..=100)
}

/// The least time between two polls of a sub-batch.
pub(super) fn poll_every(raw: &Raw) -> Checked<Duration> {
    duration(raw, Duration::from_secs(1)..=HOUR)
}

/// How long a create without an answer is looked for. The API may take a while to list a large batch.
pub(super) fn lost_create_search(raw: &Raw) -> Checked<Duration> {
    duration(raw, Duration::from_secs(1)..=HOUR)
}

/// What matters of a run.
pub(super) fn cost_pref(raw: &Raw) -> Checked<CostPref> {
    text(raw).and_then(CostPref::of_word).ok_or_else(|| "latency, balanced or cost".to_owned())
}

/// The number of requests from which batches are considered.
pub(super) fn crossover(raw: &Raw) -> Checked<Crossover> {
    let refused = || "an integer from 0 to 1000000000, or \"per-model\"".to_owned();
    match raw {
        Raw::Int(n) => {
            u64::try_from(*n).ok().filter(|n| *n <= 1_000_000_000).map(Crossover::Requests).ok_or_else(refused)
        }
        Raw::Text(word) if word == "per-model" => Ok(Crossover::PerModel),
        _ => Err(refused()),
    }
}

/// Where the wedge guard applies.
pub(super) fn wedge_guard(raw: &Raw) -> Checked<WedgeGuard> {
    text(raw).and_then(WedgeGuard::of_word).ok_or_else(|| "off, balanced or always".to_owned())
}

/// Sub-batches above which the wedge guard keeps a run on the sync path.
pub(super) fn max_batch_passes(raw: &Raw) -> Checked<u64> {
    integer(raw, 1..=1_000_000).map(u64::from)
}

/// One of two words; whether it is the first.
pub(super) fn one_of(raw: &Raw, first: &str, second: &str) -> Checked<bool> {
    match text(raw) {
        Some(word) if word == first => Ok(true),
        Some(word) if word == second => Ok(false),
        _ => Err(format!("{first} or {second}")),
    }
}

/// The name of something built in, or the path of a TOML file.
pub(super) fn name_or_file(raw: &Raw, names: &[&str]) -> Checked<String> {
    match text(raw) {
        Some(word) if names.contains(&word) || word.ends_with(".toml") => Ok(word.to_owned()),
        _ => Err(format!("{}, or the path of a .toml file", names.join(", "))),
    }
}

/// How the screen calls.
pub(super) fn attention(raw: &Raw) -> Checked<Attention> {
    let named = Attention::ALL.into_iter().find(|attention| text(raw) == Some(attention.as_str()));
    named.ok_or_else(|| Attention::ALL.map(Attention::as_str).join(", "))
}

/// `true` or `false`.
pub(super) fn yes_or_no(raw: &Raw) -> Checked<bool> {
    match raw {
        Raw::Bool(yes) => Ok(*yes),
        _ => Err("true or false".to_owned()),
    }
}

/// A version of the API: the date of its release.
pub(super) fn api_version(raw: &Raw) -> Checked<String> {
    text(raw)
        .filter(|text| text.len() == 10 && text.parse::<jiff::civil::Date>().is_ok())
        .map(str::to_owned)
        .ok_or_else(|| "the date of a version of the API, such as \"2023-06-01\"".to_owned())
}

/// Names of beta features.
pub(super) fn betas(raw: &Raw) -> Checked<Vec<String>> {
    let is_name =
        |name: &str| !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b));
    let names = match raw {
        Raw::List(items) => {
            items.iter().map(|item| text(item).filter(|name| is_name(name)).map(str::to_owned)).collect()
        }
        _ => None,
    };
    names.ok_or_else(|| "a list of beta names, such as [\"context-1m-2025-08-07\"]".to_owned())
}

/// An org's label.
pub(super) fn label(raw: &Raw) -> Checked<String> {
    let allowed = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    text(raw)
        .filter(|label| (1..=32).contains(&label.len()) && label.bytes().all(allowed))
        .map(str::to_owned)
        .ok_or_else(|| "1 to 32 characters of a-z, 0-9 and -".to_owned())
}

/// The name of an environment variable, which a pasted key is not.
pub(super) fn key_env(raw: &Raw) -> Checked<String> {
    text(raw)
        .filter(|name| {
            name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
                && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        })
        .map(str::to_owned)
        .ok_or_else(|| "the name of the environment variable that holds the key (not the key itself)".to_owned())
}

/// A base URL; `https`, unless plain http is allowed or stays on this machine.
pub(super) fn base_url(raw: &Raw, allow_insecure_http: bool) -> Checked<String> {
    let url = text(raw).ok_or(BaseUrlError::NotAUrl).and_then(|text| base_url::check(text, allow_insecure_http));
    url.map_err(|error| error.to_string())
}

/// A path that is not blank.
pub(super) fn path(raw: &Raw) -> Checked<PathBuf> {
    text(raw).filter(|path| !path.trim().is_empty()).map(PathBuf::from).ok_or_else(|| "a path".to_owned())
}

fn text(raw: &Raw) -> Option<&str> {
    match raw {
        Raw::Text(text) => Some(text),
        _ => None,
    }
}

/// A finite number, with or without a fraction.
fn number(raw: &Raw) -> Option<f64> {
    match raw {
        Raw::Int(n) => Some(*n as f64),
        Raw::Float(x) if x.is_finite() => Some(*x),
        _ => None,
    }
}

/// An integer, from the environment also as text.
fn integer(raw: &Raw, range: RangeInclusive<u32>) -> Checked<u32> {
    let n = match raw {
        Raw::Int(n) => u32::try_from(*n).ok(),
        _ => None,
    };
    n.filter(|n| range.contains(n)).ok_or_else(|| format!("an integer from {} to {}", range.start(), range.end()))
}

fn duration(raw: &Raw, range: RangeInclusive<Duration>) -> Checked<Duration> {
    text(raw)
        .and_then(|text| humantime::parse_duration(text.trim()).ok())
        .filter(|span| range.contains(span))
        .ok_or_else(|| {
            let show = humantime::format_duration;
            format!("a duration such as 90s, 1h30m or 2d, from {} to {}", show(*range.start()), show(*range.end()))
        })
}
