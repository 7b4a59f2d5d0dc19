use http::HeaderName;
use proptest::prelude::*;

use super::*;
use crate::model::limits::Limiter;

/// 2025-01-29T12:42:27Z, half a minute before the resets below.
const DATE: &str = "Wed, 29 Jan 2025 12:42:27 GMT";
const DATE_MS: i64 = 1_738_154_547_000;

fn map(pairs: &[(&str, &str)]) -> HeaderMap {
    pairs
        .iter()
        .map(|(name, value)| (HeaderName::from_bytes(name.as_bytes()).unwrap(), HeaderValue::from_str(value).unwrap()))
        .collect()
}

fn limits(pairs: &[(&str, &str)], now: i64) -> RateLimits {
    read(&map(pairs), Wall(now)).limits
}

fn retry(pairs: &[(&str, &str)]) -> RetryAfter {
    read(&map(pairs), Wall(DATE_MS)).retry_after
}

fn secs(secs: u64) -> RetryAfter {
    RetryAfter::After(Duration::from_secs(secs))
}

#[test]
fn l4_of_several_retry_after_the_longest_counts_in_one_line_or_in_many() {
    let secs = |n| RetryAfter::After(Duration::from_secs(n));
    for (lines, expected) in [
        (&["171, 1"][..], secs(171)),
        (&["1", "6"][..], secs(6)),
        (&["0, x"][..], RetryAfter::Now),
        (&["x, y"][..], RetryAfter::Junk),
    ] {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append("retry-after", HeaderValue::from_static(line));
        }
        assert_eq!(read(&headers, Wall(0)).retry_after, expected, "{lines:?}");
    }
}

#[test]
fn the_headers_of_a_real_429_are_read_whole() {
    let headers = map(&[
        ("date", DATE),
        ("x-should-retry", "true"),
        ("retry-after", "16"),
        ("anthropic-ratelimit-requests-limit", "4000"),
        ("anthropic-ratelimit-requests-remaining", "4000"),
        ("anthropic-ratelimit-requests-reset", "2025-01-29T12:42:57Z"),
        ("anthropic-ratelimit-input-tokens-limit", "200000"),
        ("anthropic-ratelimit-input-tokens-remaining", "0"),
        ("anthropic-ratelimit-input-tokens-reset", "2025-01-29T12:43:27.5+00:00"),
        ("anthropic-ratelimit-output-tokens-limit", "80000"),
        ("anthropic-ratelimit-output-tokens-remaining", "80000"),
        ("anthropic-ratelimit-tokens-limit", "280000"),
        ("anthropic-ratelimit-tokens-remaining", "80000"),
        ("anthropic-ratelimit-tokens-reset", "soon"),
        ("request-id", "req_011C"),
        ("anthropic-organization-id", "5f1d"),
        ("content-type", "application/json"),
    ]);
    let read = read(&headers, Wall(0));
    let bucket =
        |limit, remaining, ms: Option<u64>| Some(Bucket { limit, remaining, reset_in: ms.map(Duration::from_millis) });
    assert_eq!(read.limits.requests, bucket(4_000, 4_000, Some(30_000)));
    assert_eq!(read.limits.input_tokens, bucket(200_000, 0, Some(60_500)));
    assert_eq!(read.limits.output_tokens, bucket(80_000, 80_000, None));
    assert_eq!(read.limits.tokens, bucket(280_000, 80_000, None));
    assert_eq!(read.retry_after, secs(16));
    assert_eq!((read.request_id, read.organization), (Some("req_011C"), Some("5f1d")));
    assert_eq!(read.body_type, BodyType::Other);
}

#[test]
fn a_reset_is_measured_against_the_answers_date_and_else_against_now() {
    let triple = |date: Option<&str>, now| {
        let mut pairs = vec![
            ("anthropic-ratelimit-requests-limit", "10"),
            ("anthropic-ratelimit-requests-remaining", "0"),
            ("anthropic-ratelimit-requests-reset", "2025-01-29T12:42:57Z"),
        ];
        pairs.extend(date.map(|date| ("date", date)));
        limits(&pairs, now).exhausted_reset()
    };
    assert_eq!(triple(Some(DATE), 0), Some(Duration::from_secs(30)));
    assert_eq!(triple(None, DATE_MS + 10_000), Some(Duration::from_secs(20)));
    assert_eq!(triple(Some("yesterday"), DATE_MS), Some(Duration::from_secs(30)));
    assert_eq!(triple(None, DATE_MS + 30_000), Some(Duration::ZERO));
    assert_eq!(triple(None, DATE_MS + 31_000), None, "a reset that has passed says nothing");
}

#[test]
fn triples_that_make_no_sense_are_absent() {
    for (limit, remaining) in [("", "1"), ("10", ""), ("-10", "1"), ("10", "-1"), ("1e3", "1"), ("10", "many")] {
        let pairs = [("anthropic-ratelimit-tokens-limit", limit), ("anthropic-ratelimit-tokens-remaining", remaining)];
        assert!(limits(&pairs, 0).is_empty(), "{limit} {remaining}");
    }
    assert!(limits(&[("anthropic-ratelimit-tokens-limit", "10")], 0).is_empty());
    assert!(limits(&[("anthropic-ratelimit-unified-limit", "10")], 0).is_empty());
}

