//! Money in integers.
//!
//! Sums are kept in pico-dollars (10⁻¹² USD): half of the cheapest price in the catalog, a batch cache read of Haiku
//! 5.5 at 0.005 USD per million tokens, is 5,000 of them per token, so every price card is exact and no sum rounds.
//! A `u64` holds 18 million dollars.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Sub};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// An amount in pico-dollars. Additions saturate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Money(pub u64);

impl Money {
    /// Nothing.
    pub const ZERO: Money = Money(0);
    /// One US dollar.
    pub const DOLLAR: Money = Money(1_000_000_000_000);

    /// From dollars as a person or a file writes them; negative and non-finite amounts become zero.
    pub fn from_usd(usd: f64) -> Money {
        if usd.is_finite() && usd > 0.0 { Money((usd * 1e12).round().min(u64::MAX as f64) as u64) } else { Money::ZERO }
    }

    /// For display and JSON only; sums are never made from it.
    pub fn usd(self) -> f64 {
        self.0 as f64 / 1e12
    }

    /// A number of tokens at a price in USD per million tokens. A price of 1 USD is 1,000,000 pico-dollars a token.
    pub fn for_tokens(tokens: u64, price: Money) -> Money {
        let pico = u128::from(tokens) * u128::from(price.0) / 1_000_000;
        Money(u64::try_from(pico).unwrap_or(u64::MAX))
    }

    /// Half of it, as batches are billed.
    pub fn half(self) -> Money {
        Money(self.0 / 2)
    }
}

impl Add for Money {
    type Output = Money;
    fn add(self, other: Money) -> Money {
        Money(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Money {
    fn add_assign(&mut self, other: Money) {
        *self = *self + other;
    }
}

impl Sub for Money {
    type Output = Money;
    fn sub(self, other: Money) -> Money {
        Money(self.0.saturating_sub(other.0))
    }
}

impl Sum for Money {
    fn sum<I: Iterator<Item = Money>>(amounts: I) -> Money {
        amounts.fold(Money::ZERO, Add::add)
    }
}

/// `$0.0042` below a cent, `$1.23` from there on.
impl fmt::Display for Money {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = if self.0 == 0 || *self >= Money(Money::DOLLAR.0 / 100) {
            format!("${:.2}", self.usd())
        } else {
            format!("${:.6}", self.usd())
        };
        f.pad(&text)
    }
}

/// As a JSON number of dollars.
impl Serialize for Money {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.usd())
    }
}

impl<'de> Deserialize<'de> for Money {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Money, D::Error> {
        f64::deserialize(deserializer).map(Money::from_usd)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cheapest_batch_cache_read_is_exact() {
        let price = Money::from_usd(0.01).half();
        assert_eq!(Money::for_tokens(1, price), Money(5_000));
        assert_eq!(Money::for_tokens(3, price), Money(15_000));
    }

    #[test]
    fn dollars_survive_json_to_the_pico_dollar_for_amounts_of_a_request() {
        for pico in [0, 1, 5_000, 123_456_789, 987_654_321_012] {
            let text = serde_json::to_string(&Money(pico)).unwrap();
            assert_eq!(serde_json::from_str::<Money>(&text).unwrap(), Money(pico), "{text}");
        }
    }

    #[test]
    fn amounts_that_make_no_sense_are_nothing() {
        for usd in [-1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!(Money::from_usd(usd), Money::ZERO);
        }
    }

    #[test]
    fn small_amounts_show_their_digits() {
        assert_eq!(Money(123_000_000).to_string(), "$0.000123");
        assert_eq!(Money::from_usd(12.345).to_string(), "$12.35");
        assert_eq!(Money::ZERO.to_string(), "$0.00");
    }
}
