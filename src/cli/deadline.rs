//! `--deadline`: a span from now, or a moment. What cannot be one is refused with what is wrong about it and what to write.

use std::time::Duration;

use jiff::civil::DateTime;

use crate::model::Wall;
use crate::store::stamp;

use super::failure::Failure;

/// The farthest deadline. No run takes a year: what lies beyond is a slip of the hand.
const FARTHEST: Duration = Duration::from_secs(366 * 86_400);
/// What there is to write.
const FORMS: &str = "write a duration such as 90s, 1h30m or 2d, or a time to come such as";

/// The moment that a deadline names: `90m` from now, or an RFC 3339 time. It lies ahead, and not more than a year.
///
/// # Errors
/// What is wrong with the text, and what to write instead.
pub(crate) fn parse(text: &str, now: Wall) -> Result<Wall, Failure> {
    read(text.trim(), now).map_err(|why| Failure::usage(format!("--deadline {text}: {why}")))
}

fn read(text: &str, now: Wall) -> Result<Wall, String> {
    let farthest = Wall(now.0.saturating_add(FARTHEST.as_millis() as i64));
    let too_far = || {
        let until = utc(farthest);
        format!("lies more than a year ahead: name a moment up to {until}, or leave the deadline away")
    };
    let moment = match humantime::parse_duration(text) {
        Ok(span) if span > FARTHEST => return Err(too_far()),
        Ok(span) if span.is_zero() => return Err(format!("leaves no time at all; {}", forms(now))),
        Ok(span) => return Ok(Wall(now.0.saturating_add(span.as_millis() as i64))),
        Err(humantime::DurationError::NumberOverflow) => return Err(too_far()),
        Err(_) => moment(text, now)?,
    };
    match moment {
        Some(at) if at <= now => Err(format!("lies in the past: it is {} now", utc(now))),
        Some(at) if at <= farthest => Ok(at),
        // A moment after the last one that the calendar library has.
        Some(_) | None => Err(too_far()),
    }
}

/// A moment by the calendar; `None` for one that is beyond all clocks.
fn moment(text: &str, now: Wall) -> Result<Option<Wall>, String> {
    if let Some(at) = stamp::parse(text) {
        return Ok(Some(at));
    }
    if text.parse::<DateTime>().is_ok() {
        return Err(if text.contains([':', 'T', 't']) {
            format!("has no zone: end it with Z for UTC, or with an offset, as in {text}Z or {text}+01:00")
        } else {
            format!("is a day without a time: write the time too, as in {text}T18:00:00Z")
        });
    }
    let local = text.strip_suffix(['Z', 'z']).unwrap_or(text);
    if local.len() < text.len() && local.parse::<DateTime>().is_ok() {
        return Ok(None);
    }
    Err(if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        format!("has no unit: write {text}s, {text}m or {text}h")
    } else if text.starts_with('-') {
        format!("lies in the past: {}", forms(now))
    } else {
        format!("cannot be read: {}", forms(now))
    })
}

/// What there is to write, with an example that lies ahead.
fn forms(now: Wall) -> String {
    format!("{FORMS} {}", utc(Wall(now.0.saturating_add(8 * 3_600_000))))
}

/// A moment to the second.
fn utc(at: Wall) -> String {
    let mut text = stamp::to_string(at);
    text.truncate("2026-11-29T08:00:00".len());
    text + "Z"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        let failure = parse(text, stamp::parse("2026-11-29T08:00:00Z").unwrap()).err().unwrap();
        assert_eq!(failure.exit_code, 2, "{text}");
        failure.message
    }

    #[test]
    fn a_deadline_is_a_span_or_a_moment_that_lies_ahead() {
        let now = stamp::parse("2026-11-29T08:00:00Z").unwrap();
        for (text, later_ms) in [
            ("90s", 90_000),
            (" 1h30m ", 5_400_000),
            ("2d", 172_800_000),
            ("366d", 31_622_400_000),
            ("2026-11-29T08:00:01Z", 1_000),
            ("2026-11-29 08:00:01z", 1_000),
            ("2026-11-29T10:00:00+01:00", 3_600_000),
        ] {
            assert_eq!(parse(text, now).ok().map(|at| at.0 - now.0), Some(later_ms), "{text}");
        }
    }

    #[test]
    fn what_cannot_be_a_deadline_is_refused_with_what_is_wrong_about_it() {
        let forms = "write a duration such as 90s, 1h30m or 2d, or a time to come such as 2026-11-29T16:00:00Z";
        let far = "lies more than a year ahead: name a moment up to 2027-11-30T08:00:00Z, or leave the deadline away";
        let past = "lies in the past: it is 2026-11-29T08:00:00Z now";
        for (text, why) in [
            ("2026-11-29T07:59:59Z", past.to_owned()),
            ("2026-11-29T08:00:00Z", past.to_owned()),
            ("0001-01-01T00:00:00Z", past.to_owned()),
            ("-5m", format!("lies in the past: {forms}")),
            ("0s", format!("leaves no time at all; {forms}")),
            ("9999-01-01T00:00:00Z", far.to_owned()),
            ("9999-12-31T23:59:59Z", far.to_owned()),
            ("367d", far.to_owned()),
            ("10000y", far.to_owned()),
            ("99999999999999999999s", far.to_owned()),
            (
                "2027-01-01T08:00",
                "has no zone: end it with Z for UTC, or with an offset, as in 2027-01-01T08:00Z or 2027-01-01T08:00+01:00"
                    .to_owned(),
            ),
            ("2027-01-01", "is a day without a time: write the time too, as in 2027-01-01T18:00:00Z".to_owned()),
            ("90", "has no unit: write 90s, 90m or 90h".to_owned()),
            ("2026-13-01T00:00:00Z", format!("cannot be read: {forms}")),
            ("", format!("cannot be read: {forms}")),
            ("soon", format!("cannot be read: {forms}")),
            ("nan", format!("cannot be read: {forms}")),
            ("1h30", format!("cannot be read: {forms}")),
        ] {
            assert_eq!(refused(text), format!("--deadline {text}: {why}"), "{text}");
        }
    }
}
