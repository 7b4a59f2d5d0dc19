//! What an operator types for a knob.

use std::time::Duration;

use crate::catalog::Catalog;

/// A number: `141600`, `141,600`, `20k`, `1.5M`.
///
/// # Errors
/// It is none, or not in the range.
pub fn number(text: &str, (low, high): (u64, u64)) -> Result<u64, String> {
    let wanted = || format!("{text:?} is not a number from {low} to {high}: write 20000, 20k or 1.5M");
    let plain: String = text.chars().filter(|c| !matches!(c, ',' | '_' | ' ')).collect();
    let (digits, factor) = match plain.to_lowercase().strip_suffix(['k', 'm']) {
        Some(digits) if plain.ends_with(['k', 'K']) => (digits.to_owned(), 1e3),
        Some(digits) => (digits.to_owned(), 1e6),
        None => (plain, 1.0),
    };
    let value: f64 = digits.parse().map_err(|_| wanted())?;
    let value = (value * factor).round();
    if value.is_finite() && value >= low as f64 && value <= high as f64 { Ok(value as u64) } else { Err(wanted()) }
}

/// A deadline from now: `90m`, `6h`, `1h30m`, `2d`; `none` or nothing for none.
///
/// # Errors
/// It is no duration, or longer than a year.
pub fn deadline(text: &str) -> Result<Option<Duration>, String> {
    const LONGEST: Duration = Duration::from_secs(366 * 86_400);
    let text = text.trim();
    if text.is_empty() || text.eq_ignore_ascii_case("none") {
        return Ok(None);
    }
    let parsed = humantime::parse_duration(text).ok().filter(|span| !span.is_zero() && *span <= LONGEST);
    parsed.map(Some).ok_or_else(|| format!("{text:?} is no deadline: write 90m, 6h, 1h30m or 2d, or none"))
}

/// The models that a text may mean, the likeliest first: those that begin with it, then those that contain it; the words
/// of the text may stand apart (`sonnet 5`).
pub fn models<'c>(text: &str, catalog: &'c Catalog) -> Vec<&'c str> {
    let text = text.trim().to_lowercase();
    let words: Vec<&str> = text.split_whitespace().collect();
    let names = catalog.models().iter().map(|model| model.aliases.first().unwrap_or(&model.id).as_str());
    let mut found: Vec<&str> = names.filter(|name| words.iter().all(|word| name.contains(word))).collect();
    let rank = |name: &str| {
        let bare = name.strip_prefix("claude-").unwrap_or(name);
        (name != text && bare != text, !name.starts_with(&text) && !bare.starts_with(&text))
    };
    found.sort_by_key(|name| rank(name));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_taken_as_people_write_them_and_nothing_else_is() {
        let fits = |text| number(text, (1, 10_000_000));
        for (text, n) in [("141600", 141_600), ("141,600", 141_600), ("20k", 20_000), ("1.5M", 1_500_000), (" 7 ", 7)] {
            assert_eq!(fits(text), Ok(n), "{text}");
        }
        for text in ["", "0", "-1", "k", "1e9", "nan", "inf", "ten", "99999999999999999999"] {
            assert!(fits(text).is_err(), "{text}");
        }
        assert!(fits("x").unwrap_err().contains("from 1 to 10000000"));
    }

    #[test]
    fn a_deadline_is_a_duration_or_none() {
        assert_eq!(deadline("1h30m"), Ok(Some(Duration::from_secs(5_400))));
        assert_eq!((deadline("none"), deadline(" ")), (Ok(None), Ok(None)));
        for text in ["soon", "0s", "-1h", "900000000y"] {
            assert!(deadline(text).is_err(), "{text}");
        }
    }

    #[test]
    fn models_are_found_while_they_are_typed() {
        let catalog = Catalog::builtin();
        assert_eq!(models("haiku-4", &catalog), ["claude-haiku-4-5"]);
        assert_eq!(models("sonnet-5", &catalog)[0], "claude-sonnet-5");
        assert_eq!(models("5 sonnet 4", &catalog), ["claude-sonnet-4-5"]);
        assert!(models("gpt", &catalog).is_empty());
        assert_eq!(models("", &catalog).len(), catalog.models().len());
    }
}