#[test]
fn every_limiter_is_read_from_the_header_that_its_name_says() {
    for limiter in Limiter::ALL {
        let name = |field| format!("anthropic-ratelimit-{}-{field}", limiter.as_str());
        let found = limits(&[(&name("limit"), "9"), (&name("remaining"), "3")], 0);
        assert_eq!(found.get(limiter), Some(Bucket { limit: 9, remaining: 3, reset_in: None }));
        assert_eq!(Limiter::ALL.iter().filter(|other| found.get(**other).is_some()).count(), 1);
    }
}

#[test]
fn l4_l5_retry_after_is_read_in_every_form() {
    for (value, expected) in [
        ("171", secs(171)),
        (" 16 ", secs(16)),
        ("302539", secs(302_539)),
        ("1.5", RetryAfter::After(Duration::from_millis(1_500))),
        ("1e2", secs(100)),
        ("Wed, 29 Jan 2025 12:43:27 GMT", secs(60)),
        ("Wednesday, 29-Jan-25 12:43:27 GMT", secs(60)),
        (DATE, RetryAfter::Now),
        ("Wed, 29 Jan 2020 12:43:27 GMT", RetryAfter::Now),
        ("0", RetryAfter::Now),
        ("-0", RetryAfter::Now),
        ("-7", RetryAfter::Now),
        ("1e-300", RetryAfter::Now),
        ("NaN", RetryAfter::Junk),
        ("inf", RetryAfter::Junk),
        ("-inf", RetryAfter::Junk),
        ("1e999", RetryAfter::Junk),
        ("", RetryAfter::Junk),
        ("soon", RetryAfter::Junk),
        ("16 seconds", RetryAfter::Junk),
        ("Wed, 99 Jan 2025 12:43:27 GMT", RetryAfter::Junk),
        ("99999999999999999999", RetryAfter::After(LONGEST)),
        ("Fri, 31 Dec 9999 23:59:59 GMT", RetryAfter::After(LONGEST)),
    ] {
        assert_eq!(retry(&[("date", DATE), ("retry-after", value)]), expected, "{value:?}");
    }
    assert_eq!(retry(&[]), RetryAfter::Absent);
}

#[test]
fn milliseconds_go_before_seconds_unless_they_give_no_wait() {
    let both = |ms, secs| retry(&[("retry-after-ms", ms), ("retry-after", secs)]);
    assert_eq!(both("1500", "9"), RetryAfter::After(Duration::from_millis(1_500)));
    assert_eq!(both("0", "9"), secs(9));
    assert_eq!(both("junk", "9"), secs(9));
    assert_eq!(retry(&[("retry-after-ms", "0")]), RetryAfter::Now);
    assert_eq!(retry(&[("retry-after-ms", "junk")]), RetryAfter::Junk);
}

#[test]
fn the_body_type_is_read_whatever_its_case_and_parameters() {
    for (value, expected) in [
        ("text/html; charset=UTF-8", BodyType::Html),
        ("Text/HTML", BodyType::Html),
        ("text/event-stream", BodyType::EventStream),
        ("application/json", BodyType::Other),
        ("text", BodyType::Other),
    ] {
        assert_eq!(read(&map(&[("content-type", value)]), Wall(0)).body_type, expected, "{value}");
    }
}

proptest! {
    #[test]
    fn times_read_by_hand_are_those_of_the_date_library(secs in -62_167_219_200_i64..253_402_300_800) {
        let text = jiff::Timestamp::from_second(secs).unwrap().to_string();
        prop_assert_eq!(plain_utc_secs(text.as_bytes()), Some(secs), "{}", text);
    }

    #[test]
    fn a_time_is_valid_by_hand_only_when_the_date_library_says_so(
        year in 0_u32..10_000, month in 0_u32..15, day in 0_u32..34, hour in 0_u32..26, minute in 0_u32..62, second in 0_u32..60
    ) {
        let text = format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z");
        prop_assert_eq!(plain_utc_secs(text.as_bytes()), text.parse::<jiff::Timestamp>().ok().map(|at| at.as_second()));
    }

    #[test]
    fn no_bytes_in_any_header_make_it_panic(
        values in prop::collection::vec((0_usize..10, prop::collection::vec(any::<u8>(), 0..40)), 0..12),
        now in any::<i64>(),
    ) {
        const NAMES: [&str; 10] = [
            "date", "retry-after", "retry-after-ms", "request-id", "anthropic-organization-id", "content-type",
            "anthropic-ratelimit-requests-limit", "anthropic-ratelimit-requests-remaining",
            "anthropic-ratelimit-requests-reset", "anthropic-ratelimit-tokens-reset",
        ];
        let mut headers = HeaderMap::new();
        for (name, bytes) in values {
            if let Ok(value) = HeaderValue::from_bytes(&bytes) {
                headers.append(NAMES[name], value);
            }
        }
        let read = read(&headers, Wall(now));
        if let RetryAfter::After(span) = read.retry_after {
            prop_assert!(span <= LONGEST && !span.is_zero());
        }
    }

    #[test]
    fn no_number_in_a_time_makes_it_panic(text in "[-+0-9.eEZT:]{0,24}", now in any::<i64>()) {
        let pairs = [
            ("retry-after", text.as_str()),
            ("anthropic-ratelimit-requests-limit", "1"),
            ("anthropic-ratelimit-requests-remaining", "1"),
            ("anthropic-ratelimit-requests-reset", text.as_str()),
        ];
        let _ = read(&map(&pairs), Wall(now));
    }
}
