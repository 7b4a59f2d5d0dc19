//! How numbers are written, for people: counts, shares, spans, money, bytes. Used by every frontend, so that a figure
//! looks the same on the screen, in a line and in the summary.

use super::money::Money;

/// `12,345`.
pub fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// At most five characters for any number: `987`, `12.3k`, `1.2M`, `45G`.
pub fn short_count(n: u64) -> String {
    const UNITS: [(f64, &str); 4] = [(1e3, "k"), (1e6, "M"), (1e9, "G"), (1e12, "T")];
    if n < 1_000 {
        return n.to_string();
    }
    let value = n as f64;
    // A figure that would round up to 1000 of its unit is written as 1.0 of the next.
    let (size, unit) = UNITS.into_iter().find(|(size, _)| value < size * 999.5).unwrap_or((1e15, "P"));
    let scaled = value / size;
    if scaled < 99.95 { format!("{scaled:.1}{unit}") } else { format!("{scaled:.0}{unit}") }
}

/// A rate a second: `98.2/s`, `1,204/s`; `0/s` for nothing and for what is not a number.
pub fn rate(per_second: f64) -> String {
    if !per_second.is_finite() || per_second < 0.05 {
        "0/s".to_owned()
    } else if per_second < 999.95 {
        format!("{per_second:.1}/s")
    } else {
        format!("{}/s", count(per_second.round() as u64))
    }
}

/// A part of a whole: `61.7 %`. Rounded down, so that `100.0 %` means all; a whole of nothing is all done.
pub fn share(part: u64, whole: u64) -> String {
    let permille = if whole == 0 { 1_000 } else { u128::from(part.min(whole)) * 1_000 / u128::from(whole) };
    format!("{}.{} %", permille / 10, permille % 10)
}

/// A ratio in 0..=1 as whole percent: `9 %`. Rounded down, so that a bucket that is not full never reads 100 %.
pub fn percent(ratio: f64) -> String {
    let ratio = if ratio.is_finite() { ratio.clamp(0.0, 1.0) } else { 0.0 };
    // The small addend keeps ratios such as 0.29 (28.999…) at what was meant.
    format!("{:.0} %", (ratio * 100.0 + 1e-9).floor())
}

/// A span in its two largest units: `0s`, `42s`, `1m18s`, `2h05m`, `3d04h`.
pub fn span(ms: u64) -> String {
    let seconds = ms / 1_000;
    let (minutes, hours, days) = (seconds / 60, seconds / 3_600, seconds / 86_400);
    if seconds < 60 {
        format!("{seconds}s")
    } else if minutes < 60 {
        format!("{minutes}m{:02}s", seconds % 60)
    } else if hours < 24 {
        format!("{hours}h{:02}m", minutes % 60)
    } else {
        format!("{days}d{:02}h", hours % 24)
    }
}

/// An age, coarse: `12s`, `5m`, `3h`, `2d`.
pub fn age(ms: u64) -> String {
    let seconds = ms / 1_000;
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3_600 => format!("{}m", seconds / 60),
        3_600..172_800 => format!("{}h", seconds / 3_600),
        _ => format!("{}d", seconds / 86_400),
    }
}

/// A countdown, rounded up so that it reads zero only when it is over: `0:42`, `12:03`, `2:05:09`.
pub fn countdown(ms: u64) -> String {
    let seconds = ms.div_ceil(1_000);
    let (minutes, hours) = (seconds / 60, seconds / 3_600);
    if hours == 0 {
        format!("{minutes}:{:02}", seconds % 60)
    } else if hours < 100 {
        format!("{hours}:{:02}:{:02}", minutes % 60, seconds % 60)
    } else {
        span(ms)
    }
}

/// A latency: `850ms`, `1.5s`, `12s`, then as a span; a dash when there is none yet.
pub fn latency(ms: u32) -> String {
    match ms {
        0 => "–".to_owned(),
        1..1_000 => format!("{ms}ms"),
        1_000..9_950 => format!("{:.1}s", f64::from(ms) / 1e3),
        9_950..60_000 => format!("{:.0}s", f64::from(ms) / 1e3),
        _ => span(u64::from(ms)),
    }
}

/// How long something took, be it milliseconds or days: `0s`, `850ms`, `1.5s`, and from ten seconds on as a span, so that it
/// reads alike everywhere.
pub fn took(ms: u64) -> String {
    match u32::try_from(ms) {
        Ok(short @ 1..10_000) => latency(short),
        _ => span(ms),
    }
}

