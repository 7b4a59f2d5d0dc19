//! `--deadline`: a span from now, or a moment.

use std::time::Duration;

use crate::model::Wall;
use crate::store::stamp;

use super::failure::Failure;

/// The moment that a deadline names: `90m` from now, or an RFC 3339 time. It must lie ahead.
pub(crate) fn parse(text: &str, now: Wall) -> Result<Wall, Failure> {
    let refused = || {
        Failure::usage(format!(
            "--deadline {text}: must be a duration such as 90s, 1h30m or 2d, or a time to come such as 2026-11-30T08:00:00Z"
        ))
    };
    let span = humantime::parse_duration(text.trim()).ok().filter(|span| *span > Duration::ZERO);
    let moment = match span {
        Some(span) => Wall(now.0.saturating_add(i64::try_from(span.as_millis()).unwrap_or(i64::MAX))),
        None => stamp::parse(text.trim()).ok_or_else(refused)?,
    };
    if moment > now { Ok(moment) } else { Err(refused()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deadline_is_a_span_or_a_moment_that_lies_ahead() {
        let now = stamp::parse("2026-11-29T08:00:00Z").unwrap();
        for (text, later_ms) in [
            ("90s", 90_000),
            ("1h30m", 5_400_000),
            ("2026-11-29T08:00:01Z", 1_000),
            ("2026-11-29T10:00:00+01:00", 3_600_000),
        ] {
            assert_eq!(parse(text, now).ok().map(|at| at.0 - now.0), Some(later_ms), "{text}");
        }
        for text in ["0s", "", "soon", "-5m", "2026-11-29T07:59:59Z", "nan"] {
            let failure = parse(text, now).err().unwrap();
            assert_eq!(failure.exit_code, 2, "{text}");
            assert!(failure.message.contains("--deadline"), "{}", failure.message);
        }
    }
}
