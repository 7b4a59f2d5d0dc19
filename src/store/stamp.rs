//! RFC 3339 in UTC with milliseconds, written and read without a calendar library: a journal line has one.

use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Deserializer, Serializer};

use crate::model::Wall;

const DAY_MS: i64 = 86_400_000;

/// The first and the last moment that have four digits of a year; others are drawn to these.
const RANGE: (i64, i64) = (-62_167_219_200_000, 253_402_300_799_999);

/// A moment as `2026-11-29T17:05:09.042Z`.
pub fn format(at: Wall) -> [u8; 24] {
    let ms = at.0.clamp(RANGE.0, RANGE.1);
    let (days, in_day) = (ms.div_euclid(DAY_MS), ms.rem_euclid(DAY_MS));
    let (year, month, day) = civil(days);
    let mut text = *b"0000-00-00T00:00:00.000Z";
    let mut put = |at: usize, digits: usize, mut number: i64| {
        for place in text[at..at + digits].iter_mut().rev() {
            *place = b'0' + (number % 10) as u8;
            number /= 10;
        }
    };
    put(0, 4, year);
    put(5, 2, month);
    put(8, 2, day);
    put(11, 2, in_day / 3_600_000);
    put(14, 2, in_day / 60_000 % 60);
    put(17, 2, in_day / 1_000 % 60);
    put(20, 3, in_day % 1_000);
    text
}

/// The same as text.
pub fn to_string(at: Wall) -> String {
    String::from_utf8_lossy(&format(at)).into_owned()
}

/// Year, month and day of a day since 1970-01-01 (Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms").
fn civil(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

/// Reads any RFC 3339 time.
pub fn parse(text: &str) -> Option<Wall> {
    text.parse::<jiff::Timestamp>().ok().map(|at| Wall(at.as_millisecond()))
}

/// The wall clock now.
pub fn now() -> Wall {
    let since = |span: std::time::Duration| i64::try_from(span.as_millis()).unwrap_or(i64::MAX);
    match SystemTime::now().duration_since(UNIX_EPOCH) {
        Ok(span) => Wall(since(span)),
        Err(before) => Wall(-since(before.duration())),
    }
}

/// For `#[serde(with = …)]`: writes.
///
/// # Errors
/// The serializer's.
pub fn serialize<S: Serializer>(at: &Wall, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&to_string(*at))
}

/// For `#[serde(with = …)]`: reads.
///
/// # Errors
/// When the text is no RFC 3339 time.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Wall, D::Error> {
    let text = String::deserialize(deserializer)?;
    parse(&text).ok_or_else(|| serde::de::Error::custom(format_args!("{text:?} is not an RFC 3339 time")))
}

/// For `#[serde(with = …)]` of a moment that may not have come; leave it out of the text with `skip_serializing_if`.
pub mod option {
    use super::{Deserialize, Deserializer, Serializer, Wall, parse, to_string};

    /// Writes; an absent moment as null.
    ///
    /// # Errors
    /// The serializer's.
    pub fn serialize<S: Serializer>(at: &Option<Wall>, serializer: S) -> Result<S::Ok, S::Error> {
        match at {
            Some(at) => serializer.serialize_str(&to_string(*at)),
            None => serializer.serialize_none(),
        }
    }

    /// Reads.
    ///
    /// # Errors
    /// When there is a text that is no RFC 3339 time.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Wall>, D::Error> {
        let Some(text) = Option::<String>::deserialize(deserializer)? else { return Ok(None) };
        match parse(&text) {
            Some(at) => Ok(Some(at)),
            None => Err(serde::de::Error::custom(format_args!("{text:?} is not an RFC 3339 time"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn known_moments_are_written_as_the_calendar_has_them() {
        for (ms, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (-1, "1969-12-31T23:59:59.999Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (1_796_000_709_042, "2026-11-30T01:05:09.042Z"),
            (i64::MAX, "9999-12-31T23:59:59.999Z"),
            (i64::MIN, "0000-01-01T00:00:00.000Z"),
        ] {
            assert_eq!(to_string(Wall(ms)), text);
        }
    }

    proptest! {
        #[test]
        fn every_moment_of_four_digit_years_is_read_back(ms in RANGE.0..=253_402_200_000_000_i64) {
            prop_assert_eq!(parse(&to_string(Wall(ms))), Some(Wall(ms)));
        }
    }
}