/// Dollars with as many digits as the amount needs: `$0.000123`, `$0.0123`, `$12.35`, `$12,345.68`.
pub fn money(amount: Money) -> String {
    let usd = amount.usd();
    if amount == Money::ZERO {
        "$0.00".to_owned()
    } else if usd < 0.01 {
        format!("${usd:.6}")
    } else if usd < 0.9995 {
        format!("${usd:.4}")
    } else {
        let cents = (usd * 100.0).round() as u64;
        format!("${}.{:02}", count(cents / 100), cents % 100)
    }
}

/// A size in binary units: `512 B`, `1.5 KiB`, `2.0 GiB`.
pub fn bytes(n: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    if n < 1_024 {
        return format!("{n} B");
    }
    let mut value = n as f64 / 1_024.0;
    let mut unit = UNITS[0];
    for next in &UNITS[1..] {
        if value < 1_023.95 {
            break;
        }
        value /= 1_024.0;
        unit = next;
    }
    format!("{value:.1} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_have_thousands_separators() {
        for (n, text) in [(0, "0"), (999, "999"), (1_000, "1,000"), (12_345, "12,345"), (1_000_000, "1,000,000")] {
            assert_eq!(count(n), text);
        }
        assert_eq!(count(u64::MAX), "18,446,744,073,709,551,615");
    }

    #[test]
    fn short_counts_take_at_most_six_columns() {
        for (n, text) in [
            (999, "999"),
            (1_000, "1.0k"),
            (12_345, "12.3k"),
            (99_960, "100k"),
            (999_499, "999k"),
            (999_500, "1.0M"),
            (1_234_567, "1.2M"),
            (45_000_000_000, "45.0G"),
        ] {
            assert_eq!(short_count(n), text);
        }
        assert!(short_count(u64::MAX).len() <= 6, "{}", short_count(u64::MAX));
    }

    #[test]
    fn a_share_reads_hundred_only_when_all_is_done() {
        assert_eq!(share(12_345, 20_000), "61.7 %");
        assert_eq!(share(19_999, 20_000), "99.9 %");
        assert_eq!(share(20_000, 20_000), "100.0 %");
        assert_eq!(share(0, 0), "100.0 %");
        assert_eq!(share(u64::MAX, u64::MAX), "100.0 %");
        assert_eq!(percent(0.29), "29 %");
        assert_eq!(percent(0.999), "99 %");
        assert_eq!(percent(f64::NAN), "0 %");
    }

    #[test]
    fn spans_show_their_two_largest_units() {
        for (ms, text) in [
            (0, "0s"),
            (59_999, "59s"),
            (78_000, "1m18s"),
            (3_600_000, "1h00m"),
            (7_500_000, "2h05m"),
            (86_400_000 * 3 + 3_600_000 * 4, "3d04h"),
        ] {
            assert_eq!(span(ms), text);
        }
    }

    #[test]
    fn what_took_milliseconds_does_not_read_as_nothing() {
        let texts = [0, 7, 999, 1_500, 59_900, 60_000, 7_500_000].map(took);
        assert_eq!(texts, ["0s", "7ms", "999ms", "1.5s", "59s", "1m00s", "2h05m"]);
    }

    #[test]
    fn a_countdown_reads_zero_only_when_it_is_over() {
        for (ms, text) in [(0, "0:00"), (1, "0:01"), (42_000, "0:42"), (41_001, "0:42"), (7_509_000, "2:05:09")] {
            assert_eq!(countdown(ms), text);
        }
        assert_eq!(countdown(302_539_000), "84:02:19");
    }

    #[test]
    fn latencies_and_rates_are_short() {
        for (ms, text) in
            [(0, "–"), (850, "850ms"), (1_500, "1.5s"), (9_949, "9.9s"), (12_000, "12s"), (90_000, "1m30s")]
        {
            assert_eq!(latency(ms), text);
        }
        for (per_second, text) in
            [(0.0, "0/s"), (f64::NAN, "0/s"), (0.1, "0.1/s"), (98.23, "98.2/s"), (1_204.4, "1,204/s")]
        {
            assert_eq!(rate(per_second), text);
        }
    }

    #[test]
    fn money_has_the_digits_that_it_needs() {
        for (usd, text) in [
            (0.0, "$0.00"),
            (0.000_123, "$0.000123"),
            (0.0123, "$0.0123"),
            (0.9999, "$1.00"),
            (12.345, "$12.35"),
            (12_345.678, "$12,345.68"),
        ] {
            assert_eq!(money(Money::from_usd(usd)), text);
        }
    }

    #[test]
    fn bytes_are_in_binary_units() {
        for (n, text) in [(0, "0 B"), (1_023, "1023 B"), (1_536, "1.5 KiB"), (2 << 30, "2.0 GiB")] {
            assert_eq!(bytes(n), text);
        }
    }
}
